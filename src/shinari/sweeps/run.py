"""Runs a sweep: plan, checks, one warm start, the fan-out, the table."""

import json
import os
import queue
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from shinari import check
from shinari.errors import SceneError, ShinariError, SweepError, require
from shinari.memory_limit import available_memory
from shinari.sweeps import functions, journal, member, plan, table, worker
from shinari.sweeps.cluster import other_version, plain
from shinari.sweeps.define import define
from shinari.sweeps.member import KILLED, OK, Limits
from shinari.sweeps.plan import Job, Member, Plan
from shinari.sweeps.pools import Pool, check_place, open_pool
from shinari.sweeps.progress import Progress
from shinari.sweeps.study import Study

SHARE = 0.9
"""Part of the free memory that members on this machine may have together."""
LEAST_MEMORY = 1 << 28
"""Least memory of a member [bytes]: the package itself needs some of it."""
TRIED = 3
"""Members that are tried, one after the other, until one can be built, before all run."""
AWAITED = 1.0
"""Time between two looks at what else there is to do while members run [s]."""


def sweep(  # noqa: PLR0913  public interface, by keyword
    base: str | os.PathLike | Callable[..., Any],
    parameters: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    measures: str | Callable[..., Any] | Sequence[str | Callable[..., Any]],
    folder: str | os.PathLike,
    *,
    sample: str | None = None,
    seed: int = 0,
    duration: float | None = None,
    simulation: Mapping[str, Any] | None = None,
    on: Any = "local",
    workers: int | None = None,
    threads: int = 1,
    memory: float | None = None,
    time_limit: float | None = None,
    retries: int = 2,
    retry: bool = False,
    record: str | None = None,
    frames_per_second: float | None = None,
    progress: bool = True,
) -> Study:
    """Run a scene with many values of its parameters, and measure each run.

    The folder holds the plan, with a hash for each member, and what is known so far; the same call again runs only what
    is missing. A member that fails is a row with its message.

    Args:
        base: A scene file, or a function that takes parameters and gives a `Scene`; also by name, `"module:function"`.
            A function stands at the top of a file, so that other processes can import it.
        parameters: Values by parameter: `"log:1e-9:1e-5:7"`, `"lin:0:1:5"`, `"int:1:9"` or a list. Of a file a
            parameter is a path such as `"cloth[0].material.density"`, `"cloth[flag].position[1]"` or
            `"simulation.substeps"`; of a function a parameter of it, or `"simulation.substeps"`. A list of dicts gives
            the members one by one.
        measures: Names of built-in measures, `"module:function"`, or functions of a `Simulation` at its end that give a
            number, a list of numbers, or a dict of these. A class has `step(simulation)`, which is called after each
            step, and `result(simulation)`.
        folder: Folder of the study.
        sample: None: all combinations of the values. `"sobol:256"`, `"lhs:100"`, `"random:100"`: so many members drawn
            from the ranges.
        seed: Seed of the sample.
        duration: Simulated time of a member [s]; None: as the file says.
        simulation: Settings for all members, as of `Simulation`.
        on: `"local"`: a cluster of Dask inside of this process; `"processes"`: the same without Dask;
            `"tcp://HOST:PORT"`: a scheduler of Dask; a `dask.distributed.Client`; or an executor with `submit`.
        workers: Members at the same time on this machine; None: as many as processors.
        threads: Threads of each member.
        memory: Memory of each member [GiB]; None: its share of what is free on this machine, on others no limit.
        time_limit: Time after which a member is given up [s]; None: never.
        retries: How often a member is run again when its process is killed.
        retry: Run members again that have failed before.
        record: Frames that are kept of each member in `frames/HASH.npz` or `.vtkhdf`: `"npz"`, `"vtkhdf"` or None.
        frames_per_second: Frames in a second of simulated time [1/s]; None: as the file says, or 30.
        progress: Show how far it is on standard error.

    Returns:
        The study: `column(name)`, `table()`, `rows()`, `failed()`, `counts()`. The table is also in `table.parquet`.

    Raises:
        SceneError: A parameter is unknown, a range or a measure is not usable.
        FileError: A file cannot be read or written.
        SweepError: No scheduler answers, workers have another version, the folder is in use or holds another study.
        MissingExtraError: The extra [cluster] is not installed.
    """
    if functions.IMPORTING in os.environ:
        raise SweepError(
            "sweep: base: the file that holds its functions starts a sweep when it is imported; put the call below "
            "if __name__ == '__main__':"
        )
    require("pyarrow", "cluster")
    check_place(on)
    limits = limits_of(threads, memory, time_limit, retries)
    workers = None if workers is None else check.count("sweep", "workers", workers, most=4096)
    for name, value in (("retry", retry), ("progress", progress)):
        check.flag("sweep", name, value)
    where = check.path("sweep", "folder", folder)
    made = define(
        base,
        parameters,
        measures,
        sample=sample,
        seed=seed,
        duration=duration,
        simulation=simulation,
        frames_per_second=frames_per_second,
        record=record,
    )
    return run_plan(where, made, on=on, workers=workers, limits=limits, retry=retry, progress=progress)


def limits_of(threads: int, memory: float | None, time_limit: float | None, retries: int) -> Limits:
    """Limits of members from what a user gave; memory in GiB.

    Raises:
        SceneError: A value is not usable.
    """
    if memory is not None:
        memory = check.number("sweep", "memory", memory, least=LEAST_MEMORY / 2**30)
    if time_limit is not None:
        time_limit = check.number("sweep", "time_limit", time_limit, above=0.0)
    return Limits(
        threads=check.count("sweep", "threads", threads),
        memory=None if memory is None else int(memory * 2**30),
        time=time_limit,
        retries=check.count("sweep", "retries", retries, least=0, most=100),
    )


