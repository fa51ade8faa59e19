"""Checks of what the user gives: each raises a `SceneError` that names the object and the field.

Every public function and method checks its arguments with these, one check for each kind of argument: `number`,
`count`, `choice`, `array`, `indices`, `function`, `path` and so on; `Contents.find` checks handles. Messages read
`object: field: problem; accepted values`, and tell values by `short`. An exception that a function of the user raises
passes through unchanged.
"""

import datetime
import difflib
import inspect
import math
import os
import reprlib
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from shinari.errors import FileError, SceneError

T = TypeVar("T")
LONGEST = 80
"""Characters that a message spends on a value."""
LONGEST_MESSAGE = 300
"""Characters that a message spends on a text of another library."""
MOST_CHOICES = 20
"""Choices that a message lists."""
LONGEST_TEXT = 200
"""Characters that a name can have."""
LARGEST = 1e30
"""Largest number that an argument can be, but for infinity; what is to be above 0 is at least the inverse of it. Single
precision has such numbers."""
FINITE = float(np.finfo(np.float64).max)
"""Bound of arrays that may hold any finite number: what was computed from arguments, and speeds."""
MOST = 2**31 - 1
"""Largest whole number that an argument can be, unless it says something else."""
MOST_ROWS = 10**8
"""Most particles or cells that a function makes."""
LONGEST_NAME, _LONGEST_PATH = 255, 4096
"""Bytes of the name of a file that file systems take, and of a path."""
_TRUTH = {bool, np.bool_}


