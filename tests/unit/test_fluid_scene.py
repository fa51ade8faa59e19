"""Fluids in a scene: what shapes and containers are filled with, what is refused, what is warned of."""

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.model.settings import Settings
from shinari.scene.fluid_material import Sampling
from shinari.solver.build import build_model

TURN = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])


def cup(outer: float = 0.5, inner: float = 0.43, height: float = 0.6, floor: float = 0.07) -> sn.Mesh:
    """A cup about Y, its bottom at y = 0; its walls are polygons of 256 corners."""
    profile = [(0, 0), (outer, 0), (outer, height), (inner, height), (inner, floor), (0, floor)]
    mesh = trimesh.creation.revolve(profile, sections=256)
    return sn.Mesh(np.asarray(mesh.vertices)[:, [0, 2, 1]] * [1, 1, -1], np.asarray(mesh.faces), solid=True)


@pytest.mark.parametrize("counts", [(10, 5, 4), (1, 1, 1), (3, 1, 7), (20, 11, 2)])
@pytest.mark.parametrize("spacing", [0.1, 0.03, 7.0])
def test_a_box_takes_as_many_particles_as_it_is_spacings_long(counts: tuple[int, int, int], spacing: float) -> None:
    scene = sn.Scene()
    size = spacing * np.array(counts)
    fluid = scene.add_fluid(sn.Box(size), spacing=spacing, position=(1, 2, 3), rotation=TURN)
    assert len(fluid) == np.prod(counts)
    # half a spacing from the sides, in the axes of the box
    (obj,) = scene.particle_objects
    w, *axis = TURN * [1, -1, -1, -1]
    turn = 2.0 * np.cross(axis, obj.positions - [1, 2, 3])
    local = obj.positions - [1, 2, 3] + w * turn + np.cross(axis, turn)
    np.testing.assert_allclose(local.min(axis=0), 0.5 * (spacing - size), atol=1e-9 * spacing)
    np.testing.assert_allclose(local.max(axis=0), 0.5 * (size - spacing), atol=1e-9 * spacing)
    np.testing.assert_allclose(obj.masses, 1000.0 * spacing**3)
    np.testing.assert_allclose(obj.radii, 0.5 * spacing)


SHAPES: list[tuple[sn.Sphere | sn.Cylinder | sn.Capsule | sn.Cone | sn.ConvexHull, Callable, float]] = [
    (sn.Sphere(0.5), lambda x, y, z: x**2 + y**2 + z**2 < 0.25, np.pi / 6.0),
    (sn.Cylinder(0.4, 0.7), lambda x, y, z: (x**2 + z**2 < 0.16) & (abs(y) < 0.35), np.pi * 0.16 * 0.7),
    (
        sn.Capsule(0.3, 0.4),
        lambda x, y, z: x**2 + z**2 + (abs(y) - np.minimum(abs(y), 0.2)) ** 2 < 0.09,
        np.pi * (0.09 * 0.4 + 4.0 / 3.0 * 0.027),
    ),
    (
        sn.Cone(0.5, 1.0),
        lambda x, y, z: (np.sqrt(x**2 + z**2) < 0.5 * (0.5 - y)) & (abs(y) < 0.5),
        np.pi * 0.25 / 3.0,
    ),
    (
        sn.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
        lambda x, y, z: (x > 0) & (y > 0) & (z > 0) & (x + y + z < 1),
        1.0 / 6.0,
    ),
]


