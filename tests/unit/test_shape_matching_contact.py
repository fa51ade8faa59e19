"""Shape matching: contacts of lumps with each other and of rigid ones with colliders."""

import math

import numpy as np
import pytest
from lumps import ball, box, lattice
from small_scenes import precisions

import shinari as sn


def test_particles_of_one_lump_do_not_collide_and_those_of_two_do():
    scene = sn.Scene(gravity=(0, 0, 0))
    first = scene.add_shape_matched(lattice(4, 4, 4), radius=0.08)
    second = scene.add_shape_matched(lattice(4, 4, 4), radius=0.08, position=(0.7, 0.02, 0.01), velocity=(-2, 0, 0))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    momentum, still = sim.momentum(), sim.positions(first).copy()
    sim.step(2)
    np.testing.assert_allclose(sim.positions(first), still, atol=1e-12)
    sim.step(58)
    assert sim.velocities(first)[:, 0].mean() < -0.5
    gap = sim.positions(second)[:, None] - sim.positions(first)[None]
    assert np.linalg.norm(gap, axis=2).min() > 0.13
    np.testing.assert_allclose(sim.momentum(), momentum, atol=1e-9 * 2 * 64)


def test_a_lump_lies_on_a_plane_with_its_weight():
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    lump = scene.add_shape_matched(box(0.4, 0.4, 0.4), spacing=0.08, position=(0, 0.2, 0))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.step(60)
    assert sim.forces(lump)[1] == pytest.approx(0.064 * 1000 * 9.81, rel=1e-3)
    assert np.abs(sim.velocities(lump)).max() < 5e-3


def on_plane(mesh, tilt=0.0, friction=0.5, restitution=0.0, spacing=0.08, lift=0.0, precision="float64", **lump):
    scene = sn.Scene()
    normal = np.array([math.sin(tilt), math.cos(tilt), 0.0])
    scene.add_collider(sn.Plane(tuple(normal)), friction=friction)
    material = sn.LumpMaterial(friction=friction, restitution=restitution)
    height = -mesh[0][:, 1].min() + lift
    turn = (math.cos(0.5 * tilt), 0.0, 0.0, -math.sin(0.5 * tilt))
    handle = scene.add_shape_matched(
        mesh, material=material, spacing=spacing, position=height * normal, rotation=turn, **lump
    )
    return sn.Simulation(scene, precision=precision, threads=1), handle


def mean(sim, values):
    return sim.model.masses @ np.asarray(values, float) / sim.model.masses.sum()


@precisions
@pytest.mark.parametrize("restitution", [0.0, 0.4, 1.0])
def test_a_rigid_lump_bounces_as_a_whole(restitution, precision):
    sim, _ = on_plane(
        box(0.4, 0.3, 0.4),
        restitution=restitution,
        lift=0.2,
        velocity=(0.3, -1.0, 0.0),
        precision=precision,
        friction=0.0,
    )
    speeds = []
    for _ in range(20):
        sim.step()
        speeds.append(mean(sim, sim.state.velocities))
    hit = int(np.argmax(np.array(speeds)[:, 1] > -0.5 if restitution == 0.0 else np.array(speeds)[:, 1] > 0.0))
    fall = math.sqrt(1.0 + 2.0 * 9.81 * 0.2)
    left = speeds[hit][1]
    if restitution > 0.0:
        # what gravity took until the end of the frame
        assert fall * restitution - 9.81 / 60.0 - 0.02 < left < fall * restitution + 0.02
    else:
        assert abs(left) < 0.02
    assert speeds[-1][0] == pytest.approx(0.3, abs=1e-3), "without friction nothing changes along the plane"


def test_friction_stops_a_box_after_its_distance():
    sim, _ = on_plane(box(0.4, 0.2, 0.4), friction=0.3, velocity=(1.5, 0.0, 0.0))
    start = mean(sim, sim.state.positions)
    sim.step(60)
    way = mean(sim, sim.state.positions) - start
    assert way[0] == pytest.approx(1.5**2 / (2 * 0.3 * 9.81), rel=0.01)
    assert np.abs(sim.state.velocities).max() < 0.02


@pytest.mark.parametrize("spacing", [0.1, 0.06])
def test_a_ball_of_particles_rolls_down_a_slope(spacing):
    tilt, radius = math.radians(15.0), 0.5
    sim, _ = on_plane(ball(3), tilt=tilt, friction=0.6, spacing=spacing)
    start = mean(sim, sim.state.positions)
    sim.step(60)
    way = float((mean(sim, sim.state.positions) - start) @ [math.cos(tilt), -math.sin(tilt), 0.0])
    # it touches at centres of particles; a polygon of particles loses a little at each of its corners
    rolling = radius - 0.5 * spacing
    exact = 0.5 * 9.81 * math.sin(tilt) / (1.0 + 0.4 * radius**2 / rolling**2)
    assert 0.7 * exact < way < 1.02 * exact


