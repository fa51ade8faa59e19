"""Adds colliders to a scene, and excludes pairs of objects from contact."""

from typing import Any

from shinari import check
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, Motion, pose_at
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.contents import Contents
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.scene.objects import Collider
from shinari.shapes.base import Shape
from shinari.shapes.compound import Compound
from shinari.shapes.registry import type_of

_NO_ROTATION = tuple(NO_ROTATION.tolist())
Touching = Handle | ColliderHandle | BodyHandle


def add_collider(
    scene: Contents,
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
        shape: A `Shape`, such as `Plane`, `Sphere`, `Mesh` or `Heightfield`; a `Compound` is none.
        position: Where the origin of the shape is [m].
        rotation: Its rotation, a unit quaternion w x y z.
        friction: Coulomb coefficient. With an object that has one of its own, the geometric mean of both acts.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1; the larger of both acts.
        contact_compliance: Inverse stiffness of a contact [m/N]; the sum of both acts.
        motion: Function of time [s] that returns a position, or a position and a rotation; it replaces
            `position` (and `rotation`).
        name: Name in messages and results.

    Raises:
        SceneError: A value has the wrong type or shape, or lies outside its bounds.
    """
    name = scene._name("collider", name)
    label = f"collider {name!r}"
    if isinstance(shape, Compound):
        raise SceneError(f"{label}: shape: a Compound is for bodies; add each part as a collider of its own")
    if not isinstance(shape, Shape):
        raise SceneError(f"{label}: shape: expected a shape, such as Sphere or Mesh, got {check.short(shape)}")
    type_of(shape)
    at = check.vector(label, "position", position)
    turn = check.unit_quaternion(label, "rotation", rotation)
    check.function_or_none(label, "motion", motion)
    if motion is not None:
        at, turn = pose_at(motion, 0.0, turn, f"{label}: motion")
    check.number(label, "friction", friction, least=0.0)
    surface = checked_contact_material(label, friction, static_friction, restitution, contact_compliance)
    handle = ColliderHandle(name, len(scene.colliders))
    scene.colliders.append(Collider(name, shape, at, turn, surface, motion))
    scene.handles[name] = handle
    scene.revision += 1
    return handle


def ignore_contact(scene: Contents, first: Touching | str, second: Touching | str) -> None:
    """Exclude a pair from contact: two objects or bodies, or one of them and a collider.

    Raises:
        SceneError: One of them is not in this scene, both are the same or both are colliders.
    """
    scene._refuse_shared("ignore_contact")
    pair = []
    for field, item in (("first", first), ("second", second)):
        pair.append(scene.find("ignore_contact", field, item, Handle, ColliderHandle, BodyHandle))
    if pair[0] is pair[1]:
        raise SceneError(f"ignore_contact: second: is {pair[0].name!r} like first; see self_collision")
    if not any(_is_pushed(scene, handle) for handle in pair):
        raise SceneError(
            f"ignore_contact: second: {pair[0].name!r} and {pair[1].name!r} are colliders or kinematic bodies, "
            f"which never push each other"
        )
    scene.ignored.add(frozenset(handle.name for handle in pair))
    scene.revision += 1


def _is_pushed(scene: Contents, handle: Touching) -> bool:
    """Whether an object has contacts."""
    if isinstance(handle, BodyHandle):
        return not scene.bodies[handle.index].kinematic
    return isinstance(handle, Handle)
