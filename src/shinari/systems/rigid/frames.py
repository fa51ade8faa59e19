"""Frames: poses, velocities and masses of bodies, the world and colliders.

A frame is a body (0 to B - 1 in the order in which they were added), the world (B), or a collider (B + 1 on). The axes
of a body's frame are its principal axes and its origin is its centre of mass, so that its inertia is diagonal and
constant in them. All values are float64 for any precision of the particles: contact forces at rest follow from small
differences of large positions.
"""

from typing import Any

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady


class Frames(Record):
    """Frames during a substep, F rows."""

    x = Field(np.float64, 3, unit="m", doc="origin now")
    q = Field(np.float64, 4, doc="unit quaternion w x y z now")
    v = Field(np.float64, 3, unit="m/s", doc="velocity")
    w = Field(np.float64, 3, unit="rad/s", doc="angular velocity in world axes")
    x0 = Field(np.float64, 3, unit="m", doc="origin at the start of the substep")
    q0 = Field(np.float64, 4, doc="quaternion at the start of the substep")
    begin_x = Field(
        np.float64, 3, unit="m", doc="origin when the substep began; `x0` moves with what gives no velocity"
    )
    begin_q = Field(np.float64, 4, doc="quaternion when the substep began")
    inverse_mass = Field(np.float64, unit="1/kg", doc="0 for an immovable frame")
    gravity_scale = Field(np.float64, doc="part of gravity that acts on it; 0 for an immovable frame")
    moments = Field(np.float64, 3, unit="kg m^2", doc="principal moments of inertia; 1 for an immovable frame")
    inverse_inertia = Field(
        np.float64, 6, doc="in world axes at the prediction, xx yy zz yz zx xy; 0 for an immovable frame"
    )
    impulses = Field(
        np.float64,
        6,
        unit="N s, N m s",
        doc="external impulses and their moments about the centre of mass, from outside the solver of the bodies, such "
        "as those of particles in contact; summed over the step",
    )
    asleep = Field(np.bool_, doc="whether it sleeps")
    stopped = Field(np.bool_, doc="whether its path was stopped in the substep at something that stands")
    active = Field(np.bool_, doc="whether it can move in this step: a free frame that is awake, or one with a motion")

    @classmethod
    def zeros(cls, rows: int, precision: Any = np.float64) -> Any:
        """Frames at rest at the origin, without impulses."""
        frames = super().zeros(rows, precision)
        frames.q[:, 0], frames.q0[:, 0], frames.moments[...], frames.active[...] = 1.0, 1.0, 1.0, True
        return frames


class SolverFrames(Record):
    """Work values of the solver for each frame in a substep, F rows."""

    displacement = Field(np.float64, 6, unit="m, rad", doc="displacement since the prediction")
    start_v = Field(np.float64, 3, unit="m/s", doc="velocity at the start of the substep")
    start_w = Field(np.float64, 3, unit="rad/s", doc="angular velocity at the start of the substep")
    predicted_x = Field(np.float64, 3, unit="m", doc="origin of the prediction")
    predicted_q = Field(np.float64, 4, doc="quaternion of the prediction")
    free_v = Field(np.float64, 3, unit="m/s", doc="velocity of the prediction")
    free_w = Field(np.float64, 3, unit="rad/s", doc="angular velocity of the prediction")
    free_q = Field(np.float64, 4, doc="quaternion of the prediction, before external impulses")
    momentum = Field(np.float64, 3, unit="kg m^2/s", doc="angular momentum of the prediction")
    trial_x = Field(np.float64, 3, unit="m", doc="origin from which a trial starts")
    trial_q = Field(np.float64, 4, doc="quaternion from which a trial starts")
    trial_displacement = Field(np.float64, 6, unit="m, rad", doc="displacement with which a trial starts")
    rested_x = Field(np.float64, 3, unit="m", doc="origin of the prediction from which it was found to stay")
    rested_q = Field(np.float64, 4, doc="quaternion of that prediction")
    stored_x = Field(np.float64, 3, unit="m", doc="origin before the solution")
    stored_q = Field(np.float64, 4, doc="quaternion before the solution")
    stored_displacement = Field(np.float64, 6, unit="m, rad", doc="displacement before the solution")
    last_turn = Field(np.float64, 3, unit="rad", doc="rotation since joints were evaluated for the last time")
    returned = Field(
        np.float64, 3, unit="kg m^2/s", doc="angular momentum that the next substep returns, see `moments`"
    )
    final_v = Field(np.float64, 3, unit="m/s", doc="velocity that follows from the solution")
    final_w = Field(np.float64, 3, unit="rad/s", doc="angular velocity that follows from the solution")
    bounced = Field(np.float64, 6, unit="m, rad", doc="change of velocity of a bounce, times the substep")
    swept = Field(np.bool_, doc="whether sweeps have solved it in the last substep")
    slept = Field(np.bool_, doc="whether it slept when the substep was predicted")
    node = Field(np.int64, doc="node of the graph; -1 where it is immovable or no element acts on it")
    root = Field(np.int64, doc="least frame of its component; -1 as above")


class KinematicFrames(Record):
    """Frames whose pose is a function of time, D rows."""

    frame = Field(np.int64)


class Path(Record):
    """Poses of the kinematic frames at the ends of the substeps, substep after substep, S D rows."""

    x = Field(np.float64, 3, unit="m", doc="origin")
    q = Field(np.float64, 4, doc="unit quaternion w x y z")


@steady
def were_swept(a, b, frames, solver_frames):
    """Whether sweeps have solved two frames, or the free one of them, in the last substep."""
    free_a = frames.inverse_mass[a] > 0.0 and not frames.asleep[a]
    free_b = frames.inverse_mass[b] > 0.0 and not frames.asleep[b]
    return (solver_frames.swept[a] or not free_a) and (solver_frames.swept[b] or not free_b)
