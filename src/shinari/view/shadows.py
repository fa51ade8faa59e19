"""Soft shadows of pictures: how much of the lamp and of the sky each pixel sees.

VTK's own shadows are hard, and its ambient occlusion takes two seconds a frame where a processor has to draw. Here some
directions, a bundle towards the lamp and the rest spread over the sky, each get a depth map of all that is drawn, made
of the triangles and spheres themselves. A pixel, whose place follows from VTK's depth buffer, then looks itself up in
every map: what lies deeper than the map says is in shadow (Williams 1978, Casting curved shadows on curved surfaces;
the four nearest cells are compared as in Reeves et al. 1987). Directions that stay the same make shadows that do not
flicker.

The ground is no mesh: a pixel without a thing sees it where its ray meets the plane. Its light is smooth, so it is
found on a grid first.

The kernels run without Python's lock, each thread on rows of its own: compiled so, they are ready in a third of the
time that Numba's parallel loops take.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from shinari.view.camera import Camera

LAMP_DIRECTION = (0.35, 0.85, 0.40)
"""Towards the lamp."""
LAMP_SPREAD = 0.09
"""Radius of the lamp over its distance."""
LAMP_SAMPLES = 12
SKY_SAMPLES, FINE_SKY_SAMPLES = 44, 160
"""Directions to the sky for the pictures of a video, and for a single one, which takes half a second more."""
LAMP_CELLS, SKY_CELLS = 512, 256
"""Cells of a depth map along an edge: the edges of lamp shadows are seen, those of the sky hardly."""
SKY_LOWEST = 0.12
"""Height above the horizon from which the sky shines; the zenith is 1."""
LAMP_DEPTH, SKY_DEPTH = 0.40, 0.70
"""How much darker a place is that sees nothing of the lamp, or of the sky."""
SKY_FALLOFF = 0.5
"""Distance at which a thing takes half as much of the sky as one that touches, in halves of the edge of a depth map."""
GROUND_CELLS = 224
"""Cells of the grid on the ground along an edge."""
GROUND_REACH = 2.5
"""Half the edge of that grid, in halves of the edge of a depth map."""
FADE = 6.0
"""Distance from the middle at which the ground is the background, in sizes of the motion."""

f32 = np.float32
_GOLDEN = np.pi * (3.0 - np.sqrt(5.0))
_FAST: dict[str, Any] = {
    "nogil": True,
    "cache": True,
    "error_model": "numpy",
    "fastmath": {"contract", "reassoc", "arcp", "nsz"},
}


@dataclass(frozen=True)
class Ground:
    """The plane below.

    Attributes:
        height: Its height [m].
        size: Size of the motion [m].
        cell: Distance of the lines on it [m]; 0 without lines.
    """

    height: float
    size: float
    cell: float


class Lights:
    """The lamp and the sky, and what they cannot see of a frame.

    Args:
        middle: Middle of what throws shadows [m], shape (3,).
        reach: Farthest that it gets from there along an axis [m]; what is farther throws no shadow.
        ground: The plane below.
        sky_samples: Directions to the sky.
    """

    def __init__(self, middle: np.ndarray, reach: float, ground: Ground, sky_samples: int = SKY_SAMPLES) -> None:
        self._middle, self._reach, self._ground = np.asarray(middle, np.float32), f32(reach), ground
        self._lamp, self._sky = directions(sky_samples)
        self._lamp_maps = np.empty((LAMP_SAMPLES, LAMP_CELLS, LAMP_CELLS), np.float32)
        self._sky_maps = np.empty((sky_samples, SKY_CELLS, SKY_CELLS), np.float32)
        self._threads = min(numba.config.NUMBA_NUM_THREADS, os.cpu_count() or 1)  # type: ignore[attr-defined]
        self._floor = np.ones((GROUND_CELLS, GROUND_CELLS), np.float32)

    def cast(self, triangles: np.ndarray, spheres: np.ndarray) -> None:
        """Make the depth maps of a frame.

        Args:
            triangles: Corners [m], shape (T, 3, 3).
            spheres: Middles and radii [m], shape (S, 4).
        """
        corners = np.ascontiguousarray(triangles, np.float32).reshape(-1, 9) - np.tile(self._middle, 3)
        balls = np.ascontiguousarray(spheres, np.float32) - np.append(self._middle, f32(0.0))
        for maps, axes in ((self._lamp_maps, self._lamp), (self._sky_maps, self._sky)):
            self._share(len(maps), lambda i, j, m=maps, a=axes: _fill(m[i:j], a[i:j], corners, balls, self._reach))
        height = f32(self._ground.height) - self._middle[1]
        wide = f32(GROUND_REACH) * self._reach
        maps = (self._lamp_maps, self._lamp, self._sky_maps, self._sky, self._reach)
        self._share(GROUND_CELLS, lambda i, j: _light_floor(self._floor, i, j, wide, height, *maps))

    def shade(
        self,
        colors: np.ndarray,
        depths: np.ndarray,
        camera: Camera,
        planes: tuple[float, float],
        background: tuple[np.ndarray, np.ndarray],
        samples: int,
    ) -> np.ndarray:
        """The picture: colours darkened where the light does not get, on the ground, before the background.

        Args:
            colors: What VTK drew, shape (H, W, 3) uint8, first row below.
            depths: Its depth buffer, shape (H, W) float32, 1 where nothing is.
            camera: The camera.
            planes: Distances of the near and the far plane of the depth buffer [m].
            background: Colours at the top and at the bottom of the picture, each (3,) in 0..255.
            samples: Columns, and rows, that make a pixel together.

        Returns:
            Shape (H / samples, W / samples, 3) uint8, first row above.
        """
        height, width = depths.shape
        slope = np.tan(np.radians(0.5 * camera.angle))
        view = np.concatenate([[np.subtract(camera.position, self._middle)], camera.axes()]).astype(np.float32)
        lens = np.array([slope * width / height, slope, *planes], np.float32)
        ground = self._ground
        plane = np.array([ground.height - self._middle[1], ground.size, ground.cell, *self._middle], np.float32)
        wide = f32(GROUND_REACH) * self._reach
        ends = np.stack(background).astype(np.float32)
        picture = np.zeros((height // samples, width // samples, 3), np.uint8)
        maps = (self._lamp_maps, self._lamp, self._sky_maps, self._sky, self._reach)
        rest = (colors, depths, view, lens, plane, self._floor, wide, ends, samples)
        self._share(len(picture), lambda i, j: _shade(picture, i, j, *rest, *maps))
        return picture

    def _share(self, count: int, work: Callable[[int, int], None]) -> None:
        """Do work(first, last) for all of `count`, in pieces on the threads."""
        pieces = np.linspace(0, count, min(count, 8 * self._threads) + 1).astype(int)
        with ThreadPoolExecutor(self._threads) as pool:
            list(pool.map(work, pieces[:-1].tolist(), pieces[1:].tolist()))


def directions(sky_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Directions towards the lamp and towards the sky, each with two axes across, unit vectors.

    Returns:
        Shapes (LAMP_SAMPLES, 3, 3) and (sky_samples, 3, 3) float32; of each, the last row points to the light.
    """
    lamp = np.array(LAMP_DIRECTION) / np.linalg.norm(LAMP_DIRECTION)
    u, v, _ = _with_axes(lamp[None])[0]
    k = np.arange(LAMP_SAMPLES)
    disc = LAMP_SPREAD * np.sqrt((k + 0.5) / LAMP_SAMPLES)
    towards = lamp + (disc * np.cos(_GOLDEN * k))[:, None] * u + (disc * np.sin(_GOLDEN * k))[:, None] * v
    k = np.arange(sky_samples)
    height = SKY_LOWEST + (1.0 - SKY_LOWEST) * (k + 0.5) / sky_samples
    flat = np.sqrt(1.0 - height**2)
    sky = np.stack([flat * np.cos(_GOLDEN * k), height, flat * np.sin(_GOLDEN * k)], axis=1)
    return _with_axes(towards / np.linalg.norm(towards, axis=1, keepdims=True)), _with_axes(sky)