@pytest.mark.parametrize(("shape", "inside", "volume"), SHAPES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("spacing", [0.1, 0.037])
def test_of_other_shapes_the_points_inside_are_taken(
    shape: sn.Sphere, inside: Callable, volume: float, spacing: float
) -> None:
    fluid = sn.Scene().add_fluid(shape, spacing=spacing)
    points = fluid.positions
    lattice = np.indices((60, 60, 60)).reshape(3, -1).T - 30
    everywhere = points[0] + spacing * lattice
    everywhere = everywhere[(abs(everywhere) < 1.1).all(axis=1)]
    margin = 1e-6 * spacing * np.array([[0.0], [1.0], [-1.0]])
    surely = np.logical_and.reduce([inside(*(everywhere + d).T) for d in margin])
    perhaps = np.logical_or.reduce([inside(*(everywhere + d).T) for d in margin])
    assert surely.sum() <= len(points) <= perhaps.sum()
    steps = np.round((points - points[0]) / spacing)
    np.testing.assert_allclose(points - points[0], spacing * steps, atol=1e-9)
    assert inside(*(points * (1.0 - 1e-5) + 1e-6 * points.mean(axis=0)).T).all()
    assert len(points) * spacing**3 == pytest.approx(volume, rel=2.0 * spacing)


def test_a_closed_mesh_is_filled_like_the_box_that_it_is() -> None:
    box = trimesh.creation.box((1.0, 0.5, 0.4))
    arrays = np.asarray(box.vertices), np.asarray(box.faces)
    scene = sn.Scene()
    expected = scene.add_fluid(sn.Box((1.0, 0.5, 0.4)), spacing=0.1).positions
    for mesh in (box, arrays, sn.Mesh(*arrays)):
        np.testing.assert_allclose(scene.add_fluid(mesh, spacing=0.1).positions, expected, atol=1e-12)


def test_a_shape_is_filled_to_a_level() -> None:
    scene = sn.Scene()
    fluid = scene.add_fluid(sn.Box((1.0, 1.0, 1.0)), spacing=0.1, position=(0, 5, 0), fill_to=4.9)
    assert len(fluid) == 10 * 10 * 4
    assert fluid.positions[:, 1].max() == pytest.approx(4.85)


def test_points_are_taken_as_they_are() -> None:
    points = np.array([[0.0, 1.0, 2.0], [0.1, 1.0, 2.0]])
    scene = sn.Scene()
    fluid = scene.add_fluid(points, spacing=0.1, velocity=(1, 0, 0), material=sn.FluidMaterial.preset("honey"))
    np.testing.assert_array_equal(fluid.positions, points)
    (obj,) = scene.particle_objects
    assert (obj.kind, obj.sampling) == ("fluid", Sampling(0.1))
    np.testing.assert_allclose(obj.masses, 1.42)
    assert (obj.velocities == [1, 0, 0]).all()
    fluid.pin([1])
    assert scene.pinned == {1}


def test_two_dimensions() -> None:
    scene = sn.Scene()
    fluid = scene.add_fluid(sn.Sphere(0.5), spacing=0.02, dimensions=2, position=(0, 0, 0.3))
    assert (fluid.positions[:, 2] == 0.3).all()
    assert len(fluid) * 0.02**2 == pytest.approx(np.pi * 0.25, rel=0.01)
    tank = scene.add_collider(sn.Box((2, 2, 2), inside=True))
    filled = scene.add_fluid(tank, spacing=0.02, dimensions=2, position=(0, 0, 0.3), fill_to=-0.9)
    assert len(filled) == 100 * 5
    assert (filled.positions[:, 2] == 0.3).all()


@pytest.mark.parametrize("spacing", [0.05, 0.1])
def test_a_tank_is_filled_exactly(spacing: float) -> None:
    scene = sn.Scene()
    tank = scene.add_collider(sn.Box((1.0, 2.0, 0.6), inside=True), position=(3, 1, 0))
    fluid = scene.add_fluid(tank, spacing=spacing, fill_to=0.5)
    assert len(fluid) == round(1.0 * 0.5 * 0.6 / spacing**3)
    np.testing.assert_allclose(fluid.positions.min(axis=0), [2.5 + spacing / 2, spacing / 2, -0.3 + spacing / 2])
    assert len(scene.add_fluid(tank, spacing=spacing)) == round(1.2 / spacing**3)


@pytest.mark.parametrize("spacing", [0.04, 0.025])
@pytest.mark.parametrize("level", [0.3, None])
def test_a_cup_is_filled_inside(spacing: float, level: float | None) -> None:
    scene = sn.Scene()
    handle = scene.add_collider(cup(), position=(1.0, 2.0, -0.2))
    fluid = scene.add_fluid(handle, spacing=spacing, fill_to=None if level is None else level + 2.0)
    x, y, z = (fluid.positions - [1.0, 2.0, -0.2]).T
    rho, level = np.sqrt(x**2 + z**2), 0.6 if level is None else level
    loose = 1e-3 * spacing + 1e-4  # of the polygon, and of the distance field of the mesh
    assert rho.max() <= 0.43 - 0.5 * spacing + loose
    assert y.min() == pytest.approx(0.07 + 0.5 * spacing, abs=loose)
    assert level - 1.5 * spacing < y.max() <= level - 0.5 * spacing + loose
    # every lattice point that has room is taken
    step = np.arange(-20, 21) * spacing
    room = (fluid.positions[0] - [1.0, 2.0, -0.2])[[0, 2]] + np.stack(np.meshgrid(step, step), -1).reshape(-1, 2)
    layers = len(np.unique(np.round(y, 6)))
    assert len(fluid) >= layers * (np.hypot(*room.T) < 0.43 - 0.5 * spacing - loose).sum()


def walls(scene: sn.Scene, last: float = 0.5) -> list:
    """A floor and four walls, 1 m wide inside, the floor at y = 0, the brim at y = 0.5; of the last wall at `last`."""
    add = scene.add_collider
    sides = [add(sn.Box((1.1, 0.05, 1.1)), position=(0, -0.025, 0))]
    sides += [add(sn.Box((0.05, 0.5, 1.1)), position=(side * 0.525, 0.25, 0)) for side in (-1, 1)]
    sides += [add(sn.Box((1.0, 0.5, 0.05)), position=(0, 0.25, -0.525))]
    if last > 0.0:
        sides += [add(sn.Box((1.0, last, 0.05)), position=(0, 0.5 * last, 0.525))]
    return sides


def test_several_colliders_are_a_container_and_what_stands_in_it_is_spared() -> None:
    scene = sn.Scene()
    sides = walls(scene)
    assert len(scene.add_fluid(sides, spacing=0.05, fill_to=0.25)) == 20 * 20 * 5
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1, 0), name="block")
    with_block = scene.add_fluid(sides, spacing=0.05, fill_to=0.25)
    assert len(with_block) == 20 * 20 * 5 - 4 * 4 * 4
    with pytest.raises(sn.SceneError, match="'collider_2' holds nothing: it is open"):
        scene.add_fluid(sides[1], spacing=0.05)
    other = sn.Scene()
    with pytest.raises(sn.SceneError, match="holds nothing: it is open at a side"):
        other.add_fluid(walls(other, last=0.0), spacing=0.05)


