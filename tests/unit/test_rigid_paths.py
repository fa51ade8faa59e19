"""Times of impact of bodies: how fast they come nearer to each other at most."""

from types import SimpleNamespace

import numpy as np
import pytest

from shinari.geometry.motion import rotation_matrix
from shinari.systems.paths.rigid_paths import closing_beside
from shinari.systems.paths.zones import between, turned_part


def frames_of(rng: np.random.Generator, turn: float, together: bool) -> SimpleNamespace:
    """Two frames that move and turn; together: as one rigid body, along a chord."""
    begin = rng.normal(size=(2, 4))
    begin /= np.linalg.norm(begin, axis=1)[:, None]
    x, axis = rng.uniform(-1.0, 1.0, (2, 3)), rng.normal(size=(2, 3))
    axis *= turn / np.linalg.norm(axis, axis=1)[:, None]
    if together:
        axis[1] = axis[0]
    ends, now = np.zeros((2, 4)), x + rng.uniform(-0.3, 0.3, (2, 3))
    for k in range(2):
        angle = np.linalg.norm(axis[k])
        w, v = np.cos(angle / 2), np.sin(angle / 2) * axis[k] / angle
        b, u = begin[k, 0], begin[k, 1:]
        ends[k] = np.append(w * b - v @ u, w * u + b * v + np.cross(v, u))
        if together:
            matrix = rotation_matrix(np.append(w, v)[None])[0]
            now[k] = matrix @ x[k]
    values = {"begin_x": x, "x": now, "begin_q": begin, "q": ends}
    return SimpleNamespace(**{name: [tuple(row) for row in a.tolist()] for name, a in values.items()})


def height(frames: SimpleNamespace, points: np.ndarray, normal: np.ndarray, time: float) -> float:
    """Height of the lowest point of the first over a plane fixed to the second, in the axes of which it is given."""
    pose = []
    for k in range(2):
        q = np.array(turned_part(frames.begin_q[k], frames.q[k], time))
        pose.append((np.array(between(frames.begin_x[k], frames.x[k], time)), rotation_matrix(q[None])[0]))
    (x, turn), (y, other) = pose
    return float(((points @ turn.T + x - y) @ (other @ normal)).min())


@pytest.mark.parametrize("together", [False, True])
@pytest.mark.parametrize("turn", [0.05, 0.5, 2.0])
def test_no_shape_comes_nearer_than_its_bound(turn, together):
    rng = np.random.default_rng(round(100 * turn) + together)
    shapes = SimpleNamespace(frame=(0, 1), radius=(0.7, 1.1))
    for _ in range(40):
        frames, start = frames_of(rng, turn, together), rng.uniform(0.0, 0.8)
        points = rng.normal(size=(30, 3))
        points *= rng.uniform(0.0, 0.7, (30, 1)) / np.linalg.norm(points, axis=1)[:, None]
        normal = rng.normal(size=3)
        normal /= np.linalg.norm(normal)
        q = np.array(turned_part(frames.begin_q[1], frames.q[1], start))
        world = tuple((rotation_matrix(q[None])[0] @ normal).tolist())
        bound, first = closing_beside(0, 1, world, start, shapes, frames), height(frames, points, normal, start)
        for time in np.linspace(start, 1.0, 20)[1:]:
            assert first - height(frames, points, normal, time) <= bound * (time - start) + 1e-12


def test_what_turns_as_one_does_not_come_nearer():
    """Both turns together bounded it by 0.05 x 1.8 m: what turned as one was stopped until it turned no more."""
    frames = frames_of(np.random.default_rng(3), 0.05, True)
    shapes = SimpleNamespace(frame=(0, 1), radius=(0.7, 1.1))
    assert closing_beside(0, 1, (0.0, 1.0, 0.0), 0.0, shapes, frames) < 0.01
