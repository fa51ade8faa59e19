"""Fluids that fill boxes and tanks of any size have their mass and their volume."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.motion import rotation_matrix

SIZES = [(0.5, 0.5, 0.5), (1.0, 0.5, 0.6), (0.31, 0.52, 0.27), (0.2, 0.9, 0.4), (0.3, 0.4, 0.3)]


def box(size: np.ndarray, inside: bool = False) -> sn.Box:
    return sn.Box((float(size[0]), float(size[1]), float(size[2])), inside=inside)


def nearest(points: np.ndarray) -> np.ndarray:
    """Distances of neighbours along each axis, the least of each axis [m]."""
    return np.array([np.diff(np.unique(np.round(points[:, k], 9))).min() for k in range(3)])


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("spacing", [0.03, 0.037, 0.045, 0.06])
@pytest.mark.parametrize("tank", [False, True])
def test_a_box_of_any_size_has_its_mass_and_volume(
    size: tuple[float, float, float], spacing: float, tank: bool
) -> None:
    scene, volume = sn.Scene(), float(np.prod(size))
    if tank:
        handle = scene.add_collider(sn.Box(size, inside=True), position=(1, 2, 3))
        volume *= 0.7
        fluid = scene.add_fluid(handle, spacing=spacing, fill_to=2.0 + 0.2 * size[1])
    else:
        fluid = scene.add_fluid(sn.Box(size), spacing=spacing, position=(1, 2, 3))
    assert scene.particle_objects[0].masses.sum() == pytest.approx(1000.0 * volume, rel=1e-9)
    assert len(fluid) * spacing**3 == pytest.approx(volume, rel=0.005)
    local = fluid.positions - (1, 2, 3)
    assert (np.abs(local) <= 0.5 * (np.array(size) - spacing) + 1e-9).all()
    assert (nearest(local) > 0.74 * spacing).all()


@pytest.mark.parametrize("spacing", [0.03, 0.04])
def test_in_two_dimensions_too(spacing: float) -> None:
    scene = sn.Scene()
    fluid = scene.add_fluid(sn.Box((0.5, 0.3, 0.1)), spacing=spacing, dimensions=2, position=(0, 0, 0.2))
    assert (fluid.positions[:, 2] == 0.2).all()
    assert scene.particle_objects[0].masses.sum() == pytest.approx(1000.0 * 0.15 * spacing, rel=1e-9)
    assert len(fluid) * spacing**2 == pytest.approx(0.15, rel=0.01)


def test_a_box_is_filled_to_a_level_that_is_no_multiple() -> None:
    scene = sn.Scene()
    turn = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)
    scene.add_fluid(sn.Box((0.5, 0.5, 0.4)), spacing=0.03, position=(0, 1, 0), rotation=turn, fill_to=1.1)
    assert scene.particle_objects[0].masses.sum() == pytest.approx(1000.0 * 0.5 * 0.4 * 0.35, rel=1e-9)
    assert scene.particle_objects[0].positions[:, 1].max() == pytest.approx(1.1 - 0.015)
    with pytest.raises(sn.SceneError, match=r"fill_to: 0\.76 m is less than a spacing above the bottom"):
        scene.add_fluid(sn.Box((0.5, 0.5, 0.4)), spacing=0.03, position=(0, 1, 0), fill_to=0.76)


def test_a_thin_box_is_a_layer_with_its_mass() -> None:
    scene = sn.Scene()
    fluid = scene.add_fluid(sn.Box((0.3, 0.045, 0.3)), spacing=0.03)
    assert (fluid.positions[:, 1] == 0.0).all()
    assert scene.particle_objects[0].masses.sum() == pytest.approx(1000.0 * 0.3 * 0.045 * 0.3, rel=1e-9)


@pytest.mark.parametrize("angle", [0.3, 0.5 * np.pi, -2.0])
@pytest.mark.parametrize("walls", [1, 5])
@pytest.mark.parametrize("spacing", [0.03, 0.045])
def test_a_tank_that_is_turned_about_the_vertical_has_its_mass_and_volume(
    angle: float, walls: int, spacing: float
) -> None:
    size, turn = np.array((0.31, 0.52, 0.27)), (np.cos(0.5 * angle), 0.0, np.sin(0.5 * angle), 0.0)
    axes, middle = rotation_matrix(np.array(turn)), np.array((1.0, 2.0, 3.0))
    scene = sn.Scene()
    if walls == 1:
        handles = [scene.add_collider(box(size, inside=True), position=middle, rotation=turn)]
    else:
        handles = []
        for at in ((0, -1, 0), (1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1)):
            along = np.abs(np.array(at))
            wall = box(np.where(along, 0.1, size + 0.2))
            place = middle + axes @ (at * (0.5 * size + 0.05))
            handles.append(scene.add_collider(wall, position=place, rotation=turn))
    fluid = scene.add_fluid(handles, spacing=spacing, fill_to=2.1)
    volume = size[0] * size[2] * (0.1 + 0.5 * size[1])
    assert scene.particle_objects[0].masses.sum() == pytest.approx(1000.0 * volume, rel=1e-9)
    assert len(fluid) * spacing**3 == pytest.approx(volume, rel=0.005)
    local = (fluid.positions - middle) @ axes
    assert (np.abs(local) <= 0.5 * (size - spacing) + 1e-9).all()


@pytest.mark.parametrize("angle", [0.0, 0.3])
@pytest.mark.parametrize("spacing", [0.03, 0.037, 0.045])
def test_a_solid_in_a_tank_leaves_out_no_more_than_a_spacing_around_it(spacing: float, angle: float) -> None:
    """Points keep half a spacing from it, and it takes those of a lattice that may begin another half away."""
    size, block, turn = (0.5, 0.5, 0.5), np.array((0.1, 0.15, 0.1)), (np.cos(0.5 * angle), 0, np.sin(0.5 * angle), 0)
    scene = sn.Scene()
    tank = scene.add_collider(sn.Box(size, inside=True), rotation=turn)
    scene.add_collider(box(block), position=(0, -0.5 * size[1] + 0.5 * block[1], 0), rotation=turn)
    fluid = scene.add_fluid(tank, spacing=spacing, fill_to=0.1)
    whole = size[0] * size[2] * 0.35
    most, least = whole - np.prod(block), whole - np.prod(block + np.array((2.0, 1.0, 2.0)) * spacing)
    assert least < scene.particle_objects[0].masses.sum() / 1000.0 < most
    assert least < len(fluid) * spacing**3 < most
    local = np.abs((fluid.positions - (0, -0.175, 0)) @ rotation_matrix(np.array(turn))) - 0.5 * block
    assert np.linalg.norm(np.maximum(local, 0.0), axis=1).min() >= 0.5 * spacing - 1e-9


@pytest.mark.parametrize(("shape", "volume", "width"), [
    (sn.Sphere(0.5), np.pi / 6.0, 1.0), (sn.Cylinder(0.4, 0.7), np.pi * 0.16 * 0.7, 0.7),
    (sn.Cone(0.5, 1.0), np.pi / 12.0, 1.0), (sn.Capsule(0.3, 0.4), np.pi * 0.09 * (0.4 + 0.4), 0.6),
])  # fmt: skip
def test_other_shapes_keep_their_volume_within_the_bound_that_is_stated(
    shape: sn.Sphere, volume: float, width: float
) -> None:
    for spacing in (0.12, 0.08, 0.063, 0.05, 0.037):
        fluid = sn.Scene().add_fluid(shape, spacing=spacing)
        assert len(fluid) * spacing**3 == pytest.approx(volume, rel=spacing / width)