def _with_axes(towards: np.ndarray) -> np.ndarray:
    side = np.where(np.abs(towards[:, 1:2]) < 0.9, (0.0, 1.0, 0.0), (1.0, 0.0, 0.0))
    u = np.cross(towards, side)
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return np.stack([u, np.cross(towards, u), towards], axis=1).astype(np.float32)


@numba.njit(**_FAST)
def _fill(maps, axes, corners, spheres, reach):
    """Depth maps: how far towards the light the nearest thing is from the middle [m], -inf where there is nothing."""
    cells = maps.shape[1]
    half = f32(0.5) * f32(cells)
    scale = half / reach
    p = np.zeros((3, 3), np.float32)
    for light in range(maps.shape[0]):
        depth, a = maps[light], axes[light]
        depth[:] = f32(-np.inf)
        for t in range(corners.shape[0]):
            for k in range(3):
                x, y, z = corners[t, 3 * k], corners[t, 3 * k + 1], corners[t, 3 * k + 2]
                p[k, 0] = (x * a[0, 0] + y * a[0, 1] + z * a[0, 2]) * scale + half
                p[k, 1] = (x * a[1, 0] + y * a[1, 1] + z * a[1, 2]) * scale + half
                p[k, 2] = x * a[2, 0] + y * a[2, 1] + z * a[2, 2]
            _fill_triangle(depth, p)
        for s in range(spheres.shape[0]):
            x, y, z, radius = spheres[s, 0], spheres[s, 1], spheres[s, 2], spheres[s, 3]
            column = (x * a[0, 0] + y * a[0, 1] + z * a[0, 2]) * scale + half
            row = (x * a[1, 0] + y * a[1, 1] + z * a[1, 2]) * scale + half
            _fill_sphere(depth, column, row, x * a[2, 0] + y * a[2, 1] + z * a[2, 2], radius, scale)


