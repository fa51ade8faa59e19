"""Nothing passes through anything: random shots, see `shots.py`. `SHINARI_SHOTS=250` tries as many of each kind."""

import os

import numpy as np
import passing
import pulled_ropes
import pytest
import shots

from shinari.geometry.topology import grid

COUNT = int(os.environ.get("SHINARI_SHOTS", "3"))
# shots of particles take a tenth of a second, and three in twenty passed once
SHOTS = [(kind, k) for kind in shots.KINDS for k in range(max(COUNT, 40) if kind == "particles at sheet" else COUNT)]


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@pytest.mark.parametrize(("kind", "number"), SHOTS)
def test_nothing_passes(kind, number):
    one = shots.shot(number, kind)
    assert one.run() == "", one.name


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@pytest.mark.parametrize(
    ("kind", "number", "frames"),
    [
        # a torus with triangles of over fifty radii, which bisection did not resolve
        ("body at soft", 101063, 6),
        # ropes that lost a tenth of their distance from the ring in each substep, until none was left
        ("rope in ring", 200534, 4),
        ("rope in ring", 310013, 15),
        ("rope in ring", 310149, 15),
        ("rope in ring", 310200, 15),
    ],
)
def test_what_passed_once_does_not(kind, number, frames):
    one = shots.shot(number, kind)
    one.frames = frames
    assert one.run() == "", one.name


@pytest.mark.filterwarnings("ignore::shinari.ContactWarning")
@pytest.mark.parametrize(("speeds", "frames"), [((2.0, 100.0), 15), ((0.1, 4.0), 90)])
def test_no_bar_passes_a_rope_that_it_pulls_beyond_its_length(speeds, frames):
    """One in six did, fast or slow."""
    for number in range(max(COUNT, 12)):
        one = pulled_ropes.rope_at_bar(number, speeds, frames)
        assert one.run() == "", one.name


def test_what_is_beyond_a_sheet_is_known():
    """The test of the side: a flat sheet, a bulge, and a point that came around the edge."""
    vertices, faces = grid(shape=(9, 9), size=(2.0, 2.0))
    flat = np.argsort(np.ptp(vertices, axis=0))
    vertices = vertices[:, [flat[1], flat[2], flat[0]]]
    vertices = vertices - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    points = np.array([[0.11, 0.13, 0.1], [0.11, 0.13, -0.1], [1.5, 0.0, 0.1], [1.5, 0.0, -0.1]])
    assert passing.beyond(vertices[faces], points, 1.0).tolist() == [True, False, True, False]
    bulge = vertices + [0, 0, 1] * (1.0 - np.abs(vertices[:, :2]).max(axis=1))[:, None]
    assert passing.beyond(bulge[faces], points, 1.0).tolist() == [False, False, True, False]
    around = np.array([[0.0, 0.0, 1.0]] * 4)
    assert passing.beyond(vertices[faces], points, 1.0, around).tolist() == [True, False, False, False]


def test_what_passes_a_sheet_is_told_from_what_goes_around():
    """Points that go straight through a sheet, back, around its border, and into a bulge that is pushed outwards."""
    vertices, faces = grid(shape=(9, 9), size=(2.0, 2.0))
    flat = np.argsort(np.ptp(vertices, axis=0))
    vertices = vertices[:, [flat[1], flat[2], flat[0]]]
    vertices = vertices - 0.5 * (vertices.min(axis=0) + vertices.max(axis=0))
    bulge = vertices + [0, 0, 1] * (1.0 - np.abs(vertices[:, :2]).max(axis=1))[:, None]
    start = np.array([[0.11, 0.13, -0.1], [0.10, 0.13, -0.1], [0.13, 0.14, -0.1]])
    for order in (faces, faces[:, ::-1]):
        passed = passing.Passed(vertices[order], start, 1.0)
        assert passed.after(bulge[order], start).tolist() == [0, 0, 0]
        up = start + np.array([0.4, 1.4, 0.0])[:, None] * [0, 0, 1]
        assert passed.after(bulge[order], up).tolist() == [0, 1, 0]
        assert passed.after(vertices[order], up).tolist() == [1, 1, 0]
        # around the border
        assert passed.after(vertices[order], up * [20, 1, 1]).tolist() == [1, 1, 0]
        assert passed.after(vertices[order], up * [20, 1, -1]).tolist() == [1, 1, 0]
        assert passed.after(vertices[order], start).tolist() == [1, 1, 0]
