"""Rigid bodies in results: every format shows them where the simulation has them."""

import numpy as np

import shinari as sn
from shinari.build.body_mesh import body_surface
from shinari.build.shape_mesh import shape_mesh
from shinari.scene.body import Body, Piece
from shinari.scene.motion import rotation_matrix
from shinari.scene.surface import Surface


def body_of(*pieces: Piece, **changes) -> Body:
    zero, turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    values = {"mass": 1.0, "centre": zero, "moments": np.ones(3), "axes": turn, "position": zero, "rotation": turn}
    values |= {"velocity": zero, "angular_velocity": zero, "surface": Surface()}
    return Body(**{"name": "body", "pieces": pieces} | values | changes)


def test_the_surface_of_a_body_is_that_of_its_shapes_where_they_are() -> None:
    turn = np.array([np.cos(0.3), 0.0, np.sin(0.3), 0.0])
    box, ball = sn.Box((1.0, 2.0, 3.0)), sn.Sphere(0.5)
    pieces = Piece(box, np.array([1.0, 0.0, 0.0]), turn), Piece(ball, np.array([0.0, 4.0, 0.0]), np.eye(4)[0])
    vertices, faces = body_surface(body_of(*pieces))
    boxed, balled = shape_mesh(box), shape_mesh(ball)
    expected = boxed[0] @ rotation_matrix(turn).T + [1.0, 0.0, 0.0], balled[0] + [0.0, 4.0, 0.0]
    assert np.array_equal(vertices, np.concatenate(expected))
    assert np.array_equal(faces, np.concatenate([boxed[1], balled[1] + len(boxed[0])]))
    assert faces.dtype == np.int32


def test_a_body_without_shapes_has_an_empty_surface_and_a_visual_takes_the_place_of_shapes() -> None:
    vertices, faces = body_surface(body_of())
    assert (vertices.shape, faces.shape) == ((0, 3), (0, 3))
    visual = np.eye(3), np.array([[0, 1, 2]])
    shown = body_surface(body_of(Piece(sn.Sphere(1.0), np.zeros(3), np.eye(4)[0]), visual=visual))
    assert np.array_equal(shown[0], visual[0])
    assert np.array_equal(shown[1], visual[1])
