"""Kernels compile for a GPU: to PTX, without a GPU, where the compiler of NVIDIA's toolkit is installed."""

import os
import re
from importlib.util import find_spec

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Field, Program, Record, kernel, real, shared
from shinari.compute.kernels import AS_WRITTEN, FAST


def can_compile() -> bool:
    """Whether numba-cuda, NVVM and NVRTC are there (`pip install 'numba-cuda[cu13]'`)."""
    if find_spec("numba_cuda") is None or os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return False
    from cuda.pathfinder import DynamicLibNotFoundError, load_nvidia_dynamic_lib

    try:
        for name in ("nvvm", "nvrtc"):
            load_nvidia_dynamic_lib(name)
    except DynamicLibNotFoundError:
        return False
    return True


pytestmark = pytest.mark.skipif(
    not can_compile(), reason="needs numba-cuda and NVVM, outside of the simulator: pip install 'numba-cuda[cu13]'"
)


def kernels_of(simulation: sn.Simulation, monkeypatch) -> dict:
    """Kernels that a step launches, by name, and their precision."""
    found = {}
    launch = Program.launch

    def note(self, launched, *arguments, **options):
        found[launched.name] = launched, launched.pack(arguments)[1]
        return launch(self, launched, *arguments, **options)

    monkeypatch.setattr(Program, "launch", note)
    simulation._run.bind()
    return found


def cloth() -> sn.Simulation:
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(4, 4))).pin([0])
    scene.add_collider(sn.Sphere(0.1), position=(0, -0.2, 0))
    return sn.Simulation(scene)


def test_kernels_of_a_cloth_compile(monkeypatch) -> None:
    from shinari.compute.cuda.ptx import compiled

    for launched, precision in kernels_of(cloth(), monkeypatch).values():
        text = compiled(launched, precision, (9, 0))
        assert ".visible .entry shinari_entry" in text, launched.name
        # no float64 in a kernel of float32
        if precision is np.float32 and not launched.mixed and "f8" not in repr(launched.made_of(precision)):
            assert not re.search(r"\.f64", text), launched.name


def test_positions_are_loaded_and_stored_at_once(monkeypatch) -> None:
    """A row of four float32 is one access; tables of addresses go through the read-only cache."""
    from shinari.compute.cuda.ptx import compiled

    launched, precision = kernels_of(cloth(), monkeypatch)["project_distance_xpbd"]
    text = compiled(launched, precision, (9, 0))
    assert text.count("ld.global.v4.f32") == text.count("st.global.v4.f32") == 2
    assert "ld.global.nc.u64" in text
    assert ".local" not in text
    assert "fma.rn.f32" in text


def test_strides_are_not_unrolled(monkeypatch) -> None:
    """Unrolling them would take a division of int64 by each thread."""
    from shinari.compute.cuda.ptx import compiled

    launched, precision = kernels_of(cloth(), monkeypatch)["predict"]
    text = compiled(launched, precision, (9, 0))
    assert "div." not in text
    assert text.count("ld.global.v4.f32") == 1


def test_arithmetic_that_is_taken_as_written_is_not_contracted() -> None:
    """Searches decide alike when they count and when they fill."""
    from shinari.compute.cuda.ptx import compiled

    class Rows(Record):
        value = Field(real, 3)

    def add(i, rows: Rows):
        a = rows.value[i]
        rows.value[i, 0] = a[0] * a[1] + a[2]

    texts = [compiled(kernel(add, fastmath=flags), np.float32, (9, 0)) for flags in (FAST, AS_WRITTEN)]
    assert ["fma.rn.f32" in text for text in texts] == [True, False]


def test_ptx_is_kept_in_the_cache(monkeypatch, tmp_path) -> None:
    from shinari.compute.cuda import ptx
    from shinari.compute.cuda.words import copy_word

    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path))
    first = ptx.ptx(copy_word, np.float32, (9, 0))
    assert len(list(tmp_path.rglob("copy_word_*.ptx"))) == 1
    monkeypatch.setattr(ptx, "compiled", None)
    assert ptx.ptx(copy_word, np.float32, (9, 0)) == first


class Numbers(Record):
    value = Field(np.float64)


@shared
def root_of_sum(a: float, b: float) -> float:
    return np.sqrt(a * a + b * b)


@kernel
def measure(i, numbers: Numbers):
    """Call a shared function."""
    numbers.value[i] = root_of_sum(numbers.value[i], np.float64(2.0))


def test_an_entry_has_five_addresses_a_table_and_a_number_of_worlds() -> None:
    from shinari.compute.cuda.ptx import compiled

    text = compiled(measure, np.float32, (9, 0))
    head = text[text.index(".entry shinari_entry(") :]
    assert len(re.findall(r"\.param \.u64", head[: head.index(")")])) == 7
    assert ".maxntid 128" in head


def test_items_are_taken_in_strides_without_divisions() -> None:
    from shinari.compute.cuda.ptx import compiled

    text = compiled(measure, np.float32, (9, 0))
    body = text[text.index(".entry shinari_entry(") :]
    assert not re.search(r"\b(div|rem)\.[su]64", body)
