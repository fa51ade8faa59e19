"""What a scene holds, and how things are entered into it: names, particles, rows."""

from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.scene import check
from shinari.scene.body import Body, Joint
from shinari.scene.body_handle import BodyHandle
from shinari.scene.emitter import Sink, SinkHandle
from shinari.scene.handle import ColliderHandle, Handle, RowsHandle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.things import BodyRows, Collider, ForceField, Particles, Rows, Volume


class Contents:
    """Lists of all that is in a scene; what adds to them is a class of its own for each kind of thing."""

    def __init__(
        self,
        *,
        gravity: Any = (0.0, -9.81, 0.0),
        wind: Any = None,
        air_density: float = 1.225,
        damping: float = 0.0,
    ) -> None:
        self.gravity = check.vector("scene", "gravity", gravity)
        self.wind = wind if wind is None or callable(wind) else check.vector("scene", "wind", wind)
        self.air_density = check.number("scene", "air_density", air_density, least=0.0)
        self.damping = check.number("scene", "damping", damping, least=0.0)
        self.groups: list[Particles] = []
        self.rows: list[Rows] = []
        self.body_rows: list[BodyRows] = []
        self.volumes: list[Volume] = []
        self.colliders: list[Collider] = []
        self.force_fields: list[ForceField] = []
        self.bodies: list[Body] = []
        self.joints: list[Joint] = []
        self.sinks: list[Sink] = []
        self.pinned: set[int] = set()
        self.clamped: set[int] = set()
        self.ignored: set[tuple[str, str]] = set()
        self.handles: dict[str, Handle | ColliderHandle | BodyHandle | JointHandle | SinkHandle] = {}
        self._positions: np.ndarray | None = None
        self._numbers: dict[str, int] = {}
        self.revision = 0

    def __repr__(self) -> str:
        return f"<Scene: {self.particle_count} particles, {', '.join(self.handles) or 'empty'}>"

    @property
    def particle_count(self) -> int:
        """Particles in the scene."""
        return sum(len(group.positions) for group in self.groups)

    @property
    def positions(self) -> np.ndarray:
        """Positions as described [m], (N, 3), read only."""
        if self._positions is None:
            parts = [group.positions for group in self.groups]
            joined = parts[0].view() if len(parts) == 1 else np.concatenate([np.zeros((0, 3)), *parts])
            joined.flags.writeable = False
            self._positions = joined
        return self._positions

    def __getitem__(self, name: str) -> Handle | ColliderHandle | BodyHandle | JointHandle | SinkHandle:
        """The handle of that name.

        Raises:
            SceneError: There is none.
        """
        try:
            return self.handles[name]
        except (KeyError, TypeError):
            raise SceneError(f"scene: nothing is called {name!r}; known are {', '.join(self.handles)}") from None

    def pin(self, particles: Any) -> None:
        """Fix particles, given by global indices; see `Handle.pin`.

        Raises:
            SceneError: An index is out of range.
        """
        self.pinned.update(check.indices("scene", "pin", particles, self.particle_count).tolist())
        self.revision += 1

    def _name(self, kind: str, name: str | None) -> str:
        if name is None:
            number = self._numbers.get(kind, 1)
            name = kind if kind not in self.handles else f"{kind}_{number + 1}"
            while name in self.handles:
                number += 1
                name = f"{kind}_{number + 1}"
            self._numbers[kind] = number
        if not isinstance(name, str) or not name or not name.isprintable():
            raise SceneError(f"{kind}: name: expected a text on one line, got {name!r}")
        if name in self.handles:
            raise SceneError(f"{kind}: name: {name!r} is taken")
        return name

    def _add_group(self, group: Particles) -> Handle:
        start = self.particle_count
        self.groups.append(group)
        self._positions = None
        self.revision += 1
        handle = Handle(self, group.name, range(start, start + len(group.positions)))
        self.handles[group.name] = handle
        return handle

    def _add_rows(self, rows: Rows) -> RowsHandle:
        start = sum(len(other.indices) for other in self.rows if other.type == rows.type)
        self.rows.append(rows)
        self.revision += 1
        return RowsHandle(self, rows.type, range(start, start + len(rows.indices)))

    @staticmethod
    def _placed(thing: str, vertices: np.ndarray, position: Any, rotation: Any) -> np.ndarray:
        at = check.vector(thing, "position", position)
        w, *axis = check.unit_quaternion(thing, "rotation", rotation)
        turn = np.cross(axis, vertices) * 2.0
        return vertices + w * turn + np.cross(axis, turn) + at

    @staticmethod
    def _velocities(thing: str, velocity: Any, masses: np.ndarray) -> np.ndarray:
        if velocity is None:
            return np.broadcast_to(np.zeros(3), (len(masses), 3))
        shape = (3,) if check.dimensions(thing, "velocity", velocity) == 1 else (len(masses), 3)
        velocities = np.array(np.broadcast_to(check.array(thing, "velocity", velocity, shape), (len(masses), 3)))
        moving = (masses == 0.0) & (velocities != 0.0).any(axis=1)
        if moving.any():
            raise SceneError(f"{thing}: velocity: particle {int(np.argmax(moving))} is fixed by mass 0 and cannot move")
        return velocities
