r"""Plastic flow: beyond a yield strain the rest shape follows, so that the strain goes back to the yield.

A distance row of length l and rest length L has the strain e = l / L - 1. Where |e| > y the rest length goes towards
l / (1 +- y), at which the strain is y, by the part 1 - exp(-creep h) in a substep h. It stops where |L / L0 - 1| has
reached the plastic limit. The compliance stays.

A tetrahedron: B is the inverse of its rest shape, F = Ds B. With F^T F = V diag(s_i^2) V^T and
the stretches without their volume, s*_i = s_i / (s_1 s_2 s_3)^(1/3), the strain is e = sqrt(2/3) |log s*|. Where e > y

    B <- B V diag(s*_i ^ -g) V^T,    g = (1 - exp(-creep h)) (e - y) / e

which multiplies the plastic deformation by V diag(s*^g) V^T of determinant one (Irving, Teran and Fedkiw 2004,
Invertible Finite Elements; Bargteil et al. 2007, A Finite Element Method for Animating Large Viscoplastic Flow). With
g at its full size the strain is y afterwards. It stops where the same measure of B0^-1 B has reached the plastic limit.
"""

import math
from typing import Any

import numba
import numpy as np

from shinari.maths.eigen import eigen
from shinari.maths.function import STEADY, steady
from shinari.model import ConstraintBlock, Flowing, Model
from shinari.solver.tearing import SERIAL, right_cauchy_green
from shinari.state import State

TWO_THIRDS = 2.0 / 3.0


def parameters_now(model: Model, state: State, block: ConstraintBlock) -> np.ndarray:
    """Parameters of a block with the rest shapes as they are now, (M, width): a copy where some of them flow."""
    flows = [flow for flow in model.flowings if flow.block == block.type.name]
    if not flows:
        return block.parameters
    parameters = block.parameters.copy()
    for flow in flows:
        parameters[flow.rows, flow.columns] = state.parts[flow.name]
    return parameters


class Flows:
    """What flows in one simulation."""

    def __init__(self, model: Model, state: State, solvers: dict, h: float) -> None:
        self._flows = [_Flow(flow, model, state, solvers[flow.block], h) for flow in model.flowings]

    def advance(self, threads: int) -> None:
        """Let all rest shapes follow for a substep."""
        for flow in self._flows:
            flow.advance(threads)


class _Flow:
    """The rows of one record."""

    def __init__(self, flow: Flowing, model: Model, state: State, solver: Any, h: float) -> None:
        failure = flow.failure
        self._flow, self._state, self._solver = flow, state, solver
        self._rest = state.parts[flow.name]
        # rest lengths, or the edges B0^-1 of the rest shapes
        self._start = solver.block.parameters[flow.rows, flow.columns].astype(np.float64)
        if self._start.shape[1] == 9:
            self._start = np.linalg.inv(self._start.reshape(-1, 3, 3)).reshape(-1, 9)
        part = 1.0 if math.isinf(failure.creep) else -math.expm1(-failure.creep * h)
        self._numbers = failure.yield_strain, part, failure.plastic_limit
        self._flags = np.zeros(len(flow.rows), np.bool_)

    def advance(self, threads: int) -> None:
        flow, block = self._flow, self._solver.block
        follow = flow_lengths if block.type.points == 2 else flow_tetrahedra
        workers = threads if len(flow.rows) >= SERIAL else 1
        if follow(
            workers, flow.rows, block.indices, self._solver.parameters, self._state.x, *self._numbers, self._start,
            self._rest, self._flags
        ):  # fmt: skip
            rows = flow.rows[self._flags]
            self._solver.set_parameters(rows, flow.columns, self._rest[self._flags])


@steady
def lengths_range(begin, end, rows, indices, x, yields, part, limit, start, rest, flags):
    """See `flow_lengths`."""
    found = 0
    for k in range(begin, end):
        r = rows[k]
        i, j = indices[r, 0], indices[r, 1]
        a, b, c = x[i, 0] - x[j, 0], x[i, 1] - x[j, 1], x[i, 2] - x[j, 2]
        length = np.sqrt(np.float64(a * a + b * b + c * c))
        strain = length / rest[k, 0] - 1.0
        flags[k] = False
        if abs(strain) > yields:
            # a row crushed beyond all strain has no such rest length: it goes to the limit
            wanted = length / (1.0 + yields) if strain > 0.0 else length / max(1.0 - yields, 1e-3)
            new = rest[k, 0] + part * (wanted - rest[k, 0])
            new = min(max(new, (1.0 - min(limit, 0.999)) * start[k, 0]), (1.0 + limit) * start[k, 0])
            flags[k] = new != rest[k, 0]
            rest[k, 0] = new
            found += flags[k]
    return found


