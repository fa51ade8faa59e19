"""Runs read back from the files they wrote: equal, frame by frame; and what is no run of shinari is refused."""

import os
import signal
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.cli.info import describe
from shinari.errors import FileError
from shinari.io.frame_queue import frame_dtype
from shinari.io.frames import frame_of, layout_of, measures_of
from shinari.io.npz import read_npz
from shinari.io.results import MEASURES, Body, DrawnPart, Frame, Layout, check_frame, frame_shapes
from shinari.io.run_reader import open_cache
from shinari.output.recorder import Recorder
from shinari.output.writers import open_writer

FORMATS = (".npz", ".vtkhdf")
CUBE = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
EVERYTHING = Layout(
    parts=(
        DrawnPart("my/cloth", "mesh", 0, 4, np.array([[0, 1, 2], [1, 3, 2]]), varies=True, cloth=True),
        DrawnPart("rope", "curve", 4, 8, radius=0.012345678901234, varies=True),
        DrawnPart("water", "points", 8, 13, radius=0.1, varies=True, fluid=True, surface=True),
        DrawnPart("oil", "points", 13, 15, radius=0.1, fluid=True),
        DrawnPart("jelly", "mesh", 17, 21, TETRAHEDRON),
    ),
    bodies=(
        Body("box", CUBE[:4].astype(np.float32), TETRAHEDRON, rigid=True),
        Body("basin", CUBE[:4].astype(np.float32), TETRAHEDRON[:, ::-1]),
    ),
    particle_count=17,
    frames_per_second=48.0,
    vertex_count=4,
    measured=True,
)
LAYOUTS = {
    "everything": EVERYTHING,
    "not measured": replace(EVERYTHING, measured=False),
    "points only": Layout((DrawnPart("grains", "points", 0, 3),), (), 3, 30.0, measured=True),
    "bodies only": Layout((), EVERYTHING.bodies, 0, 30.0, measured=True),
}


def random_frame(layout: Layout, index: int) -> Frame:
    random, kinds = np.random.default_rng(index), frame_dtype(layout)
    values = {}
    for name, shape in frame_shapes(layout).items():
        kind = kinds[name].base
        numbers = random.random(shape) > 0.5 if kind.kind == "b" else random.normal(size=shape)
        values[name] = numbers.astype(kind)
    return Frame(time=index / 48.0, **values)


def write(path: Path, layout: Layout, count: int = 3) -> list[Frame]:
    frames = [random_frame(layout, index) for index in range(count)]
    with open_writer(path, layout, title="a run") as writer:
        for frame in frames:
            writer.write(frame)
    return frames


def same_layout(one: Layout, other: Layout) -> None:
    """Every field of every part and body; meshes by their values."""
    for things in ("parts", "bodies"):
        for mine, theirs in zip(getattr(one, things), getattr(other, things), strict=True):
            for item in fields(mine):
                a, b = getattr(mine, item.name), getattr(theirs, item.name)
                equal = np.array_equal(a, b) if isinstance(a, np.ndarray) else (a, type(a)) == (b, type(b))
                assert equal, (mine.name, item.name, a, b)
    assert replace(one, parts=(), bodies=()).__dict__ == replace(other, parts=(), bodies=()).__dict__


def same_frame(one: Frame, other: Frame) -> None:
    for item in fields(one):
        a, b = np.asarray(getattr(one, item.name)), np.asarray(getattr(other, item.name))
        assert a.shape == b.shape, item.name
        assert np.array_equal(a.astype(b.dtype), b), item.name


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_what_was_written_is_read_back_equal(tmp_path: Path, suffix: str, name: str) -> None:
    layout = LAYOUTS[name]
    frames = write(tmp_path / f"run{suffix}", layout)
    with open_cache(tmp_path / f"run{suffix}") as cache:
        assert (cache.title, len(cache)) == ("a run", 3)
        assert np.array_equal(cache.times, [frame.time for frame in frames])
        same_layout(layout, cache.layout)
        gathered = cache.frames()
        assert gathered.dtype == frame_dtype(layout)
        assert isinstance(gathered, np.memmap)
        for index, frame in enumerate(frames):
            same_frame(frame, cache.frame(index))
            check_frame(cache.frame(index), layout)
            for field in gathered.dtype.names:
                assert np.array_equal(gathered[field][index], np.asarray(getattr(frame, field))), field
        same_frame(cache.frame(-1), frames[-1])
        with pytest.raises(IndexError, match="no frame 3"):
            cache.frame(3)


@pytest.mark.parametrize("suffix", FORMATS)
def test_bodies_are_hollow_when_they_were(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"run{suffix}", EVERYTHING)
    with open_cache(tmp_path / f"run{suffix}") as cache:
        assert [body.hollow for body in cache.layout.bodies] == [body.hollow for body in EVERYTHING.bodies]


