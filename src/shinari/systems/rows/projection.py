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

import linecache
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.compute import Field, Kernel, Record, kernel, real, scratch
from shinari.compute.once import once
from shinari.compute.program import run_once
from shinari.constraints.registry import ConstraintType
from shinari.maths.vec3 import dot, reciprocal
from shinari.model.particles import Particles
from shinari.systems.rows.batches import WIDTH


@dataclass(frozen=True)
class Variant:
    """What a projection has to provide.

    Attributes:
        method: `"xpbd"` or `"pbd"`.
        two_sided: Whether the coefficient has a second column for C < 0.
        damped: Whether rows have damping.
        gathers: True for Jacobi: corrections are stored by row, and each particle gathers its own afterwards.
        first: Whether it is the first iteration of a substep, in which the multipliers count as zero. A kernel of its
            own is a quarter faster than one that asks in each row.
        batched: Whether rows are solved sixteen at a time, see `shinari.systems.rows.batches`.
    """

    method: str
    two_sided: bool
    damped: bool
    gathers: bool
    first: bool = True
    batched: bool = False


class Corrections(Record):
    """One row for each point of each row of a block, for Jacobi sweeps."""

    value = Field(real, 3, doc="gradient times change of the multiplier")


class Relaxation(Record):
    """One row for each particle, for Jacobi sweeps."""

    weight = Field(real, doc="factor on corrections")


@once
def rows_record(points: int, width: int, sides: int, equations: int, damped: bool) -> type[Record]:
    """Record of the rows of a block, M rows."""
    fields = {
        "points": Field(np.uint32, points, doc="particles"),
        "multiplier": Field(real, equations) if equations > 1 else Field(real),
    }
    coefficient = Field(real, sides, doc="compliance, or stiffness per iteration with pbd; by sign of C")
    fields |= {"coefficient": coefficient} if sides else {}
    fields |= {"parameters": Field(real, width)} if width else {}
    fields |= {"damping": Field(real, doc="damping stiffness")} if damped else {}
    return type("Rows", (Record,), fields)


@once
def batches_record(points: int, width: int, sides: int, damped: bool) -> type[Record]:
    """Record of the SIMD batches of a block, B rows; multipliers stay in the order of the rows."""
    fields = {
        "rows": Field(np.uint32, WIDTH, doc="row in each lane"),
        "points": Field(np.uint32, (points, WIDTH), doc="particles"),
        "coefficient": Field(real, (sides, WIDTH)),
    }
    fields |= {"parameters": Field(real, (width, WIDTH))} if width else {}
    fields |= {"damping": Field(real, WIDTH)} if damped else {}
    return type("RowBatches", (Record,), fields)


@once
def multipliers_record(equations: int) -> type[Record]:
    """Record of the multipliers of a block in batches, M rows."""
    return type("Multipliers", (Record,), {"multiplier": Field(real, equations) if equations > 1 else Field(real)})


@once
def measures_record(points: int, equations: int) -> type[Record]:
    """Record of what `measurement` fills, M rows."""
    return type("Measures", (Record,), {"value": Field(real, equations), "force": Field(real, points)})


@once
def projection(constraint_type: ConstraintType, variant: Variant) -> Kernel:
    """Kernel that solves one row of a type, or one batch of them.

    Its parameters are `rows, particles, scale, h`, where `scale` is 1 / h^2 (1 for `"pbd"`); with batches `multipliers`
    follow `rows`; with Jacobi `corrections, relaxation` follow `particles`.
    """
    name = f"project_{constraint_type.name}_{variant.method}" + "".join(
        f"_{word}" for word, on in (("sided", variant.two_sided), ("damped", variant.damped),
                                    ("jacobi", variant.gathers), ("again", not variant.first),
                                    ("batch", variant.batched)) if on
    )  # fmt: skip
    sides = 1 + variant.two_sided
    if variant.batched:
        records: dict[str, Any] = {
            "rows": batches_record(constraint_type.points, constraint_type.width, sides, variant.damped)
        }
        records["multipliers"] = multipliers_record(constraint_type.rows)
        body = _batch_body(constraint_type, variant)
    else:
        records = {
            "rows": rows_record(
                constraint_type.points, constraint_type.width, sides, constraint_type.rows, variant.damped
            )
        }
        body = (
            _gather(constraint_type)
            + _evaluate(constraint_type)
            + _read_row(constraint_type, variant)
            + solve_lines(constraint_type, variant)
        )
        body += _store(constraint_type) if variant.gathers else _scatter(constraint_type)
    records["particles"] = Particles
    records |= {"corrections": Corrections, "relaxation": Relaxation} if variant.gathers else {}
    item = "batch" if variant.batched else "r"
    return _kernel(constraint_type, name, item, records | {"scale": real, "h": real}, body, variant.batched)


