"""Cloth and soft bodies in the density of a fluid.

       o  o  o      a particle near a sheet sees a half space of fluid behind it, less what fluid is there indeed:
      --+-----+--   b(d), d from the nearest point of the sheet. What the pressure pushes the particle away, it pushes
                    the corners of the triangle the other way, by the weights of that point.

So the layer next to a sheet is as dense at rest as one inside, and no layers pile up there: without it a bag of water
looks 5 to 9 % emptier than it is. The half space is that of a wall (`shinari.fluid.wall_table`). What keeps particles
from going through is contact (`shinari.contact.surface`), not this; each carries about half of the pressure.
"""

from typing import TYPE_CHECKING

import numpy as np

from shinari.contact.broad.bvh import Tree
from shinari.contact.buffers import grown
from shinari.contact.family import Touches
from shinari.contact.surface.participants import Participants
from shinari.fluid.sheet_kernels import boxes_of, count_corners, farther, nearest, push_corners, share
from shinari.fluid.wall_table import wall_table

if TYPE_CHECKING:
    from shinari.fluid.part import Fluid

# Room around the support in which triangles are looked for, as part of it.
MARGIN = 0.25
# Particles near sheets for which it is worth waking one more thread.
SHARE = 400


class Sheets:
    """Triangles as a boundary of the fluids; a particle feels the one that is nearest to it."""

    def __init__(self, fluid: "Fluid", who: Participants) -> None:
        """Bind the triangles of what can touch to the fluids."""
        model, smoothing = fluid.scene_model, fluid.model.smoothing
        real = model.real
        self._model = model
        self._table = np.ascontiguousarray(wall_table(smoothing).T.astype(real))
        self._support = real(smoothing.support)
        self._reach = (1.0 + MARGIN) * smoothing.support
        self._group = int(model.groups[fluid.model.particles[0]]) if len(fluid.model.particles) else 0
        self._begin = np.zeros((model.particle_count, 3), real)
        self._rank = np.zeros(len(fluid.model.particles), np.int64)
        self._uses = np.zeros(model.particle_count, np.int64)
        self._buffers: dict[str, np.ndarray] = {}
        self._kept: list[Touches] = []
        self._fresh, self._frame, self._count = False, -1, 0
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
        self._keep()
        if fluid.moving:
            np.subtract(fluid.predicted, real(fluid.h) * state.v, out=self._begin)
        else:
            self._begin[:] = state.x[:, :3]
        self._shifts = (state.origins - state.origins[self._group]).astype(real)[self._model.groups]
        if self._frame != state.frame:
            self._kept = []
        if self._frame != state.frame or self._strayed():
            self._detect(fluid, threads)
        self._frame = state.frame
        self._rank[fluid.order] = np.arange(len(fluid.order))
        count = self._count = len(self._ids)
        for name in ("normals", "weights", "pulls", "impulses"):
            self._buffers[name] = grown(self._buffers.get(name), count, real, 3)
        self._buffers["chosen"] = grown(self._buffers.get("chosen"), count, np.int64)
        if count:
            nearest(
                self._threads(threads), self._particles, self._offsets, self._candidates, self._triangles,
                self._model.radii, self._begin, self._shifts, self._support, self._get("chosen"), self._get("weights"),
                self._get("normals"),
            )  # fmt: skip
            count_corners(self._get("chosen"), self._triangles, self._uses)
            self._get("impulses")[:] = 0.0
        self._fresh = True

    def gather(self, fluid: "Fluid", threads: int) -> None:
        """Add what sheets contribute to the density of each particle, to its gradient and to its stiffness."""
        if self._count:
            share(
                self._threads(threads), self._fresh, fluid.model.smoothing.kernel, fluid.inverse2, fluid.weight_scale,
                self._support, self._table, self._rank, self._ids, self._get("chosen"), self._get("weights"),
                self._get("normals"), self._triangles, self._model.radii, self._shifts, fluid.state.x, self._uses,
                fluid.x, fluid.offsets, fluid.indices, self._get("pulls"), fluid.sums, fluid.pulls, fluid.stiffness,
            )  # fmt: skip
            self._fresh = False

    def push(self, fluid: "Fluid", threads: int) -> None:
        """Push the corners of the triangles."""
        if self._count:
            push_corners(
                self._rank, self._ids, self._get("chosen"), self._get("weights"), self._get("pulls"), self._triangles,
                fluid.x, self._model.real(1.0 / fluid.h), fluid.state.x, self._get("impulses"),
            )  # fmt: skip

    def touches(self) -> Touches:
        """The triangles that the fluids pushed in the last step."""
        self._keep()
        self._kept = [Touches.joined(self._kept)]
        return self._kept[0]

    def _threads(self, threads: int) -> int:
        return max(1, min(threads, self._count // SHARE))

    def _get(self, name: str) -> np.ndarray:
        return self._buffers[name][: self._count]

    def _strayed(self) -> bool:
        """Whether a particle near a sheet, or a corner of one, has left its margin."""
        most = max(farther(who, self._begin, before) for who, before in self._found_at)
        return 2.0 * most**0.5 > MARGIN * float(self._support)

    def _detect(self, fluid: "Fluid", threads: int) -> None:
        """List the triangles that may come near each particle."""
        begin, model = self._begin, self._model
        reach = self._reach
        boxes_of(self._triangles, model.radii, begin, self._shifts, self._low, self._high)
        self._tree.refit(self._low, self._high, threads)
        there = np.sort(fluid.order)
        particles = fluid.model.particles[there]
        x = begin[particles]
        inside = ((x > self._low.min(axis=0) - reach) & (x < self._high.max(axis=0) + reach)).all(axis=1)
        ids = there[inside]
        x = np.ascontiguousarray(x[inside])
        pairs = self._tree.overlaps(x - model.real(reach), x + model.real(reach), threads)
        phases = fluid.model.phases[ids[pairs[:, 0]]]
        pairs = pairs[self._meets[phases, model.owners[self._triangles[pairs[:, 1], 0]]]]
        queries, starts = np.unique(pairs[:, 0], return_index=True)
        self._ids = ids[queries]
        self._particles = fluid.model.particles[self._ids]
        self._offsets = np.append(starts, len(pairs)).astype(np.int64)
        self._candidates = pairs[:, 1].astype(np.uint32)
        self._found_at = [(who, begin[who]) for who in (particles, self._corners)]

    def _keep(self) -> None:
        """Put away what was pushed in the substep."""
        if self._count == 0:
            return
        pushed = np.flatnonzero((self._get("impulses") != 0.0).any(axis=1))
        if len(pushed):
            corners = self._triangles[self._get("chosen")[pushed]]
            particles = np.concatenate([self._particles[pushed, None].astype(np.uint32), corners], axis=1)
            weights = np.concatenate([np.ones((len(pushed), 1)), -self._get("weights")[pushed].astype(float)], axis=1)
            self._kept.append(
                Touches(
                    particles,
                    weights,
                    np.full(len(pushed), -1),
                    self._get("normals")[pushed].astype(np.float64),
                    self._get("impulses")[pushed].astype(np.float64),
                )
            )
        self._count = 0
