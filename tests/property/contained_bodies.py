"""Random bodies in random containers, as a program: a crash of compiled code then fails a test and does not end it.

    python tests/property/contained_bodies.py --seconds 3600 --seed 7 --last last.json

Each scene is written to the file `--last` before it runs, and `--again` runs one from such a file.
"""

import argparse
import json
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

# The middle of a body may end outside by this part of the room, where several are pressed into each other.
OUTSIDE = 0.05
# Energy may grow by this part: friction and restitution act on contacts of poses that are a part of `RESOLVED` apart.
GAIN = 0.002
# Part of its least extent that a body may move in a substep where energy and place are promised: beyond, it turns or
# goes so far at once that its contacts are those of another pose.
RESOLVED = 0.5

KINDS = ("sphere", "box", "capsule", "cylinder", "cone", "hull", "mesh", "compound")
MESH = (
    [[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [0, 0, 1]],
    [[0, 2, 1], [0, 3, 2], [0, 1, 4], [1, 2, 4], [2, 3, 4], [3, 0, 4]],
)
ROOMS = ("container", "planes", "slabs", "turned planes", "moving container")


def numbers(low: float, high: float) -> st.SearchStrategy[float]:
    return st.floats(low, high, width=32)


def vectors(most: float) -> st.SearchStrategy[list[float]]:
    return st.lists(numbers(-most, most), min_size=3, max_size=3)


def logarithmic(low: float, high: float) -> st.SearchStrategy[float]:
    return numbers(float(np.float32(np.log10(low))), float(np.float32(np.log10(high)))).map(lambda x: 10.0**x)


BODIES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        # extent along each axis over that of the room; nearly all of it, a part, or tiny
        "part": st.one_of(
            st.sampled_from([0.999, 0.995, 0.98]).map(lambda s: [s] * 3),
            st.lists(logarithmic(0.003, 0.9), min_size=3, max_size=3),
        ),
        "place": vectors(1.0),
        "turn": st.one_of(st.just([0.0] * 3), vectors(3.0)),
        "direction": vectors(1.0),
        "speed": st.one_of(st.just(0.0), logarithmic(0.01, 100.0)),
        "spin": st.one_of(st.just([0.0] * 3), vectors(100.0)),
    }
)
SCENES = st.fixed_dictionaries(
    {
        "room": st.sampled_from(ROOMS),
        "size": st.lists(logarithmic(0.05, 5.0), min_size=3, max_size=3),
        "obstacle": st.sampled_from([None, None, "sphere", "box", "capsule", "cylinder", "cone", "mesh"]),
        "bodies": st.lists(BODIES, min_size=1, max_size=4),
        "friction": st.sampled_from([0.0, 0.3, 1.0]),
        "restitution": st.sampled_from([0.0, 0.5, 1.0]),
        "substeps": st.integers(1, 40),
        "iterations": st.sampled_from([1, 1, 3]),
        "precision": st.sampled_from(["float32", "float64"]),
        "detection": st.sampled_from(["frame", "substep"]),
        "solver": st.sampled_from(["auto", "direct", "sweeps"]),
        "steps": st.integers(1, 12),
    }
)

WARM: dict[str, Any] = {
    "room": "container", "size": [1.0, 1.0, 1.0], "friction": 0.3, "restitution": 0.0, "substeps": 2, "iterations": 1,
    "precision": "float64", "detection": "frame", "solver": "auto", "steps": 1,
    "bodies": [{"kind": "box", "part": [0.2, 0.2, 0.2], "place": [0.0, -1.0, 0.0], "turn": [0.0, 0.0, 0.0],
                "direction": [0.0, 0.0, 0.0], "speed": 0.0, "spin": [0.0, 0.0, 0.0]}],
}  # fmt: skip


