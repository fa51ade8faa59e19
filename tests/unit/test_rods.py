"""Cosserat rods: kernels against dense references in NumPy, momentum, clamps, bad input, checkpoints."""

import numpy as np
import pytest

import shinari as sn
from shinari.rods.model import RodModel


def product(a, b):
    return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def conjugate(q):
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def rotate_back(q, v):
    return product(product(conjugate(q), np.concatenate([[0.0], v])), q)[1:]


def turned(q, v):
    """q (1, v/2), normalised."""
    p = product(q, np.concatenate([[1.0], 0.5 * v]))
    return p / np.linalg.norm(p)


def strains(x, q, ends, after, lengths, rest):
    """C of all rows, (S, 6), from the definition."""
    values = np.zeros((len(q), 6))
    for s, (i, j) in enumerate(ends):
        values[s, :3] = rotate_back(q[s], x[j] - x[i]) - [0.0, 0.0, lengths[s]]
        if after[s] != s:
            p = product(conjugate(q[s]), q[after[s]])
            p *= 1.0 if p @ rest[s] >= 0.0 else -1.0
            values[s, 3:] = 2.0 * (p[1:] - rest[s, 1:])
    return values


def gradient(x, q, *shape):
    """dC / d(x, turns of the frames in their axes) by central differences, (6 S, 3 N + 3 S)."""
    n, m = len(x), len(q)
    columns, d = [], 1e-6
    for k in range(3 * n + 3 * m):
        sides = []
        for sign in (1.0, -1.0):
            xs, qs = x.copy(), q.copy()
            if k < 3 * n:
                xs[k // 3, k % 3] += sign * d
            else:
                turn = np.zeros(3)
                turn[(k - 3 * n) % 3] = sign * d
                qs[(k - 3 * n) // 3] = turned(q[(k - 3 * n) // 3], turn)
            sides.append(strains(xs, qs, *shape).ravel())
        columns.append((sides[0] - sides[1]) / (2.0 * d))
    return np.array(columns).T


def random_rod(seed, *, ring, solver="direct", precision="float64", segments=6, damping=0.0, clamped=True):
    """A simulation of a bent rod of uneven segments, some points pinned and some frames clamped."""
    rng = np.random.default_rng(seed)
    n = segments if ring else segments + 1
    angle = np.linspace(0.0, 2.0 * np.pi if ring else 3.0, n, endpoint=not ring)
    points = 0.3 * np.stack([np.cos(angle), np.sin(angle), 0.3 * np.sin(2.0 * angle)], axis=1)
    points += rng.uniform(-0.03, 0.03, points.shape)
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.RodMaterial(radius=0.01, youngs_modulus=1e6, poissons_ratio=0.3, density=1000.0, solver=solver,
                              damping=damping)  # fmt: skip
    scene.add_rod([[5, 5, 5], [5, 5, 6], [5, 6, 6]], material=material)  # another rod before it
    rod = scene.add_rod(points, closed=ring, material=material)
    if clamped:
        rod.pin(1)
        rod.clamp([2])
    sim = sn.Simulation(scene, dt=1 / 600, substeps=1, precision=precision, threads=1)
    return sim, rod, rng


def table(sim, rod):
    """What the reference needs of a rod: free of the tables of the solver where it can be."""
    model = sim.model.parts[0]
    assert isinstance(model, RodModel)
    chosen = slice(rod.segments.start, rod.segments.stop)
    slots = sim.model.slots[rod.particles.start : rod.particles.stop].astype(int)
    n, m = len(slots), len(rod.segments)
    ends = np.stack([np.arange(m), (np.arange(m) + 1) % n], axis=1)
    closed = n == m
    after = np.array([(s + 1) % m if closed or s + 1 < m else s for s in range(m)])
    return model, chosen, slots, (ends, after, model.lengths[chosen], model.rest[chosen])


def disturb(sim, rod, rng, size):
    """Random offsets of points [m] and frames [rad]."""
    _, chosen, slots, _ = table(sim, rod)
    free = sim.state.x[slots, 3:] > 0.0
    sim.state.x[slots, :3] += size * rng.uniform(-0.1, 0.1, (len(slots), 3)) * free
    frames = sim.state.parts["rods/frames"][chosen]
    for q in frames:
        q[...] = turned(q.astype(float), size * rng.uniform(-1, 1, 3))


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("segments", [3, 4, 7])
@pytest.mark.parametrize("first", [True, False])
def test_direct_step_is_that_of_a_dense_solution(ring, segments, first):
    """One projection against a dense G W G^T + alpha~ with G by finite differences."""
    for seed in range(3):
        sim, rod, rng = random_rod(seed, ring=ring, segments=segments)
        disturb(sim, rod, rng, 0.3)
        model, chosen, slots, shape = table(sim, rod)
        x, q = sim.state.x[slots, :3].copy(), sim.state.parts["rods/frames"][chosen].copy()
        lam = rng.normal(0.0, 1e-5, (len(q), 6)) * (not first)
        jointed = np.repeat(shape[1] != np.arange(len(q)), 3).reshape(-1, 3)
        lam[:, 3:] *= jointed
        sim.state.parts["rods/multipliers"][chosen] = lam

        g = gradient(x, q, *shape)
        weights = model.weights[chosen][:, [0, 0, 1]]
        w = np.concatenate([np.repeat(sim.state.x[slots, 3], 3), weights.ravel()])
        alpha = (model.softness[chosen] * 600.0**2).ravel()
        c = strains(x, q, *shape).ravel()
        change = np.linalg.solve((g * w) @ g.T + np.diag(alpha), -c - alpha * lam.ravel())
        moved = w * (g.T @ change)
        assert np.abs(moved).max() > 1e-3, "something has to move"
        x_new = x + moved[: x.size].reshape(-1, 3)
        q_new = np.array([turned(a, v) for a, v in zip(q, moved[x.size :].reshape(-1, 3), strict=True)])

        sim._work.parts[0].project(1, first)
        scale = np.abs(moved).max()
        assert np.abs(sim.state.x[slots, :3] - x_new).max() < 1e-6 * scale
        assert np.abs(sim.state.parts["rods/frames"][chosen] - q_new).max() < 1e-6 * scale
        lam_new = lam + change.reshape(-1, 6)
        assert np.abs(sim.state.parts["rods/multipliers"][chosen] - lam_new).max() < 1e-6 * np.abs(lam_new).max()
        pinned = sim.state.x[slots, 3] == 0.0
        assert pinned.sum() == 1
        assert np.array_equal(sim.state.x[slots[pinned], :3], x[pinned])
        assert np.array_equal(sim.state.parts["rods/frames"][chosen][2], q[2])
