"""Pairs of fast particles: those that come close on their paths, with memory in proportion to them."""

import itertools

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.collision.broad.grid import Points
from shinari.collision.broad.pairs import PairSearch
from shinari.compute import Program
from shinari.compute.program import SPARE
from shinari.systems.particle_contact import fast_pairs as module
from shinari.systems.particle_contact.fast_pairs import PathSearch
from shinari.systems.particle_contact.records import Control, MemberPoints
from shinari.systems.particle_contact.system import Pairs

RADIUS = 0.005


def close_on_paths(begin, ways, reaches, fast):
    """All pairs by the distance of the paths at a thousand times, and at a thousand around the nearest, twice."""
    found = set()
    for i, j in itertools.combinations(range(len(begin)), 2):
        d, w = begin[i] - begin[j], ways[i] - ways[j]
        low, high = 0.0, 1.0
        for _ in range(3):
            times = np.linspace(low, high, 1001)
            gaps = np.linalg.norm(d + times[:, None] * w, axis=1)
            at, step = times[gaps.argmin()], times[1] - times[0]
            low, high = max(at - step, 0.0), min(at + step, 1.0)
        reach = reaches[i] + reaches[j]
        assert abs(gaps.min() - reach) > 1e-6, "choose another seed"
        if (fast[i] or fast[j]) and gaps.min() < reach:
            found.add((i, j))
    return found


def fast_pairs(begin, ways, reaches, fast, behind):
    """Pairs of which one is fast that come within their reaches on their paths, (K, 2); these lie behind or ahead."""
    points, control = Points.zeros(len(begin), np.float64), Control.zeros(1)
    search = PairSearch(points)
    on_paths = PathSearch(search, MemberPoints(at=points.at), control, 1.0)
    paths = on_paths.paths
    paths.at[...], paths.reach[...], paths.fast[...] = begin + ways * behind, reaches, fast
    paths.past[...], paths.ahead[...] = ways * behind, ways * (not behind)
    control.balls[0], control.resume[0], control.ahead[0] = len(begin), behind, float(not behind)
    p = Program()
    on_paths.record_find(p)
    p.run(1)
    pairs = search.pairs.balls[: on_paths.total[0][0]]
    np.testing.assert_array_equal(pairs[:, 0], np.repeat(np.arange(len(begin)), np.diff(search.offsets.start)))
    return np.sort(pairs[fast[pairs].any(axis=1)], axis=1)


@pytest.mark.bounds
@pytest.mark.parametrize("behind", [False, True], ids=["ahead", "behind"])
@pytest.mark.parametrize("few", [0, 1 << 20], ids=["slices", "all with all"])
@pytest.mark.parametrize(("speed", "share"), [(0.0, 1.0), (0.3, 1.0), (5.0, 1.0), (5.0, 0.1), (500.0, 0.3)])
def test_pairs_are_those_that_come_close_on_their_paths(speed, share, few, behind, monkeypatch):
    monkeypatch.setattr(module, "FEW", few)
    rng = np.random.default_rng(5)
    count = 40
    begin, reaches = rng.uniform(-0.2, 0.2, (count, 3)), rng.uniform(0.01, 0.05, count)
    fast = rng.uniform(size=count) < share
    ways = np.where(fast[:, None], speed * rng.normal(size=(count, 3)), 0.0)
    ways[:6] = ways[0]  # side by side
    fast[:6] = fast[0]
    pairs = fast_pairs(begin, ways, reaches, fast, behind)
    assert len({tuple(pair) for pair in pairs.tolist()}) == len(pairs)
    assert {tuple(pair) for pair in pairs.tolist()} == close_on_paths(begin, ways, reaches, fast)


def burst(kind: str, speed: float, count: int, precision: str = "float32") -> sn.Simulation:
    """A cube of grains that nearly touch, thrown apart from its middle or in random directions."""
    x = np.stack(np.meshgrid(*[np.arange(count)] * 3, indexing="ij"), axis=-1).reshape(-1, 3) * 2.02 * RADIUS
    x -= x.mean(axis=0)
    way = np.random.default_rng(1).normal(size=x.shape) if kind == "random" else x
    velocity = speed * way / np.linalg.norm(way, axis=1, keepdims=True)
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_grains(x, radius=RADIUS, velocity=velocity)
    return sn.Simulation(scene, threads=1, substeps=4, precision=precision)


@pytest.mark.parametrize("kind", ["radial", "random"])
def test_rows_do_not_grow_with_the_speed(kind):
    """Each meets a few dozen others on its path at most; within the reach of 1,000 m/s are all of them."""
    for speed in (10.0, 1000.0):
        sim = burst(kind, speed, 8)
        sim.step(1)
        # the list never shrinks
        most = len(sim._bound.get(Pairs).detection.rows) / (1.0 + SPARE)
        assert 0 < most < 80 * len(sim.state.positions)
        assert np.isfinite(sim.state.positions).all()


@precisions
@pytest.mark.parametrize("speed", [20.0, 1000.0])
def test_a_fast_grain_hits_what_is_on_its_path(speed, precision):
    """One grain towards another 0.1 m ahead, past many that lie beside its path: both go on with half of its speed."""
    beside = np.array([[0.02 * k, 0.03, 0.0] for k in range(1, 20)])
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_grains(np.array([[0.0, 0.0, 0.0], [0.1, 0.0, 0.0], *beside]), radius=RADIUS,
                     velocity=np.array([[speed, 0.0, 0.0], *np.zeros((20, 3))]))  # fmt: skip
    sim = sn.Simulation(scene, threads=1, substeps=4, precision=precision)
    sim.step(1)
    v = np.asarray(sim.state.velocities)
    eps = np.finfo(precision).eps
    np.testing.assert_allclose(v[:, 0].sum(), speed, rtol=100 * eps)
    np.testing.assert_allclose(v[:2, 0], 0.5 * speed, rtol=1e-4)
    np.testing.assert_array_equal(v[2:], 0.0)


@precisions
def test_momentum_and_energy_of_a_burst(precision):
    sim = burst("random", 200.0, 6, precision)
    start, kinetic = sim.momentum(), sim.energy().kinetic
    size = float(sim.model.masses.sum()) * 200.0
    for _ in range(3):
        sim.step()
        assert sim.energy().kinetic <= kinetic * (1.0 + 1e-4)
        kinetic = sim.energy().kinetic
    np.testing.assert_allclose(sim.momentum(), start, atol=1000 * np.finfo(precision).eps * size)
