"""What carries points that a fluid lies against: solids that stand still or move, bodies, and particles of others."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from shinari.build.sampling import surface_points
from shinari.contact.broad.neighbours import NeighbourLists
from shinari.contact.solid.solids import Solids
from shinari.errors import SceneError
from shinari.fluid.boundary_frames import frame_gives, place_on_frames, push_frames_back, sums_of_frames
from shinari.fluid.boundary_kernels import sums_of_points
from shinari.fluid.boundary_lists import PointLists
from shinari.fluid.kernels import Smoothing, weight
from shinari.fluid.pressure import densities
from shinari.model import Model
from shinari.rigid.coupling.pieces import Pieces
from shinari.rigid.frames import Frames
from shinari.scene.motion import rotation_matrix
from shinari.scene.shapes import Heightfield, Plane, Shape

if TYPE_CHECKING:
    from shinari.fluid.part import Fluid

# Points lie so deep below the surface, in spacings of the fluid: its first layer then rests half a spacing above it.
DEPTH = 0.5


class Carrier(Protocol):
    """M points and what carries them.

    Attributes:
        volumes: Volume of each point, as a multiple of that of a particle of the fluid, (M,).
        owners: Carrier of each, (M,) uint32, ascending.
        kinds: What it is for `PointLists.find`, (M,).
        first: What is added to the owner to have its index in `Touches.colliders`; None for particles.
    """

    volumes: np.ndarray
    owners: np.ndarray
    kinds: np.ndarray
    first: int | None

    def place(self, fluid: "Fluid", at: np.ndarray) -> bool:
        """Write where the points are relative to the origin of the fluid [m], (M, 3); whether they can have moved."""
        ...

    def gives(self, fluid: "Fluid", lists: PointLists, gradients: np.ndarray) -> np.ndarray | None:
        """How far the carrier gives way to each pair, sqrt(grad w grad), (P,); None: it does not."""
        ...

    def total(self, fluid: "Fluid", lists: PointLists, pushes: np.ndarray, threads: int) -> np.ndarray | None:
        """Sum of the pushes on the particles of pairs [kg m], (P, 3), for each carrier that is pushed."""
        ...

    def bend(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> float:
        """Sum of total w total over the carriers [kg m^2]."""
        ...

    def give(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> None:
        """Push the carriers the opposite way, at once."""
        ...


def has_points(shape: Shape) -> bool:
    """Whether a solid can be covered with points; the others are left to walls."""
    return not isinstance(shape, (Plane, Heightfield))


def points_of(thing: str, shape: Shape, spacing: float) -> np.ndarray:
    """Points of a solid in its axes [m], (M, 3).

    Raises:
        SceneError: There would be too many; the message names the thing.
    """
    try:
        return surface_points(shape, spacing, DEPTH * spacing)
    except SceneError as error:
        raise SceneError(f'{thing}: {error}; give the fluid boundary="walls", or a smaller solid') from None


def layer_volumes(points: np.ndarray, smoothing: Smoothing) -> np.ndarray:
    """Volumes of the points of one layer, (M,): 1 / sum W, as a multiple of that of a particle.

    Akinci et al. 2012, equation 4, made right for one layer: on a plane lattice at the distance of a spacing it
    contributes what the whole half space beyond would contribute.
    """
    lists = NeighbourLists()
    x = np.zeros((len(points), 4))
    x[:, :3] = points
    offsets, indices = lists.find(x, smoothing.support, 1)
    sums = np.empty(len(points))
    ordered = np.ascontiguousarray(x[lists.grid.order])
    densities(1, smoothing.kernel, 1.0 / smoothing.support**2, 1.0, ordered, offsets, indices, sums)
    volumes = np.empty(len(points))
    volumes[lists.grid.order] = 1.0 / sums
    layers = [plane_sum(smoothing, k) for k in range(math.ceil(smoothing.support / smoothing.spacing) + 1)]
    return volumes * layers[0] * sum(layers[1:]) / layers[1]


def plane_sum(smoothing: Smoothing, layer: int) -> float:
    """Sum of the kernel over a plane of the lattice, so many spacings away."""
    points = smoothing.lattice()
    q2 = (points**2).sum(axis=1) / smoothing.support**2
    there = np.abs(points[:, 1] - layer * smoothing.spacing) < 0.5 * smoothing.spacing
    return sum(float(weight.py_func(smoothing.kernel, q)) for q in q2[there])


class Colliders:
    """Points of colliders; of those that all stand still, or of those that move."""

    def __init__(self, which: Sequence[int], model: Model, solids: Solids, smoothing: Smoothing) -> None:
        """Take the colliders with some numbers; none of them may be without end."""
        colliders = [model.colliders[k] for k in which]
        local = [points_of(f"collider {c.name!r}", c.shape, smoothing.spacing) for c in colliders]
        sizes = [len(points) for points in local]
        self.moves = any(c.motion is not None for c in colliders)
        self.owners = self.kinds = np.repeat(np.array(which, np.uint32), sizes)
        self.first = 0
        self._solids, self._origin = solids, None
        if self.moves:
            self._local, self._ends = local, np.cumsum([0, *sizes])
            self.volumes = np.concatenate([layer_volumes(points, smoothing) for points in local])
        else:
            poses = [(c.position, c.rotation) for c in colliders]
            self._world = np.concatenate(
                [points @ rotation_matrix(q).T + x for points, (x, q) in zip(local, poses, strict=True)]
            )
            self.volumes = layer_volumes(self._world, smoothing)

    def place(self, fluid: "Fluid", at: np.ndarray) -> bool:
        """Points of the moving ones go along with the pose at the end of the substep."""
        if not self.moves:
            if self._origin is not None and np.array_equal(self._origin, fluid.origin):
                return False
            self._origin = fluid.origin.copy()
            at[...] = self._world - self._origin
            return True
        # before the first step no poses have been written yet
        now = None if fluid.moving else self._solids.poses(fluid.state.frame * fluid.settings.dt)
        for k, points in enumerate(self._local):
            first, last = self._ends[k], self._ends[k + 1]
            which = self.owners[first]
            if now is None:
                pose = self._solids.after[fluid.group, which].astype(np.float64)
                matrix, position = pose[:9].reshape(3, 3), pose[9:]
            else:
                matrix, position = rotation_matrix(now[1][which]), now[0][which] - fluid.origin
            at[first:last] = points @ matrix.T + position
        return True

    def gives(self, fluid: "Fluid", lists: PointLists, gradients: np.ndarray) -> np.ndarray | None:
        """Colliders do not give way."""
        return None

    def total(self, fluid: "Fluid", lists: PointLists, pushes: np.ndarray, threads: int) -> np.ndarray | None:
        """Colliders are not pushed."""
        return None

    def bend(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> float:
        """Nothing."""
        return 0.0

    def give(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> None:
        """Nothing."""


class OnBodies:
    """Points of rigid bodies."""

    def __init__(self, names: Sequence[str], pieces: Pieces, shapes: Sequence[Shape], frames: Frames, first: int,
                 smoothing: Smoothing) -> None:  # fmt: skip
        """Cover all bodies.

        Args:
            names: Names of the bodies.
            pieces: Their pieces.
            shapes: Shape of each piece.
            frames: The frames; the first ones are the bodies.
            first: Number of colliders.
            smoothing: Sampling of the fluid.
        """
        self._frames, self.first = frames, first
        local, bodies = [np.zeros((0, 3))], [np.zeros(0, np.int64)]
        for k, shape in enumerate(shapes):
            if has_points(shape):
                body = int(pieces.frames[k])
                points = points_of(f"body {names[body]!r}", shape, smoothing.spacing)
                pose = pieces.places[k]
                local.append(points @ pose[:9].reshape(3, 3).T + pose[9:])
                bodies.append(np.full(len(points), body))
        self._local, self._bodies = np.concatenate(local), np.concatenate(bodies)
        self.owners = self.kinds = self._bodies.astype(np.uint32)
        self.volumes = np.zeros(len(self._local))
        for body in np.unique(self._bodies):
            mine = self._bodies == body
            self.volumes[mine] = layer_volumes(self._local[mine], smoothing)
        self._scratch = np.zeros((len(frames.x), 4)), np.zeros((len(frames.x), 3)), np.zeros((len(frames.x), 2))

    def place(self, fluid: "Fluid", at: np.ndarray) -> bool:
        """Points go along with the poses as they are now."""
        place_on_frames(self._local, self._bodies, self._frames.x, self._frames.q, fluid.origin, at)
        return True

    def gives(self, fluid: "Fluid", lists: PointLists, gradients: np.ndarray) -> np.ndarray | None:
        """Bodies move and turn."""
        f, gives = self._frames, np.empty(len(gradients), gradients.dtype)
        frame_gives(
            gradients, *self._pairs(fluid, lists), fluid.predicted, fluid.state.v, fluid.origin, f.x0, f.inverse_mass,
            f.inverse_inertia, fluid.h, gives,
        )  # fmt: skip
        return gives

    def total(self, fluid: "Fluid", lists: PointLists, pushes: np.ndarray, threads: int) -> np.ndarray | None:
        """Pushes and their moments about the bodies, (F, 6)."""
        sums = np.empty((len(self._frames.x), 6))
        sums_of_frames(
            pushes, *self._pairs(fluid, lists), fluid.predicted, fluid.state.v, fluid.origin, self._frames.x0, fluid.h,
            sums,
        )  # fmt: skip
        return sums

    def bend(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> float:
        """Bodies move and turn."""
        f = self._frames
        turns = np.take(f.inverse_inertia, [0, 5, 4, 5, 1, 3, 4, 3, 2], axis=1).reshape(-1, 3, 3)
        square = f.inverse_mass @ np.square(totals[:, :3]).sum(axis=1)
        return float(square + np.einsum("fi,fij,fj->", totals[:, 3:], turns, totals[:, 3:]))

    def give(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> None:
        """Push the bodies at once."""
        f = self._frames
        push_frames_back(
            totals, fluid.h, f.x, f.q, f.q0, f.inverse_mass, f.inverse_inertia, f.moments, f.w, f.impulses,
            *self._scratch,
        )  # fmt: skip

    @staticmethod
    def _pairs(fluid: "Fluid", lists: PointLists) -> tuple[np.ndarray, np.ndarray]:
        return fluid.particles[lists.pair_places], lists.pair_owners


class Others:
    """Particles that are no fluid: each is a point that carries itself."""

    first = None

    def __init__(self, particles: np.ndarray, things: np.ndarray, volumes: np.ndarray, model: Model) -> None:
        """Take particles in solver order, (M,), their things, and their volumes in those of a particle of the fluid."""
        self.particles, self.kinds, self.volumes = particles, things, volumes
        self.owners = np.arange(len(particles), dtype=np.uint32)
        self._groups = model.groups[particles]

    def place(self, fluid: "Fluid", at: np.ndarray) -> bool:
        """Where the particles are now."""
        shifts = (fluid.state.origins - fluid.origin).astype(at.dtype)
        at[...] = fluid.state.x[self.particles, :3]
        at += shifts[self._groups]
        return True

    def gives(self, fluid: "Fluid", lists: PointLists, gradients: np.ndarray) -> np.ndarray | None:
        """Particles move by their inverse mass."""
        w = fluid.state.x[self.particles[lists.pair_owners], 3]
        return np.sqrt(w * np.square(gradients).sum(axis=1))

    def total(self, fluid: "Fluid", lists: PointLists, pushes: np.ndarray, threads: int) -> np.ndarray | None:
        """Pushes of each point that is touched, (T, 3)."""
        sums = np.empty((len(lists.touched), 3), pushes.dtype)
        sums_of_points(threads, lists.starts, lists.point_pairs, pushes, sums)
        return sums

    def bend(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> float:
        """Each particle moves by its inverse mass."""
        w = fluid.state.x[self.particles[lists.touched], 3].astype(np.float64)
        return float(w @ np.square(totals.astype(np.float64)).sum(axis=1))

    def give(self, fluid: "Fluid", lists: PointLists, totals: np.ndarray) -> None:
        """Push each particle."""
        x, met = fluid.state.x, self.particles[lists.touched]
        x[met, :3] -= totals * x[met, 3:]