@once
def measurement(constraint_type: ConstraintType) -> Kernel:
    """Kernel that fills C of a row, and |sum_a lambda_a grad_i C_a| at each of its points, for diagnostics."""
    equations = constraint_type.rows
    records: dict[str, Any] = {"rows": rows_record(constraint_type.points, constraint_type.width, 0, equations, False)}
    records |= {"measures": measures_record(constraint_type.points, equations), "particles": Particles}
    body = _gather(constraint_type) + _evaluate(constraint_type)
    body += [f"measures.value[r, {k}] = {name}" for k, name in enumerate(_value_names(constraint_type))]
    for a in range(equations):
        body.append(f"l{a} = rows.multiplier[r{f', {a}' if equations > 1 else ''}]")
    for i in range(constraint_type.points):
        for k in range(3):
            terms = (f"l{a} * {_gradient(constraint_type, a, i)}[{k}]" for a in range(equations))
            body.append(f"f{k} = {' + '.join(terms)}")
        body.append(f"measures.force[r, {i}] = np.sqrt(f0 * f0 + f1 * f1 + f2 * f2)")
    return _kernel(constraint_type, f"measure_{constraint_type.name}", "r", records, body, False)


def measure(
    constraint_type: ConstraintType, indices: np.ndarray, parameters: np.ndarray, x: np.ndarray, multipliers: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """C of all rows (M, rows), and |sum_a lambda_a grad_i C_a| at each of their points (M, points), in float64.

    Args:
        constraint_type: Their type.
        indices: Particles, (M, points) uint32.
        parameters: Parameters, (M, width).
        x: Positions and inverse mass, (N, 4) float64.
        multipliers: Multipliers, (M, rows) float64.
    """
    double, count = np.float64, len(indices)
    measures = measures_record(constraint_type.points, constraint_type.rows).zeros(count, double)
    tables = {"parameters": np.ascontiguousarray(parameters, double)} if constraint_type.width else {}
    flat = multipliers.reshape((count,) if constraint_type.rows == 1 else (count, constraint_type.rows)).astype(double)
    rows = rows_record(constraint_type.points, constraint_type.width, 0, constraint_type.rows, False)(
        double, points=indices, multiplier=flat, **tables
    )
    particles = Particles.zeros(len(x), double)
    particles.bind(x=np.ascontiguousarray(x, double))
    run_once(measurement(constraint_type), rows, measures, particles, count=count, threads=1)
    return measures.value, measures.force


def _kernel(
    constraint_type: ConstraintType, name: str, item: str, parameters: dict, body: list[str], vector: bool
) -> Kernel:
    """Compile a rendered body; the source stays readable for tracebacks and debuggers."""
    source = "\n    ".join([f"def {name}({item}, {', '.join(parameters)}):", *body]) + "\n"
    scope: dict[str, Any] = {"np": np, "dot": dot, "reciprocal": reciprocal, "scratch": scratch}
    scope |= {"evaluate": constraint_type.evaluate, "gradient_squares": constraint_type.gradient_squares}
    scope |= {"ZERO": np.float32(0.0), "ONE": np.float32(1.0), "__name__": __name__}
    path = f"<{name} {id(constraint_type):x}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    exec(compile(source, path, "exec"), scope)
    scope[name].__annotations__ = parameters
    return kernel(scope[name], vector=vector, subject=f"constraint {constraint_type.name!r}: evaluate")


def _value_names(constraint_type: ConstraintType) -> list[str]:
    return ["c"] if constraint_type.rows == 1 else [f"c{k}" for k in range(constraint_type.rows)]


def _gradient(constraint_type: ConstraintType, row: int, point: int) -> str:
    return f"g[{point}]" if constraint_type.rows == 1 else f"g[{row}][{point}]"


def _gather(constraint_type: ConstraintType) -> list[str]:
    """Load the points and the parameters."""
    lines = []
    for i in range(constraint_type.points):
        lines += [f"i{i} = rows.points[r, {i}]", f"q{i} = particles.x[i{i}]"]
        lines.append(f"x{i}, w{i} = (q{i}[0], q{i}[1], q{i}[2]), q{i}[3]")
    return [*lines, "p = rows.parameters[r]" if constraint_type.width else "p = ()"]


def _evaluate(constraint_type: ConstraintType) -> list[str]:
    """C and its gradients at the points."""
    lines = []
    points = "".join(f"x{i}, " for i in range(constraint_type.points))
    if constraint_type.gradient_squares is not None:
        lines.append("square = gradient_squares(p)")
    values = (
        "c" if constraint_type.rows == 1 else "(" + "".join(f"{name}, " for name in _value_names(constraint_type)) + ")"
    )
    lines.append(f"{values}, g = evaluate(({points}), p)")
    # one gradient for each point of each row: fewer or more do not compile
    if constraint_type.rows == 1:
        lines.append(f"({'_, ' * constraint_type.points}) = g")
    else:
        lines.append(f"({''.join(f'row{k}, ' for k in range(constraint_type.rows))}) = g")
        lines += [f"({'_, ' * constraint_type.points}) = row{k}" for k in range(constraint_type.rows)]
    return lines


def _read_row(constraint_type: ConstraintType, variant: Variant) -> list[str]:
    """Coefficient, damping, displacement since the substep began and old multipliers, by the names of the solution."""
    lines = [f"soft{k} = rows.coefficient[r, {k}]" for k in range(1 + variant.two_sided)]
    if variant.damped:
        lines.append("rate = rows.damping[r]")
        lines += [line for i in range(constraint_type.points) for line in _displacement(i)]
        lines += [f"moved{i} = (m0_{i}, m1_{i}, m2_{i})" for i in range(constraint_type.points)]
    if not variant.first:
        lines += ["old = rows.multiplier[r]"] if constraint_type.rows == 1 else [
            f"old{a} = rows.multiplier[r, {a}]" for a in range(constraint_type.rows)
        ]  # fmt: skip
    return lines


def _displacement(i: int) -> list[str]:
    """X - x_n = (x - predicted) + h v of point i, as m0_i, m1_i, m2_i."""
    lines = [f"was{i}, speed{i} = particles.predicted[i{i}], particles.v[i{i}]"]
    return lines + [f"m{k}_{i} = q{i}[{k}] - was{i}[{k}] + h * speed{i}[{k}]" for k in range(3)]


def solve_lines(constraint_type: ConstraintType, variant: Variant) -> list[str]:
    """The new multipliers of a row or a system, and their changes."""
    return (
        _solve_row(constraint_type, variant) if constraint_type.rows == 1 else _solve_system(constraint_type, variant)
    )


def _inverse_mass(constraint_type: ConstraintType, a: int, b: int) -> str:
    """Entry of G W G^T."""
    if constraint_type.unit_gradients and a == b:
        return " + ".join(f"w{i}" for i in range(constraint_type.points))
    if constraint_type.gradient_squares is not None:
        return " + ".join(f"w{i} * square[{i}]" for i in range(constraint_type.points))
    return " + ".join(
        f"w{i} * dot({_gradient(constraint_type, a, i)}, {_gradient(constraint_type, b, i)})"
        for i in range(constraint_type.points)
    )


def _drift(constraint_type: ConstraintType, variant: Variant, row: int) -> list[str]:
    """First-order change of C since the substep began: grad C . (x - x_n), x - x_n = (x - predicted) + h v."""
    terms = (f"dot({_gradient(constraint_type, row, i)}, moved{i})" for i in range(constraint_type.points))
    return [f"drift = {' + '.join(terms)}"]


def _solve_row(constraint_type: ConstraintType, variant: Variant) -> list[str]:
    """Multiplier of a single row."""
    lines = [f"w = {_inverse_mass(constraint_type, 0, 0)}", *(["old = ZERO"] if variant.first else [])]
    if variant.method == "pbd":
        side = "soft0 if c > ZERO else soft1" if variant.two_sided else "soft0"
        return [
            *lines,
            f"k = {side}",
            "change = -k * c * reciprocal(w)",
            *_keep(variant, "old + change", constraint_type),
        ]
    side = "soft0 if w * old < c else soft1" if variant.two_sided else "soft0"
    lines += [f"raw = {side}", "a = raw * scale"]
    if variant.damped:
        lines += [
            # an absent row has no damping either: infinity times zero would be no number
            "gamma = raw * rate / h if raw < np.inf else ZERO",
            *_drift(constraint_type, variant, 0),
            "heavy = (ONE + gamma) * w",
            "new = (heavy * old - c - gamma * drift) * reciprocal(heavy + a)",
        ]
    else:
        lines.append("new = (w * old - c) * reciprocal(w + a)")
    return [*lines, "change = new - old", *_keep(variant, "new", constraint_type)]


def _keep(variant: Variant, new: str, constraint_type: ConstraintType) -> list[str]:
    if not variant.gathers:
        return [f"keep0 = {new}" if variant.batched else f"rows.multiplier[r] = {new}"]
    # positions and multipliers are relaxed together
    mean = " + ".join(f"relaxation.weight[i{i}]" for i in range(constraint_type.points))
    return [f"rows.multiplier[r] = old + ({mean}) / np.float32({constraint_type.points}) * change"]


def _solve_system(constraint_type: ConstraintType, variant: Variant) -> list[str]:
    """Multipliers of rows that are solved together: L D L^T, unrolled."""
    n = constraint_type.rows
    lines = []
    for a in range(n):
        lines += [f"m{a}{b} = {_inverse_mass(constraint_type, a, b)}" for b in range(a + 1)]
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
            lines += [
                *_drift(constraint_type, variant, a),
                f"b{a} = (ONE + gamma) * ({product}) - c{a} - gamma * drift",
            ]
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
        mean = " + ".join(f"relaxation.weight[i{i}]" for i in range(constraint_type.points))
        lines.append(f"mean = ({mean}) / np.float32({constraint_type.points})")
        return lines + [f"rows.multiplier[r, {a}] = old{a} + mean * change{a}" for a in range(n)]
    if variant.batched:
        return lines + [f"keep{a} = y{a}" for a in range(n)]
    return lines + [f"rows.multiplier[r, {a}] = y{a}" for a in range(n)]


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


def impulse(constraint_type: ConstraintType, point: int, axis: int) -> str:
    """Component of sum over rows of gradient times change of the multiplier."""
    if constraint_type.rows == 1:
        return f"change * g[{point}][{axis}]"
    return " + ".join(f"change{a} * g[{a}][{point}][{axis}]" for a in range(constraint_type.rows))


def _scatter(constraint_type: ConstraintType) -> list[str]:
    """Move the points; a fixed one is not written, since rows of one colour may share it."""
    lines = []
    for i in range(constraint_type.points):
        moved = ", ".join(f"x{i}[{k}] + w{i} * ({impulse(constraint_type, i, k)})" for k in range(3))
        lines += [f"if w{i} > ZERO:", f"    particles.x[i{i}] = ({moved}, w{i})"]
    return lines


def _store(constraint_type: ConstraintType) -> list[str]:
    lines = []
    for i in range(constraint_type.points):
        value = ", ".join(impulse(constraint_type, i, k) for k in range(3))
        lines.append(f"corrections.value[{constraint_type.points} * r + {i}] = ({value})")
    return lines


def _batch_body(constraint_type: ConstraintType, variant: Variant) -> list[str]:
    """Gather sixteen rows into scratch memory, solve them in one loop over the lanes, scatter them."""
    gather, solve, given, scatter = _Slots("taken"), [], _Slots("given"), ["r = rows.rows[batch, lane]"]
    for i in range(constraint_type.points):
        gather.lines += [f"i{i} = rows.points[batch, {i}, lane]", f"q{i} = particles.x[i{i}]"]
        x = [gather.put(f"q{i}[{k}]") for k in range(4)]
        solve.append(f"x{i}, w{i} = ({', '.join(x[:3])}), {x[3]}")
        if variant.damped:
            gather.lines += _displacement(i)
            solve.append(f"moved{i} = ({', '.join(gather.put(f'm{k}_{i}') for k in range(3))})")
    at = ["r"] if constraint_type.rows == 1 else [f"r, {a}" for a in range(constraint_type.rows)]
    if not variant.first:
        names = ["old"] if constraint_type.rows == 1 else [f"old{a}" for a in range(constraint_type.rows)]
        gather.lines.append("r = rows.rows[batch, lane]")
        solve += [f"{n} = {gather.put(f'multipliers.multiplier[{a}]')}" for n, a in zip(names, at, strict=True)]
    solve.append(f"p = ({''.join(f'rows.parameters[batch, {k}, lane], ' for k in range(constraint_type.width))})")
    solve += [f"soft{k} = rows.coefficient[batch, {k}, lane]" for k in range(1 + variant.two_sided)]
    solve += ["rate = rows.damping[batch, lane]"] if variant.damped else []
    solve += _evaluate(constraint_type) + solve_lines(constraint_type, variant)
    scatter += [f"multipliers.multiplier[{at[a]}] = {given.put(f'keep{a}')}" for a in range(constraint_type.rows)]
    for i in range(constraint_type.points):
        weight = given.put(f"w{i}")
        moved = [given.put(f"x{i}[{k}] + w{i} * ({impulse(constraint_type, i, k)})") for k in range(3)]
        scatter += [f"if {weight} > ZERO:"]
        scatter += [f"    particles.x[rows.points[batch, {i}, lane]] = ({', '.join(moved)}, {weight})"]
    lines = [f"taken = scratch(({gather.count}, {WIDTH}), scale)"]
    lines.append(f"given = scratch(({given.count}, {WIDTH}), scale)")
    for part in (gather.lines, solve + given.lines, scatter):
        lines += [f"for lane in range({WIDTH}):", *("    " + line for line in part)]
    return lines


class _Slots:
    """Rows of scratch memory, one number for each lane, and the lines that fill them."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.count = 0
        self.lines: list[str] = []

    def put(self, value: str) -> str:
        """Add a line that stores a value; returns the expression that reads it."""
        place = f"{self._name}[{self.count}, lane]"
        self.count += 1
        self.lines.append(f"{place} = {value}")
        return place
