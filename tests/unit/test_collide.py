"""Particles against solids: distances by brute force, and nothing that gets through, pops or sticks in the air."""

import itertools

import numpy as np
import pytest
import shape_kernels

import shinari as sn

EPS = np.finfo(np.float64).eps
SHAPES = {
    "plane": sn.Plane(normal=(1.0, 2.0, -0.5), offset=0.3),
    "sphere": sn.Sphere(0.7),
    "box": sn.Box((1.0, 0.6, 1.7)),
    "container": sn.Box((1.0, 0.6, 1.7), inside=True),
    "capsule": sn.Capsule(0.3, 1.1),
}
every_shape = pytest.mark.parametrize("name", SHAPES)
precisions = pytest.mark.parametrize("precision", ["float32", "float64"])


def signed(name: str, points: np.ndarray) -> np.ndarray:
    return shape_kernels.distances(SHAPES[name], points)


def normals(name: str, points: np.ndarray) -> np.ndarray:
    return shape_kernels.normals(SHAPES[name], points)


def surface_points(name: str, count: int) -> np.ndarray:
    """Points that cover the surface densely."""
    shape = SHAPES[name]
    n = round(np.sqrt(count))
    if isinstance(shape, sn.Box):
        half, parts = 0.5 * np.array(shape.size), []
        u, v = (g.ravel() for g in np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n)))
        for axis, side in itertools.product(range(3), (-1.0, 1.0)):
            face = np.full((n * n, 3), side)
            face[:, [k for k in range(3) if k != axis]] = np.stack([u, v], axis=1)
            parts.append(face * half)
        return np.concatenate(parts)
    theta, phi = (g.ravel() for g in np.meshgrid(np.linspace(0, np.pi, n), np.linspace(0, 2 * np.pi, 2 * n)))
    ball = np.stack([np.sin(theta) * np.cos(phi), np.cos(theta), np.sin(theta) * np.sin(phi)], axis=1)
    if isinstance(shape, sn.Sphere):
        return shape.radius * ball
    height, phi = (g.ravel() for g in np.meshgrid(np.linspace(-0.5, 0.5, n), np.linspace(0, 2 * np.pi, 2 * n)))
    side = np.stack([shape.radius * np.cos(phi), shape.length * height, shape.radius * np.sin(phi)], axis=1)
    lift = 0.5 * shape.length * np.where(ball[:, 1:2] >= 0, 1.0, -1.0) * [[0.0, 1.0, 0.0]]
    return np.concatenate([side, shape.radius * ball + lift])


def solid(name: str, points: np.ndarray) -> np.ndarray:
    """Whether points lie in the solid, written down independently."""
    shape = SHAPES[name]
    if isinstance(shape, sn.Box):
        return (np.abs(points) < 0.5 * np.array(shape.size)).all(axis=1) != shape.inside
    if isinstance(shape, sn.Sphere):
        return np.linalg.norm(points, axis=1) < shape.radius
    axis = points.copy()
    axis[:, 1] -= np.clip(points[:, 1], -0.5 * shape.length, 0.5 * shape.length)
    return np.linalg.norm(axis, axis=1) < shape.radius


@pytest.mark.parametrize("name", [name for name in SHAPES if name != "plane"])
def test_distance_is_that_to_the_nearest_surface_point(name):
    points = np.random.default_rng(3).uniform(-1.5, 1.5, (60, 3))
    surface = surface_points(name, 6400)
    nearest = np.array([np.linalg.norm(surface - p, axis=1).min() for p in points])
    expected = np.where(solid(name, points), -nearest, nearest)
    # the samples are at most 2 pi r / 160 apart, and a nearest one at most as far from the true nearest point
    assert (np.abs(signed(name, points) - expected) <= 0.03).all()
    assert (np.abs(signed(name, points)) <= nearest + 8 * EPS).all()


