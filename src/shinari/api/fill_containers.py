"""Fills the inside of containers with particles, up to a level.

A lattice spans the containers. Its points that are half a spacing or more away from every solid are free; those that a
fluid could reach from beside or below the containers are outside. What is free and not outside is filled. Solids that
stand in a container are spared. The lattice follows walls that are turned about the vertical, and is stretched to an
inside that is a box.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shinari.compute import Field, Record, kernel
from shinari.compute.program import run_once
from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.scene.contents import Contents
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.mesh import Mesh
from shinari.shapes.plane import Plane
from shinari.shapes.sampling.fill_volume import (
    MOST_POINTS,
    ROUNDING,
    cells_along,
    check_size,
    extent,
    fill_box,
    lattice,
)

Points = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Solid:
    """A shape in the world.

    Attributes:
        name: What it belongs to.
        shape: The shape.
        position: Where its origin is [m], (3,).
        turn: Its rotation, (3, 3).
    """

    name: str
    shape: Shape
    position: Points
    turn: Points

    def local(self, points: Points) -> Points:
        """Points of the world in its own axes, (N, 3)."""
        return (points - self.position) @ self.turn

    @property
    def is_upright_tank(self) -> bool:
        """Whether its inside is a box along the axes of the world."""
        return isinstance(self.shape, Box) and self.shape.inside and np.abs(self.turn - np.eye(3)).max() < 1e-12

    def turned(self, centre: Points, turn: Points) -> "Solid":
        """It after a rotation (3, 3) about a centre (3,) [m]."""
        return replace(self, position=turn @ (self.position - centre) + centre, turn=turn @ self.turn)

    def extent(self) -> tuple[Points, Points]:
        """Corners (3,) [m] of the box around it in the world; infinite where it has no end."""
        low, high = extent(self.shape)
        if not np.isfinite([low, high]).all():
            return np.full(3, -np.inf), np.full(3, np.inf)
        middle, half = 0.5 * (low + high), 0.5 * (high - low)
        at, reach = self.turn @ middle + self.position, np.abs(self.turn) @ half
        return at - reach, at + reach


def solids_of(scene: Contents) -> list[Solid]:
    """Colliders and the shapes of rigid bodies, where they start."""
    found = [Solid(c.name, c.shape, c.position, rotation_matrix(c.rotation)) for c in scene.colliders]
    for body in scene.bodies:
        turn = rotation_matrix(body.rotation)
        for piece in body.pieces:
            at = turn @ piece.position + body.position
            found.append(Solid(body.name, piece.shape, at, turn @ rotation_matrix(piece.rotation)))
    return found


def fill_containers(
    label: str, solids: Sequence[Solid], names: Sequence[str], spacing: float, level: float | None, z: float | None
) -> tuple[Points, float | None]:
    """Particles that fill the inside of containers.

    Args:
        label: What they belong to, for messages.
        solids: All solids of the scene.
        names: Those that are the container, or its walls.
        spacing: Distance of the particles [m].
        level: Height of the surface [m]; None: to the brim.
        z: Plane of a fluid of two dimensions [m]; None: it has three.

    Returns:
        Points [m], (N, 3); and the volume that they fill [m^3] where that is a box, else None.

    Raises:
        SceneError: They enclose nothing below that level, or the spacing does not fit.
    """
    called = ", ".join(map(repr, names))
    walls = [solid for solid in solids if solid.name in names]
    low, high = _span(label, called, walls)
    turn, centre = walls[0].turn, walls[0].position
    if z is None and np.abs(turn - np.eye(3)).max() > 0.0 and _are_upright(walls, turn):
        # in the axes of the walls
        straight = [replace(w, turn=np.eye(3)) for w in (solid.turned(centre, turn.T) for solid in walls)]
        others = [solid.turned(centre, turn.T) for solid in solids if solid.name not in names]
        points, volume = fill_containers(label, [*straight, *others], names, spacing, level, None)
        return (points - centre) @ turn.T + centre, volume
    top = high[1] if level is None else level
    if top > high[1] + ROUNDING * max(spacing, abs(high[1])):
        raise SceneError(f"{label}: fill_to: {top:g} m is above the top of {called}, y = {high[1]:.6g} m")
    if top - low[1] < spacing * (1.0 - ROUNDING):
        raise SceneError(
            f"{label}: fill_to: {top:g} m is less than a spacing of {spacing:g} m above the lowest point of {called}, "
            f"y = {low[1]:.6g} m"
        )
    sizes = np.array([high[0] - low[0], top - low[1], high[2] - low[2]])
    check_size(label, (sizes / spacing)[: 2 if z is not None else 3], spacing)
    # a first lattice finds where the walls are; a second one begins half a spacing from them
    first = Grid.over(low, high, low, high, top, spacing, z)
    points, gaps = first.enclosed(solids)
    if len(points) == 0:
        raise SceneError(f"{label}: {_why_empty(called, first, solids, high[1], top)}")
    reach = np.minimum(gaps, 2.0 * spacing)[:, None]
    inner_low, inner_high = (points - reach).min(axis=0), (points + reach).max(axis=0)
    is_tank = len(walls) == 1 and walls[0].is_upright_tank
    if is_tank:
        inner_low, inner_high = low.copy(), high.copy()
    second, _ = Grid.over(low, high, inner_low, inner_high, top, spacing, z).enclosed(solids)
    inner_high[1] = top
    if z is not None:
        inner_low[2], inner_high[2] = z - 0.5 * spacing, z + 0.5 * spacing
    is_box = len(second) == math.prod(cells_along(length, spacing) for length in inner_high - inner_low)
    if is_tank or is_box:
        # the lattice can be stretched to the box
        box, volume = fill_box(inner_low, inner_high, spacing, 3 if z is None else 2)
        others = [] if is_box else [solid for solid in solids if solid is not walls[0]]
        free = distances(others, box, spacing) >= spacing * (0.5 - ROUNDING)
        if free.any():
            return box[free], volume * float(free.mean())
    return (second if len(second) >= len(points) else points), None


def _are_upright(walls: Sequence[Solid], turn: Points) -> bool:
    """Whether all walls are turned alike (3, 3), about the vertical."""
    return abs(turn[1, 1] - 1.0) < 1e-12 and all(np.abs(wall.turn - turn).max() < 1e-12 for wall in walls)


def _why_empty(called: str, grid: "Grid", solids: Sequence[Solid], high: float, top: float) -> str:
    """Why containers enclose no point of a lattice that ends at a level `top` [m]; they themselves end at `high`."""
    spacing = grid.spacing
    whole = grid.cut_at(cells_along(high - grid.low[1] + 0.5 * spacing, spacing))
    if whole.counts.prod() <= MOST_POINTS:
        points, gaps = whole.enclosed(solids)
        bottom = (points[:, 1] - np.minimum(gaps, 2.0 * spacing)).min() if len(points) else -np.inf
        if top < bottom + spacing:
            return (
                f"fill_to: {top:g} m is less than a spacing of {spacing:g} m above the bottom inside {called}, "
                f"y = {bottom:.4g} m"
            )
    holds = _brim(grid, solids)
    if holds is not None:
        return f"fill_to: {top:g} m is above the brim of {called}: it runs out above y = {holds:.4g} m"
    return (
        f"container: {called} holds nothing: it is open at a side or below, or its inside is narrower than a spacing "
        f"of {spacing:g} m"
    )


@dataclass(frozen=True, eq=False)
class Grid:
    """A lattice over containers, with one more layer of points beside and below them.

    Attributes:
        low: Its first point [m], (3,).
        counts: Points along each axis, (3,).
        spacing: Distance of the points [m].
        flat: Whether there is only one layer along z.
    """

    low: Points
    counts: NDArray[np.int64]
    spacing: float
    flat: bool

    @classmethod
    def over(
        cls, low: Points, high: Points, inner_low: Points, inner_high: Points, top: float, spacing: float,
        z: float | None,
    ) -> "Grid":  # fmt: skip
        """A lattice from `low` to `high` and up to `top`, so that the inner box is filled from its bottom.

        In x and z it is centred in the inner box.
        """
        inside = np.array([cells_along(length, spacing) for length in inner_high - inner_low])
        first = 0.5 * (inner_low + inner_high) - 0.5 * spacing * (inside - 1)
        first[1] = inner_low[1] + 0.5 * spacing
        before = np.maximum(np.ceil((first - low) / spacing), 0.0).astype(np.int64) + 1
        start = first - spacing * before
        counts = np.ceil((high - start) / spacing).astype(np.int64) + 2
        counts[1] = cells_along(top - start[1] + 0.5 * spacing, spacing)
        if z is not None:
            start[2], counts[2] = z, 1
        return cls(start, counts, spacing, z is not None)

    def enclosed(self, solids: Sequence[Solid]) -> tuple[Points, Points]:
        """Points that are free and not outside, (N, 3), and how far each is from the nearest solid, (N,) [m]."""
        points = lattice(self.low, self.counts, self.spacing)
        gaps = distances(solids, points, 2.0 * self.spacing)
        free = (gaps >= self.spacing * (0.5 - ROUNDING)).reshape(self.counts)
        inside = free & ~outside(free, self._cuts(solids, points), self.flat)
        return points[inside.ravel()], gaps[inside.ravel()]

    def _cuts(self, solids: Sequence[Solid], points: Points) -> NDArray[np.bool_]:
        """Whether a sheet stands between each point and the next one along each axis, (x, y, z, 3)."""
        cuts = np.zeros((*self.counts, 3), bool)
        sheets = [solid for solid in solids if isinstance(solid.shape, Mesh) and not solid.shape.solid]
        if sheets:
            for k in range(3):
                halfway = points + 0.5 * self.spacing * np.eye(3)[k]
                near = distances(sheets, halfway, 0.5 * self.spacing) < 0.25 * self.spacing
                cuts[..., k] = near.reshape(self.counts)
        return cuts

    def cut_at(self, layers: int) -> "Grid":
        """It with so many layers."""
        counts = self.counts.copy()
        counts[1] = layers
        return Grid(self.low, counts, self.spacing, self.flat)


def distances(solids: Sequence[Solid], points: Points, most: float) -> Points:
    """Distance of points (N, 3) from the nearest of some solids, negative inside, `most` at most [m], (N,)."""
    from shinari.shapes.kernels.encode import signed_distance

    found = np.full(len(points), most)
    for solid in solids:
        low, high = solid.extent()
        container = isinstance(solid.shape, Box) and solid.shape.inside
        near = np.ones(len(points), bool) if container else ((points > low - most) & (points < high + most)).all(axis=1)
        if near.any():
            found[near] = np.minimum(found[near], signed_distance(solid.shape, solid.local(points[near])))
    return found


def _span(label: str, called: str, walls: Sequence[Solid]) -> tuple[Points, Points]:
    """Corners (3,) [m] of the box around containers."""
    ends = [wall.extent() for wall in walls if not isinstance(wall.shape, Plane)]
    if not ends:
        raise SceneError(f"{label}: container: {called} has no shape with an inside that could be filled")
    return np.min([low for low, _ in ends], axis=0), np.max([high for _, high in ends], axis=0)


def _brim(grid: Grid, solids: Sequence[Solid]) -> float | None:
    """Height [m] up to which containers hold something; None: nothing at all."""
    low, high = 0, int(grid.counts[1])
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if len(grid.cut_at(middle).enclosed(solids)[0]) else (low, middle)
    return float(grid.low[1] + grid.spacing * (low - 0.5)) if low > 0 else None


class Nodes(Record):
    """Points of the lattice, z fastest."""

    free = Field(np.bool_, doc="whether a particle may be there")
    cut = Field(np.bool_, 3, doc="whether something stands between it and the next one along each axis")
    reached = Field(np.bool_)
    stack = Field(np.int64, doc="points whose neighbours are still to be looked at")


def outside(free: NDArray[np.bool_], cuts: NDArray[np.bool_], flat: bool) -> NDArray[np.bool_]:
    """Which of the free points (x, y, z) are connected with one at a side or below.

    Args:
        free: Points where a particle may be, (x, y, z) bool.
        cuts: Whether something stands between a point and the next one along each axis, (x, y, z, 3) bool.
        flat: Whether the first and the last layer along z are no sides.
    """
    sides = np.zeros(free.shape, bool)
    sides[[0, -1]] = sides[:, 0] = True
    if not flat:
        sides[:, :, [0, -1]] = True
    seeds = np.flatnonzero(sides & free)
    nodes = Nodes.zeros(free.size)
    nodes.free[...], nodes.cut[...] = free.ravel(), cuts.reshape(-1, 3)
    nodes.reached[seeds], nodes.stack[: len(seeds)] = True, seeds
    run_once(flood, nodes, *free.shape, len(seeds), count=1)
    return nodes.reached.reshape(free.shape)


@kernel
def flood(_, nodes: Nodes, nx: np.int64, ny: np.int64, nz: np.int64, count: np.int64):
    """Reach all free points that are connected with those on the stack."""
    left = count
    while left > 0:
        left -= 1
        here = nodes.stack[left]
        i, j, k = here // (ny * nz), here // nz % ny, here % nz
        for way in range(6):
            axis, step = way // 2, way % 2 * 2 - 1
            a = i + (step if axis == 0 else 0)
            b = j + (step if axis == 1 else 0)
            c = k + (step if axis == 2 else 0)
            if a >= 0 and b >= 0 and c >= 0 and a < nx and b < ny and c < nz:
                there = (a * ny + b) * nz + c
                if nodes.free[there] and not nodes.reached[there]:
                    cut = nodes.cut[here, axis] if step > 0 else nodes.cut[there, axis]
                    if not cut:
                        nodes.reached[there] = True
                        nodes.stack[left] = there
                        left += 1
