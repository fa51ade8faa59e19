"""The scene: what the user describes, before anything is built."""

from typing import Any

import numpy as np

from shinari.errors import SceneError
from shinari.scene import check
from shinari.scene.arguments import (
    check_thickness,
    given_material,
    mesh_arrays,
    optional,
    self_collision_mode,
    surface_of,
)
from shinari.scene.arguments import (
    parameters as checked_parameters,
)
from shinari.scene.handle import ColliderHandle, Handle, RowsHandle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.motion import NO_ROTATION, Motion, pose_at
from shinari.scene.shapes import Shape
from shinari.scene.surface import checked_surface
from shinari.scene.things import Collider, ForceField, Particles, Rows

_NO_ROTATION = tuple(NO_ROTATION.tolist())


class Scene:
    """A world to simulate. Units are SI and Y is up.

    Args:
        gravity: Acceleration of everything that is free [m/s^2].
        wind: Velocity of the air [m/s], constant or a function of time [s]; None: there is no air.
        air_density: Density of the air [kg/m^3].
        damping: Rate at which all velocities decay [1/s].

    Raises:
        SceneError: A value is no number of the right shape, or outside its bounds.
    """

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
        self.colliders: list[Collider] = []
        self.force_fields: list[ForceField] = []
        self.pinned: set[int] = set()
        self.ignored: set[tuple[str, str]] = set()
        self.handles: dict[str, Handle | ColliderHandle] = {}
        self._positions: np.ndarray | None = None
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

    def __getitem__(self, name: str) -> Handle | ColliderHandle:
        """The handle of that name.

        Raises:
            SceneError: There is none.
        """
        try:
            return self.handles[name]
        except (KeyError, TypeError):
            raise SceneError(f"scene: nothing is called {name!r}; known are {', '.join(self.handles)}") from None

    def add_particles(
        self,
        positions: Any,
        *,
        mass: Any = 1.0,
        velocity: Any = None,
        radius: Any = 0.0,
        friction: float | None = None,
        static_friction: float | None = None,
        restitution: float = 0.0,
        contact_compliance: float = 0.0,
        self_collision: bool = False,
        name: str | None = None,
    ) -> Handle:
        """Add loose particles.

        Args:
            positions: Positions [m], (N, 3) or one (3,).
            mass: Mass [kg], one or (N,); 0 fixes the particle.
            velocity: Velocity [m/s], (3,) or (N, 3); None: at rest.
            radius: Distance kept from colliders and other things [m], one or (N,); particles without one pass through
                other things.
            friction: Coulomb coefficient; None: as that of what is touched.
            static_friction: Coulomb coefficient of sticking; None: as `friction`.
            restitution: Ratio of the speeds after and before an impact, 0 to 1.
            contact_compliance: Inverse stiffness of a contact [m/N].
            self_collision: Whether they collide with each other.
            name: Name in messages and results.

        Raises:
            SceneError: A value has the wrong shape or lies outside its bounds.
        """
        name = self._name("particles", name)
        thing = f"particles {name!r}"
        single = check.dimensions(thing, "positions", positions) == 1
        x = np.atleast_2d(np.asarray(positions, dtype=object)) if single else positions
        x = check.array(thing, "positions", x, (None, 3))
        if len(x) == 0:
            raise SceneError(f"{thing}: positions: no particles were given")
        masses = check.per_row(thing, "mass", mass, len(x), least=0.0)
        velocities = self._velocities(thing, velocity, masses)
        radii = check.per_row(thing, "radius", radius, len(x), least=0.0)
        surface = checked_surface(thing, friction, static_friction, restitution, contact_compliance)
        among = self_collision_mode(thing, self_collision, {True: "particles"})
        return self._add_group(Particles(name, "particles", x, masses, velocities, radii, surface, among))

    def add_cloth(
        self,
        mesh: Any,
        *,
        material: ClothMaterial | None = None,
        self_collision: bool | str = False,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = _NO_ROTATION,
        velocity: Any = None,
        name: str | None = None,
    ) -> Handle:
        """Add a sheet; its vertices keep their count and order.

        Args:
            mesh: `(vertices (V, 3) [m], faces (F, 3))`, an object with `vertices` and `faces` such as a trimesh, or
                the path of a mesh file.
            material: Its material; None: `ClothMaterial()`.
            self_collision: `"triangles"`: vertices keep off triangles and edges off edges, with continuous detection;
                `"particles"`: vertices keep off each other, which is cheaper and has no holes only when the thickness
                is about the length of an edge; False: it passes through itself.
            position: Where the origin of the mesh goes [m].
            rotation: Rotation of the mesh about its origin, a unit quaternion w x y z.
            velocity: Velocity [m/s], (3,) or (V, 3); None: at rest.
            name: Name in messages and results.

        Raises:
            SceneError: The mesh cannot be a cloth; the message says which vertex, face or edge.
            FileError: The mesh file cannot be read.
        """
        from shinari.build.topology import check_mesh, hinges, vertex_masses

        name = self._name("cloth", name)
        thing = f"cloth {name!r}"
        cloth = given_material(thing, material, ClothMaterial)
        modes = {"particles": "particles", "triangles": "triangles"}
        among = self_collision_mode(thing, self_collision, modes)
        vertices, faces = check_mesh(*mesh_arrays(thing, mesh), thing)
        if among is not None:
            check_thickness(thing, vertices, faces, cloth.thickness)
        if cloth.bend_stiffness > 0.0 or cloth.bend_model == "cross":
            hinges(faces, thing)
        masses = vertex_masses(vertices, faces, cloth.density)
        vertices = self._placed(thing, vertices, position, rotation)
        velocities = self._velocities(thing, velocity, masses)
        return self._add_group(
            Particles(
                name,
                "cloth",
                vertices,
                masses,
                velocities,
                np.full(len(vertices), 0.5 * cloth.thickness),
                surface_of(cloth),
                among,
                faces,
                cloth,
            )
        )

    def add_rope(
        self,
        points: Any,
        *,
        material: RopeMaterial | None = None,
        self_collision: bool = False,
        velocity: Any = None,
        name: str | None = None,
    ) -> Handle:
        """Add a rope of distance rows between consecutive points, each segment's mass halved between its ends.

        Args:
            points: Points along the rope [m], (N, 3) with N at least 2.
            material: Its material; None: `RopeMaterial()`.
            self_collision: Whether its segments, as capsules, keep off each other, so that a knot holds.
            velocity: Velocity [m/s], (3,) or (N, 3); None: at rest.
            name: Name in messages and results.

        Raises:
            SceneError: Fewer than two points, consecutive points that coincide, or a bad value.
        """
        name = self._name("rope", name)
        thing = f"rope {name!r}"
        rope = given_material(thing, material, RopeMaterial)
        x = check.array(thing, "points", points, (None, 3))
        if len(x) < 2:
            raise SceneError(f"{thing}: points: a rope needs at least two points, got {len(x)}")
        lengths = np.linalg.norm(np.diff(x, axis=0), axis=1)
        if (lengths == 0.0).any():
            at = int(np.argmin(lengths))
            raise SceneError(f"{thing}: points: {at} and {at + 1} are the same point")
        masses = np.zeros(len(x))
        masses[:-1] += 0.5 * rope.density * lengths
        masses[1:] += 0.5 * rope.density * lengths
        velocities = self._velocities(thing, velocity, masses)
        among = self_collision_mode(thing, self_collision, {True: "segments"})
        if among is not None and rope.radius == 0.0:
            raise SceneError(f"{thing}: self_collision: a rope of radius 0 cannot touch itself; give the radius")
        radii = np.full(len(x), rope.radius)
        return self._add_group(
            Particles(name, "rope", x, masses, velocities, radii, surface_of(rope), among, None, rope)
        )

    def add_constraint(
        self,
        type: str,
        indices: Any,
        *,
        compliance: Any = 0.0,
        compression_compliance: Any = None,
        stiffness: Any = 1.0,
        compression_stiffness: Any = None,
        damping: Any = 0.0,
        **parameters: Any,
    ) -> RowsHandle:
        """Add rows of a registered constraint type between particles.

        Args:
            type: Name of the type, `"distance"`.
            indices: Global particle indices, (M, points).
            compliance: Inverse stiffness where C > 0, one or (M,); infinity: no force.
            compression_compliance: The same where C < 0; None: as `compliance`, but infinity for one-sided types.
            stiffness: Stiffness 0 to 1 for `method="pbd"`, one or (M,).
            compression_stiffness: The same where C < 0; None: as `stiffness`, but 0 for one-sided types.
            damping: Damping stiffness, one or (M,): [N s/m] for a distance.
            **parameters: Parameters of the type, one or a row each; those left out follow from the positions.

        Raises:
            SceneError: Unknown type or parameter, a wrong shape, an index out of range or repeated in a row, or a
                value outside its bounds.
        """
        import shinari.constraints  # noqa: F401  registers the types that come with the package
        from shinari.constraints.registry import constraint_type

        kind = constraint_type(type)
        thing = f"constraint {type!r}"
        rows = check.index_rows(thing, "indices", indices, kind.points, self.particle_count)
        m = len(rows)
        rates = check.per_row(thing, "damping", damping, m, least=0.0)
        if kind.one_sided and compression_compliance is None:
            compression_compliance = np.inf
        if kind.one_sided and compression_stiffness is None:
            compression_stiffness = 0.0
        if kind.rows > 1 and (compression_compliance is not None or compression_stiffness is not None):
            raise SceneError(f"{thing}: compression_compliance: a system of {kind.rows} rows has no sides")
        return self._add_rows(
            Rows(
                type,
                rows,
                check.per_row(thing, "compliance", compliance, m, least=0.0, infinite=True),
                check.per_row(thing, "stiffness", stiffness, m, least=0.0, most=1.0),
                optional(thing, "compression_compliance", compression_compliance, m, least=0.0, infinite=True),
                optional(thing, "compression_stiffness", compression_stiffness, m, least=0.0, most=1.0),
                rates if rates.any() else None,
                checked_parameters(thing, kind, parameters, m),
            )
        )

    def attach(
        self,
        first: tuple[Handle, int],
        second: Any,
        *,
        compliance: float = 0.0,
        break_force: float | None = None,
    ) -> RowsHandle:
        """Attach a particle to another particle, to a point of the world, or to a moving target.

        Two particles keep the distance they have now, and stay together when they coincide; both are pulled.

        Args:
            first: `(handle, index)`, the index within the handle.
            second: `(handle, index)`, a point [m], or a function of time [s] that returns a point.
            compliance: Inverse stiffness [m/N].
            break_force: Force [N] above which the attachment lets go for good; None: never.

        Raises:
            SceneError: One of the two is not what it should be, or a value lies outside its bounds.
        """
        a = self._particle("first", first)
        rows, parameters, motion = [[a]], {}, None
        if isinstance(second, tuple) and len(second) == 2 and isinstance(second[0], Handle):
            b = self._particle("second", second)
            if a == b:
                raise SceneError("attach: second: is the same particle as first")
            rows = [[a, b]]
            apart = float(np.linalg.norm(self.positions[a] - self.positions[b]))
            kind = "coincidence" if apart < 1e-9 else "distance"
        elif callable(second):
            kind, motion = "attachment", second
            parameters = {"target": pose_at(second, 0.0, NO_ROTATION, "attach: second")[0][None]}
        else:
            kind = "attachment"
            parameters = {"target": check.vector("attach", "second", second)[None]}
        if break_force is not None:
            break_force = check.number("attach", "break_force", break_force, above=0.0)
        softness = np.full(1, check.number("attach", "compliance", compliance, least=0.0))
        return self._add_rows(
            Rows(
                kind,
                np.array(rows),
                softness,
                np.ones(1),
                parameters=parameters,
                motion=motion,
                break_force=break_force,
            )
        )

    def add_collider(
        self,
        shape: Shape,
        *,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = _NO_ROTATION,
        friction: float = 0.3,
        static_friction: float | None = None,
        restitution: float = 0.0,
        contact_compliance: float = 0.0,
        motion: Motion | None = None,
        name: str | None = None,
    ) -> ColliderHandle:
        """Add a solid that pushes particles and is not pushed.

        Args:
            shape: `Plane`, `Sphere`, `Box`, `Capsule`, `Cylinder`, `Cone`, `Mesh` or `Heightfield`.
            position: Where the origin of the shape is [m].
            rotation: Its rotation, a unit quaternion w x y z.
            friction: Coulomb coefficient. With a thing that has one of its own, the geometric mean of both acts.
            static_friction: Coulomb coefficient of sticking; None: as `friction`.
            restitution: Ratio of the speeds after and before an impact, 0 to 1; the larger of both acts.
            contact_compliance: Inverse stiffness of a contact [m/N]; the sum of both acts.
            motion: Function of time [s] that returns a position, or a position and a rotation; it replaces
                `position` (and `rotation`).
            name: Name in messages and results.

        Raises:
            SceneError: A value has the wrong type or shape, or lies outside its bounds.
        """
        name = self._name("collider", name)
        thing = f"collider {name!r}"
        if not isinstance(shape, Shape):
            raise SceneError(f"{thing}: shape: expected a shape, such as Sphere or Mesh, got {check.short(shape)}")
        at = check.vector(thing, "position", position)
        turn = check.unit_quaternion(thing, "rotation", rotation)
        check.callable_or_none(thing, "motion", motion)
        if motion is not None:
            at, turn = pose_at(motion, 0.0, turn, f"{thing}: motion")
        check.number(thing, "friction", friction, least=0.0)
        surface = checked_surface(thing, friction, static_friction, restitution, contact_compliance)
        handle = ColliderHandle(name, len(self.colliders))
        self.colliders.append(Collider(name, shape, at, turn, surface, motion))
        self.handles[name] = handle
        self.revision += 1
        return handle

    def ignore_contact(self, first: Handle | ColliderHandle | str, second: Handle | ColliderHandle | str) -> None:
        """Let two things, or a thing and a collider, pass through each other.

        Raises:
            SceneError: One of them is not in this scene, both are the same or both are colliders.
        """
        pair = []
        for field, item in (("first", first), ("second", second)):
            name = item if isinstance(item, str) else getattr(item, "name", None)
            handle = self.handles.get(name) if isinstance(name, str) else None
            if handle is None or not (isinstance(item, str) or handle is item):
                known = ", ".join(self.handles) or "none"
                raise SceneError(f"ignore_contact: {field}: {item!r} is not in this scene; known are {known}")
            pair.append(handle)
        if pair[0] is pair[1]:
            raise SceneError(f"ignore_contact: second: is {pair[0].name!r} like first; see self_collision")
        if all(isinstance(handle, ColliderHandle) for handle in pair):
            raise SceneError(
                f"ignore_contact: second: {pair[0].name!r} and {pair[1].name!r} are colliders and never push each other"
            )
        low, high = sorted(handle.name for handle in pair)
        self.ignored.add((low, high))
        self.revision += 1

    def add_force_field(self, function: ForceField) -> None:
        """Add a force that acts on every free particle.

        Args:
            function: `@shinari.function def f(x, v, m, t)`: position [m] and velocity [m/s] as tuples of three,
                mass [kg], time [s]; returns a force [N], a tuple of three. It runs compiled.

        Raises:
            SceneError: The function is not compiled.
        """
        if not hasattr(function, "py_func"):
            raise SceneError("force field: function: decorate it with @shinari.function so that it is compiled")
        self.force_fields.append(function)
        self.revision += 1

    def pin(self, particles: Any) -> None:
        """Fix particles, given by global indices; see `Handle.pin`.

        Raises:
            SceneError: An index is out of range.
        """
        self.pinned.update(check.indices("scene", "pin", particles, self.particle_count).tolist())
        self.revision += 1

    def _name(self, kind: str, name: str | None) -> str:
        if name is None:
            number = sum(1 for other in self.handles if other.split("_")[0] == kind)
            name = kind if kind not in self.handles else f"{kind}_{number + 1}"
            while name in self.handles:
                number += 1
                name = f"{kind}_{number + 1}"
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

    def _particle(self, field: str, value: Any) -> int:
        if not (isinstance(value, tuple) and len(value) == 2 and isinstance(value[0], Handle)):
            raise SceneError(f"attach: {field}: expected (handle, index), got {value!r}")
        handle, index = value
        if handle._scene is not self:
            raise SceneError(f"attach: {field}: {handle.name!r} belongs to another scene")
        local = check.indices("attach", field, index, len(handle.particles))
        if len(local) != 1:
            raise SceneError(f"attach: {field}: expected one index, got {index!r}")
        return handle.particles.start + int(local[0])

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
