"""What kernels call of any shape: switches over kinds, assembled from the table of types.

All kernels know the common types. Those that a scene has beside them are compiled into copies of the kernels that it
runs, see `for_kinds`. Kernels import the functions here by name:

    distance_and_normal(kind, q, s, fields)    signed distance [m] and unit vector out of the solid
    feature(kind, s, q, gap, n, size)          the point, line or plane that the surface nearest to q is like
    straight(kind, n, s)                       direction and half length of a line of the surface; 0: there is none
    support(shapes, g, d)                      point of the core of shape g farthest along d
    own_axis(shapes, g, k, toward)             normal k of a shape
    face(shapes, g, d, projection, table, column)    writes the face that looks along d
    corner(g, k, towards, shapes)              corner k, and whether it depends on the direction
    is_extreme(g, k, u, shapes)                whether u is about in the normal cone of corner k

`q`, `d` and the results are in the axes of the shape; `shapes` is the record of all shapes of the bodies.
"""

import linecache
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from shinari.compute.kernels import STEADY, Function
from shinari.compute.once import once
from shinari.compute.specialise import specialised
from shinari.maths.function import steady
from shinari.maths.vec3 import ONE, ZERO, scale, sub
from shinari.shapes.hull import HULL
from shinari.shapes.kernels.inlining import body_of
from shinari.shapes.kernels.projection import point
from shinari.shapes.registry import LAST_CONVEX, ShapeType, shape_types, types_of_kinds

_COMMON = tuple(each for each in shape_types() if each.common or each.kind == HULL)


class Switches(NamedTuple):
    """The functions of this module for some types."""

    distance_and_normal: Function
    feature: Function
    straight: Function
    support: Function
    own_axis: Function
    face: Function
    corner: Function
    is_extreme: Function


def switches(types: Sequence[ShapeType]) -> Switches:
    """The functions for some types, in the order of their kinds."""
    solids = [each for each in types if each.distance is not None]
    cores = sorted((each for each in types if each.support is not None), key=lambda each: each.axis is None)
    at = "kind, s = shapes.kind[g], shapes.size[g]"
    return Switches(
        _switch("distance_and_normal(kind, q, s, fields)", "", [(each, each.distance, "q, s") for each in solids]),
        _feature(types),
        _switch(
            "straight(kind, n, s)",
            "",
            [(each, each.straight, "n, s") for each in types if each.straight],
            (_curved, "n"),
        ),
        _switch("support(shapes, g, d)", at, [(each, each.support, _more(each, "d, s")) for each in cores]),
        _switch(
            "own_axis(shapes, g, k, toward)",
            at,
            [(each, each.axis, _more(each, "k, toward, s")) for each in cores if each.axis],
        ),
        _switch(
            "face(shapes, g, d, projection, table, column)",
            at,
            [
                (each, each.face or _point_of(each.support), _more(each, "d, s, projection, table, column"))
                for each in cores
            ],
        ),
        _switch(
            "corner(g, k, towards, shapes)",
            at,
            [(each, each.corner or _lowest(each.support), _more(each, "k, towards, s")) for each in cores],
        ),
        _switch(
            "is_extreme(g, k, u, shapes)",
            at,
            [(each, each.is_extreme, _more(each, "k, u, s")) for each in cores if each.is_extreme],
            (_always, ""),
        ),
    )


def _more(shape_type: ShapeType, arguments: str) -> str:
    return f"{arguments}, shapes, g" if shape_type.indexed else arguments


@steady
def _always():
    return True


@steady
def _curved(n):
    nothing = ZERO * n[0]
    return (nothing, nothing, nothing), nothing


def _point_of(support: Any) -> Function:
    @steady
    def face(d, s, projection, table, column):
        return point(support(d, s), projection, table, column)

    return face


def _lowest(support: Any) -> Function:
    """Corners of a shape without any: the support points; without a direction (zero) the centre, and along the axes."""

    @steady
    def corner(k, towards, s):
        known = towards[0] != 0.0 or towards[1] != 0.0 or towards[2] != 0.0
        axis, side = (k - 1) // 2, 1.0 if k % 2 == 1 else -1.0
        x, y = side if k > 0 and axis == 0 else 0.0, side if k == 0 or axis == 1 else 0.0
        along = x, y, side if axis == 2 else 0.0
        at = support(towards if known else along, s)
        inside = 1.0 if known or k > 0 else 0.0
        return True, (inside * at[0], inside * at[1], inside * at[2])

    return corner