def number(
    label: str,
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
        label: What the number belongs to, `"cloth 'flag'"`.
        field: Name of the field.
        value: What was given.
        least: Smallest value allowed.
        above: Largest value that is too small.
        most: Largest value allowed.
        infinite: Whether infinity is a value of this field.

    Raises:
        SceneError: It is no number, or outside its bounds.
    """
    # by far the most frequent kinds first: motions and drives are checked in every step
    if type(value) is not float and type(value) is not int and not _is_real(value):
        raise SceneError(f"{label}: {field}: expected a number, got {short(value)}")
    try:
        result = float(value)
    except Exception:  # the boundary to numbers of other libraries
        raise SceneError(f"{label}: {field}: expected a number, got {short(value)}") from None
    if math.isnan(result) or (math.isinf(result) and not infinite):
        raise SceneError(f"{label}: {field}: expected a{'' if infinite else ' finite'} number, got {short(value)}")
    if result < least:
        raise SceneError(f"{label}: {field}: must be at least {least:g}, got {result:g}")
    if result <= above > -math.inf:
        raise SceneError(f"{label}: {field}: must be above {above:g}, got {result:g}")
    if above == 0.0 and result < 1.0 / LARGEST:
        raise SceneError(f"{label}: {field}: must be at least {1.0 / LARGEST:g}, got {result:g}")
    if result > most:
        raise SceneError(f"{label}: {field}: must be at most {most:g}, got {result:g}")
    if abs(result) > LARGEST and not math.isinf(result):
        raise SceneError(f"{label}: {field}: must be at most {LARGEST:g} in size, got {result:g}")
    return result


def count(label: str, field: str, value: Any, least: int = 1, most: int = MOST) -> int:
    """A whole number of at least `least` and at most `most`.

    Raises:
        SceneError: It is none.
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise SceneError(f"{label}: {field}: expected a whole number, got {short(value)}")
    if value < least:
        raise SceneError(f"{label}: {field}: must be at least {least}, got {short(value)}")
    if value > most:
        raise SceneError(f"{label}: {field}: must be at most {most}, got {short(value)}")
    return int(value)


def flag(label: str, field: str, value: Any) -> bool:
    """True or False.

    Raises:
        SceneError: It is neither.
    """
    return choice(label, field, value, (True, False))


def kind(label: str, field: str, value: Any, wanted: type[T]) -> T:
    """An object of a class.

    Raises:
        SceneError: It is none.
    """
    if not isinstance(value, wanted):
        raise SceneError(f"{label}: {field}: expected a {wanted.__name__}, got {short(value)}")
    return value


def text(label: str, field: str, value: Any, *, least: int = 1, most: int = LONGEST_TEXT) -> str:
    """A text on one line, of so many characters.

    Raises:
        SceneError: It is none.
    """
    if not isinstance(value, str) or not least <= len(value) <= most or not value.isprintable():
        raise SceneError(
            f"{label}: {field}: expected a text on one line, of {least} to {most} characters, got {short(value)}"
        )
    return value


def choice(label: str, field: str, value: Any, choices: Sequence[Any]) -> Any:
    """One of the choices.

    Raises:
        SceneError: It is none of them.
    """
    if not any(value is item or (isinstance(value, str) and value == item) for item in choices):
        # names that a user gave may be long and many
        shown = ", ".join(short(item) for item in islice(choices, MOST_CHOICES))
        rest = f" and {len(choices) - MOST_CHOICES} more" if len(choices) > MOST_CHOICES else ""
        raise SceneError(f"{label}: {field}: expected one of {shown}{rest}, got {short(value)}")
    return value


def known(label: str, what: str, given: Iterable[Any], names_known: Sequence[str]) -> None:
    """Refuse names that are none of those known.

    Raises:
        SceneError: One is none of them; the message tells the nearest.
    """
    for name in given:
        if name not in names_known:
            there = f"known are {names(names_known, near=name, most=MOST_CHOICES)}" if names_known else "there are none"
            raise SceneError(f"{label}: unknown {what} {short(name)}; {there}")


def array(label: str, field: str, value: Any, shape: tuple[int | None, ...], *, most: float = LARGEST) -> np.ndarray:
    """A finite float64 array of that shape, None standing for any length, within `most` in size; always a copy.

    Raises:
        SceneError: Wrong type or shape, or a value that is not finite.
    """
    result = _reals(value)
    if result is None:
        raise SceneError(f"{label}: {field}: expected numbers of shape {_shape(shape)}, got {short(value)}")
    if result.ndim != len(shape) or any(
        want is not None and have != want for have, want in zip(result.shape, shape, strict=True)
    ):
        raise SceneError(f"{label}: {field}: expected shape {_shape(shape)}, got {result.shape}")
    if not _in_range(result, most):
        bad = ~np.isfinite(result)
        if bad.any():
            where = np.argwhere(bad)[0]
            raise SceneError(f"{label}: {field}: not a finite number at index {where.tolist()}: {result[tuple(where)]}")
        raise SceneError(f"{label}: {field}: must be at most {most:g} in size, got {np.abs(result).max():g}")
    return result


def vector(label: str, field: str, value: Any) -> np.ndarray:
    """A finite vector (3,).

    Raises:
        SceneError: It is none.
    """
    return array(label, field, value, (3,))


def unit_quaternion(label: str, field: str, value: Any) -> np.ndarray:
    """A rotation as a quaternion w x y z (4,), brought to length one exactly.

    Raises:
        SceneError: It is no quaternion of length one (within 1e-3).
    """
    result = array(label, field, value, (4,))
    length = math.hypot(*result)
    if abs(length - 1.0) > 1e-3:
        raise SceneError(f"{label}: {field}: a rotation is a quaternion w x y z of length 1, got length {length:g}")
    return result / float(np.linalg.norm(result))


def indices(label: str, field: str, value: Any, count: int) -> np.ndarray:
    """Indices (K,) int64 into `count` objects; a single index serves too.

    Raises:
        SceneError: No whole numbers, or outside 0 .. count - 1.
    """
    result = np.atleast_1d(shaped(label, field, value))
    if result.size == 0:
        return np.zeros(0, np.int64)
    if result.ndim != 1 or not np.issubdtype(result.dtype, np.integer):
        raise SceneError(f"{label}: {field}: expected whole numbers of shape (K,), got {short(value)}")
    return _within(label, field, result, count)


def index_rows(label: str, field: str, value: Any, points: int, count: int) -> np.ndarray:
    """Indices (M, points) int64, no index twice in a row.

    Raises:
        SceneError: Wrong shape or type, out of range, or an index repeated in one row.
    """
    result = shaped(label, field, value)
    if result.size == 0:
        raise SceneError(f"{label}: {field}: no rows were given")
    if not np.issubdtype(result.dtype, np.integer):
        raise SceneError(f"{label}: {field}: expected whole numbers of shape (M, {points}), got {short(value)}")
    if result.ndim == 1 and (points == 1 or result.shape[0] == points):
        result = result.reshape(-1, points)
    if result.ndim != 2 or result.shape[1] != points:
        raise SceneError(f"{label}: {field}: expected shape (M, {points}), got {result.shape}")
    result = _within(label, field, result, count)
    ordered = np.sort(result, axis=1)
    repeated = (ordered[:, 1:] == ordered[:, :-1]).any(axis=1)
    if repeated.any():
        row = int(np.argmax(repeated))
        raise SceneError(f"{label}: {field}: row {row} repeats an index: {result[row].tolist()}")
    return result


def per_row(label: str, field: str, value: Any, rows: int, **bounds: Any) -> np.ndarray:
    """One number for all rows or one each, as float64 (rows,), within the bounds of `number`.

    Raises:
        SceneError: Wrong shape, or a value outside its bounds.
    """
    given = _reals(value)
    if given is None:
        raise SceneError(f"{label}: {field}: expected a number or shape ({rows},), got {short(value)}")
    if given.shape not in ((), (rows,)):
        raise SceneError(f"{label}: {field}: expected a number or shape ({rows},), got {given.shape}")
    for extreme in (given.min(), given.max(), *given[np.isnan(given)][:1]):
        number(label, field, float(extreme), **bounds)
    return np.array(np.broadcast_to(given, (rows,)))


def function(label: str, field: str, value: Any, arguments: int = 1) -> Callable:
    """A function that can be called with so many arguments.

    Raises:
        SceneError: It is none, or takes another number of them.
    """
    told = "one argument" if arguments == 1 else f"{arguments} arguments"
    if not callable(value):
        raise SceneError(f"{label}: {field}: expected a function of {told}, got {short(value)}")
    try:
        signature = inspect.signature(value)
    except (TypeError, ValueError):  # some that are built in have none
        return value
    try:
        signature.bind(*[None] * arguments)
    except TypeError as error:
        raise SceneError(f"{label}: {field}: expected a function of {told}, got {short(value)}: {error}") from None
    return value


def function_or_none(label: str, field: str, value: Any, arguments: int = 1) -> Callable | None:
    """A function that can be called with so many arguments, or None.

    Raises:
        SceneError: It is neither.
    """
    return None if value is None else function(label, field, value, arguments)


def row_count(label: str, field: str, *counts: int) -> None:
    """Refuse more rows than anyone can simulate, before their memory is asked for.

    Raises:
        SceneError: The product of the counts is beyond `MOST_ROWS`.
    """
    if math.prod(counts) > MOST_ROWS:
        asked = " x ".join(map(short, counts))
        raise SceneError(f"{label}: {field}: {asked} are more than {MOST_ROWS}, the most that can be simulated")


def path(label: str, field: str, value: Any) -> Path:
    """A path that a file can have.

    Raises:
        FileError: It is none: of another type, empty, or longer than file systems take.
    """
    try:
        text = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
        raw = os.fsencode(text) if isinstance(text, str) else b""
    except Exception:  # the boundary to paths of other libraries, and texts that are no file names
        raw = b""
    if not raw or b"\0" in raw:
        raise FileError(f"{label}: {field}: expected a path, got {short(value)}")
    if len(raw) > _LONGEST_PATH or max(map(len, raw.split(os.fsencode(os.sep)))) > LONGEST_NAME:
        raise FileError(f"{label}: {field}: is too long for a path, {len(raw)} characters: {short(text)}")
    return Path(os.fsdecode(raw))


def shaped(label: str, field: str, value: Any) -> np.ndarray:
    """Nested lists as an array of whatever they hold.

    Raises:
        SceneError: The lists are of different lengths.
    """
    try:
        return np.asarray(value)
    except Exception:  # the boundary to arrays of other libraries
        raise SceneError(f"{label}: {field}: expected an array; rows differ in length: {short(value)}") from None


def sequence(label: str, field: str, value: Any) -> list:
    """The elements of a list, a tuple, an array or a range.

    Raises:
        SceneError: It is none of them.
    """
    listed = isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes, bytearray, memoryview))
    if not listed or (isinstance(value, np.ndarray) and value.ndim == 0):
        raise SceneError(f"{label}: {field}: expected a list, got {short(value)}")
    return list(value)


