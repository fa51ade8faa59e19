"""Where the solution of the bodies stands: numbers and flags that kernels write and the program reads."""

import numpy as np

from shinari.compute import Field, Record


class Counts(Record):
    """Numbers of rows in use, one row."""

    points = Field(np.int64, doc="points of contact, as in the table")
    elements = Field(np.int64, doc="joints, Jacobian rows and points")
    placed = Field(np.int64, doc="elements that have a place in the graph")
    edges = Field(np.int64, doc="elements that the graph was made of")
    edges_needed = Field(np.int64, doc="with those that it will be made of")
    nodes = Field(np.int64)
    components = Field(np.int64)
    words = Field(np.int64, doc="words of the sets of neighbours")
    blocks = Field(np.int64, doc="blocks of the factor")
    targets = Field(np.int64, doc="products of blocks")
    logged = Field(np.int64, doc="entries of the log")
    log_start = Field(np.int64, doc="first entry of the points of the last substep")
    log_needed = Field(np.int64, doc="entries with those of the points of now")
    renewals = Field(np.int64, doc="how often limits of friction were renewed in the solution")
    steps = Field(np.int64, doc="Newton steps of the solution")


class Flags(Record):
    """Decisions, 0 or 1, one row."""

    finite = Field(np.int64, doc="all poses and velocities are finite numbers")
    again = Field(np.int64, doc="the positions have to be solved")
    fresh = Field(np.int64, doc="the graph is looked at for the first time in the step")
    stale = Field(np.int64, doc="the graph was made for other free frames")
    moved_on = Field(np.int64, doc="the elements have changed since they got their places")
    searching = Field(np.int64, doc="and the graph may have places for them")
    rebuild = Field(np.int64, doc="the graph has to be made anew")
    sweeping = Field(np.int64, doc="a component is solved by sweeps")
    on_path = Field(np.int64, doc="the solution has thrown nothing off the paths that contacts were found for")
    factoring = Field(np.int64, doc="a component has to be factored")
    done = Field(np.int64, doc="all components are solved")
    renewed = Field(np.int64, doc="limits of friction of a component were renewed")
    reconsidering = Field(np.int64, doc="the joints have to be evaluated again")
    renewing = Field(np.int64, doc="limits of friction may be renewed")
    leaping = Field(np.int64, doc="a point bounces to a place of its own")
    wrong = Field(np.int64, doc="the leaps of bounces contradict each other")
    fast = Field(np.int64, doc="a point came fast enough to bounce")
    bouncing = Field(np.int64, doc="a point has bounced")
    settled = Field(np.int64, doc="no point has to pull")
    logging = Field(np.int64, doc="the log of the step has entries")
    other_points = Field(np.int64, doc="the points are others than in the last entries of the log")


class Pushed(Record):
    """Sum of the magnitudes of the impulses from outside when the positions were solved last, one row."""

    total = Field(np.float64)


class Lost(Record):
    """One row: whether a pose or velocity is no finite number."""

    flag = Field(np.int64)
