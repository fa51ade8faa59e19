"""`shinari sweep`: many runs of a scene with other parameters, and a table of what they gave."""

import json as json_module
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter

from shinari.cli import FAILED, OK
from shinari.errors import SceneError, SweepError

sweep = App(name="sweep", result_action="return_value")

_Flag = Parameter(negative=())
_Measures = Parameter(negative=(), help="Measures, with commas between them.")
MOST_SHOWN = 5
"""Members that have failed of which the message is shown."""


@sweep.default
def run(  # noqa: PLR0913  options of the command
    base: str,
    *,
    set: Annotated[list[str] | None, Parameter(negative=())] = None,
    measure: Annotated[list[str] | None, Parameter(negative=())] = None,
    output: Annotated[Path, Parameter(alias="-o")],
    sample: str | None = None,
    seed: int = 0,
    duration: float | None = None,
    on: str = "local",
    workers: int | None = None,
    threads: int = 1,
    memory: float | None = None,
    time_limit: float | None = None,
    retries: int = 2,
    retry: Annotated[bool, _Flag] = False,
    record: str | None = None,
    fps: float | None = None,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> int:
    """Run a scene with many values of its parameters, and write a table of what is measured.

    The same command again goes on where it was stopped, and runs nothing twice. `shinari sweep status|retry|table|plot
    FOLDER` look at a study. Exit codes: 0 all members are done, 1 some have failed, 2 bad input, 4 an extra is missing,
    130 interrupted.

    Args:
        base: Scene file (TOML), or module:function, a function that takes the parameters and gives a scene.
        set: Parameter and its values, PATH=VALUES, once for each: `cloth[0].material.density=log:0.1:1:5`,
            `lin:A:B:N`, `int:A:B`, or values with commas between them.
        measure: What is measured at the end of each run, with commas: max_strain, energy, ..., or module:function.
        output: Folder of the study.
        sample: Members drawn from the ranges in place of a grid: sobol:N, lhs:N or random:N.
        seed: Seed of the sample.
        duration: Simulated time of each run [s]; left out: as the file says.
        on: local: a cluster of Dask on this machine; processes: the same without Dask; tcp://HOST:PORT: a scheduler.
        workers: Members at the same time on this machine; left out: as many as processors.
        threads: Threads of each member.
        memory: Memory of each member [GiB].
        time_limit: Time after which a member is given up [s].
        retries: How often a member is run again whose process was killed.
        retry: Run members again that have failed before.
        record: Keep frames of each member: npz or vtkhdf.
        fps: Frames kept for each second of simulated time.
        json: Print a summary as JSON on standard output.
        quiet: No progress.
    """
    from shinari.sweeps.run import sweep as run_sweep

    with _told(output, json), _here_importable():
        run_sweep(
            base,
            _assignments(set or []),
            _listed(measure),
            output,
            sample=sample,
            seed=seed,
            duration=duration,
            on=on,
            workers=workers,
            threads=threads,
            memory=memory,
            time_limit=time_limit,
            retries=retries,
            retry=retry,
            record=record,
            frames_per_second=fps,
            progress=not (quiet or json),
        )
    return _tell(output, json)


@sweep.command
def status(study: Path, *, json: Annotated[bool, _Flag] = False) -> None:
    """Say how far a study is, and why members have failed; also while it runs.

    Args:
        study: Folder of the study.
        json: Print it as JSON on standard output.
    """
    _tell(study, json, sys.stdout)


@sweep.command
def retry(
    study: Path,
    *,
    measure: Annotated[list[str] | None, Parameter(negative=())] = None,
    on: str = "local",
    workers: int | None = None,
    threads: int = 1,
    memory: float | None = None,
    time_limit: float | None = None,
    retries: int = 2,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> int:
    """Run the members of a study again that have failed, and those that are missing.

    Args:
        study: Folder of the study.
        measure: The functions of one's own that the study uses, named once more: they are code, and a file does not
            decide which code runs.
        on: Where members run, as of `shinari sweep`.
        workers: Members at the same time on this machine.
        threads: Threads of each member.
        memory: Memory of each member [GiB].
        time_limit: Time after which a member is given up [s].
        retries: How often a member is run again whose process was killed.
        json: Print a summary as JSON on standard output.
        quiet: No progress.
    """
    from shinari.sweeps.pools import check_place
    from shinari.sweeps.run import limits_of, run_plan
    from shinari.sweeps.study import Study

    check_place(on)
    plan = Study(study).plan
    used = [plan.job.factory, *(each.function for each in plan.job.measures)]
    missing = {str(function) for function in used if function is not None} - {*_listed(measure)}
    if missing:
        raise SweepError(
            f"retry: measure: {study} uses {', '.join(sorted(missing))}, code that a file cannot ask for; name it with "
            "--measure, or give the command of before with --retry"
        )
    limits = limits_of(threads, memory, time_limit, retries)
    with _told(study, json):
        run_plan(study, plan, on=on, workers=workers, limits=limits, retry=True, progress=not (quiet or json))
    return _tell(study, json)


@sweep.command
def table(study: Path, *, output: Annotated[Path | None, Parameter(alias="-o")] = None) -> None:
    """Write the table of a study as it is now, also while it runs, or print it.

    Args:
        study: Folder of the study.
        output: File to write, .parquet or .csv; left out: print a table of all members.
    """
    from shinari.sweeps.study import Study
    from shinari.sweeps.table import print_table, write_as

    found = Study(study)
    if output is None:
        print_table(found)
    else:
        write_as(output, found.table())
        print(f"shinari: wrote {output}", file=sys.stderr)


@sweep.command
def plot(
    study: Path,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    x: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)] = None,
    y: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)] = None,
) -> None:
    """Plot the measures of a study over its parameters.

    Args:
        study: Folder of the study.
        output: Picture to write, .png or .svg; by default plot.png in the folder of the study.
        x: Some of the parameters; by default all of numbers.
        y: Some of the measures; by default all of numbers.
    """
    from shinari.sweeps.plot import plot_study
    from shinari.sweeps.study import Study

    target = output or study / "plot.png"
    plot_study(Study(study), target, x=x, y=y)
    print(f"shinari: wrote {target}", file=sys.stderr)


