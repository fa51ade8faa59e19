"""What every format promises: checked when opened, whole or not at all, readable after a failure."""

import errno
import os
import resource
import signal
import subprocess
import sys
import textwrap
from contextlib import closing, contextmanager
from dataclasses import replace

import numpy as np
import pytest

from shinari.errors import FileError, MissingExtraError, SceneError
from shinari.io.frame_queue import FrameQueue
from shinari.io.npz import read_npz
from shinari.io.results import Body, DrawnPart, Frame, Layout
from shinari.io.vtkhdf_reader import VtkhdfFrames
from shinari.output.writers import FORMATS, open_writer

ONE_PICTURE = [suffix for suffix in FORMATS if suffix not in (".jpg", ".mp4", ".gif")]
"""The formats, but of those that are drawn, which takes seconds, the picture alone."""
FAST = [".npz", ".ply", ".usdc", ".usda", ".vtkhdf", ".glb", ".pc2", ".mdd"]
POINT_CACHES = (".pc2", ".mdd")
TETRAHEDRON = np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
LAYOUT = Layout(
    parts=(
        DrawnPart("cloth", "mesh", 0, 4, faces=np.array([[0, 1, 2], [1, 3, 2]])),
        DrawnPart("rope", "curve", 4, 7, radius=0.01),
        DrawnPart("grains", "points", 7, 9),
    ),
    bodies=(Body("ball", np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]), TETRAHEDRON),),
    particle_count=10,
    frames_per_second=50.0,
)


def frame(index: int, layout: Layout = LAYOUT) -> Frame:
    random = np.random.default_rng(index)
    half = 0.1 * index
    rotations = np.tile([np.cos(half), 0, np.sin(half), 0], (len(layout.bodies), 1))
    shape = (layout.particle_count, 3)
    return Frame(
        index / layout.frames_per_second,
        random.normal(size=shape),
        random.normal(size=shape),
        np.full((len(layout.bodies), 3), 0.25 * index),
        rotations,
        np.full((len(layout.bodies), 3), 12.5),
        np.full((len(layout.bodies), 3), 0.5),
    )


def read_vtkhdf(path):
    """Times (T,), positions and velocities (T, P, 3) of a VTKHDF file."""
    with closing(VtkhdfFrames(path)) as run:
        count = len(run.times)
        return run.times, run.rows("positions", 0, count), run.rows("velocities", 0, count)


def write(path, count, layout=LAYOUT):
    with open_writer(path, layout, title="a run") as writer:
        for index in range(count):
            writer.write(frame(index, layout))


def names_of(suffix, count):
    """Files of a run of `LAYOUT`."""
    if suffix == ".ply":
        return [f"run_000{index}.ply" for index in range(count)]
    if suffix in POINT_CACHES:
        things = ("cloth", "colliders", "grains", "rope")
        return sorted(f"run_{thing}{suffix}{obj}" for thing in things for obj in ("", ".obj"))
    return [f"run{suffix}"]


def contents(folder):
    return {path.name: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_closed_file_is_whole_and_nothing_else_is_left(tmp_path, suffix):
    write(tmp_path / f"run{suffix}", 3)
    names = {path.name for path in tmp_path.iterdir()}
    assert names == set(names_of(suffix, 3))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_run_without_a_frame_makes_no_file_and_keeps_the_earlier_one(tmp_path, suffix):
    write(tmp_path / f"run{suffix}", 0)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / f"run{suffix}").write_text("earlier")
    write(tmp_path / f"run{suffix}", 0)
    assert contents(tmp_path) == {f"run{suffix}": b"earlier"}


@pytest.mark.parametrize("suffix", FAST)
def test_ctrl_c_leaves_the_frames_so_far(tmp_path, suffix):
    def interrupted():
        with open_writer(tmp_path / f"run{suffix}", LAYOUT) as writer:
            writer.write(frame(0))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(contents(tmp_path)) == names_of(suffix, 1)


