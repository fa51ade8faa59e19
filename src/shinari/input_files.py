"""Files that are read."""

import errno
import os
from pathlib import Path


def require_regular(path: str | os.PathLike) -> None:
    """Refuse a pipe or a device before it is opened: it may be waited for, or read, without end.

    Raises:
        OSError: It is one, or cannot be looked at.
    """
    file = Path(path)
    if file.exists() and not file.is_file() and not file.is_dir():
        raise OSError(errno.EINVAL, "is no regular file")


def read_bytes(path: Path) -> bytes:
    """The bytes of a file.

    Raises:
        OSError: It cannot be read, or is a pipe or a device.
    """
    require_regular(path)
    return path.read_bytes()
