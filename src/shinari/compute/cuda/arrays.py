"""Arrays on a device for others: CuPy, PyTorch, Numba, whatever reads one of two protocols. Nothing is copied.

`__cuda_array_interface__`: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html; `__dlpack__`:
https://dmlc.github.io/dlpack/latest/python_spec.html, by the structures of its C interface.
"""

import ctypes
from typing import Any

import numpy as np

CPU, CUDA = 1, 2
"""Kinds of devices of DLPack; memory of the simulator is that of the processor."""
PLAIN, VERSIONED = b"dltensor", b"dltensor_versioned"
"""Names of capsules, which have to last: the second kind says that an array may be written to."""
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64))  # fmt: skip


class _Managed(ctypes.Structure):
    pass


class _Versioned(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))
_Versioned._fields_ = (("major", ctypes.c_uint32), ("minor", ctypes.c_uint32), ("context", ctypes.c_void_p),
                       ("deleter", _DELETER), ("flags", ctypes.c_uint64), ("tensor", _Tensor))  # fmt: skip
_lent: dict[int, Any] = {}
"""What others hold, by the address of its structure."""


@_DELETER
def _give_back(address: int) -> None:
    _lent.pop(address, None)


_capsules = ctypes.pythonapi
_capsules.PyCapsule_New.restype = ctypes.py_object
_capsules.PyCapsule_GetName.restype = ctypes.c_char_p
_capsules.PyCapsule_GetPointer.restype = ctypes.c_void_p
_DESTRUCTOR = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)


@_DESTRUCTOR
def _forget(capsule: int) -> None:
    """Give back what a capsule lends that nobody has taken; who takes it changes its name."""
    name = _capsules.PyCapsule_GetName(ctypes.c_void_p(capsule))
    if name in (PLAIN, VERSIONED):
        _lent.pop(_capsules.PyCapsule_GetPointer(ctypes.c_void_p(capsule), ctypes.c_char_p(name)), None)


class DeviceArray:
    """An array on a device.

    Args:
        address: Where its first element lies.
        shape: Shape; rows follow each other without gaps.
        dtype: Type of its elements.
        kind: `CPU` or `CUDA`.
        owner: What has to live as long as the array.
    """

    def __init__(self, address: int, shape: tuple[int, ...], dtype: np.dtype, kind: int, owner: Any) -> None:
        self.address, self.shape, self.dtype, self.kind, self._owner = address, shape, dtype, kind, owner

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "version": 3,
            "strides": None,
        }

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 0

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """A capsule by which another library uses the array; of version 1.0, where it knows that.

        Raises:
            BufferError: A copy, or another device, is asked for.
        """
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError("on_device: lends the array where it is; it does not copy")
        # whatever the stream: all that was launched is over, for the array was made after it
        count = len(self.shape)
        shape = (ctypes.c_int64 * count)(*self.shape)
        strides = (ctypes.c_int64 * count)(*np.cumprod([1, *self.shape[:0:-1]])[::-1].tolist())
        tensor = _Tensor(self.address, self.kind, 0, count, _CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1)
        tensor.shape, tensor.strides = shape, strides
        is_versioned = max_version is not None and max_version[0] >= 1
        managed = _Versioned(1, 0) if is_versioned else _Managed()
        managed.tensor, managed.deleter = tensor, _give_back
        address = ctypes.addressof(managed)
        _lent[address] = managed, shape, strides, self
        name = VERSIONED if is_versioned else PLAIN
        return _capsules.PyCapsule_New(ctypes.c_void_p(address), ctypes.c_char_p(name), _forget)
