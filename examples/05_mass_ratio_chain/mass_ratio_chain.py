r"""A chain of feathers that carries an anvil: iterations against substeps at equal cost.

    o  fixed
    |  20 rigid links of 1 m between masses of 1 kg, and at the end
    o  100 000 kg. The mass ratio is what makes it hard: in one sweep
    :  of the solver a feather hands on hardly anything of the load.
    o
    #  100 t

n sweeps can be spent in each frame of 1/60 s as n iterations of one step, or as n substeps of one iteration. The cost
is the same. Macklin et al. 2019 (Small Steps in Physics Simulation) report a chain of 1:1e5 that stretches by 322.1 m
with 100 iterations and by 3.2 m with 100 substeps: 100 times less for nothing. (Their scene differs, the factor does
not.)

The reason in three lines. At rest every link pulls with M g. Between feathers of mass m a sweep by two colours carries
the gap S of two neighbouring links through both of them, a multiplier of S m / 2 each. At rest the multipliers of n
iterations add up to h^2 M g, so S = 2 h^2 M g / (n m), and with the half shares at both ends the chain is too long by

    stretch = (links - 1) M g h^2 / (n m)                 iterations: h = 1/60 s, falls as 1 / n
                                                           substeps:   h = 1/(60 n) s, one iteration, falls as 1 / n^2

Look at the two lines in the plot, which are this formula and no fit, and at their distance: n.
"""

import argparse
import math
from pathlib import Path

import numpy as np

import shinari as sn

LINKS, LENGTH, LIGHT, HEAVY, GRAVITY = 20, 1.0, 1.0, 1e5, 10.0  # [-], [m], [kg], [kg], [m/s^2]
DT = 1 / 60  # [s]


def predicted(substeps: int, iterations: int) -> float:
    """Stretch of the chain at rest [m], to first order in the mass ratio."""
    return (LINKS - 1) * HEAVY * GRAVITY * (DT / substeps) ** 2 / (iterations * LIGHT)


def hang(substeps: int, iterations: int) -> tuple[sn.Simulation, float]:
    """The chain with its load, about to be let go, and the frequency of its swing [rad/s]."""
    # what the solver leaves unsolved acts as a soft spring; damp its swing critically and wait until it is over
    frequency = math.sqrt(GRAVITY / predicted(substeps, iterations))
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), damping=2.0 * frequency)
    x = np.zeros((LINKS + 1, 3))
    x[:, 1] = -LENGTH * np.arange(LINKS + 1)
    scene.add_particles(x, mass=[0.0] + [LIGHT] * (LINKS - 1) + [HEAVY])
    index = np.arange(LINKS)
    scene.add_constraint("distance", np.stack([index, index + 1], axis=1))
    simulation = sn.Simulation(scene, dt=DT, substeps=substeps, iterations=iterations, precision="float64", threads=1)
    return simulation, frequency


def stretch(substeps: int, iterations: int) -> float:
    """Stretch of the chain once it hangs still [m]."""
    simulation, frequency = hang(substeps, iterations)
    simulation.step(math.ceil(12.0 / frequency / DT))
    top = simulation.forces("distance")[0]
    weight = GRAVITY * (HEAVY + LIGHT * (LINKS - 1))
    assert math.isclose(top, weight, rel_tol=2e-3), (
        f"the top link pulls with {top:.6g} N, the chain weighs {weight:.6g} N"
    )
    return -float(simulation.state.positions[-1, 1]) - LINKS * LENGTH


def plot(path: Path, sweeps: list[int], iterated: list[float], stepped: list[float]) -> None:
    """Stretch against sweeps, measured and predicted."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    for values, color, name in ((iterated, "tab:orange", "n iterations"), (stepped, "tab:blue", "n substeps")):
        axes.loglog(sweeps, values, "o", color=color, label=f"{name}, measured")
    n = np.array(sweeps)
    axes.loglog(
        n, [predicted(1, k) for k in sweeps], "-", color="tab:orange", label="(N - 1) M g h² / (n m), h = 1/60 s"
    )
    axes.loglog(n, [predicted(k, 1) for k in sweeps], "-", color="tab:blue", label="(N - 1) M g h² / m, h = 1/(60 n) s")
    axes.axhline(LINKS * LENGTH, color="black", linewidth=0.8, linestyle=":", label="length of the chain")
    axes.set_xticks(sweeps, [str(k) for k in sweeps])
    axes.minorticks_off()
    axes.set(xlabel="sweeps in a frame, n", ylabel="stretch of the chain at rest [m]", title="100 t on 1 kg links")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return hang(20, 1)[0]


def main(arguments: list[str] | None = None) -> None:
    """Hang the chain with more and more sweeps, spent in both ways; check, plot."""
    parser = argparse.ArgumentParser(description="iterations against substeps on a chain with a mass ratio of 1:1e5")
    parser.add_argument("--most", type=int, default=100, help="most sweeps in a frame")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    sweeps = [n for n in (1, 2, 5, 10, 20, 50, 100) if n <= max(options.most, 2)]
    iterated = [stretch(1, n) for n in sweeps]
    stepped = [stretch(n, 1) for n in sweeps]
    print("sweeps   n iterations [m]   n substeps [m]   ratio")
    for n, slow, fast in zip(sweeps, iterated, stepped, strict=True):
        print(f"{n:6d}   {slow:16.2f}   {fast:14.3f}   {slow / fast:5.1f}")
        # first order in n N m / M, and (1 + 12) e^-12 is left of the swing
        tolerance = n * LINKS * LIGHT / HEAVY + 1e-3
        assert math.isclose(slow, predicted(1, n), rel_tol=tolerance)
        assert math.isclose(fast, predicted(n, 1), rel_tol=tolerance)
        assert math.isclose(slow / fast, n, rel_tol=2.0 * tolerance), "n substeps are n times better than n iterations"
    plot(options.out / "mass_ratio_chain.png", sweeps, iterated, stepped)
    print(f"wrote {options.out / 'mass_ratio_chain.png'}")


if __name__ == "__main__":
    main()
