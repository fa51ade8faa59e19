"""A part of a step that is recorded once and run from Python: for the time until the whole step is one program."""

from collections.abc import Callable

from shinari.compute import Program


class Segment:
    """Runs what a function records; it is recorded at the first run, or by `prepare`."""

    def __init__(self, record: Callable[[Program], None]) -> None:
        self._record = record
        self._program: Program | None = None

    def prepare(self) -> Program:
        """Record and load or compile."""
        if self._program is None:
            self._program = Program()
            self._record(self._program)
            self._program.prepare()
        return self._program

    def __call__(self, threads: int) -> bool:
        """Run it on so many threads."""
        return self.prepare().run(threads)
