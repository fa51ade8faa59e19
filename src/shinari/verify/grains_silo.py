"""Grains in silos: how fast they run out, and what their walls carry."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.grain_material import GrainMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.verify.grains import RADIUS, SUBSTEPS
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.scenes import small

_BEVERLOO = "Beverloo, Leniger and van de Velde 1961: rate ~ sqrt(g) (D - 1.4 d)^(5/2), whatever the head"
_JANSSEN = "Janssen 1895: the floor carries W (1 - exp(-x)) / x, x = 4 mu K H / D"
# Horizontal over vertical pressure in a silo that was filled: what experiments and norms give.
_PRESSURES = 0.3, 0.6
_FRICTION = 0.35
_G = 9.81


def _silo(
    opening: float,
    precision: str,
    wide: int = 26,
    high: int = 60,
    wall: float = 0.2,
    most: int = 180,
    part: float = 0.52,
) -> tuple[np.ndarray, int]:
    """How many grains have left a silo after each step until that part has, (T,), and how many there are."""
    width, height, thick = wide * RADIUS, high * RADIUS, 4 * RADIUS
    scene = Scene()
    sand = scene.add_grains(
        Box((width, height, width)),
        radius=RADIUS,
        spread=0.1,
        position=(0.0, 0.5 * height, 0.0),
        material=GrainMaterial(friction=0.2),
    )
    scene.add_collider(Box((width, 8 * height, width), inside=True), friction=wall)
    side = 0.5 * (width - opening)
    for x, z, size in (
        (0.5 * (opening + side), 0.0, (side, thick, width)),
        (-0.5 * (opening + side), 0.0, (side, thick, width)),
        (0.0, 0.5 * (opening + side), (opening, thick, side)),
        (0.0, -0.5 * (opening + side), (opening, thick, side)),
    ):
        scene.add_collider(Box(size), position=(x, -0.5 * thick, z), friction=wall)
    sim = small(scene, precision, substeps=SUBSTEPS)
    gone = []
    count = len(sand.particles)
    while len(gone) < most and (not gone or gone[-1] < part * count):
        sim.step()
        gone.append(int((sim.positions(sand)[:, 1] < -thick).sum()))
    return np.array(gone), count


@check("a silo runs out", _BEVERLOO)
def silo(precision: str) -> Iterator[Measurement]:
    """Grains run out of square openings of several widths, given in grains."""
    rates = {}
    for width in (5.0, 6.0):
        gone, count = _silo(2.0 * width * RADIUS, precision)
        yield at_most(
            f"grains that come back, opening {width:g}",
            0.0,
            float(np.maximum(-np.diff(gone), 0).max()),
            theory="what has fallen out is gone",
        )
        # between 15 % and 50 %: it has settled, and the rest still covers the opening
        first, middle, last = (
            float(np.interp(part * count, gone, np.arange(len(gone)))) for part in (0.15, 0.325, 0.5)
        )
        rates[width] = 0.35 * count / (last - first)
        yield equal(
            f"rate later over rate before, opening {width:g}, {count} grains",
            1.0,
            (middle - first) / (last - middle),
            absolute=0.35,
            theory="the head does not count; some hundred grains come in bursts of tens: a quarter is one deviation",
        )
    yield equal(
        "rate of the opening 6 over that of 5",
        ((6.0 - 1.4) / (5.0 - 1.4)) ** 2.5,
        rates[6.0] / rates[5.0],
        relative=0.2,
        theory="the empty margin is 1.4 grains wide, 1 to 2 in experiments",
    )


@check("the rate of a silo", f"rises as the power 2.5 of D - 1.4 d; {_BEVERLOO}", precisions=("float32",))
def rate(precision: str) -> Iterator[Measurement]:
    """Grains run out of square openings in a wide silo; a line through the logarithms gives the power."""
    widths, rates = (4.5, 5.5, 6.5, 7.5), []
    for width in widths:
        gone, count = _silo(2.0 * width * RADIUS, precision, 36, 44, 0.3, 360, part=0.45)
        first, last = (float(np.interp(part * count, gone, np.arange(len(gone)))) for part in (0.15, 0.45))
        rates.append(0.3 * count / (last - first))
    power = float(np.polyfit(np.log(np.array(widths) - 1.4), np.log(rates), 1)[0])
    yield equal("power of the opening less 1.4 grains", 2.5, power, relative=0.1, theory="the requirement")


def _filled(height: float, wall: float, precision: str) -> tuple[float, float, float]:
    """Fill a silo, 7.5 grains wide, up to about so many widths, layer after layer.

    Returns:
        What its floor carries and what its walls do, over the weight, and the height over the width.
    """
    width, speed = 15 * RADIUS, 0.5
    scene = Scene(damping=_G / speed)  # grains that arrive at that speed [m/s] do not press the others together
    places = 2.6 * RADIUS * np.arange(-2, 3)
    heights = RADIUS * (1.5 + 5.0 * np.arange(round(height * width / (0.95 * RADIUS))))
    points = np.stack(np.meshgrid(places, heights, places, indexing="ij"), axis=-1).reshape(-1, 3)
    points += np.random.default_rng(1).uniform(-0.25, 0.25, points.shape) * RADIUS
    material = GrainMaterial(friction=_FRICTION, rolling_friction=0.1)
    sand = scene.add_grains(points, radius=RADIUS, material=material)
    floor = scene.add_collider(Plane(), friction=_FRICTION)
    walls = [
        scene.add_collider(Plane(normal, -0.5 * width), friction=wall)
        for normal in ((-1.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, -1.0), (0.0, 0.0, 1.0))
    ]
    sim = small(scene, precision, substeps=2 * SUBSTEPS)
    sim.step(round(60 * (heights[-1] / speed + 1.0)))
    weight = _G * float(sim.model.masses.sum())
    carried = -sum(float(sim.forces(side)[1]) for side in walls) / weight
    return -float(sim.forces(floor)[1]) / weight, carried, float(sim.positions(sand)[:, 1].max() + RADIUS) / width


@check("weight on the floor of a silo", f"rough walls carry a part that grows with the height; {_JANSSEN}")
def floor_of_silo(precision: str) -> Iterator[Measurement]:
    """Grains are poured slowly, so that they sink along the walls as more come to lie on them."""
    exponents = np.linspace(1e-3, 10.0, 10_000)
    shares = -np.expm1(-exponents) / exponents
    for height, wall in ((2.0, 0.0), (2.0, 0.35), (4.0, 0.35), (4.0, 0.7)):
        floor, walls, reached = _filled(height, wall, precision)
        name = f"filled to {reached:.1f} widths, friction of the walls {wall:g}"
        yield equal(
            f"weight on floor and walls over that of all, {name}", 1.0, floor + walls, relative=0.01, theory="rest"
        )
        if wall == 0.0:
            yield equal(f"share of the floor, {name}", 1.0, floor, relative=0.01, theory="smooth walls carry nothing")
            continue
        exponent = float(np.interp(-floor, -shares, exponents))
        ratio = exponent / (4.0 * math.sqrt(wall * _FRICTION) * reached)
        theory = f"experiments; the floor carries {floor:.3f}"
        yield at_least(f"horizontal over vertical pressure, {name}", _PRESSURES[0], ratio, theory=theory)
        yield at_most(f"the same, {name}", _PRESSURES[1], ratio, theory=theory)
