"""Kernels that steer a program on the device: gates, loops, stops.

A program has words of control on the device. Word 0 says whether it goes on (0), was stopped (-1), stands still while
other worlds go on (-2), or at which launch a list has no room (its number and 1). The others are gates and counters of
passes: a launch runs where its gate is open. Gate 1 is open always.
"""

import ctypes

from shinari.compute.kernels import kernel
from shinari.compute.primitives import primitive

HALT, OPEN = 0, 1
STOP, HELD = -1, -2

FOLLOWS = 9, 0
"""Compute capability from which on a launch comes to the device while the one before it runs: see `follow`."""


@primitive
def load_word(address: int) -> int:
    """The int64 at an address of the device; plain Python runs in the simulator, where it is memory of the process."""
    return ctypes.c_int64.from_address(int(address)).value


@primitive
def store_word(address: int, value: int) -> None:
    """Write an int64 to an address of the device."""
    ctypes.c_int64.from_address(int(address)).value = value


@primitive
def keep_loop() -> None:
    """Keep the loop around this call as it is: it is not unrolled, which would take a division of int64 before it."""


@primitive
def load_words(control: int, gate: int, begin: int, end: int) -> tuple[int, int, int, int]:
    """The words of a launch, asked for at once: one after the other each would wait for the memory."""
    return load_word(control), load_word(gate), load_word(begin), load_word(end)


@primitive
def follow() -> None:
    """Wait for the launches before this one, and let the next one come to the device meanwhile.

    What a launch takes to come is half of a short one. The driver lets the next one come while this one runs, where
    each waits here before it reads anything (programmatic dependent launch, from compute capability 9.0 on).
    """


@kernel
def set_word(_, target: int, value: int):
    """Write a number."""
    store_word(target, value)


@kernel
def copy_word(_, source: int, target: int):
    """Copy a word."""
    store_word(target, load_word(source))


@kernel
def open_gate(_, gate: int, outer: int, condition: int):
    """Open a gate if the gate outside of it is open and a condition holds, else close it."""
    is_open = load_word(outer) != 0 and load_word(condition) != 0
    store_word(gate, 1 if is_open else 0)


@kernel
def close_gate(_, gate: int, condition: int):
    """Close a gate if a condition holds."""
    if load_word(condition) != 0:
        store_word(gate, 0)


@kernel
def next_pass(_, gate: int, counter: int, count: int):
    """Close the gate of a loop if it has as many passes behind it as it is to have."""
    done = load_word(counter)
    if done >= load_word(count):
        store_word(gate, 0)
    store_word(counter, done + 1)


@kernel
def stop_run(_, control: int, condition: int):
    """End the run if a condition holds."""
    if load_word(condition) != 0:
        store_word(control, STOP)


@kernel
def require_room(_, control: int, needed: int, room: int, place: int):
    """Interrupt the run at a launch if more rows are needed than there are."""
    if load_word(needed) > load_word(room):
        store_word(control, place + 1)
