"""Where the time of steps goes: by system, phase and kernel."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shinari.compute import Program
from shinari.model.system import System

# A system that takes more than this part of the time dominates.
DOMINATES = 0.6
# Rows of each table.
SHOWN = 12
# Advice where most of the time is spent in Python.
SMALL = "the scene is small; larger steps of more substeps spend less of their time there"


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
        advice: How the time of each system can be reduced, by its name.
    """

    steps: int
    seconds: float
    kernels: Sequence[KernelTime]
    contacts: int
    bytes: int
    threads: int
    advice: Mapping[str, str]

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
        parts, advice = self.by_system | {"Python": self.python_seconds}, {**self.advice, "Python": SMALL}
        name = max(parts, key=lambda system: parts[system])
        share = parts[name] / max(self.seconds, 1e-12)
        told = advice.get(name, "")
        return f"{name} takes {share:.0%} of the time: {told}" if share > DOMINATES and told else ""

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


class Profiler:
    """Adds up the time of steps between two profiles."""

    def __init__(self) -> None:
        self._steps, self._seconds = 0, 0.0
        self._before: dict[tuple[str, str, str], float] = {}
        self._program: Program | None = None

    def add(self, steps: int, seconds: float) -> None:
        """Steps were taken in a time [s]."""
        self._steps, self._seconds = self._steps + steps, self._seconds + seconds

    def profile(self, program: Program | None, systems: Sequence[System], contacts: int, threads: int) -> Profile:
        """The profile of the steps since the last one.

        Args:
            program: The program of a step; its kernels are counted since it was recorded.
            systems: The systems.
            contacts: Contacts with a force now.
            threads: Threads that a step uses.
        """
        if program is not self._program:
            self._before, self._program = {}, program
        totals: dict[tuple[str, str, str], float] = {}
        for part, kernel, seconds in program.profile() if program is not None else ():
            system, _, phase = part.partition(": ")
            totals[system, phase, kernel] = totals.get((system, phase, kernel), 0.0) + seconds
        result = Profile(
            steps=self._steps,
            seconds=self._seconds,
            kernels=[KernelTime(*key, max(total - self._before.get(key, 0.0), 0.0)) for key, total in totals.items()],
            contacts=contacts,
            bytes=program.memory() if program is not None else 0,
            threads=threads,
            advice={type(system).__name__: system.advice for system in systems},
        )
        self._before, self._steps, self._seconds = totals, 0, 0.0
        return result
