"""Looks at the numbers of a binary USD file before USD reads it.

USD makes room for as many tokens, fields, paths and specs as a file says it has: one byte that is wrong in 20 kB costs
18 GB and half a minute. The sections of a file hold these numbers and then blocks of compressed integers,

    count [, second count], and so many times: size of a block in bytes, block

A byte stands for 1,020 integers at most: LZ4 makes 255 bytes of one, in which integers take two bits each.
"""

import struct
from pathlib import Path
from typing import BinaryIO

from shinari.errors import FileError
from shinari.input_files import require_regular

MAGIC, HEADER = b"PXR-USDC", 24
MOST = 1024
"""Integers in a byte, at most."""
NUMBERS = {"TOKENS": (2, 1), "STRINGS": (1, 0), "FIELDS": (1, 2), "FIELDSETS": (1, 1), "PATHS": (2, 3), "SPECS": (1, 3)}
"""Counts with which a section begins, and blocks that follow."""
COMPRESSED_SINCE = (0, 4, 0)


def check_crate(path: Path) -> None:
    """Refuse a binary USD file whose numbers are beyond what it holds; files of other kinds pass.

    Raises:
        FileError: It is damaged.
        OSError: It cannot be read.
    """
    require_regular(path)
    with path.open("rb") as file:
        header = file.read(HEADER)
        if len(header) < HEADER or not header.startswith(MAGIC):
            return
        size = file.seek(0, 2)
        contents = struct.unpack_from("<q", header, 16)[0]
        sections = _number(path, file, contents, size, (size - contents) // 32)
        table = file.read(32 * sections)
        for row in range(len(table) // 32):
            name, start, length = struct.unpack_from("<16sqq", table, 32 * row)
            name = name.rstrip(b"\0").decode("ascii", "replace")
            if start < HEADER or length < 0 or start + length > size:
                raise FileError(f"{path}: cannot be read: its section {name!r} is not in the file")
            if name in NUMBERS and tuple(header[8:11]) >= COMPRESSED_SINCE:
                _check_section(path, file, name, start, length)


def _check_section(path: Path, file: BinaryIO, name: str, start: int, length: int) -> None:
    counts, blocks = NUMBERS[name]
    at, end = start, start + length
    for _ in range(counts):
        _number(path, file, at, end, MOST * length)
        at += 8
    for _ in range(blocks):
        at += 8 + _number(path, file, at, end, end - at - 8)


def _number(path: Path, file: BinaryIO, at: int, end: int, most: int) -> int:
    """The number at a place, of a section that ends at another."""
    if at < 0 or at + 8 > end:
        raise FileError(f"{path}: cannot be read: it ends too early")
    file.seek(at)
    found = struct.unpack("<Q", file.read(8))[0]
    if found > most:
        raise FileError(f"{path}: cannot be read: it is damaged at byte {at}: {found}, where {most} are possible")
    return found
