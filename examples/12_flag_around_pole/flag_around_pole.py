r"""Flag around a pole: the wind goes round, and winds a flag around its own pole.

        .---.                  seen from above: the hoist of the flag is fixed to one side of a thick pole; the wind
       ( (o)-_____             blows from one side for a second and then goes round twice
        `-     wind ->

Both faces of the flag touch: the pole from inside, the next layer from outside. How far the flag is wound is read off
the cloth alone: the angle about the pole, followed from the hoist to the free edge, grows with the turns of the wind.
No vertex may be in the pole at any time.

Look at the player: the flag streams, is laid against the pole and then onto itself, in wrinkles that run downwards from
the hoist; the free end flutters to the last. In the plot: the flag follows the wind, and the pole feels it.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

LENGTH, HEIGHT, POINTS, THICKNESS = 1.2, 0.6, (41, 21), 0.006  # [m], [m], vertices, [m]
RADIUS = 0.05  # of the pole [m]
SPEED, TURNS, PERIOD, BEFORE, AFTER = 5.0, 2, 2.5, 1.0, 0.5  # of the wind [m/s], [-], of one turn and around [s]
SUBSTEPS = 30


def turned(time: float) -> float:
    """Turns that the wind has made."""
    return float(np.clip((time - BEFORE) / PERIOD, 0.0, TURNS))


def wind(time: float) -> tuple[float, float, float]:
    """A steady wind that comes from one side and then goes round [m/s]."""
    angle = 2.0 * np.pi * turned(time)
    return SPEED * np.cos(angle), 0.0, SPEED * np.sin(angle)


def build() -> tuple[sn.Scene, object]:
    """The flag, downwind of the hoist that is fixed to the side of the pole."""
    scene = sn.Scene(wind=wind)
    material = sn.ClothMaterial.preset("denim", thickness=THICKNESS, friction=0.3, damping=2e-3)
    vertices, faces = sn.grid(shape=POINTS, size=(LENGTH, HEIGHT), diagonal="alternating")
    beside = np.full(len(vertices), -(RADIUS + 0.51 * THICKNESS))
    x = np.stack([vertices[:, 0] + 0.5 * LENGTH, 1.6 - vertices[:, 2], beside], axis=1)
    flag = scene.add_cloth((x, faces), material=material, self_collision="triangles", name="flag")
    flag.pin(flag.where(lambda x: x[:, 0] < 1e-9))
    scene.add_collider(sn.Capsule(RADIUS, 2.2), position=(0.0, 1.1, 0.0), friction=0.3, name="pole")
    return scene, flag


def wound(x: np.ndarray) -> np.ndarray:
    """Turns of the rows of the flag (rows, columns, 3) about the pole, from the hoist to the free edge, (rows,)."""
    angle = np.unwrap(np.arctan2(x[..., 2], x[..., 0]), axis=1)
    return (angle[:, -1] - angle[:, 0]) / (2.0 * np.pi)


def plot(path: Path, time: np.ndarray, turns: np.ndarray, push: np.ndarray) -> None:
    """Turns of the wind and of the flag, and the force on the pole, against time."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (above, below) = plt.subplots(2, 1, figsize=(8, 5), sharex=True, layout="constrained")
    above.fill_between(time, turns.min(axis=1), turns.max(axis=1), alpha=0.4, label="rows of the flag")
    above.plot(time, [turned(t) for t in time], "k--", linewidth=0.8, label="wind")
    above.set(ylabel="turns about the pole")
    above.legend()
    below.plot(time, push)
    below.set(xlabel="time [s]", ylabel="contacts that push the pole [N]")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=SUBSTEPS)


def main(arguments: list[str] | None = None) -> None:
    """Let the wind go round, check how far the flag is wound, write results and a plot."""
    parser = argparse.ArgumentParser(description="a flag that winds itself around its pole")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, flag = build()
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    time, turns, push, nearest, layers = [], [], [], np.inf, 0
    outputs = [options.out / "flag_around_pole.html", options.out / "flag_around_pole.npz"]
    with Recorder(simulation, outputs, title="a flag winds itself around its pole") as recorder:
        recorder.record()
        for _ in range(round((BEFORE + TURNS * PERIOD + AFTER) * 60.0)):
            simulation.step()
            recorder.record()
            x = simulation.positions(flag).reshape(POINTS[1], POINTS[0], 3).astype(float)
            contacts = simulation.contacts()
            time.append(simulation.time)
            turns.append(wound(x))
            push.append(np.linalg.norm(contacts.forces[contacts.second == "pole"], axis=1).sum())
            nearest = min(nearest, np.hypot(x[..., 0], x[..., 2]).min() - RADIUS - 0.5 * THICKNESS)
            layers = max(layers, int((contacts.second == "flag").sum()))
    time, turns, push = np.array(time), np.array(turns), np.array(push)
    plot(options.out / "flag_around_pole.png", time, turns, push)

    assert nearest > -0.05 * THICKNESS, f"a vertex is {-nearest:.1e} m too deep in the pole"
    # the free end points downwind of where it leaves the pole, give or take a quarter turn
    ahead = turns[-1] - turns[0] - TURNS
    assert np.abs(ahead).max() < 0.25, f"the flag is wound {turns[-1].min():.2f} to {turns[-1].max():.2f} turns"
    assert np.ptp(turns, axis=1).max() < 0.5, "the rows of the flag are wound unlike each other"
    assert layers > 50, "the flag does not lie on itself"
    print(f"wound {turns[-1].mean():.2f} turns, up to {layers} contacts of the flag with itself")
    print(f"nearest to touching the pole: {1e3 * nearest:.3f} mm")
    print(f"wrote {', '.join(str(path) for path in outputs)} and {options.out / 'flag_around_pole.png'}")


if __name__ == "__main__":
    main()
