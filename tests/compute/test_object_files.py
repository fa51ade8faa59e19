"""Object files: found by the next process, whole or not at all, compiled again when they are damaged."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from shinari.compute import kernel, kernels

SCRIPT = """
import sys, hashlib, numpy as np
from shinari.compute import Field, Program, Record, function, kernel, real, shared
from shinari.compute import compiling

class Points(Record):
    x = Field(real, 3)

@shared
def far(x: tuple[real, real, real]) -> real:
    return np.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2])

@kernel
def scale(i, points: Points, h: real):
    x = points.x[i]
    s = h / (np.float32(1.0) + far(x))
    points.x[i] = x[0] * s, x[1] * s, x[2] * s

points = Points.zeros(1000)
points.x[...] = np.random.default_rng(0).random((1000, 3))
p = Program()
with p.loop(5):
    p.launch(scale, points, 1.5, count=1000)
p.run(2)
print(len(compiling.compiled), hashlib.sha256(points.x).hexdigest(), "numba" in sys.modules)
"""


def run(folder: Path, **environment: str) -> tuple[int, str, bool]:
    """Kernels that a process compiled, the bits of its result, and whether it loaded Numba."""
    script = folder.parent / "script.py"
    script.write_text(SCRIPT)
    env = os.environ | {"SHINARI_CACHE_DIR": str(folder)} | environment
    done = subprocess.run([sys.executable, str(script)], env=env, capture_output=True, text=True, check=True)
    compiled, bits, numba = done.stdout.split()
    return int(compiled), bits, numba == "True"


def contents(folder: Path) -> dict[str, bytes]:
    """Object files of a cache."""
    return {file.name: file.read_bytes() for file in (folder / "objects").glob("*.o")}


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cache") / "kernels"
    return folder, run(folder)


def test_the_second_process_compiles_nothing_and_needs_no_compiler(filled):
    folder, (compiled, bits, _) = filled
    assert compiled > 2
    assert run(folder) == (0, bits, False)


def test_a_copied_folder_serves_as_well(filled, tmp_path):
    folder, (_, bits, _) = filled
    copy = tmp_path / "other"
    subprocess.run(["cp", "-r", folder, copy], check=True)
    assert run(copy) == (0, bits, False)


@pytest.mark.parametrize("damage", [b"", b"\x7fELF", os.urandom(4000), None], ids=["empty", "cut", "random", "half"])
def test_damaged_files_are_compiled_again(filled, damage, tmp_path):
    folder, (compiled, bits, _) = filled
    copy = tmp_path / "other"
    subprocess.run(["cp", "-r", folder, copy], check=True)
    files = sorted((copy / "objects").glob("*.o"))
    assert len(files) == compiled
    for file in files[:2]:
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2] if damage is None else damage)
    assert run(copy)[:2] == (2, bits)
    assert run(copy) == (0, bits, False)


@pytest.mark.parametrize("processes", ["1", "3"])
def test_several_processes_compile_the_same(filled, processes, tmp_path):
    """Byte by byte, although each process compiles other kernels before: shipped files can be made again."""
    folder, (compiled, bits, _) = filled
    assert run(tmp_path / "new", SHINARI_COMPILE_PROCESSES=processes)[:2] == (compiled, bits)
    assert contents(folder) == contents(tmp_path / "new")


def test_another_processor_is_another_file(filled):
    folder, (compiled, _, _) = filled
    again, _, numba = run(folder, SHINARI_CPU="x86-64-v2")
    assert again == compiled
    assert numba


UNEQUAL = """
import sys, numpy as np
from shinari.compute import Field, Program, Record, kernel, real, shared

class Points(Record):
    x = Field(real)

@shared
def other(x: real) -> real:
    return np.sin(x) * np.float32(0.25)

@shared
def long(x: real) -> real:
    for k in range(50):
        x = other(x) + other(x * x) + np.float32(k)
    return x

@kernel
def use(i, points: Points):
    points.x[i] = long(points.x[i])

@kernel
def unrelated(i, points: Points):
    points.x[i] = np.float32(2.0) * points.x[i] if points.x[i] > 1 else other(points.x[i])

kernels = [use, unrelated][:: int(sys.argv[1])]
for each in kernels:
    p = Program()
    p.launch(each, Points.zeros(1), count=1)
    p.run()
"""


def test_files_do_not_depend_on_what_was_compiled_before(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNEQUAL)
    for order in ("1", "-1"):
        env = {**os.environ, "SHINARI_CACHE_DIR": str(tmp_path / order), "SHINARI_COMPILE_PROCESSES": "1"}
        subprocess.run([sys.executable, str(script), order], check=True, env=env)
    assert len(contents(tmp_path / "1")) > 4
    assert contents(tmp_path / "1") == contents(tmp_path / "-1")


SCATTERED = """
import ctypes

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real, shared

FAR, PRIVATE_ANONYMOUS_NORESERVE, NOREPLACE = 5 << 30, 0x4022, 0x100000


class Points(Record):
    x = Field(real)


@shared
def half(x: real) -> real:
    return x * np.float32(0.5)


def maker(k):
    def body(i, points: Points):
        points.x[i] = half(points.x[i]) * np.float32(1.25 + k) + np.float32(0.1 * k + 0.3)

    return kernel(body)


def occupy(around):
    # map all that is free within reach
    libc = ctypes.CDLL(None)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    with open("/proc/self/maps") as maps:
        spans = [[int(n, 16) for n in line.split()[0].split("-")] for line in maps]
    for (_, low), (high, _) in zip(spans, spans[1:]):
        low, high = max(low, around - FAR), min(high, around + FAR)
        if high > low:
            libc.mmap(low, high - low, 0, PRIVATE_ANONYMOUS_NORESERVE | NOREPLACE, -1, 0)


points, expected = Points.zeros(4), 0.0
for k in range(24):
    p = Program()
    p.launch(maker(k), points, count=4)
    p.prepare()
    if k == 0:
        occupy(half.native(np.float32).address)
    p.run()
    expected = 0.5 * expected * (1.25 + k) + 0.1 * k + 0.3
    assert np.allclose(points.x, expected, rtol=1e-4), k
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="maps memory at addresses")
def test_objects_are_loaded_wherever_memory_is_free(tmp_path):
    """Code reaches its constants and the functions that it calls, also where large mappings lie in between."""
    script = tmp_path / "scattered.py"
    script.write_text(SCATTERED)
    environment = {**os.environ, "SHINARI_CACHE_DIR": str(tmp_path / "cache"), "SHINARI_COMPILE_PROCESSES": "1"}
    subprocess.run([sys.executable, script], check=True, env=environment)


def test_another_generator_of_code_is_another_file(monkeypatch):
    """Kernels that an earlier version of the execution layer has compiled are not taken for those of this one."""

    @kernel
    def nothing(i, count: int):
        pass

    def symbol() -> str:
        kernels.toolchain.cache_clear()
        return kernels.Native(nothing, np.float32).symbol

    try:
        before = symbol()
        assert symbol() == before
        monkeypatch.setattr(kernels, "generator", lambda: "another")
        assert symbol() != before
    finally:
        monkeypatch.undo()
        kernels.toolchain.cache_clear()
