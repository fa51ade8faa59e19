"""A particle between two bodies: both of its contacts are solved together.

       A        wA        Each contact moves the light particle far and its body hardly at all. Solved one after the
      ---                 other, each undoes the other one, and a sweep passes on no more than (wA + wB) / w of a load:
       o        w         what lies between heavy bodies would be squeezed through. So the further pushes P and Q along
      ---                 both normals n and m, which close the overlaps a and b, are found at once:
       B        wB
                              (w + wA)  -w c     P       a
                               -w c   (w + wB)   Q   =   b,      c = -n . m

Only what both are squeezed by together moves the bodies, and a contact that would pull leaves the rest to the other
one. The same holds along the surface for the pushes of friction S and T, which take away the slips s and t as far as
their cones allow:

                              (w + wA)    w      S      -s
                                  w    (w + wB)  T   =  -t
"""

from shinari.collision.law import STATIC_FRICTION, friction
from shinari.collision.narrow.fields import Four
from shinari.collision.narrow.pose_records import Vector
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, add, norm, scale, sub

# The contact on the other side: its row or -1, its piece, its law, and its push so far, along its normal and whole.
Opposite = tuple[int, int, Four, float, Vector]
# Above this part of the inverse mass of a particle, for both bodies, the sweeps of a substep find the load alone. Light
# fingers then hold better: their joints, which answer after the sweeps, are not in (wA + wB). It is one answer for an
# object, from its mean mass: particles that are solved together would carry what others beside them do not.
HEAVY = 6e-4
# Contacts are on both sides of a particle where the cosine between their normals is less.
OPPOSED = -0.7


@steady
def both_pushes(w, others, overlaps, cosine, so_far, room):
    """Further pushes along both normals [kg m], for the cosine between them.

    In the end no contact pulls. Neither pushes further by more than `room` [kg m], which may take back what there is;
    the other one then closes its own overlap, or the particle would be driven into it.
    """
    (a, b), (least, least_there), shared = overlaps, (-so_far[0], -so_far[1]), -w * cosine
    first, second = w + others[0], w + others[1]
    inverse = ONE / (first * second - shared * shared)
    p, q = (second * a + shared * b) * inverse, (first * b + shared * a) * inverse
    if p < least or p > room:
        p = max(min(p, room), least)
        q = (b + shared * p) / second
        if q < least_there:
            q = least_there
            p = max((a + shared * q) / first, least)
    elif q < least_there or q > room:
        q = max(min(q, room), least_there)
        p = (a + shared * q) / first
        if p < least:
            p = least
            q = max((b + shared * p) / second, least_there)
    return p, q


@steady
def other_friction(w, give, slip, so_far, change):
    """Push of friction that takes a slip away once the other side pushes by a change [kg m]."""
    return sub(so_far, scale(add(slip, scale(change, w)), ONE / give))


@steady
def both_frictions(w, others, slips, so_far, pushes, laws):
    """Pushes of friction of both so far [kg m], each within its cone.

    One that slides leaves the rest to the other; if that slides as well, the first one is asked again: a light particle
    between both would be thrown by the difference of two cones.
    """
    (s, t), (rub, rub_there) = slips, so_far
    first, second = w + others[0], w + others[1]
    inverse = ONE / (first * second - w * w)
    here = add(rub, scale(sub(scale(t, w), scale(s, second)), inverse))
    there = add(rub_there, scale(sub(scale(s, w), scale(t, first)), inverse))
    slides = norm(here) > laws[0][STATIC_FRICTION] * pushes[0]
    if slides:
        here = friction(here, pushes[0], laws[0])
        there = other_friction(w, second, t, rub_there, sub(here, rub))
    if norm(there) > laws[1][STATIC_FRICTION] * pushes[1]:
        there = friction(there, pushes[1], laws[1])
        here = other_friction(w, first, s, rub, sub(there, rub_there))
        if not slides and norm(here) > laws[0][STATIC_FRICTION] * pushes[0]:
            here = friction(here, pushes[0], laws[0])
            there = other_friction(w, second, t, rub_there, sub(here, rub))
    return friction(here, pushes[0], laws[0]), friction(there, pushes[1], laws[1])
