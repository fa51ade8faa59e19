r"""A rope between two nails: what "stiffness" means to PBD, to XPBD and to small steps.

Twenty springs and nineteen point masses hang in a plane between two nails, one metre apart:

    nail o                         o nail        k = 4 kN/m each,  m = 50 g each,  rest length 50 mm each
          \                       /
            `-o--o--o--o--o--o--'

The rope is settled with a growing number of solver sweeps in each frame of 1/60 s, spent in four ways:

- **PBD, raw** (Mueller et al. 2006): the stiffness 0.7 is applied in every sweep. The more sweeps, the stiffer the
  rope: the sag is a property of the solver, not of the rope.
- **PBD, per step** (the same paper, section 3.3): 1 - (1 - k)^(1/n) in each of n sweeps. For a single row that takes
  the number of sweeps out altogether; in a rope it ends the stiffening, but the stiffness still has no unit.
- **XPBD** (Macklin et al. 2016): the compliance of the row in m/N and a multiplier. More sweeps bring the sag to that
  of the real rope, and there it stays.
- **XPBD with substeps** (Macklin et al. 2019, Small Steps): one sweep in each of n substeps. The same goal, and for
  the same number of sweeps much nearer to it.

The goal is exact. Cut the rope at a spring: the vertical pull is the weight between the cut and the middle, the
horizontal pull H is the same everywhere, so every spring's direction and length follow from H, and H from the span.

Look at the left plot: the two XPBD curves end on the line at 1, raw PBD falls through it and goes on falling. In the
small plots the ropes of XPBD lie on each other from a few substeps on.
"""

import argparse
import math
from pathlib import Path

import numpy as np

import shinari as sn

SPRINGS, SPAN, LENGTH = 20, 1.0, 1.0  # [-], [m], [m]
MASS, COMPLIANCE, GRAVITY = 0.05, 2.5e-4, 9.81  # [kg], [m/N], [m/s^2]
STIFFNESS = 0.7  # of PBD: a number between 0 and 1 without a meaning in SI
SWEEPS = (1, 2, 4, 8, 16, 32, 64)

METHODS = {
    "PBD, raw": lambda n: {"method": "pbd", "stiffness_mode": "raw", "substeps": 1, "iterations": n},
    "PBD, per step": lambda n: {"method": "pbd", "stiffness_mode": "per-step", "substeps": 1, "iterations": n},
    "XPBD": lambda n: {"method": "xpbd", "substeps": 1, "iterations": n},
    "XPBD, substeps": lambda n: {"method": "xpbd", "substeps": n, "iterations": 1},
}


