"""What tests of cameras and pictures draw."""

import numpy as np

from shinari.io.results import Body, DrawnPart, Frame, Layout

SIZE = (320, 180)
SQUARE = np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0], [0.5, 1.0, 0.0], [-0.5, 1.0, 0.0]])
CUBE = Body("cube", *(np.array(a) for a in ([
    [-.2, -.2, -.2], [.2, -.2, -.2], [.2, .2, -.2], [-.2, .2, -.2], [-.2, -.2, .2], [.2, -.2, .2], [.2, .2, .2],
    [-.2, .2, .2]], [[0, 2, 1], [0, 3, 2], [4, 5, 6], [4, 6, 7], [0, 1, 5], [0, 5, 4], [2, 3, 7], [2, 7, 6],
    [1, 2, 6], [1, 6, 5], [0, 4, 7], [0, 7, 3]])), rigid=True)  # fmt: skip
FLOOR = Body("floor", np.array([[-3.0, 0, -3], [-3, 0, 3], [3, 0, 3], [3, 0, -3]]), np.array([[0, 1, 2], [0, 2, 3]]))
CLOTH = Layout((DrawnPart("cloth", "mesh", 0, 4, faces=np.array([[0, 1, 2], [0, 2, 3]])),), (), 4, 30.0)


def frame_at(time, positions, bodies=(), velocities=None, drawn=(), rotations=None):
    positions = np.array(positions, np.float32).reshape(-1, 3)
    places = np.array(bodies, np.float64).reshape(-1, 3)
    turns = np.tile([1.0, 0, 0, 0], (len(places), 1)) if rotations is None else np.array(rotations)
    speeds = np.zeros_like(positions) if velocities is None else np.array(velocities, np.float32)
    still = np.zeros_like(places)
    return Frame(time, positions, speeds, places, turns, still, still, np.array(drawn, bool))
