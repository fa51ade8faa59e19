"""Contacts of convex shapes against signed distances found by brute force, and against what is plain."""

import itertools

import numpy as np
import pytest
from manifold_reference import gaps, hull_of, manifolds, pose, rotation, signed_distance

from shinari.collision.narrow.clipping import FEATURES
from shinari.collision.narrow.convex import Shapes, shapes_of
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.cone import Cone
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.hull import ConvexHull
from shinari.shapes.kernels.encode import signed_distance as solid_distance
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere

pytestmark = pytest.mark.bounds

KINDS = ("sphere", "box", "capsule", "cylinder", "cone", "hull")
SLACK = 2e-5
"""Gaps of a shape of size one that count as equal, and somewhat more."""


def random_shape(kind, rng, size=1.0):
    u = lambda: size * rng.uniform(0.2, 1.0)  # noqa: E731
    if kind == "sphere":
        return Sphere(0.5 * u())
    if kind == "box":
        return Box((u(), u(), u()))
    if kind == "capsule":
        return Capsule(0.3 * u(), u())
    if kind == "cylinder":
        return Cylinder(0.5 * u(), u())
    if kind == "cone":
        return Cone(0.5 * u(), u())
    points = rng.normal(size=(rng.integers(5, 20), 3)) * [0.5 * u(), 0.5 * u(), 0.5 * u()]
    return hull_of(points - points.mean(axis=0))


def random_pairs(first, second, count, rng, size=1.0, depths=(0.05, 0.005, -0.02, -0.08)):
    """Shapes in pairs, and poses at which most of them nearly touch."""
    solids, pose_a, pose_b = [], [], []
    for k in range(count):
        a, b = random_shape(first, rng, size), random_shape(second, rng, size)
        turn_a, turn_b = rotation(rng), rotation(rng)
        d = rng.normal(size=3)
        d /= np.linalg.norm(d)
        apart = -gaps(a, pose((0, 0, 0), turn_a), b, pose((0, 0, 0), turn_b), d[None])[0]
        at = rng.normal(size=3)
        solids += [a, b]
        pose_a.append(pose(at + d * max(apart + size * depths[k % len(depths)], 0.0), turn_a))
        pose_b.append(pose(at, turn_b))
    return solids, np.array(pose_a), np.array(pose_b)


def rows_of(solids, pose_a, pose_b, margin):
    """Contacts of the shapes 2k and 2k + 1."""
    count = len(pose_a)
    return manifolds(shapes_of(solids), np.arange(0, 2 * count, 2), pose_a, np.arange(1, 2 * count, 2), pose_b, margin)


def between(first, at, second, margin=0.05, turn=None):
    """Contacts of a shape over another one at the origin."""
    return rows_of([first, second], pose(at, turn)[None], pose((0, 0, 0))[None], margin)[0]


def local(at, points):
    """World points in the axes of a pose."""
    return (points - at[9:]) @ at[:9].reshape(3, 3)


def outside(shape, at, points):
    """Signed distance of world points from a shape."""
    points = local(at, points)
    if hasattr(shape, "loops"):
        planes = shapes_of([shape]).planes
        return (points @ planes[:, :3].T - planes[:, 3]).max(axis=1)
    return solid_distance(shape, points)


def spun(angle, axis=1):
    """Rotation about an axis."""
    c, s = np.cos(angle), np.sin(angle)
    i, j = (axis + 1) % 3, (axis + 2) % 3
    turn = np.eye(3)
    turn[i, i] = turn[j, j] = c
    turn[j, i], turn[i, j] = s, -s
    return turn


def check_rows(rows, margin):
    """What holds for all contacts."""
    assert np.isfinite(rows).all()
    n = rows[:, 8:11]
    assert np.allclose((n * n).sum(axis=1), 1.0, atol=1e-12)
    size = 1.0 + np.abs(rows[:, :7]).max(initial=0.0)
    gap = (n * (rows[:, 0:3] - rows[:, 4:7])).sum(axis=1) - rows[:, 3] - rows[:, 7]
    assert np.abs(gap - rows[:, 11]).max(initial=0.0) <= 1e-14 * size
    assert (rows[:, 11] < margin).all()
    ids = rows[:, 12]
    assert len(set(ids)) == len(ids)
    assert (ids == np.round(ids)).all()
    assert ((ids >= 0) & (ids < FEATURES)).all()
    assert np.isin(rows[:, 13], (0.0, 1.0)).all()


