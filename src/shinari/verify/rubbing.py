"""Sheets that rub: on inclines, on level ground and on each other, against Coulomb's law."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.handle import BodyHandle, Handle
from shinari.scene.materials import ClothMaterial
from shinari.scene.motors import ForceMotor
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.systems.coupling.system import SETTLED
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_COULOMB = "Coulomb: |f_t| <= mu |f_n|; Macklin et al. 2014, Unified Particle Physics, eq. 24"
_THICK = 0.004
_GRAVITY = 9.81
_GRIPPED = 0.08  # height of the fingers above the middle of a strip [m]


def patch(
    scene: Scene,
    mu: float,
    position: object,
    *,
    sticking: float | None = None,
    count: int = 5,
    tilt: float = 0.0,
    velocity: object = None,
    **options: object,
) -> Handle:
    """A stiff square patch with edges of 2 cm, its normal turned by `tilt` [rad] from Y towards X."""
    material = ClothMaterial(
        density=0.3, thickness=_THICK, friction=mu, static_friction=sticking, stretch_compliance=1e-7
    )
    size = 0.02 * (count - 1)
    turn = (math.cos(0.5 * tilt), 0.0, 0.0, -math.sin(0.5 * tilt))
    mesh = grid(shape=(count, count), size=(size, size), diagonal="alternating")
    return scene.add_cloth(mesh, material=material, position=position, rotation=turn, velocity=velocity, **options)  # type: ignore[arg-type]


def mean_velocity(sim: Simulation, sheet: Handle) -> np.ndarray:
    """Velocity of the centre of mass of an object [m/s], (3,)."""
    own = slice(sheet.particles.start, sheet.particles.stop)
    mass = sim.model.masses[own]
    return mass @ sim.velocities(sheet).astype(np.float64) / mass.sum()


def _on_incline(
    precision: str,
    degrees: float,
    mu: float,
    *,
    sticking: float | None = None,
    speed: float = 0.0,
    steps: int = 30,
    substeps: int = 20,
    count: int = 5,
) -> tuple[float, float]:
    """Speed and way down an incline [m/s, m] of a patch, with that speed at the start."""
    t = math.radians(degrees)
    up, down = np.array([math.sin(t), math.cos(t), 0.0]), np.array([math.cos(t), -math.sin(t), 0.0])
    scene = Scene()
    sheet = patch(scene, mu, 0.5 * _THICK * up, sticking=sticking, tilt=t, velocity=speed * down, count=count)
    scene.add_collider(Plane(normal=tuple(up)), friction=mu, static_friction=sticking)
    sim = small(scene, precision, substeps=substeps)
    before = sim.positions(sheet).astype(np.float64).mean(axis=0)
    sim.step(steps)
    displacement = (sim.positions(sheet).astype(np.float64).mean(axis=0) - before) @ down
    return float(mean_velocity(sim, sheet) @ down), float(displacement)


@check("a patch slides down an incline", f"a = g (sin t - mu cos t); {_COULOMB}")
def incline(precision: str) -> Iterator[Measurement]:
    """Speed after half a second from rest over that time, for a grid of angles and coefficients."""
    for degrees in (20.0, 45.0, 70.0):
        for mu in (0.0, 0.3, 0.9):
            for substeps in (5, 20):
                t = math.radians(degrees)
                a = 9.81 * (math.sin(t) - mu * math.cos(t))
                if a > 0.0:
                    speed, _ = _on_incline(precision, degrees, mu, substeps=substeps)
                    yield equal(
                        f"a at {degrees:g} deg, mu {mu:g}, {substeps} substeps [m/s^2]",
                        a,
                        speed / 0.5,
                        relative=0.01,
                        theory="rows of the patch redistribute its weight, not its sum; 1 %",
                    )


@check("sticking is not sliding", f"what rests stays where mu_s > tan t, what moves slides by mu < mu_s; {_COULOMB}")
def sticking(precision: str) -> Iterator[Measurement]:
    """A patch on inclines between the two angles of friction, at rest and with a speed of 1 m/s."""
    for degrees, mu, mu_s in ((25.0, 0.3, 0.8), (35.0, 0.5, 0.9)):
        t = math.radians(degrees)
        case = f"{degrees:g} deg, mu {mu:g}, sticking {mu_s:g}"
        speed, displacement = _on_incline(precision, degrees, mu, sticking=mu_s, steps=60)
        yield equal(
            f"way in 1 s from rest, {case} [m]",
            0.0,
            displacement,
            absolute=2400 * roundoff(precision) * 0.05,
            theory="two roundings of a position in each substep",
        )
        speed, _ = _on_incline(precision, degrees, mu, sticking=mu_s, speed=1.0)
        yield equal(
            f"speed after 0.5 s, from 1 m/s, {case} [m/s]",
            1.0 + 0.5 * 9.81 * (math.sin(t) - mu * math.cos(t)),
            speed,
            relative=0.01,
            theory="rows of the patch redistribute its weight, not its sum; 1 %",
        )


@check("a patch stops", f"v0^2 / (2 mu g), 1 %; {_COULOMB}")
def stopping(precision: str) -> Iterator[Measurement]:
    """A patch slides on level ground until it stops."""
    for mu, v0 in ((0.3, 3.0), (0.8, 2.0), (0.1, 1.0)):
        steps = math.ceil(1.2 * v0 / (mu * 9.81) * 60)
        speed, displacement = _on_incline(precision, 0.0, mu, speed=v0, steps=steps)
        expected = v0**2 / (2 * mu * 9.81)
        yield equal(
            f"way, mu {mu:g}, v0 {v0:g} [m]",
            expected,
            displacement,
            relative=0.01,
            theory="one substep less at the mean speed: mu g h / v0 < 1 %",
        )
        yield at_most(
            f"speed after it stopped, mu {mu:g}, v0 {v0:g} [m/s]",
            0.0,
            abs(speed),
            absolute=4 * roundoff(precision) * (expected + 0.5) * 1200,
            theory="two roundings, u x / h each",
        )


@check("a patch stops on a sheet", f"v0^2 / (2 mu g), 1 %; {_COULOMB}")
def stopping_on_sheet(precision: str) -> Iterator[Measurement]:
    """A patch slides on a pinned sheet, triangles on triangles, until it stops."""
    for mu, v0, substeps in ((0.3, 1.0, 20), (0.6, 1.2, 10), (0.15, 0.7, 20)):
        expected = v0**2 / (2 * mu * 9.81)
        scene = Scene()
        cells = round(expected / 0.03) + 8
        material = ClothMaterial(thickness=_THICK, friction=mu)
        table = scene.add_cloth(grid(shape=(cells, 6), size=(0.03 * (cells - 1), 0.15)), material=material)
        table.pin(np.arange(6 * cells))
        slider = patch(scene, mu, (-0.5 * expected, _THICK, 0.004), velocity=(v0, 0.0, 0.0))
        sim = small(scene, precision, substeps=substeps)
        before = sim.positions(slider).astype(np.float64).mean(axis=0)
        sim.step(math.ceil(1.2 * v0 / (mu * 9.81) * 60))
        displacement = (sim.positions(slider).astype(np.float64).mean(axis=0) - before)[0]
        case = f"mu {mu:g}, v0 {v0:g}, {substeps} substeps"
        yield equal(
            f"way, {case} [m]",
            expected,
            displacement,
            relative=0.01,
            theory="one substep less at the mean speed: mu g h / v0 < 1 %",
        )
        yield at_most(
            f"speed after it stopped, {case} [m/s]",
            0.001,
            float(np.linalg.norm(mean_velocity(sim, slider))),
            theory="the creep of 5 mm in 10 s that is allowed, twice",
        )


@check("two free patches rub", f"f_t = mu f_n at each contact, and nothing is lost; {_COULOMB}")
def rubbing(precision: str) -> Iterator[Measurement]:
    """A patch lands on another one, both free, and slides along it: sums over all contacts of 320 substeps."""
    for mu, slide, fall, other in ((0.2, 1.0, 0.5, 5), (0.5, 2.0, 1.0, 5), (0.3, -1.5, 1.0, 7)):
        scene = Scene(gravity=(0, 0, 0))
        patch(scene, mu, (0.0, 0.0, 0.0), count=other)
        patch(scene, mu, (0.0, 1.5 * _THICK, 0.003), velocity=(slide, -fall, 0.0))
        # one substep to a step, so short that a patch is dented by a hundredth of an edge at most: one normal a contact
        sim = small(scene, precision, dt=1 / 9600, substeps=1)
        start = sim.momentum()
        normal = along = 0.0
        for _ in range(320):
            sim.step()
            contacts = sim.contacts()
            push = np.einsum("kc,kc->k", contacts.forces, contacts.normals)
            normal += float(push.sum())
            along += float(np.linalg.norm(contacts.forces - push[:, None] * contacts.normals, axis=1).sum())
        case = f"mu {mu:g}, sliding at {slide:g}, landing at {fall:g} m/s"
        yield equal(
            f"f_t / f_n, {case}", mu, along / normal, relative=0.01, theory="all contacts slide; normals turn by 1 %"
        )
        size = 0.3 * 0.08**2 * math.hypot(slide, fall)
        yield at_most(
            f"change of momentum over m v, {case}",
            0.0,
            float(np.linalg.norm(sim.momentum() - start)) / size,
            absolute=_walk(precision, sim, 320) / size,
            theory="four deviations of a random walk of rounding",
        )


def _walk(precision: str, sim: Simulation, steps: int) -> float:
    """Error of a momentum [kg m/s]: four deviations of m u x / h for every position written."""
    writes = sim.settings.substeps * steps * (sum(b.indices.size for b in sim.model.blocks.values()) + 1000)
    reach = float(np.abs(sim.state.positions).max()) + 0.01
    return 4.0 * math.sqrt(writes) * float(sim.model.masses.max()) * roundoff(precision) * reach / sim.settings.substep


@check("creep of a patch", f"under 5 mm in 10 s at 20 degrees and mu = 0.5; {_COULOMB}")
def creep(precision: str) -> Iterator[Measurement]:
    """A patch lies on an incline."""
    for degrees, mu, count in ((20.0, 0.5, 11), (10.0, 0.25, 5)):
        _, displacement = _on_incline(precision, degrees, mu, steps=600, count=count)
        yield at_most(
            f"way in 10 s at {degrees:g} deg, mu {mu:g}, {count} x {count} [m]",
            0.005,
            abs(displacement),
            theory="the bound of the requirement",
        )


@check("creep of a draped sheet", f"under 5 mm in 10 s at 20 degrees and mu = 0.5; {_COULOMB}")
def draped(precision: str) -> Iterator[Measurement]:
    """A sheet hangs over the edges of a box that is tilted by 20 degrees; the farthest way of a particle on top."""
    half = math.radians(10.0)
    scene = Scene(damping=1.0)
    turn = (math.cos(half), 0.0, 0.0, -math.sin(half))
    scene.add_collider(Box((0.3, 0.1, 0.3)), rotation=turn, friction=0.5)
    material = ClothMaterial(density=0.2, thickness=_THICK, friction=0.5)
    up = np.array([math.sin(2 * half), math.cos(2 * half), 0.0])
    mesh = grid(shape=(21, 21), size=(0.4, 0.4), diagonal="alternating")
    sheet = scene.add_cloth(mesh, material=material, position=(0.05 + 0.5 * _THICK) * up, rotation=turn)
    sim = small(scene, precision)
    sim.step(120)
    before = sim.positions(sheet).astype(np.float64)
    on_top = np.abs(before @ up - 0.05 - 0.5 * _THICK) < 0.001
    sim.step(600)
    displacements = np.linalg.norm(sim.positions(sheet).astype(np.float64) - before, axis=1)[on_top]
    yield at_most(
        f"way in 10 s after 2 s, {on_top.sum()} particles [m]",
        0.005,
        float(displacements.max()),
        theory="the bound of the requirement",
    )


def _held_strip(part: float, friction: float, force: float, mass: float) -> tuple[Scene, Handle, list[BodyHandle]]:
    """Two fingers on rails press a strip that hangs; its weight is a part of what they can hold."""
    length, width = 0.24, 0.08
    vertices, faces = grid(shape=(9, 25), size=(width, length), diagonal="alternating")
    hanging = np.stack([vertices[:, 0], vertices[:, 2] - _GRIPPED, np.zeros(len(vertices))], axis=1)
    density = part * 2.0 * friction * force / (_GRAVITY * length * width)
    material = ClothMaterial(
        density=density, thickness=0.002, friction=friction, stretch_compliance=1e-5, bend_stiffness=1e-5
    )
    scene, fingers = Scene(gravity=(0.0, -_GRAVITY, 0.0)), []
    strip = scene.add_cloth((hanging, faces), material=material)
    for side in (-1.0, 1.0):
        place = (0.0, 0.0, 0.011 * side)
        finger = scene.add_rigid_body(Box((0.1, 0.06, 0.02)), mass=mass, position=place, friction=friction)
        scene.add_joint("slider", finger, anchor=place, axis=(0, 0, 1), motor=ForceMotor(-side * force))
        fingers.append(finger)
    return scene, strip, fingers


@check("a strip held between two fingers", "Coulomb: fingers that press with N hold up to 2 mu N, and slide beyond")
def held_strip(precision: str) -> Iterator[Measurement]:
    """A strip of cloth of less and of more weight than two light fingers can hold, which are driven by forces."""
    h = 1.0 / 60.0 / 20
    for friction, force, mass in ((0.3, 1.0, 0.1), (0.8, 0.2, 0.05), (0.5, 3.0, 0.3)):
        for part in (0.8, 1.25):
            scene, strip, fingers = _held_strip(part, friction, force, mass)
            sim = small(scene, precision, dt=20.0 * h, substeps=20)
            holds = part < 1.0
            sim.step(24 if holds else 4)
            places = [sim.positions(strip)[:, 1].astype(np.float64)]
            carried = 0.0
            for _ in range(8 if holds else 4):
                sim.step()
                places.append(sim.positions(strip)[:, 1].astype(np.float64))
                carried += sum(abs(float(sim.forces(finger)[1])) for finger in fingers) / (8 if holds else 4)
            name = f"mu = {friction:g}, N = {force:g} N, {part:g} of what is held"
            yield equal(f"friction [N], {name}", min(part, 1.0) * 2.0 * friction * force, carried, relative=0.01,
                        theory="the strip swings, the mean of some steps")  # fmt: skip
            if holds:
                between = np.abs(places[0]) < 0.029
                speed = abs(float((places[-1] - places[0])[between].mean())) / (8 * 20.0 * h)
                yield at_most(f"creep [m/s], {name}", SETTLED * _GRAVITY * h, speed,
                              theory="sweeps end when they move less than that part of g h^2")  # fmt: skip
