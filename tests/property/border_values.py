"""Wrong values for the arguments of public functions, for the tests of the public border."""

import array
import decimal
import enum
import fractions
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import shinari as sn


class Colour(enum.Enum):
    RED = 1


class Unprintable:
    """An object of which no text can be made."""

    def __repr__(self) -> str:
        raise RuntimeError("no text")


class Unreadable:
    """An object that says that it is an array, and is none."""

    def __array__(self, *_: Any, **__: Any) -> np.ndarray:
        raise RuntimeError("no array")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __len__(self) -> int:
        raise RuntimeError("no length")


class Meshlike:
    """An object with vertices and faces that are none."""

    vertices = "none"
    faces = 3


def nested_in_itself() -> list:
    result: list = [1.0]
    result.append(result)
    return result


def other_scene() -> sn.Scene:
    scene = sn.Scene()
    scene.add_rope([[0, 0, 0], [1, 0, 0]], name="rope")
    scene.add_rigid_body(sn.Sphere(1), name="ball")
    scene.add_collider(sn.Plane(), name="floor")
    return scene


_OTHER = other_scene()

TEXTS: dict[str, Any] = {
    "empty text": "",
    "text": "x",
    "text of 5,000 characters": "x" * 5000,
    "2,500 words": "x " * 2500,
    "text of many lines": "a\nb\0c",
    "surrogate": "\ud800",
    "bytes": b"x",
    "5,000 bytes": b"x" * 5000,
    "bytearray": bytearray(b"xyz"),
    "path to nothing": Path("no/such/file.npz"),
    "NumPy text": np.str_("x"),
}

NUMBERS: dict[str, Any] = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "-1": -1,
    "0": 0,
    "1": 1,
    "-0.0": -0.0,
    "0.5": 0.5,
    "1e300": 1e300,
    "1e-300": 1e-300,
    "-1e30": -1e30,
    "2**31": 2**31,
    "2**63": 2**63,
    "2**64": 2**64,
    "10**400": 10**400,
    "-10**5000": -(10**5000),
    "True": True,
    "False": False,
    "complex": 1j,
    "fraction": fractions.Fraction(1, 3),
    "decimal": decimal.Decimal("0.1"),
    "float16": np.float16(0.5),
    "float16 infinite": np.float16(np.inf),
    "uint8": np.uint8(3),
    "int64": np.int64(-3),
    "NumPy truth": np.bool_(True),
    "NumPy complex": np.complex64(1j),
    "time": np.datetime64("2020-01-01"),
}

ARRAYS: dict[str, Callable[[], Any]] = {
    "empty array": lambda: np.zeros(0),
    "array (0, 3)": lambda: np.zeros((0, 3)),
    "array of no axes": lambda: np.array(1.0),
    "array (1,)": lambda: np.array([1.0]),
    "array (3,)": lambda: np.arange(3.0),
    "array (3,) of nan": lambda: np.full(3, np.nan),
    "array (4,)": lambda: np.eye(4)[0],
    "array (2, 3)": lambda: np.eye(3)[:2],
    "array (3, 3) of integers": lambda: np.eye(3, dtype=np.int64),
    "array (1, 2, 3, 4)": lambda: np.ones((1, 2, 3, 4)),
    "array of objects": lambda: np.array([None, "x", 1.0], dtype=object),
    "array of objects (1,)": lambda: np.array([object()], dtype=object),
    "array of arrays": lambda: np.array([np.zeros(2), np.zeros(3)], dtype=object),
    "array of complex": lambda: np.ones(3) * 1j,
    "array of texts": lambda: np.array(["1", "2", "3"]),
    "array of truth values": lambda: np.array([True, False, True]),
    "array of times": lambda: np.array(["2020-01-01"] * 3, "datetime64[D]"),
    "structured array": lambda: np.zeros(3, [("x", float), ("y", "i4"), ("a field with a long name" * 20, "u1")]),
    "masked array": lambda: np.ma.masked_array([1.0, 2.0, 3.0], [True, False, False]),
    "matrix": lambda: np.ones((3, 3)).view(np.matrix),
    "read-only array": lambda: np.broadcast_to(np.float64(1.0), (3,)),
    "reversed array": lambda: np.arange(6.0)[::-2],
    "big-endian array": lambda: np.ones(3, ">f8"),
    "float16 array": lambda: np.ones(3, np.float16),
    "uint64 array": lambda: np.full(3, 2**64 - 1, np.uint64),
    "array of 1e300": lambda: np.full(3, 1e300),
    "large array": lambda: np.zeros((1000, 5)),
    "array('d')": lambda: array.array("d", [1.0, 2.0, 3.0]),
    "memoryview": lambda: memoryview(b"\1\2\3"),
}

