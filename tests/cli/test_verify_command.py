"""`shinari verify`: rows as they are measured, progress, families, the quick selection, interrupts."""

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from shinari.cli import main
from shinari.cli import verify as command
from shinari.errors import DivergenceError, ShinariError
from shinari.verify.durations import SECONDS, UNKNOWN, seconds_of
from shinari.verify.ledger import CHECKS, SUBJECTS, Check, Measurement, all_checks, equal, select_checks
from shinari.verify.quick import QUICK, quick_checks

FIRST, SECOND = "free fall", "mass on a spring"


def row(case: str, measured: float = 1.0) -> Measurement:
    return equal(case, 1.0, measured, absolute=0.1, theory="none")


def put(monkeypatch: pytest.MonkeyPatch, name: str, function: Check) -> None:
    monkeypatch.setitem(CHECKS, name, replace(all_checks()[name], function=function, precisions=("float64",)))


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_rows_are_in_a_file_as_soon_as_they_are_measured(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, options: list[str]
) -> None:
    path, seen = tmp_path / "out.txt", []

    def slow(precision: str) -> Iterator[Measurement]:
        yield row("early")
        seen.append(path.read_text())
        yield row("late")

    put(monkeypatch, FIRST, slow)
    with path.open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main(["verify", FIRST, *options]) == 0
    assert "early" in seen[0]
    assert "late" not in seen[0]
    text = path.read_text()
    if options:
        found = json.loads(text)
        assert found["passed"] is True
        assert [m["case"] for m in found["measurements"]] == ["early", "late"]
    else:
        assert text.endswith("1 checks, 2 measurements, 0 failed.\n")


def test_progress_is_lines_with_the_time_left_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    for name in (FIRST, SECOND):
        put(monkeypatch, name, lambda precision: [row("quick")])
    assert main(["verify", FIRST, SECOND]) == 0
    assert capsys.readouterr().err == ""  # not noisy
    monkeypatch.setattr(command, "PERIOD", 0.0)
    assert main(["verify", FIRST, SECOND]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in lines] == ["1 of 2 checks", "2 of 2 checks"]
    assert all(" left: " in line and "about" in line for line in lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(["verify", FIRST, SECOND]) == 0
    assert "\r\033[K2 of 2 checks, about " in capsys.readouterr().err


def test_an_interrupt_prints_what_was_measured(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    def stopped(precision: str) -> Iterator[Measurement]:
        yield row("done", 3.0)
        raise KeyboardInterrupt

    put(monkeypatch, FIRST, lambda precision: [row("whole")])
    put(monkeypatch, SECOND, stopped)
    assert main(["verify", FIRST, SECOND]) == 130
    out = capsys.readouterr().out
    assert "failed: mass on a spring, float64, done" in out
    assert out.endswith("interrupted: 1 of 2 checks\n2 checks, 2 measurements, 1 failed.\n")
    assert main(["verify", FIRST, SECOND, "--json"]) == 130
    found = json.loads(capsys.readouterr().out)
    assert (len(found["measurements"]), found["passed"], found["note"]) == (2, False, "interrupted: 1 of 2 checks")


def test_a_check_that_ends_in_an_error_has_failed_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    def diverges(precision: str) -> Iterator[Measurement]:
        yield row("before")
        raise DivergenceError("frame 3: 'it' is no number")

    put(monkeypatch, FIRST, diverges)
    put(monkeypatch, SECOND, lambda precision: [row("after")])
    assert main(["verify", FIRST, SECOND]) == 1
    out = capsys.readouterr().out
    assert "DivergenceError: frame 3: 'it' is no number" in out
    assert out.endswith("2 checks, 3 measurements, 1 failed.\n")
    assert main(["verify", FIRST, SECOND, "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert [m["measured"] for m in found["measurements"]] == [1.0, None, 1.0]


@pytest.mark.parametrize(("name", "families"), [
    ("rigid", {subject for subject in SUBJECTS if subject.startswith("rigid_")}),
    ("rods", {"rods"}),
    ("Shape matching", {"shape_matching"}),
    ("rigid-joints", {"rigid_joints"}),
    ("fluid", {"fluids", "fluid_levels", "fluid_effects", "fluids_on_cloth"}),
])  # fmt: skip
def test_a_name_takes_a_family(name: str, families: set[str]) -> None:
    assert {entry.family for entry, _ in select_checks([name])} == families


def test_a_check_is_measured_once_however_often_it_is_named() -> None:
    assert [entry.name for entry, _ in select_checks([FIRST, "integrator", FIRST], ["float64"])].count(FIRST) == 1


def test_an_unknown_name_is_refused_with_the_nearest(capsys: pytest.CaptureFixture) -> None:
    assert main(["verify", "stifness of a sheet"]) == 2
    message = capsys.readouterr().err
    assert "there is no check 'stifness of a sheet' and no family" in message
    assert "'bending stiffness of a sheet'" in message
    assert "rigid_joints" in message
    with pytest.raises(ShinariError, match="no family"):
        select_checks([""])


def test_quick_takes_every_family_in_one_precision_and_a_minute() -> None:
    whole = select_checks()
    chosen = quick_checks(whole)
    assert {entry.family for entry, _ in chosen} == {entry.family for entry, _ in whole} == set(SUBJECTS)
    names = [entry.name for entry, _ in chosen]
    assert len(names) == len(set(names))
    assert set(QUICK) <= set(names)
    assert all(precision == entry.precisions[-1] for entry, precision in chosen)
    assert sum(seconds_of(name) for name in names) < 60.0
    # of some names, of one precision
    assert {entry.family for entry, _ in quick_checks(select_checks(["rigid"]))} < {entry.family for entry, _ in chosen}
    assert all(precision == "float64" for _, precision in quick_checks(select_checks(None, ["float64"])))


def test_durations_are_those_of_checks() -> None:
    assert set(SECONDS) <= set(all_checks())
    assert seconds_of("nothing") == UNKNOWN
