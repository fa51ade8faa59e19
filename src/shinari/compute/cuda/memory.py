"""Copies of host arrays on a device.

A record stays what it is: arrays of the host and a table of their addresses. `DeviceMemory` gives each array a copy on
the device, and each record a table there. Arrays are copied when they are asked for:

- before a run, those that are new, and those that Python had in its hands since the last one;
- after a run nothing. An array that kernels may have changed is fetched when Python asks its record for it.

A reference to an array that was kept over a run is therefore old: ask the record, or the state, again.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from shinari.compute.cuda.api import Device
from shinari.compute.cuda.arrays import CPU, CUDA, DeviceArray
from shinari.compute.records import Record
from shinari.errors import DeviceError, LostDeviceError

# A device that checks fills arrays that are old on the host with this byte: no number, or a useless index.
STALE = 255


# Rows that are copied one by one.
MOST_ROWS = 16


class Mirror:
    """An array that owns its memory, and its copy on the device.

    Attributes:
        owner: The array.
        data: Its bytes.
        address: Where the copy lies.
        host_newer: Whether Python may have written since it was copied to the device.
        device_newer: Whether kernels may have written since it was copied to the host.
    """

    def __init__(self, owner: np.ndarray, address: int) -> None:
        self.owner, self.address = owner, address
        self.data = owner.reshape(-1, order="A").view(np.uint8) if owner.size else np.zeros(0, np.uint8)
        self.host_newer, self.device_newer = True, False


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
        self._device, self._address, self._shape, self._dtype = device, address, array.shape, array.dtype

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        found = np.empty(self._shape, self._dtype)
        if found.size:
            self._device.download(self._address, found.reshape(-1).view(np.uint8))
        return found if dtype is None else found.astype(dtype)


class DeviceMemory:
    """The memory of one simulation on a device.

    Attributes:
        device: The device.
        copied: Bytes copied to the device and back so far.
        is_lost: Whether the device has failed; arrays are then those of the host.
    """

    def __init__(self, device: Device) -> None:
        self.device, self.copied, self.is_lost = device, [0, 0], False
        self._kept: dict[str, tuple[int, int]] = {}
        self._mirrors: dict[int, Mirror] = {}
        self._records: dict[int, tuple[Record, np.ndarray, int]] = {}
        self._constants: dict[bytes, int] = {}
        self._cells: dict[int, tuple[np.ndarray, np.ndarray | None]] = {}
        self._words: list[int] = []

    def address_of(self, array: np.ndarray) -> int:
        """Address on the device of the first element of an array of the host."""
        owner = owner_of(array)
        start = owner.ctypes.data
        mirror = self._mirrors.get(start)
        if mirror is None or mirror.owner.nbytes < owner.nbytes:
            mirror = self._mirrors[start] = Mirror(owner, self.device.allocate(max(owner.nbytes, 8)))
            self._upload(mirror.address, mirror.data)
        return mirror.address + array.ctypes.data - start if array.size else mirror.address

    def table_of(self, record: Record) -> int:
        """Address on the device of the table of a record; from now on it is kept up to date."""
        found = self._records.get(id(record))
        if found is None:
            if not isinstance(record.arrays, Arrays):
                record.arrays = Arrays(self, record.arrays)
            found = record, np.zeros(0, np.int64), self.device.allocate(record.addresses.nbytes)
            self._records[id(record)] = found
            self._refresh(record)
        return found[2]

    def constant(self, values: np.ndarray) -> int:
        """Address of values that never change, int64."""
        key = values.tobytes()
        if key not in self._constants:
            address = self.device.allocate(max(values.nbytes, 8))
            self._upload(address, values.view(np.uint8))
            self._constants[key] = address
        return self._constants[key]

    def cell(self, array: np.ndarray, index: int) -> int:
        """Address of an int64 of an array; if no record has it, it is compared with its copy before each run."""
        address = self.address_of(array) + array.itemsize * index
        self._cells.setdefault(id(array), (array, None))
        return address

    def before_run(self) -> None:
        """Bring arrays to the device that Python may have written.

        Raises:
            LostDeviceError: The device has failed before.
        """
        if self.is_lost:
            raise LostDeviceError("device: it has failed before, and does not answer this process any more")
        for record, _, _ in list(self._records.values()):
            self._refresh(record)
        owned = {owner_of(array).ctypes.data for record, _, _ in self._records.values() for array in raw(record)}
        for key, (array, copy) in self._cells.items():
            mirror = self._mirrors[owner_of(array).ctypes.data]
            if owner_of(array).ctypes.data not in owned and (copy is None or not np.array_equal(array, copy)):
                mirror.host_newer = True
                self._cells[key] = array, array.copy()
        for mirror in self._mirrors.values():
            self._check(mirror)
            if mirror.host_newer:
                self._upload(mirror.address, mirror.data)
                mirror.host_newer = False

    def after_run(self, written: Iterable[np.ndarray]) -> None:
        """Kernels may have written into arrays."""
        for array in written:
            mirror = self._mirrors.get(owner_of(array).ctypes.data)
            if mirror is None:  # in a part of the program that has never run
                continue
            if self.device.checked and not mirror.device_newer and mirror.data.flags.writeable:
                now = np.empty_like(mirror.data)
                self.device.download(mirror.address, now)
                if np.array_equal(now, mirror.data):
                    continue
                # whoever reads it without asking for it finds no number
                mirror.data[...] = STALE
            mirror.device_newer = True

    def fetch(self, array: np.ndarray) -> np.ndarray:
        """The array, up to date on the host; Python may write into it until the next run."""
        mirror = self._mirrors.get(owner_of(array).ctypes.data)
        if mirror is not None:
            self._download(mirror)
            mirror.host_newer = True
        return array

    def words(self, count: int) -> int:
        """Address of so many new int64 that only the device writes."""
        self._words.append(self.device.allocate(8 * count))
        return self._words[-1]

    def write_words(self, address: int, values: list[int]) -> None:
        """Write int64 to the device."""
        self.device.upload(address, np.array(values, np.int64).view(np.uint8))

    def read_word(self, address: int) -> int:
        """An int64 on the device, after all that was launched."""
        value = np.zeros(1, np.int64)
        self.device.download(address, value.view(np.uint8))
        return int(value[0])

    def lend(self, array: np.ndarray) -> DeviceArray:
        """The array as it is on the device, for others to read and write until the next run."""
        address = self.address_of(array)
        mirror = self._mirrors[owner_of(array).ctypes.data]
        self._check(mirror)
        if mirror.host_newer and not mirror.device_newer:
            self._upload(mirror.address, mirror.data)
        if self.device.checked and mirror.data.flags.writeable:
            mirror.data[...] = STALE
        mirror.host_newer, mirror.device_newer = False, True
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

    def keep(self, name: str, array: np.ndarray) -> "np.ndarray | Kept":
        """A copy of an array as it is now, where it is now, until the next one of that name."""
        mirror = self._mirrors.get(owner_of(array).ctypes.data)
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

    def release(self) -> None:
        """Give all memory back; what is newer on the device is fetched before."""
        for mirror in self._mirrors.values():
            self._download(mirror)
        for address in self._addresses():
            self.device.free(address)
        self._forget()

    def abandon(self) -> None:
        """The device has failed: from now on arrays are those of the host, as old as they are there."""
        self.is_lost = True
        self._forget()

    def __del__(self) -> None:
        # a device that has failed, or a process that ends, takes nothing back
        with suppress(Exception):
            for address in [] if self.is_lost else self._addresses():
                self.device.free(address)

    def _addresses(self) -> list[int]:
        """All that was allocated."""
        found = [mirror.address for mirror in self._mirrors.values()]
        found += [address for _, _, address in self._records.values()]
        return [*found, *self._constants.values(), *self._words, *(address for address, _ in self._kept.values())]

    def _forget(self) -> None:
        for record, _, _ in self._records.values():
            record.arrays = dict(record.arrays.raw()) if isinstance(record.arrays, Arrays) else record.arrays
        self._mirrors, self._records, self._constants, self._cells, self._words = {}, {}, {}, {}, []
        self._kept = {}

    def _refresh(self, record: Record) -> None:
        """Bring the table of a record up to date where arrays of the host were replaced."""
        _, seen, address = self._records[id(record)]
        if np.array_equal(seen, record.addresses):
            return
        table = record.addresses.copy()
        for k, (declared, array) in enumerate(zip(record.fields.values(), raw(record), strict=True)):
            table[k] = self.address_of(array)
            row = array.itemsize * declared.shape[-1] if declared.shape else 1
            if row in (8, 16) and table[k] % row:
                raise DeviceError(f"{type(record).__name__}: {declared.name}: its rows do not begin at {row} bytes")
        self._upload(address, table.view(np.uint8))
        self._records[id(record)] = record, record.addresses.copy(), address
        if len(seen):
            self._prune()

    def _prune(self) -> None:
        """Give back copies of arrays that no record has any more."""
        used = {owner_of(array).ctypes.data for record, _, _ in self._records.values() for array in raw(record)}
        used |= {owner_of(array).ctypes.data for array, _ in self._cells.values()}
        for start in [start for start in self._mirrors if start not in used]:
            self.device.free(self._mirrors.pop(start).address)

    def _check(self, mirror: Mirror) -> None:
        """On a device that checks: nobody wrote to an array that was old."""
        if self.device.checked and mirror.device_newer and mirror.data.flags.writeable and (mirror.data != STALE).any():
            shape = f"{mirror.owner.dtype} {mirror.owner.shape}"
            raise DeviceError(f"device: an array, {shape}, was written by a reference that is older than the last run")

    def _download(self, mirror: Mirror) -> None:
        if mirror.device_newer and mirror.data.flags.writeable and len(mirror.data):
            self.device.download(mirror.address, mirror.data)
            self.copied[1] += mirror.data.nbytes
        mirror.device_newer = False

    def _upload(self, address: int, data: np.ndarray) -> None:
        if len(data):
            self.device.upload(address, data)
            self.copied[0] += data.nbytes


class Arrays(dict):
    """Arrays of a record of which the device has copies: asking for one brings it up to date."""

    def __init__(self, memory: DeviceMemory, arrays: dict[str, np.ndarray]) -> None:
        super().__init__(arrays)
        self._memory = memory

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


def raw(record: Record) -> list[np.ndarray]:
    """Arrays of a record in the order of its fields, without fetching them."""
    arrays = dict(record.arrays.raw()) if isinstance(record.arrays, Arrays) else record.arrays
    return [arrays[name] for name in record.fields]
