"""The command line: what it writes, what it prints and the codes it ends with."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari import cli
from shinari.cli.warm import _copy
from shinari.errors import FileError
from shinari.geometry.files.meshes import write_mesh
from shinari.io.npz import read_npz

ROOT = Path(__file__).parents[2]

DIVERGING = """
[simulation]
dt = 0.5
substeps = 1
threads = 1
precision = "float64"
[[particles]]
name = "dust"
positions = [[0, 0, 0]]
velocity = [1e308, 0, 0]
"""


def report(capsys: pytest.CaptureFixture[str]) -> dict:
    return json.loads(capsys.readouterr().out)


def test_run_writes_every_output(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "run",
        "scene.toml",
        "-o",
        "out/a.npz",
        "out/a.ply",
        "-o",
        "a.vtkhdf",
        "--checkpoint",
        "c.vtkhdf",
        "--json",
    ]
    assert cli.main(words) == cli.OK
    said = report(capsys)
    assert said["status"] == "ok"
    assert (said["steps"], said["frames"], said["particles"]) == (12, 7, 29)
    assert said["time"] == pytest.approx(0.2)
    assert [Path(output["path"]).name for output in said["outputs"]] == ["a.npz", "a_0000.ply", "a.vtkhdf"]
    assert all(output["bytes"] > 0 and output["look"] for output in said["outputs"])
    assert sorted(path.name for path in (folder / "out").glob("*.ply")) == [f"a_{k:04}.ply" for k in range(7)]

    arrays = read_npz(folder / "out" / "a.npz")
    scene = sn.load_scene(folder / "scene.toml")
    simulation = sn.Simulation(scene, substeps=3, threads=1)
    simulation.step(12)
    np.testing.assert_array_equal(arrays["positions"][-1], simulation.state.positions)
    np.testing.assert_allclose(arrays["times"], np.arange(7) / 30)
    assert arrays["part_names"].tolist() == ["flag", "rope"]
    assert arrays["part_kinds"].tolist() == ["mesh", "curve"]
    np.testing.assert_allclose(arrays["body_positions"][-1, 0], [0.3 * np.sin(0.4 * np.pi), -0.3, 0], atol=1e-6)
    assert sn.Simulation.load(folder / "c.vtkhdf").state == simulation.state


def test_run_writes_what_other_programs_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "scene.toml", "-o", "a.npz", "a.pc2", "a.mdd", "a.glb", "--json"]) == cli.OK
    said = report(capsys)
    names = [Path(output["path"]).name for output in said["outputs"]]
    assert names == ["a.npz", "a_colliders.pc2", "a_colliders.mdd", "a.glb"]
    assert all(output["bytes"] > 0 and output["look"] for output in said["outputs"])
    positions = read_npz(folder / "a.npz")["positions"]
    for name, rows in (("flag", slice(0, 25)), ("rope", slice(25, 29))):
        cached = np.fromfile(folder / f"a_{name}.pc2", "<f4", offset=32).reshape(positions.shape[0], -1, 3)
        np.testing.assert_array_equal(cached, positions[:, rows])
        cached = np.fromfile(folder / f"a_{name}.mdd", ">f4", offset=8 + 4 * len(positions)).reshape(cached.shape)
        np.testing.assert_array_equal(cached, positions[:, rows])
    size = sum(path.stat().st_size for path in folder.glob("a_*.pc2"))
    assert said["outputs"][1]["bytes"] == size


def test_run_refuses_a_clip_that_is_too_long_at_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "scene.toml", "--duration", "20", "-o", "a.glb", "a.npz"]) == cli.BAD_INPUT
    assert "601 frames of 29 vertices" in capsys.readouterr().err
    assert sorted(path.name for path in folder.iterdir()) == ["scene.toml"]


def test_people_are_told_what_was_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "scene.toml"]) == cli.OK
    out, err = capsys.readouterr()
    assert out == ""
    assert "wrote scene.npz" in err
    assert "steps/s" in err
    assert (folder / "scene.npz").exists()


def test_overrides(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "run scene.toml --dt 0.01 --substeps 2 --iterations 2 --method pbd --sweep jacobi --precision float64"
    assert cli.main([*words.split(), "--threads", "1", "--fps", "50", "--duration", "0.1", "--json",
                     "--checkpoint", "c.vtkhdf"]) == cli.OK  # fmt: skip
    assert (report(capsys)["steps"], report_frames(folder)) == (10, 6)
    settings = sn.Simulation.load(folder / "c.vtkhdf").settings
    assert (settings.dt, settings.substeps, settings.iterations) == (0.01, 2, 2)
    assert (settings.method, settings.sweep, settings.precision) == ("pbd", "jacobi", "float64")


def report_frames(folder: Path) -> int:
    return len(read_npz(folder / "scene.npz")["times"])


def test_resume_goes_on_exactly(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "scene.toml", "-o", "whole.npz"]) == cli.OK
    assert cli.main(["run", "scene.toml", "--duration", "0.1", "--checkpoint", "c.vtkhdf"]) == cli.OK
    assert cli.main(["run", "scene.toml", "--resume", "c.vtkhdf", "-o", "rest.npz"]) == cli.OK
    assert cli.main(["run", "--resume", "c.vtkhdf", "--duration", "0.2", "-o", "alone.npz"]) == cli.OK
    whole, rest, alone = (read_npz(folder / f"{name}.npz")["positions"] for name in ("whole", "rest", "alone"))
    np.testing.assert_array_equal(whole[3:], rest)
    np.testing.assert_array_equal(rest, alone)
    capsys.readouterr()
    assert cli.main(["run", "--resume", "c.vtkhdf"]) == cli.BAD_INPUT
    assert "duration" in capsys.readouterr().err
    assert cli.main(["run", "--resume", "c.vtkhdf", "--duration", "1", "--dt", "0.1"]) == cli.BAD_INPUT
    assert "dt" in capsys.readouterr().err
    scene = folder / "scene.toml"
    scene.write_text(scene.read_text().replace("pin = [0, 4]", "pin = [0]"))
    assert cli.main(["run", "scene.toml", "--resume", "c.vtkhdf"]) == cli.BAD_INPUT
    assert "not the one that was saved" in capsys.readouterr().err


@pytest.mark.filterwarnings("default::shinari.errors.FrameRateWarning")  # the command tells it in its own way
def test_divergence_keeps_what_there_is(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "scene.toml").write_text(DIVERGING)
    (folder / "a.npz").write_text("an earlier result")
    assert cli.main(["run", "scene.toml", "-o", "a.npz", "--json"]) == cli.DIVERGED
    said = report(capsys)
    assert said["status"] == "diverged"
    assert "'dust', particle 0" in said["message"]
    assert "a.partial.npz" in said["message"]
    assert (folder / "a.npz").read_text() == "an earlier result"
    assert len(read_npz(folder / "a.partial.npz")["times"]) == said["frames"] == said["steps"] + 1
    assert said["checkpoint"] == "a.checkpoint.vtkhdf"
    simulation = sn.Simulation.load(folder / "a.checkpoint.vtkhdf")
    assert simulation.state.frame == said["steps"]
    assert np.isfinite(simulation.state.positions).all()


@pytest.mark.filterwarnings("default::shinari.errors.FrameRateWarning")  # the command tells it in its own way
def test_a_warning_is_one_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["run", "scene.toml", "--fps", "24", "--duration", "0.02", "--quiet"]) == cli.OK
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("shinari: warning: recorder: frames_per_second: 24 ")
    assert all(line.startswith("shinari: ") for line in lines)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "none.toml"], "none.toml"),
        (["run"], "scene file"),
        (["run", "scene.toml", "--dt", "-1"], "dt"),
        (["run", "scene.toml", "--dt", "soon"], "dt"),
        (["run", "scene.toml", "--substeps", "0"], "substeps"),
        (["run", "scene.toml", "--method", "euler"], "method"),
        (["run", "scene.toml", "--fps", "0"], "fps"),
        (["run", "scene.toml", "--duration", "nan"], "duration"),
        (["run", "scene.toml", "-o", "a.xyz"], ".xyz"),
        (["run", "scene.toml", "-o", "a.npz", "a.npz"], "twice"),
        (["run", "scene.toml", "-o", "scene.toml/a.npz"], "scene.toml"),
        (["run", "scene.toml", "--resume", "scene.toml"], "no checkpoint"),
        (["run", "bad.toml"], "$.scene.gravity"),
        (["demo", "nothing"], "kerchief"),
        (["info", "none.obj"], "none.obj"),
        (["info", "file.xyz"], ".xyz"),
        (["dance"], "dance"),
        (["run", "scene.toml", "--fast"], "--fast"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    folder: Path, capsys: pytest.CaptureFixture[str], words: list[str], message: str
) -> None:
    (folder / "bad.toml").write_text("[scene]\ngravity = 1\n")
    (folder / "file.xyz").write_text("x")
    before = sorted(folder.iterdir())
    assert cli.main(words) == cli.BAD_INPUT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("shinari: ")
    assert message in err
    assert sorted(folder.iterdir()) == before

    assert cli.main([*words, "--json"]) == cli.BAD_INPUT
    said = report(capsys)
    assert (said["status"], said["exit_code"]) == ("error", 2)
    assert message in said["message"]


def test_a_missing_extra(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pxr", None)
    monkeypatch.setitem(sys.modules, "h5py", None)
    assert cli.main(["run", "scene.toml", "-o", "a.usdc", "--threads", "1"]) == cli.MISSING_EXTRA
    assert "[usd]" in capsys.readouterr().err
    assert cli.main(["run", "scene.toml", "--checkpoint", "c.vtkhdf"]) == cli.MISSING_EXTRA
    assert "[cache]" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "locked").mkdir(mode=0o500)
    if os.access(folder / "locked", os.W_OK):
        pytest.skip("this user may write everywhere")
    assert cli.main(["run", "scene.toml", "-o", "locked/a.npz"]) == cli.BAD_INPUT
    assert "locked" in capsys.readouterr().err


def test_a_full_disk_ends_the_run(folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch) -> None:  # type: ignore[no-untyped-def]
    from shinari.io.frame_queue import FrameQueue

    append = FrameQueue.append

    def full(self: FrameQueue, frame: object) -> None:
        if self.count == 3:
            raise OSError(28, "No space left on device")
        append(self, frame)  # type: ignore[arg-type]

    monkeypatch.setattr(FrameQueue, "append", full)
    assert cli.main(["run", "scene.toml", "-o", "a.npz"]) == cli.BAD_INPUT
    assert "No space left on device; the 3 frames so far are in" in capsys.readouterr().err
    assert not (folder / "a.npz").exists()


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_mesh(folder / "m.obj", *sn.grid(shape=(4, 3)))
    words = ["run", "scene.toml", "-o", "a.npz", "a.vtkhdf", "--checkpoint", "c.vtkhdf"]
    assert cli.main(words) == cli.OK
    capsys.readouterr()
    kinds = {}
    for name in ("scene.toml", "m.obj", "a.npz", "a.vtkhdf", "c.vtkhdf"):
        assert cli.main(["info", name, "--json"]) == cli.OK
        kinds[name] = report(capsys)
        assert cli.main(["info", name]) == cli.OK
        assert capsys.readouterr().out.startswith("kind")
    assert kinds["scene.toml"]["particles"] == 29
    assert (kinds["m.obj"]["vertices"], kinds["m.obj"]["triangles"]) == (12, 12)
    assert kinds["m.obj"]["area"] == pytest.approx(1.0)
    assert kinds["m.obj"]["edges_on_a_boundary"] == 10
    assert kinds["a.npz"]["frames"] == kinds["a.vtkhdf"]["frames"] == 7
    assert kinds["a.npz"]["parts"] == kinds["a.vtkhdf"]["parts"] == ["flag", "rope"]
    assert kinds["c.vtkhdf"]["kind"] == "checkpoint"
    assert kinds["c.vtkhdf"]["frame"] == 12
    assert cli.main(["info", "m.obj", "scene.toml"]) == cli.OK
    both = capsys.readouterr().out
    assert both.index("m.obj") < both.index("triangles") < both.index("scene.toml") < both.index("particles")
    assert cli.main(["info"]) == cli.BAD_INPUT
    assert "give at least one file" in capsys.readouterr().err
    (folder / "c.vtkhdf").write_bytes((folder / "c.vtkhdf").read_bytes()[:5000])
    assert cli.main(["info", "c.vtkhdf"]) == cli.BAD_INPUT


@pytest.mark.parametrize("suffix", [".node", ".ele"])
def test_info_of_tetrahedra(suffix: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A corner of a cube: one tetrahedron of a sixth, whose shape is 4 / 27^(1/2)."""
    (tmp_path / "corner.node").write_text("4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n")
    (tmp_path / "corner.ele").write_text("1 4 0\n1 1 2 3 4\n")
    assert cli.main(["info", str(tmp_path / f"corner{suffix}"), "--json"]) == cli.OK
    facts = json.loads(capsys.readouterr().out)
    assert (facts["kind"], facts["vertices"], facts["tetrahedra"], facts["pieces"]) == ("tetrahedra", 4, 1, 1)
    assert facts["volume"] == pytest.approx(1 / 6)
    assert facts["worst_shape"] == pytest.approx(4 / 27**0.5)