def dimensions(label: str, field: str, value: Any) -> int:
    """Number of axes of nested lists or an array; 0 for a single number.

    Raises:
        SceneError: The lists are of different lengths.
    """
    return shaped(label, field, value).ndim


def _within(label: str, field: str, result: np.ndarray, count: int) -> np.ndarray:
    bad = (result < 0) | (result >= count)
    if bad.any():
        raise SceneError(f"{label}: {field}: index {int(result[bad][0])} is out of range 0 .. {count - 1}")
    return result.astype(np.int64)


def _shape(shape: tuple[int | None, ...]) -> str:
    return "(" + ", ".join("N" if n is None else str(n) for n in shape) + ("," if len(shape) == 1 else "") + ")"


def _in_range(values: np.ndarray, most: float) -> bool:
    """Whether all numbers are finite and at most so large in size."""
    if values.size > 4:
        return bool(np.abs(values).max() <= most)
    # vectors: motions and winds return one in every substep
    return all(-most <= number <= most for number in values.ravel().tolist())


def _reals(value: Any) -> np.ndarray | None:
    """Real numbers as a float64 array, a copy; None: there is something else among them."""
    try:
        given = np.asarray(value)
        # NumPy reads "1e-6" and True as numbers; a user who wrote them meant something else
        if isinstance(value, (list, tuple)) and _holds_truth(value, given.ndim):
            return None
        if given.dtype == np.float64:
            return np.array(given, order="C", subok=False)
        if given.dtype.kind not in "iuf" and (given.dtype.kind != "O" or not all(map(_is_real, given.flat))):
            return None
        with np.errstate(over="ignore"):  # of long double: infinity is refused as such
            return np.array(given, dtype=np.float64, order="C", subok=False)
    except Exception:  # the boundary to arrays and numbers of other libraries; and lists of different lengths
        return None


