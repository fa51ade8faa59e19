"""Elements: what acts between two frames, in the one form that the solver of the bodies knows.

An element is a force at a point and a moment between frames a and b, and how both change with their relative motion:

    force on a   f - K d        d   = (dx_a + dtheta_a x r_a) - (dx_b + dtheta_b x r_b)
    moment on a  t - R phi      phi = dtheta_a - dtheta_b

with the opposite on b, where dx and dtheta are the motion of the frames from where they are now. A joint is one
element, a point of contact is one. A hard row has K = k n n^T with k = STIFF / (h^2 w), w the inverse mass that the row
feels: it yields by a part 1 / STIFF of what it would move in a substep without a force. Giles, Diaz and Yuksel 2025
(Augmented Vertex Block Descent) keep such rows softer and carry a multiplier on, since they solve body by body; here
the system is solved at once and may be stiff, and a multiplier that is carried on would make soft modes grow.
"""

from dataclasses import dataclass

import numpy as np

STIFF = 1.0e5
"""Stiffness of a point of contact, in units of what it moves over h^2."""


@dataclass(frozen=True)
class Elements:
    """Arrays of E elements.

    Attributes:
        frames: Frames a and b of each, (E, 2) int64.
        arms: r_a and r_b: from the origin of each frame to the point, world axes [m], (E, 6).
        force: f and t: force [N] and moment [N m] on a, world axes, (E, 6).
        stiffness: K [N/m] and R [N m/rad], symmetric, each as xx yy zz yz zx xy, (E, 12).
        motion: d and phi that the solver found, (E, 6).
    """

    frames: np.ndarray
    arms: np.ndarray
    force: np.ndarray
    stiffness: np.ndarray
    motion: np.ndarray

    @staticmethod
    def zeros(count: int) -> "Elements":
        """Elements without force and stiffness."""
        return Elements(
            frames=np.zeros((count, 2), np.int64),
            arms=np.zeros((count, 6)),
            force=np.zeros((count, 6)),
            stiffness=np.zeros((count, 12)),
            motion=np.zeros((count, 6)),
        )


@dataclass(frozen=True)
class Bars:
    """Arrays of rows whose two frames move in ways of their own, such as a gear's: for those no element serves.

        force on a and b   J^T (f - k c),    c = J (dx_a, dtheta_a, dx_b, dtheta_b)

    Attributes:
        frames: Frames a and b of each, (R, 2) int64.
        jacobian: J, (R, 12).
        force: f, (R,).
        stiffness: k, (R,).
        motion: c that the solver found, (R,).
    """

    frames: np.ndarray
    jacobian: np.ndarray
    force: np.ndarray
    stiffness: np.ndarray
    motion: np.ndarray

    @staticmethod
    def zeros(count: int) -> "Bars":
        """Rows without force and stiffness."""
        return Bars(
            frames=np.zeros((count, 2), np.int64),
            jacobian=np.zeros((count, 12)),
            force=np.zeros(count),
            stiffness=np.zeros(count),
            motion=np.zeros(count),
        )
