"""What every registered constraint type must satisfy; a type registered later is tested without a line here."""

import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shinari.constraints.registry import ConstraintType, constraint_types

EPS = np.finfo(np.float64).eps
EPS32 = np.finfo(np.float32).eps
STENCILS = 6

every_type = pytest.mark.parametrize("kind", constraint_types(), ids=lambda kind: kind.name)
pairs = pytest.mark.parametrize(
    "kind", [kind for kind in constraint_types() if kind.translation_invariant], ids=lambda kind: kind.name
)


def generator(kind: ConstraintType) -> np.random.Generator:
    return np.random.default_rng(list(kind.name.encode()))


def stencils(kind: ConstraintType, rng: np.random.Generator, count: int = STENCILS) -> list[np.ndarray]:
    """Random points (points, 3), one apart or so, none of them nearly flat, collinear or together."""
    found = []
    while len(found) < count:
        x = rng.normal(size=(kind.points, 3))
        if kind.points == 1 or np.linalg.svd(x[1:] - x[0], compute_uv=False).min() > 0.5:
            found.append(x)
    return found


def rest_parameters(kind: ConstraintType, x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Columns of the parameter table at rest in x (points, 3); drawn where the type has no rest values.

    Nine are a matrix, near one: cofactors of one that is nearly singular are what is left of larger terms, whose
    rounding no bound by the gradients covers.
    """
    if kind.rest is None:
        p = rng.uniform(0.5, 1.5, kind.width)
        start = 0
        for _, width in kind.parameters:
            if width == 9:
                p[start : start + 9] = (np.eye(3) + rng.uniform(-0.3, 0.3, (3, 3))).ravel()
            start += width
        return p
    values = kind.rest(x[np.newaxis])
    values = values if len(kind.parameters) > 1 else (values,)
    assert len(values) == len(kind.parameters)
    for value, (name, width) in zip(values, kind.parameters, strict=True):
        assert value.shape in ([(1,), (1, 1)] if width == 1 else [(1, width)]), name
        assert value.dtype == np.float64, name
    return np.concatenate([value.reshape(-1) for value in values])


def evaluate(kind: ConstraintType, x: np.ndarray, p: np.ndarray, dtype: type = float) -> tuple[np.ndarray, np.ndarray]:
    """C (rows,) and the gradients (rows, points, 3), in float64 whatever the compiled function was given."""
    points = tuple(tuple(dtype(v) for v in point) for point in x)
    value, gradients = kind.evaluate(points, tuple(dtype(v) for v in p))
    return np.array(value, np.float64).reshape(kind.rows), np.array(gradients, np.float64).reshape(kind.rows, -1, 3)


def sensitivity(x: np.ndarray, p: np.ndarray, value: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Change of C, by row, when the points and the constraint change by one in the relative sense."""
    return np.abs(value) + np.abs(gradients).sum(axis=(1, 2)) * np.abs(x).max() + np.abs(p).max(initial=0.0)


def hessian_norm(kind: ConstraintType, x: np.ndarray, p: np.ndarray, h: float = 1e-5) -> float:
    """Norm of the second derivative of all rows together, by central differences of the gradients."""
    columns = []
    for k in np.ndindex(x.shape):
        step = np.zeros_like(x)
        step[k] = h
        columns.append((evaluate(kind, x + step, p)[1] - evaluate(kind, x - step, p)[1]).ravel() / (2.0 * h))
    return float(np.linalg.norm(columns))


def projection(value: np.ndarray, gradients: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Displacement (points, 3) of one Newton projection with inverse masses w (points,)."""
    mass_matrix = np.einsum("rid,i,sid->rs", gradients, w, gradients)
    return -np.einsum("i,rid,r->id", w, gradients, np.linalg.solve(mass_matrix, value))


def rotation(rng: np.random.Generator) -> np.ndarray:
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


@every_type
def test_gradient_matches_finite_differences(kind):
    """The error of a central difference is h^2 C'''/6 plus the rounding of C over h.

    A second difference with twice the step measures the first part: it differs by three times as much.
    """
    rng = generator(kind)
    h = EPS ** (1 / 3)
    for rest, x in itertools.pairwise(stencils(kind, rng, STENCILS + 1)):
        p = rest_parameters(kind, rest, rng)
        value, gradients = evaluate(kind, x, p)
        rounding = 16 * EPS * sensitivity(x, p, value, gradients) / h
        for k in np.ndindex(x.shape):
            step = np.zeros_like(x)
            step[k] = h
            near, far = (
                (evaluate(kind, x + s * step, p)[0] - evaluate(kind, x - s * step, p)[0]) / (2 * s * h) for s in (1, 2)
            )
            error = np.abs(gradients[(slice(None), *k)] - near)
            assert np.all(error <= np.abs(far - near) + rounding), (k, error, rounding)


@pairs
def test_gradients_sum_to_zero(kind):
    rng = generator(kind)
    for rest, x in itertools.pairwise(stencils(kind, rng)):
        _, gradients = evaluate(kind, x, rest_parameters(kind, rest, rng))
        assert_allclose(gradients.sum(axis=1), 0.0, atol=32 * EPS * np.abs(gradients).max())


@pairs
def test_rigid_motion_leaves_the_constraint_unchanged(kind):
    """Rows of a system may turn among themselves, as the components of x0 - x1 do: their norm may not change."""
    rng = generator(kind)
    for rest, x in itertools.pairwise(stencils(kind, rng)):
        p = rest_parameters(kind, rest, rng)
        value, gradients = evaluate(kind, x, p)
        shift = rng.normal(size=3)
        tolerance = 64 * EPS * sensitivity(np.abs(x) + np.abs(shift), p, value, gradients).max()
        assert_allclose(evaluate(kind, x + shift, p)[0], value, rtol=0, atol=tolerance)
        turned = evaluate(kind, x @ rotation(rng).T, p)[0]
        if kind.rows == 1:
            assert_allclose(turned, value, rtol=0, atol=tolerance)
        else:
            assert_allclose(np.linalg.norm(turned), np.linalg.norm(value), rtol=0, atol=tolerance)


@every_type
def test_rest_satisfies_the_constraint(kind):
    """At the points that the rest values came from; values that come from no points are for points that meet."""
    if kind.rest is None:
        pytest.skip("no rest values")
    rng = generator(kind)
    for x, other in itertools.pairwise(stencils(kind, rng)):
        p = rest_parameters(kind, x, rng)
        if np.array_equal(p, rest_parameters(kind, other, rng)):
            x = np.tile(x[:1], (kind.points, 1))
        value, gradients = evaluate(kind, x, p)
        assert np.all(np.abs(value) <= 16 * EPS * sensitivity(x, p, value, gradients))


@every_type
def test_rest_takes_many_rows(kind):
    if kind.rest is None:
        pytest.skip("no rest values")
    x = np.stack(stencils(kind, generator(kind)))
    values = kind.rest(x)
    values = values if len(kind.parameters) > 1 else (values,)
    for value, (name, width) in zip(values, kind.parameters, strict=True):
        assert value.shape in ([(len(x),), (len(x), 1)] if width == 1 else [(len(x), width)]), name


@every_type
def test_float32_stays_float32_and_agrees_with_float64(kind):
    rng = generator(kind)
    for rest, x in itertools.pairwise(stencils(kind, rng)):
        x32 = x.astype(np.float32).astype(np.float64)
        p32 = rest_parameters(kind, rest, rng).astype(np.float32).astype(np.float64)
        value, gradients = evaluate(kind, x32, p32)
        single, single_gradients = evaluate(kind, x32, p32, np.float32)
        assert np.all(np.abs(single - value) <= 16 * EPS32 * sensitivity(x32, p32, value, gradients))
        blur = 16 * EPS32 * (np.abs(gradients).max() + hessian_norm(kind, x32, p32) * np.abs(x32).max())
        assert_allclose(single_gradients, gradients, rtol=0, atol=blur)

        points = tuple(tuple(point) for point in x.astype(np.float32))
        assert set(scalar_types(kind.evaluate(points, tuple(p32.astype(np.float32))))) == {np.float32}


def scalar_types(value):
    """The types of the scalars in a nested tuple."""
    if isinstance(value, tuple):
        for item in value:
            yield from scalar_types(item)
    else:
        yield type(value)


@every_type
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_degenerate_stencils_are_finite(kind, dtype):
    """No stencil gives a NaN or an infinity, at rest or moved there, also far from the origin."""
    rng = generator(kind)
    rest = stencils(kind, rng, 1)[0]
    i = np.arange(kind.points)[:, np.newaxis]
    sides = np.minimum(i, 2) * [0.7, 0.0, 0.0] + (i >= 3) * [0.0, 1.1, 0.0]
    cases = {
        "together": np.tile(rest[:1], (kind.points, 1)),
        "origin": np.zeros((kind.points, 3)),
        "collinear": i * np.array([0.3, -0.7, 0.1]),
        "far collinear": 100.0 + i * np.array([0.3, -0.7, 0.1]),
        "one face without area": sides,
        "pairs together": rest[i[:, 0] // 2],
        "tiny": 1e-30 * rest,
        "coplanar": rest * [1.0, 1.0, 0.0],
    }
    for name, x in cases.items():
        parameters = [rest_parameters(kind, rest, rng)]
        if kind.rest is not None:
            parameters.append(rest_parameters(kind, x, rng))
        for p in parameters:
            assert np.all(np.isfinite(p)), name
            value, gradients = evaluate(kind, x, p, dtype)
            assert np.all(np.isfinite(value)), name
            assert np.all(np.isfinite(gradients)), name
            assert np.abs(gradients).max() < 1e30, name


@every_type
def test_unit_gradients_is_claimed_exactly_where_it_holds(kind):
    rng = generator(kind)
    lengths = np.array(
        [
            np.linalg.norm(evaluate(kind, x, rest_parameters(kind, rest, rng))[1], axis=2)
            for rest, x in itertools.pairwise(stencils(kind, rng))
        ]
    )
    holds = bool(np.all(np.abs(lengths - 1.0) < 8 * EPS))
    if kind.unit_gradients:
        assert holds, "a gradient has another length than one"
    else:
        assert not holds, "every gradient has length one: register it with unit_gradients=True, it is faster"


@every_type
def test_gradient_squares_are_those_of_the_gradients(kind):
    if kind.gradient_squares is None:
        pytest.skip("no claim")
    rng = generator(kind)
    for rest, x in itertools.pairwise(stencils(kind, rng)):
        p = rest_parameters(kind, rest, rng)
        squares = (evaluate(kind, x, p)[1] ** 2).sum(axis=2).ravel()
        np.testing.assert_allclose(kind.gradient_squares(tuple(p)), squares, rtol=16 * EPS)


@every_type
def test_one_projection_removes_the_first_order_error(kind):
    """After x += dx with g . dx = -C what is left is of second order: at most 1/2 |C''| |dx|^2."""
    if kind.rest is None:
        pytest.skip("no rest values")
    rng = generator(kind)
    for rest in stencils(kind, rng):
        p = rest_parameters(kind, rest, rng)
        for size in (1e-2, 1e-3, 1e-4):
            x = rest + size * rng.uniform(-1, 1, rest.shape)
            w = rng.uniform(0.1, 2.0, kind.points)
            value, gradients = evaluate(kind, x, p)
            dx = projection(value, gradients, w)
            after = np.linalg.norm(evaluate(kind, x + dx, p)[0])
            rounding = 32 * EPS * sensitivity(x, p, value, gradients).max()
            bound = 0.5 * max(hessian_norm(kind, x + s * dx, p) for s in (0.0, 1.0)) * np.sum(dx * dx)
            assert after <= 1.2 * bound + rounding


@pairs
def test_projection_conserves_momentum(kind):
    """Forces between the points alone: sum m dx = 0 and sum m x cross dx = 0."""
    rng = generator(kind)
    for rest, x in itertools.pairwise(stencils(kind, rng)):
        w = rng.uniform(0.1, 2.0, kind.points)
        p = rest_parameters(kind, rest, rng)
        impulse = projection(*evaluate(kind, x, p), w) / w[:, np.newaxis]
        assert np.any(impulse)
        tolerance = 64 * EPS * np.abs(impulse).max()
        assert_allclose(impulse.sum(axis=0), 0.0, atol=tolerance)
        assert_allclose(np.cross(x, impulse).sum(axis=0), 0.0, atol=tolerance * max(1.0, np.abs(x).max()))
