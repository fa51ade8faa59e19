"""The checks of solids fail when the engine is wrong in the ways that engines are."""

import pytest

from shinari.systems.rows import soft_rows
from shinari.systems.rows.system import BlockSolver
from shinari.verify.ledger import run_checks


def test_raw_lame_parameters_give_another_ratio(monkeypatch):
    """Fed with Lame's lambda the energy has the lambda less mu: REFERENCE prints .167, .444 and .4898."""
    monkeypatch.setattr(soft_rows, "hydrostatic_scale", lambda nu: (2.0 * nu / (1.0 - 2.0 * nu)) ** 0.5)
    lines = {m.case.split("asked for ")[1].split(",")[0]: m for m in run_checks(["Poisson's ratio"], ["float64"])
             if "neo_hookean" in m.case}  # fmt: skip
    for asked, printed in (("0.3", 0.167), ("0.45", 0.444), ("0.49", 0.4898)):
        assert lines[asked].measured == pytest.approx(printed, abs=6e-4)
        assert not lines[asked].passed


def test_multipliers_that_survive_an_iteration_fail(monkeypatch):
    inside = BlockSolver.record_project
    monkeypatch.setattr(BlockSolver, "record_project", lambda self, p, first: inside(self, p, True))
    failed = [m for m in run_checks(["static extension of every row"], ["float64"]) if not m.passed]
    named = {m.case.split(", ")[1] for m in failed}
    assert {"neo_hookean", "stvk", "corotated", "strain_tetrahedron", "strain_triangle", "distance"} <= named
    # seams are projected twice in an iteration
    assert not any(" 1 iterations" in m.case and ", seam," not in m.case for m in failed)


def test_compliance_that_forgets_the_volume_fails(monkeypatch):
    kind, law = soft_rows._MODELS["neo_hookean"]
    monkeypatch.setitem(soft_rows._MODELS, "neo_hookean", (kind, lambda material, volume: law(material, 1.1 * volume)))
    lines = run_checks(["uniaxial stress of stable Neo-Hookean"], ["float64"])
    assert not any(m.passed for m in lines)
