"""Changes while a simulation runs: they leave the bits that a new simulation with the new values has."""

import warnings

import numpy as np
import pytest
from small_scenes import G, settled
from small_scenes import rope as hanging_rope

import shinari as sn
from shinari.errors import SceneError
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.io.checkpoint import model_digest
from shinari.systems.particle_contact.model import PairModel

# what tears here is pulled to a length
pytestmark = pytest.mark.filterwarnings("ignore::shinari.FailureWarning")


def hung_sheet(fields: dict, **world) -> sn.Scene:
    """A sheet that hangs from two corners in the wind and swings onto a ball, with a rope at its lower edge."""
    scene = sn.Scene(**{"wind": (3.0, 0.0, 1.0), "damping": 0.1, **world})
    cloth = scene.add_cloth(sn.grid(shape=(7, 7), size=(0.5, 0.5)), material=sn.ClothMaterial(**fields), name="it")
    cloth.pin([0, 6])
    tail = scene.add_rope(np.linspace((0.3, 0.0, 0.4), (0.3, -0.4, 0.4), 5), name="tail")
    scene.attach((cloth, 47), (tail, 0))
    scene.add_collider(sn.Sphere(0.1), position=(0.0, -0.2, 0.1))
    return scene


def strained_sheet(fields: dict) -> sn.Scene:
    return hung_sheet({"stretch_model": "strain", **fields})


def torn_sheet(fields: dict) -> sn.Scene:
    return hung_sheet({"tear_strain": 0.02, "stretch_compliance": 1e-2, **fields})


def tethered_sheet(fields: dict) -> sn.Scene:
    return hung_sheet({"tethers": True, "bend_model": "cross", **fields})


def bent_rope(fields: dict) -> sn.Scene:
    scene = sn.Scene()
    points = np.stack([np.linspace(0.0, 1.0, 9), np.zeros(9), np.zeros(9)], axis=1)
    scene.add_rope(points, material=sn.RopeMaterial(**{"bend_compliance": 1e-3, **fields}), name="it").pin([0])
    return scene


def soft_block(fields: dict) -> sn.Scene:
    scene = sn.Scene()
    material = sn.SoftMaterial(**{"youngs_modulus": 2e4, **fields})
    scene.add_soft_body(lattice((2, 1, 1), 0.1), material=material, name="it").pin([0, 1, 2, 3])
    return scene


def flowing_block(fields: dict) -> sn.Scene:
    return soft_block({"model": "strain", "yield_strain": 0.01, **fields})


def clamped_rod(fields: dict) -> sn.Scene:
    scene = sn.Scene()
    for name, at, changed in (("other", 0.0, {}), ("it", 1.0, fields)):
        points = np.linspace((0.0, at, 0.0), (0.5, at, 0.0), 6)
        material = sn.RodMaterial(**{"youngs_modulus": 1e8, "density": 1000.0, **changed})
        rod = scene.add_rod(points, material=material, name=name)
        rod.pin([0])
        rod.clamp([0])
    return scene


def lump(fields: dict) -> sn.Scene:
    scene = sn.Scene()
    points = np.indices((3, 3, 3)).reshape(3, -1).T * 0.1
    scene.add_shape_matched(points, material=sn.LumpMaterial(**{"mode": "linear", **fields}), name="it")
    scene.add_collider(sn.Plane(), position=(0.0, -0.06, 0.0))
    return scene


def pool(fields: dict) -> sn.Scene:
    scene = sn.Scene(wind=(1.0, 0.0, 0.0))
    scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.05, material=sn.FluidMaterial(**fields), name="it")
    return scene


# Kernels of bending take seconds to compile: where the method or the sweep is another, there are rows of one type.
UNBENT = {"bend_stiffness": 0.0}