@pytest.mark.parametrize("tilt", [-3e-3, -1e-4, 1e-4, 3e-3])
def test_an_edge_that_lies_on_a_face_has_a_contact_at_both_ends(tilt):
    """The deeper end alone would let the other one fall."""
    edge, length = Box((1.0, 1.0, 3.0)), 2.0
    turn = spun(tilt, axis=0) @ spun(np.pi / 4, axis=2)
    rows = between(edge, (0.0, 0.5 + np.sqrt(0.5) - 1e-3, 0.0), Box((length, 1.0, length)), turn=turn)
    check_rows(rows, 0.05)
    ends = rows[np.argsort(rows[:, 2])]
    assert len(ends) == 2
    np.testing.assert_allclose(ends[:, 2], (-0.5 * length, 0.5 * length), atol=2e-2)
    np.testing.assert_allclose(np.diff(ends[:, 11])[0], -tilt * length, rtol=0.02, atol=2e-6)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_the_deepest_contact_is_the_signed_distance(first, second):
    rng = np.random.default_rng(KINDS.index(first) * 10 + KINDS.index(second))
    solids, pose_a, pose_b = random_pairs(first, second, 12, rng)
    margin = 0.3
    touching = 0
    for k, rows in enumerate(rows_of(solids, pose_a, pose_b, margin)):
        a, b = solids[2 * k], solids[2 * k + 1]
        least, _ = signed_distance(a, pose_a[k], b, pose_b[k], rng)  # never above the true one
        if len(rows) == 0:
            assert least >= margin - SLACK
            continue
        touching += 1
        check_rows(rows, margin)
        gap = rows[:, 11].min()
        assert gap >= least - SLACK
        # The gap along any direction is at most the signed distance: what is written is one along its normal.
        lowest = rows[np.argmin(rows[:, 11])]
        assert gap <= gaps(a, pose_a[k], b, pose_b[k], lowest[None, 8:11])[0] + SLACK
    assert touching >= 6


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_contacts_lie_on_both_surfaces(first, second):
    rng = np.random.default_rng(100 + KINDS.index(first) * 10 + KINDS.index(second))
    solids, pose_a, pose_b = random_pairs(first, second, 40, rng)
    for k, rows in enumerate(rows_of(solids, pose_a, pose_b, 0.1)):
        for row in rows:
            on_a = row[0:3] - row[3] * row[8:11]
            on_b = row[4:7] + row[7] * row[8:11]
            # Where two lines run side by side the one is taken at the place of the other: they may be that far apart.
            # Of a capsule, the points that are not nearest lie below its surface, where the normal leads from its core.
            below = 0.1 if row[11] > rows[:, 11].min() + SLACK else 2e-3
            assert -(below if row[3] > 0.0 else 2e-3) < outside(solids[2 * k], pose_a[k], on_a[None])[0] < 2e-3
            assert -(below if row[7] > 0.0 else 2e-3) < outside(solids[2 * k + 1], pose_b[k], on_b[None])[0] < 2e-3


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(KINDS, 2)))
def test_a_pair_and_its_mirror_image_have_the_same_contacts(first, second):
    rng = np.random.default_rng(200 + KINDS.index(first) * 10 + KINDS.index(second))
    solids, pose_a, pose_b = random_pairs(first, second, 40, rng)
    swapped = [s for k in range(40) for s in (solids[2 * k + 1], solids[2 * k])]
    for rows, other in zip(rows_of(solids, pose_a, pose_b, 0.1), rows_of(swapped, pose_b, pose_a, 0.1), strict=True):
        mirrored = other[:, [4, 5, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13]]
        mirrored[:, 8:11] *= -1.0
        mirrored[:, 13] = 1.0 - mirrored[:, 13]
        assert np.array_equal(rows, mirrored)


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_the_normal_is_the_gradient_of_the_gap(first, second):
    rng = np.random.default_rng(300 + KINDS.index(first) * 10 + KINDS.index(second))
    solids, pose_a, pose_b = random_pairs(first, second, 30, rng, depths=(0.05, -0.01))
    eps, margin = 1e-3, 0.2
    base = rows_of(solids, pose_a, pose_b, margin)
    shifted = []
    for axis, sign in itertools.product(range(3), (1.0, -1.0)):
        moved = pose_a.copy()
        moved[:, 9 + axis] += sign * eps
        shifted.append([r[:, 11].min() if len(r) else np.nan for r in rows_of(solids, moved, pose_b, margin)])
    shifted = np.array(shifted).reshape(3, 2, -1)
    gradient = (shifted[:, 0] - shifted[:, 1]).T / (2.0 * eps)
    bend = np.abs(shifted.sum(axis=1).T - 2.0 * np.array([r[:, 11].min() if len(r) else np.nan for r in base])[:, None])
    smooth = 0
    for k, rows in enumerate(base):
        # Where another feature takes over within the step there is no gradient; the second difference shows it.
        if len(rows) == 0 or not bend[k].max() < 0.02 * eps:
            continue
        smooth += 1
        assert np.abs(rows[np.argmin(rows[:, 11]), 8:11] - gradient[k]).max() < 0.03
    assert smooth >= 15


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(KINDS, 2)))
def test_no_pose_is_too_hard(first, second, size):
    rng = np.random.default_rng(400 + KINDS.index(first) * 10 + KINDS.index(second))
    solids, pose_a, pose_b = random_pairs(first, second, 60, rng, size, depths=(0.0, -0.5, -0.05, 1e-9))
    pose_b[:, 9:] *= size
    pose_a[:, 9:] += pose_b[:, 9:]
    pose_a[10:30, :9] = pose_b[10:30, :9]  # parallel faces
    pose_a[20:30, 9:] = pose_b[20:30, 9:]  # concentric
    pose_a[30:40, :9] = np.eye(3).ravel()
    pose_b[30:40, :9] = np.eye(3).ravel()
    for k in range(30, 40):  # exactly one above the other, in touch
        b = solids[2 * k + 1]
        pose_a[k, 9:] = pose_b[k, 9:]
        up = np.array([[0.0, 1.0, 0.0]])
        apart = -gaps(solids[2 * k], pose((0, 0, 0)), b, pose((0, 0, 0)), up)[0]
        pose_a[k, 10] += apart
    margin = 0.1 * size
    for k, rows in enumerate(rows_of(solids, pose_a, pose_b, margin)):
        check_rows(rows, margin)
        if 20 <= k < (30 if second == "hull" else 40):  # the highest corner of a hull need not be below the lowest
            assert len(rows) > 0
        if len(rows):
            lowest = rows[np.argmin(rows[:, 11])]
            gap = gaps(solids[2 * k], pose_a[k], solids[2 * k + 1], pose_b[k], lowest[None, 8:11])[0]
            assert abs(gap - lowest[11]) < SLACK * size


