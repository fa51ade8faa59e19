"""Arguments of the `add_*` functions of a scene."""

import math
from typing import Any, TypeVar

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.objects import SolidMaterial

M = TypeVar("M")


def surface_of(material: SolidMaterial) -> ContactMaterial:
    """How a material behaves in contact."""
    return ContactMaterial(
        material.friction, material.static_friction, material.restitution, material.contact_compliance
    )


def self_collision_mode(label: str, value: Any, modes: dict[Any, str]) -> str | None:
    """Elements of an object that collide with each other; None: none.

    Raises:
        SceneError: It is neither False nor one of the modes.
    """
    check.choice(label, "self_collision", value, (False, *modes))
    return None if value is False else modes[value]


def check_thickness(label: str, vertices: np.ndarray, faces: np.ndarray, thickness: float) -> None:
    """A sheet that collides with itself has a thickness, no larger than its shortest edge.

    Raises:
        SceneError: It has not; the message names the edge and offers a value.
    """
    from shinari.geometry.topology import edges

    pairs = edges(faces)
    lengths = np.linalg.norm(vertices[pairs[:, 0]] - vertices[pairs[:, 1]], axis=1)
    shortest = int(np.argmin(lengths))
    if thickness == 0.0:
        raise SceneError(
            f"{label}: thickness: a sheet without one cannot collide with itself; {0.2 * lengths[shortest]:.3g} m "
            f"would be a fifth of its shortest edge"
        )
    if thickness > lengths[shortest]:
        a, b = pairs[shortest].tolist()
        raise SceneError(
            f"{label}: thickness: {thickness:g} m is more than its shortest edge at rest, {lengths[shortest]:.3g} m "
            f"between vertices {a} and {b}: it would push itself apart; take at most {_down(lengths[shortest])} m"
        )


def _down(length: float) -> str:
    """A length [m] as a text of three digits that is no larger."""
    text = f"{length:.3g}"
    unit = 10.0 ** (math.floor(math.log10(length)) - 2)
    return text if float(text) <= length else f"{float(text) - unit:.3g}"


def given_material(label: str, material: Any, kind: type[M]) -> M:
    """The material given, or the default one."""
    if material is None:
        return kind()
    return check.kind(label, "material", material, kind)


def optional(label: str, field: str, value: Any, rows: int, **bounds: Any) -> np.ndarray | None:
    """Numbers for rows, or None."""
    return None if value is None else check.per_row(label, field, value, rows, **bounds)


def parameters(label: str, kind: Any, given: dict[str, Any], rows: int) -> dict[str, np.ndarray]:
    """Parameters of rows as given, checked against those of their type."""
    widths = dict(kind.parameters)
    unknown = sorted(set(given) - set(widths))
    if unknown:
        raise SceneError(f"{label}: {check.told(unknown[0])}: unknown parameter; known are {check.names(widths)}")
    if kind.rest is None and set(widths) - set(given):
        missing = next(name for name in widths if name not in given)
        raise SceneError(f"{label}: {missing}: has no default and must be given")
    result = {}
    for name, value in given.items():
        width = widths[name]
        if check.dimensions(label, name, value) == (0 if width == 1 else 1):
            value = np.broadcast_to(np.asarray(value), (rows,) if width == 1 else (rows, np.size(value)))
        shape = (rows,) if width == 1 else (rows, width)
        result[name] = check.array(label, name, value, shape).reshape(rows, width)
        if name in kind.non_negative:
            check.number(label, name, result[name].min(), least=0.0)
    return result
