"""Shapes registered from outside of the package: by a support function, by a signed distance."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.maths.vec3 import direction_and_length
from shinari.shapes.kernels.encode import signed_distance
from shinari.shapes.registry import type_of


@dataclass(frozen=True)
class Egg(sn.Shape):
    """Egg with the given half axes [m]."""

    radii: tuple[float, float, float]

    def numbers(self):
        return self.radii


@sn.function
def ellipsoid_support(d, s):
    x, y, z = s[0] * d[0], s[1] * d[1], s[2] * d[2]
    length = np.sqrt(x * x + y * y + z * z)
    return s[0] * x / length, s[1] * y / length, s[2] * z / length


@dataclass(frozen=True)
class Torus(sn.Shape):
    """Ring around Y: a circle of one radius, thickened by another [m]."""

    radius: float
    thickness: float

    def numbers(self):
        return self.radius, self.thickness

    def surface(self, segments=32):
        u, v = np.meshgrid(*(2 * [2 * np.pi * np.arange(segments) / segments]), indexing="ij")
        out = self.radius + self.thickness * np.cos(v)
        vertices = np.stack([out * np.cos(u), self.thickness * np.sin(v), out * np.sin(u)], axis=2).reshape(-1, 3)
        k = np.arange(segments * segments).reshape(segments, segments)
        a, b, c, d = k, np.roll(k, -1, 0), np.roll(k, (-1, -1), (0, 1)), np.roll(k, -1, 1)
        faces = np.concatenate([np.stack([a, c, b], 2).reshape(-1, 3), np.stack([a, d, c], 2).reshape(-1, 3)])
        return vertices, faces.astype(np.int32)


@sn.function
def torus_distance(q, s):
    zero = np.float32(0.0)
    across, rho = direction_and_length((q[0], zero, q[2]))
    n, length = direction_and_length((rho - s[0], q[1], zero))
    return length - s[1], (n[0] * across[0], n[1], n[0] * across[2])


sn.register_shape(Egg, support=ellipsoid_support)
sn.register_shape(Torus, distance=torus_distance)
RADII = (0.3, 0.2, 0.5)
ELLIPSOID, TORUS = Egg(RADII), Torus(0.5, 0.12)


def on_ellipsoid(count: int) -> np.ndarray:
    d = np.random.default_rng(2).normal(size=(count, 3))
    return d / np.linalg.norm(d, axis=1)[:, None] * RADII


def test_distance_by_support_is_that_to_the_nearest_point():
    """Points along the normals of an egg: outside exactly as far, inside too while above its focal surface."""
    foot = on_ellipsoid(300)
    n = foot / np.square(RADII)
    n /= np.linalg.norm(n, axis=1)[:, None]
    # the smallest radius of curvature is min^2 / max = 0.08 m; near the focal surface the last digits are not found
    for height in (-0.07, -0.03, -1e-3, 1e-6, 0.01, 0.5, 3.0):
        points = foot + height * n
        found = signed_distance(ELLIPSOID, points)
        assert found.max() < height + 1e-12
        assert found.min() > height - (1e-7 if height > -0.05 else 1e-3)
    distance, numbers = type_of(ELLIPSOID).distance, (*RADII, 0.0)
    for at, foot_normal in zip(foot[:20] + 0.1 * n[:20], n, strict=False):
        value, normal = distance(tuple(at.tolist()), numbers)
        assert value == pytest.approx(0.1, abs=1e-9)
        np.testing.assert_allclose(normal, foot_normal, atol=1e-5)


def test_host_side_follows_from_the_support_function():
    low, high = ELLIPSOID.bounds()
    np.testing.assert_allclose(high, RADII, rtol=1e-12)
    np.testing.assert_allclose(low, -high, rtol=1e-12)
    vertices, faces = ELLIPSOID.surface()
    assert sn.Mesh(vertices, faces).solid
    np.testing.assert_allclose(np.linalg.norm(vertices / RADII, axis=1), 1.0, rtol=1e-12)
    found, (a, b, c) = ELLIPSOID.mass_properties(), np.square(RADII)
    volume = 4 / 3 * np.pi * np.prod(RADII)
    # n points leave caps of an area of 4 pi / n: a part of about 2 pi / (n sqrt 3) of the volume
    n = 64 * 64 // 2
    assert 0.0 < 1.0 - found.mass / volume < 4.0 * np.pi / n
    expected = 0.2 * volume * np.diag([b + c, c + a, a + b])
    np.testing.assert_allclose(found.tensor, expected, atol=0.01 * expected.max())


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_particles_rest_on_both(precision):
    scene = sn.Scene()
    scene.add_collider(ELLIPSOID, friction=0.5)
    scene.add_collider(TORUS, position=(3.0, 0.0, 0.0), friction=0.5)
    grid = np.stack(np.meshgrid([-0.05, 0.05], [0.24], [-0.1, 0.1]), axis=-1).reshape(-1, 3)
    top = scene.add_particles(grid, mass=0.1, radius=0.02)
    ring = scene.add_particles([[3.5, 0.16, 0.0], [3.0, 0.16, 0.0]], mass=0.1, radius=0.02)
    simulation = sn.Simulation(scene, substeps=4, precision=precision)
    simulation.step(60)
    gaps = signed_distance(ELLIPSOID, simulation.positions(top))
    np.testing.assert_allclose(gaps, 0.02, atol=2e-4)
    on, through = simulation.positions(ring)
    assert signed_distance(TORUS, [on - [3, 0, 0]])[0] == pytest.approx(0.02, abs=2e-4)
    assert through[1] < -1.0  # the hole is open


def test_cloth_does_not_enter_between_its_vertices():
    scene = sn.Scene()
    scene.add_collider(ELLIPSOID, friction=0.5)
    material = sn.ClothMaterial(density=0.2, thickness=0.02)
    cloth = scene.add_cloth(sn.grid(shape=(9, 9), size=(1.0, 1.4)), material=material, position=(0, 0.3, 0))
    simulation = sn.Simulation(scene, substeps=8)
    simulation.step(45)
    x = simulation.positions(cloth)
    middles = x[scene.particle_objects[0].faces].mean(axis=1)
    assert signed_distance(ELLIPSOID, np.concatenate([x, middles])).min() > -1e-3


def settle(scene: sn.Scene, frames: int = 150) -> sn.Simulation:
    simulation = sn.Simulation(scene, substeps=8)
    simulation.step(frames)
    assert np.abs(simulation.state.body_velocities).max() < 0.05
    return simulation


def test_bodies_rest_on_all_kinds_of_ground():
    """An ellipsoid lies on its shortest axis, on a plane, on a box, on a mesh; its contact force is its weight."""
    for k, ground in enumerate((sn.Plane(), sn.Box((4, 1, 4)), sn.Heightfield(np.zeros((5, 5)), (4, 4)))):
        scene = sn.Scene()
        scene.add_collider(ground, position=(0, -0.5 if k == 1 else 0, 0), friction=0.6)
        body = scene.add_rigid_body(ELLIPSOID, position=(0.0, 0.21, 0.0), friction=0.6, rolling_friction=0.01)
        simulation = settle(scene)
        assert simulation.state.body_positions[0, 1] == pytest.approx(0.2, abs=2e-3), ground
        force = simulation.forces(body)
        weight = 9.81 * 1000.0 * ELLIPSOID.mass_properties().mass
        np.testing.assert_allclose(force[1], weight, rtol=0.02)


@pytest.mark.parametrize(
    "other",
    [
        sn.Sphere(0.2),
        sn.Box((0.4, 0.3, 0.4)),
        sn.Capsule(0.1, 0.3),
        sn.Cylinder(0.2, 0.3),
        sn.Cone(0.2, 0.4),
        ELLIPSOID,
    ],
    ids=lambda shape: type(shape).__name__,
)
def test_bodies_do_not_sink_into_each_other(other):
    """Thrown at each other, they part with the momentum that they had, and never overlap by more than a bit."""
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_rigid_body(ELLIPSOID, velocity=(1.0, 0.0, 0.0), position=(-0.6, 0.03, 0.02), rotation=(0.8, 0, 0.6, 0))
    scene.add_rigid_body(other, position=(0.2, 0.0, 0.0))
    simulation = sn.Simulation(scene, substeps=8)
    before = simulation.momentum()
    for _ in range(60):
        simulation.step()
        first, second = simulation.state.body_positions
        turn = _matrix(simulation.state.body_rotations)
        surface = other.surface(32)[0] @ turn[1].T + second
        depth = -signed_distance(ELLIPSOID, (surface - first) @ turn[0]).min()
        assert depth < 5e-3
    np.testing.assert_allclose(simulation.momentum(), before, atol=1e-9)
    assert simulation.state.body_velocities[1, 0] > 0.1


def _matrix(rotations: np.ndarray) -> np.ndarray:
    from shinari.geometry.motion import rotation_matrix

    return rotation_matrix(np.asarray(rotations))


def test_a_ring_lies_and_is_part_of_a_compound():
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.5)
    scene.add_rigid_body(TORUS, position=(0, 0.13, 0), friction=0.5)
    handle = sn.Compound([(ELLIPSOID, (0.0, 0.2, 0.0)), (sn.Box((0.1, 0.4, 0.1)), (0.0, 0.5, 0.0))])
    scene.add_rigid_body(handle, position=(3, 0.01, 0), friction=0.5, rolling_friction=0.02)
    simulation = settle(scene, 60)
    assert simulation.state.body_positions[0, 1] == pytest.approx(0.12, abs=2e-3)


def test_it_holds_and_swallows_fluid(tmp_path: Path):
    scene = sn.Scene()
    scene.add_collider(sn.Box((1.4, 1.0, 0.8), inside=True), position=(0, 0.5, 0))
    scene.add_collider(ELLIPSOID, position=(-0.3, 0.2, 0.0))
    scene.add_sink(Egg((0.05, 0.05, 0.05)), position=(0.6, 0.05, 0.3))
    fluid = scene.add_fluid(Egg((0.2, 0.15, 0.2)), spacing=0.04, position=(0.3, 0.3, 0.0))
    count = len(fluid.particles)
    assert count * 0.04**3 == pytest.approx(4 / 3 * np.pi * 0.2 * 0.15 * 0.2, rel=0.03)
    simulation = sn.Simulation(scene, substeps=2)
    simulation.step(20)
    inside = signed_distance(ELLIPSOID, simulation.positions(fluid) - [-0.3, 0.2, 0.0])
    assert inside.min() > -0.01
    simulation.save(tmp_path / "state.shinari")
    again = sn.Simulation.load(tmp_path / "state.shinari")
    simulation.step(2)
    again.step(2)
    np.testing.assert_array_equal(simulation.positions(fluid), again.positions(fluid.name))


def test_scenes_without_one_run_the_kernels_they_ran_before():
    from shinari.shapes.box import BOX
    from shinari.shapes.kernels.dispatch import for_kinds
    from shinari.shapes.mesh import MESH
    from shinari.systems.colliders.collide import project_particles
    from shinari.systems.rigid.contact.finders import FINDERS
    from shinari.systems.rigid.contact.pairs import CONVEX

    own = type_of(ELLIPSOID).kind
    for kernel in (project_particles(), FINDERS[CONVEX]):
        assert for_kinds(kernel, [BOX, MESH]) is kernel
        assert for_kinds(kernel, [BOX, own]) is for_kinds(kernel, [own]) is not kernel
        names = {for_kinds(kernel, kinds).native(np.float64).symbol for kinds in ([BOX], [own])}
        assert len(names) == 2


PEBBLE = '''
from dataclasses import dataclass

import numpy as np

from shinari.maths.function import steady
from shinari.schema_types import PositiveVector, Table
from shinari.shapes.base import Shape
from shinari.shapes.kernels.support_distance import distance_by
from shinari.shapes.registry import register


@dataclass(frozen=True)
class Pebble(Shape):
    axes: tuple[float, float, float]

    def numbers(self):
        return self.axes


@steady
def support(d, s):
    x, y, z = s[0] * d[0], s[1] * d[1], s[2] * d[2]
    length = np.sqrt(x * x + y * y + z * z)
    return s[0] * x / length, s[1] * y / length, s[2] * z / length


class PebbleTable(Table, tag_field="type", tag="pebble"):
    """An ellipsoid.

    Attributes:
        axes: Half axes [m].
    """

    axes: PositiveVector


register(Pebble, "pebble", distance=distance_by(support), support=support, curved=True, table=PebbleTable)
'''
USE = '''
import shinari as sn
from shinari.shapes.kernels.encode import signed_distance
from shinari.io.json_schema import json_schema
from shinari.shapes.pebble import Pebble

open("scene.toml", "w").write("""
[[collider]]
name = "stone"
shape = { type = "pebble", axes = [0.3, 0.2, 0.5] }
[[rigid_body]]
shape = { type = "pebble", axes = [0.1, 0.2, 0.1] }
""")
scene = sn.load_scene("scene.toml")
assert scene.colliders[0].shape == Pebble((0.3, 0.2, 0.5))
assert abs(scene.bodies[0].mass / (1000 * 4 / 3 * 3.14159 * 0.002) - 1) < 0.01
assert "PebbleTable" in json_schema()["$defs"]
assert abs(signed_distance(Pebble((0.3, 0.2, 0.5)), [[0.0, 1.0, 0.0]])[0] - 0.8) < 1e-9
print("found")
'''


def test_a_shape_of_the_package_is_one_file(tmp_path: Path):
    """In a copy of the package: the one new file serves scene files, bodies, colliders and the schema."""
    shutil.copytree(Path(sn.__file__).parent, tmp_path / "shinari", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "shinari/shapes/pebble.py").write_text(PEBBLE)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", USE], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=900
    )
    assert done.stdout == "found\n", done.stderr


@dataclass(frozen=True)
class Unknown(sn.Shape):
    """Not registered."""

    def numbers(self):
        return 1.0, 2.0, 3.0, 4.0, 5.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sn.register_shape(3, support=ellipsoid_support), "expected a class derived from sn.Shape"),
        (lambda: sn.register_shape(sn.Box, support=ellipsoid_support), "Box comes with shinari"),
        (lambda: sn.register_shape(Unknown), "support, distance: at least one"),
        (lambda: sn.register_shape(Unknown, support=lambda d, s: d), "decorate it with @shinari.function"),
        (lambda: sn.register_shape(Unknown, distance=torus_distance), "needs a method surface"),
        (lambda: sn.register_shape(Unknown, name="a b", support=ellipsoid_support), "name: expected an identifier"),
        (lambda: sn.Scene().add_collider(Unknown()), "Unknown: is not registered"),
        (lambda: sn.Scene().add_rigid_body(Unknown()), "Unknown: is not registered"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(sn.SceneError, match=message):
        call()


def test_all_switches_on_kinds_are_listed():
    """Modules that compare a kind or a class with one of the package are those that the docstring of `shapes` lists."""
    package = Path(sn.__file__).parent
    listed = set(re.findall(r"[a-z_/]+\.py", sn.shapes.__doc__ or ""))
    found, files = set(), "box|capsule|cone|cylinder|heightfield|hull|mesh|plane|sphere"
    for layer in ("collision", "systems", "api", "io", "scene", "model", "solver", "view", "output"):
        for path in (package / layer).rglob("*.py"):
            text = path.read_text()
            named = re.findall(rf"^from shinari\.shapes\.(?:{files}) import (.+)$", text, re.M)
            kinds = "|".join(name for names in named for name in names.split(", "))
            switch = rf"(==|!=| <| >) ({kinds})\b|\bin \(({kinds}),|isinstance\(\S+, ({kinds})\)"
            if kinds and re.search(switch, text):
                found.add(path.relative_to(package).as_posix())
    assert found == listed
