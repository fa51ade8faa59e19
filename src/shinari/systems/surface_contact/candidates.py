"""Candidates: pairs of a point and a triangle, or of two edges, that may come to touch before the next detection.

Each particle gets a box around its expected path, in a frame that moves and deforms with all, and may go anywhere
in it. Trees of boxes find the edges and triangles whose boxes overlap; of these a pair stays when what both may move
bridges its distance, when its objects may meet, and when it is not joined. A few particles that leave their boxes get
new ones, and the pairs in which they take part are found anew.
"""

import numpy as np

from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets, Scan
from shinari.geometry.boxes import Boxes
from shinari.geometry.overlaps import Overlaps, Queries
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, scale
from shinari.model.model import Model
from shinari.systems.surface_contact.affine_frame import STRETCH, bow_of, into_frame, velocity_in_frame
from shinari.systems.surface_contact.build import Participants
from shinari.systems.surface_contact.elements import ElementPairs, Elements, Searches
from shinari.systems.surface_contact.pair_filter import (
    KEY,
    chosen,
    count_batches,
    filter_pair,
    gather_pair,
    may_collide,
    measure_pairs,
)
from shinari.systems.surface_contact.records import (
    ContactParticles,
    DetectionState,
    Filtered,
    Joints,
    Members,
    Objects,
    Paths,
    RowCounts,
    Side,
)
from shinari.systems.surface_contact.rest_gaps import find_room
from shinari.systems.surface_contact.row_table import RowTable

FAR = np.float32(1e30)
INFINITY = np.float32(np.inf)


def skin_of(model: Model, who: Participants) -> ContactParticles:
    """What contacts know of each particle."""
    contact_particles = ContactParticles.zeros(model.particle_count, model.real)
    contact_particles.bind(radius=model.radii, object_index=model.owners, arc=who.arcs, rest=who.rest)
    contact_particles.vertex[...] = np.arange(model.particle_count)
    contact_particles.vertex[who.sewn[:, 0]] = who.sewn[:, 1]
    contact_particles.free[...] = model.inverse_masses > 0.0
    return contact_particles


def objects_of(model: Model, who: Participants) -> Objects:
    """The objects."""
    count = len(who.members)
    first, second = np.divmod(who.ignored, count)
    members = [np.zeros(0, np.uint32) if each is None else each for each in who.members]
    return Objects(
        model.real,
        ignored=np.sort(first * KEY + second),
        takes_part=np.array([each is not None for each in who.members], bool),
        alone=who.alone,
        loose=who.loose,
        has_triangles=np.isin(np.arange(count), model.owners[who.triangles]),
        reach_along=who.reach_along,
        surface=model.surfaces,
        box=np.zeros((count, 6), model.real),
        region=np.zeros((count, 6), model.real),
        has_room=np.zeros(count, bool),
        first_member=np.concatenate([[0], np.cumsum([len(each) for each in members])]),
        member=np.concatenate(members).astype(np.uint32),
    )