def test_info_and_view_of_a_robot(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("mujoco", reason="the extra [robot] is not installed")
    inertial = '<inertial><mass value="2"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
    text = f"""<robot name="arm"><link name="base"><wheel/></link><link name="upper">{inertial}<visual><geometry>
      <box size="0.1 0.1 0.4"/></geometry></visual></link><joint name="elbow" type="revolute"><parent link="base"/>
      <child link="upper"/><axis xyz="0 1 0"/><limit lower="-1" upper="2" effort="50" velocity="3"/></joint></robot>"""
    (folder / "arm.urdf").write_text(text)
    assert cli.main(["info", "arm.urdf", "--json"]) == cli.OK
    said = report(capsys)
    assert (said["kind"], said["name"], said["mass"]) == ("robot", "arm", 2.0)
    assert said["joints"] == {"elbow": "hinge from -1 to 2, force up to 50, speed up to 3"}
    assert "<wheel> of link 'base'" in said["skipped"]
    (folder / "broken.urdf").write_text("<robot")
    assert cli.main(["info", "broken.urdf"]) == cli.BAD_INPUT
    from shinari.io.robots.show import robot_scene

    with pytest.warns(sn.RobotWarning, match="wheel"):
        scene, robot = robot_scene(folder / "arm.urdf")
    ground = scene.colliders[0]
    assert ground.position[1] == pytest.approx(-0.2, abs=1e-9)
    sim = sn.Simulation(scene)
    sim.run(0.5, progress=False)
    assert abs(robot.angles[0]) < 1e-3


def test_what_the_encoding_of_the_output_lacks_is_escaped(folder: Path) -> None:
    """As in a console of Windows, or for a file whose name is no UTF-8."""
    named = os.fsdecode(b"a\xff.obj")
    write_mesh(folder / "m.obj", *sn.grid(shape=(4, 3)))
    (folder / "m.obj").rename(folder / named)
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "shinari.cli", "info", named, named]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False, timeout=900)
    assert (done.returncode, done.stderr) == (cli.OK, "")
    assert done.stdout.startswith("a\\udcff.obj\nkind")


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["schema"]) == cli.OK
    assert report(capsys)["$defs"]["SceneFile"]["properties"]["cloth"]


