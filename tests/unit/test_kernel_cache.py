"""Damaged, full, missing and contended caches: a run costs time then, and nothing else."""

import errno
import importlib.util
import itertools
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.build.array_cache import load_arrays, store_arrays
from shinari.compute import files
from shinari.compute.files import write_whole
from shinari.maths import kernel_cache
from shinari.maths.kernel_cache import KernelFiles

DAMAGES = {
    "emptied": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "random": lambda data: np.random.default_rng(0).bytes(len(data)),
    "one bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "zeros": lambda data: bytes(len(data)),
}
damages = pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))

# A rope on one thread, and how many kernels of the engine were compiled and how many loaded.
SCENE = """
import gc, hashlib
from numba.core.dispatcher import Dispatcher
import shinari as sn
scene = sn.Scene()
scene.add_rope([[0.1 * k, 0, 0] for k in range(4)]).pin([0])
sim = sn.Simulation(scene, threads=1, substeps=2)
sim.step(3)
kernels = [k for k in gc.get_objects() if isinstance(k, Dispatcher) and k.stats.cache_path]
print(hashlib.sha256(sim.state.positions.tobytes()).hexdigest())
print(sum(sum(k.stats.cache_misses.values()) for k in kernels), sum(sum(k.stats.cache_hits.values()) for k in kernels))
"""

# The same without rows: fewer kernels.
PARTICLE = SCENE.replace("add_rope([[0.1 * k, 0, 0] for k in range(4)]).pin([0])", "add_particles([[1, 2, 3]])")

KERNEL = """
import numba

@numba.njit(cache=True)
def double(x):
    return 2 * x
"""


@pytest.fixture(autouse=True)
def nothing_told(monkeypatch):
    """The warning comes once in a process; each test here is to see it."""
    import threading

    monkeypatch.setattr(files, "_warned", threading.Event())


