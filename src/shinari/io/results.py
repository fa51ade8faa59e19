"""What a run writes, whatever the format: the layout, said once, and the frames.

A `Layout` names what is drawn from which points and which rigid objects there are; a `Frame` holds the numbers of one
moment. Its points are the particles, then the vertices of the surfaces that are shown in place of particles, one
surface after the other. The writers of `shinari.output.writers` take both and know nothing of the simulation.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Protocol, Self

import numpy as np

from shinari.check import short
from shinari.errors import SceneError
from shinari.geometry.topology import boundary_edges

KINDS = ("mesh", "curve", "points")

# One colour a part, red, green and blue in 0..1, in the order of the parts and round again.
# `shinari.blender.import_run` has a copy.
COLORS = (
    (0.24, 0.48, 0.80),
    (0.88, 0.46, 0.20),
    (0.30, 0.62, 0.36),
    (0.76, 0.30, 0.36),
    (0.52, 0.40, 0.70),
    (0.85, 0.68, 0.24),
)
BODY_FIELDS = ("body_positions", "body_rotations", "body_velocities", "body_angular_velocities")
"""Fields of a frame with a row for each body."""

MEASURES = (
    "kinetic",
    "gravitational",
    "elastic",
    "momentum_x",
    "momentum_y",
    "momentum_z",
    "angular_momentum_x",
    "angular_momentum_y",
    "angular_momentum_z",
    "residual",
    "mean_strain",
    "largest_strain",
    "external_work",
)
"""What `Frame.measures` holds: energies [J], momentum [kg m/s] and angular momentum about the origin [kg m^2/s], the
largest residual of all rows, each in the unit of its C, mean and largest strain of the rows, and the work done from
outside [J]. Files of version 0.1 end before that: there it reads as nan."""
MEASURES_0_1 = MEASURES[:-1]

PART_FLAGS = ("varies", "fluid", "surface", "cloth")
"""Fields of a part that say what it is."""
CLOSED = "part_closed"
"""Entry of files that says which curves are closed; those of version 0.1 have none."""

MEASURED = ("strains", "forces", "measures")
"""Fields of a frame that are empty unless it was measured."""

COLLIDER_COLOR = (0.60, 0.60, 0.62)


@dataclass(frozen=True, eq=False)
class DrawnPart:
    """Something drawn from points of a frame.

    Attributes:
        name: Name, unique among the parts.
        kind: `"mesh"`, `"curve"` (a line through its points in their order) or `"points"`.
        start: First point.
        stop: One past the last point.
        faces: Triangles of a mesh, shape (F, 3), indices that count from `start`; None for the other kinds.
        radius: Radius [m] to draw curves and points with; 0 leaves the choice to the format.
        varies: Whether frames say which of its triangles, segments or points are drawn: it can tear, or flow in and
            out.
        fluid: Whether it is a fluid: frames hold the density of its points.
        surface: Whether a fluid is drawn by its surface, in the formats that know faces.
        cloth: Whether it is a sheet of cloth.
        closed: Whether a curve leads from its last point back to the first.
    """

    name: str
    kind: str
    start: int
    stop: int
    faces: np.ndarray | None = None
    radius: float = 0.0
    varies: bool = False
    fluid: bool = False
    surface: bool = False
    cloth: bool = False
    closed: bool = False

    @property
    def line(self) -> np.ndarray:
        """Points of a curve in their order, the first one again at the end if it is closed."""
        points = np.arange(self.start, self.stop)
        return np.append(points, self.start) if self.closed else points

    @property
    def point_count(self) -> int:
        """Number of its points."""
        return self.stop - self.start

    @property
    def element_count(self) -> int:
        """Triangles of a mesh, segments of a curve, or points."""
        if self.faces is not None:
            return len(self.faces)
        return self.point_count if self.kind == "points" or self.closed else max(self.point_count - 1, 0)


@dataclass(frozen=True, eq=False)
class Body:
    """A object with a mesh of its own that moves as a whole: a rigid body, a collider.

    Attributes:
        name: Name, unique among the bodies.
        vertices: Vertices [m] in the axes of the body, shape (V, 3).
        faces: Triangles, shape (F, 3).
        rigid: Whether it is a rigid body. A collider is scenery: drawn in grey, and not looked at by the camera.
        color: Red, green and blue, 0 to 1; None: by its place among the bodies.
    """

    name: str
    vertices: np.ndarray
    faces: np.ndarray
    rigid: bool = False
    color: tuple[float, float, float] | None = None

    @property
    def hollow(self) -> bool:
        """Whether it is closed and its faces look inwards: a container, to be seen into through the walls in front."""
        faces = np.asarray(self.faces, np.int64)
        if len(faces) == 0 or len(boundary_edges(faces)) > 0:
            return False
        a, b, c = np.moveaxis(np.asarray(self.vertices, np.float64)[faces], 1, 0)
        return bool((a * np.cross(b, c)).sum() < 0.0)


@dataclass(frozen=True, eq=False)
class Layout:
    """What stays the same in every frame.

    Attributes:
        parts: What is drawn; a point may be in several parts or in none.
        bodies: The rigid bodies, then the colliders, in the order of a frame's `body_positions`.
        particle_count: Number N of particles.
        frames_per_second: Frames in a second of simulated time [1/s].
        vertex_count: Number V of vertices of surfaces that are shown in place of particles.
        measured: Whether frames hold strains, forces and measures.

    Raises:
        SceneError: A name is missing or taken, a range leaves the points, or faces leave their range.
    """

    parts: tuple[DrawnPart, ...]
    bodies: tuple[Body, ...]
    particle_count: int
    frames_per_second: float
    vertex_count: int = 0
    measured: bool = False

    @property
    def point_count(self) -> int:
        """Number N + V of points."""
        return self.particle_count + self.vertex_count

    @property
    def varying(self) -> dict[str, slice]:
        """Where in `Frame.drawn` the triangles, segments or points are of each part that varies, by its name."""
        return _slices([(part.name, part.element_count) for part in self.parts if part.varies])

    @property
    def fluids(self) -> dict[str, slice]:
        """Where in `Frame.densities` the points of each fluid are, by the name of the part."""
        return _slices([(part.name, part.point_count) for part in self.parts if part.fluid])

    def __post_init__(self) -> None:
        for name in ("particle_count", "vertex_count"):
            if getattr(self, name) < 0:
                raise SceneError(f"layout: {name} is {getattr(self, name)}, expected 0 or more")
        if not (np.isfinite(self.frames_per_second) and self.frames_per_second > 0):
            raise SceneError(f"layout: frames_per_second is {self.frames_per_second}, expected a number above 0")
        _check_names("part", [part.name for part in self.parts])
        _check_names("body", [body.name for body in self.bodies])
        for part in self.parts:
            _check_part(part, self.point_count)
        for body in self.bodies:
            if np.ndim(body.vertices) != 2 or np.shape(body.vertices)[1] != 3:
                raise SceneError(
                    f"body {short(body.name)}: vertices have shape {np.shape(body.vertices)}, expected (V, 3)"
                )
            _check_faces(f"body {short(body.name)}", body.faces, len(body.vertices))


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment of a run.

    Attributes:
        time: Simulated time [s].
        positions: Positions of the points [m], shape (N + V, 3).
        velocities: Velocities of the points [m/s], shape (N + V, 3).
        body_positions: Positions of the bodies [m], shape (B, 3).
        body_rotations: Rotations of the bodies, unit quaternions w x y z, shape (B, 4).
        body_velocities: Velocities of the origins of the bodies, of which `body_positions` tells, [m/s], shape (B, 3).
        body_angular_velocities: Angular velocities in world axes [rad/s], shape (B, 3).
        drawn: Which triangles, segments and points of the parts that vary are there, shape (H,) bool; see
            `Layout.varying`.
        densities: Densities of the points of the fluids [kg/m^3], shape (D,); see `Layout.fluids`.
        strains: How far the rows at each point are strained, shape (N + V,), or (0,) when not measured; see
            `Simulation.point_strains`. Vertices of surfaces have the means of their particles.
        forces: Largest force of a row at each point [N], shape (N + V,) or (0,); see `Simulation.point_forces`.
        measures: The numbers that `MEASURES` names, shape (M,) float64, or (0,) when not measured.
    """

    time: float
    positions: np.ndarray
    velocities: np.ndarray
    body_positions: np.ndarray
    body_rotations: np.ndarray
    body_velocities: np.ndarray
    body_angular_velocities: np.ndarray
    drawn: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    densities: np.ndarray = field(default_factory=lambda: np.zeros(0))
    strains: np.ndarray = field(default_factory=lambda: np.zeros(0))
    forces: np.ndarray = field(default_factory=lambda: np.zeros(0))
    measures: np.ndarray = field(default_factory=lambda: np.zeros(0))


