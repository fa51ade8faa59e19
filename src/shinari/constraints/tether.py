"""Tether: keeps a particle within a given distance of its pin.

        0 ~~~~~~~~~~~~~ 1          C = |x0 - x1| - L, resisted only where C > 0
     particle          pin         grad0 = n,  grad1 = -n,  n = (x0 - x1) / |x0 - x1|

Kim et al. 2012, Long Range Attachments. Stretch of a hanging sheet or rope has to travel through all its rows, one
neighbour a sweep; a tether carries it from the pin at once. Within L it does nothing, so folds and slack stay free.
L is the length of the shortest path along the rest shape: a shorter L would hold back a cloth that is merely flat.
The default is the straight distance at rest, which is that length for a flat sheet without holes and a straight rope.
"""

from shinari.constraints.distance import evaluate, rest
from shinari.constraints.registry import register

TETHER = register(
    "tether",
    points=2,
    parameters=("rest_length",),
    evaluate=evaluate,
    rest=rest,
    unit_gradients=True,
    one_sided=True,
    non_negative=("rest_length",),
    summary="Keeps a particle within a given distance of its pin.",
)
