"""Adds rigid bodies to a scene."""

import os
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, Motion, pose_at
from shinari.geometry.topology import mesh_arrays
from shinari.scene.body import Body
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.contents import Contents
from shinari.scene.handle import BodyHandle
from shinari.scene.medium import Medium
from shinari.shapes.base import Shape
from shinari.shapes.compound import Compound, Piece
from shinari.shapes.mass import MassProperties
from shinari.shapes.mesh import Mesh
from shinari.shapes.registry import type_of

_NO_ROTATION = tuple(NO_ROTATION.tolist())
_AT_REST = (0.0, 0.0, 0.0)
DENSITY = 1000.0
"""Density of a body that none is given [kg/m^3]."""
Heft: TypeAlias = tuple[float, np.ndarray, np.ndarray, np.ndarray]
"""Mass, centre, principal moments and their axes."""
LARGEST = 1e30
"""Masses [kg] and moments [kg m^2] beyond this, or below its inverse, are taken for mistakes in units."""


def add_rigid_body(
    scene: Contents,
    shape: Any,
    *,
    density: Any = DENSITY,
    mass: float | None = None,
    inertia: Any = None,
    centre: Any = None,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    velocity: Any = _AT_REST,
    angular_velocity: Any = _AT_REST,
    friction: float = 0.3,
    static_friction: float | None = None,
    restitution: float = 0.0,
    compliance: float = 0.0,
    rolling_friction: float = 0.0,
    torsional_friction: float = 0.0,
    kinematic: bool = False,
    motion: Motion | None = None,
    visual: Any = None,
    color: Any = None,
    medium: Medium | None = None,
    gravity_scale: float = 1.0,
    name: str | None = None,
) -> BodyHandle:
    """Add a rigid body.

    Mass, centre of mass and inertia follow exactly from the shape and the density, the mass alone scales them, and
    all three can be given. Where parts of a compound overlap, both count.

    Args:
        shape: A `Shape` with an end, such as `Sphere` or `ConvexHull`, a `Compound`, or a closed surface: a
            `Mesh`, a tuple `(vertices (V, 3) [m], faces (F, 3))`, an object with both such as a trimesh, or the
            path of a mesh file. None: it touches nothing; mass and inertia have to be given.
        density: Mass per volume [kg/m^3]; of a compound one for all parts, or one each.
        mass: Mass [kg], in place of the density, or in the ratios of several.
        inertia: With a mass: moments of inertia about the centre of mass along the axes of the body (3,), or
            the tensor (3, 3) [kg m^2].
        centre: With an inertia: centre of mass in the axes of the body [m]; None: that of the shape.
        position: Where the origin of the shape is [m]; it need not be the centre of mass.
        rotation: Its rotation, a unit quaternion w x y z.
        velocity: Velocity of the centre of mass [m/s].
        angular_velocity: Angular velocity in world axes [rad/s].
        friction: Coulomb coefficient. Of two objects in contact the geometric mean acts.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1; the larger of both acts.
        compliance: Inverse stiffness of a contact [m/N]; the sum of both acts.
        rolling_friction: Moment against rolling over the normal force [m].
        torsional_friction: Moment about the normal over the normal force [m].
        kinematic: True: it pushes and is not pushed; it moves evenly with its velocities. A pose that is written to the
            state places it there at once and carries nothing along; write velocities, or give a `motion`.
        motion: Function of time [s] that returns a position, or a position and a rotation; the body is kinematic,
            and it replaces `position` (and `rotation`).
        visual: A surface that is shown in place of the shape, given like a closed surface; it may be open.
        color: Red, green and blue of 0 to 1, in which it is drawn; None: by its place among the bodies.
        medium: `Medium` that drags it, such as air; None: none. Wind and air of the scene act on particles alone.
        gravity_scale: Part of gravity that acts on it at its centre of mass, -1 to 1: 0 where a force of its own
            carries its weight, below 0 where that lifts it.
        name: Name in messages and results.

    Raises:
        SceneError: A value has the wrong type or shape, or lies outside its bounds; the shape has no inside; no
            body has such an inertia.
        FileError: A mesh file cannot be read.
    """
    name = scene._name("body", name)
    label = f"body {name!r}"
    pieces = _pieces(label, shape)
    check.choice(label, "kinematic", kinematic, (True, False))
    check.function_or_none(label, "motion", motion)
    at = check.vector(label, "position", position)
    turn = check.unit_quaternion(label, "rotation", rotation)
    speed = check.vector(label, "velocity", velocity)
    spin = check.vector(label, "angular_velocity", angular_velocity)
    if motion is not None:
        if speed.any() or spin.any():
            raise SceneError(f"{label}: velocity: the motion says how the body moves; leave the velocities out")
        at, turn = pose_at(motion, 0.0, turn, f"{label}: motion")
    part = check.number(label, "gravity_scale", gravity_scale, least=-1.0, most=1.0)
    if kinematic or motion is not None:
        _refuse_mass(label, mass, inertia, centre)
        if part != 1.0:
            raise SceneError(f"{label}: gravity_scale: gravity does not act on kinematic bodies; leave it out")
        heft, densities = (0.0, np.zeros(3), np.zeros(3), NO_ROTATION.copy()), None
    else:
        heft, densities = _mass_properties(label, pieces, density, mass, inertia, centre)
    check.number(label, "friction", friction, least=0.0)
    check.number(label, "compliance", compliance, least=0.0)
    body = Body(
        name,
        pieces,
        *heft,
        position=at,
        rotation=turn,
        velocity=speed,
        angular_velocity=spin,
        surface=checked_contact_material(label, friction, static_friction, restitution, compliance),
        rolling_friction=check.number(label, "rolling_friction", rolling_friction, least=0.0),
        torsional_friction=check.number(label, "torsional_friction", torsional_friction, least=0.0),
        kinematic=kinematic or motion is not None,
        motion=motion,
        visual=None if visual is None else _visual(label, visual),
        color=None if color is None else _color(label, color),
        medium=None if medium is None else check.kind(label, "medium", medium, Medium).checked(label),
        gravity_scale=part,
        densities=densities,
    )
    handle = BodyHandle(scene, name, len(scene.bodies))
    scene.bodies.append(body)
    scene.handles[name] = handle
    scene.revision += 1
    return handle


