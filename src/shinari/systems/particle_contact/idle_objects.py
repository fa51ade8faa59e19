"""Objects that are too far apart for any two to meet: a substep then only looks whether that still holds."""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.compute.kernels import STEADY
from shinari.compute.scan import Offsets
from shinari.maths.vec3 import dot, sub
from shinari.model.particles import Origins, Particles
from shinari.systems.particle_contact.records import CHUNK, Chunks, Control, Members

# Objects are idle when the distance between their boxes is this many times what the fastest covers in a step.
FAR = 4.0


class ByObject(Record):
    """Members object by object, P rows."""

    member = Field(np.uint32)


class ObjectBoxes(Record):
    """Boxes around the balls of each object with members."""

    low = Field(np.float64, 3, unit="m")
    high = Field(np.float64, 3, unit="m")
    speed = Field(np.float64, unit="m/s", doc="of its fastest ball")


class ObjectPairs(Record):
    """Pairs of objects that may meet."""

    objects = Field(np.int64, 2, doc="rows of the boxes")


@kernel(fastmath=STEADY, mixed=True)
def measure_object(k, starts: Offsets, by_object: ByObject, boxes: ObjectBoxes, members: Members, particles: Particles,
                   origins: Origins):  # fmt: skip
    """Box around an object, and its largest speed."""
    x0, y0, z0, x1, y1, z1, square = np.inf, np.inf, np.inf, -np.inf, -np.inf, -np.inf, 0.0
    for at in range(starts.start[k], starts.start[k + 1]):
        m = by_object.member[at]
        i, radius = members.particle[m], np.float64(members.radius[m])
        local, origin = particles.x[i], origins.position[particles.origin_index[i]]
        x, y, z = origin[0] + local[0], origin[1] + local[1], origin[2] + local[2]
        x0, y0, z0 = min(x0, x - radius), min(y0, y - radius), min(z0, z - radius)
        x1, y1, z1 = max(x1, x + radius), max(y1, y + radius), max(z1, z + radius)
        v = particles.v[i]
        square = max(square, np.float64(dot(v, v)))
    boxes.low[k], boxes.high[k], boxes.speed[k] = (x0, y0, z0), (x1, y1, z1), np.sqrt(square)


@kernel(fastmath=STEADY)
def update_idle(
    _, boxes: ObjectBoxes, object_pairs: ObjectPairs, control: Control, fall: np.float64, dt: np.float64,
    reach: np.float64
):  # fmt: skip
    """Whether no two objects can come within a reach soon, and how far each ball may go until that is asked again.

    `fall` is the speed that gravity gives in a step of length `dt`.
    """
    least, fastest = np.inf, 0.0
    for k in range(len(boxes)):
        fastest = max(fastest, boxes.speed[k])
    for m in range(len(object_pairs)):
        a, b = object_pairs.objects[m]
        # negative where the boxes overlap along an axis
        x = max(boxes.low[a, 0] - boxes.high[b, 0], boxes.low[b, 0] - boxes.high[a, 0])
        y = max(boxes.low[a, 1] - boxes.high[b, 1], boxes.low[b, 1] - boxes.high[a, 1])
        z = max(boxes.low[a, 2] - boxes.high[b, 2], boxes.low[b, 2] - boxes.high[a, 2])
        apart = np.sqrt(max(x, 0.0) * max(x, 0.0) + max(y, 0.0) * max(y, 0.0) + max(z, 0.0) * max(z, 0.0))
        gap = max(x, max(y, z))
        least = min(least, apart if gap > 0.0 else gap)
    least -= reach
    control.room[0] = 0.5 * least
    control.idle[0] = least > FAR * (fastest + fall) * dt


@kernel(fastmath=STEADY)
def keep_place(m, members: Members, particles: Particles):
    """Where a member is while its object is idle."""
    x = particles.x[members.particle[m]]
    members.seen[m] = x[0], x[1], x[2]


@kernel(fastmath=STEADY)
def count_far(c, members: Members, particles: Particles, control: Control, chunks: Chunks, one: real):
    """How many members of a chunk have gone so far that two objects may meet."""
    room, count = convert(control.room[0] * control.room[0], one), 0
    for m in range(c * CHUNK, min((c + 1) * CHUNK, len(members))):
        off = sub(particles.x[members.particle[m]], members.seen[m])
        # a NaN is not below; without branches the loop becomes vector instructions
        count += np.int64(not (dot(off, off) < room))
    chunks.flag[c] = count


@kernel
def check_far(_, control: Control, chunks: Chunks):
    """Whether a member has gone so far."""
    far = 0
    for c in range(len(chunks)):
        far += chunks.flag[c]
    control.wake[0] = far > 0


class IdleObjects:
    """Watches objects that are far apart.

    Args:
        owners: Object of each ball, (P,).
        candidate_objects: Pairs of objects that may meet, (K, 2).
        members: Record of the balls.
        particles: Particles.
        origins: Origins that positions are relative to.
        control: Decisions of the step.
        chunks: Memory of sums.
    """

    def __init__(
        self,
        owners: np.ndarray,
        candidate_objects: np.ndarray,
        members: Members,
        particles: Particles,
        origins: Origins,
        control: Control,
        chunks: Chunks,
    ) -> None:
        real = particles.precision
        self._members, self._particles, self._origins = members, particles, origins
        self._control, self._chunks = control, chunks
        order = np.argsort(owners, kind="stable")
        present, first = np.unique(owners[order], return_index=True)
        self._by_object = ByObject(real, member=order.astype(np.uint32))
        self._starts = Offsets(real, start=np.append(first, len(order)).astype(np.int32))
        self._boxes = ObjectBoxes.zeros(len(present), real)
        self._object_pairs = ObjectPairs(
            real, objects=np.searchsorted(present, candidate_objects).astype(np.int64).reshape(-1, 2)
        )

    def record_idle(self, p: Program, fall: float, dt: float, reach: float = 0.0) -> None:
        """Record whether all objects are far apart.

        Args:
            p: The program.
            fall: Speed that gravity gives in a step [m/s].
            dt: Step [s].
            reach: Distance that counts as touching [m].
        """
        members, particles = self._members, self._particles
        p.launch(measure_object, self._starts, self._by_object, self._boxes, members, particles, self._origins,
                 count=len(self._boxes), grain=1)  # fmt: skip
        p.serial(update_idle, self._boxes, self._object_pairs, self._control, fall, dt, reach)
        p.launch(keep_place, members, particles, count=len(members), grain=4096)

    def record_watch(self, p: Program) -> None:
        """Record whether objects that were far apart may have come near: `control.wake`."""
        records = self._members, self._particles, self._control, self._chunks
        p.launch(count_far, *records, 1.0, count=len(self._chunks), grain=4)
        p.serial(check_far, self._control, self._chunks)
