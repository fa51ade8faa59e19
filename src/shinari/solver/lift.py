"""From C and its gradient to a projection: the only place where a multiplier is updated.

A row with value C, gradients g_i, inverse masses w_i, multiplier lambda and compliance alpha satisfies its equation
C + alpha~ lambda = 0 to first order, alpha~ = alpha / h^2, with (Macklin et al. 2016, XPBD, eq. 18 and 17)

    d lambda = (-C - alpha~ lambda) / (w + alpha~),    w = sum w_i |g_i|^2,    dx_i = w_i g_i d lambda

or, for the new multiplier, lambda + d lambda = (w lambda - C) / (w + alpha~). That form holds for alpha = infinity too,
a row without force, and its sign is known before alpha is chosen: a row whose compliance differs between C > 0 and
C < 0 takes the one for the side on which it ends.

Damping beta (eq. 26) adds gamma times the first-order change of C since the substep began, gamma = alpha beta / h:

    lambda + d lambda = ((1 + gamma) w lambda - C - gamma grad C . (x - x_n)) / ((1 + gamma) w + alpha~)

Rows that belong together solve (G W G^T + alpha~ I) (lambda + d lambda) = G W G^T lambda - C by Cholesky (L D L^T).
`"pbd"` takes d lambda = -k C / w instead (Mueller et al. 2006, eq. 8 and 9); lambda then counts for the forces alone.
"""

from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

from shinari.constraints.registry import ConstraintType
from shinari.solver import lanes
from shinari.solver.rendered import render

# Fewer rows than this are not worth waking the other threads for (a barrier costs about the same as 500 rows).
SERIAL = 512


@dataclass(frozen=True)
class Variant:
    """What a projection has to provide.

    Attributes:
        method: `"xpbd"` or `"pbd"`.
        two_sided: Whether the softness has a second column for C < 0.
        damped: Whether rows have damping.
        gathers: True for Jacobi: corrections are stored by row, and each particle gathers its own afterwards.
        first: Whether it is the first iteration of a substep, in which the multipliers count as zero. A kernel of its
            own is a quarter faster than one that asks in each row.
        lanes: Whether rows are solved sixteen at a time, see `shinari.solver.lanes`.
    """

    method: str
    two_sided: bool
    damped: bool
    gathers: bool
    first: bool = True
    lanes: bool = False


def projection(kind: ConstraintType, variant: Variant) -> Callable:
    """Compiled sweep over all rows of a block.

    With Gauss-Seidel its arguments are `threads, offsets, indices, parameters, softness, [damping, predicted,
    velocities,] multipliers, x, scale, [h]`, where `scale` is 1 / h^2 (1 for `"pbd"`). With Jacobi,
    `corrections, weights` follow `multipliers`. With lanes the tables of rows are those of `shinari.solver.lanes`.
    """
    name = f"{kind.name}_{variant.method}" + "".join(
        f"_{word}" for word, on in (("sided", variant.two_sided), ("damped", variant.damped),
                                    ("jacobi", variant.gathers), ("again", not variant.first),
                                    ("lanes", variant.lanes)) if on
    )  # fmt: skip
    if variant.lanes:
        kernel = _module(kind, name, _lanes_source(kind, variant))
        return lanes.plain_vectors(kernel.sweep)
    return _module(kind, name, _sweep_source(kind, variant)).sweep


def measurement(kind: ConstraintType) -> Callable:
    """Compiled `measure(indices, parameters, x, multipliers, values, forces)`, for diagnostics.

    It puts C of all rows into values (M, rows), and |sum_a lambda_a grad_i C_a| at each of their points into forces
    (M, points), for multipliers (M, rows).
    """
    return _module(kind, f"{kind.name}_measure", _measure_source(kind)).measure


def _module(kind: ConstraintType, name: str, source: str) -> ModuleType:
    functions = {"evaluate": kind.evaluate}
    if kind.gradient_squares is not None:
        functions["gradient_squares"] = kind.gradient_squares
    return render(name, source, functions)


