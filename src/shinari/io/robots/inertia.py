"""Inertia tensors that no body has, and the nearest that one could have."""

import numpy as np

from shinari import check

SLACK = 1e-6
"""Two moments together are at least the third; this part less is rounding."""
LEAST = 1e-3
"""Moments that are not positive are raised to this part of the largest."""
GYRATION = 0.05
"""Radius of gyration of a body of which only the mass is known [m]."""
SMALLEST = 1e-6
"""A smaller radius of gyration is rounding of zero [m]."""


def repaired(tensor: np.ndarray, mass: float) -> tuple[np.ndarray, str] | None:
    """The nearest tensor that a body can have, and what was wrong and is taken; None where nothing was.

    The principal axes stay. Moments that are not positive become a thousandth of the largest, and one that is larger
    than the two others together becomes their sum. A tensor without positive moments becomes that of a radius of
    gyration of 5 cm.

    Args:
        tensor: The tensor (3, 3) [kg m^2].
        mass: Mass of the body [kg].
    """
    taken = f"that of a radius of gyration of {100 * GYRATION:g} cm is taken"
    # beyond that the axes of a tensor have no digits left
    if not (abs(tensor) <= check.LARGEST).all():
        return mass * GYRATION**2 * np.eye(3), f"is not finite; {taken}"
    tensor = 0.5 * (tensor + tensor.T)
    moments, axes = np.linalg.eigh(tensor)
    least = mass * SMALLEST**2
    if moments[2] <= least:
        return mass * GYRATION**2 * np.eye(3), f"is {'zero' if moments[0] >= -least else 'negative'}; {taken}"
    told = []
    if moments[0] <= SLACK * moments[2]:
        told.append(f"has the moment {moments[0]:.3g}")
        moments = np.maximum(moments, LEAST * moments[2])
    if moments[0] + moments[1] < moments[2] * (1.0 - SLACK):
        told.append(f"has moments {', '.join(f'{m:.3g}' for m in moments)}, of which two make less than the third")
        moments[2] = moments[0] + moments[1]
    if not told:
        return None
    return axes @ np.diag(moments) @ axes.T, f"{' and '.join(told)}; the nearest that a body can have is taken"