def test_a_lump_is_carried_by_a_moving_belt():
    scene = sn.Scene()
    scene.add_collider(sn.Box((4, 0.2, 1)), position=(0, -0.1, 0), motion=lambda t: (0.5 * t, -0.1, 0.0), friction=0.8)
    lump = scene.add_shape_matched(
        box(0.3, 0.3, 0.3), spacing=0.06, position=(0, 0.15, 0), material=sn.LumpMaterial(friction=0.8)
    )
    sim = sn.Simulation(scene, threads=1)
    sim.step(60)
    np.testing.assert_allclose(mean(sim, sim.velocities(lump)), [0.5, 0.0, 0.0], atol=0.01)


@precisions
@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
def test_two_rigid_lumps_part_with_the_speed_of_the_restitution(restitution, precision):
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.LumpMaterial(restitution=restitution)
    boxes = [(box(0.4, 0.4, 0.4), -0.3, 2.0), (box(0.2, 0.4, 0.4), 0.3, -1.0)]
    for mesh, x, speed in boxes:
        scene.add_shape_matched(mesh, spacing=0.05, position=(x, 0, 0), velocity=(speed, 0, 0), material=material)
    sim = sn.Simulation(scene, precision=precision, threads=1)
    momentum = sim.momentum()
    sim.step(20)
    u = [sim.velocities(name)[:, 0].mean() for name in ("lump", "lump_2")]
    assert u[1] - u[0] == pytest.approx(3.0 * restitution, abs=0.01)
    tolerance = 1e-9 if precision == "float64" else 1e-4
    np.testing.assert_allclose(sim.momentum(), momentum, atol=tolerance * np.linalg.norm(momentum))


def test_two_lumps_that_collide_keep_their_momenta():
    scene = sn.Scene(gravity=(0, 0, 0))
    smooth = sn.LumpMaterial(friction=0.0)
    scene.add_shape_matched(ball(2, 0.3), spacing=0.06, position=(-0.4, 0, 0), velocity=(2, 0, 0), material=smooth)
    scene.add_shape_matched(ball(2, 0.3), spacing=0.06, position=(0.4, 0.1, 0), velocity=(-1, 0, 0), material=smooth)
    sim = sn.Simulation(scene, precision="float64", threads=1)
    linear, angular = sim.momentum(), sim.angular_momentum()
    sim.step(30)
    assert sim.velocities("lump")[:, 0].mean() < 1.0, "they have met"
    np.testing.assert_allclose(sim.momentum(), linear, atol=1e-8 * np.linalg.norm(linear))
    # several pushes in one substep, each where the one before has left the particles: of second order in their depth
    np.testing.assert_allclose(sim.angular_momentum(), angular, atol=0.01 * np.linalg.norm(angular))


def test_a_leaning_stack_of_rigid_lumps_stays():
    tilt = 0.2
    normal, down = np.array([math.sin(tilt), math.cos(tilt), 0.0]), np.array([math.cos(tilt), -math.sin(tilt), 0.0])
    scene = sn.Scene()
    scene.add_collider(sn.Plane(tuple(normal)), friction=0.5)
    turn = (math.cos(0.5 * tilt), 0.0, 0.0, -math.sin(0.5 * tilt))
    for k in range(3):
        scene.add_shape_matched(box(0.4, 0.4, 0.4), spacing=0.08, position=(0.2 + 0.401 * k) * normal, rotation=turn)
    sim = sn.Simulation(scene, threads=1)
    sim.step(20)
    before = sim.state.positions.copy()
    sim.step(60)
    assert np.abs((sim.state.positions - before) @ down).max() < 2e-3
    assert np.abs((sim.state.positions - before) @ normal).max() < 2e-3


def test_a_damped_lump_loses_its_spin_at_the_rate_of_the_damping():
    scene = sn.Scene(gravity=(0, 0, 0), damping=0.7)
    scene.add_shape_matched(lattice(4, 4, 6))
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.state.velocities = np.cross([0.0, 0.0, 4.0], sim.state.positions)
    before = sim.angular_momentum()
    sim.step(60)
    np.testing.assert_allclose(sim.angular_momentum(), before * math.exp(-0.7), rtol=1e-9, atol=1e-9)