_HEADER = '''"""{title}. Rendered by shinari.solver.lift."""

import numba
import numpy as np

from shinari.maths.function import FLAGS
from shinari.maths.vec3 import dot, reciprocal
{{imports}}

ZERO, ONE = np.float32(0.0), np.float32(1.0)
'''

# Only what Python calls is cached: a callee from the cache could not be inlined.
_SWEEP = (
    """

@numba.njit(**FLAGS)
def project(begin, end, {arguments}):
    for r in range(np.uint64(begin), np.uint64(end)):
{body}
"""
    + lanes.COLOURS
)

_MEASURE = """

@numba.njit(cache={{cache}}, **FLAGS)
def measure(indices, parameters, x, multipliers, values, forces):
    for r in range(len(indices)):
{body}
"""


def _sweep_source(kind: ConstraintType, variant: Variant) -> str:
    arguments = ["indices", "parameters", "softness"]
    arguments += ["damping", "predicted", "velocities"] if variant.damped else []
    arguments += ["multipliers"]
    arguments += ["corrections", "weights"] if variant.gathers else []
    arguments += ["x", "scale"] + (["h"] if variant.damped else [])
    apply = _store(kind) if variant.gathers else _scatter(kind)
    body = _gather(kind) + _evaluate(kind) + _read_row(kind, variant) + solve_lines(kind, variant) + apply
    title = f"Projection of {kind.name!r}, {variant.method}"
    sweep = _SWEEP.format(arguments=", ".join(arguments), body=_indent(body), serial=SERIAL)
    return _HEADER.format(title=title) + sweep


def _lanes_source(kind: ConstraintType, variant: Variant) -> str:
    moves = [[impulse(kind, i, k) for k in range(3)] for i in range(kind.points)]
    body = _evaluate(kind) + solve_lines(kind, variant)
    layout = lanes.Layout(kind.points, kind.rows, kind.width, 1 + variant.two_sided, variant.damped, variant.first)
    title = f"Projection of {kind.name!r}, {variant.method}, sixteen rows at a time"
    header = _HEADER.format(title=title).replace("{imports}", "from shinari.solver.lanes import own\n{imports}")
    return header + lanes.source(layout, body, moves)


def _measure_source(kind: ConstraintType) -> str:
    names = _value_names(kind)
    body = _gather(kind) + _evaluate(kind) + [f"values[r, {k}] = {name}" for k, name in enumerate(names)]
    for i in range(kind.points):
        for k in range(3):
            push = (f"multipliers[r, {a}] * {_gradient(kind, a, i)}[{k}]" for a in range(kind.rows))
            body.append(f"f{k} = {' + '.join(push)}")
        body.append(f"forces[r, {i}] = np.sqrt(f0 * f0 + f1 * f1 + f2 * f2)")
    return _HEADER.format(title=f"Values of {kind.name!r}") + _MEASURE.format(body=_indent(body))


def _indent(lines: list[str]) -> str:
    return "\n".join(" " * 8 + line for line in lines)


def _value_names(kind: ConstraintType) -> list[str]:
    return ["c"] if kind.rows == 1 else [f"c{k}" for k in range(kind.rows)]


def _gradient(kind: ConstraintType, row: int, point: int) -> str:
    return f"g[{point}]" if kind.rows == 1 else f"g[{row}][{point}]"


def _gather(kind: ConstraintType) -> list[str]:
    """Load the points and the parameters."""
    lines = []
    for i in range(kind.points):
        lines.append(f"i{i} = indices[r, {i}]")
        lines.append(f"x{i}, w{i} = (x[i{i}, 0], x[i{i}, 1], x[i{i}, 2]), x[i{i}, 3]")
    return [*lines, f"p = ({''.join(f'parameters[r, {k}], ' for k in range(kind.width))})"]


