"""Cloth and soft bodies in the density of a fluid.

       o  o  o      a particle near a sheet sees a half space of fluid behind it, less what fluid is there indeed:
      --+-----+--   b(d) of a wall (`shinari.systems.fluid.wall_table`), d from the nearest point of the sheet

So the layer next to a sheet is as dense at rest as one inside. Without it layers pile up there, and a bag of water
twenty spacings wide looks 8 % emptier than it is.

The share has no gradient here: what pushes a sheet is contact alone (`shinari.systems.surface_contact`), and all of the
pressure passes through it. With the gradient, sheet and fluid would be pushed apart by a solve that knows what the
sheet weighs, but not what holds it; a cloth that weighs a hundredth of what it carries then shakes the water.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.report import ContactImpulses
from shinari.compute import Program
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.boxes import Boxes
from shinari.geometry.bvh import Bvh
from shinari.geometry.overlaps import Queries
from shinari.systems.fluid.sheet_kernels import (
    Candidates,
    Corners,
    Distances,
    MemberPlaces,
    SheetFilter,
    SheetItems,
    SheetParticles,
    SheetState,
    SheetTriangles,
    add_missing,
    choose,
    find_box,
    find_start,
    find_wanted,
    finish_lists,
    list_candidates,
    list_item,
    mark_particle,
    measure,
    place_corner,
    store_start,
    take_place,
)
from shinari.systems.fluid.wall_kernels import Halfspace
from shinari.systems.fluid.wall_table import PUSH, SHARE, wall_table
from shinari.systems.surface_contact.system import SurfaceContacts

if TYPE_CHECKING:
    from shinari.systems.fluid.system import Fluid

# Lists last until a particle or a corner has gone half of this, in spacings.
MARGIN = 0.8


class Sheets:
    """Triangles as a boundary of the fluids; a particle feels the one that is nearest to it."""

    def __init__(self, fluid: "Fluid", surfaces: SurfaceContacts) -> None:
        """Bind the triangles of what can touch to the fluids."""
        who, self._surfaces = surfaces.who, surfaces
        model, smoothing, self._fluid = fluid.scene_model, fluid.model.smoothing, fluid
        real, count = model.real, len(fluid.model.particles)
        table = wall_table(smoothing).astype(real)
        self._table = Halfspace(real, share=table[SHARE].copy(), push=table[PUSH].copy())
        self._state: SheetState = SheetState.zeros(1, real)
        state, objects = self._state, range(len(who.members))
        state.support[0], state.margin[0] = smoothing.support, MARGIN * smoothing.spacing
        # the first layer that is missing begins half a spacing behind a sheet
        reach = smoothing.support - 0.5 * smoothing.spacing
        state.reach[0] = reach
        surfaces.watch(reach)
        state.origin_index[0], state.objects[0] = fluid.origin_index, len(objects)
        state.inverse2[0], state.weight_scale[0] = fluid.inverse2, smoothing.weight_scale
        owners = model.owners[who.triangles[:, 0]].astype(np.int64)
        self._triangles = SheetTriangles(real, corners=np.ascontiguousarray(who.triangles, np.uint32), owner=owners)
        sheet_filter = [[f != t and who.may_collide(f, t) for t in objects] for f in fluid.model.objects]
        self._sheet_filter = SheetFilter(real, allowed=np.array(sheet_filter, np.uint8).ravel())
        self._corners = Corners(real, particle=np.unique(who.triangles).astype(np.uint32))
        self._sheets: SheetParticles = SheetParticles.zeros(model.particle_count, real)
        self._sheets.radius[...] = model.radii
        self._sheets.watched[self._corners.particle] = 1
        self._sheets.watched[fluid.model.particles] = 1
        centres = (model.origins[model.origin_index[who.triangles]] + who.rest[who.triangles]).mean(axis=1)
        self._tree = Bvh(centres, real)
        self._boxes, self._queries = Boxes.zeros(count, real), Queries.zeros(count, real)
        self._overlaps = self._tree.overlaps(self._boxes, self._queries)
        self._items: SheetItems = SheetItems.zeros(count, real)
        self._places: MemberPlaces = MemberPlaces.zeros(count)
        self._marks, self._kept = Offsets.zeros(count + 1, real), Offsets.zeros(count + 1, real)
        self._mark_scan, self._kept_scan = Scan(self._marks), Scan(self._kept)
        self._distances, self._candidates = Distances.zeros(0, real), Candidates.zeros(0, real)

    def begin(self) -> None:
        """A step begins: forget the lists of the step before."""
        self._state.stale[0], self._state.items[0] = 1, 0

    def check(self) -> None:
        """Nothing stops the search for triangles."""

    def record_find(self, p: Program) -> None:
        """Nearest point of the sheets for each particle near one, from where objects were when the substep began."""
        p.serial(find_wanted, self._state, self._surfaces.detection.detection, self._fluid.solve)
        with p.when((self._state.reordered, 0)):
            p.launch(take_place, self._fluid.rows, self._places, count=self._fluid.count)
        with p.when((self._state.wanted, 0)):
            self._record_nearest(p)

    def _record_nearest(self, p: Program) -> None:
        """Look for the nearest points."""
        fluid, sheets, state = self._fluid, self._sheets, self._state
        where = fluid.particles, fluid.origins, fluid.solve
        p.launch(find_start, sheets, state, *where, fluid.h, count=len(sheets), grain=2048)
        with p.when((state.stale, 0)):
            self._record_lists(p)
        records = self._items, self._kept, self._candidates, sheets, self._triangles, state
        p.launch(choose, *records, count=(state.items, 0))

    def _record_lists(self, p: Program) -> None:
        """List the triangles that may come near each particle."""
        fluid, sheets, state, found = self._fluid, self._sheets, self._state, self._overlaps
        p.launch(find_box, sheets, self._triangles, self._tree.boxes, count=len(self._triangles), grain=1024)
        self._tree.record_refit(p)
        records = fluid.rows, sheets, self._tree.nodes, state, self._boxes, self._marks
        p.launch(mark_particle, *records, count=fluid.count, grain=2048)
        self._mark_scan.record(p, fluid.count)
        p.copy(self._mark_scan.total, (state.items, 0))
        p.launch(list_item, fluid.rows, self._marks, self._queries, self._items, count=fluid.count, grain=2048)
        items = (state.items, 0)
        found.record(p, items)
        p.require(self._distances, found.total, "fluid: {count} triangles near particles")
        near = sheets, self._triangles, self._sheet_filter, state
        lists = found.offsets, found.pairs, self._distances, self._kept
        p.launch(measure, fluid.rows, self._items, self._queries, *near, *lists, count=items, grain=64)
        self._kept_scan.record(p, items)
        p.require(self._candidates, self._kept_scan.total, "fluid: {count} triangles near particles")
        p.launch(list_candidates, self._items, *lists, self._candidates, count=items)
        p.launch(store_start, sheets, count=len(sheets), grain=4096)
        p.serial(finish_lists, state)

    def record_gather(self, p: Program, first: bool) -> None:
        """Add to the density of each particle near a sheet what is missing behind it."""
        fluid, sheets, state = self._fluid, self._sheets, self._state
        where = fluid.particles, fluid.origins
        with p.when((state.items, 0)):
            p.launch(place_corner, self._corners, sheets, state, *where, count=len(self._corners), grain=2048)
        rows, neighbours, offsets = fluid.records
        records = self._items, self._places, rows, neighbours, offsets, self._triangles, sheets, state, self._table
        p.launch(add_missing(fluid.model.smoothing.kernel_id), *records, count=(state.items, 0), grain=64)

    def record_response(self, p: Program) -> None:
        """Not counted."""

    def record_impulses(self, p: Program, searched: bool) -> None:
        """Nothing: contact pushes."""

    def contact_impulses(self) -> ContactImpulses:
        """None but those of the contacts."""
        return ContactImpulses.none()
