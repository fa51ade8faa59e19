"""Records of bodies and of what holds them that come from a file, checked so that the solver can trust them."""

from typing import Any, TypeVar

import numpy as np

from shinari import check
from shinari.api.add_bodies import check_inside
from shinari.api.add_joints import KINDS
from shinari.scene.body import WORLD, Body, Drive, Joint
from shinari.scene.contact_material import ContactMaterial, checked_contact_material
from shinari.scene.medium import Medium
from shinari.scene.objects import BodyRows
from shinari.shapes.base import Shape
from shinari.shapes.combined_mass import check_inertia
from shinari.shapes.compound import Piece

T = TypeVar("T")
DRIVES = ("velocity", "position", "force")


def expect(value: Any, kind: type[T]) -> T:
    """The value, if it is of that kind.

    Raises:
        ValueError: It is not.
    """
    if not isinstance(value, kind):
        raise ValueError(f"expected {kind.__name__}, got {type(value).__name__}")
    return value


def checked_surface_of(name: str, surface: Any) -> None:
    """Check how something behaves in contact.

    Raises:
        SceneError: A number is outside its bounds.
        ValueError: It is no surface.
    """
    surface = expect(surface, ContactMaterial)
    checked_contact_material(name, surface.friction, surface.static_friction, surface.restitution, surface.compliance)


def checked_body(value: Any) -> Body:
    """A rigid body, if it is one that could have been added.

    Raises:
        SceneError: A field has the wrong shape or is outside its bounds.
        ValueError: It is no body.
    """
    body = expect(value, Body)
    name = expect(body.name, str)
    for piece in expect(body.pieces, tuple):
        piece = expect(piece, Piece)
        if not isinstance(piece.shape, Shape):
            raise ValueError(f"{check.short(name)} has a {type(piece.shape).__name__} for a shape")
        check_inside(name, piece.shape)
        _pose(name, piece.position, piece.rotation)
    _pose(name, body.position, body.rotation)
    _pose(name, body.centre, body.axes)
    for field in ("moments", "velocity", "angular_velocity"):
        check.vector(name, field, getattr(body, field))
    check.choice(name, "kinematic", body.kinematic, (True, False))
    if not body.kinematic:
        check.number(name, "mass", body.mass, above=0.0)
        check_inertia(name, body.moments)
    if body.densities is not None:
        if len(expect(body.densities, tuple)) != max(len(body.pieces), 1):
            raise ValueError(f"{check.short(name)} has {len(body.pieces)} shapes and {len(body.densities)} densities")
        for density in body.densities:
            check.number(name, "density", density, above=0.0)
    checked_surface_of(name, body.surface)
    check.number(name, "rolling_friction", body.rolling_friction, least=0.0)
    check.number(name, "torsional_friction", body.torsional_friction, least=0.0)
    check.number(name, "gravity_scale", body.gravity_scale, least=-1.0, most=1.0)
    check.function_or_none(name, "motion", body.motion)
    if body.color is not None:
        for channel in check.array(name, "color", body.color, (3,)).tolist():
            check.number(name, "color", channel, least=0.0, most=1.0)
    if body.medium is not None:
        expect(body.medium, Medium).checked(name)
    if body.visual is not None:
        vertices, faces = body.visual
        vertices = check.array(name, "visual", vertices, (None, 3), most=check.FINITE)
        check.index_rows(name, "visual", faces, 3, len(vertices))
    return body


def checked_drive(name: str, value: Any) -> None:
    """Check a motor, or None.

    Raises:
        SceneError: A number is outside its bounds.
        ValueError: It is no motor.
    """
    if value is None:
        return
    drive = expect(value, Drive)
    check.choice(name, "drive", drive.kind, DRIVES)
    check.number(name, "target", drive.target)
    check.number(name, "stiffness", drive.stiffness, least=0.0, infinite=True)
    check.number(name, "damping", drive.damping, least=0.0)
    check.number(name, "most", drive.most, least=0.0, infinite=True)
    check.number(name, "speed", drive.speed)
    check.number(name, "force", drive.force)
    check.number(name, "fastest", drive.fastest, above=0.0, infinite=True)


def checked_joint(value: Any, bodies: int) -> Joint:
    """A joint between some of so many bodies, if it is one that could have been added.

    Raises:
        SceneError: A field has the wrong shape or is outside its bounds.
        ValueError: It is no joint.
    """
    joint = expect(value, Joint)
    name = expect(joint.name, str)
    check.choice(name, "kind", joint.kind, tuple(KINDS))
    check.indices(name, "first", joint.first, bodies)
    if joint.second != WORLD:
        check.indices(name, "second", joint.second, bodies)
    check.array(name, "places", joint.places, (2, 3), most=check.FINITE)
    for frame in check.array(name, "frames", joint.frames, (2, 4), most=check.FINITE):
        check.unit_quaternion(name, "frames", frame)
    for field in ("compliance", "angular_compliance", "damping", "limit_compliance"):
        check.number(name, field, getattr(joint, field), least=0.0)
    for field in ("travel", "twist"):
        limits = getattr(joint, field)
        if limits is not None and not (np.shape(limits) == (2,) and limits[0] <= limits[1]):
            raise ValueError(f"{field} of {check.short(name)} is no pair of limits")
    if joint.swing is not None:
        check.number(name, "swing", joint.swing, above=0.0, most=np.pi)
    checked_drive(name, joint.drive)
    for field in ("start", "rest"):
        check.number(name, field, getattr(joint, field))
    for field in ("rotor_inertia", "dry_friction", "stiffness"):
        check.number(name, field, getattr(joint, field), least=0.0)
    for field in ("max_force", "max_speed"):
        check.number(name, field, getattr(joint, field), above=0.0, infinite=True)
    check.number(name, "break_force", joint.break_force, above=0.0, infinite=True)
    check.number(name, "break_torque", joint.break_torque, above=0.0, infinite=True)
    for key, number in expect(joint.numbers, dict).items():
        check.number(name, key, number)
    check.choice(name, "collide", joint.collide, (True, False))
    return joint


def checked_body_rows(value: Any, bodies: int, particles: int) -> BodyRows:
    """Attachments of some of so many particles to one of so many bodies, if they could have been added.

    Raises:
        SceneError: A field has the wrong shape or is outside its bounds.
        ValueError: They are none.
    """
    rows, name = expect(value, BodyRows), "attachment to a body"
    check.indices(name, "body", rows.body, bodies)
    count = len(check.indices(name, "particles", rows.particles, particles))
    check.array(name, "places", rows.places, (count, 3), most=check.FINITE)
    check.per_row(
        name, "lengths", check.array(name, "lengths", rows.lengths, (count,), most=check.FINITE), count, least=0.0
    )
    check.number(name, "compliance", rows.compliance, least=0.0)
    if rows.break_force is not None:
        check.number(name, "break_force", rows.break_force, above=0.0)
    return rows


def _pose(name: str, position: Any, rotation: Any) -> None:
    check.vector(name, "position", position)
    check.unit_quaternion(name, "rotation", rotation)
