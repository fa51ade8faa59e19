"""The shortest path around a sphere or cylinder.

Both reduce to the shortest path around a circle: around a sphere in the plane through both ends and the centre; around
a cylinder in the plane across its axis, where the path keeps one slope along the axis (a helix between two straight
lines, which a cut and unrolled surface shows as one line).

    t = (r/d) ((r/d) p + s sqrt(1 - (r/d)^2) p')     p' is p turned by a quarter turn, d = |p|

is the point in which a line from p touches the circle, for s = 1 where the path goes on counter-clockwise.
"""

import math

from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, direction_and_length, dot, norm, scale, sub

# Ends nearer to the axis than this, in radii, have no direction from it.
CENTRAL = 1e-9


@steady
def touching(p, r, s):
    """Where a line from p, outside of the circle, touches it, in the plane."""
    d = math.sqrt(p[0] * p[0] + p[1] * p[1])
    c = r / d
    k = s * math.sqrt(max(1.0 - c * c, 0.0))
    return c * (c * p[0] - k * p[1]), c * (c * p[1] + k * p[0])


@steady
def nearest_to_centre(p, q):
    """The point of a segment in the plane that is nearest to the centre."""
    x, y = q[0] - p[0], q[1] - p[1]
    square = x * x + y * y
    t = -(p[0] * x + p[1] * y) / square if square > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    return p[0] + t * x, p[1] + t * y


@steady
def arc_between(t, u, s):
    """Angle from t to u, counter-clockwise for s = 1, from zero to a whole turn."""
    angle = s * math.atan2(t[0] * u[1] - t[1] * u[0], t[0] * u[0] + t[1] * u[1])
    return angle + 2.0 * math.pi if angle < 0.0 else angle


@steady
def crosses(p, t, q, u):
    """Whether the segments from p to t and from q to u cross."""
    a, b, c = (t[0] - p[0], t[1] - p[1]), (u[0] - q[0], u[1] - q[1]), (q[0] - p[0], q[1] - p[1])
    det = a[0] * b[1] - a[1] * b[0]
    if det == 0.0:
        return False
    x, y = (c[0] * b[1] - c[1] * b[0]) / det, (c[0] * a[1] - c[1] * a[0]) / det
    return 0.0 <= x <= 1.0 and 0.0 <= y <= 1.0


@steady
def goodness(p, q, r, s, side, sided):
    """How far the middle of both touching points lies on a side, or how near they are; -inf of a path that crosses.

    A path whose lines cross would leave the circle.
    """
    t, u = touching(p, r, s), touching(q, r, -s)
    x, y = t[0] + u[0], t[1] + u[1]
    size = math.sqrt(x * x + y * y)
    on = (x * side[0] + y * side[1]) / size if size > 0.0 else 0.0
    apart = (t[0] - u[0]) * (t[0] - u[0]) + (t[1] - u[1]) * (t[1] - u[1])
    return -math.inf if crosses(p, t, q, u) else (on if sided else -apart)


@steady
def around_circle(p, q, r, side, sided):
    """The path from p to q around a circle: whether there is one, where it touches, and the angle of the arc.

    Without a side the shorter one is taken, and there is one where the straight line goes through the circle. With a
    side there also is one where the line passes on the other side.
    """
    near = nearest_to_centre(p, q)
    inside = near[0] * near[0] + near[1] * near[1] < r * r
    other = sided and near[0] * side[0] + near[1] * side[1] < 0.0
    outside = min(p[0] * p[0] + p[1] * p[1], q[0] * q[0] + q[1] * q[1]) >= r * r
    if not ((inside or other) and outside):
        return False, p, q, 0.0
    forward, backward = goodness(p, q, r, 1.0, side, sided), goodness(p, q, r, -1.0, side, sided)
    s = 1.0 if forward >= backward else -1.0
    t, u = touching(p, r, s), touching(q, r, -s)
    return max(forward, backward) > -math.inf, t, u, arc_between(t, u, s)


@steady
def around_cylinder(p, q, r, side, sided):
    """The path from p to q around a cylinder about z: whether there is one, where it touches, and its length there."""
    found, t, u, arc = around_circle((p[0], p[1]), (q[0], q[1]), r, (side[0], side[1]), sided)
    first = math.sqrt((t[0] - p[0]) * (t[0] - p[0]) + (t[1] - p[1]) * (t[1] - p[1]))
    last = math.sqrt((q[0] - u[0]) * (q[0] - u[0]) + (q[1] - u[1]) * (q[1] - u[1]))
    total = first + r * arc + last
    slope = (q[2] - p[2]) / total if total > 0.0 else 0.0
    low, high = p[2] + slope * first, q[2] - slope * last
    rise = high - low
    return found, (t[0], t[1], low), (u[0], u[1], high), math.sqrt(r * arc * r * arc + rise * rise)


@steady
def around_sphere(p, q, r, side, sided):
    """The path from p to q around a sphere about the origin: whether there is one, where it touches, its length there.

    Ends that lie in one line with the centre leave the plane open: any is taken.
    """
    x, d = direction_and_length(p)
    across, sine = direction_and_length(cross(p, q))
    if d <= CENTRAL * r or norm(q) <= CENTRAL * r:
        return False, p, q, 0.0
    if sine <= CENTRAL * d * norm(q):
        towards = cross(p, side) if sided else (0.0, 0.0, 0.0)
        if norm(towards) == 0.0:
            towards = cross(p, (0.0, 0.0, 1.0)) if abs(x[2]) < 0.5 else cross(p, (1.0, 0.0, 0.0))
        across, _ = direction_and_length(towards)
    y = cross(across, x)
    flat = dot(q, x), dot(q, y)
    found, t, u, arc = around_circle((d, 0.0), flat, r, (dot(side, x), dot(side, y)), sided)
    return found, add(scale(x, t[0]), scale(y, t[1])), add(scale(x, u[0]), scale(y, u[1])), r * arc


@steady
def distance(p, q):
    """Direction from p to q, and how far that is."""
    return direction_and_length(sub(q, p))
