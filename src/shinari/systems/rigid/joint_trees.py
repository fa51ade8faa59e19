"""Trees of joints: figures, chains and vehicles, whose joints sweeps solve exactly."""

from collections.abc import Container, Sequence
from typing import NamedTuple

import numpy as np

from shinari.compute import Field, Record
from shinari.systems.rigid.joints.table import FIRST, GEAR, KIND, SECOND

# Most bodies of a tree; a larger one is cut. Joints that close loops, for each body, up to which something is a tree.
MOST_BODIES, LOOPS = 64, 0.25
NONE = -1


class Trees(Record):
    """Trees, T rows and one."""

    body = Field(np.int64, doc="its first body")
    colours = Field(np.int64, doc="bits of the colours of the groups that touch it")
    group = Field(np.int64, doc="the first group that it owns; -1 for none")
    last_group = Field(np.int64, doc="the last one so far, while groups are listed")
    linked = Field(np.bool_, doc="whether a joint that belongs to no tree acts on it")
    factored = Field(np.bool_, doc="whether it has been factored in this solution")
    renewed = Field(np.bool_, doc="whether its factor is new to these sweeps")


class TreeBodies(Record):
    """Bodies of the trees, tree after tree, each before the body that it hangs on; B rows and one."""

    frame = Field(np.int64)
    tree = Field(np.int64)
    parent = Field(np.int64, doc="the body that it hangs on; -1 for none")
    joint = Field(np.int64, doc="its first joint in `TreeJoints`")
    path = Field(np.int64, doc="the begin of its path in `TreePaths`")
    swept = Field(np.bool_, doc="whether sweeps solve it in the substep")
    matrix = Field(np.float64, (6, 6), doc="block of the diagonal, its upper triangle, then the factor U")
    block = Field(np.float64, (6, 6), doc="U^-T times the block of the body and its parent")
    inverse = Field(np.float64, (6, 6), doc="U^-1 U^-T: displacement by forces where the parent is held")
    carry = Field(np.float64, (6, 6), doc="minus the displacement by that of the parent")
    mobility = Field(np.float64, (6, 6), doc="displacement by forces on the body: its block of the inverse matrix")
    rest = Field(np.float64, 6, doc="forces of the joints at their evaluation, and of the free motion")
    load = Field(np.float64, 6, doc="forces of all but the joints of the tree")
    state = Field(np.float64, 6, doc="displacement where the parent is held, by the forces on it and what hangs on it")
    vector = Field(np.float64, 6, doc="right hand side, then displacement")


class TreeJoints(Record):
    """Joints of the trees: those of each body with its parent, or with what cannot move. K rows."""

    joint = Field(np.int64)
    side = Field(np.int64, doc="which frame of the joint is that of the body")


class TreePaths(Record):
    """For each body of a tree the bodies from the root to it."""

    body = Field(np.int64)


class TreeMembers(Record):
    """Joints, J rows."""

    chosen = Field(np.bool_, doc="whether it belongs to a tree")


class JointTrees(NamedTuple):
    """Joints that are solved as trees.

    Attributes:
        trees: The trees.
        bodies: Their bodies.
        joints: Their joints.
        paths: Their paths.
        members: Which joints belong to a tree.
    """

    trees: Trees
    bodies: TreeBodies
    joints: TreeJoints
    paths: TreePaths
    members: TreeMembers


Ends = dict[int, list[tuple[int, int, int]]]


def find_trees(codes: np.ndarray, free: np.ndarray) -> JointTrees:
    """Divide the joints into trees; those that close a loop, or connect two trees, belong to none.

    Args:
        codes: Frames a and b and kind of each joint, (J, 4).
        free: Whether each frame can move by forces, (F,).
    """
    ends: Ends = {}
    for j, row in enumerate(codes):
        if row[KIND] != GEAR:
            a, b = int(row[FIRST]), int(row[SECOND])
            for side, (own, other) in enumerate(((a, b), (b, a))):
                if free[own]:
                    ends.setdefault(own, []).append((j, side, other))
    beside = {body: [other for _, _, other in each if free[other]] for body, each in ends.items()}
    left = set(ends)
    found: list[dict[int, int]] = []
    for start in sorted(ends):
        if start in left:
            whole = _spread(start, beside, left, len(left))
            pairs = sum(len(set(beside[body])) for body in whole) // 2
            if pairs - len(whole) + 1 > LOOPS * len(whole):
                left -= whole.keys()
            for body in whole:
                if body in left:
                    piece = _spread(body, beside, left, MOST_BODIES)
                    found.append(_spread(_middle(piece, beside), beside, piece, MOST_BODIES))
                    left -= piece.keys()
    return _as_records(found, ends, free, len(codes))


def _spread(start: int, beside: dict[int, list[int]], within: Container[int], most: int) -> dict[int, int]:
    """The body on which each hangs, of at most so many within some, from a body outwards."""
    found, above = [start], {start: NONE}
    for body in found:
        for other in beside[body]:
            if other in within and other not in above and len(found) < most:
                above[other] = body
                found.append(other)
    return above


def _middle(piece: dict[int, int], beside: dict[int, list[int]]) -> int:
    """The middle of a longest path."""
    above = _spread(next(reversed(piece)), beside, piece, len(piece))
    path = [next(reversed(above))]
    while above[path[-1]] != NONE:
        path.append(above[path[-1]])
    return path[len(path) // 2]


def _as_records(found: Sequence[dict[int, int]], ends: Ends, free: np.ndarray, joints: int) -> JointTrees:
    order = [(t, body) for t, above in enumerate(found) for body in reversed(above)]
    rows = {body: r for r, (_, body) in enumerate(order)}
    bodies, trees = TreeBodies.zeros(len(order) + 1), Trees.zeros(len(found) + 1)
    trees.body[1:] = np.cumsum([len(above) for above in found])
    lists, paths = [], []
    for r, (t, body) in enumerate(order):
        above = found[t][body]
        bodies.frame[r], bodies.tree[r], bodies.parent[r] = body, t, rows.get(above, NONE)
        lists.append([(j, side) for j, side, other in ends[body] if other == above or not free[other]])
        path = [body]
        while found[t][path[-1]] != NONE:
            path.append(found[t][path[-1]])
        paths.append([rows[step] for step in reversed(path)])
    bodies.joint[...] = np.cumsum([0, *(len(each) for each in lists)])
    bodies.path[...] = np.cumsum([0, *(len(each) for each in paths)])
    both = np.array([pair for each in lists for pair in each], np.int64).reshape(-1, 2)
    tree_joints, tree_paths = TreeJoints.zeros(len(both)), TreePaths.zeros(sum(len(each) for each in paths))
    tree_joints.joint[...], tree_joints.side[...] = both.T
    tree_paths.body[...] = [row for each in paths for row in each]
    chosen = np.zeros(joints, bool)
    chosen[both[:, 0]] = True
    for t, body in order:
        trees.linked[t] |= any(not chosen[j] for j, _, _ in ends[body])
    return JointTrees(trees, bodies, tree_joints, tree_paths, TreeMembers(chosen=chosen))
