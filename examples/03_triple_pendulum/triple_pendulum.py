r"""A triple pendulum: energy against substeps, the exact motion, and chaos.

    o            three masses of 1 kg, three rigid rods of 1 m, let go at 90, 120 and 150 degrees from
    |            straight down, g = 10 m/s^2. Hard constraints, compliance 0.
    1
     \\           The same arm in its three angles obeys Lagrange's equations
      2
       \\           sum_j M_ij cos(q_i - q_j) q_j'' = -sum_j M_ij sin(q_i - q_j) q_j'^2 - m_i g sin(q_i) / l
        3
                 with M_ij = 3 - max(i, j) masses below (i, j = 0, 1, 2) and m_i = M_ii; they are integrated here by
                 the classical Runge-Kutta method of fourth order at 0.1 ms.

Position based dynamics is implicit Euler seen from the outside: it loses energy in proportion to the substep h and
never gains any (Macklin et al. 2019, Small Steps). One sweep in each of many small substeps is all it takes.

Look at:
- the energy: with 1 substep half of it is gone in three seconds, with 200 it takes minutes; the loss is halved with h;
- the error of the tip against the exact motion: it falls as h, until chaos takes over;
- two arms let go 1e-6 degrees apart: their distance grows exponentially, so no method can agree with another for long.
  Compare energies and statistics of such a motion, never positions.
"""

import argparse
import math
from pathlib import Path

import numpy as np

import shinari as sn

GRAVITY, ANGLES = 10.0, (90.0, 120.0, 150.0)  # [m/s^2], [degrees]
SUBSTEPS = (1, 2, 5, 10, 20, 50, 100, 200)
DT = 1 / 60  # [s]
COMPARED = 0.5  # time for which the arm is compared with the exact motion [s]
STRAY = 1e-6  # how far apart two arms are let go [degrees]


def arm(angles: np.ndarray) -> np.ndarray:
    """Points of the arm [m], (..., 4, 3), from the angles of its rods [rad], (..., 3)."""
    rods = np.stack([np.sin(angles), -np.cos(angles), np.zeros_like(angles)], axis=-1)
    points = np.cumsum(rods, axis=-2)
    return np.concatenate([np.zeros_like(points[..., :1, :]), points], axis=-2)


