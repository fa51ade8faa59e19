"""The systems of a simulation, in the order in which a step goes through them, and the program that they record."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.compute import Program
from shinari.compute.kernels import CompileError
from shinari.constraints.neo_hookean import NEO_HOOKEAN
from shinari.contact.particle.grain_pairs import GrainPairs
from shinari.contact.particle.particle_pairs import Pairs
from shinari.contact.solid.solids import Solids
from shinari.contact.surface.participants import participants
from shinari.contact.surface.surfaces import Surfaces
from shinari.errors import SceneError
from shinari.live.grab_system import GrabSystem
from shinari.model import Model
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.shape_matching.impacts import Impacts
from shinari.shape_matching.part import Matching
from shinari.solver.air import Air
from shinari.solver.breaking import Breaking, Drivers
from shinari.solver.chebyshev import Chebyshev
from shinari.solver.forces import force_kernel
from shinari.solver.hierarchy import Hierarchy
from shinari.solver.particle_motion import ForceFields, ParticleMotion
from shinari.solver.particles import Clock, Groups, Particles, UserState
from shinari.solver.plastic import Flows
from shinari.solver.rows import BlockSolver
from shinari.solver.system import System
from shinari.solver.tangles import Tangles
from shinari.solver.tearing import Tears, air_left
from shinari.solver.volume import Volumes
from shinari.state import State

if TYPE_CHECKING:
    from shinari.fluid.emission import Emission
    from shinari.fluid.part import Fluid
    from shinari.live.grabs import Grab
    from shinari.rigid.coupling.attachments import Attachments

Recorder = Callable[[Program, Sequence[System], Clock, Settings], None]


class Workspace:
    """The systems of one simulation.

    Attributes:
        particles: The particles.
        groups: Their groups.
        clock: Where the step is.
        motion: The particles as a system.
        systems: All systems, in the order in which a step goes through them.
        solvers: Rows, one for each type of constraints.
        parts: What is not made of rows, such as rods and fluids.
        bodies: The rigid bodies with their joints and contacts, or None.
        held: Attachments of particles to bodies, or None.
        solids: The colliders, or None.
        fluid: The fluids, or None.
        contacts: Contacts of particles.
        air: Triangles in the air, or None.
    """

    def __init__(self, scene: Scene, model: Model, state: State, settings: Settings, grabs: "list[Grab]") -> None:
        real = model.real
        self._scene, self._model, self._state, self._settings = scene, model, state, settings
        self.predicted = np.zeros((model.particle_count, 3), real)
        self.particles = Particles(real, x=state.x, v=state.v, predicted=self.predicted, group=model.groups)
        self.groups, self.clock = Groups(real, origin=state.origins), Clock.zeros(1, real)
        user = UserState(real, position=state.positions, velocity=state.velocities, slot=model.slots)
        self.motion = ParticleMotion(model, settings, user, self.particles, self.groups)
        self.solvers = [BlockSolver(block, model, state, settings, self.particles) for block in model.blocks.values()]
        self.parts: list[Any] = [part.bind(model, state, settings, self) for part in model.parts]
        self.bodies: Any = None
        if model.rigid is not None:
            # loaded only for a scene with bodies
            from shinari.rigid.bodies import Bodies

            self.bodies = Bodies(model, model.rigid, state, settings, self.clock)
        self.held = self._join_attachments()
        self.solids = None
        if model.colliders:
            self.solids = Solids(scene, model, state, settings, self.particles, self.groups, self.clock)
        self.air = None if model.air is None else Air(model, settings, self.particles, self.clock)
        frames = None if self.bodies is None else self.bodies.frames
        self._grabs = GrabSystem(grabs, state, settings, self.particles, self.groups, self.clock, frames)
        self._failure, self._others = self._bind_failure(), self._bind_others()
        self._read = Program()
        self.motion.record_read(self._read)
        self._bind_contacts()

    def _bind_failure(self) -> list[System]:
        """What breaks, yields, untangles and tears."""
        model, state, settings = self._model, self._state, self._settings
        by_name = {solver.block.type.name: solver for solver in self.solvers}
        self._breaking = Breaking(model.breakables, by_name, settings)
        self._drivers = Drivers(model.drivers, by_name, self.groups, self.clock, settings)
        self._tears = Tears(model, by_name, self.particles) if model.tearings else None
        flows = [Flows(model, state, by_name, self.particles, settings.substep)] if model.flowings else []
        solid = by_name.get(NEO_HOOKEAN.name)
        tangles = [] if solid is None else [Tangles(state, solid, self.particles)]
        return [self._breaking, *flows, *tangles, *([self._tears] if self._tears else [])]

    def _bind_others(self) -> list[System]:
        """What acts in an iteration beside rows and contacts."""
        model, settings = self._model, self._settings
        found: list[System] = [self._drivers]
        if settings.hierarchy:
            found.append(Hierarchy(self._scene, model, self.particles, settings, self.clock))
        if settings.sweep == "chebyshev":
            multipliers = [solver.multipliers for solver in self.solvers]
            found.append(Chebyshev(self.particles, multipliers, settings, self.clock))
        return found

    def _bind_contacts(self) -> None:
        """Bind the contacts, and the air, of what is there now; the program has to be recorded anew."""
        self.contacts = self._contacts()
        self.fluid = self._join_fluid()
        if self.air is not None and self._model.fabrics:
            self.air.keep(air_left(self._scene, self._model, self._state))
        self._arrange()

    def _arrange(self) -> None:
        """Put the systems in their order; the program has to be recorded anew."""
        model, settings = self._model, self._settings
        kernels = [force_kernel(function) for function in model.force_fields]
        fields = [ForceFields(kernels, self.particles, self.groups, self.clock, settings)] if kernels else []
        emission = self._bind_emission()
        self.systems: list[System] = [
            *fields,
            *([] if self.air is None else [self.air]),
            *([] if emission is None else [emission]),
            *self.contacts,
            self.motion,
            *([] if self.bodies is None else [self.bodies]),
            *self.solvers,
            *self.parts,
            *self._others,
            *([self._grabs] if self._grabs.active else []),
            *self._failure,
        ]
        self._program: Program | None = None

    def _contacts(self) -> list[Any]:
        """Contacts of particles, in the order in which they are solved."""
        model, state, settings = self._model, self._state, self._settings
        records = self.particles, self.groups, self.clock
        found: list[Any] = []
        if model.members is not None:
            grains = model.members.grains.any()
            found.append(
                GrainPairs(model, settings, *records, model.members, state)
                if grains
                else Pairs(model, settings, *records, model.members)
            )
        pairs = found[0] if found else None
        who = self._who = participants(self._scene, model, state)
        if who is not None:
            found.append(Surfaces(model, state, settings, self.particles, who))
        if self.solids is not None and model.particle_count:
            found.append(self.solids)
        if self.bodies is not None and model.particle_count and any(body.pieces for body in self._scene.bodies):
            from shinari.rigid.coupling.body_particles import BodyParticles

            held = None if self.held is None else self.held.held
            frames = self.bodies.frames
            found.append(BodyParticles(self._scene, model, state, settings, *records[:2], frames, held))
        if found:
            lumps = [part for part in self.parts if isinstance(part, Matching) and part.lumps.rigid.any()]
            found += [Impacts(part, model, settings, self.particles, self.solids, pairs) for part in lumps]
        return found

    def _join_attachments(self) -> "Attachments | None":
        """Let the attachments of particles to bodies know the bodies; None when there are none."""
        if self.bodies is None:
            return None
        from shinari.rigid.coupling.attachments import Attachments

        held = next((part for part in self.parts if isinstance(part, Attachments)), None)
        if held is not None:
            held.join(self.bodies.frames)
        return held

    def _bind_emission(self) -> "Emission | None":
        """What lets particles of fluids come and go; None when nothing does."""
        for part in self._model.parts:
            # a model of fluids; its modules are loaded only for a scene that has one
            if part.name == "fluid" and (part.emitting or part.sinks):  # type: ignore[attr-defined]
                from shinari.fluid.emission import Emission

                return Emission(self._scene, part, self._model, self._state)  # type: ignore[arg-type]
        return None

    def _join_fluid(self) -> "Fluid | None":
        """Let the fluids know the solids that they lie against; None when there are no fluids."""
        fluid: Any = next((b for m, b in zip(self._model.parts, self.parts, strict=True) if m.name == "fluid"), None)
        if fluid is None:
            return None
        from shinari.fluid.boundary_points import bind_points
        from shinari.fluid.walls import Walls

        boundaries: list[Any] = []
        frames = None if self.bodies is None else self.bodies.frames
        if self.solids is not None or self.bodies is not None:
            boundaries.append(Walls(self._scene, fluid, self.solids, frames))
        boundaries += bind_points(self._scene, self._model, fluid, self.solids, frames)
        if self._who is not None and len(self._who.triangles):
            from shinari.fluid.sheets import Sheets

            boundaries.append(Sheets(fluid, self._who))
        fluid.bind_boundaries(boundaries)
        return fluid

    def read(self, threads: int) -> None:
        """Take over what the user wrote."""
        self._read.run(threads)

    def prepare(self, record: Recorder) -> Program:
        """The program of a step, with all its kernels loaded or compiled."""
        if self._program is None:
            self._program = Program()
            record(self._program, self.systems, self.clock, self._settings)
            try:
                self._program.prepare()
                self._read.prepare()
            except CompileError as error:
                raise SceneError(str(error)) from error
        return self._program

    def advance(self, threads: int, record: Recorder) -> bool:
        """Run a step; False when it was stopped."""
        return self.prepare(record).run(threads)

    def follow_changes(self) -> None:
        """Bind contacts and air anew after rows have been released, and grabs after the first one.

        What has torn touches nothing and has no drag.
        """
        torn = self._tears is not None and self._tears.changed
        loosened = bool(self._breaking.changed.flag[0])
        self._breaking.changed.flag[0] = 0
        if self.held is not None and self.held.loosened:
            self.held.loosened, loosened = False, True
        if not torn and not loosened:
            if self._grabs.active != (self._grabs in self.systems):
                self._arrange()
            return
        if self._tears is not None:
            self._tears.changed = False
        for part in self.parts:
            if isinstance(part, Volumes):
                part.follow_tears(self._model, self._state)
        self._bind_contacts()
