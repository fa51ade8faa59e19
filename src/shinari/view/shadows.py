"""Soft shadows of pictures: how much of the lamp and of the sky each pixel sees.

VTK's own shadows are hard, and its ambient occlusion takes two seconds a frame where a processor has to draw. Here some
directions, a bundle towards the lamp and the rest spread over the sky, each get a depth map of all that is drawn, made
of the triangles and spheres themselves. A pixel, whose place follows from VTK's depth buffer, then looks itself up in
every map: what lies deeper than the map says is in shadow (Williams 1978, Casting curved shadows on curved surfaces;
the four nearest cells are compared as in Reeves et al. 1987). Directions that stay the same make shadows that do not
flicker.

The ground is no mesh: a pixel without an object sees it where its ray meets the plane. Its light is smooth, so it is
found on a grid first.

Each depth map, each row of the grid and each row of the picture is one item of a kernel.
"""

from dataclasses import dataclass

import numpy as np

from shinari.compute import function, kernel, shared
from shinari.compute.program import run_once
from shinari.maths.vec3 import cross, dot, norm, scale, sub
from shinari.view.camera import Camera
from shinari.view.light_records import Floor, Lamps, Map, Picture, Pixels, Result, Spheres, Triangles

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
"""Distance at which an object takes half as much of the sky as in contact, in halves of the edge of a depth map."""
GROUND_CELLS = 224
"""Cells of the grid on the ground along an edge."""
GROUND_REACH = 2.5
"""Half the edge of that grid, in halves of the edge of a depth map."""
FADE = 6.0
"""Distance from the middle at which the ground is the background, in sizes of the motion."""

