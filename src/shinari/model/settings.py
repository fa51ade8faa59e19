"""Settings of a simulation, as opposed to the contents of its scene."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from shinari import check
from shinari.errors import SceneError

METHODS = ("xpbd", "pbd")
SWEEPS = ("gauss-seidel", "jacobi", "jacobi-averaged", "chebyshev")
PRECISIONS = ("float32", "float64")
DETECTIONS = ("frame", "substep")
STIFFNESS_MODES = ("per-step", "raw")
DEVICES = ("cpu", "cuda")
RIGID_SOLVERS = ("auto", "direct", "sweeps")


@dataclass
class DefaultDevice:
    """The device of simulations that name none.

    Attributes:
        name: One of `DEVICES`.
        uses: Simulations that were built on it.
    """

    name: str = "cpu"
    uses: int = 0


_default_device: ContextVar[DefaultDevice | None] = ContextVar("default_device", default=None)


@contextmanager
def default_device(name: str) -> Iterator[DefaultDevice]:
    """Build simulations that name no device on this one while the context lasts, as the ledger does on a GPU."""
    token = _default_device.set(DefaultDevice(check.choice("simulation", "device", name, DEVICES)))
    try:
        yield _default_device.get()  # type: ignore[misc]
    finally:
        _default_device.reset(token)


def device_or_default(name: str | None) -> str:
    """The device of a new simulation."""
    chosen = _default_device.get()
    if name is not None or chosen is None:
        return "cpu" if name is None else name
    chosen.uses += 1
    return chosen.name


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Settings of a simulation; see `Simulation` for their meaning.

    Raises:
        SceneError: A value is unknown, of the wrong type or outside its bounds.
    """

    dt: float = 1.0 / 60.0
    substeps: int = 20
    iterations: int = 1
    method: str = "xpbd"
    sweep: str = "gauss-seidel"
    precision: str = "float32"
    threads: int | None = None
    stiffness_mode: str = "per-step"
    relaxation: float | None = None
    spectral_radius: float = 0.9
    depenetration_speed: float = 1.0
    hierarchy: bool = False
    contact_detection: str = "frame"
    rigid_solver: str = "auto"
    sleep: bool = True
    device: str = "cpu"

    def __post_init__(self) -> None:
        label = "simulation"
        object.__setattr__(self, "dt", check.number(label, "dt", self.dt, above=0.0))
        check.count(label, "substeps", self.substeps)
        # the solver divides by the square of a substep, in single precision too
        if not 1e-15 <= self.substep <= 1e15:
            raise SceneError(f"{label}: dt: a substep of {self.substep:g} s cannot be computed with; 1e-15 to 1e15 can")
        check.count(label, "iterations", self.iterations)
        check.choice(label, "method", self.method, METHODS)
        check.choice(label, "sweep", self.sweep, SWEEPS)
        check.choice(label, "precision", self.precision, PRECISIONS)
        check.choice(label, "stiffness_mode", self.stiffness_mode, STIFFNESS_MODES)
        if self.threads is not None:
            check.count(label, "threads", self.threads)
        if self.relaxation is not None:
            check.number(label, "relaxation", self.relaxation, above=0.0, most=2.0)
        check.number(label, "spectral_radius", self.spectral_radius, above=0.0, most=0.9999)
        check.choice(label, "contact_detection", self.contact_detection, DETECTIONS)
        check.choice(label, "hierarchy", self.hierarchy, (True, False))
        check.choice(label, "rigid_solver", self.rigid_solver, RIGID_SOLVERS)
        check.choice(label, "device", self.device, DEVICES)
        check.choice(label, "sleep", self.sleep, (True, False))
        check.number(label, "depenetration_speed", self.depenetration_speed, least=0.0)

    @property
    def substep(self) -> float:
        """Length of a substep [s]."""
        return self.dt / self.substeps
