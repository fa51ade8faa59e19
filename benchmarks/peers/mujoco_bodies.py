"""Worlds of rigid bodies in MuJoCo."""

import mujoco
import numpy as np
from rigid_cases import Case
from rigid_worlds import DT, GRAVITY, Body, Link, World, within

import shinari as sn

MOST = 1000  # bodies


class MuJoCo:
    """MuJoCo with its default solver; it runs on one thread. Trees of joints are in reduced coordinates: no gaps."""

    def __init__(self, case: Case, threads: int, **settings: object) -> None:
        world = case.world
        if len(world.bodies) > MOST:
            raise NotImplementedError(f"a step of more than {MOST} bodies takes seconds")
        if any(body.kinematic and np.any(body.spin) for body in world.bodies):
            raise NotImplementedError("no bodies that turn by themselves")
        self._model = mujoco.MjModel.from_xml_string(_Writer(world).text())
        self._data = mujoco.MjData(self._model)
        self._ids = [self._model.body(f"b{i}").id for i in range(len(world.bodies))]
        self._substeps = world.substeps
        for i, body in enumerate(world.bodies):
            joint = self._model.body_jntadr[self._ids[i]]
            if joint >= 0 and self._model.jnt_type[joint] == mujoco.mjtJoint.mjJNT_FREE:
                at = self._model.jnt_dofadr[joint]
                self._data.qvel[at : at + 3] = body.velocity

    def step(self) -> None:
        """Advance by DT."""
        mujoco.mj_step(self._model, self._data, self._substeps)

    def poses(self) -> tuple[np.ndarray, np.ndarray]:
        """Centres and rotations."""
        mujoco.mj_kinematics(self._model, self._data)
        return self._data.xpos[self._ids].copy(), self._data.xquat[self._ids].copy()

    def velocities(self) -> tuple[np.ndarray, np.ndarray]:
        """Velocities of the centres and angular velocities."""
        mujoco.mj_forward(self._model, self._data)
        both = np.zeros((len(self._ids), 6))
        for row, body in zip(both, self._ids, strict=True):
            mujoco.mj_objectVelocity(self._model, self._data, mujoco.mjtObj.mjOBJ_BODY, body, row, 0)
        return both[:, 3:], both[:, :3]


class _Writer:
    """A world as a model in XML: the first joint of a body nests it in its parent, others are equalities."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._hulls: dict[int, sn.ConvexHull] = {}
        self._nested: dict[int, Link] = {}
        self._equal: list[Link] = []
        for link in world.links:
            if link.child in self._nested or world.bodies[link.child].kinematic or 0 <= link.child < link.parent:
                self._equal.append(link)
            else:
                self._nested[link.child] = link

    def text(self) -> str:
        """The model."""
        world = self._world
        bodies = range(len(world.bodies))
        children: dict[int, list[int]] = {}
        for i in bodies:
            children.setdefault(self._nested[i].parent if i in self._nested else -1, []).append(i)
        tree: list[str] = []
        todo = [(i, False) for i in reversed(children.get(-1, []))]
        while todo:
            i, left = todo.pop()
            tree.append("</body>" if left else self._body(i))
            if not left:
                todo += [(i, True), *((child, False) for child in reversed(children.get(i, [])))]
        plane = f'<geom type="plane" size="500 500 1" zaxis="0 1 0" friction="{world.friction}"/>'
        ground = plane if world.ground else ""
        meshes = "".join(
            f'<mesh name="m{key}" vertex="{_numbers(hull.vertices.ravel())}"/>' for key, hull in self._hulls.items()
        )
        equal = "".join(self._equality(link) for link in self._equal)
        return (
            f'<mujoco><compiler angle="radian"/><option timestep="{DT / world.substeps}" gravity="0 {-GRAVITY} 0"/>'
            f'<size memory="2G"/><asset>{meshes}</asset><worldbody>{ground}{"".join(tree)}</worldbody>'
            f"<equality>{equal}</equality></mujoco>"
        )

    def _body(self, i: int) -> str:
        body, link = self._world.bodies[i], self._nested.get(i)
        x, q = within(self._world.place(link.parent if link else -1), *self._world.place(i))
        joint = "" if body.kinematic else "<freejoint/>" if link is None else self._joint(i, link)
        geoms = "".join(self._geom(shape, place, body) for shape, *place in body.pieces)
        return f'<body name="b{i}" pos="{_numbers(x)}" quat="{_numbers(q)}">{joint}{geoms}'

    def _joint(self, i: int, link: Link) -> str:
        at = within(self._world.place(i), np.asarray(link.anchor), np.array([1.0, 0.0, 0.0, 0.0]))[0]
        if link.kind == "ball":
            bounds = f'range="0 {link.swing}" limited="true"' if link.swing else ""
            return f'<joint type="ball" pos="{_numbers(at)}" {bounds}/>'
        axis = within(self._world.place(i), self._world.place(i)[0] + link.axis, np.array([1.0, 0.0, 0.0, 0.0]))[0]
        bounds = f'range="{_numbers(link.limits)}" limited="true"' if link.limits else ""
        return f'<joint type="hinge" pos="{_numbers(at)}" axis="{_numbers(axis)}" {bounds}/>'

    def _geom(self, shape: sn.Shape, place: list[np.ndarray], body: Body) -> str:
        if isinstance(shape, sn.Box):
            what = f'type="box" size="{_numbers(0.5 * np.array(shape.size))}"'
        elif isinstance(shape, sn.Sphere):
            what = f'type="sphere" size="{shape.radius}"'
        elif isinstance(shape, sn.Capsule):
            what = f'type="capsule" size="{shape.radius} {0.5 * shape.length}"'
            place = [place[0], _turned(place[1])]
        elif isinstance(shape, sn.ConvexHull):
            self._hulls[id(shape)] = shape
            what = f'type="mesh" mesh="m{id(shape)}"'
        else:
            raise NotImplementedError(f"no {type(shape).__name__}")
        quiet = "" if self._world.collide else 'contype="0" conaffinity="0"'
        return (
            f'<geom {what} pos="{_numbers(place[0])}" quat="{_numbers(place[1])}" density="{body.density}" '
            f'friction="{self._world.friction}" {quiet}/>'
        )

    def _equality(self, link: Link) -> str:
        if link.kind != "ball" or link.swing:
            raise NotImplementedError("only free balls close loops")
        at = within(self._world.place(link.child), np.asarray(link.anchor), np.array([1.0, 0.0, 0.0, 0.0]))[0]
        other = f'body2="b{link.parent}"' if link.parent >= 0 else ""
        return f'<connect body1="b{link.child}" {other} anchor="{_numbers(at)}"/>'


def _turned(q: np.ndarray) -> np.ndarray:
    """The rotation of a capsule along Z that one along Y has."""
    from shinari.geometry.motion import quaternion_product

    return quaternion_product(q, np.array([np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0]))


def _numbers(values: object) -> str:
    return " ".join(f"{float(value):.9g}" for value in np.ravel(np.asarray(values, float)))
