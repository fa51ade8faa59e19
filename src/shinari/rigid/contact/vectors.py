"""Vectors of three, as in `shinari.maths.vec3`, but compiled once each.

There they become part of their caller before types are known. In functions as long and as many as those of contact
between shapes, that takes most of the time of compiling.
"""

from shinari.maths import vec3
from shinari.maths.function import steady

add = steady(vec3.add.py_func)
sub = steady(vec3.sub.py_func)
neg = steady(vec3.neg.py_func)
scale = steady(vec3.scale.py_func)
dot = steady(vec3.dot.py_func)
cross = steady(vec3.cross.py_func)


@steady
def direction_and_length(a):
    """Unit vector a / |a| (zero for a zero vector) and the length |a|."""
    length = (a[0] * a[0] + a[1] * a[1] + a[2] * a[2]) ** 0.5
    return scale(a, 1.0 / length if length > 0.0 else 0.0), length
