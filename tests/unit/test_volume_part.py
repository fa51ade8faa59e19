"""The volume of closed meshes: gradients, pressure, momentum, bits, bad input."""

from contextlib import nullcontext

import numpy as np
import pytest
import trimesh

import shinari as sn
from shinari.geometry.topology import grid
from shinari.systems.volume.build import closed_faces, volume_of

BOTH = pytest.mark.parametrize("precision", ["float32", "float64"])
SOFT = sn.ClothMaterial(density=1.0, stretch_compliance=1e-2, bend_stiffness=0.0, thickness=0.0)


def sphere(subdivisions=3, radius=0.2):
    mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def balloon(scene, mesh=None, material=SOFT, at=(0, 0, 0), **volume):
    cloth = scene.add_cloth(sphere() if mesh is None else mesh, material=material, position=at)
    scene.add_volume(cloth, **volume)
    return cloth


def test_one_projection_moves_along_the_gradient_of_the_volume():
    """Without other rows the step is w grad d lambda; the gradient is that of finite differences."""
    vertices, faces = sphere(1)
    rng = np.random.default_rng(3)
    vertices = vertices + 0.02 * rng.normal(size=vertices.shape)
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.ClothMaterial(stretch_compliance=np.inf, bend_stiffness=0.0, thickness=0.0)
    cloth = balloon(scene, (vertices, faces), material, ratio=1.0 + 1e-6)
    sim = sn.Simulation(scene, precision="float64", substeps=1)
    sim.step()
    moved = sim.positions(cloth) - vertices
    gradient = np.zeros_like(vertices)
    for k in np.ndindex(vertices.shape):
        step = np.zeros_like(vertices)
        step[k] = 1e-6
        gradient[k] = (volume_of(vertices + step, faces) - volume_of(vertices - step, faces)) / 2e-6
    expected = gradient / scene.particle_objects[0].masses[:, None]
    expected *= 1e-6 * volume_of(vertices, faces) / (expected * gradient).sum()
    np.testing.assert_allclose(moved, expected, rtol=0, atol=2e-6 * np.abs(expected).max())
    assert sim.volume(cloth) == pytest.approx((1.0 + 1e-6) * volume_of(vertices, faces), rel=1e-10)


@BOTH
@pytest.mark.parametrize("at", [(0, 0, 0), (3000.0, -500.0, 100.0)])
def test_momentum_is_kept_and_the_volume_reached(precision, at):
    scene = sn.Scene(gravity=(0, 0, 0))
    cloth = balloon(scene, at=at, ratio=1.5)
    given = volume_of(*sphere())
    sim = sn.Simulation(scene, precision=precision, substeps=10)
    sim.step(20)
    assert sim.volume(cloth) == pytest.approx(1.5 * given, rel=1e-3)
    writes = 20 * 10 * (sum(block.indices.size for block in sim.model.blocks.values()) + len(cloth))
    grain = 0.5 * np.finfo(precision).eps * sim.model.masses.max() * 0.3
    assert np.abs(sim.momentum()).max() < 4.0 * np.sqrt(writes) * grain / sim.settings.substep


@BOTH
@pytest.mark.parametrize("iterations", [1, 5])
@pytest.mark.parametrize("compliance", [0.0, 1e-6, 1e-4])
def test_pressure_follows_from_the_volume_that_is_missing(compliance, iterations, precision):
    """p = (r V0 - V) / alpha in equilibrium, whatever the iterations."""
    scene = sn.Scene(gravity=(0, 0, 0), damping=10.0)
    cloth = balloon(scene, ratio=1.3, compliance=compliance)
    sim = sn.Simulation(scene, precision=precision, iterations=iterations)
    sim.step(120)
    missing = 1.3 * volume_of(*sphere()) - sim.volume(cloth)
    assert sim.pressure(cloth) > 1.0
    assert missing == pytest.approx(compliance * sim.pressure(cloth), rel=2e-3, abs=2e-5 * sim.volume(cloth))


@BOTH
def test_bits_do_not_depend_on_threads_and_survive_a_checkpoint(tmp_path, precision):
    def build(threads):
        scene = sn.Scene()
        first = balloon(scene, sphere(4), ratio=1.2)
        balloon(scene, sphere(3), at=(1, 0, 0), ratio=0.8, compliance=1e-6)
        first.pin([0])
        return sn.Simulation(scene, precision=precision, threads=threads)

    one, two = build(1), build(2)
    one.step(4)
    two.step(4)
    assert one.state == two.state
    one.save(tmp_path / "a.h5")
    three = sn.Simulation.load(tmp_path / "a.h5")
    one.step(3)
    three.step(3)
    assert one.state == three.state
    assert one.pressure("cloth") > 0.0 > one.pressure("cloth_2")


def test_a_mesh_turned_inside_out_is_turned():
    vertices, faces = sphere(1)
    outward, volume = closed_faces("cloth", vertices, faces[:, ::-1])
    np.testing.assert_array_equal(outward, faces)
    assert volume == pytest.approx(volume_of(vertices, faces))


def test_what_encloses_nothing_is_refused():
    vertices, faces = sphere(1)
    turned = faces.copy()
    turned[3] = turned[3][::-1]
    sheet, cells = grid(shape=(4, 4))
    flat = np.concatenate([sheet, sheet]), np.concatenate([cells, cells[:, ::-1] + len(sheet)])
    for mesh, message in (
        ((vertices, faces[1:]), r"is open and has no volume: 3 edges with one face, \("),
        ((vertices, turned), r"turned against each other"),
        (flat, r"is open and has no volume: 24 edges"),
    ):
        scene = sn.Scene()
        with pytest.warns(sn.SeamWarning, match="'bag'") if mesh is flat else nullcontext():
            cloth = scene.add_cloth(mesh, material=SOFT, name="bag")
        with pytest.raises(sn.SceneError, match="volume of 'bag': mesh: .*" + message):
            scene.add_volume(cloth)
    pillow = vertices * [1.0, 1e-9, 1.0]
    with pytest.raises(sn.SceneError, match="encloses no volume"):
        closed_faces("cloth", pillow, faces)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ratio": 0.0}, "ratio: must be above 0"),
        ({"ratio": "big"}, "ratio: expected a number"),
        ({"compliance": -1.0}, "compliance: must be at least 0"),
    ],
)
def test_bad_values_are_refused(options, message):
    scene = sn.Scene()
    cloth = scene.add_cloth(sphere(1), material=SOFT)
    with pytest.raises(sn.SceneError, match="volume of 'cloth': " + message):
        scene.add_volume(cloth, **options)
    scene.add_volume(cloth)
    with pytest.raises(sn.SceneError, match="is kept already"):
        scene.add_volume(cloth)
    rope = scene.add_rope([[0, 0, 0], [1, 0, 0]])
    with pytest.raises(sn.SceneError, match="has no faces"):
        scene.add_volume(rope)
    sim = sn.Simulation(scene)
    with pytest.raises(sn.SceneError, match="pressure: of: the volume of 'rope' is not kept"):
        sim.pressure(rope)
