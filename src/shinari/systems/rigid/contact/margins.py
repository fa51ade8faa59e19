"""Margins of frames: how far each may move before the pairs of collision shapes are found anew.

A frame that hardly moves in a step has a margin all around for the whole step, at most a part of its size: how many
neighbours it has does not depend on its speed. When it leaves that margin, or will in the substep that begins, the
pairs are found anew. A frame that moves farther in one substep than its size allows is swept along its path in that
substep. A frame that the solution has thrown off its path by more than its margin gets the path that it took.
"""

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.maths.vec3 import ZERO, dot, norm, scale, sub
from shinari.systems.rigid.frames import Frames

TWO = np.float32(2.0)
SLACK = np.float32(0.005)
"""Points are found up to this part of the smaller shape's size before they touch, besides what speeds ask for."""
# A margin is at most so many times the size of a frame: as wide as the first number while a shape has at most `PLENTY`
# pairs on average, else as the second. In a dense heap of tumbling cubes a cube then has some twenty pairs. A frame
# that needs more in a substep is swept instead.
WIDE, MOST = 1.0, 0.25
PLENTY = 16


class Detection(Record):
    """One row: what the detection of contacts of a simulation decides by."""

    every = Field(np.int64, doc="whether pairs are found in every substep")
    found = Field(np.int64, doc="whether pairs were found in this step")
    known = Field(np.int64, doc="whether what is known of the pairs that stay is kept")
    renew = Field(np.int64, doc="whether pairs are found now")
    tight = Field(np.int64, doc="whether margins are bounded by MOST, not WIDE")
    done = Field(np.int64, doc="whether the margins are good")
    fast = Field(np.int64, doc="whether a frame was swept when the pairs were found last")
    bounded = Field(np.int64, doc="whether a margin is above MOST")
    extend = Field(np.int64, doc="whether the pairs there are stay in the list")
    thrown = Field(np.int64, doc="whether solutions have thrown frames off their paths")
    write = Field(np.int64, doc="whether the table of points is written anew")
    move = Field(np.int64, doc="whether its points only move")
    near = Field(np.int64, doc="pairs that were found")
    pairs = Field(np.int64, doc="pairs in the list")
    kept = Field(np.int64, doc="pairs whose points are kept")
    old_pairs = Field(np.int64, doc="pairs in the list before")
    points = Field(np.int64, doc="points of the pairs")
    old_points = Field(np.int64, doc="points in the table before")
    detections = Field(np.int64, doc="how often pairs were found in the step")
    factor = Field(np.float64, doc="how many times as wide as necessary the margins are, where they may be so wide")


class Motion(Record):
    """How frames move between detections, F rows."""

    size = Field(
        np.float64, unit="m", doc="edge of the cube with the volume of the box of its largest collision shape, or inf"
    )
    radius = Field(np.float64, unit="m", doc="farthest point of its collision shapes")
    margin = Field(np.float64, unit="m", doc="how far it may move in any direction")
    wider = Field(np.float64, unit="m", doc="how much farther it would get until the end of the step")
    spin = Field(np.float64, unit="m", doc="how far turning takes a point of a swept frame in a substep")
    path = Field(np.float64, 3, unit="m", doc="displacement of a swept frame in a substep")
    place = Field(np.float64, 3, unit="m", doc="where it was when the pairs were found")
    turn = Field(np.float64, 4, doc="its quaternion then")
    velocity = Field(np.float64, 3, unit="m/s", doc="velocity at which points are looked for")
    swept = Field(np.bool_, doc="whether it is swept")
    bounded = Field(np.bool_, doc="whether its margin is above MOST")
    away = Field(np.bool_, doc="whether it is, or may be in this substep, farther away than its margin")
    off = Field(np.bool_, doc="whether a solution of this substep has thrown it off its path")
    off_now = Field(np.bool_, doc="whether the last solution has")


@steady
def speed_bound(frames, radius, f, fall):
    """Largest speed of a point of a frame within a radius, after a fall that adds to it."""
    spin = norm(frames.w[f]) * radius
    return norm(frames.v[f]) + spin + (fall if frames.inverse_mass[f] > ZERO else ZERO)


@steady
def chord_between(q, turn):
    """Turn from one quaternion to another, as the length of the chord for a radius of one."""
    plus = minus = ZERO * q[0]
    a, b, c, d = q[0] + turn[0], q[1] + turn[1], q[2] + turn[2], q[3] + turn[3]
    plus = a * a + b * b + c * c + d * d
    a, b, c, d = q[0] - turn[0], q[1] - turn[1], q[2] - turn[2], q[3] - turn[3]
    minus = a * a + b * b + c * c + d * d
    return TWO * np.sqrt(min(plus, minus))


