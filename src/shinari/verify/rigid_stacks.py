"""Stacks: they stand, do not creep, and their forces add up, also heavy on light; what sleeps and wakes."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.scene.handle import BodyHandle
from shinari.shapes.box import Box
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import (
    ONE,
    angle_between,
    axes,
    floor,
    matrix,
    place,
    positions,
    pyramid,
    single,
    turn,
    velocity,
)

_G = 9.81


def _column(scene: Scene, densities: Sequence[float], edge: float, mu: float = 0.5) -> list[BodyHandle]:
    """Cubes on each other on the ground."""
    floor(scene, mu)
    return [
        scene.add_rigid_body(Box((edge, edge, edge)), position=(0, (i + 0.5) * edge, 0), density=density, friction=mu)
        for i, density in enumerate(densities)
    ]


@check("a stack of 20 boxes stands", "the requirement: creep below 1 mm in 60 s", precisions=ONE)
def tall(_: str) -> Iterator[Measurement]:
    """Twenty cubes, in step and with each turned a little and put off a little."""
    for crooked in (False, True):
        rng = np.random.default_rng(3)
        scene, edge = Scene(), 0.2
        floor(scene, 0.5)
        for i in range(20):
            off = rng.uniform(-0.01, 0.01, 2) if crooked else np.zeros(2)
            q = turn((0, 1, 0), rng.uniform(-0.1, 0.1)) if crooked else (1, 0, 0, 0)
            scene.add_rigid_body(
                Box((edge, edge, edge)), position=(off[0], (i + 0.5) * edge, off[1]), rotation=q, friction=0.5
            )  # fmt: skip
        sim = single(scene, substeps=10)
        sim.step(60)
        start, worst, turned = positions(sim), 0.0, 0.0
        first = [matrix(q) for q in sim.state.body_rotations]
        for _second in range(60):
            sim.step(60)
            worst = max(worst, float(np.linalg.norm(positions(sim) - start, axis=1).max()))
            turned = max(
                turned, *(angle_between(a, matrix(q)) for a, q in zip(first, sim.state.body_rotations, strict=True))
            )
        case = "crooked" if crooked else "straight"
        yield at_most(f"farthest way from second 1 to 61, {case} [m]", 1e-3, worst, theory="the requirement")
        yield at_most(f"largest turn from second 1 to 61, {case} [rad]", 1e-3 / edge, turned,
                      theory="the same at the edge of a cube")  # fmt: skip
        sunk = 19.5 * edge - float(positions(sim)[19, 1])
        yield at_most(f"depth of the top one below 19.5 edges, {case} [m]", 1e-3, abs(sunk), theory="the requirement")


@check("pyramids stand", "rows give by 1e-5 of what a load moves in h^2; no drift, no sinking on", precisions=ONE)
def pyramids(_: str) -> Iterator[Measurement]:
    """Pyramids of 10, 20 and 40 rows of cubes at 4 substeps, and a small one: sinking, drift and energy."""
    for rows, edge, seconds in ((10, 1.0, 60), (20, 1.0, 20), (20, 0.05, 10), (40, 1.0, 5)):
        scene = pyramid(rows, edge)
        sim = single(scene, substeps=4)
        start = positions(sim)
        sim.step(60)
        settled, energy = positions(sim), sim.energy().kinetic
        sim.step(60 * (seconds - 1))
        moved, case = positions(sim) - start, f"{rows} rows of {edge:g} m, {seconds} s"
        # a row of four points yields by 1e-5 of g h^2 for each cube that it carries, half of those above on average
        least = 1e-5 * _G / 240**2 * rows**3
        yield at_most(f"sinking, {case} [m]", least, float(-moved[:, 1].min()), theory="compliance of hard contacts")
        yield at_most(f"sideways drift, {case} [m]", least, float(np.abs(moved[:, [0, 2]]).max()),
                      theory="as it sinks")  # fmt: skip
        yield at_most(f"sinking after the first second, {case} [m]", 0.1 * least,
                      float(np.abs(positions(sim) - settled).max()), theory="it stands")  # fmt: skip
        weight = 1000.0 * edge**3 * _G
        yield at_most(f"kinetic energy at the end over that of a cube after a substep, {case}", 1e-3,
                      sim.energy().kinetic / (weight * _G / 240**2), theory="it stands")  # fmt: skip
        yield at_most(f"kinetic energy at the end over that after a second, {case}", 1.0,
                      sim.energy().kinetic / max(energy, 1e-12 * weight), theory="nothing is gained")  # fmt: skip


@check(
    "forces in a stack", "statics: the ground carries all, and the box above carries what is above it", precisions=ONE
)
def weights(_: str) -> Iterator[Measurement]:
    """Net contact force of each box is its weight; the ground's sum is that of all."""
    for densities in ((1000.0,) * 5, (500.0, 4000.0, 200.0, 8000.0)):
        scene = Scene()
        boxes = _column(scene, densities, 0.2)
        sim = single(scene)
        sim.step(60)
        contacts = sim.contacts()
        up = np.array(contacts.forces)[:, 1]
        heights = np.array(contacts.positions)[:, 1]
        for level in range(len(densities)):
            carried = float(np.abs(up[np.abs(heights - 0.2 * level) < 0.01]).sum())
            expected = 0.008 * _G * sum(densities[level:])
            yield equal(f"force between level {level} and what is below, densities {densities} [N]", expected, carried,
                        relative=1e-3, theory="statics; multipliers have settled")  # fmt: skip
        for i, box in enumerate(boxes):
            yield equal(f"contact force on box {i}, densities {densities} [N]", 0.008 * _G * densities[i],
                        float(sim.forces(box)[1]), relative=1e-3, theory="statics")  # fmt: skip