@every_shape
def test_distance_is_zero_on_the_surface_and_its_gradient_is_the_normal(name):
    points = np.random.default_rng(4).uniform(-1.5, 1.5, (200, 3))
    step = 1e-6
    slopes = np.stack(
        [(signed(name, points + d) - signed(name, points - d)) / (2 * step) for d in step * np.eye(3)], axis=1
    )
    smooth = np.abs(np.linalg.norm(slopes, axis=1) - 1.0) < 1e-6  # not where two faces are equally near
    assert smooth.sum() > 150
    np.testing.assert_allclose(normals(name, points)[smooth], slopes[smooth], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(normals(name, points), axis=1), 1.0, atol=8 * EPS)


@every_shape
def test_normals_where_there_is_no_nearest_point_have_length_one(name):
    centre = np.zeros((1, 3))
    assert np.linalg.norm(normals(name, centre)) == pytest.approx(1.0, abs=8 * EPS)


THIN = {
    "box": sn.Box((2.0, 0.01, 2.0)),
    "sphere": sn.Sphere(0.05),
    "capsule": sn.Capsule(0.02, 1.0),
}


def depths(shape: object, points: np.ndarray, position: np.ndarray, rotation: np.ndarray) -> np.ndarray:
    return shape_kernels.distances(shape, (points - position) @ matrix(rotation))


def matrix(q: np.ndarray) -> np.ndarray:
    w, u = q[0], np.array(q[1:])
    cross = np.array([[0, -u[2], u[1]], [u[2], 0, -u[0]], [-u[1], u[0], 0]])
    return np.eye(3) + 2 * w * cross + 2 * cross @ cross


def tumble(time: float) -> tuple[np.ndarray, np.ndarray]:
    """A collider that flies at 3 m/s and turns at 2 rad/s."""
    axis = np.array([0.36, 0.48, 0.8])
    return np.array([3.0, -1.0, 0.5]) * time, np.array([np.cos(time), *(np.sin(time) * axis)])