class Finder:
    """Finds the candidates.

    Attributes:
        contact_particles: What contacts know of each particle.
        objects: The objects.
        paths: Displacements of the particles; their boxes are written here.
    """

    def __init__(
        self, model: Model, who: Participants, table: RowTable, contact_particles: ContactParticles, paths: Paths
    ) -> None:
        self.contact_particles, self.paths, self.objects = contact_particles, paths, objects_of(model, who)
        offsets = who.neighbour_offsets.astype(np.int64)
        self._joints = Joints(start=offsets, neighbour=who.neighbours)
        self._count, self._table = len(who.members), table
        tables = who.points[:, None], who.triangles, who.edges, who.beads[:, :1], who.beads, who.segments
        points, triangles, edges, loose, beads, segments = (
            Elements(each, model, who) if len(each) else None for each in tables
        )
        # between surfaces, and with loose particles
        own = ((points, triangles), (edges, edges)) if who.surfaces_meet else ()
        self._own, self._loose = (
            Searches([ElementPairs(a, b) for a, b in both if a is not None and b is not None])
            for both in (own, ((loose, triangles), (beads, segments)))
        )
        self._loose.leave_out(self._own)
        find_room(self._own.pairs, contact_particles, self.objects)
        self._filtered, self._flags = Filtered.zeros(0, model.real), Offsets.zeros(1)
        self._scan = Scan(self._flags)

    def record_find(self, p: Program, detection: DetectionState, members: Members) -> None:
        """Find all pairs that can touch while every particle stays near its way."""
        count, records = (detection.members, 0), (self.paths, self.contact_particles, self.objects)
        p.launch(set_box, members, self.paths, detection, count=count, grain=1024)
        p.launch(set_object_box, *records, detection, count=self._count, grain=1)
        p.launch(find_region, self.objects, self._count, count=self._count, grain=16)
        p.launch(mark_inside, members, *records, count=count, grain=2048)
        p.serial(start_candidates, self._table.table)
        self._record_every(p, self._own)
        with p.when((detection.loose, 0)):
            self._record_every(p, self._loose)

    def record_boxes_of(
        self, p: Program, detection: DetectionState, who: Members, count: tuple[np.ndarray, int]
    ) -> None:
        """Give some particles new boxes; all pairs are asked for where one leaves the region that was looked at."""
        p.launch(renew_box, who, self.paths, self.contact_particles, self.objects, detection, count=count, grain=256)

    def record_renew(self, p: Program, detection: DetectionState) -> None:
        """Find the pairs in which particles that are astray take part."""
        p.serial(start_candidates, self._table.table)
        self._record_some(p, self._own)
        with p.when((detection.loose, 0)):
            self._record_some(p, self._loose)

    def _record_every(self, p: Program, searches: Searches) -> None:
        """Find all pairs."""
        for each in searches.elements:
            records = each.side, self.contact_particles, self.paths, self.objects, each.tree.boxes
            p.launch(set_row_box, *records, count=len(each), grain=1024)
            each.tree.record_refit(p)
        for element_pairs in searches.pairs:
            overlaps, mode = element_pairs.every
            overlaps.record(p, len(element_pairs.first))
            self._record_filter(p, element_pairs, overlaps, mode)

    def _record_some(self, p: Program, searches: Searches) -> None:
        """Find the pairs of elements with a particle that is astray."""
        for each in searches.elements:
            records = each.side, self.contact_particles, self.paths, self.objects, each.tree.boxes
            p.launch(choose_row, *records, each.flags, count=len(each), grain=2048)
            each.tree.record_refit(p, each.flags)
            each.scan.record(p, len(each))
            p.launch(list_chosen, each.flags, each.chosen, count=len(each), grain=2048)
        for element_pairs in searches.pairs:
            for overlaps, mode, queries in element_pairs.some:
                overlaps.record(p, queries.scan.total)
                self._record_filter(p, element_pairs, overlaps, mode)

    def _record_filter(self, p: Program, element_pairs: ElementPairs, overlaps: Overlaps, mode: int) -> None:
        """Add to the candidates the overlapping pairs that may touch."""
        total, table, edges = overlaps.total, self._table, element_pairs.first.edges
        sides = overlaps.pairs, element_pairs.first.side, element_pairs.second.side
        self._scan.make_room(p, total)
        p.require(self._filtered, total)
        surface, found = (self.contact_particles, self.objects, self._joints), (self._filtered, self._flags)
        p.copy(total, (table.table.overlaps, 0))
        p.serial(count_batches, table.table)
        boxes = table.table, *sides, self.paths, self.contact_particles, self._filtered, self._flags
        p.launch(measure_pairs, *boxes, edges, mode, count=(table.table.batches, 0), grain=16)
        p.launch(filter_pair, *sides, self.paths, *surface, *found, edges, mode, count=total, grain=512)
        self._scan.record(p, total)
        p.copy(self._scan.total, (table.table.fresh, 0))
        p.serial(reserve_candidates, table.table)
        p.require(table.candidates, (table.table.room, 0))
        lists = self._filtered, self._flags, table.candidates, table.table
        p.launch(gather_pair, *sides, *lists, edges, mode, count=total, grain=1024)
        p.copy((table.table.room, 0), (table.table.found, 0))


