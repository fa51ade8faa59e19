"""Systems: whatever moves or touches something, and how it takes part in a step.

A system records its launches for each phase of a substep. `shinari.solver.step` goes through the phases, and in each
phase through the systems of a simulation; it knows none of them by name. Python runs in `begin` and `end` only.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.compute import Program
from shinari.model.contact_passes import ContactPasses
from shinari.model.system_model import BoundSystems

if TYPE_CHECKING:
    from shinari.collision.report import ContactImpulses, Contacts


# Methods of a system that run in each step.
_IN_PYTHON = "begin", "end", "take_released", "follow_state"


class System:
    """What takes part in a step. A system overrides the phases that it needs.

    Attributes:
        order: Place in each phase: 0 to 9 forces and sources, 10 to 19 contacts of particles, 20 motion of particles,
            30 bodies, 39 what precedes constraint rows, 40 these, 50 other constraints, 60 to 69 moving targets and
            acceleration, 70 grabs, 80 to 89 failure, 95 rest. The table of all systems is in docs/decisions/systems.md.
        solves_contacts: Whether it solves contacts, in passes over those of all systems.
        repeated: Whether it solves something else anew in each pass.
        most_passes: How many passes over the contacts it may ask for.
        in_one_pass: Whether one pass leaves nothing to its next one, when no other system moves particles in between.
        steps_aside: Whether it takes itself out of `Clock.solvers` in a substep in which it has no contacts.
        tells_moved: Whether it notes the particles that its contacts move noticeably, and takes in a local pass only
            the contacts of these; see `shinari.model.contact_passes`.
        advice: How its time can be reduced, for `sim.profile()`.
        on_device: Whether it runs on a GPU; see docs/gpu.md.
        can_rest: Whether it may be left out while nothing moves; see `shinari.solver.rest`. Not what changes with time,
            or has motions of its own that `tell_moving` does not see.
    """

    order: int
    solves_contacts = False
    repeated = False
    most_passes = 0
    tells_moved = False
    in_one_pass = False
    steps_aside = False
    advice = ""
    on_device = False
    can_rest = False

    @property
    def active(self) -> bool:
        """Whether it takes part in the next step."""
        return True

    def disturbed(self, time: float, ends: np.ndarray) -> bool:
        """Whether something other than particles moves in the step of a scene at rest; arguments as of `begin`."""
        return False

    def tell_moving(self, p: Program) -> None:
        """Record for the end of a step: set `Clock.moving` where something other than particles moves."""

    @property
    def needs_python(self) -> bool:
        """Whether one of `_IN_PYTHON` has something to do in each step.

        Where no system needs Python, steps follow each other in compiled code; see `shinari.solver.world`.
        """
        return any(getattr(type(self), name) is not getattr(System, name) for name in _IN_PYTHON)

    def connect(self, bound: BoundSystems) -> None:
        """All systems are bound, some of them anew: find those that it works with."""

    def follow_state(self) -> None:
        """A step is about to begin, and the user may have changed the state: find out whether to take part."""

    def take_released(self) -> bool:
        """Whether it has released constraint rows since this was last asked."""
        return False

    def follow_release(self) -> None:
        """Constraint rows were released: leave out what they held together."""

    def wake(self) -> None:
        """The scene or the settings have changed: what was at rest may not be any more."""

    def follow_origins(self) -> None:
        """Origins have moved."""

    def path_certifier(self, certificate: Any) -> Any:
        """The certifier of the paths of its pairs, a `shinari.systems.paths.certifier.Certifier`; None: it has none."""
        return None

    def contact_impulses(self) -> "ContactImpulses | None":
        """Query: contacts of particles that pushed in the last step."""
        return None

    def contacts(self) -> "Contacts | None":
        """Query: contacts between objects without particles that pushed in the last step."""
        return None

    def non_finite(self) -> str | None:
        """Query: name of the first object without particles whose pose or velocity is not finite."""
        return None

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins at a time [s], its substeps end at `ends` [s]: tabulate what functions of time say.

        Raises:
            ShinariError: A function of the user gives what it must not.
        """

    def end(self) -> None:
        """A step has ended with finite numbers: keep and show what it changed."""

    def check(self) -> None:
        """A step was stopped.

        Raises:
            ShinariError: This system stopped it; the message says why.
        """

    def record_begin(self, p: Program) -> None:
        """Before the first substep."""

    def record_forces(self, p: Program) -> None:
        """Change velocities by forces."""

    def record_detect(self, p: Program) -> None:
        """Find contacts, after forces and before the prediction."""

    def record_predict(self, p: Program) -> None:
        """Advance positions and velocities as if there were no constraints."""

    def record_project(self, p: Program, first: bool) -> None:
        """Solve all constraints once; `first` in the first iteration of a substep."""

    def record_contacts(self, p: Program, first: bool) -> None:
        """Solve all contacts once; `first` in the first pass of the first iteration of a substep."""

    def record_overlap(self, p: Program, passes: ContactPasses) -> None:
        """Raise `passes.overlap` to the largest overlap of this pass, if more passes would lessen it; or `wanted`."""

    def record_between(self, p: Program) -> None:
        """Solve again what contacts disturb, before each further pass."""

    def record_settle(self, p: Program) -> None:
        """After all iterations: undo what must not happen, such as a crossing; positions do not change after it."""

    def record_velocities(self, p: Program) -> None:
        """Derive velocities from positions."""

    def record_restitution(self, p: Program) -> None:
        """Change velocities after impacts."""

    def record_finish(self, p: Program) -> None:
        """The substep is over: break, tear and yield."""

    def record_check(self, p: Program) -> None:
        """After the last substep: stop the run where numbers are not finite."""

    def record_end(self, p: Program) -> None:
        """After the last substep, if all numbers are finite: show the result."""


def record(p: Program, systems: Sequence[System], phase: str, *arguments: object) -> None:
    """Record a phase of all systems."""
    for system in systems:
        p.part = f"{type(system).__name__}: {phase}"
        getattr(system, f"record_{phase}")(p, *arguments)
    p.part = ""
