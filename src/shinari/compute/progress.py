"""Tells how far compiling is, when it takes longer than a second.

Messages go to the logger `shinari` at level INFO. Where nobody has set up logging they are printed to standard error;
`logging.getLogger("shinari").setLevel("WARNING")` or the variable `SHINARI_QUIET=1` silence them.
"""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from shinari import variables

PATIENCE = 1.0
"""Time that compiling takes before anything is said [s]."""
EVERY = 4.0
"""Time between two messages [s]."""

logger = logging.getLogger("shinari")


class _Printer(logging.Handler):
    """Prints to standard error when no other handler takes the message."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.getLogger().handlers or len(logger.handlers) > 1:
            return
        print(f"shinari: {record.getMessage()}", file=sys.stderr, flush=True)


class Progress:
    """A series of kernels that are being compiled.

    Args:
        kernels: How many there are.
    """

    def __init__(self, kernels: int) -> None:
        self._kernels, self.done = kernels, 0
        self._begun = time.perf_counter()
        self._told: float | None = None

    def tell(self, done: int) -> None:
        """So many have been compiled; to be called now and then while that does not change, too."""
        self.done, now = done, time.perf_counter()
        due = self._begun + PATIENCE if self._told is None else self._told + EVERY
        if now > due and done < self._kernels:
            self._told = now
            logger.info("compiling kernel %d of %d, once on this machine ...", done + 1, self._kernels)

    def finish(self, *, kept: bool) -> None:
        """All have been compiled; whether they are kept for later runs."""
        if self._told is not None:
            seconds = time.perf_counter() - self._begun
            later = "later runs load them" if kept else "later runs compile them again"
            logger.info("compiled %d kernels in %.1f s; %s", self._kernels, seconds, later)


@contextmanager
def quietly(quiet: bool = True) -> Iterator[None]:
    """Say nothing about compiling meanwhile."""
    level = logger.level
    logger.setLevel(logging.WARNING if quiet else level)
    try:
        yield
    finally:
        logger.setLevel(level)


def _install() -> None:
    logger.addHandler(_Printer())
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.WARNING if variables.is_set("SHINARI_QUIET") else logging.INFO)


_install()
