"""The command `shinari sweep` and those below it."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from shinari import cli
from shinari.sweeps.plot import plot_study
from shinari.sweeps.study import Study

pytest.importorskip("pyarrow")
sys.path.insert(0, str(Path(__file__).parents[1] / "unit"))
import sweep_cases as cases

OWN = """
def lowest(sim):
    return sim.state.positions[:, 1].min()


def fails(sim):
    if sim.time > 0.05:
        raise ValueError("the string is gone")
    return 0.0
"""


@pytest.fixture
def base(tmp_path, monkeypatch):
    (tmp_path / "own_measures.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    return cases.write_base(tmp_path)


def sweep(*words: str) -> int:
    return cli.main(["sweep", *words])


def start(base: Path, *words: str) -> int:
    """A sweep of four members."""
    options = ["--set", "cloth[0].material.density=log:0.1:0.4:2", "--set", "simulation.substeps=2,4", "-o", "study"]
    return sweep(str(base), *options, "--on", "processes", "--workers", "1", *words)


def test_a_sweep_from_the_command_line(base, capsys):
    assert start(base, "--measure", "max_strain,energy", "--measure", "own_measures:lowest") == cli.OK
    told = capsys.readouterr().err
    assert "shinari: study: 4 members: 4 ok" in told
    study = Study("study")
    assert study.columns() == ["cloth[0].material.density", "simulation.substeps", "max_strain", "energy", "lowest"]
    # free fall of the cloth for 0.1 s; the bob is on its string
    assert study.column("lowest") == pytest.approx(-0.049, abs=0.02)

    assert sweep("status", "study", "--json") == cli.OK
    facts = json.loads(capsys.readouterr().out)
    assert facts["counts"]["ok"] == facts["members"] == 4
    assert sweep("table", "study") == cli.OK
    assert "cloth[0].material.density" in capsys.readouterr().out
    assert sweep("table", "study", "-o", "all.csv") == cli.OK
    assert len(Path("all.csv").read_text().splitlines()) == 5
    assert sweep("table", "study", "-o", "all.xlsx") == cli.BAD_INPUT
    assert "expected .parquet or .csv" in capsys.readouterr().err
    pytest.importorskip("matplotlib")
    assert sweep("plot", "study", "-o", "plot.png") == cli.OK
    assert Path("plot.png").stat().st_size > 5000
    assert sweep("plot", "study", "--y", "energi") == cli.BAD_INPUT
    assert "unknown energi; known are" in capsys.readouterr().err


def test_members_that_fail_give_exit_code_1(base, capsys):
    assert start(base, "--measure", "own_measures:fails") == cli.FAILED
    told = capsys.readouterr().err
    assert "4 members: 4 failed" in told
    assert "ValueError: the string is gone (own_measures.py:8)" in told
    # a file does not decide which code runs
    assert sweep("retry", "study", "--on", "processes") == cli.BAD_INPUT
    assert "study uses own_measures:fails, code that a file cannot ask for" in capsys.readouterr().err
    assert sweep("retry", "study", "--measure", "own_measures:fails", "--on", "processes", "--json") == cli.FAILED
    facts = json.loads(capsys.readouterr().out)
    assert facts["counts"]["failed"] == 4
    assert facts["failed"][0]["message"].startswith("ValueError: the string is gone")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--set", "cloth[0].densty=1", "--measure", "energy"], "unknown parameter; nearest are cloth[0]"),
        (["--set", "cloth[0].mesh", "--measure", "energy"], "set: expected PATH=VALUES, got 'cloth[0].mesh'"),
        (["--set", "simulation.substeps=3", "--measure", "energy"], "simulation.substeps is given twice"),
        (["--measure", "own_measures:nothing"], "own_measures has no function nothing; it has lowest, fails"),
        (["--measure", "energi"], "expected one of energy, "),
        (["--measure", "energy", "--sample", "sobol:3"], "expected a power of two, such as 2 or 4, got 3"),
    ],
)
def test_bad_input_is_one_line(base, capsys, words, problem):
    assert start(base, *words) == cli.BAD_INPUT
    told = capsys.readouterr().err
    assert problem in told
    assert told.startswith("shinari: ")
    assert told.count("\n") == 1


@pytest.mark.parametrize("command", ["status", "retry", "table", "plot"])
def test_a_folder_without_a_study(base, capsys, command):
    Path("empty").mkdir()
    assert sweep(command, "empty") == cli.BAD_INPUT
    assert capsys.readouterr().err == "shinari: empty: holds no study; expected a folder that shinari sweep wrote\n"
    Path("empty/plan.json").write_text("{}")
    assert sweep(command, "empty") == cli.BAD_INPUT
    Path("empty/plan.json").write_text("{")
    assert sweep(command, "empty") == cli.BAD_INPUT
    assert "is no plan of a study" in capsys.readouterr().err


def test_a_plot_of_values_that_no_axis_holds_and_of_names_that_look_like_formulas(tmp_path):
    pytest.importorskip("matplotlib")
    columns = {"costs $5_^$": np.array([0.0, 1.0, 2.0]), "energy $^$": np.array([-1.7e308, 1.0, 1.7e308])}
    study: Any = SimpleNamespace(
        folder=tmp_path, plan=SimpleNamespace(parameters={"costs $5_^$": "0,1,2"}), columns=lambda: list(columns),
        column=columns.__getitem__,
    )  # fmt: skip
    plot_study(study, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 5000
