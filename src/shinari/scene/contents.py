"""The contents of a scene, and how objects are entered: names, particles, rows."""

import copy
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from shinari import check
from shinari.attributes import OwnAttributes
from shinari.errors import SceneError
from shinari.scene.body import Body, Joint
from shinari.scene.emitter import Sink, SinkHandle
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle, RowsHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.objects import BodyRows, Collider, ForceField, ParticleObject, Rows, Volume
from shinari.scene.tendon import Tendon, TendonHandle
from shinari.scene.wind import checked_wind

AnyHandle: TypeAlias = Handle | ColliderHandle | BodyHandle | JointHandle | SinkHandle | TendonHandle
C = TypeVar("C", bound="Contents")
# Part of its extent to which the position of an object may round its points.
MOST_ROUNDED = 1e-3
H = TypeVar("H", bound=Handle | ColliderHandle | BodyHandle | JointHandle | SinkHandle | TendonHandle)


class Contents(OwnAttributes):
    """Lists of all contents of a scene; a class for each kind of object adds to them."""

    revision: int
    particle_objects: list[ParticleObject]
    rows: list[Rows]
    body_rows: list[BodyRows]
    volumes: list[Volume]
    colliders: list[Collider]
    force_fields: list[ForceField]
    bodies: list[Body]
    joints: list[Joint]
    tendons: list[Tendon]
    sinks: list[Sink]
    pinned: set[int]
    clamped: set[int]
    ignored: set[frozenset[str]]
    handles: dict[str, AnyHandle]

    def __init__(
        self,
        *,
        gravity: Any = (0.0, -9.81, 0.0),
        wind: Any = None,
        air_density: float = 1.225,
        damping: float = 0.0,
    ) -> None:
        self.revision = 0
        self.gravity, self.wind, self.air_density, self.damping = gravity, wind, air_density, damping
        self.particle_objects, self.rows, self.body_rows, self.volumes = [], [], [], []
        self.colliders, self.force_fields, self.bodies, self.joints = [], [], [], []
        self.tendons, self.sinks, self.pinned, self.clamped = [], [], set(), set()
        # names of the two that pass through each other: {one, other}
        self.ignored = set()
        self.handles = {}
        # the scene that the handles belong to: itself, unless it has other values of a simulation or a world
        self._origin = self
        self._positions: np.ndarray | None = None
        self._numbers: dict[str, int] = {}
        self.revision = 0

    @property
    def gravity(self) -> np.ndarray:
        """Acceleration of everything that is free [m/s^2], (3,), read only; assign another to change it.

        Raises:
            SceneError: The value is no vector.
        """
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity = check.vector("scene", "gravity", value).copy()
        # an element that is written would change no simulation, and be told to none
        self._gravity.flags.writeable = False
        self.revision += 1

    @property
    def wind(self) -> Any:
        """Velocity of the air [m/s], (3,), or a function of time [s]; None: there is no air. It can be assigned.

        Raises:
            SceneError: The value is neither a vector nor a function of one argument.
        """
        return self._wind

    @wind.setter
    def wind(self, value: Any) -> None:
        self._wind = None if value is None else checked_wind("scene", value)
        self.revision += 1

    @property
    def air_density(self) -> float:
        """Density of the air [kg/m^3]; it can be assigned.

        Raises:
            SceneError: The value is no number of at least 0.
        """
        return self._air_density

    @air_density.setter
    def air_density(self, value: float) -> None:
        self._air_density = check.number("scene", "air_density", value, least=0.0)
        self.revision += 1

    @property
    def damping(self) -> float:
        """Rate at which all velocities decay [1/s]; it can be assigned.

        Raises:
            SceneError: The value is no number of at least 0.
        """
        return self._damping

    @damping.setter
    def damping(self, value: float) -> None:
        self._damping = check.number("scene", "damping", value, least=0.0)
        self.revision += 1

    def __copy__(self) -> Self:
        # the lists of a shallow copy would be those of both
        return copy.deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        other = object.__new__(type(self))
        # its handles are its own, also where those of this one belong to another scene
        memo[id(self)] = memo[id(self._origin)] = other
        vars(other).update(copy.deepcopy(vars(self), memo))
        return other

    def _refuse_shared(self, label: str) -> None:
        """Refuse an addition to a scene that shares its lists with another one.

        Raises:
            SceneError: It does.
        """
        if self._origin is not self:
            raise SceneError(
                f"{label}: scene: is that of a simulation or a world with its values, and shares the rest with the "
                "scene of which it was made; add to a copy, copy.copy(scene)"
            )

    def __repr__(self) -> str:
        return f"<Scene: {self.particle_count} particles, {check.names(self.handles)}>"

    @property
    def particle_count(self) -> int:
        """Particles in the scene."""
        return sum(len(obj.positions) for obj in self.particle_objects)

    @property
    def positions(self) -> np.ndarray:
        """Positions as described [m], (N, 3), read only."""
        if self._positions is None:
            parts = [obj.positions for obj in self.particle_objects]
            joined = parts[0].view() if len(parts) == 1 else np.concatenate([np.zeros((0, 3)), *parts])
            joined.flags.writeable = False
            self._positions = joined
        return self._positions

    def __getitem__(self, name: str) -> AnyHandle:
        """The handle of that name.

        Raises:
            SceneError: There is none.
        """
        found = self.handles.get(name) if isinstance(name, str) else None
        if found is None:
            raise SceneError(
                f"scene: name: unknown name {check.short(name)}; known are {check.names(self.handles, near=name)}"
            )
        return found

    # without this Python would count through it: scene[0], scene[1], ...
    __iter__ = None

    def find(self, label: str, field: str, value: Any, *kinds: type[H]) -> H:
        """The handle of an object of this scene, given that or its name.

        Args:
            label: Name of the caller, for messages.
            field: Name of the argument.
            value: The value.
            *kinds: Classes that the handle can have.

        Raises:
            SceneError: It is neither a handle nor a name, belongs to another scene, or is of another kind.
        """
        handle = self.handles.get(value) if isinstance(value, str) else value
        if isinstance(handle, kinds):
            if self.handles.get(handle.name) is handle:
                return handle
            raise SceneError(f"{label}: {field}: {handle.name!r} belongs to another scene")
        wanted, known = f"expected {' or '.join(kind.described for kind in kinds)}", ""
        if isinstance(value, str):
            suited = [name for name, other in self.handles.items() if isinstance(other, kinds)]
            known = f"; known are {check.names(suited, near=value)}"
        if handle is None and value is not None:
            raise SceneError(f"{label}: {field}: unknown name {check.short(value)}; {wanted}{known}")
        raise SceneError(f"{label}: {field}: {wanted}, got {check.short(value)}{known}")

    def pin(self, particles: Any) -> None:
        """Fix particles: global indices, or `(handle, indices)` with indices within an object; see `Handle.pin`.

        Raises:
            SceneError: An index is out of range, or the object is none of this scene.
        """
        self._refuse_shared("pin")
        if isinstance(particles, tuple) and len(particles) == 2 and isinstance(particles[0], (Handle, str)):
            self.find("scene", "pin", particles[0], Handle).pin(particles[1])
            return
        if isinstance(particles, (Handle, str)):
            raise SceneError(f"scene: pin: expected indices, or (handle, indices), got {check.short(particles)}")
        self.pinned.update(check.indices("scene", "pin", particles, self.particle_count).tolist())
        self.revision += 1

    def _name(self, kind: str, name: str | None) -> str:
        self._refuse_shared(kind)
        if name is None:
            number = self._numbers.get(kind, 1)
            name = kind if kind not in self.handles else f"{kind}_{number + 1}"
            while name in self.handles:
                number += 1
                name = f"{kind}_{number + 1}"
            self._numbers[kind] = number
        name = check.text(kind, "name", name)
        if name in self.handles:
            raise SceneError(f"{kind}: name: {name!r} is taken")
        return name

    def _add_particle_object(self, obj: ParticleObject) -> Handle:
        start = self.particle_count
        self.particle_objects.append(obj)
        self._positions = None
        self.revision += 1
        handle = Handle(self, obj.name, range(start, start + len(obj.positions)))
        self.handles[obj.name] = handle
        return handle

    def _add_rows(self, rows: Rows) -> RowsHandle:
        self._refuse_shared(rows.type)
        start = sum(len(other.indices) for other in self.rows if other.type == rows.type)
        self.rows.append(rows)
        self.revision += 1
        return RowsHandle(self, rows.type, range(start, start + len(rows.indices)))

    @staticmethod
    def _pose(label: str, position: Any, rotation: Any) -> tuple[np.ndarray, np.ndarray]:
        return check.vector(label, "position", position), check.unit_quaternion(label, "rotation", rotation)

    @staticmethod
    def _placed(label: str, vertices: np.ndarray, position: Any, rotation: Any) -> np.ndarray:
        at, (w, *axis) = Contents._pose(label, position, rotation)
        extent = float(np.ptp(vertices, axis=0).max()) if len(vertices) else 0.0
        rounding = float(np.spacing(np.abs(at).max()))
        if rounding > MOST_ROUNDED * extent > 0.0:
            raise SceneError(
                f"{label}: position: {np.abs(at).max():.3g} m away points are rounded to {rounding:.2g} m; expected a "
                f"position at which its {extent:.3g} m keep their shape"
            )
        turn = np.cross(axis, vertices) * 2.0
        return vertices + w * turn + np.cross(axis, turn) + at

    @staticmethod
    def _velocities(label: str, velocity: Any, masses: np.ndarray) -> np.ndarray:
        if velocity is None:
            return np.broadcast_to(np.zeros(3), (len(masses), 3))
        shape = (3,) if check.dimensions(label, "velocity", velocity) == 1 else (len(masses), 3)
        # as fast as anyone likes: a run that leaves the finite numbers ends as divergence
        given = check.array(label, "velocity", velocity, shape, most=check.FINITE)
        velocities = np.array(np.broadcast_to(given, (len(masses), 3)))
        moving = (masses == 0.0) & (velocities != 0.0).any(axis=1)
        if moving.any():
            raise SceneError(f"{label}: velocity: particle {int(np.argmax(moving))} is fixed by mass 0 and cannot move")
        return velocities


def sharing(scene: C) -> C:
    """A scene with the same lists, of which some are about to be replaced."""
    other = object.__new__(type(scene))
    vars(other).update(vars(scene))
    return other
