"""The table of constraint types: everything that varies between types is in their registration.

Scene files, `Scene.add_constraint`, the generated kernels, the documentation and the tests that every type must pass
read this table; no other file names a type.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError


@dataclass(frozen=True)
class ConstraintType:
    """A kind of constraint, C(x) = 0, between a fixed number of points.

    Attributes:
        name: Name in scene files and in `Scene.add_constraint`.
        points: Points of one row.
        parameters: `(name, width)` of each parameter, in the order of the columns that `evaluate` gets.
        evaluate: Compiled `evaluate(x, p)`: `x` is a tuple of points [m], each a tuple of three; `p` a tuple of the
            row's parameter columns. Returns `C, gradients` where gradients holds one vector for each point. With
            `rows` above one it returns a tuple of C and a tuple of such gradients, one for each equation.
        rest: `rest(x)` with `x` (M, points, 3) gives the parameters that make every row satisfied: one array for
            each parameter, (M,) or (M, width). None when the parameters have no default.
        rows: Scalar equations of one row, which are solved together as one system. Elsewhere a row is one constraint,
            however many equations it has; the argument keeps its public name.
        unit_gradients: True when each gradient has length one wherever it is defined: the solver then knows the
            generalised inverse mass before it has evaluated the row. The registry tests check the claim.
        gradient_squares: Compiled `gradient_squares(p)`: square of the length of each gradient wherever it is defined,
            for single rows in which the parameters alone determine it; the same use and the same test.
        translation_invariant: True when moving all points together leaves C unchanged; then the gradients sum to zero.
        places: Parameters of width 3 that are places in the world [m]. The solver keeps positions relative to an origin
            near the object, and moves these along; a type that depends on where the world's origin is and declares none
            costs its objects that precision.
        non_negative: Parameters that must not be negative.
        lanes: True when sixteen rows at a time should be solved with vector instructions: for types with much
            arithmetic. `evaluate` has to select where it would branch.
        compliance_unit: Unit of the compliance, for the documentation.
        one_sided: True when only C > 0 is resisted unless the row says otherwise.
        summary: First line of the documentation.
    """

    name: str
    points: int
    parameters: tuple[tuple[str, int], ...]
    evaluate: Any
    rest: Callable[[np.ndarray], Any] | None
    rows: int = 1
    unit_gradients: bool = False
    gradient_squares: Any = None
    translation_invariant: bool = True
    places: tuple[str, ...] = ()
    non_negative: tuple[str, ...] = ()
    lanes: bool = False
    compliance_unit: str = "m/N"
    one_sided: bool = False
    summary: str = ""

    @property
    def width(self) -> int:
        """Columns of the parameter table."""
        return sum(width for _, width in self.parameters)

    @property
    def place_columns(self) -> list[slice]:
        """Columns of the parameters that are places in the world."""
        starts = [sum(width for _, width in self.parameters[:k]) for k in range(len(self.parameters))]
        return [slice(c, c + 3) for (name, _), c in zip(self.parameters, starts, strict=True) if name in self.places]


_TYPES: dict[str, ConstraintType] = {}
# What `Scene.add_constraint` and scene files take besides the parameters of a type.
_LONGEST_NAME = 100
_ARGUMENTS = frozenset(
    ("type", "indices", "compliance", "compression_compliance", "stiffness", "compression_stiffness", "damping")
)


def register(  # noqa: PLR0913  public interface, by keyword
    name: str,
    *,
    points: int,
    parameters: Sequence[str | tuple[str, int]] = (),
    evaluate: Any,
    rest: Callable[[np.ndarray], Any] | None = None,
    rows: int = 1,
    unit_gradients: bool = False,
    gradient_squares: Any = None,
    translation_invariant: bool = True,
    places: Sequence[str] = (),
    non_negative: Sequence[str] = (),
    lanes: bool = False,
    compliance_unit: str = "m/N",
    one_sided: bool = False,
    summary: str = "",
) -> ConstraintType:
    """Register a constraint type; see `ConstraintType` for the arguments.

    A parameter is a name, or `(name, width)` for a vector. Registering the same name again replaces the type, so that
    a notebook cell can be run twice.

    Raises:
        SceneError: An argument cannot describe a constraint.
    """
    if not isinstance(name, str) or not name.isidentifier() or len(name) > _LONGEST_NAME:
        raise SceneError(
            f"register: name: expected an identifier of at most {_LONGEST_NAME} characters, got {check.short(name)}"
        )
    points = check.count(f"register {name!r}", "points", points)
    rows = check.count(f"register {name!r}", "rows", rows)
    check.function_or_none(f"register {name!r}", "rest", rest)
    for field, function, arguments in (("evaluate", evaluate, 2), ("gradient_squares", gradient_squares, 1)):
        if function is None and field != "evaluate":
            continue
        python_function = getattr(function, "py_func", None)
        if python_function is None:
            raise SceneError(
                f"register {name!r}: {field}: decorate it with @shinari.function so that it is compiled; got "
                f"{check.short(function)}"
            )
        check.function(f"register {name!r}", field, python_function, arguments)
    if gradient_squares is not None and (unit_gradients or rows > 1):
        raise SceneError(f"register {name!r}: gradient_squares: is for single rows without unit_gradients")
    columns = _columns(f"register {name!r}", parameters)
    names = [column for column, _ in columns]
    for field, listed in (("places", places), ("non_negative", non_negative)):
        for entry in check.sequence(f"register {name!r}", field, listed):
            check.choice(f"register {name!r}", field, entry, names)
    for field, value in (
        ("unit_gradients", unit_gradients), ("translation_invariant", translation_invariant), ("lanes", lanes),
        ("one_sided", one_sided),
    ):  # fmt: skip
        check.flag(f"register {name!r}", field, value)
    for field, value in (("compliance_unit", compliance_unit), ("summary", summary)):
        check.kind(f"register {name!r}", field, value, str)
    if any((place, 3) not in columns for place in places):
        raise SceneError(
            f"register {name!r}: places: each must be one of the parameters, of width 3; got {list(places)}"
        )
    if len(set(names)) != len(names):
        raise SceneError(f"register {name!r}: parameters: a name is repeated in {names}")
    constraint_type = ConstraintType(
        name, points, columns, evaluate, rest, rows, unit_gradients, gradient_squares, translation_invariant,
        tuple(places), tuple(non_negative), lanes, compliance_unit, one_sided, summary or _first_line(evaluate),
    )  # fmt: skip
    _TYPES[name] = constraint_type
    return constraint_type


def constraint_type(name: str) -> ConstraintType:
    """The registered type of that name.

    Raises:
        SceneError: No such type; the message lists those there are.
    """
    found = _TYPES.get(name) if isinstance(name, str) else None
    if found is None:
        known = check.names(sorted(_TYPES), near=name)
        raise SceneError(f"constraint {check.short(name)}: type: is not registered; known are {known}")
    return found


def constraint_types() -> tuple[ConstraintType, ...]:
    """All registered types, by name."""
    return tuple(_TYPES[name] for name in sorted(_TYPES))


def _columns(label: str, parameters: Any) -> tuple[tuple[str, int], ...]:
    """Name and width of each parameter."""
    columns = []
    for item in check.sequence(label, "parameters", parameters):
        pair = (item, 1) if isinstance(item, str) else item
        if not (isinstance(pair, (tuple, list)) and len(pair) == 2 and isinstance(pair[0], str)):
            raise SceneError(f"{label}: parameters: expected a name or (name, width), got {check.short(item)}")
        if not pair[0].isidentifier() or pair[0] in _ARGUMENTS:
            raise SceneError(
                f"{label}: parameters: {check.short(pair[0])} is no identifier, or an argument of add_constraint"
            )
        columns.append((pair[0], check.count(label, f"parameters: width of {check.short(pair[0])}", pair[1])))
    return tuple(columns)


def _first_line(evaluate: Any) -> str:
    return (evaluate.py_func.__doc__ or "").strip().split("\n", 1)[0]
