"""Loose particles that are far from all surfaces: they take no part until they may have come near.

A step begins with the boxes of all objects. Where those of loose particles (fluids, grains, cloth in particle mode) are
too far from those of surfaces for any to meet in the step, contacts know of the surfaces alone. Each substep then only
looks whether a particle has gone half of the distance.
"""

import numpy as np

from shinari.compute import Program, kernel, real
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import ZERO, add
from shinari.model.model import Model
from shinari.model.particles import Origins, Particles
from shinari.systems.particle_contact.idle_objects import IdleObjects
from shinari.systems.particle_contact.records import CHUNK, Chunks, Control
from shinari.systems.particle_contact.records import Members as Balls
from shinari.systems.surface_contact.build import Participants
from shinari.systems.surface_contact.records import ContactParticles, DetectionState, Frames, Members, Paths

# With more pairs of loose and other objects than this nobody asks which of them may meet.
MANY = 10_000


@kernel
def choose_members(_, control: Control, detection: DetectionState):
    """Loose particles take part unless they are far from all surfaces."""
    far = control.idle[0] != 0
    detection.loose[0] = not far
    detection.members[0] = detection.surface_members[0] if far else detection.all_members[0]


@kernel
def wake_loose(_, control: Control, detection: DetectionState):
    """Loose particles take part from now on: all pairs are found anew."""
    control.idle[0], detection.loose[0], detection.found[0] = 0, 1, 0
    detection.members[0] = detection.all_members[0]


@kernel(fastmath=STEADY)
def trace_paths(
    m, members: Members, detection: DetectionState, paths: Paths, contact_particles: ContactParticles,
    particles: Particles, frames: Frames, h: real,
):  # fmt: skip
    """Where a loose particle that comes near was when the substep began."""
    if m < detection.surface_members[0]:
        return
    i = members.particle[m]
    p, v, offset = particles.predicted[i], particles.v[i], frames.offset[particles.origin_index[i]]
    begin = p[0] - h * v[0], p[1] - h * v[1], p[2] - h * v[2]
    paths.begin[i], paths.place[i] = begin, add(begin, offset)
    contact_particles.path[i], contact_particles.last_position[i] = ZERO * h, begin


class LooseParticles:
    """Watches loose particles that are far from all surfaces.

    Args:
        model: The model.
        who: What can be in contact.
        members: Particles that take part, ascending, (P,).
        particles: Particles.
        origins: Origins that positions are relative to.
        detection: State of the detection.

    Attributes:
        reach: Distance of surfaces up to which somebody asks for them [m].
    """

    def __init__(
        self, model: Model, who: Participants, members: np.ndarray, particles: Particles, origins: Origins,
        detection: DetectionState,
    ) -> None:  # fmt: skip
        real, owners = model.real, model.owners[members]
        self._balls, self._detection, self.reach = Balls.zeros(len(members), real), detection, 0.0
        self._balls.bind(particle=members.astype(np.uint32), radius=model.radii[members])
        self._control, chunks = Control.zeros(1, real), Chunks.zeros(-(-len(members) // CHUNK), real)
        self._idle = IdleObjects(owners, loose_pairs(who), self._balls, particles, origins, self._control, chunks)

    def record_begin(self, p: Program, fall: float, dt: float) -> None:
        """Record whether they are far; `fall` [m/s] is what gravity gives in a step of length dt [s]."""
        self._idle.record_idle(p, fall, dt, self.reach)
        p.serial(choose_members, self._control, self._detection)

    def record_watch(
        self, p: Program, members: Members, paths: Paths, contact_particles: ContactParticles, particles: Particles,
        frames: Frames, h: float,
    ) -> None:  # fmt: skip
        """Record that they take part when they may have come near: when the constraints of a substep are solved."""
        control, detection = self._control, self._detection
        with p.when((control.idle, 0)):
            self._idle.record_watch(p)
            with p.when((control.wake, 0)):
                p.serial(wake_loose, control, detection)
                moving = paths, contact_particles, particles, frames
                p.launch(trace_paths, members, detection, *moving, h, count=(detection.members, 0), grain=2048)


def loose_pairs(who: Participants) -> np.ndarray:
    """Pairs of a loose object and one with edges or triangles that may touch, (K, 2)."""
    present = np.array([each is not None for each in who.members])
    loose, others = np.flatnonzero(present & who.loose), np.flatnonzero(present & ~who.loose)
    first, second = (each.ravel() for each in np.meshgrid(loose, others, indexing="ij"))
    keys = np.minimum(first, second) * len(who.members) + np.maximum(first, second)
    return np.stack([first, second], axis=1)[~np.isin(keys, who.ignored)]
