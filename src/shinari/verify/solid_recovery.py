"""Solids that were flat, in a line, in a point or between jaws return to rest."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.motion import Keyframes
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.scene.soft_material import SoftMaterial
from shinari.shapes.box import Box
from shinari.shapes.plane import Plane
from shinari.verify.ledger import Measurement, at_most, check, equal
from shinari.verify.scenes import small
from shinari.verify.solid_scenes import CORNER, DENSITY, EDGE

SIDE = 0.2  # of a squeezed cube [m]
THICKNESS = 0.004


def starts() -> np.ndarray:
    """Positions of a thousand tetrahedra by deformation gradient, a hundred of each of ten kinds, (4000, 3)."""
    rng = np.random.default_rng(11)
    f = rng.normal(size=(10, 100, 3, 3))
    u, s, v = np.linalg.svd(f)
    sign = np.sign(np.linalg.det(u @ v))[..., None, None]
    f[1] *= 3.0  # large
    f[2] *= -np.sign(np.linalg.det(f[2]))[:, None, None]  # inside out
    f[3] = np.diag([1.0, 1.0, -1.0])  # mirrored
    f[4] = (sign * u @ (np.array([1.0, 1.0, 0.02])[:, None] * v))[4]  # squeezed to 2 %
    f[5] = (u * (s * [1.0, 1.0, 0.0])[..., None, :] @ v)[5]  # flat
    f[6] = (u * (s * [1.0, 0.0, 0.0])[..., None, :] @ v)[6]  # in a line
    f[7, :, 1:] = 0.0  # in a line along an axis
    f[8] *= 1e-3  # nearly in a point
    f[9] = 0.0  # in a point
    x = np.einsum("tij,nj->tni", f.reshape(1000, 3, 3), CORNER) + 0.5 * EDGE
    return x.reshape(4000, 3)


def strain(x: np.ndarray) -> np.ndarray:
    """Largest difference of a singular value of F from one, the last of them negative where J is, (T,)."""
    points = x.astype(np.float64).reshape(-1, 4, 3)
    f = np.swapaxes(points[:, 1:] - points[:, :1], 1, 2) / EDGE
    values = np.linalg.svd(f, compute_uv=False)
    values[:, 2] *= np.sign(np.linalg.det(f))
    return np.abs(values - 1.0).max(axis=1)


@check(
    "a thousand collapsed tetrahedra recover", "Smith, de Goes and Kim 2018, section 3.3: F = 0 must not be a minimum"
)
def collapsed(precision: str) -> Iterator[Measurement]:
    """Tetrahedra that are not back at rest: random, large, inverted, mirrored, at 2 %, flat, in a line, in a point."""
    for young in (1e3, 1e5, 1e7, 1e9):
        wave = np.sqrt(young / DENSITY) / EDGE
        for ratio in (0.0, 0.1, 0.2, 0.3, 0.4, 0.45, 0.49, 0.495) if young in (1e5, 1e9) else (0.0, 0.3, 0.495):
            # in single precision gradients of large F are parallel: h sqrt(E / rho) up to 2 edges, see `neo_hookean.py`
            substeps = 80 if young == 1e9 and precision == "float32" else 20
            scene = Scene(gravity=(0.0, 0.0, 0.0), damping=min(8.0, 0.2 * wave))
            material = SoftMaterial(density=DENSITY, youngs_modulus=young, poissons_ratio=ratio, thickness=0.0)
            scene.add_soft_body((np.tile(CORNER, (1000, 1)), np.arange(4000).reshape(1000, 4)), material=material)
            sim = small(scene, precision, substeps=substeps)
            sim.state.positions = starts()
            sim.step(int(60 * max(1.5, 180.0 / wave)))
            yield equal(
                f"not back, E {young:g} Pa, nu {ratio:g}",
                0.0,
                float((strain(sim.state.positions) > 1e-3).sum()),
                absolute=0.5,
                theory="rest is the only minimum, and swings have shrunk to exp(-6) since",
            )


@check("beams of any stiffness recover", "the energy has one minimum: every state returns to rest")
def beams(precision: str) -> Iterator[Measurement]:
    """Beams from 1 kPa to 1 GPa that start in a line, in a point, inside out, or at random: the worst of five."""
    mesh = lattice((5, 2, 2), EDGE)
    rng = np.random.default_rng(5)
    size = mesh[0].max(axis=0)
    states = [mesh[0] * scale for scale in ([1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, -1.0, 1.0])]
    states += [rng.uniform(0.0, scale * size, mesh[0].shape) for scale in (1.0, 10.0)]
    for young in (1e3, 1e5, 1e7, 1e9):
        wave = np.sqrt(young / DENSITY) / size.max()
        # what is ten times as large flies through itself for some seconds
        seconds = max(6.0, 80.0 / wave)
        # single precision: of stiff tetrahedra as above, and corrections of soft ones, which are as the square of the
        # substep, round to nothing: with 20 substeps a beam of 1 kPa stops up to 0.03 off, see `decisions/solids.md`
        substeps = {1e3: 5, 1e9: 80}.get(young, 20) if precision == "float32" else 20
        for ratio in (0.0, 0.3, 0.495):
            scene = Scene(gravity=(0.0, 0.0, 0.0), damping=min(2.0, wave))
            material = SoftMaterial(density=DENSITY, youngs_modulus=young, poissons_ratio=ratio, thickness=0.0)
            bodies = [scene.add_soft_body(mesh, material=material) for _ in states]
            sim = small(scene, precision, substeps=substeps)
            sim.state.positions = np.concatenate(states)
            sim.step(int(60 * seconds))
            worst = max(off_shape(sim.positions(body), mesh[0]) for body in bodies) / float(size.max())
            yield at_most(
                f"farthest vertex off its place over the length, E {young:g} Pa, nu {ratio:g}, worst of {len(states)}",
                0.0,
                worst,
                absolute=0.005,
                theory="swings of ten lengths shrink to exp(-6) of that and less",
            )


def squeezed(
    precision: str, young: float, ratio: float, height: float, friction: float, model: str = "neo_hookean"
) -> tuple[Simulation, np.ndarray, list[tuple[float, float]]]:
    """A cube that jaws squeeze to a part of its height in a second, hold for one, and release.

    Returns:
        The simulation three seconds later; rest positions; height and volume over those at rest, by step while held.
    """
    vertices, tetrahedra = lattice((4, 4, 4), SIDE / 4)
    scene = Scene(gravity=(0.0, 0.0, 0.0), damping=4.0)
    material = SoftMaterial(
        density=DENSITY, youngs_modulus=young, poissons_ratio=ratio, thickness=THICKNESS, friction=friction, model=model
    )
    middle = np.array([-0.5 * SIDE, 0.5 * THICKNESS, -0.5 * SIDE])
    scene.add_soft_body((vertices, tetrahedra), material=material, position=middle)
    scene.add_collider(Plane(), friction=friction)
    heights = np.array([SIDE + 0.02, height * SIDE, height * SIDE, SIDE + 0.2]) + THICKNESS + 0.015
    places = np.stack([np.zeros(4), heights, np.zeros(4)], axis=1)
    motion = Keyframes(np.array([0.0, 1.0, 2.0, 2.2]), places)
    scene.add_collider(Box((2.0, 0.03, 2.0)), motion=motion, friction=friction)
    sim = small(scene, precision)
    held = []
    for step in range(300):
        sim.step()
        if 60 <= step < 120:
            x = sim.state.positions.astype(np.float64)
            held.append((float(np.ptp(x[:, 1])) / SIDE, _volume(x, tetrahedra) / SIDE**3))
    return sim, vertices, held


def off_shape(now: np.ndarray, given: np.ndarray) -> float:
    """Largest distance of a vertex from its place at rest after the best rotation and shift [m]."""
    a, b = now.astype(np.float64) - now.mean(axis=0, dtype=np.float64), given - given.mean(axis=0)
    u, _, v = np.linalg.svd(a.T @ b)
    u[:, -1] *= np.sign(np.linalg.det(u @ v))
    return float(np.linalg.norm(a @ (u @ v) - b, axis=1).max())


def _volume(x: np.ndarray, tetrahedra: np.ndarray) -> float:
    return float(np.linalg.det(x[tetrahedra][:, 1:] - x[tetrahedra][:, :1]).sum()) / 6.0


@check("a squeezed cube recovers", "the energy has one minimum: a body returns to its shape when the load is gone")
def jaws(precision: str) -> Iterator[Measurement]:
    """A cube between jaws at 10, 5 and 2 % of its height: its volume while they stand still, its shape afterwards.

    Above nu = 0.3 tangles give way, see `systems/failure/tangles.py`: of those at 5 and 2 % the shape counts. None may
    give way at 25 %, where nothing is tangled: inner vertices, which keep no distance, would come out of the surface.
    """
    cases = [(young, ratio, h, 0.5) for young in (1e4, 1e5) for ratio in (0.0, 0.3) for h in (0.1, 0.05, 0.02)]
    cases += [(1e5, ratio, 0.02, 0.0) for ratio in (0.0, 0.3)]
    cases += [(young, 0.45, 0.1, 0.5) for young in (1e4, 1e5)]
    cases += [(young, ratio, h, 0.5) for young in (1e4, 1e6) for ratio in (0.45, 0.495) for h in (0.05, 0.02)]
    cases += [(1e5, ratio, h, 0.0) for ratio in (0.4, 0.45, 0.49, 0.495) for h in (0.05, 0.02)]
    cases += [(2e4, ratio, 0.25, 0.0) for ratio in (0.4, 0.45, 0.495)]
    for young, ratio, height, friction in cases:
        sim, rest, held = squeezed(precision, young, ratio, height, friction)
        case = f"E {young:g} Pa, nu {ratio:g}, {100 * height:g} % of its height, friction {friction:g}"
        half = len(held) // 2
        heights, volumes = np.array(held).T
        if height > 0.2:
            yield at_most(
                f"height while held over the distance of the jaws, {case}",
                1.0,
                float(heights.max()) / height,
                absolute=0.01,
                theory="the surface keeps its distance, and inner vertices stay inside",
            )
        if ratio <= 0.3 or height >= 0.1:
            yield at_most(
                f"loss of volume in the second half of the hold over that at its start, {case}",
                0.0,
                1.0 - float(volumes[half:].mean() / volumes[:half].mean()),
                absolute=0.1,
                theory="an equilibrium: settling after the jaws stop, a tenth; it went to zero where F = 0 attracts",
            )
        yield at_most(
            f"farthest vertex off its place over the edge three seconds later, {case}",
            0.0,
            off_shape(sim.state.positions, rest) / SIDE,
            absolute=0.01,
            theory="swings of size one shrink to exp(-2 * 2.8) = 0.004 at a damping of 4 / s",
        )
