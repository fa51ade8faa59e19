r"""Wall and ball: a wall of dry bricks stands as long as nothing comes; then a ball of steel goes through its middle.

     ___|___|___|_     running bond, half a brick at the ends by turns, no mortar: friction and weight alone
     _|___|___|___
     ___|___|___|_     <-  o

Checked: before the ball the wall does not move, and the floor carries its weight. Ball and bricks together never gain
energy; the ball goes through, slower than before; both ends of the wall are pushed apart and still stand; no brick gets
into the floor.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
LENGTH, HEIGHT, DEPTH = 0.24, 0.115, 0.115  # of a brick [m]
ROWS, COLUMNS = 10, 12
RADIUS, SPEED = 0.16, 9.0  # of the ball [m], [m/s]


def build() -> sn.Scene:
    """The wall along x, and the ball at rest in front of it."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=0.6, name="floor")
    for row, column in np.ndindex(ROWS, COLUMNS):
        half = column == (0 if row % 2 else COLUMNS - 1)
        left = LENGTH * (column - 0.5 * (row % 2 and column > 0)) - 0.5 * LENGTH * (COLUMNS - 0.5)
        size = (0.5 * LENGTH if half else LENGTH, HEIGHT, DEPTH)
        position = (left + 0.5 * size[0], HEIGHT * (row + 0.5), 0.0)
        scene.add_rigid_body(sn.Box(size), density=1900.0, position=position, friction=0.6)
    scene.add_rigid_body(sn.Sphere(RADIUS), density=7800.0, position=(0.0, RADIUS, 2.0), friction=0.6, name="ball")
    return scene


def throw(simulation: sn.Simulation) -> None:
    """Throw the ball at the wall after a second, so that it is half a metre up when it gets there."""
    if simulation.state.frame == 60:
        simulation.state.body_velocities[-1] = (0.0, 3.2, -SPEED)


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    return sn.Simulation(build(), substeps=10), throw


def main(arguments: list[str] | None = None) -> None:
    """Watch the wall, throw the ball, check, write results."""
    parser = argparse.ArgumentParser(description="a ball goes through a wall of bricks")
    parser.add_argument("--frames", type=int, default=180, help="frames of 1/60 s; the ball is thrown after 60")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build()
    simulation = sn.Simulation(scene, substeps=10)
    state, bricks = simulation.state, slice(0, ROWS * COLUMNS)
    mass = np.array([body.mass for body in scene.bodies])
    start, thrown = state.body_positions.copy(), 0.5 * mass[-1] * SPEED**2
    moved = carried = gained = 0.0
    outputs = [options.out / "wall_and_ball.html", options.out / "wall_and_ball.npz"]
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a ball breaks a wall") as recorder:
        recorder.record()
        for frame in range(options.frames):
            throw(simulation)
            before = simulation.energy().total
            simulation.step()
            recorder.record()
            gained = max(gained, simulation.energy().total - before)
            if frame < 60:
                moved = np.linalg.norm(state.body_positions - start, axis=1).max()
                carried = -simulation.forces(scene["floor"])[1] / (GRAVITY * mass.sum())
    away = np.linalg.norm(state.body_positions - start, axis=1)[bricks]
    ends = np.abs(start[bricks, 0]) > 0.4 * LENGTH * COLUMNS
    sunk = np.abs(state.body_positions[bricks, 1] - start[bricks, 1])[ends].max()
    lowest, speed = state.body_positions[bricks, 1].min(), np.linalg.norm(state.body_velocities[-1])
    print(f"before the ball the wall moved {1e6 * moved:.2f} um; the floor carries {carried:.6f} of the weight")
    print(
        f"{(away > HEIGHT).sum()} of {len(away)} bricks were thrown; the ends of the wall sank by {1e3 * sunk:.1f} mm"
    )
    print(f"the ball has {speed:.2f} of {SPEED:.2f} m/s; a step gained at most {gained:.2g} of {thrown:.0f} J")
    assert moved < 1e-5, "the wall does not stand"
    assert abs(carried - 1.0) < 1e-3, "the floor does not carry the wall"
    assert gained < 1e-3 * thrown, "energy is gained"
    assert state.body_positions[-1, 2] < -0.5, "the ball does not go through"
    assert 0.1 * SPEED < speed < 0.9 * SPEED, "the wall does not slow the ball down"
    assert (away > HEIGHT).sum() > 0.1 * len(away), "the wall does not break"
    assert sunk < 0.1 * HEIGHT, "the ends of the wall do not stand"
    assert lowest > 0.5 * HEIGHT - 1e-3, "a brick is in the floor"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
