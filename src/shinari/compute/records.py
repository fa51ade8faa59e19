"""Typed records: named arrays whose rows have a fixed shape, read in kernels as `rows.rest[r]`.

    class Rows(Record):
        points = Field(np.uint32, 2, doc="particles of each row")
        rest = Field(real, unit="m", doc="rest length")

    rows = Rows.zeros(100, np.float32)

In a kernel `rows.points[r]` is a tuple of two, `rows.points[r, 0]` a scalar, and `rows.points[r] = i, j` writes a row.
A record reaches compiled code as one pointer to a table of addresses, one for each field. The table stays where it is
when an array is replaced by a longer one, so recorded launches stay valid.
"""

from collections.abc import Iterable, Iterator
from ctypes import addressof, c_char
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, overload

import numpy as np

if TYPE_CHECKING:
    real = float
else:

    class real:
        """Stands for the floating point type of a simulation, float32 or float64, in fields and signatures."""


OWN_NAMES = {"absent", "arrays", "precision", "addresses", "address"}
"""Attributes of records that no field may be called by."""


@cache
def concrete(dtype: Any, precision: Any) -> np.dtype:
    """The dtype that a declared type means at a precision."""
    return np.dtype(precision if dtype is real else dtype)


def address_of(array: np.ndarray) -> int:
    """Address of the first number of an array."""
    if array.size:
        try:
            # an eighth of the time that `ctypes.data` takes: each world has thousands of arrays
            return addressof(c_char.from_buffer(array))  # type: ignore[arg-type]
        except (TypeError, ValueError):  # it is read only, or has gaps
            pass
    return array.ctypes.data


@dataclass(frozen=True)
class Field:
    """A field of a record.

    Attributes:
        dtype: Scalar type; `real` for the precision of the simulation.
        shape: Shape of one row: `()` a scalar, 3 or `(3,)` a tuple of three, `(8, 3)` eight of them.
        unit: Unit, for people.
        doc: Meaning.
        saved: Whether it belongs to the state that a checkpoint keeps.
        optional: Whether records may be without it; then it has no rows.
    """

    dtype: Any
    shape: Any = ()
    unit: str = ""
    doc: str = ""
    saved: bool = False
    optional: bool = False
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.shape if isinstance(self.shape, tuple) else (self.shape,))

    def __set_name__(self, owner: type, name: str) -> None:
        object.__setattr__(self, "name", name)

    @overload
    def __get__(self, instance: None, owner: type) -> "Field": ...
    @overload
    def __get__(self, instance: "Record", owner: type) -> np.ndarray: ...
    def __get__(self, instance: "Record | None", owner: type) -> "Field | np.ndarray":
        return self if instance is None else instance.arrays[self.name]

    def __set__(self, instance: "Record", value: np.ndarray) -> None:
        raise AttributeError(f"{type(instance).__name__}.{self.name}: is bound with `bind`, or written in place")


