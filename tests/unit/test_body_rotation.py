"""Free rotation of bodies: momentum and energy, also of turns that no substep resolves."""

import numpy as np
import pytest

from shinari.compute import Program
from shinari.maths.quaternion import rotate_back
from shinari.systems.rigid.frames import Frames, SolverFrames
from shinari.systems.rigid.integration import derive_velocities, logarithm, predict_body, rotation_by, start_substep
from shinari.systems.rigid.progress import Flags

H = 1 / 1200


def spinning(moments, turn, rng):
    """A body with these moments that turns by so much in a substep, and a program of one substep without forces."""
    frames = Frames.zeros(1)
    axis, q = rng.normal(size=3), rng.normal(size=4)
    frames.inverse_mass[0], frames.moments[0] = 1.0, moments
    frames.q[0], frames.w[0] = q / np.linalg.norm(q), turn / H * axis / np.linalg.norm(axis)
    p, solver_frames = Program(), SolverFrames.zeros(1)
    p.launch(start_substep, frames, solver_frames, Flags.zeros(1), count=1)
    p.launch(predict_body, frames, solver_frames, 0.0, 0.0, 0.0, H, count=1)
    p.launch(derive_velocities, frames, solver_frames, H, 1.0, count=1)
    return frames, p


def energy_and_momentum(frames):
    local = np.array(rotate_back(tuple(frames.q[0]), tuple(frames.w[0]))) * frames.moments[0]
    return 0.5 * float(local @ (local / frames.moments[0])), np.linalg.norm(local)


@pytest.mark.parametrize("moments", [(1.0, 2.0, 3.0), (1.0, 1800.0, 1801.0), (1.0, 1.0, 1.9)])
@pytest.mark.parametrize("turn", [0.01, 0.3, 2.0, 40.0, 800.0])
def test_free_rotation_never_gains_energy(moments, turn):
    """A flat plate that turns by a radian in a substep gained a hundred times its energy in one substep."""
    rng = np.random.default_rng(3)
    for _ in range(5):
        frames, substep = spinning(moments, turn, rng)
        first, momentum = energy_and_momentum(frames)
        most = 0.0
        for _ in range(200):
            substep.run()
            energy, now = energy_and_momentum(frames)
            most = max(most, energy / first)
            # of a turn that is found the momentum stays
            assert now <= momentum * (1.0 + 1e-9)
        # the midpoint rule swings about the true energy by the square of the turn
        assert most <= 1.0 + 0.2 * min(turn, 1.0) ** 2 + 1e-9
    if turn <= 0.01 and max(moments) < 10.0:
        assert now == pytest.approx(momentum, rel=1e-11)


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 0.19, 0.21, 1.0, 3.0])
def test_rotations_by_series_are_those_of_sine_and_cosine(angle):
    axis = np.array([0.6, -0.48, 0.64])
    q = np.array(rotation_by(tuple(angle * axis)))
    np.testing.assert_allclose(q, [np.cos(angle / 2), *(np.sin(angle / 2) * axis)], rtol=0, atol=2e-16)
    np.testing.assert_allclose(logarithm(tuple(q)), angle * axis, rtol=4e-16, atol=0)
    np.testing.assert_allclose(logarithm(tuple(-q)), angle * axis, rtol=4e-16, atol=0)
