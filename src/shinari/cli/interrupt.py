"""Ctrl-C that waits for the end of the step, so that what is written is whole."""

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Within the block Ctrl-C and SIGTERM (on Windows Ctrl-Break) only set a flag; a second one interrupts at once.

    Yields:
        A function that says whether the flag is set.
    """
    asked = False

    def ask(number: int, frame: FrameType | None) -> None:
        nonlocal asked
        if asked:
            raise KeyboardInterrupt
        asked = True
        print("shinari: stopping after this step ...", file=sys.stderr, flush=True)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        numbers.append(signal.SIGBREAK)  # what a program that is no terminal can send
    before = [signal.signal(number, ask) for number in numbers]
    try:
        yield lambda: asked
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