# ---- boxes ----


@steady
def box_of(i, paths, detection):
    """Box around three places that a particle passes, which holds the bow of its path in the substep, too."""
    a = into_frame(detection.before[0], detection.centre[0], paths.place[i])
    b = into_frame(detection.after[0], detection.goal[0], paths.goal[i])
    # in a frame that turns inside out within the substep the bow is as long as the path; mostly it is far shorter
    stray = max(detection.stray[0], bow_of(i, paths, detection))
    c = add(b, scale(velocity_in_frame(detection, paths.velocity[i], b), detection.ahead[0]))
    low = min(a[0], min(b[0], c[0])), min(a[1], min(b[1], c[1])), min(a[2], min(b[2], c[2]))
    high = max(a[0], max(b[0], c[0])), max(a[1], max(b[1], c[1])), max(a[2], max(b[2], c[2]))
    return (
        (low[0] - stray, low[1] - stray, low[2] - stray),
        (high[0] + stray, high[1] + stray, high[2] + stray),
    )


@kernel(fastmath=STEADY)
def set_box(m, members: Members, paths: Paths, detection: DetectionState):
    """Set the box of a particle."""
    i = members.particle[m]
    paths.low[i], paths.high[i] = box_of(i, paths, detection)


@kernel(fastmath=STEADY)
def renew_box(
    k, who: Members, paths: Paths, contact_particles: ContactParticles, objects: Objects, detection: DetectionState
):
    """Set the box of a particle that is astray; all that leave the region that was looked at write the same."""
    i = np.int64(who.particle[k])
    low, high = box_of(i, paths, detection)
    paths.low[i], paths.high[i] = low, high
    own = objects.box[contact_particles.object_index[i]]
    out = low[0] < own[0] or low[1] < own[1] or low[2] < own[2]
    out = out or high[0] > own[3] or high[1] > own[4] or high[2] > own[5]
    if out or not paths.inside[i]:
        detection.some[0] = 0
        detection.every[0] = 1


@kernel(fastmath=STEADY, in_order=True)
def set_object_box(t, paths: Paths, contact_particles: ContactParticles, objects: Objects, detection: DetectionState):
    """Box around the particles of an object and their radii; empty where it does not take part now."""
    x0, y0, z0, x1, y1, z1, reach = INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY, ZERO
    last = objects.first_member[t] if objects.loose[t] and detection.loose[0] == 0 else objects.first_member[t + 1]
    for m in range(objects.first_member[t], last):
        i = objects.member[m]
        low, high = paths.low[i], paths.high[i]
        x0, y0, z0 = min(x0, low[0]), min(y0, low[1]), min(z0, low[2])
        x1, y1, z1 = max(x1, high[0]), max(y1, high[1]), max(z1, high[2])
        reach = max(reach, contact_particles.radius[i])
    reach *= STRETCH
    objects.box[t] = x0 - reach, y0 - reach, z0 - reach, x1 + reach, y1 + reach, z1 + reach


@kernel(fastmath=STEADY)
def find_region(a, objects: Objects, object_count: int):
    """Box of an object in which it can meet another one or itself; empty where it can meet none."""
    x0, y0, z0, x1, y1, z1 = INFINITY, INFINITY, INFINITY, -INFINITY, -INFINITY, -INFINITY
    p = objects.box[a]
    for b in range(object_count):
        q = objects.box[b]
        near = p[0] <= q[3] and p[1] <= q[4] and p[2] <= q[5] and q[0] <= p[3] and q[1] <= p[4] and q[2] <= p[5]
        if near and may_collide(a, b, objects):
            x0, y0, z0 = min(x0, max(p[0], q[0])), min(y0, max(p[1], q[1])), min(z0, max(p[2], q[2]))
            x1, y1, z1 = max(x1, min(p[3], q[3])), max(y1, min(p[4], q[4])), max(z1, min(p[5], q[5]))
    objects.region[a] = x0, y0, z0, x1, y1, z1


