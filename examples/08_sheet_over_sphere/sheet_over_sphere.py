r"""Sheet over sphere over table: a cloth falls over a ball that lies on a table, folds, and comes to rest.

              ____
             /    \            the sheet meets the ball first and hangs down all around it; it is too wide for its own
        ____/      \____       rim and has to fold; its corners go over the edges of the table
            \____/
       ==================

The sheet keeps half its thickness from the ball and from the table, and the whole of it from itself: its vertices stay
off its triangles and its edges off each other (`self_collision="triangles"`), whatever way they took in a substep.

What the contacts say is checked against what is known: at rest ball and table carry the weight of the sheet between
them and push against each other sideways. No vertex lies in the ball or in the table.

Look at the player: a cone first, then folds run down from the ball, the cone goes taut between the ball and the edges
of the table, and the corners hang in pleats. In the plot: what falls arrives with more than its weight.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

SIZE, THICKNESS = 1.4, 0.008  # [m]
RADIUS, TABLE, HEIGHT = 0.2, 0.8, 0.75  # of the ball, edge and height of the table [m]
GRAVITY = 9.81  # [m/s^2]
SUBSTEPS = 20


def build(points: int) -> tuple[sn.Scene, sn.ClothMaterial]:
    """The table, the ball on it and above both the sheet, `points` a side."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), wind=(0.0, 0.0, 0.0))
    scene.add_collider(sn.Box((TABLE, 0.04, TABLE)), position=(0.0, HEIGHT - 0.02, 0.0), friction=0.4, name="table")
    scene.add_collider(sn.Sphere(RADIUS), position=(0.0, HEIGHT + RADIUS, 0.0), friction=0.4, name="ball")
    material = sn.ClothMaterial.preset("cotton", thickness=THICKNESS, friction=0.4, damping=2e-3)
    vertices, faces = sn.grid(shape=(points, points), size=(SIZE, SIZE), diagonal="alternating")
    top = (0.0, HEIGHT + 2.0 * RADIUS + 0.05, 0.0)
    scene.add_cloth((vertices, faces), material=material, self_collision="triangles", position=top, name="sheet")
    return scene, material


def clearance(x: np.ndarray) -> tuple[float, float]:
    """How far the nearest vertex of the sheet is from touching the ball and the top of the table [m]."""
    ball = np.linalg.norm(x - (0.0, HEIGHT + RADIUS, 0.0), axis=1).min() - RADIUS
    over = (np.abs(x[:, [0, 2]]) < 0.5 * TABLE).all(axis=1) & (x[:, 1] > HEIGHT - 0.02)
    table = (x[over, 1] - HEIGHT).min() if over.any() else np.inf
    return float(ball) - 0.5 * THICKNESS, float(table) - 0.5 * THICKNESS


def plot(path: Path, time: np.ndarray, carried: np.ndarray, weight: float, kinetic: np.ndarray) -> None:
    """What ball and table carry, and the kinetic energy, against time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    left.plot(time, -carried[:, 0], label="ball")
    left.plot(time, -carried[:, 1], label="table")
    left.plot(time, -carried.sum(axis=1), "k", linewidth=0.8, label="both")
    left.axhline(weight, color="k", linestyle="--", linewidth=0.8, label="weight of the sheet")
    left.set(xlabel="time [s]", ylabel="force carried [N]")
    left.legend(fontsize=8)
    right.semilogy(time, kinetic)
    right.set(xlabel="time [s]", ylabel="kinetic energy [J]")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(61)[0], substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Let the sheet fall, check what the contacts say, write results and a plot."""
    parser = argparse.ArgumentParser(description="a sheet over a ball on a table")
    parser.add_argument("--points", type=int, default=61, help="vertices of the sheet along each side")
    parser.add_argument("--frames", type=int, default=300, help="frames of 1/60 s; at rest after 180")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, material = build(options.points)
    sheet, ball, table = scene["sheet"], scene["ball"], scene["table"]
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    weight = material.density * SIZE**2 * GRAVITY
    time, carried, kinetic, gaps, folded = [], [], [], [], 0
    outputs = [options.out / "sheet_over_sphere.html", options.out / "sheet_over_sphere.npz"]
    with Recorder(simulation, outputs, title="sheet over sphere over table") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            contacts = simulation.contacts()
            time.append(simulation.time)
            carried.append([-contacts.forces[contacts.second == thing].sum(axis=0) for thing in ("ball", "table")])
            kinetic.append(simulation.energy().kinetic)
            gaps.append(clearance(simulation.positions(sheet)))
            folded = max(folded, int((contacts.second == "sheet").sum()))
    time, carried, kinetic, gaps = (np.array(values) for values in (time, carried, kinetic, gaps))
    plot(options.out / "sheet_over_sphere.png", time, carried[..., 1], weight, kinetic)

    assert gaps.min() > -0.01 * THICKNESS, f"a vertex is {-gaps.min():.1e} m too deep in the ball or the table"
    assert np.allclose(carried[-1].sum(axis=0), simulation.forces(ball) + simulation.forces(table)), "forces() adds up"
    # the mean force on what changes its speed by v in half a second is its weight and 2 m v
    rest = carried[-30:].mean(axis=0)
    assert abs(rest[:, 1].sum() / weight + 1.0) < 0.01, (
        f"ball and table carry {-rest[:, 1].sum():.3f} N of {weight:.3f} N"
    )
    assert np.abs(rest.sum(axis=0)[[0, 2]]).max() < 0.01 * weight, "something pushes the sheet sideways"
    assert kinetic[-1] < 1e-2 * kinetic.max(), "the sheet does not come to rest"
    assert folded > 0, "no fold touches another"
    print(f"nearest to touching: ball {1e3 * gaps[:, 0].min():.3f} mm, table {1e3 * gaps[:, 1].min():.3f} mm")
    print(f"at rest the ball carries {-rest[0, 1]:.3f} N and the table {-rest[1, 1]:.3f} N of {weight:.3f} N")
    print(f"kinetic energy {kinetic.max():.2g} J at most, {kinetic[-1]:.2g} J at the end")
    print(f"contacts of the sheet with itself: {folded} at most")
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'sheet_over_sphere.png'}")


if __name__ == "__main__":
    main()
