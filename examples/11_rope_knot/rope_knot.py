r"""Rope knot: an overhand knot is pulled tight, and holds.

             ___
    ________/_  \________      the long trefoil of Shastri 1992, Polynomial representations of knots:
           ( /  /              x = t^3 - 3 t,  y = t^4 - 4 t^2,  z = t^5 - 10 t,  flattened,
            \_\/               and straight on where it leaves the knot

Two hands pull at the ends with springs. The loop gets smaller until the rope is in its own way; from then on the
springs stretch, and what they pull is the force in the knot. Then the hands stop, and the knot has to hold.

The rope is a chain of capsules, each of which keeps off all but its neighbours. One that cannot pass through itself
stays the same knot, whatever it does. The determinant of the knot says so: 3 for an overhand knot, 1 for a rope that
could be pulled straight. It is counted from the crossings of a projection and knows nothing of contacts.

Look at the player: the loop shrinks, turns about the pull and locks. In the plot: the force stays small while rope runs
through the knot, rises as the hands go on, and is kept when they stop.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

RADIUS, SEGMENT, DENSITY = 0.005, 0.008, 0.1  # [m], [m], [kg/m]
SPEED, PULL, SPRING = 0.06, 0.14, 0.05  # of each hand [m/s], how far it goes [m], its compliance [m/N]
HOLD = 1.5  # time that the knot has to hold [s]
SUBSTEPS = 80


def overhand(size: float = 0.02) -> np.ndarray:
    """Points SEGMENT apart along an overhand knot (N, 3), the ends along X."""
    t = np.linspace(-2.05, 2.05, 4001)
    knot = size * np.stack([t**3 - 3.0 * t, 0.5 * (t**4 - 4.0 * t**2), 0.12 * (t**5 - 10.0 * t)], axis=1)
    tail = np.linspace(0.0, 1.0, 500)[1:, None] * np.array([0.08, 0.0, 0.0])
    points = np.concatenate([knot[0] - tail[::-1], knot, knot[-1] + tail])
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    at = np.linspace(0.0, along[-1], round(along[-1] / SEGMENT) + 1)
    return np.stack([np.interp(at, along, points[:, k]) for k in range(3)], axis=1)


def determinant(points: np.ndarray) -> int:
    """Determinant of the knot that an open curve (N, 3) makes when its ends are joined far away, along Y.

    Each crossing of the projection along Z relates the strand that goes over to the two that end at it, 2 a - b - c
    (a colouring matrix); the determinant is any minor of it with one row and one column less.
    """
    turn, _ = np.linalg.qr(np.array([[1.0, 0.03, 0.05], [-0.02, 1.0, 0.07], [0.04, -0.06, 1.0]]))
    points = points @ (turn * np.sign(np.diag(turn)))  # so that no crossing falls on a corner
    middle = points.mean(axis=0)
    far = 100.0 * np.ptp(points)
    around = middle + far * np.array([[-1.0, 0.0, 0.0], [-1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
    closed = np.concatenate([points, around[::-1]])
    p, d = closed, np.roll(closed, -1, axis=0) - closed
    n = len(p)
    i, j = np.triu_indices(n, 2)
    i, j = i[(j + 1) % n != i], j[(j + 1) % n != i]
    cross = d[i, 0] * d[j, 1] - d[i, 1] * d[j, 0]
    cross[cross == 0.0] = 1e-300
    gap = p[j] - p[i]
    s = (gap[:, 0] * d[j, 1] - gap[:, 1] * d[j, 0]) / cross
    u = (gap[:, 0] * d[i, 1] - gap[:, 1] * d[i, 0]) / cross
    meet = (s >= 0.0) & (s < 1.0) & (u >= 0.0) & (u < 1.0)
    i, j, s, u = i[meet], j[meet], s[meet], u[meet]
    first_over = p[i, 2] + s * d[i, 2] > p[j, 2] + u * d[j, 2]
    over = np.where(first_over, i + s, j + u)
    under = np.where(first_over, j + u, i + s)
    breaks = np.sort(under)  # a strand runs from one undercrossing to the next
    count = len(breaks)
    if count < 2:
        return 1
    matrix = np.zeros((count, count))
    for row in range(count):
        end = int(np.searchsorted(breaks, under[row]))
        matrix[row, np.searchsorted(breaks, over[row]) % count] += 2.0
        matrix[row, end] -= 1.0
        matrix[row, (end + 1) % count] -= 1.0
    return round(abs(np.linalg.det(matrix[1:, 1:])))


def build() -> tuple[sn.Scene, object, list]:
    """The knotted rope and the hands that pull at its ends."""
    points = overhand()
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0), damping=2.0)
    material = sn.RopeMaterial(density=DENSITY, radius=RADIUS, friction=0.3, bend_compliance=1e-2)
    rope = scene.add_rope(points, material=material, self_collision=True, name="rope")

    def hand(index: int, way: float) -> object:
        def motion(time: float) -> np.ndarray:
            return points[index] + np.array([way * min(SPEED * time, PULL), 0.0, 0.0])

        return scene.attach((rope, index), motion, compliance=SPRING)

    return scene, rope, [hand(0, -1.0), hand(len(points) - 1, 1.0)]


def plot(path: Path, time: np.ndarray, pull: np.ndarray, apart: np.ndarray, length: float) -> None:
    """Force in the hands and distance of the ends against time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    above.plot(time, pull, label=["left hand", "right hand"])
    above.axvline(PULL / SPEED, color="black", linestyle=":", linewidth=0.8, label="the hands stop")
    above.set(ylabel="pull [N]")
    above.legend()
    below.plot(time, 100.0 * apart)
    below.axhline(100.0 * length, color="black", linestyle="--", linewidth=0.8, label="length of the rope")
    below.set(xlabel="time [s]", ylabel="distance of the ends [cm]")
    below.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Pull the knot tight, read the force, check that it is still a knot, write results and a plot."""
    parser = argparse.ArgumentParser(description="an overhand knot pulled tight")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, rope, hands = build()
    length = float(np.linalg.norm(np.diff(rope.positions, axis=0), axis=1).sum())
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    time, pull, apart = [], [], []
    outputs = [options.out / "rope_knot.html", options.out / "rope_knot.npz"]
    with Recorder(simulation, outputs, title="an overhand knot pulled tight") as recorder:
        recorder.record()
        for _ in range(round((PULL / SPEED + HOLD) * 60.0)):
            simulation.step()
            recorder.record()
            x = simulation.positions(rope).astype(float)
            assert determinant(x) == 3, f"the knot is another one at {simulation.time:.2f} s: {determinant(x)}"
            time.append(simulation.time)
            pull.append([-simulation.forces(hands[0])[0, 0], simulation.forces(hands[1])[0, 0]])
            apart.append(np.linalg.norm(x[-1] - x[0]))
    time, pull, apart = np.array(time), np.abs(pull), np.array(apart)
    plot(options.out / "rope_knot.png", time, pull, apart, length)

    stop = int(PULL / SPEED * 60.0)
    knot = length - apart[-1]
    print(f"a rope of {100 * length:.1f} cm; the knot takes {100 * knot:.1f} cm, {0.5 * knot / RADIUS:.1f} diameters")
    print(f"pull when the hands stop {pull[stop].mean():.3f} N, at the end {pull[-1].mean():.3f} N")
    assert np.abs(np.diff(pull[stop:], axis=1)).max() < 0.05 * pull[stop].mean(), "the hands pull unlike each other"
    assert pull[-1].mean() > 0.9 * pull[stop].mean(), "the knot gives way"
    assert pull[stop].mean() > 20.0 * pull[stop // 4].mean(), "the knot never gets tight"
    between = simulation.contacts()
    inside = np.linalg.norm(between.forces, axis=1).sum()
    print(f"{len(between)} contacts in the knot press with {inside:.2f} N in all")
    assert inside > pull[-1].mean(), "what is pulled is not held by contacts"
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'rope_knot.png'}")


if __name__ == "__main__":
    main()
