r"""Seven materials from concrete to fat: the same curtain, the same ball.

Seven sheets of 20 x 20 points and 1 x 1 m, 6 mm thick, hang by their upper edges, side by side. First they settle; then
a ball on a rod swings through each of them. They differ in one number, the compliance of the material (the inverse of
Young's modulus), from the table that goes with M. Macklin's account of compliance in XPBD:

    concrete  wood     leather  tendon   rubber  muscle  fat
    0.04e-9   0.16e-9  1e-8     0.2e-7   1e-6    0.2e-3  1e-3     m^2/N

A sheet of thickness t has the membrane compliance a = compliance / t [m/N] and, as a plate, the bending stiffness
E t^3 / 12 [N m]. All sheets weigh as little as foam, 100 kg/m^3, or fat would not carry itself.

The strain of a hanging sheet is known: at the depth y below the pins it carries what is below, a strain of
a sigma g (L - y) with sigma the mass per area, on average over the height a sigma g L / 2. Fat stretches by a third of
its height, muscle by a fourteenth, and from rubber on by less than a sweep in a substep resolves: what is left is the
softness of the solver, which shrinks with the square of the substep. That is why seven materials look like four.

Look at the player (upper row concrete to tendon, lower row rubber, muscle, fat): fat wraps the ball, muscle is flung
up and crumples, rubber swings as a soft sheet, and the stiff four swing like doors, as their bending stiffness makes
boards of them. That a board of concrete curves at all is the softness of the solver again. No vertex is in a ball.
"""

import argparse
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

POINTS, SIZE, THICKNESS, DENSITY = 20, 1.0, 0.006, 100.0  # [-], [m], [m], [kg/m^3]
RADIUS, ROD, SWING = 0.22, 2.5, 0.5  # of the ball [m], its rod [m], how far out it swings [rad]
SETTLE = 2.0  # time for the sheets to hang still [s]
GRAVITY = 9.81  # [m/s^2]
SUBSTEPS = 20


def material(compliance: float) -> sn.ClothMaterial:
    """A sheet of a solid with that compliance [m^2/N]."""
    return sn.ClothMaterial(
        density=DENSITY * THICKNESS,
        thickness=THICKNESS,
        stretch_compliance=compliance / THICKNESS,
        bend_stiffness=THICKNESS**3 / (12.0 * compliance),
        friction=0.2,
    )


def swing(x: float, lowest: float) -> Callable[[float], tuple[float, float, float]]:
    """Motion of a ball on a rod: out of the way until the sheets hang still, then through them."""
    rate = math.sqrt(GRAVITY / ROD)

    def motion(time: float) -> tuple[float, float, float]:
        angle = SWING * math.cos(rate * max(time - SETTLE, 0.0))
        return x, lowest + ROD * (1.0 - math.cos(angle)), ROD * math.sin(angle)

    return motion


