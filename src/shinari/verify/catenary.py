"""A rope between two pins against the catenary."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.materials import RopeMaterial
from shinari.verify.ledger import Measurement, check, equal, roundoff
from shinari.verify.scenes import small

_SEGMENTS = 40
_SUBSTEPS, _ITERATIONS = 10, 60
# substeps in the time sqrt(span / g)
_RATE = 20 * _SUBSTEPS


def bisect(function: Callable[[float], float], low: float, high: float) -> float:
    """Root of a function that changes sign between two numbers, to the last digits."""
    below = function(low) < 0.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        if (function(middle) < 0.0) == below:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


def catenary(ratio: float) -> tuple[float, float]:
    """Sag / span and end tension / (w span) of a rope of length / span `ratio`.

    With b = span / (2 a), a = H / w: sinh(b) / b = ratio, sag = a (cosh b - 1), end tension = w a cosh b.
    """
    b = bisect(lambda b: math.sinh(b) / b - ratio, 1e-6, 20.0)
    return (math.cosh(b) - 1.0) / (2.0 * b), math.cosh(b) / (2.0 * b)


def polygon(ratio: float, segments: int) -> tuple[float, float]:
    """The same for segments with their mass at the joints, at rest: each lies along its force (H, V_j)."""
    length = ratio / segments
    below = length * (0.5 * (segments - 1) - np.arange(segments))
    across = bisect(lambda h: float((length * h / np.hypot(h, below)).sum()) - 1.0, 1e-9, 1e3)
    slopes = length * below / np.hypot(across, below)
    return float(slopes[: segments // 2].sum()), math.hypot(across, 0.5 * ratio)


def _hung(precision: str, ratio: float, span: float, density: float, g: float) -> tuple[float, float]:
    """Sag / span and tension at the pin / (w span) of a rope that settled from a V."""
    half = 0.5 * math.sqrt(ratio**2 - 1.0)
    s = np.linspace(-1.0, 1.0, _SEGMENTS + 1)
    points = span * np.stack([0.5 * s, half * (np.abs(s) - 1.0), 0.0 * s], axis=1)
    scene = Scene(gravity=(0, -g, 0), damping=3.0 * math.sqrt(g / span))
    rope = scene.add_rope(points, material=RopeMaterial(density=density))
    rope.pin([0, _SEGMENTS])
    dt = math.sqrt(span / g) * _SUBSTEPS / _RATE
    sim = small(scene, precision, dt=dt, substeps=_SUBSTEPS, iterations=_ITERATIONS)
    sim.step(600)
    x = sim.positions(rope).astype(np.float64)
    pull = sim.forces("distance")[0] * (x[1] - x[0]) / np.linalg.norm(x[1] - x[0])
    pull[1] -= 0.5 * density * g * ratio * span / _SEGMENTS
    return -float(x[:, 1].min()) / span, float(np.linalg.norm(pull)) / (density * g * span)


@check("catenary", "closed form, sinh(b) / b = length / span: sag .29234 .50263 .79639, tension .76189 .81087 1.02603")
def hanging_rope(precision: str) -> Iterator[Measurement]:
    """Sag and tension at the pin, with the half segment whose weight the pin carries itself."""
    for ratio, span, density, g in ((1.2, 1.0, 0.1, 9.81), (1.5, 1.0, 0.1, 9.81), (2.0, 1.0, 0.1, 9.81),
                                    (1.1, 3.0, 2.0, 1.62), (3.0, 0.2, 0.01, 9.81)):  # fmt: skip
        sag, tension = catenary(ratio)
        sag_polygon, tension_polygon = polygon(ratio, _SEGMENTS)
        # n sweeps of a hard row leave a gap of h^2 F / (n m) on average (see chains), at most with the end tension
        left = tension / ratio**2 * (_SEGMENTS / _RATE) ** 2 / _ITERATIONS
        sag_longer, tension_longer = catenary(ratio * (1.0 + left))
        measured_sag, measured_tension = _hung(precision, ratio, span, density, g)
        case = f"length / span {ratio:g}, span {span:g} m, {density:g} kg/m, g {g:g}"
        rounding = 2.0 * roundoff(precision) * max(0.5, 1.0 / span, sag) * ratio * _RATE**2
        yield equal(
            f"sag / span, {case}",
            sag,
            measured_sag,
            absolute=abs(sag - sag_polygon) + abs(sag_longer - sag) + rounding / tension,
            theory="polygon of 40 segments in closed form, the gap h^2 F / (n m) in each, two roundings u x m / h^2",
        )
        yield equal(
            f"tension at the pin / (w span), {case}",
            tension,
            measured_tension,
            absolute=abs(tension - tension_polygon) + abs(tension_longer / (1.0 + left) - tension) + rounding,
            theory="polygon of 40 segments in closed form, the gap h^2 F / (n m) in each, two roundings u x m / h^2",
        )
