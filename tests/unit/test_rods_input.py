"""Rods: what is refused, and the materials that come with the package."""

import numpy as np
import pytest

import shinari as sn

LINE = np.linspace(0.0, 1.0, 5)[:, None] * [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda s: s.add_rod([[0, 0, 0]]), "rod 'rod': points: a rod needs at least 2, got 1"),
        (lambda s: s.add_rod(LINE[:2], closed=True), "a ring needs at least 3, got 2"),
        (lambda s: s.add_rod([[0, 0, 0], [1, 0, 0], [1, 0, 0]]), "points: 1 and 2 are the same point"),
        (
            lambda s: s.add_rod([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 0]], closed=True),
            "points: 3 and 0 are the same",
        ),
        (lambda s: s.add_rod([[0, 0, 0], [1, 0, 0], [0.5, 0, 0]]), "points: at 1 the rod doubles back on itself"),
        (lambda s: s.add_rod(LINE, closed=True), "points: at 4 the rod doubles back"),
        (lambda s: s.add_rod([[0, 0, np.nan], [1, 0, 0]]), "points: not a finite number"),
        (lambda s: s.add_rod(LINE, closed=1), "closed: expected one of True, False"),
        (lambda s: s.add_rod(LINE, rest_curvature=3.0), "rest_curvature: expected shape"),
        (lambda s: s.add_rod(LINE, rest_curvature=np.zeros((5, 3))), r"rest_curvature: expected shape \(3, 3\)"),
        (lambda s: s.add_rod(LINE, rest_curvature=(0, 0, 20)), "rest_curvature: joint 0 would turn by 286 degrees"),
        (lambda s: s.add_rod(LINE, material=sn.RopeMaterial()), "material: expected a RodMaterial"),
        (lambda s: s.add_rod(LINE, point_masses=-1.0), "point_masses: must be at least 0"),
        (lambda s: s.add_rod(LINE, point_masses=[1.0]), "point_masses: expected a number or shape"),
        (lambda s: s.add_rod(LINE, velocity=[1, 2]), "velocity: expected shape"),
        (lambda s: s.add_rod(LINE, self_collision="triangles"), "self_collision: expected one of"),
        (lambda s: s.add_rod(LINE).clamp(4), "clamp: index 4 is out of range 0 .. 3"),
        (lambda s: sn.RodMaterial(youngs_modulus=0.0), "RodMaterial: youngs_modulus: must be above 0"),
        (lambda s: sn.RodMaterial(youngs_modulus=-1.0), "youngs_modulus: must be above 0"),
        (lambda s: sn.RodMaterial(radius=0.0), "radius: must be above 0"),
        (lambda s: sn.RodMaterial(density=0.0), "density: must be above 0"),
        (lambda s: sn.RodMaterial(shear_modulus=0.0), "shear_modulus: must be above 0"),
        (lambda s: sn.RodMaterial(poissons_ratio=-1.0), "poissons_ratio: must be above -1"),
        (lambda s: sn.RodMaterial(poissons_ratio=0.6), "poissons_ratio: must be at most 0.5"),
        (lambda s: sn.RodMaterial(poissons_ratio=0.3, shear_modulus=1.0), "poissons_ratio: give either it or"),
        (lambda s: sn.RodMaterial(solver="fast"), "solver: expected one of 'direct', 'iterative'"),
        (lambda s: sn.RodMaterial(damping=-1.0), "damping: must be at least 0"),
        (lambda s: sn.RodMaterial.preset("wool"), "preset 'wool' is unknown; known are copper wire, hair"),
        (lambda s: sn.RodMaterial.preset("hair", thickness=1.0), "thickness: unknown field"),
    ],
)
def test_bad_input(make, message):
    with pytest.raises(sn.SceneError, match=message):
        make(sn.Scene())


def test_settings_that_rods_cannot_have():
    scene = sn.Scene()
    rod = scene.add_rod(LINE)
    with pytest.raises(sn.SceneError, match="rod 'rod': method: 'pbd' knows no moduli"):
        sn.Simulation(scene, method="pbd")
    with pytest.raises(sn.SceneError, match="rod 'rod': sweep: 'chebyshev'"):
        sn.Simulation(scene, sweep="chebyshev")
    ball = scene.add_particles([[0, 5, 0]])
    sim = sn.Simulation(scene)
    with pytest.raises(sn.SceneError, match="rod: expected a rod"):
        sim.frames(ball)
    with pytest.raises(sn.SceneError, match="belongs to another scene"):
        sn.Simulation(_other()).frames(rod)


def _other():
    scene = sn.Scene()
    scene.add_rod(LINE)
    return scene


def test_presets_are_materials_that_run():
    from shinari.scene.rod_material import ROD_PRESETS

    for name in ROD_PRESETS:
        scene = sn.Scene()
        rod = scene.add_rod(0.1 * LINE, material=sn.RodMaterial.preset(name))
        rod.pin(0)
        rod.clamp(0)
        sim = sn.Simulation(scene)
        sim.step(5)
        assert np.isfinite(sim.state.positions).all()
        assert np.abs(np.linalg.norm(np.diff(sim.positions(rod), axis=0), axis=1) - 0.025).max() < 1e-4
    wire = sn.RodMaterial.preset("steel wire", radius=0.001)
    assert wire.stiffness[2] == pytest.approx(2.06e11 * np.pi * 1e-12 / 4.0)
    assert sn.RodMaterial(poissons_ratio=0.25, youngs_modulus=5e5).rigidity == pytest.approx(2e5)
    assert sn.RodMaterial(poissons_ratio=0.0).shear_factor == pytest.approx(6 / 7)
