"""shinari: position based dynamics, every method checked, compiled for all cores."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from shinari.errors import DivergenceError, FileError, MissingExtraError, SceneError, ShinariError

if TYPE_CHECKING:
    from shinari.constraints.registry import register
    from shinari.maths.function import function

__version__ = "0.1.0"

# Names that need the compiler are imported when they are first used: `import shinari` stays light.
_LAZY = {
    "function": "shinari.maths.function",
    "register": "shinari.constraints.registry",
}

__all__ = [
    "DivergenceError",
    "FileError",
    "MissingExtraError",
    "SceneError",
    "ShinariError",
    "function",
    "register",
]


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'shinari' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