def run(folder: Path, script: str = SCENE, **environment: str) -> tuple[list[str], str]:
    """What a process of its own prints whose caches are in a folder, and what it says on standard error."""
    variables = {
        **os.environ,
        "PYTHONPATH": str(Path(sn.__file__).parents[1]),
        "SHINARI_CACHE_DIR": str(folder / "rendered"),
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        **environment,
    }
    done = subprocess.run([sys.executable, "-c", script], env=variables, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.fixture(scope="module")
def end() -> str:
    """The hash of how the particle ends."""
    done = run(Path(os.devnull).parent, PARTICLE, SHINARI_CACHE_DIR="", NUMBA_CACHE_DIR="")
    return done[0][0]


@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> tuple[Path, str]:
    """A folder of caches in which the kernels of the rope are, and the hash of how the rope ends."""
    folder = tmp_path_factory.mktemp("caches")
    (end, misses, _), _ = run(folder)
    assert int(misses) > 0
    return folder, end


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def tiny(folder: Path):
    """A module with one kernel that counts as one of the engine, imported anew: as another process would."""
    path = folder / "shinari_kernel_tiny.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("shinari_kernel_tiny", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["shinari_kernel_tiny"] = module
    spec.loader.exec_module(module)
    return module.double


def compiled(kernel) -> int:
    return sum(kernel.stats.cache_misses.values())


def test_all_files_damaged_at_once(warm):
    """Each file in another way: the run goes as before, with one warning that names the folder, and mends them all."""
    folder, end = warm
    for path, damage in zip(files_of(folder), itertools.cycle(DAMAGES.values()), strict=False):
        path.write_bytes(damage(path.read_bytes()))
    (same, misses, _), told = run(folder)
    assert same == end
    assert int(misses) > 0
    assert told.count("CacheWarning") == 1
    assert "damaged" in told
    assert str(folder) in told
    (same, misses, hits), told = run(folder)
    assert (same, int(misses)) == (end, 0)
    assert int(hits) > 0
    assert "CacheWarning" not in told


def test_all_files_deleted_while_it_runs(end, tmp_path):
    script = PARTICLE.replace("sim.step(3)", "import shutil; shutil.rmtree({folder!r}); sim.step(3)").format(
        folder=str(tmp_path)
    )
    assert run(tmp_path, script)[0][0] == end


def test_a_full_disk(end, tmp_path):
    """No file can grow beyond a hundred bytes: what is written is not kept, and nothing broken is left."""
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    (same, misses, hits), told = run(tmp_path, limit + PARTICLE)
    assert same == end
    assert int(misses) > 0
    assert int(hits) == 0
    assert told.count("CacheWarning") == 1
    assert "cannot be written" in told
    assert not files_of(tmp_path)


def test_two_processes_at_once(end, tmp_path):
    """Also with different signatures of the same kernels: neither finds the code of the other."""
    variables = {
        **os.environ,
        "PYTHONPATH": str(Path(sn.__file__).parents[1]),
        "SHINARI_CACHE_DIR": str(tmp_path / "rendered"),
        "NUMBA_CACHE_DIR": str(tmp_path / "kernels"),
    }
    double = PARTICLE.replace("substeps=2", "substeps=2, precision='float64'")
    scripts = [PARTICLE, double, PARTICLE]
    processes = [
        subprocess.Popen([sys.executable, "-c", script], env=variables, stdout=subprocess.PIPE, text=True)
        for script in scripts
    ]
    results = [process.communicate(timeout=300)[0].split() for process in processes]
    assert results[0][0] == results[2][0] == end
    for script, result in zip(scripts[:2], results, strict=False):
        (same, misses, _), told = run(tmp_path, script)
        assert same == result[0]
        assert int(misses) == 0
        assert "CacheWarning" not in told


@damages
def test_a_damaged_kernel_is_compiled_anew(tmp_path, damage):
    assert tiny(tmp_path)(3) == 6
    (path,) = (tmp_path / "__pycache__").glob("*.nbc")
    path.write_bytes(damage(path.read_bytes()))
    again = tiny(tmp_path)
    with pytest.warns(sn.CacheWarning, match=f"{tmp_path}.*damaged"):
        assert again(3) == 6
    assert compiled(again) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        third = tiny(tmp_path)
        assert third(3) == 6
    assert compiled(third) == 0


def test_a_damaged_file_is_told_of_once(tmp_path):
    kernel = tiny(tmp_path)
    assert (kernel(3), kernel(3.0)) == (6, 6.0)
    for path in (tmp_path / "__pycache__").glob("*.nbc"):
        path.write_bytes(b"")
    again = tiny(tmp_path)
    with pytest.warns(sn.CacheWarning) as told:
        assert (again(3), again(3.0)) == (6, 6.0)
    assert len(told) == 1


def test_every_part_of_a_file_can_be_missing_or_wrong(tmp_path):
    files = KernelFiles(str(tmp_path), "kernel", "source")
    files.save("key", ("some", "data"))
    (path,) = tmp_path.iterdir()
    good = path.read_bytes()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for k in range(len(good)):
            for damaged in (good[:k], good[:k] + bytes([good[k] ^ 0x10]) + good[k + 1 :]):
                path.write_bytes(damaged)
                assert files.load("key") is None
                assert not path.exists()
    path.write_bytes(good)
    assert files.load("key") == ("some", "data")
    assert KernelFiles(str(tmp_path), "kernel", "another source").load("key") is None
    assert files.load("another key") is None
    path.rename(files._path("another key"))
    assert files.load("another key") is None


def test_a_file_of_another_version_is_compiled_anew(tmp_path, monkeypatch):
    """Its sum is right, but what is in it cannot be loaded."""
    assert tiny(tmp_path)(3) == 6
    monkeypatch.setattr(kernel_cache.pickle, "loads", lambda data: 1 / 0)
    again = tiny(tmp_path)
    with pytest.warns(sn.CacheWarning):
        assert again(3) == 6


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_disk_that_refuses(tmp_path, monkeypatch, code):
    def refuse(self, data):
        raise OSError(code, os.strerror(code))

    kernel = tiny(tmp_path)
    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.warns(sn.CacheWarning, match=os.strerror(code)):
        assert kernel(3) == 6
    store_arrays("tests", [np.zeros(1)], "refuse", [np.ones(1)])
    with pytest.raises(OSError, match=os.strerror(code)):
        write_whole(tmp_path / "other", b"data")
    assert not list((tmp_path / "__pycache__").iterdir())


def test_a_folder_that_has_gone_comes_back(tmp_path):
    import shutil

    kernel = tiny(tmp_path)
    assert kernel(3) == 6
    shutil.rmtree(tmp_path / "__pycache__")
    assert kernel(3.0) == 6.0
    assert len(list((tmp_path / "__pycache__").iterdir())) == 1


def test_no_folder_at_all(tmp_path, monkeypatch):
    """Neither beside the source nor in the user's cache: as in a container whose disk is read only."""

    def refuse(self):
        raise OSError(errno.EROFS, "read only")

    monkeypatch.setattr("numba.core.caching._CacheLocator.ensure_cache_path", refuse)
    with pytest.warns(sn.CacheWarning, match="each process compiles anew"):
        kernel = tiny(tmp_path)
    assert kernel(3) == 6


def test_kernels_of_others_are_left_to_numba(tmp_path):
    source = tmp_path / "someone_elses.py"
    source.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("someone_elses", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.double(3) == 6
    assert len(list((tmp_path / "__pycache__").glob("*.nbi"))) == 1


@damages
def test_damaged_arrays_are_made_anew(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path))
    parts, arrays = [np.arange(3.0)], [np.ones((2, 2)), np.arange(5)]
    store_arrays("tests", parts, "code", arrays)
    (path,) = (tmp_path / "tests").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(sn.CacheWarning, match=f"{tmp_path}.*damaged"):
        assert load_arrays("tests", parts, "code") is None
    assert not path.exists()
    store_arrays("tests", parts, "code", arrays)
    for loaded, array in zip(load_arrays("tests", parts, "code"), arrays, strict=True):
        np.testing.assert_array_equal(loaded, array)
