"""Tearing and plastic flow: strain and force at break, permanent strain, energy, momentum."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.geometry.topology import grid
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.soft_material import SoftMaterial
from shinari.systems.failure.tearing import elements_left
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.scenes import small


def _rope(precision: str, **material: float) -> tuple[Simulation, Handle]:
    """A rope of ten segments and one metre, held at both ends."""
    scene = Scene(gravity=(0, 0, 0), damping=10.0)
    points = np.stack([np.linspace(0, 1, 11), np.zeros(11), np.zeros(11)], axis=1)
    rope = scene.add_rope(points, material=RopeMaterial(density=0.1, **material))  # type: ignore[arg-type]
    rope.pin([0, 10])
    return small(scene, precision, iterations=20), rope


@check("a rope tears at the strain asked", "force at break = stiffness x strain")
def break_force(precision: str) -> Iterator[Measurement]:
    """Pulled to 0.9 of that strain, held, and pulled slowly from there, by a five hundredth of it a step."""
    for compliance, strain in ((1e-2, 0.1), (5e-2, 0.3)):
        sim, rope = _rope(precision, stretch_compliance=compliance, tear_strain=strain)
        force = 0.0
        for k in range(300):
            if sim.state.broken["distance"].any():
                break
            force = float(sim.forces("distance").mean())
            sim.positions(rope)[10, 0] += strain * (0.9 / 120 if k < 120 else 0.002 if k >= 160 else 0.0)
            sim.step()
        case = f"{compliance:g} 1/N, strain {strain:g}"
        # v is 0.12 strain a second, of which the rope's own drag is half its mass x damping x v
        drag = 0.5 * 0.1 * 10.0 * 0.12 * compliance
        theory = "two steps of the pull, and the drag along the rope; neighbours alike to 1e-3 after 20 iterations"
        yield equal(f"force at break, {case} [N]", strain / compliance, force, relative=0.005 + drag, theory=theory)
        yield equal(
            f"elongation at break, {case} [m]",
            strain,
            float(sim.positions(rope)[10, 0]) - 1.0,
            relative=0.005 + drag,
            theory=theory,
        )


@check("permanent strain of a rope", "pulled to twice the yield strain y: L = L0 (1 + 2 y) / (1 + y)")
def permanent(precision: str) -> Iterator[Measurement]:
    """Slowly pulled to 2 y and back until it carries no force."""
    for strain in (0.05, 0.3):
        sim, rope = _rope(precision, stretch_compliance=1e-2, yield_strain=strain)
        for _ in range(300):
            sim.positions(rope)[10, 0] += 2.0 * strain / 300
            sim.step()
        sim.step(20)
        kept = strain / (1.0 + strain)
        yield equal(
            f"force while it flows, y = {strain:g} [N]",
            # the compliance of a row stays: its force is that of y times its rest length
            strain * (1.0 + kept) / 1e-2,
            float(sim.forces("distance").mean()),
            relative=5e-3,
            theory="the requirement, half a per cent",
        )
        for k in range(300):
            sim.positions(rope)[10, 0] = 1.0 + 2.0 * strain + (kept - 2.0 * strain) * (k + 1) / 300
            sim.step()
        sim.step(20)
        yield equal(
            f"force at the permanent strain y / (1 + y), y = {strain:g} [N]",
            0.0,
            float(np.abs(sim.forces("distance")).max()),
            absolute=5e-3 * strain / 1e-2,
            theory="the requirement, half a per cent of the yield force",
        )


@check("permanent strain of a block", "Hencky strain 2 y in, y stays: principal stretches exp(y), exp(-y/2)")
def block(precision: str) -> Iterator[Measurement]:
    """Stretched at constant volume; every tetrahedron sees the same."""
    for model in ("neo_hookean", "stvk", "corotated", "strain"):
        for strain in (0.05, 0.2):
            scene = Scene(gravity=(0, 0, 0))
            material = SoftMaterial(
                youngs_modulus=1e4, poissons_ratio=0.3, model=model, yield_strain=strain, thickness=0.0
            )
            body = scene.add_soft_body(lattice((2, 1, 1), 0.1), material=material)
            body.pin(np.arange(len(body)))
            sim = small(scene, precision)
            for k in range(20):
                stretch = math.exp(2.0 * strain * (k + 1) / 20)
                sim.positions(body)[:] = body.positions * [stretch, stretch**-0.5, stretch**-0.5]
                sim.step()
            flow = sim.model.plastic_rows[0]
            start = sim.model.blocks[flow.block].parameters[flow.rows, :9].reshape(-1, 3, 3).astype(np.float64)
            rest = sim.state.system_arrays[flow.name].reshape(-1, 3, 3).astype(np.float64)
            plastic = np.linalg.inv(np.linalg.inv(start) @ rest)
            case = f"{model}, y = {strain:g}"
            # within a step the path is straight: halfway between two stretches the volume is not quite kept
            bend = (2.0 * strain / 20) ** 2
            yield equal(
                f"plastic stretch, {case}",
                math.exp(strain),
                float(plastic[:, 0, 0].mean()),
                absolute=bend + 1e3 * roundoff(precision),
                theory="second order in the strain of a step",
            )
            yield at_most(
                f"change of the rest volume, {case}",
                0.0,
                float(np.abs(np.linalg.det(plastic) - 1.0).max()),
                absolute=1e3 * roundoff(precision),
                theory="a rounding of each of 400 substeps, some of which add up",
            )


def _sheet(precision: str, **failure: float) -> tuple[Simulation, Handle]:
    scene = Scene(gravity=(0, 0, 0))
    mesh = grid(shape=(9, 9), size=(0.3, 0.3), diagonal="alternating")
    material = ClothMaterial(density=0.5, stretch_compliance=1e-2, bend_stiffness=1e-5, thickness=0.0, **failure)  # type: ignore[arg-type]
    sheet = scene.add_cloth(mesh, material=material, velocity=80.0 * mesh[0])
    return small(scene, precision, substeps=40), sheet


def _bar(precision: str, **failure: float) -> tuple[Simulation, Handle]:
    scene = Scene(gravity=(0, 0, 0))
    mesh = lattice((4, 2, 2), 0.1)
    x = mesh[0] - mesh[0].mean(axis=0)
    material = SoftMaterial(youngs_modulus=2e4, poissons_ratio=0.3, thickness=0.0, **failure)  # type: ignore[arg-type]
    bar = scene.add_soft_body(mesh, material=material, velocity=x * [12.0, 0.0, 0.0])
    return small(scene, precision, substeps=40), bar


@check("what tears or flows loses energy and keeps momentum", "a broken row stores nothing; a rest shape follows")
def energy(precision: str) -> Iterator[Measurement]:
    """A free sheet and a free bar, thrown apart along their length."""
    for name, build in (("sheet", _sheet), ("bar", _bar)):
        for failure in ({"tear_strain": 0.2}, {"yield_strain": 0.1}, {"yield_strain": 0.1, "creep": 20.0}):
            sim, tested = build(precision, **failure)
            totals = [sim.energy().total]
            for _ in range(20):
                sim.step()
                totals.append(sim.energy().total)
            case = f"{name}, {', '.join(f'{key} {value:g}' for key, value in failure.items())}"
            grain = roundoff(precision) * float(np.abs(sim.state.positions).max()) / sim.settings.substep
            writes = 800 * sum(block.indices.size for block in sim.model.blocks.values())
            speed = float(np.abs(sim.state.velocities).max())
            walk = 4.0 * math.sqrt(writes) * grain * float(sim.model.masses.max())
            yield at_most(
                f"largest rise of the energy in a step over that at the start, {case}",
                0.0,
                float(np.diff(totals).max()) / totals[0],
                absolute=walk * speed / totals[0],
                theory="four deviations of a random walk, m v u x / h for each position written",
            )
            yield equal(
                f"momentum [kg m/s], {case}",
                0.0,
                float(np.abs(sim.momentum()).max()),
                absolute=walk,
                theory="four deviations of a random walk, m u x / h for each position written",
            )
            if "tear_strain" in failure:
                left = elements_left(sim.model, sim.state, 0)
                assert left is not None
                yield at_least(f"elements that are gone, {case}", 1, float((~left).sum()), theory="it tears at all")
            else:
                flow = sim.model.plastic_rows[0]
                given = sim.model.blocks[flow.block].parameters[flow.rows, flow.columns]
                change = np.divide(
                    sim.state.system_arrays[flow.name], given, out=np.ones(given.shape), where=given != 0.0
                )
                yield at_least(
                    f"largest change of a rest shape, {case}",
                    0.02,
                    float(np.abs(change - 1.0).max()),
                    theory="it flows at all",
                )
            assert len(tested)
