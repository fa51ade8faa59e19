r"""Card house: two floors of playing cards lean on each other, and only friction keeps them.

          /\             a card leans on its neighbour at an angle a to the vertical. By itself it needs a coefficient
         /__\            of friction of tan(a) / 2 at its foot, as a ladder at a smooth wall does; under a load, more,
        /\  /\           up to tan(a)
       /__\/__\

Checked: the house stands for as long as it is watched, by less than a tenth of a millimetre where it was, and the table
carries its weight. The same house of smooth cards slides apart at once. Last, a ball is rolled into the house that
stands.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

GRAVITY = 9.81  # [m/s^2]
LENGTH, WIDTH, THICKNESS = 0.088, 0.063, 0.001  # of a card, twice as thick as one is [m]
LEAN = np.radians(15.0)
SPACING = 0.05  # of the tents on a floor [m]
ROUGH, SMOOTH = 0.5, 0.05  # coefficients of friction; tan(15 degrees) is 0.27
BALL = 0.015  # its radius [m]


def build(friction: float) -> sn.Scene:
    """A house of seven cards, and a ball at rest far away."""
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=friction, name="table")
    floor = 0.5 * LENGTH * np.cos(LEAN) + 0.5 * THICKNESS * np.sin(LEAN)  # the middle of a card above its foot
    aside = 0.5 * LENGTH * np.sin(LEAN) + 0.5 * THICKNESS * np.cos(LEAN)  # and from the middle of its tent
    height = 0.0
    for tents in (2, 1):
        for tent in range(tents):
            middle = SPACING * (tent - 0.5 * (tents - 1))
            for side in (-1.0, 1.0):
                card(scene, (middle + side * aside, height + floor, 0.0), side * LEAN, friction)
        height += 2.0 * floor
        if tents > 1:
            card(scene, (0.0, height + 0.5 * THICKNESS, 0.0), 0.5 * np.pi, friction)
            height += THICKNESS
    scene.add_rigid_body(sn.Sphere(BALL), density=2000.0, position=(-0.5, BALL, 0.0), friction=friction, name="ball")
    return scene


def card(scene: sn.Scene, position: tuple[float, float, float], angle: float, friction: float) -> None:
    """A card that stands at an angle about z to the vertical [rad]."""
    scene.add_rigid_body(
        sn.Box((THICKNESS, LENGTH, WIDTH)),
        mass=0.0018,
        position=position,
        rotation=(np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)),
        friction=friction,
    )


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build(ROUGH))


def main(arguments: list[str] | None = None) -> None:
    """Watch the house, knock it over, watch the smooth one, write results."""
    parser = argparse.ArgumentParser(description="a house of seven cards")
    parser.add_argument("--frames", type=int, default=300, help="frames of 1/60 s that it has to stand")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene = build(ROUGH)
    simulation = sn.Simulation(scene)
    cards = slice(0, len(scene.bodies) - 1)
    ball = len(scene.bodies) - 1
    before = simulation.state.body_positions.copy()
    weight = GRAVITY * sum(body.mass for body in scene.bodies)
    outputs = [options.out / "card_house.html", options.out / "card_house.npz"]
    carried = []
    with Recorder(simulation, outputs, frames_per_second=30.0, title="a card house") as recorder:
        recorder.record()
        for frame in range(options.frames):
            simulation.step()
            carried.append(simulation.forces(scene["table"])[1])
            if frame % 2:
                recorder.record()
        moved = np.linalg.norm(simulation.state.body_positions - before, axis=1)[cards].max()
        simulation.state.body_velocities[ball] = (1.5, 0.0, 0.0)
        simulation.state.body_angular_velocities[ball] = (0.0, 0.0, -1.5 / BALL)
        for frame in range(90):
            simulation.step()
            if frame % 2:
                recorder.record()
    share = abs(np.mean(carried[-60:])) / weight
    top = simulation.state.body_positions[cards, 1].max()
    print(f"the house moved {1e3 * moved:.4f} mm in {options.frames / 60.0:.0f} s; the table carries {share:.4f} of it")
    print(f"after the ball its highest card is at {1e3 * top:.0f} mm, before it was at {1e3 * before[:, 1].max():.0f}")
    assert moved < 1e-4, "the house creeps"
    assert abs(share - 1.0) < 0.01, "the table does not carry the house"
    assert top < 0.6 * before[:, 1].max(), "the ball does not knock the house over"

    smooth = sn.Simulation(build(SMOOTH))
    smooth.step(60)
    top = smooth.state.body_positions[cards, 1].max()
    print(f"smooth cards lie at {1e3 * top:.0f} mm after a second")
    assert top < 0.6 * before[:, 1].max(), "smooth cards stand"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