@numba.njit(parallel=True, cache=True, **STEADY)
def flow_lengths(threads, rows, indices, parameters, x, yields, part, limit, start, rest, flags):
    """Let the rest lengths of distance rows follow; how many have changed."""
    count, found = len(rows), np.zeros(threads, np.int64)
    for t in numba.prange(threads):
        begin, end = count * t // threads, count * (t + 1) // threads
        found[t] = lengths_range(begin, end, rows, indices, x, yields, part, limit, start, rest, flags)
    return found.sum()


@steady
def isochoric_strain(c, logs):
    """sqrt(2/3) |log s*| of squared stretches on the diagonal of c; log s* into `logs`."""
    mean = 0.0
    for i in range(3):
        logs[i] = 0.5 * np.log(max(c[i, i], 1e-30))
        mean += logs[i] / 3.0
    total = 0.0
    for i in range(3):
        logs[i] -= mean
        total += logs[i] * logs[i]
    return np.sqrt(TWO_THIRDS * total)


@steady
def plastic_strain(edges, new, p, c, v, logs):
    """The same measure of the plastic deformation B0^-1 B, as rows of nine."""
    for i in range(3):
        for j in range(3):
            p[i, j] = edges[3 * i] * new[j] + edges[3 * i + 1] * new[3 + j] + edges[3 * i + 2] * new[6 + j]
    for i in range(3):
        for j in range(3):
            c[i, j] = p[0, i] * p[0, j] + p[1, i] * p[1, j] + p[2, i] * p[2, j]
    eigen(c, v)
    return isochoric_strain(c, logs)


@steady
def tetrahedra_range(begin, end, rows, indices, parameters, x, yields, part, limit, start, rest, flags):
    """See `flow_tetrahedra`."""
    f, c, v, logs = np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((3, 3)), np.zeros(3)
    turn, new, found = np.zeros((3, 3)), np.zeros(9), 0
    for k in range(begin, end):
        flags[k] = False
        right_cauchy_green(rows[k], indices, parameters, x, f, c)
        # half the norm of the strain is close to e while it is small; far below the yield nothing has to be solved
        square = 0.0
        for i in range(3):
            for j in range(3):
                away = c[i, j] - (1.0 if i == j else 0.0)
                square += away * away
        size = np.sqrt(square)
        if size < 0.5 and 0.5 * size / (1.0 - size) <= yields:
            continue
        eigen(c, v)
        strain = isochoric_strain(c, logs)
        if strain <= yields:
            continue
        g = part * (strain - yields) / strain
        for i in range(3):
            for j in range(3):
                turn[i, j] = 0.0
                for n in range(3):
                    turn[i, j] += v[i, n] * np.exp(-g * logs[n]) * v[j, n]
        for i in range(3):
            for j in range(3):
                new[3 * i + j] = 0.0
                for n in range(3):
                    new[3 * i + j] += rest[k, 3 * i + n] * turn[n, j]
        if limit < np.inf and plastic_strain(start[k], new, f, c, v, logs) > limit:
            continue
        for i in range(9):
            rest[k, i] = new[i]
        flags[k] = True
        found += 1
    return found


@numba.njit(parallel=True, cache=True, **STEADY)
def flow_tetrahedra(threads, rows, indices, parameters, x, yields, part, limit, start, rest, flags):
    """Let the rest shapes of tetrahedra follow; how many have changed."""
    count, found = len(rows), np.zeros(threads, np.int64)
    for t in numba.prange(threads):
        begin, end = count * t // threads, count * (t + 1) // threads
        found[t] = tetrahedra_range(begin, end, rows, indices, parameters, x, yields, part, limit, start, rest, flags)
    return found.sum()
