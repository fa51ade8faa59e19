"""Rest: a scene in which nothing moves any more is not simulated until something changes it.

A scene is idle while no particle is farther from where it was as that began, its anchor, than a ten-thousandth of the
size of its object, and no body is faster than the limits of `shinari.systems.rigid.sleep`. It is at rest when it has
been idle for WAIT. From then on steps only count time: state, forces and contacts stay as they are, to a bit. What the
user writes, a grab, a change of the scene ends it, and the run goes on from there.

Speeds would tell less: sheets that lie on something tremble without end, a few vertices by a hundredth of their
thickness a step, and go nowhere. What can touch nothing does not tremble, and goes on to its equilibrium; and who asks
for double precision wants the digits: the limit is a thousandth of that there.

What nothing holds is never at rest: gravity has to give a hundred times the mean speed that the limit allows in WAIT,
or in the time in which the damping of the scene takes a speed away if that is shorter, else the scene does not rest.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real
from shinari.maths.vec3 import dot, sub
from shinari.model.model import Model
from shinari.model.particles import Clock, Particles, UserState
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.rigid.sleep import WAIT

# How far a particle may be from its anchor by precision [sizes].
NEAR = {np.float32: 1e-4, np.float64: 1e-7}

IDLE, ANCHORS = "rest/idle", "rest/anchors"
"""Arrays of the state: how long the scene has been idle [s], (1,) float64; where it was as that began [m], (N, 3)."""

# Loose balls are an object of so many diameters at most: each may roll on by itself.
BALLS = 10.0
# The limits are at most this part of what the speed that gravity gives in WAIT would do in WAIT.
FALLING = 0.01


class Idleness(Record):
    """One row: how long the scene has been idle."""

    time = Field(np.float64, unit="s", doc="how long nothing has moved")


class Anchors(Record):
    """Where particles were as the scene began to be idle, in the order in which they were added, N rows."""

    position = Field(real, 3, unit="m")


class Limits(Record):
    """How far particles may be from their anchors, a row for each origin."""

    squared = Field(real, unit="m^2")


@kernel
def begin_rest(_, idleness: Idleness, clock: Clock):
    """A step begins: nothing is to be done where all has been idle for WAIT and the user has written nothing."""
    if clock.disturbed[0] != 0:
        idleness.time[0] = 0.0
    clock.disturbed[0] = 0
    clock.awake[0] = idleness.time[0] < WAIT


@kernel
def find_moving(i, user: UserState, particles: Particles, anchors: Anchors, limits: Limits, clock: Clock):
    """Find out whether a particle has left its anchor."""
    if clock.moving[0] != 0:
        return
    d = sub(user.position[i], anchors.position[i])
    if not dot(d, d) <= limits.squared[particles.origin_index[user.slot[i]]]:
        clock.moving[0] = 1


@kernel
def set_anchor(i, user: UserState, anchors: Anchors):
    """A particle is idle from here on."""
    anchors.position[i] = user.position[i]


@kernel
def end_rest(_, idleness: Idleness, clock: Clock, dt: np.float64):
    """A step is over: count how long the scene has been idle."""
    idleness.time[0] = 0.0 if clock.moving[0] != 0 else idleness.time[0] + dt


class RestModel(SystemModel):
    """How far particles at rest may be from their anchors.

    Args:
        limits: A limit for each origin [m], (G,).
    """

    def __init__(self, limits: np.ndarray) -> None:
        self.limits = limits

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """How long the scene has been idle, and anchors, which the first step sets."""
        return {IDLE: np.zeros(1), ANCHORS: np.zeros((model.particle_count, 3), model.real)}

    def bind(self, bound: BoundSystems) -> "list[Rest]":
        """The rest of a simulation."""
        return [Rest(self.limits, bound)]


def build_rest(scene: Contents, model: Model) -> RestModel | None:
    """How far the particles of each origin go when they are at rest, by the size of their objects; no fluid rests."""
    objects = [scene.particle_objects[k] for k in np.unique(model.owners)]
    if not objects or any(obj.kind == "fluid" for obj in objects):
        return None
    limits = np.full(len(model.origins), np.inf)
    _, first = np.unique(model.owners, return_index=True)
    for obj, g in zip(objects, model.origin_index[first], strict=True):
        size = float(np.ptp(obj.positions, axis=0).max())
        if obj.kind in ("grains", "particles") and obj.radii.any():
            size = min(size, BALLS * 2.0 * float(obj.radii.max()))
        limits[g] = min(limits[g], NEAR[model.real] * size)
    return RestModel(limits)


class Rest(System):
    """Finds out whether one simulation is at rest.

    Args:
        limits: How far the particles of each origin may be from their anchors [m], (G,).
        bound: The simulation.
    """

    order = 95

    def __init__(self, limits: np.ndarray, bound: BoundSystems) -> None:
        model, self._settings = bound.model, bound.settings
        time = WAIT if model.damping * WAIT < 1.0 else 1.0 / model.damping
        falling = FALLING * float(np.linalg.norm(model.gravity)) * time * WAIT
        self._allowed = self._settings.sleep and self._settings.device == "cpu" and limits.max() <= falling
        self._limits = Limits(model.real, squared=np.square(limits).astype(model.real))
        self._idleness = Idleness(time=bound.state.system_arrays[IDLE])
        self._anchors = Anchors(model.real, position=bound.state.system_arrays[ANCHORS])
        self._particles, self._clock, self._user = bound.particles, bound.clock, bound.user
        self._others: list[System] = []
        self._possible = False

    def connect(self, bound: BoundSystems) -> None:
        """Find the other systems: what one of them never leaves alone is never at rest."""
        self._others = [system for system in bound.all_bound(System) if system is not self]
        touches = any(system.solves_contacts and system.active for system in self._others)
        self._possible = self._allowed and touches and all(system.can_rest for system in self._others)

    @property
    def active(self) -> bool:
        """Whether the scene may come to rest."""
        return self._possible

    def left(self, before: np.ndarray) -> bool:
        """Whether a particle has left where it was a step before, (N, 4), by more than at rest."""
        x = self._particles.x
        moved = np.square(x[:, :3] - before[:, :3]).sum(axis=1)
        return bool((moved > self._limits.squared[self._particles.origin_index]).any())

    def wake(self) -> None:
        """The scene has changed."""
        self._idleness.time[0] = 0.0

    def record_read(self, p: Program) -> None:
        """Decide whether the step has anything to do, after what the user wrote was read."""
        p.serial(begin_rest, self._idleness, self._clock)

    def record_end(self, p: Program) -> None:
        """Look for what moves once the user sees where it is now, and count."""
        clock, count = self._clock, len(self._user)
        p.copy(0, (clock.moving, 0))
        p.launch(find_moving, self._user, self._particles, self._anchors, self._limits, clock, count=count)
        for system in self._others:
            if system.active:
                system.tell_moving(p)
        with p.when((clock.moving, 0)):
            p.launch(set_anchor, self._user, self._anchors, count=count)
        p.serial(end_rest, self._idleness, clock, self._settings.dt)
