"""Ellipsoids: distance, mass, drawing, scene files, and one that lies on a plane."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.shapes.kernels.encode import signed_distance

AXES = [(0.6, 0.3, 0.45), (0.8, 0.1, 0.5), (0.2, 0.2, 0.2)]


def on_surface(axes: tuple, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of an ellipsoid and its normals there."""
    unit = np.random.default_rng(3).standard_normal((count, 3))
    unit /= np.linalg.norm(unit, axis=1)[:, None]
    normals = unit / np.array(axes)
    return unit * np.array(axes), normals / np.linalg.norm(normals, axis=1)[:, None]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("height", [0.0, 0.05, 0.4])
def test_distance_along_the_normal(axes: tuple, height: float) -> None:
    points, normals = on_surface(axes, 300)
    found = signed_distance(sn.Ellipsoid(axes), points + height * normals)
    assert np.abs(found - height).max() < 1e-6


@pytest.mark.parametrize("axes", AXES)
def test_mass_is_that_of_a_fine_mesh(axes: tuple) -> None:
    """Of 256 segments the mesh lacks some (pi / 256)^2 of the volume."""
    shape = sn.Ellipsoid(axes)
    closed, mesh = shape.mass_properties(), sn.Mesh(*shape.surface(256), solid=True).mass_properties()
    assert mesh.mass == pytest.approx(closed.mass, rel=1e-3)
    assert np.allclose(mesh.tensor, closed.tensor, rtol=0, atol=2e-3 * np.abs(closed.tensor).max())
    assert np.allclose(shape.bounds()[1], axes)


def test_it_lies_on_a_plane_and_its_scene_file(tmp_path: Path) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(
        """[[collider]]
shape = {type = "plane"}
[[rigid_body]]
name = "egg"
shape = {type = "ellipsoid", half_axes = [0.3, 0.1, 0.2]}
position = [0, 0.1, 0]
mass = 2.0
color = [1, 0.5, 0]
"""
    )
    scene = sn.load_scene(path)
    assert scene.bodies[0].pieces[0].shape == sn.Ellipsoid((0.3, 0.1, 0.2))
    assert scene.bodies[0].color == (1.0, 0.5, 0.0)
    sim = sn.Simulation(scene, threads=1)
    sim.run(0.5, progress=False)
    assert sim.pose("egg").position[1] == pytest.approx(0.1, abs=1e-4)
    assert sim.pose("egg").matrix.shape == (3, 3)


@pytest.mark.parametrize(
    ("axes", "told"),
    [((1.0, 0.0, 1.0), "half_axes: must be above 0"), ((1.0, 1.0), r"half_axes: expected shape \(3,\)")],
)
def test_bad_half_axes_are_refused(axes: tuple, told: str) -> None:
    with pytest.raises(sn.SceneError, match=f"Ellipsoid: {told}"):
        sn.Ellipsoid(axes)


def test_a_color_is_three_numbers_up_to_one() -> None:
    scene = sn.Scene()
    with pytest.raises(sn.SceneError, match="color: expected shape"):
        scene.add_rigid_body(sn.Sphere(1.0), color=(1, 0))
    with pytest.raises(sn.SceneError, match="color: "):
        scene.add_rigid_body(sn.Sphere(1.0), color=(1, 0, 2))
