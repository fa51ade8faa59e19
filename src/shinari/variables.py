"""Variables of the environment that the engine reads: `SHINARI_` and a name. Each is read and checked here.

A value that is none of those accepted, and a name that is nearly one of them, are refused where a simulation is built
and where a command starts. Until then a wrong one of those that are read on import counts as not set.
"""

import difflib
import os
from collections.abc import Callable
from typing import Any

from shinari import check
from shinari.errors import SceneError

LABEL = "environment"
NEAR = 0.8
"""How like a variable another name is that was meant to be it."""


def _count(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()):
        raise SceneError(f"{LABEL}: {name}: expected a whole number of at least 1, got {check.short(value)}")
    return check.count(LABEL, name, int(value[: check.LONGEST]))


def _flag(name: str, value: str) -> bool:
    return check.choice(LABEL, name, value, ("0", "1")) == "1"


def _folder(name: str, value: str) -> str:
    folder = os.path.expanduser(value)
    if folder.startswith("~"):
        raise SceneError(f"{LABEL}: {name}: there is no home folder {check.short(folder.split(os.sep)[0])}")
    return folder


READERS: dict[str, Callable[[str, str], Any]] = {
    "SHINARI_BOUNDS": _flag,
    "SHINARI_CACHE_DIR": _folder,
    "SHINARI_COMPILE_PROCESSES": _count,
    "SHINARI_CPU": lambda _, value: value,  # the compiler knows which there are
    "SHINARI_NUM_THREADS": _count,
    "SHINARI_QUIET": _flag,
}
"""What makes the value of a variable of its name and its text."""


def read(name: str) -> Any:
    """The value of a variable; None where it is not set, or empty.

    Raises:
        SceneError: It is none of those accepted.
    """
    value = os.environ.get(name, "").strip()
    return READERS[name](name, value) if value else None


def is_set(name: str) -> bool:
    """Whether a variable is 1: for what is read while the package is imported, where nothing can be refused."""
    return os.environ.get(name, "").strip() == "1"


def check_all() -> None:
    """Check all of them.

    Raises:
        SceneError: A value is none of those accepted, or a name is nearly that of a variable.
    """
    for name in READERS:
        read(name)
    for name in os.environ:
        if name.startswith("SHINARI_") and name not in READERS:
            near = difflib.get_close_matches(name, READERS, 1, NEAR)
            if near:
                raise SceneError(f"{LABEL}: {name}: there is no such variable; did you mean {near[0]}?")