class Writer(Protocol):
    """Takes the frames of a run, one after the other. Formats derive from `shinari.io.file_writer.FileWriter`.

    As a context manager it closes itself. When the block ends with an error other than Ctrl-C, the run has failed: an
    earlier file of the same name stays as it was, and the frames so far are left beside it under a name that the error
    tells.
    """

    def plan(self, count: int) -> None:
        """Refuse, before a long run, to take so many frames when the format cannot hold them."""
        ...

    def write(self, frame: Frame) -> None:
        """Take one frame."""
        ...

    def close(self) -> None:
        """Finish the file with the frames so far; a second call does nothing."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def part_color(index: int) -> tuple[float, float, float]:
    """Colour of a part by its number, red, green and blue in 0..1."""
    return COLORS[index % len(COLORS)]


def body_color(layout: Layout, index: int) -> tuple[float, float, float]:
    """Colour of a body, after those of the parts: colliders are grey."""
    body = layout.bodies[index]
    if body.color is not None:
        return body.color
    return part_color(len(layout.parts) + index) if body.rigid else COLLIDER_COLOR


def frame_shapes(layout: Layout) -> dict[str, tuple[int, ...]]:
    """Shape of every array of a frame, by field name."""
    points, bodies = layout.point_count, len(layout.bodies)
    return {
        "positions": (points, 3),
        "velocities": (points, 3),
        "body_positions": (bodies, 3),
        "body_rotations": (bodies, 4),
        "body_velocities": (bodies, 3),
        "body_angular_velocities": (bodies, 3),
        "drawn": (sum(part.element_count for part in layout.parts if part.varies),),
        "densities": (sum(part.point_count for part in layout.parts if part.fluid),),
        "strains": (points if layout.measured else 0,),
        "forces": (points if layout.measured else 0,),
        "measures": (len(MEASURES) if layout.measured else 0,),
    }


def is_numeric(kind: np.dtype) -> bool:
    """Whether an array of a file holds numbers, or flags."""
    return kind.kind in "biuf"


def checked_times(times: np.ndarray) -> np.ndarray:
    """Times of the frames of a file [s], (T,) float64.

    Raises:
        ValueError: They are none.
    """
    if times.ndim != 1 or not is_numeric(times.dtype) or not np.isfinite(times).all():
        raise ValueError(f"times have shape {times.shape} of {times.dtype}, expected finite numbers, one a frame")
    times = np.array(times, np.float64)
    if (np.diff(times) < 0.0).any():
        raise ValueError("times go back, expected none below the one before")
    return times


def checked_vertices(vertices: np.ndarray) -> np.ndarray:
    """Vertices of a body in a file.

    Raises:
        ValueError: They are none.
    """
    if not is_numeric(vertices.dtype) or not np.isfinite(vertices).all():
        raise ValueError(f"the vertices of a body are {vertices.dtype}, expected finite numbers")
    return vertices


class BodyPoints:
    """Vertices of bodies where they are in a frame, one body after the other.

    Args:
        layout: The layout.
        which: The bodies.

    Attributes:
        count: Vertices of all of them, W.
    """

    def __init__(self, layout: Layout, which: Sequence[int]) -> None:
        meshes = [np.asarray(layout.bodies[index].vertices, np.float64) for index in which]
        self._local = np.concatenate([np.zeros((0, 3)), *meshes])
        self._body = np.repeat(np.array(which, np.int64), [len(vertices) for vertices in meshes])
        self.count = len(self._local)

    def positions(self, frame: Frame) -> np.ndarray:
        """Positions [m], shape (W, 3)."""
        turns = np.asarray(frame.body_rotations, np.float64)[self._body]
        across = 2.0 * np.cross(turns[:, 1:], self._local)
        turned = self._local + turns[:, :1] * across + np.cross(turns[:, 1:], across)
        return turned + np.asarray(frame.body_positions)[self._body]

    def velocities(self, frame: Frame, positions: np.ndarray) -> np.ndarray:
        """Velocities [m/s] at the positions, shape (W, 3)."""
        arms = positions - np.asarray(frame.body_positions)[self._body]
        turning = np.cross(np.asarray(frame.body_angular_velocities)[self._body], arms)
        return np.asarray(frame.body_velocities)[self._body] + turning


def check_frame(frame: Frame, layout: Layout) -> None:
    """Refuse a frame that does not fit its layout.

    Raises:
        SceneError: An array has another shape than the layout says.
    """
    for name, expected in frame_shapes(layout).items():
        shape = np.shape(getattr(frame, name))
        if shape != expected:
            raise SceneError(f"frame at {frame.time} s: {name} have shape {shape}, expected {expected}")


def _slices(sizes: Sequence[tuple[str, int]]) -> dict[str, slice]:
    """Slices one after the other, by name."""
    ends = np.cumsum([0, *(size for _, size in sizes)]).tolist()
    return {name: slice(*ends[k : k + 2]) for k, (name, _) in enumerate(sizes)}


def _check_names(what: str, names: Sequence[str]) -> None:
    for index, name in enumerate(names):
        if not name:
            raise SceneError(f"layout: {what} {index}: name: is empty")
        if name in names[:index]:
            raise SceneError(f"layout: two objects have the {what} name {short(name)}")


def _check_part(part: DrawnPart, point_count: int) -> None:
    what = f"part {short(part.name)}"
    if part.kind not in KINDS:
        raise SceneError(f"{what}: kind is {short(part.kind)}, expected one of {', '.join(KINDS)}")
    if not 0 <= part.start <= part.stop <= point_count:
        raise SceneError(f"{what}: range {part.start}..{part.stop} leaves the {point_count} points")
    if not (np.isfinite(part.radius) and part.radius >= 0):
        raise SceneError(f"{what}: radius is {part.radius} m, expected 0 or more")
    if (part.faces is None) == (part.kind == "mesh"):
        raise SceneError(f"{what}: faces belong to the kind 'mesh' and only there, the kind is {short(part.kind)}")
    if part.fluid and part.kind != "points":
        raise SceneError(f"{what}: fluid: a fluid is made of points, the kind is {short(part.kind)}")
    if part.surface and not (part.fluid and part.radius > 0.0):
        raise SceneError(f"{what}: surface: only a fluid with a radius has one to be drawn")
    if part.faces is not None:
        _check_faces(what, part.faces, part.stop - part.start)


def _check_faces(what: str, faces: np.ndarray, vertex_count: int) -> None:
    if np.ndim(faces) != 2 or np.shape(faces)[1] != 3 or not np.issubdtype(np.asarray(faces).dtype, np.integer):
        raise SceneError(f"{what}: faces have shape {np.shape(faces)}, expected whole numbers (F, 3)")
    if np.size(faces) and (np.min(faces) < 0 or np.max(faces) >= vertex_count):
        raise SceneError(f"{what}: faces use vertices {np.min(faces)}..{np.max(faces)}, there are {vertex_count}")
