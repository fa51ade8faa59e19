"""No bit of a scene depends on where a launch is divided, nor on which of its parts comes first.

On one thread every launch is cut at random places, or between all items, and its last part runs first. So a fault shows
in each run that threads show once in a hundred: items that read what others write, variables that outlive their item,
and arithmetic that differs between the vector part of a loop and its rest.
"""

from types import FunctionType

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Field, Record, kernel, program, shared
from shinari.compute.compiling import compile_missing
from shinari.compute.kernels import CompileError, Shared
from shinari.compute.primitives import call_entry, load_address
from shinari.compute.program import Lines
from shinari.compute.threads import Pool

SCENES = {}


@shared
def launch_in_parts(lines: Lines, pool: Pool, at: int, threads: int) -> int:
    """Run a launch in parts of 1 to 3, 1 to 40 or any number of items, the last part first."""
    _, entry, arguments, first, last, _ = lines.code[at]
    begin, end = load_address(first), load_address(last)
    turn = lines.wait[at, 0]
    while begin < end:
        turn = (turn * 1103515245 + 12345 + at) & 0x7FFFFFFF
        kind, number = (turn >> 16) % 3, turn >> 8
        size = 1 + number % (3 if kind == 0 else (40 if kind == 1 else end - begin))
        start = max(end - size, begin)
        call_entry(entry, arguments, start, end)
        end = start
    lines.wait[at] = turn, 0
    return 0


@shared
def launch_item_by_item(lines: Lines, pool: Pool, at: int, threads: int) -> int:
    """Run the items of a launch each alone, the last first."""
    _, entry, arguments, first, last, _ = lines.code[at]
    begin, end = load_address(first), load_address(last)
    for k in range(end - begin):
        call_entry(entry, arguments, end - 1 - k, end - k)
    return 0


def replay_with(launch: Shared) -> Shared:
    """`replay` with other launches."""
    original = program.replay.python_function
    changed = FunctionType(original.__code__, vars(program) | {"launch": launch}, "replay")
    changed.__annotations__ = original.__annotations__
    return shared(changed)


def scene(steps: int, **settings):
    """Add a scene; its steps and settings follow."""

    def add(build):
        SCENES[build.__name__] = build, steps, settings
        return build

    return add


@scene(10)
def cloth(world):
    options = {"self_collision": "triangles", "position": (-0.3, 0.22, -0.3)}
    world.add_cloth(sn.grid(shape=(14, 14), size=(0.6, 0.6)), **options)
    world.add_cloth(sn.grid(shape=(6, 6), size=(0.3, 0.3)), self_collision="triangles", position=(-0.1, 0.25, -0.1))
    world.add_collider(sn.Sphere(0.2))


@scene(10, precision="float64")
def soft_bodies(world):
    world.add_soft_body(sn.lattice((3, 2, 2), 0.1), position=(0, 0.02, 0))
    world.add_soft_body(sn.lattice((2, 2, 2), 0.1), position=(0.05, 0.25, 0.03), velocity=(0, -2, 0))
    world.add_collider(sn.Plane())


@scene(10)
def lumps(world):
    for k in range(3):
        world.add_shape_matched(sn.lattice((2, 2, 2), 0.1)[0], density=500.0, position=(0.05 * k, 0.05 + 0.3 * k, 0))
    world.add_collider(sn.Plane())


@scene(10)
def rods(world):
    points = np.stack([np.linspace(0, 1, 20), np.zeros(20), np.zeros(20)], axis=1)
    world.add_rod(points).pin([0])
    world.add_rope(np.add(points, (0.1, 0.03, 0.02)), self_collision=True).pin([19])
    world.add_rope(np.add(points[:, ::-1], (0.5, 0.1, -0.5)), self_collision=True)


@scene(8)
def fluids(world):
    world.add_fluid(sn.Box((0.3, 0.3, 0.3)), spacing=0.05, position=(0, 0.16, 0))
    world.add_grains([[0.01, 0.33, 0.12], [-0.1, 0.34, 0.02]], radius=0.01)
    world.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0.02, 0.38, 0))
    world.add_collider(sn.Plane())


