"""Records of the graph: its nodes and components, and the blocks of the factor.

`shinari.systems.rigid.graph` builds them.
"""

from typing import NamedTuple

import numpy as np

from shinari.compute import Field, Record
from shinari.maths.function import steady
from shinari.maths.vec3 import dot, sub
from shinari.systems.rigid.integration import velocity_at

# Solution of a component: 0 solved; 1 pending: this Newton step has found no reason for another; 2 another step is
# needed; 3 another step is needed because limits of friction were renewed.
SOLVED, PENDING, UNSETTLED, RENEWED = range(4)
# Carrier of a component that nothing immovable touches, and of one that several such frames do.
NO_CARRIER, SEVERAL = -1, -2
# Whether a component stays where the substep began: no; it is tried; it was found to; it is kept as in the last one.
MOVES, TRIED, FOUND, KEPT = range(4)
# Ratio of masses above which a light component is solved directly: sweeps carry little through a light body.
UNEVEN = 100.0
# The same of a small component of contacts alone: the springs of sweeps give by a part of what a light body is pressed.
MIXED = 4.0
# Part of the speed that gravity gives in a step below which a component that was swept rests.
RESTING = 0.1
# Part of the stiffness of its points with which a component begins to rest: that of their overlaps that recovers in a
# substep.
UNLOADED = 0.2
# Bodies above which a component is solved directly only until it is swept, and the part of the speed that gravity gives
# in a substep below which it then rests: the states of its points take many factors, each of which costs as much as
# some steps of sweeps. What a heap sinks in its first substep, and how fast, grows with the substep.
LARGE, STILL = 2048, 0.24
# Square of a rotation [rad^2] below which the last Newton step of a loop that holds something twice has settled it.
SETTLED = 1e-8**2


class Nodes(Record):
    """Nodes in order of elimination, component after component, N rows and one."""

    frame = Field(np.int64)
    component = Field(np.int64)
    column = Field(np.int64, doc="where its blocks below the diagonal start")
    target = Field(np.int64, doc="where the targets of the products of its supernode start, if it is the last of one")
    matrix = Field(np.float64, (6, 6), doc="block of the diagonal, its upper triangle, then the factor")
    vector = Field(np.float64, 6, doc="right hand side, then displacement")
    evaluated = Field(np.float64, 6, doc="displacement at which sweeps have evaluated the joints")
    residual = Field(np.float64, 6, doc="of the conjugate gradients, as the following")
    correction = Field(np.float64, 6, doc="residual divided by the factor")
    direction = Field(np.float64, 6, doc="direction of the iteration")
    image = Field(np.float64, 6, doc="the matrix times the direction")
    squares = Field(np.float64, unit="N^2/m^2", doc="sum of the squares of the stiffnesses of points that push it")
    # work arrays of the ordering, by local index in each component
    member = Field(np.int64, doc="frame")
    order = Field(np.int64, doc="local index of the node with this elimination rank")
    rank = Field(np.int64, doc="elimination rank of the node")
    size = Field(np.int64, doc="blocks in the column with this elimination rank")
    parent = Field(np.int64, doc="rank of the parent in the elimination tree; -1 for a root")
    heir = Field(np.int64, doc="rank of the child that is to come right before it; -1 for none")
    subtree = Field(np.int64, doc="nodes of its subtree, then the last place that its other children leave")
    place = Field(np.int64, doc="rank in the order by subtrees")
    next = Field(np.int64, doc="next node of the component, by its least frame, while nodes are numbered")
    end = Field(np.int64, doc="end of its part of `Ends`")
    number = Field(np.int64, doc="component by its least frame, while nodes are numbered")
    degree = Field(np.int64, doc="neighbours that are not eliminated; -1 once it is eliminated")
    # of the sweeps
    tree = Field(np.int64, doc="its body in the trees of joints; -1 for none, also in the last row")
    colours = Field(np.int64, doc="bits of the colours of its groups")
    mobility = Field(
        np.float64,
        7,
        doc="h^2 times inverse inertia, xx yy zz yz zx xy, and inverse mass; 0 in the last row, for immovable frames",
    )