f32 = np.float32
_GOLDEN = np.pi * (3.0 - np.sqrt(5.0))


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
        self._lamp = _light_record(directions(sky_samples)[0], LAMP_CELLS)
        self._sky = _light_record(directions(sky_samples)[1], SKY_CELLS)
        self._lamp_map = Map(depth=np.empty(LAMP_SAMPLES * LAMP_CELLS**2, np.float32))
        self._sky_map = Map(depth=np.empty(sky_samples * SKY_CELLS**2, np.float32))
        self._floor = Floor(light=np.ones(GROUND_CELLS**2, np.float32))
        self._lights = self._lamp, self._lamp_map, self._sky, self._sky_map

    def cast(self, triangles: np.ndarray, spheres: np.ndarray) -> None:
        """Make the depth maps of a frame.

        Args:
            triangles: Corners [m], shape (T, 3, 3).
            spheres: Middles and radii [m], shape (S, 4).
        """
        corners = Triangles(corner=np.ascontiguousarray(triangles, np.float32).reshape(-1, 3, 3) - self._middle)
        balls = Spheres(ball=np.ascontiguousarray(spheres, np.float32) - np.append(self._middle, f32(0.0)))
        for lights, maps in ((self._lamp, self._lamp_map), (self._sky, self._sky_map)):
            run_once(fill_map, lights, maps, corners, balls, self._reach, count=len(lights), grain=1)
        height = f32(self._ground.height) - self._middle[1]
        wide = f32(GROUND_REACH) * self._reach
        run_once(light_floor, self._floor, *self._lights, wide, height, self._reach, count=GROUND_CELLS, grain=4)

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
        ground, real = self._ground, np.float32
        scene = Picture.zeros(1)
        scene.size[...] = height, width, samples
        scene.eye[...] = np.subtract(camera.position, self._middle)
        scene.axes[...] = np.asarray(camera.axes(), real)
        scene.lens[...] = slope * width / height, slope, *planes
        scene.ground[...] = ground.height - self._middle[1], ground.size, ground.cell
        scene.offset[...] = self._middle
        scene.wide[...], scene.reach[...] = f32(GROUND_REACH) * self._reach, self._reach
        scene.top[...], scene.bottom[...] = background
        seen = Pixels(
            color=np.ascontiguousarray(colors, np.uint8).reshape(-1, 3),
            depth=np.ascontiguousarray(depths, real).ravel(),
        )
        picture = Result.zeros((height // samples) * (width // samples))
        run_once(shade_row, picture, seen, scene, self._floor, *self._lights, count=height // samples, grain=4)
        return picture.color.reshape(height // samples, width // samples, 3)


def _light_record(axes: np.ndarray, cells: int) -> Lamps:
    """The record of directions with two axes across each, (L, 3, 3)."""
    across, up, towards = (np.ascontiguousarray(axes[:, k]) for k in range(3))
    return Lamps(across=across, up=up, towards=towards, cells=np.full(len(axes), cells))


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


ZERO, HALF, ONE, TWO = f32(0.0), f32(0.5), f32(1.0), f32(2.0)


@kernel
def fill_map(light, lamps: Lamps, maps: Map, triangles: Triangles, spheres: Spheres, reach: np.float32):
    """The depth map of a light."""
    cells = lamps.cells[light]
    first = light * cells * cells
    half = HALF * f32(cells)
    per = half / reach
    u, v, n = lamps.across[light], lamps.up[light], lamps.towards[light]
    for at in range(first, first + cells * cells):
        maps.depth[at] = f32(-np.inf)
    for t in range(len(triangles)):
        a, b, c = triangles.corner[t, 0], triangles.corner[t, 1], triangles.corner[t, 2]
        fill_triangle(
            maps,
            first,
            cells,
            (dot(a, u) * per + half, dot(a, v) * per + half, dot(a, n)),
            (dot(b, u) * per + half, dot(b, v) * per + half, dot(b, n)),
            (dot(c, u) * per + half, dot(c, v) * per + half, dot(c, n)),
        )
    for s in range(len(spheres)):
        ball = spheres.ball[s]
        p = ball[0], ball[1], ball[2]
        column, row = dot(p, u) * per + half, dot(p, v) * per + half
        fill_sphere(maps, first, cells, column, row, dot(p, n), ball[3], per)


@function
def fill_triangle(maps, first, cells, p, q, r):
    """Write the depths of a triangle given in cells (column, row, depth) where it is nearer to the light."""
    area = (q[0] - p[0]) * (r[1] - p[1]) - (r[0] - p[0]) * (q[1] - p[1])
    if not abs(area) > f32(1e-6):
        return
    left, right = cells_between(cells, min(p[0], min(q[0], r[0])), max(p[0], max(q[0], r[0])))
    low, high = cells_between(cells, min(p[1], min(q[1], r[1])), max(p[1], max(q[1], r[1])))
    for row in range(low, high):
        y = f32(row) + HALF
        for column in range(left, right):
            x = f32(column) + HALF
            a = ((q[0] - x) * (r[1] - y) - (r[0] - x) * (q[1] - y)) / area
            b = ((r[0] - x) * (p[1] - y) - (p[0] - x) * (r[1] - y)) / area
            c = ONE - a - b
            if a >= ZERO and b >= ZERO and c >= ZERO:
                at = first + row * cells + column
                maps.depth[at] = max(maps.depth[at], a * p[2] + b * q[2] + c * r[2])


@function
def fill_sphere(maps, first, cells, column, row, here, radius, per):
    """Write the depths of a sphere where it is nearer to the light."""
    wide = radius * per
    left, right = cells_between(cells, column - wide, column + wide)
    low, high = cells_between(cells, row - wide, row + wide)
    for r in range(low, high):
        for c in range(left, right):
            x, y = (f32(c) + HALF - column) / per, (f32(r) + HALF - row) / per
            rest = radius * radius - x * x - y * y
            if rest > ZERO:
                at = first + r * cells + c
                maps.depth[at] = max(maps.depth[at], here + np.sqrt(rest))


@function
def cells_between(cells, low, high):
    """First cell, and one past the last, whose middles lie between two places."""
    count = f32(cells)
    first = min(max(np.ceil(low - HALF), ZERO), count)
    last = min(max(np.floor(high + HALF), ZERO), count)
    return np.int64(first), np.int64(last)


@function
def seen_from(lamps, maps, light, p, reach, margin, per):
    """How much of a light is seen from a point: the mean over the four nearest cells of what is left there."""
    cells = lamps.cells[light]
    half = HALF * f32(cells)
    finer = half / reach
    column = dot(p, lamps.across[light]) * finer + half - HALF
    row = dot(p, lamps.up[light]) * finer + half - HALF
    inner = f32(cells - 1)
    seen = ONE
    if column >= ZERO and row >= ZERO and column < inner and row < inner:
        here = dot(p, lamps.towards[light]) + margin
        c, r = np.int64(column), np.int64(row)
        s, t = column - f32(c), row - f32(r)
        at = (light * cells + r) * cells + c
        lower = (ONE - s) * left_of(maps.depth[at] - here, per) + s * left_of(maps.depth[at + 1] - here, per)
        at += cells
        upper = (ONE - s) * left_of(maps.depth[at] - here, per) + s * left_of(maps.depth[at + 1] - here, per)
        seen = (ONE - t) * lower + t * upper
    return seen


@function
def left_of(away, per):
    """Part of the light left by the nearest object, so far towards the light: all when it is behind, else none.

    With `per` > 0, one over the distance at which half is left, what is far away takes less: the sky is made of few
    directions, and their single shadows would be seen.
    """
    far = max(away, ZERO) * per
    far *= far
    return ONE if away <= ZERO else far / (ONE + far)


Vector = tuple[np.float32, np.float32, np.float32]


@shared
def light_at(
    p: Vector, n: Vector, lamp: Lamps, lamp_map: Map, sky: Lamps, sky_map: Map, reach: np.float32
) -> np.float32:
    """Factor by which the light at a point is less than with nothing around; n is the normal there."""
    # the point is taken off its surface, so that this does not shade itself
    margin = f32(3.0) * reach / f32(lamp.cells[0])
    q = add_scaled(p, n, margin)
    dark = ZERO
    for k in range(len(lamp)):
        if dot(lamp.towards[k], n) > ZERO:
            dark += ONE - seen_from(lamp, lamp_map, k, q, reach, margin, ZERO)
    margin = f32(3.0) * reach / f32(sky.cells[0])
    q = add_scaled(p, n, margin)
    per = ONE / (f32(SKY_FALLOFF) * reach)
    open_sky, whole = f32(1e-6), f32(1e-6)
    for k in range(len(sky)):
        weight = dot(sky.towards[k], n)
        if weight > ZERO:
            whole += weight
            open_sky += weight * seen_from(sky, sky_map, k, q, reach, margin, per)
    lamp_left = ONE - f32(LAMP_DEPTH) * dark / f32(len(lamp))
    return lamp_left * (ONE - f32(SKY_DEPTH) * (ONE - open_sky / whole))


@function
def add_scaled(p, n, s):
    """The point p + s n."""
    return p[0] + s * n[0], p[1] + s * n[1], p[2] + s * n[2]


@kernel
def light_floor(
    row,
    floor: Floor,
    lamp: Lamps,
    lamp_map: Map,
    sky: Lamps,
    sky_map: Map,
    wide: np.float32,
    height: np.float32,
    reach: np.float32,
):
    """The light on a row of the grid on the ground."""
    z = (TWO * f32(row) / f32(GROUND_CELLS - 1) - ONE) * wide
    for column in range(GROUND_CELLS):
        x = (TWO * f32(column) / f32(GROUND_CELLS - 1) - ONE) * wide
        light = light_at((x, height, z), (ZERO, ONE, ZERO), lamp, lamp_map, sky, sky_map, reach)
        floor.light[row * GROUND_CELLS + column] = light


@function
def place_at(row, column, distance, picture):
    """The point that is seen at a distance ahead."""
    rows, columns, _ = picture.size[0]
    lens = picture.lens[0]
    right = (TWO * (f32(column) + HALF) / f32(columns) - ONE) * lens[0] * distance
    up = (TWO * (f32(row) + HALF) / f32(rows) - ONE) * lens[1] * distance
    p = add_scaled(picture.eye[0], picture.axes[0, 0], right)
    return add_scaled(add_scaled(p, picture.axes[0, 1], up), picture.axes[0, 2], distance)


@function
def ahead_of(depth, picture):
    """Distance ahead that a value of the depth buffer stands for."""
    lens = picture.lens[0]
    return lens[2] * lens[3] / (lens[3] - depth * (lens[3] - lens[2]))


@function
def edge_at(row, column, down, across, pixels, picture):
    """Vector to the neighbour along the rows or the columns that lies the least nearer or deeper."""
    rows, columns, _ = picture.size[0]
    here = ahead_of(pixels.depth[row * columns + column], picture)
    before_row, before_column = max(row - down, 0), max(column - across, 0)
    behind_row, behind_column = min(row + down, rows - 1), min(column + across, columns - 1)
    before = ahead_of(pixels.depth[before_row * columns + before_column], picture)
    behind = ahead_of(pixels.depth[behind_row * columns + behind_column], picture)
    at_border = behind_row == row and behind_column == column
    backwards = at_border or (
        abs(before - here) < abs(behind - here) and not (before_row == row and before_column == column)
    )
    p = place_at(row, column, here, picture)
    r, c, far = (before_row, before_column, before) if backwards else (behind_row, behind_column, behind)
    edge = sub(place_at(r, c, far, picture), p)
    return scale(edge, -ONE if backwards else ONE)


@function
def normal_at(row, column, pixels, picture):
    """Normal of what is seen in a pixel, towards the camera."""
    n = cross(edge_at(row, column, 0, 1, pixels, picture), edge_at(row, column, 1, 0, pixels, picture))
    return scale(n, ONE / max(norm(n), f32(1e-18)))


@function
def ground_at(row, column, picture, floor):
    """Factor by which the ground darkens the background in a pixel."""
    eye, plane, wide = picture.eye[0], picture.ground[0], picture.wide[0]
    ray = place_at(row, column, ONE, picture)
    fall = eye[1] - ray[1]
    distance = (eye[1] - plane[0]) / max(fall, f32(1e-6))
    if fall <= f32(1e-6) or distance <= ZERO:
        return ONE
    x, _, z = place_at(row, column, distance, picture)
    fade = max(ZERO, ONE - np.sqrt(x * x + z * z) / (f32(FADE) * plane[1]))
    fade *= fade
    line = ZERO
    if plane[2] > ZERO:
        thick = f32(2.5) * distance * picture.lens[0, 1] * TWO / f32(picture.size[0, 0])
        offset = picture.offset[0]
        line = max(line_at(x + offset[0], plane[2], thick), line_at(z + offset[2], plane[2], thick))
    inner = f32(GROUND_CELLS - 1)
    column_there, row_there = (x / wide + ONE) * HALF * inner, (z / wide + ONE) * HALF * inner
    light = ONE
    if column_there >= ZERO and row_there >= ZERO and column_there < inner and row_there < inner:
        c, r = np.int64(column_there), np.int64(row_there)
        s, t = column_there - f32(c), row_there - f32(r)
        at = r * GROUND_CELLS + c
        lower = (ONE - s) * floor.light[at] + s * floor.light[at + 1]
        at += GROUND_CELLS
        upper = (ONE - s) * floor.light[at] + s * floor.light[at + 1]
        light = (ONE - t) * lower + t * upper
    return (ONE - f32(0.06) * fade) * (ONE - f32(0.09) * fade * line) * light


@function
def line_at(place, cell, thick):
    """How much a line at a whole number of cells covers of a place: all in its middle, nothing at its thickness."""
    apart = abs(place / cell - np.floor(place / cell + HALF)) * cell
    return max(ZERO, ONE - apart / thick)


@kernel
def shade_row(
    i,
    result: Result,
    pixels: Pixels,
    picture: Picture,
    floor: Floor,
    lamp: Lamps,
    lamp_map: Map,
    sky: Lamps,
    sky_map: Map,
):
    """A row of the picture."""
    high, wide, samples = picture.size[0]
    rows, columns, reach = high // samples, wide // samples, picture.reach[0]
    share = ONE / f32(samples * samples)
    step = f32(16.0) * reach / f32(lamp.cells[0])
    part = ONE - f32(i) / f32(max(rows - 1, 1))
    back = add_scaled(scale(picture.top[0], part), picture.bottom[0], ONE - part)
    for j in range(columns):
        total = ZERO, ZERO, ZERO
        before, light = -ONE, ONE
        below = -ONE  # the light of the ground, the same for all samples
        for k in range(samples * samples):
            row, column = (rows - 1 - i) * samples + k // samples, j * samples + k % samples
            at = row * wide + column
            depth = pixels.depth[at]
            if depth < ONE:
                ahead = ahead_of(depth, picture)
                if not abs(ahead - before) < step:  # samples that see the same share their light
                    n = normal_at(row, column, pixels, picture)
                    p = place_at(row, column, ahead, picture)
                    light = light_at(p, n, lamp, lamp_map, sky, sky_map, reach)
                    before = ahead
                color = pixels.color[at]
                total = add_scaled(total, (f32(color[0]), f32(color[1]), f32(color[2])), light)
            else:
                if below < ZERO:
                    below = ground_at(row, column, picture, floor)
                total = add_scaled(total, back, below)
        red, green, blue = add_scaled((HALF, HALF, HALF), total, share)
        most = f32(255.0)
        result.color[i * columns + j] = np.uint8(min(most, red)), np.uint8(min(most, green)), np.uint8(min(most, blue))
