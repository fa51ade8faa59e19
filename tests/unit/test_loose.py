"""Loose particles and surfaces: those that are far are left out of contacts; loads that a sheet cannot carry."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.surface_contact.system import SurfaceContacts


@sn.function
def pull(x, v, m, t):
    """1e5 m/s^2 downwards."""
    return 0.0, -1e5 * m, 0.0


def shower(
    height: float,
    velocity: float = 0.0,
    precision: str = "float32",
    pulled: bool = False,
    substeps: int = 10,
    self_collision: str | bool = False,
):
    """Balls above a sheet that is held everywhere; they pass through each other."""
    scene = sn.Scene()
    vertices, faces = sn.grid(size=(0.8, 0.8), shape=(9, 9))
    material = sn.ClothMaterial(thickness=0.004)
    sheet = scene.add_cloth((vertices, faces), material=material, self_collision=self_collision, name="sheet")
    sheet.pin(np.arange(len(vertices)))
    side = 0.05 * (np.arange(6) - 2.5)
    x = np.stack(np.meshgrid(side, [height], side, indexing="ij"), axis=-1).reshape(-1, 3)
    balls = scene.add_particles(x, velocity=(0, velocity, 0), radius=0.005, name="balls")
    if pulled:
        scene.add_force_field(pull)
    simulation = sn.Simulation(scene, substeps=substeps, precision=precision, threads=1)
    return simulation, balls, simulation._bound.get(SurfaceContacts)


def takes_part(contacts: SurfaceContacts) -> bool:
    """Whether loose particles took part at the end of the last step."""
    return bool(contacts._detection.detection.loose[0])


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize(("self_collision", "members"), [(False, 0), ("triangles", 81)])
def test_balls_are_left_out_until_they_come_near(precision, self_collision, members):
    """So is a sheet that can meet nothing else."""
    simulation, balls, contacts = shower(1.0, precision=precision, self_collision=self_collision)
    simulation.step()
    assert not takes_part(contacts)
    assert contacts._detection.detection.members[0] == members
    while simulation.positions(balls)[:, 1].min() > 0.05:
        simulation.step()
    assert takes_part(contacts)
    simulation.step(60)
    assert simulation.positions(balls)[:, 1].min() > 0.0, "a ball has passed the sheet"


@pytest.mark.parametrize("speed", [10.0, 100.0, 300.0])
def test_fast_balls_are_not_missed(speed):
    simulation, balls, _ = shower(5.0, velocity=-speed)
    simulation.step(40)
    assert simulation.positions(balls)[:, 1].min() > 0.0


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("part", [1.5, 1.95, 2.1, 3.0])
def test_balls_whose_mean_motion_turns_the_frame_inside_out_are_not_missed(part, precision):
    """In one substep they go as far beyond the sheet as they were before it: F = 1 + h A is about -1 along y."""
    simulation, balls, _ = shower(2.0, velocity=-part * 2.0 * 60.0, precision=precision, substeps=1)
    simulation.step()
    assert simulation.positions(balls)[:, 1].min() > 0.0


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_balls_that_come_near_in_the_middle_of_a_step_are_not_missed(precision):
    """At rest they are far; a force takes them past the sheet within a step."""
    simulation, balls, contacts = shower(2.0, precision=precision, pulled=True)
    simulation.step()
    assert takes_part(contacts)
    assert simulation.positions(balls)[:, 1].min() > 0.0
    simulation.step(3)
    assert simulation.positions(balls)[:, 1].min() > 0.0


def test_a_checkpoint_resumes_bit_by_bit(tmp_path):
    one, _, _ = shower(0.8)
    one.step(10)
    one.save(tmp_path / "shower.h5")
    again = sn.Simulation.load(tmp_path / "shower.h5")
    for simulation in (one, again):
        simulation.step(15)
    assert one.state == again.state


def beside(precision: str) -> sn.Simulation:
    """Fluid on the ground, a cloth far from it."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_fluid(sn.Box((0.4, 0.4, 0.4)), spacing=0.05, position=(0, 0.2, 0))
    scene.add_cloth(sn.grid(size=(0.8, 0.8), shape=(9, 9)), position=(-2.4, 1.0, 0), self_collision="triangles")
    return sn.Simulation(scene, dt=1 / 240, substeps=4, precision=precision, threads=1)


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_fluid_far_from_a_cloth_is_looked_at_by_few_kernels(precision):
    """Of all that contacts launch two go over it in a step, and two in a substep: where it is, and whether it is far.

    Nobody asks for the longest displacement, since no collider has an end, nor where the fluid stands in its order.
    """
    simulation = beside(precision)
    simulation.step(3)
    program = simulation._bound.program
    ran = [(program._parts[k], program._names[k]) for k in np.flatnonzero(program.lines.spent)]
    names = {name for part, name in ran if part.startswith(("SurfaceContacts", "PathCertificates"))}
    assert {"measure_object", "keep_place", "count_far", "keep_begin"} < names
    assert not names & {"measure_block", "trace_paths"}
    assert not {name for _, name in ran} & {"take_place", "find_start"}