def test_a_compound_body_and_a_sheet_are_containers() -> None:
    scene = sn.Scene()
    thin, parts = 0.05, []
    parts.append((sn.Box((1.1, thin, 1.1)), (0, -0.5 * thin, 0)))
    parts += [(sn.Box((thin, 0.5, 1.1)), (side * 0.525, 0.25, 0)) for side in (-1, 1)]
    parts += [(sn.Box((1.0, 0.5, thin)), (0, 0.25, side * 0.525)) for side in (-1, 1)]
    quarter = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    bath = scene.add_rigid_body(sn.Compound(parts), position=(5, 1, 0), rotation=quarter)
    fluid = scene.add_fluid(bath, spacing=0.1, fill_to=1.3)
    assert len(fluid) == 10 * 10 * 3
    np.testing.assert_allclose(fluid.positions.mean(axis=0), [5, 1.15, 0], atol=1e-6)
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    normals = np.asarray(box.face_normals)
    sheet = sn.Mesh(np.asarray(box.vertices), np.asarray(box.faces)[normals[:, 1] < 0.5], solid=False)
    tub = scene.add_collider(sheet, position=(0, 0.5, 0))
    filled = scene.add_fluid(tub, spacing=0.1, fill_to=0.5)
    assert 9 * 9 * 4 <= len(filled) <= 10 * 10 * 5
    low, high = filled.positions.min(axis=0), filled.positions.max(axis=0)
    assert (low >= [-0.451, 0.049, -0.451]).all()
    assert (high <= [0.451, 0.451, 0.451]).all()


def test_a_valley_holds_a_lake() -> None:
    x, z = np.meshgrid(np.linspace(-1, 1, 41), np.linspace(-1, 1, 41))
    ground = sn.Heightfield(0.5 * (x**2 + z**2), (2.0, 2.0), depth=0.1)
    scene = sn.Scene()
    valley = scene.add_collider(ground, position=(3.0, 1.0, 0.0))
    lake = scene.add_fluid(valley, spacing=0.025, fill_to=1.3)
    x, y, z = (lake.positions - [3.0, 1.0, 0.0]).T
    assert y.max() <= 0.3 - 0.5 * 0.025 + 1e-6
    assert (y - 0.5 * (x**2 + z**2) > 0.0125).all()
    # pi y^2 of a paraboloid, but for half a spacing along its bottom
    assert len(lake) * 0.025**3 == pytest.approx(np.pi * 0.3**2 - 0.0125 * 2.3, rel=0.05)
    with pytest.raises(sn.SceneError, match=r"is above the brim of 'collider': it runs out above y = 1\.[45]"):
        scene.add_fluid(valley, spacing=0.05, fill_to=1.8)


