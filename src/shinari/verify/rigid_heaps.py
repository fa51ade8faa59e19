"""Heaps that are solved by sweeps: their sinking, momentum and energy; piles of any size; what wakes."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.shapes.box import Box
from shinari.shapes.capsule import Capsule
from shinari.shapes.sphere import Sphere
from shinari.systems.rigid.sweep_rows import RATE, SWEEPS
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal
from shinari.verify.rigid_scenes import ONE, floor, positions, pyramid, single

_G = 9.81


@check(
    "swept columns sink by their springs", "a point is a spring of m (omega h)^2 / h^2, m its effective mass",
    precisions=ONE,
)  # fmt: skip
def columns(_: str) -> Iterator[Measurement]:
    """Columns of cubes: each of four points under a cube has the mass m / 8, on the ground m / 4; loads add up."""
    for count, edge, substeps in ((1, 1.0, 4), (3, 1.0, 4), (6, 0.2, 4), (6, 1.0, 10), (10, 0.5, 10)):
        scene = Scene()
        floor(scene, 0.5)
        for k in range(count):
            scene.add_rigid_body(Box((edge, edge, edge)), position=(0, (k + 0.5) * edge, 0), friction=0.5)
        sim = single(scene, substeps=substeps, rigid_solver="sweeps")
        start = positions(sim)
        sim.step(360)
        h = 1.0 / (60.0 * substeps)
        # the load of k cubes on four points, over their stiffness
        unit = _G * h * h / (RATE * SWEEPS) ** 2
        expected = unit * (count + 2.0 * sum(range(1, count)))
        case = f"{count} cubes of {edge:g} m, {substeps} substeps"
        yield equal(f"sinking, {case} [m]", expected, float((start - positions(sim))[-1, 1]), relative=0.02,
                    theory="statics")  # fmt: skip
        yield at_most(f"speed at the end over g h, {case}", 1e-2,
                      float(np.abs(sim.state.body_velocities).max()) / (_G * h), theory="it settles")  # fmt: skip


@check("momentum of swept heaps", "impulses at one point are equal and opposite", precisions=ONE)
def momentum(_: str) -> Iterator[Measurement]:
    """A cloud of bodies that fly together without gravity."""
    for seed, mu, substeps in ((0, 0.0, 2), (1, 0.5, 4), (2, 1.0, 10)):
        rng = np.random.default_rng(seed)
        scene = Scene(gravity=(0, 0, 0))
        for k in range(40):
            at = rng.uniform(-0.15, 0.15, 3) + 0.9 * np.array([k % 4, k // 4 % 4, k // 16])
            shape = (Box((0.4, 0.3, 0.2)), Sphere(0.2), Capsule(0.1, 0.3))[k % 3]
            scene.add_rigid_body(
                shape, position=at, velocity=-2.0 * (at - 1.3), angular_velocity=rng.normal(size=3), friction=mu
            )
        sim = single(scene, substeps=substeps, rigid_solver="sweeps", depenetration_speed=0.0)
        before, around = sim.momentum(), sim.angular_momentum()
        size = sum(body.mass * float(np.linalg.norm(body.velocity)) for body in scene.bodies)
        touched = 0
        for _step in range(60):
            sim.step()
            touched += len(sim.contacts().positions)
        case = f"mu {mu:g}, {substeps} substeps"
        yield at_least(f"contacts in a second, {case}", 40.0, float(touched), theory="they meet")
        yield at_most(f"change of momentum over its parts, {case}", 1e-12,
                      float(np.abs(sim.momentum() - before).max()) / size, theory="rounding")  # fmt: skip
        turned = float(np.abs(sim.angular_momentum() - around).max()) / size
        yield at_most(f"change of angular momentum over the momenta at 1 m, {case}", 1e-12,
                      turned, theory="both arms of a contact point end at one point of the world")  # fmt: skip


@check("piles of all sizes", "energy is lost only; nobody enters the ground", precisions=ONE)
def piles(_: str) -> Iterator[Measurement]:
    """Boxes, balls and capsules fall on each other: sizes from 1 mm to 100 m."""
    for size, substeps, seed in ((1e-3, 4, 0), (0.2, 4, 1), (0.2, 10, 2), (5.0, 4, 3), (100.0, 2, 4)):
        rng = np.random.default_rng(seed)
        scene = Scene(gravity=(0, -_G * size, 0))
        floor(scene, 0.5)
        for k in range(60):
            a = rng.uniform(0.5, 1.0, 3) * size
            shape = (Box(tuple(a)), Sphere(0.5 * a[0]), Capsule(0.3 * a[0], a[1]))[k % 3]
            at = np.array([k % 4 - 1.5, 1.0 + 1.5 * (k // 16), k // 4 % 4 - 1.5]) * 1.6 * size
            q = rng.normal(size=4)
            scene.add_rigid_body(shape, position=at, rotation=q / np.linalg.norm(q), friction=0.5)
        sim = single(scene, substeps=substeps, rigid_solver="sweeps")
        energy = sim.energy()
        whole = last = energy.kinetic + energy.gravitational
        gained = 0.0
        for _step in range(180):
            sim.step()
            energy = sim.energy()
            now = energy.kinetic + energy.gravitational
            gained, last = max(gained, now - last), now
        case = f"{size:g} m, {substeps} substeps"
        yield at_most(f"largest gain of energy in a step over all of it, {case}", 2e-3, gained / whole,
                      theory="soft contacts give back what they hold at most")  # fmt: skip
        yield at_least(f"height of the lowest centre over the size, {case}", 0.1,
                       float(positions(sim)[:, 1].min()) / size, theory="half the least extent is 0.15")  # fmt: skip
        yield at_most(f"farthest body over the size, {case}", 60.0,
                      float(np.abs(positions(sim)).max()) / size, theory="nothing is thrown")  # fmt: skip


@check("waking is exact", "a run with sleep is one without, to what still moved", precisions=ONE)
def waking(_: str) -> Iterator[Measurement]:
    """A ball hits a pyramid that sleeps, and one that is awake."""
    for rows, edge, speed, substeps in ((4, 0.5, 6.0, 4), (6, 0.2, 3.0, 10), (8, 1.0, 12.0, 4)):
        runs = []
        for sleep in (True, False):
            scene = pyramid(rows, edge)
            # it arrives after a second, at the height at which it began
            up = 0.5 * _G
            scene.add_rigid_body(
                Sphere(0.4 * edge), position=(0.1 * edge, 1.5 * edge, -speed - edge), velocity=(0, up, speed),
                density=2000.0,
            )  # fmt: skip
            sim = single(scene, substeps=substeps, sleep=sleep)
            path = []
            for _step in range(75):
                sim.step()
                path.append(positions(sim))
            runs.append(np.array(path))
        slept, awake = runs
        moved = np.abs(awake[:, :-1] - awake[45, :-1]).max(axis=(1, 2))
        hit = int(np.flatnonzero(moved[46:] > 1e-3 * edge)[0]) + 46
        case = f"{rows} rows of {edge:g} m, {speed:g} m/s, {substeps} substeps"
        apart = float(np.abs(slept[: hit + 1] - awake[: hit + 1]).max())
        yield at_most(f"difference until the step of the impact over the size, {case}", 1e-4,
                      apart / edge, theory="it wakes before")  # fmt: skip
        yield at_most(f"difference of the momentum of the heap after five steps over it, {case}", 0.05,
                      float(np.abs((slept - awake)[hit + 5, :-1].sum(axis=0)).max()
                            / np.abs((awake[hit + 5] - awake[hit])[:-1].sum(axis=0)).max()),
                      theory="impacts amplify rounding")  # fmt: skip