@pytest.mark.parametrize("suffix", FAST)
def test_a_failed_run_keeps_the_earlier_file_and_tells_where_its_frames_are(tmp_path, suffix):
    write(tmp_path / f"run{suffix}", 2)
    before = contents(tmp_path)

    def failing():
        with open_writer(tmp_path / f"run{suffix}", LAYOUT) as writer:
            writer.write(frame(5))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        failing()
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    extra = f"run.partial{suffix}" if len(names_of(suffix, 1)) == 1 and suffix != ".ply" else names_of(suffix, 1)[0]
    assert extra in after
    assert ".partial" in caught.value.__notes__[0]
    if suffix == ".npz":
        assert np.allclose(read_npz(tmp_path / "run.partial.npz")["positions"][0], frame(5).positions)


def test_a_shorter_ply_sequence_replaces_the_longer_one_as_a_whole(tmp_path):
    (tmp_path / "run_extra.ply").write_text("not a frame")
    write(tmp_path / "run.ply", 5)
    write(tmp_path / "run.ply", 2)
    assert list(contents(tmp_path)) == ["run_0000.ply", "run_0001.ply", "run_extra.ply"]


def test_two_writers_at_once_never_share_a_partial_file(tmp_path):
    first = open_writer(tmp_path / "run.npz", LAYOUT)
    second = open_writer(tmp_path / "run.npz", LAYOUT)
    first.write(frame(1))
    second.write(frame(2))
    first.close()
    second.close()
    assert list(contents(tmp_path)) == ["run.npz"]
    assert np.allclose(read_npz(tmp_path / "run.npz")["positions"][0], frame(2).positions)


def test_a_link_is_followed(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "run.npz").symlink_to(tmp_path / "results" / "real.npz")
    write(tmp_path / "run.npz", 1)
    assert (tmp_path / "run.npz").is_symlink()
    assert len(read_npz(tmp_path / "results" / "real.npz")["times"]) == 1


def test_missing_folders_are_made_and_upper_case_extensions_known(tmp_path):
    write(tmp_path / "a" / "b" / "run.NPZ", 1)
    assert len(read_npz(tmp_path / "a" / "b" / "run.NPZ")["times"]) == 1


@pytest.mark.parametrize("suffix", FAST)
def test_a_name_that_is_no_utf_8_is_written_or_refused_when_opened(tmp_path, suffix):
    path = tmp_path / os.fsdecode(b"a\xff" + suffix.encode())
    if suffix in (".usdc", ".usda"):
        pytest.importorskip("pxr")
        with pytest.raises(FileError, match="its path is not in UTF-8, and USD takes no other"):
            open_writer(path, LAYOUT)
        assert list(tmp_path.iterdir()) == []
    else:
        write(path, 2)
        assert all(left.name.startswith(path.stem) for left in tmp_path.iterdir())
        assert contents(tmp_path)


@pytest.mark.parametrize("suffix", ["", ".abc", ".blend"])
def test_an_unknown_extension_lists_the_known_ones(tmp_path, suffix):
    with pytest.raises(FileError, match=r"\.npz.*\.ply.*\.usdc.*\.usda.*\.html.*\.vtkhdf"):
        open_writer(tmp_path / f"run{suffix}", LAYOUT)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_place_that_cannot_be_written_is_refused_when_opened(tmp_path, suffix):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="file"):
        open_writer(tmp_path / "file" / f"run{suffix}", LAYOUT)
    (tmp_path / f"folder{suffix}").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        open_writer(tmp_path / f"folder{suffix}", LAYOUT)
    with pytest.raises(FileError, match="run"):
        open_writer(f"/proc/run{suffix}", LAYOUT)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("suffix", FORMATS)