@kernel(fastmath=STEADY)
def check_margin(f, frames: Frames, motion: Motion, fall: float, h: float):
    """Whether a frame has moved, and may move in twice a substep, farther than its margin.

    Args:
        f: The frame.
        frames: The frames.
        motion: Their margins.
        fall: Speed that gravity adds in a substep [m/s].
        h: Substep [s].
    """
    travelled = norm(sub(frames.x0[f], motion.place[f]))
    travelled += chord_between(frames.q0[f], motion.turn[f]) * motion.radius[f]
    travelled += TWO * h * speed_bound(frames, motion.radius[f], f, fall)
    motion.away[f] = not (travelled <= motion.margin[f])
    motion.velocity[f] = frames.v[f]


@kernel
def decide(_, detection: Detection, motion: Motion):
    """Decide whether pairs are found now."""
    away = False
    for f in range(len(motion)):
        away |= motion.away[f]
    detection.renew[0] = 1 if away or detection.found[0] == 0 or detection.every[0] != 0 else 0
    if detection.renew[0] != 0:
        detection.known[0] = 1 if detection.found[0] != 0 and detection.every[0] == 0 else 0
        detection.extend[0] = detection.tight[0] = detection.done[0] = 0
    elif detection.fast[0] != 0:
        # the paths were those of the last substep
        detection.fast[0] = 0
        for f in range(len(motion)):
            motion.path[f], motion.spin[f], motion.swept[f] = (0.0, 0.0, 0.0), 0.0, False


@kernel(fastmath=STEADY)
def set_margin(f, frames: Frames, motion: Motion, detection: Detection, weight: float, dt: float, h: float):
    """Margin of a frame.

    Args:
        f: The frame.
        frames: The frames.
        motion: Receives the margins.
        detection: How wide they may be.
        weight: Size of gravity [m/s^2].
        dt: Step [s].
        h: Substep [s].
    """
    motion.place[f], motion.turn[f] = frames.x0[f], frames.q0[f]
    motion.off[f] = motion.off_now[f] = False
    size, radius = motion.size[f], motion.radius[f]
    most = MOST if detection.tight[0] != 0 else WIDE
    wanted = detection.factor[0] * (dt + 2.0 * h) * speed_bound(frames, radius, f, weight * dt)
    needed = TWO * h * speed_bound(frames, radius, f, weight * h)
    swept = needed > most * size
    motion.swept[f], motion.bounded[f] = swept, not swept and wanted > MOST * size
    motion.spin[f] = h * norm(frames.w[f]) * radius if swept else 0.0
    margin = MOST * size + weight * h * h if swept else min(wanted, most * size)
    motion.margin[f] = margin
    motion.wider[f] = wanted if swept else wanted - margin
    path = scale(frames.v[f], h)
    motion.path[f] = path[0] if swept else 0.0, path[1] if swept else 0.0, path[2] if swept else 0.0


@kernel
def sum_margins(_, detection: Detection, motion: Motion):
    """Whether any frame is swept, and whether any margin is above MOST."""
    fast = bounded = 0
    for f in range(len(motion)):
        fast |= 1 if motion.swept[f] else 0
        bounded |= 1 if motion.bounded[f] else 0
    detection.fast[0], detection.bounded[0] = fast, bounded


@kernel
def count_detection(_, detection: Detection):
    """Pairs were found: if they have to be found again in the step, margins are twice as wide."""
    detection.found[0], detection.factor[0] = 1, 2.0 * detection.factor[0]
    detection.detections[0] += 1


@kernel(fastmath=STEADY)
def check_path(f, frames: Frames, motion: Motion):
    """Whether a frame has moved farther from its path than its margin, and than the part of its size."""
    e, d = sub(frames.x[f], motion.place[f]), motion.path[f]
    square, along = dot(d, d), dot(e, d)
    t = min(max(along / square, 0.0), 1.0) if square > ZERO else 0.0
    away = norm(sub(e, scale(d, t)))
    away += max(chord_between(frames.q[f], motion.turn[f]) * motion.radius[f] - motion.spin[f], 0.0)
    motion.off_now[f] = away > max(motion.margin[f], MOST * motion.size[f])


@kernel(fastmath=STEADY)
def extend_paths(_, detection: Detection, frames: Frames, motion: Motion, h: float):
    """Give the frames that were thrown off their paths those that they took, unless the last solution has thrown none.

    Args:
        _: 0.
        detection: Receives whether there are any.
        frames: The frames, at the poses of the solution.
        motion: Their paths.
        h: Substep [s].
    """
    thrown = 0
    for f in range(len(motion)):
        motion.off[f] = motion.off[f] or motion.off_now[f]
        thrown |= 1 if motion.off_now[f] else 0
    detection.thrown[0] = thrown
    if thrown == 0:
        return
    detection.fast[0] = detection.known[0] = detection.extend[0] = 1
    for f in range(len(motion)):
        motion.velocity[f] = frames.v[f]
        if motion.off[f]:
            path = sub(frames.x[f], motion.place[f])
            motion.path[f], motion.swept[f] = path, True
            motion.velocity[f] = scale(sub(frames.x[f], frames.x0[f]), 1.0 / h)
            # however it turns, a collision shape stays in the ball around the origin of its frame
            motion.spin[f] = 2.0 * motion.radius[f]
            motion.wider[f] = max(motion.wider[f], norm(path) + motion.spin[f])
