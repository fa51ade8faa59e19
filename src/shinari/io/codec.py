"""Packs the records of a scene as JSON and arrays, and unpacks them again; nothing is pickled and nothing is run.

JSON holds the structure, numbers and texts; a list of arrays holds the rest. A node is a plain value, or an object with
one key that tells what it is:

    {"array": 3}                        the fourth array
    {"record": "Sphere", "fields": {}}  one of the records below
    {"tuple": []}  {"dict": []}         the containers that JSON does not have
    {"function": "sway"}                a function of the user, of which only the name is kept

Only the classes in `RECORDS` and registered shapes can be unpacked.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.check import short
from shinari.geometry.embedded_surface import EmbeddedSurface
from shinari.geometry.mesh_sequence import MeshSequence
from shinari.geometry.motion import Keyframes, Oscillation
from shinari.scene.actuator import ActuatorLaw, Muscle
from shinari.scene.body import Body, Drive, Joint
from shinari.scene.cluster_surface import ClusterSurface
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.controllers import DCMotor, PIDControl
from shinari.scene.emitter import Emitter, Sink
from shinari.scene.failure import Failure
from shinari.scene.fluid_material import FluidMaterial, Sampling
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import Clusters, LumpMaterial
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.medium import Medium
from shinari.scene.objects import BodyRows, Collider, ParticleObject, Rows, Volume
from shinari.scene.rod import Rod
from shinari.scene.rod_material import RodMaterial
from shinari.scene.sewing import Tailoring
from shinari.scene.soft_material import SoftMaterial
from shinari.scene.tendon import JointTerm, Lever, Segment, Tendon
from shinari.scene.wind import Gusts
from shinari.shapes.compound import Piece
from shinari.shapes.registry import shape_types

_STORED_NAMES: dict[type, str] = {ContactMaterial: "Surface", ParticleObject: "Particles"}
"""Names in files of records that have another one here."""

RECORDS: dict[str, type] = {
    _STORED_NAMES.get(record, record.__name__): record
    for record in (
        *(
            ParticleObject,
            Rows,
            Failure,
            Volume,
            Collider,
            EmbeddedSurface,
            ClusterSurface,
            Rod,
            Clusters,
            ContactMaterial,
            Tailoring,
            MeshSequence,
        ),
        *(ClothMaterial, RopeMaterial, RodMaterial, SoftMaterial, LumpMaterial, FluidMaterial, GrainMaterial),
        *(Keyframes, Oscillation, Gusts, Body, Piece, Joint, Drive, BodyRows, Sampling, Emitter, Sink),
        *(Tendon, JointTerm, Segment, Lever, Medium, ActuatorLaw, Muscle, PIDControl, DCMotor),
    )
}
"""What can be packed beside shapes, by name."""


def record_class(name: str) -> type | None:
    """The record or the registered shape of a name."""
    return RECORDS.get(name) or next((each.shape for each in shape_types() if each.shape.__name__ == name), None)


_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class Codec:
    """Something packed.

    Attributes:
        arrays: The arrays that the nodes refer to.
        functions: Names of the functions that could not be packed, in the order in which they were met.
    """

    def __init__(self) -> None:
        self.arrays: list[np.ndarray] = []
        self.functions: list[str] = []

    def encode(self, value: Any) -> Any:
        """The node of a value.

        Raises:
            TypeError: It is nothing that can be packed; a mistake in the package.
        """
        if isinstance(value, np.generic):
            value = value.item()
        if isinstance(value, float) and not math.isfinite(value):
            return {"float": str(value)}
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.ndarray):
            self.arrays.append(np.ascontiguousarray(value))
            return {"array": len(self.arrays) - 1}
        if isinstance(value, (tuple, list)):
            return {"tuple" if isinstance(value, tuple) else "list": [self.encode(item) for item in value]}
        if isinstance(value, dict):
            return {"dict": [[self.encode(key), self.encode(item)] for key, item in value.items()]}
        stored = _STORED_NAMES.get(type(value), type(value).__name__)
        if record_class(stored) is type(value):
            given = [field.name for field in dataclasses.fields(value) if field.init]
            return {
                "record": stored,
                "fields": {name: self.encode(getattr(value, name)) for name in given},
            }
        if callable(value):
            self.functions.append(getattr(value, "__name__", type(value).__name__))
            return {"function": self.functions[-1]}
        raise TypeError(f"cannot pack a {type(value).__name__}")


def decode(node: Any, arrays: list[np.ndarray]) -> Any:
    """The value of a node.

    Args:
        node: What `Codec.encode` returned, read back from JSON.
        arrays: The arrays it refers to.

    Raises:
        ValueError: The node is none, names a record that is not known, or holds a function.
        SceneError: A record refuses its fields.
    """
    if not isinstance(node, dict):
        if node is None or isinstance(node, (bool, int, float, str)):
            return node
        raise ValueError(f"unexpected {type(node).__name__}")
    kind = next(iter(node), "")
    if kind not in _UNPACKERS or set(node) != ({"record", "fields"} if kind == "record" else {kind}):
        raise ValueError(f"unexpected node {short(sorted(node))}")
    return _UNPACKERS[kind](node, arrays)


def _float(node: dict, arrays: list[np.ndarray]) -> float:
    return _SPECIAL[node["float"]]


def _array(node: dict, arrays: list[np.ndarray]) -> np.ndarray:
    index = node["array"]
    if type(index) is not int or not 0 <= index < len(arrays):
        raise ValueError(f"there is no array {short(index)}")
    return arrays[index]


def _list(node: dict, arrays: list[np.ndarray]) -> list:
    return [decode(item, arrays) for item in node["list"]]


def _tuple(node: dict, arrays: list[np.ndarray]) -> tuple:
    return tuple(decode(item, arrays) for item in node["tuple"])


def _dict(node: dict, arrays: list[np.ndarray]) -> dict:
    return {decode(key, arrays): decode(item, arrays) for key, item in node["dict"]}


def _unpack_record(node: dict, arrays: list[np.ndarray]) -> Any:
    record = record_class(node["record"])
    if record is None:
        raise ValueError(f"unknown record {short(node['record'])}; a shape of your own has to be registered first")
    return record(**{str(name): decode(item, arrays) for name, item in node["fields"].items()})


def _function(node: dict, arrays: list[np.ndarray]) -> Any:
    raise ValueError(f"holds the function {short(node['function'])}")


_UNPACKERS: dict[str, Callable[[dict, list[np.ndarray]], Any]] = {
    "float": _float,
    "array": _array,
    "list": _list,
    "tuple": _tuple,
    "dict": _dict,
    "record": _unpack_record,
    "function": _function,
}
