"""Which frames elements tie together, in which order to eliminate them, and what fills in.

The nodes are the bodies that can move and that an element acts on. Those that elements connect, directly or over
others, are a component; it is eliminated by itself, in the order of least degree (Markowitz 1957; George and Liu 1989,
The Evolution of the Minimum Degree Ordering Algorithm). A chain or a tree fills nothing in; a component whose factor
would cost too much is left to sweeps.
"""

from dataclasses import dataclass

import numba
import numpy as np

from shinari.maths.function import STEADY

# A component is solved directly while its factor takes at most so many products of blocks for each of its bodies.
WORTH = 60
# Beyond so many bodies in a component even its order would take too long to find.
MOST = 2048


@dataclass(frozen=True)
class Graph:
    """The order in which bodies are eliminated, and the blocks of the factor.

    Attributes:
        nodes: Frame of each node in order of elimination, component after component, (N,).
        node_of: Node of each frame, (F,); -1 where it cannot move or nothing acts on it.
        starts: Where the nodes of each component start, (C + 1,).
        direct: Whether a component is solved directly, (C,) bool.
        columns: Where the blocks below the diagonal of each node start, (N + 1,).
        rows: Node of each of these blocks, ascending in a column, (B,).
        targets: For each node and each pair (i, k) of its blocks, i after k: the block that their product is taken
            from, by rows; (T,).
        target_starts: Where those of each node start, (N + 1,).
        component_of: Component of each node, (N,).
    """

    nodes: np.ndarray
    node_of: np.ndarray
    starts: np.ndarray
    direct: np.ndarray
    columns: np.ndarray
    rows: np.ndarray
    targets: np.ndarray
    target_starts: np.ndarray
    component_of: np.ndarray


@dataclass(frozen=True)
class Places:
    """Where elements stand in a graph.

    Attributes:
        nodes: Node of a, node of b (-1: none), and block of each element (-1: none), (E, 3).
        homes: Component of each element, (E,); -1 where neither frame can move.
        order: Elements by component, (E,).
        starts: Where those of each component start, (C + 1,).
    """

    nodes: np.ndarray
    homes: np.ndarray
    order: np.ndarray
    starts: np.ndarray


def graph_of(frames: np.ndarray, free: np.ndarray, solver: str) -> Graph:
    """The graph of elements between frames.

    Args:
        frames: Frames a and b of each element, (E, 2).
        free: Which frames can move, (F,).
        solver: `"direct"`, `"sweeps"` or `"auto"`.
    """
    roots = components(frames, free)
    members = np.flatnonzero(roots >= 0)
    members = members[np.argsort(roots[members], kind="stable")]
    first = np.flatnonzero(np.diff(roots[members], prepend=-1)) if len(members) else np.zeros(0, np.int64)
    starts = np.append(first, len(members)).astype(np.int64)
    local = np.full(len(free), -1, np.int64)
    local[members] = np.arange(len(members))
    pairs = np.where(free[frames], local[frames], -1)
    component = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    worth = {"direct": np.inf, "sweeps": -1.0, "auto": float(WORTH)}[solver]
    order, direct, columns, rows, target_starts, targets = eliminate(pairs, starts, worth)
    node_of = np.full(len(free), -1, np.int64)
    node_of[members[order]] = np.arange(len(members))
    return Graph(members[order], node_of, starts, direct, columns, rows, targets, target_starts, component)


def places_of(graph: Graph, frames: np.ndarray) -> Places:
    """Where elements between frames (E, 2) stand, all of whose pairs are in the graph."""
    nodes, homes = np.full((len(frames), 3), -1, np.int64), np.empty(len(frames), np.int64)
    order, starts = np.empty(len(frames), np.int64), np.empty(len(graph.starts), np.int64)
    find_places(frames, graph.node_of, graph.columns, graph.rows, graph.component_of, nodes, homes, order, starts)
    return Places(nodes, homes, order, starts)


@numba.njit(cache=True, **STEADY)
def components(frames, free):
    """Least frame of the component of each frame, (F,); -1 where it cannot move or no element acts on it."""
    parent = np.full(len(free), -1)
    for e in range(len(frames)):
        a, b = frames[e, 0], frames[e, 1]
        for i in (a, b):
            if free[i] and parent[i] < 0:
                parent[i] = i
        if free[a] and free[b]:
            while parent[a] != a:
                parent[a] = parent[parent[a]]
                a = parent[a]
            while parent[b] != b:
                parent[b] = parent[parent[b]]
                b = parent[b]
            parent[max(a, b)] = min(a, b)
    for i in range(len(free)):
        if parent[i] >= 0:
            parent[i] = parent[parent[i]]
    return parent


