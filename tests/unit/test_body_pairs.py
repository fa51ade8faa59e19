"""Pairs of bodies that may touch: as many as there are true neighbours, whatever the speed, and none is missed."""

import math

import numpy as np
import pytest
from body_frames import DT, Contacts, H, contacts_of, drift, frames_of, listed_pairs, places, random_turn, turned

import shinari as sn
from shinari.systems.rigid import system as bodies
from shinari.systems.rigid.contact.collision_shapes import collision_shapes_of
from shinari.systems.rigid.contact.margins import SLACK, TIGHT

SPACING = 1.05
SHAPES = [
    lambda r: sn.Sphere(r),
    lambda r: sn.Box((1.5 * r, 2.0 * r, r)),
    lambda r: sn.Capsule(0.6 * r, r),
    lambda r: sn.Cylinder(r, r),
    lambda r: sn.Cone(r, 2.0 * r),
]


def lattice(side, velocity_of):
    """Unit cubes in a cubic lattice; velocities [m/s] from their places."""
    scene = sn.Scene()
    points = SPACING * (np.stack(np.meshgrid(*[np.arange(side)] * 3, indexing="ij"), -1).reshape(-1, 3) - side / 2)
    for place, velocity in zip(points, velocity_of(points), strict=True):
        scene.add_rigid_body(sn.Box((1, 1, 1)), density=120, position=place, velocity=velocity)
    return scene


def apart(speed):
    return lambda points: speed * points / np.linalg.norm(points, axis=1).max()


def at_random(speed):
    def velocities(points):
        v = np.random.default_rng(0).normal(size=points.shape)
        return speed * v / np.linalg.norm(v, axis=1, keepdims=True)

    return velocities


def together(speed):
    return lambda points: np.tile([0.0, 0.6 * speed, 0.8 * speed], (len(points), 1))


def most_pairs(relative_speed):
    """Pairs of a cube at most [1]: half of the centres in what the sum of two widened cubes sweeps in a substep.

    A cube has a margin of MOST at most, and a path; the sweep of a box of side s is at most s^3 + sqrt(3) s^2 L.
    """
    side = 2.0 * (1.0 + 2.0 * TIGHT) + 4.0 * float(SLACK)
    volume = side**3 + math.sqrt(3.0) * side**2 * relative_speed * H
    # a lattice has at most so many points in a volume, a cell at each side more than on average
    return 0.5 * (volume ** (1 / 3) / SPACING + 1.0) ** 3