@precisions
@pytest.mark.parametrize("moving", [False, True], ids=["still", "moving"])
@pytest.mark.parametrize("speed", [20.0, 100.0])
@pytest.mark.parametrize("name", THIN)
def test_thrown_particles_never_end_inside_or_beyond(name, speed, moving, precision):
    """From all directions, aimed at points of the shape, each at its own time of arrival; frictionless."""
    rng = np.random.default_rng(7)
    n, radius = 300, 0.002
    aim = (
        rng.uniform(-1, 1, (n, 3)) * {"box": (0.9, 0, 0.9), "sphere": (0.01, 0.01, 0.01), "capsule": (0, 0.5, 0)}[name]
    )
    way = rng.normal(size=(n, 3))
    way /= np.linalg.norm(way, axis=1)[:, None]
    way[: n // 2, 1] *= 5.0
    way /= np.linalg.norm(way, axis=1)[:, None]
    arrival = rng.uniform(0.02, 0.05, n)
    position, rotation = np.zeros(3), np.array([1.0, 0, 0, 0])
    velocity = speed * way
    start = aim - velocity * arrival[:, None]
    if moving:  # aimed at where the point of the collider is at that time
        poses = [tumble(t) for t in arrival]
        target = np.array([matrix(q) @ a + p for (p, q), a in zip(poses, aim, strict=True)])
        start = target - velocity * arrival[:, None]
    p0, q0 = tumble(0.0) if moving else (position, rotation)
    # those that start in the shape, or on the far side of the turning one, are no throws
    keep = depths(THIN[name], start, p0, q0) > 0.1
    start, velocity, arrival = start[keep], velocity[keep], arrival[keep]
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles(start, velocity=velocity, radius=radius)
    scene.add_collider(THIN[name], friction=0.0, motion=tumble if moving else None)
    sim = sn.Simulation(scene, dt=1 / 60, substeps=10, precision=precision, threads=1)
    h = 1 / 600
    for frame in range(1, 6):
        sim.step()
        t = frame / 60
        at, turned = tumble(t) if moving else (position, rotation)
        gap = depths(THIN[name], sim.state.positions.astype(float), at, turned) - radius
        # roundings of positions of a few metres
        assert gap.min() > -64 * np.finfo(precision).eps
        # nothing that has arrived goes on along its way as if there were no collider
        free = start + velocity * t
        untouched = np.linalg.norm(sim.state.positions - free, axis=1) < 1e-4 * speed
        passed = arrival < t - 2 * h
        assert not (untouched & passed).any(), np.flatnonzero(untouched & passed)
    assert passed.all()
    if name == "box" and not moving:  # the far side of a plate: nothing may change sides
        above = start[:, 1] > 0
        inside = (np.abs(sim.state.positions[:, [0, 2]]) < 1.0).all(axis=1)
        assert ((sim.state.positions[:, 1] > 0) == above)[inside].all()


@precisions
def test_a_fast_collider_does_not_pass_over_a_particle_at_rest(precision):
    """A plate of 1 cm that comes at 100 m/s (17 cm in a substep) carries the particle along."""
    for shape in (sn.Box((0.01, 2.0, 2.0)), sn.Sphere(0.02), sn.Capsule(0.02, 0.5)):
        scene = sn.Scene(gravity=(0, 0, 0))
        p = scene.add_particles([[0.0, 0.0, 0.0]], radius=0.001)
        scene.add_collider(shape, motion=lambda t: (-0.31 + 100.0 * t, 0.0, 0.0))
        sim = sn.Simulation(scene, substeps=10, precision=precision, threads=1)
        sim.step(2)
        front = -0.31 + 100.0 * 2 / 60
        assert front < sim.positions(p)[0, 0] < front + 0.03, shape


@precisions
def test_flight_close_along_a_face_is_free(precision):
    """A particle a few millimetres above a table is not touched by it, whatever its speed."""
    scene = sn.Scene(gravity=(0, 0, 0))
    heights = np.array([0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02])
    start = np.stack([np.full(7, -1.0), 0.05 + heights, np.linspace(-0.5, 0.5, 7)], axis=1)
    velocity = np.array([100.0, 0.0, 0.0]) - np.array([0.0, 1.0, 0.0]) * (heights / 0.04)[:, None]
    scene.add_particles(start, velocity=velocity)
    scene.add_collider(sn.Box((4.0, 0.1, 4.0)), friction=1.0)
    sim = sn.Simulation(scene, substeps=20, precision=precision, threads=1)
    sim.step()  # 1/60 s: it would touch after 1/25 s
    np.testing.assert_allclose(sim.state.velocities, velocity, rtol=1e-6 if precision == "float32" else 1e-14)


@precisions
@pytest.mark.parametrize("radius", [0.0, 0.05])
def test_container_keeps_everything_with_its_corners(radius, precision):
    """Thrown at 20 m/s into faces, edges and corners of a turned container."""
    rng = np.random.default_rng(11)
    half = 0.5
    turn = np.array([0.8, 0.36, 0.48, 0.0])
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    aims = np.concatenate([corners, rng.choice([-1.0, 0.0, 1.0], (60, 3)), rng.uniform(-1, 1, (60, 3))])
    local = rng.uniform(-0.4, 0.4, (len(aims), 3))
    scene = sn.Scene()
    way = aims * half - local
    velocity = 20.0 * way / np.maximum(np.linalg.norm(way, axis=1), 1e-3)[:, None]
    scene.add_particles(local @ matrix(turn).T + [3.0, 0.0, 0.0], velocity=velocity @ matrix(turn).T, radius=radius)
    scene.add_collider(sn.Box((2 * half,) * 3, inside=True), position=(3, 0, 0), rotation=turn, friction=0.0)
    sim = sn.Simulation(scene, substeps=10, precision=precision, threads=1)
    # matrices, corrections and positions around 3 m: a few roundings each
    slack = 64 * 3.0 * np.finfo(precision).eps
    for _ in range(12):
        sim.step()
        inside = np.abs((sim.state.positions.astype(float) - [3.0, 0.0, 0.0]) @ matrix(turn))
        assert inside.max() <= half - radius + slack


@precisions
@pytest.mark.parametrize("shape", [sn.Box((1, 1, 1)), sn.Sphere(0.5), sn.Capsule(0.4, 0.5), sn.Plane()], ids=str)
@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
def test_deep_overlap_comes_out_at_the_limited_speed_and_brings_no_energy(shape, precision):
    depth_at = {
        sn.Box: (0.1, 0.2, 0.0),
        sn.Sphere: (0.1, 0.2, 0.0),
        sn.Capsule: (0.1, 0.1, 0.0),
        sn.Plane: (0, -0.3, 0),
    }
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([depth_at[type(shape)]])
    scene.add_collider(shape)
    sim = sn.Simulation(scene, substeps=10, iterations=2, precision=precision, threads=1, depenetration_speed=0.5)
    origin, identity = np.zeros(3), np.array([1.0, 0, 0, 0])
    gap = depths(shape, sim.state.positions.astype(float), origin, identity)[0]
    eps = 600 * 8 * np.finfo(precision).eps  # a position of one metre, divided by the substep
    for _ in range(60):
        before = sim.state.positions.astype(float)
        sim.step()
        moved = np.linalg.norm(sim.state.positions - before)
        # the limit is one escape per iteration; each of the 20 of a step rounds a position below 1/2 m
        assert moved <= 2 * 0.5 / 60 + 20 * 0.5 * np.finfo(precision).eps
        assert np.abs(sim.state.velocities).max() <= eps
        gap = depths(shape, sim.state.positions.astype(float), origin, identity)[0]
    assert abs(gap) < 1e-6


@precisions
def test_friction_sticks_and_slides(precision):
    """On a slope of 30 degrees tan = 0.577: mu 0.7 holds, mu 0.4 slides at g (sin - mu cos)."""
    angle, g = np.radians(30.0), 9.81
    normal = (np.sin(angle), np.cos(angle), 0.0)
    down = np.array([np.cos(angle), -np.sin(angle), 0.0])
    for mu in (0.0, 0.4, 0.7):
        for kind in (sn.Plane(normal), sn.Box((20.0, 1.0, 20.0))):
            scene = sn.Scene(gravity=(0, -g, 0))
            box = isinstance(kind, sn.Box)
            start = np.array(normal) * (0.5 if box else 0.0)
            p = scene.add_particles([start])
            half = -0.5 * angle
            turn = (np.cos(half), 0.0, 0.0, np.sin(half)) if box else (1.0, 0.0, 0.0, 0.0)
            scene.add_collider(kind, friction=mu, rotation=turn)
            sim = sn.Simulation(scene, substeps=10, precision=precision, threads=1)
            sim.step(30)
            n, h = 300, 1 / 600
            rate = g * (np.sin(angle) - mu * np.cos(angle))
            slid = (sim.positions(p)[0] - start) @ down
            # symplectic Euler: a h^2 n (n + 1) / 2; in single precision each h carries its rounding error
            expected = max(rate, 0.0) * h * h * n * (n + 1) / 2
            assert slid == pytest.approx(expected, abs=1e-4 if precision == "float32" else 1e-9), (mu, kind)


@precisions
def test_the_friction_of_a_pair_is_the_geometric_mean(precision):
    g, speed = 9.81, 2.0
    scene = sn.Scene(gravity=(0, -g, 0))
    p = scene.add_particles([[0, 0, 0]], velocity=(speed, 0, 0), friction=0.9)
    scene.add_collider(sn.Plane(), friction=0.1)
    sim = sn.Simulation(scene, substeps=10, precision=precision, threads=1)
    sim.step(12)
    np.testing.assert_allclose(sim.velocities(p)[0], [speed - 0.3 * g * 0.2, 0, 0], atol=2e-4)


@precisions
def test_a_moving_collider_carries_what_sticks_to_it(precision):
    """A belt at constant speed: the particle ends with the speed of the belt, and is where the belt took it."""
    scene = sn.Scene()
    p = scene.add_particles([[0.0, 0.5, 0.0]])
    scene.add_collider(sn.Box((10.0, 1.0, 1.0)), friction=1.0, motion=lambda t: (0.5 * t, 0.0, 0.0))
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.step(60)
    np.testing.assert_allclose(sim.velocities(p)[0], [0.5, 0.0, 0.0], atol=1e-4)
    # it slips until v = mu g t: 0.5^2 / (2 mu g) behind the belt
    assert sim.positions(p)[0, 0] == pytest.approx(0.5 - 0.25 / (2 * 9.81), abs=1e-3)


@precisions
def test_overlapping_colliders_leave_particles_outside_all(precision):
    """Particles rain on a heap of shapes that cut into each other."""
    rng = np.random.default_rng(13)
    scene = sn.Scene()
    scene.add_particles(rng.uniform((-0.6, 0.9, -0.6), (0.6, 1.4, 0.6), (200, 3)), radius=0.01, velocity=(0, -5, 0))
    solids = [
        (sn.Sphere(0.4), np.array([0.2, 0.2, 0.0]), np.array([1.0, 0, 0, 0])),
        (sn.Box((0.8, 0.6, 0.8)), np.array([-0.2, 0.2, 0.1]), np.array([0.8, 0.0, 0.6, 0.0])),
        (sn.Capsule(0.2, 1.0), np.array([0.0, 0.3, 0.0]), np.array([0.6, 0.0, 0.0, 0.8])),
        (sn.Plane(), np.zeros(3), np.array([1.0, 0, 0, 0])),
    ]
    for shape, position, rotation in solids:
        scene.add_collider(shape, position=position, rotation=rotation, friction=0.2)
    sim = sn.Simulation(scene, precision=precision, threads=1)
    for _ in range(45):
        sim.step()
        x = sim.state.positions.astype(float)
        assert np.isfinite(x).all()
        # in a crease the later collider may push into the earlier one by what a particle moves in one substep
        for shape, position, rotation in solids:
            assert (depths(shape, x, position, rotation) - 0.01).min() > -15.0 / 1200
        assert np.linalg.norm(sim.state.velocities, axis=1).max() < 15.0


@precisions
def test_pinned_particles_stay_whatever_runs_into_them(precision):
    scene = sn.Scene()
    p = scene.add_particles([[0.0, 0.1, 0.0], [0.0, 2.0, 0.0]])
    p.pin([0])
    scene.add_collider(sn.Sphere(0.5), motion=lambda t: (-1.0 + 6.0 * t, 0.0, 0.0))
    sim = sn.Simulation(scene, precision=precision, threads=1)
    for _ in range(20):
        sim.step()
        np.testing.assert_array_equal(sim.positions(p)[0], np.array([0.0, 0.1, 0.0], precision))
        np.testing.assert_array_equal(sim.velocities(p)[0], 0.0)


@precisions
def test_resting_far_from_the_origin(precision):
    """A ball at rest on a box 1 km away rests: no creep, no sinking, at 100 substeps."""
    scene = sn.Scene()
    far = np.array([1000.0, 2000.0, -500.0])
    rest = far + np.array([0, 0.51, 0])
    p = scene.add_particles([rest], radius=0.01)
    scene.add_collider(sn.Box((1, 1, 1)), position=far, friction=0.5)
    sim = sn.Simulation(scene, substeps=100, precision=precision, threads=1)
    sim.step(30)
    assert np.abs(sim.velocities(p)).max() < 1e-3
    digit = float(np.spacing(np.asarray(2000.0, precision)))
    np.testing.assert_allclose(sim.positions(p)[0], rest, atol=max(digit, 1e-9))
