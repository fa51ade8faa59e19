"""Frames: the poses of everything rigid, as the kernels see them.

A frame is a body (0 to B - 1 in the order in which they were added), the world (B), or a collider (B + 1 on). The axes
of a body's frame are its principal axes and its origin is its centre of mass, so that its inertia is diagonal and at
rest in it. All of it is float64, whatever the precision of the particles: there are few bodies, and what they rest on
each other with is the difference of large numbers.
"""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Frames:
    """Arrays of F frames during a substep.

    Attributes:
        x: Origins now [m], (F, 3).
        q: Unit quaternions w x y z now, (F, 4).
        v: Velocities [m/s], (F, 3).
        w: Angular velocities in world axes [rad/s], (F, 3).
        x0: Origins at the start of the substep, (F, 3).
        q0: Quaternions at the start of the substep, (F, 4).
        inverse_mass: 1/kg, (F,); 0 for what is not pushed.
        moments: Principal moments of inertia [kg m^2], (F, 3); 1 for what is not pushed.
        inverse_inertia: Inverse inertia in world axes at the start of the substep, xx yy zz yz zx xy, (F, 6); 0 for
            what is not pushed.
        impulses: What acts on bodies from outside of their own solver, such as particles that touch them: the sum
            over the step of impulses [N s] and of moments of impulses about the centre of mass [N m s], (F, 6).
    """

    x: np.ndarray
    q: np.ndarray
    v: np.ndarray
    w: np.ndarray
    x0: np.ndarray
    q0: np.ndarray
    inverse_mass: np.ndarray
    moments: np.ndarray
    inverse_inertia: np.ndarray
    impulses: np.ndarray

    @staticmethod
    def zeros(count: int) -> "Frames":
        """Frames at rest at the origin that nothing pushes."""
        q = np.zeros((count, 4))
        q[:, 0] = 1.0
        return Frames(
            x=np.zeros((count, 3)),
            q=q,
            v=np.zeros((count, 3)),
            w=np.zeros((count, 3)),
            x0=np.zeros((count, 3)),
            q0=q.copy(),
            inverse_mass=np.zeros(count),
            moments=np.ones((count, 3)),
            inverse_inertia=np.zeros((count, 6)),
            impulses=np.zeros((count, 6)),
        )
