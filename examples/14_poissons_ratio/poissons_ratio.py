r"""Three soft bars with three Poisson's ratios, stretched by half: how thin they get is known.

A bar of length L is held at one end, and pulled at the other until it is 1.5 L long; its sides are free. Its three
materials have the same Young's modulus, and Poisson's ratios of 0, 0.3 and 0.49.

    held |==========|--> pulled          s = 1.5           stretch along the bar
         |==========|                    J = V / V0        what becomes of the volume
                                         t = sqrt(J / s)   stretch across it

A stable Neo-Hookean solid (Macklin and Mueller 2021) has the energy mu/2 (I_C - 3) + la/2 (J - g)^2, g = 1 + mu/la.
Without forces on the sides it follows

    J = 1 + (mu / la) (1 - 1/s),    la = mu / (1 - 2 nu)

At a ratio of 0 the volume grows by a third; note that the bar
gets thinner all the same: Poisson's ratio tells of small strains. Towards 0.5 the volume stays.

The ends are held flat and wide, so the bars are measured in their middle third.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.tetrahedra.check import volumes
from shinari.output.recorder import Recorder

CELLS, SIZE = (30, 6, 6), 0.02  # cubes along the bar and across it, their edge [m]
RATIOS = (0.0, 0.3, 0.49)
MODULUS, STRETCH = 1e5, 1.5
PULL = 1.0  # time to pull [s]
SUBSTEPS = 40


def build() -> tuple[sn.Scene, list]:
    """The bars side by side, their ends pinned."""
    scene = sn.Scene(gravity=(0, 0, 0), damping=8.0)
    bars = []
    for k, ratio in enumerate(RATIOS):
        material = sn.SoftMaterial(density=500.0, youngs_modulus=MODULUS, poissons_ratio=ratio)
        mesh = sn.lattice(CELLS, SIZE, split=6)
        bar = scene.add_soft_body(mesh, material=material, position=(0, 0, 0.3 * k), name=f"nu = {ratio}")
        bar.pin(bar.where(lambda x: (x[:, 0] < 1e-6) | (x[:, 0] > CELLS[0] * SIZE - 1e-6)))
        bars.append(bar)
    return scene, bars


def pull(simulation: sn.Simulation, bars: list) -> None:
    """Write the pinned ends to where they are in the next frame."""
    length = CELLS[0] * SIZE
    stretch = 1.0 + (STRETCH - 1.0) * min((simulation.time + simulation.settings.dt) / PULL, 1.0)
    for bar in bars:
        end = bar.positions[:, 0] > length - 1e-6
        simulation.positions(bar)[end, 0] = stretch * length


def middle(simulation: sn.Simulation, bar: object) -> tuple[float, float]:
    """Stretch along and across, in the middle third."""
    rest, now = bar.positions, simulation.positions(bar).astype(float)
    length, width = CELLS[0] * SIZE, CELLS[1] * SIZE
    inside = np.abs(rest[:, 0] / length - 0.5) < 1.0 / 6.0 + 1e-6
    along = np.polyfit(rest[inside, 0], now[inside, 0], 1)[0]
    sides = [inside & (np.abs(rest[:, 1] - y) < 1e-6) for y in (0.0, width)]
    across = (now[sides[1], 1].mean() - now[sides[0], 1].mean()) / width
    return float(along), float(across)


def theory(ratio: float, s: float) -> float:
    """Stretch across at a stretch along."""
    return ((1.0 + (1.0 - 2.0 * ratio) * (1.0 - 1.0 / s)) / s) ** 0.5


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    scene, bars = build()
    return sn.Simulation(scene, substeps=SUBSTEPS), lambda simulation: pull(simulation, bars)


def main(arguments: list[str] | None = None) -> None:
    """Pull the bars, compare their middle with theory, write the results."""
    parser = argparse.ArgumentParser(description="three Poisson's ratios")
    parser.add_argument("--frames", type=int, default=180, help="frames of 1/60 s; pulled after 60, at rest after 150")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, bars = build()
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    outputs = [options.out / "poissons_ratio.html", options.out / "poissons_ratio.npz"]
    with Recorder(simulation, outputs, title="three Poisson's ratios") as recorder:
        recorder.record()
        for _ in range(options.frames):
            pull(simulation, bars)
            simulation.step()
            recorder.record()

    tetrahedra, volume = sn.lattice(CELLS, SIZE, split=6)[1], float(np.prod(CELLS)) * SIZE**3
    for bar, ratio in zip(bars, RATIOS, strict=True):
        along, across = middle(simulation, bar)
        expected = theory(ratio, along)
        grown = volumes(simulation.positions(bar).astype(float), tetrahedra).sum() / volume
        print(f"nu {ratio:4.2f}: stretch {along:.3f}, across {across:.4f}, theory {expected:.4f}; volume x {grown:.3f}")
        assert abs(across - expected) < 0.01, f"nu {ratio}: {across:.4f} across, theory gives {expected:.4f}"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
