r"""Hourglass: sand runs through a narrow neck at a rate that does not depend on how much is above it.

    |::::::::::|
     \::::::::/       The rate of water would fall with the height above the neck. Sand carries itself by arches over
      \::::::/        the neck, and what comes out has only fallen from the last arch: that is why an hourglass tells
       \::::/         the time (Janssen 1895; Beverloo, Leniger and van de Velde 1961).
       / .  \
      /  :   \        The glass is made of eight boards: their faces are the slopes, what sticks out lies in each other.
     /  .:.   \
    |_.:::::._ |

Checked: the number of grains below never falls, the rate is the same in the first and in the second half of the time,
all but a few grains come through, and none leaves the glass.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
RADIUS, NECK = 0.005, 0.055  # of a grain and width of the neck [m]
GLASS, HALF = 0.16, 0.26  # width of the glass and height of each half [m]
SLOPE, THICK = np.radians(55.0), 0.02  # of the funnel, thickness of its boards [m]


def build(filled: float) -> sn.Scene:
    """Two funnels, neck to neck, in a box; sand in the upper one, loosely filled up to a height [m]."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Box((GLASS, 2 * HALF, GLASS), inside=True), friction=0.1, name="glass")
    length = 0.5 * (GLASS - NECK) / np.cos(SLOPE)
    for up in (1.0, -1.0):
        along, normal = np.array([np.cos(SLOPE), up * np.sin(SLOPE)]), np.array([-np.sin(SLOPE), up * np.cos(SLOPE)])
        middle = np.array([0.5 * NECK, 0.0]) + 0.5 * length * along - 0.5 * THICK * normal
        for quarter in range(4):
            turn = 0.5 * np.pi * quarter
            # about Z to the slope, then about Y to its side of the glass
            c, s, cy, sy = np.cos(up * SLOPE / 2), np.sin(up * SLOPE / 2), np.cos(turn / 2), np.sin(turn / 2)
            scene.add_collider(
                sn.Box((length, THICK, GLASS)),
                position=(middle[0] * np.cos(turn), middle[1], -middle[0] * np.sin(turn)),
                rotation=(cy * c, sy * s, sy * c, cy * s),
                friction=0.1,
                name=f"{'upper' if up > 0 else 'lower'} board {quarter}",
            )
    start = 0.5 * (GLASS - NECK) * np.tan(SLOPE)
    sand = sn.GrainMaterial(density=2650.0, friction=0.1)
    room = sn.Box((GLASS, filled, GLASS))
    scene.add_grains(
        room, radius=RADIUS, spread=0.1, position=(0.0, start + 0.5 * filled, 0.0), material=sand, name="sand"
    )
    return scene


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(0.15), substeps=4)


def main(arguments: list[str] | None = None) -> None:
    """Let the sand run through, check, draw."""
    parser = argparse.ArgumentParser(description="sand runs through an hourglass")
    parser.add_argument("--filled", type=float, default=0.15, help="height of the loose filling [m]")
    parser.add_argument("--frames", type=int, default=120, help="frames of 1/60 s")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build(options.filled)
    simulation = sn.Simulation(scene, substeps=4)
    outputs = [options.out / "hourglass.html", options.out / "hourglass.npz"]
    below = [0]
    with Recorder(simulation, outputs, frames_per_second=60.0, title="an hourglass") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            below.append(int((simulation.positions("sand")[:, 1] < -THICK).sum()))
    gone, x = np.array(below), simulation.positions("sand")
    count = len(x)
    first, middle, last = (float(np.interp(part * count, gone, np.arange(len(gone)))) for part in (0.2, 0.45, 0.7))
    change = (middle - first) / (last - middle)
    rate = 60.0 * 0.5 * count / (last - first)
    draw(gone, options.out / "hourglass.png")
    print(
        f"{gone[-1]} of {count} grains have come through, {rate:.0f} in a second; later over earlier rate {change:.2f}"
    )
    assert (np.diff(gone) >= 0).all(), "grains have come back"
    assert gone[-1] > 0.97 * count, "sand is stuck in the glass"
    assert abs(change - 1.0) < 0.25, "the rate depends on how much is above"
    assert np.abs(x[:, [0, 2]]).max() < 0.5 * GLASS, "a grain has left the glass"
    assert np.abs(x[:, 1]).max() < HALF, "a grain has left the glass"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


def draw(gone: np.ndarray, path: Path) -> None:
    """Grains below the neck over time."""
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
    axes.plot(np.arange(len(gone)) / 60.0, gone)
    axes.set(xlabel="time [s]", ylabel="grains below the neck", title="an hourglass")
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
