"""Jacobi sweeps: every row sees the same positions, then each particle gathers the corrections of its rows.

Corrections added as they are overshoot where rows meet, and diverge. Two remedies:

- one global factor below 2 / (most rows of one block at one particle); it keeps momentum, since every row still
  pushes its points equally;
- averaging, each particle divides by its own number of rows (Macklin et al. 2014, section 4.2): it converges faster,
  but the two ends of a row are no longer pushed equally, so momentum is NOT kept where these numbers differ, and no
  multiplier fits both ends: with XPBD compliances it settles at other forces than the other sweeps do.

Chebyshev acceleration (Wang 2015, A Chebyshev Semi-Iterative Approach) extrapolates from the two iterations before:
z(k+1) = omega (z^ - z(k-1)) + z(k-1), with omega from the spectral radius rho: 1, 2 / (2 - rho^2), then
4 / (4 - rho^2 omega). Multipliers are extrapolated like positions, as they belong together.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.scan import Offsets
from shinari.model.particles import Particles
from shinari.systems.rows.projection import Corrections, Relaxation

PLAIN_ITERATIONS = 3


class Corners(Record):
    """Which corrections belong to which particle, one after the other."""

    correction = Field(np.uint32, doc="row of the corrections")


@kernel
def gather_corrections(
    i, corners: Corners, offsets: Offsets, corrections: Corrections, relaxation: Relaxation, particles: Particles
):
    """Move a particle by its weight, its inverse mass and the sum of its corrections."""
    x = particles.x[i]
    a, b, c = x[0], x[1], x[2]
    s = relaxation.weight[i] * x[3]
    for k in range(offsets.start[i], offsets.start[i + 1]):
        d = corrections.value[corners.correction[k]]
        a, b, c = a + s * d[0], b + s * d[1], c + s * d[2]
    particles.x[i] = a, b, c, x[3]


def relaxation_weights(rows_at: np.ndarray, averaged: bool, factor: float | None, real: type) -> np.ndarray:
    """Relaxation of each particle, (N,).

    Args:
        rows_at: Rows of the block at each particle, (N,).
        averaged: Each particle by its own number of rows instead of one factor for all.
        factor: Global factor, or the factor on top of averaging; None: 1 / (most rows at one particle), or 1.
        real: Floating point type.
    """
    if averaged:
        return ((1.0 if factor is None else factor) / np.maximum(rows_at, 1)).astype(real)
    most = max(int(rows_at.max(initial=1)), 1)
    return np.full(len(rows_at), 1.0 / most if factor is None else factor, real)


def chebyshev_weight(iteration: int, previous: float, spectral_radius: float) -> float:
    """Weight omega of an iteration, counted from zero; the first few are plain, to let rough errors settle."""
    if iteration < PLAIN_ITERATIONS:
        return 1.0
    if iteration == PLAIN_ITERATIONS:
        return 2.0 / (2.0 - spectral_radius**2)
    return 4.0 / (4.0 - spectral_radius**2 * previous)
