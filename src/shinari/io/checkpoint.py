"""Checkpoints: everything that a simulation needs to go on bit by bit, in one HDF5 file. Needs the extra [cache].

    /VTKHDF, /shinari     the moment as a VTKHDF file of one step, see `shinari.io.vtkhdf`: give the file the
                          extension .vtkhdf and ParaView opens it
    /checkpoint           format, version, settings, frame, left_over, digest of the model as attributes
      scene               the scene as JSON, see `shinari.io.codec`
      changes             what was changed of it while it ran, an attribute, packed in the same way
      arrays/<k>          the arrays that the JSON refers to
      state/<name>        the arrays of `State.arrays`
    end of the file       SEAL and the SHA-256 of all bytes before it

A file without its seal, or with another sum, was cut short or changed: none of it reaches the HDF5 library's deeper
parts or the solver. The file holds data only; what a user wrote as a function (a motion, a force field) is kept by
name, and `load` asks for the scene.
"""

import dataclasses
import hashlib
import json
import os
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from shinari import check
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.compute import Record
from shinari.constraints.registry import ConstraintType
from shinari.errors import ContactWarning, FileError, FluidWarning, SceneError, ShinariError, require
from shinari.input_files import require_regular
from shinari.io.codec import Codec, decode, record_class
from shinari.io.decode_scene import scene_node, scene_of
from shinari.io.frames import frame_of, layout_of
from shinari.io.vtkhdf import Stream, VtkhdfWriter
from shinari.model.model import Model
from shinari.model.state import array_layout
from shinari.model.system_model import SystemModel
from shinari.partial_files import reason, writing
from shinari.version import __version__

FORMAT = 3
SEAL = b"\nshinari checkpoint, sha256: "
_SEAL_LENGTH = len(SEAL) + 32
_HDF5 = b"\x89HDF\r\n\x1a\n"


def save(simulation: Simulation, path: str | os.PathLike) -> None:
    """Write a checkpoint; a file of that name is replaced only by a whole one.

    Raises:
        MissingExtraError: h5py is not installed.
        FileError: The file cannot be written.
    """
    path = check.path("checkpoint", "path", path)
    h5py = require("h5py", "cache")
    with writing(path) as partial:
        layout = layout_of(simulation.scene, 1.0 / simulation.settings.dt)
        with VtkhdfWriter(partial, layout, title="checkpoint") as writer:
            writer.write(frame_of(simulation))
        stream = Stream(partial, "rb+")
        with h5py.File(stream, "r+") as file:
            _write(file.create_group("checkpoint"), simulation)
        stream.close()
        stream.check()
        _seal(partial)


def load(path: str | os.PathLike, scene: Scene | None = None) -> Simulation:
    """Read a checkpoint; see `Simulation.load`.

    Raises:
        MissingExtraError: h5py is not installed.
        FileError: The file is missing, cut short, changed, no checkpoint, or of another version.
        SceneError: The scene holds functions and was not given, or is not the one that was saved.
    """
    path = check.path("checkpoint", "path", path)
    if scene is not None:
        check.kind("checkpoint", "scene", scene, Scene)
    h5py = require("h5py", "cache")
    _check_seal(path, h5py)
    try:
        with h5py.File(path, "r") as file:
            content = _read(file["checkpoint"], path)
    except ShinariError:
        raise
    except Exception as error:  # the boundary to HDF5: whatever is not as `_write` leaves it
        raise FileError(f"{path}: the checkpoint is damaged: {reason(error)}") from error
    return _resume(content, scene, path)


