"""Vectors as compiled code computes with them."""

import numpy as np
import pytest

from shinari.compute import Field, Record, kernel, real
from shinari.compute.program import run_once
from shinari.maths.vec3 import direction_and_length, direction_and_positive_length


class Vectors(Record):
    given = Field(real, 3)
    direction = Field(real, 3)
    length = Field(real)


@kernel
def measure(i, vectors: Vectors):
    vectors.direction[i], vectors.length[i] = direction_and_length(vectors.given[i])


@kernel
def measure_positive(i, vectors: Vectors):
    vectors.direction[i], vectors.length[i] = direction_and_positive_length(vectors.given[i])


@pytest.mark.parametrize("body", [measure, measure_positive])
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_a_direction_is_finite_however_short_the_vector(precision, body):
    """The square of a short one lies below the normal numbers, where reciprocal square roots are infinite."""
    lengths = np.logspace(-30, 15, 200).astype(precision)
    vectors = Vectors.zeros(len(lengths), precision)
    vectors.given[...] = np.array([0.6, 0.0, -0.8]) * lengths[:, None]
    run_once(body, vectors, count=len(lengths))
    sizes = np.linalg.norm(vectors.direction.astype(np.float64), axis=1)
    long = lengths > 1e-15
    assert np.abs(sizes[long] - 1.0).max() < 1e-6
    assert (sizes <= 1.0 + 1e-6).all()
    assert np.allclose(vectors.length, lengths, rtol=1e-6, atol=2e-19)
    vectors.given[...] = 0.0
    run_once(body, vectors, count=len(lengths))
    assert not vectors.direction.any()
    assert (vectors.length == 0.0).all() or body is measure_positive
