r"""A constraint of your own: the area of a quadrilateral, in ten lines, at full speed.

        3 ------- 2        d1 = x2 - x0,  d2 = x3 - x1   the diagonals
         \       /         C = |d1 x d2| / 2 - A0        the shoelace formula
          \     /          n = d1 x d2 / |d1 x d2|
           0 - 1           grad2 = d2 x n / 2 = -grad0,  grad3 = n x d1 / 2 = -grad1

C is a function of the points and of the parameters of a row; the package needs C and its gradients and nothing else. It
generates the projection, colours the rows, keeps the multipliers and accepts the new name wherever a built-in one goes.
The compliance has the unit of C^2 / energy, m^4/J = m^3/N; 0 is exact. (Mueller et al. 2006, section 3.3; Macklin et
al. 2016, eq. 18.)

What it is good for: a film that cannot change its area, like the membrane of a cell. A strip is drawn to one and a half
times its length. With springs alone its Poisson's ratio is 1/3, that of every such lattice. With the area of each cell
kept it becomes as much narrower as it becomes longer: width x length = 1.

First of all the gradients are compared with finite differences, which is the test to write before any other.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.maths.vec3 import cross, direction_and_length, neg, scale, sub

HALF = np.float32(0.5)  # an untyped 0.5 would turn single precision into double


@sn.function
def evaluate(x, p):
    """Keeps the area of a quadrilateral."""
    d1, d2 = sub(x[2], x[0]), sub(x[3], x[1])
    n, double_area = direction_and_length(cross(d1, d2))
    g2, g3 = scale(cross(d2, n), HALF), scale(cross(n, d1), HALF)
    return HALF * double_area - p[0], (neg(g2), neg(g3), g2, g3)


def rest(x: np.ndarray) -> np.ndarray:
    """Rest areas [m^2], (M,), of points (M, 4, 3)."""
    return 0.5 * np.linalg.norm(np.cross(x[:, 2] - x[:, 0], x[:, 3] - x[:, 1]), axis=1)


sn.register("quad_area", points=4, parameters=("rest_area",), evaluate=evaluate, rest=rest, compliance_unit="m^3/N")

CELLS, SIZE = (48, 12), (2.0, 0.5)  # of the strip [-], [m]
STRETCH = 1.5
DT, HOLD = 1 / 60, 0.25  # [s], part of the time in which the ends stand still


def check_gradients() -> float:
    """Largest difference of the gradients to central differences over random quadrilaterals."""
    rng, h, worst = np.random.default_rng(1), 6e-6, 0.0

    def call(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradients = evaluate(tuple(tuple(point) for point in x), (0.3,))
        return value, np.array(gradients)

    for _ in range(20):
        x = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]]) + 0.2 * rng.normal(size=(4, 3))
        _, gradients = call(x)
        assert np.abs(gradients.sum(axis=0)).max() < 1e-15, "moving all points together must not change C"
        for k in np.ndindex(4, 3):
            step = np.zeros((4, 3))
            step[k] = h
            numeric = (call(x + step)[0] - call(x - step)[0]) / (2.0 * h)
            worst = max(worst, abs(numeric - gradients[k]))
    # central differences: h^2 C''' / 6 and the rounding of C over h, with C''' of order one
    assert worst < h**2 + 4.0 * np.finfo(float).eps / h, f"the gradients are wrong by {worst:.1e}"
    return worst


def draw(keep_area: bool, frames: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the strip out; length and width of its middle over those at rest, (frames, 2), and its points at the end."""
    nx, ny = CELLS[0] + 1, CELLS[1] + 1
    vertices, faces = sn.grid(shape=(nx, ny), size=SIZE)
    springs = sn.ClothMaterial(density=0.1, stretch_compliance=1.0, bend_stiffness=0.0)
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0), damping=6.0)
    film = scene.add_cloth((vertices, faces), material=springs, name="film")
    ends = film.where(lambda x: np.abs(np.abs(x[:, 0]) - 0.5 * SIZE[0]) < 1e-9)
    film.pin(ends)
    if keep_area:
        corner = (np.arange(CELLS[1])[:, None] * nx + np.arange(CELLS[0])).ravel()
        quads = np.stack([corner, corner + 1, corner + nx + 1, corner + nx], axis=1)
        scene.add_constraint("quad_area", film.particles.start + quads, compliance=0.0)
    simulation = sn.Simulation(scene, dt=DT, substeps=40, precision="float64", threads=1)

    middle, history = slice(CELLS[0] // 2 - 1, CELLS[0] // 2 + 2), []
    for frame in range(frames):
        part = min((frame + 1) / (frames * (1.0 - HOLD)), 1.0)
        positions = simulation.positions(film)  # a view: what is written to pinned particles moves them
        positions[ends, 0] = vertices[ends, 0] * (1.0 + part * (STRETCH - 1.0))
        simulation.step()
        x = simulation.positions(film).reshape(ny, nx, 3)[:, middle]
        length = np.ptp(x[..., 0], axis=1).mean() / (2.0 * SIZE[0] / CELLS[0])
        width = np.ptp(x[..., 2], axis=0).mean() / SIZE[1]
        history.append((length, width))
    if keep_area:
        areas = rest(simulation.positions(film)[quads])
        worst = np.abs(areas / rest(vertices[quads]) - 1.0).max()
        print(f"largest change of the area of a cell: {worst:.1e}")
        # one sweep leaves about k h^2 / m of what the springs ask for, 1e-3 of strains up to one half
        assert worst < 5e-3
    return np.array(history), simulation.positions(film).copy()


def plot(path: Path, histories: list[np.ndarray], points: list[np.ndarray]) -> None:
    """The strips, and the width of their middle against its length."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplot_mosaic(
        [["springs", "curve"], ["area", "curve"]], figsize=(12, 4.8), layout="constrained"
    )
    names = ("springs alone", "springs, and the area of each cell kept")
    for key, name, x in zip(("springs", "area"), names, points, strict=True):
        lattice = x.reshape(CELLS[1] + 1, CELLS[0] + 1, 3)[..., [0, 2]]
        axes[key].plot(*lattice.T, color="tab:blue", linewidth=0.6)
        axes[key].plot(*lattice.transpose(1, 0, 2).T, color="tab:blue", linewidth=0.6)
        axes[key].set(aspect="equal", title=name, xlabel="x [m]", ylabel="z [m]", ylim=(-0.3, 0.3))
    s = np.linspace(1.0, max(history[:, 0].max() for history in histories), 50)
    axes["curve"].plot(s, 1.0 / s, "k--", linewidth=1, zorder=3, label="1 / length")
    axes["curve"].plot(s, 1.0 - (s - 1.0) / 3.0, "k:", linewidth=1, label="Poisson's ratio 1/3")
    for name, history in zip(names, histories, strict=True):
        axes["curve"].plot(*history.T, label=name)
    axes["curve"].set(xlabel="length of the middle / at rest", ylabel="width of the middle / at rest")
    axes["curve"].legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> None:
    """Check the gradients, draw the strip with and without the constraint, check, plot."""
    parser = argparse.ArgumentParser(description="a constraint written outside of the package")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s in which the strip is drawn out")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    print(f"largest difference to finite differences: {check_gradients():.1e}")
    (springs, springs_end), (kept, kept_end) = draw(False, options.frames), draw(True, options.frames)
    for name, history in (("springs alone", springs), ("area kept", kept)):
        length, width = history[-1]
        print(f"{name:<14} length x {length:.4f}, width x {width:.4f}, product {length * width:.5f}")
    length, width = kept[-1]
    assert abs(length * width - 1.0) < 5e-3, "an area that is kept narrows as it lengthens"
    length, width = springs[-1]
    assert length * width > 1.1, "springs alone let the area grow"
    plot(options.out / "custom_constraint.png", [springs, kept], [springs_end, kept_end])
    print(f"wrote {options.out / 'custom_constraint.png'}")


if __name__ == "__main__":
    main()