@numba.njit(**_FAST)
def _fill_triangle(depth, p):
    """Write the depths of a triangle given in cells (column, row, depth) where it is nearer to the light."""
    area = (p[1, 0] - p[0, 0]) * (p[2, 1] - p[0, 1]) - (p[2, 0] - p[0, 0]) * (p[1, 1] - p[0, 1])
    if not abs(area) > f32(1e-6):
        return
    left, right = _cells(depth, min(p[0, 0], p[1, 0], p[2, 0]), max(p[0, 0], p[1, 0], p[2, 0]))
    low, high = _cells(depth, min(p[0, 1], p[1, 1], p[2, 1]), max(p[0, 1], p[1, 1], p[2, 1]))
    for row in range(low, high):
        y = f32(row) + f32(0.5)
        for column in range(left, right):
            x = f32(column) + f32(0.5)
            a = ((p[1, 0] - x) * (p[2, 1] - y) - (p[2, 0] - x) * (p[1, 1] - y)) / area
            b = ((p[2, 0] - x) * (p[0, 1] - y) - (p[0, 0] - x) * (p[2, 1] - y)) / area
            c = f32(1.0) - a - b
            if a >= f32(0.0) and b >= f32(0.0) and c >= f32(0.0):
                depth[row, column] = max(depth[row, column], a * p[0, 2] + b * p[1, 2] + c * p[2, 2])


@numba.njit(**_FAST)
def _fill_sphere(depth, column, row, here, radius, scale):
    wide = radius * scale
    left, right = _cells(depth, column - wide, column + wide)
    low, high = _cells(depth, row - wide, row + wide)
    for r in range(low, high):
        for c in range(left, right):
            x, y = (f32(c) + f32(0.5) - column) / scale, (f32(r) + f32(0.5) - row) / scale
            rest = radius * radius - x * x - y * y
            if rest > f32(0.0):
                depth[r, c] = max(depth[r, c], here + np.sqrt(rest))


@numba.njit(**_FAST)
def _cells(depth, low, high):
    """First cell, and one past the last, whose middles lie between two places."""
    count = f32(depth.shape[0])
    first = min(max(np.ceil(low - f32(0.5)), f32(0.0)), count)
    last = min(max(np.floor(high + f32(0.5)), f32(0.0)), count)
    return int(first), int(last)


@numba.njit(**_FAST)
def _seen(maps, axes, light, x, y, z, reach, margin, per):
    """How much of a light is seen from a point: the mean over the four nearest cells of what is left there."""
    depth, a = maps[light], axes[light]
    cells = maps.shape[1]
    half = f32(0.5) * f32(cells)
    scale = half / reach
    column = (x * a[0, 0] + y * a[0, 1] + z * a[0, 2]) * scale + half - f32(0.5)
    row = (x * a[1, 0] + y * a[1, 1] + z * a[1, 2]) * scale + half - f32(0.5)
    inner = f32(cells - 1)
    if not (column >= f32(0.0) and row >= f32(0.0) and column < inner and row < inner):
        return f32(1.0)
    here = x * a[2, 0] + y * a[2, 1] + z * a[2, 2] + margin
    c, r = int(column), int(row)
    s, t = column - f32(c), row - f32(r)
    lower = (f32(1.0) - s) * _left(depth[r, c] - here, per) + s * _left(depth[r, c + 1] - here, per)
    upper = (f32(1.0) - s) * _left(depth[r + 1, c] - here, per) + s * _left(depth[r + 1, c + 1] - here, per)
    return (f32(1.0) - t) * lower + t * upper


@numba.njit(**_FAST)
def _left(away, per):
    """Part of the light left by the nearest thing, so far towards the light: all when it is behind, else none.

    With `per` > 0, one over the distance at which half is left, what is far away takes less: the sky is made of few
    directions, and their single shadows would be seen.
    """
    far = max(away, f32(0.0)) * per
    far *= far
    return f32(1.0) if away <= f32(0.0) else far / (f32(1.0) + far)


