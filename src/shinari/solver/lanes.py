"""Sixteen rows at a time: the rows of a colour share no particle, so vector instructions can solve them side by side.

A row with much arithmetic, such as a tetrahedron, spends its time on products; one after another they use a sixteenth
of what the processor can do. Here the rows of a colour are packed into batches: the points of a batch are gathered into
an array of lanes, one loop over the lanes does what `shinari.solver.lift` does for a row, and the points are scattered
back. Measured on stable Neo-Hookean tetrahedra: 40 ns a row without lanes, 12 ns with them, on one thread.

The tables of a batch b of L lanes are

    rows (B, L)    indices (B, points, L)    parameters (B, width, L)    softness (B, sides, L)    damping (B, L)

A colour that does not fill its last batch repeats its last row there: the lanes then compute and write the same.
Every row goes through the same instructions in whatever lane it is, so results do not depend on the number of threads.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from types import FunctionType
from typing import Any

import numba
import numpy as np

# Lanes of a batch: one vector of 512 bits in float32, two of 256 bits, and four or eight for float64.
LANES = 16

# Fewer batches than this in a colour are not worth waking the other threads for.
SERIAL = 16


@dataclass(frozen=True)
class Layout:
    """What one row has.

    Attributes:
        points: Points.
        rows: Scalar equations.
        width: Columns of parameters.
        sides: Columns of softness.
        damped: Whether it has damping.
        first: Whether the multipliers count as zero.
    """

    points: int
    rows: int
    width: int
    sides: int
    damped: bool
    first: bool


class Batches:
    """The rows of a block in batches.

    Attributes:
        offsets: Batch with which each colour starts, (colours + 1,).
        rows: Row in each lane, (B, L) uint32.
        indices: Particles, (B, points, L) uint32.
    """

    def __init__(self, indices: np.ndarray, offsets: np.ndarray) -> None:
        rows, starts = [np.zeros((0, LANES), np.int64)], [0]
        for begin, end in pairwise(offsets):
            filled = np.arange(begin, begin + -(-(end - begin) // LANES) * LANES)
            rows.append(np.minimum(filled, end - 1).reshape(-1, LANES))
            starts.append(starts[-1] + len(rows[-1]))
        self.rows = np.concatenate(rows).astype(np.uint32)
        self.offsets = np.array(starts, np.int64)
        self.indices = self.packed(indices)

    def packed(self, table: np.ndarray) -> np.ndarray:
        """A table by row, (M, K) or (M,), as (B, K, L) or (B, L)."""
        lanes = table[self.rows]
        return np.ascontiguousarray(np.swapaxes(lanes, 1, 2) if lanes.ndim == 3 else lanes)


def own(function: Any) -> Any:
    """A copy of a compiled function and of all that it calls, with machine code of its own.

    The code of a function that another kernel was compiled with before has its scalars packed into short vectors.
    """
    if function.targetoptions.get("inline") == "always":
        return function
    python_function = function.py_func
    names = dict(python_function.__globals__)
    for name in python_function.__code__.co_names:
        if hasattr(names.get(name), "py_func"):
            names[name] = own(names[name])
    code, closure = python_function.__code__, python_function.__closure__
    copy = FunctionType(code, names, python_function.__name__, python_function.__defaults__, closure)
    options = {name: value for name, value in function.targetoptions.items() if name != "nopython"}
    return numba.njit(**options)(copy)


def plain_vectors(kernel: Any) -> Any:
    """Let a kernel be compiled without packing neighbouring scalars into short vectors; gives the kernel.

    With them in place LLVM does not see that the whole loop over the lanes is one of vectors.
    """
    compiler = kernel._compiler
    if not hasattr(compiler, "packing"):
        compiler.packing = compiler.compile
        compiler.compile = lambda *signature: _without_packing(compiler.packing, signature)
    return kernel


def _without_packing(compiled: Callable, signature: tuple) -> Any:
    """Compile; Numba's lock is held, so that no other thread compiles meanwhile."""
    kept = numba.config.SLP_VECTORIZE  # type: ignore[attr-defined]
    numba.config.SLP_VECTORIZE = 0  # type: ignore[attr-defined]
    try:
        return compiled(*signature)
    finally:
        numba.config.SLP_VECTORIZE = kept  # type: ignore[attr-defined]