def test_what_overflows_or_leaks_is_refused() -> None:
    scene = sn.Scene()
    handle = scene.add_collider(cup())
    with pytest.raises(sn.SceneError, match=r"'fluid': fill_to: 0.7 m is above the top of 'collider', y = 0.6 m"):
        scene.add_fluid(handle, spacing=0.04, fill_to=0.7)
    with pytest.raises(sn.SceneError, match=r"less than a spacing of 0.04 m above the bottom inside 'collider'"):
        scene.add_fluid(handle, spacing=0.04, fill_to=0.1)
    with pytest.raises(sn.SceneError, match="above the lowest point of 'collider', y = 0 m"):
        scene.add_fluid(handle, spacing=0.04, fill_to=0.01)
    sides = walls(sn.Scene())
    with pytest.raises(sn.SceneError, match="belongs to another scene"):
        scene.add_fluid(sides, spacing=0.04)
    other = sn.Scene()
    low = walls(other, last=0.3)
    with pytest.raises(sn.SceneError, match=r"fill_to: 0.5 m is above the brim of .*: it runs out above y = 0\.3"):
        other.add_fluid(low, spacing=0.05)
    assert len(other.add_fluid(low, spacing=0.05, fill_to=0.3)) == 20 * 20 * 6


BOX = sn.Box((1, 1, 1))


@pytest.mark.parametrize(
    ("given", "changes", "message"),
    [
        (BOX, {"spacing": 2.0}, "fluid 'f': spacing: 2 m is larger than the box, which is 1 m thin; 0.25 m"),
        (sn.Sphere(0.1), {"spacing": 0.3}, "spacing: 0.3 m is larger than the sphere"),
        (sn.Box((1, 1, 1), inside=True), {"spacing": 2.0}, "larger than the container"),
        (sn.Box((1, 1, 0.01)), {"dimensions": 2}, "with dimensions=2 a layer is one spacing thick"),
        (BOX, {"spacing": 1e-4}, r"spacing: 0.0001 m makes a lattice of 1e\+12 particles; 0.022 m would make 100,000"),
        (BOX, {"spacing": 0.0}, "spacing: must be above 0"),
        (BOX, {"spacing": -1.0}, "spacing: must be above 0"),
        (BOX, {"spacing": "0.1"}, "spacing: expected a number|spacing: expected a finite number"),
        (BOX, {"support": 0.2}, "support: is where the kernels end, in spacings .* got 0.2; nearer"),
        (BOX, {"support": 9.0}, "got 9; nearer than that a particle has no neighbours"),
        (BOX, {"kernel": "gauss"}, "kernel: expected one of 'spiky', "),
        (BOX, {"boundary": "none"}, "boundary: expected one of 'walls', 'particles'"),
        (BOX, {"dimensions": 4}, "dimensions: expected 2 or 3, got 4"),
        (BOX, {"dimensions": 1}, "dimensions: must be at least 2"),
        (BOX, {"material": sn.ClothMaterial()}, "material: expected a FluidMaterial"),
        (BOX, {"fill_to": -0.45}, "fill_to: -0.45 m is less than a spacing above the bottom of the shape, -0.5 m"),
        (BOX, {"velocity": (1, 2)}, "velocity: expected shape"),
        (BOX, {"dimensions": 2, "velocity": (0, 0, 1)}, "velocity: has a z component, but dimensions=2"),
        (BOX, {"dimensions": 2, "rotation": TURN}, "points: with dimensions=2 all lie in a plane of constant z"),
        (sn.Plane(), {}, "shape: a Plane has no inside"),
        (sn.Heightfield([[0, 0], [0, 0]], (1, 1)), {}, "shape: a Heightfield has no inside"),
        ([], {}, "points: expected shape|points: no particles"),
        ([[0, 0, 0], [0, np.nan, 0]], {}, "points: not a finite number"),
        ([[0, 0, 0], [1, 0, 0], [0, 0, 0]], {}, "points: 0 and 2 are in the same place"),
        ([[0, 0, 0]], {"fill_to": 1.0}, "fill_to: points are not filled"),
        ([[0, 0, 0], [0, 0, 1]], {"dimensions": 2}, "particle 0 has z = 0 m, particle 1 z = 1 m"),
        (sn.FluidMaterial(), {}, "points: expected numbers"),
    ],
)
def test_what_is_refused(given: object, changes: dict, message: str) -> None:
    scene = sn.Scene()
    with pytest.raises(sn.SceneError, match=message):
        scene.add_fluid(given, **({"spacing": 0.1, "name": "f"} | changes))
    assert not scene.particle_objects


