r"""Calibrated drape: two numbers of a fabric from how two strips of it hang, by a sweep.

    ====____            |  |      A strip clamped at one end droops: the heights of five points of it are read.
            \           |  |      A strip that hangs from its end grows longer: its length is read.
             |          |__|      Asked for: the bending stiffness and the stretch compliance with which a mesh does so.

The readings are those of a heavy elastica, and of a strip that stretches under its own weight by density g L^2 C / 2,
on a ruler with half millimetres. The sweep runs both strips with many values of the two. The readings are smooth in
them, so a cubic polynomial through the members gives them in between; the best fit is where they come closest, and how
far they may be changed before they are off by the ruler says how well they are known. `--members 256` runs 256 members,
`--on` says where.

Checked: the fit reads what was read, within the ruler; the stretch compliance is that of the fabric; and the mesh with
the numbers found droops like the elastica at another overhang, which it was not fitted to. Its bending stiffness is
above that of the fabric: a narrow strip of this mesh bends more easily than the elastica, and the fit makes up for it.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn

GRAVITY = 9.81  # [m/s^2]
DENSITY = 0.2  # of the fabric, known from a pair of scales [kg/m^2]
FABRIC = {"bending": 2.5e-5, "stretch": 2.0e-2}  # [N m], [m/N]
RANGES = {"bending": "log:1e-5:8e-5:9", "stretch": "log:5e-3:8e-2:9"}
CELL = 0.006  # of the strip that is clamped [m]
FITTED, PREDICTED = 8, 12  # cells of it that are free, where it is fitted and where it is tried
LONG = 0.4  # of the strip that hangs [m]
RULER = 5e-4  # [m]
SECONDS, SUBSTEPS = 1.5, 100


def fabric(bending: float, stretch: float, free: int = FITTED) -> sn.Scene:
    """The two strips at the start."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), damping=6.0)
    material = sn.ClothMaterial(density=DENSITY, bend_stiffness=bending, stretch_compliance=stretch)
    size = ((free + 1) * CELL, 2.0 * CELL)
    strip = sn.grid(shape=(free + 2, 3), size=size, diagonal="alternating")
    clamped = scene.add_cloth(strip, material=material, position=(0.5 * size[0] - CELL, 0.0, 0.0), name="clamped")
    clamped.pin(clamped.where(lambda x: x[:, 0] < 0.5 * CELL))
    vertices, faces = sn.grid(shape=(21, 3), size=(LONG, 0.04), diagonal="alternating")
    hanging = scene.add_cloth(
        (vertices[:, [1, 0, 2]], faces), material=material, position=(-0.05, -0.5 * LONG, 0.0), name="hanging"
    )
    hanging.pin(hanging.where(lambda x: x[:, 1] > -1e-6))
    return scene


def readings(sim: sn.Simulation) -> list[float]:
    """Heights of the last five points of the clamped strip, and how much longer the hanging one is [m]."""
    line = middle(sim)
    return [*line[-5:, 1].tolist(), -float(sim.positions("hanging")[:, 1].min()) - LONG]


def middle(sim: sn.Simulation) -> np.ndarray:
    """Points of the middle line of the clamped strip, from the clamp on [m], (free + 2, 3)."""
    x = sim.positions("clamped").astype(float)
    return x.reshape(3, -1, 3)[1]


def elastica(bending: float, free: int) -> np.ndarray:
    """Points of a clamped strip that does not stretch, by theory [m], (401, 2).

    B theta'' = -density g (L - s) cos(theta), theta(0) = 0, theta'(L) = 0 (Bickley, The heavy elastica, 1934), by
    Newton's method on finite differences, while the weight grows to its own.
    """
    count, overhang = 400, (free + 0.5) * CELL  # the mesh bends in half a cell of the clamp, too
    s, ds = np.linspace(0.0, overhang, count + 1, retstep=True)
    load = DENSITY * GRAVITY * (overhang - s) / bending
    second = (np.diag(np.ones(count), 1) + np.diag(np.ones(count), -1) - 2.0 * np.eye(count + 1)) / ds**2
    second[-1, -2] = 2.0 / ds**2
    theta = np.zeros(count + 1)
    for share in np.linspace(0.1, 1.0, 10):
        for _ in range(6):
            residual = second @ theta + share * load * np.cos(theta)
            jacobian = second - np.diag(share * load * np.sin(theta))
            residual[0], jacobian[0] = theta[0], np.eye(count + 1)[0]
            theta -= np.linalg.solve(jacobian, residual)
    mean = 0.5 * (theta[1:] + theta[:-1])
    steps = np.stack([np.cos(mean), -np.sin(mean)], axis=1) * ds
    return np.concatenate([np.zeros((1, 2)), np.cumsum(steps, axis=0)]) - (0.5 * CELL, 0.0)


def by_theory(free: int) -> np.ndarray:
    """The readings of the fabric [m], (6,)."""
    along = np.linspace(-0.5, free, 401) * CELL
    heights = np.interp(np.arange(free - 4, free + 1) * CELL, along, elastica(FABRIC["bending"], free)[:, 1])
    longer = 0.5 * DENSITY * GRAVITY * LONG**2 * FABRIC["stretch"]
    return np.array([*heights, longer])


def terms(bending: np.ndarray, stretch: np.ndarray) -> np.ndarray:
    """The ten terms of a cubic polynomial of the logarithms, each from -1 to 1 in its range, (N, 10)."""
    u, v = (_place(name, values) for name, values in (("bending", bending), ("stretch", stretch)))
    return np.stack([u**i * v**j for i in range(4) for j in range(4 - i)], axis=-1)


