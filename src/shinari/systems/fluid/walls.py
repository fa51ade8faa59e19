"""Solids in the density of a fluid, by their distance: the boundary `"walls"`.

Without them a particle at a wall misses half of its neighbours, and the fluid would be pressed against the wall until
the others made up for it. See `shinari.systems.fluid.wall_table` for what a plane wall contributes; every solid counts
as the plane that touches it where it is nearest, a container as its faces, a box as what it fills, a hollow of a mesh
as up to five planes. What is thinner than the support counts as thick as it is.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.collision.broad.neighbours import LITTLE
from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.compute.scan import Scan
from shinari.shapes.kernels.dispatch import for_kinds
from shinari.shapes.kernels.encode import encode_shapes
from shinari.shapes.kernels.mesh_distance import mesh_fields
from shinari.shapes.registry import LAST_CONVEX
from shinari.systems.fluid.boundary_carriers import has_points
from shinari.systems.fluid.records import Impulses, Log, logged
from shinari.systems.fluid.wall_kernels import (
    Clearances,
    Halfspace,
    Items,
    Passes,
    Planes,
    WallLists,
    WallSolids,
    add_impulses,
    add_planes,
    begin_lists,
    check_solids,
    count_chunks,
    count_impulses,
    find_planes,
    list_item,
    log_impulses,
    mark_chunk,
    place_collider,
    place_planes,
)
from shinari.systems.fluid.wall_table import overlap_factor, wall_table

if TYPE_CHECKING:
    from shinari.scene.contents import Contents
    from shinari.systems.colliders.system import ColliderContacts
    from shinari.systems.fluid.system import Fluid
    from shinari.systems.rigid.body_shapes import BodyShapes
    from shinari.systems.rigid.frames import Frames

# Planes are listed this much farther away than they are seen, in spacings: particles move during the iterations.
MARGIN = 0.25
# Lists last, within a step, until a solid has gone so far, in spacings; the fluid brings its particles into a new order
# before they have gone as far themselves.
STRAY = 0.1


class Walls:
    """Colliders and bodies that a fluid lies against; a boundary, see `shinari.systems.fluid.system.Boundary`.

    Attributes:
        solids: Solids that count: colliders, then pieces of bodies.
        clearances: What is known of the distance of particles from meshes that do not move.
    """

    def __init__(
        self, scene: "Contents", fluid: "Fluid", solids: "ColliderContacts | None", frames: "Frames | None"
    ) -> None:
        """Bind the walls to a simulation.

        Args:
            scene: The scene.
            fluid: The fluids.
            solids: The colliders with their poses, or None.
            frames: The frames of the bodies, or None.
        """
        model, real, self._fluid = fluid.scene_model, fluid.scene_model.real, fluid
        smoothing = fluid.model.smoothing
        if solids is not None:
            # densities can be asked for before the first step
            solids.set_poses(fluid.state.frame * fluid.settings.dt)
        body_shapes = None if frames is None else _body_shapes_of(scene)
        shapes, self._colliders = [collider.shape for collider in model.colliders], len(model.colliders)
        names = [collider.name for collider in model.colliders]
        if body_shapes is not None:
            shapes += [piece.shape for body in scene.bodies for piece in body.pieces]
            names += [body.name for body in scene.bodies for _ in body.pieces]
        kinds, sizes, fields = encode_shapes(shapes, real)
        self._hollow, self._fields = bool((kinds > LAST_CONVEX).any()), mesh_fields(fields, real)
        corners = np.array([shape.bounds() for shape in shapes]).reshape(-1, 2, 3)
        self.solids: WallSolids = WallSolids.zeros(len(shapes), real)
        walls = self.solids
        walls.kind[...], walls.size[...] = kinds, sizes
        walls.low[...], walls.high[...] = corners[:, 0], corners[:, 1]
        walls.radius[...] = np.linalg.norm(np.abs(corners).max(axis=1), axis=1)
        # what has no end cannot be covered with points
        by_points = fluid.model.boundary == "particles"
        walls.counted[...] = [not (by_points and has_points(shape)) for shape in shapes]
        standing = [c.motion is None for c in model.colliders] + [False] * (len(shapes) - self._colliders)
        walls.still[...] = (kinds > LAST_CONVEX) & np.array(standing, bool)
        walls.owner[...], walls.frame[...] = np.arange(len(shapes)), -1
        objects = [scene.particle_objects[k].name for k in fluid.model.objects]
        passes = [[{t, n} in scene.ignored for n in names] for t in objects]
        self._passes = Passes(real, ignored=np.array(passes, np.uint8).ravel())
        self._poses = None if solids is None else solids.pose_table
        self._bodies: Any = None
        if body_shapes is not None and frames is not None:
            from shinari.systems.fluid.wall_bodies import WallBodies

            walls.frame[self._colliders :], walls.place[self._colliders :] = body_shapes.frames, body_shapes.local_poses
            walls.owner[self._colliders :] = self._colliders + body_shapes.frames
            self._bodies = WallBodies(fluid, walls, frames)
        table = wall_table(smoothing).astype(real)
        self._table = Halfspace(real, share=table[0].copy(), push=table[1].copy())
        self._lists: WallLists = WallLists.zeros(1, real)
        lists = self._lists
        lists.flat[0] = smoothing.dimensions == 2
        lists.support[0], lists.overlap[0] = smoothing.support, overlap_factor(smoothing)
        lists.allowed[0] = STRAY * smoothing.spacing
        # the first ghosts are half a spacing behind a wall
        lists.reach[0] = smoothing.support - 0.5 * smoothing.spacing + MARGIN * smoothing.spacing
        count = len(fluid.model.particles)
        self._marks, self._items = fluid.detection_offsets(), Items.zeros(0, real)
        self._scan, self._planes = Scan(self._marks), Planes.zeros(0, real)
        self.clearances: Clearances = Clearances.zeros(count if walls.still.any() else 0, real)
        self._log, self._impulses = Log.zeros(1), Impulses.zeros(0)
        self._clear_from: tuple | None = None

    def begin(self) -> None:
        """A step begins: forget the lists and impulses of the step before."""
        self._log.count[0], self._lists.items[0], self._lists.stale[0] = 0, 0, 1
        origin = tuple(self._fluid.origin.tolist())
        if self._clear_from != origin:
            self.clearances.value[:, 3], self._clear_from = -1.0, origin

    def check(self) -> None:
        """Nothing stops the search for planes."""

    def record_find(self, p: Program) -> None:
        """List the planes near each particle, unless particles and solids are about where they were."""
        fluid, lists, walls = self._fluid, self._lists, self.solids
        self._record_poses(p)
        p.serial(check_solids, walls, lists, fluid.solve)
        found = self._items, self._planes, lists
        with p.when((lists.stale, 0)):
            p.serial(count_impulses, *found, self._log)
            p.require(self._impulses, (self._log.room, 0), "fluid: {count} impulses of walls")
            p.serial(log_impulses, *found, walls, self._log, self._impulses)
            p.serial(count_chunks, lists, fluid.solve)
            records = fluid.rows, walls, self._passes, self._marks, lists, fluid.solve
            p.launch(mark_chunk, *records, count=(lists.chunks, 0), grain=8)
            self._scan.record(p, fluid.count)
            p.require(self._items, self._scan.total, "fluid: {count} particles near walls", spare=LITTLE)
            p.launch(list_item, self._items, self._marks, fluid.rows, count=fluid.count, grain=2048)
            p.serial(begin_lists, walls, lists, fluid.solve, self._marks)
            self._record_planes(p)
            p.serial(place_planes, self._items, lists)
            p.require(self._planes, (lists.room, 0), "fluid: {count} planes of walls", spare=LITTLE)
            self._record_planes(p)

    def record_gather(self, p: Program, first: bool) -> None:
        """Add the shares of the walls where particles and bodies are now."""
        if self._bodies is not None:
            self._record_poses(p)
        records = self._items, self._planes, self._lists, self._fluid.rows, self.solids
        p.launch(add_planes, *records, self._table, count=(self._lists.items, 0), grain=64)
        if first and self._bodies is not None:
            self._bodies.record_stiffness(p, *records)

    def record_response(self, p: Program) -> None:
        """How far the bodies give way to the direction of the multipliers."""
        if self._bodies is not None:
            self._bodies.record_response(p, self._items, self._planes, self._lists, self._fluid.rows, self.solids)

    def record_impulses(self, p: Program, searched: bool) -> None:
        """Count the impulses, and give bodies the opposite push."""
        records = self._items, self._planes, self._lists, self._fluid.rows
        p.launch(add_impulses, self._items, self._planes, self._fluid.rows, 1.0 / self._fluid.h,
                 count=(self._lists.items, 0), grain=1024)  # fmt: skip
        if self._bodies is not None:
            self._bodies.record_impulses(p, *records, self.solids)

    def contact_impulses(self) -> ContactImpulses:
        """The walls that pushed in the last step, each particle and solid once."""
        particles, solids, normals, impulses = self._impulse_arrays()
        if not len(particles):
            return ContactImpulses.none()
        keys = particles.astype(np.int64) * (int(solids.max()) + 1) + solids
        _, last, contact = np.unique(keys[::-1], return_index=True, return_inverse=True)
        last = len(keys) - 1 - last
        sums = np.zeros((len(last), 3))
        np.add.at(sums, contact.ravel()[::-1], impulses)
        weights = np.zeros((len(last), 4))
        weights[:, 0] = 1.0
        four = np.repeat(particles[last, None], 4, axis=1)
        return ContactImpulses(four, weights, solids[last], normals[last], sums)

    def _impulse_arrays(self) -> tuple[np.ndarray, ...]:
        """Particles, solids, normals and impulses of this step, those of the lists of now last."""
        count = int(self._lists.items[0])
        rows = np.flatnonzero((self._planes.impulse[: self._lists.room[0] if count else 0] != 0.0).any(axis=1))
        items = np.searchsorted(self._items.first[:count], rows, side="right") - 1
        solids, walls = self._planes.solid[rows], self.solids
        turns = walls.pose[solids, :9].reshape(-1, 3, 3).astype(np.float64)
        normals = np.einsum("krc,kc->kr", turns, self._planes.plane[rows, :3].astype(np.float64))
        now = self._items.particle[items], walls.owner[solids], normals, self._planes.impulse[rows]
        return tuple(np.concatenate(pair) for pair in zip(logged(self._log, self._impulses), now, strict=True))

    def _record_planes(self, p: Program) -> None:
        """Count planes, or write them."""
        lists = self._lists
        records = self._items, self._planes, lists, self._fluid.rows, self.solids, self._passes
        known = self.clearances, self._fields, self._table
        kernel = for_kinds(find_planes(self._hollow), self.solids.kind)
        p.launch(kernel, *records, *known, count=(lists.items, 0), grain=32)

    def _record_poses(self, p: Program) -> None:
        """Poses of the solids now, relative to the origin of the particles."""
        if self._poses is not None:
            first = self._fluid.origin_index * self._colliders
            p.launch(place_collider, self.solids, self._poses, first, count=self._colliders)
        if self._bodies is not None:
            self._bodies.record_poses(p)


def _body_shapes_of(scene: "Contents") -> "BodyShapes | None":
    """The shapes of the bodies; None when no body has any."""
    from shinari.systems.rigid.body_shapes import body_shapes_of

    body_shapes = body_shapes_of(scene.bodies)
    return body_shapes if body_shapes.count else None
