"""Eigenvalues and eigenvectors of a symmetric 3 x 3 matrix, by Jacobi rotations in float64."""

from typing import Annotated, Any

import numpy as np

from shinari.compute import View, shared
from shinari.compute.kernels import STEADY

SWEEPS = 6
Matrix = Annotated[Any, View(np.float64, 3)]


@shared(fastmath=STEADY)
def eigen(a: Matrix, v: Matrix) -> None:
    """Turn a symmetric matrix into its eigenvalues, on the diagonal, and `v` into its eigenvectors, in columns.

    Golub and Van Loan 2013, Matrix Computations, section 8.5: rotations that clear one entry off the diagonal after
    the other; the error falls with its square from sweep to sweep.

    Args:
        a: Matrix, (3, 3) float64; overwritten.
        v: Anything of that shape; overwritten.
    """
    for i in range(3):
        for j in range(3):
            v[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        for p in range(2):
            for q in range(p + 1, 3):
                if a[p, q] == 0.0:
                    continue
                ratio = (a[q, q] - a[p, p]) / (2.0 * a[p, q])
                t = 1.0 / (abs(ratio) + np.sqrt(1.0 + ratio * ratio))
                t = t if ratio >= 0.0 else -t
                c = 1.0 / np.sqrt(1.0 + t * t)
                s = t * c
                for k in range(3):
                    x, y = a[k, p], a[k, q]
                    a[k, p], a[k, q] = c * x - s * y, s * x + c * y
                for k in range(3):
                    x, y = a[p, k], a[q, k]
                    a[p, k], a[q, k] = c * x - s * y, s * x + c * y
                    x, y = v[k, p], v[k, q]
                    v[k, p], v[k, q] = c * x - s * y, s * x + c * y
