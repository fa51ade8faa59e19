"""Edges of meshes that have entered a box near a corner of it, against the overlap of the two boxes in closed form."""

import itertools

import numpy as np
import pytest
from body_frames import contacts_of, frames_of

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.systems.rigid.integration import as_frame


def overlap(first, second, half, other_half, apart):
    """Largest gap of two boxes (negative where they overlap) over the axes that part two convex polyhedra.

    Those are the normals of the faces of both, and the directions at right angles to an edge of each.
    """
    crossed = np.cross(first.T[:, None], second.T[None]).reshape(-1, 3)
    sines = np.linalg.norm(crossed, axis=1)
    axes = np.concatenate([first.T, second.T, crossed[sines > 1e-6] / sines[sines > 1e-6, None]])
    return (np.abs(axes @ apart) - np.abs(axes @ first) @ half - np.abs(axes @ second) @ other_half).max()


def poses_that_overlap(rng, half, other_half, least, most):
    """Rotations of two boxes and the position of the second, with an overlap between two bounds [m], one by one."""
    while True:
        turns = rng.normal(size=(2, 4))
        turns /= np.linalg.norm(turns, axis=1, keepdims=True)
        x = 0.5 * rng.normal(size=3)
        first, second = rotation_matrix(turns)
        gap = overlap(first, second, half, other_half, x)
        if least < -gap < most:
            yield turns, x, gap


class Pair:
    """A box that is a mesh, and another that is a box.

    Args:
        half: Half the edges of the first [m].
        other_half: Those of the second [m].
    """

    def __init__(self, half, other_half):
        self._scene = sn.Scene()
        self._scene.add_rigid_body(sn.Mesh(*sn.Box(tuple(2.0 * half)).surface()))
        self._scene.add_rigid_body(sn.Box(tuple(2.0 * other_half)))
        self._frames = frames_of(self._scene)
        self._contacts, _ = contacts_of(self._scene, self._frames)

    def gap(self, turns, x):
        """Least gap [m] of the contact points with the second at x; infinite without any."""
        frames, contacts = self._frames, self._contacts
        for k, (body, position) in enumerate(zip(self._scene.bodies, (np.zeros(3), x), strict=True)):
            frames.x0[k], frames.q0[k] = as_frame(position, turns[k], body.centre, body.axes)
        contacts.begin()
        contacts.find(1)
        return min((float(contacts.pairs.least_gap[p]) for p in range(contacts.pair_count)), default=np.inf)


@pytest.mark.parametrize("seed", range(4))
def test_the_overlap_of_a_mesh_and_a_box_is_told_wherever_they_meet(seed):
    """At no pose it is told as half of what it is, or as more than 2.5 times.

    It is not the same: the points are found on the surfaces, and near a corner the nearest face is one of several.
    """
    rng = np.random.default_rng(seed)
    half, other_half = rng.uniform(0.15, 0.5, (2, 3))
    pair = Pair(half, other_half)
    for turns, x, gap in itertools.islice(poses_that_overlap(rng, half, other_half, 1e-3, 0.03), 800):
        assert 0.5 < pair.gap(turns, x) / gap < 2.5, (turns, x, gap)


@pytest.mark.parametrize("size", [1e-3, 1.0, 100.0])
def test_an_edge_that_has_cut_a_corner_is_as_deep_as_the_edge_it_crosses(size):
    """The faces of both that are nearest to where an edge of each crosses the other one are out of their cones."""
    half, other_half = size * np.array([[0.32914, 0.48266, 0.20046], [0.48203, 0.25914, 0.29816]])
    turns = np.array([[-0.27896, 0.45877, -0.83709, 0.10482], [0.34539, 0.85601, -0.38456, 0.00788]])
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    x = size * np.array([0.33621, 0.1821, -0.48477])
    gap = overlap(*rotation_matrix(turns), half, other_half, x)
    assert gap / size == pytest.approx(-0.01386, abs=1e-4)
    assert Pair(half, other_half).gap(turns, x) == pytest.approx(gap, rel=0.05)