def test_members_follow_what_comes_and_goes():
    """The list of what can touch is made anew only where an emitter or a sink has changed it."""
    scene = sn.Scene()
    scene.add_cloth(sn.grid(size=(0.8, 0.8), shape=(9, 9)), position=(0, 0.4, 0)).pin(np.arange(81))
    scene.add_emitter(limit=200, radius=0.1, spacing=0.05, speed=2.0, position=(0, 0.7, 0), stop=0.12)
    simulation = sn.Simulation(scene, substeps=2, threads=1)
    detection, counts = simulation._bound.get(SurfaceContacts)._detection, []
    for _ in range(10):
        simulation.step()
        absent = simulation.model.inactive(simulation.state)
        counts.append(int(detection.detection.all_members[0]))
        assert counts[-1] == simulation.model.particle_count - len(absent)
        assert not np.isin(detection.members.particle[: counts[-1]], absent).any()
    assert len(set(counts)) > 1


def loaded(substeps: int, density: float = 2650.0, cells: int = 30, threads: int = 1) -> sn.Simulation:
    """A sheet that is held at its edges, under 128 grains of 15 mm."""
    scene = sn.Scene()
    vertices, faces = sn.grid(size=(0.6, 0.6), shape=(cells + 1, cells + 1))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(density=0.3), name="sheet")
    sheet.pin(np.flatnonzero(np.abs(vertices[:, [0, 2]]).max(axis=1) > 0.2999))
    side = 0.033 * (np.arange(8) - 3.5)
    layers = np.meshgrid(side, [0.025, 0.058], side, indexing="ij")
    points = np.stack(layers, axis=-1).reshape(-1, 3)
    scene.add_grains(points, radius=0.015, material=sn.GrainMaterial(density=density), name="load")
    return sn.Simulation(scene, substeps=substeps, threads=threads)


def test_a_load_that_a_sheet_cannot_carry_is_told():
    words = "'load' on 'sheet' is 1.52e\\+03 times its mass, and one particle 1e\\+04 times .* take 4 substeps"
    with pytest.warns(sn.ContactWarning, match=words):
        loaded(3, 85e3)
    loaded(4, 85e3)


@pytest.mark.parametrize(("substeps", "density"), [(10, 2650.0), (10, 8500.0), (20, 85e3)])
def test_a_heavy_load_rests(substeps, density):
    simulation = loaded(substeps, density)
    largest = 0.0
    for _ in range(150):
        simulation.step()
        largest = max(largest, simulation.energy().kinetic)
        assert np.linalg.norm(simulation.velocities("sheet"), axis=1).max() < 5.0
    y = simulation.positions("load")[:, 1]
    assert y.min() > simulation.positions("sheet")[:, 1].min()
    assert simulation.energy().kinetic < 0.05 * largest


def test_a_heavy_load_has_the_same_bits_when_it_resumes_and_on_two_threads(tmp_path):
    one, two = loaded(20, 85e3), loaded(20, 85e3, threads=2)
    one.step(25)
    one.save(tmp_path / "load.h5")
    again = sn.Simulation.load(tmp_path / "load.h5")
    for simulation, steps in ((one, 10), (again, 10), (two, 35)):
        simulation.step(steps)
    assert one.state == again.state
    assert one.state == two.state


def test_a_sheet_has_its_own_mass_after_a_step():
    simulation = loaded(20, 85e3)
    simulation.step(15)
    assert np.array_equal(simulation.state.x[:, 3], simulation.model.inverse_masses.astype(np.float32))
