"""Points of contact of meshes against exact distances and what is plain."""

import numpy as np
import pytest
from body_frames import H, contacts_of, drift, frames_of, places, random_turn

import shinari as sn
from shinari.collision.narrow.features import features_of
from shinari.collision.narrow.field_points import EVEN
from shinari.geometry.motion import rotation_matrix
from shinari.shapes.kernels.encode import signed_distance

FACES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
         [1, 5, 7], [1, 7, 3]]  # fmt: skip


def block(x, y, z):
    """A box as a mesh of twelve triangles."""
    corners = 0.5 * np.array([[i, j, k] for i in (-x, x) for j in (-y, y) for k in (-z, z)])
    return sn.Mesh(corners, np.array(FACES))


def bumpy(level, size, seed):
    """A ball with bumps and hollows."""
    import trimesh

    ball = trimesh.creation.icosphere(subdivisions=level)
    v = np.array(ball.vertices)
    radius = 1.0 + 0.2 * np.sin(3.0 * v[:, 0] + seed) * np.cos(2.0 * v[:, 1]) + 0.1 * np.sin(4.0 * v[:, 2])
    return sn.Mesh(size * radius[:, None] * v, np.array(ball.faces))


def points_of(*bodies, collider=None):
    """Places on a, normals, gaps and radii of the points of bodies (shape, position, rotation), and a collider."""
    scene = sn.Scene()
    for shape, position, rotation in bodies:
        scene.add_rigid_body(shape, position=position, rotation=rotation)
    if collider is not None:
        scene.add_collider(collider)
    contacts, frames = contacts_of(scene)
    on_a, _, gaps = places(contacts.table, frames)
    n = contacts.table.count
    return on_a, contacts.table.normal[:n], gaps, contacts.table.radius[:n]


NONE = (1.0, 0.0, 0.0, 0.0)
TILTED_X = (np.cos(np.pi / 8), np.sin(np.pi / 8), 0.0, 0.0)
TILTED_Z = (np.cos(np.pi / 8), 0.0, 0.0, np.sin(np.pi / 8))


def test_features_of_a_block_are_its_corners_and_edges():
    """Eight corners and twelve edges stick out; the diagonals of its faces do not."""
    features = features_of([block(1.0, 2.0, 3.0)])
    lengths = np.linalg.norm(features.lines[:, 3:], axis=1)
    assert (lengths == 0.0).sum() == 8
    np.testing.assert_allclose(np.sort(lengths[lengths > 0.0]), np.repeat([1.0, 2.0, 3.0], 4))


def test_features_of_a_groove_are_those_of_its_outside():
    """The bottom of a groove cannot touch; its two rims can."""
    x = np.array([-1.0, 0.0, 1.0])
    features = features_of([sn.Heightfield(np.tile(np.abs(x), (2, 1)), (2.0, 1.0)).mesh])
    middle = features.lines[:, :3] + 0.5 * features.lines[:, 3:]
    edges = np.linalg.norm(features.lines[:, 3:], axis=1) > 0.0
    assert not (np.abs(middle[edges]) < 1e-9).all(axis=1).any()
    for rim in (-1.0, 1.0):
        assert (np.abs(middle[edges] - [rim, 1.0, 0.0]) < 1e-9).all(axis=1).any()


@pytest.mark.parametrize("depth", [1e-4, 0.0, -1e-4])
@pytest.mark.parametrize("pair", ["mesh on plane", "mesh on box", "box on mesh", "mesh on mesh", "box on ground"])
def test_flat_faces_have_their_corners(pair, depth):
    small, large = sn.Box((0.5, 0.5, 0.5)), sn.Box((3.0, 1.0, 3.0))
    up = (np.array([0.13, 0.25 - depth, 0.21]), NONE)
    floor = (np.array([0.0, -0.5, 0.0]), NONE)
    on_a, normals, gaps, _ = {
        "mesh on plane": lambda: points_of((block(0.5, 0.5, 0.5), *up), collider=sn.Plane()),
        "mesh on box": lambda: points_of((block(0.5, 0.5, 0.5), *up), (large, *floor)),
        "box on mesh": lambda: points_of((small, *up), (block(3.0, 1.0, 3.0), *floor)),
        "mesh on mesh": lambda: points_of((block(0.5, 0.5, 0.5), *up), (block(3.0, 1.0, 3.0), *floor)),
        "box on ground": lambda: points_of((small, *up), collider=sn.Heightfield(np.zeros((21, 21)), (4.0, 4.0))),
    }[pair]()
    np.testing.assert_allclose(gaps, -depth, atol=1e-12)
    np.testing.assert_allclose(normals, np.tile([0.0, 1.0, 0.0], (len(normals), 1)), atol=1e-9)
    corners = np.array([[i, 0.0, k] for i in (-0.12, 0.38) for k in (-0.04, 0.46)])
    ways = np.linalg.norm(on_a[:, None, [0, 2]] - corners[None][..., [0, 2]], axis=2)
    assert ways.min(axis=0).max() < 1e-9  # each corner is there


