"""Nothing passes through anything: certifies all paths of a substep, and mends those that meet.

Each kind of pairs has a certifier: surfaces among themselves, particles and elements with bodies, with colliders, and
bodies with bodies and colliders. Where paths meet, their ends are pushed apart at the time and along the normal of the
impact, by an impulse that both share. What still meets after a few turns moves as one from the impact on
(`shinari.systems.paths.zones`); the pairs that joined it tell what that changes (`shinari.systems.paths.shares`). When
something has moved, joints that gape are closed (`shinari.systems.paths.joint_closing`), and the pairs are looked for
once more.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shinari.collision.report import ContactImpulses, Contacts
from shinari.compute import Program, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.vec3 import dot, root, sub
from shinari.model.particles import Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems
from shinari.systems.colliders.elements import elements_of
from shinari.systems.colliders.system import ColliderContacts
from shinari.systems.paths.certifier import Certificate, Certifier
from shinari.systems.paths.collider_paths import ColliderPaths
from shinari.systems.paths.records import Begins, Lengths, PathState
from shinari.systems.paths.shares import of_frames, plant, share_out, with_particles
from shinari.systems.paths.zones import begin_zones, move_zone_node, number_zones, sum_zones, turn_zones
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.model import bodies_of, frames_of

if TYPE_CHECKING:
    from shinari.systems.paths.joint_closing import JointClosing

# Turns in which paths that meet are pushed apart before what still meets moves as one, and turns of that.
ROUNDS, ZONES = 6, 60
# Times that the pairs are found when something has moved.
SEARCHES = 6
CHUNK = 128


class PathCertificates(System):
    """Certifies the paths of all pairs of one simulation.

    Attributes:
        certificate: What the certifiers share.
    """

    order = 15
    can_rest = True
    on_device = True
    advice = "paths near each other and near colliders; simple shapes are far faster than mesh colliders"

    def __init__(self, bound: BoundSystems) -> None:
        self._particles, self._origins = bound.particles, bound.origins
        self._bodies, self._dt = bodies_of(bound), bound.settings.dt
        self._collider_count = len(bound.model.colliders)
        self.certificate = Certificate(0, None, None, 0, bound.model.real)
        self._lengths = Lengths.zeros(0, bound.model.real)
        self._certifiers: Sequence[Certifier] = ()
        self._closing: JointClosing | None = None

    def connect(self, bound: BoundSystems) -> None:
        """Collect the certifiers of all systems; without any there is nothing to remember of the particles."""
        certificate = self._certificate(bound)
        found = [system.path_certifier(certificate) for system in bound.all_bound(System)]
        colliders = bound.find(ColliderContacts)
        if colliders is not None and colliders.element_list is not None:
            found.append(ColliderPaths(certificate, colliders, bound))
        if self._bodies is not None:
            # imported here: a scene without bodies does not wait for their kernels
            from shinari.systems.paths.rigid_paths import RigidPaths

            found.append(RigidPaths(certificate, self._bodies))
            if len(self._bodies.equations.joints):
                from shinari.systems.paths.joint_closing import JointClosing

                self._closing = JointClosing(certificate, self._bodies)
        self._certifiers = [each for each in found if each is not None]
        if self._certifiers:
            self.certificate = certificate
        blocks = -(-len(bound.particles) // CHUNK) if certificate.asks_longest else 0
        self._lengths = Lengths.zeros(blocks, bound.model.real)

    def _certificate(self, bound: BoundSystems) -> Certificate:
        """What certifiers share."""
        colliders = bound.find(ColliderContacts)
        poses, real = None if colliders is None else colliders.pose_table, bound.model.real
        count = len(bound.model.colliders) if poses else 0
        certificate = Certificate(len(bound.particles), frames_of(bound), poses, count, real)
        elements, _ = elements_of(bound.scene, bound.model)
        certificate.begins.covered[np.unique(elements)] = True
        certificate.begins.radius[...] = bound.model.radii
        certificate.state.substep[0] = bound.settings.substep
        return certificate

    @property
    def active(self) -> bool:
        """Whether there is anything to certify."""
        return len(self._certifiers) > 0

    @property
    def impacts(self) -> int:
        """Paths that met in the last step, and were mended."""
        return int(self.certificate.state.impacts[0])

    @property
    def zones(self) -> int:
        """Turns in the last step in which objects had to move as one."""
        return int(self.certificate.state.zones[0])

    @property
    def unresolved(self) -> int:
        """Substeps in the last step after which paths still met."""
        return int(self.certificate.state.unresolved[0])

    def record_begin(self, p: Program) -> None:
        """A step begins: count from zero."""
        state = self.certificate.state
        for counter in (state.impacts, state.zones, state.unresolved, state.shares, state.settled_shares):
            p.copy(0, (counter, 0))

    def record_detect(self, p: Program) -> None:
        """Keep the positions and poses at the start of a substep."""
        c, particles = self.certificate, self._particles
        p.launch(keep_begin, particles, c.begins, count=len(particles), grain=4096)
        p.launch(keep_frame_begin, c.frames, count=len(c.frames), grain=64)

    def record_settle(self, p: Program) -> None:
        """Certify the paths of the substep; mend those that meet."""
        state = self.certificate.state
        p.copy(0, (state.joined, 0))
        p.copy(0, (state.settled, 0))
        closing, more = self._closing, 0
        if closing is not None:
            more = closing.record_begin(p)
        with p.repeat(SEARCHES + more, until=(state.settled, 0)):
            if closing is not None:
                with p.when((state.joined, 0)):
                    closing.record_close(p)
            self._record_turns(p)
        with p.when((state.joined, 0)):
            c = self.certificate
            p.serial(share_out, c.forest, c.shares, self._particles, c.frames, state)
        p.serial(tell_unsettled, state)

    def _record_turns(self, p: Program) -> None:
        c, particles = self.certificate, self._particles
        state, moving = c.state, (particles, self._origins, c.begins, c.frames, c.poses)
        p.launch(measure_block, particles, c.begins, self._lengths, count=len(self._lengths), grain=32)
        p.serial(begin_turns, self._lengths, state)
        for each in self._certifiers:
            each.record_pairs(p)
        with p.repeat(ROUNDS + ZONES + 1, until=(state.clear, 0)):
            p.copy(0, (state.hit, 0))
            p.copy(0, (state.solid, 0))
            for each in self._certifiers:
                each.record_times(p)
            p.serial(choose_turn, state)
            with p.when((state.part, 0)):
                for each in self._certifiers:
                    each.record_part(p)
            with p.when((state.join, 0)):
                p.launch(plant, c.forest, particles, c.frames, state, count=len(c.forest), grain=1024)
                p.serial(begin_zones, c.zones, state)
                for each in self._certifiers:
                    each.record_join(p)
                p.serial(number_zones, c.zones)
                p.serial(sum_zones, c.zones, *moving)
                p.serial(turn_zones, c.zones, particles, self._origins, c.begins, c.frames, state)
                p.launch(move_zone_node, c.zones, *moving, count=len(c.zones), grain=1024)
        p.serial(end_turns, state)

    def contact_impulses(self) -> ContactImpulses:
        """What particles got as parts of zones in the last step."""
        return with_particles(self.certificate, self._collider_count)

    def contacts(self) -> Contacts | None:
        """What bodies got from each other and from colliders as parts of zones in the last step."""
        bodies = self._bodies
        return None if bodies is None else of_frames(self.certificate, bodies.frame_names, self._dt)


@kernel
def keep_begin(i, particles: Particles, begins: Begins):
    """Keep where a particle is."""
    x = particles.x[i]
    begins.x[i] = x[0], x[1], x[2]


@kernel
def keep_frame_begin(f, frames: Frames):
    """Keep where a frame is."""
    frames.begin_x[f], frames.begin_q[f] = frames.x[f], frames.q[f]


@kernel(fastmath=STEADY)
def measure_block(b, particles: Particles, begins: Begins, lengths: Lengths):
    """Longest displacement in a block of particles."""
    square = np.float32(0.0) * particles.x[b * CHUNK, 3]
    for i in range(b * CHUNK, min((b + 1) * CHUNK, len(particles))):
        x = particles.x[i]
        moved = sub((x[0], x[1], x[2]), begins.x[i])
        square = max(square, dot(moved, moved))
    lengths.longest[b] = root(square)


@kernel
def begin_turns(_, lengths: Lengths, state: PathState):
    """Longest displacement of a particle, if one asks for it; nothing has been tried with the pairs of now."""
    longest = 0.0
    for b in range(len(lengths)):
        longest = max(longest, np.float64(lengths.longest[b]))
    state.longest[0], state.turn[0], state.clear[0], state.changed[0] = longest, 0, 0, 0


@kernel
def choose_turn(_, state: PathState):
    """What happens to paths that meet."""
    turn = state.turn[0]
    state.turn[0] = turn + 1
    met = state.hit[0] != 0 or state.solid[0] != 0
    # what moves as one is not pushed apart again
    state.part[0] = state.hit[0] != 0 and turn < ROUNDS and state.joined[0] == 0
    state.join[0] = met and state.part[0] == 0 and turn < ROUNDS + ZONES
    state.clear[0] = not (state.part[0] or state.join[0])
    state.changed[0] = state.changed[0] or state.part[0] or state.join[0]
    state.unresolved[0] += state.clear[0] and met
    state.zones[0] += state.join[0]


@kernel
def end_turns(_, state: PathState):
    """The pairs are looked for again when something has moved."""
    state.settled[0] = state.changed[0] == 0


@kernel
def tell_unsettled(_, state: PathState):
    """Paths may meet that were moved last and not looked at again."""
    state.unresolved[0] += state.changed[0] and state.clear[0]
