"""Numbers that are measured of a member: built in, or by functions of the user."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shinari import check
from shinari.api.simulation import Simulation
from shinari.errors import SceneError
from shinari.sweeps import functions
from shinari.sweeps.plan import Measure

MOST_NUMBERS = 100_000
"""Most numbers of one measure of a member."""

BUILT_IN: dict[str, Callable[[Simulation], float]] = {
    "energy": lambda sim: sim.energy().total,
    "kinetic_energy": lambda sim: sim.energy().kinetic,
    "gravitational_energy": lambda sim: sim.energy().gravitational,
    "elastic_energy": lambda sim: sim.energy().elastic,
    "momentum": lambda sim: float(np.linalg.norm(sim.momentum())),
    "max_strain": lambda sim: sim.measure().largest_strain,
    "mean_strain": lambda sim: sim.measure().mean_strain,
    "max_force": lambda sim: float(sim.point_forces().max(initial=0.0)),
    "residual": lambda sim: float(sim.residual()),
    "max_speed": lambda sim: _largest(sim.state.velocities, sim.state.body_velocities),
    "highest": lambda sim: -_lowest(-1.0, sim),
    "lowest": lambda sim: _lowest(1.0, sim),
}
"""Measures of the end of a run by name: energies [J], momentum [kg m/s], strains, largest force of a row [N], residual,
largest speed [m/s], greatest and least height of a particle or of the origin of a body [m]."""


def _largest(*velocities: np.ndarray) -> float:
    return max((float(np.linalg.norm(v, axis=1).max()) for v in velocities if len(v)), default=0.0)


def _lowest(sign: float, sim: Simulation) -> float:
    points = [x[:, 1] for x in (sim.state.positions, sim.state.body_positions) if len(x)]
    return min((float((sign * y).min()) for y in points), default=float("nan"))


def measures_of(given: Any) -> list[Measure]:
    """Measures by name, by `module:function`, or as functions.

    Raises:
        SceneError: A name is unknown, or a function cannot be called with a simulation.
    """
    listed = [given] if isinstance(given, str) or callable(given) else check.sequence("sweep", "measures", given)
    found = [_measure(one) for one in listed]
    for number, measure in enumerate(found):
        if any(measure.name == other.name for other in found[:number]):
            raise SceneError(f"sweep: measures: {check.told(measure.name)} is given twice")
    return found


def _measure(given: Any) -> Measure:
    if isinstance(given, str) and given in BUILT_IN:
        return Measure(name=given)
    if functions.is_name(given):
        function = functions.function_named("measures", given)
    elif callable(given):
        function = functions.function_given("measures", given)
    else:
        known = check.names(BUILT_IN, near=given)
        raise SceneError(f"sweep: measures: expected one of {known}, or module:function, got {check.short(given)}")
    _check_call(function)
    return Measure(name=function.name, function=function)


def _check_call(function: functions.Function) -> None:
    """A measure is a function of a simulation, or a class with `step` and `result`."""
    called = functions.load(function)
    if inspect.isclass(called):
        missing = [name for name in ("step", "result") if not callable(getattr(called, name, None))]
        if missing:
            raise SceneError(f"sweep: measures: {function}: the class has no method {missing[0]}(simulation)")
        return
    check.function("sweep", f"measures: {function}", called)


class Measuring:
    """The measures of one member.

    Args:
        measures: What is measured.
        simulation: The member at its start.
    """

    def __init__(self, measures: Sequence[Measure], simulation: Simulation) -> None:
        self._simulation = simulation
        self._ends: list[tuple[str, Callable[[Simulation], Any]]] = []
        self._steps: list[Callable[[Simulation], Any]] = []
        for measure in measures:
            if measure.function is None:
                self._ends.append((measure.name, BUILT_IN[measure.name]))
                continue
            called = functions.load(measure.function)
            if inspect.isclass(called):
                follower: Any = called()
                self._steps.append(follower.step)
                called = follower.result
            self._ends.append((measure.name, called))

    def step(self) -> None:
        """To be called after each step."""
        for step in self._steps:
            step(self._simulation)

    def results(self) -> dict[str, float | list[float]]:
        """The measures by column.

        Raises:
            SceneError: A measure gives something else than numbers.
        """
        columns: dict[str, float | list[float]] = {}
        for name, measure in self._ends:
            given = measure(self._simulation)
            if isinstance(given, dict):
                for key, value in given.items():
                    columns[f"{name}.{check.text('sweep', f'measure {name}', key)}"] = _numbers(name, value)
            else:
                columns[name] = _numbers(name, given)
        return columns


def _numbers(name: str, given: Any) -> float | list[float]:
    array = check.shaped("sweep", f"measure {name}", given)
    if array.dtype.kind not in "iufb" or array.ndim > 1 or array.size > MOST_NUMBERS:
        raise SceneError(
            f"sweep: measure {name}: expected a number, a list of at most {MOST_NUMBERS} numbers, or a dict of these "
            f"by name, got {check.short(given)}"
        )
    values: Any = array.astype(float).tolist()
    return values