@pytest.mark.parametrize("meshes", ["first", "second", "both"])
@pytest.mark.parametrize("depth", [1e-4, -1e-4])
def test_crossed_edges(meshes, depth):
    """Two edges that cross have one point, at right angles to both, though no corner is near."""
    side = 0.5
    height = np.sqrt(0.5) * side
    one = block(side, side, side) if meshes != "second" else sn.Box((side,) * 3)
    two = block(side, side, side) if meshes != "first" else sn.Box((side,) * 3)
    at = np.array([0.06, 2.0 * height - depth, 0.03])
    on_a, normals, gaps, _ = points_of((one, at, TILTED_X), (two, np.zeros(3), TILTED_Z))
    assert len(gaps) == 1
    np.testing.assert_allclose(gaps, -depth, atol=1e-6)
    np.testing.assert_allclose(np.abs(normals[0]), [0.0, 1.0, 0.0], atol=1e-4)
    np.testing.assert_allclose(on_a[0], [0.0, height - depth, 0.03], atol=2e-3)


def test_beam_across_a_box_touches_where_the_edges_cross():
    """No corner of either is on the other: the four crossings of the edges hold it."""
    on_a, normals, gaps, _ = points_of(
        (block(4.0, 0.2, 0.4), np.array([0.3, 0.0999, 0.1]), NONE),
        (sn.Box((1.0, 1.0, 1.0)), np.array([0, -0.5, 0]), NONE),
    )
    expected = np.array([[x, z] for x in (-0.5, 0.5) for z in (-0.1, 0.3)])
    ways = np.linalg.norm(on_a[:, None, [0, 2]] - expected, axis=2)
    assert ways.min(axis=0).max() < 2e-4
    np.testing.assert_allclose(gaps, -1e-4, atol=1e-9)
    np.testing.assert_allclose(normals[:, 1], 1.0, atol=1e-9)


def test_plate_on_a_ridge():
    x = np.abs(np.linspace(-1.0, 1.0, 11))
    ridge = sn.Heightfield(-np.tile(x, (11, 1)), (2.0, 2.0))
    on_a, normals, gaps, _ = points_of((sn.Box((0.5, 0.1, 0.5)), np.array([0, 0.0499, 0.13]), NONE), collider=ridge)
    np.testing.assert_allclose(gaps, -1e-4, atol=1e-9)
    np.testing.assert_allclose(normals[:, 1], 1.0, atol=1e-6)
    np.testing.assert_allclose(on_a[:, 0], 0.0, atol=1e-9)
    assert on_a[:, 2].min() == pytest.approx(-0.12, abs=1e-3)
    assert on_a[:, 2].max() == pytest.approx(0.38, abs=1e-3)


@pytest.mark.parametrize(
    ("shape", "height", "count"),
    [
        (sn.Sphere(0.3), 0.3, 1),
        (sn.Capsule(0.3, 0.5), 0.55, 1),
        (sn.Cylinder(0.3, 0.6), 0.3, 8),
        (sn.Cone(0.3, 0.6), 0.3, 8),
    ],
)
def test_round_shapes_stand_on_the_ground(shape, height, count):
    ground = sn.Heightfield(np.zeros((11, 11)), (5.0, 5.0))
    _, normals, gaps, _ = points_of((shape, np.array([0.33, height - 1e-4, 0.21]), NONE), collider=ground)
    assert len(gaps) == count
    np.testing.assert_allclose(gaps, -1e-4, atol=1e-12)
    np.testing.assert_allclose(normals[:, 1], 1.0, atol=1e-12)


