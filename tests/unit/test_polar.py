"""Rotations nearest to matrices, from any start."""

import math

import numpy as np
import pytest

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.compute.program import run_once
from shinari.maths.polar import rotation_near
from shinari.maths.quaternion import rotation_rows


class Matrices(Record):
    given = Field(np.float64, 9)
    start = Field(np.float64, 4)
    found = Field(np.float64, (3, 3))


@kernel(fastmath=STEADY)
def rotate_near(i, matrices: Matrices):
    a = matrices.given[i]
    rows = (a[0], a[1], a[2]), (a[3], a[4], a[5]), (a[6], a[7], a[8])
    rows = rotation_rows(rotation_near(rows, matrices.start[i]))
    matrices.found[i, 0] = rows[0]
    matrices.found[i, 1] = rows[1]
    matrices.found[i, 2] = rows[2]


def rotations(given, starts):
    flat = np.ascontiguousarray(given, np.float64).reshape(-1, 9)
    matrices = Matrices(given=flat, start=np.ascontiguousarray(starts, np.float64), found=np.empty((len(flat), 3, 3)))
    run_once(rotate_near, matrices, count=len(flat))
    return matrices.found


def quaternions(rng, count):
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1)[:, None]


def of_quaternion(q):
    return rotations(np.zeros((len(q), 3, 3)), q)


SINGULAR_VALUES = [
    (1.0, 0.7, 0.3),
    (1.0, 0.7, 0.0),
    (1.0, 0.8, -0.5),
    (1.0, 1.0, -1.0),
    (1.0, 0.5, -0.5),
    (1.0, 0.0, 0.0),
    (1.0, 1e-5, 1e-6),
    (1.0, 0.5, -0.4999999),
    (1e-30, 5e-31, 1e-31),
]


@pytest.mark.parametrize("values", SINGULAR_VALUES)
def test_the_rotation_is_the_one_of_largest_trace_from_any_start(values):
    rng = np.random.default_rng(1)
    u, v = of_quaternion(quaternions(rng, 2000)), of_quaternion(quaternions(rng, 2000))
    matrices = u * np.array(values) @ v
    found = rotations(matrices, quaternions(rng, 2000))
    size = np.linalg.norm(values)
    np.testing.assert_allclose(
        np.einsum("nki,nkj->nij", found, found), np.broadcast_to(np.eye(3), (2000, 3, 3)), atol=1e-14
    )
    trace = np.einsum("nij,nij->n", found, matrices)
    assert (trace >= sum(values) - 1e-9 * size).all()
    symmetric = np.einsum("nki,nkj->nij", found, matrices)
    assert np.abs(symmetric - symmetric.transpose(0, 2, 1)).max() < 1e-12 * size


def test_points_on_a_line_do_not_spin():
    q = np.array([[math.cos(0.4), math.sin(0.4), 0.0, 0.0]])
    line = np.diag([1.0, 0.0, 0.0])[None]
    np.testing.assert_allclose(rotations(line, q), of_quaternion(q), atol=1e-14)


def test_a_zero_matrix_leaves_the_rotation_as_it_is():
    q = quaternions(np.random.default_rng(2), 5)
    np.testing.assert_array_equal(rotations(np.zeros((5, 3, 3)), q), of_quaternion(q))
