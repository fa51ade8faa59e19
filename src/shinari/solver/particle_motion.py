"""The particles as a system: prediction, velocities, and the way to and from what the user sees."""

import math
from typing import Any

import numpy as np

from shinari.compute import Field, Kernel, Program, Record, convert, kernel, real
from shinari.model.model import Model
from shinari.model.particles import (
    Clock,
    Origins,
    Particles,
    Times,
    UserState,
    predict,
    publish,
    read_user_state,
    update_velocities,
)
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel

# Particles of one part of the check for finite numbers: few, for on a GPU a thread has a part.
CHUNK = 64


class Lost(Record):
    """One row: whether a position or a velocity is no finite number."""

    flag = Field(np.int64)


@kernel
def find_lost(b, particles: Particles, lost: Lost):
    """Look for what is not finite among the particles of a block: its sum is not, either."""
    total = np.float32(0.0) * particles.x[b * CHUNK, 3]
    for i in range(b * CHUNK, min((b + 1) * CHUNK, len(particles))):
        x, v = particles.x[i], particles.v[i]
        total += x[0] + x[1] + x[2] + v[0] + v[1] + v[2]
    if not abs(total) < np.inf:
        lost.flag[0] = 1


class ParticleMotion(System):
    """The particles of one simulation."""

    order = 20
    can_rest = True
    on_device = True

    def __init__(
        self, model: Model, settings: Settings, user: UserState, particles: Particles, origins: Origins, clock: Clock
    ) -> None:
        self._model, self._settings = model, settings
        self._user, self._particles, self._origins, self._clock = user, particles, origins, clock
        self._lost = Lost.zeros(1)

    def record_read(self, p: Program) -> None:
        """Take over what the user wrote."""
        records = self._user, self._particles, self._origins, self._clock
        p.launch(read_user_state, *records, 1.0 / self._settings.dt, count=len(self._user))

    def record_predict(self, p: Program) -> None:
        """Advance velocities and positions."""
        h = self._settings.substep
        p.launch(predict, self._particles, *(h * self._model.gravity), h, count=len(self._particles))

    def record_velocities(self, p: Program) -> None:
        """Derive velocities from positions."""
        h = self._settings.substep
        decay = math.exp(-self._model.damping * h)
        p.launch(update_velocities, self._particles, decay, 1.0 / h, count=len(self._particles))

    def record_check(self, p: Program) -> None:
        """Stop the run where a particle is lost."""
        p.copy(0, (self._lost.flag, 0))
        p.launch(find_lost, self._particles, self._lost, count=-(-len(self._particles) // CHUNK), grain=64)
        p.stop_if((self._lost.flag, 0))

    def record_end(self, p: Program) -> None:
        """Show positions and velocities to the user."""
        p.launch(publish, self._user, self._particles, self._origins, count=len(self._user))


class ForceFieldModel(SystemModel):
    """Force fields; they stand in the model."""

    def bind(self, bound: BoundSystems) -> "list[ForceFields]":
        """The force fields of a simulation."""
        kernels = [force_kernel(function) for function in bound.model.force_fields]
        return [ForceFields(kernels, bound.particles, bound.origins, bound.clock, bound.settings)] if kernels else []


class ForceFields(System):
    """Force fields of one simulation."""

    order = 0
    on_device = True

    def __init__(
        self, kernels: list[Kernel], particles: Particles, origins: Origins, clock: Clock, settings: Settings
    ) -> None:
        self._kernels, self._settings = kernels, settings
        self._times = Times.zeros(settings.substeps, particles.precision)
        self._records = particles, origins, clock, self._times

    def begin(self, time: float, ends: np.ndarray) -> None:
        """Tabulate the times at which substeps end."""
        self._times.end[...] = ends

    def record_forces(self, p: Program) -> None:
        """Add the forces to the velocities."""
        for each in self._kernels:
            p.launch(each, *self._records, self._settings.substep, count=len(self._records[0]))


def force_kernel(field: Any) -> Kernel:
    """Kernel of a force field, a user's function f(x, v, m, t): adds h w f to the velocity of a free particle."""

    @kernel(subject="force field: function")
    def apply_force(i, particles: Particles, origins: Origins, clock: Clock, times: Times, h: real):
        x = particles.x[i]
        w = x[3]
        if w > np.float32(0.0):
            o, v = origins.position[particles.origin_index[i]], particles.v[i]
            p = convert(o[0], w) + x[0], convert(o[1], w) + x[1], convert(o[2], w) + x[2]
            f = field(p, v, np.float32(1.0) / w, times.end[clock.substep[0]])
            # one by one: a field may mix precisions, as in `x[0], 0.0, 0.0`
            particles.v[i] = v[0] + h * w * f[0], v[1] + h * w * f[1], v[2] + h * w * f[2]

    return apply_force
