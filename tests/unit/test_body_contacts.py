"""Pairs and points of contact between bodies, against brute force and what is plain."""

import numpy as np
import pytest
from body_frames import DT, WEIGHT, Contacts, H, contacts_of, drift, frames_of, listed_pairs, places, random_turn
from manifold_reference import manifolds

import shinari as sn
from shinari.shapes.box import BOX
from shinari.shapes.capsule import CAPSULE
from shinari.shapes.plane import PLANE
from shinari.shapes.sphere import SPHERE
from shinari.systems.rigid.contact.collision_shapes import collision_shapes_of
from shinari.systems.rigid.contact.pairs import FEATURES, MOST_SLIDE, MOST_TURN

SHAPES = [
    lambda r: sn.Sphere(r),
    lambda r: sn.Box((1.5 * r, 2.0 * r, r)),
    lambda r: sn.Capsule(0.6 * r, r),
    lambda r: sn.Cylinder(r, r),
    lambda r: sn.Cone(r, 2.0 * r),
]


def heap(rng, count, spread=1.2, speed=1.0):
    """Bodies of all shapes in a cube, on the ground and in a container, moving."""
    scene = sn.Scene()
    for k in range(count):
        scene.add_rigid_body(
            SHAPES[k % len(SHAPES)](rng.uniform(0.05, 0.2)),
            position=rng.uniform(-0.5, 0.5, 3) * spread + [0.0, 0.5 * spread, 0.0],
            rotation=random_turn(rng),
            velocity=speed * rng.normal(size=3),
            angular_velocity=speed * rng.normal(size=3),
        )
    scene.add_collider(sn.Plane())
    scene.add_collider(sn.Box((spread, 2.0 * spread, spread), inside=True))
    scene.add_collider(sn.Box((0.3, 0.3, 0.3)), position=(0.2, 0.2, 0.1))
    return scene


def stack(rng, columns=6, height=6, noise=1e-4):
    """Boxes on each other, with a little noise."""
    scene = sn.Scene()
    for i in range(columns):
        for j in range(columns):
            for k in range(height):
                place = np.array([0.6 * i, 0.25 + 0.5 * k, 0.6 * j]) + noise * rng.normal(size=3)
                scene.add_rigid_body(sn.Box((0.5, 0.5, 0.5)), position=place)
    scene.add_collider(sn.Plane())
    return scene


def direct(collision_shapes, frames, poses, margin):
    """Contacts of all pairs of collision shapes by `manifold`: their collision shapes and rows."""
    frame = collision_shapes.arrays.frame
    a, b = np.triu_indices(len(collision_shapes), 1)
    free = (frame[a] != frame[b]) & ((frames.inverse_mass[frame[a]] > 0) | (frames.inverse_mass[frame[b]] > 0))
    a, b = a[free], b[free]
    world = np.empty((len(collision_shapes), 12))
    for g in range(len(collision_shapes)):
        turn, local = poses[frame[g], :9].reshape(3, 3), collision_shapes.arrays.local[g]
        world[g, :9] = (turn @ local[:9].reshape(3, 3)).ravel()
        world[g, 9:] = turn @ local[9:] + poses[frame[g], 9:]
    return np.stack([a, b], axis=1), manifolds(collision_shapes.shapes, a, world[a], b, world[b], margin)


def rows_by_key(table):
    return {int(key): i for i, key in enumerate(table.key[: table.count])}