def _holds_truth(values: Any, levels: int) -> bool:
    """Whether there is a truth value among nested lists of so many levels."""
    if isinstance(values, np.ndarray):
        return values.dtype.kind == "b"
    if levels == 1:
        return not _TRUTH.isdisjoint(map(type, values))
    return any(_holds_truth(row, levels - 1) for row in values)


def _is_real(value: Any) -> bool:
    """Whether a value is a real number of any library: no truth value, text, complex number or time."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.dtype.kind in "iuf" and value.ndim == 0
    if isinstance(value, (bool, str, bytes, bytearray, complex, datetime.timedelta)):
        return False
    return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")


class _Short(reprlib.Repr):
    """Texts of values that stay short however large the values are."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxdict = 4
        self.maxlevel = 3
        self.maxstring = self.maxother = self.maxlong = LONGEST

    def repr1(self, x: Any, level: int) -> str:
        """The text of a value at a level of nesting."""
        if isinstance(x, np.ndarray):
            return f"an array of {x.dtype.name} {x.shape}"
        if isinstance(x, (bytes, bytearray)):
            return self.repr_str(x[: 2 * LONGEST], level)  # type: ignore[arg-type]
        if isinstance(x, int) and not isinstance(x, bool) and abs(x) >= 10**LONGEST:
            return f"a number of {int(math.log10(abs(x))) + 1} digits"
        if isinstance(x, type):
            return f"the class {x.__name__}"
        return super().repr1(x, level)


_TELL = _Short()


def short(value: Any) -> str:
    """A value as one short line for a message; an array by its type and shape."""
    if isinstance(value, np.generic):
        value = value.item()  # 0, not np.int64(0)
    try:
        text = " ".join(_TELL.repr(value).split())
    except Exception:  # an object of which no text can be made
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def plain(text: str, longest: int = LONGEST, most: int = LONGEST_MESSAGE) -> str:
    """A text that repeats what was given, on one line: long words, and the whole if it is long, without their middle.

    Args:
        text: The text.
        longest: Characters of its longest word.
        most: Characters of the whole.
    """
    words = (_without_middle(word, longest) for word in text.split())
    return _without_middle(" ".join(words), most)


def _without_middle(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most // 2]}...{text[-(most // 2) :]}"


def told(name: Any) -> str:
    """A name as it is if it is one, for a message; anything else as `short` tells it."""
    return name if isinstance(name, str) and name.isidentifier() and len(name) <= LONGEST else short(name)


def names(known: Iterable[str], near: Any = None, most: int = 8) -> str:
    """Names for a message: the first of them, or those most like another one, and how many more there are."""
    shown = list(known)
    if isinstance(near, str) and len(shown) > most:
        shown.sort(key=lambda name: -difflib.SequenceMatcher(None, name, near[:LONGEST]).ratio())
    rest = f" and {len(shown) - most} more" if len(shown) > most else ""
    texts = (name if len(name) <= 30 else name[:27] + "..." for name in islice(shown, most))
    return ", ".join(texts) + rest or "none"
