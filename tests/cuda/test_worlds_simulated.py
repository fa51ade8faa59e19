"""Many worlds in the simulator of CUDA (`make cuda`): each has the bits that it has there alone."""

import numpy as np
import pytest
from devices import on_device
from scenes import SCENES, WIND, assert_agree

import shinari as sn

pytestmark = [on_device, pytest.mark.filterwarnings("ignore::shinari.ContactWarning")]


@pytest.mark.parametrize(
    "name", ["cloth_on_sphere", "rod", "particle_contact", "bodies_by_sweeps", "fluid", "surface_contact", "tearing"]
)
def test_a_world_has_the_bits_that_it_has_alone(name) -> None:
    build, settings = SCENES[name]
    scene = sn.Scene(wind=WIND.get(name))
    build(scene)
    settings = {"substeps": 2, **settings, "precision": "float64"}
    alone = sn.Simulation(scene, device="cuda", **settings)
    worlds = sn.Worlds(scene, 3, device="cuda", **settings)
    alone.step(2)
    worlds.step(2)
    for k in range(3):
        mine, theirs = worlds.world(k).state.arrays(), alone.state.arrays()
        for key, values in theirs.items():
            np.testing.assert_array_equal(mine[key], values, err_msg=f"world {k}: {key}")


def test_worlds_differ_and_agree_with_the_host() -> None:
    """Gravity, material and ball of each world; one is reset while the others go on."""
    scene = sn.Scene()
    scene.add_cloth(sn.grid(shape=(3, 3), size=(0.3, 0.3)), position=(0, 0.1, 0), name="cloth")
    scene.add_collider(sn.Sphere(0.08), name="ball")
    vary = {
        "gravity": [(0, -9.81, 0), (0, -3.7, 0), (0, -1.62, 0)],
        "ball.position": [(0, 0, 0), (0.01, 0, 0), (0, 0, 0.02)],
        "cloth.stretch_compliance": [1e-8, 1e-6, 1e-4],
    }
    runs = [sn.Worlds(scene, 3, vary=vary, substeps=2, precision="float64", device=each) for each in ("cpu", "cuda")]
    for worlds in runs:
        worlds.step(2)
        worlds.reset([1])
        worlds.step(mask=[0, 1])
    assert runs[0].times.tolist() == runs[1].times.tolist()
    for k in range(3):
        assert_agree(runs[0].world(k), runs[1].world(k))
    assert np.ptp(runs[1].state.positions[:, :, 1], axis=0).max() > 1e-4
