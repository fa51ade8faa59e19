"""Copies of host arrays on a device.

A record stays what it is: arrays of the host and a table of their addresses. `DeviceMemory` gives each array a copy on
the device, and each record a table there. Arrays are copied when they are asked for:

- before a run, those that are new, and those that Python had in its hands since the last one;
- after a run nothing. An array that kernels may have changed is fetched when Python asks its record for it.

A reference to an array that was kept over a run is therefore old: ask the record, or the state, again.
"""

import weakref
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.compute.cuda.api import Device
from shinari.compute.cuda.arrays import CPU, CUDA, DeviceArray
from shinari.compute.records import Record
from shinari.errors import DeviceError, LostDeviceError

# A device that checks fills arrays that are old on the host with this byte: no number, or a useless index.
STALE = 255


# Bytes of an array that is compared before it is copied to the device again: Python rarely writes what it reads.
COMPARED = 4096


# Rows that are copied one by one.
MOST_ROWS = 16


class Writer:
    """Somebody who writes to copies on the device when it runs.

    Attributes:
        last: Number of its last run, as `DeviceMemory.runs` counts them.
        is_gone: Whether it will never run again.
    """

    def __init__(self) -> None:
        self.last, self.is_gone = 0, False

    def retire(self) -> None:
        """It will never run again."""
        self.is_gone = True


class Mirror:
    """An array that owns its memory, and its copy on the device.

    Attributes:
        owner: The array.
        data: Its bytes.
        address: Where the copy lies.
        host_newer: Whether Python may have written since it was copied to the device.
        seen: Its bytes when Python got it, if they are few: what is on the device.
        writers: Who writes to the copy.
        written: Number of the run after which somebody else did.
        fetched: Number of the run after which both were the same.
    """

    def __init__(self, owner: np.ndarray, address: int, fetched: int) -> None:
        self.owner, self.address = owner, address
        self.data = owner.reshape(-1, order="A").view(np.uint8) if owner.size else np.zeros(0, np.uint8)
        self.host_newer, self.fetched, self.written = True, fetched, 0
        self.seen: np.ndarray | None = None
        self.writers: list[Writer] = []

    @property
    def device_newer(self) -> bool:
        """Whether kernels may have written since it was copied to the host."""
        return self.written > self.fetched or any(writer.last > self.fetched for writer in self.writers)

    def attach(self, writer: Writer) -> None:
        """From now on it writes here, too."""
        if writer in self.writers:
            return
        self.written = max([self.written, *(each.last for each in self.writers if each.is_gone)])
        self.writers = [*(each for each in self.writers if not each.is_gone), writer]


