r"""Sensitivity of a dam break: what decides when the water arrives, by a sweep over all numbers at once.

    |##|            :    |
    |##|  --->      :    |      T: time at which the front has run three widths of the column
    |##|____________:____|

Gravity, size, density and viscosity are drawn together from their ranges. A power law T ~ g^a L^b rho^c mu^d is fitted
to all members; its exponents are the sensitivities: by how many per cent T changes for one per cent of each.

Water knows no other length and time than those of the column and of gravity, and viscosity enters by the Reynolds
number Re = rho sqrt(g L^3) / mu alone. So T sqrt(g / L) is a function of Re (dimensional analysis). Whatever it is, the
exponents are bound to each other: a + 1/2 = -d / 2, b - 1/2 = -3 d / 2 and c = -d. The solver is told nothing of this.

Checked: these three, and that all members lie on one curve over Re, within what a step of the solver is of T; viscosity
slows the water down.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn

RANGES = {
    "gravity": "log:5:20:3",
    "width": "log:0.04:0.16:3",
    "density": "log:500:2000:3",
    "viscosity": "log:0.1:2:3",
}
SYMBOLS = {"gravity": "g", "width": "L", "density": "rho", "viscosity": "mu"}
ACROSS, DEEP = 8, 4  # particles across the column and the channel
FAR = 3.0  # where the water is awaited, in widths of the column
LONGEST = 0.6  # time of a member: the slowest water is there by then [s]


def column(gravity: float = 9.81, width: float = 0.08, density: float = 1000.0, viscosity: float = 0.01) -> sn.Scene:
    """A channel, and a column of water, twice as high as wide, against its left wall."""
    spacing = width / ACROSS
    deep = DEEP * spacing
    scene = sn.Scene(gravity=(0.0, -gravity, 0.0))
    scene.add_collider(
        sn.Box((5.0 * width, 4.0 * width, deep), inside=True), position=(2.5 * width, 2.0 * width, 0.0), name="channel"
    )
    scene.add_fluid(
        sn.Box((width, 2.0 * width, deep)),
        spacing=spacing,
        material=sn.FluidMaterial(rest_density=density, viscosity=viscosity),
        position=(0.5 * width, width, 0.0),
        name="water",
    )
    return scene


class Arrival:
    """The time at which the front has come far enough [s], not a number if it does not."""

    def __init__(self) -> None:
        self.time = np.nan
        self.before = (0.0, 1.0)

    def step(self, sim: sn.Simulation) -> None:
        """Look where the front is, as long as it has not arrived; in between it moves evenly."""
        if np.isfinite(self.time):
            return
        x = sim.positions("water")
        if sim.time < 2.0 * sim.settings.dt:
            # two rows at the start: the height of the column is twice its width
            self.width = 0.5 * float(x[:, 1].max())
        place = float(np.sort(x[:, 0])[-2 * DEEP]) / self.width
        if place >= FAR:
            at, was = self.before
            self.time = at + (FAR - was) / (place - was) * (sim.time - at)
        self.before = (sim.time, place)

    def result(self, sim: sn.Simulation) -> float:
        """The time [s]."""
        return self.time


def exponents(study: sn.Study) -> dict[str, float]:
    """Sensitivities: the exponents of a power law through all members."""
    logs = np.log(np.stack([study.column(name) for name in RANGES], axis=1))
    terms = np.concatenate([np.ones((len(study), 1)), logs], axis=1)
    found, *_ = np.linalg.lstsq(terms, np.log(study.column("Arrival")), rcond=None)
    return dict(zip(RANGES, found[1:].tolist(), strict=True))


def on_one_curve(study: sn.Study) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Reynolds numbers and times over sqrt(L / g) of the members, and those of a cubic through them."""
    g, width, density, viscosity = (study.column(name) for name in RANGES)
    reynolds, times = density * np.sqrt(g * width**3) / viscosity, study.column("Arrival") * np.sqrt(g / width)
    cubic = np.polynomial.Polynomial.fit(np.log(reynolds), times, 3)
    return reynolds, times, cubic(np.log(reynolds))


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(column(), dt=1.0 / 240.0, substeps=4)


def main(arguments: list[str] | None = None) -> None:
    """Sweep, fit, plot."""
    parser = argparse.ArgumentParser(description="what decides when the water of a dam break arrives")
    parser.add_argument("--members", type=int, default=32, help="runs, a power of two")
    parser.add_argument("--on", default="local", help="local, processes or the address of a scheduler of Dask")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    study = sn.sweep(
        column,
        RANGES,
        Arrival,
        options.out / f"dam_break_{options.members}",
        sample=f"sobol:{options.members}",
        duration=LONGEST,
        simulation={"dt": 1.0 / 240.0, "substeps": 4},
        on=options.on,
    )
    print(study)
    assert study.counts()["ok"] == options.members
    assert np.isfinite(study.column("Arrival")).all(), "in some members the water does not arrive"
    found = exponents(study)
    print("T ~ " + " ".join(f"{SYMBOLS[name]}^{value:.3f}" for name, value in found.items()))
    reynolds, times, curve = on_one_curve(study)
    step = (1.0 / 240.0 / study.column("Arrival")).max()
    print(f"off one curve over the Reynolds number: {100.0 * np.abs(times / curve - 1.0).max():.1f} % at most, "
          f"a step is up to {100.0 * step:.1f} %")  # fmt: skip
    shown().run(0.5, progress=False, record=options.out / "dam_break_sensitivity.npz")
    plot(found, reynolds, times, options.out / "dam_break_sensitivity.png")
    slowed = -found["viscosity"]
    # a step is so much of T; over ranges of a factor of four an exponent is off by a part of that
    close = step / np.log(4.0)
    assert abs(found["gravity"] + 0.5 - 0.5 * slowed) < close, "gravity"
    assert abs(found["width"] - 0.5 - 1.5 * slowed) < close, "size"
    assert abs(found["density"] - slowed) < close, "density"
    assert slowed < 0.0, "viscosity does not slow the water down"
    assert np.abs(times / curve - 1.0).max() < step, "more than the Reynolds number decides"


def plot(found: dict[str, float], reynolds: np.ndarray, times: np.ndarray, path: Path) -> None:
    """The sensitivities, and all members over the Reynolds number."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4))
    left.barh(list(found), list(found.values()), color="#4c78a8")
    left.plot([-0.5, 0.5, 0.0, 0.0], range(4), "k|", markersize=22, label="without viscosity")
    left.set(xlabel="change of the time of arrival in % for 1 % more", xlim=(-0.65, 0.65))
    left.invert_yaxis()
    left.legend(loc="lower right", markerscale=0.5)
    right.semilogx(reynolds, times, "o", markersize=4)
    right.set(xlabel="Reynolds number", ylabel="time of arrival / sqrt(L / g)")
    right.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
