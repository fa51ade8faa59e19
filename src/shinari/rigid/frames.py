"""Frames: the poses of everything rigid, as the kernels see them.

A frame is a body (0 to B - 1 in the order in which they were added), the world (B), or a collider (B + 1 on). The axes
of a body's frame are its principal axes and its origin is its centre of mass, so that its inertia is diagonal and at
rest in it. All of it is float64, whatever the precision of the particles: there are few bodies, and what they rest on
each other with is the difference of large numbers.
"""

from typing import Any

import numpy as np

from shinari.compute import Field, Record


class Frames(Record):
    """Frames during a substep, F rows."""

    x = Field(np.float64, 3, unit="m", doc="origin now")
    q = Field(np.float64, 4, doc="unit quaternion w x y z now")
    v = Field(np.float64, 3, unit="m/s", doc="velocity")
    w = Field(np.float64, 3, unit="rad/s", doc="angular velocity in world axes")
    x0 = Field(np.float64, 3, unit="m", doc="origin at the start of the substep")
    q0 = Field(np.float64, 4, doc="quaternion at the start of the substep")
    inverse_mass = Field(np.float64, unit="1/kg", doc="0 for a frame that forces do not move")
    moments = Field(np.float64, 3, unit="kg m^2", doc="principal moments of inertia; 1 for a frame without")
    inverse_inertia = Field(
        np.float64,
        6,
        unit="1/(kg m^2)",
        doc="inverse inertia in world axes at the start of the substep, xx yy zz yz zx xy; 0 for a frame without",
    )
    impulses = Field(
        np.float64,
        6,
        unit="N s, N m s",
        doc="sum over the step of what acts on bodies from outside of their own solver, such as particles: impulses, "
        "and moments of impulses about the centre of mass",
    )

    @classmethod
    def zeros(cls, rows: int, precision: Any = np.float64) -> Any:
        """Frames at rest at the origin that forces do not move."""
        frames = super().zeros(rows, precision)
        frames.q[:, 0] = frames.q0[:, 0] = 1.0
        frames.moments[...] = 1.0
        return frames