def owner_of(array: np.ndarray) -> np.ndarray:
    """The array that an array is a view of, in the end."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


class Kept:
    """An array as it was, on the device; `np.asarray` brings it to the host.

    Args:
        device: The device.
        address: Where it is.
        array: An array of its type and shape.
    """

    def __init__(self, device: Device, address: int, array: np.ndarray) -> None:
        self._device, self.address, self._shape, self._dtype = device, address, array.shape, array.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(self._shape, self._dtype)
        if found.size:
            self._device.download(self.address, found.reshape(-1).view(np.uint8))
        return found if dtype is None else found.astype(dtype)


@dataclass
class _Placed:
    """A record on the device.

    Attributes:
        record: The record.
        address: Address of its table there.
        seen: The addresses of its arrays on the host of which that table is.
        owners: Who uses it.
    """

    record: Record
    address: int
    seen: np.ndarray
    owners: set[int]


@dataclass
class _Cell:
    """An array with a count or a condition.

    Attributes:
        array: The array.
        copy: What was copied to the device, if no record has it.
        owners: Who uses it.
    """

    array: np.ndarray
    copy: np.ndarray | None
    owners: set[int]


class DeviceMemory:
    """The memory of one simulation, or of many worlds, on a device.

    Attributes:
        device: The device.
        copied: Bytes copied to the device and back so far.
        is_lost: Whether the device has failed; arrays are then those of the host.
        runs: Runs of programs so far, and other times at which somebody may have written there.
        version: Changes whenever arrays get other copies.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.copied, self.is_lost = device, [0, 0], False
        self.runs = self.version = 0
        self._kept: dict[Any, tuple[int, int]] = {}
        self._forget_all()

    def _forget_all(self) -> None:
        self._mirrors: dict[int, Mirror] = {}
        self._records: dict[int, _Placed] = {}
        self._cells: dict[int, _Cell] = {}
        # what is to be done before the next run: tables that are old, copies that are old
        self._changed: set[int] = set()
        self._touched: dict[int, Mirror] = {}
        self._loose: list[int] | None = None
        self.version += 1

    def mirror_of(self, array: np.ndarray) -> Mirror | None:
        """The copy of the array that an array is a view of, if there is one."""
        return self._mirrors.get(owner_of(array).ctypes.data)

    def address_of(self, array: np.ndarray) -> int:
        """Address on the device of the first element of an array of the host."""
        owner = owner_of(array)
        start = owner.ctypes.data
        mirror = self._mirrors.get(start)
        if mirror is None or mirror.owner.nbytes < owner.nbytes:
            address = self.device.allocate(max(owner.nbytes, 8))
            mirror = self._mirrors[start] = self._touched[start] = Mirror(owner, address, self.runs)
            self.version += 1
        return mirror.address + array.ctypes.data - start if array.size else mirror.address

    def table_of(self, record: Record, owner: object = None) -> int:
        """Address on the device of the table of a record; from now on it is kept up to date."""
        key = id(record)
        if key not in self._records:
            address = self.device.allocate(record.addresses.nbytes)
            self._records[key] = _Placed(record, address, np.zeros(0, np.int64), set())
            if not isinstance(record.arrays, Arrays):
                record.arrays = Arrays(self, record.arrays, key)
            self._loose = None
            self._refresh(key)
        self._records[key].owners.add(id(owner))
        return self._records[key].address

    def cell(self, array: np.ndarray, index: int, owner: object = None) -> int:
        """Address of an int64 of an array; if no record has it, it is compared with its copy before each run."""
        address = self.address_of(array) + array.itemsize * index
        if id(array) not in self._cells:
            self._cells[id(array)] = _Cell(array, None, set())
            self._loose = None
        self._cells[id(array)].owners.add(id(owner))
        return address

    def change(self, record: int) -> None:
        """A record, by its identity, gets other arrays."""
        self._changed.add(record)

    def before_run(self) -> None:
        """Bring arrays to the device that Python may have written.

        Raises:
            LostDeviceError: The device has failed before.
        """
        if self.is_lost:
            raise LostDeviceError("device: it has failed before, and does not answer this process any more")
        if changed := [key for key in self._changed if key in self._records]:
            self._loose = None
            for key in changed:
                self._refresh(key)
            self._prune()
        self._changed.clear()
        for cell in map(self._cells.__getitem__, self._loose_cells()):
            if cell.copy is None or not np.array_equal(cell.array, cell.copy):
                self._touch(self._mirrors[owner_of(cell.array).ctypes.data])
                cell.copy = cell.array.copy()
        for mirror in self._mirrors.values() if self.device.checked else ():
            self._check(mirror)
        self.bring_back()

    def bring_back(self) -> None:
        """Bring arrays to the device that were fetched."""
        for start, mirror in list(self._touched.items()):
            if mirror.seen is None or not np.array_equal(mirror.data, mirror.seen):
                self._upload(mirror.address, mirror.data)
            mirror.host_newer, mirror.seen = False, None
            del self._touched[start]

    def _loose_cells(self) -> list[int]:
        """Cells that no record has."""
        if self._loose is None:
            owned = {owner_of(array).ctypes.data for each in self._records.values() for array in raw(each.record)}
            cells = self._cells.items()
            self._loose = [key for key, cell in cells if owner_of(cell.array).ctypes.data not in owned]
        return self._loose

    def after_run(self, writer: Writer) -> None:
        """Kernels may have written into the arrays of a writer."""
        self.runs += 1
        writer.last = self.runs
        if self.device.checked:
            for mirror in self._mirrors.values():
                if writer in mirror.writers:
                    self._make_stale(mirror)

    def _make_stale(self, mirror: Mirror) -> None:
        """On a device that checks: whoever reads an array that is old without asking for it finds no number."""
        if not mirror.data.flags.writeable or (len(mirror.data) and (mirror.data == STALE).all()):
            return
        now = np.empty_like(mirror.data)
        self.device.download(mirror.address, now)
        if np.array_equal(now, mirror.data):
            mirror.fetched = self.runs
        else:
            mirror.data[...] = STALE

    def fetch(self, array: np.ndarray) -> np.ndarray:
        """The array, up to date on the host; Python may write into it until the next run."""
        mirror = self.mirror_of(self.read(array))
        if mirror is not None:
            if not mirror.host_newer and mirror.data.nbytes <= COMPARED:
                mirror.seen = mirror.data.copy()
            self._touch(mirror)
        return array

    def read(self, array: np.ndarray) -> np.ndarray:
        """The array, up to date on the host; nobody writes into it there."""
        mirror = self.mirror_of(array)
        if mirror is not None:
            self._download(mirror)
        return array

    def _touch(self, mirror: Mirror) -> None:
        """Python may write to an array."""
        if not mirror.host_newer:
            mirror.host_newer = True
            self._touched[mirror.owner.ctypes.data] = mirror

    def write(self, array: np.ndarray, values: "np.ndarray | Kept") -> None:
        """Write values of its type and shape into an array, where it is now: other parts of its owner stay there."""
        mirror = self.mirror_of(array)
        if mirror is None or not mirror.device_newer or not array.flags.c_contiguous:
            self.fetch(array)[...] = np.asarray(values)
            return
        if not array.nbytes:
            return
        if isinstance(values, Kept):
            self.device.copy(self.address_of(array), values.address, array.nbytes)
        else:
            self._upload(self.address_of(array), np.ascontiguousarray(values).reshape(-1).view(np.uint8))

    def lend(self, array: np.ndarray) -> DeviceArray:
        """The array as it is on the device, for others to read and write until the next run."""
        address = self.address_of(array)
        mirror = self._mirrors[owner_of(array).ctypes.data]
        self._check(mirror)
        if mirror.host_newer and not mirror.device_newer:
            self._upload(mirror.address, mirror.data)
        if self.device.checked and mirror.data.flags.writeable:
            mirror.data[...] = STALE
        self._touched.pop(mirror.owner.ctypes.data, None)
        self.runs += 1
        mirror.host_newer, mirror.written = False, self.runs
        self.device.synchronise()
        return DeviceArray(address, array.shape, array.dtype, CPU if self.device.checked else CUDA, (self, mirror))

    def rows(self, array: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Some rows of an array as they are now, copied; a few rows do not bring the whole array over."""
        mirror = self._mirrors.get(owner_of(array).ctypes.data)
        if mirror is None or not mirror.device_newer:
            return array[indices]
        if len(indices) > MOST_ROWS:
            return self.fetch(array)[indices]
        result = np.empty((len(indices), *array.shape[1:]), array.dtype)
        for row, index in zip(result, indices, strict=True):
            self.device.download(self.address_of(array) + int(index) * array.strides[0], row.view(np.uint8))
        return result

    def keep(self, name: Any, array: np.ndarray) -> "np.ndarray | Kept":
        """A copy of an array as it is now, where it is now, until the next one of that name."""
        mirror = self.mirror_of(array)
        if mirror is None or not mirror.device_newer or not array.flags.c_contiguous:
            return self.fetch(array).copy()
        address, room = self._kept.get(name, (0, 0))
        if room < array.nbytes:
            if room:
                self.device.free(self._kept.pop(name)[0])
            address = self.device.allocate(array.nbytes)
            self._kept[name] = address, array.nbytes
        if array.nbytes:
            self.device.copy(address, self.address_of(array), array.nbytes)
        return Kept(self.device, address, array)

    def is_newer(self, array: np.ndarray) -> bool:
        """Whether an array is newer on the device than on the host, and lies there in one piece."""
        mirror = self.mirror_of(array)
        if mirror is None or not mirror.device_newer or not array.nbytes:
            return False
        if not array.flags.c_contiguous:
            self.fetch(array)
            return False
        return True

    def copy_of(self, array: np.ndarray) -> "np.ndarray | Kept":
        """A copy of an array as it is now, where it is now, as long as somebody has it."""
        if not self.is_newer(array):
            return array.copy()
        kept = Kept(self.device, self.device.allocate(array.nbytes), array)
        weakref.finalize(kept, self.device.free, kept.address).atexit = False
        self.device.copy(kept.address, self.address_of(array), array.nbytes)
        return kept

    def release(self, owner: object = None) -> None:
        """Give back the memory of the records of an owner that nobody else uses; what is newer there is fetched before.

        Without an owner, everything.
        """
        for key, placed in list(self._records.items()):
            placed.owners.discard(id(owner))
            if owner is None or not placed.owners:
                placed.record.arrays = plain(placed.record.arrays)
                self.device.free(placed.address)
                del self._records[key]
                self._changed.discard(key)
        for key, cell in list(self._cells.items()):
            cell.owners.discard(id(owner))
            if owner is None or not cell.owners:
                del self._cells[key]
        self._loose = None
        self._prune()
        if not self._records:
            for address, _ in self._kept.values():
                self.device.free(address)
            self._kept = {}
            self._forget_all()

    def abandon(self) -> None:
        """The device has failed: from now on arrays are those of the host, as old as they are there."""
        self.is_lost = True
        for placed in self._records.values():
            placed.record.arrays = plain(placed.record.arrays)
        self._forget_all()
        self._kept = {}

    def __del__(self) -> None:
        # a device that has failed, or a process that ends, takes nothing back
        with suppress(Exception):
            addresses = [mirror.address for mirror in self._mirrors.values()]
            addresses += [placed.address for placed in self._records.values()]
            addresses += [address for address, _ in self._kept.values()]
            for address in [] if self.is_lost else addresses:
                self.device.free(address)

    def _refresh(self, key: int) -> None:
        """Bring the table of a record up to date where arrays of the host were replaced."""
        placed = self._records[key]
        record = placed.record
        if np.array_equal(placed.seen, record.addresses):
            return
        table = record.addresses.copy()
        for k, (declared, array) in enumerate(zip(record.fields.values(), raw(record), strict=True)):
            table[k] = self.address_of(array)
            row = array.itemsize * declared.shape[-1] if declared.shape else 1
            if row in (8, 16) and table[k] % row:
                raise DeviceError(f"{type(record).__name__}: {declared.name}: its rows do not begin at {row} bytes")
        self._upload(placed.address, table.view(np.uint8))
        placed.seen = record.addresses.copy()

    def _prune(self) -> None:
        """Give back copies of arrays that no record has any more."""
        used = {owner_of(array).ctypes.data for each in self._records.values() for array in raw(each.record)}
        used |= {owner_of(cell.array).ctypes.data for cell in self._cells.values()}
        for start in [start for start in self._mirrors if start not in used]:
            self._drop(start)

    def _drop(self, start: int) -> None:
        """Give back the copy of an array; what is newer there is fetched before."""
        mirror = self._mirrors.pop(start)
        self._touched.pop(start, None)
        self._download(mirror)
        self.device.free(mirror.address)
        self.version += 1

    def _check(self, mirror: Mirror) -> None:
        """On a device that checks: nobody wrote to an array that was old."""
        if self.device.checked and mirror.device_newer and mirror.data.flags.writeable and (mirror.data != STALE).any():
            shape = f"{mirror.owner.dtype} {mirror.owner.shape}"
            raise DeviceError(f"device: an array, {shape}, was written by a reference that is older than the last run")

    def _download(self, mirror: Mirror) -> None:
        if mirror.device_newer and mirror.data.flags.writeable and len(mirror.data):
            self.device.download(mirror.address, mirror.data)
            self.copied[1] += mirror.data.nbytes
        mirror.fetched = self.runs

    def _upload(self, address: int, data: np.ndarray) -> None:
        if len(data):
            self.device.upload(address, data)
            self.copied[0] += data.nbytes


class Arrays(dict):
    """Arrays of a record of which the device has copies: asking for one brings it up to date."""

    def __init__(self, memory: DeviceMemory, arrays: dict[str, np.ndarray], record: int = 0) -> None:
        super().__init__(arrays)
        self._memory, self._record = memory, record

    def __setitem__(self, name: str, array: np.ndarray) -> None:
        super().__setitem__(name, array)
        self._memory.change(self._record)

    def __getitem__(self, name: str) -> np.ndarray:
        return self._memory.fetch(super().__getitem__(name))

    def get(self, name: str, default: Any = None) -> Any:
        """The array of a name, up to date."""
        found = super().get(name, default)
        return found if found is default else self._memory.fetch(found)

    def __iter__(self) -> Iterator[str]:
        """Names; that it is defined here makes `dict` ask for the arrays."""
        return super().__iter__()

    def items(self) -> Any:
        """Names and arrays, all up to date."""
        return [(name, self[name]) for name in self]

    def values(self) -> Any:
        """Arrays, all up to date."""
        return [self[name] for name in self]

    def raw(self) -> Iterator[tuple[str, np.ndarray]]:
        """Names and arrays as they are on the host."""
        return iter(super().items())


def plain(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays as they are on the host."""
    return dict(arrays.raw()) if isinstance(arrays, Arrays) else arrays


def raw(record: Record) -> list[np.ndarray]:
    """Arrays of a record in the order of its fields, without fetching them."""
    arrays = plain(record.arrays)
    return [arrays[name] for name in record.fields]