def exact_sag() -> float:
    """Sag of the middle of the rope at rest [m], from the balance of forces alone."""
    pull = MASS * GRAVITY * (np.arange(SPRINGS) - 0.5 * (SPRINGS - 1))  # vertical part in each spring, up to the right

    def span(horizontal: float) -> tuple[float, np.ndarray]:
        tension = np.hypot(horizontal, pull)
        length = LENGTH / SPRINGS + COMPLIANCE * tension
        return float(np.sum(length * horizontal / tension)), length * pull / tension

    low, high = 0.0, 1e3
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if span(middle)[0] < SPAN else (low, middle)
    return float(-np.sum(span(low)[1][: SPRINGS // 2]))


def hang(settings: dict, dt: float = 1 / 60) -> sn.Simulation:
    """The rope, straight between its ends, with gravity about to begin."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), damping=4.0)
    x = np.zeros((SPRINGS + 1, 3))
    x[:, 0] = np.linspace(0.0, SPAN, SPRINGS + 1)
    rope = scene.add_particles(x, mass=MASS)
    rope.pin([0, SPRINGS])
    index = np.arange(SPRINGS)
    rows = np.stack([index, index + 1], axis=1)
    scene.add_constraint("distance", rows, rest_length=LENGTH / SPRINGS, compliance=COMPLIANCE, stiffness=STIFFNESS)
    return sn.Simulation(scene, dt=dt, precision="float64", threads=1, **settings)


def settle(settings: dict, frames: int, dt: float = 1 / 60) -> np.ndarray:
    """Points of the rope at rest [m], (SPRINGS + 1, 2)."""
    simulation = hang(settings, dt)
    simulation.step(frames)
    speed = np.linalg.norm(simulation.state.velocities, axis=1).max()
    assert speed < 1e-3, f"the rope still moves at {speed:.2g} m/s: give it more frames"
    return simulation.state.positions[:, :2].copy()


def single_row(mode: str, sweeps: int) -> float:
    """Stretch of one PBD row that carries one mass [m]."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), damping=20.0)
    scene.add_particles([[0.0, 0.0, 0.0], [0.0, -1.0, 0.0]], mass=[0.0, 1.0])
    scene.add_constraint("distance", [[0, 1]], stiffness=STIFFNESS)
    simulation = sn.Simulation(
        scene, method="pbd", stiffness_mode=mode, substeps=1, iterations=sweeps, precision="float64", threads=1
    )
    simulation.step(300)
    return -1.0 - float(simulation.state.positions[1, 1])


def check(sags: dict[str, np.ndarray], exact: float, dt: float = 1 / 60) -> None:
    """What the methods promise."""
    # one row: each step gravity adds g h^2 (less what the damping takes), n sweeps leave (1 - k)^n of what is there
    fall = GRAVITY * dt**2
    for sweeps in (1, 4):
        left = (1.0 - STIFFNESS) ** sweeps
        assert math.isclose(single_row("raw", sweeps), fall * left / (1.0 - left), rel_tol=1e-6)
        left = 1.0 - STIFFNESS
        assert math.isclose(single_row("per-step", sweeps), fall * left / (1.0 - left), rel_tol=1e-6)

    raw, per_step, xpbd, substeps = (sags[name] for name in METHODS)
    assert (np.diff(raw) < 0).all(), "raw PBD stiffens with every sweep"
    assert raw[-1] < 0.9 * exact, "and ends up stiffer than the rope is"
    assert (np.diff(xpbd) < 0).all(), "XPBD comes from above ..."
    assert (xpbd > exact * (1 - 1e-6)).all(), "... and never falls below"
    # one sweep leaves two rows C = T (2 a + 2 h^2 / m) together: substeps quench the second part with 1 / n^2
    error = substeps / exact - 1.0
    order = math.log2(error[-2] / error[-1])
    assert 1.8 < order < 2.2, f"the error of substeps falls with 1 / n^{order:.2f}, expected 2"
    assert 0.0 < error[-1] < (dt / SWEEPS[-1]) ** 2 / (MASS * COMPLIANCE)
    assert (error[1:] < 0.75 * (xpbd / exact - 1.0)[1:]).all(), "substeps beat iterations"
    assert abs(per_step[-1] / per_step[-2] - 1.0) < 0.05, "PBD per step settles, if on a sag of its own"


def plot(path: Path, ropes: dict[str, list[np.ndarray]], sags: dict[str, np.ndarray], exact: float) -> None:
    """Sag against sweeps, and the ropes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplot_mosaic(
        [["sag", "PBD, raw", "PBD, per step"], ["sag", "XPBD", "XPBD, substeps"]],
        figsize=(12, 5), width_ratios=[1.5, 1, 1], layout="constrained",
    )  # fmt: skip
    for (name, sag), marker in zip(sags.items(), "osD^", strict=True):
        axes["sag"].loglog(SWEEPS, sag / exact, marker=marker, label=name)
    axes["sag"].axhline(1.0, color="black", linewidth=0.8, label="exact")
    axes["sag"].set_xticks(SWEEPS, [str(n) for n in SWEEPS])
    axes["sag"].set(xlabel="sweeps in a frame (iterations or substeps)", ylabel="sag / exact sag")
    axes["sag"].minorticks_off()
    axes["sag"].set_yticks([0.7, 1, 2, 3, 4], ["0.7", "1", "2", "3", "4"])
    axes["sag"].legend()
    colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(SWEEPS)))
    for name, shapes in ropes.items():
        for rope, color, sweeps in zip(shapes, colors, SWEEPS, strict=True):
            axes[name].plot(*rope.T, ".-", color=color, linewidth=1, markersize=3, label=f"{sweeps}")
        axes[name].set_title(name, fontsize=10)
        axes[name].set(aspect="equal", xlabel="x [m]", ylabel="y [m]", ylim=(-0.75, 0.04))
    axes["XPBD, substeps"].legend(title="sweeps", fontsize=7, title_fontsize=7, ncols=3, loc="lower center")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return hang({"substeps": 20})


def main(arguments: list[str] | None = None) -> None:
    """Settle the rope with every method and number of sweeps, check, plot."""
    parser = argparse.ArgumentParser(description="PBD, XPBD and substeps on a hanging rope")
    parser.add_argument("--frames", type=int, default=300, help="frames for the rope to come to rest")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    exact = exact_sag()
    ropes = {name: [settle(make(n), options.frames) for n in SWEEPS] for name, make in METHODS.items()}
    sags = {name: np.array([-rope[SPRINGS // 2, 1] for rope in shapes]) for name, shapes in ropes.items()}
    print(f"sag of the middle [m], exact {exact:.5f}, with {', '.join(map(str, SWEEPS))} sweeps in a frame:")
    for name, sag in sags.items():
        print(f"  {name:<15}", *(f"{value:.4f}" for value in sag))
    check(sags, exact)
    plot(options.out / "rope_methods.png", ropes, sags, exact)
    print(f"wrote {options.out / 'rope_methods.png'}")


if __name__ == "__main__":
    main()
