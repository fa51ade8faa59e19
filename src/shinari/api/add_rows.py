"""Adds constraint rows, attachments, volumes and force fields to a scene."""

from dataclasses import replace
from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import optional
from shinari.api.arguments import parameters as checked_parameters
from shinari.api.attaching import attachment_rows, is_body, particles_of, to_body
from shinari.errors import SceneError
from shinari.scene.contents import Contents
from shinari.scene.handle import BodyHandle, Handle, RowsHandle
from shinari.scene.objects import BODY_ATTACHMENT, BodyRows, ForceField, Rows, Volume


def add_constraint(
    scene: Contents,
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
    label = f"constraint {type!r}"
    rows = check.index_rows(label, "indices", indices, kind.points, scene.particle_count)
    m = len(rows)
    rates = check.per_row(label, "damping", damping, m, least=0.0)
    if kind.one_sided and compression_compliance is None:
        compression_compliance = np.inf
    if kind.one_sided and compression_stiffness is None:
        compression_stiffness = 0.0
    sides = {"compression_compliance": compression_compliance, "compression_stiffness": compression_stiffness}
    for field, value in sides.items():
        if kind.rows > 1 and value is not None:
            raise SceneError(f"{label}: {field}: a system of {kind.rows} rows has no sides")
    return scene._add_rows(
        Rows(
            type,
            rows,
            check.per_row(label, "compliance", compliance, m, least=0.0, infinite=True),
            check.per_row(label, "stiffness", stiffness, m, least=0.0, most=1.0),
            optional(label, "compression_compliance", compression_compliance, m, least=0.0, infinite=True),
            optional(label, "compression_stiffness", compression_stiffness, m, least=0.0, most=1.0),
            rates if rates.any() else None,
            checked_parameters(label, kind, parameters, m),
        )
    )


def attach(
    scene: Contents,
    first: tuple[Handle | BodyHandle, Any],
    second: Any,
    *,
    compliance: float = 0.0,
    break_force: float | None = None,
    reach: float | None = None,
) -> RowsHandle:
    """Attach particles to other particles, objects, rigid bodies, points of the world, or a moving target.

    Both sides are pulled. What is apart keeps the distance that it has now and may turn about it; what coincides
    stays together. All rows of a call are of one type: they hold together when all of them coincide. On a rigid
    body each is of its own; particles attached to a body pass through it.

    Args:
        first: `(handle, index)` or `(handle, indices)`, indices within the handle; a row each. Or `(body, point)`,
            with the particles as second.
        second: Partner of each of them, one for all or one each:
            `(handle, index)` or `(handle, indices)`, whole numbers: particles;
            `(handle, point)` or `(handle, points)`, floats, (3,) or (M, 3) [m]: the point on that object that is
            nearest to the point, in a tetrahedron, on a triangle or on a segment, which moves along with it;
            `handle`: the point on that object that is nearest to the particle itself, which welds two objects;
            `(body, point)` or `(body, points)`: the point, which need not be on its surface, as it moves along with
            a rigid body; `body`: the point where the particle is, which welds it to the body;
            a point [m], or (M, 3) of them: they are pulled there;
            a function of time [s] that returns a point: they follow it.
        compliance: Inverse stiffness of each row [m/N].
        break_force: Force [N] above which a row breaks for good, each by itself; None: never.
        reach: Largest distance from a point to its partner on an object [m]; None: the longest edge there. On a
            rigid body: largest distance of a point from its surface; None: any.

    Raises:
        SceneError: One of the two has a wrong type, a point is out of reach, or a value lies outside its
            bounds.
    """
    if break_force is not None:
        break_force = check.number("attach", "break_force", break_force, above=0.0)
    if is_body(first):
        if is_body(second):
            raise SceneError("attach: second: two bodies are joined by add_joint")
        first, second = second, first
    if is_body(second):
        rows = to_body(scene, particles_of(scene, "first", first), second, reach)
        compliance = check.number("attach", "compliance", compliance, least=0.0)
        return _add_body_rows(scene, replace(rows, compliance=compliance, break_force=break_force))
    rows = attachment_rows(scene, particles_of(scene, "first", first), second, reach)
    m = len(rows.indices)
    return scene._add_rows(
        Rows(
            rows.type,
            rows.indices,
            np.full(m, check.number("attach", "compliance", compliance, least=0.0)),
            np.ones(m),
            parameters=rows.parameters,
            motion=rows.motion,
            break_force=break_force,
        )
    )


def _add_body_rows(scene: Contents, rows: BodyRows) -> RowsHandle:
    scene._refuse_shared("attach")
    start = sum(len(other.particles) for other in scene.body_rows)
    scene.body_rows.append(rows)
    scene.revision += 1
    return RowsHandle(scene, BODY_ATTACHMENT, range(start, start + len(rows.particles)))


def add_volume(scene: Contents, handle: Handle | str, *, ratio: float = 1.0, compliance: float = 0.0) -> None:
    """Keep the volume inside the closed mesh of an object, as the air in a balloon does.

    The pressure inside above that outside is (ratio V0 - V) / compliance [Pa], see `Simulation.pressure`. Air at a
    pressure p in a volume V has the compliance V / p for small changes; with 0 the volume is kept exactly, as by a
    liquid. `method="pbd"` knows no compliances and keeps it exactly.

    Args:
        handle: A cloth whose mesh is closed, or a soft body; or its name.
        ratio: Volume to be kept over the volume V0 of the mesh as it was added.
        compliance: Change of the volume by the pressure [m^3/Pa].

    Raises:
        SceneError: The mesh is not closed or encloses nothing, the object has one already, or a value lies outside
            its bounds.
    """
    from shinari.systems.volume.build import closed_faces

    scene._refuse_shared("volume")
    handle = scene.find("volume", "handle", handle, Handle)
    label = f"volume of {handle.name!r}"
    obj = next(obj for obj in scene.particle_objects if obj.name == handle.name)
    if obj.faces is None:
        raise SceneError(f"{label}: handle: has no faces, so it encloses no volume")
    if any(volume.object_name == handle.name for volume in scene.volumes):
        raise SceneError(f"{label}: handle: its volume is kept already")
    ratio = check.number(label, "ratio", ratio, above=0.0)
    compliance = check.number(label, "compliance", compliance, least=0.0)
    faces, volume = closed_faces(label, obj.positions, obj.faces)
    start = handle.particles.start
    scene.volumes.append(Volume(handle.name, faces.astype(np.int64) + start, ratio * volume, compliance))
    scene.revision += 1


def add_force_field(scene: Contents, function: ForceField) -> None:
    """Add a force that acts on every free particle.

    Args:
        function: `@shinari.function def f(x, v, m, t)`: position [m] and velocity [m/s] as tuples of three,
            mass [kg], time [s]; returns a force [N], a tuple of three. It runs compiled.

    Raises:
        SceneError: The function is not compiled.
    """
    scene._refuse_shared("force field")
    python_function = getattr(function, "py_func", None)
    if python_function is None:
        raise SceneError(
            f"force field: function: decorate it with @shinari.function so that it is compiled; got "
            f"{check.short(function)}"
        )
    check.function("force field", "function", python_function, 4)
    scene.force_fields.append(function)
    scene.revision += 1