@numba.njit(**_FAST)
def _light(x, y, z, n, lamp_maps, lamp, sky_maps, sky, reach):
    """Factor by which the light at a point is less than with nothing around; n is the normal there."""
    # the point is taken off its surface, so that this does not shade itself
    margin = f32(3.0) * reach / f32(lamp_maps.shape[1])
    lx, ly, lz = x + margin * n[0], y + margin * n[1], z + margin * n[2]
    dark = f32(0.0)
    for k in range(lamp.shape[0]):
        if lamp[k, 2, 0] * n[0] + lamp[k, 2, 1] * n[1] + lamp[k, 2, 2] * n[2] > f32(0.0):
            dark += f32(1.0) - _seen(lamp_maps, lamp, k, lx, ly, lz, reach, margin, f32(0.0))
    margin = f32(3.0) * reach / f32(sky_maps.shape[1])
    x, y, z = x + margin * n[0], y + margin * n[1], z + margin * n[2]
    per = f32(1.0) / (f32(SKY_FALLOFF) * reach)
    open_sky = whole = f32(1e-6)
    for k in range(sky.shape[0]):
        weight = sky[k, 2, 0] * n[0] + sky[k, 2, 1] * n[1] + sky[k, 2, 2] * n[2]
        if weight > f32(0.0):
            whole += weight
            open_sky += weight * _seen(sky_maps, sky, k, x, y, z, reach, margin, per)
    lamp_left = f32(1.0) - f32(LAMP_DEPTH) * dark / f32(lamp.shape[0])
    return lamp_left * (f32(1.0) - f32(SKY_DEPTH) * (f32(1.0) - open_sky / whole))


@numba.njit(**_FAST)
def _light_floor(floor, first, last, wide, height, lamp_maps, lamp, sky_maps, sky, reach):
    """The light on rows of the grid on the ground."""
    cells = floor.shape[0]
    up = (f32(0.0), f32(1.0), f32(0.0))
    for row in range(first, last):
        z = (f32(2.0) * f32(row) / f32(cells - 1) - f32(1.0)) * wide
        for column in range(cells):
            x = (f32(2.0) * f32(column) / f32(cells - 1) - f32(1.0)) * wide
            floor[row, column] = _light(x, height, z, up, lamp_maps, lamp, sky_maps, sky, reach)


@numba.njit(**_FAST)
def _place(row, column, distance, shape, view, lens):
    """The point that is seen at a distance ahead."""
    right = (f32(2.0) * (f32(column) + f32(0.5)) / f32(shape[1]) - f32(1.0)) * lens[0] * distance
    up = (f32(2.0) * (f32(row) + f32(0.5)) / f32(shape[0]) - f32(1.0)) * lens[1] * distance
    return (
        view[0, 0] + right * view[1, 0] + up * view[2, 0] + distance * view[3, 0],
        view[0, 1] + right * view[1, 1] + up * view[2, 1] + distance * view[3, 1],
        view[0, 2] + right * view[1, 2] + up * view[2, 2] + distance * view[3, 2],
    )


@numba.njit(**_FAST)
def _ahead(depth, lens):
    """Distance ahead that a value of the depth buffer stands for."""
    return lens[2] * lens[3] / (lens[3] - depth * (lens[3] - lens[2]))


@numba.njit(**_FAST)
def _edge(row, column, down, across, depths, view, lens):
    """Vector to the neighbour along the rows or the columns that lies the least nearer or deeper."""
    height, width = depths.shape
    here = _ahead(depths[row, column], lens)
    before_row, before_column = max(row - down, 0), max(column - across, 0)
    behind_row, behind_column = min(row + down, height - 1), min(column + across, width - 1)
    before, behind = _ahead(depths[before_row, before_column], lens), _ahead(depths[behind_row, behind_column], lens)
    at_border = behind_row == row and behind_column == column
    backwards = at_border or (
        abs(before - here) < abs(behind - here) and not (before_row == row and before_column == column)
    )
    p = _place(row, column, here, depths.shape, view, lens)
    if backwards:
        q = _place(before_row, before_column, before, depths.shape, view, lens)
        return p[0] - q[0], p[1] - q[1], p[2] - q[2]
    q = _place(behind_row, behind_column, behind, depths.shape, view, lens)
    return q[0] - p[0], q[1] - p[1], q[2] - p[2]