def test_doctor(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["doctor", "--json"]) == cli.OK
    said = report(capsys)
    assert said["failures"] == []
    assert said["threads"] >= 1
    assert set(said["kernels_used"]) == {"compiled now", "from the cache", "shipped"}
    assert sum(said["kernels_used"].values()) > 2
    assert Path(said["kernel_cache"]).is_dir()
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(said["extras"]) == set(known) - {"all", "test", "docs", "bench"}
    assert cli.main(["doctor"]) == cli.OK
    assert "passed" in capsys.readouterr().out


def shinari(*arguments: str, **environment: str) -> tuple[dict, str]:
    """The JSON that a command prints in a process of its own, and what it says on standard error."""
    variables = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "SHINARI_COMPILE_PROCESSES": "2", **environment}
    command = [sys.executable, "-m", "shinari.cli", *arguments]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=900)
    return json.loads(done.stdout or "null"), done.stderr


PARTICLE = """
[simulation]
duration = 0.02
[[particles]]
positions = [[0, 0, 0]]
"""


def test_doctor_says_where_kernels_come_from(tmp_path: Path) -> None:
    cold, _ = shinari("doctor", "--json", SHINARI_CACHE_DIR=str(tmp_path))
    assert cold["failures"] == []
    assert cold["kernels_used"]["compiled now"] > 2
    assert cold["kernel_cache"] == str(tmp_path / "objects")
    assert cold["cached_kernels"].split()[0] == str(cold["kernels_used"]["compiled now"])
    warm, _ = shinari("doctor", "--json", SHINARI_CACHE_DIR=str(tmp_path), SHINARI_NUM_THREADS="1")
    assert warm["kernels_used"]["compiled now"] == 0
    assert warm["kernels_used"]["from the cache"] == cold["kernels_used"]["compiled now"]
    assert warm["threads"] == 1


