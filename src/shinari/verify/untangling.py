"""Sheets and closed surfaces that start in each other are pulled apart."""

import math
from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.topology import grid
from shinari.scene.materials import ClothMaterial
from shinari.verify.clearance import least_distance
from shinari.verify.contact_scenes import THICKNESS, Case, bumpy_ball
from shinari.verify.ledger import Measurement, at_least, at_most, check

# Speed [m/s] of surfaces that are pulled, for a depenetration speed of 1 m/s: twice that relative to the surface that
# they leave, which goes at up to as much.
FASTEST = 4.0
# Time [s] after which nothing may intersect, and a sheet of 40 cm is drawn out of another one by 20 cm at 1 m/s.
SECONDS = 1.0

_SOURCE = "Baraff, Witkin and Kass 2003, Untangling cloth; Volino and Magnenat-Thalmann 2006"


def crossed(count: int = 12, size: float = 0.2, degrees: float = 90.0, shift: float = 0.0) -> Case:
    """Two sheets that cross, the second one shifted along the line; then they are slotted into each other."""
    case = _case()
    _sheet(case.scene, count, size)
    _sheet(case.scene, count, size, (0.003, 0.004, 0.002 + shift), degrees)
    return case


def tee(count: int = 12, size: float = 0.2, depth: float = 0.03) -> Case:
    """A sheet pokes through another one."""
    case = _case()
    _sheet(case.scene, count, size)
    _sheet(case.scene, count, 0.6 * size, (0.003, 0.3 * size - depth, 0.002), 90.0)
    return case


def loop(count: int = 12, size: float = 0.2) -> Case:
    """A strip that is laid out as a loop and goes through itself with both of its ends; see `lay_out`."""
    case = _case()
    mesh = grid(shape=(2 * count, count), size=(2.0 * size, size), diagonal="alternating")
    material = ClothMaterial(density=0.2, thickness=THICKNESS, friction=0.3)
    case.scene.add_cloth(mesh, material=material, self_collision="triangles")
    return case


def in_ball(count: int = 12, size: float = 0.3, height: float = 0.05, soft: bool = False) -> Case:
    """A sheet partly inside a ball of 20 cm, a closed cloth or a soft body, so high above its middle."""
    case = _case()
    _sheet(case.scene, count, size, (0.004, height, 0.003))
    mesh = bumpy_ball(0.1, 0.0, 12)
    if soft:
        case.scene.add_soft_body(mesh, cell=0.04)
    else:
        material = ClothMaterial(density=0.2, thickness=THICKNESS, friction=0.3)
        case.scene.add_cloth(mesh, material=material, self_collision="triangles")
    return case


def lay_out(sim: Simulation) -> None:
    """Lay the strip of `loop` out: three quarters of a circle, and both ends straight through each other."""
    x = sim.state.positions
    length = float(np.ptp(x[:, 0]))
    radius, t = 0.3 * length / math.pi, (x[:, 0] - x[:, 0].mean()) / length
    half = 0.75 * math.pi * radius / length
    angle = np.clip(t / half, -1.0, 1.0) * 0.75 * math.pi
    rest = np.sign(t) * np.maximum(np.abs(t) - half, 0.0) * length
    x[:, 0] = radius * np.sin(angle) + rest * np.cos(angle)
    x[:, 1] = radius * np.cos(angle) - rest * np.sin(angle)
    sim.state.velocities[...] = 0.0


CASES: dict[str, Callable[[], Case]] = {
    "sheets that cross at 90 degrees": crossed,
    "sheets of 40 cm that cross at 35 degrees": lambda: crossed(24, 0.4, 35.0),
    "sheets that are slotted into each other": lambda: crossed(shift=0.1),
    "a sheet pokes through another one by 3 cm": tee,
    "a sheet pokes through another one by 8 cm": lambda: tee(24, 0.4, 0.08),
    "a strip goes through itself": loop,
    "a sheet in a ball of cloth": in_ball,
    "a sheet through the middle of a ball of cloth": lambda: in_ball(20, 0.34, -0.025),
    "a sheet at the middle of a soft ball": lambda: in_ball(24, 0.4, 0.0, soft=True),
}


@check("surfaces that start in each other", _SOURCE)
def tangled(precision: str) -> Iterator[Measurement]:
    """They are apart after a second, and nothing is thrown."""
    for name, build in CASES.items():
        case = build()
        fastest, distance = untangle(case, precision)
        yield at_least(f"{name}: least distance over thickness", 0.5, distance / case.gap, theory="nothing intersects")
        yield at_most(f"{name}: largest speed [m/s]", FASTEST, fastest, theory="pulled at the depenetration speed")


def untangle(case: Case, precision: str) -> tuple[float, float]:
    """Run a case: the largest speed [m/s], and the least distance [m] of parts that are no neighbours at the end."""
    sim = case.simulation(precision)
    if len(case.scene.particle_objects) == 1:
        lay_out(sim)
    fastest = 0.0
    for _ in range(round(case.seconds / sim.settings.dt)):
        sim.step()
        fastest = max(fastest, float(np.linalg.norm(sim.state.velocities, axis=1).max()))
    x, none = sim.state.positions.astype(np.float64), np.zeros((0, 2), np.int64)
    return fastest, least_distance(x, case.triangles(), none, case.gap)


def _case() -> Case:
    return Case(Scene(gravity=(0, 0, 0), damping=0.5), SECONDS)


def _sheet(
    scene: Scene, count: int, size: float, position: tuple[float, float, float] = (0.0, 0.0, 0.0), degrees: float = 0.0
) -> None:
    half = 0.5 * math.radians(degrees)
    mesh = grid(shape=(count, count), size=(size, size), diagonal="alternating")
    material = ClothMaterial(density=0.2, thickness=THICKNESS, friction=0.3)
    turn = (math.cos(half), 0.0, 0.0, math.sin(half))
    scene.add_cloth(mesh, material=material, position=position, rotation=turn, self_collision="triangles")