class Components(Record):
    """Components, C rows and one."""

    node = Field(np.int64, doc="its first node")
    element = Field(np.int64, doc="its first element in their order")
    word = Field(np.int64, doc="first word of its sets of neighbours")
    eliminated = Field(np.int64, doc="first node that is not eliminated yet")
    ordered = Field(np.int64, doc="whether it can be solved directly: it has an order and blocks")
    moving = Field(np.int64, doc="whether an order was sought only up to the cost of a simple component")
    direct = Field(np.int64, doc="whether it is solved directly, not by sweeps")
    uneven = Field(np.int64, doc="whether its masses are very different, and it has no joints")
    figure = Field(np.int64, doc="whether it has contact points and its joints are trees")
    redundant = Field(np.int64, doc="whether a loop of its joints holds something twice")
    softness = Field(np.float64, doc="part of the stiffness of its points: UNLOADED as it begins to rest, else 1")
    trial = Field(np.int64, doc="whether it is solved directly as a trial")
    tries = Field(np.int64, doc="Newton steps after which a trial has failed")
    calm = Field(np.int64, doc="whether it is solved directly because it rests")
    resting = Field(np.int64, doc="whether it has contact points only, and is calm, see `Motion`")
    stays = Field(
        np.int64, doc="whether it rests in the world, and its masses are not very different: it may stay where it is"
    )
    stands = Field(np.int64, doc="MOVES, TRIED, FOUND or KEPT")
    stood = Field(np.int64, doc="whether it stayed in the last substep of this step, with one solution")
    disturbed = Field(np.int64, doc="whether something else is with it than in the last substep, or it cannot stay")
    carrier = Field(np.int64, doc="the one immovable frame that it touches, or is joined to; NO_CARRIER, SEVERAL")
    cost = Field(np.float64, doc="products of blocks of its factor")
    factored = Field(np.int64, doc="whether its factor can be used again in this step")
    factoring = Field(np.int64, doc="whether it has to be factored")
    factorings = Field(np.int64, doc="number of factorings in the step")
    failures = Field(np.int64, doc="number of conjugate gradient solutions that did not converge")
    iterations = Field(np.int64, doc="iterations with an earlier factor in the step")
    gradual = Field(np.int64, doc="whether its points may find their states over several substeps")
    early = Field(np.int64, doc="whether its Newton steps have ended before they did")
    solution = Field(np.int64, doc="SOLVED, PENDING, UNSETTLED or RENEWED")
    crossing = Field(np.int64, doc="whether a point changes its state on the full step")
    exceeding = Field(np.int64, doc="whether the limit of friction of a point is not that of its normal force")
    part = Field(np.float64, doc="part of the step that is taken, and of impulses")
    slope = Field(np.float64, 2, unit="J", doc="slope of the energy without the points: at the start, and its rise")
    slope_at_ends = Field(np.float64, 2, unit="J", doc="slope of the energy at the start and end of the step")
    rounding = Field(np.float64, unit="m", doc="rounding of the gaps of its points, by that of the positions")
    largest_rotation_squared = Field(
        np.float64, unit="rad^2", doc="square of the largest rotation of a full step; infinite for a partial step"
    )
    renewed = Field(np.int64, doc="whether limits of friction were renewed")
    bounces = Field(np.int64, doc="1: points approach fast enough to bounce, 2: and have bounced")
    state = Field(np.int64, doc="FREE, HELD or UNLIMITED")
    reference = Field(np.float64, 3, unit="m/s", doc="velocity of the immovable frames in contact")
    limit = Field(np.float64, unit="J", doc="largest kinetic energy after impacts")
    wrong = Field(np.int64, doc="whether the bounce offsets are inconsistent")


class Blocks(Record):
    """Blocks of the factor beside the diagonal, B rows."""

    row = Field(np.int64, doc="the node that is eliminated later; ascending for each node")
    value = Field(np.float64, (6, 6), doc="rows of the node of the column, columns of the other")


class Targets(Record):
    """For each supernode and each pair (k, i) of the rows below it, i after k, row after row; T rows."""

    block = Field(np.int32, doc="the block that their products are subtracted from")