def _pieces(label: str, shape: Any) -> tuple[Piece, ...]:
    """The shapes of a body, each of them with an inside."""
    if shape is None:
        return ()
    if isinstance(shape, Compound):
        for part, piece in enumerate(shape.pieces):
            check_inside(f"{label}: shape: part {part}", piece.shape)
        return shape.pieces
    if not isinstance(shape, Shape):
        shape = _mesh(label, shape)
    check_inside(f"{label}: shape", shape)
    return (Piece(shape, np.zeros(3), NO_ROTATION.copy()),)


def _mesh(label: str, given: Any) -> Mesh:
    """A mesh that was given as a path, as arrays or as an object of another library."""
    known = isinstance(given, (str, os.PathLike, tuple)) or (hasattr(given, "vertices") and hasattr(given, "faces"))
    if not known:
        raise SceneError(
            f"{label}: shape: expected a shape such as Sphere, a Compound, (vertices, faces), a mesh, a path, or None, "
            f"got {check.short(given)}"
        )
    vertices, faces = mesh_arrays(f"{label}: shape", given)
    try:
        return Mesh(vertices, faces)
    except SceneError as error:
        raise SceneError(f"{label}: shape: {error}") from error


def check_inside(label: str, shape: Shape) -> None:
    """Refuse a shape that has no inside of a finite volume.

    Raises:
        SceneError: It is a plane, a container, the ground or a sheet, or its class is not registered.
    """
    type_of(shape)
    lacks = shape.lacks_inside()
    if lacks is not None:
        raise SceneError(f"{label}: {lacks}")


def _refuse_mass(label: str, mass: Any, inertia: Any, centre: Any) -> None:
    for field, value in (("mass", mass), ("inertia", inertia), ("centre", centre)):
        if value is not None:
            raise SceneError(f"{label}: {field}: forces do not act on kinematic bodies; leave it out")


