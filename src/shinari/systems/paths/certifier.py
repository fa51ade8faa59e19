"""What certifies the paths of a kind of pairs."""

from typing import Protocol

import numpy as np

from shinari.compute import Program
from shinari.systems.colliders.records import Poses
from shinari.systems.paths.records import Begins, Forest, PathState, Shares, Stops, Zones
from shinari.systems.rigid.frames import Frames


class Certificate:
    """What all certifiers of a simulation share.

    Attributes:
        state: The state of the certificate.
        begins: Where the particles begin.
        frames: The frames; none in a scene without bodies.
        poses: Poses of the colliders at both ends of the substep; none in a scene without colliders.
        zones: What moves as one: particles, frames, colliders.
        forest: How it was joined.
        shares: The pairs that joined it, and their shares of what it changes.
        stops: The pairs of frames that were stopped in the substep; kept in scenes with joints.
        asks_longest: Whether a certifier asks for the longest displacement of a particle, `PathState.longest`.
    """

    def __init__(
        self, particles: int, frames: Frames | None, poses: Poses | None, colliders: int, precision: type
    ) -> None:
        self.state = PathState.zeros(1, precision)
        self.frames: Frames = Frames.zeros(0, np.float64) if frames is None else frames
        self.begins: Begins = Begins.zeros(particles, precision)
        self.poses: Poses = Poses.zeros(0, precision) if poses is None else poses
        self.first_frame, self.first_collider = particles, particles + len(self.frames)
        self.zones: Zones = Zones.zeros(self.first_collider + colliders, np.float64)
        self.forest: Forest = Forest.zeros(len(self.zones))
        self.shares: Shares = Shares.zeros(0)
        self.stops: Stops = Stops.zeros(0)
        self.asks_longest = False


class Certifier(Protocol):
    """Certifies the paths of its pairs. All launches see the positions of now as the ends of the paths."""

    def record_pairs(self, p: Program) -> None:
        """Record that the pairs are found that the paths of now may bring together."""
        ...

    def record_times(self, p: Program) -> None:
        """Record that the times of impact are found; `state.hit` tells whether there is one."""
        ...

    def record_part(self, p: Program) -> None:
        """Record that the ends of paths that meet are pushed apart."""
        ...

    def record_join(self, p: Program) -> None:
        """Record that the zones of pairs whose paths meet are joined, and the pairs listed in `shares`."""
        ...
