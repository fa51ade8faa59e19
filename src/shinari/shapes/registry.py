"""The table of shape types: everything that kernels and scene files need of a shape is in its registration.

Kernels know a type by its kind, a number; all kinds are in the table `KINDS`. Their order says what a solid is: up to
`LAST_UNBOUNDED` it is solid without end beyond its surface; up to `LAST_CONVEX` it is convex; the others are meshes,
hulls and shapes that may be hollow. A fast point can come out on the far side of what is bounded, and has to be stopped
on its path. A new shape needs no line in the table: it gets the next free number of its range.
"""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.shapes.base import Shape

KINDS = {
    # solid without end beyond the surface
    "plane": 0,
    "container": 1,
    # convex and bounded
    "sphere": 2,
    "box": 3,
    "capsule": 4,
    "cylinder": 5,
    "cone": 6,
    "ellipsoid": 7,
    # others
    "mesh": 10_000,
    "sheet": 10_001,
    "hull": 10_002,
    "heightfield": 10_003,
}
"""Kinds of the types that come with the package, by name. They are constants of compiled kernels."""
LAST_UNBOUNDED = KINDS["container"]
FIRST_FREE_CONVEX, LAST_CONVEX = 16, 9_999
FIRST_FREE_OTHER = 20_000
NUMBERS = 4
"""Numbers of a shape that kernels read."""


@dataclass(frozen=True)
class ShapeType:
    """What kernels and scene files know of a shape.

    The functions are compiled, take points and directions in the axes of the shape as tuples of three, and `s`, its
    four numbers. Those of an indexed type take `shapes` and `g` as well: the record of all shapes and its row there.

    Attributes:
        name: Unique name.
        shape: The class.
        kind: Number that kernels know it by.
        variant: Which `Shape.variant` of the class it is.
        distance: `distance(q, s)`: signed distance [m], and unit vector out of the solid. None: its mesh stands for it.
        support: `support(d, s)`: the point of the core farthest along d, of any length. The core, thickened by the
            radius that `Shape.core` gives, is the solid; with the default radius of 0 it is the solid itself. None: the
            shape is not convex, or has no end; its mesh stands for it in contacts between bodies.
        feature: `feature(q, s, n, nearest, one, zero)`: like which point, line or plane the surface nearest to q is: a
            point of it, 1 for each axis that counts (0 along a line), and whether it is a plane; n is the normal there,
            one and zero are constants of the precision. None: the nearest point.
        straight: `straight(n, s)`: direction of a line of the surface next to where its normal is n, from -h to h in
            the axes of the shape, and h [m]. None: the surface has no such lines.
        axis: `axis(k, toward, s)`: normal k of its own, of a round side the one that looks along `toward`.
        face: `face(d, s, projection, table, column)`: writes the face that looks along d, see
            `shinari.shapes.kernels.projection`. None: one point.
        corner: `corner(k, towards, s)`: whether corner k depends on the direction in which it is to lie farthest, and
            where it is. None: one corner, the support point.
        is_extreme: `is_extreme(k, u, s)`: whether u is about in the normal cone of corner k. None: always.
        common: Whether all kernels know it; others are compiled into those of scenes that have one.
        indexed: Whether `support`, `axis`, `face`, `corner` and `is_extreme` read the record of all shapes.
        flat: Whether all of its faces are flat, so that points of contact can be carried along with it.
        angular: Whether it has no round places, so that points of contact with a mesh stay where they are on it.
        curved: Whether it has a round side without a core, which rolls away under its points.
        half_axes: `half_axes(shape)`: half axes of the ellipsoid that its round side is, or of the disk whose rims its
            round sides have, of any radius: 0 along their axis. None: rotations of such a side count to first order.
        table: Its table in scene files; None: it is not in scene files.
        read: Makes it of the table and a function from file names to paths; None: of the table's fields by name.
    """

    name: str
    shape: type[Shape]
    kind: int
    variant: str = ""
    distance: Any = None
    support: Any = None
    feature: Any = None
    straight: Any = None
    axis: Any = None
    face: Any = None
    corner: Any = None
    is_extreme: Any = None
    common: bool = False
    indexed: bool = False
    flat: bool = False
    angular: bool = False
    curved: bool = False
    half_axes: Any = None
    table: Any = None
    read: Callable[[Any, Callable[[str], Any]], Shape] | None = None

    @property
    def convex(self) -> bool:
        """Whether it is convex and bounded."""
        return LAST_UNBOUNDED < self.kind <= LAST_CONVEX


_TYPES: dict[int, ShapeType] = {}
_BY_CLASS: dict[tuple[type, str], ShapeType] = {}


def register(shape: type[Shape], name: str, kind: int | None = None, **given: Any) -> ShapeType:
    """Enter a type of the package, see `ShapeType`; its kind is that of `KINDS`, or the next free one of its range."""
    if kind is None:
        kind = KINDS[name] if name in KINDS else free_kind(convex=given.get("support") is not None)
    shape_type = ShapeType(name, shape, kind, **given)
    _TYPES[kind] = _BY_CLASS[shape, shape_type.variant] = shape_type
    return shape_type


