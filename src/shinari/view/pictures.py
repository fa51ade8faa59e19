"""Pictures of frames: VTK draws the objects off screen, `shinari.view.shadows` puts them into light on a ground.

Needs the extra [render], and EGL or OSMesa in the system; no display and no GPU. What was decided, and what it costs,
is in `docs/decisions/pictures.md`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.check import short
from shinari.errors import SceneError, require
from shinari.io.results import Frame, Layout
from shinari.view import shadows
from shinari.view.actors import Solid, part_actor
from shinari.view.camera import DIRECTIONS, Bounds, Camera, Framing, body_vertices
from shinari.view.offscreen import window_chosen

SIZE = (1280, 720)
SAMPLES = 2
"""Columns and rows that VTK draws for one of the picture: its edges are smooth."""
BACKGROUND = "#eef1f5"
LEVEL = 0.999
"""A flat collider is the ground when its normal points up as much as this, or down."""


@dataclass(frozen=True)
class Scenery:
    """What all pictures of a run share.

    Attributes:
        bounds: The motion that is to be seen.
        fastest: Largest speed of a fluid [m/s].
        ground: Height of the ground [m].
        floor: The collider that it stands for, None for no one.
    """

    bounds: Bounds
    fastest: float
    ground: float
    floor: int | None


def survey(layout: Layout, frames: Iterable[Frame], direction: str = "corner", size: tuple[int, int] = SIZE) -> Scenery:
    """Look at all frames that are to be drawn, one at a time.

    Args:
        layout: What the frames hold.
        frames: The frames.
        direction: One of `shinari.view.camera.DIRECTIONS`.
        size: Width and height of the pictures [pixels].

    Raises:
        SceneError: There is no such direction.
    """
    if direction not in DIRECTIONS:
        raise SceneError(f"render: camera: {short(direction)} is none of {', '.join(DIRECTIONS)}")
    framing = Framing(layout, DIRECTIONS[direction], size)
    fluids = [part for part in layout.parts if part.fluid]
    fastest, first = 0.0, None
    for frame in frames:
        first = first or frame
        framing.add(frame)
        for part in fluids:
            squares = np.square(np.asarray(frame.velocities)[part.start : part.stop]).sum(axis=1)
            fastest = max(fastest, float(np.sqrt(np.nanmax(squares, initial=0.0))))
    bounds = framing.bounds()
    floors = _floors(layout, first) if first is not None else {}
    floor = min(floors, key=lambda index: floors[index]) if floors else None
    lowest = 0.0 if bounds.empty else float(bounds.low[1])
    return Scenery(bounds, fastest or 1.0, lowest if floor is None else floors[floor], floor)


class Painter:
    """Draws frames of one run, one after the other, all from the same place.

    Used as a context manager, it gives back what VTK holds at the end.

    Args:
        layout: What the frames hold.
        first: A frame, to make the objects from.
        scenery: What `survey` saw.
        size: Width and height of the pictures [pixels].
        camera: Where they are taken from; None: so that the motion just fits.
        background: A colour by name or as #rrggbb.
        colouring: What the points are coloured by; has `of(index, frame)`, as `shinari.view.colours.Colouring`. None:
            each object has its colour.
        grid: Whether there are lines on the ground.
        fine: Whether the light of the sky is as smooth as a single picture wants it; takes longer.

    Raises:
        MissingExtraError: pyvista is not installed, or nothing here draws without a screen.
        SceneError: The size or the background is none.
    """

    def __init__(
        self,
        layout: Layout,
        first: Frame,
        scenery: Scenery,
        *,
        size: tuple[int, int] = SIZE,
        camera: Camera | None = None,
        background: str = BACKGROUND,
        colouring: Any = None,
        grid: bool = True,
        fine: bool = False,
    ) -> None:
        pyvista = require("pyvista", "render")
        self.layout, self.size, self.colouring = layout, size, colouring
        self.camera = camera or scenery.bounds.camera()
        self._background = _gradient(background)
        drawn = (SAMPLES * size[0], SAMPLES * size[1])
        with window_chosen():
            self._plotter = pyvista.Plotter(off_screen=True, window_size=drawn, lighting="none")
        self._plotter.render_window.SetMultiSamples(0)
        self._plotter.set_background("black")
        bounds = scenery.bounds
        extent = bounds.extent or 1.0
        middle = 0.5 * (bounds.low + bounds.high) if not bounds.empty else np.zeros(3)
        cell = 10.0 ** np.floor(np.log10(extent)) / 2.0 if grid else 0.0
        ground = shadows.Ground(scenery.ground, extent, cell)
        samples = shadows.FINE_SKY_SAMPLES if fine else shadows.SKY_SAMPLES
        self._lights = shadows.Lights(middle, 0.55 * extent, ground, samples)
        self._parts = [
            part_actor(self._plotter, layout, index, first, extent, scenery.fastest)
            for index in range(len(layout.parts))
        ]
        self._solids = [
            Solid(self._plotter, layout, index) for index in range(len(layout.bodies)) if index != scenery.floor
        ]
        self._lamps(middle)
        self._planes = self._look(middle, extent)

    def image(self, frame: Frame) -> np.ndarray:
        """Picture of a frame, shape (height, width, 3) uint8."""
        for index, part in enumerate(self._parts):
            part.show(frame, None if self.colouring is None else self.colouring.of(index, frame))
        for solid in self._solids:
            solid.show(frame)
        colors, depths = self._draw()
        triangles = [drawn.triangles() for drawn in [*self._parts, *self._solids] if hasattr(drawn, "triangles")]
        spheres = [part.spheres() for part in self._parts if hasattr(part, "spheres")]
        self._lights.cast(_joined(triangles, (3, 3)), _joined(spheres, (4,)))
        return self._lights.shade(colors, depths, self.camera, self._planes, self._background, SAMPLES)

    def close(self) -> None:
        """Give back what VTK holds; a second call does nothing."""
        self._plotter.close()

    def __enter__(self) -> "Painter":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _draw(self) -> tuple[np.ndarray, np.ndarray]:
        """What VTK draws: colours (H, W, 3) uint8 and depths (H, W) float32, first row below."""
        from vtkmodules.util.numpy_support import vtk_to_numpy
        from vtkmodules.vtkCommonCore import vtkFloatArray, vtkUnsignedCharArray

        window = self._plotter.render_window
        window.Render()
        wide, tall = SAMPLES * self.size[0], SAMPLES * self.size[1]
        colors, depths = vtkUnsignedCharArray(), vtkFloatArray()
        window.GetPixelData(0, 0, wide - 1, tall - 1, 0, colors, 0)
        window.GetZbufferData(0, 0, wide - 1, tall - 1, depths)
        return vtk_to_numpy(colors).reshape(tall, wide, 3), vtk_to_numpy(depths).reshape(tall, wide)

    def _lamps(self, middle: np.ndarray) -> None:
        """The lamp that casts shadows, and two weaker ones that do not: from the side, and from the camera."""
        pyvista = require("pyvista", "render")
        side = np.array([-0.9, 0.35, 0.5])
        for towards, strength in ((np.array(shadows.LAMP_DIRECTION), 0.68), (side, 0.28)):
            light = pyvista.Light(position=tuple(middle + towards), focal_point=tuple(middle), color="white")
            light.intensity, light.positional = strength, False
            self._plotter.add_light(light)
        self._plotter.add_light(pyvista.Light(light_type="headlight", intensity=0.42, color="white"))

    def _look(self, middle: np.ndarray, extent: float) -> tuple[float, float]:
        """Place VTK's camera; gives the distances of its near and its far plane [m]."""
        camera = self._plotter.camera
        camera.position, camera.focal_point = self.camera.position, self.camera.target
        camera.up, camera.view_angle = tuple(self.camera.axes()[1]), self.camera.angle
        away = float(np.linalg.norm(np.subtract(self.camera.position, middle)))
        camera.clipping_range = max(away - 3.0 * extent, 0.02 * extent), away + 20.0 * extent
        return camera.clipping_range


def _floors(layout: Layout, frame: Frame) -> dict[int, float]:
    """Heights [m] of the colliders that are a level plane, by their number."""
    heights = {}
    for index, body in enumerate(layout.bodies):
        vertices = body_vertices(layout, index, frame)
        if not body.rigid and len(body.faces) == 2 and np.ptp(vertices[:, 1]) < 1e-6 * np.ptp(vertices, axis=0).max():
            heights[index] = float(vertices[0, 1])
    return heights


def _joined(arrays: list[np.ndarray], shape: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([np.zeros((0, *shape), np.float32), *arrays])


def parse_color(text: str) -> tuple[int, int, int]:
    """Red, green and blue, 0..255, of a colour by name or as #rrggbb.

    Raises:
        SceneError: It is none.
    """
    try:
        return require("PIL.ImageColor", "render").getrgb(text)[:3]
    except ValueError as error:
        raise SceneError(f"render: background: {short(text)} is no colour; give a name or #rrggbb") from error


def _gradient(background: str) -> tuple[np.ndarray, np.ndarray]:
    """Colours at the top and at the bottom, 0..255."""
    color = np.array(parse_color(background), np.float64)
    return 0.93 * color, color