MATERIALS = {
    "compliance": (hung_sheet, {}, {"stretch_compliance": 3e-4, "bend_stiffness": 2e-4}),
    "one side": (hung_sheet, {}, {"compression_compliance": np.inf}),
    "rigid and damped": (
        hung_sheet,
        {**UNBENT, "stretch_compliance": 1e-3, "damping": 0.01},
        {"stretch_compliance": 0.0, "damping": 0.003},
    ),
    "shear": (hung_sheet, UNBENT, {"shear_compliance": 1e-2, "damping": 0.01}),
    "shear as stretch": (hung_sheet, {"shear_compliance": 1e-2}, {"shear_compliance": None}),
    "drag and friction": (hung_sheet, {}, {"drag_normal": 2.0, "friction": 0.9, "restitution": 0.5}),
    "stiffnesses": (hung_sheet, UNBENT, {"stretch_stiffness": 0.4, "compression_stiffness": 0.1}),
    "membrane": (strained_sheet, {}, {"stretch_compliance": 1e-3, "poissons_ratio": 0.1}),
    "torn": (torn_sheet, {}, {"stretch_compliance": 1e-3}),
    "tethers": (tethered_sheet, {}, {"bend_compliance": 1e-4, "stretch_compliance": 1e-3}),
    "rope": (bent_rope, {}, {"stretch_compliance": 1e-3, "bend_compliance": 1e-2, "damping": 0.02}),
    "soft": (soft_block, {}, {"youngs_modulus": 1e5, "poissons_ratio": 0.3}),
    "flowing": (flowing_block, {}, {"youngs_modulus": 1e4, "poissons_ratio": 0.2}),
    "rod": (clamped_rod, {}, {"youngs_modulus": 1e6, "damping": 0.02}),
    "lump": (lump, {}, {"stiffness": 0.3, "beta": 0.2, "friction": 0.1}),
}
"""A scene, fields of the material of "it" at the start, and those that change."""
# what has kernels of its own that no other test of this file compiles is compared in one precision
BOTH = ("compliance", "rope", "soft", "rod")
CASES = [(name, precision) for name in MATERIALS for precision in ("float32", "float64")]
CASES = [(name, precision) for name, precision in CASES if precision == "float32" or name in BOTH]


def both_ways(sim: sn.Simulation, fresh: sn.Simulation, before, steps: int = 5) -> None:
    """What was changed steps as what was built so and given the state."""
    assert model_digest(sim.model) == model_digest(fresh.model)
    assert sim.settings == fresh.settings
    fresh.restore(before)
    sim.step(steps)
    fresh.step(steps)
    assert np.array_equal(sim.state.positions, fresh.state.positions)
    assert np.array_equal(sim.state.velocities, fresh.state.velocities)
    assert sim.state == fresh.state
    assert sim.energy() == fresh.energy()


@pytest.mark.parametrize(("name", "precision"), CASES)
def test_a_changed_material_has_the_bits_of_a_new_simulation(name, precision):
    scene, first, then = MATERIALS[name]
    sim = sn.Simulation(scene(first), precision=precision, substeps=5)
    sim.step(5)
    before = sim.state.copy()
    sim.change_material("it", **then)
    both_ways(sim, sn.Simulation(scene({**first, **then}), precision=precision, substeps=5), before)
    assert not np.array_equal(sim.state.positions, before.positions)
    for field, value in then.items():
        assert getattr(sim.material("it"), field) == value


@pytest.mark.parametrize("name", MATERIALS)
def test_a_changed_material_changes_the_motion(name):
    """So that the test before compares something."""
    scene, first, then = MATERIALS[name]
    method = "pbd" if name == "stiffnesses" else "xpbd"
    sim, other = (sn.Simulation(scene(first), substeps=5, method=method) for _ in range(2))
    sim.change_material("it", **then)
    steps = 25 if name in ("drag and friction", "lump") else 8
    sim.step(steps)
    other.step(steps)
    assert not np.array_equal(sim.state.positions, other.state.positions)


