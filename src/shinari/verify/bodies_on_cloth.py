"""Bodies on a far lighter sheet: it stays between them and the ground, holds by friction, and carries.

Held at its edges it carries them, too, and they come to rest.
"""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.handle import ColliderHandle, Handle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.shapes.base import Shape
from shinari.shapes.box import Box
from shinari.shapes.cylinder import Cylinder
from shinari.shapes.plane import Plane
from shinari.shapes.sphere import Sphere
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.scenes import small

_SIZE, _CELLS, _THICKNESS = 0.3, 16, 0.003
_BOX = 0.06, 0.045, 0.075
_VOLUME = float(np.prod(_BOX))
_G = 9.81
_STEPS, _WINDOW = 90, 30
# Of a sheet that is held: its width and edges, its thickness, and the size of what lies on it.
_SPAN, _EDGES, _THIN, _WIDE = 0.6, 20, 0.004, 0.12


def _ground(scene: Scene, floor: str) -> tuple[ColliderHandle, float]:
    """What the sheet lies on, and the height of its top [m]."""
    if floor == "plane":
        return scene.add_collider(Plane(), friction=0.5), 0.0
    return scene.add_collider(Box((0.4, 0.1, 0.4)), position=(0.0, 0.05, 0.0), friction=0.5), 0.1


def _settled(sim: Simulation, ground: ColliderHandle, sheets: list[Handle]) -> tuple[np.ndarray, float]:
    """Run; mean force on the ground over the last third of the time [N] (3,), fastest particle of the sheets [m/s]."""
    force, fastest = np.zeros(3), 0.0
    for step in range(_STEPS):
        sim.step()
        if step >= _STEPS - _WINDOW:
            force += sim.forces(ground) / _WINDOW
            fastest = max(fastest, *(float(np.linalg.norm(sim.velocities(each), axis=1).max()) for each in sheets))
    return force, fastest


@check("a body on a sheet on the ground", "equilibrium of a body up to 5,000 times as heavy as a particle beneath it")
def pressed(precision: str) -> Iterator[Measurement]:
    """A box of 6 x 4.5 x 7.5 cm is put on a sheet of 1 kg/m^2, 3 mm thick; the ground is level, or a slope."""
    for floor, degrees, density, substeps in (
        ("plane", 0.0, 100.0, 5), ("plane", 0.0, 1000.0, 10), ("plane", 0.0, 8000.0, 20),
        ("box", 0.0, 1000.0, 20), ("box", 0.0, 8000.0, 10),
        ("plane", 10.0, 1000.0, 10), ("plane", 20.0, 8000.0, 20), ("box", 20.0, 1000.0, 20),
    ):  # fmt: skip
        angle = np.radians(degrees)
        scene = Scene(gravity=(_G * np.sin(angle), -_G * np.cos(angle), 0.0))
        ground, top = _ground(scene, floor)
        mesh = grid(shape=(_CELLS + 1, _CELLS + 1), size=(_SIZE, _SIZE))
        material = ClothMaterial(density=1.0, thickness=_THICKNESS, friction=0.5)
        height = top + 0.5 * _THICKNESS
        sheet = scene.add_cloth(mesh, material=material, self_collision="triangles", position=(0.0, height, 0.0))
        place = 0.01, top + _THICKNESS + 0.5 * _BOX[1], 0.013
        body = scene.add_rigid_body(Box(_BOX), density=density, position=place, friction=0.5)
        sim = small(scene, precision, substeps=substeps)
        force, fastest = _settled(sim, ground, [sheet])
        case = f"{density:g} kg/m^3 on a {floor}, {degrees:g} degrees, {substeps} substeps"
        moved = sim.pose(body)[0] - place
        weight = _G * (density * _VOLUME + 1.0 * _SIZE**2)
        yield at_most(
            f"box higher or lower than on the sheet, in thicknesses, {case}", 0.0, abs(moved[1]) / _THICKNESS,
            absolute=0.02, theory="the overlap that passes over contacts tolerate",
        )  # fmt: skip
        yield at_most(
            f"box moved along the ground [mm], {case}", 0.0, 1e3 * float(np.hypot(moved[0], moved[2])), absolute=0.1,
            theory="tan of the angle is below the friction of 0.5; in the first substeps it may settle",
        )  # fmt: skip
        yield at_most(
            f"fastest particle of the sheet [m/s], {case}", 0.0, fastest, absolute=_G / 60.0 / substeps,
            theory="it rests: what gravity gives in a substep",
        )  # fmt: skip
        for axis, part in ("across", np.cos(angle)), ("along", np.sin(angle)):
            pull = -force[1] if axis == "across" else force[0]
            yield equal(
                f"force {axis} the ground over the weight, {case}", part, pull / weight, absolute=0.01,
                theory="equilibrium, 1 %",
            )  # fmt: skip