@numba.njit(cache=True, **STEADY)
def eliminate(pairs, starts, worth):
    """Order of the nodes, which components to solve directly, and the structure of the factor."""
    count, parts = starts[-1], len(starts) - 1
    order, direct = np.arange(count), np.zeros(parts, np.bool_)
    columns, target_starts = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    component = np.zeros(count, np.int64)
    for c in range(parts):
        component[starts[c] : starts[c + 1]] = c
    # neighbours as bits, component after component
    words = np.zeros(parts + 1, np.int64)
    for c in range(parts):
        n = starts[c + 1] - starts[c]
        words[c + 1] = words[c] + (n * ((n + 63) // 64) if n <= MOST else 0)
    bits = np.zeros(words[-1], np.uint64)
    for e in range(len(pairs)):
        i, j = pairs[e, 0], pairs[e, 1]
        if i < 0 or j < 0 or i == j:
            continue
        c = component[i]
        n = starts[c + 1] - starts[c]
        if n > MOST:
            continue
        width, i, j = (n + 63) // 64, i - starts[c], j - starts[c]
        bits[words[c] + i * width + j // 64] |= np.uint64(1) << np.uint64(j % 64)
        bits[words[c] + j * width + i // 64] |= np.uint64(1) << np.uint64(i % 64)
    rows, targets = np.zeros(0, np.int64), np.zeros(0, np.int64)
    filled = wanted = 0
    for c in range(parts):
        first, n = starts[c], starts[c + 1] - starts[c]
        width = (n + 63) // 64
        if n > MOST or worth < 0.0:
            columns[first + 1 : first + n + 1] = filled
            target_starts[first + 1 : first + n + 1] = wanted
            continue
        mine = bits[words[c] : words[c + 1]].reshape(n, width)
        found, sizes, struct = least_degree(mine, worth * n)
        if len(found) < n:
            columns[first + 1 : first + n + 1] = filled
            target_starts[first + 1 : first + n + 1] = wanted
            continue
        direct[c] = True
        place = np.empty(n, np.int64)
        for k in range(n):
            place[found[k]] = k
        rows = grown(rows, filled + len(struct))
        at = 0
        for k in range(n):
            order[first + k] = first + found[k]
            later = np.sort(place[struct[at : at + sizes[k]]]) + first
            at += sizes[k]
            rows[filled : filled + len(later)] = later
            filled += len(later)
            columns[first + k + 1] = filled
            wanted += len(later) * (len(later) - 1) // 2
            target_starts[first + k + 1] = wanted
    targets = np.zeros(wanted, np.int64)
    for j in range(count):
        at = target_starts[j]
        for p in range(columns[j], columns[j + 1]):
            for s in range(columns[j], p):
                k, i = rows[s], rows[p]
                for e in range(columns[k], columns[k + 1]):
                    if rows[e] == i:
                        targets[at] = e
                at += 1
    return order, direct, columns, rows[:filled], target_starts, targets


@numba.njit(**STEADY)
def grown(values: np.ndarray, count: int) -> np.ndarray:
    """The values in an array with room for `count`."""
    if count <= len(values):
        return values
    result = np.zeros(max(2 * len(values), count), values.dtype)
    result[: len(values)] = values
    return result


@numba.njit(**STEADY)
def least_degree(bits, worth):
    """Eliminate the node of least degree, again and again; an empty order when that costs more than it is worth."""
    n, width = bits.shape
    degree, done = np.zeros(n, np.int64), np.zeros(n, np.bool_)
    for i in range(n):
        degree[i] = ones(bits, i)
    order, sizes, struct = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(4 * n, np.int64)
    neighbours = np.zeros(n, np.int64)
    filled, cost = 0, 0.0
    for k in range(n):
        best = -1
        for i in range(n):
            if not done[i] and (best < 0 or degree[i] < degree[best]):
                best = i
        done[best] = True
        order[k] = best
        count = 0
        for word in range(width):
            rest = bits[best, word]
            while rest != np.uint64(0):
                low = rest & (~rest + np.uint64(1))
                neighbours[count] = word * 64 + ones_below(low)
                count += 1
                rest ^= low
        cost += 1.0 + count + 0.5 * count * (count + 1)
        if cost > worth:
            return np.zeros(0, np.int64), sizes, struct
        sizes[k] = count
        struct = grown(struct, filled + count)
        struct[filled : filled + count] = neighbours[:count]
        filled += count
        clear = ~(np.uint64(1) << np.uint64(best % 64))
        for p in range(count):
            i = neighbours[p]
            for word in range(width):
                bits[i, word] |= bits[best, word]
            bits[i, best // 64] &= clear
            bits[i, i // 64] &= ~(np.uint64(1) << np.uint64(i % 64))
            degree[i] = ones(bits, i)
    return order, sizes, struct[:filled]


@numba.njit(**STEADY)
def ones_below(low):
    """Number of zeros below the only bit that is set."""
    place = 0
    while low > np.uint64(1):
        low >>= np.uint64(1)
        place += 1
    return place


@numba.njit(**STEADY)
def ones(bits, i):
    """Bits that are set in row i."""
    count = 0
    for word in range(bits.shape[1]):
        rest = bits[i, word]
        while rest != np.uint64(0):
            rest &= rest - np.uint64(1)
            count += 1
    return count


@numba.njit(cache=True, **STEADY)
def find_places(frames, node_of, columns, rows, component_of, nodes, homes, order, starts):
    """Write node, block and component of each element, and sort the elements by component."""
    counts = np.zeros(len(starts) + 1, np.int64)
    for e in range(len(frames)):
        i, j = node_of[frames[e, 0]], node_of[frames[e, 1]]
        nodes[e, 0], nodes[e, 1], nodes[e, 2] = i, j, -1
        if i >= 0 and j >= 0 and i != j:
            for b in range(columns[min(i, j)], columns[min(i, j) + 1]):
                if rows[b] == max(i, j):
                    nodes[e, 2] = b
        homes[e] = component_of[i] if i >= 0 else (component_of[j] if j >= 0 else -1)
        counts[homes[e] + 2] += homes[e] >= 0
    for c in range(1, len(counts)):
        counts[c] += counts[c - 1]
    starts[:] = counts[1:]
    for e in range(len(frames)):
        if homes[e] >= 0:
            order[counts[homes[e] + 1]] = e
            counts[homes[e] + 1] += 1
