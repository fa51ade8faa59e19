"""What a wall contributes to the density of a particle and to the push on it, as tables over the distance.

    fluid    . i .     .         d: distance of particle i from the wall
    ---------------------------  wall
    ghosts   o     o     o       half a spacing below, then one layer every spacing: the lattice goes on
             o     o     o

A wall counts as if the lattice of the fluid went on behind it, the mean over all places along it (Koschier and Bender
2017, Density maps, integrate over a continuous solid instead; then the layers of a fluid at rest would not see a
density of 1).

The push of a wall is the gradient of this share, times the multiplier of the particle. A neighbour pushes with both
multipliers, as would a ghost with the pressure of the particle that sees it (Akinci et al. 2012), but such a push is
not the gradient of any density and feeds energy: a column of water then keeps stirring at metres per second. The other
half of the pressure at a wall is carried by the contacts, which keep the outermost layer half a spacing away.
"""

from functools import lru_cache

import numpy as np

from shinari.systems.fluid.smoothing import Smoothing, slope, weight

POINTS = 257
"""Entries of a table: distances from minus the support to the support, evenly."""

SHARE, PUSH = 0, 1
"""Rows of the table: part of the relative density, and size of its gradient [1/m]."""


@lru_cache(maxsize=8)
def wall_table(smoothing: Smoothing) -> np.ndarray:
    """Contribution of a plane wall by distance, (2, POINTS) float64.

    A layer of the lattice half a spacing from the wall sees exactly what it misses.
    """
    spacing, support = smoothing.spacing, smoothing.support
    distances = np.linspace(-support, support, POINTS)
    layers = np.arange(int(2.0 * support / spacing) + 2) * spacing
    heights = distances[:, None] + 0.5 * spacing + layers
    shares = layer_sums(smoothing, SHARE, heights).sum(axis=1)
    # deep in the wall the sum over layers swings about its limit: a wall never counts less the deeper one is
    shares = np.maximum.accumulate(shares[::-1])[::-1]
    pushes = np.maximum(layer_sums(smoothing, PUSH, heights).sum(axis=1), 0.0)
    here = float(layer_sums(smoothing, SHARE, spacing + layers).sum())
    return np.array([shares, pushes]) * (missing(smoothing, 0.5 * spacing) / here)


def overlap_factor(smoothing: Smoothing) -> float:
    """What two walls at a right angle share, as part of the product of what each contributes; on the lattice."""
    points = smoothing.lattice()
    corner = (points[:, 0] < 0.0) & (points[:, 1] < 0.0)
    return _density(smoothing, points[corner]) / missing(smoothing, 0.5 * smoothing.spacing) ** 2


def missing(smoothing: Smoothing, distance: float) -> float:
    """Density that a particle of the lattice misses at a distance [m] of half a spacing, one and a half, ..."""
    points = smoothing.lattice()
    return _density(smoothing, points[points[:, 0] < -distance])


def layer_sums(smoothing: Smoothing, row: int, heights: np.ndarray) -> np.ndarray:
    """What a layer of the lattice contributes at a height above it [m], the mean over all places along it."""
    nodes, shares = np.polynomial.legendre.leggauss(16)
    low = np.minimum(np.abs(heights) / smoothing.support, 1.0)
    if smoothing.dimensions == 2:
        # along a line, x from 0 to its end
        ends = np.sqrt(1.0 - low**2)
        x = 0.5 * ends[..., None] * (1.0 + nodes)
        q2 = x**2 + low[..., None] ** 2
        measure = ends[..., None] * shares * smoothing.support / smoothing.spacing
    else:
        # over rings of a plane: r dr = q dq
        q = low[..., None] + 0.5 * (1.0 - low[..., None]) * (1.0 + nodes)
        q2 = q**2
        measure = np.pi * (1.0 - low[..., None]) * shares * q * (smoothing.support / smoothing.spacing) ** 2
    profile = weight if row == SHARE else slope
    values = np.array([float(profile.py_func(smoothing.kernel_id, value)) for value in q2.ravel()]).reshape(q2.shape)
    total = (values * measure).sum(axis=-1)
    if row == SHARE:
        return total * smoothing.weight_scale
    return -total * heights * smoothing.slope_scale


def _density(smoothing: Smoothing, points: np.ndarray) -> float:
    """Part of the relative density that comes from points around a particle."""
    q2 = (points**2).sum(axis=1) / smoothing.support**2
    return sum(float(weight.py_func(smoothing.kernel_id, value)) for value in q2) * smoothing.weight_scale