@check("heavy on light", "1:1000 and 1:10,000 stand; under 1 mm deep and 1 mm of creep in 10 s", precisions=ONE)
def heavy(_: str) -> Iterator[Measurement]:
    """A heavy cube on one light one, on three and on pyramids, a heavy slab on four, a heavy one between light ones."""
    for ratio in (1e3, 1e4):
        for name, densities in (
            ("on one", (100.0, 100.0 * ratio)), ("on three", (100.0,) * 3 + (100.0 * ratio,)),
            ("between", (100.0, 100.0 * ratio, 100.0, 100.0 * ratio, 100.0)),
        ):  # fmt: skip
            scene = Scene()
            boxes = _column(scene, densities, 0.2)
            yield from _stands(scene, f"1:{ratio:g}, {name}", 0.2 * (len(boxes) - 0.5), len(boxes) - 1)
        scene = Scene()
        floor(scene, 0.5)
        for x in (-0.4, 0.4):
            for z in (-0.4, 0.4):
                scene.add_rigid_body(Box((0.1, 0.2, 0.1)), mass=1.0, position=(x, 0.1, z), friction=0.5)
        scene.add_rigid_body(Box((1.0, 0.1, 1.0)), mass=ratio, position=(0, 0.25, 0), friction=0.5)
        yield from _stands(scene, f"1:{ratio:g}, a slab on four legs", 0.25, 4)
        for rows in (4, 10):
            scene = pyramid(rows, 0.2)
            height = 0.2 * (rows + 0.5)
            scene.add_rigid_body(Box((0.2, 0.2, 0.2)), position=(0, height, 0), density=1000.0 * ratio, friction=0.6)
            case, top = f"1:{ratio:g}, on a pyramid of {rows} rows", len(scene.bodies) - 1
            yield from _stands(scene, case, height, top)
            yield from _stands(scene, f"{case}, 4 substeps", height, top, substeps=4)


def _stands(scene: Scene, case: str, height: float, top: int, substeps: int = 10) -> Iterator[Measurement]:
    sim = single(scene, substeps=substeps)
    sim.step(60)
    start, sunk, worst = positions(sim), 0.0, 0.0
    for _step in range(20):
        sim.step(30)
        sunk = max(sunk, abs(height - float(positions(sim)[top, 1])))
        worst = max(worst, float(np.linalg.norm(positions(sim) - start, axis=1).max()))
    yield at_most(f"depth of the heavy one, {case} [m]", 1e-3, sunk, theory="the requirement of stacks")
    yield at_most(f"farthest way from second 1 to 11, {case} [m]", 1e-3, worst, theory="the requirement of stacks")


