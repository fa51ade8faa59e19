"""Model of the rods: their table, and queries about their state."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.model.model import Model
from shinari.model.state import State
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.systems.rods.jams import warn_of_jams

if TYPE_CHECKING:
    from shinari.scene.contents import Contents
    from shinari.systems.rods.system import RodSystem


@dataclass(frozen=True)
class RodLoads:
    """What the part of a rod behind a cut exerts on the part before it, in world axes.

    Attributes:
        forces: In each segment [N], (S, 3): along the rod where it is under tension.
        moments: In each joint [N m], (J, 3).
    """

    forces: np.ndarray
    moments: np.ndarray


@dataclass(frozen=True)
class RodModel(SystemModel):
    """All rods of a scene, segment after segment; the joint of a segment is that to the next one.

    Attributes:
        bounds: First segment of each rod and the one after its last, (R, 2).
        closed: Which rods are rings, (R,).
        direct: Which rods are solved directly, (R,).
        points: Particles of each segment in solver order, (S, 2) uint32.
        after: Segment at the other side of each joint; the segment itself where there is no joint, (S,).
        lengths: Lengths at rest [m], (S,).
        rest: Rotation at rest to the frame of the next segment, (S, 4).
        softness: Compliances of segments [m/N] and joints [rad/(N m)], (S, 6).
        weights: Inverse inertia of frames across and along their third axis [1/(kg m^2)], (S, 2); zero where clamped.
        damping: Damping times [s], (S,).
        frames: Frames at the start, (S, 4).
        spins: Angular velocities at the start, in world axes [rad/s], (S, 3).
        clamped: Which frames are clamped, (S,).
    """

    bounds: np.ndarray
    closed: np.ndarray
    direct: np.ndarray
    points: np.ndarray
    after: np.ndarray
    lengths: np.ndarray
    rest: np.ndarray
    softness: np.ndarray
    weights: np.ndarray
    damping: np.ndarray
    frames: np.ndarray
    spins: np.ndarray
    clamped: np.ndarray
    multipliers = ("rods/multipliers",)

    @property
    def jointed(self) -> np.ndarray:
        """Segments that have a joint to the next one, (S,) bool."""
        return self.after != np.arange(len(self.after))

    def start(self, model: Model) -> dict[str, np.ndarray]:
        """Frames, spins and multipliers; and the frames that the user was last shown."""
        frames = self.frames.astype(model.real)
        return {
            "rods/frames": frames,
            "rods/shown": frames.copy(),
            "rods/spins": self.spins.astype(model.real),
            "rods/multipliers": np.zeros((len(frames), 6), model.real),
        }

    def bind(self, bound: BoundSystems) -> "list[RodSystem]":
        """The rods of a simulation."""
        from shinari.systems.rods.system import RodSystem

        warn_of_jams(bound, self)
        return [RodSystem(self, bound.model, bound.state, bound.settings, bound.particles, bound.clock)]

    def with_materials(self, scene: "Contents") -> "RodModel":
        """The same rods of other materials."""
        from shinari.systems.rods.build import softened

        return softened(self, scene)

    def energy(self, model: Model, state: State, h: float) -> tuple[float, float, float]:
        """Kinetic energy of the spins, and elastic energy [J]."""
        free = ~self.clamped
        momenta, spins = self._momenta(state), state.system_arrays["rods/spins"].astype(np.float64)
        kinetic = 0.5 * float((momenta[free] * spins[free]).sum())
        values = self.strains(model, state)
        return kinetic, 0.0, 0.5 * float((values**2 / self.softness).sum())

    def angular_momentum(self, model: Model, state: State, about: np.ndarray) -> np.ndarray:
        """Angular momentum of the spins of free frames [kg m^2/s], (3,)."""
        return self._momenta(state)[~self.clamped].sum(axis=0)

    def strains(self, model: Model, state: State) -> np.ndarray:
        """C of all rows [m] and [rad], (S, 6); zero where there is no joint."""
        x = state.x.astype(np.float64)
        solver = state.origins[model.origin_index][model.slots] + x[model.slots, :3]
        seen = state.positions
        world = np.where(solver.astype(seen.dtype) == seen, solver, seen)
        x[model.slots, :3] = world - state.origins[model.origin_index][model.slots]
        frames = state.system_arrays["rods/frames"].astype(np.float64)
        frames /= np.linalg.norm(frames, axis=1, keepdims=True)
        first, second = self.points.T.astype(np.int64)
        spans = _rotated(conjugated(frames), x[second, :3] - x[first, :3])
        spans[:, 2] -= self.lengths
        p = product(conjugated(frames), frames[self.after])
        p *= np.where((p * self.rest).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        values = np.concatenate([spans, 2.0 * (half_turns(p) - half_turns(self.rest))[:, 1:]], axis=1)
        values[~self.jointed, 3:] = 0.0
        return values

    def point_strains(self, model: Model, state: State, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points of rods, (K,), and their strains; see `shinari.model.system_model`.

        The mean of the stretch and shear of the segments at a point, |C| / l, and the strain that bend and twist of the
        joint there add in the outermost fibre: r |C| / l with the radius r and the mean length l of its two segments.
        """
        values, count = self.strains(model, state), model.particle_count
        segments = np.linalg.norm(values[:, :3], axis=1) / self.lengths
        ends = self.points.astype(np.int64)
        total = np.bincount(ends.ravel(), np.repeat(segments, 2), count)
        number = np.bincount(ends.ravel(), minlength=count)
        shared = ends[:, 1]
        turns = np.linalg.norm(values[:, 3:], axis=1) * model.radii[shared]
        bends = np.bincount(shared, 2.0 * turns / (self.lengths + self.lengths[self.after]), count)
        slots = np.flatnonzero(number)
        return slots, total[slots] / number[slots] + bends[slots]

    def point_forces(self, state: State, h: float) -> tuple[np.ndarray, np.ndarray]:
        """Points of segments, (2 S,), and the force in each segment [N]."""
        forces = np.linalg.norm(state.system_arrays["rods/multipliers"][:, :3].astype(np.float64), axis=1) / (h * h)
        return self.points.astype(np.int64).ravel(), np.repeat(forces, 2)

    def loads(self, state: State, h: float, segments: range) -> RodLoads:
        """Internal forces and moments of a rod after the last substep."""
        chosen = slice(segments.start, segments.stop)
        frames = state.system_arrays["rods/frames"].astype(np.float64)
        q, after = frames[chosen], frames[self.after[chosen]]
        inner = state.system_arrays["rods/multipliers"][chosen].astype(np.float64) / -(h * h)
        p = product(conjugated(q), after)
        p *= np.where((p * self.rest[chosen]).sum(axis=1, keepdims=True) < 0.0, -1.0, 1.0)
        # what the rows of a joint exert on the frame after it, (S + [v])^T as in `shinari.systems.rods.strain`
        w, v = np.split(half_turns(p), [1], axis=1)
        square = (v * v).sum(axis=1, keepdims=True)
        k = np.divide(1.0 - w, square, out=np.zeros_like(w), where=square > 0.0)
        moment = inner[:, 3:]
        moments = w * moment + k * (v * moment).sum(axis=1, keepdims=True) * v + np.cross(moment, v)
        return RodLoads(_rotated(q, inner[:, :3]), _rotated(after, moments)[self.jointed[chosen]])

    def _momenta(self, state: State) -> np.ndarray:
        """Angular momentum of each frame, (S, 3)."""
        spins = state.system_arrays["rods/spins"].astype(np.float64)
        q = state.system_arrays["rods/frames"].astype(np.float64)
        up = _rotated(q / np.linalg.norm(q, axis=1, keepdims=True), np.array([0.0, 0.0, 1.0]))
        inertia = np.divide(1.0, self.weights, out=np.zeros_like(self.weights), where=self.weights > 0.0)
        own = (spins * up).sum(axis=1, keepdims=True)
        return inertia[:, :1] * (spins - own * up) + inertia[:, 1:] * own * up


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Product of quaternions (..., 4)."""
    w = a[..., 0] * b[..., 0] - (a[..., 1:] * b[..., 1:]).sum(axis=-1)
    v = a[..., :1] * b[..., 1:] + b[..., :1] * a[..., 1:] + np.cross(a[..., 1:], b[..., 1:])
    return np.concatenate([w[..., None], v], axis=-1)


def conjugated(q: np.ndarray) -> np.ndarray:
    """Conjugates of quaternions (..., 4)."""
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def half_turns(q: np.ndarray) -> np.ndarray:
    """The numbers w and vectors v of joints, see `shinari.systems.rods.strain`, from unit quaternions (..., 4)."""
    sine = np.linalg.norm(q[..., 1:], axis=-1, keepdims=True)
    angle = np.arctan2(sine, q[..., :1])
    return q * np.divide(angle, sine, out=np.ones_like(sine), where=sine > 0.0)


def _rotated(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Vectors (S, 3) in the axes of frames (S, 4), in the world."""
    twice = 2.0 * np.cross(q[:, 1:], v)
    return v + q[:, :1] * twice + np.cross(q[:, 1:], twice)