def register_shape(
    shape: type[Shape],
    *,
    support: Any = None,
    distance: Any = None,
    curved: bool = True,
    name: str | None = None,
) -> ShapeType:
    """Register a shape of your own, by a support function, a signed distance, or both.

    The shape is a frozen dataclass derived from `shinari.Shape`, whose method `numbers` gives up to four numbers. It
    then serves as collider, rigid body (also as a part of a compound), wall and filling of fluids, sink, and is drawn.
    Its kernels are compiled for the scenes that have one.

    With a support function it is convex: bodies find their contacts by it, and a signed distance that is not given is
    found by it. Without, the mesh of its method `surface` stands for it in contacts between bodies, and has to be
    written. Mass properties are integrated over that mesh unless `mass_properties` gives them; `bounds` as well.

    Args:
        shape: The class.
        support: Compiled `support(d, s)`: the point of the core farthest along a direction d of any length but zero, in
            the axes of the shape [m], as a tuple of three. `s` are its four numbers, 0 where fewer are given. The core
            is the solid itself, unless the method `core` of the class gives a radius; then `distance`, `surface` and
            `bounds` have to be given, too.
        distance: Compiled `distance(q, s)`: signed distance [m] of a point q from the surface, negative inside, and the
            unit vector out of the solid there. It must not be more than the true distance.
        curved: Whether it rolls on a round side; False for a convex shape with flat faces.
        name: Name in messages; None: that of the class in small letters.

    Returns:
        The type. Registering a class again replaces its functions for simulations that are built from then on.

    Raises:
        SceneError: An argument cannot describe a shape.
    """
    if not (isinstance(shape, type) and issubclass(shape, Shape)):
        raise SceneError(f"register_shape: shape: expected a class derived from sn.Shape, got {check.short(shape)}")
    called = shape.__name__.lower() if name is None else name
    if not isinstance(called, str) or not called.isidentifier() or len(called) > check.LONGEST_TEXT:
        raise SceneError(
            f"register_shape: name: expected an identifier of at most {check.LONGEST_TEXT} characters, got "
            f"{check.short(called)}"
        )
    label = f"register_shape {check.short(called)}"
    known = _BY_CLASS.get((shape, ""))
    if known is not None and known.kind < FIRST_FREE_CONVEX:
        raise SceneError(f"{label}: shape: {shape.__name__} comes with shinari; derive a class of your own")
    if support is None and distance is None:
        raise SceneError(f"{label}: support, distance: at least one of the two must be given")
    for field, function in (("support", support), ("distance", distance)):
        if function is not None:
            _check_function(label, field, function)
    check.flag(label, "curved", curved)
    if support is None and shape.surface is Shape.surface:
        raise SceneError(
            f"{label}: shape: without a support function {shape.__name__} needs a method surface(segments)"
        )
    if shape.numbers is Shape.numbers:
        raise SceneError(f"{label}: shape: {shape.__name__} needs a method numbers()")
    if distance is None:
        from shinari.shapes.kernels.support_distance import distance_by

        distance = distance_by(support)
    return register(
        shape,
        called,
        free_kind(convex=support is not None),
        distance=distance,
        support=support,
        curved=bool(curved and support is not None),
    )


def _check_function(label: str, field: str, function: Any) -> None:
    python_function = getattr(function, "py_func", None)
    if python_function is None:
        raise SceneError(
            f"{label}: {field}: decorate it with @shinari.function so that it is compiled; got {check.short(function)}"
        )
    check.function(label, field, python_function, 2)
    if len(inspect.signature(python_function).parameters) != 2:
        raise SceneError(f"{label}: {field}: expected two parameters")


def free_kind(*, convex: bool) -> int:
    """The next number for a type that is not common."""
    first, last = (FIRST_FREE_CONVEX, LAST_CONVEX) if convex else (FIRST_FREE_OTHER, 2**31)
    return max((kind + 1 for kind in _TYPES if first <= kind <= last), default=first)


def type_of(shape: Shape) -> ShapeType:
    """The type of a shape.

    Raises:
        SceneError: Its class is not registered.
    """
    classes = type(shape).__mro__
    found = next((_BY_CLASS[each, shape.variant] for each in classes if (each, shape.variant) in _BY_CLASS), None)
    if found is None:
        raise SceneError(f"{type(shape).__name__}: is not registered; call shinari.register_shape first")
    return found


def shape_types() -> list[ShapeType]:
    """All types, by kind; of a class that was registered again the last one."""
    return sorted({kind.kind: kind for kind in _BY_CLASS.values()}.values(), key=lambda entry: entry.kind)


def types_of_kinds(kinds: Iterable[int]) -> tuple[ShapeType, ...]:
    """The types of some kinds, in order."""
    return tuple(_TYPES[kind] for kind in sorted(set(map(int, kinds))))


def four_numbers(shape: Shape) -> np.ndarray:
    """The numbers of a shape as kernels read them, (4,) float64.

    Raises:
        SceneError: Its `numbers` are not up to four finite numbers.
    """
    values = check.array(type(shape).__name__, "numbers", shape.numbers(), (None,))
    if len(values) > NUMBERS:
        raise SceneError(f"{type(shape).__name__}: numbers: expected at most {NUMBERS}, got {len(values)}")
    return np.concatenate([values, np.zeros(NUMBERS - len(values))])
