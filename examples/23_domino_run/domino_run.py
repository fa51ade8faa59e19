r"""Domino run: one push, and a wave runs through forty dominoes along a bend.

    | | | | | | /     each leans over, hits the next one and leaves its own fall to it: what keeps the wave going is
                      the height that the row behind the front gives up

The wave finds its own speed within a few dominoes and keeps it; it is of the order of sqrt(g h) for stones of height h,
whatever the push was (Stronge 1987, Larham 2008).

Checked: the dominoes go over one after another, in the order in which they stand, the second half of the wave is as
fast as the first, every domino lies in the end, and what the floor carries is the weight of all.

Look at the player: no domino is hit twice from behind in the front of the wave; behind it they slide together.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
HEIGHT, WIDTH, DEPTH = 0.048, 0.024, 0.0075  # of a domino, as sold [m]
PITCH, RADIUS, COUNT = 0.022, 0.45, 40  # along the row, of its bend [m], dominoes
PUSH = 4.0  # angular velocity of the first [rad/s]
TILTED = np.radians(15.0)  # far beyond the angle, 9 degrees, from which one falls by itself


def build() -> sn.Scene:
    """Dominoes on a quarter circle, each facing along it; the first turns about its lower front edge."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=0.5, name="floor")
    for k in range(COUNT):
        along = k * PITCH / RADIUS
        position = (RADIUS * np.sin(along), 0.5 * HEIGHT, RADIUS * (1.0 - np.cos(along)))
        spin = np.array([0.0, 0.0, -PUSH if k == 0 else 0.0])
        edge = np.array([0.5 * DEPTH, -0.5 * HEIGHT, 0.0])  # what the first turns about
        scene.add_rigid_body(
            sn.Box((DEPTH, HEIGHT, WIDTH)),
            density=1700.0,
            position=position,
            rotation=(np.cos(0.5 * along), 0.0, -np.sin(0.5 * along), 0.0),
            velocity=-np.cross(spin, edge),
            angular_velocity=spin,
            friction=0.3,
            name=f"domino_{k}",
        )
    return scene


def tilts(rotations: np.ndarray) -> np.ndarray:
    """Angles of the long edges of the dominoes to the vertical [rad]."""
    return np.arccos(np.clip(1.0 - 2.0 * (rotations[:, 1] ** 2 + rotations[:, 3] ** 2), -1.0, 1.0))


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(), dt=1.0 / 120.0, substeps=10)


def main(arguments: list[str] | None = None) -> None:
    """Push, watch the wave, check, write results."""
    parser = argparse.ArgumentParser(description="a wave runs through dominoes")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/120 s; all lie after 200")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, dt=1.0 / 120.0, substeps=10)
    outputs = [options.out / "domino_run.html", options.out / "domino_run.npz"]
    fell = np.full(COUNT, np.inf)  # when each went over [s]
    carried = []
    with Recorder(simulation, outputs, frames_per_second=60.0, title="domino run") as recorder:
        recorder.record()
        before = tilts(simulation.state.body_rotations)
        for frame in range(options.frames):
            simulation.step()
            now = tilts(simulation.state.body_rotations)
            over = (now >= TILTED) & np.isinf(fell)
            part = (TILTED - before[over]) / (now[over] - before[over])  # within the step
            fell[over] = (frame + part) * simulation.settings.dt
            before = now
            carried.append(simulation.forces(scene["floor"])[1])
            if frame % 2:
                recorder.record()
    weight = GRAVITY * sum(body.mass for body in scene.bodies)
    assert np.isfinite(fell).all(), f"{np.isinf(fell).sum()} dominoes still stand"
    assert (np.diff(fell) > 0.0).all(), "they do not fall in their order"
    half = COUNT // 2
    first = (half - 10) * PITCH / (fell[half] - fell[10])
    second = (COUNT - 5 - half) * PITCH / (fell[-5] - fell[half])
    unit = np.sqrt(GRAVITY * HEIGHT)
    print(f"the wave: {first:.3f}, then {second:.3f} m/s; sqrt(g h) is {unit:.3f} m/s")
    assert abs(first / second - 1.0) < 0.1, "the wave does not keep its speed"
    assert 0.8 < second / unit < 2.5, "no wave of dominoes is so slow or so fast"
    least = np.degrees(tilts(simulation.state.body_rotations).min())
    print(f"all lie: at least {least:.0f} degrees; the floor carries {abs(carried[-1]):.3f} of {weight:.3f} N")
    assert least > 60.0, "a domino does not lie"
    assert abs(abs(np.mean(carried[-20:])) / weight - 1.0) < 0.02, "the floor does not carry them"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
