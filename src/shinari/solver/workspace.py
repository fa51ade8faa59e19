"""What a step needs beside model and state: scratch arrays, and the kernels a scene uses, bound to their arrays."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.compute import Program
from shinari.contact.family import Family
from shinari.contact.particle.grain_pairs import GrainPairs
from shinari.contact.particle.particle_pairs import Pairs
from shinari.contact.solid.solids import Solids
from shinari.contact.surface.participants import participants
from shinari.contact.surface.surfaces import Surfaces
from shinari.model import Model
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.shape_matching.impacts import Impacts
from shinari.shape_matching.part import Matching
from shinari.solver.air import Air
from shinari.solver.forces import force_kernel
from shinari.solver.hierarchy import Hierarchy
from shinari.solver.particles import (
    Clock,
    Groups,
    Particles,
    Times,
    UserState,
    predict,
    publish,
    read_user_state,
    update_velocities,
)
from shinari.solver.plastic import Flows
from shinari.solver.rows import BlockSolver
from shinari.solver.segment import Segment
from shinari.solver.tearing import Tears, air_left
from shinari.solver.volume import Volumes
from shinari.state import State

if TYPE_CHECKING:
    from shinari.fluid.emission import Emission
    from shinari.fluid.part import Fluid
    from shinari.live.grab_rows import GrabSystem
    from shinari.rigid.coupling.attachments import Attachments


class Workspace:
    """Scratch memory and bound kernels of one simulation.

    Attributes:
        predicted: Positions before the constraints of the substep, in solver order, (N, 3).
        solvers: One for each block, in the order in which they are solved.
        parts: The parts of the model, in the order in which they are solved.
        volumes: Those of the parts that are solved again between the turns of the contacts: what a contact takes from
            a closed mesh has to come out elsewhere.
        bodies: The rigid bodies with their joints and contacts, or None.
        held: Attachments of particles to bodies, or None.
        hierarchy: Coarse levels of the distance rows, or None.
        solids: The colliders, or None.
        fluid: The fluids, or None.
        contacts: Families of contacts, in the order in which they are solved.
        emission: Emitters and sinks of fluids, or None.
        tears: What can tear, or None.
        flows: What can flow, or None.
        grabs: The grabs of a user, if any.
        loosened: Whether rows have let go by force since the last step.
        air: Triangles in the air, or None.
        force_fields: Kernels of the force fields.
    """

    def __init__(self, scene: Scene, model: Model, state: State, settings: Settings) -> None:
        real = model.real
        self.predicted = np.zeros((model.particle_count, 3), real)
        self._settings, self._model = settings, model
        self.particles = Particles(real, x=state.x, v=state.v, predicted=self.predicted, group=model.groups)
        self.user = UserState(real, position=state.positions, velocity=state.velocities, slot=model.slots)
        self.groups = Groups(real, origin=state.origins)
        self.clock, self.times = Clock.zeros(1, real), Times.zeros(settings.substeps, real)
        self.solvers = [BlockSolver(block, model, state, settings, self.particles) for block in model.blocks.values()]
        self.parts = [part.bind(model, state, settings, self) for part in model.parts]
        by_name = {solver.block.type.name: solver for solver in self.solvers}
        self.tears = Tears(model, state, by_name) if model.tearings else None
        self.flows = Flows(model, state, by_name, settings.substep) if model.flowings else None
        self.volumes = [part for part in self.parts if isinstance(part, Volumes)]
        self.bodies = None
        if model.rigid is not None:
            # loaded only for a scene with bodies
            from shinari.rigid.bodies import Bodies

            self.bodies = Bodies(model, model.rigid, state, settings, self.clock)
        self.held = self._join_attachments()
        self.hierarchy = Hierarchy(scene, model, self.particles, settings) if settings.hierarchy else None
        self.emission = self._bind_emission(scene, model, state)
        self.solids = None
        if model.colliders:
            self.solids = Solids(scene, model, state, settings, self.particles, self.groups, self.clock)
        self.contacts: list[Family] = []
        self.grabs: list[GrabSystem] = []
        self.loosened = False
        self._scene = scene
        self.air = None if model.air is None else Air(model, settings, self.particles, self.clock)
        self._meet(model, state, settings)
        self.fluid = self._wet(scene, model)
        self.force_fields = [force_kernel(function) for function in model.force_fields]
        self.read, self.write = Segment(self._record_read), Segment(self._record_write)
        self.forces, self.predict = Segment(self._record_forces), Segment(self._record_predict)
        self.velocities = Segment(self._record_velocities)
        self.project = {first: Segment(lambda p, first=first: self._record_rows(p, first)) for first in (True, False)}
        self.coarse = Segment(lambda p: self.hierarchy.record_project(p, self.clock) if self.hierarchy else None)

    def _record_read(self, p: Program) -> None:
        records = self.user, self.particles, self.groups
        p.launch(read_user_state, *records, 1 / self._settings.dt, count=len(self.user))

    def _record_write(self, p: Program) -> None:
        p.launch(publish, self.user, self.particles, self.groups, count=len(self.user))

    def _record_forces(self, p: Program) -> None:
        h, count = self._settings.substep, len(self.particles)
        for kernel in self.force_fields:
            p.launch(kernel, self.particles, self.groups, self.clock, self.times, h, count=count)
        if self.air is not None:
            self.air.record_forces(p)

    def _record_predict(self, p: Program) -> None:
        h = self._settings.substep
        p.launch(predict, self.particles, *(h * self._model.gravity), h, count=len(self.particles))

    def _record_velocities(self, p: Program) -> None:
        h = self._settings.substep
        decay = math.exp(-self._model.damping * h)
        p.launch(update_velocities, self.particles, decay, 1 / h, count=len(self.particles))

    def _record_rows(self, p: Program, first: bool) -> None:
        for solver in self.solvers:
            solver.record_project(p, first)

    def _join_attachments(self) -> "Attachments | None":
        """Let the attachments of particles to bodies know the bodies; None when there are none."""
        if self.bodies is None:
            return None
        from shinari.rigid.coupling.attachments import Attachments

        held = next((part for part in self.parts if isinstance(part, Attachments)), None)
        if held is not None:
            held.join(self.bodies.frames)
        return held

    @staticmethod
    def _bind_emission(scene: Scene, model: Model, state: State) -> "Emission | None":
        """What lets particles of fluids come and go; None when nothing does."""
        for part in model.parts:
            # a model of fluids; its modules are loaded only for a scene that has one
            if part.name == "fluid" and (part.emitting or part.sinks):  # type: ignore[attr-defined]
                from shinari.fluid.emission import Emission

                return Emission(scene, part, model, state)  # type: ignore[arg-type]
        return None

    def _wet(self, scene: Scene, model: Model) -> "Fluid | None":
        """Let the fluids know the solids that they lie against; None when there are no fluids."""
        fluid: Any = next((b for m, b in zip(model.parts, self.parts, strict=True) if m.name == "fluid"), None)
        if fluid is None:
            return None
        from shinari.fluid.boundary_points import bind_points
        from shinari.fluid.walls import Walls

        boundaries: list[Any] = []
        frames = None if self.bodies is None else self.bodies.frames
        if self.solids is not None or self.bodies is not None:
            boundaries.append(Walls(scene, fluid, self.solids, frames))
        boundaries += bind_points(scene, model, fluid, self.solids, frames)
        if self._who is not None and len(self._who.triangles):
            from shinari.fluid.sheets import Sheets

            boundaries.append(Sheets(fluid, self._who))
        fluid.bind_boundaries(boundaries)
        return fluid

    def _meet(self, model: Model, state: State, settings: Settings) -> None:
        """Bind the contacts, and the air, of what is there now."""
        self.contacts = []
        if model.members is not None:
            records = self.particles, self.groups, self.clock
            self.contacts.append(
                GrainPairs(model, settings, *records, model.members, state)
                if model.members.grains.any()
                else Pairs(model, settings, *records, model.members)
            )
        who = self._who = participants(self._scene, model, state)
        if who is not None:
            self.contacts.append(Surfaces(model, state, settings, self.particles, who))
        if self.solids is not None and model.particle_count:
            self.contacts.append(self.solids)
        pairs = next((family for family in self.contacts if isinstance(family, Pairs)), None)
        if self.bodies is not None and model.particle_count and any(body.pieces for body in self._scene.bodies):
            from shinari.rigid.coupling.body_particles import BodyParticles

            held = None if self.held is None else self.held.held
            records = self.particles, self.groups, self.bodies.frames
            self.contacts.append(BodyParticles(self._scene, model, state, settings, *records, held))
        if self.contacts:
            lumps = [part for part in self.parts if isinstance(part, Matching) and part.lumps.rigid.any()]
            self.contacts += [Impacts(part, model, settings, self.particles, self.solids, pairs) for part in lumps]
        if model.air is not None and model.fabrics:
            assert self.air is not None
            self.air.keep(air_left(self._scene, model, state))

    def follow_tears(self, model: Model, state: State, settings: Settings) -> None:
        """What has torn since the last step keeps nothing off and feels no air; what has come loose may touch."""
        torn = self.tears is not None and self.tears.changed
        if self.held is not None and self.held.loosened:
            self.held.loosened, self.loosened = False, True
        if torn or self.loosened:
            self.loosened = False
            if self.tears is not None:
                self.tears.changed = False
            for volumes in self.volumes:
                volumes.follow_tears(model, state)
            self._meet(model, state, settings)
            self.fluid = self._wet(self._scene, model)