@check("a body on several sheets on the ground", "equilibrium of a body on layers of sheets far lighter than itself")
def layered(precision: str) -> Iterator[Measurement]:
    """A box on two to four sheets of 1 kg/m^2, 3 mm thick, each of which is beside the one below by some way."""
    for layers, aside, degrees, density, substeps in (
        (2, 0.0, 0.0, 1000.0, 5), (2, 0.006, 0.0, 8000.0, 10), (2, 0.004, 0.0, 20e3, 10),
        (3, 0.006, 0.0, 8000.0, 20), (4, 0.004, 0.0, 8000.0, 10), (2, 0.006, 20.0, 8000.0, 20),
    ):  # fmt: skip
        angle = np.radians(degrees)
        scene = Scene(gravity=(_G * np.sin(angle), -_G * np.cos(angle), 0.0))
        ground, _ = _ground(scene, "plane")
        mesh = grid(shape=(_CELLS + 1, _CELLS + 1), size=(_SIZE, _SIZE))
        material = ClothMaterial(density=1.0, thickness=_THICKNESS, friction=0.5)
        sheets = [
            scene.add_cloth(mesh, material=material, self_collision="triangles",
                            position=(aside * k, _THICKNESS * (k + 0.5), 0.7 * aside * k))
            for k in range(layers)
        ]  # fmt: skip
        place = 0.01, layers * _THICKNESS + 0.5 * _BOX[1], 0.013
        body = scene.add_rigid_body(Box(_BOX), density=density, position=place, friction=0.5)
        sim = small(scene, precision, substeps=substeps)
        force, fastest = _settled(sim, ground, sheets)
        case = (
            f"{layers} layers, {1e3 * aside:g} mm aside, {degrees:g} degrees, {density:g} kg/m^3, {substeps} substeps"
        )
        moved = sim.pose(body)[0] - place
        weight = _G * np.cos(angle) * (density * _VOLUME + layers * _SIZE**2)
        yield at_most(
            f"box higher or lower than on the sheets, in thicknesses, {case}", 0.0, abs(moved[1]) / _THICKNESS,
            absolute=0.02 * layers, theory="the overlap that passes over contacts tolerate, in each layer",
        )  # fmt: skip
        yield at_most(
            f"box moved along the ground [mm], {case}", 0.0, 1e3 * float(np.hypot(moved[0], moved[2])), absolute=3.0,
            theory="tan of the angle is below the friction of 0.5; a layer creeps by 1 mm/s at most",
        )  # fmt: skip
        yield at_most(
            f"fastest particle of the sheets [m/s], {case}", 0.0, fastest,
            absolute=0.05 if layers == 2 else 0.5,
            theory="it rests, but for what rows between the layers leave of a gap in a substep",
        )  # fmt: skip
        yield equal(
            f"force on the ground over the weight, {case}", 1.0, -force[1] / weight, absolute=0.01,
            theory="equilibrium, 1 %",
        )  # fmt: skip


@check("a body on ropes on the ground", "equilibrium of a body 1,000 times as heavy as a particle beneath it")
def on_ropes(precision: str) -> Iterator[Measurement]:
    """A box of steel lies across three ropes of 1 cm."""
    for substeps in 10, 20:
        scene = Scene()
        scene.add_collider(Plane(), friction=0.5)
        for z in -0.03, 0.0, 0.03:
            points = np.stack([np.linspace(-0.15, 0.15, 20), np.full(20, 0.005), np.full(20, z)], axis=1)
            scene.add_rope(points, material=RopeMaterial())
        body = scene.add_rigid_body(Box(_BOX), density=8000.0, position=(0.0, 0.01 + 0.5 * _BOX[1], 0.0), friction=0.5)
        sim = small(scene, precision, substeps=substeps)
        sim.step(_STEPS)
        low = sim.pose(body)[0][1] - 0.5 * _BOX[1]
        yield equal(
            f"height of the box over that of the ropes, {substeps} substeps", 1.0, low / 0.01, absolute=0.02,
            theory="the overlap that passes over contacts tolerate",
        )  # fmt: skip


