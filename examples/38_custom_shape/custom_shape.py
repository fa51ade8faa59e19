r"""Shapes of your own: a pebble by its support function, a ring by its signed distance.

        support(d, s): the point of the solid farthest along d      distance(q, s): how far q is from the surface,
                                                                    and the direction out of the solid
             .---.      d                                                . q
           /       \  /                                          .---. |
          |    +    x                                           |  o  |x
           \       /                                             '---'

A shape is a frozen dataclass with up to four numbers and one of the two functions. The package then finds contacts with
bodies, particles, cloth and fluids, bounds, and mass and inertia, draws it and saves it. A convex solid is best told by
its support function: bodies then find their contacts by the method of Gilbert, Johnson and Keerthi. One that is not
convex is told by its signed distance and a mesh, which stands for it between bodies.

Both are checked by what is known of them. An ellipsoid with half axes a (along x) and b (upright) that rocks on a floor
without sliding has at its foot the radius of curvature a^2 / b, so that its centre swings like a pendulum:

    T = 2 pi sqrt((I + m b^2) / (m g (a^2 / b - b))),    I = m (a^2 + b^2) / 5

A ring of radius R and thickness r falls over a peg, a cone of half angle t: where it comes to rest, the circle in its
middle is at the distance r from the slant, at the depth (R - r / cos t) / tan t below the tip.
"""

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.maths.vec3 import direction_and_length
from shinari.output.recorder import Recorder

ZERO = np.float32(0.0)  # an untyped 0.0 would turn single precision into double
AXES = [(0.12, 0.08, 0.1), (0.15, 0.08, 0.1), (0.2, 0.1, 0.12)]  # of the pebbles, along x, y and z [m]
RING, THICK = 0.25, 0.05  # [m]
PEG = sn.Cone(0.4, 1.0)
DT, SUBSTEPS = 1 / 120, 20


@dataclass(frozen=True)
class Ellipsoid(sn.Shape):
    """Ellipsoid with given half axes [m]."""

    axes: tuple[float, float, float]

    def numbers(self) -> tuple[float, ...]:
        """What the kernels get as `s`."""
        return self.axes


@sn.function
def support(d, s):
    """The point farthest along d, of any length."""
    x, y, z = s[0] * d[0], s[1] * d[1], s[2] * d[2]
    length = np.sqrt(x * x + y * y + z * z)
    return s[0] * x / length, s[1] * y / length, s[2] * z / length


@dataclass(frozen=True)
class Ring(sn.Shape):
    """Circle around Y, thickened."""

    radius: float
    thickness: float

    def numbers(self) -> tuple[float, ...]:
        """What the kernels get as `s`."""
        return self.radius, self.thickness

    def surface(self, segments: int = 32) -> tuple[np.ndarray, np.ndarray]:
        """Mesh, closed and counter-clockwise seen from outside."""
        u, v = np.meshgrid(*(2 * [2.0 * np.pi * np.arange(segments) / segments]), indexing="ij")
        out = self.radius + self.thickness * np.cos(v)
        vertices = np.stack([out * np.cos(u), self.thickness * np.sin(v), out * np.sin(u)], axis=2)
        k = np.arange(segments * segments).reshape(segments, segments)
        a, b, c, d = k, np.roll(k, -1, 0), np.roll(k, (-1, -1), (0, 1)), np.roll(k, -1, 1)
        faces = [np.stack(triangle, axis=2).reshape(-1, 3) for triangle in ((a, c, b), (a, d, c))]
        return vertices.reshape(-1, 3), np.concatenate(faces).astype(np.int32)


@sn.function
def distance(q, s):
    """Distance from the circle, less the thickness; and the direction away from the circle."""
    across, rho = direction_and_length((q[0], ZERO, q[2]))
    n, length = direction_and_length((rho - s[0], q[1], ZERO))
    return length - s[1], (n[0] * across[0], n[1], n[0] * across[2])


sn.register_shape(Ellipsoid, support=support)
sn.register_shape(Ring, distance=distance)


