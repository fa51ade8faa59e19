"""Rows sixteen at a time give what the same rows give one at a time, and the same bits on any number of threads."""

import itertools

import numpy as np
import pytest
from sweeps import sweep

import shinari.constraints  # noqa: F401
from shinari.compute.colouring import colour
from shinari.constraints.registry import constraint_types
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.systems.rows.batches import WIDTH, Batches
from shinari.systems.rows.projection import Variant

TETRAHEDRAL = [kind for kind in constraint_types() if kind.lanes and kind.points == 4]
H = 1.0 / 600.0


class Block:
    """The tetrahedra of a box as rows of a type, moved at random, some of their points fixed."""

    def __init__(self, kind, cells, real):
        rng = np.random.default_rng(5)
        points, tetrahedra = lattice(cells, 0.1)
        masses = rng.uniform(0.5, 2.0, len(points))
        masses[points[:, 0] < 0.05] = 0.0
        order, self.offsets = colour(tetrahedra, len(points), free=masses > 0.0)
        self.indices = tetrahedra[order].astype(np.uint32)
        rest = kind.rest(points[self.indices])
        rest = rest if isinstance(rest, tuple) else (rest,)
        columns = [np.asarray(value).reshape(len(self.indices), -1) for value in rest]
        self.parameters = np.concatenate(columns, axis=1).astype(real)
        self.coefficient = rng.uniform(1e-3, 1e-1, (len(self.indices), 1)).astype(real)
        self.damping = rng.uniform(0.0, 1.0, len(self.indices)).astype(real)
        self.x = np.zeros((len(points), 4), real)
        self.x[:, :3] = points + rng.normal(scale=0.01, size=points.shape)
        self.x[:, 3] = masses
        self.predicted = (self.x[:, :3] + rng.normal(scale=0.001, size=points.shape)).astype(real)
        self.velocities = rng.normal(size=points.shape).astype(real)
        self.multipliers = rng.normal(scale=0.1, size=(len(self.indices), kind.rows)).astype(real)
        if kind.rows == 1:
            self.multipliers = self.multipliers[:, 0]

    def solved(self, kind, variant, threads=1):
        """Positions and multipliers after a sweep."""
        x, multipliers = self.x.copy(), self.multipliers.copy()
        motion = {"damping": self.damping, "predicted": self.predicted, "velocities": self.velocities}
        sweep(
            kind, variant, self.offsets, self.indices, self.parameters, self.coefficient, multipliers, x, 1.0 / H**2,
            h=H, threads=threads, **(motion if variant.damped else {}),
        )  # fmt: skip
        return x, multipliers


@pytest.mark.parametrize(
    ("kind", "damped", "first"),
    [
        *(pytest.param(kind, False, True, id=kind.name) for kind in TETRAHEDRAL),
        *(pytest.param(kind, True, False, id=f"{kind.name}-damped") for kind in TETRAHEDRAL if kind.rows < 3),
    ],
)
def test_lanes_give_what_single_rows_give(kind, damped, first):
    block = Block(kind, (5, 5, 6), np.float64)
    # one colour: what follows would carry rounding on, and nearly flat tetrahedra would enlarge it
    block.offsets = block.offsets[:2]
    assert block.offsets[1] > WIDTH
    assert block.offsets[1] % WIDTH
    variant = Variant("xpbd", False, damped, False, first=first)
    rows = block.solved(kind, variant)
    lanes = block.solved(kind, Variant("xpbd", False, damped, False, first=first, batched=True))
    moved = np.abs(rows[0] - block.x).max()
    assert moved > 1e-4
    # a few hundred operations, each of half an eps of the largest number in it
    np.testing.assert_allclose(lanes[0], rows[0], atol=1e-12 * moved)
    np.testing.assert_allclose(lanes[1], rows[1], atol=1e-12 * np.abs(rows[1]).max())


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_one_thread_and_two_give_the_same_bits(real):
    kind = next(kind for kind in TETRAHEDRAL if kind.name == "neo_hookean")
    block = Block(kind, (16, 16, 16), real)
    assert np.diff(Batches(block.indices, block.offsets).offsets).max() > 16
    for damped in (False, True):
        variant = Variant("xpbd", False, damped, False, batched=True)
        one, two = (block.solved(kind, variant, threads) for threads in (1, 2))
        for a, b in zip(one, two, strict=True):
            assert a.tobytes() == b.tobytes()


def test_the_last_batch_of_a_colour_repeats_its_last_row():
    indices = np.arange(4 * 70).reshape(70, 4)
    batches = Batches(indices, np.array([0, 33, 33, 70]))
    assert batches.offsets.tolist() == [0, 3, 3, 6]
    assert np.unique(batches.rows[:3]).tolist() == list(range(33))
    assert (batches.rows[2, 1:] == 32).all()
    for b, lane in itertools.product(range(6), range(WIDTH)):
        assert batches.indices[b, :, lane].tolist() == indices[batches.rows[b, lane]].tolist()