def shape_of(kind: str, size: Any) -> tuple[Any, Any]:
    """A shape of about this size (3,) [m], and half its extent along each axis."""
    import shinari as sn

    x, y, z = (float(s) for s in size)
    r = 0.5 * min(x, z)
    if kind == "sphere":
        r = 0.5 * min(x, y, z)
        return sn.Sphere(r), np.full(3, r)
    if kind == "box":
        return sn.Box((x, y, z)), 0.5 * np.array([x, y, z])
    if kind == "capsule":
        r = min(r, 0.45 * y)
        return sn.Capsule(r, y - 2.0 * r), np.array([r, 0.5 * y, r])
    if kind == "cylinder":
        return sn.Cylinder(r, y), np.array([r, 0.5 * y, r])
    if kind == "cone":
        return sn.Cone(r, y), np.array([r, 0.5 * y, r])
    if kind == "hull":
        points = np.random.default_rng(int(1e6 * x) % 1000).uniform(-0.5, 0.5, (24, 3)) * [x, y, z]
        return sn.ConvexHull(points), np.abs(points).max(axis=0)
    if kind == "mesh":
        return sn.Mesh(0.5 * np.array(MESH[0]) * [x, y, z], MESH[1]), 0.5 * np.array([x, y, z])
    half = np.array([0.5 * x, 0.5 * y, 0.5 * z])
    low, high = sn.Box((x, 0.5 * y, z)), sn.Box((0.3 * x, 0.5 * y, 0.3 * z))
    return sn.Compound([(low, (0.0, -0.25 * y, 0.0)), (high, (0.0, 0.25 * y, 0.0))]), half


def add_room(scene: Any, room: str, size: Any, options: dict[str, Any]) -> None:
    """Six walls around the origin, in one of several ways."""
    import shinari as sn

    if room == "container":
        scene.add_collider(sn.Box(tuple(size), inside=True), **options)
    elif room == "moving container":
        motion = sn.Oscillation((0.0, 0.0, 0.0), tuple(0.1 * np.asarray(size)), 2.0)
        scene.add_collider(sn.Box(tuple(size), inside=True), motion=motion, **options)
    else:
        for axis in range(3):
            for side in (-1.0, 1.0):
                normal = np.zeros(3)
                normal[axis] = -side
                if room == "slabs":
                    thick = np.asarray(size) + 2.0 * max(size)
                    thick[axis] = max(size)
                    at = -normal * 0.5 * (size[axis] + max(size))
                    scene.add_collider(sn.Box(tuple(thick)), position=tuple(at), **options)
                else:
                    at = tuple(-0.5 * size[axis] * normal)
                    # a plane whose own axes are turned against those of the world
                    turn = (0.5, 0.5, 0.5, 0.5) if room == "turned planes" else (1.0, 0.0, 0.0, 0.0)
                    own = np.roll(normal, -1) if room == "turned planes" else normal
                    scene.add_collider(sn.Plane(tuple(own)), position=at, rotation=turn, **options)


def build(spec: dict[str, Any]) -> tuple[Any, bool]:
    """The scene, and whether everything in it starts apart from everything else, and is resolved by the substeps."""
    import shinari as sn

    scene, size = sn.Scene(), np.array(spec["size"])
    surface = {"friction": spec["friction"], "restitution": spec["restitution"]}
    add_room(scene, spec["room"], size, surface)
    taken = []
    apart = True
    if spec["obstacle"]:
        shape, half = shape_of(spec["obstacle"], 0.3 * size)
        scene.add_collider(shape, **surface)
        taken.append((np.zeros(3), float(np.linalg.norm(half))))
    for body in spec["bodies"]:
        shape, half = shape_of(body["kind"], np.array(body["part"]) * size)
        angle = float(np.linalg.norm(body["turn"]))
        axis = np.array(body["turn"]) / angle if angle > 1e-6 else np.zeros(3)
        rotation = [np.cos(0.5 * angle), *(np.sin(0.5 * angle) * axis)] if angle > 1e-6 else [1.0, 0.0, 0.0, 0.0]
        radius = float(np.linalg.norm(half))
        reach = np.full(3, radius) if angle > 1e-6 else half
        free = np.maximum(0.5 * size - reach, 0.0)
        at = np.array(body["place"]) * free
        apart &= bool((reach < 0.5 * size).all())
        apart &= all(np.linalg.norm(at - other) > radius + far for other, far in taken)
        taken.append((at, radius))
        fastest = body["speed"] + float(np.linalg.norm(body["spin"])) * radius
        apart &= fastest / 60.0 / spec["substeps"] <= RESOLVED * 2.0 * float(half.min())
        direction = np.array(body["direction"])
        length = float(np.linalg.norm(direction))
        velocity = direction * (body["speed"] / length) if length > 1e-6 else np.zeros(3)
        scene.add_rigid_body(shape, position=at, rotation=rotation, velocity=velocity, angular_velocity=body["spin"],
                             **surface)  # fmt: skip
    return scene, apart