def test_several_things_change_at_once():
    sim = sn.Simulation(clamped_rod({}), substeps=5)
    before = sim.state.copy()
    sim.change_material(["it", sim.scene["other"]], youngs_modulus=1e7)
    fresh = sn.Simulation(clamped_rod({"youngs_modulus": 1e7}), substeps=5)
    fresh.change_material("other", youngs_modulus=1e7)
    both_ways(sim, fresh, before)
    assert sim.material("other").youngs_modulus == 1e7


def test_materials_change_with_pbd_and_jacobi_and_in_a_row():
    sim = sn.Simulation(hung_sheet(UNBENT), method="pbd", sweep="jacobi", iterations=3, substeps=2)
    sim.step(3)
    before = sim.state.copy()
    sim.change_material("it", stretch_stiffness=0.9, damping=0.01)
    sim.change_material("tail", stretch_stiffness=0.5)
    sim.change_material(sim.scene["it"], stretch_stiffness=0.3, stretch_compliance=1e-2)
    sim.change(method="xpbd", substeps=4)
    sim.change(method="pbd", iterations=4)
    scene = hung_sheet({**UNBENT, "stretch_stiffness": 0.3, "stretch_compliance": 1e-2, "damping": 0.01})
    fresh = sn.Simulation(scene, method="pbd", sweep="jacobi", iterations=4, substeps=4)
    fresh.change_material("tail", stretch_stiffness=0.5)
    both_ways(sim, fresh, before)


FLUIDS = [{"viscosity": 5.0}, {"xsph": 0.3, "vorticity": 0.1}, {"compressibility": 1e-6, "air_drag": 1.0}]


@pytest.mark.parametrize("then", FLUIDS)
def test_a_changed_fluid_has_the_model_of_a_new_one(then):
    sim = sn.Simulation(pool({}))
    sim.change_material("it", friction=0.3, **then)
    assert model_digest(sim.model) == model_digest(sn.Simulation(pool({"friction": 0.3, **then})).model)


SETTINGS = [
    ({"substeps": 5}, {"substeps": 9}),
    ({"substeps": 5}, {"iterations": 3}),
    ({"substeps": 5}, {"method": "pbd"}),
    ({"substeps": 5, "method": "pbd", "iterations": 2}, {"iterations": 5}),
    ({"substeps": 5, "method": "pbd", "iterations": 2, "stiffness_mode": "raw"}, {"iterations": 5, "method": "xpbd"}),
    ({"substeps": 5}, {"sweep": "jacobi"}),
    ({"substeps": 5, "sweep": "jacobi"}, {"sweep": "gauss-seidel", "method": "pbd"}),
    ({"substeps": 5, "sweep": "jacobi", "iterations": 6}, {"sweep": "chebyshev"}),
    ({"substeps": 5, "sweep": "jacobi", "iterations": 6}, {"sweep": "jacobi-averaged", "iterations": 2}),
    ({"substeps": 5, "hierarchy": True}, {"substeps": 3}),
]
# the other kernels are compiled in one precision
SETTINGS = [(*case, "float32") for case in SETTINGS] + [(*SETTINGS[k], "float64") for k in (0, 5)]


@pytest.mark.parametrize(("first", "then", "precision"), SETTINGS)
def test_changed_settings_have_the_bits_of_a_new_simulation(first, then, precision):
    sim = sn.Simulation(hung_sheet(UNBENT), precision=precision, **first)
    sim.step(5)
    before = sim.state.copy()
    sim.change(**then)
    both_ways(sim, sn.Simulation(hung_sheet(UNBENT), precision=precision, **{**first, **then}), before)


WORLDS = [
    ({}, {"gravity": (1.0, 2.0, 3.0)}),
    ({}, {"wind": (-9.0, 1.0, 0.0)}),
    ({"wind": None}, {"wind": sn.Gusts((5.0, 0.0, 0.0), (1.0, 0.0, 0.0))}),
    ({}, {"damping": 3.0, "gravity": (0.0, 0.0, 0.0)}),
]


