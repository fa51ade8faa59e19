"""States of worlds that a reset brings back."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from shinari.compute import Record
from shinari.compute.records import address_of
from shinari.model.state import State
from shinari.solver.world import World


class Snapshot:
    """The memory of a world that needs no Python.

    Its evolving values are in the records of its program and in its state.

    Args:
        world: The world.
        constants: Addresses of arrays that all worlds share.
        other: The snapshot of another world, whose copies serve here where they are equal, or None.
    """

    def __init__(self, world: World, constants: set[int], other: "Snapshot | None") -> None:
        assert world.steps is not None
        own = [array for array in _arrays(world) if address_of(array) not in constants]
        known = [kept for _, kept in other._arrays] if other is not None else []
        self._arrays = [(array, _kept(world, array, known[k : k + 1])) for k, array in enumerate(own)]
        self._lists: list[tuple[Record, dict[str, np.ndarray]]] = [
            (record, world.device.raw(record)) for record in world.steps.lists()
        ]
        self._times = world.state.frame, world.state.external_work
        self._world, self._bound = world, world.bound

    @property
    def holds(self) -> bool:
        """Whether the world has the arrays of which these are copies."""
        return self._world.needs_no_python and self._world.bound is self._bound

    def restore(self) -> None:
        """Write everything back; lists that have grown get the arrays that they had."""
        device = self._world.device
        for record, arrays in self._lists:
            now = device.raw(record)
            if any(now[name] is not array for name, array in arrays.items()):
                record.bind(**arrays)
        for array, kept in self._arrays:
            device.write(array, kept)
        self._world.state.frame, self._world.state.external_work = self._times


class Snapshots:
    """The states that a reset brings back: those at the start of the scene, or later ones that were kept.

    Args:
        worlds: The worlds, none of which has taken a step.
    """

    def __init__(self, worlds: Sequence[World]) -> None:
        self._worlds = worlds
        self._snapshots: list[Snapshot | None] = [None for _ in worlds]
        self._states: list[State | None] = [None for _ in worlds]
        self._copy(np.arange(len(worlds)))

    def keep(self, chosen: np.ndarray) -> None:
        """Let the present states of some worlds, (C,), be those that come back."""
        for k in chosen.tolist():
            self._states[k] = self._worlds[k].state.copy()
        self._copy(chosen)

    def _copy(self, chosen: np.ndarray) -> None:
        few = [{address_of(array) for array in _arrays(world)} for world in self._worlds[:2]]
        constants = few[0] & few[1] if len(few) == 2 else set()
        first: Snapshot | None = None
        for k in chosen.tolist():
            world = self._worlds[k]
            self._snapshots[k] = Snapshot(world, constants, first) if world.needs_no_python else None
            first = first or self._snapshots[k]

    def restore(self, chosen: np.ndarray) -> None:
        """Bring some worlds, (C,), back."""
        for k in chosen.tolist():
            snapshot = self._snapshots[k]
            if snapshot is not None and snapshot.holds:
                snapshot.restore()
            else:
                self._worlds[k].go_back(self._states[k])


def _arrays(world: World) -> Iterable[np.ndarray]:
    """All arrays that a world without Python uses, each once, as they are on the host."""
    if world.steps is None:
        return []
    records = world.steps.records()
    tables = {record.address for record in records}
    found = [array for record in records for array in world.device.raw(record).values()]
    found += [array for array in world.steps.cells() if address_of(array) not in tables]
    found += world.device.raw_state(world.state).values()
    # of views that begin at one address the longest
    found = sorted((array for array in found if array.nbytes), key=lambda array: array.nbytes)
    return {address_of(array): array for array in found}.values()


def _kept(world: World, array: np.ndarray, other: list[Any]) -> Any:
    """A copy of an array, or the one that holds the same bytes."""
    copy = world.device.copied(array)
    for known in other:
        alike = isinstance(copy, np.ndarray) and isinstance(known, np.ndarray)
        if alike and known.shape == copy.shape and known.dtype == copy.dtype and known.tobytes() == copy.tobytes():
            return known
    return copy
