"""The list of contact points of a step: what it tells, and how many rows it takes where points change in a step."""

import numpy as np
import pytest

import shinari as sn
from shinari.systems.rigid.system import RigidBodySystem


@pytest.fixture(scope="module")
def steps():
    """Keys and runs of the list, points, contacts and change of momentum of boxes that fall onto each other."""
    rng = np.random.default_rng(0)
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=0.5, name="floor")
    for i in range(60):
        x, y, z = 0.6 * (i % 3), 0.6 * (i // 9) + 0.5, 0.6 * (i // 3 % 3)
        position = np.array([x, y, z]) + 0.05 * rng.uniform(size=3)
        scene.add_rigid_body(sn.Box((0.5, 0.5, 0.5)), density=500.0, friction=0.5, position=position)
    dt = 1 / 60
    simulation = sn.Simulation(scene, substeps=5, dt=dt, threads=1, sleep=False)
    equations = simulation._bound.get(RigidBodySystem).equations
    told = []
    before = simulation.momentum()
    for _ in range(90):
        simulation.step()
        counts, keys = equations.counts, equations.log.entries.key
        first, start, end = int(counts.log_first[0]), int(counts.log_start[0]), int(counts.logged[0])
        contacts, now = simulation.contacts(), simulation.momentum()
        told.append((keys[:end].copy(), first, start, int(counts.points[0]), contacts, (now - before) / dt))
        before = now
    return told


def test_a_point_of_the_first_run_has_one_row_before_the_last_run(steps):
    several = 0
    for keys, first, start, _points, _contacts, _force in steps:
        assert len(np.unique(keys[:first])) == first
        assert not np.isin(keys[first:start], keys[:first]).any()
        several += first > 0
    assert several >= 10


def test_rows_are_not_many_more_than_points(steps):
    for keys, _first, _start, points, contacts, _force in steps:
        assert len(keys) <= 2.5 * max(len(contacts.positions), points)


def test_the_floor_tells_what_changes_the_momentum(steps):
    weight = 60 * 500.0 * 0.5**3 * 9.81
    for _keys, _first, _start, _points, contacts, force in steps:
        floor = contacts.second == "floor"
        total = contacts.forces[floor].sum(axis=0)
        # a heap that rests is solved to 6e-8 of its weight
        np.testing.assert_allclose(total - [0.0, weight, 0.0], force, rtol=1e-7, atol=1e-7 * weight)
