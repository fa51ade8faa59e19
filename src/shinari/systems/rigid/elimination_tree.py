"""The elimination tree of a component, and the order of its nodes in which supernodes stand together.

The parent of a node is the first of its neighbours that is eliminated after it. Any order in which children come before
their parents has the same factor (Liu 1990, The Role of Elimination Trees in Sparse Factorization). Here each subtree
is eliminated as a whole (a postorder), and a node comes right after a child whose column has the same rows otherwise.
Such nodes are a *supernode*.
"""

import numpy as np

from shinari.compute import kernel
from shinari.maths.function import steady
from shinari.systems.rigid.components import Components, Neighbours, Nodes
from shinari.systems.rigid.elimination import BITS, trailing_zeros


@steady
def first_later(word, row, width, rank, first):
    """The least rank in a set of neighbours; -1 of an empty set."""
    least = -1
    for w in range(width):
        rest = word[row + w]
        while rest != 0:
            low = rest & -rest
            rest ^= low
            later = rank[first + w * BITS + trailing_zeros(low)]
            least = later if least < 0 or later < least else least
    return least


@steady
def place_subtrees(first, end, nodes):
    """Give each node its place in a postorder in which heirs come right before their parents."""
    free = end - 1
    for k in range(end - 1, first - 1, -1):
        parent, count = nodes.parent[k], nodes.subtree[k]
        if parent < 0:
            place, free = free, free - count
        elif nodes.heir[parent] == k:
            place = nodes.place[parent] - 1
        else:
            place = nodes.subtree[parent]
            nodes.subtree[parent] -= count
        nodes.place[k] = place
        heir = nodes.heir[k]
        nodes.subtree[k] = place - 1 - (nodes.subtree[heir] if heir >= 0 else 0)


@kernel
def order_by_subtrees(c, components: Components, nodes: Nodes, neighbours: Neighbours):
    """Order the nodes of a component by subtrees."""
    first, end, start = components.node[c], components.node[c + 1], components.word[c]
    width, components.eliminated[c] = (end - first + BITS - 1) // BITS, first
    for k in range(first, end):
        nodes.rank[first + nodes.order[k]] = k
        nodes.parent[k], nodes.heir[k], nodes.subtree[k] = -1, -1, 1
    if components.ordered[c] == 0:
        return
    for k in range(first, end):
        parent = first_later(neighbours.word, start + nodes.order[k] * width, width, nodes.rank, first)
        nodes.parent[k] = parent
        if parent >= 0:
            nodes.subtree[parent] += nodes.subtree[k]
            heir = nodes.heir[parent]
            if nodes.size[k] == nodes.size[parent] + 1 and (heir < 0 or nodes.subtree[k] > nodes.subtree[heir]):
                nodes.heir[parent] = k
    place_subtrees(first, end, nodes)
    for k in range(first, end):
        place, parent = nodes.place[k], nodes.parent[k]
        nodes.subtree[place], nodes.heir[place] = nodes.size[k], nodes.place[parent] if parent >= 0 else np.int64(-1)
    for i in range(first, end):
        nodes.rank[i] = nodes.place[nodes.rank[i]]
        nodes.order[nodes.rank[i]] = i - first
        nodes.size[i], nodes.parent[i] = nodes.subtree[i], nodes.heir[i]