def energy_of(sim: Any, bodies: Any, h: float) -> float:
    """Kinetic and gravitational energy [J] with velocities at the ends of substeps, v + g h / 2: free fall keeps it."""
    now, kick = sim.energy(), np.array([0.0, -0.5 * 9.81 * h, 0.0])
    masses = np.array([body.mass for body in bodies])
    correction = masses @ (sim.state.body_velocities @ kick + 0.5 * kick @ kick)
    return now.kinetic + now.gravitational + float(correction)


def check(spec: dict[str, Any]) -> None:
    """Run a scene: it stays finite or ends in a DivergenceError, bodies stay in the room, energy does not grow."""
    import shinari as sn

    scene, apart = build(spec)
    sim = sn.Simulation(
        scene, threads=1, substeps=spec["substeps"], iterations=spec["iterations"], precision=spec["precision"],
        contact_detection=spec["detection"], rigid_solver=spec["solver"],
    )  # fmt: skip
    h = 1.0 / 60.0 / spec["substeps"]
    kinetic, begin = sim.energy().kinetic, energy_of(sim, scene.bodies, h)
    try:
        sim.step(spec["steps"])
    except sn.DivergenceError:
        return
    x = sim.state.body_positions
    assert np.isfinite(x).all(), "positions are not finite"
    assert np.isfinite(sim.state.body_velocities).all(), "velocities are not finite"
    assert np.isfinite(sim.state.body_rotations).all(), "rotations are not finite"
    if not apart or spec["room"] == "moving container":
        return
    size = np.array(spec["size"])
    out = float((np.abs(x) - 0.5 * size).max())
    assert spec["room"] == "slabs" or out <= OUTSIDE * size.max(), f"a body is {out} m outside of the room"
    fall = sum(9.81 * body.mass * size[1] for body in scene.bodies)
    gain = energy_of(sim, scene.bodies, h) - begin
    assert gain <= GAIN * (kinetic + fall), f"energy grew by {gain} J from {kinetic} J and {fall} J of a fall"


def run(seconds: float, first: int, last: Path) -> int:
    """Run scenes for so long; returns how many failed. Each round of them has its own seed, which finds them again."""
    # compiling and loading do not count: a scene with a mesh and one without
    for obstacle in (None, "mesh"):
        check({**WARM, "obstacle": obstacle})
    until, ran, failed, batch = time.monotonic() + seconds, 0, 0, first
    while time.monotonic() < until:
        counts = run_batch(batch, until, last)
        ran, failed, batch = ran + counts[0], failed + counts[1], batch + 1
    print(f"{ran} scenes, {failed} failed, seeds {first} to {batch - 1}", flush=True)
    return failed


def run_batch(batch: int, until: float, last: Path) -> tuple[int, int]:
    """Run the scenes of one seed; returns how many ran and how many failed."""
    ran = failed = 0

    @seed(batch)
    @settings(max_examples=20, deadline=None, database=None, suppress_health_check=list(HealthCheck),
              phases=(Phase.generate,), print_blob=False)  # fmt: skip
    @given(SCENES)
    def one(spec: dict[str, Any]) -> None:
        nonlocal ran, failed
        if time.monotonic() > until:
            return
        last.write_text(json.dumps(spec))
        ran += 1
        try:
            check(spec)
        except Exception as error:
            failed += 1
            print(f"seed {batch}: {type(error).__name__}: {error}\n  {json.dumps(spec)}", flush=True)

    one()
    return ran, failed


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--last", type=Path, default=Path("last-scene.json"))
    parser.add_argument("--bounds", action="store_true", help="check the bounds of arrays in all kernels")
    parser.add_argument("--again", type=Path, help="run the scene of this file, and nothing else")
    given_ones = parser.parse_args()
    warnings.simplefilter("ignore")
    if given_ones.bounds:
        os.environ["SHINARI_BOUNDS"] = "1"  # before the package is imported
    if given_ones.again:
        check(json.loads(given_ones.again.read_text()))
        return 0
    return 1 if run(given_ones.seconds, given_ones.seed, given_ones.last) else 0


if __name__ == "__main__":
    sys.exit(main())
