"""Points of solids, and particles that are no fluid, as boundaries of the fluids of a simulation.

Akinci et al. 2012 for solids; Macklin et al. 2014, section 7, for particles of others, which enter the density with the
volume that they have: wood floats and stones sink. See `boundary_kernels` for the equations.
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from shinari.build.cluster_surface import nearest
from shinari.contact.family import Touches
from shinari.contact.solid.solids import Solids
from shinari.errors import SceneError
from shinari.fluid.boundary_carriers import Carrier, Colliders, OnBodies, Others, has_points
from shinari.fluid.boundary_kernels import shares, stiffen
from shinari.fluid.boundary_lists import PointLists
from shinari.fluid.kernels import Smoothing
from shinari.fluid.model import FluidModel
from shinari.model import Model
from shinari.rigid.frames import Frames
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.scene import Scene
from shinari.scene.things import Particles

if TYPE_CHECKING:
    from shinari.fluid.part import Fluid

# Kinds of things whose particles lie in a fluid as points.
SOLID_KINDS = ("particles", "lump", "grains")
# Points move so far before they are looked for again, as part of the support.
STRAY = 0.05


class BoundaryPoints:
    """Points of one kind of carrier; a boundary, see `shinari.fluid.part.Boundary`."""

    def __init__(self, carrier: Carrier, ignored: np.ndarray, model: Model) -> None:
        """Bind the points.

        Args:
            carrier: The points and what carries them.
            ignored: Which of the carrier's kinds each fluid passes through, (F, kinds) bool.
            model: Model of the scene.
        """
        real, count = model.real, len(carrier.volumes)
        self._carrier, self._ignored = carrier, ignored.astype(np.uint8)
        self._volumes = carrier.volumes.astype(real)
        self._at, self._found_at = np.zeros((2, count, 3), real)
        self._lists = PointLists()
        self._order: np.ndarray | None = None
        self._frame, self._record, self._reach = -1, [], 0.0
        self._fresh = self._answered = False

    def find(self, fluid: "Fluid", threads: int) -> None:
        """A substep begins: list the pairs anew when the order has changed or a point has gone too far."""
        moved = self._carrier.place(fluid, self._at)
        support = fluid.model.smoothing.support
        if self._frame != fluid.state.frame:
            self._frame, self._record, self._order = fluid.state.frame, [], None
        far = moved and float(np.abs(self._at - self._found_at).max(initial=0.0)) > STRAY / math.sqrt(3.0) * support
        if self._order is not fluid.order or far:
            self._keep(fluid)
            self._list(fluid, threads, moved)
        self._fresh = True

    def gather(self, fluid: "Fluid", threads: int) -> None:
        """Add to the densities, their gradients and, at the start of a substep, the stiffness."""
        lists = self._lists
        self._carrier.place(fluid, self._at)
        if not len(lists.near):
            return
        shares(
            threads, fluid.model.smoothing.kernel, fluid.inverse2, fluid.weight_scale, fluid.slope_scale, fluid.x,
            lists.near, lists.offsets, lists.points, lists.pairs, self._at, self._volumes, fluid.sums, fluid.pulls,
            self._gradients,
        )  # fmt: skip
        if self._fresh:
            self._fresh = False
            gives = self._carrier.gives(fluid, lists, self._gradients)
            if gives is not None:
                wholes = np.empty(int(lists.pair_owners.max()) + 1, gives.dtype)
                stiffen(lists.pair_places, lists.pair_owners, gives, wholes, fluid.stiffness)

    def answer(self, fluid: "Fluid", threads: int) -> float:
        """How far the carriers give way to the direction of the multipliers."""
        if not len(self._lists.near):
            return 0.0
        self._answered = True
        self._pushes = -self._pushed(fluid)
        self._totals = self._carrier.total(fluid, self._lists, self._pushes, threads)
        return 0.0 if self._totals is None else self._carrier.bend(fluid, self._lists, self._totals)

    def push(self, fluid: "Fluid", threads: int) -> None:
        """Push the carriers back: along the direction of the search; before the search, by the gradients."""
        if not len(self._lists.near):
            return
        if self._answered:
            length = self._pushes.dtype.type(fluid.step_length)
            self._impulses += length * self._pushes
            totals = None if self._totals is None else length * self._totals
        else:
            pushes = -self._pushed(fluid)
            self._impulses += pushes
            totals = self._carrier.total(fluid, self._lists, pushes, threads)
        if totals is not None:
            self._carrier.give(fluid, self._lists, totals)
        self._answered = False

    def _pushed(self, fluid: "Fluid") -> np.ndarray:
        """What the multipliers in the last column of `fluid.x` pull at the particle of each pair, (P, 3)."""
        return fluid.x[self._lists.pair_places, 3, None] * self._gradients

    def touches(self) -> Touches:
        """The pairs that pushed in the last step."""
        record = [*self._record, self._recorded()] if self._order is not None else self._record
        record = [rows for rows in record if len(rows[0])]
        if not record:
            return Touches.none()
        first, second, pushes = (np.concatenate(columns) for columns in zip(*record, strict=True))
        keys = np.stack([first, second], axis=1)
        keys, where = np.unique(keys, axis=0, return_inverse=True)
        impulses = np.zeros((len(keys), 3))
        np.add.at(impulses, where.ravel(), pushes)
        sizes = np.linalg.norm(impulses, axis=1)
        pushed = sizes > 0.0
        keys, impulses, sizes = keys[pushed], impulses[pushed], sizes[pushed]
        particles, weights = np.zeros((len(keys), 4), np.uint32), np.zeros((len(keys), 4))
        particles[:, 0], weights[:, 0] = keys[:, 0], 1.0
        colliders = np.full(len(keys), -1)
        if self._carrier.first is None:
            particles[:, 1], weights[:, 1] = keys[:, 1], -1.0
        else:
            colliders = keys[:, 1]
        return Touches(particles, weights, colliders, impulses / sizes[:, None], impulses)

    def _list(self, fluid: "Fluid", threads: int, moved: bool) -> None:
        """Find the pairs."""
        carrier = self._carrier
        if moved or self._reach != fluid.reach:
            self._reach = fluid.reach
            self._lists.sort(self._at, fluid.reach, threads)
            self._found_at[...] = self._at
        self._lists.find(fluid.x, fluid.phases, carrier.owners, carrier.kinds, self._ignored, threads)
        self._order = fluid.order
        self._pushes, self._gradients = np.zeros((2, len(self._lists.pair_places), 3), self._at.dtype)
        self._impulses = np.zeros((len(self._lists.pair_places), 3))
        self._who = fluid.particles[self._lists.pair_places], fluid.h

    def _keep(self, fluid: "Fluid") -> None:
        """Remember what the pairs of this step have pushed before they are listed anew."""
        if self._order is not None:
            self._record.append(self._recorded())

    def _recorded(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Particles in solver order, what they met, and impulses [N s] of the pairs."""
        carrier, (particles, h) = self._carrier, self._who
        owners = self._lists.pair_owners.astype(np.int64)
        met = carrier.particles[owners] if isinstance(carrier, Others) else owners + (carrier.first or 0)
        return particles.astype(np.int64), met.astype(np.int64), self._impulses / h


