"""What a step needs beside model and state: scratch arrays, and the kernels a scene uses, bound to their arrays."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core.errors import NumbaError

from shinari.build.colouring import incidence
from shinari.contact.family import Family
from shinari.contact.particle.grain_pairs import GrainPairs
from shinari.contact.particle.particle_pairs import Pairs
from shinari.contact.solid.solids import Solids
from shinari.contact.surface.participants import participants
from shinari.contact.surface.surfaces import Surfaces
from shinari.model import ConstraintBlock, Model
from shinari.scene.scene import Scene
from shinari.settings import Settings
from shinari.shape_matching.impacts import Impacts
from shinari.shape_matching.part import ShapeMatching
from shinari.solver.compiling import uncompilable
from shinari.solver.forces import force_kernel
from shinari.solver.hierarchy import Hierarchy
from shinari.solver.jacobi import gather_corrections, relaxation_weights
from shinari.solver.lanes import Batches
from shinari.solver.lift import Variant, projection
from shinari.solver.plastic import Flows, parameters_now
from shinari.solver.tearing import Tears, air_left
from shinari.solver.volume import Volumes
from shinari.state import State

if TYPE_CHECKING:
    from shinari.fluid.emission import Emission
    from shinari.fluid.part import Fluid
    from shinari.live.grabs import Grab
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
        grabs: What a user holds; the simulation's own list.
        loosened: Whether rows have let go by force since the last step.
        drag: Coefficients of the air for each triangle, see `AirSurface`; 0 where it is gone.
        kicks: Changes of velocity by the air at each corner of a triangle, (3 F, 3).
        force_fields: Compiled kernels of the force fields.
    """

    def __init__(self, scene: Scene, model: Model, state: State, settings: Settings) -> None:
        real = model.real
        self.predicted = np.zeros((model.particle_count, 3), real)
        self.solvers = [BlockSolver(block, model, state, settings, self) for block in model.blocks.values()]
        self.parts = [part.bind(model, state, settings, self.predicted) for part in model.parts]
        by_name = {solver.block.type.name: solver for solver in self.solvers}
        self.tears = Tears(model, state, by_name) if model.tearings else None
        self.flows = Flows(model, state, by_name, settings.substep) if model.flowings else None
        self.volumes = [part for part in self.parts if isinstance(part, Volumes)]
        self.bodies = None
        if model.rigid is not None:
            # loaded only for a scene with bodies
            from shinari.rigid.bodies import Bodies

            self.bodies = Bodies(model, model.rigid, state, settings)
        self.held = self._join_attachments()
        self.hierarchy = Hierarchy(scene, model, state, settings) if settings.hierarchy else None
        self.emission = self._bind_emission(scene, model, state)
        self.solids = Solids(scene, model, state, settings, self.predicted) if model.colliders else None
        self.contacts: list[Family] = []
        self.grabs: list[Grab] = []
        self.loosened = False
        self._scene = scene
        faces = 0 if model.air is None else len(model.air.triangles)
        self.kicks = np.zeros((3 * faces, 3), real)
        self.drag = np.zeros((0, 2), real) if model.air is None else model.air.drag
        self._meet(model, state, settings)
        self.fluid = self._wet(scene, model)
        self.force_fields = [force_kernel(function) for function in model.force_fields]

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

        fluid.boundaries.clear()
        frames = None if self.bodies is None else self.bodies.frames
        if self.solids is not None or self.bodies is not None:
            fluid.boundaries.append(Walls(scene, fluid, self.solids, frames))
        fluid.boundaries += bind_points(scene, model, fluid.model, self.solids, frames)
        if self._who is not None and len(self._who.triangles):
            from shinari.fluid.sheets import Sheets

            fluid.boundaries.append(Sheets(fluid, self._who))
        return fluid

    def _meet(self, model: Model, state: State, settings: Settings) -> None:
        """Bind the contacts, and the air, of what is there now."""
        self.contacts = []
        if model.members is not None:
            kind = GrainPairs if model.members.grains.any() else Pairs
            self.contacts.append(kind(model, state, settings, self.predicted, model.members))
        who = self._who = participants(self._scene, model, state)
        if who is not None:
            self.contacts.append(Surfaces(model, state, settings, self.predicted, who))
        if self.solids is not None and model.particle_count:
            self.contacts.append(self.solids)
        pairs = next((family for family in self.contacts if isinstance(family, Pairs)), None)
        if self.bodies is not None and model.particle_count and any(body.pieces for body in self._scene.bodies):
            from shinari.rigid.coupling.body_particles import BodyParticles

            held = None if self.held is None else self.held.held
            self.contacts.append(
                BodyParticles(self._scene, model, state, settings, self.predicted, self.bodies.frames, held)
            )
        if self.contacts:
            lumps = [part for part in model.parts if isinstance(part, ShapeMatching) and part.firm.any()]
            self.contacts += [Impacts(part, model, state, settings, self.solids, pairs) for part in lumps]
        if model.air is not None and model.fabrics:
            self.drag = np.where(air_left(self._scene, model, state)[:, None], model.air.drag, model.real(0.0))

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