def test_a_pebble_on_a_mountain():
    for size in (1e-3, 1e-2):
        rows = between(Box((size,) * 3), (13.0, 50.0 + 0.5 * size - 1e-6, -7.0), Box((100.0, 100.0, 100.0)), 1e-5)
        assert len(rows) == 4
        assert np.allclose(rows[:, 11], -1e-6, atol=1e-12)
        assert np.allclose(rows[:, 8:11], (0.0, 1.0, 0.0), atol=1e-12)


def test_two_stacked_boxes_touch_at_the_corners():
    box = Box((0.5, 0.3, 0.4))
    rows = between(box, (0.0, 0.299, 0.0), box)
    check_rows(rows, 0.05)
    corners = sorted((x, y) for x in (-0.25, 0.25) for y in (-0.2, 0.2))
    assert np.allclose(sorted(map(tuple, rows[:, [0, 2]])), corners)
    assert np.allclose(rows[:, 11], -1e-3)
    assert np.allclose(rows[:, 1], 0.149)
    assert np.allclose(rows[:, 5], 0.15)


@pytest.mark.parametrize("make", ["box", "hull"])
def test_a_shifted_box_touches_at_the_corners_of_the_overlap(make):
    box = Box((1.0, 1.0, 1.0))
    cube = (
        box if make == "box" else ConvexHull([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    )
    rows = between(cube, (0.3, 1.001, 0.2), box, 0.01)
    assert np.allclose(
        sorted(map(tuple, rows[:, [0, 2]])), [(-0.2, -0.3), (-0.2, 0.5), (0.5, -0.3), (0.5, 0.5)], atol=1e-4
    )
    assert np.allclose(rows[:, 11], 1e-3)


def test_a_turned_box_keeps_the_deepest_and_a_wide_base():
    box = Box((1.0, 1.0, 1.0))
    for angle in np.linspace(0.05, 1.5, 20):
        rows = between(box, (0.0, 0.999, 0.0), box, 0.01, spun(angle) @ spun(1e-3, 0))
        assert len(rows) == 4
        assert rows[:, 11].min() < -0.001
        p = rows[:, [0, 2]]
        spans = np.linalg.norm(p[:, None] - p, axis=2)
        assert spans.max() > 1.0
        assert np.linalg.svd(p - p.mean(axis=0))[1][1] > 0.6  # they span both ways


def test_crossed_edges_touch_at_one_point():
    first, second = Box((2.0, 0.2, 0.2)), Box((0.2, 0.2, 2.0))
    half = 0.1 * np.sqrt(2.0)
    at, other = pose((0.03, 2.0 * half - 0.002, 0.05), spun(np.pi / 4, 0)), pose((0, 0, 0), spun(np.pi / 4, 2))
    rows = rows_of([first, second], at[None], other[None], 0.01)[0]
    assert len(rows) == 1
    assert np.allclose(rows[0, 8:12], (0.0, 1.0, 0.0, -0.002))
    assert np.allclose(rows[0, [0, 2]], (0.0, 0.05))


@pytest.mark.parametrize("depth", [0.001, 0.05, 0.25])
def test_boxes_that_lie_on_each_other_touch_at_more_than_a_point(depth):
    """Also where the direction across two edges is a little better than the normals of the faces."""
    rng, box, tilted = np.random.default_rng(3), Box((1.0, 1.0, 1.0)), []
    for _ in range(200):
        tilt = spun(rng.uniform(-0.02, 0.02), 0) @ spun(rng.uniform(-0.3, 0.3), 1) @ spun(rng.uniform(-0.02, 0.02), 2)
        tilted.append(pose((*rng.uniform(-0.2, 0.2, 1), 1.0 - depth, *rng.uniform(-0.2, 0.2, 1)), tilt))
    for rows in rows_of([box, box] * 200, np.array(tilted), np.tile(pose((0, 0, 0)), (200, 1)), 0.05):
        assert len(rows) == 4
        assert np.all(rows[:, 9] > 0.99)


@pytest.mark.parametrize("second", ["box", "cylinder"])
def test_features_stay_while_a_body_trembles(second):
    rng = np.random.default_rng(7)
    base = Box((1.0, 1.0, 1.0))
    top = base if second == "box" else Cylinder(0.4, 1.0)
    tremble = []
    for _ in range(50):
        a = 1e-7 * rng.normal(size=3)
        turn = np.eye(3) + np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
        tremble.append(pose((0.0, 0.9999, 0.0) + 1e-7 * rng.normal(size=3), turn))
    sets = {
        tuple(sorted(r[:, 12]))
        for r in rows_of([top, base] * 50, np.array(tremble), np.tile(pose((0, 0, 0)), (50, 1)), 0.01)
    }
    assert len(sets) == 1
    assert len(next(iter(sets))) == 4


def test_the_normal_of_stacked_boxes_turns_smoothly():
    box = Box((1.0, 1.0, 1.0))
    before = None
    for angle in np.linspace(-0.02, 0.02, 81):
        rows = between(box, (0.0, 1.0, 0.0), box, 0.05, spun(angle, 2))
        n = rows[np.argmin(rows[:, 11]), 8:11]
        if before is not None:  # it is that of one face or of the other, which are 0.02 rad apart at most
            assert np.linalg.norm(n - before) < 0.021
        assert n[1] > 0.999
        before = n


def test_a_box_on_a_plane_and_beside_it():
    box, plane = Box((0.2, 0.4, 0.6)), Plane((0.0, 2.0, 0.0), 0.5)
    rows = between(box, (1.0, 0.695, 2.0), plane)
    check_rows(rows, 0.05)
    assert len(rows) == 4
    assert np.allclose(rows[:, 11], -0.005)
    assert np.allclose(rows[:, 5], 0.5)
    assert np.allclose(rows[:, 8:11], (0.0, 1.0, 0.0))
    assert len(between(box, (1.0, 0.8, 2.0), plane)) == 0
    swapped = rows_of([plane, box], pose((0, 0, 0))[None], pose((1.0, 0.695, 2.0))[None], 0.05)[0]
    assert np.allclose(swapped[:, 8:11], (0.0, -1.0, 0.0))
    assert np.allclose(swapped[:, 1], 0.5)


@pytest.mark.parametrize("kind", KINDS)
def test_the_gap_over_a_plane_is_the_lowest_point(kind):
    rng = np.random.default_rng(8)
    plane = Plane((0.0, 0.0, 1.0), 0.0)
    for _ in range(20):
        shape, turn, tilt = random_shape(kind, rng), rotation(rng), rotation(rng)
        low = gaps(shape, pose((0, 0, 0), turn), Sphere(1e-9), pose((0, 0, 0)), tilt[None, :, 2])[0]
        at = tilt[:, 2] * (0.01 - low) + tilt[:, 0]
        rows = rows_of([shape, plane], pose(at, turn)[None], pose((0, 0, 0), tilt)[None], 0.05)[0]
        check_rows(rows, 0.05)
        assert abs(rows[:, 11].min() - 0.01) < 1e-5
        assert np.allclose(rows[:, 8:11], tilt[:, 2])
        assert np.abs(rows[:, 4:7] @ tilt[:, 2]).max() < 1e-12
        on_a = rows[:, 0:3] - rows[:, [3]] * rows[:, 8:11]
        on_surface = outside(shape, pose(at, turn), on_a)
        assert abs(on_surface[np.argmin(rows[:, 11])]) < 1e-9
        assert on_surface.max() < 1e-9


def test_a_cylinder_rolls_on_its_rim_and_lies_on_two_points():
    cylinder, plane = Cylinder(0.5, 1.0), Plane()
    assert len(between(cylinder, (0.0, 0.499, 0.0), plane, 0.01)) == 4
    lying = between(cylinder, (0.0, 0.499, 0.0), plane, 0.01, spun(np.pi / 2, 2))
    assert np.allclose(sorted(lying[:, 0]), (-0.5, 0.5))
    assert np.allclose(lying[:, 11], -0.001)
    tilted = between(cylinder, (0.0, 0.5 * np.cos(0.3) + 0.5 * np.sin(0.3), 0.0), plane, 0.01, spun(0.3, 2))
    assert len(tilted) == 1
    assert abs(tilted[0, 11]) < 1e-12


@pytest.mark.parametrize("base", [Box((1.0, 1.0, 1.0)), Cylinder(0.6, 1.0)])
def test_what_stands_and_lies_on_a_face(base):
    standing = between(Cylinder(0.3, 1.0), (0.05, 0.999, 0.1), base, 0.01)
    assert len(standing) == 4
    assert np.allclose(standing[:, 11], -0.001)
    assert np.allclose(np.hypot(standing[:, 0] - 0.05, standing[:, 2] - 0.1), 0.3, atol=1e-4)
    cone = between(Cone(0.3, 1.0), (0.05, 0.999, 0.1), base, 0.01)
    assert len(cone) == 4
    lying = between(Cylinder(0.3, 0.4), (0.05, 0.799, 0.1), base, 0.01, spun(np.pi / 2, 2))
    assert np.allclose(sorted(lying[:, 0]), (-0.15, 0.25))
    assert np.allclose(lying[:, 11], -0.001)
    capsule = between(Capsule(0.3, 0.4), (0.05, 0.799, 0.1), base, 0.01, spun(np.pi / 2, 2))
    assert np.allclose(sorted(capsule[:, 0]), (-0.15, 0.25))
    assert np.allclose(capsule[:, 3], 0.3)
    assert np.allclose(capsule[:, 11], -0.001)
    over = between(Capsule(0.3, 4.0), (0.0, 0.799, 0.0), Box((1.0, 1.0, 1.0)), 0.01, spun(np.pi / 2, 2))
    assert np.allclose(sorted(over[:, 0]), (-0.5, 0.5), atol=1e-4)


def test_a_cylinder_that_hangs_over_an_edge_keeps_its_base():
    """The corners of the overlap lie within the box and within the rim, and reach both."""
    rows = between(Cylinder(0.5, 1.0), (0.4, 0.999, 0.0), Box((1.0, 1.0, 1.0)), 0.01)
    assert rows[:, 0].max() < 0.5 + 1e-4
    assert rows[:, 0].max() > 0.5 - 1e-4
    assert np.hypot(rows[:, 0] - 0.4, rows[:, 2]).max() < 0.5 + 1e-4
    assert rows[:, 0].min() < -0.05


def test_parallel_capsules_touch_along_their_length():
    first, second = Capsule(0.1, 1.0), Capsule(0.2, 0.6)
    rows = between(first, (0.29, 0.3, 0.0), second)
    assert len(rows) == 2
    assert np.allclose(sorted(rows[:, 1]), (-0.2, 0.3))
    assert np.allclose(rows[:, 11], -0.01)
    assert np.allclose(rows[:, 8:11], (1.0, 0.0, 0.0))
    same = between(second, (0.39, 0.0, 0.0), second)
    assert np.allclose(sorted(same[:, 1]), (-0.3, 0.3))


def test_the_radius_of_a_ball_stays_on_its_core():
    rows = between(Sphere(0.5), (0.1, 0.99, 0.2), Box((1.0, 1.0, 1.0)))
    assert np.allclose(rows[0], [0.1, 0.99, 0.2, 0.5, 0.1, 0.5, 0.2, 0.0, 0.0, 1.0, 0.0, -0.01, 0.0, 0.0])


def test_a_box_in_the_corner_of_a_container():
    """Each wall that is near has the four corners of the face that looks at it; a ball has one point for each."""
    box, walls = Box((0.2, 0.2, 0.2)), Box((2.0, 2.0, 2.0), inside=True).walls()
    found = [between(box, (-0.9, -0.9, 0.9), wall, 0.01) for wall in walls]
    for wall, rows in zip(walls, found, strict=True):
        check_rows(rows, 0.01)
        near = wall.normal in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, -1.0))
        assert len(rows) == (4 if near else 0)
        assert np.allclose(rows[:, 8:11], wall.normal)
        assert np.allclose(rows[:, 11], 0.0, atol=1e-12)
    assert sum(len(between(Sphere(0.1), (-0.9, -0.9, 0.0), wall, 0.01)) for wall in walls) == 2


