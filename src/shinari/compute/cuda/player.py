"""Plays the programs of one or many worlds on a device: every launch is one for all worlds.

The launches up to the place where Python reads something are a segment; most programs are one. Segments that come again
are captured as graphs by the device. A world whose list has no room stands still from there on; at the end of the
segment it is given room, and goes on at that launch while the others wait.
"""

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute.cuda import words
from shinari.compute.cuda.api import Device, Launch
from shinari.compute.cuda.memory import Writer
from shinari.compute.cuda.placed import Placed
from shinari.compute.cuda.unroll import Unrolled

if TYPE_CHECKING:
    from shinari.compute.cuda.program import DeviceProgram

# Launches from which on a segment is worth a graph, and segments of a program that may become graphs.
WORTH_A_GRAPH, MOST_SEGMENTS = 8, 64


class _Segment:
    """Launches between two places where Python reads something; the device knows them by this object."""

    def __init__(self, parts: Sequence[list[Launch]]) -> None:
        self.launches = [launch for part in parts for launch in part]


class Player:
    """Plays programs of the same lines.

    Args:
        programs: The programs, one for each world.
    """

    def __init__(self, programs: "Sequence[DeviceProgram]") -> None:
        self._programs, self._memory = list(programs), programs[0].device_memory
        self._device = self._memory.device
        self._unrolled = Unrolled(Placed(programs))
        self._writer, self._seen, self._launched = Writer(), -1, False
        self._segments: dict[tuple[int, ...], _Segment] = {}
        # the device keeps the keys, which must not keep the programs and their memory alive
        self._keys: list[_Segment] = []
        weakref.finalize(self, _forget, self._device, self._keys, self._writer).atexit = False

    def run(self, chosen: np.ndarray) -> tuple[np.ndarray, dict[int, Exception]]:
        """Play from the first line to the last.

        Args:
            chosen: Worlds that take part, (W,) bool.

        Returns:
            Of each world `words.STOP` if a `stop_if` ended its run, 0 if it came to the end, and else `words.HELD`;
            and the errors of worlds for whose lists there is no memory.
        """
        errors: dict[int, Exception] = {}
        self._before_run()
        halts = np.where(chosen, 0, words.HELD)
        self._unrolled.halt(halts)
        self._unrolled.running = halts == 0
        try:
            parts: list[list[Launch]] = []
            for part in self._unrolled.parts():
                if isinstance(part, list):
                    parts.append(part)
                    continue
                if part is not None:
                    self._run_on_host(part)
                    continue
                if not parts:
                    continue
                halts = self._issue(parts, errors)
                parts = []
                if not (halts == 0).any():
                    return halts, errors
            return self._issue(parts, errors), errors
        finally:
            if self._launched:
                self._memory.after_run(self._writer)
                self._launched = False

    def _before_run(self) -> None:
        """Bring the device up to date, and let copies of arrays that are new there know that this writes to them."""
        self._memory.before_run()
        if self._seen == self._memory.version:
            return
        self._seen = self._memory.version
        for array in (array for program in self._programs for array in program.arrays()):
            mirror = self._memory.mirror_of(array)
            if mirror is not None:
                mirror.attach(self._writer)

    def _run_on_host(self, line: int) -> None:
        """Run a line on the host between two segments."""
        if self._launched:
            self._memory.after_run(self._writer)
            self._launched = False
        self._programs[0].run_on_host(line)

    def _issue(self, parts: list[list[Launch]], errors: dict[int, Exception]) -> np.ndarray:
        """Play a segment, making room where worlds ask for it; returns the words of the worlds."""
        self._memory.bring_back()
        self._launched = True
        unrolled, segment = self._unrolled, self._segment(parts)
        worth = len(segment.launches) >= WORTH_A_GRAPH
        self._device.play(segment if worth else None, segment.launches)
        halts = unrolled.halted()
        while (halts > 0).any():
            halts = self._make_room(halts, errors)
            places = np.array([unrolled.interrupts[halt - 1][0] if halt > 0 else -1 for halt in halts.tolist()])
            if not (places >= 0).any():
                break
            first = places[places >= 0].min()
            goes_on = places == first
            unrolled.halt(np.where(goes_on, 0, np.where(halts == 0, words.HELD, halts)))
            self._device.play(None, segment.launches[first:])
            halts = np.where(goes_on, unrolled.halted(), halts)
            unrolled.halt(halts)
        unrolled.running = halts == 0
        return halts

    def _make_room(self, halts: np.ndarray, errors: dict[int, Exception]) -> np.ndarray:
        """Let the lists grow of worlds that wait for it; those for which there is no memory are held from now on."""
        self._memory.after_run(self._writer)
        halts = halts.copy()
        for world in np.flatnonzero(halts > 0).tolist():
            try:
                self._programs[world].make_room(self._unrolled.interrupts[int(halts[world]) - 1][1])
            except MemoryError as error:
                errors[world], halts[world] = error, words.HELD
        self._before_run()
        self._unrolled.halt(halts)
        return halts

    def _segment(self, parts: list[list[Launch]]) -> _Segment:
        """The segment of some parts; the one that was not played for longest makes room for a new one."""
        names = tuple(map(id, parts))
        found = self._segments.pop(names, None)
        if found is None:
            found = _Segment(parts)
            self._keys.append(found)
            if len(self._keys) > MOST_SEGMENTS:
                oldest = self._segments.pop(next(iter(self._segments)))
                self._keys.remove(oldest)
                self._device.forget(oldest)
        self._segments[names] = found
        return found


def _forget(device: Device, keys: list[_Segment], writer: Writer) -> None:
    writer.retire()
    for key in keys:
        device.forget(key)
