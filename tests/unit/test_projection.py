"""The rendered projections against the formulas of `projection.py`, one row at a time in float64 NumPy."""

import inspect
import itertools
import re

import numpy as np
import pytest
from sweeps import sweep

import shinari as sn
import shinari.constraints
from shinari.constraints.registry import ConstraintType, constraint_type, constraint_types
from shinari.systems.rows.projection import Variant, projection

ROWS = 6
FIXED_POINT, ALL_FIXED, STIFF, SOFT, ABSENT = 1, 2, 3, 4, 5
H = 1.0 / 600.0
# First-order rounding: an evaluation takes some thirty operations, the solve as many, each of half an eps.
OPERATIONS = 64.0

# a row of two points, a row of four, a system of two points, a system of four
THOROUGH = ("distance", "volume", "coincidence", "neo_hookean")

# types that checks register for themselves are theirs to test
TYPES = [kind for kind in constraint_types() if kind.evaluate.py_func.__module__.startswith("shinari.constraints.")]
every_type = pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.name)
thorough_types = pytest.mark.parametrize("kind", [kind for kind in TYPES if kind.name in THOROUGH])
precisions = pytest.mark.parametrize("real", [np.float32, np.float64], ids=["float32", "float64"])


def variants(kind: ConstraintType) -> list[Variant]:
    """What there is of a type; a system has no sides, and `"pbd"` no damping."""
    found = []
    for method, sided, damped, gathers in itertools.product(("xpbd", "pbd"), *[(False, True)] * 3):
        if not (damped and method == "pbd") and not (sided and kind.rows > 1):
            found.append(Variant(method, sided, damped, gathers))
    return found


def every_variant() -> list:
    """Every variant of the thorough types, and three of each other one, as each takes seconds to compile.

    What a sweep does with C and gradients is the same for all single rows, and for all systems.
    """
    found = []
    for kind in TYPES:
        for variant, real in itertools.product(variants(kind), (np.float32, np.float64)):
            plain = variant == Variant("xpbd", False, False, False)
            most = variant == Variant("xpbd", False, True, True) and real is np.float64
            if kind.name in THOROUGH or plain or most:
                words = [kind.name, variant.method, *["sided"] * variant.two_sided]
                words += ["damped"] * variant.damped + ["jacobi"] * variant.gathers + [real.__name__]
                found.append(pytest.param(kind, variant, real, id="-".join(words)))
    return found