def acceleration(q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Angular accelerations [rad/s^2] from Lagrange's equations."""
    i = np.arange(3)
    below = 3.0 - np.maximum(i[:, None], i[None, :])
    apart = q[:, None] - q[None, :]
    return np.linalg.solve(
        below * np.cos(apart), -(below * np.sin(apart)) @ w**2 - np.diag(below) * GRAVITY * np.sin(q)
    )


def exact(seconds: float, h: float = 1e-4) -> np.ndarray:
    """Points of the arm at every frame [m], (frames + 1, 4, 3), by Runge-Kutta."""
    inner = math.ceil(DT / h)
    h = DT / inner
    y = np.concatenate([np.radians(ANGLES), np.zeros(3)])
    frames = [y[:3].copy()]

    def rate(y: np.ndarray) -> np.ndarray:
        return np.concatenate([y[3:], acceleration(y[:3], y[3:])])

    for step in range(inner * round(seconds / DT)):
        a = rate(y)
        b = rate(y + 0.5 * h * a)
        c = rate(y + 0.5 * h * b)
        d = rate(y + h * c)
        y = y + h / 6.0 * (a + 2.0 * b + 2.0 * c + d)
        if (step + 1) % inner == 0:
            frames.append(y[:3].copy())
    return arm(np.array(frames))


def pendulum(substeps: int, stray: float = 0.0) -> sn.Simulation:
    """The arm, about to be let go; the first of its angles strays by so many degrees."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    start = arm(np.radians(np.add(ANGLES, (stray, 0.0, 0.0))))
    scene.add_particles(start, mass=[0.0, 1.0, 1.0, 1.0])
    scene.add_constraint("distance", [[0, 1], [1, 2], [2, 3]], rest_length=1.0)
    return sn.Simulation(scene, dt=DT, substeps=substeps, iterations=1, precision="float64", threads=1)


def simulate(substeps: int, frames: int, stray: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """Energy above that at rest [J], (frames + 1,), and points [m], (frames + 1, 4, 3)."""
    simulation = pendulum(substeps, stray)
    lowest = -GRAVITY * (1.0 + 2.0 + 3.0)
    energies, points = [simulation.energy().total - lowest], [simulation.state.positions.copy()]
    for _ in range(frames):
        simulation.step()
        energies.append(simulation.energy().total - lowest)
        points.append(simulation.state.positions.copy())
    return np.array(energies), np.array(points)


def check(energies: dict[int, np.ndarray], errors: dict[int, np.ndarray], distance: np.ndarray) -> None:
    """Energy is lost in proportion to h and never won; short motions converge; long ones part."""
    start = next(iter(energies.values()))[0]
    fine = [n for n in SUBSTEPS if n >= 10]
    for substeps, energy in energies.items():
        assert energy.max() <= start, f"{substeps} substeps: there is more energy than at the start"
        # a single sweep leaves the rods up to 7 % too long, and they spring back: from two on no frame gains any
        assert substeps == 1 or np.diff(energy).max() < 0.0, f"{substeps} substeps: energy grew"
    frames = round(COMPARED / DT)
    losses = np.array([1.0 - energies[n][frames] / start for n in fine])
    slope = np.polyfit(np.log(fine), np.log(losses), 1)[0]
    assert -1.15 < slope < -0.85, f"the loss scales with h^{-slope:.2f}, expected 1"
    final = np.array([errors[n][frames] for n in fine])
    slope = np.polyfit(np.log(fine), np.log(final), 1)[0]
    assert -1.15 < slope < -0.85, f"the error scales with h^{-slope:.2f}, expected 1"
    if len(distance) > 600:
        assert distance[600] > 1e3 * distance[0], "two arms let go side by side should be far apart after ten seconds"


def plot(path: Path, energies: dict, errors: dict, truth: np.ndarray, distance: np.ndarray) -> None:
    """Energy, error, divergence."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(SUBSTEPS)))
    for (substeps, energy), color in zip(energies.items(), colors, strict=True):
        time = np.arange(len(energy)) * DT
        left.plot(time, energy / energy[0], color=color, label=f"{substeps}")
        count = len(truth)
        middle.semilogy(time[1:count], errors[substeps][1:], color=color, label=f"{substeps}")
    left.set(xlabel="time [s]", ylabel="energy / energy at the start", ylim=(0, 1.05), title="energy")
    left.legend(title="substeps of a frame", ncols=2, loc="lower left", fontsize=8)
    middle.axvline(COMPARED, color="black", linewidth=0.8, linestyle=":")
    middle.set(xlabel="time [s]", ylabel="distance of the tip to the exact one [m]", title="error against Runge-Kutta")
    time = np.arange(len(distance)) * DT
    right.semilogy(time, distance, color="tab:red")
    right.set(xlabel="time [s]", ylabel="distance between the tips [m]", title=f"two arms, {STRAY:g} degrees apart")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return pendulum(SUBSTEPS[-1])


def main(arguments: list[str] | None = None) -> None:
    """Let the arm go with every number of substeps, check, plot."""
    parser = argparse.ArgumentParser(description="energy and chaos of a triple pendulum")
    parser.add_argument("--frames", type=int, default=900, help="frames of 1/60 s, 60 at least")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    runs = {n: simulate(n, max(options.frames, 60)) for n in SUBSTEPS}
    truth = exact(2.0 * COMPARED)
    energies = {n: energy for n, (energy, _) in runs.items()}
    errors = {n: np.linalg.norm((x[: len(truth)] - truth)[:, 3], axis=1) for n, (_, x) in runs.items()}
    most = SUBSTEPS[-1]
    _, other = simulate(most, max(options.frames, 60), stray=STRAY)
    distance = np.linalg.norm((runs[most][1] - other)[:, 3], axis=1)

    print("substeps   energy kept   error of the tip at 0.5 s [m]")
    for n in SUBSTEPS:
        print(f"{n:8d}   {energies[n][-1] / energies[n][0]:11.4f}   {errors[n][round(COMPARED / DT)]:.2e}")
    check(energies, errors, distance)
    plot(options.out / "triple_pendulum.png", energies, errors, truth, distance)
    print(f"wrote {options.out / 'triple_pendulum.png'}")


if __name__ == "__main__":
    main()