def _evaluate(kind: ConstraintType) -> list[str]:
    """C and its gradients at the points."""
    lines = []
    points = "".join(f"x{i}, " for i in range(kind.points))
    if kind.gradient_squares is not None:
        lines.append("square = gradient_squares(p)")
    values = "c" if kind.rows == 1 else "(" + "".join(f"{name}, " for name in _value_names(kind)) + ")"
    lines.append(f"{values}, g = evaluate(({points}), p)")
    # one gradient for each point of each row: fewer or more do not compile
    if kind.rows == 1:
        lines.append(f"({'_, ' * kind.points}) = g")
    else:
        lines.append(f"({''.join(f'row{k}, ' for k in range(kind.rows))}) = g")
        lines += [f"({'_, ' * kind.points}) = row{k}" for k in range(kind.rows)]
    return lines


def _read_row(kind: ConstraintType, variant: Variant) -> list[str]:
    """Softness, damping and old multipliers by the names that the solution uses."""
    lines = [f"soft{k} = softness[r, {k}]" for k in range(1 + variant.two_sided)]
    if variant.damped:
        lines.append("rate = damping[r]")
    if not variant.first:
        lines += (
            ["old = multipliers[r]"] if kind.rows == 1 else [f"old{a} = multipliers[r, {a}]" for a in range(kind.rows)]
        )
    return lines


def solve_lines(kind: ConstraintType, variant: Variant) -> list[str]:
    """The new multipliers of a row or a system, and their changes."""
    return _solve_row(kind, variant) if kind.rows == 1 else _solve_system(kind, variant)


def _inverse_mass(kind: ConstraintType, a: int, b: int) -> str:
    """Entry of G W G^T."""
    if kind.unit_gradients and a == b:
        return " + ".join(f"w{i}" for i in range(kind.points))
    if kind.gradient_squares is not None:
        return " + ".join(f"w{i} * square[{i}]" for i in range(kind.points))
    return " + ".join(
        f"w{i} * dot({_gradient(kind, a, i)}, {_gradient(kind, b, i)})" for i in range(kind.points)
    )  # fmt: skip


def _drift(kind: ConstraintType, variant: Variant, row: int) -> list[str]:
    """First-order change of C since the substep began: grad C . (x - x_n), x - x_n = (x - predicted) + h v."""
    terms = []
    for i in range(kind.points):
        moved = (f"x{i}[{k}] - predicted[i{i}, {k}] + h * velocities[i{i}, {k}]" for k in range(3))
        way = f"moved{i}" if variant.lanes else f"({', '.join(moved)})"
        terms.append(f"dot({_gradient(kind, row, i)}, {way})")
    return [f"drift = {' + '.join(terms)}"]


def _solve_row(kind: ConstraintType, variant: Variant) -> list[str]:
    """Multiplier of a single row."""
    lines = [f"w = {_inverse_mass(kind, 0, 0)}", *(["old = ZERO"] if variant.first else [])]
    if variant.method == "pbd":
        side = "soft0 if c > ZERO else soft1" if variant.two_sided else "soft0"
        return [*lines, f"k = {side}", "change = -k * c * reciprocal(w)", *_keep(variant, "old + change", kind)]
    side = "soft0 if w * old < c else soft1" if variant.two_sided else "soft0"
    lines += [f"raw = {side}", "a = raw * scale"]
    if variant.damped:
        lines += [
            # an absent row has no damping either: infinity times zero would be no number
            "gamma = raw * rate / h if raw < np.inf else ZERO",
            *_drift(kind, variant, 0),
            "heavy = (ONE + gamma) * w",
            "new = (heavy * old - c - gamma * drift) * reciprocal(heavy + a)",
        ]
    else:
        lines.append("new = (w * old - c) * reciprocal(w + a)")
    return [*lines, "change = new - old", *_keep(variant, "new", kind)]


def _keep(variant: Variant, new: str, kind: ConstraintType) -> list[str]:
    if not variant.gathers:
        return [f"keep0 = {new}" if variant.lanes else f"multipliers[r] = {new}"]
    # positions and multipliers are relaxed together
    mean = " + ".join(f"weights[i{i}]" for i in range(kind.points))
    return [f"multipliers[r] = old + ({mean}) / np.float32({kind.points}) * change"]