@pytest.mark.parametrize("speed", [0.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("thrown", [apart, at_random, together])
def test_pairs_are_in_proportion_to_bodies_at_any_speed(thrown, speed):
    counts = []
    for side in (6, 12):
        contacts, frames = contacts_of(lattice(side, thrown(speed)))
        v = frames.v[frames.inverse_mass > 0]
        bound = most_pairs(0.0 if thrown is together else 2.0 * float(np.linalg.norm(v, axis=1).max()))
        counts.append(contacts.pair_count / side**3)
        assert counts[-1] < bound
        # again and again in a step, as after impacts
        for _ in range(4):
            drift(frames, H)
            contacts.find(1)
            assert contacts.pair_count / side**3 < bound
    # a body inside of a large heap has more neighbours than one at the surface of a small one, not eight times as many
    assert counts[1] < 3.0 * counts[0] + 1.0


def test_a_heap_that_falls_has_the_pairs_of_one_at_rest():
    """Wherever cubes have a margin at all it is no wider than a part of their size."""
    still, _ = contacts_of(lattice(8, together(0.0)))
    for speed in (1.0, 10.0, 50.0):
        moving, _ = contacts_of(lattice(8, together(speed)))
        assert moving.pair_count <= (3**3 - 1) / 2 * 8**3
    assert still.pair_count <= 3 * 8**3 + (3**3 - 1) / 2 * 8**3


@pytest.mark.parametrize("speed", [10.0, 100.0, 1000.0])
def test_one_fast_body_does_not_fill_the_lists_of_slow_ones(speed):
    def one_fast(points):
        velocities = np.zeros_like(points)
        velocities[0] = speed / math.sqrt(3.0)
        return velocities

    still, _ = contacts_of(lattice(8, together(0.0)))
    contacts, _ = contacts_of(lattice(8, one_fast))
    pairs, before = listed_pairs(contacts), {tuple(p) for p in listed_pairs(still)}
    assert before <= {tuple(p) for p in pairs}
    mine = (pairs == 0).any(axis=1)
    # what is new is on the path of the fast one
    assert len(pairs) - mine.sum() <= len(before)
    assert mine.sum() <= 2 * most_pairs(speed)


@pytest.mark.parametrize(("speed", "spin"), [(5.0, 5.0), (60.0, 30.0), (300.0, 0.0), (1000.0, 300.0), (1000.0, 2000.0)])
@pytest.mark.parametrize("seed", [0, 1])
def test_what_meets_on_straight_paths_is_listed(seed, speed, spin):
    """All that touches at twelve times in the substep that begins."""
    rng = np.random.default_rng(seed)
    scene = sn.Scene()
    for k in range(40):
        scene.add_rigid_body(
            SHAPES[k % len(SHAPES)](rng.uniform(0.05, 0.25)),
            position=rng.uniform(-1.2, 1.2, 3),
            rotation=random_turn(rng),
            velocity=speed * rng.uniform(0, 1) ** 2 * rng.normal(size=3),
            angular_velocity=spin * rng.uniform(0, 1) * rng.normal(size=3),
        )
    scene.add_collider(sn.Plane((0, 1, 0), -1.3))
    scene.add_collider(sn.Box((0.5, 0.5, 0.5)), position=(0.4, 0.4, 0.1))
    collision_shapes, met = collision_shapes_of(scene), 0
    contacts, frames = contacts_of(scene)
    for substep in range(3):
        if substep:
            contacts.find(1)
        listed = {tuple(pair) for pair in listed_pairs(contacts).tolist()}
        for part in np.linspace(0.0, 1.0, 12):
            then = frames_of(scene)
            then.x0[...], then.q0[...] = frames.x0, frames.q0
            steps = max(1, int(part * H * spin / 0.2))
            for _ in range(steps):
                drift(then, part * H / steps)
            # at rest at that place nothing is looked for beyond what touches
            then.v[...], then.w[...] = 0.0, 0.0
            probe = Contacts(collision_shapes, then, H, H, 0.0)
            probe.begin()
            probe.find(1)
            gaps = places(probe.table, then)[2]
            pairs = {tuple(pair) for pair in probe.table.collision_shapes[: probe.table.count][gaps <= 0.0].tolist()}
            met += len(pairs)
            assert pairs <= listed
        drift(frames, H)
    assert met > 20


def segment_distances(centres, halves):
    """Distances of all pairs of segments (N, 3), each from its centre to both ends by a half (N, 3)."""
    apart = centres[:, None] - centres
    uu = (halves * halves).sum(axis=1)
    uw, ua = halves @ halves.T, (halves[:, None] * apart).sum(axis=2)
    wa = (halves[None] * apart).sum(axis=2)
    s = np.clip((uw * wa - uu[None] * ua) / np.maximum(uu[:, None] * uu - uw * uw, 1e-12), -1.0, 1.0)
    # the nearest place of the other one, and from there of the first, until both stay
    for _ in range(50):
        t = np.clip((wa + s * uw) / uu[None], -1.0, 1.0)
        s = np.clip((t * uw - ua) / uu[:, None], -1.0, 1.0)
    return np.linalg.norm(apart + s[..., None] * halves[:, None] - t[..., None] * halves[None], axis=2)


@pytest.mark.parametrize(("speed", "spin"), [(0.0, 0.0), (3.0, 4.0), (10.0, 10.0), (20.0, 0.0)])
def test_tilted_capsules_are_pairs_only_where_they_may_meet(speed, spin):
    """What is within reach in any substep of a step is listed, far fewer than boxes along the axes overlap."""
    rng, scene = np.random.default_rng(3), sn.Scene()
    for _ in range(150):
        scene.add_rigid_body(
            sn.Capsule(0.05, 0.6),
            density=500,
            position=rng.uniform(-1.0, 1.0, 3),
            rotation=random_turn(rng),
            velocity=speed * rng.uniform(-1, 1, 3),
            angular_velocity=spin * rng.uniform(-1, 1, 3),
        )
    contacts, frames = contacts_of(scene)
    shapes = collision_shapes_of(scene)
    along = np.zeros((150, 3))
    met = overlapping = 0
    for substep in range(round(DT / H)):
        if substep:
            drift(frames, H)
            contacts.find(1)
        along[:] = turned(frames.q0[:150], shapes.arrays.local[:, [1, 4, 7]]) * shapes.shapes.size[:, 1:2]
        x = frames.x0[:150]
        listed = np.zeros((150, 150), bool)
        listed[tuple(listed_pairs(contacts).T)] = True
        near = np.triu(segment_distances(x, along) < 0.1 + 2.0 * H * 2.0 * speed, 1)
        met += near.sum()
        assert not (near & ~listed).any()
        boxes = (np.abs(x[:, None] - x) < np.abs(along)[:, None] + np.abs(along) + 0.1).all(axis=2)
        overlapping += np.triu(boxes, 1).sum()
        if speed == 0.0:
            assert contacts.pair_count < 0.7 * overlapping
            break
    assert met > 20


def corner_shot(speed, angle, substeps):
    """A small cube that flies at a slab and is thrown along it against a thin plate; how far it gets [m]."""
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_collider(sn.Box((40, 1, 4)), position=(0, -0.5, 0), friction=0.0)
    scene.add_collider(sn.Box((0.02, 3, 4)), position=(6.0, 1.5, 0), friction=0.0)
    way = np.array([math.cos(angle), -math.sin(angle), 0.0])
    # in the first substep it reaches the slab after a tenth of its path, well before the plate
    start = np.array([2.0, 0.05, 0.0]) - 0.1 * speed / (60.0 * substeps) * way
    body = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), density=500, position=start, velocity=speed * way,
                                friction=0.0)  # fmt: skip
    sim = sn.Simulation(scene, substeps=substeps, precision="float64", threads=1)
    sim.step(3)
    return float(sim.state.body_positions[body.index][0])