def test_a_run_keeps_what_was_measured_in_it(tmp_path: Path) -> None:
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(5, 5)), name="cloth")
    cloth.pin([0])
    scene.add_rope([[3.0, 0.0, 0.0], [4.0, 0.0, 0.0]], name="rope")
    simulation = sn.Simulation(scene, dt=1 / 30, threads=1)
    measured = []
    with Recorder(simulation, [tmp_path / f"run{suffix}" for suffix in FORMATS]) as recorder:
        for _ in range(3):
            recorder.record()
            measured.append((simulation.measure(), simulation.state.positions.copy()))
            simulation.step()
    for suffix in FORMATS:
        with open_cache(tmp_path / f"run{suffix}") as cache:
            same_layout(layout_of(scene, 30.0, measured=True), cache.layout)
            assert np.array_equal(cache.measures(), [measures_of(found) for found, _ in measured])
            for index, (found, positions) in enumerate(measured):
                frame = cache.frame(index)
                assert np.array_equal(frame.positions, positions)
                assert np.array_equal(frame.strains, found.strains.astype(np.float32))
                assert np.array_equal(frame.forces, found.forces.astype(np.float32))
    energy = simulation.energy()
    last = dict(zip(MEASURES, frame_of(simulation, measured=True).measures, strict=True))
    assert (last["kinetic"], last["gravitational"], last["elastic"]) == (
        energy.kinetic, energy.gravitational, energy.elastic,
    )  # fmt: skip
    assert np.array_equal([last[f"momentum_{axis}"] for axis in "xyz"], simulation.momentum())
    assert np.array_equal([last[f"angular_momentum_{axis}"] for axis in "xyz"], simulation.angular_momentum())
    assert last["residual"] == float(simulation.residual())