class Links(Record):
    """The edges between two nodes, but for those that repeat the one before."""

    nodes = Field(np.int32, 2)


class Ends(Record):
    """The other ends of the links of each node, node after node, with repetitions."""

    node = Field(np.int32)


class Neighbours(Record):
    """Sets of neighbours as bits: for each node of a component as many words as it takes."""

    word = Field(np.int64)


class Edges(Record):
    """The elements that the graph was built from."""

    frames = Field(np.int32, 2)


@steady
def is_again(edges, e):
    """Whether an edge is that of the element before, as those of the points of a pair are."""
    return e > 0 and edges.frames[e] == edges.frames[e - 1]


class RestSpeeds(Record):
    """Speeds below which components rest, one row."""

    slow = Field(np.float64, unit="m/s", doc="speed that gravity gives in a step")
    large = Field(np.float64, unit="m/s", doc="that of a component of more than `LARGE` bodies")

    @classmethod
    def of(cls, gravity: float, dt: float, h: float) -> "RestSpeeds":
        """For a magnitude of gravity [m/s^2], a step and a substep [s]."""
        return cls(slow=np.array([gravity * dt]), large=np.array([STILL * gravity * h]))


class Motion(NamedTuple):
    """What a component does, and what it is.

    Attributes:
        calm: Whether it rests, slower than gravity makes it in a step, in the world or on its carrier.
        still: Whether it rests in the world.
        stirred: Whether all of its bodies move.
        swept: Whether sweeps have solved one of its frames.
        uneven: Whether its masses are very different.
        mixed: Whether they are different.
        large: Whether it has more than `LARGE` bodies.
    """

    calm: bool
    still: bool
    stirred: bool
    swept: bool
    uneven: bool
    mixed: bool
    large: bool


@steady
def motion_of(c, components, nodes, frames, solver_frames, speeds):
    """Motion of a component, in the world and seen from its carrier.

    A heap on a platform that moves, or turns, is solved as one on the ground.
    """
    speed, slowest, least, most, swept, carried = 0.0, np.inf, np.inf, 0.0, False, 0.0
    large, carrier = components.node[c + 1] - components.node[c] > LARGE, components.carrier[c]
    for j in range(components.node[c], components.node[c + 1]):
        f = nodes.member[j]
        v, w = solver_frames.start_v[f], frames.inverse_mass[f]
        speed, slowest, swept = max(speed, dot(v, v)), min(slowest, dot(v, v)), swept or solver_frames.swept[f]
        least, most = min(least, w), max(most, w)
        if carrier >= 0:
            arm = sub(frames.x0[f], frames.x0[carrier])
            v = sub(v, velocity_at(solver_frames.free_v, solver_frames.free_w, carrier, arm))
            carried = max(carried, dot(v, v))
    slow = speeds.slow[0]
    limit = speeds.large[0] if large else (RESTING * slow if swept else slow)
    limit *= limit
    still = speed <= limit and not (large and swept)
    calm = still or (carrier >= 0 and carried <= limit and not (large and swept))
    stirred = slowest > limit and not calm
    return Motion(calm, still, stirred, swept, most > UNEVEN * least, most > MIXED * least, large)


@steady
def may_be_direct(motion):
    """Whether a component that is not simple may be solved directly."""
    return motion.calm or not (motion.swept or motion.large) or motion.uneven


@steady
def is_unsettled_loop(c, components):
    """Whether joints of a component hold something twice, and its last Newton step still turned a body.

    What a step leaves at second order contradicts itself there, and JOINT_STIFFNESS times that is a load that the
    motion does not ask for. Returned to the bodies, it would grow.
    """
    loop = components.redundant[c] != 0 and components.direct[c] != 0
    return loop and components.largest_rotation_squared[c] > SETTLED


@steady
def is_unsolved(e, elements, components):
    """Whether the Newton steps of the substep ended before the component of an element was solved."""
    component = elements.component[e]
    return component >= 0 and components.solution[component] != SOLVED


@steady
def has_failed(c, components):
    """Whether the trial of a component has failed."""
    return c >= 0 and components.trial[c] != 0 and components.direct[c] == 0
