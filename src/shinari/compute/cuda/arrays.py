"""Arrays on a device for others: CuPy, PyTorch, Numba, whatever reads one of two protocols. Nothing is copied.

`__cuda_array_interface__`: https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html; `__dlpack__`:
https://dmlc.github.io/dlpack/latest/python_spec.html, by the structures of its C interface.
"""

import ctypes
from typing import Any

import numpy as np

CPU, CUDA = 1, 2
"""Kinds of devices of DLPack; memory of the simulator is that of the processor."""
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


class _Tensor(ctypes.Structure):
    _fields_ = (("data", ctypes.c_void_p), ("device", ctypes.c_int32), ("device_id", ctypes.c_int32),
                ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
                ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64))  # fmt: skip


class _Managed(ctypes.Structure):
    pass


_DELETER = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Managed))
_Managed._fields_ = (("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", _DELETER))
_lent: dict[int, Any] = {}
"""What others hold, by the address of its structure."""


@_DELETER
def _give_back(managed: Any) -> None:
    _lent.pop(ctypes.addressof(managed.contents), None)


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

    def __dlpack__(self, *, stream: Any = None, **options: Any) -> Any:
        # what was launched is over: the array was made after it
        count = len(self.shape)
        shape = (ctypes.c_int64 * count)(*self.shape)
        strides = np.cumprod([1, *self.shape[:0:-1]])[::-1].tolist()
        managed = _Managed()
        managed.tensor = _Tensor(
            self.address, self.kind, 0, count, _CODES[self.dtype.kind], 8 * self.dtype.itemsize, 1,
            shape, (ctypes.c_int64 * count)(*strides), 0,
        )  # fmt: skip
        managed.deleter = _give_back
        address = ctypes.addressof(managed)
        _lent[address] = managed, shape, self
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(address, b"dltensor", None)
