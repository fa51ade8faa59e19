"""Fluids that fill boxes and tanks of any size have their mass and their volume."""

import numpy as np
import pytest

import shinari as sn

SIZES = [(0.5, 0.5, 0.5), (1.0, 0.5, 0.6), (0.31, 0.52, 0.27), (0.2, 0.9, 0.4), (0.3, 0.4, 0.3)]


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
    assert scene.groups[0].masses.sum() == pytest.approx(1000.0 * volume, rel=1e-9)
    assert len(fluid) * spacing**3 == pytest.approx(volume, rel=0.005)
    local = fluid.positions - (1, 2, 3)
    assert (np.abs(local) <= 0.5 * (np.array(size) - spacing) + 1e-9).all()
    assert (nearest(local) > 0.74 * spacing).all()


@pytest.mark.parametrize("spacing", [0.03, 0.04])
def test_in_two_dimensions_too(spacing: float) -> None:
    scene = sn.Scene()
    fluid = scene.add_fluid(sn.Box((0.5, 0.3, 0.1)), spacing=spacing, dimensions=2, position=(0, 0, 0.2))
    assert (fluid.positions[:, 2] == 0.2).all()
    assert scene.groups[0].masses.sum() == pytest.approx(1000.0 * 0.15 * spacing, rel=1e-9)
    assert len(fluid) * spacing**2 == pytest.approx(0.15, rel=0.01)


def test_a_box_is_filled_to_a_level_that_is_no_multiple() -> None:
    scene = sn.Scene()
    turn = (np.cos(0.3), 0.0, np.sin(0.3), 0.0)
    scene.add_fluid(sn.Box((0.5, 0.5, 0.4)), spacing=0.03, position=(0, 1, 0), rotation=turn, fill_to=1.1)
    assert scene.groups[0].masses.sum() == pytest.approx(1000.0 * 0.5 * 0.4 * 0.35, rel=1e-9)
    assert scene.groups[0].positions[:, 1].max() == pytest.approx(1.1 - 0.015)
    with pytest.raises(sn.SceneError, match=r"fill_to: 0\.76 m is less than a spacing above the bottom"):
        scene.add_fluid(sn.Box((0.5, 0.5, 0.4)), spacing=0.03, position=(0, 1, 0), fill_to=0.76)


def test_a_thin_box_is_a_layer_with_its_mass() -> None:
    scene = sn.Scene()
    fluid = scene.add_fluid(sn.Box((0.3, 0.045, 0.3)), spacing=0.03)
    assert (fluid.positions[:, 1] == 0.0).all()
    assert scene.groups[0].masses.sum() == pytest.approx(1000.0 * 0.3 * 0.045 * 0.3, rel=1e-9)


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