def _wide(name: str) -> tuple[Shape, float, float]:
    """A shape, its volume [m^3], and how far it reaches down [m]."""
    return {
        "box": (Box((_WIDE, 0.75 * _WIDE, 1.1 * _WIDE)), 0.825 * _WIDE**3, 0.375 * _WIDE),
        "ball": (Sphere(0.5 * _WIDE), np.pi / 6.0 * _WIDE**3, 0.5 * _WIDE),
        "cylinder": (Cylinder(0.5 * _WIDE, _WIDE), 0.25 * np.pi * _WIDE**3, 0.5 * _WIDE),
    }[name]


@check("a body on a held sheet", "bodies of up to 13,000 times the mass of a particle rest on it, and press by weight")
def held(precision: str) -> Iterator[Measurement]:
    """A box, a ball or a cylinder of 12 cm is put on a sheet of 0.6 m that is held at its edges, or its corners."""
    for name, density, sheet, at, substeps in (
        ("box", 63.0, 1.0, "edges", 5), ("box", 500.0, 0.3, "edges", 10), ("box", 2900.0, 1.0, "edges", 20),
        ("ball", 1000.0, 1.0, "edges", 10), ("ball", 8000.0, 1.0, "edges", 20),
        ("cylinder", 2500.0, 0.3, "edges", 20), ("box", 500.0, 1.0, "corners", 10),
        ("box", 8000.0, 1.0, "corners", 20),
    ):  # fmt: skip
        scene, (shape, volume, reach) = Scene(), _wide(name)
        mesh = grid(shape=(_EDGES + 1, _EDGES + 1), size=(_SPAN, _SPAN))
        material = ClothMaterial(density=sheet, thickness=_THIN)
        cloth = scene.add_cloth(mesh, material=material, self_collision="triangles")
        outside = np.abs(mesh[0][:, [0, 2]]) > 0.4999 * _SPAN
        cloth.pin(np.flatnonzero(outside.any(axis=1) if at == "edges" else outside.all(axis=1)))
        place = 0.0, 0.5 * _THIN + reach + 0.001, 0.0
        body = scene.add_rigid_body(shape, density=density, position=place, friction=0.5)
        sim = small(scene, precision, substeps=substeps)
        ratio = density * volume / np.median(scene.particle_objects[0].masses)
        case, kinetic, force = f"{name}, ratio {ratio:.0f}, {at}, {substeps} substeps", [], []
        for step in range(8 * _WINDOW):
            sim.step()
            kinetic.append(sim.energy().kinetic)
            if step >= 6 * _WINDOW:
                force.append(float(sim.forces(body)[1]))
        swings = np.reshape(kinetic, (-1, _WINDOW)).max(axis=1)
        yield at_most(
            f"kinetic energy of the second half second over that of the first, {case}", 0.34, swings[1] / swings[0],
            theory="what has not converged gives back a third of what it took at most",
        )  # fmt: skip
        yield at_most(
            f"kinetic energy from 2 to 4 s over the largest, {case}", 0.01, swings[4:].max() / swings.max(),
            theory="it rests",
        )  # fmt: skip
        yield equal(
            f"force on the body in the fourth second over its weight, {case}", 1.0,
            float(np.mean(force)) / (_G * density * volume), relative=0.02,
            theory="equilibrium; overlaps come out without a force, 1 %, and as much for the swing",
        )  # fmt: skip
        low = sim.pose(body)[0][1] - reach - 0.5 * _THIN
        yield at_most(
            f"lowest point of the body below the lowest of the sheet, in thicknesses, {case}", 0.0,
            (sim.positions(cloth)[:, 1].min() - low) / _THIN, absolute=0.1, theory="none passes",
        )  # fmt: skip
