"""Reads glTF 2.0: the container, the buffers, and the arrays that accessors cut out of them.

Khronos Group 2021, glTF 2.0 Specification, sections 3.6 and 4.4. Nothing outside the folder of the file is read, and no
network. Messages name the element: `accessor 3: ...`.

A reader of our own: trimesh leaves out skins, morph targets and animations, and pygltflib (1.16.5, MIT) gives classes
for the JSON without the arrays behind them, for two more packages.
"""

import base64
import binascii
import os
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np

from shinari import check
from shinari.errors import FileError
from shinari.geometry.files.gltf_document import Accessor, BufferView, Document
from shinari.input_files import read_bytes
from shinari.partial_files import reason

COMPRESSIONS = ("KHR_draco_mesh_compression", "EXT_meshopt_compression", "KHR_meshopt_compression")
"""Extensions that hide the geometry."""
CHANGES_SHAPES = (*COMPRESSIONS, "EXT_mesh_gpu_instancing")
"""Extensions without which the geometry would be another one."""
HARMLESS = ("KHR_mesh_quantization", "KHR_materials_", "KHR_texture_", "EXT_texture_", "KHR_lights_", "EXT_lights_",
            "MSFT_texture_", "KHR_xmp")  # fmt: skip
"""Beginnings of the extensions that a file may require: they are read, or matter to pictures only."""
MOST_ELEMENTS = 2**28
"""glTF may ask for zeros that are not in the file; more than this is taken for damage, not for a mesh."""
COMPONENTS = {5120: "<i1", 5121: "<u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}
T = TypeVar("T")


class GltfFile:
    """A file with its document and its arrays.

    Args:
        path: The file, which messages name, and in whose folder its buffers are.
        data: Its contents, `.gltf` or `.glb`.

    Raises:
        FileError: It is damaged, or needs an extension that is not known.
    """

    def __init__(self, path: Path, data: bytes) -> None:
        self.path = path
        text, self._chunk = self._container(data) if data.startswith(b"glTF") else (data, None)
        try:
            self.document = msgspec.json.decode(text, type=Document)
        except (msgspec.MsgspecError, RecursionError, ValueError) as error:
            raise self.error(f"its JSON is damaged: {reason(error)}; export it again") from error
        self._buffers: dict[int, bytes] = {}
        self._check()

    def error(self, text: str) -> FileError:
        """An error that names the file."""
        return FileError(f"{self.path}: {text}")

    def element(self, kind: str, items: Sequence[T], index: int, user: str) -> T:
        """One of the file's elements; `user` names the element that asks for it."""
        if index >= len(items):
            raise self.error(f"{user}: names {kind} {index}, of which there are {len(items)}; export the file again")
        return items[index]

    def reals(self, index: int, types: tuple[str, ...], user: str) -> np.ndarray:
        """Rows of an accessor, (count, width), float64; normalised integers become -1 to 1 or 0 to 1."""
        rows, accessor = self._rows(index, types, user)
        values = rows.astype(np.float64)
        if accessor.normalized and rows.dtype.kind != "f":
            values = np.maximum(values / np.iinfo(rows.dtype).max, -1.0)  # section 3.6.2.2
        bad = np.flatnonzero(~np.isfinite(values).all(axis=1))
        if bad.size:
            raise self.error(f"accessor {index}: row {bad[0]} is not finite; export the file again")
        return values

    def integers(self, index: int, types: tuple[str, ...], user: str) -> np.ndarray:
        """Rows of an accessor of whole numbers, (count, width), int64."""
        rows, accessor = self._rows(index, types, user)
        if rows.dtype.kind != "u" or accessor.normalized:
            raise self.error(f"accessor {index}: {user} needs unsigned whole numbers, not normalised; export it again")
        return rows.astype(np.int64)

    def _container(self, data: bytes) -> tuple[bytes, bytes | None]:
        """JSON and the binary chunk of a GLB, section 4.4."""
        if (version := int.from_bytes(data[4:8], "little")) != 2:
            raise self.error(f"is glTF {version}; export it as glTF 2.0")
        chunks, at = [], 12
        while at + 8 <= len(data):
            length, kind = int.from_bytes(data[at : at + 4], "little"), data[at + 4 : at + 8]
            if at + 8 + length > len(data):
                raise self.error(
                    f"chunk {len(chunks)} is cut short: {len(data) - at - 8} of {length} bytes "
                    f"are there; copy or export it again"
                )
            chunks.append((kind, data[at + 8 : at + 8 + length]))
            at += 8 + length
        if not chunks or chunks[0][0] != b"JSON":
            raise self.error("is cut short or damaged: its first chunk is not JSON; copy or export it again")
        binary = next((content for kind, content in chunks[1:] if kind == b"BIN\0"), None)
        return chunks[0][1], binary

    def _check(self) -> None:
        document = self.document
        if document.asset.version.split(".")[0] != "2":
            raise self.error(f"is glTF {check.short(document.asset.version)}; export it as glTF 2.0")
        used = {*document.extensions_used, *document.extensions_required}
        if hidden := sorted(used.intersection(COMPRESSIONS)):
            raise self.error(
                f"compressed geometry ({', '.join(hidden)}) is not supported; export it without compression"
            )
        unknown = [name for name in document.extensions_required if not name.startswith(HARMLESS)]
        unknown += [name for name in document.extensions_used if name in CHANGES_SHAPES and name not in unknown]
        if unknown:
            raise self.error(
                f"needs the extensions {check.names(unknown)}, which are not known; export it without them"
            )
        for index, accessor in enumerate(document.accessors):
            if accessor.count > MOST_ELEMENTS:
                raise self.error(f"accessor {index}: claims to hold {accessor.count} rows, more than {MOST_ELEMENTS}")

    def _rows(self, index: int, types: tuple[str, ...], user: str) -> tuple[np.ndarray, Accessor]:
        """Rows of an accessor as they are stored, those of its sparse part put in."""
        accessor = self.element("accessor", self.document.accessors, index, user)
        label = f"accessor {index}"
        if accessor.type not in types:
            expected = " or ".join(types)
            raise self.error(
                f"{label}: is {check.short(accessor.type)}, {user} needs {expected}; export the file again"
            )
        width, dtype = WIDTHS[accessor.type], self._component(accessor.component_type, label)
        if accessor.buffer_view is None:
            rows = np.zeros((accessor.count, width), dtype)
        else:
            rows = self._cut(accessor.buffer_view, accessor.byte_offset, accessor.count, width, dtype, label)
        sparse = accessor.sparse
        if sparse is not None:
            kind = self._component(sparse.indices.component_type, f"{label}: sparse indices")
            named = (f"{label}: sparse indices", f"{label}: sparse values")
            at = self._cut(sparse.indices.buffer_view, sparse.indices.byte_offset, sparse.count, 1, kind, named[0])
            values = self._cut(
                sparse.values.buffer_view, sparse.values.byte_offset, sparse.count, width, dtype, named[1]
            )
            places = at[:, 0].astype(np.int64)
            if kind.kind != "u" or (places >= accessor.count).any() or (np.diff(places) <= 0).any():
                raise self.error(
                    f"{named[0]}: must be whole numbers that increase and are below {accessor.count}; "
                    f"export the file again"
                )
            rows = rows.copy()
            rows[places] = values
        return rows, accessor

    def _component(self, code: int, label: str) -> np.dtype:
        if code not in COMPONENTS:
            raise self.error(
                f"{label}: component type {check.short(code)} is none of {', '.join(map(str, COMPONENTS))}"
            )
        return np.dtype(COMPONENTS[code])

    def _cut(self, index: int, offset: int, count: int, width: int, dtype: np.dtype, label: str) -> np.ndarray:
        """Rows in a buffer view, (count, width), without a copy."""
        view = self.element("buffer view", self.document.buffer_views, index, label)
        row = width * dtype.itemsize
        stride = row if view.byte_stride is None else view.byte_stride
        needed = offset + (count - 1) * stride + row
        if stride < row or needed > view.byte_length:
            raise self.error(
                f"{label}: {count} rows of {row} bytes, {stride} apart from byte {offset} on, do not fit into the "
                f"{view.byte_length} bytes of buffer view {index}; the file is damaged, export it again"
            )
        start = self._start(view, index)
        data = self._buffer(view.buffer, f"buffer view {index}")
        return np.ndarray((count, width), dtype, data, start + offset, (stride, dtype.itemsize))

    def _start(self, view: BufferView, index: int) -> int:
        """Where a view begins, once it is known to lie in its buffer."""
        buffer = self.element("buffer", self.document.buffers, view.buffer, f"buffer view {index}")
        if view.byte_offset + view.byte_length > buffer.byte_length:
            raise self.error(
                f"buffer view {index}: ends at byte {view.byte_offset + view.byte_length}, buffer {view.buffer} at "
                f"{buffer.byte_length}; the file is damaged, export it again"
            )
        return view.byte_offset

    def _buffer(self, index: int, user: str) -> bytes:
        """Bytes of a buffer; read once."""
        if index not in self._buffers:
            buffer = self.element("buffer", self.document.buffers, index, user)
            if buffer.uri is None:
                if index or self._chunk is None:
                    raise self.error(
                        f"buffer {index}: has no uri, and the file no binary chunk for it; export it again"
                    )
                data = self._chunk
            else:
                data = self._load(buffer.uri, f"buffer {index}")
            if len(data) < buffer.byte_length:
                raise self.error(
                    f"buffer {index}: has {len(data)} bytes, {buffer.byte_length} were promised; it is cut short, "
                    f"copy or export it again"
                )
            self._buffers[index] = data
        return self._buffers[index]

    def _load(self, uri: str, label: str) -> bytes:
        """Bytes of a data URI, or of a file in the folder of the mesh."""
        if uri.startswith("data:"):
            head, comma, text = uri.partition(",")
            try:
                if not comma or not head.endswith(";base64"):
                    raise ValueError("expected data:...;base64,")
                return base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError) as error:
                raise self.error(f"{label}: its data URI is damaged: {reason(error)}; export the file again") from error
        name = unquote(uri)
        parts = PurePosixPath(name.replace("\\", "/")).parts
        try:
            folder = os.path.realpath(self.path.parent)
            file = Path(os.path.realpath(self.path.parent / name))
            outside = not file.is_relative_to(folder)
            if urlsplit(name).scheme or name.startswith(("/", "\\")) or ".." in parts or outside:
                raise self.error(
                    f"{label}: names the file {check.short(uri)}, which lies outside its folder; put it next to "
                    f"{self.path.name}"
                )
            return read_bytes(file)
        except (FileError, MemoryError):
            raise
        except (OSError, ValueError) as error:
            raise self.error(f"{label}: {check.short(uri)} cannot be read: {reason(error)}") from error