@scene(8)
def grains(world):
    rng = np.random.default_rng(3)
    places = 0.041 * np.stack(np.meshgrid(*[np.arange(4)] * 3), axis=-1).reshape(-1, 3)
    world.add_grains(places + rng.uniform(0, 5e-4, places.shape) + (0, 0.021, 0), radius=0.02, velocity=(0, -1, 0))
    world.add_collider(sn.Plane())


def add_chain(world, at, count, velocity):
    """Add capsules in a row, each with a hinge or a ball joint to the next."""
    links = [
        world.add_rigid_body(sn.Capsule(0.05, 0.1), position=np.add(at, (0, 0.22 * k, 0)), velocity=velocity)
        for k in range(count)
    ]
    for k in range(count - 1):
        anchor, kind = np.add(at, (0, 0.22 * k + 0.11, 0)), "ball" if k % 2 else "hinge"
        world.add_joint(kind, links[k], links[k + 1], anchor=anchor, axis=(0, 0, 1))


@scene(30, sleep=False)
def bodies(world):
    """A heap that collapses, a wall that rests, and chains that fall: each has a limit to the cost of its order."""
    world.add_collider(sn.Plane())
    rng = np.random.default_rng(4)
    for i, j, k in np.ndindex(3, 3, 4):
        place, turn = np.array([0.36 * i, 0.2 + 0.36 * k, 0.36 * j]) + rng.uniform(0, 0.01, 3), rng.normal(size=4)
        world.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=place, rotation=turn / np.linalg.norm(turn))
    for k, i in np.ndindex(4, 5):
        world.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(2.0 + 0.2 * i + 0.1 * (k % 2), 0.1 + 0.2 * k, 0.0))
    for k in range(4):
        add_chain(world, (-2.0 + 0.03 * k, 0.2 + 1.4 * k, 0.02 * k), 6, (0.0, -3.0, 0.0))


@scene(20, rigid_solver="sweeps")
def swept_bodies(world):
    world.add_collider(sn.Plane())
    for i, k in np.ndindex(4, 3):
        world.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0.205 * i, 0.12 + 0.21 * k, 0.03 * k))
    add_chain(world, (0.3, 0.9, 0.0), 4, (0.0, -2.0, 0.0))


@scene(8)
def tearing(world):
    material = sn.ClothMaterial(tear_strain=1e-3, stretch_compliance=0.02)
    world.add_cloth(sn.grid(shape=(8, 6)), material=material).pin([0, 7])


def arrays(name: str) -> dict:
    """The state after the steps of a scene."""
    build, steps, settings = SCENES[name]
    world = sn.Scene()
    build(world)
    simulation = sn.Simulation(world, **{"substeps": 4, "threads": 1, **settings})
    simulation.step(steps)
    return {key: np.array(value) for key, value in simulation.state.arrays().items()}


@pytest.mark.parametrize("name", SCENES)
def test_no_bit_depends_on_where_launches_are_divided(name, monkeypatch):
    whole = arrays(name)
    for launch in (launch_in_parts, launch_item_by_item):
        monkeypatch.setattr(program, "replay", replay_with(launch))
        divided = arrays(name)
        assert whole.keys() == divided.keys()
        different = [key for key, value in whole.items() if not np.array_equal(value, divided[key], equal_nan=True)]
        assert different == []


class Numbers(Record):
    value = Field(np.float64)


@kernel
def keep_least(i, numbers: Numbers, most: float):
    """Each item would find what the last one has left of the limit."""
    most = most + i
    numbers.value[i] = most


def test_a_kernel_that_assigns_to_a_parameter_is_refused():
    with pytest.raises(CompileError, match=r"^keep_least: assigns to its parameter most, "):
        compile_missing([keep_least.native(np.float32)])
