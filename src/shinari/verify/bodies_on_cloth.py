"""Bodies on a far lighter sheet that lies on the ground: it stays between them, holds by friction, and carries."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.topology import grid
from shinari.scene.handle import ColliderHandle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.scenes import small

_SIZE, _CELLS, _THICKNESS = 0.3, 16, 0.003
_BOX = 0.06, 0.045, 0.075
_VOLUME = float(np.prod(_BOX))
_G = 9.81
_STEPS, _WINDOW = 90, 30


def _ground(scene: Scene, floor: str) -> tuple[ColliderHandle, float]:
    """What the sheet lies on, and the height of its top [m]."""
    if floor == "plane":
        return scene.add_collider(Plane(), friction=0.5), 0.0
    return scene.add_collider(Box((0.4, 0.1, 0.4)), position=(0.0, 0.05, 0.0), friction=0.5), 0.1


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
        force, fastest = np.zeros(3), 0.0
        for step in range(_STEPS):
            sim.step()
            if step >= _STEPS - _WINDOW:
                force += sim.forces(ground) / _WINDOW
                fastest = max(fastest, float(np.linalg.norm(sim.velocities(sheet), axis=1).max()))
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