def _assignments(words: list[str]) -> dict[str, str]:
    """Parameters and their values from `PATH=VALUES`."""
    found: dict[str, str] = {}
    for word in words:
        path, equals, values = word.partition("=")
        if not equals or not path.strip():
            raise SceneError(f"sweep: set: expected PATH=VALUES, got {word!r}")
        if path.strip() in found:
            raise SceneError(f"sweep: set: {path.strip()} is given twice")
        found[path.strip()] = values
    return found


def _listed(words: list[str] | None) -> list[str]:
    return [part.strip() for word in words or [] for part in word.split(",") if part.strip()]


@contextmanager
def _here_importable() -> Iterator[None]:
    """Functions of the user may stand in a file of the current folder."""
    sys.path.append("")
    try:
        yield
    finally:
        sys.path.remove("")


@contextmanager
def _told(study: Path, as_json: bool) -> Iterator[None]:
    """SIGTERM ends a sweep as Ctrl-C does; how far it came is told."""

    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        _tell(study, as_json)
        print("shinari: the same command goes on", file=sys.stderr)
        raise
    finally:
        signal.signal(signal.SIGTERM, before)


def _tell(folder: Path, as_json: bool, stream: Any = None) -> int:
    """Say how far a study is; gives the exit code."""
    from shinari.sweeps.study import Study

    study = Study(folder)
    counts, failed = study.counts(), study.failed()
    if as_json:
        facts = {"study": str(folder), "members": len(study), "counts": counts, "table": str(folder / "table.parquet")}
        shown = [{name: row[name] for name in ("member", "values", "status", "message")} for row in failed]
        print(json_module.dumps({**facts, "failed": shown}))
        return FAILED if failed else OK
    stream = stream or sys.stderr
    told = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    print(f"shinari: {folder}: {len(study)} members: {told}", file=stream)
    for row in failed[:MOST_SHOWN]:
        values = ", ".join(f"{path} = {value}" for path, value in row["values"].items())
        print(f"shinari: {row['status']}: {row['member']} ({values}): {row['message']}", file=stream)
    if len(failed) > MOST_SHOWN:
        print(f"shinari: and {len(failed) - MOST_SHOWN} more that failed", file=stream)
    if (folder / "table.parquet").is_file():
        print(f"shinari: the table is {folder / 'table.parquet'}", file=stream)
    return FAILED if failed else OK
