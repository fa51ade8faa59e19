"""Times of impact of triangles with solids: until then nothing is too near, and soon after something is."""

import numpy as np
import pytest

from shinari.maths.quaternion import exponential, rotation_rows
from shinari.shapes.kernels.all_distances import distances
from shinari.shapes.registry import KINDS
from shinari.systems.paths.impact import CLOSE, KEPT, NEARER, NEARLY, TANGLED, along, impact_time

RADIUS = 0.002
# numbers of the solid, and how far a point of it can be from its origin [m]
SOLIDS = {
    "sphere": ((0.02, 0.0, 0.0, 0.0), 0.02),
    "box": ((0.02, 0.015, 0.01, 0.0), 0.0269),
    "capsule": ((0.01, 0.02, 0.0, 0.0), 0.03),
    "cylinder": ((0.015, 0.02, 0.0, 0.0), 0.025),
}
DISTANCE = distances(False)
_steps = np.linspace(0.0, 1.0, 6)
GRID = np.array([[1.0 - u - v, u, v] for u in _steps for v in _steps if u + v < 1.0 + 1e-9])


def random_path(random: np.random.Generator):
    """Corners of a triangle of some 2 cm that flies at, past or along a solid at the origin, and a rotation of that."""
    starts = random.normal(0.0, 0.01, (3, 3)) + 0.05 * direction(random)
    if random.random() < 0.5:
        # it slides along
        starts -= starts.mean(axis=0) * random.uniform(0.3, 0.6)
    shift = random.normal(0.0, 0.05, 3) - random.choice([0.0, 1.0]) * starts.mean(axis=0)
    ends = starts + shift + random.normal(0.0, 0.003, (3, 3))
    turn = random.choice([0.0, 0.4]) * direction(random)
    return tuple(map(tuple, starts.tolist())), tuple(map(tuple, ends.tolist())), tuple(turn.tolist())


def direction(random: np.random.Generator) -> np.ndarray:
    v = random.normal(size=3)
    return v / np.linalg.norm(v)


def random_pose(random: np.random.Generator) -> tuple[float, ...]:
    """A turned solid at the origin of its frame."""
    rows = np.ravel(rotation_rows(exponential(tuple(random.normal(size=3).tolist())))).tolist()
    return (*rows, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("allowed", [0.0, 0.004])
@pytest.mark.parametrize("name", SOLIDS)
def test_times_of_impact_are_safe_and_not_early(name, allowed):
    random, (size, reach), kind = np.random.default_rng(5), SOLIDS[name], KINDS[name]
    met = 0
    for _ in range(16):
        starts, ends, turn = random_path(random)
        pose = random_pose(random)
        solid = kind, size, reach
        time = impact_time(DISTANCE, solid, None, (starts, ends), turn, pose, RADIUS, allowed)

        def least(t, paths=(starts, ends, turn, pose)):
            """Least distance of points of the triangle: no less than that of the triangle."""
            return min(DISTANCE(kind, q, size, None)[0] for q in GRID @ np.array(along(*paths, t))) + allowed

        first = least(0.0)
        if first <= TANGLED * RADIUS:
            assert time == 1.0
            continue
        kept = KEPT * (RADIUS + allowed)
        before = min(least(t) for t in np.linspace(0.0, time, 13))
        # the first distance is known to a part only
        assert before >= min(kept, NEARLY * (1.0 - CLOSE) * first) * (1.0 - 1e-9)
        if time < 1.0:
            met += 1
            after = min(least(t) for t in np.linspace(time, 1.0, 30))
            spread = max(np.linalg.norm(np.subtract(a, b)) for a in starts for b in starts)
            # between the points and the times that are looked at it is nearer by less than their distance
            missed = spread / 10.0 + np.linalg.norm(np.subtract(ends, starts), axis=1).max() / 60.0
            assert after <= (min(kept, first) + NEARER * first) / (1.0 - CLOSE) + missed
    assert met >= 2
