"""Sweeps on this machine: results, failures, resuming, folders, and what is refused before anything is computed."""

import errno
import json
import os
import resource
import signal
import subprocess
import sys
import time
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import sweep_cases as cases

import shinari as sn
from shinari.sweeps import journal, worker
from shinari.sweeps.table import TIMES

pyarrow = pytest.importorskip("pyarrow")

SPEEDS = [0.0, 1.0, 2.0, 3.0]
QUIET = {"on": "processes", "progress": False, "workers": 2}


def throw(folder: Path, speeds=SPEEDS, measures=cases.height, base=cases.falling, **options) -> sn.Study:
    parameters = speeds if isinstance(speeds, dict) else {"speed": speeds}
    return sn.sweep(base, parameters, measures, folder, duration=0.1, **(QUIET | options))


def behave(folder: Path, *how: str, **options) -> dict[str, dict]:
    """Rows of members that behave in some ways, after one that does well."""
    study = throw(folder, {"behave": ["well", *how]}, **options)
    return {row["values"]["behave"]: row for row in study.rows()}


def without_times(study: sn.Study) -> list[dict]:
    return study.table().drop_columns(list(TIMES)).to_pylist()


def test_members_of_a_function_fall_as_they_should(tmp_path):
    parameters = {"speed": SPEEDS, "simulation.substeps": [5, 20]}
    measures = [cases.height, cases.Highest, "energy"]
    study = throw(tmp_path, parameters, measures, simulation={"precision": "float64"})
    assert study.counts()["ok"] == len(study) == 8
    for row in study.rows():
        speed, substeps = row["values"]["speed"], row["values"]["simulation.substeps"]
        expected = cases.thrown(speed, 0.1, substeps=substeps)
        assert row["measures"]["height"] == pytest.approx(expected, abs=1e-12)
        assert row["measures"]["Highest"] >= row["measures"]["height"]
        v = speed - cases.G * 0.1
        assert row["measures"]["energy"] == pytest.approx(0.5 * v * v + cases.G * expected, abs=1e-11)
    table = pyarrow.parquet.read_table(tmp_path / "table.parquet")
    assert table.equals(study.table())
    assert table.column_names[:6] == ["member", "speed", "simulation.substeps", "height", "Highest", "energy"]
    assert table.schema.field("simulation.substeps").type == pyarrow.int64()
    assert set(table.column("shinari").to_pylist()) == {sn.__version__}
    assert all(seconds > 0.0 for seconds in table.column("solver_seconds").to_pylist())


def test_members_of_a_scene_file_have_the_values_of_their_parameters(tmp_path):
    base = cases.write_base(tmp_path)
    parameters = {"scene.gravity[1]": "lin:-10:0:3", "cloth[rag].material.density": [0.2, 0.4]}
    study = sn.sweep(base, parameters, ["kinetic_energy"], tmp_path / "study", **QUIET)
    energies = study.column("kinetic_energy").reshape(3, 2)
    assert len({row["member"] for row in study.rows()}) == 6
    assert np.all(np.diff(energies[:2], axis=1) > 0.0), "a heavier cloth falls with more energy"
    assert energies[2] == pytest.approx([0.0, 0.0], abs=1e-12), "without gravity nothing moves"
    # the bob swings alike in both: the energy of the cloth of 1 m^2 is its mass times that of one kilogram
    speed = 10.0 * 0.1
    assert energies[0, 1] - energies[0, 0] == pytest.approx(0.5 * 0.2 * speed**2, rel=1e-3)


def test_the_same_call_runs_nothing_twice(tmp_path):
    study = throw(tmp_path, measures=[cases.height, cases.process])
    before = (tmp_path / "results.jsonl").read_bytes()
    again = throw(tmp_path, measures=[cases.height, cases.process])
    assert (tmp_path / "results.jsonl").read_bytes() == before
    assert again.table().equals(study.table())


