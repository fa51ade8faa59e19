"""Solids in the density of a fluid, by their distance: the boundary `"walls"`.

Without them a particle at a wall misses half of its neighbours, and the fluid would be pressed against the wall until
the others made up for it. See `shinari.fluid.wall_table` for what a plane wall contributes; every solid counts as the
plane that touches it where it is nearest, a container as its faces, a box as what it fills, a hollow of a mesh as up to
five planes. What is thinner than the support counts as thick as it is.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from shinari.contact.buffers import grown
from shinari.contact.family import Touches
from shinari.contact.solid.encode import bounds, encode_shapes
from shinari.contact.solid.shapes import MESH
from shinari.contact.solid.solid_kernels import sweep
from shinari.fluid.boundary_carriers import has_points
from shinari.fluid.wall_kernels import (
    PLANE_COLUMNS,
    PUSH_COLUMNS,
    find_planes,
    gather,
    mark_near,
    pushing,
    record,
)
from shinari.fluid.wall_table import overlap_factor, wall_table
from shinari.scene.motion import rotation_matrix

if TYPE_CHECKING:
    from shinari.contact.solid.solids import Solids
    from shinari.fluid.part import Fluid
    from shinari.rigid.coupling.pieces import Pieces
    from shinari.rigid.frames import Frames
    from shinari.scene.scene import Scene

# Planes are listed this much farther away than they are seen, in spacings: particles move during the iterations.
MARGIN = 0.25
# Lists last, within a step, until a solid has gone so far, in spacings; the fluid brings its particles into a new order
# before they have gone as far themselves.
STRAY = 0.1
# Planes near one particle that there is room for at first.
SLOTS = 3


class Walls:
    """Colliders and bodies that a fluid lies against; a boundary, see `shinari.fluid.part.Boundary`.

    Attributes:
        solids: Solids that count: colliders, then pieces of bodies, by index.
    """

    def __init__(self, scene: "Scene", fluid: "Fluid", solids: "Solids | None", frames: "Frames | None") -> None:
        """Bind the walls to a simulation.

        Args:
            scene: The scene.
            fluid: The fluids.
            solids: The colliders with their poses, or None.
            frames: The frames of the bodies, or None.
        """
        model, real = fluid.scene_model, fluid.scene_model.real
        smoothing = fluid.model.smoothing
        self._solids, self._frames, self._real = solids, frames, real
        if solids is not None:
            # densities can be asked for before the first step
            solids.begin(fluid.state.frame * fluid.settings.dt)
        self._group = int(model.groups[fluid.model.particles[0]]) if len(fluid.model.particles) else 0
        self._pieces = None if frames is None else _pieces_of(scene)
        shapes = [collider.shape for collider in model.colliders]
        self._first_piece = len(shapes)
        names = [collider.name for collider in model.colliders]
        if self._pieces is not None:
            shapes += [piece.shape for body in scene.bodies for piece in body.pieces]
            names += [body.name for body in scene.bodies for _ in body.pieces]
        self._kinds, self._sizes, self._fields = encode_shapes(shapes, real)
        corners = [bounds(shape) for shape in shapes]
        self._lows = np.array([low for low, _ in corners], real).reshape(-1, 3)
        self._highs = np.array([high for _, high in corners], real).reshape(-1, 3)
        self._poses, self._found_at = np.zeros((2, len(shapes), 12), real)
        self._sizes_about = np.linalg.norm(np.maximum(np.abs(self._lows), np.abs(self._highs)), axis=1)
        self._strays = real(STRAY * smoothing.spacing)
        self._ignored = np.array(
            [[(min(g.name, n), max(g.name, n)) in scene.ignored for n in names] for g in scene.groups], bool
        )
        # what has no end cannot be covered with points
        by_points = fluid.model.boundary == "particles"
        self.solids = np.array([k for k, s in enumerate(shapes) if not (by_points and has_points(s))], np.int64)
        self._table = wall_table(smoothing).astype(real)
        self._support, self._overlap = real(smoothing.support), real(overlap_factor(smoothing))
        # the first ghosts are half a spacing behind a wall
        self._reach = real(smoothing.support - 0.5 * smoothing.spacing + MARGIN * smoothing.spacing)
        self._flat = smoothing.dimensions == 2
        self._mark, self._find = sweep(mark_near), sweep(find_planes, meshes=bool((self._kinds >= MESH).any()))
        still = [c.motion is None for c in model.colliders] + [False] * (len(shapes) - self._first_piece)
        self._still = (self._kinds >= MESH) & np.array(still, bool)
        self._far = np.zeros((len(model.radii) if self._still.any() else 0, 4), real)
        self._far_from: tuple | None = None
        self._slots, self._buffers = SLOTS, {}
        self._items = np.zeros(0, np.int64)
        self._frame, self._kept, self._fresh = -1, [], True
        self._order: np.ndarray | None = None
        if frames is not None:
            self._scratch = (np.zeros_like(frames.q), np.zeros_like(frames.x), np.zeros((len(frames.x), 2)))
            self._touched, self._sums = np.zeros(len(frames.x)), np.zeros((len(frames.x), 6))

    def find(self, fluid: "Fluid", threads: int) -> None:
        """List the planes near each particle, unless particles and solids are about where they were."""
        self._fresh = True
        if self._frame == fluid.state.frame and self._order is fluid.order and self._near_enough(fluid):
            return
        self._keep()
        self._order = fluid.order
        if self._frame != fluid.state.frame:
            self._frame, self._kept = fluid.state.frame, []
        self._place(fluid)
        self._found_at[...] = self._poses
        if self._far_from != self._origin(fluid):
            self._far[:, 3], self._far_from = -1.0, self._origin(fluid)
        count = len(fluid.order)
        near = np.empty(count, bool)
        here = (fluid.x, fluid.particles, fluid.scene_model.owners, self._ignored, self._kinds, self._sizes)
        boxes = (self._lows, self._highs, self._poses, self.solids)
        self._mark(threads, np.array([0, count]), near, *here, *boxes, self._reach)
        self._items = np.flatnonzero(near)
        count = len(self._items)
        self._counts = self._array("counts", count, np.int64)
        while True:
            rows = count * self._slots
            self._of = self._array("of", rows, np.int64)
            self._planes = self._array("planes", rows, self._real, PLANE_COLUMNS)
            self._find(
                threads, np.array([0, count]), self._items, self._slots, self._counts, self._of, self._planes, *here,
                self._fields, *boxes, self._still, self._far, self._table, self._support, self._reach, self._flat
            )  # fmt: skip
            most = int(self._counts.max(initial=0))
            if most <= self._slots:
                break
            self._slots = most
        self._pushes = self._array("pushes", rows, self._real, PUSH_COLUMNS)
        self._impulses = self._array("impulses", rows, np.float64, 3)
        self._impulses[:] = 0.0
        self._particles = fluid.particles[self._items]

    def gather(self, fluid: "Fluid", threads: int) -> None:
        """Add the shares of the walls where particles and bodies are now."""
        if not len(self._items):
            return
        if self._pieces is not None:
            self._place(fluid)
        add: Any = gather
        add(threads, *self._lists, self._planes, self._pushes, self._poses, self._table, self._support, self._overlap,
            fluid.x, fluid.sums, fluid.pulls)  # fmt: skip
        if self._fresh and self._pieces is not None:
            from shinari.fluid.wall_bodies import stiffen

            f: Any = self._frames
            give_way: Any = stiffen
            give_way(*self._lists, self._first_piece, self._pieces.frames, self._pushes, fluid.x, self._origin(fluid),
                     f.x, f.inverse_mass, f.inverse_inertia, self._touched, fluid.stiffness)  # fmt: skip
        self._fresh = False

    def answer(self, fluid: "Fluid", threads: int) -> float:
        """How far the bodies give way to the direction of the multipliers."""
        if self._pieces is None or not len(self._items):
            return 0.0
        from shinari.fluid.wall_bodies import give_of_bodies

        f: Any = self._frames
        give: Any = give_of_bodies
        return give(*self._lists, self._first_piece, self._pieces.frames, self._pushes, fluid.x, self._origin(fluid),
                    f.x, f.inverse_mass, f.inverse_inertia, self._sums)  # fmt: skip

    def push(self, fluid: "Fluid", threads: int) -> None:
        """Count the impulses, and give bodies the opposite push."""
        if not len(self._items):
            return
        items, slots, counts, _ = self._lists
        record(items, slots, counts, self._pushes, self._impulses, fluid.x, 1.0 / fluid.h)
        if self._pieces is not None:
            from shinari.fluid.wall_bodies import push_bodies

            f: Any = self._frames
            give_back: Any = push_bodies
            state = fluid.state
            give_back(*self._lists, self._first_piece, self._pieces.frames, self._pushes, fluid.particles, fluid.x,
                      state.x, fluid.predicted, state.v, self._origin(fluid), f.x, f.q, f.x0, f.q0, f.inverse_mass,
                      f.moments, f.w, f.impulses, *self._scratch, fluid.h)  # fmt: skip

    def touches(self) -> Touches:
        """The walls that pushed in the last step, each particle and solid once."""
        self._keep()
        found = Touches.joined(self._kept)
        if not len(found.colliders):
            return found
        keys = found.particles[:, 0].astype(np.int64) * (int(found.colliders.max()) + 1) + found.colliders
        _, last, contact = np.unique(keys[::-1], return_index=True, return_inverse=True)
        last = len(keys) - 1 - last
        impulses = np.zeros((len(last), 3))
        np.add.at(impulses, contact.ravel()[::-1], found.impulses)
        self._kept = [
            Touches(found.particles[last], found.weights[last], found.colliders[last], found.normals[last], impulses)
        ]
        return self._kept[0]

    @property
    def _lists(self) -> tuple:
        return self._items, self._slots, self._counts, self._of

    def _keep(self) -> None:
        """Put the impulses of the lists to those of the step, before other lists are made."""
        if not len(self._items):
            return
        on = self._array("on", len(self._of), np.int64)
        on = on[: pushing(self._slots, self._counts, self._impulses, on)]
        impulses, solids = self._impulses[on], self._of[on]
        if self._pieces is not None:
            frames = np.concatenate([np.arange(self._first_piece), self._first_piece + self._pieces.frames])
            solids = frames[solids]
        weights = np.zeros((len(solids), 4))
        weights[:, 0] = 1.0
        particles = np.repeat(self._particles[on // self._slots, None], 4, axis=1).astype(np.uint32)
        turns = self._poses[self._of[on], :9].reshape(-1, 3, 3).astype(np.float64)
        normals = np.einsum("krc,kc->kr", turns, self._planes[on, :3].astype(np.float64))
        self._kept.append(Touches(particles, weights, solids, normals, impulses))
        self._items = self._items[:0]

    def _near_enough(self, fluid: "Fluid") -> bool:
        """Whether no point of a solid has gone far since the lists were made."""
        self._place(fluid)
        ways = self._poses - self._found_at
        turned = np.abs(ways[:, :9]).max(axis=1)
        # what does not turn may have no end
        far = np.linalg.norm(ways[:, 9:], axis=1) + 3.0 * turned * np.where(turned > 0.0, self._sizes_about, 0.0)
        return bool((far <= self._strays).all())

    def _place(self, fluid: "Fluid") -> None:
        """Poses of the solids now, relative to the origin of the particles."""
        if self._solids is not None:
            self._poses[: self._first_piece] = self._solids.after[self._group]
        if self._pieces is not None and self._frames is not None:
            frames, places = self._pieces.frames, self._pieces.places
            turns = rotation_matrix(self._frames.q[frames])
            mine = self._poses[self._first_piece :]
            mine[:, :9] = (turns @ places[:, :9].reshape(-1, 3, 3)).reshape(-1, 9)
            at = np.einsum("krc,kc->kr", turns, places[:, 9:]) + self._frames.x[frames]
            mine[:, 9:] = at - fluid.state.origins[self._group]

    def _origin(self, fluid: "Fluid") -> tuple[float, float, float]:
        x, y, z = fluid.state.origins[self._group].tolist()
        return x, y, z

    def _array(self, name: str, rows: int, dtype: type, *columns: int) -> np.ndarray:
        self._buffers[name] = grown(self._buffers.get(name), rows, dtype, *columns)
        return self._buffers[name][:rows]


def _pieces_of(scene: "Scene") -> "Pieces | None":
    """The shapes of the bodies; None when no body has any."""
    from shinari.rigid.coupling.pieces import pieces_of

    pieces = pieces_of(scene.bodies)
    return pieces if pieces.count else None