@pytest.mark.parametrize("seed", [0, 1])
def test_points_are_those_of_all_pairs(seed):
    """No pair that touches is missed, and each point is one that the narrow phase finds."""
    scene = heap(np.random.default_rng(seed), 40)
    contacts, frames = contacts_of(scene)
    collision_shapes, table = collision_shapes_of(scene), contacts.table
    pairs, rows = direct(collision_shapes, frames, contacts.poses.pose, 0.0)
    mine = rows_by_key(table)
    on_a, _, gaps = places(table, frames)
    found = 0
    for (a, b), points in zip(pairs, rows, strict=True):
        own = (table.collision_shapes[: table.count] == (a, b)).all(axis=1)
        if len(points):
            assert gaps[own].min() == pytest.approx(points[:, 11].min(), abs=1e-6)
        flat = {int(collision_shapes.shapes.kind[a]), int(collision_shapes.shapes.kind[b])} <= {
            PLANE,
            BOX,
            SPHERE,
            CAPSULE,
        }
        for row in points if flat else []:  # which points of round faces are taken depends on the margin
            at = mine[int((a * len(collision_shapes) + b) * FEATURES + row[12])]
            found += 1
            # round shapes are searched for up to a tolerance, and the margin of the search differs
            np.testing.assert_allclose(on_a[at], row[:3], atol=1e-6)
            np.testing.assert_allclose(gaps[at], row[11], atol=1e-6)
            np.testing.assert_allclose(table.normal[at], row[8:11], atol=1e-5)
            assert tuple(table.collision_shapes[at]) == (a, b)
            assert tuple(table.frames[at]) == (collision_shapes.arrays.frame[a], collision_shapes.arrays.frame[b])
    assert found > 15


@pytest.mark.parametrize("seed", [2, 3])
def test_pairs_stay_complete_while_bodies_move(seed):
    """In no substep of a lively step does a pair touch that is not listed."""
    scene = heap(np.random.default_rng(seed), 30, speed=4.0)
    contacts, frames = contacts_of(scene)
    collision_shapes = collision_shapes_of(scene)
    for _ in range(25):
        drift(frames, H)
        contacts.find(1)
        listed = {tuple(pair) for pair in listed_pairs(contacts)}
        pairs, rows = direct(collision_shapes, frames, contacts.poses.pose, 0.0)
        for pair, points in zip(pairs, rows, strict=True):
            assert len(points) == 0 or tuple(pair) in listed
    assert contacts.detections >= 2  # without `begin` the margins were left, and that was noticed


def test_pairs_are_sorted_and_never_forbidden():
    scene = sn.Scene()
    names = [scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0.9 * k, 0.5, 0), name=f"b{k}") for k in range(4)]
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(1.8, 1.4, 0), kinematic=True, name="held")
    ground = scene.add_collider(sn.Plane(), name="ground")
    scene.add_collider(sn.Box((20, 1, 20)), position=(0, -0.4, 0), name="slab")
    scene.ignore_contact(names[0], names[1])
    scene.ignore_contact(names[3], ground)
    contacts, _ = contacts_of(scene)
    pairs = listed_pairs(contacts)
    keys = pairs[:, 0] * 7 + pairs[:, 1]
    assert (np.diff(keys) > 0).all()
    expected = {(1, 2), (2, 3), (1, 4), (2, 4), (3, 4)}
    expected |= {(k, 5) for k in range(3)} | {(k, 6) for k in range(4)}
    assert {tuple(p) for p in pairs.tolist()} == expected


def test_bodies_of_a_joint_do_not_touch():
    scene = sn.Scene()
    a = scene.add_rigid_body(sn.Sphere(0.5))
    b = scene.add_rigid_body(sn.Sphere(0.5), position=(0.8, 0, 0))
    c = scene.add_rigid_body(sn.Sphere(0.5), position=(1.6, 0, 0))
    scene.add_joint("ball", a, b, anchor=(0.4, 0, 0))
    scene.add_joint("ball", b, c, anchor=(1.2, 0, 0), collide=True)
    contacts, _ = contacts_of(scene)
    assert listed_pairs(contacts).tolist() == [[1, 2]]


def test_compound_is_several_geoms_of_one_frame():
    """Two balls of a dumb-bell rest on the ground, off its origin, and do not touch each other."""
    scene = sn.Scene()
    turn = (np.cos(0.4), 0.0, np.sin(0.4), 0.0)
    parts = [(sn.Sphere(0.3), (1.0, 0.0, 0.0), (1, 0, 0, 0)), (sn.Sphere(0.3), (1.5, 0.0, 0.0), (1, 0, 0, 0))]
    scene.add_rigid_body(sn.Compound(parts), position=(0.0, 0.299, 2.0), rotation=turn)
    scene.add_collider(sn.Plane())
    contacts, frames = contacts_of(scene)
    on_a, _, gaps = places(contacts.table, frames)
    assert contacts.table.count == 2
    np.testing.assert_allclose(gaps, -0.001, atol=1e-12)
    x = np.array([1.0, 1.5])
    np.testing.assert_allclose(on_a[:, 0], np.cos(0.8) * x, atol=1e-12)
    np.testing.assert_allclose(on_a[:, 2], 2.0 - np.sin(0.8) * x, atol=1e-12)


