"""Contact points beyond a thin part of a mesh: as deep as its tip lies below the face that it has entered."""

import numpy as np
import pytest
from body_frames import random_turn
from test_body_contacts_mesh import block, points_of

import shinari as sn
from shinari.geometry.motion import rotation_matrix

HALF = 0.025
PLATES = {"box": sn.Box((1.0, 2 * HALF, 1.0)), "mesh": block(1.0, 2 * HALF, 1.0)}
CORNERS = np.array([[-0.12, 0.3, -0.1], [0.12, 0.3, -0.1], [0.0, 0.3, 0.15], [0.02, -0.3, 0.01]])
HULL = CORNERS - CORNERS.mean(axis=0)
SHARP = {
    "box": (sn.Box((0.1, 0.6, 0.1)), sn.Box((0.1, 0.6, 0.1)).surface()[0]),
    "hull": (sn.ConvexHull(HULL), HULL),
    "cone": (sn.Cone(0.12, 0.6), None),
    "mesh": (block(0.1, 0.6, 0.1), sn.Box((0.1, 0.6, 0.1)).surface()[0]),
    "mesh of a hull": (sn.Mesh(HULL, [[2, 1, 0], [1, 3, 0], [2, 3, 1], [0, 3, 2]]), HULL),
}


def turn_about(axis, angle):
    """Quaternion of a rotation."""
    axis = np.asarray(axis) / np.linalg.norm(axis)
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * axis)])


def multiplied(p, q):
    """Product of two quaternions."""
    (a, u), (b, v) = (p[0], p[1:]), (q[0], q[1:])
    return np.array([a * b - u @ v, *(a * v + b * u + np.cross(u, v))])


@pytest.mark.parametrize("depth", [0.03, 0.045, 0.06, 0.12, 0.2])
@pytest.mark.parametrize("plate", PLATES)
@pytest.mark.parametrize("name", SHARP)
def test_what_has_gone_through_a_plate_is_as_deep_as_its_tip(name, plate, depth):
    """Also beyond the middle of the plate, where the other face is nearer, and out of it."""
    if plate == "box" and not name.startswith("mesh"):
        pytest.skip("no mesh")
    rng = np.random.default_rng([len(name), round(1e3 * depth)])
    for _ in range(6):
        shape, vertices = SHARP[name]
        lean = turn_about([rng.normal(), 0.0, rng.normal()], rng.uniform(0.02, 0.2))
        if name == "cone":
            # its tip points along its axis
            lean, vertices = multiplied(lean, turn_about([1.0, 0.0, 0.0], np.pi)), np.array([[0.0, 0.3, 0.0]])
        whole = random_turn(rng)
        lowest = (vertices @ rotation_matrix(lean).T)[:, 1].min()
        at = np.array([0.03, HALF - depth - lowest, 0.02])
        normal = rotation_matrix(whole) @ [0.0, 1.0, 0.0]
        _, normals, gaps, _ = points_of(
            (shape, rotation_matrix(whole) @ at, multiplied(whole, lean)), (PLATES[plate], (0.0, 0.0, 0.0), whole)
        )
        assert np.abs(gaps.min() + depth) < 1e-9
        np.testing.assert_allclose(normals, np.tile(normal, (len(gaps), 1)), atol=1e-9)


@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize("name", SHARP)
def test_what_has_gone_through_comes_out_where_it_came_in(name, precision):
    """A body that starts through a thin mesh leaves it to the side of its middle, no faster than it is pushed out."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_collider(PLATES["mesh"])
    shape, vertices = SHARP[name]
    tip = 0.3 if vertices is None else -vertices[:, 1].min()
    turn = turn_about([1.0, 0.0, 0.0], np.pi) if name == "cone" else np.eye(1, 4)[0]
    scene.add_rigid_body(shape, density=300.0, position=(0.03, tip + HALF - 0.12, 0.02), rotation=turn)
    with pytest.warns(sn.ContactWarning, match="by 0.12 m"):
        simulation = sn.Simulation(scene, substeps=10, threads=1, precision=precision)
    simulation.step(12)
    assert simulation.state.body_positions[0, 1] > tip + HALF
    assert 0.0 < simulation.state.body_velocities[0, 1] < 1.001


@pytest.mark.parametrize("depth", [0.002, 0.005, 0.02, 0.12, 0.25])
@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("name", ["box", "hull", "cone"])
def test_what_has_gone_through_a_sheet_is_as_deep_as_its_tip(name, side, depth):
    """From either side, also where the tip is in the middle of the sheet, 10 mm thick."""
    lines = np.linspace(-0.5, 0.5, 5)
    vertices = np.array([(x, 0.0, z) for x in lines for z in lines])
    cells = [(5 * i + j, 5 * i + j + 1, 5 * i + j + 6, 5 * i + j + 5) for i in range(4) for j in range(4)]
    sheet = sn.Mesh(vertices, [f for a, b, c, d in cells for f in ((a, b, c), (a, c, d))], thickness=0.01)
    shape, corners = SHARP[name]
    tip = 0.3 if corners is None else -corners[:, 1].min()
    turn = turn_about([1.0, 0.0, 0.0], np.pi) if (name == "cone") == (side > 0.0) else np.eye(1, 4)[0]
    _, normals, gaps, _ = points_of((shape, (0.03, side * (tip + 0.005 - depth), 0.02), turn), collider=sheet)
    assert np.abs(gaps.min() + depth) < 1e-9
    np.testing.assert_allclose(normals, np.tile([0.0, side, 0.0], (len(gaps), 1)), atol=1e-9)
