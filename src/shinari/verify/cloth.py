"""Sheets: bending energy, symmetry, the weight on the pins, air, tethers."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial
from shinari.systems.rows.scene_rows import TETHER_SLACK
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_DRAG = "F = -(rho / 2) A |u| (C_n u_n + C_t u_t)"


def _rotation(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """Rotation matrix (3, 3) about an axis (Rodrigues)."""
    n = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


@check(
    "bending energy of a rigid motion",
    "Bergou et al. 2006; Mueller et al. 2006, section 4.1: zero when flat, unchanged by rigid motion",
)
def bending_energy(precision: str) -> Iterator[Measurement]:
    """A flat and a rolled sheet, moved and turned; hard edges store nothing, so what is left is bending."""
    u = roundoff(precision)
    vertices, faces = grid(shape=(9, 7), size=(0.8, 0.6))
    for model in ("isometric", "dihedral"):
        scene = Scene()
        scene.add_cloth((vertices, faces), material=ClothMaterial(
            stretch_compliance=0.0, bend_stiffness=1e-3, bend_model=model))  # fmt: skip
        sim = small(scene, precision)
        radius = 0.5
        angle = vertices[:, 0] / radius
        rolled = np.stack([radius * np.sin(angle), radius * np.cos(angle), vertices[:, 2]], axis=1)
        sim.state.positions = rolled
        bent = sim.energy().elastic
        fold = 0.1 / radius
        for axis, turn, shift in (((1, 2, 3), 1.0, (0.3, -0.2, 0.5)), ((-1, 0.5, 0), 2.5, (-1.0, 1.0, 0.2))):
            matrix = _rotation(axis, turn)
            case = f"{model}, {turn:g} rad about {axis}"
            sim.state.positions = rolled @ matrix.T + shift
            yield equal(f"rolled sheet, energy over that before, {case}", 1.0, sim.energy().elastic / bent,
                        absolute=2.0 * 16.0 * u * 1.5 / (0.1 * fold),
                        theory="positions of 1.5 m rounded, over a height of 0.1 m and a fold of 0.2 rad")  # fmt: skip
            sim.state.positions = vertices @ matrix.T + shift
            yield at_most(f"flat sheet, energy over that of the rolled one, {case}", 0.0, sim.energy().elastic / bent,
                          absolute=(16.0 * u * 1.5 / (0.1 * fold)) ** 2 * 4.0,
                          theory="the square of the fold that rounding makes")  # fmt: skip


def _mirrored_sheet(cells: int, size: float) -> tuple[np.ndarray, np.ndarray]:
    """A square sheet in the XY plane, its diagonals mirrored at x = 0; `cells` is even."""
    vertices, faces = grid(shape=(cells + 1, cells + 1), size=(size, size))
    vertices = np.stack([vertices[:, 0], -vertices[:, 2], np.zeros(len(vertices))], axis=1)
    other = _mirror(cells)[faces][:, ::-1]
    left = vertices[faces][:, :, 0].mean(axis=1) < 0.0
    right = vertices[other][:, :, 0].mean(axis=1) > 0.0
    return vertices, np.concatenate([faces[left], other[right]])


def _mirror(cells: int) -> np.ndarray:
    """Index of the mirror image of each vertex."""
    return np.arange((cells + 1) ** 2).reshape(cells + 1, -1)[:, ::-1].ravel()


def _hung_sheet(precision: str, cells: int, compliance: float, sweep: str, h: float) -> tuple[Simulation, Handle]:
    """A sheet at rest that hangs from two corners in its plane; it does not resist compression."""
    scene = Scene(damping=4.0)
    material = ClothMaterial(density=0.3, stretch_compliance=compliance, compression_compliance=math.inf,
                             bend_stiffness=0.0)  # fmt: skip
    sheet = scene.add_cloth(_mirrored_sheet(cells, 1.0), material=material)
    sheet.pin([0, cells])
    sim = small(scene, precision, dt=1 / 60, substeps=round(1 / 60 / h), iterations=3, sweep=sweep)
    sim.step(600)
    return sim, sheet


@check("hanging sheet", "symmetry; statics: the pins carry the weight")
def hanging_sheet(precision: str) -> Iterator[Measurement]:
    """A sheet on two corners is symmetric, and its pins carry what is not on them."""
    cases = (("gauss-seidel", 8, 1e-3, 1 / 4800), ("gauss-seidel", 10, 1e-2, 1 / 2400), ("jacobi", 8, 1e-2, 1 / 2400))
    for sweep, cells, compliance, h in cases if precision == "float64" else (("jacobi", 8, 1e-2, 1 / 480),):
        sim, sheet = _hung_sheet(precision, cells, compliance, sweep, h)
        x = sim.positions(sheet).astype(np.float64)
        weight = float(sim.model.masses.sum()) * 9.81
        edge, light = 1.0 / cells, 0.3 / cells**2 / 2.0
        # within a substep a particle is off by what a row pushes at once; its rows turn by that over an edge
        off = float(sim.forces("distance").max()) * h * h / light
        stuck = 2.0 * roundoff(precision) / (9.81 * h * h)
        case = f"{cells} x {cells}, compliance {compliance:g}, {sweep}, h {h:.2e}"
        order = 0.0 if sweep == "jacobi" else off
        yield equal(
            f"largest asymmetry, {case} [m]",
            0.0,
            float(np.abs(x - x[_mirror(cells)] * [-1, 1, 1]).max()),
            absolute=cells * (order + edge * stuck) + 1e-8,
            theory="F h^2 / m by the order of rows; rounding u x / h^2 against g, over the sheet; e^-20 left to settle",
        )
        reaction = _reaction(sim)
        yield equal(
            f"upward force of the pins, {case} [N]",
            weight,
            float(reaction[1]),
            absolute=weight * (off / edge + stuck) + 1e-8,
            theory="rows turn by F h^2 / m over an edge within a substep; rounding u x / h^2 against g",
        )


def _reaction(sim: Simulation) -> np.ndarray:
    """Force of the pins on their rows [N], (3,)."""
    block = sim.model.blocks["distance"]
    pairs = np.empty_like(block.indices)
    pairs[block.added_index] = block.indices
    ends = sim.state.x[pairs, :3].astype(np.float64)
    along = ends[:, 1] - ends[:, 0]
    pull = sim.forces("distance")[:, None] * along / np.linalg.norm(along, axis=1)[:, None]
    pinned = sim.state.x[pairs, 3] == 0.0
    return pull[pinned[:, 1]].sum(axis=0) - pull[pinned[:, 0]].sum(axis=0)


@check("triangle in wind", f"{_DRAG}: 1 / u grows by rho A C_n t / (2 m)")
def triangle_in_wind(precision: str) -> Iterator[Measurement]:
    """A free triangle head on in wind approaches the wind; the implicit step of this law is exact."""
    for wind, density, size, drag, substeps in ((10.0, 0.2, 0.3, 1.0, 20), (100.0, 0.01, 0.1, 1.3, 5),
                                                (1.0, 2.0, 1.0, 0.4, 1)):  # fmt: skip
        scene = Scene(gravity=(0, 0, 0), wind=(0, 0, wind), air_density=1.2)
        mesh = (size * np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0, 1, 2]]))
        material = ClothMaterial(density=density, drag_normal=drag)
        sheet = scene.add_cloth(mesh, material=material)
        sim = small(scene, precision, dt=1 / 60, substeps=substeps)
        for steps in (1, 29):
            sim.step(steps)
            left = wind / (1.0 + 1.2 * drag / (2.0 * density) * wind * sim.time)
            n = substeps * round(sim.time * 60)
            yield equal(
                f"speed after {sim.time:.2f} s, wind {wind:g}, {density:g} kg/m^2, C {drag:g}, {substeps} substeps",
                wind - left,
                float(sim.velocities(sheet)[:, 2].mean()),
                absolute=4.0 * n * roundoff(precision) * wind
                + 4.0 * math.sqrt(n) * roundoff(precision) * size * 60 * substeps,
                theory="rounding of the speed, n times; four deviations of u x / h per substep by its rows",
            )


@check("terminal velocity", f"{_DRAG}: sqrt(2 m g / (rho A C_n))")
def terminal_velocity(precision: str) -> Iterator[Measurement]:
    """A level sheet falls through air at rest; its edges are free, so that it does not fold on the way."""
    for density, drag, g, substeps in ((0.2, 1.0, 9.81, 20), (1.0, 1.3, 9.81, 10), (0.05, 0.7, 1.62, 40)):
        scene = Scene(gravity=(0, -g, 0), wind=(0, 0, 0), air_density=1.2)
        material = ClothMaterial(density=density, drag_normal=drag, stretch_compliance=0.0, bend_stiffness=0.0)
        sheet = scene.add_cloth(grid(shape=(5, 5)), material=material)
        sim = small(scene, precision, dt=1 / 60, substeps=substeps)
        expected = math.sqrt(2.0 * density * g / (1.2 * drag))
        sim.step(math.ceil(10.0 * expected / g * 60))
        h = 1 / 60 / substeps
        n = round(2.0 * expected / g / h)
        yield equal(
            f"speed, {density:g} kg/m^2, C {drag:g}, g {g:g}, {substeps} substeps [m/s]",
            expected,
            -float(sim.velocities(sheet)[:, 1].astype(np.float64).mean()),
            absolute=0.51 * g * h + 2e-8 * expected + 2.0 * n * roundoff(precision) * expected,
            theory="g h / 2: gravity acts after the air in a substep; e^-20 left to reach; rounding of the speed",
        )


@check("light cloth in a storm", "work of the wind: kinetic energy stays below m V^2 / 2")
def storm(precision: str) -> Iterator[Measurement]:
    """A sheet of 10 g/m^2 on one edge in a wind of 100 m/s, for half a second."""
    for density, wind, substeps in ((0.01, 100.0, 20), (0.01, 100.0, 2), (0.001, 50.0, 10)):
        scene = Scene(wind=(wind, 0.0, 0.3 * wind))
        sheet = scene.add_cloth(grid(shape=(9, 9)), material=ClothMaterial(density=density))
        sheet.pin(range(9))
        sim = small(scene, precision, dt=1 / 60, substeps=substeps)
        most = 0.0
        for _ in range(30):
            sim.step()
            most = max(most, sim.energy().kinetic)
        mass = float(sim.model.masses.sum())
        yield at_most(
            f"largest kinetic energy over m V^2 / 2, {density:g} kg/m^2, {wind:g} m/s, {substeps} substeps",
            1.0,
            most / (0.5 * mass * 1.09 * wind**2),
            theory="air that only drags brings nothing beyond its own speed",
        )


@check("tethers", "Kim et al. 2012, Long Range Attachments: distance <= geodesic rest length to the nearest pin")
def tethers(precision: str) -> Iterator[Measurement]:
    """A heavy soft sheet, flat and rolled, hangs for a second; its rows alone would stretch far."""
    vertices, faces = grid(shape=(9, 9))
    rolled = np.stack([0.4 * np.sin(vertices[:, 0] / 0.4), 0.4 * np.cos(vertices[:, 0] / 0.4), vertices[:, 2]], axis=1)
    for label, shape in (("flat", vertices), ("rolled", rolled)):
        for pins in ([0, 8], [0, 4, 40]):
            longest = {}
            for tied in (True, False):
                scene = Scene()
                material = ClothMaterial(density=2.0, stretch_compliance=2e-2, tethers=tied)
                sheet = scene.add_cloth((shape, faces), material=material)
                sheet.pin(pins)
                sim = small(scene, precision, substeps=10)
                most = 0.0
                for _ in range(60):
                    sim.step()
                    most = max(most, _overlong(vertices, pins, sim.positions(sheet).astype(np.float64)))
                longest[tied] = most
            case = f"{label} sheet, pins {pins}"
            yield at_most(
                f"largest distance over geodesic, {case}",
                TETHER_SLACK,
                longest[True],
                absolute=8.0 * roundoff(precision) / 0.125,
                theory="tethers are solved last and share no free particle; their slack; positions of 1 m rounded",
            )
            yield at_least(
                f"the same without tethers, {case}",
                TETHER_SLACK + 0.05,
                longest[False],
                theory="the rows alone stretch",
            )


def _overlong(flat: np.ndarray, pins: list[int], x: np.ndarray) -> float:
    """Largest distance to the nearest pin over that on the sheet, which unrolls flat; of pins as near, the better."""
    rest = np.linalg.norm(flat[:, None] - flat[pins], axis=2)
    apart = np.linalg.norm(x[:, None] - x[pins], axis=2)
    free = np.setdiff1d(np.arange(len(flat)), pins)
    rest, apart = rest[free], apart[free]
    near = rest <= 1.02 * rest.min(axis=1, keepdims=True)
    return float(np.where(near, apart / rest, np.inf).min(axis=1).max())
