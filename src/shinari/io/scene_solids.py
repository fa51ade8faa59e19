"""Solids of a scene file: colliders, rigid bodies and joints; the tables are in `schema_solids`, `schema_bodies`."""

import os
import re
from pathlib import Path, PureWindowsPath
from typing import Any

import msgspec

from shinari.api.scene import Scene
from shinari.check import short
from shinari.errors import FileError
from shinari.geometry.motion import Keyframes, Motion, Oscillation
from shinari.io import schema_bodies as bodies
from shinari.io import schema_solids as solids
from shinari.scene.motors import ForceMotor, Motor, Servo, VelocityMotor
from shinari.shapes.base import Shape
from shinari.shapes.compound import Compound
from shinari.shapes.registry import shape_types


def add_collider(scene: Scene, table: solids.ColliderTable, folder: Path) -> None:
    """Add the collider of a table; the meshes that it names are in the folder of the scene file."""
    scene.add_collider(
        shape_of(table.shape, folder),
        position=table.position,
        rotation=table.rotation,
        friction=table.friction,
        static_friction=table.static_friction,
        restitution=table.restitution,
        contact_compliance=table.contact_compliance,
        motion=None if table.motion is None else motion_of(table.motion),
        name=table.name,
    )


def add_rigid_body(scene: Scene, table: bodies.RigidBodyTable, folder: Path) -> None:
    """Add the rigid body of a table; the meshes that it names are in the folder of the scene file."""
    scene.add_rigid_body(
        None if table.shape is None else _body_shape(table.shape, folder),
        density=table.density,
        mass=table.mass,
        inertia=table.inertia,
        centre=table.centre,
        position=table.position,
        rotation=table.rotation,
        velocity=table.velocity,
        angular_velocity=table.angular_velocity,
        friction=table.friction,
        static_friction=table.static_friction,
        restitution=table.restitution,
        compliance=table.compliance,
        rolling_friction=table.rolling_friction,
        torsional_friction=table.torsional_friction,
        gravity_scale=table.gravity_scale,
        kinematic=table.kinematic,
        motion=None if table.motion is None else motion_of(table.motion),
        visual=None if table.visual is None else inside(folder, table.visual),
        color=table.color,
        name=table.name,
    )


def add_joint(scene: Scene, table: bodies.JointTable) -> None:
    """Add the joint of a table."""
    given = {name: value for name, value in msgspec.structs.asdict(table).items() if name != "motor"}
    kind, first, second = (given.pop(name) for name in ("kind", "first", "second"))
    scene.add_joint(kind, first, second, motor=None if table.motor is None else _motor(table.motor), **given)


def motion_of(table: solids.MotionTable) -> Motion:
    """The motion of a table."""
    kind: Any = Keyframes if isinstance(table, solids.KeyframesTable) else Oscillation
    return kind(**msgspec.structs.asdict(table))


def inside(folder: Path, name: str) -> Path:
    """Path of a file that a scene file names.

    Args:
        folder: Folder of the scene file.
        name: Relative path, `/` between its parts.

    Raises:
        FileError: The path is absolute, or leads out of the folder, by `..` or by a link.
    """
    foreign = PureWindowsPath(name)
    try:
        path = folder / name
        outside = not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))
    except ValueError as error:
        raise FileError(f"{short(name)}: is no file name: {error}") from error
    if outside or foreign.drive or foreign.root or re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name):
        raise FileError(f"{short(name)}: a mesh must lie in the folder of its scene file or below, by a relative path")
    return path


def _motor(table: Any) -> Motor:
    kinds = {bodies.VelocityMotorTable: VelocityMotor, bodies.ServoTable: Servo, bodies.ForceMotorTable: ForceMotor}
    return kinds[type(table)](
        **{name: value for name, value in msgspec.structs.asdict(table).items() if value is not None}
    )


def _body_shape(table: Any, folder: Path) -> Shape | Compound:
    if not isinstance(table, bodies.CompoundTable):
        return shape_of(table, folder)
    return Compound([(shape_of(part.shape, folder), part.position, part.rotation) for part in table.parts])


def shape_of(table: Any, folder: Path) -> Shape:
    """The shape of a table; the mesh that it names is in the folder of the scene file."""
    shape_type = next(each for each in shape_types() if each.table is type(table))
    if shape_type.read is not None:
        return shape_type.read(table, lambda name: inside(folder, name))
    return shape_type.shape(**msgspec.structs.asdict(table))
