"""Upwards: axes against gravity, and how fast what is pinned of an object is carried along them."""

import numpy as np

from shinari.compute import Field, Program, Record, function, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import dot
from shinari.model.model import Model
from shinari.model.particles import Origins, Particles


class Upright(Record):
    """One row: two horizontal axes and the one against gravity."""

    across = Field(np.float64, 3)
    along = Field(np.float64, 3)
    up = Field(np.float64, 3)


class Pinned(Record):
    """Pinned particles of some objects."""

    particle = Field(np.uint32)
    object_index = Field(np.uint16)
    share = Field(np.float64, doc="one over the pinned particles of its object")


class Drift(Record):
    """Objects of the scene, T rows."""

    speed = Field(np.float64, unit="m/s", doc="mean velocity of what is pinned of it, upwards; 0 where nothing is")


def upright_axes(gravity: np.ndarray) -> np.ndarray:
    """Two horizontal axes and the one against a gravity [m/s^2], as columns (3, 3)."""
    down = gravity / float(np.linalg.norm(gravity))
    across = np.cross(down, np.eye(3)[np.argmin(np.abs(down))])
    across /= np.linalg.norm(across)
    return np.stack([across, np.cross(down, across), -down], axis=1)


@function
def along_axes(i, particles: Particles, origins: Origins, upright: Upright):
    """Place of a particle along the axes [m]."""
    x, origin = particles.x[i], origins.position[particles.origin_index[i]]
    at = np.float64(x[0]) + origin[0], np.float64(x[1]) + origin[1], np.float64(x[2]) + origin[2]
    return dot(upright.across[0], at), dot(upright.along[0], at), dot(upright.up[0], at)


@function
def upward(v, upright: Upright):
    """Component of a vector against gravity."""
    up = upright.up[0]
    return np.float64(v[0]) * up[0] + np.float64(v[1]) * up[1] + np.float64(v[2]) * up[2]


@kernel(fastmath=STEADY, mixed=True)
def measure_drift(_, pinned: Pinned, particles: Particles, drift: Drift, upright: Upright):
    """Mean velocity of what is pinned of each object upwards, as the substep begins."""
    for t in range(len(drift)):
        drift.speed[t] = 0.0
    for k in range(len(pinned)):
        drift.speed[pinned.object_index[k]] += upward(particles.v[pinned.particle[k]], upright) * pinned.share[k]


class PinnedDrift:
    """How fast objects are carried upwards.

    Args:
        model: The model; something weighs.
        particles: Its particles.
        objects: The objects, (T,) bool.

    Attributes:
        upright: The axes.
        drift: The velocities.
    """

    def __init__(self, model: Model, particles: Particles, objects: np.ndarray) -> None:
        self._particles = particles
        self.upright: Upright = Upright.zeros(1, model.real)
        self.upright.across[0], self.upright.along[0], self.upright.up[0] = upright_axes(model.gravity).T
        self.drift: Drift = Drift.zeros(len(objects), model.real)
        who = np.flatnonzero(objects[model.owners] & (model.inverse_masses == 0.0))
        owners = model.owners[who]
        self._pinned: Pinned = Pinned.zeros(len(who), model.real)
        self._pinned.particle[...], self._pinned.object_index[...] = who, owners
        self._pinned.share[...] = 1.0 / np.bincount(owners, minlength=len(objects))[owners]

    def record(self, p: Program) -> None:
        """Record that the velocities are measured."""
        p.serial(measure_drift, self._pinned, self._particles, self.drift, self.upright)
