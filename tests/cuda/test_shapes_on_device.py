"""Shapes of launches: every item of every world has a thread, and neighbouring threads have neighbouring items."""

import numpy as np
import pytest
from host_device import HostDevice
from scenes import SCENES

import shinari as sn
from shinari.compute.cuda import api, placed


@pytest.mark.parametrize("worlds", [1, 2, 7, 128, 1000, 70000])
@pytest.mark.parametrize("items", [None, 1, 2, 5, 32, 100, 128, 129, 5000, 10_000_000])
def test_each_item_of_each_world_has_a_thread(items, worlds) -> None:
    (first, second), (along, beside) = placed.shape(items, worlds)
    assert first >= 1
    assert 1 <= second <= 65535
    assert 1 <= along * beside <= placed.THREADS
    # threads of the first axis are worlds, one each; items are taken in strides along the second
    assert first * beside >= worlds
    assert (first - 1) * beside < worlds
    assert items is None or second == 65535 or second * along >= items
    assert items is None or along >= min(items, placed.THREADS)


def test_counts_that_kernels_write_have_many_blocks(monkeypatch) -> None:
    """Also where the cell is a view of what a kernel writes: colours of sweeps over bodies."""
    shapes = {}

    class Noting(HostDevice):
        def __init__(self):
            super().__init__()
            self.names, self.entries = {}, []

        def play(self, key, launches):
            for entry, blocks, threads, _ in launches:
                if not isinstance(entry, tuple):
                    shapes.setdefault(self.names[id(entry)], set()).add((blocks, threads))
            super().play(key, launches)

        def compile(self, kernels):
            found = super().compile(kernels)
            self.names.update({id(entry): kernel.name for entry, (kernel, _) in zip(found, kernels, strict=True)})
            self.entries.extend(found)
            return found

    there = Noting()
    monkeypatch.setattr(api, "device", lambda: there)
    scene = sn.Scene()
    SCENES["bodies_by_sweeps"][0](scene)
    sn.Simulation(scene, device="cuda", rigid_solver="sweeps", sleep=False, substeps=1).step()
    assert shapes["sweep_side_by_side"] == {((1, placed.BLOCKS), (placed.THREADS, 1))}
    assert np.all([threads[0] <= placed.THREADS for found in shapes.values() for _, threads in found])