def run_plan(
    folder: Path, made: Plan, *, on: Any, workers: int | None, limits: Limits, retry: bool, progress: bool
) -> Study:
    """Run what is missing of a plan, in a folder of its own; see `sweep`."""
    plan.check_folder(folder)
    with journal.Journal(folder) as results:
        known = journal.latest(folder)
        plan.prepare(folder, made, begun=bool(known))
        wanted = [m for m in made.members if m.hash not in known or (retry and known[m.hash]["status"] != OK)]
        try:
            if wanted:
                with Progress(len(made.members), len(made.members) - len(wanted), progress) as shown:
                    _Sweep(folder, made.job, limits).run(wanted, results, shown, on=on, workers=workers)
        except BaseException:
            with suppress(ShinariError):  # a disk that is full takes no table either
                table.write(folder, Study(folder).table())
            raise
        study = Study(folder)
        table.write(folder, study.table())
    return study


class _Sweep:
    """One call: the tasks it makes, and the fan-out."""

    def __init__(self, folder: Path, job: Job, limits: Limits) -> None:
        self._name = uuid.uuid4().hex
        self._folder = folder.absolute()
        self._record = job.record
        self._limits = limits
        self._shared = {
            "sweep": self._name,
            "digest": job.digest(),
            "job": json.dumps(msgspec.to_builtins(job)),
            "versions": member.versions(),
        }

    def run(
        self, wanted: list[Member], results: journal.Journal, shown: Progress, *, on: Any, workers: int | None
    ) -> None:
        """Run members and keep their rows."""
        if self._record is not None:
            (self._folder / "frames").mkdir(exist_ok=True)
        shown.say("starting")
        with open_pool(on, self._name, workers, self._limits.threads) as pool:
            if pool.here:
                self._limits = _with_memory(self._limits, pool.slots)
            pool.check()
            shown.say("compiling")
            self._warm(pool, wanted)
            shown.say("sweep")
            for row in self._fan_out(pool, wanted):
                results.append(row)
                shown.advance(row)

    def _task(self, one: Member, **more: Any) -> dict[str, Any]:
        frames = None
        if self._record is not None:
            frames = str(self._folder / "frames" / f"{one.hash}.{self._record}")
        task = {**self._shared, "member": one.hash, "values": one.values, "frames": frames}
        return task | {"limits": msgspec.to_builtins(self._limits)} | more

    def _warm(self, pool: Pool, wanted: list[Member]) -> None:
        """Compile once on each machine, and see to it that a member can be built and measured."""
        places = sorted({0, len(wanted) // 2, len(wanted) - 1})[:TRIED]
        for number, place in enumerate(places):
            answers = list(self._warmed(pool, self._task(wanted[place])))
            errors = [answer for answer in answers if answer["error"]]
            if not errors:
                return
            if errors[0]["bad"] or number == len(places) - 1:
                raise SceneError(_label(errors[0]["error"]))

    def _warmed(self, pool: Pool, task: dict[str, Any]) -> Iterator[dict[str, Any]]:
        for future in [call(task) for call in pool.warm_calls()]:
            try:
                yield future.result()
            except Exception as error:  # of Dask or of the network; what a member does is in the answer
                raise SweepError(f"sweep: on: a worker cannot be warmed: {plain(error)}") from error

    def _fan_out(self, pool: Pool, wanted: list[Member]) -> Iterator[dict[str, Any]]:
        """Rows of the members as they come; only so many as are needed are handed over at a time."""
        waiting, running = iter(wanted), {}
        done: queue.SimpleQueue[tuple[str, Any]] = queue.SimpleQueue()

        def hand_over(one: Member) -> None:
            running[one.hash] = future = pool.submit(worker.run_member, self._task(one))
            future.add_done_callback(lambda future: done.put((one.hash, future)))

        try:
            left = len(wanted)
            while left:
                while len(running) < pool.window and (one := next(waiting, None)) is not None:
                    hand_over(one)
                try:
                    name, future = done.get(timeout=AWAITED)
                except queue.Empty:
                    pool.check_alive()
                    continue
                del running[name]
                left -= 1
                yield _row(name, future)
        finally:
            for future in running.values():
                with suppress(Exception):  # of a scheduler that is gone
                    future.cancel()


def _row(name: str, future: Any) -> dict[str, Any]:
    """The row of a member that is done.

    Raises:
        SweepError: It could not run for a reason that all others share.
    """
    try:
        row = future.result()
    except (Exception, CancelledError) as error:  # what a member does is in its row: this is of the pool
        if type(error).__name__ == "KilledWorker":
            return {"member": name, "status": KILLED, "message": "the workers that ran it were lost", "measures": {}}
        raise SweepError(
            f"sweep: on: the workers were lost ({type(error).__name__}: {plain(error)}); what is done is kept, the "
            "same command goes on"
        ) from error
    if row["status"] == "version":
        raise SweepError(other_version("a worker", row["message"]))
    return row


def _with_memory(limits: Limits, slots: int) -> Limits:
    """Limits with a share of the free memory of this machine, where no other is asked for."""
    free = available_memory()
    if limits.memory is not None or free is None:
        return limits
    return msgspec.structs.replace(limits, memory=max(int(SHARE * free / max(slots, 1)), LEAST_MEMORY))


def _label(message: str) -> str:
    return message if message.startswith("sweep: ") else f"sweep: {message}"
