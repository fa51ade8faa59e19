"""How far deformation gradients are from rotations, for many at a time."""

import numpy as np


def stretch_strain(gradient: np.ndarray) -> np.ndarray:
    """|S - 1| of deformation gradients with the stretches S, root of the sum of (s_i - 1)^2, (M,).

    Args:
        gradient: Deformation gradients, (M, 3, 2) or (M, 3, 3); of an inverted one the least stretch is negative.
    """
    green = 0.5 * (np.einsum("mki,mkj->mij", gradient, gradient) - np.eye(gradient.shape[2]))
    e = _eigenvalues(green)
    # s - 1 = sqrt(1 + 2 e) - 1, without the loss of digits near rest
    stretch = np.sqrt(np.maximum(1.0 + 2.0 * e, 0.0))
    away = 2.0 * e / (1.0 + stretch)
    if gradient.shape[2] == 3:
        inverted = np.linalg.det(gradient) < 0.0
        away[inverted, 0] = -stretch[inverted, 0] - 1.0
    return np.sqrt((away * away).sum(axis=1))


def _eigenvalues(a: np.ndarray) -> np.ndarray:
    """Eigenvalues of symmetric matrices (M, 2, 2) or (M, 3, 3), ascending; Smith 1961 for three."""
    if a.shape[1] == 2:
        mean = 0.5 * (a[:, 0, 0] + a[:, 1, 1])
        half = np.hypot(0.5 * (a[:, 0, 0] - a[:, 1, 1]), a[:, 0, 1])
        return np.stack([mean - half, mean + half], axis=1)
    mean = np.trace(a, axis1=1, axis2=2) / 3.0
    b = a - mean[:, None, None] * np.eye(3)
    size = np.sqrt(np.einsum("mij,mij->m", b, b) / 6.0)
    cube = size**3
    ratio = np.divide(np.linalg.det(b), 2.0 * cube, out=np.zeros_like(cube), where=cube > 0.0)
    angle = np.arccos(np.clip(ratio, -1.0, 1.0)) / 3.0
    turns = 2.0 * np.pi / 3.0 * np.array([1.0, -1.0, 0.0])
    return mean[:, None] + 2.0 * size[:, None] * np.cos(angle[:, None] + turns)