def _solve_system(kind: ConstraintType, variant: Variant) -> list[str]:
    """Multipliers of rows that are solved together: L D L^T, unrolled."""
    n = kind.rows
    lines = []
    for a in range(n):
        lines += [f"m{a}{b} = {_inverse_mass(kind, a, b)}" for b in range(a + 1)]
    lines += [f"old{a} = ZERO" for a in range(n) if variant.first]
    if variant.method == "pbd":
        lines += ["a = ZERO", "k = soft0"]
    else:
        lines += ["raw = soft0", "a = raw * scale"]
    if variant.damped:
        lines.append("gamma = raw * rate / h if raw < np.inf else ZERO")
    for a in range(n):
        product = " + ".join(f"m{max(a, b)}{min(a, b)} * old{b}" for b in range(n))
        if variant.damped:
            lines += [*_drift(kind, variant, a), f"b{a} = (ONE + gamma) * ({product}) - c{a} - gamma * drift"]
        elif variant.method == "pbd":
            lines.append(f"b{a} = -k * c{a}")
        else:
            lines.append(f"b{a} = {product} - c{a}")
    if variant.damped:
        for a in range(n):
            lines += [f"m{a}{b} = (ONE + gamma) * m{a}{b}" for b in range(a + 1)]
    lines += _factorise(n)
    if variant.method == "pbd":
        lines += [f"change{a} = y{a}" for a in range(n)] + [f"y{a} = old{a} + change{a}" for a in range(n)]
    else:
        lines += [f"change{a} = y{a} - old{a}" for a in range(n)]
    if variant.gathers:
        mean = " + ".join(f"weights[i{i}]" for i in range(kind.points))
        lines.append(f"mean = ({mean}) / np.float32({kind.points})")
        return lines + [f"multipliers[r, {a}] = old{a} + mean * change{a}" for a in range(n)]
    if variant.lanes:
        return lines + [f"keep{a} = y{a}" for a in range(n)]
    return lines + [f"multipliers[r, {a}] = y{a}" for a in range(n)]


def _factorise(n: int) -> list[str]:
    """Solve (m + a I) y = b, with reciprocal pivots so that an immovable row yields zero.

    u = l d is kept beside l: the pivot of a row that has let go is infinite, and zero times it would be no number.
    """
    lines = []
    for j in range(n):
        pivot = f"m{j}{j} + a" + "".join(f" - l{j}{k} * u{j}{k}" for k in range(j))
        lines += [f"d{j} = {pivot}", f"r{j} = reciprocal(d{j})"]
        for i in range(j + 1, n):
            inner = f"m{i}{j}" + "".join(f" - l{i}{k} * u{j}{k}" for k in range(j))
            lines += [f"u{i}{j} = {inner}", f"l{i}{j} = u{i}{j} * r{j}"]
    for i in range(n):
        lines.append(f"z{i} = b{i}" + "".join(f" - l{i}{k} * z{k}" for k in range(i)))
    for i in reversed(range(n)):
        lines.append(f"y{i} = z{i} * r{i}" + "".join(f" - l{k}{i} * y{k}" for k in range(i + 1, n)))
    return lines


def impulse(kind: ConstraintType, point: int, axis: int) -> str:
    """Component of sum over rows of gradient times change of the multiplier."""
    if kind.rows == 1:
        return f"change * g[{point}][{axis}]"
    return " + ".join(f"change{a} * g[{a}][{point}][{axis}]" for a in range(kind.rows))


def _scatter(kind: ConstraintType) -> list[str]:
    """Move the points; a fixed one is not written, since rows of one colour may share it."""
    lines = []
    for i in range(kind.points):
        lines.append(f"if w{i} > ZERO:")
        lines += [f"    x[i{i}, {k}] = x{i}[{k}] + w{i} * ({impulse(kind, i, k)})" for k in range(3)]
    return lines


def _store(kind: ConstraintType) -> list[str]:
    lines = [f"at = r * np.uint64({kind.points})"]
    return lines + [
        f"corrections[at + np.uint64({i}), {k}] = {impulse(kind, i, k)}" for i in range(kind.points) for k in range(3)
    ]