def test_law_is_combined():
    scene = sn.Scene()
    scene.add_rigid_body(
        sn.Sphere(0.5), position=(0, 0.5, 0), friction=0.4, static_friction=0.9, restitution=0.3, compliance=1e-6,
        rolling_friction=0.01, torsional_friction=0.02,
    )  # fmt: skip
    scene.add_rigid_body(sn.Sphere(0.5), position=(0, 1.5, 0), friction=0.1, restitution=0.5, compliance=2e-6)
    scene.add_collider(sn.Plane())
    contacts, _ = contacts_of(scene)
    table = contacts.table
    laws = {tuple(table.frames[i]): table.law[i] for i in range(table.count)}
    np.testing.assert_allclose(laws[0, 1], [0.2, 0.3, 0.5, 3e-6, 0.01, 0.02])
    ground = scene.colliders[0].surface
    sliding = 0.4 if ground.friction is None else np.sqrt(0.4 * ground.friction)
    assert laws[0, 3][0] == pytest.approx(sliding)
    assert laws[0, 3][2:4] == pytest.approx([max(0.3, ground.restitution), 1e-6 + ground.compliance])


def test_forces_are_carried_by_key():
    """Points keep their force while others come and go, and over the beginning of a step."""
    rng = np.random.default_rng(5)
    scene = heap(rng, 40, speed=2.0)
    contacts, frames = contacts_of(scene)
    seen = came = 0
    for k in range(20):
        table = contacts.table
        n = table.count
        assert (np.diff(table.key[:n]) > 0).all()
        table.force[:n] = rng.normal(size=(n, 3))
        before = {int(key): table.force[i].copy() for i, key in enumerate(table.key[:n])}
        drift(frames, H)
        if k % 5 == 4:
            contacts.begin()
        contacts.find(1)
        table = contacts.table
        for i, key in enumerate(table.key[: table.count]):
            if int(key) in before:
                np.testing.assert_array_equal(table.force[i], before[int(key)])
                seen += 1
            else:  # nothing, or what a point of the same pair held that is gone
                gone = [f for other, f in before.items() if other // FEATURES == key // FEATURES]
                assert not table.force[i].any() or any((f == table.force[i]).all() for f in gone)
                came += 1
    assert seen > 500
    assert came > 20


def test_forces_are_carried_by_place():
    """Where equal faces lie on each other a corner is now that of one box, now that of the other: its force stays."""
    scene = sn.Scene()
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 0.5, 0))
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 1.5, 0))
    contacts, frames = contacts_of(scene)
    rng = np.random.default_rng(0)
    changes = 0
    for _ in range(20):
        t = contacts.table
        assert t.count == 4
        t.force[:4] = t.core[:4]
        keys = t.key[:4].copy()
        half = 1e-5 * rng.normal()
        frames.q0[1] = np.sqrt(1.0 - half**2), 0.0, half, 0.0
        contacts.begin()
        contacts.find(1)
        t = contacts.table
        changes += int((keys != t.key[:4]).sum())
        np.testing.assert_allclose(t.force[:4], t.core[:4], atol=0.1)
    assert changes > 0


def test_recalled_forces_are_carried():
    scene = stack(np.random.default_rng(0), 2, 2)
    contacts, frames = contacts_of(scene)
    n = contacts.table.count
    contacts.table.force[:n] = np.random.default_rng(1).normal(size=(n, 3))
    keys, *rows = contacts.warm_start()
    other = Contacts(collision_shapes_of(scene), frames, DT, H, WEIGHT)
    other.set_warm_start(keys[::2], np.concatenate(rows, axis=1)[::2])
    other.begin()
    other.find(1)
    np.testing.assert_array_equal(other.table.key[:n], keys)
    np.testing.assert_array_equal(other.table.force[:n:2], contacts.table.force[:n:2])
    assert not other.table.force[1:n:2].any()