OBJECTS: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "empty list": list,
    "list": lambda: [1.0],
    "ragged list": lambda: [[0, 1], [1]],
    "list of None": lambda: [None],
    "list of texts": lambda: ["x", "y" * 5000],
    "list of lists": lambda: [[[[1]]]],
    "list of itself": nested_in_itself,
    "list of 10,000 objects": lambda: [object()] * 10000,
    "tuple": lambda: (1, 2, 3),
    "tuple of two": lambda: (None, None),
    "tuple of wrong arrays": lambda: (np.zeros(3), np.zeros((2, 2), complex)),
    "empty dictionary": dict,
    "dictionary": lambda: {"x": 1},
    "dictionary of objects": lambda: {1: None, None: object()},
    "set": lambda: {1, 2, 3},
    "range": lambda: range(3),
    "slice": lambda: slice(None),
    "ellipsis": lambda: ...,
    "not implemented": lambda: NotImplemented,
    "generator": lambda: (x for x in (1.0, 2.0, 3.0)),
    "iterator": lambda: iter([1, 2, 3]),
    "object": object,
    "no text": Unprintable,
    "no array": Unreadable,
    "no mesh": Meshlike,
    "class": lambda: sn.Sphere,
    "class of the package": lambda: sn.ShinariError,
    "module": lambda: np,
    "built-in function": lambda: abs,
    "function of nothing": lambda: lambda: None,
    "function that returns nothing": lambda: lambda *a, **k: None,
    "function that returns a text": lambda: lambda *a: "x" * 5000,
    "function that returns a ragged list": lambda: lambda *a: [[0, 1], [1]],
    "function of two": lambda: lambda a, b: (0.0, 0.0, 0.0),
    "compiled function": lambda: _compiled,
    "exception": lambda: ValueError("x"),
    "enumeration": lambda: Colour.RED,
    "shape": lambda: sn.Sphere(0.1),
    "container": lambda: sn.Box((1, 1, 1), inside=True),
    "compound": lambda: sn.Compound([sn.Sphere(0.1)]),
    "cloth material": sn.ClothMaterial,
    "fluid material": sn.FluidMaterial,
    "motor": lambda: sn.VelocityMotor(1.0),
    "motion": lambda: sn.Oscillation((0, 0, 0), (1, 0, 0), 1.0),
    "gusts": lambda: sn.Gusts((1, 0, 0)),
    "another scene": lambda: _OTHER,
    "rope of another scene": lambda: _OTHER["rope"],
    "body of another scene": lambda: _OTHER["ball"],
    "collider of another scene": lambda: _OTHER["floor"],
    "particle of another scene": lambda: (_OTHER["rope"], 0),
    "name of an object": lambda: "rope",
}

_compiled = sn.function(lambda x, p: 0.0)


def _constant(value: Any) -> Callable[[], Any]:
    return lambda: value


VALUES: dict[str, Callable[[], Any]] = {
    **{name: _constant(value) for name, value in (TEXTS | NUMBERS).items()},
    **ARRAYS,
    **OBJECTS,
}
"""Wrong values by name; each is made anew, since some can be used once."""


def mutations(valid: Any) -> Iterator[tuple[str, Any]]:
    """Values that are almost as good as a valid one: with one element of another type, size or value."""
    if isinstance(valid, np.ndarray):
        yield from _of_array(valid)
    elif isinstance(valid, (list, tuple)) and len(valid) <= 4:
        kind = type(valid)
        for index in range(len(valid)):
            rest = list(valid)
            del rest[index]
            yield f"without element {index}", kind(rest)
            for name in ("None", "nan", "inf", "-1", "1e300", "10**400", "True", "text", "ragged list", "object",
                         "generator", "array (2, 3)", "rope of another scene", "no text", "empty list"):  # fmt: skip
                changed = list(valid)
                changed[index] = VALUES[name]()
                yield f"{name} at {index}", kind(changed)
            for name, value in mutations(valid[index]):
                changed = list(valid)
                changed[index] = value
                yield f"{name} at {index}", kind(changed)
        yield "one element more", kind([*valid, *valid[-1:]])
        yield "reversed", kind(list(valid)[::-1])
        yield "iterator over it", iter(valid)
    elif isinstance(valid, str):
        yield "with a capital", valid.capitalize()
        yield "as bytes", valid.encode()
        yield "in a list", [valid]
    elif isinstance(valid, bool):
        yield "as a whole number", int(valid)
    elif isinstance(valid, (int, float)):
        yield "as a text", str(valid)
        yield "as a list", [valid]
        yield "as an array", np.array([valid])
        yield "negative", -valid
    elif isinstance(valid, dict):
        yield "unknown key", valid | {"unknown": 1}
        yield "key that is no text", valid | {3: 1}


def _of_array(valid: np.ndarray) -> Iterator[tuple[str, Any]]:
    yield "as a list", valid.tolist()
    yield "transposed", valid.T
    yield "flat", valid.ravel()
    yield "one axis more", valid[None]
    yield "in Fortran's order", np.asfortranarray(valid)
    yield "every second row", valid[::2]
    yield "no rows", valid[:0]
    yield "one row twice", np.concatenate([valid, valid[:1]])
    yield "read-only", np.broadcast_to(valid, valid.shape)
    for kind in (object, complex, str, bool, np.float16, np.int8, np.uint64, np.longdouble):
        with np.errstate(all="ignore"):
            yield f"as {np.dtype(kind).name}", valid.astype(kind)
    if valid.size:
        for name, value in (("nan", np.nan), ("inf", np.inf), ("1e300", 1e300), ("-1", -1.0), ("1e-300", 1e-300)):
            changed = valid.astype(np.float64)
            changed.flat[0] = value
            yield f"with {name}", changed
        ragged: Any = valid.tolist()
        ragged[0] = [ragged[0]]
        yield "ragged", ragged
        hollow: Any = valid.tolist()
        hollow[-1] = None
        yield "with None", hollow
        for name, value in (("-1", -1), ("2**31", 2**31), ("2**63 - 1", 2**63 - 1)):
            changed = np.asarray(valid, np.int64).copy()
            changed.flat[-1] = value
            yield f"with the integer {name}", changed
