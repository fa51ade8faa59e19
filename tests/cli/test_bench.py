"""The benchmark command: what it writes can be read, and compared with a later run. No time is asserted."""

import json
import math
from pathlib import Path

import pytest

from shinari import cli
from shinari.bench import measure


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Times mean nothing beside other tests: nobody waits until the machine is quiet."""
    monkeypatch.setattr(measure, "wait_for_quiet", lambda: None)
    monkeypatch.setattr(measure, "PATIENCE", 1)


def test_bench_writes_what_it_can_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "bench.json"
    assert cli.main(["bench", "12", "--steps", "20", "--json", str(file)]) == cli.OK
    results = json.loads(file.read_text())["results"]
    assert {(r["subject"], r["bending"]) for r in results} >= {("shinari", False), ("shinari, hierarchy", True)}
    for result in results:
        assert result["n"] == 12
        low, median, high = (result["ms"][name] for name in ("low", "median", "high"))
        # no numbers where the machine was too busy to measure
        assert 0.0 < low <= median <= high or all(math.isnan(time) for time in (low, median, high))
        assert 0.0 < result["mean_strain"] <= result["largest_strain"]
    plain = [r for r in results if not r["bending"] and r["subject"].startswith("shinari")]
    # one thread and two take the same path, so their sheets are the same
    assert len({r["mean_strain"] for r in plain if r["subject"] != "shinari, hierarchy"}) == 1
    capsys.readouterr()
    assert cli.main(["bench", "12", "--steps", "20", "--compare", str(file)]) == cli.OK
    assert "12" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["2"], ["12", "--steps", "3"], ["12", "--compare", "none.json"]])
def test_bench_refuses_what_it_cannot_measure(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["bench", *words]) == cli.BAD_INPUT
    said = capsys.readouterr().err
    assert said.startswith("shinari: ")
    assert said.count("\n") == 1