def build() -> tuple[sn.Scene, list]:
    """The sheets in two rows, each pinned along its upper edge, and their balls."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0), damping=2.0)
    sheets = []
    for k, (name, compliance) in enumerate(sn.MATERIAL_COMPLIANCE.items()):
        x, top = (1.3 * (k - 1.5), 3.8) if k < 4 else (1.3 * (k - 5), 2.0)
        vertices, faces = sn.grid(shape=(POINTS, POINTS), size=(SIZE, SIZE), diagonal="alternating")
        vertices = np.stack([vertices[:, 0] + x, top - 0.5 * SIZE - vertices[:, 2], vertices[:, 1]], axis=1)
        sheet = scene.add_cloth((vertices, faces), material=material(compliance), name=name)
        sheet.pin(np.arange(POINTS))
        ball = swing(x, top - 0.6 * SIZE)
        scene.add_collider(sn.Sphere(RADIUS), motion=ball, friction=0.2, name=f"ball, {name}")
        sheets.append(sheet)
    return scene, sheets


def mean_strain(simulation: sn.Simulation, sheet: object) -> float:
    """Strain of the height of a sheet, averaged over its width."""
    height = simulation.positions(sheet)[:, 1].reshape(POINTS, POINTS)
    return float(np.mean(height.max(axis=0) - height.min(axis=0)) / SIZE - 1.0)


def edge_strain(simulation: sn.Simulation, sheet: object) -> float:
    """Mean |strain| of the edges along the rows and columns of a sheet."""
    x = simulation.positions(sheet).reshape(POINTS, POINTS, 3)
    lengths = [np.linalg.norm(np.diff(x, axis=axis), axis=-1) for axis in (0, 1)]
    return float(np.mean([np.abs(length * (POINTS - 1) / SIZE - 1.0).mean() for length in lengths]))


def clearance(simulation: sn.Simulation, sheet: object, ball: int) -> float:
    """Distance of the nearest vertex of a sheet from where it touches its ball [m]."""
    centre = simulation.collider_poses()[0][ball]
    distance = np.linalg.norm(simulation.positions(sheet) - centre, axis=1)
    return float(distance.min()) - RADIUS - 0.5 * THICKNESS


def check_hanging(hanging: np.ndarray) -> None:
    """Strains of the sheets at rest, stiffest first."""
    assert (np.diff(hanging[3:]) > 0.2 * hanging[3:-1]).all(), f"softer materials stretch more: {hanging}"
    assert np.ptp(hanging[:4]) < 0.02 * hanging[0], "what the solver cannot resolve looks the same"
    expected = np.array(list(sn.MATERIAL_COMPLIANCE.values())) * DENSITY * GRAVITY * SIZE / 2.0
    # rows along both axes and both diagonals make a sheet with Poisson's ratio 1/3 that is 4/3 as stiff as its rows
    assert 0.6 < hanging[5] / expected[5] < 1.05, "muscle hangs as Hooke says"
    # twenty rows hang on each other: a sweep leaves each a strain of T 2 h^2 / (m l), or N g h^2 / l on average
    h = 1.0 / 60.0 / SUBSTEPS
    floor = POINTS * GRAVITY * h**2 / (SIZE / (POINTS - 1))
    assert hanging[0] < floor, f"concrete stretches by {hanging[0]:.2e}, one sweep leaves {floor:.2e}"


def plot(path: Path, hanging: np.ndarray, time: np.ndarray, strain: np.ndarray, gaps: np.ndarray) -> None:
    """Strain at rest against compliance; strain and clearance while the balls swing."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.4), layout="constrained")
    compliance = np.array(list(sn.MATERIAL_COMPLIANCE.values()))
    colors = plt.get_cmap("viridis")(np.linspace(0.0, 0.9, len(compliance)))
    left.loglog(compliance, compliance * DENSITY * GRAVITY * SIZE / 2.0, "k--", linewidth=0.8, label="a sigma g L / 2")
    for k, name in enumerate(sn.MATERIAL_COMPLIANCE):
        left.loglog(compliance[k], hanging[k], "o", color=colors[k], label=name)
        middle.semilogy(time, strain[:, k], color=colors[k], label=name)
        right.plot(time, 1e3 * gaps[:, k], color=colors[k], label=name)
    left.set(xlabel="compliance of the material [m²/N]", ylabel="mean strain of the height", title="hanging still")
    left.set_ylim(1e-4, 1.0)
    middle.set(xlabel="time [s]", ylabel="mean |strain| of the edges", title="hit by the ball", ylim=(1e-4, 1.0))
    right.set(xlabel="time [s]", ylabel="nearest vertex to the ball [mm]", title="clearance", ylim=(-20, 300))
    right.axhline(0.0, color="black", linewidth=0.8)
    left.legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Let the sheets hang, swing the balls, check, write a player and a plot."""
    parser = argparse.ArgumentParser(description="seven materials and a swinging ball")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s after the balls are let go")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, sheets = build()
    simulation = sn.Simulation(scene, substeps=SUBSTEPS, precision="float64", threads=1)
    simulation.run(SETTLE, progress=False)
    hanging = np.array([mean_strain(simulation, sheet) for sheet in sheets])
    print("strain of the height, hanging still:")
    for sheet, strain in zip(sheets, hanging, strict=True):
        print(f"  {sheet.name:<9} {strain:.6f}")
    check_hanging(hanging)

    time, strain, gaps = [], [], []
    outputs = [options.out / f"cloth_materials{suffix}" for suffix in (".html", ".npz")]
    with Recorder(simulation, outputs, title="seven materials") as recorder:
        recorder.record()
        for _ in range(options.frames):
            simulation.step()
            recorder.record()
            time.append(simulation.time)
            strain.append([edge_strain(simulation, sheet) for sheet in sheets])
            gaps.append([clearance(simulation, sheet, ball) for ball, sheet in enumerate(sheets)])
            assert min(gaps[-1]) > -1e-9, f"a vertex is inside a ball at {simulation.time:.2f} s"
    time, strain, gaps = np.array(time), np.array(strain), np.array(gaps)
    mean = strain.mean(axis=0)
    assert mean[6] > mean[5] > mean[4] > mean[:4].max(), "fat gives way most, then muscle, then rubber"
    print(f"nearest vertex to a ball: {1e3 * gaps.min():.6f} mm from touching")
    plot(options.out / "cloth_materials.png", hanging, time, strain, gaps)
    print(f"wrote {outputs[0]}, {outputs[1]} and {options.out / 'cloth_materials.png'}")


if __name__ == "__main__":
    main()