def describe(path: str | os.PathLike) -> dict[str, Any]:
    """What a checkpoint holds, without building it: version, settings, frame, time [s], objects and functions.

    Raises:
        MissingExtraError: h5py is not installed.
        FileError: As `load`.
    """
    h5py = require("h5py", "cache")
    _check_seal(path, h5py)
    try:
        with h5py.File(path, "r") as file:
            content = _read(file["checkpoint"], path)
            handles = dict(content.node["handles"]["dict"])
    except ShinariError:
        raise
    except Exception as error:
        raise FileError(f"{path}: the checkpoint is damaged: {reason(error)}") from error
    return {
        "version": content.version,
        "settings": content.settings,
        "frame": content.frame,
        "time": content.frame * content.settings["dt"],
        "particles": len(content.state["positions"]),
        "things": list(handles),
        "functions": content.functions,
    }


@dataclasses.dataclass(frozen=True)
class _Content:
    """A checkpoint as read."""

    version: str
    settings: dict[str, Any]
    frame: int
    external_work: float
    left_over: float
    digest: str
    functions: list[str]
    node: dict[str, Any]
    changes: dict[str, Any]
    arrays: list[np.ndarray]
    state: dict[str, np.ndarray]


def _write(obj: Any, simulation: Simulation) -> None:
    codec = Codec()
    node = scene_node(simulation.initial_scene, codec)
    changes = codec.encode(simulation.changes())
    obj.attrs["format"] = FORMAT
    obj.attrs["version"] = __version__
    obj.attrs["settings"] = json.dumps(dataclasses.asdict(simulation.settings))
    obj.attrs["frame"] = simulation.state.frame
    obj.attrs["external_work"] = simulation.state.external_work
    obj.attrs["left_over"] = simulation.left_over
    obj.attrs["digest"] = model_digest(simulation.model_as_described())
    obj.attrs["functions"] = json.dumps(codec.functions)
    obj.attrs["changes"] = json.dumps(changes)
    obj.create_dataset("scene", data=np.frombuffer(json.dumps(node).encode(), np.uint8))
    arrays = obj.create_group("arrays")
    for index, array in enumerate(codec.arrays):
        arrays.create_dataset(str(index), data=array)
    state = obj.create_group("state")
    for name, array in simulation.state.arrays().items():
        state.create_dataset(name, data=array)


def _read(obj: Any, path: str | os.PathLike) -> _Content:
    if obj.attrs["format"] != FORMAT:
        raise FileError(
            f"{path}: is a checkpoint of format {obj.attrs['format']}, written by shinari {obj.attrs['version']}; "
            f"shinari {__version__} reads format {FORMAT}"
        )
    state: dict[str, np.ndarray] = {}
    obj["state"].visititems(lambda name, item: state.update({name: item[()]}) if hasattr(item, "dtype") else None)
    arrays = obj["arrays"]
    return _Content(
        version=str(obj.attrs["version"]),
        settings=json.loads(obj.attrs["settings"]),
        frame=int(obj.attrs["frame"]),
        external_work=float(obj.attrs.get("external_work", 0.0)),
        left_over=float(obj.attrs["left_over"]),
        digest=str(obj.attrs["digest"]),
        functions=json.loads(obj.attrs["functions"]),
        node=json.loads(obj["scene"][()].tobytes()),
        changes=json.loads(obj.attrs.get("changes", '{"dict": []}')),
        arrays=[arrays[str(index)][()] for index in range(len(arrays))],
        state=state,
    )


