"""What zones change is told by the pairs that joined them.

A zone changes the momentum of each of its nodes, and no contact has pushed. The pairs whose paths met, in the order in
which they did, join its nodes to a tree: a pair of nodes that are connected already adds nothing. What the momentum
behind a branch has changed by has gone through that branch; so the leaves are taken off one after the other, each with
its sum. Corners of a triangle or a segment are joined by branches that are not told, since one object has them.

What does not give way takes what comes, and a tree has one such node at most: nothing goes through a wall. A tree
without one has a sum of zero, to rounding, since its zone keeps its momentum.
"""

import numpy as np

from shinari.collision.report import ContactImpulses, Contacts
from shinari.compute import kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.quaternion import rotate
from shinari.maths.union_find import root, unite
from shinari.maths.vec3 import ONE, ZERO, add, scale, sub
from shinari.model.particles import Particles
from shinari.systems.paths.certifier import Certificate
from shinari.systems.paths.records import Forest, ItemPaths, PathState, Shares
from shinari.systems.paths.zones import double, gives_way, join, mass_of
from shinari.systems.rigid.frames import Frames


@steady
def place_of(i, particles, frames):
    """Where a node that can give way is, a particle relative to its origin."""
    count = len(particles)
    return double(particles.x[i]) if i < count else frames.x[i - count]


@kernel
def plant(i, forest: Forest, particles: Particles, frames: Frames, state: PathState):
    """Each node is a tree, and where it is now, when the first zones of a substep are about to be made."""
    if state.joined[0] != 0:
        return
    forest.root[i], forest.held[i] = i, not gives_way(i, particles, frames)
    if i < len(particles) + len(frames):
        forest.start[i] = place_of(i, particles, frames)


@steady
def branch(forest, i, j):
    """Join the trees of two nodes by a branch that is not told; -1 where they are one, or both held."""
    first, second = root(forest.root, i), root(forest.root, j)
    if first == second or (forest.held[first] and forest.held[second]):
        return -1
    low, high = unite(forest.root, first, second)
    forest.held[low] = forest.held[low] or forest.held[high]
    forest.ends[high], forest.share[high] = (i, j), -1
    return high


@steady
def share_of(forest, shares, state, i, j):
    """Row of `shares` for a pair that joins two trees; -1 where it does not."""
    at = branch(forest, i, j)
    if at < 0:
        return -1
    row = state.shares[0]
    forest.share[at], state.shares[0] = row, row + 1
    shares.nodes[row] = i, j
    return row


@steady
def need_room(paths, count, state):
    """Tell how many rows of `Shares` there may be when all pairs whose paths meet have joined."""
    room = state.shares[0]
    for m in range(count):
        room += paths.time[m] < ONE
    state.room[0] = room


@kernel
def need_room_for_items(_, paths: ItemPaths, state: PathState):
    """Tell it for the contacts of a list of pairs, so many as `state.count` says."""
    need_room(paths, state.count[0], state)


@steady
def join_to_solid(zones, forest, shares, state, i, solid, time):
    """Join the vertices of an item with a frame or a collider; its row of `shares`, or -1."""
    join(zones, i[0], solid, time)
    join(zones, i[1], solid, time)
    join(zones, i[2], solid, time)
    branch(forest, i[0], i[1])
    branch(forest, i[0], i[2])
    row = share_of(forest, shares, state, i[0], solid)
    if row >= 0:
        shares.particles[row] = i[0], i[1], i[2], i[0]
    return row


@steady
def take_off(forest, shares, at):
    """Take a leaf off its tree; the node that it was at."""
    b = forest.which[at]
    i, j = forest.ends[b]
    other, row = j if at == i else i, forest.share[b]
    if row >= 0:
        shares.impulse[row] = forest.change[at] if at == i else scale(forest.change[at], -1.0)
    forest.change[other] = add(forest.change[other], forest.change[at])
    forest.branches[at], forest.branches[other] = 0, forest.branches[other] - 1
    forest.which[other] ^= b
    return other


@kernel(fastmath=STEADY)
def share_out(_, forest: Forest, shares: Shares, particles: Particles, frames: Frames, state: PathState):
    """Share what the zones of a substep have changed out to the pairs that joined them; drop pairs without a share."""
    rate, count = 1.0 / state.substep[0], len(particles)
    for i in range(len(forest)):
        forest.branches[i] = forest.which[i] = 0
        forest.change[i] = 0.0, 0.0, 0.0
        if gives_way(i, particles, frames):
            gone = sub(place_of(i, particles, frames), forest.start[i])
            forest.change[i] = scale(gone, rate * mass_of(i, particles, frames))
    for b in range(len(forest)):
        if forest.root[b] != b:
            for c in range(2):
                i = forest.ends[b, c]
                forest.branches[i] += 1
                forest.which[i] ^= b
    for i in range(len(forest)):
        at = i
        while forest.branches[at] == 1 and gives_way(at, particles, frames):
            at = take_off(forest, shares, at)
    row = state.settled_shares[0]
    for k in range(row, state.shares[0]):
        impulse, first = shares.impulse[k], shares.nodes[k, 0] - count
        if impulse[0] != ZERO or impulse[1] != ZERO or impulse[2] != ZERO:
            place = shares.place[k]
            if first >= 0:
                place = add(frames.x[first], rotate(frames.q[first], place))
            shares.nodes[row], shares.particles[row], shares.weights[row] = (
                shares.nodes[k],
                shares.particles[k],
                shares.weights[k],
            )
            shares.place[row], shares.normal[row], shares.impulse[row] = place, shares.normal[k], impulse
            row += 1
    state.settled_shares[0] = state.shares[0] = row


def with_particles(certificate: Certificate, colliders: int) -> ContactImpulses:
    """What particles got from each other, from bodies and from colliders in a step, so many of which there are."""
    shares, count = certificate.shares, int(certificate.state.settled_shares[0])
    nodes = shares.nodes[:count]
    on = np.flatnonzero(nodes[:, 0] < certificate.first_frame)
    nodes, particles = nodes[on], shares.particles[on]
    last, impulses = _summed(np.column_stack([nodes[:, 1], particles]), shares.impulse[on])
    second, rows = nodes[last, 1], on[last]
    others = np.where(
        second >= certificate.first_collider,
        second - certificate.first_collider,
        np.where(second >= certificate.first_frame, second - certificate.first_frame + colliders, -1),
    )
    return ContactImpulses(particles[last], shares.weights[rows], others, shares.normal[rows], impulses)


def of_frames(certificate: Certificate, names: np.ndarray, dt: float) -> Contacts:
    """What frames got from each other, its mean over the step; `names` are those of the frames, (F,)."""
    shares, count, first = certificate.shares, int(certificate.state.settled_shares[0]), certificate.first_frame
    nodes = shares.nodes[:count]
    on = np.flatnonzero(nodes[:, 0] >= first)
    last, impulses = _summed(nodes[on], shares.impulse[on])
    rows = on[last]
    one, other = (names[nodes[rows, side] - first] for side in (0, 1))
    return Contacts(shares.place[rows], shares.normal[rows], impulses / dt, one, other, np.zeros((0, 3)))


def _summed(keys: np.ndarray, impulses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The last row of each key, and the sum of the impulses of all of its rows."""
    found, back = np.unique(keys, axis=0, return_inverse=True)
    last, total = np.zeros(len(found), np.int64), np.zeros((len(found), 3))
    last[back.ravel()] = np.arange(len(keys))
    np.add.at(total, back.ravel(), impulses)
    return last, total
