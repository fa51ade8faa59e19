"""The checks of fluids fail when the engine is wrong in the ways that engines are."""

import numpy as np
import pytest

from shinari.api.scene import Scene
from shinari.compute import kernel, real
from shinari.scene.objects import ParticleObject
from shinari.systems.fluid import smoothing as kernels
from shinari.systems.fluid import system as part
from shinari.systems.fluid.records import FluidParticles
from shinari.verify import dam_break, fluids
from shinari.verify.ledger import run_checks

DAM = "plane, a / 24, 1/240 s, 1 x 5"


@kernel
def lengthen(i, fluid: FluidParticles, factor: real):
    """Make a displacement longer."""
    u = fluid.displacement[i]
    fluid.displacement[i] = factor * u[0], factor * u[1], factor * u[2]


@pytest.fixture
def one_case(monkeypatch):
    """Statics and the dam in one set-up each."""
    name = "5 iterations at 1/240 s"
    monkeypatch.setattr(fluids, "_AT_REST", {name: fluids._AT_REST[name]})
    monkeypatch.setattr(dam_break, "CASES", {DAM: dam_break.CASES[DAM]})


def failed(name):
    return [m for m in run_checks([name], ["float64"]) if not m.passed]


def test_other_constants_of_a_kernel_fail(monkeypatch):
    monkeypatch.setitem(kernels._INTEGRALS, 3, tuple(1.01 * value for value in kernels._INTEGRALS[3]))
    assert len(failed("kernels integrate to one")) == 6
    assert failed("kernel sums on a lattice")


def test_an_uncalibrated_density_fails(monkeypatch):
    monkeypatch.setattr(kernels.Smoothing, "weight_scale", property(lambda self: self.normalised(0) * self.spacing**3))
    named = {m.case for m in failed("a lattice has its rest density")}
    assert "density over that at rest, poly6, 3-D, support 2" in named


def test_pushes_that_are_not_mutual_fail(monkeypatch):
    inside = part.Fluid._record_displacement

    def wrong(self, p):
        inside(self, p)
        p.launch(lengthen, self.rows, 1.001, count=len(self.rows) // 2)

    monkeypatch.setattr(part.Fluid, "_record_displacement", wrong)
    lines = failed("a density solve keeps the momentum")
    assert len([m for m in lines if m.case.startswith("linear")]) == 6


def test_wrong_gravity_fails(monkeypatch, one_case):
    inside = Scene.__init__

    def wrong(self, **fields):
        fields["gravity"] = tuple(1.3 * np.asarray(fields.get("gravity", (0.0, -9.81, 0.0))))
        inside(self, **fields)

    monkeypatch.setattr(Scene, "__init__", wrong)
    named = {m.case.split(",")[0] for m in failed("a fluid at rest")}
    assert {"pressure at 0.5 of the depth over rho g d", "force of the walls over the weight"} <= named
    named = [m.case for m in failed("a dam breaks")]
    assert any(case.startswith("front") for case in named)
    assert any(case.startswith("height") for case in named)


def test_particles_of_the_wrong_mass_fail(monkeypatch, one_case):
    inside = Scene._add_particle_object

    def wrong(self, group):
        if isinstance(group, ParticleObject):
            group.masses[:] *= 0.75
        return inside(self, group)

    monkeypatch.setattr(Scene, "_add_particle_object", wrong)
    named = {m.case.split(",")[0] for m in failed("a fluid at rest")}
    assert any(case.startswith("pressure") for case in named)


def test_walls_without_density_fail(monkeypatch, one_case):
    """Particles then lie against the wall, layer on layer, and the level sinks."""
    monkeypatch.setattr(part.Fluid, "boundaries", property(lambda self: [], lambda self, given: None), raising=False)
    named = {m.case.split(",")[0] for m in failed("a fluid at rest")}
    assert "level over that of the volume" in named


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # no fluid is left where it is measured
def test_a_solve_that_does_nothing_fails(monkeypatch, one_case):
    monkeypatch.setattr(part.Fluid, "_record_iteration", lambda self, p: None)
    assert failed("a fluid at rest")
    assert failed("sloshing keeps the volume")