def test_a_device_or_pipe_keeps_its_name(tmp_path, suffix):
    """As a device it would be replaced by a file: `/dev/null`, where root is the user."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    (tmp_path / f"run{suffix}").symlink_to(pipe)
    with pytest.raises(FileError, match="is no regular file"):
        open_writer(tmp_path / f"run{suffix}", LAYOUT)
    assert pipe.is_fifo()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_or_file_is_refused_when_opened(tmp_path):
    (tmp_path / "run.npz").write_text("earlier")
    (tmp_path / "run.npz").chmod(0o444)
    with pytest.raises(FileError, match="read only"):
        open_writer(tmp_path / "run.npz", LAYOUT)
    tmp_path.chmod(0o555)
    with pytest.raises(FileError, match="denied"):
        open_writer(tmp_path / "other.npz", LAYOUT)
    tmp_path.chmod(0o755)


@contextmanager
def file_size_limit(size):
    """No file may grow beyond so many bytes: the same path through the code as a full disk, from the system itself."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.parametrize("suffix", FAST)
def test_a_disk_that_refuses_a_frame_is_named_and_no_half_file_takes_the_place(tmp_path, suffix):
    large = Layout((DrawnPart("grains", "points", 0, 20_000),), (), 20_000, 60.0)
    write(tmp_path / f"run{suffix}", 1, large)
    before = contents(tmp_path)

    def overflowing():
        writer = open_writer(tmp_path / f"run{suffix}", large)
        try:
            with file_size_limit(100_000 if suffix == ".ply" else 1_200_000):
                for index in range(9):
                    writer.write(frame(index, large))
        finally:
            writer.close()

    with pytest.raises(FileError, match=r"run\.\w+: cannot be written"):
        overflowing()
    after = contents(tmp_path)
    assert {name: after[name] for name in before} == before
    if suffix == ".npz":
        assert len(np.load(tmp_path / "run.partial.npz.npy")) == 2


def test_a_disk_full_at_the_end_keeps_the_spool(tmp_path, monkeypatch):
    writer = open_writer(tmp_path / "run.npz", LAYOUT)
    writer.write(frame(3))

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(writer, "_convert", full)
    with pytest.raises(FileError, match=r"No space left.*1 frames so far are in .*run\.partial\.npz\.npy"):
        writer.close()
    assert list(contents(tmp_path)) == ["run.partial.npz.layout", "run.partial.npz.npy"]
    assert np.allclose(np.load(tmp_path / "run.partial.npz.npy")["positions"][0], frame(3).positions)


def test_a_disk_full_at_the_first_frame_leaves_nothing(tmp_path, monkeypatch):
    writer = open_writer(tmp_path / "run.npz", LAYOUT)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(FrameQueue, "_put", full)
    with pytest.raises(FileError, match=r"run\.npz: cannot be written: No space left"):
        writer.write(frame(0))
    with pytest.raises(FileError, match="closed"):
        writer.write(frame(0))
    writer.close()
    assert contents(tmp_path) == {}


def test_a_killed_run_leaves_its_full_frames_readable(tmp_path):
    script = """
        import os, signal, sys
        sys.path.insert(0, {tests!r})
        from test_files_writers import LAYOUT, frame
        from shinari.output.writers import open_writer
        writers = [open_writer({folder!r} + "/run" + suffix, LAYOUT) for suffix in (".npz", ".ply", ".vtkhdf")]
        for index in range(4):
            for writer in writers:
                writer.write(frame(index))
        os.kill(os.getpid(), signal.SIGKILL)
    """
    code = textwrap.dedent(script).format(tests=os.path.dirname(__file__), folder=str(tmp_path))
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -signal.SIGKILL
    expected = np.stack([frame(index).positions for index in range(4)])
    assert np.allclose(np.load(tmp_path / "run.partial.npz.npy", mmap_mode="r")["positions"], expected)
    assert np.allclose(read_vtkhdf(tmp_path / "run.partial.vtkhdf")[1], expected)
    assert [path.name for path in sorted((tmp_path / "run.partial").iterdir())] == [f"run_000{i}.ply" for i in range(4)]