def bind_points(
    scene: Scene, model: Model, fluids: FluidModel, solids: Solids | None, frames: Frames | None
) -> list[BoundaryPoints]:
    """What lies in the fluids as points: with `boundary="particles"` solids that have an end, and particles of others.

    Args:
        scene: The scene.
        model: Its model.
        fluids: The fluids in it.
        solids: The colliders.
        frames: The frames of bodies.

    Raises:
        SceneError: The fluid has two dimensions and solids are to be particles.
    """
    names = [model.things[k][0] for k in fluids.things]
    smoothing, carriers = fluids.smoothing, []
    if fluids.boundary == "particles" and smoothing.dimensions == 2:
        raise SceneError(
            f'fluid {names[0]!r}: boundary: "particles" covers surfaces in space; a fluid of 2 dimensions takes "walls"'
        )
    if fluids.boundary == "particles" and solids is not None:
        ignored = _ignored(scene, names, [c.name for c in model.colliders])
        for moving in (False, True):
            which = [k for k, c in enumerate(model.colliders) if (c.motion is not None) == moving]
            which = [k for k in which if has_points(model.colliders[k].shape)]
            if which:
                carriers.append((Colliders(which, model, solids, smoothing), ignored))
    if fluids.boundary == "particles" and frames is not None and any(body.pieces for body in scene.bodies):
        from shinari.rigid.coupling.pieces import pieces_of

        bodies = [body.name for body in scene.bodies]
        shapes = [piece.shape for body in scene.bodies for piece in body.pieces]
        on_bodies = OnBodies(bodies, pieces_of(scene.bodies), shapes, frames, len(model.colliders), smoothing)
        carriers.append((on_bodies, _ignored(scene, names, bodies)))
    others = _others(scene, model, smoothing)
    if others is not None:
        carriers.append((others, _ignored(scene, names, [group.name for group in scene.groups])))
    return [BoundaryPoints(carrier, ignored, model) for carrier, ignored in carriers if len(carrier.volumes)]


def _ignored(scene: Scene, fluids: list[str], others: list[str]) -> np.ndarray:
    """Which of the others each fluid passes through, (F, others)."""
    pairs = [[(min(a, b), max(a, b)) in scene.ignored for b in others] for a in fluids]
    return np.array(pairs, bool).reshape(len(fluids), len(others))


def _others(scene: Scene, model: Model, smoothing: Smoothing) -> Others | None:
    """The particles that lie in the fluids."""
    start, particles, things, volumes = 0, [], [], []
    for k, group in enumerate(scene.groups):
        slots = model.slots[start : start + len(group.positions)].astype(np.int64)
        start += len(group.positions)
        if group.kind in SOLID_KINDS:
            sizes = _volumes(group, smoothing.dimensions) / smoothing.spacing**smoothing.dimensions
            there = sizes > 0.0
            particles.append(slots[there])
            things.append(np.full(int(there.sum()), k))
            volumes.append(sizes[there])
    if not particles or not sum(len(p) for p in particles):
        return None
    return Others(np.concatenate(particles), np.concatenate(things), np.concatenate(volumes), model)


def _volumes(group: Particles, dimensions: int) -> np.ndarray:
    """Volume, or area, that each particle of a thing fills, (N,): that of its material; else a cube, or a square."""
    edges = 2.0 * group.radii
    material = group.material
    if isinstance(material, GrainMaterial):
        return math.pi * (edges**3 / 6.0 if dimensions == 3 else edges**2 / 4.0)
    if isinstance(material, LumpMaterial):
        if group.visual is not None:
            # it fills a mesh, and has its mass
            edges = np.cbrt(group.masses / material.density)
        elif len(group.positions) > 1:
            two = nearest(group.positions, group.positions, 2)[0]
            between = np.linalg.norm(group.positions[two[:, 1]] - group.positions[two[:, 0]], axis=1)
            edges = np.full(len(edges), np.median(between))
    return edges**dimensions