def _place(name: str, values: np.ndarray) -> np.ndarray:
    low, high = (np.log(float(word)) for word in RANGES[name].split(":")[1:3])
    return 2.0 * (np.log(values) - low) / (high - low) - 1.0


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(fabric(3e-5, FABRIC["stretch"]), substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Sweep, fit, try the fit elsewhere, plot."""
    parser = argparse.ArgumentParser(description="find two numbers of a fabric from how it hangs")
    parser.add_argument("--members", type=int, default=32, help="runs, a power of two")
    parser.add_argument("--on", default="local", help="local, processes or the address of a scheduler of Dask")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    study = sn.sweep(
        fabric,
        RANGES,
        readings,
        options.out / f"drape_{options.members}",
        sample=f"sobol:{options.members}",
        duration=SECONDS,
        simulation={"substeps": SUBSTEPS},
        on=options.on,
        progress=True,
    )
    print(study)
    assert study.counts()["ok"] == options.members
    found = np.array([*study.column("readings")])
    read = np.round(by_theory(FITTED) / RULER) * RULER
    polynomial, *_ = np.linalg.lstsq(terms(study.column("bending"), study.column("stretch")), found, rcond=None)
    bending, stretch = (np.geomspace(*map(float, RANGES[name].split(":")[1:3]), 301) for name in RANGES)
    map_of_readings = terms(*np.meshgrid(bending, stretch, indexing="ij")) @ polynomial
    misfit = np.sqrt((((map_of_readings - read) / RULER) ** 2).mean(axis=-1))
    i, j = np.unravel_index(misfit.argmin(), misfit.shape)
    # a ruler is off by half of its marks at most
    likely = np.abs(map_of_readings - read).max(axis=-1) < np.abs(map_of_readings[i, j] - read).max() + 0.5 * RULER
    spread = [np.ptp(np.log(values[likely.any(axis=k)])) / 2.0 for k, values in ((1, bending), (0, stretch))]
    for name, value, part in zip(RANGES, (bending[i], stretch[j]), spread, strict=True):
        print(f"{name}: {value:.3g}, known within {100.0 * part:.0f} %; that of the fabric is {FABRIC[name]:g}")
    print(f"readings are met within {misfit[i, j]:.2f} marks of the ruler")

    fitted = run(bending[i], stretch[j], FITTED, options.out / "calibrated_drape.npz")
    tried = run(bending[i], stretch[j], PREDICTED)
    off = np.abs(np.array(readings(tried)) - by_theory(PREDICTED))[:5].max()
    print(f"at another overhang the mesh is off by {1e3 * off:.2f} mm of {-1e3 * by_theory(PREDICTED)[4]:.1f} mm")
    plot(study, (bending, stretch, misfit), (i, j), (fitted, tried), options.out / "calibrated_drape.png")
    assert np.abs(np.array(readings(fitted)) - read).max() < 2.0 * RULER, "the fit does not read what was read"
    off_stretch = abs(np.log(stretch[j] / FABRIC["stretch"]))
    assert off_stretch < spread[1] + 0.05, "the stretch compliance is not that of the fabric"
    assert off < 3.0 * RULER, "what was fitted at one overhang does not hold at another"


def run(bending: float, stretch: float, free: int, path: Path | None = None) -> sn.Simulation:
    """The strips at rest."""
    simulation = sn.Simulation(fabric(bending, stretch, free), substeps=SUBSTEPS)
    simulation.run(SECONDS, progress=False, record=path)
    return simulation


def plot(study: sn.Study, fit: tuple, best: tuple, runs: tuple, path: Path) -> None:
    """The misfit with the members, and the strips beside the elastica."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    bending, stretch, misfit = fit
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(11, 4.5))
    shades = left.contourf(bending, stretch, misfit.T, levels=[0.0, 0.5, 1, 2, 4, 8, 16, 32], cmap="viridis_r")
    figure.colorbar(shades, ax=left, label="off the readings [marks of the ruler]")
    left.plot(study.column("bending"), study.column("stretch"), "k.", markersize=3, label="members")
    left.plot(bending[best[0]], stretch[best[1]], "o", color="white", markeredgecolor="black", label="best fit")
    left.plot(FABRIC["bending"], FABRIC["stretch"], "r+", markersize=11, label="fabric")
    left.set(xscale="log", yscale="log", xlabel="bending stiffness [N m]", ylabel="stretch compliance [m/N]")
    left.set_xticks([1e-5, 2e-5, 4e-5, 8e-5], ["1e-5", "2e-5", "4e-5", "8e-5"], minor=False)
    left.set_yticks([5e-3, 1e-2, 2e-2, 4e-2, 8e-2], ["0.005", "0.01", "0.02", "0.04", "0.08"], minor=False)
    left.minorticks_off()
    left.legend(loc="lower left")
    for number, (simulation, free) in enumerate(zip(runs, (FITTED, PREDICTED), strict=True)):
        line, theory = middle(simulation), elastica(FABRIC["bending"], free)
        right.plot(*(1e3 * theory.T), "k-", linewidth=1, label="elastica" if number == 0 else None)
        right.plot(*(1e3 * line[:, :2].T), "o", markersize=4, label=("fitted", "not fitted")[number])
    right.set(xlabel="[mm]", ylabel="[mm]", aspect="equal")
    right.legend()
    right.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


if __name__ == "__main__":
    main()
