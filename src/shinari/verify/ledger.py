"""The ledger: checks by name, and the measurements they make.

A check is a function of the precision that runs scenes and yields measurements, each a number that theory or a paper
gives beside the number that the engine gives. The tolerance comes from theory too, and says from which.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib import import_module

import numpy as np

from shinari.check import short
from shinari.errors import ShinariError, UnsupportedDeviceError
from shinari.model.settings import default_device

PRECISIONS = ("float64", "float32")

# Modules that register checks, in the order of the ledger. They are the families of `shinari verify`, too.
SUBJECTS = (
    "integrator", "springs", "energies", "pendulum", "chains", "momentum", "catenary", "friction", "cloth", "bending",
    "stability", "rubbing", "impacts", "weighing", "rest", "penetration", "untangling", "shots", "solids",
    "solid_limits", "solid_recovery", "beams", "membranes", "garments",
    "attachments", "volumes", "failure", "rods", "shape_matching", "rigid_motion", "rigid_tops", "rigid_pendulums",
    "rigid_friction", "rigid_impacts", "rigid_joints", "linkages", "rigid_limits", "rigid_motors", "robots",
    "actuators", "tendons", "media", "rigid_stacks", "rigid_heaps", "rigid_figures",
    "rigid_structures", "rigid_walls", "rigid_shapes", "fluids", "fluid_levels", "fluid_effects", "dam_break",
    "grains", "grains_silo", "grains_rolling", "grains_on_cloth", "bodies_on_cloth", "fluids_on_cloth",
    "grains_in_fluids", "grains_wet",
)  # fmt: skip


@dataclass(frozen=True)
class Measurement:
    """One line of the ledger.

    Attributes:
        case: Parameters of this measurement.
        expected: What theory gives, in the unit named by `case`.
        measured: What the engine gives, in the same unit.
        tolerance: How far they may be apart.
        relative: Whether the tolerance is a fraction of the expected value.
        bound: `"equal"`, or `"at most"` and `"at least"` where theory gives a bound; the tolerance widens the bound.
        theory: Where the tolerance comes from.
        name: Name of the check.
        source: Citation of the check, with equation or table.
        precision: `"float64"` or `"float32"`.
    """

    case: str
    expected: float
    measured: float
    tolerance: float
    relative: bool
    theory: str
    bound: str = "equal"
    name: str = ""
    source: str = ""
    precision: str = ""

    @property
    def allowed(self) -> float:
        """Tolerance in the unit of the measurement."""
        return self.tolerance * abs(self.expected) if self.relative else self.tolerance

    @property
    def error(self) -> float:
        """How far the measured value is off: the distance from the expected value, or beyond the bound."""
        off = self.measured - self.expected
        if self.bound == "at most":
            return max(off, 0.0) if off == off else off
        if self.bound == "at least":
            return max(-off, 0.0) if off == off else off
        return abs(off)

    @property
    def passed(self) -> bool:
        """Whether the measured value is within its tolerance; what is no number never is."""
        return bool(self.error <= self.allowed)


@dataclass(frozen=True)
class Skipped:
    """A check that was not made on a device.

    Attributes:
        reason: Why.
        name: Name of the check.
        source: Citation of the check.
        precision: `"float64"` or `"float32"`.
    """

    reason: str
    name: str
    source: str
    precision: str


Check = Callable[[str], Iterable[Measurement]]


@dataclass(frozen=True)
class Entry:
    """A registered check.

    Attributes:
        name: Its name.
        source: Citation, with equation or table.
        function: Makes the measurements in a precision.
        precisions: Precisions in which it can be made.
    """

    name: str
    source: str
    function: Check
    precisions: tuple[str, ...]

    @property
    def family(self) -> str:
        """Subject of the check, one of `SUBJECTS`."""
        return self.function.__module__.rpartition(".")[2]

    def measure(self, precision: str) -> Iterator[Measurement]:
        """All measurements in a precision, each as soon as it is made."""
        for m in self.function(precision):
            yield replace(m, name=self.name, source=self.source, precision=precision)

    def measure_on(self, device: str, precision: str) -> Iterator[Measurement | Skipped]:
        """All measurements in a precision with simulations on a device, or why it cannot be made there."""
        if device == "cpu":
            yield from self.measure(precision)
            return
        with default_device(device) as chosen:
            try:
                found = list(self.measure(precision))
            except UnsupportedDeviceError as error:
                yield Skipped(str(error), self.name, self.source, precision)
                return
        if chosen.uses:
            yield from found
        else:
            yield Skipped("it builds no simulation", self.name, self.source, precision)


CHECKS: dict[str, Entry] = {}


def check(name: str, source: str, *, precisions: Sequence[str] = PRECISIONS) -> Callable[[Check], Check]:
    """Register a check.

    Args:
        name: Its name in the ledger.
        source: Citation, with equation or table.
        precisions: Precisions in which it can be made.

    Raises:
        ValueError: The name is taken.
    """

    def register(function: Check) -> Check:
        if name in CHECKS:
            raise ValueError(f"check {short(name)} is registered twice")
        CHECKS[name] = Entry(name, source, function, tuple(precisions))
        return function

    return register


def equal(
    case: str, expected: float, measured: float, *, absolute: float | None = None, relative: float | None = None,
    theory: str
) -> Measurement:  # fmt: skip
    """A measurement that has to agree within an absolute or a relative tolerance."""
    return _measurement("equal", case, expected, measured, absolute, relative, theory)


def at_most(case: str, bound: float, measured: float, *, absolute: float = 0.0, theory: str) -> Measurement:
    """A measurement that must not exceed a bound by more than an absolute tolerance."""
    return _measurement("at most", case, bound, measured, absolute, None, theory)


def at_least(case: str, bound: float, measured: float, *, absolute: float = 0.0, theory: str) -> Measurement:
    """A measurement that must not fall below a bound by more than an absolute tolerance."""
    return _measurement("at least", case, bound, measured, absolute, None, theory)


def all_checks() -> dict[str, Entry]:
    """Every check by name, in the order of the ledger."""
    for subject in SUBJECTS:
        import_module(f"shinari.verify.{subject}")
    return CHECKS


def select_checks(
    names: Iterable[str] | None = None, precisions: Sequence[str] = PRECISIONS
) -> list[tuple[Entry, str]]:
    """Checks of the ledger, each with a precision, in the order in which they are measured.

    Args:
        names: Checks and families; a family is a subject or the beginning of several, such as `"rigid"`; None: all.
        precisions: Precisions; a check that needs another one is left out.

    Raises:
        ShinariError: There is no check and no family of that name, or no such precision.
    """
    for precision in precisions:
        if precision not in PRECISIONS:
            raise ShinariError(f"verify: precision: got {short(precision)}; expected one of {', '.join(PRECISIONS)}")
    known = all_checks()
    wanted = list(known.values()) if names is None else [entry for name in names for entry in _named(name, known)]
    # a check that is named twice is measured once
    wanted = list({entry.name: entry for entry in wanted}.values())
    return [(entry, precision) for entry in wanted for precision in precisions if precision in entry.precisions]


def run_checks(names: Iterable[str] | None = None, precisions: Sequence[str] = PRECISIONS) -> list[Measurement]:
    """Make the measurements of the ledger; arguments and errors as for `select_checks`."""
    return [m for entry, precision in select_checks(names, precisions) for m in entry.measure(precision)]


def _named(name: str, known: dict[str, Entry]) -> list[Entry]:
    """The check of a name, or those of a family."""
    if name in known:
        return [known[name]]
    start = name.strip().lower().replace(" ", "_").replace("-", "_")
    found = [entry for entry in known.values() if start and entry.family.startswith(start)]
    if found:
        return found
    near = get_close_matches(name.lower(), [*known, *SUBJECTS], n=3, cutoff=0.3)
    raise ShinariError(
        f"verify: there is no check {short(name)} and no family; nearest are {', '.join(map(repr, near)) or 'none'}; "
        f"families are {', '.join(SUBJECTS)}"
    )


def roundoff(precision: str) -> float:
    """Unit roundoff: the largest relative error of one rounding."""
    return 0.5 * float(np.finfo(precision).eps)


def _measurement(
    bound: str, case: str, expected: float, measured: float, absolute: float | None, relative: float | None, theory: str
) -> Measurement:
    if (absolute is None) == (relative is None):
        raise ValueError(f"{case}: give the tolerance either as absolute or as relative")
    tolerance = absolute if absolute is not None else relative
    assert tolerance is not None
    return Measurement(
        case, float(expected), float(measured), float(tolerance), relative is not None, theory, bound
    )  # fmt: skip