def test_warm_compiles_what_a_scene_needs(tmp_path: Path) -> None:
    """In an image: the run that follows compiles nothing and says nothing."""
    scene, variables = tmp_path / "scene.toml", {"SHINARI_CACHE_DIR": str(tmp_path / "cache")}
    scene.write_text(PARTICLE)
    cold, _ = shinari("warm", str(scene), "--json", **variables)
    assert cold["compiled"] == cold["loaded"] > 2
    assert cold["cache"] == str(tmp_path / "cache" / "objects")
    assert len(list(Path(cold["cache"]).glob("*.o"))) == cold["compiled"]
    warm, _ = shinari("warm", str(scene), "--json", **variables)
    assert warm == cold | {"compiled": 0}
    nothing, said = shinari("warm", str(scene), "--copy-to", str(tmp_path / "copy"), **variables)
    assert {file.name: file.read_bytes() for file in (tmp_path / "copy").iterdir()} == {
        file.name: file.read_bytes() for file in Path(cold["cache"]).glob("*.o")
    }
    assert nothing is None
    assert f"{cold['loaded']} kernels, 0 of them compiled now" in said
    assert shinari("warm", str(scene), "--quiet", **variables) == (None, "")
    with pytest.raises(FileError, match=r"scene\.toml: kernels cannot be copied there: File exists"):
        _copy({}, scene)
    ran, said = shinari("run", str(scene), "--output", str(tmp_path / "out.npz"), "--json", **variables)
    assert ran["outputs"]
    assert "compiling kernel" not in said
    assert len(list(Path(cold["cache"]).glob("*.o"))) == cold["compiled"]


def test_demo(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["demo", "--list", "--json"]) == cli.OK
    assert set(report(capsys)) >= {"kerchief", "flag", "swing"}
    assert cli.main(["demo", "--duration", "0.1", "--threads", "1", "--json"]) == cli.OK
    written = report(capsys)["outputs"]
    assert {Path(output["path"]).parent.name for output in written} == {"out"}
    assert len(written) >= 2


def test_every_command_has_its_file_and_is_imported_late() -> None:
    code = "import sys; from shinari.cli import main; main(['--help']); " \
           "print(sorted({'numba', 'trimesh', 'h5py', 'shinari.cli.run'} & set(sys.modules)))"  # fmt: skip
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.rstrip().endswith("[]")
    for word in ("run", "demo", "info", "schema", "doctor", "Exit codes"):
        assert word in output
