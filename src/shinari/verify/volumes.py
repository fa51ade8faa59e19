"""The volume of closed meshes: pressure of a membrane, air, and a balloon that is pressed flat."""

from collections.abc import Iterator

import numpy as np
import trimesh

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import face_normals_areas
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.systems.volume.build import volume_of
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small


def _sphere(radius: float, subdivisions: int = 3) -> tuple[np.ndarray, np.ndarray]:
    mesh = trimesh.creation.icosphere(subdivisions=subdivisions, radius=radius)
    return np.asarray(mesh.vertices), np.asarray(mesh.faces)


def _blown(
    precision: str, radius: float, compliance: float, ratio: float, air: float = 0.0
) -> tuple[Simulation, Handle]:
    """A balloon of a sheet without bending, blown up and come to rest."""
    scene = Scene(gravity=(0, 0, 0), damping=20.0)
    material = ClothMaterial(density=_DENSITY, stretch_compliance=compliance, bend_stiffness=0.0, thickness=0.0)
    balloon = scene.add_cloth(_sphere(radius, 2), material=material)
    scene.add_volume(balloon, ratio=ratio, compliance=air)
    sim = small(scene, precision, substeps=60)
    sim.step(90)
    return sim, balloon


# Mass of the sheet per area [kg/m^2].
_DENSITY = 1.0

# Radius [m], compliance of the sheet [m/N], volume asked for over that at rest.
_BALLOONS = ((0.3, 1e-2, 1.1), (0.5, 5e-3, 2.0), (0.2, 1e-1, 8.0))


@check("pressure of a spherical membrane", "Laplace 1806: p = 2 sigma / r")
def laplace(precision: str) -> Iterator[Measurement]:
    """The tension is that of the engine's own sheet: sum over rows of force x length = 2 sigma A.

    With r = 3 V / A the law is then exact for the polyhedron too: it is the virial theorem.
    """
    for radius, compliance, ratio in _BALLOONS:
        sim, balloon = _blown(precision, radius, compliance, ratio)
        x = sim.positions(balloon).astype(np.float64)
        faces = sim.scene.particle_objects[0].faces
        assert faces is not None
        area = float(face_normals_areas(x, faces)[1].sum())
        block = sim.model.blocks["distance"]
        ends = x[np.argsort(sim.model.slots)][block.indices]
        lengths = np.linalg.norm(ends[:, 0] - ends[:, 1], axis=1)
        tension = float((sim.forces("distance")[block.added_index] * lengths).sum()) / (2.0 * area)
        size = 3.0 * sim.volume(balloon) / area
        case = f"{radius:g} m, {compliance:g} m/N, {ratio:g} V0"
        grain = roundoff(precision) * size * _DENSITY / sim.settings.substep**2
        yield equal(
            f"pressure, {case} [Pa]",
            2.0 * tension / size,
            sim.pressure(balloon),
            absolute=2e-4 * sim.pressure(balloon) + grain,
            theory="sheet and volume pull one after the other, 2 p h^2 / (density r); a place rounds to u r",
        )
        stretch = ratio ** (1 / 3) - 1.0
        rest_area = float(face_normals_areas(*_sphere(radius, 2))[1].sum())
        yield equal(
            f"pressure by the law of the sheet, {case} [Pa]",
            rest_area * stretch / (compliance * volume_of(*_sphere(radius, 2)) * (1.0 + stretch) ** 2),
            sim.pressure(balloon),
            relative=0.02,
            theory="p dV = dU of springs that all stretch alike; the triangles of a sphere differ by a few per cent",
        )


@check("volume is what was asked for", "C = V - r V0 with compliance alpha: V = r V0 - alpha p")
def volume(precision: str) -> Iterator[Measurement]:
    """Of a blown up balloon at rest, filled with a liquid and with air."""
    for radius, compliance, ratio in _BALLOONS:
        for air in (0.0, 1e-4 * radius**3, 1e-2 * radius**3):
            sim, balloon = _blown(precision, radius, compliance, ratio, air)
            expected = ratio * volume_of(*_sphere(radius, 2)) - air * sim.pressure(balloon)
            yield equal(
                f"volume, {radius:g} m, {ratio:g} V0, {air:.1e} m^3/Pa [m^3]",
                expected,
                sim.volume(balloon),
                relative=1e-4,
                theory="the requirement",
            )


@check("a balloon keeps its volume when it is pressed flat", "the requirement: 1e-3 with one iteration per substep")
def squashed(precision: str) -> Iterator[Measurement]:
    """Between a plane and a lid that comes down to 0.45 of the diameter and goes up again."""
    for substeps in (10, 20):
        scene = Scene(damping=0.5)
        material = ClothMaterial(density=0.3, stretch_compliance=2e-3, bend_stiffness=1e-4, thickness=0.004)
        balloon = scene.add_cloth(_sphere(0.2), material=material, position=(0, 0.205, 0))
        scene.add_volume(balloon, ratio=1.2)
        scene.add_collider(Plane())
        scene.add_collider(
            Box((1.0, 0.1, 1.0)), motion=lambda time: ([0.0, 0.5 + 0.16 * np.cos(3.0 * time), 0.0], [1.0, 0, 0, 0])
        )
        sim = small(scene, precision, substeps=substeps)
        wanted, worst = 1.2 * volume_of(*_sphere(0.2)), 0.0
        sim.step(20)
        for _ in range(110):
            sim.step()
            worst = max(worst, abs(sim.volume(balloon) / wanted - 1.0))
        yield at_most(f"largest relative change, {substeps} substeps", 1e-3, worst, theory="the requirement")
