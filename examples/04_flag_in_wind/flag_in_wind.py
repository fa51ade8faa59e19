r"""A flag in wind: structural, shear and bend springs, and a cloth that resists stretch but not shrinking.

    o--o--o--o     structural rows    o--o     along the edges of the cells, compliance of the weave
    |\/|\/|\/|     shear rows         \ and /  both diagonals, softer by ten: cloth shears easily
    |/\|/\|/\|     bend rows          o  .  o  across each edge, between the far corners ("cross")
    o--o--o--o

This is the mass-spring cloth of Provot 1995 in compliances. A woven cloth resists stretch and hardly resists being
pushed together: threads buckle between the crossings, far below the size of a cell. `compression_compliance` says so.
The flag flies twice, with rows that resist both ways and with rows that shrink a hundred times more easily.

The air pushes each triangle with (rho / 2) A |u| (C_n u_n + C_t u_t), u the speed relative to it. What hangs is blown
aside until it lies nearly along the wind; and a wave that runs down the flag slower than the wind is pushed from
behind, so that it grows on its way: the flag flutters.

Look at the player: waves run from the pole to the free end and grow on the way; the free corner whips. In the plot: the
sideways motion of the free edge, and the strains of the rows: both flags stretch alike and the soft one shrinks more.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

LENGTH, HEIGHT, DENSITY = 1.5, 1.0, 0.2  # [m], [m], [kg/m^2]
POINTS = (31, 21)  # along the length and the height
SPEED, AIR, DRAG = 6.0, 1.225, (1.2, 0.01)  # [m/s], [kg/m^3], normal and tangential drag coefficients
STRETCH, SHEAR, BEND = 3e-4, 3e-3, 0.2  # compliances [m/N]
SOFT = 100.0  # how much more easily the second flag shrinks
SUBSTEPS, DT = 40, 1 / 60


def wind(time: float) -> tuple[float, float, float]:
    """A breeze that freshens and veers a little [m/s]."""
    gust = np.sin(2.0 * np.pi * 0.35 * time)
    return SPEED + 2.0 * gust, 0.0, 1.5 * np.sin(2.0 * np.pi * 0.21 * time + 1.0)


def build(compression: float) -> tuple[sn.Scene, object]:
    """A flag on a pole; its rows shrink with the compliance `compression` times that of stretch."""
    scene = sn.Scene(wind=wind, air_density=AIR)
    vertices, faces = sn.grid(shape=POINTS, size=(LENGTH, HEIGHT), diagonal="alternating")
    vertices = np.stack([vertices[:, 0] + 0.5 * LENGTH, 2.0 - vertices[:, 2], vertices[:, 1]], axis=1)
    cloth = sn.ClothMaterial(
        density=DENSITY,
        stretch_compliance=STRETCH,
        compression_compliance=STRETCH * compression,
        shear_compliance=SHEAR,
        bend_model="cross",
        bend_compliance=BEND,
        damping=2e-3,
        drag_normal=DRAG[0],
        drag_tangential=DRAG[1],
    )
    flag = scene.add_cloth((vertices, faces), material=cloth, name="flag")
    flag.pin(flag.where(lambda x: x[:, 0] < 1e-9))
    scene.add_collider(sn.Capsule(0.02, 2.6), position=(-0.025, 1.3, 0.0), name="pole")
    return scene, flag


def fly(compression: float, frames: int, outputs: list[Path]) -> dict[str, np.ndarray]:
    """Free edge (frames, rows, 3) [m], and the largest and mean stretch and mean shrinking of structural rows."""
    scene, flag = build(compression)
    simulation = sn.Simulation(scene, dt=DT, substeps=SUBSTEPS, threads=1)
    edge, stretch, typical, shrink = [], [], [], []
    with Recorder(simulation, outputs, title="a flag in wind") as recorder:
        recorder.record()
        for _ in range(frames):
            simulation.step()
            recorder.record()
            x = simulation.positions(flag).reshape(POINTS[1], POINTS[0], 3).astype(float)
            along = np.linalg.norm(np.diff(x, axis=1), axis=-1) / (LENGTH / (POINTS[0] - 1)) - 1.0
            down = np.linalg.norm(np.diff(x, axis=0), axis=-1) / (HEIGHT / (POINTS[1] - 1)) - 1.0
            strain = np.concatenate([along.ravel(), down.ravel()])
            edge.append(x[:, -1])
            stretch.append(strain.max())
            typical.append(np.maximum(strain, 0.0).mean())
            shrink.append(-np.minimum(strain, 0.0).mean())
    return {
        "edge": np.array(edge),
        "stretch": np.array(stretch),
        "typical": np.array(typical),
        "shrink": np.array(shrink),
    }


def check(flags: dict[str, dict[str, np.ndarray]], settled: int) -> None:
    """Both flags fly downwind and keep their size; the soft one shrinks more."""
    weight = DENSITY * LENGTH * HEIGHT * 9.81
    mass, h = DENSITY * (LENGTH / (POINTS[0] - 1)) * (HEIGHT / (POINTS[1] - 1)), DT / SUBSTEPS
    # the row at the upper corner carries the weight and its share of what the air pulls at a board; load that comes
    # suddenly stretches twice as far; and a sweep adds 2 h^2 / m to the compliance of a row
    pull = 0.5 * AIR * DRAG[0] * (SPEED + 2.0) ** 2 * LENGTH * HEIGHT
    load = 2.0 * (weight + pull / POINTS[1])
    bound = load * (STRETCH + 2.0 * h**2 / mass) / (LENGTH / (POINTS[0] - 1))
    for name, flag in flags.items():
        edge = flag["edge"][settled:]
        assert np.isfinite(edge).all()
        assert edge[..., 0].mean() > 0.75 * LENGTH, f"{name}: the free edge does not stream downwind"
        reach = np.hypot(edge[..., 0], edge[..., 2]).max()
        assert reach < LENGTH * (1.0 + bound), f"{name}: the free edge is {reach:.2f} m from the pole"
        assert flag["stretch"].max() < bound, (
            f"{name}: a row stretched by {flag['stretch'].max():.3f}, above {bound:.3f}"
        )
        assert flag["typical"][settled:].mean() < 0.02, f"{name}: the weave stretches by more than two per cent"
        sideways = edge[..., 2].std(axis=0).mean()
        assert sideways > 0.02 * LENGTH, f"{name}: the free edge hangs still"
    stiff, soft = (flag["shrink"][settled:].mean() for flag in flags.values())
    assert soft > 1.3 * stiff, "rows that shrink easily shrink more"


def plot(path: Path, flags: dict[str, dict[str, np.ndarray]]) -> None:
    """Sideways motion of the free edge, stretch and shrinking."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
    for name, flag in flags.items():
        time = (np.arange(len(flag["edge"])) + 1) * DT
        left.plot(time, flag["edge"][:, -1, 2], linewidth=1, label=name)
        middle.plot(time, 100.0 * flag["typical"], linewidth=1, label=name)
        right.plot(time, 100.0 * flag["shrink"], linewidth=1, label=name)
    left.set(xlabel="time [s]", ylabel="sideways position [m]", title="lower free corner")
    middle.set(xlabel="time [s]", ylabel="mean stretch [%]", title="structural rows", ylim=(0, None))
    right.set(xlabel="time [s]", ylabel="mean shrinking [%]", title="structural rows", ylim=(0, None))
    right.legend(title="compliance against shrinking", fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(SOFT)[0], dt=DT, substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Fly both flags, check, write a player and a plot."""
    parser = argparse.ArgumentParser(description="a flag that resists stretch but not shrinking")
    parser.add_argument("--frames", type=int, default=480, help="frames of 1/60 s, 150 at least")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    frames = max(options.frames, 150)
    outputs = [options.out / f"flag_in_wind{suffix}" for suffix in (".html", ".npz")]
    flags = {
        "as against stretch": fly(1.0, frames, []),
        f"{SOFT:g} times that": fly(SOFT, frames, outputs),
    }
    settled = 60  # frames in which the flag is caught by the wind
    for name, flag in flags.items():
        edge = flag["edge"][settled:]
        most, mean, shrink = (100 * v for v in (flag["stretch"].max(), flag["typical"].mean(), flag["shrink"].mean()))
        print(
            f"{name:<18} free edge {edge[..., 0].mean():.2f} m downwind, sideways +-{edge[..., 2].std():.3f} m; "
            f"stretch {mean:.2f} % on average, {most:.1f} % at most, shrinking {shrink:.3f} % on average"
        )
    check(flags, settled)
    plot(options.out / "flag_in_wind.png", flags)
    print(f"wrote {outputs[0]}, {outputs[1]} and {options.out / 'flag_in_wind.png'}")


if __name__ == "__main__":
    main()
