"""What the solver keeps of the points of contact between bodies; the points are in `contact.table`."""

import numpy as np

from shinari.compute import Field, Record


class PointWork(Record):
    """What the solver keeps of each point during a substep, P rows and room for more."""

    arms = Field(np.float64, 6, unit="m", doc="arms of the surfaces at the start of the substep")
    gap = Field(np.float64, unit="m", doc="gap C - C* now")
    wanted = Field(np.float64, unit="m", doc="C*")
    leap = Field(np.float64, unit="m", doc="part of C* that is due to a bounce")
    slip = Field(np.float64, 3, unit="m", doc="slip now")
    turn = Field(np.float64, 3, unit="rad", doc="relative turn of the bodies in the substep")
    fast = Field(np.float64, unit="m/s", doc="speed along the normal at the start of what may bounce, negative, else 0")
    stiff = Field(np.float64, unit="N/m", doc="k of the row")
    load = Field(np.float64, 3, unit="N", doc="force of the last substep")
    mu = Field(np.float64, doc="coefficient of friction that holds in the substep")
    limit = Field(np.float64, unit="N", doc="normal force that the limit of friction is taken from")
    kept_limit = Field(np.float64, unit="N", doc="limit before the solution")
    push = Field(np.float64, 3, unit="N", doc="force now")
    way = Field(np.float64, 3, doc="direction of the friction while sliding")
    status = Field(np.int64, doc="APART, STICKING or SLIDING")


class Curved(Record):
    """Geoms, G rows."""

    curved = Field(np.bool_, doc="whether a round side without a core rolls away under its points")
