"""The errors of the package: every one that a user can meet is a `ShinariError`."""

import importlib
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

_PACKAGE = str(Path(__file__).parent)


class ShinariError(Exception):
    """Base of every error that shinari raises on purpose."""


class SceneError(ShinariError, ValueError):
    """A scene that cannot be simulated: the message names the object and the field."""


class FileError(ShinariError, OSError):
    """A file that cannot be read or written: the message names the path."""


class FrameError(FileError, IndexError):
    """A frame that a run does not have."""


class DivergenceError(ShinariError, ArithmeticError):
    """A run that left the finite numbers; the last good state is kept."""


class SweepError(ShinariError, RuntimeError):
    """A sweep that cannot run: no scheduler or workers that would do, or a folder that is in use or holds another."""


class MemoryLimitError(ShinariError, MemoryError):
    """More memory asked for than there is; the message says for what. The last good state is kept."""


class UnsupportedDeviceError(SceneError):
    """A scene with a system that does not run on a GPU; the message names the system."""


class DeviceError(ShinariError, RuntimeError):
    """A GPU that is missing, or that failed; the message says what is missing."""


class LostDeviceError(DeviceError):
    """A GPU that failed and does not answer this process any more."""


class ContactWarning(UserWarning):
    """Objects that overlap at the start, or that contacts may not hold: simulated, perhaps not as they were meant."""


class CacheWarning(UserWarning):
    """Files in a cache that are damaged or cannot be written: what they held is made again, which takes time."""


class TetrahedraWarning(UserWarning):
    """Tetrahedra that miss parts of the surface they were made from, or fall into pieces that it does not have."""


class RobotWarning(UserWarning):
    """What a robot file has and the scene has not."""


class EmbeddingWarning(UserWarning):
    """A visual surface that reaches far out of the tetrahedra that carry it."""


class OverconstrainedWarning(UserWarning):
    """Joints of closed loops that hold the same object twice: how they share the load is not determined."""


class FluidWarning(UserWarning):
    """Fluids that are simulated, but outside of what is known to work, or that have met a limit of their own."""


class FailureWarning(UserWarning):
    """What tears or flows under less than the load that its strain stands for, at these substeps."""


class SeamWarning(UserWarning):
    """A sheet whose mesh has vertices twice, so that it comes apart along a seam."""


class FrameRateWarning(UserWarning):
    """Results with more or fewer frames in a second than asked for: frames are whole steps apart."""


class MissingExtraError(ShinariError, ImportError):
    """An optional dependency that is not installed: the message names the extra."""


def require(module: str, extra: str) -> ModuleType:
    """Import an optional dependency.

    Args:
        module: Name of the module, `"h5py"`.
        extra: Name of the extra that brings it, `"cache"`.

    Raises:
        MissingExtraError: The module is not installed.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtraError(
            f"{module} is not installed; it comes with the extra [{extra}]: pip install 'shinari[{extra}]'"
        ) from error


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the line of the user: that of the first caller outside of the package."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, category, stacklevel=level)


MOST_TOLD = 5
"""Warnings of a kind that are given one by one; of more one names so many and counts the rest."""


def warn_of_several(found: Sequence[tuple[float, str]], category: type[Warning], advice: str = "") -> None:
    """Warn of several of a kind: of each by itself, or in one message that names the worst where they are many.

    Args:
        found: How bad each is, and what it is.
        category: Kind of the warning.
        advice: What happens with all of them, or what to do.
    """
    texts = [text for _, text in found]
    if len(texts) > MOST_TOLD:
        worst = [text for _, text in sorted(found, key=lambda one: -one[0])[:MOST_TOLD]]
        texts = [f"{'; '.join(worst)}; and {len(texts) - MOST_TOLD} others"]
    for text in texts:
        warn(f"{text}; {advice}" if advice else text, category)