@pytest.mark.parametrize("make", [lambda rng: stack(rng), lambda rng: heap(rng, 150, spread=2.0)])
def test_same_table_for_any_number_of_threads(make):
    scene = make(np.random.default_rng(7))
    runs = []
    for threads in (1, 2, 3):
        frames = frames_of(scene)
        frames.v[: len(scene.bodies)] += 0.05
        contacts, _ = contacts_of(scene, frames, threads)
        assert contacts.pair_count > 150
        tables = []
        for _ in range(4):
            t = contacts.table
            t.force[: t.count] = t.normal[: t.count] + t.key[: t.count, None] % 7
            drift(frames, H)
            contacts.find(threads)
            t = contacts.table
            tables.append(
                [
                    getattr(t, name)[: t.count].copy()
                    for name in ("frames", "core", "radius", "normal", "law", "key", "force", "collision_shapes")
                ]
            )
        runs.append(tables)
    for other in runs[1:]:
        for first, second in zip(runs[0], other, strict=True):
            for one, two in zip(first, second, strict=True):
                np.testing.assert_array_equal(one, two)


def test_stack_has_the_corners_of_its_boxes():
    scene = stack(np.random.default_rng(0), 3, 3, noise=0.0)
    contacts, frames = contacts_of(scene)
    assert contacts.table.count == 4 * 27
    on_a, on_b, gaps = places(contacts.table, frames)
    np.testing.assert_allclose(gaps, 0.0, atol=1e-12)
    np.testing.assert_allclose(on_a, on_b, atol=1e-12)
    np.testing.assert_allclose(np.abs(on_a[:, 0] - 0.6 * np.round(on_a[:, 0] / 0.6)), 0.25, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_carried_points_are_close_to_new_ones(seed):
    """What is carried along has the gaps and normals of what is found anew, up to the turn and slide allowed.

    The turn of a face changes its normal by the turn itself, or not at all; a gap changes by the turn times the slide
    of the point on the face, both below one part in a hundred.
    """
    rng = np.random.default_rng(seed)
    scene = stack(rng, 3, 4)
    count = len(scene.bodies)
    frames = frames_of(scene)
    contacts, _ = contacts_of(scene, frames)
    frames.v[:count] = 0.02 * rng.normal(size=(count, 3))
    frames.w[:count] = 0.02 * rng.normal(size=(count, 3))
    warm_start = 0
    for _ in range(10):
        # of more than four corners those are chosen again that the pair had
        before = [column.copy() for column in contacts.warm_start()]
        drift(frames, H)
        contacts.find(1)
        warm_start += int((~contacts.pairs.changed[: contacts.pair_count]).sum())
        fresh, _ = contacts_of(scene, frames, before=before)
        table, other = contacts.table, fresh.table
        # corners of equal faces may be those of the one or the other: points are compared by place
        mine, theirs = places(table, frames)[0], places(other, frames)[0]
        ways = np.linalg.norm(mine[:, None] - theirs, axis=2)
        # nor need those be the same that were chosen of more than four corners
        i = np.flatnonzero(ways.min(axis=1) < 0.1)
        j = ways.argmin(axis=1)[i]
        assert len(i) >= 0.9 * max(table.count, other.count)
        gaps, fresh_gaps = places(table, frames)[2], places(other, frames)[2]
        slide = float(MOST_SLIDE) * 0.5 + ways.min(axis=1)[i]
        assert (np.abs(gaps[i] - fresh_gaps[j]) <= float(MOST_TURN) * slide).all()
        assert np.abs(table.normal[i] - other.normal[j]).max() <= float(MOST_TURN)
        # opposite points stay opposite: the force of a point has no moment of its own
        on_a, on_b, gaps = places(table, frames)
        np.testing.assert_allclose(on_a - on_b, gaps[:, None] * table.normal[: table.count], atol=1e-12)
    assert warm_start > 100


@pytest.mark.parametrize("shape", ["box", "hull"])
def test_crossed_edges_are_carried(shape):
    """The gap between two edges changes with the turn of its normal times the slide along it: second order in both."""
    rng = np.random.default_rng(7)
    corners = np.array([(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    solid = sn.Box((1.0, 1.0, 1.0)) if shape == "box" else sn.ConvexHull(corners)
    scene, half, turn = sn.Scene(), np.cos(np.pi / 8.0), np.sin(np.pi / 8.0)
    for k in range(40):
        # the lower edge of one cube over the upper edge of another
        for up, rotation in ((0.0, (half, turn, 0.0, 0.0)), (np.sqrt(2.0) - 0.002, (half, 0.0, 0.0, turn))):
            scene.add_rigid_body(solid, position=(3.0 * k, up, 0.0), rotation=rotation)
    frames = frames_of(scene)
    contacts, _ = contacts_of(scene, frames)
    frames.v[:80], frames.w[:80] = 0.2 * rng.normal(size=(80, 3)), 0.2 * rng.normal(size=(80, 3))
    carried = 0
    for _ in range(5):
        drift(frames, H)
        contacts.find(1)
        fresh, _ = contacts_of(scene, frames)
        gaps, fresh_gaps = places(contacts.table, frames)[2], places(fresh.table, frames)[2]
        assert len(gaps) == len(fresh_gaps) == 40
        assert np.abs(gaps - fresh_gaps).max() <= float(MOST_TURN) * float(MOST_SLIDE)
        assert np.abs(contacts.table.normal[:40] - fresh.table.normal[:40]).max() <= 2.0 * float(MOST_TURN)
        carried += int((~contacts.pairs.renew[: contacts.pair_count]).sum())
    assert carried > 100


def test_what_turns_is_found_anew():
    """A box that tips over an edge gets its other points as soon as they are near."""
    scene = sn.Scene()
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 0.5, 0))
    scene.add_collider(sn.Plane())
    contacts, frames = contacts_of(scene)
    assert contacts.table.count == 4
    for angle, expected in ((0.05, 2), (0.02, 2), (0.004, 4), (0.0, 4)):
        frames.q0[0] = np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)
        frames.x0[0, :2] = np.array([np.sin(angle), np.cos(angle)]) * 0.5
        frames.x0[0, 1] += 0.5 * np.sin(angle)
        contacts.find(1)
        _, _, gaps = places(contacts.table, frames)
        lowest = np.sort(gaps)
        assert (gaps <= 1e-9).sum() >= 2
        assert contacts.table.count == expected, angle
        if expected == 4:
            np.testing.assert_allclose(lowest[2:], np.sin(angle), atol=1e-9)


def test_fast_body_has_points_before_it_arrives():
    """At 100 m/s a ball has its point in the substep in which it would reach the wall, and in none before it could."""
    scene = sn.Scene()
    scene.add_rigid_body(sn.Sphere(0.05), position=(0, 10, 0), velocity=(0, -100.0, 0))
    scene.add_collider(sn.Plane())
    contacts, frames = contacts_of(scene)
    way = 100.0 * H
    for k in range(200):
        gap = frames.x0[0, 1] - 0.05
        if k % 10 == 0:
            contacts.begin()
        contacts.find(1)
        assert contacts.table.count == (1 if gap < 2.0 * way else 0) or 1.9 * way < gap < 2.2 * way
        if gap < 0.0:
            return
        drift(frames, H)
    raise AssertionError("the ball never arrived")


def test_moving_ground_is_found():
    """A plane that turns, and one that rises, touch what they come near."""
    scene = sn.Scene()
    scene.add_rigid_body(sn.Sphere(0.5), position=(10, 0.6, 0))
    scene.add_collider(sn.Plane())
    contacts, frames = contacts_of(scene)
    assert contacts.table.count == 0
    frames.w[2] = 0.0, 0.0, 1.0
    for _ in range(20):
        drift(frames, H)
        contacts.find(1)
    assert contacts.table.count == 1
    gap = places(contacts.table, frames)[2][0]
    # height over the turned plane
    angle = 2.0 * np.arctan2(frames.q0[2, 3], frames.q0[2, 0])
    assert gap == pytest.approx(0.6 * np.cos(angle) - 10.0 * np.sin(angle) - 0.5, abs=1e-9)


def test_scene_without_shapes_has_no_points():
    scene = sn.Scene()
    scene.add_rigid_body(None, mass=1.0, inertia=(1, 1, 1))
    contacts, _ = contacts_of(scene)
    assert contacts.table.count == 0


@pytest.mark.bounds
@pytest.mark.parametrize(
    ("shape", "speed", "points"),
    [
        (sn.Box((0.298, 0.298, 0.298)), 0.0, 24),
        (sn.Sphere(0.149), 0.0, 6),
        (sn.Cylinder(0.149, 0.298), 0.0, 16),
        (sn.Capsule(0.099, 0.1), 0.0, 2),
        (sn.Box((0.01, 0.01, 0.01)), 60.0, 24),
    ],
)
def test_each_of_six_near_walls_has_its_points(shape, speed, points):
    """However many walls a body is near, each has the corners of the face that looks at it."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((0.3, 0.3, 0.3), inside=True))
    scene.add_rigid_body(shape, velocity=(speed, 0.0, 0.0))
    contacts, frames = contacts_of(scene)
    table = contacts.table
    normals = table.normal[: table.count]
    assert {tuple(n) for n in np.abs(normals).round(9)} <= {(1, 0, 0), (0, 1, 0), (0, 0, 1)}
    per_wall = np.unique(normals.round(9) + 0.0, axis=0, return_counts=True)[1]
    assert per_wall.max() <= 4
    assert table.count == points
    _, _, gaps = places(table, frames)
    assert (gaps > -1e-9).all()


@pytest.mark.parametrize(
    ("velocity", "spin", "points"),
    [
        ((0.0, -9.0, 0.0), (0.0, 0.0, 0.0), 4),
        ((0.0, 9.0, 0.0), (0.0, 0.0, 0.0), 0),
        ((9.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0),
        ((0.0, 0.0, 0.0), (0.0, 0.0, 30.0), 2),
    ],
)
def test_points_are_those_that_the_bodies_bring_together(velocity, spin, points):
    """Within 20 mm, of which two substeps at 9 m/s take 30, a corner counts that comes nearer."""
    scene = sn.Scene()
    scene.add_rigid_body(sn.Box((0.6, 0.6, 0.6)), kinematic=True)
    scene.add_rigid_body(sn.Box((0.5, 0.5, 0.5)), position=(0.0, 0.57, 0.0), velocity=velocity, angular_velocity=spin)
    contacts, _ = contacts_of(scene)
    assert contacts.table.count == points


@pytest.mark.parametrize("solver", ["direct", "sweeps"])
@pytest.mark.parametrize("substeps", [5, 20])
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_forces_of_a_bounce_are_the_change_of_momentum(restitution: float, substeps: int, solver: str) -> None:
    """The force on a collider and the weight change the momentum, restitution and its friction included."""
    scene = sn.Scene()
    floor = scene.add_collider(sn.Plane(), restitution=restitution, friction=0.4)
    turn = sn.rotation(axis=(1, 0, 0.3), angle=0.3)
    box = scene.add_rigid_body(
        sn.Box((0.2, 0.2, 0.3)), mass=8.0, position=(0, 0.4, 0), rotation=turn, velocity=(1, -3, 0)
    )
    scene.add_rigid_body(sn.Sphere(0.1), mass=2.0, position=(0.1, 1.0, 0), restitution=restitution)
    sim = sn.Simulation(scene, substeps=substeps, rigid_solver=solver, sleep=False)
    weight, dt, hit = 10.0 * np.array([0.0, -9.81, 0.0]), sim.settings.dt, 0
    for _ in range(60):
        before = sim.momentum()
        sim.step()
        force = weight - sim.forces(floor)
        np.testing.assert_allclose((sim.momentum() - before) / dt, force, rtol=0, atol=1e-5 * 98.1)
        hit += len(sim.contacts()) > 0 and sim.pose(box).position[1] < 0.3
    assert hit > 3
