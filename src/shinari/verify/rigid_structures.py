"""What is built of bodies: arches, houses of cards, rows of dominoes."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.handle import BodyHandle
from shinari.shapes.box import Box
from shinari.shapes.hull import ConvexHull
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, angle_between, axes, floor, matrix, place, single, turn


def arch(scene: Scene, thickness: float, *, count: int = 15, mu: float = 0.7) -> list[BodyHandle]:
    """A half circle of wedges on the ground, 1 m in mean radius.

    Args:
        scene: Where to build it.
        thickness: Depth of the ring over its mean radius.
        count: Wedges.
        mu: Coefficient of friction.
    """
    floor(scene, mu)
    wedges = []
    for i in range(count):
        corners = np.array([
            [r * math.cos(math.pi * k / count), r * math.sin(math.pi * k / count), z]
            for k in (i, i + 1) for r in (1.0 - 0.5 * thickness, 1.0 + 0.5 * thickness) for z in (-0.1, 0.1)
        ])  # fmt: skip
        middle = corners.mean(axis=0)
        wedges.append(scene.add_rigid_body(ConvexHull(corners - middle), position=middle, friction=mu))
    return wedges


@check("an arch of wedges stands", "a half circle stands above t / R = 0.1075; Heyman 1969, Safety of Masonry Arches",
       precisions=ONE)  # fmt: skip
def arches(_: str) -> Iterator[Measurement]:
    """Arches that are thicker and thinner than the thinnest: how far their wedges are after 10 s, and after 3 s."""
    for thickness, count in ((0.25, 15), (0.15, 15), (0.15, 8), (0.07, 15)):
        scene = Scene()
        arch(scene, thickness, count=count)
        sim = single(scene, substeps=10)
        start = np.array(sim.state.body_positions)
        stands = thickness > 0.1075
        sim.step(600 if stands else 180)
        displacement = float(np.linalg.norm(np.array(sim.state.body_positions) - start, axis=1).max())
        case = f"t / R {thickness:g}, {count} wedges"
        if stands:
            yield at_most(f"farthest way of a wedge in 10 s, {case} [m]", 1e-3, displacement,
                          theory="it stands: below 1 mm as a stack")  # fmt: skip
        else:
            yield at_least(f"farthest way of a wedge in 3 s, {case} [m]", 0.1, displacement, theory="it falls")


CARD, WIDTH, THICK = 0.10, 0.06, 0.002


def house(scene: Scene, levels: int, *, degrees: float = 20.0, mu: float = 0.6) -> list[BodyHandle]:
    """A house of cards: on each level pairs lean on each other, and a board lies across them.

    Args:
        scene: Where to build it, on the ground.
        levels: Levels; as many pairs on the lowest, one less on each above.
        degrees: Angle of the cards from upright.
        mu: Coefficient of friction.
    """
    t = math.radians(degrees)
    # a pair touches at its inner top edges and stands on its inner bottom edges
    out = 0.5 * (CARD * math.sin(t) + THICK * math.cos(t))
    height = CARD * math.cos(t) + THICK * math.sin(t)
    pitch = 2.0 * CARD * math.sin(t) + 0.01
    cards, base = [], 0.0

    def add(size: tuple[float, float, float], x: float, y: float, angle: float) -> None:
        q = turn((0, 0, 1), angle)
        cards.append(scene.add_rigid_body(Box(size), position=(x, y, 0), rotation=q, density=700.0, friction=mu))

    for level in range(levels):
        pairs = levels - level
        for k in range(pairs):
            x = (k - 0.5 * (pairs - 1)) * pitch
            for side in (1.0, -1.0):
                add((THICK, CARD, WIDTH), x + side * out, base + 0.5 * height, side * t)
        base += height
        if pairs > 1:
            add(((pairs - 1) * pitch + 0.04, THICK, WIDTH), 0.0, base + 0.5 * THICK, 0.0)
        base += THICK
    return cards


@check("a house of cards stands", "the requirement: 10 s; a pair alone needs mu >= tan(t) / 2", precisions=ONE)
def cards(_: str) -> Iterator[Measurement]:
    """Houses of one to three levels; and a pair that leans too far for its friction, which slides apart."""
    for levels in (1, 2, 3):
        scene = Scene()
        floor(scene, 0.6)
        house(scene, levels)
        sim = single(scene, substeps=20)
        start = np.array(sim.state.body_positions)
        first = [matrix(q) for q in sim.state.body_rotations]
        sim.step(600)
        displacement = float(np.linalg.norm(np.array(sim.state.body_positions) - start, axis=1).max())
        turned = max(angle_between(a, matrix(q)) for a, q in zip(first, sim.state.body_rotations, strict=True))
        yield at_most(
            f"farthest way of a card in 10 s, {levels} levels [m]", 1e-3, displacement, theory="it stands: below 1 mm"
        )
        yield at_most(f"largest turn of a card in 10 s, {levels} levels [rad]", 1e-3 / CARD, turned,
                      theory="the same at its edge")  # fmt: skip
    for degrees, part in ((20.0, 0.8), (25.0, 0.8), (20.0, 1.25), (25.0, 1.25)):
        scene = Scene()
        mu = part * 0.5 * math.tan(math.radians(degrees))
        # geometric means: mu on the ground, 0.6 at the top, where a card pushes along its normal
        floor(scene, mu**2 / 0.6)
        pair = house(scene, 1, degrees=degrees)
        sim = single(scene, substeps=20)
        start = float(place(sim, pair[0])[1])
        sim.step(120)
        sunk = start - float(place(sim, pair[0])[1])
        case = f"sinking of a pair in 2 s, {degrees:g} deg, mu {part:g} of what it needs [m]"
        if part > 1.0:
            yield at_most(case, 1e-3, sunk, theory="it stands")
        else:
            yield at_least(case, 0.02, sunk, theory="it slides apart")


@check("dominoes fall in a wave", "its speed rises to a steady one; Stronge 1987, The domino effect", precisions=ONE)
def dominoes(_: str) -> Iterator[Measurement]:
    """Rows of dominoes; speed of the wave from the times at which each has turned by 5 degrees."""
    for spacing in (0.5, 0.3):
        height, thick, count = 0.05, 0.008, 16
        scene = Scene()
        floor(scene, 0.6)
        pitch = spacing * height + thick
        row = [
            scene.add_rigid_body(
                Box((thick, height, 0.025)), position=(i * pitch, 0.5 * height, 0), friction=0.2,
                velocity=(1.5 * height, 0, 0) if i == 0 else (0, 0, 0),
                angular_velocity=(0, 0, -3.0) if i == 0 else (0, 0, 0)
            )
            for i in range(count)
        ]  # fmt: skip
        sim = single(scene, dt=1 / 1200, substeps=2)
        times, before, tilt = np.full(count, np.nan), np.zeros(count), math.sin(math.radians(5.0))
        for _step in range(2400):
            sim.step()
            now = np.array([axes(sim, body)[0, 1] for body in row])
            passed = np.isnan(times) & (now > tilt)
            times[passed] = sim.time - (now - tilt)[passed] / (now - before)[passed] / 1200
            before = now
            if not np.isnan(times[-1]):
                break
        speeds = pitch / np.diff(times)
        case = f"gaps of {spacing:g} heights"
        yield equal(
            f"dominoes that fell, {case}", count, int((~np.isnan(times)).sum()), absolute=0, theory="all of them"
        )
        steady = float(speeds[-5:].mean())
        near = int(np.argmax(speeds > 0.9 * steady))
        yield at_least(f"least ratio of a speed to the one before until it is steady, {case}", 1.0,
                       float((speeds[1 : near + 1] / speeds[:near]).min()), theory="it rises")  # fmt: skip
        worst = float(np.abs(speeds[near:] / steady - 1.0).max())
        yield at_most(f"farthest from the steady speed after that, over it, {case}", 0.1, worst,
                      theory="10 %: dominoes lean on each other")  # fmt: skip
        scale = steady / math.sqrt(9.81 * height)
        yield at_least(f"speed over sqrt(g h), {case}", 0.7, scale, theory="falling through the gap takes sqrt(h / g)")
        yield at_most(f"the same, {case}", 2.5, scale, theory="as above")
