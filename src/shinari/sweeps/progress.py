"""How far a sweep is, on standard error: a bar with the time left on a terminal, else a line now and then."""

import sys
import time
from typing import Any

from shinari.sweeps.member import OK

PERIOD = 10.0
"""Least time between two lines where standard error is no terminal [s]."""


class Progress:
    """Counts members.

    Args:
        total: Members of the study.
        done: Those that are known already.
        shown: Whether to show it.
    """

    def __init__(self, total: int, done: int, shown: bool) -> None:
        self._total, self._done, self._before, self._failed = total, done, done, 0
        self._begun = self._told = time.monotonic()
        self._shown = shown
        self._bar: Any = None
        if shown and sys.stderr.isatty():
            self._bar = self._make_bar()

    def __enter__(self) -> "Progress":
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.stop()

    def say(self, what: str) -> None:
        """Tell what goes on before the first member runs."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], description=what)

    def advance(self, row: dict[str, Any]) -> None:
        """A member is done."""
        self._done += 1
        self._failed += row["status"] != OK
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=self._done, description="sweep", more=self._more())
        elif self._shown and (time.monotonic() - self._told > PERIOD or self._done == self._total):
            self._told = time.monotonic()
            print(f"shinari: {self._done} of {self._total} members{self._more()}", file=sys.stderr, flush=True)

    def _more(self) -> str:
        """Failures and time left."""
        failed = f", {self._failed} failed" if self._failed else ""
        left = self._total - self._done
        if left == 0:
            return failed
        pace = (time.monotonic() - self._begun) / max(self._done - self._before, 1)
        return f"{failed}, {duration(pace * left)} left"

    def _make_bar(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
        from rich.progress import Progress as Bar

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[more]}"),
        )
        bar = Bar(*columns, console=Console(stderr=True))
        bar.add_task("sweep", total=self._total, completed=self._done, more="")
        return bar


def duration(seconds: float) -> str:
    """A time in words."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"
