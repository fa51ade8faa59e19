"""What is no number, or far too large, never makes a kernel read or write where it may not.

In the middle of a step nothing has looked yet at whether all is finite, and every search runs on what there is.
"""

import warnings

import numpy as np
import pytest

import shinari as sn


def lattice(*counts, at=(0.0, 0.0, 0.0)):
    return np.array(at) + 0.1 * np.stack(np.meshgrid(*[np.arange(n) for n in counts], indexing="ij"), axis=-1).reshape(
        -1, 3
    )


def grains(scene):
    scene.add_collider(sn.Plane(), friction=0.3)
    scene.add_grains(lattice(3, 3, 3, at=(0, 0.06, 0)), radius=0.05)


def fluid(scene):
    scene.add_collider(sn.Box((0.6, 1.0, 0.6), inside=True), position=(0.2, 0.45, 0.2))
    scene.add_collider(sn.Box((0.1, 0.1, 0.1)), position=(0.5, 0.0, 0.2))
    scene.add_fluid(lattice(4, 4, 4), spacing=0.1)


def sheets(scene, kind):
    scene.add_collider(sn.Sphere(0.3))
    for height in (0.32, 0.34):
        scene.add_cloth(sn.grid(shape=(5, 5), size=(1.0, 1.0)), position=(0, height, 0), self_collision=kind)


def lumps(scene):
    scene.add_collider(sn.Plane())
    for height in (0.2, 0.6):
        scene.add_shape_matched(lattice(3, 3, 3, at=(0, height, 0)), radius=0.04, density=1000)


def wires(scene):
    scene.add_collider(sn.Plane())
    for height in (0.1, 0.13):
        scene.add_rope(lattice(8, 1, 1, at=(0, height, 0)), self_collision=True)
        scene.add_rod(lattice(8, 1, 1, at=(0, height, 0.5)))


SYSTEMS = {
    "grains": grains,
    "fluid": fluid,
    "particles of cloth": lambda scene: sheets(scene, "particles"),
    "triangles of cloth": lambda scene: sheets(scene, "triangles"),
    "shape matching": lumps,
    "ropes and rods": wires,
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e30, 1e6])
@pytest.mark.parametrize("system", SYSTEMS)
def test_a_velocity_without_measure_ends_in_an_error_or_in_numbers(system, value):
    scene = sn.Scene()
    SYSTEMS[system](scene)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sim = sn.Simulation(scene, substeps=2, threads=1)
        before = sim.state.positions.copy()
        # neither the first nor the last: those decide where a search starts
        sim.state.velocities[len(before) // 2, 1] = value
        try:
            sim.step(2)
        except sn.ShinariError:
            return
    assert np.isfinite(value)
    assert np.isfinite(sim.state.positions).all()


BODIES = {
    "box": lambda: sn.Box((0.2, 0.3, 0.2)),
    "cylinder": lambda: sn.Cylinder(0.1, 0.2),
    "hull": lambda: sn.ConvexHull(np.random.default_rng(0).uniform(-0.1, 0.1, (20, 3))),
    "capsule": lambda: sn.Capsule(0.1, 0.2),
}


@pytest.mark.parametrize("value", [np.nan, np.inf, -1e30, 1e6])
@pytest.mark.parametrize("kind", BODIES)
def test_a_body_without_measure_ends_in_an_error_or_in_numbers(kind, value):
    scene = sn.Scene()
    scene.add_collider(sn.Box((1.0, 1.0, 1.0), inside=True))
    scene.add_collider(sn.Box((0.1, 0.1, 0.1)))
    for x in (-0.3, 0.0, 0.3):
        scene.add_rigid_body(BODIES[kind](), position=(x, -0.3, 0.0))
    sim = sn.Simulation(scene, substeps=2, threads=1)
    sim.state.body_velocities[1, 1] = value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            sim.step(2)
        except sn.ShinariError:
            return
    assert np.isfinite(value)
    assert np.isfinite(sim.state.body_positions).all()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_body_over_cloth_that_is_nowhere_is_told_by_the_error_alone(value):
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(5, 5), size=(0.3, 0.3))).pin([0])
    scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), mass=0.001, position=(0, 0.2, 0), name="box")
    sim = sn.Simulation(scene, substeps=2, threads=1)
    sim.state.body_positions[0] = value
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(sn.DivergenceError, match="'box'"):
            sim.step()