def test_only_formats_that_keep_it_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = sn.Scene()
    scene.add_rope([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    simulation = sn.Simulation(scene, threads=1)
    monkeypatch.setattr(sn.Simulation, "measure", lambda self: pytest.fail("measured for nobody"))
    with Recorder(simulation, [tmp_path / "run.ply"]) as recorder:
        recorder.record()


def test_a_killed_run_can_be_opened(tmp_path: Path) -> None:
    script = """
        import os, signal, sys
        sys.path.insert(0, {tests!r})
        from test_cache import EVERYTHING, random_frame
        from shinari.output.writers import open_writer
        writers = [open_writer({folder!r} + "/run" + suffix, EVERYTHING, title="cut") for suffix in (".npz", ".vtkhdf")]
        for index in range(3):
            for writer in writers:
                writer.write(random_frame(EVERYTHING, index))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    code = textwrap.dedent(script).format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    for name in ("run.partial.npz.npy", "run.partial.vtkhdf"):
        with open_cache(tmp_path / name) as cache:
            assert (cache.title, len(cache)) == ("cut", 3)
            same_layout(EVERYTHING, cache.layout)
            for index in range(3):
                same_frame(random_frame(EVERYTHING, index), cache.frame(index))
            assert np.array_equal(cache.frames()["time"], np.arange(3) / 48.0)
        facts = describe(tmp_path / name)
        assert (facts["kind"], facts["title"], facts["frames"]) == ("result", "cut", 3)
        assert facts["parts"] == [part.name for part in EVERYTHING.parts]


def test_a_spool_without_its_layout_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "run.partial.npz.npy", np.zeros(3, frame_dtype(EVERYTHING)))
    with pytest.raises(FileError, match=r"run\.partial\.npz\.layout"):
        open_cache(tmp_path / "run.partial.npz.npy")


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "foreign.npz", positions=np.zeros((2, 3, 3)))
    np.savez_compressed(tmp_path / "packed.npz", times=np.zeros(2))
    (tmp_path / "text.npz").write_text("no archive")
    (tmp_path / "text.vtkhdf").write_text("no HDF5")
    (tmp_path / "folder.npz").mkdir()
    (tmp_path / "mesh.obj").write_text("v 0 0 0")
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "foreign.vtkhdf", "w") as file:
        file.create_group("VTKHDF")
    for name, message in {
        "none.npz": "no such file",
        "none.vtkhdf": "no such file",
        "folder.npz": "is a folder",
        "mesh.obj": "expected .npz or .vtkhdf",
        "text.npz": "cannot be read",
        "text.vtkhdf": "cannot be read",
        "packed.npz": "compressed",
        "foreign.npz": "'part_names' missing",
        "foreign.vtkhdf": "no run of shinari",
    }.items():
        with pytest.raises(FileError, match=message) as caught:
            open_cache(tmp_path / name)
        assert name in str(caught.value)


@pytest.mark.parametrize("suffix", [".npz", ".vtkhdf"])
def test_a_run_that_is_closed_has_no_frames(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"run{suffix}", EVERYTHING)
    with open_cache(tmp_path / f"run{suffix}") as cache:
        cache.frame(0)
    for read in (lambda: cache.frame(0), cache.measures, cache.frames):
        with pytest.raises(FileError, match="is closed"):
            read()
    cache.close()


@pytest.mark.parametrize("missing", ["part_radii", "particle_count", "velocities", "drawn_rope", "measure_names"])
def test_an_archive_that_lacks_something_says_what(tmp_path: Path, missing: str) -> None:
    write(tmp_path / "run.npz", EVERYTHING)
    arrays = {name: array for name, array in read_npz(tmp_path / "run.npz").items() if name != missing}
    arrays = {name.replace("/", "%"): array for name, array in arrays.items()}
    with zipfile.ZipFile(tmp_path / "less.npz", "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name.replace('%', '/')}.npy", "w") as stream:
                np.lib.format.write_array(stream, array)
    if missing == "measure_names":  # a run that was not measured is one all the same
        with open_cache(tmp_path / "less.npz") as cache:
            assert not cache.layout.measured
            with pytest.raises(FileError, match="holds no measures"):
                cache.measures()
        return
    with pytest.raises(FileError, match=rf"'{missing}' missing"):
        open_cache(tmp_path / "less.npz")


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_file_that_was_cut_short_is_refused(tmp_path: Path, suffix: str) -> None:
    write(tmp_path / f"run{suffix}", EVERYTHING, 40)
    data = (tmp_path / f"run{suffix}").read_bytes()
    for part in (0.05, 0.5, 0.9):
        (tmp_path / f"cut{suffix}").write_bytes(data[: int(part * len(data))])
        with pytest.raises(FileError, match=f"cut{suffix}"):
            open_cache(tmp_path / f"cut{suffix}")


def test_tables_that_disagree_are_refused(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    write(tmp_path / "run.npz", EVERYTHING)
    write(tmp_path / "run.vtkhdf", EVERYTHING)
    with h5py.File(tmp_path / "run.vtkhdf", "r+") as file:
        file["VTKHDF/Points"].resize(10, axis=0)
    with pytest.raises(FileError, match=r"Points has shape \(10, 3\) of float32, expected numbers for 3 steps"):
        open_cache(tmp_path / "run.vtkhdf")
    arrays = read_npz(tmp_path / "run.npz")
    with zipfile.ZipFile(tmp_path / "run.npz", "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w") as stream:
                np.lib.format.write_array(stream, array[:2] if name == "strains" else array)
    with pytest.raises(FileError, match=r"shape \(2, 21\) of float32, expected numbers of shape \(3, 21\)"):
        open_cache(tmp_path / "run.npz")


def test_frames_are_read_from_the_file_and_not_kept(tmp_path: Path) -> None:
    """A run of 60 MB is read frame by frame with a few MB more of memory."""
    layout = Layout((DrawnPart("grains", "points", 0, 25_000),), (), 25_000, 30.0, measured=True)
    frame = random_frame(layout, 0)
    with open_writer(tmp_path / "run.vtkhdf", layout) as writer:
        for index in range(75):
            writer.write(replace(frame, time=float(index)))
    script = """
        import resource, sys
        from shinari.io.run_reader import open_cache
        cache = open_cache(sys.argv[1])
        cache.frame(0)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for index in range(len(cache)):
            assert cache.frame(index).positions.sum() != 0.0
        print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000.0)
    """
    grown = float(
        subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script), str(tmp_path / "run.vtkhdf")],
            capture_output=True, text=True, check=True,
        ).stdout
    )  # fmt: skip
    assert grown < 15.0


@pytest.mark.parametrize("suffix", FORMATS)
def test_info_tells_whether_a_run_was_measured(tmp_path: Path, suffix: str) -> None:
    for name, told in (("everything", True), ("not measured", False)):
        write(tmp_path / f"run{suffix}", LAYOUTS[name])
        assert ("strains" in describe(tmp_path / f"run{suffix}")["measured"]) == told


def test_a_full_disk_is_told_when_frames_are_gathered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "run.npz", EVERYTHING)
    monkeypatch.setattr("tempfile.TemporaryFile", lambda: open("/dev/full", "wb"))  # noqa: SIM115  closed by its user
    with open_cache(tmp_path / "run.npz") as cache, pytest.raises(FileError, match=r"run\.npz: no room"):
        cache.frames()
