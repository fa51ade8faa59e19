"""Checks of what the user gives: each raises a `SceneError` that names the thing and the field."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shinari.errors import SceneError


def number(
    thing: str,
    field: str,
    value: Any,
    *,
    least: float = -np.inf,
    above: float = -np.inf,
    most: float = np.inf,
    infinite: bool = False,
) -> float:
    """A real number within its bounds, as a float.

    Args:
        thing: What the number belongs to, `"cloth 'flag'"`.
        field: Name of the field.
        value: What was given.
        least: Smallest value allowed.
        above: Largest value that is too small.
        most: Largest value allowed.
        infinite: Whether infinity is a value of this field.

    Raises:
        SceneError: It is no number, or outside its bounds.
    """
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{thing}: {field}: expected a number, got {short(value)}") from None
    if isinstance(value, (bool, str)) or np.isnan(result) or (np.isinf(result) and not infinite):
        raise SceneError(f"{thing}: {field}: expected a{'' if infinite else ' finite'} number, got {value!r}")
    if result < least:
        raise SceneError(f"{thing}: {field}: must be at least {least:g}, got {result:g}")
    if result <= above:
        raise SceneError(f"{thing}: {field}: must be above {above:g}, got {result:g}")
    if result > most:
        raise SceneError(f"{thing}: {field}: must be at most {most:g}, got {result:g}")
    return result


def count(thing: str, field: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`.

    Raises:
        SceneError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise SceneError(f"{thing}: {field}: expected a whole number, got {value!r}")
    if value < least:
        raise SceneError(f"{thing}: {field}: must be at least {least}, got {value}")
    return int(value)


def choice(thing: str, field: str, value: Any, choices: Sequence[Any]) -> Any:
    """One of the choices.

    Raises:
        SceneError: It is none of them.
    """
    if not any(value is item or (isinstance(value, str) and value == item) for item in choices):
        raise SceneError(f"{thing}: {field}: expected one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def array(thing: str, field: str, value: Any, shape: tuple[int | None, ...]) -> np.ndarray:
    """A finite float64 array of that shape, None standing for any length; always a copy.

    Raises:
        SceneError: Wrong type or shape, or a value that is not finite.
    """
    try:
        result = np.array(value, dtype=np.float64, order="C")
        _refuse_texts(value)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{thing}: {field}: expected numbers of shape {_shape(shape)}, got {short(value)}") from None
    if result.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(result.shape, shape, strict=True)
    ):
        raise SceneError(f"{thing}: {field}: expected shape {_shape(shape)}, got {result.shape}")
    bad = ~np.isfinite(result)
    if bad.any():
        where = np.argwhere(bad)[0]
        raise SceneError(f"{thing}: {field}: not a finite number at index {where.tolist()}: {result[tuple(where)]}")
    return result


def vector(thing: str, field: str, value: Any) -> np.ndarray:
    """A finite vector (3,).

    Raises:
        SceneError: It is none.
    """
    return array(thing, field, value, (3,))


def unit_quaternion(thing: str, field: str, value: Any) -> np.ndarray:
    """A rotation as a quaternion w x y z (4,), brought to length one exactly.

    Raises:
        SceneError: It is no quaternion of length one (within 1e-3).
    """
    result = array(thing, field, value, (4,))
    length = float(np.linalg.norm(result))
    if abs(length - 1.0) > 1e-3:
        raise SceneError(f"{thing}: {field}: a rotation is a quaternion w x y z of length 1, got length {length:g}")
    return result / length


def indices(thing: str, field: str, value: Any, count: int) -> np.ndarray:
    """Indices (K,) int64 into `count` things; a single index serves too.

    Raises:
        SceneError: No whole numbers, or outside 0 .. count - 1.
    """
    result = np.atleast_1d(_regular(thing, field, value))
    if result.size == 0:
        return np.zeros(0, np.int64)
    if result.ndim != 1 or not np.issubdtype(result.dtype, np.integer):
        raise SceneError(f"{thing}: {field}: expected whole numbers of shape (K,), got {short(value)}")
    return _within(thing, field, result.astype(np.int64), count)


def index_rows(thing: str, field: str, value: Any, points: int, count: int) -> np.ndarray:
    """Indices (M, points) int64, no index twice in a row.

    Raises:
        SceneError: Wrong shape or type, out of range, or an index repeated in one row.
    """
    result = _regular(thing, field, value)
    if result.size == 0:
        raise SceneError(f"{thing}: {field}: no rows were given")
    if not np.issubdtype(result.dtype, np.integer):
        raise SceneError(f"{thing}: {field}: expected whole numbers of shape (M, {points}), got {short(value)}")
    if result.ndim == 1 and (points == 1 or result.shape[0] == points):
        result = result.reshape(-1, points)
    if result.ndim != 2 or result.shape[1] != points:
        raise SceneError(f"{thing}: {field}: expected shape (M, {points}), got {result.shape}")
    result = _within(thing, field, result.astype(np.int64), count)
    ordered = np.sort(result, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if repeated.any():
        row = int(np.argmax(repeated))
        raise SceneError(f"{thing}: {field}: row {row} repeats an index: {result[row].tolist()}")
    return result


def per_row(thing: str, field: str, value: Any, rows: int, **bounds: Any) -> np.ndarray:
    """One number for all rows or one each, as float64 (rows,), within the bounds of `number`.

    Raises:
        SceneError: Wrong shape, or a value outside its bounds.
    """
    try:
        given = np.asarray(value, dtype=np.float64)
        _refuse_texts(value)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{thing}: {field}: expected a number or shape ({rows},), got {short(value)}") from None
    if given.shape not in ((), (rows,)):
        raise SceneError(f"{thing}: {field}: expected a number or shape ({rows},), got {given.shape}")
    for extreme in (given.min(), given.max(), *given[np.isnan(given)][:1]):
        number(thing, field, float(extreme), **bounds)
    return np.array(np.broadcast_to(given, (rows,)))


def callable_or_none(thing: str, field: str, value: Any) -> Callable | None:
    """A function, or None.

    Raises:
        SceneError: It is neither.
    """
    if value is not None and not callable(value):
        raise SceneError(f"{thing}: {field}: expected a function, got {short(value)}")
    return value


def dimensions(thing: str, field: str, value: Any) -> int:
    """Number of axes of nested lists or an array; 0 for a single number.

    Raises:
        SceneError: The lists are of different lengths.
    """
    return _regular(thing, field, value).ndim


def _regular(thing: str, field: str, value: Any) -> np.ndarray:
    """Nested lists as an array of whatever they hold."""
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError):
        raise SceneError(f"{thing}: {field}: the rows differ in length: {short(value)}") from None


def _within(thing: str, field: str, result: np.ndarray, count: int) -> np.ndarray:
    bad = (result < 0) | (result >= count)
    if bad.any():
        raise SceneError(f"{thing}: {field}: index {int(result[bad][0])} is out of range 0 .. {count - 1}")
    return result


def _shape(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("N" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def _refuse_texts(value: Any) -> None:
    """NumPy reads `"1e-6"` and True as numbers; a user who wrote them meant something else."""
    given = np.asarray(value)
    if given.dtype.kind not in "iufO" or (
        given.dtype.kind == "O" and any(item is None or isinstance(item, (str, bool)) for item in given.flat)
    ):
        raise TypeError("texts, truth values or nothing")


def short(value: Any) -> str:
    """What a value is, in one short line for a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else text[:57] + "..."