def _mass_properties(
    label: str, pieces: tuple[Piece, ...], density: Any, mass: Any, inertia: Any, centre: Any
) -> tuple[Heft, tuple[float, ...] | None]:
    """Mass, centre, principal moments and their axes, and the densities that they are made of; None: of an inertia."""
    from shinari.shapes.combined_mass import compound_properties

    densities = check.per_row(label, "density", density, max(len(pieces), 1), above=0.0).tolist()
    if mass is not None:
        check.number(label, "mass", mass)
        if float(mass) <= 0.0:
            raise SceneError(f"{label}: mass: must be above 0, got {mass:g}; give kinematic=True to hold a body")
        mass = check.number(label, "mass", mass, least=1.0 / LARGEST, most=LARGEST)
    if centre is not None and inertia is None:
        raise SceneError(f"{label}: centre: needs the mass and the inertia that belong to it")
    if inertia is None:
        if not pieces:
            raise SceneError(f"{label}: inertia: a body without a shape needs mass and inertia")
        return heft_of(label, pieces, densities, mass), tuple(densities)
    if mass is None:
        raise SceneError(f"{label}: inertia: needs the mass that belongs to it")
    middle = np.zeros(3) if centre is None else check.vector(label, "centre", centre)
    if pieces and centre is None:
        with np.errstate(all="ignore"):  # sizes whose volume overflows are refused below
            middle = compound_properties(pieces, densities).centre
    return _checked(label, MassProperties(mass, middle, _tensor(label, inertia))), None


def heft_of(label: str, pieces: tuple[Piece, ...], densities: Sequence[float], mass: float | None) -> Heft:
    """Mass, centre, principal moments and their axes of shapes.

    Args:
        label: What messages call the body.
        pieces: The shapes.
        densities: The density of each [kg/m^3].
        mass: Mass of all [kg], in place of the density, or in the ratios of several densities; None: as they say.

    Raises:
        SceneError: No body has them.
    """
    from shinari.shapes.combined_mass import compound_properties

    if mass is not None and len(set(densities)) == 1:
        densities = [DENSITY] * len(pieces)
    with np.errstate(all="ignore"):  # sizes whose volume overflows are refused
        whole = compound_properties(pieces, densities)
        return _checked(label, whole if mass is None else whole.scaled(mass / whole.mass))


def _checked(label: str, whole: MassProperties) -> Heft:
    from shinari.shapes.combined_mass import check_inertia, principal_axes

    sizes = np.array([whole.mass, *whole.tensor.diagonal()])
    if not (np.isfinite(whole.tensor).all() and (np.abs(sizes) <= LARGEST).all() and whole.mass >= 1.0 / LARGEST):
        raise SceneError(f"{label}: mass: {whole.mass:.3g} kg and its inertia are out of range; look at the units")
    moments, axes = principal_axes(whole.tensor)
    check_inertia(label, moments)
    return whole.mass, whole.centre, moments, axes


def _tensor(label: str, inertia: Any) -> np.ndarray:
    """The inertia tensor (3, 3) from moments (3,) or from a tensor."""
    if check.dimensions(label, "inertia", inertia) == 1:
        return np.diag(check.vector(label, "inertia", inertia))
    tensor = check.array(label, "inertia", inertia, (3, 3))
    if np.abs(tensor - tensor.T).max() > 1e-6 * np.abs(tensor).max():
        raise SceneError(f"{label}: inertia: the tensor has to be symmetric")
    return tensor


def _color(label: str, color: Any) -> tuple[float, float, float]:
    red, green, blue = check.array(label, "color", color, (3,)).tolist()
    for channel in (red, green, blue):
        check.number(label, "color", channel, least=0.0, most=1.0)
    return red, green, blue


def _visual(label: str, visual: Any) -> tuple[np.ndarray, np.ndarray]:
    vertices, faces = mesh_arrays(f"{label}: visual", visual)
    vertices = check.array(label, "visual", vertices, (None, 3))
    return vertices, check.index_rows(label, "visual", faces, 3, len(vertices)).astype(np.int32)
