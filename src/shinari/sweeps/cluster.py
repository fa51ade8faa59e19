"""Members on Dask: an embedded cluster, a scheduler that runs already, or a client of the user."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from shinari import check
from shinari.errors import SweepError, require
from shinari.sweeps import member, worker

ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://[^\s/:]+:\d+/?")
PATIENCE = 10.0
"""Time within which a scheduler has to answer [s]."""
AHEAD = 3
"""Members handed over for each slot: one that runs, one that waits there, one at the scheduler."""
NOWHERE = "127.0.0.1:0"
EMBEDDED = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.tick.cycle": "2s",
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.system-monitor.gil.enabled": False,
    "distributed.scheduler.http.routes": [],
    "distributed.worker.http.routes": [],
}
"""Settings of the embedded cluster: its workers only wait for helpers, and nothing of it is for others to see."""
FRESH = 2.0
"""Time for which the number of slots is taken as known [s]."""


class DaskPool:
    """The workers of a client."""

    def __init__(self, client: Any, *, here: bool = False) -> None:
        self._client, self.here = client, here
        self._slots, self._asked = 0, 0.0

    @property
    def slots(self) -> int:
        """Threads of all workers now."""
        if time.monotonic() - self._asked > FRESH:
            self._slots = sum(self._client.nthreads().values())
            self._asked = time.monotonic()
        return self._slots

    @property
    def window(self) -> int:
        """Members to hand over before results are back."""
        return AHEAD * max(self.slots, 1)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function on a worker; a worker that is lost has its members run elsewhere."""
        return self._client.submit(function, *arguments, pure=False)

    def check(self) -> None:
        """Ask all workers for their versions.

        Raises:
            SweepError: One has another version, or cannot import this package.
        """
        here = member.versions()
        try:
            found = self._client.run(worker.probe, on_error="return")
        except Exception as error:  # of Dask, of the network, or of a worker that cannot read the question
            raise SweepError(f"sweep: on: the workers cannot be asked: {plain(error)}") from error
        for address, versions in found.items():
            if not isinstance(versions, dict):
                raise SweepError(f"sweep: on: worker {address}: has no shinari that answers: {plain(versions)}")
            if versions != here:
                raise SweepError(other_version(f"worker {address}", worker.told_versions(versions)))

    def check_alive(self) -> None:
        """See to it that the scheduler is still there.

        Raises:
            SweepError: It is not.
        """
        if self._client.status not in ("running", "connecting"):
            raise SweepError("sweep: on: the scheduler was lost; what is done is kept, the same command goes on")

    def warm_calls(self) -> list[Callable[[dict[str, Any]], Any]]:
        """A call to one worker of each machine."""
        first = {_machine(address): address for address in self._client.nthreads()}
        return [partial(self._client.submit, worker.warm, workers=[address], pure=False) for address in first.values()]


def other_version(who: str, versions: str) -> str:
    """The message about a worker of another version."""
    return f"sweep: on: {who}: has {versions}; here are {worker.told_versions(member.versions())}: install the same"


@contextmanager
def local(sweep: str, workers: int) -> Iterator[DaskPool]:
    """A cluster inside of this process; members run in helpers, processes of their own."""
    distributed: Any = require("distributed", "cluster")
    dask: Any = require("dask", "cluster")
    options = {"n_workers": workers, "threads_per_worker": 1, "processes": False}
    options |= {"dashboard_address": NOWHERE, "worker_dashboard_address": NOWHERE}
    with dask.config.set(EMBEDDED):
        cluster = distributed.LocalCluster(**options, memory_limit=0, silence_logs=logging.CRITICAL)
        with cluster, distributed.Client(cluster, set_as_default=False) as client, worker.helpers_of(sweep):
            yield DaskPool(client, here=True)


@contextmanager
def remote(sweep: str, address: str) -> Iterator[DaskPool]:
    """The workers of a scheduler.

    Raises:
        SweepError: Nobody answers.
    """
    distributed: Any = require("distributed", "cluster")
    try:
        if address.startswith("tcp:"):
            # a client waits for ever for someone who takes connections and says nothing
            with ThreadPoolExecutor(1) as thread:  # a notebook has a loop in its own
                thread.submit(asyncio.run, _identity(address)).result()
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise SweepError(
            f"sweep: on: no scheduler of Dask answers at {address} within {PATIENCE:g} s: {plain(error)}"
        ) from error
    with client, of_client(sweep, client) as pool:
        yield pool


@contextmanager
def of_client(sweep: str, client: Any) -> Iterator[DaskPool]:
    """The workers of a client; their helpers of this sweep end with the block."""
    try:
        yield DaskPool(client)
    finally:
        with suppress(Exception):  # a scheduler that is gone has no workers with helpers either
            client.run(worker.stop_helpers, sweep, on_error="ignore")


def _machine(address: str) -> str:
    """The machine of a worker, of its address `tcp://MACHINE:PORT`; those of this process are on one."""
    return address.partition("://")[2].rpartition(":")[0]


async def _identity(address: str) -> None:
    """Ask a scheduler who it is.

    Raises:
        OSError: Nobody is there, or does not answer in time.
    """
    core: Any = require("distributed.core", "cluster")
    async with asyncio.timeout(PATIENCE):
        comm = await core.connect(address, timeout=PATIENCE)
        try:
            await comm.write({"op": "identity", "reply": True})
            await comm.read()
        finally:
            comm.abort()


def plain(error: Any) -> str:
    """The message of an error on one line, or its type where it has none."""
    return check.plain(str(error) or type(error).__name__)