def _feature(types: Sequence[ShapeType]) -> Function:
    """The nearest point, or what a type says; of what may be hollow, the middle of a ball as large as a triangle.

    Values that all cases share are computed before them: then the cases become selections instead of branches.
    """
    lines = ["def feature(kind, s, q, gap, n, size):", "    one, zero = ONE + ZERO * gap, ZERO * gap"]
    lines += ["    deep = gap + size if kind > LAST_CONVEX else gap", "    nearest = sub(q, scale(n, deep))"]
    lines += ["    found = nearest, (one, one, one), False"]
    own = [each for each in types if each.feature is not None]
    names: dict[str, Any] = {"ONE": ONE, "ZERO": ZERO, "LAST_CONVEX": LAST_CONVEX, "sub": sub, "scale": scale}
    for k, each in enumerate(own):
        lines += [f"    {'elif' if k else 'if'} kind == {each.kind}:"]
        body = body_of(each.feature, each.name, "q, s, n, nearest, one, zero", names, "found")
        lines += [f"        {line}" for line in body]
    return _rendered([*lines, "    return found"], names)


def _rendered(lines: Sequence[str], names: dict[str, Any]) -> Function:
    """A function of its lines, the first of which is its head, and of what they call."""
    source, scope = "\n".join(lines) + "\n", {"__name__": __name__, **names}
    path = f"<{lines[0]} {len(lines)}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    exec(compile(source, path, "exec"), scope)
    return Function(scope[lines[0].removeprefix("def ").partition("(")[0]], STEADY)


def _switch(
    head: str, first: str, cases: Sequence[tuple[ShapeType, Any, str]], otherwise: tuple[Any, str] | None = None
) -> Function:
    """A function that calls the case of the kind; what several types share comes last.

    Args:
        head: Name and parameters.
        first: A line before the cases, or "".
        cases: Types, what to call for each, and with which arguments.
        otherwise: What to call for all other kinds; None: the last case.
    """
    lines = [f"def {head}:", f"    {first}"] if first else [f"def {head}:"]
    scope: dict[str, Any] = {}
    calls = [call for _, call, _ in cases]
    shared = [case for case in cases if calls.count(case[1]) > 1]
    cases = [case for case in cases if case not in shared] + shared
    call, arguments = otherwise or cases[-1][1:]
    last = None if otherwise else cases[-1][0]
    for each, case, given in cases:
        if case is not call:
            body = _case(each, case, each.name, given, scope)
            lines += [f"    if kind == {each.kind}:", *(f"        {line}" for line in body)]
    lines += [f"    {line}" for line in _case(last, call, "otherwise", arguments, scope)]
    return _rendered(lines, scope)


def _case(each: ShapeType | None, call: Any, name: str, arguments: str, scope: dict[str, Any]) -> list[str]:
    """Lines of a case: the body of a function of the package, a call of one from outside."""
    if each is None or each in _COMMON:
        return body_of(call, name, arguments, scope)
    name = f"{name}_{each.kind}"
    scope[name] = call
    return [f"return {name}({arguments})"]


_SWITCHES = switches(_COMMON)
distance_and_normal, feature, straight, support, own_axis, face, corner, is_extreme = _SWITCHES


def for_kinds(kernel: Any, kinds: Iterable[int]) -> Any:
    """A kernel that knows all of some kinds: itself, or a copy for those that are not common.

    Args:
        kernel: A `Kernel`, `Shared` or `Function` that calls functions of this module.
        kinds: Kinds that it meets.
    """
    extra = tuple(each for each in types_of_kinds(kinds) if not each.common and each.distance is not None)
    return _copy(kernel, extra) if extra else kernel


@once
def _copy(kernel: Any, extra: tuple[ShapeType, ...]) -> Any:
    return specialised(kernel, _instead(extra))


@once
def _instead(extra: tuple[ShapeType, ...]) -> Any:
    larger = switches(sorted((*_COMMON, *extra), key=lambda each: each.kind))
    return dict(zip(_SWITCHES, larger, strict=True))
