"""The example of `docs/decisions/execution.md`: a kernel, a record, a program."""

import numpy as np

from shinari.compute import Field, Program, Record, kernel, real


class Balls(Record):
    height = Field(real, unit="m", doc="above the floor")
    speed = Field(real, unit="m/s")


@kernel
def fall(i, balls: Balls, g: real, h: real):
    """One substep of ball i."""
    balls.speed[i] -= g * h
    balls.height[i] += h * balls.speed[i]


def test_balls_fall():
    balls, step = Balls.zeros(1000), Program()
    with step.loop(20):
        step.launch(fall, balls, 9.81, 0.001, count=len(balls))
    step.run(threads=2)
    np.testing.assert_allclose(balls.height, -9.81 * 0.001**2 * 20 * 21 / 2, rtol=1e-5)