def test_the_walls_of_a_container_are_its_half_spaces():
    room = Box((2.0, 3.0, 4.0), inside=True)
    points = np.random.default_rng(9).uniform(-3.0, 3.0, (200, 3))
    walls = np.min([solid_distance(w, points) for w in room.walls()], axis=0)
    inside = walls > 0.0
    assert np.allclose(walls[inside], solid_distance(room, points)[inside])
    assert np.array_equal(inside, solid_distance(room, points) > 0.0)


def test_a_hull_with_many_corners_on_one_face():
    """Faces of more corners than a table of boxes has rows for."""
    angle = np.arange(40) * 2.0 * np.pi / 40
    prism = ConvexHull([(np.cos(t), y, np.sin(t)) for t in angle for y in (-0.5, 0.5)])
    rows = between(prism, (0.1, 0.999, 0.0), prism, 0.01)
    check_rows(rows, 0.01)
    assert len(rows) == 4
    assert np.allclose(rows[:, 11], -0.001)
    assert rows[:, 0].max() - rows[:, 0].min() > 1.2


def test_hulls_that_are_deep_in_each_other_part_along_the_shortest_way():
    """The direction is the best of all, not one that no small turn improves."""
    rng = np.random.default_rng(12)
    solids, pose_a, pose_b = random_pairs("hull", "hull", 60, rng, depths=(-0.1, -0.2, -0.3))
    deep = 0
    for k, rows in enumerate(rows_of(solids, pose_a, pose_b, 0.01)):
        least, _ = signed_distance(solids[2 * k], pose_a[k], solids[2 * k + 1], pose_b[k], rng)
        assert rows[:, 11].min(initial=np.inf) >= least - SLACK
        deep += rows[:, 11].min(initial=np.inf) < -0.03
    assert deep > 20


