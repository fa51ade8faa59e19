"""Margins of frames: how far each may move before the pairs of collision shapes are found again.

The boxes of a frame drift: until the end of the step they move on with the velocity that it has as its pairs are found.
A pair counts if both boxes, moving so, meet. So the number of its neighbours depends on how fast frames move relative
to each other. The margin is the distance, in any direction, up to which a frame may leave that motion: what it may stop
short of in a substep, fall, and turn. When it leaves its margin, or may leave it in the present substep, pairs are
found again: its own where few have left theirs, else all. A frame that moves farther in one substep than its size
allows is swept along its path in that substep. A frame that the solution moves off its path by more than its margin
gets a new path.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, add, dot, norm, scale, sub
from shinari.systems.rigid.frames import Frames

HALF, TWO = np.float32(0.5), np.float32(2.0)
SLACK = np.float32(0.005)
"""Points are found up to this part of the size of the smaller shape, in addition to the approach in a substep."""
# Largest margin in sizes of the frame: ROOMY while a shape has at most PLENTY pairs on average, else TIGHT. A frame
# that moves by more than WIDE in two substeps, or needs a larger margin in one, is swept instead.
ROOMY, WIDE, TIGHT = 2.0, 1.0, 0.25
# The largest margin of both kinds where ROOMY ones give too many pairs, but not more than so many times too many.
MIDDLE, FEW_TOO_MANY = 0.6, 2.0
# Part of the size of a frame that it may move in a step beyond what its speed lets expect, so that one which is pushed
# does not have all pairs found again.
SPARE = 0.02
PLENTY = 16
# Part of its displacement in a step and three substeps by which a frame may leave its path: that of a substep at least.
DEVIATION = 0.25
# Only the pairs of frames that left their margins are found again where these are at most one of so many.
ONE_OF = 8


class Detection(Record):
    """One row: state of contact detection."""

    each_substep = Field(np.int64, doc="whether pairs are found in every substep")
    searched = Field(np.int64, doc="whether pairs were searched in this step")
    partial = Field(
        np.int64, doc="whether only pairs of frames that left their margins are searched, and all others stay"
    )
    extended = Field(np.int64, doc="whether paths were extended since the last search of all pairs")
    keep_points = Field(np.int64, doc="whether the points of pairs that remain are kept")
    renew = Field(np.int64, doc="whether pairs are found in this substep")
    search = Field(np.int64, doc="whether their candidates are searched, or are those of the last step")
    unmoved = Field(
        np.int64, doc="whether all frames have stood still since the last search, and it was the first of its step"
    )
    bound = Field(np.float64, doc="largest margin in sizes of a frame; 0 where it is ROOMY")
    elapsed = Field(np.float64, unit="s", doc="from the first search of the step to the start of the substep")
    done = Field(np.int64, doc="whether the margins are accepted")
    any_swept = Field(np.int64, doc="whether a frame was swept in the last search")
    above_tight = Field(np.int64, doc="whether a margin is above TIGHT")
    keep_pairs = Field(np.int64, doc="whether the present pairs stay in the list")
    left_path = Field(np.int64, doc="whether the last solution has moved a frame off its path")
    changed = Field(np.int64, doc="whether a pair has other points than in the last substep")
    rebuild_table = Field(np.int64, doc="whether the table of points is rebuilt")
    moves_rows = Field(np.int64, doc="whether a pair has other points or other rows in it than before")
    found_pairs = Field(np.int64, doc="pairs that were found")
    pairs = Field(np.int64, doc="pairs in the list")
    active_pairs = Field(np.int64, doc="those that have rows in the table of points")
    sought_pairs = Field(np.int64, doc="those whose points are sought in the substep")
    kept = Field(np.int64, doc="pairs whose points are kept")
    old_pairs = Field(np.int64, doc="pairs in the list before")
    points = Field(np.int64, doc="contact points in the table")
    old_points = Field(np.int64, doc="contact points in the table of the last substep")
    places = Field(np.int64, doc="rows of the places of points of pairs, with those that are free")
    free_places = Field(np.int64, doc="places that are free")
    places_needed = Field(np.int64, doc="rows with those that are about to be given")
    detections = Field(np.int64, doc="searches for pairs in the step")


class FrameMargins(Record):
    """Margins and paths of frames between searches, F rows."""

    size = Field(
        np.float64, unit="m", doc="edge of the cube with the volume of the box of its largest collision shape, or inf"
    )
    radius = Field(np.float64, unit="m", doc="farthest point of its collision shapes")
    swing = Field(np.float64, unit="m", doc="how far its boxes may grow by any rotation")
    margin = Field(np.float64, unit="m", doc="how far its boxes may grow in any direction")
    wider = Field(np.float64, unit="m", doc="distance beyond the margin that it may move until the end of the step")
    spin = Field(np.float64, unit="m", doc="largest displacement of a point of a swept frame by rotation in a substep")
    path = Field(
        np.float64, 3, unit="m", doc="displacement of a swept frame in a substep, of one that drifts in a step"
    )
    drifts = Field(np.bool_, doc="whether its boxes drift")
    drift = Field(np.float64, 3, unit="m/s", doc="with which velocity, else 0")
    start_position = Field(
        np.float64, 3, unit="m", doc="origin when the pairs were found, less what it has drifted in the step until then"
    )
    start_rotation = Field(np.float64, 4, doc="quaternion when the pairs were found")
    velocity = Field(np.float64, 3, unit="m/s", doc="velocity for the reach of points")
    angular_velocity = Field(np.float64, 3, unit="rad/s", doc="angular velocity for the reach of points")
    position = Field(np.float64, 3, unit="m", doc="origin when contacts were detected, in the last substep before")
    rotation = Field(np.float64, 4, doc="quaternion at that time")
    still = Field(np.bool_, doc="whether it has the same pose and velocities as then")
    swept = Field(np.bool_, doc="whether it is swept")
    above_tight = Field(np.bool_, doc="whether its margin is above TIGHT")
    away = Field(np.bool_, doc="whether it has left its margin or may leave it within two substeps")
    sought = Field(np.bool_, doc="whether its pairs are found in this search")
    left_path = Field(np.bool_, doc="whether a solution of this substep has moved it off its path")
    left_path_now = Field(np.bool_, doc="whether the last solution has")


@steady
def motion_bound(v, frames, margins, f, time, fall, turned):
    """How far the box of a frame may grow in a time by a velocity, after a fall that adds to it, and by its rotation.

    `turned` is the largest displacement of its points by rotation so far.
    """
    speed = norm(v) + (fall if frames.inverse_mass[f] > ZERO else ZERO)
    spin = norm(frames.w[f]) * margins.radius[f]
    return time * speed + min(turned + time * spin, margins.swing[f])


@steady
def chord_between(q, turn):
    """Length of the chord that a rotation between two quaternions makes on a unit circle.

    It is an upper bound of the chord of every point at radius 1.
    """
    a, b, c, d = q[0] + turn[0], q[1] + turn[1], q[2] + turn[2], q[3] + turn[3]
    plus = a * a + b * b + c * c + d * d
    a, b, c, d = q[0] - turn[0], q[1] - turn[1], q[2] - turn[2], q[3] - turn[3]
    minus = a * a + b * b + c * c + d * d
    return TWO * np.sqrt(min(plus, minus))


@steady
def drifted(margins, f, time):
    """Origin of a frame that drifts at a time since the first search of the step; of another when pairs were found."""
    return add(margins.start_position[f], scale(margins.drift[f], time))


@kernel(fastmath=STEADY)
def check_margin_left(f, frames: Frames, margins: FrameMargins, detection: Detection, fall: float, h: float):
    """Mark a frame that has left its margin or may leave it within two substeps, and one that stands still.

    One that drifts may stop within a substep.

    Args:
        f: The frame.
        frames: The frames.
        margins: Their margins.
        detection: The time at which the last substep began.
        fall: Speed that gravity adds in a substep [m/s].
        h: Substep [s].
    """
    x, q, v, w = frames.x0[f], frames.q0[f], frames.v[f], frames.w[f]
    drift, turned = margins.drift[f], chord_between(q, margins.start_rotation[f]) * margins.radius[f]
    travelled = norm(sub(x, drifted(margins, f, detection.elapsed[0] + h))) + h * norm(drift)
    travelled += motion_bound(sub(v, drift), frames, margins, f, TWO * h, fall, turned)
    margins.away[f] = not (travelled <= margins.margin[f])
    here = x == margins.position[f] and q == margins.rotation[f]
    margins.still[f] = here and v == margins.velocity[f] and w == margins.angular_velocity[f]
    margins.position[f], margins.rotation[f], margins.velocity[f], margins.angular_velocity[f] = x, q, v, w


@steady
def forget_path(margins, f):
    """A frame is not swept any more: its path was that of a substep before."""
    if margins.swept[f]:
        margins.path[f], margins.spin[f], margins.swept[f] = (0.0, 0.0, 0.0), 0.0, False


@kernel
def decide(_, detection: Detection, margins: FrameMargins, dt: float, h: float):
    """Decide whether pairs are found in this substep, and whether their candidates are searched for that.

    The first search of a step depends on poses and velocities alone: where none has changed since that of the last
    step, it would find the same.
    """
    away, still, first, each = 0, True, detection.searched[0] == 0, detection.each_substep[0] != 0
    for f in range(len(margins)):
        away += 1 if margins.away[f] else 0
        still &= margins.still[f]
    # paths end with the step: a frame that goes on leaves its margin
    detection.elapsed[0] = 0.0 if first else min(detection.elapsed[0] + h, dt + TWO * h)
    detection.renew[0] = 1 if away > 0 or first or each else 0
    known = still and detection.unmoved[0] != 0
    detection.search[0] = 1 if detection.renew[0] != 0 and not (first and known) else 0
    detection.unmoved[0] = 1 if (first if detection.search[0] != 0 else known) else 0
    if detection.search[0] != 0:
        # the boxes of the others are those of the last search of all, unless paths were extended since
        few = not first and not each and detection.extended[0] == 0 and away * ONE_OF <= len(margins)
        detection.partial[0] = detection.keep_pairs[0] = 1 if few else 0
        detection.keep_points[0] = 0 if each else 1
        detection.extended[0] = detection.done[0] = 0
        # a dense scene stays so for the rest of the step
        detection.bound[0] = detection.bound[0] if detection.searched[0] != 0 else 0.0
    elif detection.renew[0] == 0 and detection.any_swept[0] != 0:
        detection.any_swept[0] = detection.unmoved[0] = 0
        for f in range(len(margins)):
            forget_path(margins, f)


@kernel(fastmath=STEADY)
def set_margin(f, frames: Frames, margins: FrameMargins, detection: Detection, weight: float, dt: float, h: float):
    """Set the margin of a frame.

    Args:
        f: The frame.
        frames: The frames.
        margins: Receives the margins.
        detection: Bounds of the margins.
        weight: Magnitude of gravity [m/s^2].
        dt: Step [s].
        h: Substep [s].
    """
    margins.left_path[f] = margins.left_path_now[f] = False
    margins.sought[f] = detection.partial[0] == 0 or margins.away[f]
    if not margins.sought[f]:
        forget_path(margins, f)
        return
    v, size, radius, time = frames.v[f], margins.size[f], margins.radius[f], dt + 3.0 * h
    most = (detection.bound[0] if detection.bound[0] != 0.0 else ROOMY) * size
    wanted = motion_bound(scale(v, DEVIATION), frames, margins, f, time, weight * dt, 0.0)
    wanted += SPARE * (size if size < np.inf else 0.0)
    needed = motion_bound(scale(v, HALF), frames, margins, f, TWO * h, weight * h, 0.0)
    swept = needed > most or motion_bound(v, frames, margins, f, TWO * h, weight * h, 0.0) > WIDE * size
    margins.swept[f], margins.above_tight[f] = swept, not swept and wanted > TIGHT * size
    margins.spin[f] = h * norm(frames.w[f]) * radius if swept else 0.0
    margin = TIGHT * size + weight * h * h if swept else min(wanted, most)
    margins.margin[f] = margin
    margins.wider[f] = (wanted if swept else wanted - margin) + time * norm(v)
    drifts = not swept and (v[0] != ZERO or v[1] != ZERO or v[2] != ZERO)
    margins.drifts[f], margins.drift[f] = drifts, v if drifts else (0.0, 0.0, 0.0)
    margins.path[f] = scale(v, h if swept else (time if drifts else 0.0))
    margins.start_position[f] = sub(frames.x0[f], scale(margins.drift[f], detection.elapsed[0]))
    margins.start_rotation[f] = frames.q0[f]


@kernel
def sum_margins(_, detection: Detection, margins: FrameMargins):
    """Find whether any frame is swept, and whether any margin is above TIGHT."""
    any_swept = above_tight = 0
    for f in range(len(margins)):
        any_swept |= 1 if margins.swept[f] else 0
        above_tight |= 1 if margins.above_tight[f] else 0
    detection.any_swept[0], detection.above_tight[0] = any_swept, above_tight


@kernel
def count_detection(_, detection: Detection):
    """Count a search."""
    detection.searched[0] = 1
    detection.detections[0] += 1


@kernel(fastmath=STEADY)
def check_path(f, frames: Frames, margins: FrameMargins, detection: Detection, h: float):
    """Mark a frame that is farther from its path than its margin and than TIGHT times its size."""
    d = margins.path[f] if margins.swept[f] else (0.0, 0.0, 0.0)
    e = sub(frames.x[f], drifted(margins, f, detection.elapsed[0] + h))
    square, along = dot(d, d), dot(e, d)
    t = min(max(along / square, 0.0), 1.0) if square > ZERO else 0.0
    away = norm(sub(e, scale(d, t)))
    turned = min(chord_between(frames.q[f], margins.start_rotation[f]) * margins.radius[f], margins.swing[f])
    away += max(turned - margins.spin[f], 0.0)
    margins.left_path_now[f] = away > max(margins.margin[f], TIGHT * margins.size[f])


@kernel(fastmath=STEADY)
def extend_paths(_, detection: Detection, frames: Frames, margins: FrameMargins, h: float):
    """Replace the path of each frame that left its path by the displacement of the solution.

    Do nothing if the last solution added no such frame.

    Args:
        _: 0.
        detection: Receives whether there are such frames.
        frames: The frames, at the poses of the solution.
        margins: Their paths.
        h: Substep [s].
    """
    left_path = 0
    for f in range(len(margins)):
        margins.left_path[f] = margins.left_path[f] or margins.left_path_now[f]
        left_path |= 1 if margins.left_path_now[f] else 0
    detection.left_path[0] = left_path
    if left_path == 0:
        return
    detection.any_swept[0] = detection.keep_points[0] = detection.keep_pairs[0] = detection.extended[0] = 1
    detection.unmoved[0] = detection.partial[0] = 0
    for f in range(len(margins)):
        margins.velocity[f], margins.sought[f] = frames.v[f], True
        if margins.left_path[f]:
            if margins.drifts[f]:
                margins.start_position[f], margins.drift[f], margins.drifts[f] = frames.x0[f], (0.0, 0.0, 0.0), False
            path = sub(frames.x[f], margins.start_position[f])
            margins.path[f], margins.swept[f] = path, True
            margins.velocity[f] = scale(sub(frames.x[f], frames.x0[f]), 1.0 / h)
            # for any rotation, a collision shape stays in the ball around the origin of its frame
            margins.spin[f] = 2.0 * margins.radius[f]
            margins.still[f] = False
            margins.wider[f] = max(margins.wider[f], norm(path) + margins.spin[f])
