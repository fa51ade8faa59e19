"""Where the time of steps goes: by system, phase and kernel."""

from collections.abc import Sequence
from dataclasses import dataclass

from shinari.compute import Program

# A system that takes more than this part of the time dominates.
DOMINATES = 0.6
# Rows of the table of kernels.
SHOWN = 12


@dataclass(frozen=True)
class KernelTime:
    """Time of a kernel in a phase of a system.

    Attributes:
        system: The system; empty: the solver itself.
        phase: The phase of a step.
        kernel: The kernel.
        seconds: Time on the thread that launches it, over all steps [s].
    """

    system: str
    phase: str
    kernel: str
    seconds: float


@dataclass(frozen=True)
class Profile:
    """Time of a number of steps.

    Attributes:
        steps: Steps taken.
        seconds: Time that they took, with what Python does between them [s].
        kernels: Times of the kernels.
        contacts: Contacts with a force at the end.
        bytes: Memory of all arrays that kernels read or write.
        threads: Threads that a step used.
    """

    steps: int
    seconds: float
    kernels: Sequence[KernelTime]
    contacts: int
    bytes: int
    threads: int

    @property
    def by_system(self) -> dict[str, float]:
        """Time of each system [s], the longest first."""
        return self._sums("system")

    @property
    def by_phase(self) -> dict[str, float]:
        """Time of each phase of a step [s], the longest first."""
        return self._sums("phase")

    @property
    def by_kernel(self) -> dict[str, float]:
        """Time of each kernel [s], the longest first."""
        return self._sums("kernel")

    @property
    def python_seconds(self) -> float:
        """Time that no kernel took [s]: Python before and after each step."""
        return max(self.seconds - sum(kernel.seconds for kernel in self.kernels), 0.0)

    @property
    def hint(self) -> str:
        """What dominates, and what it depends on; empty where nothing does."""
        if not self.steps:
            return ""
        parts = self.by_system | {"Python": self.python_seconds}
        name = max(parts, key=lambda system: parts[system])
        share = parts[name] / max(self.seconds, 1e-12)
        return f"{name} takes {share:.0%} of the time: {ADVICE[name]}" if share > DOMINATES and name in ADVICE else ""

    def __str__(self) -> str:
        if not self.steps:
            return "no steps yet"
        step = 1e3 / self.steps
        lines = [
            f"{self.steps} steps, {step * self.seconds:.3f} ms each, {self.threads} threads, {self.contacts} contacts, "
            f"{self.bytes / 2**20:.1f} MiB"
        ]
        for title, times in (("system", self.by_system), ("phase", self.by_phase), ("kernel", self.by_kernel)):
            lines += ["", f"{title:<36}ms a step"]
            lines += [f"  {name:<34}{step * time:9.3f}" for name, time in list(times.items())[:SHOWN]]
        lines += [f"  {'(Python between steps)':<34}{step * self.python_seconds:9.3f}"]
        return "\n".join(lines + (["", self.hint] if self.hint else []))

    def _sums(self, field: str) -> dict[str, float]:
        sums: dict[str, float] = {}
        for kernel in self.kernels:
            name = getattr(kernel, field) or "Solver"
            sums[name] = sums.get(name, 0.0) + kernel.seconds
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


ADVICE = {
    "BlockSolver": "its time grows with rows x substeps x iterations; fewer substeps, or a coarser mesh, are faster",
    "SurfaceContacts": 'triangles that may touch; self_collision="particles" or fewer substeps are faster',
    "Pairs": "particles that touch; a larger radius makes fewer of them",
    "Fluid": "its time grows with particles x iterations; a larger spacing is faster",
    "RigidBodySystem": "bodies in motion; what rests sleeps unless sleep=False; fewer substeps are faster",
    "ColliderContacts": "particles near colliders; a mesh collider with fewer triangles, or a simple shape, is faster",
    "Python": "the scene is small; more steps in one call of step() cost the same Python",
}
"""What the time of a system depends on."""


def kernel_times(program: Program) -> list[KernelTime]:
    """Times of the kernels of a program of steps so far."""
    times = []
    for part, kernel, seconds in program.profile():
        system, _, phase = part.partition(": ")
        times.append(KernelTime(system, phase, kernel, seconds))
    return times
