"""Rest: a scene in which nothing moves any more is not simulated until something changes it.

A step measures how far each particle went. A scene is at rest when for WAIT no particle was faster than a limit so low
that its displacement in a second is below a ten-thousandth of the size of its object, and no body was; the limits of
bodies are those of `shinari.systems.rigid.sleep`. From then on steps only count time: state, forces and contacts stay
as they are, to a bit. What the user writes, a grab, a change of the scene ends it, and the run goes on from there.

In single precision what lies on something trembles by about as much. What can touch nothing does not, and goes on to
its equilibrium; and who asks for double precision wants the digits: the limit is a thousandth of that there.

What nothing holds is never at rest: gravity has to give a hundred times the limits in WAIT, or in the time in which the
damping of the scene takes a speed away if that is shorter, else the scene does not rest.
"""

import numpy as np

from shinari.compute import Field, Program, Record, convert, kernel, real
from shinari.model.model import Model
from shinari.model.particles import Clock, Origins, Particles, UserState
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.rigid.sleep import WAIT

# Limits of speeds by precision [sizes a second].
SLOW = {np.float32: 1e-4, np.float64: 1e-7}

IDLE = "rest/idle"
"""Array of the state: how long the scene has been idle [s], (1,) float64."""

# Loose balls are an object of so many diameters at most: each may roll on by itself.
BALLS = 10.0
# The limits are at most this part of the speed that gravity gives in WAIT.
FALLING = 0.01
# What moves so many times faster in the step that finds the contacts of a state at rest was not at rest.
FAR = 10.0


class Idleness(Record):
    """One row: how long the scene has been idle."""

    time = Field(np.float64, unit="s", doc="how long nothing has moved")


class IdleSpeeds(Record):
    """Limits of the speeds of particles, a row for each origin."""

    squared = Field(real, unit="m^2/s^2")


@kernel
def begin_rest(_, idleness: Idleness, clock: Clock):
    """A step begins: nothing is to be done where all has been idle for WAIT and the user has written nothing."""
    if clock.disturbed[0] != 0:
        idleness.time[0] = 0.0
    clock.disturbed[0] = 0
    clock.awake[0] = idleness.time[0] < WAIT


@kernel
def find_moving(
    i, user: UserState, particles: Particles, origins: Origins, speeds: IdleSpeeds, clock: Clock, inverse_dt: real
):
    """Find out whether a particle moves; the user still sees where it was when the step began."""
    if clock.moving[0] != 0:
        return
    s = user.slot[i]
    g = particles.origin_index[s]
    total = np.float32(0.0) * inverse_dt
    for k in range(3):
        before = user.position[i, k]
        speed = (convert(origins.position[g, k] + particles.x[s, k], before) - before) * inverse_dt
        total += speed * speed
    if not total <= speeds.squared[g]:
        clock.moving[0] = 1


@kernel
def end_rest(_, idleness: Idleness, clock: Clock, dt: np.float64):
    """A step is over: count how long the scene has been idle."""
    idleness.time[0] = 0.0 if clock.moving[0] != 0 else idleness.time[0] + dt


class RestModel(SystemModel):
    """Limits of the speeds of particles at rest.

    Args:
        limits: A limit for each origin [m/s], (G,).
    """

    def __init__(self, limits: np.ndarray) -> None:
        self.limits = limits

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """How long the scene has been idle."""
        return {IDLE: np.zeros(1)}

    def bind(self, bound: BoundSystems) -> "list[Rest]":
        """The rest of a simulation."""
        return [Rest(self.limits, bound)]


def build_rest(scene: Contents, model: Model) -> RestModel | None:
    """How slow the particles of each origin are when they are at rest, by the size of their objects."""
    if model.particle_count == 0:
        return None
    limits = np.full(len(model.origins), np.inf)
    owners, first = np.unique(model.owners, return_index=True)
    for obj, g in zip((scene.particle_objects[k] for k in owners), model.origin_index[first], strict=True):
        size = float(np.ptp(obj.positions, axis=0).max())
        if obj.kind in ("grains", "particles") and obj.radii.any():
            size = min(size, BALLS * 2.0 * float(obj.radii.max()))
        limits[g] = min(limits[g], SLOW[model.real] * size)
    return RestModel(limits)


class Rest(System):
    """Finds out whether one simulation is at rest.

    Args:
        limits: Speeds below which the particles of each origin are idle [m/s], (G,).
        bound: The simulation.
    """

    order = 95

    def __init__(self, limits: np.ndarray, bound: BoundSystems) -> None:
        model, self._settings = bound.model, bound.settings
        time = WAIT if model.damping * WAIT < 1.0 else 1.0 / model.damping
        falling = FALLING * float(np.linalg.norm(model.gravity)) * time
        self._allowed = self._settings.sleep and self._settings.device == "cpu" and limits.max() <= falling
        self._speeds = IdleSpeeds(model.real, squared=np.square(limits).astype(model.real))
        self._idleness = Idleness(time=bound.state.system_arrays[IDLE])
        self._particles, self._clock, self._origins, self._user = (
            bound.particles,
            bound.clock,
            bound.origins,
            bound.user,
        )
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
        """Whether a particle has left where it was a step before, (N, 4), by far more than at rest."""
        x, dt = self._particles.x, self._settings.dt
        moved = np.square(x[:, :3] - before[:, :3]).sum(axis=1)
        return bool((moved > FAR**2 * dt**2 * self._speeds.squared[self._particles.origin_index]).any())

    def wake(self) -> None:
        """The scene has changed."""
        self._idleness.time[0] = 0.0

    def record_read(self, p: Program) -> None:
        """Decide whether the step has anything to do, after what the user wrote was read."""
        p.serial(begin_rest, self._idleness, self._clock)

    def record_check(self, p: Program) -> None:
        """Look for particles that move, before the user sees where they are now."""
        records = self._user, self._particles, self._origins, self._speeds, self._clock
        p.copy(0, (self._clock.moving, 0))
        p.launch(find_moving, *records, 1.0 / self._settings.dt, count=len(self._user))

    def record_end(self, p: Program) -> None:
        """Ask the other systems, and count."""
        for system in self._others:
            if system.active:
                system.tell_moving(p)
        p.serial(end_rest, self._idleness, self._clock, self._settings.dt)