@check("a chain of 100 links keeps its length", "0.1 %, also with 1:1000 and 1:10,000 at its end", precisions=ONE)
def chain(_: str) -> Iterator[Measurement]:
    """It is let go level and swings for two seconds; the longest and the shortest sum of its links."""
    for kind, ratio in (("ball", 1.0), ("hinge", 1.0), ("ball", 1e3), ("ball", 1e4), ("hinge", 1e4)):
        for loose in (True, False):
            if loose and ratio == 1e3:
                continue
            scene = Scene()
            length, mass = 0.1, 0.1
            displacement = np.array([1.0, 0, 0]) if loose else np.array([0, -1.0, 0])
            q = (1, 0, 0, 0) if loose else turn((0, 0, 1), -np.pi / 2)
            above = None
            options: dict[str, Any] = {"axis": (0, 0, 1)} if kind == "hinge" else {}
            for i in range(100):
                link = scene.add_rigid_body(
                    Box((length, 0.03, 0.03)), mass=mass * (ratio if i == 99 else 1.0), rotation=q,
                    position=(i + 0.5) * length * displacement
                )  # fmt: skip
                scene.add_joint(kind, link, above, anchor=i * length * displacement, **options)
                above = link
            sim = single(scene, substeps=10)
            worst, gap = 0.0, 0.0
            for _step in range(120 if loose else 60):
                sim.step()
                ends = _ends(sim, length)
                gaps = np.linalg.norm(np.diff(ends.reshape(-1, 3), axis=0, prepend=np.zeros((1, 3)))[::2], axis=1)
                gap, worst = max(gap, float(gaps.max())), max(worst, float(gaps.sum()))
            case = f"{kind}, 1:{ratio:g}, {'swinging' if loose else 'hanging'}"
            yield at_most(f"sum of the gaps over the length, {case}", 1e-3, worst / (100 * length),
                          theory="the requirement")  # fmt: skip
            yield at_most(f"largest gap, {case} [m]", 1e-3, gap, theory="the requirement: 1 mm")


def _ends(sim: Simulation, length: float) -> np.ndarray:
    """Both ends of each link [m], (links, 2, 3)."""
    along = np.array([matrix(q)[:, 0] for q in sim.state.body_rotations])
    x = np.array(sim.state.body_positions)
    return np.stack([x - 0.5 * length * along, x + 0.5 * length * along], axis=1)


@check("sleeping", "what sleeps does not move by a bit, and wakes when it is hit or loses its support", precisions=ONE)
def asleep(_: str) -> Iterator[Measurement]:
    """A stack and a roller fall asleep; a ball hits the stack; a stack whose support is pulled away falls."""
    scene = Scene()
    boxes = _column(scene, (1000.0,) * 4, 0.2)
    scene.add_rigid_body(Cylinder(0.1, 0.3), position=(2, 0.1, 0), rotation=turn((1, 0, 0), np.pi / 2), friction=0.5)
    # it comes down from the side after 3.5 s, at the height of the box on top
    ball = scene.add_rigid_body(Sphere(0.1), position=(-28.2, 60.75, 0), velocity=(8.0, 0, 0), density=8000.0)
    sim = single(scene, substeps=10, sleep=True)
    sim.step(120)
    before = positions(sim)[:5]
    sim.step(60)
    yield equal("way of what sleeps in 1 s [m]", 0.0, float(np.abs(positions(sim)[:5] - before).max()), absolute=0.0,
                theory="it sleeps")  # fmt: skip
    sim.step(120)
    yield at_least("way of the box that was hit [m]", 1e-2, float(np.linalg.norm(place(sim, boxes[3]) - before[3])),
                   theory="it woke")  # fmt: skip
    yield at_least("height of the ball [m]", 0.09, float(place(sim, ball)[1]), theory="it did not go through")

    scene = Scene()
    floor(scene, 0.5)
    plate = scene.add_rigid_body(
        Box((1.0, 0.2, 1.0)), friction=0.0, motion=lambda time: (max(0.0, time - 4.0) * 8.0, 1.0, 0.0)
    )  # fmt: skip
    box = scene.add_rigid_body(Box((0.2, 0.2, 0.2)), position=(0, 1.2, 0), friction=0.0)
    sim = single(scene, substeps=10, sleep=True)
    sim.step(230)
    yield equal("speed of a box on a plate [m/s]", 0.0, float(np.linalg.norm(velocity(sim, box))), absolute=1e-3,
                theory="it rests")  # fmt: skip
    sim.step(130)
    yield equal("height of the box after the plate has gone [m]", 0.1, float(place(sim, box)[1]), absolute=1e-2,
                theory="it woke and fell to the ground")  # fmt: skip
    yield at_least("way of the plate [m]", 1.0, float(place(sim, plate)[0]), theory="it moves as it is told")
    yield at_most("turn of the box [rad]", 0.2, angle_between(np.eye(3), axes(sim, box)),
                  theory="it slid off nothing: the plate has no friction")  # fmt: skip