class BlockSolver:
    """Projects all rows of a block once.

    Attributes:
        block: The block.
        parameters: Its parameters; driven targets change, and places when the origin of their group does.
        softness: Its softness; a row that breaks becomes infinitely soft.
    """

    def __init__(self, block: ConstraintBlock, model: Model, state: State, settings: Settings, work: Workspace) -> None:
        self.block = block
        self.parameters = parameters_now(model, state, block)
        if block.type.places:
            self.parameters = self.parameters.copy()
        self._batches: Batches | None = None
        # group of each row, for rows that hold places
        self._groups = model.groups[block.indices[:, 0] if block.type.places else []]
        self.place(model, state)
        self.softness = block.softness.copy() if block.type.name in state.broken else block.softness
        self._absent = np.inf if settings.method == "xpbd" else 0.0
        if block.type.name in state.broken:
            self.release(np.flatnonzero(state.broken[block.type.name]))
        real, h = model.real, settings.substep
        damped, gathers = len(block.damping) > 0, settings.sweep != "gauss-seidel"
        in_lanes = block.type.lanes and not gathers
        self._batches = Batches(block.indices, block.offsets) if in_lanes else None
        variant = Variant(settings.method, block.softness.shape[1] == 2, damped, gathers, lanes=in_lanes)
        self._first = projection(block.type, variant)
        self._again = projection(block.type, replace(variant, first=False)) if settings.iterations > 1 else self._first
        self._tail: tuple = (real(1.0 if settings.method == "pbd" else 1.0 / h**2),)
        batches = self._batches
        if batches is not None:
            # the parameters and the softness that the kernel sees are those of the batches
            self._packed = batches.packed(self.parameters), batches.packed(self.softness)
            arguments: list = [batches.offsets, batches.rows, batches.indices, *self._packed]
        else:
            arguments = [block.offsets, block.indices, self.parameters, self.softness]
        if damped:
            arguments += [block.damping if batches is None else batches.packed(block.damping)]
            arguments += [work.predicted, state.v]
            self._tail += (real(h),)
        arguments.append(state.multipliers[block.type.name])
        self._gather: Callable[[], None] | None = None
        if gathers:
            arguments += self._jacobi(model, state, settings)
        self._arguments = (*arguments, state.x)

    def project(self, threads: int, first: bool) -> None:
        """Solve every row once on so many threads; `first` in the first iteration of a substep."""
        kernel = self._first if first else self._again
        try:
            kernel(threads, *self._arguments, *self._tail)
        except NumbaError as error:
            raise uncompilable(f"constraint {self.block.type.name!r}: evaluate", error) from error
        if self._gather is not None:
            self._gather()

    def place(self, model: Model, state: State) -> None:
        """Bring the parameters that are places to the origins of the groups as they are now."""
        for columns in self.block.type.place_columns:
            moved = (state.origins - model.origins)[self._groups]
            self.parameters[:, columns] = self.block.parameters[:, columns] - moved
        self._repack()

    def drive(self, rows: np.ndarray, target: np.ndarray, state: State) -> None:
        """Put the target of rows (K,) to a place in the world [m], (3,)."""
        for columns in self.block.type.place_columns:
            self.parameters[rows, columns] = target - state.origins[self._groups[rows]]
        self._repack()

    def release(self, rows: np.ndarray) -> None:
        """Take rows (K,) out of play: infinitely soft, or of no stiffness."""
        self.softness[rows] = self._absent
        self._repack()

    def set_parameters(self, rows: np.ndarray, columns: slice, values: np.ndarray) -> None:
        """Change parameters of rows (K,), for those that flow."""
        self.parameters[rows, columns] = values
        self._repack()

    def _repack(self) -> None:
        """Bring the batches to the parameters and the softness as they are."""
        if self._batches is not None:
            self._packed[0][...] = self._batches.packed(self.parameters)
            self._packed[1][...] = self._batches.packed(self.softness)

    def _jacobi(self, model: Model, state: State, settings: Settings) -> list:
        offsets, entries = incidence(self.block.indices, model.particle_count)
        averaged = settings.sweep == "jacobi-averaged"
        weights = relaxation_weights(np.diff(offsets), averaged, settings.relaxation, model.real)
        corrections = np.zeros((self.block.indices.size, 3), model.real)
        places = entries.astype(np.uint32)
        self._gather = lambda: gather_corrections(places, offsets, corrections, weights, state.x)
        return [corrections, weights]
