"""Sheets that move as if they were heavier in a substep, and weigh what they do.

The inverse masses of their free particles are multiplied by a factor before they are moved, and restored as the substep
ends. Of gravity they get as much less as they are heavier. Where two systems ask for it, the lower factor holds.
"""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real
from shinari.maths.vec3 import scale
from shinari.model.particles import Particles
from shinari.model.system_model import BoundSystems
from shinari.systems.surface_contact.upright import Upright


class Factors(Record):
    """Objects of the scene, T rows."""

    factor = Field(real, doc="on the inverse masses in this substep")


class Needed(Record):
    """One row: whether a factor is below one."""

    needed = Field(np.int64)


class SheetMasses(Record):
    """Free particles of sheets, and their inverse masses without a load."""

    particle = Field(np.uint32)
    object_index = Field(np.uint16)
    inverse_mass = Field(real, unit="1/kg")


@kernel(mixed=True)
def raise_mass(k, sheets: SheetMasses, factors: Factors, particles: Particles, upright: Upright,
               speed: np.float64):  # fmt: skip
    """Let a particle of a sheet be heavier; `speed`: what gravity adds in the substep [m/s]."""
    i, target = sheets.particle[k], sheets.inverse_mass[k] * factors.factor[sheets.object_index[k]]
    before = particles.x[i, 3]
    if target < before:
        particles.x[i, 3] = target
        part = np.float64(before - target) / np.float64(sheets.inverse_mass[k])
        less, v = scale(upright.up[0], part * speed), particles.v[i]
        particles.v[i] = v[0] + less[0], v[1] + less[1], v[2] + less[2]


@kernel
def restore_mass(k, sheets: SheetMasses, particles: Particles):
    """Let a particle of a sheet be as heavy as it is."""
    particles.x[sheets.particle[k], 3] = sheets.inverse_mass[k]


class Heavier:
    """Sheets that may be heavier than they are.

    Args:
        bound: The simulation.
        upright: The axes of gravity.
        sheets: Which objects they are, (T,) bool.

    Attributes:
        who: Their free particles, (K,).
        factors: Receives the factors of a substep.
        needed: Receives whether there is one.
    """

    def __init__(self, bound: BoundSystems, upright: Upright, sheets: np.ndarray) -> None:
        model = bound.model
        self._particles, self._upright = bound.particles, upright
        self._speed = float(np.linalg.norm(model.gravity)) * bound.settings.substep
        self.factors: Factors = Factors.zeros(len(sheets), model.real)
        self.needed: Needed = Needed.zeros(1, model.real)
        self.who = np.flatnonzero(sheets[model.owners] & (model.inverse_masses > 0.0))
        self._sheets: SheetMasses = SheetMasses.zeros(len(self.who), model.real)
        self._sheets.particle[...], self._sheets.object_index[...] = self.who, model.owners[self.who]
        self._sheets.inverse_mass[...] = bound.state.x[self.who, 3] = model.inverse_masses[self.who]

    def record_raise(self, p: Program) -> None:
        """Record that sheets are heavier."""
        with p.when((self.needed.needed, 0)):
            records = self._sheets, self.factors, self._particles, self._upright
            p.launch(raise_mass, *records, self._speed, count=len(self._sheets), grain=4096)

    def record_restore(self, p: Program) -> None:
        """Record that they are as heavy as they are."""
        with p.when((self.needed.needed, 0)):
            p.launch(restore_mass, self._sheets, self._particles, count=len(self._sheets), grain=4096)