@pytest.mark.parametrize("turn", np.linspace(0.0, 1.0, 7))
def test_lying_cylinder_rolls_on_its_lowest_line(turn):
    """However far it has rolled, its two points lie below its axis."""
    lying = np.array([np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0])
    roll = np.array([np.cos(turn), 0.0, np.sin(turn), 0.0])
    q = np.array([lying[0] * roll[0], lying[1] * roll[0], lying[0] * roll[2], lying[1] * roll[2]])
    ground = sn.Heightfield(np.zeros((11, 11)), (5.0, 5.0))
    on_a, _, gaps, _ = points_of((sn.Cylinder(0.3, 0.6), np.array([0.33, 0.2999, 0.21]), q), collider=ground)
    low = gaps < 1e-3
    assert low.sum() == 2
    np.testing.assert_allclose(gaps[low], -1e-4, atol=1e-12)
    np.testing.assert_allclose(on_a[low, 0], 0.33, atol=1e-9)
    np.testing.assert_allclose(np.sort(on_a[low, 2]), [-0.09, 0.51], atol=1e-9)


def test_ball_in_a_groove_touches_both_sides():
    x = np.abs(np.linspace(-1.0, 1.0, 11))
    groove = sn.Heightfield(np.tile(x, (11, 1)), (2.0, 2.0))
    at = np.array([0.0, 0.2 * np.sqrt(2.0) - 1e-4, 0.13])
    _, normals, gaps, _ = points_of((sn.Sphere(0.2), at, NONE), collider=groove)
    np.testing.assert_allclose(gaps, -1e-4 * np.sqrt(0.5), atol=1e-9)
    np.testing.assert_allclose(np.sort(normals[:, 0]), [-np.sqrt(0.5), np.sqrt(0.5)], atol=1e-9)


