"""Where members run: threads of this process that ask helpers, or anything with `submit`."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from shinari import check
from shinari.compute.threads import processors
from shinari.errors import SceneError, SweepError, require
from shinari.sweeps import cluster, worker

AHEAD = 256
"""Members that are handed to an executor of the user at a time; it does not say how many it can work on."""


class Pool(Protocol):
    """Runs functions somewhere."""

    here: bool
    """Whether members run on this machine, on cores that are ours."""

    @property
    def slots(self) -> int:
        """Members that run at the same time, as far as is known; 0: none now."""
        ...

    @property
    def window(self) -> int:
        """Members to hand over before results are back."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function there; gives a future with `add_done_callback`, `result` and `cancel`."""
        ...

    def check(self) -> None:
        """See to it that the versions there are those here, as far as can be known before a member runs.

        Raises:
            SweepError: They are not.
        """
        ...

    def check_alive(self) -> None:
        """See to it that there still is someone to wait for.

        Raises:
            SweepError: There is not.
        """
        ...

    def warm_calls(self) -> list[Callable[[dict[str, Any]], Any]]:
        """Calls that warm each machine that is known, of a task to a future."""
        ...


class ExecutorPool:
    """An executor of `concurrent.futures`, or of a library that has the same methods."""

    def __init__(self, executor: Any, slots: int, window: int, *, here: bool) -> None:
        self._executor, self.here = executor, here
        self.slots, self.window = slots, window

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function there."""
        try:
            return self._executor.submit(function, *arguments)
        except RuntimeError as error:  # shut down, or a process of it was killed
            raise SweepError(f"sweep: on: the executor takes nothing more: {cluster.plain(error)}") from error

    def check(self) -> None:
        """Nothing is known before a member runs; each refuses on a machine of another version."""

    def check_alive(self) -> None:
        """Its futures tell when it is broken."""

    def warm_calls(self) -> list[Callable[[dict[str, Any]], Any]]:
        """One call, wherever it ends up."""
        return [partial(self.submit, worker.warm)]


@contextmanager
def open_pool(on: Any, sweep: str, workers: int | None, threads: int) -> Iterator[Pool]:
    """Where members run.

    Args:
        on: `"local"`: an embedded cluster of Dask; `"processes"`: processes without it; `"tcp://HOST:PORT"`: a
            scheduler of Dask; a client of Dask; or an executor.
        sweep: Name of the sweep, whose helpers end with the block.
        workers: Members at the same time, for the first two; None: as many as processors.
        threads: Threads of each member.

    Raises:
        SweepError: No scheduler answers.
    """
    count = workers or max(1, processors() // threads)
    if on == "processes":
        with _threads(count) as executor, worker.helpers_of(sweep):
            yield ExecutorPool(executor, count, 2 * count, here=True)
    elif isinstance(on, str):
        with cluster.local(sweep, count) if on == "local" else cluster.remote(sweep, on) as pool:
            yield pool
    elif _is_client(on):
        with cluster.of_client(sweep, on) as pool:
            yield pool
    else:
        with worker.helpers_of(sweep):
            yield ExecutorPool(on, workers or processors(), 2 * workers if workers else AHEAD, here=False)


def check_place(on: Any) -> None:
    """See to it that `on` says where members run.

    Raises:
        SceneError: It does not.
        MissingExtraError: Dask is not installed.
    """
    if isinstance(on, str):
        known = on in ("local", "processes") or cluster.ADDRESS.fullmatch(on) is not None
    else:
        known = callable(getattr(on, "submit", None)) and not isinstance(on, type)
    if known and isinstance(on, str) and on != "processes":
        require("distributed", "cluster")
    if not known:
        raise SceneError(
            "sweep: on: expected local, processes, tcp://HOST:PORT, a client of Dask or an executor with submit, got "
            f"{check.short(on)}"
        )


def _is_client(on: Any) -> bool:
    return type(on).__module__.partition(".")[0] == "distributed"


@contextmanager
def _threads(count: int) -> Iterator[Executor]:
    """Threads that ask helpers, which are to be ended before."""
    executor = ThreadPoolExecutor(count, thread_name_prefix="shinari-sweep")
    try:
        yield executor
    finally:
        executor.shutdown(wait=False, cancel_futures=True)
