"""Smoothing kernels, and what they sum up to on a lattice.

    W(r)     poly6 (1 - q^2)^3, with the gradient of the spiky kernel (1 - q)^3        q = r / support
             (Mueller, Charypar, Gross 2003; Macklin and Mueller 2013)
             or the spiky kernel for both; or the cubic spline of Monaghan 1992 for both

A gradient that is not that of the density is no force of any energy: poly6 with the spiky gradient lets a fluid without
viscosity boil. The gradient of the cubic spline ends at r = 0, where pairs then stay together; the spiky one does not.

Everything is in multiples of the support: a kernel sum needs only q, and the powers of the support are in the scales of
`Smoothing`. Densities are relative: the sum over a lattice of the rest spacing, the particle itself included, is 1
(Solenthaler and Pajarola 2008), so that fluids of different densities share one lattice.
"""

import math
from dataclasses import dataclass

import numpy as np

from shinari.maths.function import function

f32 = np.float32
ZERO, HALF, ONE, TWO, SIX = f32(0.0), f32(0.5), f32(1.0), f32(2.0), f32(6.0)
TINY = f32(1e-6)
SPIKY, SPLINE, POLY6 = range(3)

# Integral of each kernel over its support of radius 1: of poly6, of the spiky kernel, of the cubic spline.
_INTEGRALS = {
    3: (64.0 * math.pi / 315.0, math.pi / 15.0, math.pi / 8.0),
    2: (math.pi / 4.0, math.pi / 10.0, 7.0 * math.pi / 40.0),
}


@function
def weight(kernel_id, q2):
    """Kernel at q^2 = r^2 / support^2, without its scale; 0 from q = 1 on.

    The cubic spline is 6 (q^3 - q^2) + 1 up to q = 1/2 and 2 (1 - q)^3 beyond.
    """
    if kernel_id == POLY6:
        rest = max(ONE - q2, ZERO)
        return rest * rest * rest
    q = np.sqrt(q2)
    left = max(ONE - q, ZERO)
    if kernel_id == SPIKY:
        return left * left * left
    near = max(HALF - q, ZERO)
    # one expression for both pieces: the inner one differs by a cubic that vanishes at 1/2 with two derivatives
    return TWO * left * left * left - f32(8.0) * near * near * near


@function
def slope(kernel_id, q2):
    """(dW/dq) / q of the kernel that gives gradients, without its scale; 0 from q = 1 on.

    Times the vector between two points in multiples of the support it is the gradient. Spiky: -3 (1 - q)^2 / q.
    """
    q = np.sqrt(max(q2, TINY * TINY))
    left = max(ONE - q, ZERO)
    if kernel_id != SPLINE:
        return f32(-3.0) * left * left / q
    near = max(HALF - q, ZERO)
    return (f32(24.0) * near * near - SIX * left * left) / q


@dataclass(frozen=True)
class Smoothing:
    """Kernel, support and spacing of the fluids of a scene.

    Attributes:
        kernel_id: Number of the kernel, see `SMOOTHING_KERNELS`.
        dimensions: 2 or 3.
        spacing: Distance of the particles at rest [m].
        support: Distance at which the kernels end [m].
    """

    kernel_id: int
    dimensions: int
    spacing: float
    support: float

    @property
    def volume(self) -> float:
        """Volume of a particle in density sums [m^3], or area in two dimensions [m^2]: 1 / sum W on the lattice."""
        return 1.0 / (self.lattice_sums()[0] * self.normalised(0))

    @property
    def mean_sum(self) -> float:
        """Mean over space of the relative density sum of the lattice, whose value at its points is 1."""
        return self.volume / self.spacing**self.dimensions

    @property
    def weight_scale(self) -> float:
        """What makes `weight` the part of the relative density that one neighbour contributes."""
        return 1.0 / self.lattice_sums()[0]

    @property
    def slope_scale(self) -> float:
        """What makes `slope` times the vector between two points [m] the gradient of that part [1/m]."""
        return self.volume * self.normalised(1) / self.support**2

    @property
    def gradient_sum(self) -> float:
        """Sum of |grad C|^2 over the particle and its neighbours on the lattice [1/m^2]."""
        return self.lattice_sums()[1] * self.slope_scale**2

    @property
    def moment(self) -> float:
        """Relative growth of the density sum of the lattice by that of the density; 1 for a perfect sum."""
        points = self.lattice()
        q2 = (points**2).sum(axis=1) / self.support**2
        weights = sum(-float(slope.py_func(self.kernel_id, q)) * q for q in q2[q2 > 0.0])
        own = self.slope_scale * self.support**2
        return weights * own / self.dimensions

    def normalised(self, which: int) -> float:
        """Factor of the density kernel (0) or of the gradient kernel (1) that makes its integral 1 [1/m^d]."""
        poly6, spiky, spline = _INTEGRALS[self.dimensions]
        integrals = {SPIKY: (spiky, spiky), SPLINE: (spline, spline), POLY6: (poly6, spiky)}
        return 1.0 / (integrals[self.kernel_id][which] * self.support**self.dimensions)

    def lattice(self) -> np.ndarray:
        """Points of the lattice within the support, the middle one included [m], (K, 3)."""
        n = int(self.support / self.spacing)
        steps = np.arange(-n, n + 1) * self.spacing
        flat = np.zeros(1) if self.dimensions == 2 else steps
        points = np.stack(np.meshgrid(steps, steps, flat, indexing="ij"), axis=-1).reshape(-1, 3)
        return points[(points**2).sum(axis=1) < self.support**2 * (1.0 - 1e-12)]

    def lattice_sums(self) -> tuple[float, float]:
        """Sum of `weight`, and sum of |slope x|^2 [m^2], over the lattice, in double precision."""
        points = self.lattice()
        q2 = (points**2).sum(axis=1) / self.support**2
        others = q2 > 0.0
        total = sum(float(weight.py_func(self.kernel_id, q)) for q in q2)
        slopes = np.array([float(slope.py_func(self.kernel_id, q)) for q in q2[others]])
        return total, float((slopes**2 * (points[others] ** 2).sum(axis=1)).sum())
