"""Worlds of rigid bodies in Box3D, through the driver that build_box3d.py makes."""

import subprocess

import numpy as np
from build_box3d import DRIVER
from rigid_cases import Case
from rigid_worlds import DT, GRAVITY, Link, World, within

import shinari as sn
from shinari.geometry.motion import quaternion_product

if not DRIVER.exists():
    raise ImportError("not built; run benchmarks/peers/build_box3d.py with a checkout of it")


class Box3D:
    """Box3D with its defaults, in a process of its own that measures its own time."""

    def __init__(self, case: Case, threads: int, *, sleep: bool = True) -> None:
        self._count = len(case.world.bodies)
        self._process = subprocess.Popen([DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._send(_Writer(case.world).text(threads, sleep))

    def step(self) -> float:
        """Advance by DT; the time that it took [s]."""
        return float(self.run(1)[0])

    def run(self, steps: int) -> np.ndarray:
        """Take so many steps without a pause; their times [s]."""
        self._send(f"step {steps}\n")
        return np.array([float(self._line()) for _ in range(steps)])

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        state = self._state()
        return state[:, :3], state[:, 3:7]

    def velocities(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the centres and angular velocities."""
        state = self._state()
        return state[:, 7:10], state[:, 10:]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()

    def _state(self) -> np.ndarray:
        self._send("state\n")
        return np.array([self._line().split() for _ in range(self._count)], float)

    def _send(self, text: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()

    def _line(self) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("Box3D: the driver has ended")
        return line


class _Writer:
    """A world as the driver reads it."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._shapes: dict[int, int] = {}
        self._lines: list[str] = []

    def text(self, threads: int, sleep: bool) -> str:
        """All but the commands."""
        world = self._world
        bodies = []
        for body in world.bodies:
            pieces = [f"{self._shape(shape)} {_numbers(x)} {_numbers(q)}" for shape, x, q in body.pieces]
            place = [body.position, body.rotation, body.velocity, body.spin]
            bodies.append(
                f"{body.kinematic:d} {' '.join(_numbers(part) for part in place)} {body.density} {len(pieces)} "
                + " ".join(pieces)
            )
        head = [world.substeps, DT, GRAVITY, threads, int(sleep), int(world.ground), int(world.collide), world.friction]
        lines = [f"world {' '.join(str(value) for value in head)}", f"shapes {len(self._lines)}", *self._lines]
        lines += [f"bodies {len(bodies)}", *bodies, f"joints {len(world.links)}"]
        return "\n".join([*lines, *(self._joint(link) for link in world.links)]) + "\n"

    def _shape(self, shape: sn.Shape) -> int:
        """Its number."""
        if id(shape) in self._shapes:
            return self._shapes[id(shape)]
        if isinstance(shape, sn.Box):
            line = f"box {_numbers(0.5 * np.array(shape.size))}"
        elif isinstance(shape, sn.Sphere):
            line = f"capsule {shape.radius} 0"
        elif isinstance(shape, sn.Capsule):
            line = f"capsule {shape.radius} {0.5 * shape.length}"
        elif isinstance(shape, sn.ConvexHull):
            line = f"hull {len(shape.vertices)} {_numbers(shape.vertices)}"
        else:
            raise NotImplementedError(f"no {type(shape).__name__}")
        self._lines.append(line)
        return self._shapes.setdefault(id(shape), len(self._lines) - 1)

    def _joint(self, link: Link) -> str:
        turn = _z_to(np.asarray(link.axis, float))
        frames = [within(self._world.place(i), np.asarray(link.anchor), turn) for i in (link.child, link.parent)]
        least, largest = link.limits or (0.0, np.inf if link.swing is None else link.swing)
        places = " ".join(_numbers(part) for frame in frames for part in frame)
        return f"{link.kind} {link.child} {link.parent} {places} {least} {largest}"


def _z_to(axis: np.ndarray) -> np.ndarray:
    """A rotation that turns Z to a unit vector."""
    half = np.array([1.0 + axis[2], -axis[1], axis[0], 0.0])
    if half[0] < 1e-9:
        half = np.array([0.0, 1.0, 0.0, 0.0])
    return quaternion_product(half / np.linalg.norm(half), np.array([1.0, 0.0, 0.0, 0.0]))


def _numbers(values: object) -> str:
    return " ".join(f"{value:.9g}" for value in np.ravel(np.asarray(values, float)))