def test_an_open_mesh_is_refused_with_its_holes() -> None:
    box = trimesh.creation.box((1, 1, 1))
    with pytest.raises(sn.SceneError, match=r"fluid 'fluid': mesh: .*holes: 1.*only a closed mesh can be filled"):
        sn.Scene().add_fluid((box.vertices, box.faces[1:]), spacing=0.1)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("viscosity", -1.0, "viscosity: must be at least 0, got -1"),
        ("rest_density", 0.0, "rest_density: must be above 0"),
        ("surface_tension", -0.1, "surface_tension: must be at least 0"),
        ("xsph", 1.5, "xsph: must be at most 1"),
        ("compressibility", np.inf, "compressibility: expected a finite number"),
        ("tensile_power", 2.5, "tensile_power: expected a whole number"),
        ("friction", -1.0, "friction: must be at least 0"),
        ("restitution", 2.0, "restitution: must be at most 1"),
        ("cohesive", 1, "cohesive: expected one of True, False"),
    ],
)
def test_the_material_names_the_field(field: str, value: float, message: str) -> None:
    with pytest.raises(sn.SceneError, match=f"FluidMaterial: {message}"):
        sn.FluidMaterial(**{field: value})


def build(scene: sn.Scene, with_workspace: bool = False) -> list[str]:
    """Warnings of the model of a scene, and of its simulation."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if with_workspace:
            sn.Simulation(scene, substeps=1, threads=1)
        else:
            build_model(scene, Settings())
    return [f"{item.category.__name__}: {item.message}" for item in caught]


def test_fluids_of_a_scene_are_sampled_alike() -> None:
    for changes in ({"spacing": 0.2}, {"support": 3.0}, {"kernel": "cubic-spline"}, {"boundary": "particles"}):
        scene = sn.Scene()
        scene.add_fluid(BOX, spacing=0.1, kernel="poly6", name="one")
        scene.add_fluid(BOX, **({"spacing": 0.1, "kernel": "poly6", "name": "two", "position": (5, 0, 0)} | changes))
        with pytest.raises(sn.SceneError, match=f"fluid 'two': {next(iter(changes))}: .* all fluids of a scene are"):
            sn.Simulation(scene)


def test_fluids_of_two_dimensions_share_a_plane() -> None:
    scene = sn.Scene()
    scene.add_fluid(BOX, spacing=0.1, dimensions=2, name="one")
    scene.add_fluid(BOX, spacing=0.1, dimensions=2, name="two", position=(5, 0, 0.01))
    with pytest.raises(sn.SceneError, match=r"fluid 'two': position: its plane z = 0.01 m is not that of 'one', 0 m"):
        sn.Simulation(scene)
    tilted = sn.Scene(gravity=(0, -9.81, 0.1))
    tilted.add_fluid(BOX, spacing=0.1, dimensions=2)
    with pytest.raises(sn.SceneError, match="gravity: pulls 'fluid', a fluid of two dimensions, out of its plane"):
        sn.Simulation(tilted)


def test_fills_that_overlap_are_warned_of() -> None:
    scene = sn.Scene()
    scene.add_fluid(sn.Box((0.4, 0.4, 0.4)), spacing=0.1, name="one")
    scene.add_fluid(sn.Box((0.4, 0.4, 0.4)), spacing=0.1, position=(0.2, 0.01, 0), name="two")
    scene.add_fluid(sn.Box((0.4, 0.4, 0.4)), spacing=0.1, position=(0.6, 0.01, 0), name="beside")
    (text,) = build(scene)
    assert text.startswith("ContactWarning: 'one' and 'two' overlap at the start: 32 particles have one nearer than")
    assert re.search(r"the nearest 0.01 m away, particle \d+ of 'one' and particle \d+ of 'two'; they burst", text)
    again = sn.Scene()
    again.add_fluid([[0, 0, 0], [0.02, 0, 0], [1, 0, 0]], spacing=0.1, name="points")
    (text,) = build(again)
    assert "particles of 'points' lie in each other at the start: 1 particles" in text
    assert "particle 0 of 'points' and particle 1 of 'points'" in text


def test_a_fluid_in_a_solid_or_in_a_cloth_is_warned_of() -> None:
    scene = sn.Scene()
    scene.add_fluid(sn.Box((0.4, 0.4, 0.4)), spacing=0.1, name="water")
    scene.add_collider(sn.Sphere(0.1), name="ball")
    scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0.2, 0.2, 0.2), name="die")
    texts = build(scene)
    assert any("'water' starts inside collider 'ball': 8 particles" in text for text in texts)
    assert any("'water' starts inside body 'die': 1 particles" in text for text in texts)
    assert len(texts) == 2
    other = sn.Scene()
    other.add_fluid(sn.Box((0.4, 0.4, 0.4)), spacing=0.1, name="water")
    cloth = sn.ClothMaterial(thickness=0.01)
    other.add_cloth(sn.grid(shape=(3, 3)), position=(0.0, -0.12, 0.0), material=cloth, name="rag")
    (text,) = build(other, with_workspace=True)
    assert "'water' and 'rag' overlap at the start" in text


def test_filling_a_container_warns_of_nothing() -> None:
    scene = sn.Scene()
    handle = scene.add_collider(cup(inner=0.37, floor=0.13))
    scene.add_rigid_body(sn.Sphere(0.1), position=(0, 0.3, 0))
    scene.add_fluid(handle, spacing=0.04)
    assert build(scene) == []


@pytest.mark.parametrize(("ratio", "said"), [(19.9, 0), (21.0, 1)])
def test_densities_too_far_apart_are_warned_of(ratio: float, said: int) -> None:
    scene = sn.Scene()
    scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.1, material=sn.FluidMaterial(rest_density=1000.0), name="water")
    gas = sn.FluidMaterial(rest_density=1000.0 / ratio)
    scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.1, material=gas, position=(1, 0, 0), name="gas")
    texts = build(scene)
    assert len(texts) == said
    assert all(text.startswith("FluidWarning: 'water' is 21 times as dense as 'gas'") for text in texts)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("dimensions", [2, 3])
def test_densities_are_right_before_the_first_step(precision: str, dimensions: int) -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    oil = scene.add_fluid(
        sn.Box((1.2, 1.2, 1.2)), spacing=0.1, dimensions=dimensions, material=sn.FluidMaterial(rest_density=900.0)
    )
    scene.add_fluid(sn.Box((0.3, 0.3, 0.3)), spacing=0.1, dimensions=dimensions, position=(5, 0, 0), name="far")
    simulation = sn.Simulation(scene, precision=precision, substeps=2)
    before = simulation.state.copy()
    densities = simulation.densities(oil)
    deep = (abs(oil.positions[:, :dimensions]) < 0.4).all(axis=1)
    assert deep.any()
    np.testing.assert_allclose(densities[deep], 900.0, rtol=2e-6 if precision == "float32" else 1e-12)
    assert densities.max() <= 900.0 * (1.0 + 2e-6)
    assert (densities[~deep & (oil.positions[:, 1] > 0.5)] < 899.0).all()
    assert simulation.densities("far").shape == (27 if dimensions == 3 else 9,)
    assert (simulation.pressures(oil) == 0.0).all()
    assert simulation.state == before
    asked, silent = simulation, sn.Simulation(scene, precision=precision, substeps=2)
    for run in (asked, silent):
        run.step(2)
    assert asked.state == silent.state
    # nothing pushes: the densities stay as they were
    np.testing.assert_allclose(simulation.densities(oil), densities, rtol=1e-4)


def test_only_fluids_have_densities() -> None:
    scene, other = sn.Scene(), sn.Scene()
    scene.add_particles([[0, 0, 0]], name="dust")
    scene.add_fluid([[5, 0, 0]], spacing=0.1)
    fluid = other.add_fluid([[5, 0, 0]], spacing=0.1)
    simulation = sn.Simulation(scene)
    for ask in (simulation.densities, simulation.pressures):
        with pytest.raises(sn.SceneError, match="'dust' is no fluid"):
            ask("dust")
        with pytest.raises(sn.SceneError, match="belongs to another scene"):
            ask(fluid)


@pytest.mark.parametrize("boundary", ["walls", "particles"])
def test_walls_count_in_densities_before_the_first_step(boundary: str) -> None:
    scene = sn.Scene()
    tank = scene.add_collider(sn.Box((0.4, 0.4, 0.4), inside=True), position=(1, 0.2, 0))
    water = scene.add_fluid(tank, spacing=0.05, fill_to=0.35, boundary=boundary)
    asked, silent = (sn.Simulation(scene, substeps=2, threads=1) for _ in range(2))
    densities = asked.densities(water)
    top = water.positions[:, 1] > 0.3
    np.testing.assert_allclose(densities[~top], 1000.0, rtol=0.01)
    assert (densities[top] < 930.0).all()
    for run in (asked, silent):
        run.step(2)
    assert asked.state == silent.state
