"""Fluids against cloth: what sheets add to densities, that they hold water, and that each pushes the other."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.fluid.sheets import Sheets
from shinari.systems.fluid.system import Fluid
from shinari.systems.fluid.wall_table import missing
from shinari.systems.surface_contact.system import SurfaceContacts

# the water of a bag begins as a block that its cloth overlaps a little
pytestmark = pytest.mark.filterwarnings("ignore:'bag' and 'water' overlap:shinari.errors.ContactWarning")

SPACING = 0.02


def block(shape, at=(0.0, 0.0, 0.0)):
    """A lattice of particles around a point, (n, 3)."""
    steps = [np.arange(k) - 0.5 * (k - 1) for k in shape]
    return SPACING * np.stack(np.meshgrid(*steps, indexing="ij"), axis=-1).reshape(-1, 3) + np.array(at)


def fluid_of(simulation):
    """The fluids of a simulation."""
    return simulation._bound.get(Fluid)


def sheet_scene(sides, *, thickness=0.004, cells=10, gravity=0.0, height=0.0):
    """A level sheet, held everywhere, with a lattice of water half a spacing and a height above it, below, or both."""
    scene = sn.Scene(gravity=(0.0, -gravity, 0.0))
    vertices, faces = sn.grid(size=(0.4, 0.4), shape=(cells + 1, cells + 1))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(thickness=thickness), name="sheet")
    sheet.pin(np.arange(len(vertices)))
    for side in sides:
        up = 0.5 * thickness + 2.0 * SPACING + height
        scene.add_fluid(block((10, 4, 10), (0.0, side * up, 0.0)), spacing=SPACING, name=f"water_{side:+d}")
    return scene


def middle(scene, simulation, side):
    """Relative densities of the column in the middle, from the sheet outwards, (4,)."""
    x = scene[f"water_{side:+d}"]
    densities = simulation.densities(x) / 1000.0
    points = simulation.positions(x).astype(float)
    inside = np.hypot(points[:, 0], points[:, 2]) < SPACING
    order = np.argsort(np.abs(points[inside, 1]))
    return densities[inside][order].reshape(4, -1).mean(axis=1)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("cells", [4, 10, 30], ids="triangles of {} cells".format)
@pytest.mark.parametrize("side", [-1, 1])
def test_the_layer_at_a_sheet_is_as_dense_as_one_inside(precision, cells, side):
    scene = sheet_scene([side], cells=cells)
    simulation = sn.Simulation(scene, precision=precision)
    column = middle(scene, simulation, side)
    # the sheet stands for the mean of half a lattice over all places along it; the fourth layer is at the surface
    assert column[:2] == pytest.approx(1.0, abs=0.02)
    smoothing = fluid_of(simulation).model.smoothing
    assert column[3] == pytest.approx(1.0 - missing(smoothing, 0.5 * SPACING), abs=0.02)


def test_fluid_on_both_sides_counts_once():
    one = sheet_scene([1], thickness=1e-4)
    both = sheet_scene([1, -1], thickness=1e-4)
    alone = middle(one, sn.Simulation(one, precision="float64"), 1)
    beside = middle(both, sn.Simulation(both, precision="float64"), 1)
    assert beside[0] == pytest.approx(1.0, abs=0.02)
    assert beside[0] == pytest.approx(alone[0], abs=0.03)


def test_a_sheet_that_fluid_ignores_adds_nothing():
    scene = sheet_scene([1])
    scene.ignore_contact("sheet", "water_+1")
    simulation = sn.Simulation(scene)
    smoothing = fluid_of(simulation).model.smoothing
    assert middle(scene, simulation, 1)[0] == pytest.approx(1.0 - missing(smoothing, 0.5 * SPACING), abs=0.02)


@pytest.mark.parametrize(
    ("options", "field"), [({"self_collision": "particles"}, "self_collision"), ({"thickness": 0.0}, "thickness")]
)
def test_a_cloth_that_would_let_fluid_through_is_refused(options, field):
    scene = sn.Scene()
    material = sn.ClothMaterial(thickness=options.pop("thickness", 0.01))
    scene.add_cloth(sn.grid(shape=(3, 3)), material=material, position=(0.0, -1.0, 0.0), name="net", **options)
    scene.add_fluid(block((2, 2, 2)), spacing=SPACING, name="water")
    with pytest.raises(sn.SceneError, match=f"net.*{field}.*water"):
        sn.Simulation(scene)
    scene.ignore_contact("net", "water")
    sn.Simulation(scene).step()


def bag_scene(*, cells=8, density=1.0, fill=(6, 4, 6), cloth_gravity=9.81):
    """A square tray of cloth with upright walls, its rim held, with a block of water in it."""
    scene = sn.Scene(gravity=(0.0, -cloth_gravity, 0.0))
    flat, faces = sn.grid(size=(2.0, 2.0), shape=(cells + 1, cells + 1))
    out = np.abs(flat[:, [0, 2]]).max(axis=1)
    half = 0.5 * fill[0] * SPACING + 0.004
    # the outer half of the grid is folded up
    scale = np.where(out > 0.5, 0.5 / np.maximum(out, 1e-9), 1.0) * 2.0 * half
    x = np.stack([flat[:, 0] * scale, np.maximum(out - 0.5, 0.0) * 4.0 * half, flat[:, 2] * scale], axis=1)
    material = sn.ClothMaterial(density=density, thickness=0.002, stretch_compliance=1e-6)
    bag = scene.add_cloth((x, faces), material=material, name="bag")
    rim = np.flatnonzero(out > 1.0 - 1e-9)
    held = scene.attach((bag, rim), x[rim])
    points = block(fill, (0.0, 0.5 * fill[1] * SPACING + 0.003, 0.0))
    scene.add_fluid(points, spacing=SPACING, material=sn.FluidMaterial(viscosity=1.0), name="water")
    return scene, held


@pytest.mark.parametrize("cells", [4, 8, 16], ids="{} cells".format)
def test_a_bag_holds_water_and_carries_its_weight(cells):
    scene, held = bag_scene(cells=cells)
    simulation = sn.Simulation(scene, substeps=20)
    pulls, pushes = [], []
    for frame in range(90):
        simulation.step()
        if frame >= 60:
            pulls.append(abs(simulation.forces(held)[:, 1].sum()))
            pushes.append(abs(simulation.forces(scene["bag"])[1]))
    water, bag = simulation.positions("water"), simulation.positions("bag")
    assert water[:, 1].min() > bag[:, 1].min(), "through the bottom"
    assert (np.abs(water[:, [0, 2]]) < np.abs(bag[:, [0, 2]]).max()).all(), "through the sides"
    masses = {obj.name: obj.masses.sum() for obj in scene.particle_objects}
    assert np.mean(pushes) == pytest.approx(9.81 * masses["water"], rel=0.02)
    assert np.mean(pulls) == pytest.approx(9.81 * sum(masses.values()), rel=0.02)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_jet_and_a_free_sheet_keep_their_momentum(precision):
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    mesh = sn.grid(size=(0.4, 0.4), shape=(6, 6))  # triangles four spacings long
    scene.add_cloth(mesh, material=sn.ClothMaterial(density=0.5, thickness=0.002), name="sheet")
    points = block((4, 12, 4), (0.03, 0.14, 0.02))
    scene.add_fluid(points, spacing=SPACING, velocity=(0.0, -4.0, 0.0), name="jet")
    simulation = sn.Simulation(scene, substeps=10, precision=precision)
    before = simulation.momentum()
    turn = simulation.angular_momentum()
    for _ in range(15):
        simulation.step()
    error = 1e-12 if precision == "float64" else 1e-5
    assert simulation.momentum() == pytest.approx(before, abs=error * np.abs(before).max() * 10.0)
    assert simulation.positions("sheet")[:, 1].mean() < -0.01, "the jet does not push the sheet"
    # contacts act at the points that touch, to the thickness of what overlaps in a substep
    assert simulation.angular_momentum() == pytest.approx(turn, abs=0.02 * np.abs(before).max() * 0.2)


@pytest.mark.parametrize(("speed", "cells", "thickness"), [(5.0, 4, 0.001), (10.0, 20, 0.001), (20.0, 10, 0.0002)])
def test_nothing_leaks_through_a_thin_sheet(speed, cells, thickness):
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    vertices, faces = sn.grid(size=(0.6, 0.6), shape=(cells + 1, cells + 1))
    sheet = scene.add_cloth(
        (vertices, faces), material=sn.ClothMaterial(density=2.0, thickness=thickness), name="sheet"
    )
    sheet.pin(np.arange(len(vertices)))
    points = block((5, 10, 5), (0.013, 0.16, 0.007))
    scene.add_fluid(points, spacing=SPACING, velocity=(0.3, -speed, 0.1), name="jet")
    simulation = sn.Simulation(scene, substeps=5)
    for _ in range(12):
        simulation.step()
        x = simulation.positions("jet")
        under = np.abs(x[:, [0, 2]]).max(axis=1) < 0.29
        assert x[under, 1].min() > 0.0


def test_the_same_bits_on_one_thread_and_on_two():
    results = []
    for threads in (1, 2):
        scene, _ = bag_scene(fill=(12, 8, 12), cells=10, density=20.0)
        simulation = sn.Simulation(scene, substeps=4, threads=threads)
        for _ in range(4):
            simulation.step()
        results.append(simulation.state.positions.copy())
        assert any(isinstance(one, Sheets) for one in fluid_of(simulation).boundaries)
    assert np.array_equal(*results)


def falling(cloth: bool, *, precision: str, self_collision: str | bool = False):
    """A block of water that falls on a plane, with or without a sheet that hangs beside it."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_fluid(block((6, 6, 6), (0.0, 0.3, 0.0)), spacing=SPACING, name="water")
    if cloth:
        sheet = scene.add_cloth(sn.grid(shape=(9, 9)), self_collision=self_collision, position=(3.0, 1.0, 0.0))
        sheet.pin([0, 8])
    return sn.Simulation(scene, dt=1 / 120, substeps=4, precision=precision)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("self_collision", [False, "triangles"])
def test_a_fluid_far_from_a_sheet_moves_as_it_does_alone(precision, self_collision):
    alone, both = falling(False, precision=precision), falling(True, precision=precision, self_collision=self_collision)
    for _ in range(30):
        alone.step()
        both.step()
        assert (both.positions(both.scene["water"]) == alone.positions(alone.scene["water"])).all()


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_a_sheet_counts_as_soon_as_a_fluid_may_be_near(precision, monkeypatch):
    """The same bits as where triangles are looked for in every substep, before the water comes and after."""

    def fall():
        return sn.Simulation(sheet_scene([1], gravity=9.81, height=0.4), precision=precision, substeps=8)

    lazy = fall()
    monkeypatch.setattr(SurfaceContacts, "watch", lambda self, reach: setattr(self._loose, "reach", np.inf))
    always, near = fall(), []
    for _ in range(30):
        lazy.step()
        always.step()
        assert (lazy.state.positions == always.state.positions).all()
        near.append(lazy._bound.get(SurfaceContacts)._detection.detection.loose[0])
    assert not near[0]
    assert near[-1]
