"""Laws of tetrahedra and triangles against their energies, and the rotation part of a matrix against its SVD."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from shinari.api.scene import Scene
from shinari.constraints import neo_hookean, strain_tetrahedron, strain_triangle, stvk
from shinari.constraints.registry import constraint_type
from shinari.errors import SceneError
from shinari.maths.mat3 import rotation_part
from shinari.maths.simplex import tetrahedron_inverse, triangle_inverse
from shinari.scene.materials import ClothMaterial
from shinari.systems.rows.scene_rows import scene_rows

EPS = np.finfo(np.float64).eps
REST = np.array([[0.1, 0.0, -0.2], [1.3, 0.2, 0.0], [0.2, 0.9, 0.1], [-0.1, 0.3, 1.1]])
VOLUME = np.linalg.det(REST[1:] - REST[0]) / 6.0
TRIANGLE = np.array([[0.1, 0.2, 0.0], [1.2, 0.1, 0.3], [0.3, 1.0, -0.2]])
AREA = 0.5 * np.linalg.norm(np.cross(TRIANGLE[1] - TRIANGLE[0], TRIANGLE[2] - TRIANGLE[0]))
RATIOS = [-0.3, 0.0, 0.25, 0.45]


def evaluate(name, x, p, dtype=float):
    points = tuple(tuple(dtype(v) for v in point) for point in x)
    values, gradients = constraint_type(name).evaluate(points, tuple(dtype(v) for v in p))
    return np.array(values, float), np.array(gradients, float)


def rotation(seed):
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def nearest_rotation(f):
    """Rotation and how far the second nearest is: the sum of the two smaller singular values, with sign."""
    u, s, vt = np.linalg.svd(f)
    sign = np.sign(np.linalg.det(u @ vt))
    return u @ np.diag([1.0, 1.0, sign]) @ vt, s[1] + sign * s[2]


def rotated(f, dtype):
    return np.array(rotation_part(tuple(tuple(dtype(v) for v in column) for column in f.T)), float).T


def lame(poissons_ratio):
    """Lame's parameters for a Young's modulus of 1."""
    mu = 0.5 / (1.0 + poissons_ratio)
    return mu, 2.0 * mu * poissons_ratio / (1.0 - 2.0 * poissons_ratio)


def deformations():
    rng = np.random.default_rng(5)
    for k in range(12):
        yield rotation(k) @ (np.eye(3) + (0.01, 0.3, 1.0)[k % 3] * rng.normal(size=(3, 3)))


class TestRotationPart:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_is_the_nearest_rotation(self, dtype):
        """Rounding of F turns R by eps |F| over the gap to the next rotation."""
        rng = np.random.default_rng(1)
        eps = np.finfo(dtype).eps
        for k in range(300):
            f = rng.normal(size=(3, 3))
            f = (f, rotation(k) + 1e-3 * f, f * [1.0, 1.0, 0.0], f * 1e-20, f * 1e18)[k % 5].astype(dtype).astype(float)
            expected, gap = nearest_rotation(f)
            assert_allclose(rotated(f, dtype), expected, rtol=0, atol=64 * eps * np.linalg.norm(f) / gap)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("diagonal", [(0, 0, 0), (1, 0, 0), (1, 1, -1), (-1, -1, -1), (2, 1, -1), (1e-30, 0, 0)])
    def test_is_a_rotation_where_the_nearest_is_not_unique(self, diagonal, dtype):
        eps = np.finfo(dtype).eps
        f = np.diag(np.array(diagonal, float))
        for turn in (np.eye(3), rotation(3)):
            r = rotated(turn @ f, dtype)
            assert_allclose(r.T @ r, np.eye(3), atol=16 * eps)
            assert np.linalg.det(r) > 0.0
            # as near as any other
            s = np.abs(diagonal)
            best = s.sum() - (2.0 * s.min() if np.prod(diagonal) < 0 else 0.0)
            assert np.sum(r * (turn @ f)) >= best * (1 - 1e-5) - 16 * eps

    def test_zero_gives_the_identity(self):
        assert_allclose(rotated(np.zeros((3, 3)), np.float32), np.eye(3), atol=0)


class TestEnergies:
    """1/2 C^2 / alpha is the energy of the law, for any deformation."""

    @pytest.mark.parametrize("nu", RATIOS)
    def test_neo_hookean(self, nu):
        """Macklin and Mueller 2021: mu/2 (|F|^2 - 3) + la/2 (J - gamma)^2, la = mu / (1 - 2 nu), up to a constant.

        Below |F| = 1.6 mu/2 (1.6 - |F|)^2 is added, so that no state has less energy than at rest.
        """
        mu, _ = lame(nu)
        la = mu / (1.0 - 2.0 * nu)
        p = [*tetrahedron_inverse(REST[None])[0], neo_hookean.hydrostatic_scale(nu)]
        for f in (*deformations(), 1e-3 * np.eye(3), np.diag([1.0, 1.0, 0.0]), 3.0 * np.eye(3)):
            values, _ = evaluate("neo_hookean", REST @ f.T, p)
            j = np.linalg.det(f)
            energy = 0.5 * mu * (np.sum(f * f) - 3.0) + 0.5 * la * ((j - 1.0 - mu / la) ** 2 - (mu / la) ** 2)
            energy += 0.5 * mu * max(float(neo_hookean.CORE) - np.linalg.norm(f), 0.0) ** 2
            # to a state without a direction a matrix of length 4.6 is added, times this; the slope is 1.6 mu
            added = float(neo_hookean.DEGENERATE) if np.linalg.norm(f) < 0.01 else 0.0
            assert_allclose(
                0.5 * np.sum(values**2) * mu, energy, rtol=1e-10, atol=float(1e-12 + 4.6 * 1.6 * mu * added)
            )

    @pytest.mark.parametrize("nu", RATIOS)
    def test_neo_hookean_of_far_stretched_grows_with_the_square(self, nu):
        """Above |F| = 10 the gradients are those of the values, and at no state is the energy above its bound.

        |J| <= (|F|^2 / 3)^1.5 and q (2 - q) <= 200 / |F|^2, so |m| <= 1 + 200 / 27^0.5 |F|, and the energy per mu is at
        most |F|^2 / 2 + |m| + s^2 m^2 / 2.
        """
        s = neo_hookean.hydrostatic_scale(nu)
        p, rng = [*tetrahedron_inverse(REST[None])[0], s], np.random.default_rng(2)
        for size in (9.99, 10.01, 14.0, 30.0, 1e3):
            f = rng.normal(size=(3, 3))
            f *= size / np.linalg.norm(f)
            x = REST @ f.T
            values, gradients = evaluate("neo_hookean", x, p)
            bulk = 1.0 + 200.0 / 27.0**0.5 * size
            assert 0.5 * np.sum(values**2) <= 0.5 * size**2 + bulk + 0.5 * s * s * bulk**2
            # central differences: off by a part of (d / size)^2, and rounding over d
            d = 1e-4 * size
            for i, k in ((0, 0), (1, 2), (2, 1), (3, 0)):
                ends = [x.copy(), x.copy()]
                ends[0][i, k], ends[1][i, k] = x[i, k] - d, x[i, k] + d
                slope = np.subtract(*(evaluate("neo_hookean", end, p)[0] for end in ends[::-1])) / (2.0 * d)
                assert_allclose(gradients[:, i, k], slope, rtol=0, atol=1e-6 * np.abs(gradients).max())

    def test_neo_hookean_keeps_its_digits_near_rest(self):
        """A shear of 1e-3 in single precision: its energy is below the rounding of |F|^2."""
        p = [*tetrahedron_inverse(REST[None])[0], neo_hookean.hydrostatic_scale(0.3)]
        f = np.array([[1.0, 1e-3, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
        exact, _ = evaluate("neo_hookean", REST @ f.T, p)
        single, _ = evaluate("neo_hookean", REST @ f.T, p, np.float32)
        assert_allclose(np.linalg.norm(exact), 1e-3, rtol=1e-3)
        assert_allclose(single, exact, atol=16 * np.finfo(np.float32).eps)

    @pytest.mark.parametrize("nu", [0.0, 0.1, 0.3, 0.45, 0.495])
    def test_neo_hookean_has_a_force_wherever_it_is_not_at_rest(self, nu):
        """Flat, in a line, in a point and mirrored: sum of C grad C, the force, is never zero except at a saddle."""
        p = [*tetrahedron_inverse(REST[None])[0], neo_hookean.hydrostatic_scale(nu)]
        for f in (np.zeros((3, 3)), 1e-3 * np.eye(3), np.diag([0.5, 0, 0]), np.diag([2.0, 0, 0]), np.diag([1.0, 1, 0]),
                  np.diag([1.0, 1, -1]), 0.1 * np.diag([1.0, 1, -1])):  # fmt: skip
            values, gradients = evaluate("neo_hookean", REST @ f.T, p)
            force = np.einsum("r,rid->id", values, gradients)
            assert np.linalg.norm(force) > 0.1, f

    @pytest.mark.parametrize("nu", [0.0, 0.1, 0.3, 0.45])
    def test_neo_hookean_has_one_minimum(self, nu):
        """Descent in the energy from a thousand states ends at a rotation, not in a point."""
        rng = np.random.default_rng(8)
        f = rng.normal(size=(1000, 3, 3)) * rng.choice([1e-3, 0.1, 1.0], (1000, 1, 1))
        f[::5] *= [1.0, 1.0, 0.0]
        square, core = neo_hookean.hydrostatic_scale(nu) ** 2, float(neo_hookean.CORE)
        for _ in range(6000):
            cof = np.stack([np.cross(f[:, :, (k + 1) % 3], f[:, :, (k + 2) % 3]) for k in range(3)], axis=2)
            j = np.sum(f[:, :, 0] * cof[:, :, 0], axis=1)[:, None, None]
            size = np.linalg.norm(f, axis=(1, 2))[:, None, None]
            force = (1.0 - np.maximum(core - size, 0.0) / size) * f - (1.0 + square * (1.0 - j)) * cof
            f -= force / (4.0 + square * size**4 + 2.0 * (2.0 + square) * size)
        values = np.linalg.svd(f, compute_uv=False)
        assert np.all(np.linalg.det(f) > 0.0)
        assert values.min() > 0.5

    @pytest.mark.parametrize("nu", RATIOS)
    def test_stvk(self, nu):
        mu, la = lame(nu)
        p = [*tetrahedron_inverse(REST[None])[0], stvk.volume_weight(nu)]
        for f in deformations():
            values, _ = evaluate("stvk", REST @ f.T, p)
            e = 0.5 * (f.T @ f - np.eye(3))
            energy = VOLUME * (mu * np.sum(e * e) + 0.5 * la * np.trace(e) ** 2)
            assert_allclose(0.5 * np.sum(values**2) * 2.0 * mu * VOLUME, energy, rtol=1e-11)

    @pytest.mark.parametrize("nu", RATIOS)
    def test_corotated(self, nu):
        mu, la = lame(nu)
        p = [*tetrahedron_inverse(REST[None])[0], stvk.volume_weight(nu)]
        for f in deformations():
            values, _ = evaluate("corotated", REST @ f.T, p)
            r, _ = nearest_rotation(f)
            energy = VOLUME * (mu * np.sum((f - r) ** 2) + 0.5 * la * (np.trace(r.T @ f) - 3.0) ** 2)
            assert_allclose(0.5 * np.sum(values**2) * 2.0 * mu * VOLUME, energy, rtol=1e-11)

    @pytest.mark.parametrize("nu", RATIOS)
    @pytest.mark.parametrize("turn", range(3))
    def test_strain_tetrahedron_is_hooke_whatever_its_axes(self, nu, turn):
        """The measures differ from the small strain by its square."""
        mu, la = lame(nu)
        axes = rotation(turn)
        b = (tetrahedron_inverse(REST[None])[0].reshape(3, 3) @ axes).ravel()
        p = [*b, *strain_tetrahedron.isotropic(nu)]
        size = 1e-6
        e = np.random.default_rng(turn).normal(size=(3, 3))
        e = size * (e + e.T)
        values, _ = evaluate("strain_tetrahedron", REST @ (rotation(9) @ (np.eye(3) + e)).T, p)
        energy = VOLUME * (mu * np.sum(e * e) + 0.5 * la * np.trace(e) ** 2)
        assert_allclose(0.5 * np.sum(values**2) * 2.0 * mu * VOLUME, energy, rtol=40 * size)

    @pytest.mark.parametrize("nu", RATIOS)
    @pytest.mark.parametrize("direction", [None, (1.0, 0.0, 0.0), (0.3, -1.0, 0.2)])
    def test_strain_triangle_is_plane_stress_whatever_its_axes(self, nu, direction):
        """W = E t / (2 (1 - nu^2)) (e11^2 + e22^2 + 2 nu e11 e22 + 2 (1 - nu) e12^2) per area, for E t = 1."""
        wanted = None if direction is None else np.array(direction)
        p = [*triangle_inverse(TRIANGLE[None], wanted)[0], *strain_triangle.plane_stress(nu)]
        n = np.cross(TRIANGLE[1] - TRIANGLE[0], TRIANGLE[2] - TRIANGLE[0])
        n /= np.linalg.norm(n)
        u = np.cross(n, [0.0, 0.0, 1.0])
        frame = np.array([u / np.linalg.norm(u), np.cross(n, u / np.linalg.norm(u))])
        size = 1e-6
        for seed in range(4):
            e = np.random.default_rng(seed).normal(size=(2, 2))
            e = size * (e + e.T)
            f = np.eye(3) + frame.T @ e @ frame
            values, _ = evaluate("strain_triangle", TRIANGLE @ (rotation(seed) @ f).T, p)
            form = (1 - nu) * np.sum(e * e) + nu * np.trace(e) ** 2
            energy = 0.5 * AREA * form / (1 - nu**2)
            assert_allclose(0.5 * np.sum(values**2) * AREA / (1 - nu**2), energy, rtol=40 * size)


class TestKnownShapes:
    def test_uniform_stretch_of_the_strain_rows(self):
        """Stretch is the elongation of each axis, shear the sine of the angle by which they turn together."""
        x = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])
        angle = 0.3
        f = np.array([[1.5, 0.9 * np.sin(angle), 0], [0, 0.9 * np.cos(angle), 0], [0, 0, 1.0]])
        p = [*tetrahedron_inverse(x[None])[0], 2.0, 0.1, 0.7]
        values, _ = evaluate("strain_tetrahedron", x @ f.T, p)
        total = 0.1 * (0.5 - 0.1)
        assert_allclose(values, [1.0 + total, -0.2 + total, total, 0, 0, 0.7 * np.sin(angle)], atol=8 * EPS)
        p = [*triangle_inverse(x[None, :3])[0], 2.0, 3.0, 0.5, 0.7]
        values, _ = evaluate("strain_triangle", x[:3] @ f.T, p)
        assert_allclose(values, [2 * 0.5 - 0.05, 0.25 - 0.3, 0.7 * np.sin(angle)], atol=8 * EPS)

    def test_reflection(self):
        """It has no Green strain and no strain of axes, and the corotated law pushes back."""
        x = REST * [1.0, 1.0, -1.0]
        for name in ("stvk", "strain_tetrahedron"):
            values, _ = evaluate(name, x, np.concatenate([v[0].ravel() for v in rest(name, REST)]))
            assert_allclose(values, 0.0, atol=16 * EPS)
        values, gradients = evaluate("corotated", x, np.concatenate([v[0].ravel() for v in rest("corotated", REST)]))
        # S = diag(1, 1, -1): tr S - 3 = -2 and |D|^2 = 2 (2/3)^2 + (4/3)^2
        assert_allclose(values, [np.sqrt(8 / 3), -2 * stvk.volume_weight(0.25)], rtol=1e-12)
        assert np.abs(gradients).max() > 0.1

    @pytest.mark.parametrize("name", ["stvk", "corotated", "strain_tetrahedron", "strain_triangle"])
    def test_flat_at_rest_has_no_force(self, name):
        x = REST.copy()
        x[3], x[2] = x[0] + 0.5 * (x[1] - x[0]), x[0] - 2.0 * (x[1] - x[0])
        points = constraint_type(name).points
        p = np.concatenate([v[0].ravel() for v in rest(name, x[:points])])
        values, gradients = evaluate(name, REST[:points], p)
        assert not np.any(values)
        assert not np.any(gradients)

    @pytest.mark.parametrize("name", ["corotated", "stvk"])
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_turned_is_at_rest(self, name, dtype):
        p = np.concatenate([v[0].ravel() for v in rest(name, REST)])
        for seed in range(20):
            values, _ = evaluate(name, REST @ rotation(seed).T, p, dtype)
            assert np.abs(values).max() < 16 * np.finfo(dtype).eps

    def test_axes_of_a_triangle_follow_a_direction(self):
        x = np.array([[[0.0, 0, 0], [0, 1, 0], [-1, 0, 0]], [[0, 0, 0], [1, 0, 0], [0, 0, 1]]])
        b = triangle_inverse(x, np.array([1.0, 0.0, 0.0])).reshape(-1, 2, 2)
        edges = x[:, 1:] - x[:, :1]
        # columns of F at rest are the axes of the material
        u = np.einsum("mkd,mk->md", edges, b[:, :, 0])
        assert_allclose(u, [[1, 0, 0], [1, 0, 0]], atol=4 * EPS)


def rest(name, x):
    return constraint_type(name).rest(np.asarray(x, float)[None])


class TestClothOfStrainRows:
    @pytest.mark.parametrize(
        ("field", "value"),
        [("compression_compliance", np.inf), ("shear_stiffness", 0.5), ("tear_strain", 0.1), ("poissons_ratio", 1.0),
         ("poissons_ratio", -1.0), ("shear_compliance", 0.0)],
    )  # fmt: skip
    def test_what_they_cannot_do_is_refused(self, field, value):
        with pytest.raises(SceneError, match=field):
            ClothMaterial(stretch_model="strain", **{field: value})

    def test_springs_have_their_own_ratio(self):
        with pytest.raises(SceneError, match="poissons_ratio"):
            ClothMaterial(poissons_ratio=0.2)
        with pytest.raises(SceneError, match="stretch_model"):
            ClothMaterial(stretch_model="threads")

    def test_shear_of_its_own(self):
        """Energy of a pure shear is A G s^2 / 2, with 1 / (2 G) as the compliance of shear."""
        scene = Scene()
        scene.add_cloth(
            (TRIANGLE, [[0, 1, 2]]),
            material=ClothMaterial(
                stretch_model="strain", stretch_compliance=1e-3, shear_compliance=0.02, bend_stiffness=0.0
            ),
        )
        rows = next(row for row in scene_rows(scene) if row.type == "strain_triangle")
        p = [*rest("strain_triangle", TRIANGLE)[0][0], *rows.parameters["weights"][0]]
        b = np.array(p[:4]).reshape(2, 2)
        u, v = (np.stack([TRIANGLE[1] - TRIANGLE[0], TRIANGLE[2] - TRIANGLE[0]], axis=1) @ b).T
        angle = 0.2
        sheared = np.cos(angle) * v + np.sin(angle) * u
        x = np.concatenate([TRIANGLE[:1], TRIANGLE[0] + np.linalg.inv(b).T @ np.stack([u, sheared])])
        values, _ = evaluate("strain_triangle", x, p)
        energy = 0.5 * np.sum(values**2) / rows.compliance[0]
        assert_allclose(energy, 0.5 * AREA * (0.5 / 0.02) * np.sin(angle) ** 2, rtol=1e-10)