class Case:
    """A few random rows that share no point: ordinary ones, with fixed points, rigid, soft and absent."""

    def __init__(self, kind: ConstraintType, variant: Variant, real: type) -> None:
        rng = np.random.default_rng([*kind.name.encode(), variant.two_sided, variant.damped, variant.gathers])
        self.kind, self.variant, self.real = kind, variant, real
        n = kind.points
        rest, apart = self.shapes(rng), rng.normal(scale=0.08, size=(ROWS, n, 3))
        self.indices = rng.permutation(ROWS * n).reshape(ROWS, n).astype(np.uint32)
        inverse_masses = rng.uniform(0.5, 2.0, (ROWS, n))
        inverse_masses[FIXED_POINT, 0] = 0.0
        inverse_masses[ALL_FIXED] = 0.0
        self.x = np.empty((ROWS * n, 4), real)
        self.x[self.indices, :3] = rest + apart
        self.x[self.indices, 3] = inverse_masses
        self.parameters = self.rest_values(rest).astype(real)
        columns = 2 if variant.two_sided else 1
        if variant.method == "pbd":
            self.coefficient = rng.uniform(0.1, 1.0, (ROWS, columns)).astype(real)
            self.coefficient[ABSENT, -1] = 0.0
        else:
            self.coefficient = (H**2 * rng.uniform(0.1, 3.0, (ROWS, columns))).astype(real)
            self.coefficient[STIFF], self.coefficient[SOFT], self.coefficient[ABSENT, -1] = 0.0, 1e3 * H**2, np.inf
        self.damping = (rng.uniform(0.0, 1.0, ROWS) / H).astype(real)
        self.damping[0] = 0.0
        self.velocities = rng.normal(scale=0.05 / H, size=(ROWS * n, 3)).astype(real)
        self.predicted = (self.x[:, :3] + rng.normal(scale=0.01, size=(ROWS * n, 3))).astype(real)
        self.weights = rng.uniform(0.2, 0.8, ROWS * n).astype(real)
        self.multipliers = np.zeros((ROWS,) if kind.rows == 1 else (ROWS, kind.rows), real)
        self.corrections = np.full((ROWS * n, 3), np.nan, real)
        self.scale = real(1.0 if variant.method == "pbd" else 1.0 / H**2)

    def shapes(self, rng: np.random.Generator) -> np.ndarray:
        """Points (ROWS, points, 3) about one apart, none nearly flat."""
        found = []
        while len(found) < ROWS:
            x = rng.normal(size=(self.kind.points, 3))
            if self.kind.points == 1 or np.linalg.svd(x[1:] - x[0], compute_uv=False).min() > 0.5:
                found.append(x)
        return np.array(found)

    def rest_values(self, x: np.ndarray) -> np.ndarray:
        if self.kind.rest is None:
            return np.random.default_rng(3).uniform(0.2, 0.4, (ROWS, self.kind.width))
        values = self.kind.rest(x)
        values = values if isinstance(values, tuple) else (values,)
        return np.concatenate([np.asarray(v).reshape(ROWS, -1) for v in values], axis=1)

    def project(self, *, first: bool) -> None:
        variant = Variant(**{**vars(self.variant), "first": first})
        damped = {"damping": self.damping, "predicted": self.predicted, "velocities": self.velocities}
        gathers = {"corrections": self.corrections, "weights": self.weights}
        sweep(
            self.kind, variant, [0, ROWS], self.indices, self.parameters, self.coefficient, self.multipliers, self.x,
            self.scale, h=H, **(damped if variant.damped else {}), **(gathers if variant.gathers else {}),
        )  # fmt: skip

    def row(self, r: int, old: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """New multipliers, corrections without mass (points, 3), masses, and what rounding may add to a multiplier."""
        index = self.indices[r]
        x, w = self.x[index, :3].astype(float), self.x[index, 3].astype(float)
        parameters = self.parameters[r].astype(float)
        c, g = self.kind.evaluate(tuple(map(tuple, x)), tuple(parameters))
        c, g = np.atleast_1d(c), np.reshape(g, (self.kind.rows, self.kind.points, 3))
        matrix = np.einsum("ani,n,bni->ab", g, w, g)
        rounding = np.abs(c) + np.abs(g).sum(axis=(1, 2)) * np.abs(x).max() + np.abs(parameters).max(initial=0.0)
        if self.variant.method == "pbd":
            k = float(self.coefficient[r, 1 if self.variant.two_sided and c[0] <= 0.0 else 0])
            change = -k * np.linalg.solve(matrix, c) if w.any() else np.zeros_like(c)
            bound = k * rounding.max() / max(np.linalg.eigvalsh(matrix)[0], 1e-30) if w.any() else 0.0
            return old + change, np.einsum("a,ani->ni", change, g), w, bound + np.abs(old).max()
        load = matrix @ old - c
        alpha = float(self.coefficient[r, 0 if not self.variant.two_sided or load[0] < 0.0 else 1])
        stiffening, drift = 1.0, np.zeros_like(c)
        if self.variant.damped and np.isfinite(alpha):
            gamma = alpha * float(self.damping[r]) / H
            moved = x - self.predicted[index].astype(float) + H * self.velocities[index].astype(float)
            stiffening, drift = 1.0 + gamma, gamma * np.einsum("ani,ni->a", g, moved)
            rounding = rounding + gamma * (np.abs(g).sum(axis=(1, 2)) * np.abs(x).max() + np.abs(drift))
        if not np.isfinite(alpha) or (alpha == 0.0 and not w.any()):
            new, bound = np.zeros_like(c), 0.0
        else:
            system = stiffening * matrix + alpha / H**2 * np.eye(len(c))
            new = np.linalg.solve(system, stiffening * matrix @ old - c - drift)
            rounding = rounding + stiffening * np.abs(matrix) @ np.abs(old)
            bound = rounding.max() / np.linalg.eigvalsh(system)[0]
        return new, np.einsum("a,ani->ni", new - old, g), w, bound + np.abs(old).max() * np.isfinite(alpha)

    def check(self, *, first: bool) -> None:
        """One iteration of the kernel against one of the reference, from the same state."""
        eps = OPERATIONS * np.finfo(self.real).eps
        before, old = self.x.copy(), np.zeros_like(self.multipliers) if first else self.multipliers.copy()
        expected = [self.row(r, np.atleast_1d(old[r]).astype(float)) for r in range(ROWS)]
        self.project(first=first)
        for r, (new, impulse, w, bound) in enumerate(expected):
            index, tolerance = self.indices[r], eps * bound
            kept = np.atleast_1d(self.multipliers[r]).astype(float)
            reach = np.abs(impulse).max() + bound
            if self.variant.gathers:
                share = float(self.weights[index].mean())
                new = old[r] + share * (new - old[r])
                np.testing.assert_allclose(self.corrections[r * len(w) + np.arange(len(w))], impulse, 0, eps * reach)
                np.testing.assert_array_equal(self.x[index], before[index])
            else:
                moved = before[index, :3] + w[:, None] * impulse
                size = np.abs(before[index, :3]).max()
                np.testing.assert_allclose(self.x[index, :3], moved, 0, eps * (w.max() * reach + size))
                np.testing.assert_array_equal(self.x[index][w == 0.0], before[index][w == 0.0])
            np.testing.assert_allclose(kept, new, 0, tolerance, err_msg=f"row {r}")
        np.testing.assert_array_equal(self.x[:, 3], before[:, 3])


@pytest.mark.parametrize(("kind", "variant", "real"), every_variant())
def test_projection_is_the_formula(kind, variant, real):
    case = Case(kind, variant, real)
    case.multipliers[:] = np.nan  # the first iteration must not read them
    case.check(first=True)
    for _ in range(3):
        if variant.gathers:  # what the gathering would do, roughly
            case.x[:, :3] += np.random.default_rng(1).normal(scale=0.01, size=(len(case.x), 3)).astype(real)
        case.check(first=False)


@thorough_types
@precisions
def test_absent_rows_have_no_force_at_all(kind, real):
    for variant in (Variant("xpbd", kind.rows == 1, False, False), Variant("xpbd", False, True, False)):
        case = Case(kind, variant, real)
        case.coefficient[:] = np.inf
        before = case.x.copy()
        for first in (True, False):
            case.project(first=first)
            assert not case.multipliers.any()
            np.testing.assert_array_equal(case.x, before)


@every_type
def test_every_write_of_a_point_is_guarded_by_its_mass(kind):
    """Rows of one colour may share a fixed point: even writing back what was read would be a race."""
    body = projection(kind, Variant("xpbd", False, False, False)).python_function
    lines = inspect.getsource(body).splitlines()
    writes = [k for k, line in enumerate(lines) if re.match(r" +particles\.x\[i\d\] = ", line)]
    assert len(writes) == kind.points
    for k in writes:
        point = re.search(r"x\[i(\d)", lines[k]).group(1)
        assert lines[k - 1].strip() == f"if w{point} > ZERO:"


@pytest.mark.parametrize("method", ["xpbd", "pbd"])
@thorough_types
@precisions
def test_fixed_rows_stay_without_a_nan(kind, method, real):
    """Rigid rows between fixed points have no mass to divide by."""
    case = Case(kind, Variant(method, False, False, False), real)
    case.x[:, 3] = 0.0
    case.coefficient[:] = 1.0 if method == "pbd" else 0.0
    before = case.x.copy()
    case.project(first=True)
    case.project(first=False)
    np.testing.assert_array_equal(case.x, before)
    assert not case.multipliers.any()


def test_tension_only_and_compression_only_rows_act_on_their_side_alone():
    kind = constraint_type("distance")
    for column, (stretched, compressed) in enumerate(((False, True), (True, False))):
        case = Case(kind, Variant("xpbd", True, False, False), np.float64)
        case.x[:, 3] = 1.0
        case.coefficient[:] = 0.0
        case.coefficient[:, column] = np.inf
        c = np.linalg.norm(case.x[case.indices[:, 0], :3] - case.x[case.indices[:, 1], :3], axis=1)
        c -= case.parameters[:, 0]
        assert (c > 0).any()
        assert (c < 0).any()
        case.project(first=True)
        np.testing.assert_array_equal(case.multipliers != 0.0, np.where(c > 0.0, stretched, compressed))


def test_a_row_chooses_its_side_by_where_it_ends():
    """Pulled past its rest length by another row, a tension-only row gives back what it took, and not more."""
    case = Case(constraint_type("distance"), Variant("xpbd", True, False, False), np.float64)
    case.x[:, 3], case.coefficient[:] = 1.0, (0.0, np.inf)
    i, j = case.indices.T
    direction = np.array([1.0, 0.0, 0.0])
    case.x[i, :3], case.x[j, :3] = 1.5 * direction, 0.0
    case.parameters[:] = 1.0
    case.project(first=True)  # lambda = -0.25 each
    case.x[i, 0] -= np.linspace(0.0, 1.0, ROWS)
    case.project(first=False)
    # lambda + d lambda = lambda - C / 2, cut off where it would push
    np.testing.assert_allclose(case.multipliers, np.minimum(-0.25 + 0.5 * np.linspace(0.0, 1.0, ROWS), 0.0), 0, 1e-15)


@precisions
def test_rows_of_a_system_are_solved_together(real):
    """One projection of a rigid coupled system satisfies all of its rows; one row after the other would not."""
    coupled = ConstraintType("coupled", 2, (("target", 2),), _coupled, None, rows=2)
    x = np.array([[0.3, -0.2, 0.1, 1.0], [0.9, 0.4, -0.3, 0.5]], real)
    indices, parameters = np.array([[0, 1]], np.uint32), np.array([[0.7, -0.4]], real)
    multipliers = np.zeros((1, 2), real)
    variant = Variant("xpbd", False, False, False)
    sweep(coupled, variant, [0, 1], indices, parameters, np.zeros((1, 1), real), multipliers, x, 1.0)
    values, _ = _coupled.py_func(x[:, :3].astype(float), parameters[0].astype(float))
    np.testing.assert_allclose(values, 0.0, atol=OPERATIONS * np.finfo(real).eps)


@sn.function
def _coupled(x, p):
    """Two linear rows with gradients that are far from perpendicular."""
    c0 = x[0][0] + x[0][1] - x[1][0] - p[0]
    c1 = x[0][0] + np.float32(2.0) * x[0][1] + x[1][2] - p[1]
    one, zero = np.float32(1.0), np.float32(0.0)
    return (c0, c1), (
        ((one, one, zero), (-one, zero, zero)),
        ((one, np.float32(2.0), zero), (zero, zero, one)),
    )


@precisions
@pytest.mark.parametrize("method", ["xpbd", "pbd"])
def test_rows_of_one_colour_follow_each_other_colour_by_colour(method, real):
    """A sweep over colours with shared points is the projection of each row after the last."""
    kind = constraint_type("distance")
    rng = np.random.default_rng(5)
    x = np.ones((12, 4), real)
    x[:, :3] = rng.normal(size=(12, 3))
    x[0, 3] = 0.0
    rows = np.array([[k, k + 1] for k in range(11)])
    order = np.concatenate([np.arange(0, 11, 2), np.arange(1, 11, 2)])
    indices, offsets = rows[order].astype(np.uint32), np.array([0, 6, 11])
    rest = rng.uniform(0.5, 1.5, (11, 1)).astype(real)
    coefficient = np.full((11, 1), 0.7, real)
    expected = x.astype(float)
    for r, (i, j) in enumerate(indices):
        arm = expected[i, :3] - expected[j, :3]
        length = np.linalg.norm(arm)
        w = expected[i, 3] + expected[j, 3]
        c = length - rest[r, 0]
        step = -0.7 * c / w if method == "pbd" else -c / (w + 0.7)
        expected[i, :3] += expected[i, 3] * step * arm / length
        expected[j, :3] -= expected[j, 3] * step * arm / length
    variant = Variant(method, False, False, False)
    sweep(kind, variant, offsets, indices, rest, coefficient, np.zeros(11, real), x, 1.0)
    np.testing.assert_allclose(x, expected, atol=OPERATIONS * 11 * np.finfo(real).eps)


def test_threads_split_a_colour_without_gap_or_overlap():
    """A colour that is worth several threads, of a length that no thread count divides."""
    kind = constraint_type("distance")
    m = 845
    results = []
    for threads in (1, 2, 3, 7):
        x = np.ones((2 * m, 4))
        x[:, :3] = np.random.default_rng(2).normal(size=(2 * m, 3))
        multipliers = np.full(m, np.nan)
        indices = np.arange(2 * m, dtype=np.uint32).reshape(m, 2)
        rest, coefficient = np.full((m, 1), 0.5), np.zeros((m, 1))
        variant = Variant("xpbd", False, False, False)
        sweep(kind, variant, [0, m], indices, rest, coefficient, multipliers, x, 1.0, threads=threads)
        assert np.isfinite(multipliers).all()
        np.testing.assert_allclose(np.linalg.norm(x[::2, :3] - x[1::2, :3], axis=1), 0.5, atol=1e-13)
        results.append((x, multipliers))
    for x, multipliers in results[1:]:
        np.testing.assert_array_equal(x, results[0][0])
        np.testing.assert_array_equal(multipliers, results[0][1])
