"""Where fluids stand: what floats, vessels that are joined, fluids of different density in layers."""

from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.scene.fluid_material import FluidMaterial
from shinari.shapes.box import Box
from shinari.verify.fluid_scenes import SPLISH, SUBSTEPS, block, level, sheet, still, tank
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal

_ISSUE = "the requirement: "


@check("a box of fluid keeps its volume", "mass: density times volume; level at rest: volume over area")
def boxes(precision: str) -> Iterator[Measurement]:
    """Boxes and tanks of sizes that are and are not multiples of the spacing, filled and come to rest."""
    for size, spacing in (((0.5, 0.3, 0.2), 0.03), ((0.4, 0.25, 0.3), 0.04), ((0.4, 0.24, 0.32), 0.04)):
        for filled in ("box", "tank", "turned tank") if size[0] == 0.5 else ("box", "tank"):
            scene = Scene()
            width, depth, length = size
            turn = (np.cos(0.2), 0.0, np.sin(0.2), 0.0) if filled == "turned tank" else (1.0, 0.0, 0.0, 0.0)
            container = tank(scene, (width, 2.0 * depth, length), rotation=turn)
            if filled == "box":
                middle = tuple(0.5 * np.array(size))
                fluid = scene.add_fluid(Box(size), spacing=spacing, position=middle, material=FluidMaterial())
            else:
                fluid = scene.add_fluid(container, spacing=spacing, fill_to=depth)
            case = f"{filled} of {width:g} x {depth:g} x {length:g} m, spacing {spacing:g} m"
            yield equal(
                f"mass over density times volume, {case}",
                1.0,
                float(scene.particle_objects[0].masses.sum()) / (1000.0 * width * depth * length),
                absolute=1e-6,
                theory="by construction; the walls of a tank are found to rounding",
            )
            sim = still(scene, precision, SPLISH, damped=0.5, rest=0.25)
            yield equal(f"level at rest over the depth, {case}", 1.0, level(sim, fluid) / depth, absolute=0.01,
                        theory="half a per cent of the volume, and as much of compression at 5 iterations")  # fmt: skip


@check("a box floats", "Archimedes: the part under water is the ratio of the densities")
def floating(precision: str) -> Iterator[Measurement]:
    """Boxes of three densities in a tank: depth below the level over their height, once they are at rest."""
    spacing = 0.025
    edge, depth, across = 6 * spacing, 8 * spacing, 16 * spacing
    for name, steps in {"5 iterations at 1/240 s": SPLISH, "20 substeps": SUBSTEPS}.items():
        for ratio in (1 / 3, 1 / 2, 5 / 6):
            if ratio != 1 / 2 and (precision == "float64" or steps is SUBSTEPS):
                continue
            scene = Scene()
            tank(scene, (across, 3 * depth, across))
            points = block((16, 8, 16), spacing)
            bottom = depth - ratio * edge
            under = (points[:, 1] > bottom) & (np.abs(points[:, [0, 2]] - 0.5 * across) < 0.5 * edge).all(axis=1)
            fluid = scene.add_fluid(points[~under], spacing=spacing)
            centre = (0.5 * across, bottom + 0.5 * edge, 0.5 * across)
            body = scene.add_rigid_body(Box((edge, edge, edge)), density=1000.0 * ratio, position=centre)
            sim = still(scene, precision, steps, free=0.5, damped=1.0)
            depths = []
            for _ in range(10):
                sim.step(max(1, round(0.05 / steps["dt"])))
                x = np.array(sim.positions(fluid), float)
                # the level away from the box, where the fluid is a layer down to the bottom
                beside = (np.abs(x[:, [0, 2]] - 0.5 * across) > 0.5 * edge + 2.0 * spacing).any(axis=1)
                height = 2.0 * float(x[beside, 1].mean())
                depths.append(height - float(sim.state.body_positions[body.index, 1]) + 0.5 * edge)
            yield equal(f"depth over height, density ratio {ratio:.3g}, {name}", ratio, float(np.mean(depths)) / edge,
                        absolute=0.03, theory=_ISSUE + "3 % of its height")  # fmt: skip


