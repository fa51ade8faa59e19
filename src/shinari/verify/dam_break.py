"""A dam breaks: fronts and heights against the experiment of Martin and Moyce."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.shapes.plane import Plane
from shinari.verify.fluid_scenes import SPLISH, SUBSTEPS, G, block, sheet
from shinari.verify.ledger import Measurement, at_most, check, equal

BASE = 0.05715
"""Base a of the column, 2.25 inches [m]; it is twice as high, n^2 = 2."""

FRONT = np.array([
    [0.41, 1.11], [0.84, 1.22], [1.19, 1.44], [1.43, 1.67], [1.63, 1.89], [1.83, 2.11], [1.98, 2.33], [2.20, 2.56],
    [2.32, 2.78], [2.51, 3.00], [2.65, 3.22], [2.83, 3.44], [2.98, 3.67], [3.11, 3.89], [3.33, 4.11],
])  # fmt: skip
"""T = t sqrt(2 g / a) and Z = front / a of Martin and Moyce 1952, (15, 2)."""

HEIGHT = np.array([
    [0.56, 0.94], [0.93, 0.83], [1.28, 0.72], [1.66, 0.61], [2.00, 0.50], [2.45, 0.39], [3.06, 0.28], [4.20, 0.17],
])  # fmt: skip
"""t sqrt(g / a) and height / 2 a at the wall, (8, 2)."""

STRIP = 0.5
"""Part of the base, from the wall, over which the height is taken: at the end six layers of particles are left there,
and a mean over ten columns knows their height to a tenth of a spacing."""


def dam(columns: int, width: int, precision: str, steps: dict[str, Any], **fluid: Any) -> Simulation:
    """A column of water against a wall, on a floor that does not end.

    Args:
        columns: Particles along its base.
        width: Particles across, between two walls; 0: a plane flow of one layer.
        precision: Precision.
        steps: Settings of the simulation.
        **fluid: How the fluid is sampled.
    """
    spacing = BASE / columns
    scene = Scene()
    scene.add_collider(Plane((0, 1, 0)))
    scene.add_collider(Plane((1, 0, 0)))
    if width:
        scene.add_collider(Plane((0, 0, 1)))
        scene.add_collider(Plane((0, 0, -1), -width * spacing))
        points = block((columns, 2 * columns, width), spacing)
    else:
        points, fluid = sheet((columns, 2 * columns), spacing), fluid | {"dimensions": 2}
    scene.add_fluid(points, spacing=spacing, name="water", **fluid)
    return Simulation(scene, precision=precision, threads=1, **steps)


def curves(sim: Simulation, columns: int, width: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Front over a at the times of `FRONT`, height over 2 a at those of `HEIGHT`, highest particle ever over 2 a.

    The front is where the third layer from the tip ends, so that no single drop that jumps ahead counts; the height is
    that of as much fluid as there is within STRIP of the wall.
    """
    spacing = BASE / columns
    few, strip = 3 * max(width, 1), STRIP * BASE
    times, fronts, heights, highest = [0.0], [1.0], [1.0], 0.0
    last = max(FRONT[-1, 0] / np.sqrt(2.0 * G / BASE), HEIGHT[-1, 0] / np.sqrt(G / BASE))
    while sim.time < last:
        sim.step()
        x = np.array(sim.positions("water"), float)
        tip = np.partition(x[:, 0], -few)[-few] + 0.5 * spacing
        top = np.count_nonzero(x[:, 0] < strip) * spacing**2 / (strip * max(width, 1))
        highest = max(highest, float(x[:, 1].max()) / (2.0 * BASE))
        times.append(sim.time)
        fronts.append(tip / BASE)
        heights.append(top / (2.0 * BASE))
    t = np.array(times)
    front = np.interp(FRONT[:, 0], t * np.sqrt(2.0 * G / BASE), fronts)
    return front, np.interp(HEIGHT[:, 0], t * np.sqrt(G / BASE), heights), highest


CASES: dict[str, tuple[int, int, dict[str, Any], dict[str, Any]]] = {
    "plane, a / 24, 1/240 s, 1 x 5": (24, 0, SPLISH, {}),
    "plane, a / 28, 1/60 s, 20 x 1": (28, 0, SUBSTEPS, {}),
    "plane, a / 28, 1/60 s, 4 x 5": (28, 0, {"dt": 1 / 60, "substeps": 4, "iterations": 5}, {}),
    "plane, a / 32, 1/240 s, 2 x 5": (32, 0, {"dt": 1 / 240, "substeps": 2, "iterations": 5}, {}),
    "plane, a / 28, 1/240 s, 1 x 5": (28, 0, SPLISH, {}),
    "plane, cubic spline": (28, 0, SPLISH, {"kernel": "cubic-spline"}),
    "plane, support 3": (24, 0, SPLISH, {"support": 3.0}),
    "space, a / 24, 5 across": (24, 5, SPLISH, {}),
}


@check("a dam breaks", "Martin and Moyce 1952, an experimental study of the collapse of liquid columns, n^2 = 2")
def fronts(precision: str) -> Iterator[Measurement]:
    """Front and height of a water column of 2.25 x 4.5 inches."""
    for name, (columns, width, steps, fluid) in CASES.items():
        if precision == "float64" and name not in list(CASES)[:2]:
            continue
        front, height, highest = curves(dam(columns, width, precision, steps, **fluid), columns, width)
        for (when, exact), measured in zip(FRONT, front, strict=True):
            if when > 1.0:
                yield equal(f"front / a at T = {when:g}, {name}", exact, measured, relative=0.15,
                            theory="15 %, as the experiment's gate is drawn and its edge is read")  # fmt: skip
        for (when, exact), measured in zip(HEIGHT, height, strict=True):
            yield equal(f"height / 2a at t sqrt(g/a) = {when:g}, {name}", exact, measured, relative=0.10,
                        theory="10 % of the experiment")  # fmt: skip
        yield at_most(f"highest particle ever over 2 a, {name}", 1.0, highest, theory="nothing is thrown up")
