"""Points of solids, and particles that are no fluid, as boundaries of the fluids of a simulation.

Akinci et al. 2012 for solids; Macklin et al. 2014, section 7, for particles of others, which enter the density with the
volume that they have: wood floats and stones sink. See `boundary_kernels` for the equations.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.errors import SceneError
from shinari.geometry.k_nearest import nearest
from shinari.model.model import Model
from shinari.scene.contents import Contents
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.objects import ParticleObject
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.fluid.boundary_carriers import Carrier, ColliderCarriers, ParticleCarriers, has_points
from shinari.systems.fluid.boundary_kernels import (
    add_impulse,
    add_points,
    add_responses,
    check_order,
    check_point,
    clear_mean,
    clear_owner,
    count_impulses,
    find_impulse,
    find_mean,
    finish_lists,
    log_impulses,
    return_mean,
    stiffen,
)
from shinari.systems.fluid.boundary_lists import BoundaryPoints, Grains, Owners, PointLists
from shinari.systems.fluid.records import Impulses, Log, logged
from shinari.systems.fluid.smoothing import Smoothing

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid
    from shinari.systems.rigid.frames import Frames

# Kinds of objects whose particles lie in a fluid as points.
SOLID_KINDS = ("particles", "lump", "grains")
# Points move so far before they are looked for again, as part of the support.
STRAY = 0.05


class PointBoundary:
    """Points of one kind of carrier; a boundary, see `shinari.systems.fluid.system.Boundary`.

    Attributes:
        carrier: The points and what carries them.
        points: Where they are.
        lists: Which of them are near which particles of the fluid.
        grains: Those of them that are grains; no rows where none can be.
        has_grains: Whether some are.
    """

    def __init__(self, carrier: Carrier, ignored: np.ndarray, fluid: "Fluid") -> None:
        """Bind the points.

        Args:
            carrier: The points and what carries them.
            ignored: Which of the carrier's kinds each fluid passes through, (F, kinds) bool.
            fluid: The fluids.
        """
        real, count = fluid.scene_model.real, len(carrier.volumes)
        self.carrier, self._fluid = carrier, fluid
        self.points: BoundaryPoints = BoundaryPoints.zeros(count, real)
        points = self.points
        points.volume[...], points.owner[...], points.kind[...] = carrier.volumes, carrier.owners, carrier.kinds
        self._owners: Owners = Owners.zeros(len(carrier.others), real)
        self._owners.other[...] = carrier.others
        self.grains: Grains = Grains.zeros(len(carrier.diameters), real)
        self.has_grains = bool(carrier.diameters.any())
        if self.has_grains:
            self.grains.particle[...], self.grains.diameter[...] = carrier.others, carrier.diameters
        self.lists = PointLists(points, fluid.rows, fluid.solve, ignored, fluid.reach, carrier.single)
        self.lists.state.allowed[0] = STRAY / math.sqrt(3.0) * fluid.model.smoothing.support
        self._log, self._impulses = Log.zeros(1), Impulses.zeros(0)

    def begin(self) -> None:
        """A step begins: forget the lists and impulses of the step before."""
        state = self.lists.state
        self._log.count[0], state.pairs[0], state.stale[0] = 0, 0, 1
        if self.carrier.begin(self._fluid, self.points):
            state.unsorted[0] = 1

    def check(self) -> None:
        """Raise an error if the points could not be sorted.

        Raises:
            ShinariError: They are spread over more cells than can be numbered.
        """
        self.lists.grid.check()

    def record_find(self, p: Program) -> None:
        """List the pairs anew when the order has changed or a point has gone too far."""
        fluid, lists, carrier = self._fluid, self.lists, self.carrier
        carrier.record_place(p, fluid, self.points)
        p.serial(check_order, lists.state, fluid.solve)
        if carrier.moves:
            p.launch(check_point, self.points, lists.state, count=len(self.points), grain=4096)
        with p.when((lists.state.stale, 0)):
            p.serial(count_impulses, lists.pairs, lists.state, self._log)
            p.require(self._impulses, (self._log.room, 0), "fluid: {count} impulses of points")
            p.serial(log_impulses, lists.pairs, self._owners, lists.state, self._log, self._impulses)
            if carrier.moves:
                lists.record_sort(p)
            else:
                with p.when((lists.state.unsorted, 0)):
                    lists.record_sort(p)
            lists.record_find(p)
            p.serial(finish_lists, lists.state)

    def record_gather(self, p: Program, first: bool) -> None:
        """Add to the densities, their gradients and, at the start of a substep, the stiffness."""
        fluid, lists, carrier = self._fluid, self.lists, self.carrier
        carrier.record_place(p, fluid, self.points)
        smoothing = fluid.model.smoothing
        records = fluid.rows, self.points, lists.offsets, lists.entries, lists.starts, lists.pairs
        scales = fluid.inverse2, smoothing.weight_scale, smoothing.slope_scale
        p.launch(add_points(smoothing.kernel_id), *records, *scales, count=fluid.count)
        if first and carrier.gives_way:
            carrier.record_responses(p, fluid, lists)
            p.launch(clear_owner, self._owners, 0.0, count=len(self._owners))
            p.serial(add_responses, lists.pairs, self._owners, lists.state)
            p.launch(stiffen, fluid.rows, lists.starts, lists.pairs, self._owners, count=fluid.count)

    def record_response(self, p: Program) -> None:
        """How far the carriers give way to the direction of the multipliers."""
        fluid, lists = self._fluid, self.lists
        if self.has_grains:
            records = self.points, self.grains, self._owners, lists.theirs, lists.transposed, lists.pairs, fluid.rows
            p.launch(find_mean(fluid.model.smoothing.kernel_id), *records, fluid.inverse2, count=len(self.grains))
        self._record_total(p)
        if self.carrier.gives_way:
            self.carrier.record_response(p, fluid)

    def record_impulses(self, p: Program, searched: bool) -> None:
        """Push the carriers back: along the direction of the search; before the search, by the gradients."""
        lists, carrier, fluid = self.lists, self.carrier, self._fluid
        if not searched:
            p.launch(clear_mean, self._owners, 0.0, count=len(self._owners))
            self._record_total(p)
        elif self.has_grains:
            records = fluid.rows, fluid.particles, lists.starts, lists.pairs, self._owners, fluid.solve
            p.launch(return_mean, *records, count=fluid.count)
        p.launch(add_impulse, lists.pairs, self._fluid.solve, searched, count=(lists.state.pairs, 0))
        if carrier.gives_way:
            carrier.record_follow(p, self._fluid, searched)

    def _record_total(self, p: Program) -> None:
        lists = self.lists
        p.launch(find_impulse, self._fluid.rows, lists.pairs, self._owners, count=(lists.state.pairs, 0))
        if self.carrier.gives_way:
            self.carrier.record_total(p, self._fluid, lists)

    def contact_impulses(self) -> ContactImpulses:
        """The pairs that pushed in the last step."""
        pairs, count = self.lists.pairs, int(self.lists.state.pairs[0])
        first, second, _, pushes = logged(self._log, self._impulses)
        first = np.concatenate([first, pairs.particle[:count]]).astype(np.int64)
        second = np.concatenate([second, self._owners.other[pairs.owner[:count]]])
        pushes = np.concatenate([pushes, pairs.impulse[:count]]) / self._fluid.h
        if not len(first):
            return ContactImpulses.none()
        keys, where = np.unique(np.stack([first, second], axis=1), axis=0, return_inverse=True)
        impulses = np.zeros((len(keys), 3))
        np.add.at(impulses, where.ravel(), pushes)
        sizes = np.linalg.norm(impulses, axis=1)
        pushed = sizes > 0.0
        keys, impulses, sizes = keys[pushed], impulses[pushed], sizes[pushed]
        particles, weights = np.zeros((len(keys), 4), np.uint32), np.zeros((len(keys), 4))
        particles[:, 0], weights[:, 0] = keys[:, 0], 1.0
        colliders = np.full(len(keys), -1)
        if self.carrier.single:
            particles[:, 1], weights[:, 1] = keys[:, 1], -1.0
        else:
            colliders = keys[:, 1]
        return ContactImpulses(particles, weights, colliders, impulses / sizes[:, None], impulses)


def bind_points(
    scene: Contents, model: Model, fluid: "Fluid", solids: ColliderContacts | None, frames: "Frames | None"
) -> list[PointBoundary]:
    """What lies in the fluids as points: with `boundary="particles"` solids that have an end, and particles of others.

    Args:
        scene: The scene.
        model: Its model.
        fluid: The fluids in it.
        solids: The colliders.
        frames: The frames of bodies.

    Raises:
        SceneError: The fluid has two dimensions and solids are to be particles.
    """
    fluids = fluid.model
    names = [model.object_ranges[k][0] for k in fluids.objects]
    smoothing = fluids.smoothing
    carriers: list[tuple[Carrier, np.ndarray]] = []
    if fluids.boundary == "particles" and smoothing.dimensions == 2:
        raise SceneError(
            f'fluid {names[0]!r}: boundary: "particles" covers surfaces in space; a fluid of 2 dimensions takes "walls"'
        )
    if fluids.boundary == "particles" and solids is not None:
        ignored = _ignored(scene, names, [c.name for c in model.colliders])
        for moving in (False, True):
            which = [k for k, c in enumerate(model.colliders) if (c.motion is not None) == moving]
            which = [k for k in which if has_points(model.colliders[k].shape)]
            if which:
                carriers.append((ColliderCarriers(which, model, solids, smoothing), ignored))
    if fluids.boundary == "particles" and frames is not None and any(body.pieces for body in scene.bodies):
        # loaded only for a scene with bodies
        from shinari.systems.fluid.boundary_frames import BodyCarriers
        from shinari.systems.rigid.body_shapes import body_shapes_of

        bodies = [body.name for body in scene.bodies]
        shapes = [piece.shape for body in scene.bodies for piece in body.pieces]
        on_bodies = BodyCarriers(bodies, body_shapes_of(scene.bodies), shapes, frames, len(model.colliders), smoothing)
        carriers.append((on_bodies, _ignored(scene, names, bodies)))
    others = _others(scene, model, smoothing)
    if others is not None:
        carriers.append((others, _ignored(scene, names, [obj.name for obj in scene.particle_objects])))
    return [PointBoundary(carrier, ignored, fluid) for carrier, ignored in carriers if len(carrier.volumes)]


def _ignored(scene: Contents, fluids: list[str], others: list[str]) -> np.ndarray:
    """Which of the others each fluid passes through, (F, others)."""
    pairs = [[{a, b} in scene.ignored for b in others] for a in fluids]
    return np.array(pairs, bool).reshape(len(fluids), len(others))


def _others(scene: Contents, model: Model, smoothing: Smoothing) -> ParticleCarriers | None:
    """The particles that lie in the fluids."""
    start, particles, objects, volumes, diameters = 0, [], [], [], []
    for k, obj in enumerate(scene.particle_objects):
        slots = model.slots[start : start + len(obj.positions)].astype(np.int64)
        start += len(obj.positions)
        if obj.kind in SOLID_KINDS:
            sizes = _volumes(obj, smoothing.dimensions) / smoothing.spacing**smoothing.dimensions
            there = sizes > 0.0
            particles.append(slots[there])
            objects.append(np.full(int(there.sum()), k))
            volumes.append(sizes[there])
            diameters.append((2.0 * obj.radii * (obj.kind == "grains"))[there])
    if not particles or not sum(len(p) for p in particles):
        return None
    which, kinds, filled, wide = (np.concatenate(column) for column in (particles, objects, volumes, diameters))
    return ParticleCarriers(which, kinds, filled, wide, model)


def _volumes(obj: ParticleObject, dimensions: int) -> np.ndarray:
    """Volume, or area, that each particle of an object fills, (N,): that of its material; else a cube, or a square."""
    edges = 2.0 * obj.radii
    material = obj.material
    if isinstance(material, GrainMaterial):
        return math.pi * (edges**3 / 6.0 if dimensions == 3 else edges**2 / 4.0)
    if isinstance(material, LumpMaterial):
        if obj.visual is not None:
            # it fills a mesh, and has its mass
            edges = np.cbrt(obj.masses / material.density)
        elif len(obj.positions) > 1:
            two = nearest(obj.positions, obj.positions, 2)[0]
            between = np.linalg.norm(obj.positions[two[:, 1]] - obj.positions[two[:, 0]], axis=1)
            edges = np.full(len(edges), np.median(between))
    return edges**dimensions