def test_more_values_run_only_what_is_new(tmp_path):
    throw(tmp_path, SPEEDS[:2])
    before = len(list(journal.rows_of(tmp_path)))
    study = throw(tmp_path, SPEEDS)
    assert (before, len(list(journal.rows_of(tmp_path)))) == (2, 4)
    assert study.counts()["ok"] == 4


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"speeds": [1.0, 9.0]}, "the values of the parameters differ"),
        ({"speeds": {"speed": SPEEDS, "simulation.substeps": [3]}}, "the parameters differ"),
        ({"measures": "energy"}, "the measures differ"),
        ({"simulation": {"substeps": 3}}, "the settings differ"),
        ({"base": cases.slow}, "the function that makes the scene differs"),
        ({"record": "npz"}, "the format of the frames differs"),
    ],
)
def test_a_folder_keeps_one_study(tmp_path, options, problem):
    throw(tmp_path)
    with pytest.raises(sn.SweepError, match=f"holds another study: {problem}.*choose another folder"):
        throw(tmp_path, **options)
    assert throw(tmp_path).counts()["ok"] == 4


def test_a_folder_of_something_else_is_left_alone(tmp_path):
    (tmp_path / "letters.txt").write_text("dear")
    with pytest.raises(sn.SweepError, match="neither empty nor a study"):
        throw(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]


def test_a_changed_scene_file_is_another_study(tmp_path):
    base = cases.write_base(tmp_path)
    options = {"parameters": {"simulation.substeps": [1]}, "measures": "energy", "folder": tmp_path / "study"}
    sn.sweep(base, **options, **QUIET)
    base.write_text(cases.BASE.replace("mass = [0.0, 1.0]", "mass = [0.0, 2.0]"))
    with pytest.raises(sn.SweepError, match="the scene file differs"):
        sn.sweep(base, **options, **QUIET)


def test_failures_are_rows_with_their_message(tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "GRACE", 0.3)
    monkeypatch.setattr(worker, "START", 3.0)
    how = ("raise", "diverge", "hang", "die", "eat", "no scene", "interrupt", "mute", "ask", "close")
    rows = behave(tmp_path, *how, time_limit=2.0, memory=0.75, retries=1)
    assert rows["well"]["status"] == "ok"
    expected = {
        "raise": ("failed", "ValueError: there is no such ball (sweep_cases.py:"),
        "diverge": ("diverged", "nan"),
        "hang": ("timed out", "the time limit of 2 s"),
        "die": ("killed", "signal SIGKILL"),
        "eat": ("failed", "Memory"),
        "interrupt": ("failed", "KeyboardInterrupt"),
        "mute": ("failed", "MuteError: an error that cannot tell what it is (sweep_cases.py:"),
        "ask": ("failed", "EOFError"),
        "close": ("killed", "its process ended: exit code 1"),
        "no scene": ("failed", "has to give a Scene, got 3"),
    }
    for name, (status, message) in expected.items():
        assert rows[name]["status"] == status, rows[name]
        assert message in rows[name]["message"] or name == "diverge", rows[name]
        assert rows[name]["message"]
        assert "\n" not in rows[name]["message"]
        assert rows[name]["measures"] == {}
    table = sn.Study(tmp_path).table().to_pydict()
    assert table["height"].count(None) == len(how)
    assert table["message"][1:] == [rows[name]["message"] for name in how]


def test_a_member_that_takes_too_long_says_how_far_it_came(tmp_path):
    study = throw(tmp_path, [0.0], simulation={"dt": 1e-6}, time_limit=0.2)
    assert study.counts()["timed out"] == 1
    assert "the time limit was reached at t = 0.0" in study.failed()[0]["message"]


def test_a_process_that_is_killed_once_loses_nothing(tmp_path):
    """A real SIGKILL from inside of a member; the table is that of an undisturbed sweep."""
    parameters = {"behave": ["well", "die once", "well "], "marker": str(tmp_path / "marker"), "speed": [1.0, 2.0]}
    disturbed = throw(tmp_path / "a", parameters, retries=1)
    assert (tmp_path / "marker").exists()
    undisturbed = throw(tmp_path / "b", parameters, retries=1)
    assert disturbed.counts()["ok"] == 6
    assert without_times(disturbed) == without_times(undisturbed)