# Colour after colour: a `project` in parts, on one thread where they are small.
COLOURS = """

@numba.njit(parallel=True, cache={{cache}}, **FLAGS)
def sweep(threads, offsets, {arguments}):
    for colour in range(len(offsets) - 1):
        begin, end = offsets[colour], offsets[colour + 1]
        if threads == 1 or end - begin < {serial}:
            project(begin, end, {arguments})
        else:
            for t in numba.prange(threads):
                project(begin + (end - begin) * t // threads, begin + (end - begin) * (t + 1) // threads, {arguments})
"""

# The body is one function that both ways below call: inlined at two places it could round differently at each.
_SWEEP = (
    """
APART = FLAGS | {{"forceinline": False}}
evaluate = own(evaluate)


@numba.njit(**APART)
def project(begin, end, {arguments}):
    taken, given = np.empty({taken}, x.dtype), np.empty({given}, x.dtype)
    for b in range(np.uint64(begin), np.uint64(end)):
        for lane in range(np.uint64({lanes})):
{gather}
        for lane in range(np.uint64({lanes})):
{body}
        for lane in range(np.uint64({lanes})):
{scatter}
"""
    + COLOURS
)


def source(layout: Layout, solve: list[str], moves: list[list[str]]) -> str:
    """Source of a sweep over batches.

    Args:
        layout: What one row has.
        solve: Lines that make `keep0`, `keep1` and so on, the new multipliers, and their changes, from the points `x0`,
            their inverse masses `w0`, the parameters `p`, `soft0`, `soft1`, and where the layout says so from `rate`,
            `moved0` and the old multipliers `old`, or `old0` and so on.
        moves: Expressions for the gradients times the changes, by point and axis.
    """
    arguments = ["rows", "indices", "parameters", "softness"]
    arguments += ["damping", "predicted", "velocities"] if layout.damped else []
    arguments += ["multipliers", "x", "scale"] + (["h"] if layout.damped else [])
    gather, load = _Slots("taken"), []
    for i in range(layout.points):
        gather.lines.append(f"i = indices[b, {i}, lane]")
        axes = [gather.put(f"x[i, {k}]") for k in range(4)]
        load.append(f"x{i}, w{i} = ({', '.join(axes[:3])}), {axes[3]}")
        if layout.damped:
            moved = [gather.put(f"x[i, {k}] - predicted[i, {k}] + h * velocities[i, {k}]") for k in range(3)]
            load.append(f"moved{i} = {', '.join(moved)}")
    if not layout.first:
        gather.lines.append("r = rows[b, lane]")
        names = ["old"] if layout.rows == 1 else [f"old{a}" for a in range(layout.rows)]
        columns = ["r"] if layout.rows == 1 else [f"r, {a}" for a in range(layout.rows)]
        load += [f"{name} = {gather.put(f'multipliers[{at}]')}" for name, at in zip(names, columns, strict=True)]
    load.append(f"p = ({''.join(f'parameters[b, {k}, lane], ' for k in range(layout.width))})")
    load += [f"soft{k} = softness[b, {k}, lane]" for k in range(layout.sides)]
    load += ["rate = damping[b, lane]"] if layout.damped else []
    store, scatter = _Slots("given"), ["r = rows[b, lane]"]
    for a in range(layout.rows):
        at = "r" if layout.rows == 1 else f"r, {a}"
        scatter.append(f"multipliers[{at}] = {store.put(f'keep{a}')}")
    for i in range(layout.points):
        weight = store.put(f"w{i}")
        places = [store.put(f"x{i}[{k}] + w{i} * ({moves[i][k]})") for k in range(3)]
        # a fixed point is not written, since rows of one colour may share it
        scatter += [f"i = indices[b, {i}, lane]", f"if {weight} > ZERO:"]
        scatter += [f"    x[i, {k}] = {place}" for k, place in enumerate(places)]
    return _SWEEP.format(
        arguments=", ".join(arguments),
        taken=gather.size,
        given=store.size,
        lanes=LANES,
        serial=SERIAL,
        gather=_indent(gather.lines),
        body=_indent(load + solve + store.lines),
        scatter=_indent(scatter),
    )


class _Slots:
    """Places of an array of lanes, and the lines that fill them."""

    def __init__(self, array: str) -> None:
        self._array = array
        self._count = 0
        self.lines: list[str] = []

    @property
    def size(self) -> int:
        """Numbers that the array holds."""
        return self._count * LANES

    def put(self, value: str) -> str:
        """Add a line that stores a value; returns the expression that reads it."""
        place = f"{self._array}[np.uint64({self._count * LANES}) + lane]"
        self._count += 1
        self.lines.append(f"{place} = {value}")
        return place


def _indent(lines: list[str]) -> str:
    return "\n".join(" " * 12 + line for line in lines)
