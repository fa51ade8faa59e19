"""Attachments of particles to places on other objects: forces, torques, weights."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.geometry.topology import grid
from shinari.scene.handle import Handle, RowsHandle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.soft_material import SoftMaterial
from shinari.shapes.box import Box
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, check, equal, roundoff
from shinari.verify.scenes import small

_G = 9.81
_BALANCE = "equilibrium: what an attachment carries is m g"
_MOMENTUM = "Mueller et al. 2006, Position Based Dynamics, section 3.2: sum m dx = 0, sum r x m dx = 0"


def _loose(scene: Scene, corners: int, rng: np.random.Generator) -> Handle:
    """Unconnected particles in the shape of one segment, triangle or tetrahedron, as the object to be attached to."""
    x = rng.uniform(-1, 1, (corners, 3))
    return scene.add_particles(x, mass=10.0 ** rng.uniform(-1, 1, corners), velocity=rng.normal(0, 2, (corners, 3)))


def _attached(precision: str, corners: int, apart: bool, seed: int) -> Simulation:
    """A particle attached to a place among `corners` particles, all thrown apart."""
    rng = np.random.default_rng(seed)
    scene = Scene(gravity=(0, 0, 0))
    holder = _loose(scene, corners, rng)
    weights = rng.dirichlet(np.full(corners, 2.0))
    place = weights @ holder.positions
    at = place + (rng.normal(size=3) if apart else 0.0)
    ball = scene.add_particles(at, mass=0.7, velocity=rng.normal(0, 2, 3))
    shape = {2: "segment", 3: "triangle", 4: "tetrahedron"}[corners]
    kind = f"attachment_distance_{shape}" if apart else f"attachment_{shape}"
    given = {"weights": weights[1:] if corners > 2 else weights[1]}
    if apart:
        given["rest_length"] = np.linalg.norm(at - place)
    scene.add_constraint(kind, [[ball.particles.start, *holder.particles]], compliance=1e-4, **given)
    return small(scene, precision, dt=1 / 100, substeps=1, iterations=1)


@check("attachments exert no force and no torque", _MOMENTUM)
def balance(precision: str) -> Iterator[Measurement]:
    """Sums of m dv and of x cross m dv over forty steps, over those of the single pushes.

    The points are those at which the row pushes: the predicted ones of a first iteration for a distance. A row of three
    pushes along what is left, which without iterations is the offset at the predicted points too.
    """
    for corners in (2, 3, 4):
        for apart in (False, True):
            sim = _attached(precision, corners, apart, seed=corners)
            force, torque, pushes = np.zeros(3), np.zeros(3), 0.0
            for _ in range(40):
                x = sim.state.positions.astype(np.float64) + sim.settings.dt * sim.state.velocities.astype(np.float64)
                before = sim.state.velocities.astype(np.float64)
                sim.step()
                change = sim.model.masses[:, None] * (sim.state.velocities.astype(np.float64) - before)
                force += change.sum(axis=0)
                torque += np.cross(x, change).sum(axis=0)
                pushes += float(np.abs(change).sum())
            reach = float(np.abs(sim.state.positions).max())
            heaviest = float(sim.model.masses.max())
            allowed = 4.0 * np.sqrt(40 * (corners + 1)) * roundoff(precision) * heaviest * reach / sim.settings.dt
            name = f"{corners} corners, {'apart' if apart else 'together'}"
            theory = "four deviations of a random walk, m u x / h for each position written"
            yield equal(f"impulse, {name}", 0.0, float(np.abs(force).max()) / pushes, absolute=allowed / pushes,
                        theory=theory)  # fmt: skip
            yield equal(
                f"angular impulse [m], {name}",
                0.0,
                float(np.abs(torque).max()) / pushes,
                absolute=allowed * reach / pushes,
                theory=theory,
            )


@check("a weight hangs from a place by its compliance", "static extension m g a, whatever the iterations")
def extension(precision: str) -> Iterator[Measurement]:
    """A weight in the middle of a fixed sheet, segment or tetrahedron, damped until it rests."""
    for corners in (2, 3, 4):
        for iterations, mass, compliance in ((1, 0.4, 1e-3), (5, 2.0, 1e-2)):
            scene = Scene(damping=12.0)
            x = np.array([[0, 0, 0], [1, 0, 0], [0, 0, 1], [0, 1, 0]], float)[:corners]
            holder = scene.add_particles(x, mass=0.0)
            ball = scene.add_particles(x.mean(axis=0), mass=mass)
            shape = {2: "segment", 3: "triangle", 4: "tetrahedron"}[corners]
            rows = scene.add_constraint(
                f"attachment_{shape}",
                [[ball.particles.start, *holder.particles]],
                weights=np.full(corners - 1, 1.0 / corners) if corners > 2 else 0.5,
                compliance=compliance,
            )
            sim = small(scene, precision, iterations=iterations)
            sim.step(200)
            drop = float(x.mean(axis=0)[1] - sim.positions(ball)[0, 1])
            h = sim.settings.substep
            grain = 4.0 * roundoff(precision) / h**2 * mass
            case = f"{shape}, {mass:g} kg, {compliance:g} m/N, {iterations} iterations"
            yield equal(
                f"extension, {case} [m]",
                mass * _G * compliance,
                drop,
                absolute=1e-6 * mass * _G * compliance + grain * compliance,
                theory="exp(-6 t) at the end; a position of 1 m rounds to u, which is a force m u / h^2",
            )
            yield equal(
                f"force, {case} [N]",
                -mass * _G,
                float(sim.forces(rows)[0, 1]),
                absolute=1e-6 * mass * _G + grain,
                theory="exp(-6 t) at the end; a position of 1 m rounds to u, which is a force m u / h^2",
            )


def _hung(scene: Scene, holder: str) -> tuple[RowsHandle, RowsHandle, float, float]:
    """Something that hangs on a rope: the attachment to it, that of the rope to the world, their loads [kg]."""
    if holder == "soft body":
        body = scene.add_soft_body(
            lattice((2, 2, 2), 0.1), material=SoftMaterial(youngs_modulus=1e6, poissons_ratio=0.3, thickness=0.0)
        )
        top, mass = np.array([0.1, 0.145, 0.1]), 1000.0 * 0.2**3
    elif holder == "cloth":
        sheet = grid(shape=(7, 7), size=(0.3, 0.3), diagonal="alternating")
        body = scene.add_cloth(sheet, material=ClothMaterial(density=0.5, stretch_compliance=1e-4, thickness=0.0))
        top, mass = np.array([0.01, 0.0, 0.02]), 0.5 * 0.3**2
    else:
        points = np.stack([np.linspace(0, 0.5, 11), np.zeros(11), np.zeros(11)], axis=1)
        body = scene.add_rope(points, material=RopeMaterial(density=0.2))
        top, mass = np.array([0.23, 0.0, 0.0]), 0.2 * 0.5
    line = top + np.linspace(0.0, 0.5, 6)[:, None] * [0.0, 1.0, 0.0]
    rope = scene.add_rope(line, material=RopeMaterial(density=0.1))
    return scene.attach((rope, 0), (body, top)), scene.attach((rope, 5), line[5]), mass, mass + 0.1 * 0.5


@check("what hangs on a rope", _BALANCE)
def weights(precision: str) -> Iterator[Measurement]:
    """The rope ends in a tetrahedron, on a triangle or on a segment; mean of the last second."""
    for holder in ("soft body", "cloth", "rope"):
        scene = Scene(damping=5.0)
        lower, upper, load, whole = _hung(scene, holder)
        sim = small(scene, precision)
        sim.step(240)
        pull, hold = np.zeros(3), np.zeros(3)
        for _ in range(60):
            sim.step()
            pull, hold = pull + sim.forces(lower)[0] / 60, hold + sim.forces(upper)[0] / 60
        theory = "the requirement, 0.5 %"
        yield equal(f"upward force of the rope on the {holder} [N]", load * _G, pull[1], relative=5e-3, theory=theory)
        yield equal(f"pull at the upper end, {holder} [N]", -whole * _G, hold[1], relative=5e-3, theory=theory)


def _loaded(precision: str, ratio: float, substeps: int, **scene: float) -> tuple[Simulation, Handle, RowsHandle]:
    """A ball of so many times the mass of the rope of 1 m and 21 points at whose end its middle is."""
    where = Scene(**scene)
    rope = where.add_rope(np.linspace((0, 1, 0), (0, 0, 0), 21), material=RopeMaterial(density=0.1))
    rope.pin([0])
    ball = where.add_rigid_body(Sphere(0.05), density=ratio * 0.1 / (4.0 / 3.0 * np.pi * 0.05**3))
    where.ignore_contact(rope, ball)
    held = where.attach((rope, [20]), ball)
    return small(where, precision, substeps=substeps), rope, held


@check(
    "a heavy body on a rope", "springs in series: the strain of a segment is that of the load times what hangs below it"
)
def heavy(precision: str) -> Iterator[Measurement]:
    """Length and pull at rest, and the period of a pendulum; sweeps leave N M g h^2 / m of the length."""
    for ratio in (20.0, 1e3, 1e5):
        for substeps in (5, 20):
            case = f"{ratio:g} times its mass, {substeps} substeps"
            sim, rope, held = _loaded(precision, ratio, substeps, damping=4.0)
            sim.step(240)
            length = np.linalg.norm(np.diff(sim.positions(rope).astype(np.float64), axis=0), axis=1).sum()
            grain = 20 * roundoff(precision)
            yield equal(
                f"strain, {case}", 1e-3 * (ratio + 0.5) / (ratio + 0.975), float(length - 1.0), absolute=1e-7 + grain,
                theory="the thousandth under all that is free; exp(-8) of a swing at the end, rounding of positions",
            )  # fmt: skip
            yield equal(
                f"pull on the ball over its weight, {case}", 1.0, float(sim.forces(held)[0, 1]) / (ratio * 0.1 * _G),
                absolute=1e-6 + 10 * grain, theory="at rest; what rounding leaves moving",
            )  # fmt: skip
    for ratio, substeps in ((1e3, 10), (1e5, 20)):
        sim, rope, _ = _loaded(precision, ratio, substeps)
        sim.state.body_velocities[0, 0] = 0.1
        times, before = [], 0.0
        for k in range(300):
            sim.step()
            now = float(sim.state.body_positions[0, 0])
            if before < 0.0 <= now:
                times.append((k + 1 - now / (now - before)) / 60.0)
            before = now
        yield equal(
            f"period, {ratio:g} times its mass, {substeps} substeps [s]",
            2.0 * np.pi * np.sqrt((1.0 + 0.4 * 0.05**2) / _G), float(np.diff(times).mean()), relative=2e-3,
            theory="2 pi sqrt(L / g); 6e-5 for (0.1 m/s)^2 / (16 g L), 5e-4 for stretch, steps of second order",
        )  # fmt: skip


@check("a load on ropes that are tied together", "each of n ropes carries W / n, along its chord")
def bridle(precision: str) -> Iterator[Measurement]:
    """A plate on 2 to 4 ropes that are tied at the end of another rope; a heavy ring, or none, at the knot."""
    cases = ((2, 20.0, 10, False), (3, 1e3, 5, True), (4, 1e3, 20, False), (4, 1e5, 10, True))
    for legs, ratio, substeps, ring in cases:
        scene = Scene(damping=4.0)
        line = scene.add_rope(np.linspace((0, 1, 0), (0, 0.5, 0), 11), material=RopeMaterial(density=0.1))
        line.pin([0])
        plate = scene.add_rigid_body(Box((0.8, 0.02, 0.8)), mass=0.1 * ratio, position=(0, -0.01, 0))
        knot = (scene.add_particles([(0, 0.5, 0)], mass=0.01 * ratio), [0]) if ring else (line, [10])
        if ring:
            scene.attach((line, [10]), knot)
        ropes, held = [line, plate], []
        for turn in 2.0 * np.pi * np.arange(legs) / legs:
            foot = 0.3 * np.cos(turn), 0.0, 0.3 * np.sin(turn)
            ropes.append(scene.add_rope(np.linspace((0, 0.5, 0), foot, 9), material=RopeMaterial(density=0.1)))
            held.append(scene.attach((ropes[-1], [0]), knot))
            scene.attach((ropes[-1], [8]), plate)
        for one, other in combinations(ropes, 2):
            scene.ignore_contact(one, other)
        sim = small(scene, precision, substeps=substeps)
        sim.step(300)
        load, own = _G * 0.1 * ratio / legs, _G * 0.1 * float(np.hypot(0.5, 0.3))
        case = f"{legs} ropes, {ratio:g} times the mass of a metre, {substeps} substeps{', a ring' if ring else ''}"
        x, y, z = np.abs(sim.forces(held[0])[0])
        theory = "ropes that give by a thousandth change the angle by less"
        yield equal(
            f"upright pull at the knot over the weight, {case}", 1.0, y / (load + own), relative=1e-4, theory="at rest"
        )
        yield equal(
            f"sideways pull over that by the chord, under the load and half of the rope, {case}", 1.0,
            float(np.hypot(x, z)) / ((load + 0.5 * own) * 0.3 / 0.5), relative=4e-3, theory=theory,
        )  # fmt: skip
        strain = np.linalg.norm(np.diff(sim.positions(line).astype(np.float64), axis=0), axis=1).sum() / 0.5 - 1.0
        yield equal(
            f"strain of the rope that carries all, {case}", 1e-3, strain, relative=0.02,
            theory="a thousandth under all that hangs together; its own weight, 0.05 of 20",
        )  # fmt: skip