def test_failed_members_run_again_when_asked(tmp_path):
    marker = tmp_path / "marker"
    parameters = {"behave": ["well", "die once"], "marker": [str(marker)]}
    study = throw(tmp_path / "study", parameters, retries=0)
    assert study.counts() == {"ok": 1, "diverged": 0, "failed": 0, "timed out": 0, "killed": 1, "pending": 0}
    assert throw(tmp_path / "study", parameters, retries=0).counts()["killed"] == 1, "it is not run again by itself"
    assert throw(tmp_path / "study", parameters, retries=0, retry=True).counts()["ok"] == 2


SCRIPT = """
import sys
sys.path.insert(0, {here!r})
import shinari as sn
import sweep_cases as cases
sn.sweep(cases.slow, {{"speed": "lin:0:9:10"}}, cases.height, {folder!r}, duration=0.1, on={on!r}, progress=False)
"""


@pytest.mark.parametrize(("on", "number"), [("processes", signal.SIGINT), ("local", signal.SIGKILL)])
def test_a_sweep_that_is_stopped_goes_on(tmp_path, on, number):
    if on == "local":
        pytest.importorskip("distributed")
    folder = tmp_path / "study"
    script = SCRIPT.format(here=str(Path(__file__).parent), folder=str(folder), on=on)
    process = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    while len(list(journal.rows_of(folder))) < 3:
        assert process.poll() is None, process.stderr
        time.sleep(0.05)
    process.send_signal(number)
    _, told = process.communicate()
    assert process.returncode != 0
    if number == signal.SIGINT:
        assert b"KeyboardInterrupt" in told
        assert (folder / "table.parquet").exists(), "what is there so far"
    done = {row["member"]: row for row in journal.rows_of(folder)}
    assert 3 <= len(done) < 10
    study = throw(folder, "lin:0:9:10", base=cases.slow)
    assert study.counts()["ok"] == 10
    rows = list(journal.rows_of(folder))
    assert len(rows) == 10, "nothing is run twice"
    assert without_times(study) == without_times(throw(tmp_path / "other", "lin:0:9:10", base=cases.slow))


def test_two_sweeps_in_one_folder(tmp_path):
    """The second is refused while the first runs, and tells who runs it."""
    with journal.Journal(tmp_path):
        with pytest.raises(sn.SweepError, match=f"another sweep runs in this folder: process {os.getpid()} on "):
            throw(tmp_path)
        assert not (tmp_path / "plan.json").exists()
    assert throw(tmp_path).counts()["ok"] == 4


@pytest.mark.parametrize("options", [{"measures": "energy"}, {"base": cases.slow}])
def test_a_study_without_results_is_no_other_study(tmp_path, options):
    with pytest.raises(sn.SceneError):
        throw(tmp_path, measures=cases.broken)
    assert throw(tmp_path, **options).counts()["ok"] == 4


@pytest.mark.parametrize(
    "change",
    [
        lambda row: row.pop("status"),
        lambda row: row.update(measures=5),
        lambda row: row.update(seconds="long"),
        lambda row: row.update(versions=[]),
    ],
)
def test_a_damaged_line_is_run_again(tmp_path, change):
    throw(tmp_path)
    path = tmp_path / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    row = json.loads(lines[1])
    change(row)
    path.write_text("".join([lines[0], json.dumps(row) + "\n", *lines[2:]]))
    study = sn.Study(tmp_path)
    assert (study.counts()["ok"], study.counts()["pending"]) == (3, 1)
    assert study.table().num_rows == len(study.column("height")) == 4
    assert throw(tmp_path, retry=True).counts()["ok"] == 4


