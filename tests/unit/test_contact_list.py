"""The list of contacts with colliders is what the marks say, in their order, and takes little memory."""

import numpy as np
import pytest

import shinari as sn
from shinari.compute import Program
from shinari.systems.colliders.contact_list import WORD, ContactList
from shinari.systems.colliders.system import ColliderContacts


def marked(near: np.ndarray, contact_list: ContactList) -> None:
    """Mark the colliders near each item, (I, K) bool."""
    words = np.zeros((len(near), contact_list.words * WORD), bool)
    words[:, : near.shape[1]] = near
    contact_list.marks.word[...] = np.packbits(words, axis=1, bitorder="little").ravel()


@pytest.mark.parametrize("colliders", [1, 3, 8, 9, 70])
@pytest.mark.parametrize("count", [1, 15, 16, 17, 1000])
def test_lists_hold_what_is_marked(count, colliders):
    rng = np.random.default_rng(count + colliders)
    colours = np.unique([0, count // 3, count // 2, count])
    elements = rng.integers(0, 2000, (count, 3)).astype(np.uint32)
    contact_list = ContactList(elements, colours, colliders, np.float32)
    p = Program()
    contact_list.record_renew(p)
    before: dict[tuple[int, int], int] = {}
    for part in (0.0, 0.05, 0.4, 0.1):
        near = rng.random((count, colliders)) < part
        marked(near, contact_list)
        p.run(1)
        item, solid = np.nonzero(near)
        contacts, items, counts = contact_list.contacts, contact_list.items, contact_list.counts
        with_one = np.flatnonzero(near.any(axis=1))
        assert (counts.contacts[0], counts.items[0]) == (len(item), len(with_one))
        assert np.array_equal(contacts.item[: len(item)], item)
        assert np.array_equal(contacts.solid[: len(item)], solid)
        assert np.array_equal(items.item[: len(with_one)], with_one)
        assert np.array_equal(items.points[: len(with_one)], elements[with_one])
        assert np.array_equal(items.first[: len(with_one)], np.searchsorted(item, with_one))
        assert np.array_equal(items.end[: len(with_one)], np.searchsorted(item, with_one, side="right"))
        assert np.array_equal(contact_list.colours.start, np.searchsorted(with_one, colours))
        # contacts that stay keep their state, others begin anew
        kept = [before.get(pair, 0) for pair in zip(item.tolist(), solid.tolist(), strict=True)]
        assert np.array_equal(contacts.gap[: len(item)], kept)
        contacts.gap[: len(item)] = np.arange(1, len(item) + 1)
        before = {pair: k + 1 for k, pair in enumerate(zip(item.tolist(), solid.tolist(), strict=True))}


def dam(precision: str) -> sn.Simulation:
    """8,000 particles of fluid in the corner of a tank that is 2.5 times as long."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((1.0, 0.8, 0.4), inside=True), position=(0.5, 0.4, 0.2))
    lattice = np.stack(np.meshgrid(*[np.arange(20)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    scene.add_fluid((lattice + 0.5) * 0.02, spacing=0.02)
    return sn.Simulation(scene, dt=1 / 240, substeps=1, iterations=5, precision=precision, threads=1)


@pytest.mark.parametrize(("precision", "bound"), [("float32", 416), ("float64", 645)])
def test_bytes_of_a_particle_of_fluid(precision, bound):
    """All that kernels read or write, with what the planes and contacts of a small tank take: 414.5 and 642.5 bytes."""
    simulation = dam(precision)
    simulation.step(10)
    assert simulation.profile().bytes < bound * 8000


def test_bytes_of_a_particle_that_no_collider_is_near():
    """Marks are bytes, offsets of blocks; what only elements need is there with elements only."""
    simulation = dam("float32")
    solids = simulation._bound.get(ColliderContacts)
    records = solids.particle_list.marks, solids.particle_list.rows, solids.particle_list._starts
    lists = sum(array.nbytes for record in records for array in record.arrays.values())
    assert lists <= 2.01 * 8000
    own = ("detected_position", "last_position", "margin", "travelled", "path", "settled", "moved_in", "displacement")
    assert sum(solids.contact_particles.arrays[name].nbytes for name in own) == (12 + 12 + 4 + 4 + 4 + 4) * 8000
