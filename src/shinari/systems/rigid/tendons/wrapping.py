"""The shortest path around a sphere or cylinder.

Both reduce to the shortest path around a circle: around a sphere in the plane through both ends and the centre; around
a cylinder in the plane across its axis, where the path keeps one slope along the axis (a helix between two straight
lines, which a cut and unrolled surface shows as one line).

    t = (r/d) ((r/d) p + s sqrt(1 - (r/d)^2) p')     p' is p turned by a quarter turn, d = |p|

is the point in which a line from p touches the circle, for s = 1 where the path goes on counter-clockwise.

A path through a circle goes straight where the line meets it; else over the point of the circle where both lines have
the same angle with the radius, which is the shortest path that meets it.
"""

import math

from shinari.maths.function import steady
from shinari.maths.vec3 import add, cross, direction_and_length, dot, norm, scale, sub

# Ends nearer to the axis than this, in radii, have no direction from it.
CENTRAL = 1e-9
# Ways around a shape: by the shorter path, by that over a side, or through the shape.
SHORTEST, SIDED, THROUGH = range(3)
# Halvings of the angle between both ends in which a path through a circle meets it: down to rounding.
HALVINGS = 53


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
def direction_over(p, q, side):
    """Whether the path from p to q over a side goes on counter-clockwise, 1, or clockwise, -1; 0: no side is told.

    The side decides where the ends lie on both sides of the line from the centre to it: the arc then passes below it.
    """
    first, last = p[0] * side[1] - p[1] * side[0], side[0] * q[1] - side[1] * q[0]
    return (1.0 if first > 0.0 else -1.0) if first * last > 0.0 else 0.0


@steady
def shorter_direction(p, q, r):
    """The direction of the path whose touching points are nearer to each other, 1 or -1, or 0: lines of both cross.

    A path whose lines cross would leave the circle.
    """
    best, nearest = 0.0, math.inf
    for k in range(2):
        s = 1.0 - 2.0 * k
        t, u = touching(p, r, s), touching(q, r, -s)
        apart = (t[0] - u[0]) * (t[0] - u[0]) + (t[1] - u[1]) * (t[1] - u[1])
        if apart < nearest and not crosses(p, t, q, u):
            best, nearest = s, apart
    return best


@steady
def meeting(p, q, r):
    """The point of a circle over which the path from p to q is shortest, both outside, in the plane.

    Between both ends the length has one minimum: its slope by the angle, tau . ((t - p) / |t - p| + (t - q) / |t - q|),
    is halved in.
    """
    begin, turn = math.atan2(p[1], p[0]), math.atan2(p[0] * q[1] - p[1] * q[0], p[0] * q[0] + p[1] * q[1])
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        x, y = math.cos(begin + middle * turn), math.sin(begin + middle * turn)
        ax, ay, bx, by = r * x - p[0], r * y - p[1], r * x - q[0], r * y - q[1]
        a, b = math.sqrt(ax * ax + ay * ay), math.sqrt(bx * bx + by * by)
        slope = turn * ((ay * x - ax * y) * b + (by * x - bx * y) * a)
        low, high = (low, middle) if slope > 0.0 else (middle, high)
    angle = begin + 0.5 * (low + high) * turn
    return r * math.cos(angle), r * math.sin(angle)


@steady
def around_circle(p, q, r, side, way):
    """The path from p to q around a circle: whether there is one, where it touches, and the angle of the arc.

    There is one where the straight line goes through the circle: the shorter one, or that over a side between the ends.
    Then there also is one where the line passes on the other side.
    """
    near = nearest_to_centre(p, q)
    told = direction_over(p, q, side) if way == SIDED else 0.0
    inside = near[0] * near[0] + near[1] * near[1] < r * r
    other = told != 0.0 and near[0] * side[0] + near[1] * side[1] < 0.0
    outside = min(p[0] * p[0] + p[1] * p[1], q[0] * q[0] + q[1] * q[1]) >= r * r
    if way == THROUGH:
        t = meeting(p, q, r)
        return outside and not inside, t, t, 0.0
    if not ((inside or other) and outside):
        return False, p, q, 0.0
    s = told if told != 0.0 else shorter_direction(p, q, r)
    t, u = touching(p, r, s), touching(q, r, -s)
    return s != 0.0 and not crosses(p, t, q, u), t, u, arc_between(t, u, s)


@steady
def around_cylinder(p, q, r, side, way):
    """The path from p to q around a cylinder about z: whether there is one, where it touches, and its length there."""
    found, t, u, arc = around_circle((p[0], p[1]), (q[0], q[1]), r, (side[0], side[1]), way)
    first = math.sqrt((t[0] - p[0]) * (t[0] - p[0]) + (t[1] - p[1]) * (t[1] - p[1]))
    last = math.sqrt((q[0] - u[0]) * (q[0] - u[0]) + (q[1] - u[1]) * (q[1] - u[1]))
    total = first + r * arc + last
    slope = (q[2] - p[2]) / total if total > 0.0 else 0.0
    low, high = p[2] + slope * first, q[2] - slope * last
    rise = high - low
    return found, (t[0], t[1], low), (u[0], u[1], high), math.sqrt(r * arc * r * arc + rise * rise)


@steady
def around_sphere(p, q, r, side, way):
    """The path from p to q around a sphere about the origin: whether there is one, where it touches, its length there.

    Ends that lie in one line with the centre leave the plane open: any is taken.
    """
    x, d = direction_and_length(p)
    across, sine = direction_and_length(cross(p, q))
    if d <= CENTRAL * r or norm(q) <= CENTRAL * r:
        return False, p, q, 0.0
    if sine <= CENTRAL * d * norm(q):
        towards = cross(p, side) if way == SIDED else (0.0, 0.0, 0.0)
        if norm(towards) == 0.0:
            towards = cross(p, (0.0, 0.0, 1.0)) if abs(x[2]) < 0.5 else cross(p, (1.0, 0.0, 0.0))
        across, _ = direction_and_length(towards)
    y = cross(across, x)
    flat = dot(q, x), dot(q, y)
    found, t, u, arc = around_circle((d, 0.0), flat, r, (dot(side, x), dot(side, y)), way)
    return found, add(scale(x, t[0]), scale(y, t[1])), add(scale(x, u[0]), scale(y, u[1])), r * arc


@steady
def distance(p, q):
    """Direction from p to q, and how far that is."""
    return direction_and_length(sub(q, p))