@pytest.mark.parametrize(("speed", "substeps"), [(400.0, 1), (1000.0, 2), (2000.0, 4)])
@pytest.mark.parametrize("angle", [0.6, 0.8, 1.0])
def test_what_is_thrown_off_its_path_meets_the_next(speed, angle, substeps, monkeypatch):
    """The plate is not on the straight path, which goes down into the slab before it gets there."""
    assert corner_shot(speed, angle, substeps) < 6.0
    monkeypatch.setattr(bodies, "MOST_AGAIN", 0)
    assert speed * math.cos(angle) / (60.0 * substeps) < 4.0 or corner_shot(speed, angle, substeps) > 6.0


def test_margins_do_not_depend_on_how_often_they_were_left():
    """The lists of a step with many detections are no longer than those of one with few."""
    contacts, frames = contacts_of(lattice(8, at_random(30.0)))
    first, place = contacts.pair_count, frames.x0.copy()
    for k in range(8):
        # what is far away has left its margin; back again it is at the same places
        frames.x0[...] = place + 100.0
        contacts.find(1)
        frames.x0[...] = place
        contacts.find(1)
        assert contacts.detections == 2 * k + 3
    assert contacts.pair_count <= 1.5 * first


def test_what_is_known_of_a_pair_outlasts_a_detection():
    """A detection in the midst of a step, for one that moved away, keeps what is known of the others."""
    contacts, frames = contacts_of(lattice(3, together(1.0)))
    names, pairs = ("valid", "count", "mask", "margin", "found_pose"), listed_pairs(contacts).copy()
    before = {name: getattr(contacts.pairs, name)[: len(pairs)].copy() for name in names}
    keys = contacts.table.key[: contacts.table.count].copy()
    assert before["valid"].any()
    place = frames.x0[13].copy()
    frames.x0[13] += 10.0
    contacts.find(1)
    assert contacts.detections == 2
    others = (pairs != 13).all(axis=1)
    np.testing.assert_array_equal(listed_pairs(contacts), pairs[others])
    for name in names:
        np.testing.assert_array_equal(getattr(contacts.pairs, name)[: others.sum()], before[name][others])
    frames.x0[13] = place
    contacts.find(1)
    np.testing.assert_array_equal(listed_pairs(contacts), pairs)
    np.testing.assert_array_equal(contacts.table.key[: contacts.table.count], keys)