@kernel(fastmath=STEADY)
def mark_inside(m, members: Members, paths: Paths, contact_particles: ContactParticles, objects: Objects):
    """Mark a particle that is where its object can meet another."""
    i = np.int64(members.particle[m])
    region, r, low, high = (
        objects.region[contact_particles.object_index[i]],
        STRETCH * contact_particles.radius[i],
        paths.low[i],
        paths.high[i],
    )
    paths.inside[i] = (
        low[0] - r <= region[3] and low[1] - r <= region[4] and low[2] - r <= region[5]
        and high[0] + r >= region[0] and high[1] + r >= region[1] and high[2] + r >= region[2]
    )  # fmt: skip


@kernel(fastmath=STEADY)
def set_row_box(r, side: Side, contact_particles: ContactParticles, paths: Paths, objects: Objects, boxes: Boxes):
    """Box of an element."""
    write_box(r, side, contact_particles, paths, objects, boxes)


@steady
def write_box(r, side, contact_particles, paths, objects, boxes):
    """Box of the particles of an element with their radii; empty where it is outside of the region of its object.

    A long edge may lie in the region when none of its ends does.
    """
    i, j, k = side.points[r]
    a, b, c, p, q, s = (
        STRETCH * contact_particles.radius[i],
        STRETCH * contact_particles.radius[j],
        STRETCH * contact_particles.radius[k],
        paths.low[i],
        paths.low[j],
        paths.low[k],
    )
    low = (
        min(p[0] - a, min(q[0] - b, s[0] - c)), min(p[1] - a, min(q[1] - b, s[1] - c)),
        min(p[2] - a, min(q[2] - b, s[2] - c))
    )  # fmt: skip
    p, q, s = paths.high[i], paths.high[j], paths.high[k]
    high = (
        max(p[0] + a, max(q[0] + b, s[0] + c)), max(p[1] + a, max(q[1] + b, s[1] + c)),
        max(p[2] + a, max(q[2] + b, s[2] + c))
    )  # fmt: skip
    region = objects.region[side.object_index[r]]
    meets = low[0] <= region[3] and low[1] <= region[4] and low[2] <= region[5]
    meets = meets and high[0] >= region[0] and high[1] >= region[1] and high[2] >= region[2]
    if not meets:
        low, high = (FAR + ZERO * a, FAR + ZERO * a, FAR + ZERO * a), (ZERO * a - FAR, ZERO * a - FAR, ZERO * a - FAR)
    boxes.low[r], boxes.high[r] = low, high


@kernel(fastmath=STEADY)
def choose_row(
    r, side: Side, contact_particles: ContactParticles, paths: Paths, objects: Objects, boxes: Boxes, flags: Offsets
):
    """Choose an element with a particle that is astray; the boxes of all others are as they were."""
    own = chosen(side, r, paths)
    flags.start[r] = own
    if own:
        write_box(r, side, contact_particles, paths, objects, boxes)


@kernel
def list_chosen(r, flags: Offsets, queries: Queries):
    """List an element that is chosen."""
    if flags.start[r + 1] > flags.start[r]:
        queries.box[flags.start[r]] = r


@kernel
def start_candidates(_, counts: RowCounts):
    """There are none yet."""
    counts.found[0] = 0


@kernel
def reserve_candidates(_, counts: RowCounts):
    """Room for those of a search."""
    counts.room[0] = counts.found[0] + counts.fresh[0]
