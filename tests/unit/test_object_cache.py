"""Damaged, full, read-only, missing and contended caches of a whole scene: they cost time, and no bit."""

import errno
import itertools
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.compute import cached_files
from shinari.compute.array_cache import load_arrays, store_arrays

DAMAGES = {
    "emptied": lambda data: b"",
    "truncated": lambda data: data[: len(data) // 2],
    "one byte short": lambda data: data[:-1],
    "random": lambda data: np.random.default_rng(0).bytes(len(data)),
    "one bit": lambda data: data[: len(data) // 2] + bytes([data[len(data) // 2] ^ 1]) + data[len(data) // 2 + 1 :],
    "zeros": lambda data: bytes(len(data)),
}

# Two particles: how they end, and how many kernels were compiled and loaded for them.
SCENE = """
import hashlib
import shinari as sn
from shinari.compute import object_files, compiling
scene = sn.Scene()
scene.add_particles([[1, 2, 3], [1, 3, 3]], velocity=(0, 1, 0))
sim = sn.Simulation(scene, threads=1, substeps=2)
sim.step(3)
print(hashlib.sha256(sim.state.positions.tobytes()).hexdigest(), len(compiling.compiled), len(object_files.loaded))
"""


def command(script: str, folder: Path, **environment: str) -> dict:
    """Arguments of `subprocess` for a process whose cache is in a folder."""
    variables = {**os.environ, "PYTHONPATH": str(Path(sn.__file__).parents[1]), "SHINARI_CACHE_DIR": str(folder)}
    return {"args": [sys.executable, "-c", script], "env": variables | environment, "text": True}


def run(folder: Path, script: str = SCENE, **environment: str) -> tuple[str, int, int, str]:
    """How a scene ends in a process of its own, kernels compiled and loaded, and what is said on standard error."""
    done = subprocess.run(**command(script, folder, **environment), capture_output=True, timeout=900)
    assert done.returncode == 0, done.stderr
    end, compiled, loaded = done.stdout.split()
    return end, int(compiled), int(loaded), done.stderr


@pytest.fixture(scope="module")
def warm(tmp_path_factory) -> tuple[Path, str, int]:
    """A folder in which the kernels of the scene are, how it ends, and how many they are."""
    folder = tmp_path_factory.mktemp("caches")
    end, compiled, loaded, told = run(folder)
    assert compiled == loaded > 2
    assert "CacheWarning" not in told
    return folder, end, compiled


@pytest.fixture
def filled(warm, tmp_path) -> tuple[Path, str, int]:
    """A copy of it."""
    folder, end, count = warm
    shutil.copytree(folder, tmp_path / "cache")
    return tmp_path / "cache", end, count


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_all_files_damaged_at_once(filled):
    """Each file in another way: the run goes as before, with one warning that names the folder, and mends them all."""
    folder, end, count = filled
    whole = {path: path.read_bytes() for path in files_of(folder)}
    assert len(whole) == count
    for path, damage in zip(whole, itertools.cycle(DAMAGES.values()), strict=False):
        path.write_bytes(damage(whole[path]))
    same, compiled, _, told = run(folder)
    assert (same, compiled) == (end, count)
    assert told.count("CacheWarning: cache") == 1
    assert "damaged" in told
    assert str(folder) in told
    assert files_of(folder) == list(whole)
    same, compiled, _, told = run(folder)
    assert (same, compiled) == (end, 0)
    assert "CacheWarning" not in told


def test_one_file_is_missing(filled):
    folder, end, _ = filled
    files_of(folder)[0].unlink()
    assert run(folder)[:2] == (end, 1)
    assert run(folder)[:2] == (end, 0)


def test_all_files_deleted_while_it_runs(filled):
    folder, end, count = filled
    script = SCENE.replace("sim.step(3)", f"import shutil; shutil.rmtree({str(folder)!r}); sim.step(3)")
    assert run(folder, script)[:2] == (end, 0)
    assert run(folder)[:2] == (end, count)


def test_the_folder_is_deleted_between_import_and_first_use(filled):
    folder, end, count = filled
    script = (
        "import shutil\nfrom shinari.compute import object_files\nobject_files.folder()\n"
        f"shutil.rmtree({str(folder)!r})\n"
    )
    same, compiled, _, told = run(folder, script + SCENE)
    assert (same, compiled) == (end, count)
    assert len(files_of(folder)) == count
    assert "CacheWarning" not in told


@pytest.mark.skipif(sys.platform == "win32", reason="there are no limits of files here")
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_full_disk(warm, tmp_path, processes):
    """No file can grow beyond a hundred bytes: what is written is not kept, and nothing broken is left."""
    _, end, count = warm
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
    same, compiled, _, told = run(tmp_path, limit + SCENE, SHINARI_COMPILE_PROCESSES=processes)
    assert (same, compiled) == (end, count)
    assert "cannot be written" in told
    assert not files_of(tmp_path)


@pytest.mark.parametrize("what", ["read only", "a file", "nowhere"])
def test_a_folder_that_cannot_be_written(warm, tmp_path, what):
    """Kernels are then compiled in each process, and nothing is left where it must not be."""
    _, end, count = warm
    folder, made = tmp_path / "cache", tmp_path / "temporary"
    made.mkdir()
    if what == "a file":
        folder.write_text("no folder")
    elif what == "nowhere":
        folder = Path("/proc/self/nowhere") if sys.platform == "linux" else Path(os.devnull) / "cache"
    else:
        folder.mkdir()
        folder.chmod(stat.S_IRUSR | stat.S_IXUSR)
        if os.access(folder, os.W_OK):
            pytest.skip("this user may write everywhere")
    same, compiled, _, told = run(folder, TMPDIR=str(made))
    assert (same, compiled) == (end, count)
    assert told.count("CacheWarning: cache") == 1
    assert f"{folder / 'objects'}: cannot be written" in told
    assert not folder.is_dir() or not files_of(folder)
    assert not list(made.iterdir())


def test_kernels_in_a_folder_that_cannot_be_written_are_found(filled, tmp_path):
    """Nothing is to be written, and nothing is said."""
    folder, end, _ = filled
    script = "import tempfile\ndef refuse(**_):\n    raise OSError\ntempfile.TemporaryFile = refuse\n"
    same, compiled, _, told = run(folder, script + SCENE)
    assert (same, compiled) == (end, 0)
    assert "CacheWarning" not in told


def test_the_home_folder_may_be_written_as_a_tilde(filled):
    folder, end, _ = filled
    assert run(Path("~/cache"), HOME=str(folder.parent))[:2] == (end, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no such pipes here")
def test_pipes_in_place_of_files_are_damaged_files(filled):
    """They would be waited for without end; a folder there stays, and its kernel is compiled in each process."""
    folder, end, count = filled
    pipe, inner, locked, *_ = files_of(folder)
    pipe.unlink()
    os.mkfifo(pipe)
    inner.unlink()
    inner.mkdir()
    locked.unlink()
    os.mkfifo(locked.with_suffix(".lock"))
    same, compiled, _, told = run(folder, SHINARI_COMPILE_PROCESSES="2")
    assert (same, compiled) == (end, 3)
    assert told.count("CacheWarning: cache") >= 1
    assert run(folder)[:2] == (end, 1)
    assert len(files_of(folder)) == count - 1


def test_kernels_of_a_folder_that_became_read_only(filled):
    """What is there is loaded; the rest is compiled for the process."""
    folder, end, _ = filled
    gone = files_of(folder)[0]
    gone.unlink()
    script = """
import errno
from shinari.compute import cached_files
def refuse(path, content):
    raise OSError(errno.EROFS, "Read-only file system")
cached_files.write_whole = refuse
"""
    same, compiled, _, told = run(folder, script + SCENE, SHINARI_COMPILE_PROCESSES="1")
    assert (same, compiled) == (end, 1)
    assert "cannot be written (Read-only file system)" in told
    assert not gone.exists()


def test_processes_at_once(warm, tmp_path):
    """Four with one empty cache, one of them in double precision: nobody finds the kernels of the other precision."""
    _, end, count = warm
    double = SCENE.replace("substeps=2", "substeps=2, precision='float64'")
    scripts = [SCENE, double, SCENE, SCENE]
    processes = [subprocess.Popen(**command(script, tmp_path), stdout=subprocess.PIPE) for script in scripts]
    ends = [process.communicate(timeout=900)[0].split()[0] for process in processes]
    assert ends[0] == ends[2] == ends[3] == end
    assert ends[1] != end
    for script, expected in zip(scripts[:2], ends, strict=False):
        assert run(tmp_path, script)[:2] == (expected, 0)
    assert all(path.suffix == ".o" for path in files_of(tmp_path))
    assert len(files_of(tmp_path)) > count


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=list(DAMAGES))
def test_damaged_arrays_are_made_anew(tmp_path, monkeypatch, damage):
    monkeypatch.setenv("SHINARI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cached_files, "_warned", type(cached_files._warned)())
    parts, arrays = [np.arange(3.0)], [np.ones((2, 2)), np.arange(5)]
    store_arrays("tests", parts, "code", arrays)
    (path,) = (tmp_path / "tests").iterdir()
    path.write_bytes(damage(path.read_bytes()))
    with pytest.warns(sn.CacheWarning, match=f"{tmp_path}.*damaged"):
        assert load_arrays("tests", parts, "code") is None
    assert not path.exists()
    store_arrays("tests", parts, "code", arrays)
    loaded = load_arrays("tests", parts, "code")
    assert loaded is not None
    for one, array in zip(loaded, arrays, strict=True):
        np.testing.assert_array_equal(one, array)


def test_every_byte_of_a_file_can_be_missing_or_wrong(tmp_path, monkeypatch):
    monkeypatch.setattr(cached_files, "warn_of_cache", lambda folder, problem: None)
    path = tmp_path / "file"
    assert cached_files.write_verified(path, b"some data")
    good = path.read_bytes()
    for k in range(len(good)):
        for damaged in (good[:k], good[:k] + bytes([good[k] ^ 0x10]) + good[k + 1 :]):
            path.write_bytes(damaged)
            assert cached_files.read_verified(path) is None
            assert not path.exists()
    path.write_bytes(good)
    assert cached_files.read_verified(path) == b"some data"


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EIO])
def test_a_disk_that_refuses(tmp_path, monkeypatch, code):
    def refuse(self, data):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(Path, "write_bytes", refuse)
    monkeypatch.setattr(cached_files, "_warned", type(cached_files._warned)())
    with pytest.warns(sn.CacheWarning, match=os.strerror(code)):
        assert not cached_files.write_verified(tmp_path / "file", b"data")
    store_arrays("tests", [np.zeros(1)], "refuse", [np.ones(1)])
    with pytest.raises(OSError, match=os.strerror(code)):
        cached_files.write_whole(tmp_path / "other", b"data")
    assert not list(tmp_path.iterdir())