@pytest.mark.parametrize("seed", range(4))
def test_a_search_for_a_few_bodies_finds_what_one_of_all_would(seed):
    """Bodies that leave their margins meet others, again and again in a step; none of their contacts is missed."""
    rng, scene = np.random.default_rng(seed), lattice(5, at_random(0.5))
    contacts, frames = contacts_of(scene)
    partial = met = 0
    for _ in range(12):
        # a few jump among the others, all drift
        jump = rng.choice(125, 4, replace=False)
        frames.x0[jump] = frames.x0[rng.choice(125, 4)] + rng.normal(size=(4, 3)) * 0.4
        frames.v[jump] = rng.normal(size=(4, 3))
        drift(frames, H)
        contacts.find(1)
        partial += int(contacts.detection.partial[0])
        fresh, _ = contacts_of(scene, frames)
        touching = fresh.table.frames[: fresh.table.count]
        met += len(touching)
        # a body has one shape here, and the number of its frame
        assert {tuple(pair) for pair in touching} <= {tuple(pair) for pair in listed_pairs(contacts)}
        assert {tuple(pair) for pair in contacts.table.frames[: contacts.table.count]} == {tuple(p) for p in touching}
    assert partial > 8
    assert met > 400


def test_what_has_not_moved_since_the_last_step_is_not_searched_again():
    """The candidates of a step are those of the last one where all is as it was then, and only there."""

    def take_step():
        contacts.begin()
        contacts.find(1)
        return bool(contacts.detection.search[0])

    contacts, frames = contacts_of(lattice(4, at_random(2.0)))
    pairs = listed_pairs(contacts).copy()
    assert contacts.detection.search[0]
    assert not take_step()
    np.testing.assert_array_equal(listed_pairs(contacts), pairs)
    for change in (frames.x0, frames.v, frames.w):
        change[13] += 0.5
        assert take_step()
        fresh, _ = contacts_of(lattice(4, at_random(2.0)), frames)
        np.testing.assert_array_equal(listed_pairs(contacts), listed_pairs(fresh))
        assert not take_step()
    # within a step: what another search found is not what the next step would find first
    place = frames.x0.copy()
    frames.x0[13] += 10.0
    contacts.find(1)
    frames.x0[...] = place
    contacts.find(1)
    assert contacts.detections == 3
    assert take_step()


def test_hulls_that_keep_what_separated_them_move_as_those_that_do_not():
    points = np.random.default_rng(42).normal(size=(32, 3))
    hull = sn.ConvexHull(points / np.linalg.norm(points, axis=1)[:, None])
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    for place in np.ndindex(3, 8, 3):
        scene.add_rigid_body(hull, position=np.array([1.9, 2.1, 1.9]) * place + (0.05 * place[1], 1.1, 0.0))
    whole, resumed = (sn.Simulation(scene, substeps=4, sleep=False, threads=1) for _ in range(2))
    for _ in range(3):
        whole.step(20)
        detection = whole._run.system(bodies.RigidBodySystem).equations.contacts
        assert detection.pairs.separation[: detection.pair_count].any(axis=1).sum() > 50
        # a state does not hold what its pairs keep
        resumed.restore(whole.state.copy())
        whole.step(5)
        resumed.step(5)
        assert whole.state == resumed.state


def two_hulls(seed: int) -> sn.Scene:
    """Two hulls that come to rest next to each other on a plane."""
    rng = np.random.default_rng(seed)
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    for level in range(2):
        turn = rng.normal(size=4)
        scene.add_rigid_body(
            sn.ConvexHull(0.12 * rng.normal(size=(12, 3))),
            position=(rng.uniform(-0.1, 0.1), 0.6 + 0.4 * level, rng.uniform(-0.1, 0.1)),
            rotation=turn / np.linalg.norm(turn),
        )
    return scene


@pytest.mark.parametrize("seed", [0, 2, 4])
def test_a_search_that_finds_no_points_changes_no_bits(seed: int) -> None:
    """When a pair without points is searched depends on the steps before; the step must not."""
    scene = two_hulls(seed)
    sim, fresh = (sn.Simulation(scene, substeps=10, threads=1) for _ in range(2))
    for _ in range(45):
        fresh.restore(sim.state)
        sim.step()
        fresh.step()
        for name, values in sim.state.arrays().items():
            np.testing.assert_array_equal(fresh.state.arrays()[name], values, err_msg=f"frame {sim.state.frame} {name}")