def period(axes: tuple[float, float, float]) -> float:
    """Period of small swings about z [s]."""
    a, b, _ = axes
    return 2.0 * np.pi * np.sqrt(((a * a + b * b) / 5.0 + b * b) / (9.81 * (a * a / b - b)))


def scene_of(tilt: float) -> sn.Scene:
    """Pebbles, tilted about z [rad], beside a peg with a ring above it."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=1.0, name="floor")
    for k, axes in enumerate(AXES):
        height = np.hypot(axes[0] * np.sin(tilt), axes[1] * np.cos(tilt))
        turn = (np.cos(0.5 * tilt), 0.0, 0.0, np.sin(0.5 * tilt))
        scene.add_rigid_body(
            Ellipsoid(axes), position=(1.0, height, 0.4 * k), rotation=turn, friction=1.0, name=f"pebble {k}"
        )
    scene.add_collider(PEG, position=(0.0, 0.5 * PEG.height, 0.0), friction=0.2, name="peg")
    scene.add_rigid_body(Ring(RING, THICK), position=(0.02, 0.9, 0.01), friction=0.2, name="ring")
    return scene


def shown() -> sn.Simulation:
    """What `shinari view demo` shows."""
    return sn.Simulation(scene_of(0.3), dt=DT, substeps=SUBSTEPS)


def measured_period(times: np.ndarray, angles: np.ndarray) -> float:
    """Period by the first and the last time at which the angle falls through zero [s]."""
    falls = np.flatnonzero((angles[:-1] > 0.0) & (angles[1:] <= 0.0))
    crossings = times[falls] + (times[1] - times[0]) * angles[falls] / (angles[falls] - angles[falls + 1])
    return float((crossings[-1] - crossings[0]) / (len(crossings) - 1))


def main(arguments: list[str] | None = None) -> None:
    """Rock the pebbles, drop the ring, check, plot."""
    parser = argparse.ArgumentParser(description="shapes written outside of the package")
    parser.add_argument("--frames", type=int, default=360, help="frames of 1/120 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    simulation = sn.Simulation(scene_of(0.05), dt=DT, substeps=SUBSTEPS)
    rows, outputs = [], [options.out / "custom_shape.html", options.out / "custom_shape.npz"]
    with Recorder(simulation, outputs, frames_per_second=1.0 / DT, title="shapes of your own") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            rows.append(2.0 * np.arcsin(simulation.state.body_rotations[: len(AXES), 3]))
    times, angles = DT * np.arange(1, options.frames + 1), np.array(rows)
    for k, axes in enumerate(AXES):
        found, expected = measured_period(times, angles[:, k]), period(axes)
        print(f"pebble {axes}: period {found:.4f} s, closed form {expected:.4f} s")
        # swings of 0.05 rad are slower by about their square, the mesh that the mass is integrated over is inscribed
        assert abs(found / expected - 1.0) < 0.01
    ring = simulation.state.body_positions[-1]
    half = np.arctan(PEG.radius / PEG.height)
    expected = PEG.height - (RING - THICK / np.cos(half)) / np.tan(half)
    print(f"ring at a height of {ring[1]:.4f} m, closed form {expected:.4f} m")
    # between bodies its mesh stands for the ring: corners on a circle, whose chords are nearer by R (1 - cos(pi / 32))
    assert abs(ring[1] - expected) < RING * (1.0 - np.cos(np.pi / 32)) / np.tan(half) + 1e-3
    plot(options.out / "custom_shape.png", times, angles)
    print(f"wrote {options.out / 'custom_shape.png'} and a player")


def plot(path: Path, times: np.ndarray, angles: np.ndarray) -> None:
    """The angles of the pebbles over time, and cosines with the periods of the formula."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(len(AXES), sharex=True, figsize=(9, 6), layout="constrained")
    for k, (panel, axes) in enumerate(zip(panels, AXES, strict=True)):
        panel.plot(times, angles[:, k], label="simulated")
        swing = angles[0, k] * np.cos(2.0 * np.pi * times / period(axes))
        panel.plot(times, swing, "k--", linewidth=1, label="formula")
        panel.set(ylabel="angle [rad]", title=f"half axes {axes} m")
    panels[0].legend(loc="upper right")
    panels[-1].set(xlabel="time [s]")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
