"""Settings of a simulation, as opposed to the contents of its scene."""

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