@numba.njit(**_FAST)
def _normal(row, column, depths, view, lens):
    """Normal of what is seen in a pixel, towards the camera."""
    right = _edge(row, column, 0, 1, depths, view, lens)
    up = _edge(row, column, 1, 0, depths, view, lens)
    x = right[1] * up[2] - right[2] * up[1]
    y = right[2] * up[0] - right[0] * up[2]
    z = right[0] * up[1] - right[1] * up[0]
    size = max(np.sqrt(x * x + y * y + z * z), f32(1e-30))
    return x / size, y / size, z / size


@numba.njit(**_FAST)
def _ground(row, column, shape, view, lens, plane, floor, wide):
    """Factor by which the ground darkens the background in a pixel."""
    ray = _place(row, column, f32(1.0), shape, view, lens)
    fall = view[0, 1] - ray[1]
    distance = (view[0, 1] - plane[0]) / max(fall, f32(1e-6))
    if fall <= f32(1e-6) or distance <= f32(0.0):
        return f32(1.0)
    x, _, z = _place(row, column, distance, shape, view, lens)
    fade = max(f32(0.0), f32(1.0) - np.sqrt(x * x + z * z) / (f32(FADE) * plane[1]))
    fade *= fade
    line = f32(0.0)
    if plane[2] > f32(0.0):
        thick = f32(2.5) * distance * lens[1] * f32(2.0) / f32(shape[0])
        line = max(_on_line(x + plane[3], plane[2], thick), _on_line(z + plane[5], plane[2], thick))
    cells = floor.shape[0]
    column_there = (x / wide + f32(1.0)) * f32(0.5) * f32(cells - 1)
    row_there = (z / wide + f32(1.0)) * f32(0.5) * f32(cells - 1)
    inner = f32(cells - 1)
    light = f32(1.0)
    if column_there >= f32(0.0) and row_there >= f32(0.0) and column_there < inner and row_there < inner:
        c, r = int(column_there), int(row_there)
        s, t = column_there - f32(c), row_there - f32(r)
        lower = (f32(1.0) - s) * floor[r, c] + s * floor[r, c + 1]
        upper = (f32(1.0) - s) * floor[r + 1, c] + s * floor[r + 1, c + 1]
        light = (f32(1.0) - t) * lower + t * upper
    return (f32(1.0) - f32(0.06) * fade) * (f32(1.0) - f32(0.09) * fade * line) * light


@numba.njit(**_FAST)
def _on_line(place, cell, thick):
    """How much a line at a whole number of cells covers of a place: all in its middle, nothing at its thickness."""
    apart = abs(place / cell - np.floor(place / cell + f32(0.5))) * cell
    return max(f32(0.0), f32(1.0) - apart / thick)


@numba.njit(**_FAST)
def _shade(
    picture, first, last, colors, depths, view, lens, plane, floor, wide, ends, samples, lamps, lamp, skies, sky, reach
):
    rows, columns = picture.shape[0], picture.shape[1]
    one = f32(1.0)
    share = one / f32(samples * samples)
    step = f32(16.0) * reach / f32(lamps.shape[1])
    for i in range(first, last):
        top = one - f32(i) / f32(max(rows - 1, 1))
        for j in range(columns):
            red = green = blue = f32(0.0)
            before = f32(-1.0)
            light = one
            below = f32(-1.0)  # the light of the ground, the same for all samples
            for k in range(samples * samples):
                row, column = (rows - 1 - i) * samples + k // samples, j * samples + k % samples
                depth = depths[row, column]
                if depth < one:
                    ahead = _ahead(depth, lens)
                    if not abs(ahead - before) < step:  # samples that see the same share their light
                        x, y, z = _place(row, column, ahead, depths.shape, view, lens)
                        n = _normal(row, column, depths, view, lens)
                        light = _light(x, y, z, n, lamps, lamp, skies, sky, reach)
                        before = ahead
                    red += light * f32(colors[row, column, 0])
                    green += light * f32(colors[row, column, 1])
                    blue += light * f32(colors[row, column, 2])
                else:
                    if below < f32(0.0):
                        below = _ground(row, column, depths.shape, view, lens, plane, floor, wide)
                    red += below * (top * ends[0, 0] + (one - top) * ends[1, 0])
                    green += below * (top * ends[0, 1] + (one - top) * ends[1, 1])
                    blue += below * (top * ends[0, 2] + (one - top) * ends[1, 2])
            picture[i, j, 0] = np.uint8(min(f32(255.0), red * share + f32(0.5)))
            picture[i, j, 1] = np.uint8(min(f32(255.0), green * share + f32(0.5)))
            picture[i, j, 2] = np.uint8(min(f32(255.0), blue * share + f32(0.5)))