@pytest.mark.parametrize(("first", "then"), WORLDS)
def test_a_changed_world_has_the_bits_of_a_new_simulation(first, then):
    sim = sn.Simulation(hung_sheet({}, **first), substeps=5)
    sim.step(5)
    before = sim.state.copy()
    sim.change(**then)
    both_ways(sim, sn.Simulation(hung_sheet({}, **{**first, **then}), substeps=5), before)


def test_what_is_torn_and_what_is_pinned_stays_so_when_the_sweep_changes():
    sim = sn.Simulation(torn_sheet(UNBENT), substeps=5)
    sim.step(20)
    sim.pin("it", [3])
    torn = {name: values[np.argsort(sim.model.blocks[name].added_index)] for name, values in sim.state.broken.items()}
    forces = sim.forces("distance")
    assert 0 < torn["distance"].sum() < len(torn["distance"])
    before = sim.state.copy()
    for sweep in ("jacobi", "gauss-seidel", "jacobi"):
        sim.change(sweep=sweep)
        for name, values in torn.items():
            assert np.array_equal(sim.state.broken[name][np.argsort(sim.model.blocks[name].added_index)], values)
        assert np.array_equal(sim.forces("distance"), forces)
    fresh = sn.Simulation(torn_sheet(UNBENT), substeps=5, sweep="jacobi")
    fresh.restore(before)
    both_ways(sim, fresh, sim.state.copy())


def test_a_state_of_another_sweep_is_taken_over_row_by_row():
    sim = sn.Simulation(torn_sheet(UNBENT), substeps=5)
    sim.step(20)
    kept, forces = sim.state.copy(), sim.forces("distance")
    sim.step(3)
    reference = sim.state.positions.copy()
    sim.change(sweep="jacobi")
    sim.step(10)
    sim.restore(kept)
    assert np.array_equal(sim.forces("distance"), forces)
    sim.change(sweep="gauss-seidel")
    sim.step(3)
    assert np.array_equal(sim.state.positions, reference)


def test_forces_read_the_same_after_substeps_were_changed():
    sim = sn.Simulation(clamped_rod({}), substeps=8, precision="float64")
    sheet = sn.Simulation(hung_sheet({}), substeps=8, precision="float64")
    sim.step(5)
    sheet.step(5)
    loads, forces = sim.rod_loads("it").forces, sheet.forces("distance")
    sim.change(substeps=3)
    sheet.change(substeps=20)
    assert np.abs(loads).max() > 0.0
    assert np.allclose(sim.rod_loads("it").forces, loads, rtol=1e-12, atol=1e-15)
    assert np.allclose(sheet.forces("distance"), forces, rtol=1e-12, atol=0.0)


def test_a_checkpoint_keeps_what_was_changed(tmp_path):
    pytest.importorskip("h5py")
    sim = sn.Simulation(hung_sheet(UNBENT), substeps=5)
    sim.step(3)
    sim.change(sweep="jacobi", substeps=4, gravity=(0.0, -3.0, 0.0), wind=(1.0, 1.0, 1.0), damping=0.5)
    sim.change_material("it", stretch_compliance=1e-3, friction=0.1)
    sim.step(3)
    sim.save(tmp_path / "changed.h5")
    back = sn.Simulation.load(tmp_path / "changed.h5")
    assert back.state == sim.state
    assert back.material("it") == sim.material("it")
    sim.step(4)
    back.step(4)
    assert back.state == sim.state
    back.change_material("it", stretch_compliance=1e-4)
    assert back.material("it").friction == 0.1


def test_a_checkpoint_of_a_scene_with_functions_keeps_what_was_changed(tmp_path):
    pytest.importorskip("h5py")

    def scene():
        return hung_sheet({}, wind=lambda t: (3.0, np.sin(t), 0.0))

    sim = sn.Simulation(scene(), substeps=5)
    sim.change_material("it", stretch_compliance=1e-3)
    sim.change(gravity=(0.0, -3.0, 0.0))
    sim.step(2)
    sim.save(tmp_path / "changed.h5")
    back = sn.Simulation.load(tmp_path / "changed.h5", scene=scene())
    sim.step(2)
    back.step(2)
    assert back.state == sim.state


