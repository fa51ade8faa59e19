"""Cloth and soft bodies in the density of a fluid.

       o  o  o      a particle near a sheet sees a half space of fluid behind it, less what fluid is there indeed:
      --+-----+--   b(d) of a wall (`shinari.fluid.wall_table`), d from the nearest point of the sheet

So the layer next to a sheet is as dense at rest as one inside. Without it layers pile up there, and a bag of water
twenty spacings wide looks 8 % emptier than it is.

The share has no gradient here: what pushes a sheet is contact alone (`shinari.contact.surface`), and all of the
pressure passes through it. With the gradient, sheet and fluid would be pushed apart by a solve that knows what the
sheet weighs, but not what holds it; a cloth that weighs a hundredth of what it carries then shakes the water.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.contact.broad.bvh import Tree
from shinari.contact.buffers import grown
from shinari.contact.family import Touches
from shinari.contact.surface.participants import Participants
from shinari.fluid.sheet_kernels import boxes_of, distances_of, farther, find_nearest, share
from shinari.fluid.wall_table import SHARE, wall_table

if TYPE_CHECKING:
    from shinari.fluid.part import Fluid

# Lists last until a particle or a corner has gone half of this, in spacings.
MARGIN = 0.8
# Particles near sheets for which it is worth waking one more thread.
WORK = 400


class Sheets:
    """Triangles as a boundary of the fluids; a particle feels the one that is nearest to it."""

    def __init__(self, fluid: "Fluid", who: Participants) -> None:
        """Bind the triangles of what can touch to the fluids."""
        model, smoothing = fluid.scene_model, fluid.model.smoothing
        real = model.real
        self._model = model
        self._table = wall_table(smoothing)[SHARE].astype(real)
        self._support = real(smoothing.support)
        self._margin = MARGIN * smoothing.spacing
        # the first layer that is missing begins half a spacing behind a sheet
        self._reach = smoothing.support - 0.5 * smoothing.spacing
        self._group = int(model.groups[fluid.model.particles[0]]) if len(fluid.model.particles) else 0
        self._begin = np.zeros((model.particle_count, 3), real)
        self._rank = np.zeros(len(fluid.model.particles), np.int64)
        self._buffers: dict[str, np.ndarray] = {}
        self._frame, self._count = -1, 0
        triangles = who.triangles
        self._triangles, self._corners = triangles, np.unique(triangles)
        things = range(len(who.members))
        self._meets = np.array([[f != t and who.may_meet(f, t) for t in things] for f in fluid.model.things])
        centres = (model.origins[model.groups[triangles]] + who.rest[triangles]).mean(axis=1)
        self._tree = Tree(centres, model.real)
        self._low, self._high = np.zeros((2, len(triangles), 3), model.real)

    def find(self, fluid: "Fluid", threads: int) -> None:
        """Nearest point of the sheets for each particle near one, from where things were when the substep began."""
        state, real = fluid.state, self._model.real
        if fluid.moving:
            np.subtract(fluid.predicted, real(fluid.h) * state.v, out=self._begin)
        else:
            self._begin[:] = state.x[:, :3]
        self._shifts = (state.origins - state.origins[self._group]).astype(real)[self._model.groups]
        if self._frame != state.frame or self._strayed():
            self._detect(fluid, threads)
        self._frame = state.frame
        self._rank[fluid.order] = np.arange(len(fluid.order))
        count = self._count = len(self._ids)
        for name in ("normals", "weights"):
            self._buffers[name] = grown(self._buffers.get(name), count, real, 3)
        self._buffers["chosen"] = grown(self._buffers.get("chosen"), count, np.int64)
        if count:
            find_nearest(
                self._threads(threads), self._particles, self._offsets, self._candidates, self._triangles,
                self._model.radii, self._begin, self._shifts, self._model.real(self._reach), self._get("chosen"),
                self._get("weights"), self._get("normals"),
            )  # fmt: skip

    def gather(self, fluid: "Fluid", threads: int) -> None:
        """Add to the density of each particle near a sheet what is missing behind it."""
        if self._count:
            share(
                self._threads(threads), fluid.model.smoothing.kernel, fluid.inverse2, fluid.weight_scale,
                self._support, self._table, self._rank, self._ids, self._get("chosen"), self._get("weights"),
                self._get("normals"), self._triangles, self._model.radii, self._shifts, fluid.state.x, fluid.x,
                fluid.offsets, fluid.indices, fluid.sums,
            )  # fmt: skip

    def answer(self, fluid: "Fluid", threads: int) -> float:
        """Not counted."""
        return 0.0

    def push(self, fluid: "Fluid", threads: int) -> None:
        """Nothing: contact pushes."""

    def touches(self) -> Touches:
        """None but those of the contacts."""
        return Touches.none()

    def _threads(self, threads: int) -> int:
        return max(1, min(threads, self._count // WORK))

    def _get(self, name: str) -> np.ndarray:
        return self._buffers[name][: self._count]

    def _strayed(self) -> bool:
        """Whether a particle near a sheet, or a corner of one, has left its margin."""
        most = max(farther(who, self._begin, before) for who, before in self._found_at)
        return 2.0 * most**0.5 > self._margin

    def _detect(self, fluid: "Fluid", threads: int) -> None:
        """List the triangles that may come near each particle."""
        begin, model = self._begin, self._model
        reach = model.real(self._reach + self._margin)
        boxes_of(self._triangles, model.radii, begin, self._shifts, self._low, self._high)
        particles = fluid.model.particles[fluid.order]
        self._found_at = [(who, begin[who]) for who in (particles, self._corners)]
        x = begin[particles]
        inside = ((x > self._low.min(axis=0) - reach) & (x < self._high.max(axis=0) + reach)).all(axis=1)
        ids = np.sort(fluid.order[inside])
        self._ids, self._offsets = ids[:0], np.zeros(1, np.int64)
        if len(ids) == 0:
            return
        particles = fluid.model.particles[ids]
        x = begin[particles]
        self._tree.refit(self._low, self._high, threads)
        pairs = self._tree.overlaps(x - reach, x + reach, threads)
        meets = self._meets[fluid.model.phases[ids[pairs[:, 0]]], model.owners[self._triangles[pairs[:, 1], 0]]]
        distances = np.empty(len(pairs), model.real)
        distances_of(pairs, particles, self._triangles, model.radii, begin, self._shifts, distances)
        distances[~meets] = np.inf
        queries, starts = np.unique(pairs[:, 0], return_index=True)
        nearest = np.minimum.reduceat(distances, starts) if len(starts) else distances[:0]
        # until the lists are made anew two distances change by at most a margin each
        most = np.where(nearest < reach, nearest + 2.0 * self._margin, -np.inf)
        keep = distances <= np.repeat(most, np.diff(np.append(starts, len(pairs))))
        pairs = pairs[keep]
        queries, starts = np.unique(pairs[:, 0], return_index=True)
        self._ids, self._particles = ids[queries], particles[queries]
        self._offsets = np.append(starts, len(pairs)).astype(np.int64)
        self._candidates = pairs[:, 1].astype(np.uint32)
