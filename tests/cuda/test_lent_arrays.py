"""Arrays of a device for other libraries, by DLPack. The device's memory is that of the host, so NumPy reads it."""

import gc
import importlib.util
from pathlib import Path

import numpy as np
import pytest
from host_device import HostDevice

from shinari.compute.cuda import api
from shinari.compute.cuda.arrays import CPU, DeviceArray, _lent

EXAMPLE = Path(__file__).parents[2] / "examples" / "49_force_by_a_library" / "force_by_a_library.py"


def lent(shape, dtype=np.float32):
    memory = np.arange(np.prod(shape)).astype(dtype).reshape(shape)
    return memory, DeviceArray(memory.ctypes.data, shape, memory.dtype, CPU, memory)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.uint8, np.bool_])
@pytest.mark.parametrize("shape", [(5,), (4, 3), (2, 4, 3), (0, 3)])
def test_others_see_the_memory_itself(shape, dtype) -> None:
    memory, there = lent(shape, dtype)
    seen = np.from_dlpack(there)
    assert seen.shape == shape
    assert seen.dtype == dtype
    assert np.array_equal(seen, memory)
    assert not seen.size or np.shares_memory(seen, memory)


def test_what_others_write_is_there() -> None:
    memory, there = lent((4, 3))
    np.from_dlpack(there)[2] = 7.0
    assert (memory[2] == 7.0).all()


@pytest.mark.parametrize("version", [None, (0, 8), (1, 1)])
def test_what_others_hold_is_given_back(version) -> None:
    _, there = lent((4, 3))
    before = len(_lent)
    capsule = there.__dlpack__(max_version=version)
    assert len(_lent) == before + 1
    del capsule
    assert len(_lent) == before
    seen = np.from_dlpack(there)
    assert len(_lent) == before + 1
    del seen
    gc.collect()
    assert len(_lent) == before


def test_copies_are_refused() -> None:
    _, there = lent((4, 3))
    for options in ({"copy": True}, {"dl_device": (2, 0)}):
        with pytest.raises(BufferError, match="does not copy"):
            there.__dlpack__(**options)
    assert there.__dlpack__(copy=False, dl_device=(CPU, 0)) is not None


def test_torch_shares_the_memory() -> None:
    torch = pytest.importorskip("torch")
    memory, there = lent((4, 3))
    tensor = torch.from_dlpack(there)
    assert tensor.data_ptr() == memory.ctypes.data
    tensor[1] = -1.0
    assert (memory[1] == -1.0).all()


def test_the_example_pulls_on_a_device(monkeypatch, tmp_path, capsys) -> None:
    pytest.importorskip("viser")
    monkeypatch.setattr(api, "device", HostDevice)
    spec = importlib.util.spec_from_file_location("force_by_a_library", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.main(["--device", "cuda", "--particles", "50", "--steps", "20", "--out", str(tmp_path)])
    said = capsys.readouterr().out
    assert "numpy: 20 steps" in said
    assert "cupy: skipped, " in said
    assert len(np.load(tmp_path / "force_by_a_library.npz")["times"]) == 21