@pytest.mark.parametrize(
    ("suffix", "module", "extra"),
    [(".usdc", "pxr", "usd"), (".html", "viser", "view"), (".vtkhdf", "h5py", "cache")],
)
def test_a_missing_extra_is_named_when_opened(tmp_path, monkeypatch, suffix, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=rf"shinari\[{extra}\]"):
        open_writer(tmp_path / f"run{suffix}", LAYOUT)
    assert list(tmp_path.iterdir()) == []


def test_importing_the_files_imports_nothing_heavy():
    code = (
        "import sys, shinari.output.writers, shinari.geometry.files.meshes;"
        "print([name for name in ('trimesh', 'h5py', 'pxr', 'viser', 'numba') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_frame_that_does_not_fit_is_refused_and_the_writer_goes_on(tmp_path):
    with open_writer(tmp_path / "run.npz", LAYOUT) as writer:
        good = frame(0)
        with pytest.raises(SceneError, match=r"velocities have shape \(2, 3\), expected \(10, 3\)"):
            writer.write(replace(good, velocities=np.zeros((2, 3))))
        writer.write(good)
    assert len(read_npz(tmp_path / "run.npz")["times"]) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"parts": (DrawnPart("a", "sheet", 0, 1),)}, "kind is 'sheet'"),
        ({"parts": (DrawnPart("a", "points", 0, 11),)}, "leaves the 10 points"),
        ({"parts": (DrawnPart("a", "mesh", 0, 3),)}, "faces belong"),
        ({"parts": (DrawnPart("a", "mesh", 0, 3, faces=np.array([[0, 1, 3]])),)}, "there are 3"),
        ({"parts": (DrawnPart("a", "points", 0, 1), DrawnPart("a", "points", 1, 2))}, "'a'"),
        ({"parts": (DrawnPart("", "points", 0, 1),)}, "part 0: name: is empty"),
        ({"parts": (DrawnPart("a", "points", 0, 1, radius=-1.0),)}, "radius"),
        ({"bodies": (Body("b", np.zeros((2, 2)), np.zeros((0, 3), int)),)}, "vertices"),
        ({"frames_per_second": 0.0}, "frames_per_second"),
        ({"particle_count": -1}, "particle_count"),
        ({"vertex_count": -1}, "vertex_count"),
    ],
)
def test_a_layout_that_cannot_be_is_refused(change, message):
    fields = {"parts": (), "bodies": (), "particle_count": 10, "frames_per_second": 60.0}
    with pytest.raises(SceneError, match=message):
        Layout(**{**fields, **change})


@pytest.mark.parametrize("suffix", POINT_CACHES)
@pytest.mark.parametrize("letter", ["a", "\u00e4", "\u6728"])
def test_files_of_parts_with_long_names(tmp_path, suffix, letter):
    """Names of files have 255 bytes: those of parts lose their ends, and stay different."""
    parts = tuple(replace(part, name=f"{letter * 199}{k}") for k, part in enumerate(LAYOUT.parts))
    layout = replace(LAYOUT, parts=parts)
    with open_writer(tmp_path / f"{'run' * 20}{suffix}", layout) as writer:
        writer.write(frame(0, layout))
    files = [file.name for file in tmp_path.iterdir()]
    assert len(files) == 8
    assert all(len(os.fsencode(name)) <= 255 for name in files)


@pytest.mark.parametrize("suffix", POINT_CACHES)
@pytest.mark.parametrize("length", [246, 248, 250])
def test_a_name_that_leaves_no_room_for_its_parts_is_refused_when_opened(tmp_path, suffix, length):
    with pytest.raises(FileError, match="too long"):
        open_writer(tmp_path / f"{'r' * length}{suffix}", LAYOUT)
    assert not list(tmp_path.iterdir())
