"""Tearing: rows that are strained beyond their limit let go for good, and what they held goes with them.

Distance rows are judged by (|x0 - x1| - L) / L, tetrahedra by their largest principal strain s - 1, where s^2 is the
largest eigenvalue of F^T F: what they are strained by at the end of a substep. Where a sheet is so stiff and light that
one iteration does not solve it, neighbouring rows differ, and the first tears too early; substeps help.

A triangle that has lost an edge, and a tetrahedron that has let go, is removed: it is no longer drawn, feels no air and
keeps nothing off; no particle is removed. Edges without a triangle left and rows that bend two triangles go with them.
"""

import numba
import numpy as np

from shinari.build.tetrahedra.check import boundary_faces
from shinari.maths.eigen import eigen
from shinari.maths.function import STEADY, steady
from shinari.model import Fabric, Model, Tearing
from shinari.scene.materials import ClothMaterial
from shinari.scene.scene import Scene
from shinari.scene.things import Particles
from shinari.state import State

# Fewer rows than this are not worth waking the other threads for.
SERIAL = 4096


def elements_left(model: Model, state: State, thing: int) -> np.ndarray | None:
    """Which triangles, segments or tetrahedra of a thing are still there, (E,); None: it cannot tear."""
    for fabric in model.fabrics:
        if fabric.thing == thing:
            return fabric.present(state.broken[fabric.block])
    return None


def faces_left(group: Particles, left: np.ndarray | None) -> np.ndarray:
    """Triangles of a thing that are still there, (F, 3), local indices; of a soft body the boundary of what is left."""
    assert group.faces is not None
    if left is None or left.all():
        return group.faces
    if group.tetrahedra is not None:
        return boundary_faces(np.asarray(group.tetrahedra)[left])
    return group.faces[left]


def shown_left(group: Particles, left: np.ndarray | None) -> np.ndarray:
    """Triangles of a visual surface that are still there, (F, 3): no vertex is in a tetrahedron that is gone."""
    visual, tetrahedra = group.visual, group.tetrahedra
    assert visual is not None
    corners = getattr(visual, "corners", None)
    if left is None or left.all() or corners is None or tetrahedra is None:
        return np.array(visual.faces)
    gone = {tuple(row) for row in np.sort(tetrahedra[~left], axis=1).tolist()}
    lost = np.array([tuple(row) in gone for row in np.sort(corners, axis=1).tolist()])
    return visual.faces[~lost[visual.faces].any(axis=1)]


def air_left(scene: Scene, model: Model, state: State) -> np.ndarray:
    """Which triangles in the air are still there, (F,)."""
    found = []
    for thing, group in enumerate(scene.groups):
        if isinstance(group.material, ClothMaterial) and group.faces is not None:
            left = elements_left(model, state, thing)
            found.append(np.ones(len(group.faces), np.bool_) if left is None else left)
    return np.concatenate(found)


class Tears:
    """What tears in one simulation.

    Attributes:
        changed: Whether an element has let go since this was last set to False.
    """

    def __init__(self, model: Model, state: State, solvers: dict) -> None:
        self._model, self._state, self._solvers = model, state, solvers
        self._flags = [np.zeros(len(tearing.rows), np.bool_) for tearing in model.tearings]
        self.changed = False

    def check(self, threads: int) -> None:
        """Let go of all rows that are strained beyond their limit."""
        state, touched = self._state, set()
        for tearing, flags in zip(self._model.tearings, self._flags, strict=True):
            block = self._solvers[tearing.block].block
            parameters = self._solvers[tearing.block].parameters
            workers = threads if len(flags) >= SERIAL else 1
            strained = strained_lengths if block.type.points == 2 else strained_tetrahedra
            limit = 1.0 + tearing.strain
            if strained(
                workers, tearing.rows, block.indices, parameters, state.x, limit, state.broken[tearing.block], flags
            ):
                self._release(tearing.block, tearing.rows[flags])
                touched.update(self._things(tearing))
        for fabric in self._model.fabrics:
            if fabric.thing in touched:
                self._follow(fabric)
                self.changed = True

    def _things(self, tearing: Tearing) -> list[int]:
        """Things that rows belong to; those of one record are of one thing."""
        first = self._solvers[tearing.block].block.indices[tearing.rows[0], 0]
        return [int(self._model.owners[first])]

    def _follow(self, fabric: Fabric) -> None:
        """Let go of what has lost its elements."""
        gone = np.append(~fabric.present(self._state.broken[fabric.block]), False)
        for follower in fabric.followers:
            lost = gone[follower.elements].sum(axis=1) >= follower.needed
            self._release(follower.block, follower.rows[lost])

    def _release(self, block: str, rows: np.ndarray) -> None:
        fresh = rows[~self._state.broken[block][rows]]
        if len(fresh):
            self._state.broken[block][fresh] = True
            self._solvers[block].release(fresh)


@steady
def lengths_range(begin, end, rows, indices, parameters, x, limit, broken, flags):
    """See `strained_lengths`."""
    found = 0
    for k in range(begin, end):
        r = rows[k]
        i, j = indices[r, 0], indices[r, 1]
        a, b, c = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
        most = limit * parameters[r, 0]
        flags[k] = (not broken[r]) and a * a + b * b + c * c > most * most
        found += flags[k]
    return found


@numba.njit(parallel=True, cache=True, **STEADY)
def strained_lengths(threads, rows, indices, parameters, x, limit, broken, flags):
    """Mark distance rows longer than `limit` times their rest length that have not let go; how many there are."""
    count, found = len(rows), np.zeros(threads, np.int64)
    for t in numba.prange(threads):
        found[t] = lengths_range(
            count * t // threads, count * (t + 1) // threads, rows, indices, parameters, x, limit, broken, flags
        )
    return found.sum()


@steady
def right_cauchy_green(r, indices, parameters, x, f, c):
    """F and F^T F of a tetrahedron in float64."""
    o = indices[r, 0]
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += np.float64(x[indices[r, k + 1], i] - x[o, i]) * parameters[r, 3 * k + j]
            f[i, j] = total
    for i in range(3):
        for j in range(i, 3):
            c[i, j] = f[0, i] * f[0, j] + f[1, i] * f[1, j] + f[2, i] * f[2, j]
            c[j, i] = c[i, j]


@steady
def tetrahedra_range(begin, end, rows, indices, parameters, x, limit, broken, flags):
    """See `strained_tetrahedra`."""
    f, c, v = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3))
    most, found = limit * limit, 0
    for k in range(begin, end):
        r = rows[k]
        flags[k] = False
        if broken[r]:
            continue
        right_cauchy_green(r, indices, parameters, x, f, c)
        # no eigenvalue is larger than the largest sum over a row (Gershgorin)
        bound = 0.0
        for i in range(3):
            bound = max(bound, abs(c[i, 0]) + abs(c[i, 1]) + abs(c[i, 2]))
        if bound > most:
            eigen(c, v)
            flags[k] = max(c[0, 0], max(c[1, 1], c[2, 2])) > most
            found += flags[k]
    return found


@numba.njit(parallel=True, cache=True, **STEADY)
def strained_tetrahedra(threads, rows, indices, parameters, x, limit, broken, flags):
    """Mark tetrahedra stretched beyond `limit` that have not let go; how many there are."""
    count, found = len(rows), np.zeros(threads, np.int64)
    for t in numba.prange(threads):
        found[t] = tetrahedra_range(
            count * t // threads, count * (t + 1) // threads, rows, indices, parameters, x, limit, broken, flags
        )
    return found.sum()
