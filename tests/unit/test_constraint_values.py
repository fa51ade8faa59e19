"""Closed forms of each constraint type."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shinari.constraints import coincidence, dihedral, isometric_bend, volume
from shinari.constraints.registry import constraint_type

EPS = np.finfo(np.float64).eps
FOLDS = [0.0, 1e-9, -1e-9, 10.0, -10.0, 90.0, -90.0, 170.0, -170.0, 179.9]


def evaluate(name, x, *parameters):
    value, gradients = constraint_type(name).evaluate(
        tuple(tuple(float(v) for v in point) for point in x), tuple(float(v) for v in parameters)
    )
    return np.array(value), np.array(gradients)


def folded(degrees, *, length=1.3, heights=(0.8, 0.5), feet=(0.4, -0.2)):
    """A hinge along x bent by theta: 2 stays in the plane and 3 turns down about the edge, away from the normals (+z).

    The edge lengths are the same at every angle; feet are where the heights meet the edge, as parts of its length.
    """
    t = np.radians(degrees)
    (h_a, h_b), (s_a, s_b) = heights, feet
    return np.array(
        [
            [0.0, 0.0, 0.0],
            [length, 0.0, 0.0],
            [s_a * length, h_a, 0.0],
            [s_b * length, -h_b * np.cos(t), -h_b * np.sin(t)],
        ]
    )


def moved(x, seed=0):
    """X after a rotation and a translation."""
    rng = np.random.default_rng(seed)
    q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return x @ (q * np.linalg.det(q)).T + rng.normal(size=3)


class TestDihedral:
    @pytest.mark.parametrize("degrees", FOLDS)
    def test_angle_of_known_folds(self, degrees):
        for x in (folded(degrees), moved(folded(degrees)), folded(degrees, length=0.4, heights=(0.3, 1.7))):
            assert_allclose(evaluate("dihedral", x, 0.0)[0], np.radians(degrees), rtol=0, atol=64 * EPS)
            assert_allclose(dihedral.rest(x[np.newaxis]), np.radians(degrees), rtol=0, atol=64 * EPS)

    def test_a_closed_body_has_positive_angles(self):
        """Regular tetrahedron with outward normals: the faces meet at acos(1/3), so they bend by pi - acos(1/3)."""
        x = np.array([[1, 1, 1], [-1, -1, 1], [-1, 1, -1], [1, -1, -1]], float)
        assert np.cross(x[1] - x[0], x[3] - x[0]) @ x[0] > 0.0
        assert_allclose(dihedral.rest(x[np.newaxis, [0, 1, 3, 2]]), np.pi - np.arccos(1 / 3), rtol=4 * EPS)
        assert_allclose(dihedral.rest(x[np.newaxis]), -(np.pi - np.arccos(1 / 3)), rtol=4 * EPS)

    def test_the_order_of_the_edge_does_not_matter(self):
        """Seen from the other face the hinge is (1, 0, 3, 2)."""
        x = moved(folded(37.0))
        value, gradients = evaluate("dihedral", x, 0.1)
        swapped, swapped_gradients = evaluate("dihedral", x[[1, 0, 3, 2]], 0.1)
        assert_allclose(swapped, value, rtol=0, atol=16 * EPS)
        assert_allclose(swapped_gradients[[1, 0, 3, 2]], gradients, rtol=0, atol=64 * EPS)

    @pytest.mark.parametrize(("degrees", "rest", "difference"), [(170, -170, -20), (-170, 170, 20), (90, -80, 170)])
    def test_difference_takes_the_short_way(self, degrees, rest, difference):
        value, _ = evaluate("dihedral", folded(degrees), np.radians(rest))
        assert_allclose(value, np.radians(difference), rtol=0, atol=32 * EPS)

    def test_folded_flat_is_plus_or_minus_pi(self):
        x = folded(180.0)
        x[3, 2] = 0.0
        assert dihedral.rest(x[np.newaxis])[0] == np.pi
        assert abs(evaluate("dihedral", x, np.pi)[0]) < 1e-14
        assert abs(evaluate("dihedral", x, -np.pi)[0]) < 1e-14

    @pytest.mark.parametrize("degrees", FOLDS)
    def test_gradients_of_the_wings(self, degrees):
        """Moving 3 by its height turns it by one radian, in the direction that bends further, at every angle."""
        t = np.radians(degrees)
        _, gradients = evaluate("dihedral", folded(degrees), 0.0)
        assert_allclose(gradients[2], [0.0, 0.0, -1 / 0.8], rtol=0, atol=32 * EPS)
        assert_allclose(gradients[3], np.array([0.0, np.sin(t), -np.cos(t)]) / 0.5, rtol=0, atol=32 * EPS)

    def test_face_without_area_gives_nothing(self):
        x = folded(20.0)
        x[3] = [0.7, 0.0, 0.0]
        value, gradients = evaluate("dihedral", x, 1.0)
        assert value == 0.0
        assert not np.any(gradients)

    def test_compliance_factor(self):
        """(A_a + A_b) / (3 l^2) with A = l h / 2."""
        assert_allclose(dihedral.compliance_factor(moved(folded(50.0))[np.newaxis]), (0.8 + 0.5) / (6 * 1.3))


class TestIsometricBend:
    @pytest.mark.parametrize("degrees", FOLDS)
    def test_fold_of_a_flat_pair(self, degrees):
        """|v| = 2 l sin(theta / 2), the same for both sides and for every rigid motion."""
        weights, curvature = isometric_bend.rest(folded(0.0)[np.newaxis])
        assert curvature[0] < 16 * EPS
        for x in (folded(degrees), moved(folded(degrees))):
            value, _ = evaluate("isometric_bend", x, *weights[0], 0.0)
            assert_allclose(value, 2 * 1.3 * np.sin(abs(np.radians(degrees)) / 2), rtol=0, atol=64 * EPS)

    def test_weights_are_cotangents(self):
        """Two right isosceles triangles on a long side: both angles at the edge are 45 degrees."""
        x = folded(0.0, length=2.0, heights=(1.0, 1.0), feet=(0.5, 0.5))
        weights, _ = isometric_bend.rest(x[np.newaxis])
        assert_allclose(weights[0], [2.0, 2.0, -2.0, -2.0], rtol=4 * EPS)

    @pytest.mark.parametrize("degrees", [0.0, 60.0])
    def test_weights_sum_to_zero(self, degrees):
        weights, _ = isometric_bend.rest(moved(folded(degrees))[np.newaxis])
        assert abs(weights.sum()) < 16 * EPS * np.abs(weights).max()

    def test_weights_do_not_depend_on_the_rest_fold(self):
        """They are made of angles inside the faces; the fold is in the rest curvature."""
        flat, bent = folded(0.0)[np.newaxis], moved(folded(60.0))[np.newaxis]
        assert_allclose(isometric_bend.rest(bent)[0], isometric_bend.rest(flat)[0], rtol=0, atol=64 * EPS)
        assert_allclose(isometric_bend.rest(bent)[1], 2 * 1.3 * 0.5, rtol=32 * EPS)

    def test_flat_has_no_force(self):
        """On a grid of exact numbers v is exactly zero."""
        x = folded(0.0, length=2.0, heights=(1.0, 1.0), feet=(0.5, 0.5))
        value, gradients = evaluate("isometric_bend", x, 2.0, 2.0, -2.0, -2.0, 0.0)
        assert value == 0.0
        assert not np.any(gradients)

    def test_one_projection_flattens(self):
        """With C0 = 0 the constraint is a length of a linear map: one step from any fold leaves rounding."""
        weights, _ = isometric_bend.rest(folded(0.0)[np.newaxis])
        x = moved(folded(120.0))
        value, gradients = evaluate("isometric_bend", x, *weights[0], 0.0)
        x = x - gradients * value / np.sum(gradients**2)
        assert abs(evaluate("isometric_bend", x, *weights[0], 0.0)[0]) < 64 * EPS

    @pytest.mark.parametrize("shape", [{}, {"length": 0.3, "heights": (0.2, 1.1), "feet": (0.5, 0.9)}])
    def test_energy_is_that_of_the_hinge_for_small_folds(self, shape):
        """E_quadratic / E_hinge = (2 sin(theta / 2) / theta)^2 = 1 - theta^2 / 12 + ..."""
        flat = folded(0.0, **shape)[np.newaxis]
        weights, _ = isometric_bend.rest(flat)
        stiffness = 0.02
        for t in (0.3, 0.03, -0.03):
            x = folded(np.degrees(t), **shape)
            fold, _ = evaluate("isometric_bend", x, *weights[0], 0.0)
            angle, _ = evaluate("dihedral", x, 0.0)
            quadratic = 0.5 * fold**2 * stiffness / isometric_bend.compliance_factor(flat)[0]
            hinge = 0.5 * angle**2 * stiffness / dihedral.compliance_factor(flat)[0]
            assert_allclose(quadratic / hinge, (2 * np.sin(t / 2) / t) ** 2, rtol=1e-10)
            assert_allclose(quadratic / hinge, 1.0, rtol=t * t / 12)

    def test_far_from_the_origin(self):
        """A flat pair in float32 a hundred metres away: only the rounding of the positions is left."""
        weights, _ = isometric_bend.rest(folded(0.0)[np.newaxis])
        x = np.asarray(folded(0.0) + 100.0, np.float32)
        value, _ = constraint_type("isometric_bend").evaluate(
            tuple(tuple(point) for point in x), (*weights[0].astype(np.float32), np.float32(0.0))
        )
        assert value <= np.abs(weights).sum() * np.spacing(np.float32(100.0))


class TestVolume:
    def test_signed_volume(self):
        x = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4]], float)
        assert volume.rest(x[np.newaxis])[0] == 4.0
        assert evaluate("volume", x, 0.0)[0] == 4.0
        assert evaluate("volume", x, 1.5)[0] == 2.5

    def test_inverted_is_negative(self):
        x = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, -4]], float)
        value, gradients = evaluate("volume", x, 4.0)
        assert value == -8.0
        assert gradients[3][2] > 0.0  # growing C moves 3 back through the face

    def test_regular_tetrahedron(self):
        x = np.array([[1, 1, 1], [-1, 1, -1], [-1, -1, 1], [1, -1, -1]], float)
        assert_allclose(np.abs(volume.rest(moved(x)[np.newaxis])), 8**1.5 / (6 * np.sqrt(2)), rtol=16 * EPS)

    def test_gradient_is_a_third_of_the_opposite_face(self):
        x = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4]], float)
        _, gradients = evaluate("volume", x, 0.0)
        assert_allclose(gradients[1:], np.diag([12, 8, 6]) / 6, rtol=2 * EPS, atol=0)
        face = 0.5 * np.linalg.norm(np.cross(x[2] - x[1], x[3] - x[1]))
        assert_allclose(np.linalg.norm(gradients[0]), face / 3, rtol=4 * EPS)


class TestPoints:
    def test_distance(self):
        value, gradients = evaluate("distance", [[0, 3, 0], [0, 0, 4]], 2.0)
        assert value == 3.0
        assert_allclose(gradients, [[0, 0.6, -0.8], [0, -0.6, 0.8]], rtol=2 * EPS)

    def test_tether_is_a_distance_that_only_pulls(self):
        tether, distance = constraint_type("tether"), constraint_type("distance")
        assert tether.one_sided
        assert not distance.one_sided
        assert tether.evaluate is distance.evaluate

    def test_attachment(self):
        value, gradients = evaluate("attachment", [[1, 2, 3]], 1, 1, 1)
        assert_allclose(value, [0, 1, 2])
        assert_allclose(gradients[:, 0], np.eye(3))

    def test_coincidence(self):
        value, gradients = evaluate("coincidence", [[1, 2, 3], [1, 1, 1]], 0, 0, 0.5)
        assert_allclose(value, [0, 1, 1.5])
        assert_allclose(gradients[:, 0], np.eye(3))
        assert_allclose(gradients[:, 1], -np.eye(3))

    def test_coincidence_has_no_offset_of_its_own(self):
        x = np.array([[[1.0, 2, 3], [1, 1, 1]]])
        assert_allclose(coincidence.rest(x), np.zeros((1, 3)))
