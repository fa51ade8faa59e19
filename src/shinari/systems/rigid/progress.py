"""Progress of the solution: counters and flags that kernels write and the program reads."""

import numpy as np

from shinari.compute import Field, Record

# Room that lists of pairs, points and blocks get beyond what they need, as a part of it: they are most of the memory.
ROOM = 0.125


class Counts(Record):
    """Numbers of rows in use, one row."""

    points = Field(np.int64, doc="contact points, as in the table")
    elements = Field(np.int64, doc="joints, Jacobian rows and points")
    connections = Field(np.int64, doc="joints and contact points")
    placed = Field(np.int64, doc="elements that are assigned to the graph")
    edges = Field(np.int64, doc="elements that the graph was built from")
    edges_needed = Field(np.int64, doc="with those that it will be built from")
    nodes = Field(np.int64)
    components = Field(np.int64)
    links = Field(np.int64, doc="edges that do not repeat the one before")
    ends = Field(np.int64, doc="ends of links")
    places = Field(np.int64, doc="places in lists of neighbours")
    words = Field(np.int64, doc="words of the sets of neighbours")
    blocks = Field(np.int64, doc="blocks of the factor")
    targets = Field(np.int64, doc="products of blocks")
    large = Field(np.int64, doc="large supernodes")
    panel_rows = Field(np.int64, doc="rows of the largest panel")
    logged = Field(np.int64, doc="entries of the log")
    log_start = Field(np.int64, doc="first entry of the points of the last substep")
    log_first = Field(np.int64, doc="entries of the first run once another has begun; sorted by pair")
    steps = Field(np.int64, doc="Newton steps of the solution")
    renewals = Field(np.int64, doc="renewals of limits of friction in the solution")
    direct_pairs = Field(np.int64, doc="pairs with contact points that are solved directly")
    groups = Field(np.int64, doc="groups of elements that are solved by sweeps")
    batches = Field(np.int64, doc="batches of them")
    tasks = Field(np.int64, doc="batches, or several of one tree, that one thread solves lane after lane")
    rows = Field(np.int64, doc="rows of the contact points in the batches")


class Flags(Record):
    """Decisions, 0 or 1, one row."""

    finite = Field(np.int64, doc="all poses and velocities are finite")
    again = Field(np.int64, doc="the positions have to be solved")
    first_of_step = Field(np.int64, doc="the graph is not yet checked in this step")
    retrying = Field(np.int64, doc="components that rest, but were swept, are tried in this step")
    free_changed = Field(np.int64, doc="the set of free frames has changed")
    table_rebuilt = Field(np.int64, doc="the table of points was rebuilt in this substep")
    elements_changed = Field(np.int64, doc="the elements differ from those that were assigned")
    assign = Field(np.int64, doc="try to assign the elements to the present graph")
    rebuild = Field(np.int64, doc="the graph has to be rebuilt")
    arranged = Field(np.int64, doc="the rebuilt graph has all elements")
    reorder = Field(np.int64, doc="because a component needs an order: all elements become edges")
    sweeping = Field(np.int64, doc="a component is solved by sweeps")
    trying = Field(np.int64, doc="a component is solved directly as a trial")
    failed = Field(np.int64, doc="a trial has failed")
    resting = Field(np.int64, doc="a component may stay where the substep began")
    standing = Field(np.int64, doc="a component stays where the substep began")
    continued = Field(np.int64, doc="the positions were solved before in this substep")
    awake = Field(np.int64, doc="a frame is active")
    solving = Field(np.int64, doc="a frame was active when the contacts of the substep were found")
    idling = Field(np.int64, doc="a body that is awake is slow")
    waking = Field(np.int64, doc="a frame that sleeps is touched or pushed")
    woken_blind = Field(np.int64, doc="a frame was woken in a substep of which no contacts were found")
    on_path = Field(np.int64, doc="the solution has moved no frame off the path along which contacts were found")
    factoring = Field(np.int64, doc="a component has to be factored")
    done = Field(np.int64, doc="all components are solved")
    unsettled = Field(np.int64, doc="a component is not solved")
    renewed = Field(np.int64, doc="limits of friction of a component were renewed")
    reconsidering = Field(np.int64, doc="the joints have to be evaluated again")
    renewing = Field(np.int64, doc="limits of friction may be renewed")
    has_bounce_offset = Field(np.int64, doc="a point has a bounce offset")
    wrong = Field(np.int64, doc="the bounce offsets are inconsistent")
    may_bounce = Field(np.int64, doc="a point approaches fast enough to bounce")
    bouncing = Field(np.int64, doc="a point has bounced")
    settled = Field(np.int64, doc="no point has a negative normal force")
    logging = Field(np.int64, doc="the log of the step has entries")
    other_points = Field(np.int64, doc="the points differ from the last entries of the log")


class ExternalImpulses(Record):
    """Sum of the magnitudes of the external impulses when the positions were solved last, one row."""

    total = Field(np.float64)


class NonFinite(Record):
    """One row: whether a pose or velocity is not finite."""

    flag = Field(np.int64)
