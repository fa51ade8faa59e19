"""Energy of springs in joints, and work from outside: what an energy plot has to show."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial
from shinari.scene.motors import Servo, VelocityMotor
from shinari.shapes.box import Box
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.rigid_scenes import turn, weightless

G = 9.81
OFFSETS = {
    "fixed": (0.01, -0.02, 0.03),
    "ball": (0.01, -0.02, 0.03),
    "hinge": (0.01, -0.02, 0.03),
    "slider": (0.01, -0.02, 0.0),
    "cylindrical": (0.01, -0.02, 0.0),
    "planar": (0.0, 0.0, 0.03),
}
"""Displacements along directions that a joint with the axis z holds [m]."""


def _joined(precision: str, kind: str, **options: object) -> Simulation:
    """A box of 0.2 m joined with the world at its centre."""
    scene = weightless()
    box = scene.add_rigid_body(Box((0.2, 0.2, 0.2)), mass=2.0, name="box")
    axis: dict = {} if kind in ("fixed", "distance") else {"axis": (0, 0, 1)}
    scene.add_joint(kind, box, anchor=(0, 0, 0), name="joint", **axis, **options)  # type: ignore[arg-type]
    return Simulation(scene, precision=precision, threads=1)


@check("energy of springs in joints", "C^2 / (2 compliance) of held rows and limits; s C^2 / 2 of servos")
def springs(precision: str) -> Iterator[Measurement]:
    """Bodies put out of the place that a joint holds."""
    theory = "the definition, and rounding of poses in double precision"
    for compliance in (1e-6, 1e-3):
        for kind, offset in OFFSETS.items():
            sim = _joined(precision, kind, compliance=compliance)
            sim.state.body_positions[0] += offset
            stored = float(np.square(offset).sum()) / (2.0 * compliance)
            case = f"{kind}, displaced, compliance {compliance:g} m/N [J]"
            yield equal(case, stored, sim.energy().elastic, relative=1e-9, theory=theory)
        for kind in ("fixed", "hinge", "slider", "cylindrical", "planar"):
            sim = _joined(precision, kind, angular_compliance=compliance)
            sim.state.body_rotations[0] = turn((1, 0, 0), 0.3)
            case = f"{kind}, turned, compliance {compliance:g} rad/(N m) [J]"
            yield equal(case, 0.3**2 / (2.0 * compliance), sim.energy().elastic, relative=1e-9, theory=theory)
        for kind, limits, rotation, beyond in (
            ("hinge", {"limits": (-0.1, 0.2)}, turn((0, 0, 1), 0.5), 0.3),
            ("ball", {"swing_limit": 0.2}, turn((0, 1, 0), 0.5), 0.3),
            ("ball", {"twist_limits": (-0.1, 0.1)}, turn((0, 0, 1), -0.5), 0.4),
        ):
            sim = _joined(precision, kind, limit_compliance=compliance, **limits)
            sim.state.body_rotations[0] = rotation
            case = f"{kind}, beyond its {next(iter(limits))}, compliance {compliance:g} rad/(N m) [J]"
            yield equal(case, beyond**2 / (2.0 * compliance), sim.energy().elastic, relative=1e-9, theory=theory)
    for stiffness, most, angle in ((50.0, math.inf, 0.4), (50.0, 5.0, 0.4), (3.0, math.inf, -2.0)):
        sim = _joined(precision, "hinge", motor=Servo(0.0, stiffness=stiffness, max_force=most))
        sim.state.body_rotations[0] = turn((0, 0, 1), angle)
        reach = min(abs(angle), most / stiffness)
        stored = 0.5 * stiffness * reach**2 + (most * (abs(angle) - reach) if reach < abs(angle) else 0.0)
        case = f"servo of {stiffness:g} N m/rad, at most {most:g} N m, at {angle:g} rad [J]"
        yield equal(case, stored, sim.energy().elastic, relative=1e-9, theory=theory)


@check("a body on a compliant joint", "K + m g y + y^2 / (2 compliance) stays; implicit Euler loses pi w h of it")
def exchange(precision: str) -> Iterator[Measurement]:
    """A body let go at the rest length of a spring: gravity, motion and the spring share one energy."""
    mass = 2.0
    for kind in ("ball", "slider", "distance"):
        for w in (5.0, 12.0):
            compliance = 1.0 / (mass * w * w)
            scene = Scene(gravity=(0, -G, 0))
            body = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), mass=mass)
            ends: dict = {"second_anchor": (0, 1, 0)} if kind == "distance" else {}
            axis: dict = {"axis": (1, 0, 0)} if kind == "slider" else {}
            scene.add_joint(kind, body, anchor=(0, 0, 0), compliance=compliance, **ends, **axis)
            sim = Simulation(scene, precision=precision, threads=1, dt=math.pi / w / 60.0, substeps=20)
            swing, totals = 0.5 * (mass * G) ** 2 * compliance, []
            for _ in range(60):  # down to the lowest point
                sim.step()
                totals.append(sim.energy().total)
            loss, case = math.pi * w * sim.settings.substep, f"{kind}, w {w:g} rad/s"
            theory = "implicit Euler: pi w h of the energy of the swing in half a period, and as much again for order 2"
            yield equal(f"energy at the lowest point over that of the swing, {case}", 4.0,
                        sim.energy().elastic / swing, absolute=4.0 * loss, theory=theory)  # fmt: skip
            yield at_most(f"most energy gained over that of the swing, {case}", 0.0, max(totals) / swing,
                          absolute=1e-9, theory="implicit Euler only loses")  # fmt: skip
            yield at_least(f"energy lost over that of the swing, {case}", -loss, min(totals) / swing,
                           absolute=loss, theory=theory)  # fmt: skip


@check("work of a hand", "W = m g H + m u^2 of a jerk; W = X^2 / (2 compliance) of a spring drawn slowly")
def hand(precision: str) -> Iterator[Measurement]:
    """Particles and bodies lifted by a grab, and a spring drawn by one."""
    for mass, speed, height in ((0.2, 0.3, 0.15), (3.0, 0.6, 0.6)):
        for body in (False, True):
            scene = Scene(gravity=(0, -G, 0))
            if body:
                handle = scene.add_rigid_body(Box((0.1, 0.1, 0.1)), mass=mass)
            else:
                handle = scene.add_particles([(0, 0, 0)], mass=mass)
            sim = Simulation(scene, precision=precision, threads=1, substeps=10)
            where: dict = {"point": (0, 0, 0)} if body else {"index": 0}
            for compliance in (0.0, 1.0 / (mass * 30.0**2)):
                before, start = sim.energy(), sim.time
                grab = sim.grab(handle, compliance=compliance, damping=60.0 * mass * (compliance > 0.0),
                                glide=height / speed, **where)  # fmt: skip
                grab.target = np.add(grab.target, (0.0, height, 0.0))
                while sim.time - start < height / speed + 1.0:
                    sim.step()
                grab.release()
                now = sim.energy()
                work = now.external_work - before.external_work
                gained = now.gravitational + now.kinetic - before.gravitational - before.kinetic
                # m (dv)^2 / 2 in each substep: twice the whole speed at once, or little by little
                h, jerk = sim.settings.substep, mass * speed**2
                eps = 0.0 if body else roundoff(precision)
                rounding = 4.0 * eps * mass * height * (height + speed) / h**2 + 1e-9 * mass * G * height
                case = f"{'body' if body else 'particle'} of {mass:g} kg, {height:g} m"
                if compliance == 0.0:
                    yield equal(f"work of a rigid hand, {case} [J]", mass * G * height + jerk, work,
                                absolute=rounding + 1e-4 * jerk,
                                theory="force times displacement; m u^2 / 2 lost at each jerk; rounding")  # fmt: skip
                else:
                    lost = 2.0 * 0.5 * mass * speed**2 * 30.0 * h * 4.0
                    yield equal(f"work of a soft hand less energy gained, {case} [J]", 0.0, work - gained,
                                absolute=lost + rounding, theory="sum of m (dv)^2 / 2 over the substeps")  # fmt: skip
                where = {"point": sim.state.body_positions[0].copy()} if body else where
    yield from _drawn(precision)


def _drawn(precision: str) -> Iterator[Measurement]:
    """A spring of particles drawn slowly by a hand; the solver is exact with many iterations only."""
    for compliance, far, iterations in ((1e-2, 0.2, 1), (1e-4, 0.05, 1), (1e-4, 0.05, 40)):
        scene = Scene(gravity=(0, 0, 0))
        mass = 0.1
        pair = scene.add_particles([(0, 0, 0), (0.5, 0, 0)], mass=[0.0, mass])
        scene.add_constraint("distance", [[0, 1]], compliance=compliance)
        sim = Simulation(scene, precision=precision, threads=1, substeps=10, iterations=iterations)
        grab = sim.grab(pair, 1, compliance=1e-2 * compliance, damping=2.0 * math.sqrt(mass / compliance), glide=1.0)
        grab.target = (0.5 + far, 0.0, 0.0)
        sim.step(90)
        drawn, h = float(sim.positions(pair)[1, 0]) - 0.5, sim.settings.substep
        # once solved, a row has the force C / (a + w h^2): it does not know yet that the hand holds against it
        acting = compliance + (h * h / mass if iterations == 1 else 0.0)
        stored, steps = drawn**2 / (2.0 * acting), 60 * sim.settings.substeps
        case = f"compliance {compliance:g} m/N drawn by {far:g} m, {iterations} iterations"
        rounding = 16.0 * roundoff(precision) * (0.5 + far) / far * (1.0 + h * h / mass / compliance)
        yield equal(f"elastic energy, {case} [J]", stored, sim.energy().elastic, relative=rounding + 1e-9,
                    theory="C^2 / 2 a, with a + w h^2 at one iteration; rounding")  # fmt: skip
        yield equal(f"work of the hand, {case} [J]", stored, sim.energy().external_work,
                    relative=2.0 / steps + rounding,
                    theory="forces at the ends of n substeps: a part 1 / n more; rounding")  # fmt: skip


@check("work of a motor", "W = m g H + m u^2 of a lift; W = M angle, I w^2 / 2 (1 + h / t) of a wheel")
def motors(precision: str) -> Iterator[Measurement]:
    """Lifts and wheels driven by motors, and the target of a soft servo that jumps."""
    for mass, speed in ((5.0, 0.5), (0.3, 2.0)):
        scene = Scene(gravity=(0, -G, 0))
        lift = scene.add_rigid_body(Box((0.2, 0.2, 0.2)), mass=mass)
        scene.add_joint("slider", lift, anchor=(0, 0, 0), axis=(0, 1, 0), motor=VelocityMotor(speed))
        sim = Simulation(scene, precision=precision, threads=1, substeps=10)
        sim.step(60)
        height = float(sim.state.body_positions[0, 1])
        yield equal(f"work of a lift of {mass:g} kg at {speed:g} m/s [J]", mass * G * height + mass * speed**2,
                    sim.energy().external_work, relative=1e-4,
                    theory="m u^2 / 2 of motion, and as much lost by the start at once")  # fmt: skip
    for inertia, most in ((0.5, 2.0), (0.2, 0.5)):
        scene = weightless()
        wheel = scene.add_rigid_body(None, mass=1.0, inertia=(inertia,) * 3)
        joint = scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 0, 1), motor=VelocityMotor(1e3, most))
        sim = Simulation(scene, precision=precision, threads=1, substeps=10)
        sim.step(90)
        case = f"{most:g} N m on {inertia:g} kg m^2"
        work = sim.energy().external_work
        yield equal(f"work, {case} [J]", most * sim.joint(joint).angle, work, relative=1e-6, theory="a constant moment")
        yield equal(f"energy of motion, {case} [J]", work / (1.0 + 1.0 / 900.0), sim.energy().kinetic, relative=1e-5,
                    theory="angles of an implicit step: W = K (1 + h / t)")  # fmt: skip
    for stiffness, angle in ((20.0, 0.7), (5.0, -1.5)):
        scene = weightless()
        wheel = scene.add_rigid_body(None, mass=1.0, inertia=(0.3,) * 3)
        joint = scene.add_joint("hinge", wheel, anchor=(0, 0, 0), axis=(0, 0, 1), motor=Servo(0.0, stiffness=stiffness))
        sim = Simulation(scene, precision=precision, threads=1, dt=0.01, substeps=20)
        sim.drive(joint, angle)
        w = math.sqrt(stiffness / 0.3)
        yield equal(f"work of a servo whose target jumps, {stiffness:g} N m/rad [J]", 0.5 * stiffness * angle**2,
                    sim.energy().external_work, relative=1e-9, theory="the energy of its spring")  # fmt: skip
        count = round(0.5 * math.pi / w / 0.01)
        sim.step(count)
        energy = sim.energy()
        loss = 1.0 - energy.total / energy.external_work
        yield equal(f"part lost in a quarter of a swing, {stiffness:g} N m/rad", 0.0, loss,
                    absolute=2.0 * w * w * sim.settings.substep * sim.time,
                    theory="implicit Euler: w^2 h t")  # fmt: skip


@check("energy of a stiff sheet in a hand", "K + U - W gains nothing, and no more is stored than was put in")
def sheet(precision: str) -> Iterator[Measurement]:
    """A sheet far too stiff for its iterations, pinned along an edge, drawn by a corner and let go."""
    for compliance, substeps in ((1e-9, 5), (1e-7, 10), (1e-5, 20), (1e-3, 20), (1e-1, 20)):
        scene = Scene(gravity=(0, -G, 0))
        material = ClothMaterial(density=0.2, stretch_compliance=compliance, bend_stiffness=0.0)
        cloth = scene.add_cloth(grid(shape=(21, 21), size=(1.0, 1.0)), material=material)
        cloth.pin(cloth.where(lambda p: p[:, 0] < p[:, 0].min() + 1e-6))
        sim = Simulation(scene, precision=precision, substeps=substeps)
        corner = int(np.argmax(sim.positions(cloth) @ (1.0, 0.0, 1.0)))
        grab = sim.grab(cloth, corner, compliance=1e-3, glide=0.5)
        grab.target = np.add(grab.target, (0.3, 0.2, 0.1))
        start = sim.energy()
        gained, over, stored = 0.0, -math.inf, 0.0
        for step in range(60):
            if step == 40:
                grab.release()
            sim.step()
            energy = sim.energy()
            gained = max(gained, energy.total - energy.external_work - start.total)
            stored = max(stored, energy.elastic)
            over = max(over, energy.elastic - (start.total - energy.gravitational + energy.external_work))
        put, case = sim.energy().external_work, f"compliance {compliance:g} m/N, {substeps} substeps"
        theory = "the solver loses energy; rounding of the forces"
        rounding = put * (1e-9 if precision == "float64" else 1e-3)
        yield at_most(f"most of K + U - W gained, {case} [J]", 0.0, gained, absolute=1e-2 * put,
                      theory="a per cent: rows that are not solved are taken for linear springs")  # fmt: skip
        yield at_most(f"elastic energy beyond what was put in, {case} [J]", 0.0, over, absolute=rounding, theory=theory)
        yield at_least(f"most elastic energy over the work, {case}", 0.1, stored / put,
                       theory="a sheet stores a part of the work; others lift it and are lost")  # fmt: skip