def test_a_disk_without_room_for_the_lock_is_told_by_its_path(tmp_path, monkeypatch):
    def full(path, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(sn.FileError, match=f"{tmp_path}/lock: cannot be written: No space left on device"):
        throw(tmp_path)
    monkeypatch.undo()
    assert throw(tmp_path).counts()["ok"] == 4


def test_a_line_that_was_cut_short_is_run_again(tmp_path):
    whole = throw(tmp_path)
    path = tmp_path / "results.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    assert sn.Study(tmp_path).counts()["pending"] == 1
    again = throw(tmp_path)
    assert without_times(again) == without_times(whole)
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_full_disk_keeps_what_is_whole(tmp_path):
    """No file may grow beyond a limit of the system: some rows fit, one is cut off in its middle."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        with pytest.raises(sn.FileError, match=r"cannot be written: File too large.*same command goes on"):
            throw(tmp_path, "lin:0:1:200", on=cases.Pretender())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    path = tmp_path / "results.jsonl"
    known = len(path.read_text().splitlines())
    assert path.read_bytes().endswith(b"}\n")
    assert sn.Study(tmp_path).counts() | {"ok": known, "pending": 200 - known} == sn.Study(tmp_path).counts()
    assert 0 < known < 200
    executor = cases.Pretender()
    assert throw(tmp_path, "lin:0:1:200", on=executor).counts()["ok"] == 200
    assert executor.count == 200 - known


def test_ten_thousand_members_stay_flat_in_memory(tmp_path):
    """So many as are needed are handed over at a time, and what is kept of each is small."""
    executor = cases.Pretender()
    tracemalloc.start()
    try:
        study = throw(tmp_path, "lin:0:1:10000", on=executor, workers=8)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert executor.count == len(study) == study.counts()["ok"] == 10_000
    assert executor.most <= 16
    assert peak / 10_000 < 8_000, "plan, row and table of a member [bytes]"


def test_a_process_that_runs_many_members_stays_flat_in_memory(tmp_path):
    study = throw(tmp_path, "lin:0:1:300", [cases.memory, cases.process], workers=1)
    assert len(set(study.column("process"))) == 1
    used = study.column("memory")
    # a leak of the state of a member, or of one page of 4 KiB in each of its steps, would be several MiB
    assert used[-1] - used[100] < 2.0


def test_members_have_a_process_each_and_workers_as_asked(tmp_path):
    study = throw(tmp_path, "lin:0:1:12", [cases.process], base=cases.slow, workers=3)
    processes = set(study.column("process"))
    assert len(processes) == 3
    assert os.getpid() not in processes
    for number in processes:  # none is left behind
        with pytest.raises(ProcessLookupError):
            os.kill(int(number), 0)


def test_frames_of_each_member(tmp_path):
    study = throw(tmp_path, [0.0, 1.0], record="npz", frames_per_second=30)
    for row in study.rows():
        with np.load(tmp_path / "frames" / f"{row['member']}.npz") as run:
            assert len(run["times"]) == 4
            assert run["positions"][-1, 0, 1] == np.float32(row["measures"]["height"])


def test_any_executor_runs_members(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        study = throw(tmp_path / "a", on=pool)
    assert without_times(study) == without_times(throw(tmp_path / "b"))


def test_measures_of_several_numbers(tmp_path):
    study = throw(tmp_path, measures=[cases.where, cases.height])
    assert study.columns() == ["speed", "where.height", "where.all", "height"]
    table = study.table()
    assert table.schema.field("where.all").type == pyarrow.list_(pyarrow.float64())
    for row in table.to_pylist():
        assert row["where.all"][1] == row["where.height"] == row["height"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"speeds": {"sped": [1.0]}}, "sweep: sped: sweep_cases:falling has no such parameter; nearest are speed"),
        ({"speeds": {"simulation.substep": [1]}}, "unknown 'simulation.substep'|unknown substep; known are substeps"),
        ({"speeds": {"simulation.substeps": [0]}}, "simulation: substeps: must be at least 1"),
        ({"speeds": {"simulation.threads": [1]}}, "give threads"),
        ({"speeds": "exp:1:2:3"}, "sweep: speed: expected lin:A:B:N"),
        ({"speeds": 3, "sample": "sobol:3"}, "power of two"),
        ({"base": cases.needing, "speeds": {"simulation.substeps": [3]}}, "length: is needed by sweep_cases:needing"),
        ({"base": lambda speed: None}, "stands at the top of a file"),
        ({"base": "no_such_module:scene"}, "base: no_such_module:scene: cannot be imported: ModuleNotFoundError"),
        ({"base": "sweep_cases:fallin"}, "sweep_cases has no function fallin; it has .*falling"),
        ({"base": "no_such_file.toml"}, "no_such_file.toml: cannot be read"),
        ({"measures": "max_strian"}, "measures: expected one of max_strain, .*got 'max_strian'"),
        ({"measures": cases.text}, "measure text: expected a number, .*got 'high'"),
        ({"measures": cases.broken}, "AttributeError: .*no_such_name"),
        ({"measures": cases.two}, "expected a function of one argument"),
        ({"measures": cases.NoResult}, "the class has no method result"),
        ({"measures": ["energy", "energy"]}, "energy is given twice"),
        ({"measures": 3}, "measures: expected a list, got 3"),
        ({"simulation": {"substep": 3}}, "simulation: unknown substep; known are substeps"),
        ({"simulation": {"substeps": 3}, "speeds": {"simulation.substeps": [3]}}, "give one of the two"),
        ({"on": "everywhere"}, "on: expected local, processes, tcp://HOST:PORT"),
        ({"on": 3}, "on: expected local, processes, tcp://HOST:PORT"),
        ({"workers": 0}, "workers: must be at least 1"),
        ({"memory": 0.01}, "memory: must be at least 0.25"),
        ({"time_limit": 0.0}, "time_limit: must be above 0"),
        ({"retries": -1}, "retries: must be at least 0"),
        ({"record": "avi"}, "record: expected one of 'npz', 'vtkhdf'"),
        ({"speeds": {"speed": [1.0], "behave": ["raise"]}}, "ValueError: there is no such ball"),
    ],
)
def test_bad_input_is_refused_before_anything_is_computed(tmp_path, options, problem):
    with pytest.raises(sn.ShinariError, match=problem) as error:
        throw(tmp_path / "study", **options)
    assert "\n" not in str(error.value)
    assert list(journal.rows_of(tmp_path / "study")) == []


def test_a_duration_is_needed_of_a_function(tmp_path):
    with pytest.raises(sn.SceneError, match="sweep: duration: is missing"):
        sn.sweep(cases.falling, {"speed": [1.0]}, "energy", tmp_path, **QUIET)


def test_members_one_by_one(tmp_path):
    members = [{"speed": 1.0, "behave": "well"}, {"speed": 2.0, "behave": "raise"}]
    study = sn.sweep(cases.falling, members, cases.height, tmp_path, duration=0.1, **QUIET)
    assert [row["values"] for row in study.rows()] == members
    assert [row["status"] for row in study.rows()] == ["ok", "failed"]
    with pytest.raises(sn.SceneError, match="a list of dicts with the same paths"):
        sn.sweep(cases.falling, [{"speed": 1.0}, {"behave": "well"}], cases.height, tmp_path, duration=0.1, **QUIET)


def test_a_script_without_a_guard_is_told(tmp_path):
    """A helper imports the file that holds the functions; a sweep that starts there would start helpers in turn."""
    script = tmp_path / "study.py"
    script.write_text(
        "import shinari as sn\n"
        "def scene(x):\n    return sn.Scene()\n"
        "sn.sweep(scene, {'x': [1]}, 'energy', 'out', duration=0.1, on='processes', progress=False)\n"
    )
    told = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True)
    assert told.returncode != 0
    assert "put the call below if __name__ == '__main__':" in told.stderr