def test_shapes_as_arrays():
    cube = ConvexHull([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    wedge = ConvexHull([(x, y, z) for x in (-0.5, 0.5) for y, z in ((-0.5, -0.5), (-0.5, 0.5), (0.5, 0.0))])
    shapes = shapes_of([Sphere(0.5), cube, Box((1.0, 2.0, 3.0)), cube, wedge])
    assert isinstance(shapes, Shapes)
    assert shapes.hull.tolist() == [-1, 0, -1, 0, 1]
    assert shapes.vertex_starts.tolist() == [0, 8, 14]
    assert shapes.face_starts.tolist() == [0, 6, 11]
    assert np.allclose(shapes.planes[:6, 3], 0.5)
    assert np.allclose(np.abs(shapes.planes[:6, :3]).sum(axis=1), 1.0)
    assert shapes.loop_starts.tolist()[:7] == list(range(0, 25, 4))
    assert shapes.edge_starts.tolist() == [0, 12, 21]
    assert np.allclose(shapes.face_widths[:6], np.sqrt(0.5))
    sides = shapes.edge_faces[shapes.loop_edges]
    assert (sides == np.repeat(np.arange(11), np.diff(shapes.loop_starts))[:, None]).any(axis=1).all()
    ends, planes = shapes.vertices[shapes.edge_vertices], shapes.planes[shapes.edge_faces]
    assert np.allclose(np.einsum("epc,eqc->eqp", ends, planes[..., :3]), planes[..., 3:])
    assert shapes_of([]).size.shape == (0, 4)