@check("joined vessels are level", "hydrostatics: the same height in both, whatever their widths")
def vessels(precision: str) -> Iterator[Measurement]:
    """A wall with a gap below it; all of the fluid is on one side at the start but for the gap."""
    spacing = 0.02
    for name, steps in {"5 iterations at 1/240 s": SPLISH, "20 substeps": SUBSTEPS}.items():
        if precision == "float64" and steps is SUBSTEPS:
            continue
        for left, right in ((12, 12), (20, 8)):
            wall, gap, high = 4, 4, 30
            width = (left + wall + right) * spacing
            scene = Scene()
            tank(scene, (width, high * spacing, 4 * spacing))
            size = (wall * spacing, (high - gap) * spacing, 8 * spacing)
            at = ((left + 0.5 * wall) * spacing, (gap + 0.5 * (high - gap)) * spacing, 2 * spacing)
            scene.add_collider(Box(size), position=at)
            first = sheet((left, 20), spacing)
            second = sheet((wall + right, gap), spacing, (left * spacing, 0.0))
            points = np.concatenate([first, second]) + np.array([0.0, 0.0, 2 * spacing])
            fluid = scene.add_fluid(points, spacing=spacing, dimensions=2)
            sim = still(scene, precision, steps, free=3.0)
            levels = []
            for _ in range(10):
                sim.step(round(0.1 / steps["dt"]))
                x = np.array(sim.positions(fluid), float)
                # away from the wall by a support
                sides = x[x[:, 0] < (left - 2) * spacing], x[x[:, 0] > (left + wall + 2) * spacing]
                levels.append([2.0 * float(side[:, 1].mean()) for side in sides])
            heights = np.mean(levels, axis=0)
            exact = (20 * left + gap * (wall + right) - gap * wall) / (left + right) * spacing
            case = f"{left} and {right} particles wide, {name}"
            yield equal(f"difference of the levels over their height, mean of a second, {case}", 0.0,
                        float(heights[0] - heights[1]) / exact, absolute=0.03,
                        theory="under half a spacing at 13 layers")  # fmt: skip
            yield equal(f"mean level over that of the volume, {case}", 1.0, float(heights.mean()) / exact,
                        absolute=0.025, theory="volume within 2 %, half a layer at the surface")  # fmt: skip


@check("two fluids lie on each other", "the lighter one floats: layers, and they stay layers")
def layers(precision: str) -> Iterator[Measurement]:
    """Layers, side by side and the wrong way round: mean height of the light fluid above the heavy one."""
    spacing = 0.02
    for name, steps in {"5 iterations at 1/240 s": SPLISH, "20 substeps": SUBSTEPS}.items():
        if precision == "float64" and steps is SUBSTEPS:
            continue
        for start in ("in layers", "side by side", "the wrong way round"):
            for light in (900.0, 300.0) if start == "in layers" else (300.0,):
                nx, ny = 16, 16
                points = sheet((nx, ny), spacing) + np.array([0.0, 0.0, 2 * spacing])
                x, y = points[:, 0] / (nx * spacing), points[:, 1] / (ny * spacing)
                upper = {"in layers": y > 0.5, "side by side": x > 0.5, "the wrong way round": y + 0.1 * x < 0.55}[
                    start
                ]
                scene = Scene()
                tank(scene, (nx * spacing, 2 * ny * spacing, 4 * spacing))
                above = scene.add_fluid(points[upper], spacing=spacing, dimensions=2,
                                        material=FluidMaterial(rest_density=light))  # fmt: skip
                below = scene.add_fluid(points[~upper], spacing=spacing, dimensions=2)
                sim = still(scene, precision, steps, free=1.0 if start == "in layers" else 8.0)
                case = f"{start}, {light:g} on 1000 kg/m^3, {name}"
                apart = (level(sim, above) - level(sim, below)) / (ny * spacing)
                if start == "the wrong way round":
                    yield at_least(f"distance of the middles over that of layers, {case}", 0.5, apart,
                                   theory="turned over from -1; single particles stay in the other")  # fmt: skip
                    continue
                if start == "side by side":
                    yield at_least(f"distance of the middles over that of layers, {case}", 0.8, apart,
                                   theory="from 0; a tenth may stay in the other fluid, alone")  # fmt: skip
                    continue
                yield equal(f"distance of the middles over that of layers, {case}", 1.0, apart, absolute=0.1,
                            theory="a spacing and a half of 16 at the surface between them")  # fmt: skip
                if start == "in layers":
                    heights = [np.array(sim.positions(fluid), float)[:, 1] for fluid in (above, below)]
                    middle = float(np.median(np.concatenate(heights)))
                    wrong = (heights[0] < middle - 2 * spacing).mean() + (heights[1] > middle + 2 * spacing).mean()
                    yield at_most(f"part that is more than two spacings in the other, {case}", 0.0, float(wrong),
                                  theory="layers stay layers")  # fmt: skip
