"""Values that a parameter takes: ranges such as `log:1e-9:1e-5:7`, and lists."""

import math
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError

KINDS = ("lin", "log", "int")
MOST_VALUES = 10**6
"""Most values of one parameter on a grid."""
WHOLE = re.compile(r"\d{1,18}")
"""A whole number of the size that a count can have."""
FORMS = "lin:A:B:N, log:A:B:N, int:A:B or a list of values"


@dataclass(frozen=True)
class Range:
    """Numbers from one to another.

    Attributes:
        kind: `lin`: evenly spaced; `log`: evenly spaced in the exponent; `int`: whole numbers.
        low: First number.
        high: Last number, included.
        count: Numbers on a grid; None: a grid needs one, but for `int`: all of them.
    """

    kind: str
    low: float
    high: float
    count: int | None = None

    def grid(self, path: str) -> list[Any]:
        """The values of a grid.

        Raises:
            SceneError: The range does not say how many.
        """
        if self.kind == "int":
            every = np.arange(int(self.low), int(self.high) + 1)
            most = len(every) if self.count is None else min(self.count, len(every))
            return np.unique(np.rint(np.linspace(self.low, self.high, most)).astype(int)).tolist()
        if self.count is None:
            raise SceneError(
                f"sweep: {path}: the range does not say how many values a grid has; expected "
                f"{self.kind}:{self.low:g}:{self.high:g}:N, or a sample such as sobol:64"
            )
        first, last = self._forward(np.array([self.low, self.high])).tolist()
        values = self._back(np.linspace(first, last, self.count)).tolist()
        # the ends are what was asked for, to the last bit
        values[0] = self.low
        values[-1] = self.high if self.count > 1 else self.low
        return values

    def at(self, places: np.ndarray) -> list[Any]:
        """The values at places (N,) between 0 and 1 of the range."""
        if self.kind == "int":
            steps = int(self.high) - int(self.low) + 1
            return (int(self.low) + np.minimum((places * steps).astype(int), steps - 1)).tolist()
        low, high = self._forward(np.array([self.low, self.high]))
        return np.clip(self._back(low + places * (high - low)), self.low, self.high).tolist()

    def extremes(self) -> list[Any]:
        """The least and the largest value."""
        return [int(self.low), int(self.high)] if self.kind == "int" else [self.low, self.high]

    def _forward(self, values: np.ndarray) -> np.ndarray:
        return np.log10(values) if self.kind == "log" else values

    def _back(self, values: np.ndarray) -> np.ndarray:
        return 10.0**values if self.kind == "log" else values


@dataclass(frozen=True)
class Choices:
    """Values one by one: numbers, texts, truth values, or lists of them."""

    values: tuple[Any, ...]

    def grid(self, path: str) -> list[Any]:
        """All of them."""
        return list(self.values)

    def at(self, places: np.ndarray) -> list[Any]:
        """The values at places (N,) between 0 and 1 of the list."""
        index = np.minimum((places * len(self.values)).astype(int), len(self.values) - 1)
        return [self.values[k] for k in index]

    def extremes(self) -> list[Any]:
        """All of them."""
        return list(self.values)


def values_of(path: str, given: Any) -> Range | Choices:
    """The values of a parameter, as a text or as a list.

    Args:
        path: The parameter, for messages.
        given: `"log:1e-9:1e-5:7"`, `"1, 2, 5"`, `"cotton, silk"`, or a list of values.

    Raises:
        SceneError: It is none of these.
    """
    if isinstance(given, (Range, Choices)):
        return given
    if isinstance(given, str):
        kind, colon, rest = given.strip().partition(":")
        return _range(path, given, kind, rest.split(":")) if colon and kind.isidentifier() else _choices(path, given)
    if isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, bytes) and getattr(given, "ndim", 1):
        # counted before they are listed: a range may be long
        check.count("sweep", path, len(given), least=0, most=MOST_VALUES)
        return _checked(path, [plain_value(path, value) for value in given])
    return _checked(path, [plain_value(path, given)])


def _range(path: str, given: str, kind: str, words: list[str]) -> Range:
    if kind not in KINDS or not 2 <= len(words) <= 3:
        raise SceneError(f"sweep: {path}: expected {FORMS}, got {check.short(given)}")
    low, high = (_number(path, given, word) for word in words[:2])
    count = None
    if len(words) == 3:
        if not WHOLE.fullmatch(words[2].strip()):
            raise SceneError(f"sweep: {path}: expected a whole number of values, got {check.short(words[2])}")
        count = check.count("sweep", path, int(words[2]), least=1, most=MOST_VALUES)
    if not low < high and not (low == high and count == 1):
        raise SceneError(f"sweep: {path}: the range has to rise, got {check.short(given)}; expected A below B")
    if kind == "log" and low <= 0.0:
        raise SceneError(f"sweep: {path}: a logarithmic range has to be above 0, got {check.short(given)}")
    if kind == "int":
        if not (low.is_integer() and high.is_integer()):
            raise SceneError(f"sweep: {path}: expected whole numbers, got {check.short(given)}")
        check.count("sweep", path, int(high - low) + 1, most=MOST_VALUES)
    return Range(kind, low, high, count)


def _number(path: str, given: str, word: str) -> float:
    try:
        number = float(word)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SceneError(f"sweep: {path}: expected {FORMS} with finite numbers, got {check.short(given)}")
    return number


def _choices(path: str, given: str) -> Choices:
    """Values of TOML with commas between them; words that are none are texts."""
    try:
        values = tomllib.loads(f"values = [{given}]")["values"]
    except (tomllib.TOMLDecodeError, RecursionError):
        words = [word.strip() for word in given.split(",")]
        if not all(word and word.isprintable() and not set(word) & set("[]{}\"'=") for word in words):
            raise SceneError(f"sweep: {path}: expected {FORMS}, got {check.short(given)}") from None
        values = [_word(word) for word in words]
    return _checked(path, [plain_value(path, value) for value in values])


def _word(word: str) -> Any:
    try:
        return tomllib.loads(f"value = {word}")["value"]
    except tomllib.TOMLDecodeError:
        return word


def plain_value(path: str, value: Any) -> Any:
    """A value of plain Python: a number, a text, a truth value, or a list of these.

    Raises:
        SceneError: It is none.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (bool, int, float, str)):
        if isinstance(value, float) and math.isnan(value):
            raise SceneError(f"sweep: {path}: expected a number, got nan")
        if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
            raise SceneError(f"sweep: {path}: expected a text of Unicode, got {check.short(value)}")
        return value
    if isinstance(value, (list, tuple, np.ndarray)) and np.ndim(value) > 0:
        return [plain_value(path, item) for item in value]
    raise SceneError(
        f"sweep: {path}: expected a number, a text, a truth value or a list of these, got {check.short(value)}"
    )


def _checked(path: str, values: list[Any]) -> Choices:
    if not values:
        raise SceneError(f"sweep: {path}: there are no values; expected {FORMS}")
    check.count("sweep", path, len(values), most=MOST_VALUES)
    return Choices(tuple(values))