def test_a_simulation_that_diverges_or_is_interrupted_keeps_what_was_changed():
    sim = sn.Simulation(hung_sheet({}), substeps=5)
    sim.step(2)
    sim.change(substeps=7, gravity=(0.0, -3.0, 0.0))
    sim.change_material("it", stretch_compliance=1e-3)
    before = sim.state.copy()
    sim.velocities("it")[20] = np.nan
    with pytest.raises(sn.DivergenceError):
        sim.step()
    assert sim.settings.substeps == 7
    fresh = sn.Simulation(hung_sheet({"stretch_compliance": 1e-3}, gravity=(0.0, -3.0, 0.0)), substeps=7)
    sim.restore(before)
    both_ways(sim, fresh, before)


def test_the_scene_stays_as_it_was_described():
    scene = hung_sheet({})
    sim, other = sn.Simulation(scene, substeps=5), sn.Simulation(scene, substeps=5)
    reference = sn.Simulation(hung_sheet({}), substeps=5)
    sim.change_material("it", stretch_compliance=1e-2)
    sim.change(gravity=(0.0, 0.0, 0.0), damping=9.0)
    assert scene.damping == 0.1
    assert sim.scene is scene
    for running in (sim, other, reference):
        running.step(5)
    assert other.state == reference.state
    assert sim.state != reference.state


BAD_MATERIALS = [
    ("it", {"stretch": 1.0}, "stretch: unknown field; those that can change are stretch_compliance"),
    ("it", {"density": 1.0}, "density: cannot change while it moves"),
    ("it", {"tear_strain": 0.1}, "tear_strain: cannot change"),
    ("it", {"stretch_model": "strain"}, "stretch_model: cannot change"),
    ("it", {"stretch_compliance": -1.0}, "stretch_compliance: must be at least 0"),
    ("it", {"stretch_compliance": "soft"}, "stretch_compliance: expected a number"),
    ("it", {"friction": 2.0, "damping": np.nan}, "damping"),
    ("it", {"bend_stiffness": 0.0}, "other constraint rows"),
    ("tail", {"bend_compliance": 1e-3}, "other constraint rows"),
    ("ball", {"friction": 1.0}, "ball"),
    ("nothing", {"friction": 1.0}, "nothing"),
    ("grit", {"friction": 1.0}, "material: has none"),
    (("it", "tail"), {"bend_stiffness": 1.0}, "rope 'tail': bend_stiffness: unknown field"),
    (3, {"friction": 1.0}, "targets: expected a list"),
]


@pytest.mark.parametrize(("thing", "fields", "told"), BAD_MATERIALS)
def test_bad_materials_are_refused_and_change_nothing(thing, fields, told):
    scene = hung_sheet({})
    scene.add_collider(sn.Sphere(0.1), position=(5, 0, 0), name="ball")
    scene.add_particles([[9, 0, 0]], name="grit")
    sim = sn.Simulation(scene, substeps=5)
    digest, material = model_digest(sim.model), sim.material("it")
    with pytest.raises(SceneError, match=told):
        sim.change_material(thing, **fields)
    assert model_digest(sim.model) == digest
    assert sim.material("it") == material


BAD_SETTINGS = [
    ({"substeps": 0}, "substeps"),
    ({"substeps": 2.5}, "substeps"),
    ({"iterations": -1}, "iterations"),
    ({"method": "fem"}, "method"),
    ({"sweep": "sor", "substeps": 3}, "sweep"),
    ({"gravity": 9.81, "substeps": 3}, "gravity"),
    ({"wind": (1, 2)}, "wind"),
    ({"damping": -1.0, "gravity": (0, 0, 0)}, "damping"),
    ({"method": "pbd"}, "rod 'other': method"),
    ({"sweep": "chebyshev"}, "rod 'other': sweep"),
]