def test_box_slides_over_flat_triangles_without_stumbling():
    """No point beside a box that slides over a flat mesh has a normal that would hold it up."""
    rng = np.random.default_rng(3)
    ground = sn.Heightfield(np.zeros((41, 41)), (4.0, 4.0))
    for _ in range(20):
        at = np.array([rng.uniform(-1, 1), 0.25 - 1e-5, rng.uniform(-1, 1)])
        turn = rng.uniform(0, np.pi)
        for shape in (sn.Box((0.5, 0.5, 0.5)), block(0.5, 0.5, 0.5)):
            _, normals, _, _ = points_of((shape, at, (np.cos(turn), 0, np.sin(turn), 0)), collider=ground)
            assert len(normals) >= 4
            np.testing.assert_allclose(normals[:, 1], 1.0, atol=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_deepest_vertex_is_found(seed):
    """The lowest gap is that of the deepest vertex of the one in the exact distance of the other, or deeper."""
    rng = np.random.default_rng(seed)
    one = bumpy(3, 0.3, seed)
    others = [sn.Box((0.5, 0.4, 0.6)), sn.Sphere(0.3), sn.Cylinder(0.25, 0.5), sn.Cone(0.3, 0.5), bumpy(2, 0.4, 9.0)]
    for other in others:
        turn, away = random_turn(rng), rng.normal(size=3)
        away /= np.linalg.norm(away)
        vertices = one.vertices @ rotation_matrix(turn).T
        low, high = 0.0, 2.0  # how far away, so that the deepest vertex is 2 mm deep
        for _ in range(40):
            middle = 0.5 * (low + high)
            deep = signed_distance(other, vertices + middle * away).min()
            low, high = (middle, high) if deep < -0.002 else (low, middle)
        _, _, gaps, _ = points_of((one, high * away, turn), (other, np.zeros(3), NONE))
        assert len(gaps) > 0, other
        assert gaps.min() <= -0.002 + 1e-6, other
        assert gaps.min() > -0.04, other  # nothing is made up: a tip goes deeper into a face than the vertices into it


def test_thin_sheet_stops_a_box_from_both_sides():
    """A corner that has gone a little through a sheet is pushed back to the side of its body."""
    flat = np.array([[-1.0, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]])
    sheet = sn.Mesh(flat, np.array([[0, 1, 2], [0, 2, 3]]), solid=False)
    for side in (1.0, -1.0):
        at = np.array([0.1, side * (0.25 - 1e-3), 0.2])
        _, normals, gaps, _ = points_of((sn.Box((0.5, 0.5, 0.5)), at, NONE), collider=sheet)
        assert len(gaps) == 4
        np.testing.assert_allclose(normals[:, 1], side, atol=1e-12)
        np.testing.assert_allclose(gaps, -1e-3, atol=1e-12)


def test_thick_sheet():
    flat = np.array([[-1.0, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1]])
    sheet = sn.Mesh(flat, np.array([[0, 1, 2], [0, 2, 3]]), solid=False, thickness=0.1)
    _, normals, gaps, _ = points_of((sn.Box((0.5, 0.5, 0.5)), np.array([0.1, 0.299, 0.2]), NONE), collider=sheet)
    np.testing.assert_allclose(gaps, -1e-3, atol=1e-12)
    np.testing.assert_allclose(normals[:, 1], 1.0, atol=1e-12)
    # its rim is round: a box that overhangs it
    _, normals, gaps, _ = points_of((sn.Box((0.5, 0.5, 0.5)), np.array([1.0, 0.299, 0.2]), NONE), collider=sheet)
    assert len(gaps) >= 4
    # where the distance is even to a part EVEN, it has risen by EVEN^2 / 2 of the radius
    np.testing.assert_allclose(gaps, -1e-3, atol=1.1 * 0.5 * EVEN**2 * 0.05)


def test_same_points_for_any_number_of_threads():
    mesh = bumpy(2, 0.3, 1.0)
    scene = sn.Scene()
    rng = np.random.default_rng(0)
    for k in range(12):
        place = np.array([0.62 * (k % 3), 0.3 + 0.62 * (k // 6), 0.62 * (k // 3 % 2)])
        scene.add_rigid_body(mesh, position=place, rotation=random_turn(rng), velocity=0.1 * rng.normal(size=3))
    scene.add_collider(sn.Heightfield(0.05 * rng.random((11, 11)), (4.0, 4.0)))
    tables = []
    for threads in (1, 2):
        frames = frames_of(scene)
        contacts, _ = contacts_of(scene, frames, threads)
        for _ in range(3):
            drift(frames, H)
            contacts.find(threads)
        t = contacts.table
        tables.append([t.key[: t.count].copy(), t.core[: t.count].copy(), t.normal[: t.count].copy()])
    assert len(tables[0][0]) > 10
    for one, two in zip(*tables, strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("turn", [0.0, 0.3, 0.7])
def test_a_round_body_touches_all_walls_of_a_corner(turn):
    """An ellipsoid over the floor of a mesh, its end a little in a wall: the floor is nearer to its middle."""
    outline = np.array([[-3.0, -1.0], [2.0, -1.0], [2.0, 3.0], [1.0, 3.0], [1.0, 0.0], [-3.0, 0.0]])
    faces = [(0, 1, 4), (0, 4, 5), (1, 2, 3), (1, 3, 4)]
    faces = [(c, b, a) for a, b, c in faces] + [(a + 6, b + 6, c + 6) for a, b, c in faces]
    faces += [f for i in range(6) for j in [(i + 1) % 6] for f in ((i, j, j + 6), (i, j + 6, i + 6))]
    bracket = sn.Mesh(np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (-2.0, 2.0)]), faces)
    half = np.array([0.8, 0.3, 0.4])
    axes = np.array([[np.cos(turn), -np.sin(turn), 0.0], [np.sin(turn), np.cos(turn), 0.0], [0.0, 0.0, 1.0]])
    reach = np.linalg.norm(axes * half, axis=1)
    at = np.array([1.0 - reach[0] + 1e-3, reach[1] - 2e-3, 0.1])
    rotation = (np.cos(0.5 * turn), 0.0, 0.0, np.sin(0.5 * turn))
    _, normals, gaps, _ = points_of((sn.Ellipsoid(half), at, rotation), collider=bracket)
    found = {tuple(np.round(np.abs(n), 9)): g for n, g in zip(normals, gaps, strict=True)}
    assert set(found) == {(1.0, 0.0, 0.0), (0.0, 1.0, 0.0)}
    np.testing.assert_allclose([found[1.0, 0.0, 0.0], found[0.0, 1.0, 0.0]], [-1e-3, -2e-3], atol=1e-9)
