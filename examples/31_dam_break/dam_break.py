r"""Dam break: a column of water, twice as high as wide, is let go and runs along a channel.

    |##|                 |
    |##|   gate opens    |        front z(t) and height h(t) of the column, as Martin and Moyce filmed them in 1952
    |##|_________________|        with a column 2.25 in wide: An experimental study of the collapse of liquid columns

The plot shows the film of 1952 and this simulation; lengths are over the width a of the column, its height over 2 a,
times are t sqrt(2 g / a) for the front and t sqrt(g / a) for the height.

Checked: height within 10 % and front within 15 % of the film (its first moments, when the gate is on its way, apart),
none leaves the channel, water is not squeezed, and the energy never rises.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
WIDTH = 0.05715  # of the column, a [m]
ACROSS, DEEP = 16, 8  # particles across the column and the channel
SPACING = WIDTH / ACROSS
LENGTH = 5.0 * WIDTH  # of the channel [m]

# t sqrt(2 g / a), front / a
FRONT = np.array([
    (0.41, 1.11), (0.84, 1.22), (1.19, 1.44), (1.43, 1.67), (1.63, 1.89), (1.83, 2.11), (1.98, 2.33), (2.20, 2.56),
    (2.32, 2.78), (2.51, 3.00), (2.65, 3.22), (2.83, 3.44), (2.98, 3.67), (3.11, 3.89), (3.33, 4.11),
])  # fmt: skip
# t sqrt(g / a), height / 2 a
HEIGHT = np.array([
    (0.56, 0.94), (0.93, 0.83), (1.28, 0.72), (1.66, 0.61), (2.00, 0.50), (2.45, 0.39), (3.06, 0.28), (4.20, 0.17),
])  # fmt: skip
GATE = 1.0  # t sqrt(2 g / a) up to which the gate of the experiment is still in the way


def build() -> sn.Scene:
    """The channel, and the column against its left wall."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    deep = DEEP * SPACING
    scene.add_collider(
        sn.Box((LENGTH, 4.0 * WIDTH, deep), inside=True), position=(0.5 * LENGTH, 2.0 * WIDTH, 0.0), name="channel"
    )
    scene.add_fluid(
        sn.Box((WIDTH, 2.0 * WIDTH, deep)),
        spacing=SPACING,
        material=sn.FluidMaterial.preset("water"),
        position=(0.5 * WIDTH, WIDTH, 0.0),
        name="water",
    )
    return scene


def measure(x: np.ndarray) -> tuple[float, float]:
    """How far the water has come along the floor [m], and how high it stands at the back wall [m].

    The front is that of the third row of particles, which no single drop is; the height follows from the volume there.
    """
    low, back = x[:, 1] < 2.0 * SPACING, x[:, 0] < 2.0 * SPACING
    front = np.sort(x[low, 0])[-3 * DEEP] + 0.5 * SPACING
    return float(front), float(np.count_nonzero(back)) * SPACING / (2.0 * DEEP)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), dt=1.0 / 240.0, substeps=4)


def main(arguments: list[str] | None = None) -> None:
    """Let it go, compare, write results."""
    parser = argparse.ArgumentParser(description="a column of water collapses")
    parser.add_argument("--frames", type=int, default=80, help="frames of 1/240 s; the front is at 4 a after 60")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    simulation = sn.Simulation(build(), dt=1.0 / 240.0, substeps=4)
    outputs = [options.out / "dam_break.html", options.out / "dam_break.npz"]
    history, energies = [(0.0, WIDTH, 2.0 * WIDTH)], [simulation.energy().total]
    with Recorder(simulation, outputs, frames_per_second=240.0, title="dam break") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            x = simulation.positions("water").astype(float)
            history.append((simulation.time, *measure(x)))
            energies.append(simulation.energy().total)
    times, fronts, heights = np.array(history).T
    scaled = times * np.sqrt(GRAVITY / WIDTH)
    seen = FRONT[(FRONT[:, 0] > GATE) & (FRONT[:, 0] < np.sqrt(2.0) * scaled[-1])]
    front = np.interp(seen[:, 0], np.sqrt(2.0) * scaled, fronts / WIDTH)
    tall = HEIGHT[HEIGHT[:, 0] < scaled[-1]]
    height = np.interp(tall[:, 0], scaled, heights / (2.0 * WIDTH))
    density = simulation.densities("water")
    off_front, off_height = np.abs(front / seen[:, 1] - 1.0).max(), np.abs(height - tall[:, 1]).max()
    print(f"front: off the film by {100.0 * off_front:.1f} % at most")
    print(f"height: off the film by {100.0 * off_height:.1f} % of the height at the start at most")
    squeezed = np.maximum(density / 998.0 - 1.0, 0.0).mean()
    print(f"squeezed by {100.0 * squeezed:.2f} % in the mean")
    print(f"energy {energies[0]:.4f} J at first, {energies[-1]:.4f} J in the end")
    plot(history, options.out / "dam_break.png")
    assert off_front < 0.15, "the front is not where the film has it"
    assert off_height < 0.10, "the column is not as high as in the film"
    low, high = np.array([0.0, 0.0, -0.5 * DEEP * SPACING]), np.array([LENGTH, np.inf, 0.5 * DEEP * SPACING])
    assert ((x > low) & (x < high)).all(), "water has left the channel"
    assert squeezed < 0.01, "water is squeezed"
    assert np.max(energies) < energies[0] + 1e-3 * abs(energies[0]), "energy comes out of nothing"
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'dam_break.png'}")


def plot(history: list[tuple[float, float, float]], path: Path) -> None:
    """Front and height over time, with those of the film."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    times, fronts, heights = np.array(history).T
    scaled = times * np.sqrt(GRAVITY / WIDTH)
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 4))
    left.plot(np.sqrt(2.0) * scaled, fronts / WIDTH, label="shinari")
    left.plot(*FRONT.T, "o", label="Martin and Moyce 1952")
    left.set(xlabel="t sqrt(2 g / a)", ylabel="front / a", xlim=(0.0, 3.5), ylim=(1.0, 5.0))
    right.plot(scaled, heights / (2.0 * WIDTH))
    right.plot(*HEIGHT.T, "o")
    right.set(xlabel="t sqrt(g / a)", ylabel="height / 2 a", xlim=(0.0, 4.5), ylim=(0.0, 1.0))
    left.legend()
    for axis in (left, right):
        axis.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