def _resume(content: _Content, scene: Scene | None, path: str | os.PathLike) -> Simulation:
    given = scene is not None
    if scene is None:
        if content.functions:
            raise SceneError(
                f"{path}: the scene holds functions ({', '.join(content.functions)}), which a file cannot; pass the "
                f"scene, built as it was: Simulation.load(path, scene=scene)"
            )
        try:
            scene = scene_of(content.node, lambda node: decode(node, content.arrays))
        except Exception as error:
            raise FileError(f"{path}: the scene in the checkpoint is damaged: {reason(error)}") from error
    try:
        with warnings.catch_warnings():
            # what overlapped at the start, and so on, was said when the scene was first built
            warnings.simplefilter("ignore", ContactWarning)
            warnings.simplefilter("ignore", FluidWarning)
            simulation = Simulation(scene, **content.settings)
    except TypeError as error:
        raise FileError(f"{path}: the settings in the checkpoint are not known: {error}") from error
    _take_changes(simulation, content, path)
    if model_digest(simulation.model) != content.digest:
        if given:
            raise SceneError(f"{path}: the scene is not the one that was saved: it builds another model")
        raise FileError(
            f"{path}: shinari {__version__} builds another model of this scene than shinari {content.version} "
            f"did, or the scene was changed between building and saving; it cannot go on exactly"
        )
    state = simulation.state.copy()
    if array_layout(state.arrays(), state.growing) != array_layout(content.state, state.growing):
        raise FileError(f"{path}: the checkpoint is damaged: its state does not fit its scene")
    state.take(content.state)
    state.frame, state.external_work = content.frame, content.external_work
    simulation.restore(state, left_over=content.left_over)
    return simulation


def _take_changes(simulation: Simulation, content: _Content, path: str | os.PathLike) -> None:
    """Make the changes that were made to the scene while it ran; a wind that is a function comes with the scene."""
    try:
        items = [
            [name, node]
            for name, node in content.changes["dict"]
            if not (isinstance(node, dict) and "function" in node)
        ]
        simulation.take_changes(decode({"dict": items}, content.arrays))
    except Exception as error:
        raise FileError(f"{path}: the changes in the checkpoint are damaged: {reason(error)}") from error


def model_digest(model: Model) -> str:
    """Sum of everything that is in a model; two models with the same sum step in the same way."""
    codec = Codec()
    total = hashlib.sha256(json.dumps(codec.encode(_plain(model))).encode())
    for array in codec.arrays:
        total.update(f"{array.dtype.str}{array.shape}".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def _plain(value: Any) -> Any:
    """Records of a model as containers; those of a scene can be packed as they are."""
    if isinstance(value, ConstraintType):
        return [value.name, list(value.parameters), value.points, value.rows]
    if (
        dataclasses.is_dataclass(value)
        and not callable(value)
        and record_class(type(value).__name__) is not type(value)
    ):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, Record):
        return list(value.arrays.values())
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if isinstance(value, range):
        return [value.start, value.stop]
    if isinstance(value, SystemModel):
        return type(value).__name__
    return value.__name__ if isinstance(value, type) else value


def _seal(path: Path) -> None:
    """Put the sum of the file behind its end; HDF5 does not look there."""
    total = _sum(path, path.stat().st_size)
    with path.open("ab") as stream:
        stream.write(SEAL + total)


def _sum(path: Path, length: int) -> bytes:
    total = hashlib.sha256()
    with path.open("rb") as stream:
        while length > 0 and (block := stream.read(min(length, 2**20))):
            total.update(block)
            length -= len(block)
    return total.digest()


def _check_seal(path: str | os.PathLike, h5py: Any) -> None:
    """Refuse a file that is not, bit by bit, what `save` wrote."""
    file = Path(path)
    try:
        require_regular(file)
        size = file.stat().st_size
        with file.open("rb") as stream:
            head = stream.read(len(_HDF5))
            stream.seek(max(size - _SEAL_LENGTH, 0))
            seal = stream.read()
        if head != _HDF5:
            raise FileError(f"{path}: is no checkpoint: it is no HDF5 file")
        if seal[: len(SEAL)] == SEAL:
            if _sum(file, size - _SEAL_LENGTH) != seal[len(SEAL) :]:
                raise FileError(f"{path}: the checkpoint is damaged: its bytes have changed since it was written")
            return
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    try:
        with h5py.File(path, "r") as opened:
            ours = "checkpoint" in opened
    except Exception as error:
        raise FileError(f"{path}: is cut short: {reason(error)}") from error
    if ours:
        raise FileError(f"{path}: the checkpoint is cut short or was changed: its end mark is missing")
    raise FileError(f"{path}: is no checkpoint: it is an HDF5 file without one")
