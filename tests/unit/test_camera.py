"""Cameras: what they see of a whole motion, and how they are written."""

from dataclasses import replace

import numpy as np
import pytest
from drawn import CUBE, FLOOR, SIZE, frame_at

from shinari.errors import SceneError
from shinari.io.results import Body, DrawnPart, Layout
from shinari.view.camera import DIRECTIONS, MARGIN, Camera, Framing, body_vertices, parse_camera
from shinari.view.geometry import icosphere


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("size", [(1280, 720), (400, 400), (300, 900)])
def test_the_camera_sees_the_whole_motion_and_no_more(direction, size):
    random = np.random.default_rng(len(direction) + size[0])
    layout = Layout((DrawnPart("dust", "points", 0, 40, radius=0.05),), (CUBE,), 40, 30.0)
    frames = [
        frame_at(k, random.normal(size=(40, 3)) * (0.3, 1.0, 0.5) + (0.3 * k, 0, 0), [[0.5 * k, 1.0, 0.2]])
        for k in range(5)
    ]
    framing = Framing(layout, DIRECTIONS[direction], size)
    for frame in frames:
        framing.add(frame)
    camera = framing.bounds().camera()
    margin = MARGIN * np.array(size)
    low, high = np.full(2, np.inf), np.full(2, -np.inf)
    for frame in frames:
        around = icosphere(3)[0] * 0.05
        points = (frame.positions[:, None] + around).reshape(-1, 3)
        seen = camera.project(np.concatenate([points, body_vertices(layout, 0, frame)]), size)
        assert (seen[:, 2] > 0).all()
        low, high = np.minimum(low, seen[:, :2].min(0)), np.maximum(high, seen[:, :2].max(0))
    assert (low >= margin - 0.01).all()
    assert (high <= np.array(size) - margin + 0.01).all()
    # nearer would cut something off: both edges are met across, or both upwards
    slack = 0.01 * np.array(size)
    assert ((low <= margin + slack) & (high >= np.array(size) - margin - slack)).any()


def test_a_floor_is_not_fitted_but_a_ball_is():
    ball = Body("ball", 0.2 * icosphere(2)[0], icosphere(2)[1])
    small_floor = replace(FLOOR, name="small floor", vertices=0.1 * FLOOR.vertices)
    wide = replace(CUBE, name="wide", vertices=20.0 * CUBE.vertices, rigid=False)
    layout = Layout((DrawnPart("dust", "points", 0, 2),), (FLOOR, ball, small_floor, wide), 2, 30.0)
    framing = Framing(layout, DIRECTIONS["front"], SIZE)
    framing.add(frame_at(0.0, [[0, 1, 0], [1, 1, 0]], [[0, 0, 0], [-1, 0.2, 0], [0, 0, 0], [0, -4, 0]]))
    bounds = framing.bounds()
    assert np.allclose(bounds.low, [-1.2, 0.0, -0.2], atol=1e-6)
    assert np.allclose(bounds.high, [1.0, 1.0, 0.2], atol=1e-6)


def test_waiting_particles_do_not_count():
    layout = Layout((DrawnPart("water", "points", 0, 3, radius=0.1, varies=True, fluid=True),), (), 3, 30.0)
    framing = Framing(layout, DIRECTIONS["front"], SIZE)
    framing.add(frame_at(0.0, [[0, 0, 0], [1, 0, 0], [99, 99, 99]], drawn=[True, True, False]))
    assert framing.bounds().high == pytest.approx([1.1, 0.1, 0.1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("left", "left"),
        ("1,2,3:0,0,0", Camera((1, 2, 3), (0, 0, 0))),
        ("-1,.5,2e1:0,1,0", Camera((-1, 0.5, 20), (0, 1, 0))),
    ],
)
def test_cameras_are_read(text, expected):
    assert parse_camera(text) == expected


@pytest.mark.parametrize("text", ["", "bottom", "1,2,3", "1,2:3,4,5", "1,2,3:1,2,3", "nan,0,0:1,1,1", "a,b,c:0,0,0"])
def test_what_is_no_camera_is_refused(text):
    with pytest.raises(SceneError, match="camera"):
        parse_camera(text)