class Record:
    """Base of records; a subclass declares its fields. All arrays of a record have the same number of rows.

    Fields that are declared as optional may be left out: `Rows.zeros(100, np.float32, without=("rest",))`. They have no
    rows then, and a kernel that may meet such a record asks before it reads or writes them.

    Tables that belong together and differ in rows are one record, too: `class Mesh(Record, ragged=True)`. Its length is
    that of the first field, and it does not grow.

    Attributes:
        fields: Declared fields by name.
        ragged: Whether fields may differ in rows.
        rows_of_each: Whether the table of addresses has the rows of each field: of ragged records, and where a field
            is optional.
        absent: Optional fields that were left out.
        arrays: Arrays by the name of their field.
        precision: What `real` means, float32 or float64.
        addresses: Address of each field, and the number of rows, int64; then the rows of each field where they differ.
        address: Address of that table.
    """

    fields: ClassVar[dict[str, Field]] = {}
    ragged: ClassVar[bool] = False
    rows_of_each: ClassVar[bool] = False

    def __init_subclass__(cls, ragged: bool = False) -> None:
        cls.ragged = cls.ragged or ragged
        inherited = [base.fields for base in reversed(cls.__mro__[1:]) if issubclass(base, Record)]
        own = {name: value for name, value in vars(cls).items() if isinstance(value, Field)}
        if reserved := own.keys() & vars(Record).keys() | own.keys() & OWN_NAMES:
            raise TypeError(f"{cls.__name__}: field {sorted(reserved)[0]}: the name belongs to every record")
        cls.fields = {name: value for fields in (*inherited, own) for name, value in fields.items()}
        cls.rows_of_each = cls.ragged or any(declared.optional for declared in cls.fields.values())

    def __init__(self, precision: Any = np.float32, *, without: Iterable[str] = (), **arrays: np.ndarray) -> None:
        if arrays.keys() != self.fields.keys():
            raise TypeError(f"{type(self).__name__}: fields: got {sorted(arrays)}; expected {sorted(self.fields)}")
        self.absent = frozenset(without)
        if unknown := sorted(name for name in self.absent if not (name in self.fields and self.fields[name].optional)):
            raise TypeError(f"{type(self).__name__}: {unknown[0]}: is not an optional field")
        self.precision = np.dtype(precision).type
        self.arrays: dict[str, np.ndarray] = {}
        self.addresses = np.zeros(len(self.fields) + 1 + self.rows_of_each * len(self.fields), np.int64)
        self.address = address_of(self.addresses)
        self.bind(**arrays)

    @classmethod
    def zeros(cls, rows: int, precision: Any = np.float32, without: Iterable[str] = ()) -> Any:
        """A record of so many rows, all zero, without some of its optional fields."""
        absent = frozenset(without)
        return cls(
            precision,
            without=absent,
            **{
                name: np.zeros((0 if name in absent else rows, *declared.shape), concrete(declared.dtype, precision))
                for name, declared in cls.fields.items()
            },
        )

    def bind(self, **arrays: np.ndarray) -> None:
        """Use other arrays for some fields; unless ragged, all must have the same number of rows after it.

        Absent ones have none.

        Raises:
            TypeError: An array has another dtype, shape or layout than its field.
        """
        for name, array in arrays.items():
            declared = self.fields[name]
            dtype, shape = concrete(declared.dtype, self.precision), declared.shape
            fits = isinstance(array, np.ndarray) and array.dtype == dtype and array.shape[1:] == shape
            if not (fits and array.ndim == 1 + len(shape) and array.flags.c_contiguous):
                got = f"{array.dtype} {array.shape}" if isinstance(array, np.ndarray) else type(array).__name__
                shape = "(" + ", ".join(["n", *map(str, declared.shape)]) + ")"
                raise TypeError(f"{type(self).__name__}: {name}: got {got}; expected contiguous {dtype} {shape}")
            self.arrays[name] = array
        lengths = {name: len(self.arrays[name]) for name in self.fields}
        present = {rows for name, rows in lengths.items() if name not in self.absent}
        if not self.ragged and (len(present) > 1 or any(lengths[name] for name in self.absent)):
            raise TypeError(f"{type(self).__name__}: fields differ in rows: {lengths}")
        for k, name in enumerate(self.fields):
            if name in arrays:
                self.addresses[k] = address_of(arrays[name])
        self.addresses[len(self.fields)] = next((rows for name, rows in lengths.items() if name not in self.absent), 0)
        if self.rows_of_each:
            self.addresses[len(self.fields) + 1 :] = list(lengths.values())

    def grow(self, rows: int) -> None:
        """Make room for more rows; contents are kept and the table of addresses stays where it is.

        Raises:
            TypeError: The record is ragged.
        """
        if self.ragged:
            raise TypeError(f"{type(self).__name__}: is ragged and cannot grow")
        longer = {}
        for name, array in self.arrays.items():
            if name in self.absent:
                continue
            longer[name] = np.zeros((rows, *array.shape[1:]), array.dtype)
            longer[name][: len(array)] = array[:rows]
        self.bind(**longer)

    def saved(self) -> Iterator[tuple[str, np.ndarray]]:
        """Names and arrays of the fields that belong to the state."""
        return ((name, self.arrays[name]) for name, declared in self.fields.items() if declared.saved)

    def __len__(self) -> int:
        return int(self.addresses[len(self.fields)])


@dataclass(frozen=True)
class View:
    """Type of a parameter of a shared function: rows of memory, such as a field of a record or scratch.

    It is written `Annotated[Any, View(real, 3)]`.

    Attributes:
        dtype: Scalar type, or `real`.
        shape: Shape of one row.
    """

    dtype: Any
    shape: Any = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", self.shape if isinstance(self.shape, tuple) else (self.shape,))


class Rows:
    """A field as plain Python sees it in the body of a kernel: rows are tuples, as in compiled code."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        value = self._array[index]
        if not isinstance(value, np.ndarray):
            return value
        return tuple(value) if value.ndim == 1 else Rows(value)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._array[index] = value


class PlainRecord:
    """A record as plain Python sees it in the body of a kernel."""

    def __init__(self, record: Record) -> None:
        for name, array in record.arrays.items():
            setattr(self, name, Rows(array))
        self._length = len(record)

    def __len__(self) -> int:
        return self._length