@pytest.mark.parametrize(("fields", "told"), BAD_SETTINGS)
def test_bad_settings_are_refused_and_change_nothing(fields, told):
    sim = sn.Simulation(clamped_rod({}), substeps=5)
    digest, settings = model_digest(sim.model), sim.settings
    with pytest.raises(SceneError, match=told):
        sim.change(**fields)
    assert model_digest(sim.model) == digest
    assert sim.settings is settings
    assert sim.described is sim.scene


def test_a_scene_that_was_changed_is_refused():
    scene = hung_sheet({})
    sim = sn.Simulation(scene)
    scene.add_particles([[0, 0, 0]])
    with pytest.raises(SceneError, match="was changed"):
        sim.change(substeps=3)
    with pytest.raises(SceneError, match="was changed"):
        sim.change_material("it", friction=0.0)


@pytest.mark.parametrize("compliance", [1e-3, 1e-2, 0.1])
def test_a_hanging_weight_sinks_to_the_new_compliance(compliance):
    """A segment of length L under a weight: it sinks by m g L alpha."""
    scene, handle = hanging_rope(2, stretch_compliance=3e-2)
    sim = settled(scene)
    sim.change_material(handle, stretch_compliance=compliance)
    sim.step(500)
    sunk = -0.25 - sim.positions(handle)[-1, 1]
    assert sunk == pytest.approx(sim.model.masses[-1] * G * 0.25 * compliance, rel=1e-6)


def test_changing_a_large_sheet_costs_no_build():
    """Rows are neither coloured nor ordered again: what names them are the arrays of the first build themselves."""
    sim = sn.Simulation(hung_sheet({}))
    blocks, slots, members = sim.model.blocks, sim.model.slots, sim.model.find(PairModel)
    sim.change(substeps=7, gravity=(0, 0, 0))
    assert sim.model.blocks is blocks
    sim.change_material("it", stretch_compliance=1e-3)
    assert sim.model.slots is slots
    assert sim.model.find(PairModel) is members
    for name, block in sim.model.blocks.items():
        assert block.indices is blocks[name].indices
        assert block.offsets is blocks[name].offsets


def test_no_warning_is_given_twice():
    scene = hung_sheet({})
    scene.add_collider(sn.Sphere(0.1), position=(0.0, 0.0, 0.0))
    with pytest.warns(sn.ContactWarning):
        sim = sn.Simulation(scene)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sim.change(substeps=4)
        sim.change_material("it", friction=0.1)


@pytest.mark.parametrize("seed", range(4))
def test_any_sequence_of_changes_pins_and_restores_has_the_bits_of_a_new_simulation(seed):
    rng = np.random.default_rng(seed)
    make = (hung_sheet, torn_sheet)[seed % 2]
    sim = sn.Simulation(make(UNBENT), substeps=4)
    kept = sim.state.copy()
    for _ in range(25):
        action = int(rng.integers(7))
        if action == 0:
            sim.step()
        elif action == 1:
            sim.change_material("it", stretch_compliance=10.0 ** rng.uniform(-5, -2), friction=rng.random())
        elif action == 2:
            sim.change(sweep=("jacobi", "gauss-seidel")[rng.integers(2)])
        elif action == 3:
            sim.change(substeps=int(rng.integers(2, 6)), method=("pbd", "xpbd")[rng.integers(2)])
        elif action == 4:
            (sim.pin if rng.random() < 0.5 else sim.unpin)("it", rng.integers(0, 49, 3))
        elif action == 5:
            kept = sim.state.copy()
        else:
            sim.restore(kept)
    material = {name: getattr(sim.material("it"), name) for name in ("stretch_compliance", "friction")}
    settings = {name: getattr(sim.settings, name) for name in ("substeps", "method", "sweep")}
    before, fresh = sim.state.copy(), sn.Simulation(make({**UNBENT, **material}), **settings)
    fresh.restore(before)
    both_ways(sim, fresh, before)
