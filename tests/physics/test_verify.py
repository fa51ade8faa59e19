"""The ledger of `shinari verify`: every check passes, and a wrong engine makes it fail."""

import json
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.cli.verify import verify
from shinari.errors import DivergenceError, ShinariError
from shinari.verify.ledger import Measurement, all_checks, at_least, at_most, check, equal, run_checks

CASES = [(name, precision) for name, entry in all_checks().items() for precision in entry.precisions]


# columns of grains are cut out of others of which some still overlap the floor and each other
@pytest.mark.filterwarnings("ignore::shinari.errors.ContactWarning")
@pytest.mark.parametrize(("name", "precision"), CASES)
def test_check(name, precision):
    measurements = run_checks([name], [precision])
    assert measurements
    failed = [f"{m.case}: {m.measured} for {m.expected}, off by {m.error}, allowed {m.allowed}: {m.theory}"
              for m in measurements if not m.passed]  # fmt: skip
    assert not failed, "\n".join(failed)
    for m in measurements:
        assert (m.name, m.precision) == (name, precision)
        assert m.source
        assert m.theory
        assert np.isfinite(m.allowed)


def test_every_subject_of_the_first_section_is_in_the_ledger():
    assert {
        "free fall",
        "mass on a spring",
        "static extension of a chain",
        "one step of a spring under gravity",
        "top force of a hard chain",
        "iterations against substeps, large mass ratio",
        "chain against Newton's method",
        "stiffness of plain PBD",
        "pendulum period",
        "pendulum energy",
        "linear momentum",
        "catenary",
    } <= set(all_checks())


@pytest.mark.parametrize("name", ["free fall", "static extension of a spring", "top force of a hard chain",
                                  "pendulum period", "sliding down an incline", "terminal velocity"])  # fmt: skip
def test_wrong_gravity_fails(monkeypatch, name):
    inside = Scene.__init__

    def wrong(self, **fields):
        fields["gravity"] = tuple(1.02 * np.asarray(fields.get("gravity", (0.0, -9.81, 0.0))))
        inside(self, **fields)

    monkeypatch.setattr(Scene, "__init__", wrong)
    assert not all(m.passed for m in run_checks([name], ["float64"]))


@pytest.mark.parametrize("name", ["mass on a spring", "stiffness of plain PBD", "catenary", "hanging sheet", "tethers",
                                  "chain against Newton's method"])  # fmt: skip
def test_positions_that_are_off_fail(monkeypatch, name):
    inside = Simulation.step

    def wrong(self, count=1):
        inside(self, count)
        self.state.positions[1:] += 0.01 * (self.state.positions[1:] - self.state.positions[0])

    monkeypatch.setattr(Simulation, "step", wrong)
    with suppress(DivergenceError):
        assert not all(m.passed for m in run_checks([name], ["float64"]))


def test_multipliers_that_survive_an_iteration_fail(monkeypatch):
    """Engines that forget the multiplier print 2.70 / 2.42 / 1.61 / 0.18 mm for more and more iterations."""
    from shinari.systems.rows.system import BlockSolver

    inside = BlockSolver.record_project
    monkeypatch.setattr(BlockSolver, "record_project", lambda self, p, first: inside(self, p, True))
    lines = [m for m in run_checks(["one step of a spring under gravity"], ["float64"]) if "k 100," in m.case]
    assert [round(m.measured, 2) for m in lines] == [2.70, 2.42, 1.61, 0.18]
    assert [m.passed for m in lines] == [True, False, False, False]


def test_measurements_judge():
    assert equal("a", 2.0, 2.1, absolute=0.11, theory="t").passed
    assert not equal("a", 2.0, 2.1, relative=0.04, theory="t").passed
    assert equal("a", -2.0, -2.1, relative=0.06, theory="t").passed
    assert at_most("a", 1.0, -5.0, theory="t").passed
    assert not at_most("a", 1.0, 1.1, absolute=0.05, theory="t").passed
    assert at_least("a", 1.0, 5.0, theory="t").passed
    assert not at_least("a", 1.0, 0.9, theory="t").passed
    for make in (at_most, at_least):
        assert not make("a", 1.0, float("nan"), theory="t").passed
    assert not equal("a", 1.0, float("nan"), absolute=1.0, theory="t").passed
    with pytest.raises(ValueError, match="either"):
        equal("a", 1.0, 1.0, theory="t")


def test_names_are_unique_and_checked():
    with pytest.raises(ValueError, match="twice"):
        check("free fall", "nowhere")(lambda precision: [])
    with pytest.raises(ShinariError, match="no check 'nothing'"):
        run_checks(["nothing"])
    with pytest.raises(ShinariError, match="float16"):
        run_checks(["free fall"], ["float16"])


def test_command_line_prints_and_judges(capsys, monkeypatch):
    assert verify("mass on a spring, printed series", precision="float64") == 0
    out = capsys.readouterr().out
    assert "0.391304" in out
    assert "1 checks, 4 measurements, 0 failed." in out

    assert verify("free fall", json=True, precision="float32") == 0
    result = json.loads(capsys.readouterr().out)
    assert result["passed"] is True
    assert {"name", "source", "precision", "expected", "measured", "tolerance", "passed"} <= set(
        result["measurements"][0]
    )

    entry = all_checks()["free fall"]
    wrong = replace(entry, function=lambda precision: [equal("broken", 1.0, 2.0, absolute=0.1, theory="none")])
    monkeypatch.setitem(all_checks(), "free fall", wrong)
    assert verify("free fall") == 1
    assert "2 failed" in capsys.readouterr().out


def test_measurement_is_frozen():
    m = equal("a", 1.0, 1.0, absolute=0.0, theory="t")
    assert isinstance(m, Measurement)
    with pytest.raises(AttributeError):
        m.measured = 2.0  # type: ignore[misc]
