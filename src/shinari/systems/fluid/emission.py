"""Particles of fluids that come and go: what emitters let out and sinks take away, at the start of each step.

A particle that waits, or is gone for good, keeps its row in all arrays: it has no inverse mass and no velocity, and
stays where it is. The fluid leaves it out of its lists, and so does whoever asks `Model.inactive`.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program
from shinari.errors import FluidWarning, warn
from shinari.geometry.motion import rotation_matrix
from shinari.model.system import System
from shinari.scene.emitter import Emitter, Sink
from shinari.shapes.kernels.encode import Samples, SolidShape, encode_shapes, measure_distance
from shinari.shapes.kernels.mesh_distance import mesh_fields
from shinari.systems.fluid.model import ACTIVE, BIRTHS, DENSITIES, LAYERS, PRESSURES, SUNK, FluidModel

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.state import State
    from shinari.scene.contents import Contents


class Emission(System):
    """The emitters and sinks of one simulation."""

    order = 2
    on_device = True

    def __init__(self, scene: "Contents", fluids: FluidModel, model: "Model", state: "State") -> None:
        self._fluids, self._model, self._state = fluids, model, state
        particles = fluids.particles
        self._inverse_masses = model.inverse_masses[particles].astype(model.real)
        self._origin = model.origin_index[particles[:1]]
        state.x[particles, 3] = np.where(state.system_arrays[ACTIVE], self._inverse_masses, 0.0)
        self._nozzles = [
            _Nozzle(emitter, scene.particle_objects[object_number].name, np.flatnonzero(fluids.phases == phase), k)
            for k, (phase, object_number, emitter) in enumerate(fluids.emitting)
        ]
        self._regions = [_Region(sink, len(particles)) for sink in fluids.sinks]

    def begin(self, time: float, ends: np.ndarray) -> None:
        """A step begins at a time [s]: take away what is in a sink, then let out what has left its nozzle.

        Warns:
            FluidWarning: The limit of an emitter is reached.
        """
        for index, region in enumerate(self._regions):
            self._drain(index, region)
        for nozzle in self._nozzles:
            self._pour(nozzle, time)

    def _drain(self, index: int, region: "_Region") -> None:
        """Take away the particles in a sink."""
        parts, state = self._state.system_arrays, self._state
        there = np.flatnonzero(parts[ACTIVE])
        taken = there[region.holds(self._places(there))]
        if len(taken) == 0:
            return
        parts[ACTIVE][taken] = False
        parts[SUNK][index] += len(taken)
        slots = self._fluids.particles[taken]
        state.x[slots, 3] = 0.0
        state.v[slots] = 0.0
        self._forget(taken)

    def _pour(self, nozzle: "_Nozzle", time: float) -> None:
        """Let out the layers that have left a nozzle since the last step."""
        parts = self._state.system_arrays
        emitter = nozzle.emitter
        first, last = int(parts[LAYERS][nozzle.index]), emitter.layers(time)
        if last <= first:
            return
        parts[LAYERS][nozzle.index] = last
        layers = [self._layer(nozzle, m, time) for m in range(first, last)]
        places, velocities = (np.concatenate(arrays) for arrays in zip(*layers, strict=True))
        out = parts[ACTIVE][nozzle.members]
        free = nozzle.members[~out]
        if len(places) > len(free):
            if emitter.recycle:
                # the newest of what flows out, in the place of the oldest of what is there
                kept = slice(max(len(places) - len(nozzle.members), 0), None)
                places, velocities = places[kept], velocities[kept]
                others = nozzle.members[out]
                oldest = others[np.argsort(parts[BIRTHS][others], kind="stable")]
                free = np.concatenate([free, oldest])
            else:
                nozzle.say(time)
        count = min(len(places), len(free))
        self._place(free[:count], places[:count], velocities[:count])
        parts[BIRTHS][free[:count]] = parts[BIRTHS][nozzle.members].max() + 1 + np.arange(count)

    def _layer(self, nozzle: "_Nozzle", number: int, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Where a layer has flown to until a time [s], and its velocities, (K, 3) each."""
        left_at = nozzle.emitter.start + number * nozzle.emitter.interval
        flown = max(time - left_at, 0.0)
        places, velocity = nozzle.emitter.layer(left_at, f"emitter {nozzle.name!r}")
        displacement = flown * velocity + 0.5 * flown**2 * self._model.gravity
        return places + displacement, np.broadcast_to(velocity + flown * self._model.gravity, places.shape)

    def _place(self, chosen: np.ndarray, places: np.ndarray, velocities: np.ndarray) -> None:
        """Put fluid particles into the world, (n,), at places [m] with velocities [m/s], (n, 3)."""
        state, slots = self._state, self._fluids.particles[chosen]
        state.x[slots, :3] = places - state.origins[self._origin]
        state.x[slots, 3] = self._inverse_masses[chosen]
        state.v[slots] = velocities
        state.system_arrays[ACTIVE][chosen] = True
        self._forget(chosen)

    def _forget(self, chosen: np.ndarray) -> None:
        """Particles begin without a pressure."""
        self._state.system_arrays[PRESSURES][chosen] = 0.0
        self._state.system_arrays[DENSITIES][chosen] = 0.0

    def _places(self, chosen: np.ndarray) -> np.ndarray:
        """Places of fluid particles in the world [m], (n, 3) float64."""
        return self._state.x[self._fluids.particles[chosen], :3] + self._state.origins[self._origin]


class _Nozzle:
    """An emitter with its particles among those of the fluids."""

    def __init__(self, emitter: Emitter, name: str, members: np.ndarray, index: int) -> None:
        self.emitter, self.name, self.members, self.index = emitter, name, members, index
        self._said = False

    def say(self, time: float) -> None:
        """Warn, once, that all particles are out."""
        if not self._said:
            self._said = True
            warn(
                f"emitter {self.name!r}: limit: all {len(self.members)} particles are out at t = {time:g} s; no more "
                f"leave until a sink takes some. A higher limit lets out more, recycle=True the oldest again",
                FluidWarning,
            )


class _Region:
    """A sink, ready to be asked what it holds."""

    def __init__(self, sink: Sink, most: int) -> None:
        """Take a sink that is asked about at most so many points."""
        self._position, self._matrix = sink.position, rotation_matrix(sink.rotation)
        self._low, self._high = sink.shape.bounds()
        kinds, numbers, fields = encode_shapes([sink.shape], np.float64)
        shape = SolidShape(np.float64, kind=kinds, size=numbers)
        self._samples: Samples = Samples.zeros(most, np.float64)
        self._count, self._program = np.zeros(1, np.int64), Program()
        arguments = self._samples, shape, mesh_fields(fields, np.float64)
        self._program.launch(measure_distance(len(fields) > 0, kinds[0]), *arguments, count=(self._count, 0))

    def holds(self, points: np.ndarray) -> np.ndarray:
        """Which of the points [m], (n, 3), are inside, (n,) bool."""
        # not by a matrix product: its threads wait for each other longer than this takes
        local = np.einsum("ij,jk->ik", points - self._position, self._matrix)
        inside = ((local >= self._low) & (local <= self._high)).all(axis=1)
        count = self._count[0] = int(inside.sum())
        self._samples.point[:count] = local[inside]
        self._program.run()
        inside[inside] = self._samples.distance[:count] < 0.0
        return inside
