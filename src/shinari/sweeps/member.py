"""One member of a study: built, run and measured in this process."""

import dataclasses
import platform
import sys
import time
import traceback
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

import shinari.version
from shinari import check
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.errors import DivergenceError, SceneError, ShinariError
from shinari.io.scene_file import build_document
from shinari.output.recorder import Recorder
from shinari.sweeps import functions
from shinari.sweeps.measures import Measuring
from shinari.sweeps.paths import with_values
from shinari.sweeps.plan import Job

OK, DIVERGED, FAILED, TIMED_OUT, KILLED = STATUSES = ("ok", "diverged", "failed", "timed out", "killed")
"""How a member can end; those that are killed are run again by themselves."""
SETTING = "simulation."
"""Begin of the parameters of a function that are settings of the simulation."""
MOST_WARNINGS = 3
LONGEST = 500


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a member may use.

    Attributes:
        threads: Threads of its simulation.
        memory: Memory of its process [bytes]; None: what the worker has.
        time: Time it may take [s]; None: any.
        retries: How often it is run again when its process is killed.
    """

    threads: int = 1
    memory: int | None = None
    time: float | None = None
    retries: int = 2


class _TimeLimitError(Exception):
    """A member has used up its time."""


def versions() -> dict[str, str]:
    """Versions that decide about the bits of a result."""
    return {
        "shinari": shinari.version.__version__,
        "python": ".".join(platform.python_version_tuple()[:2]),
        "numpy": np.__version__,
        "numba": version("numba"),
    }


def build(job: Job, values: dict[str, Any], threads: int) -> tuple[Simulation, float, float]:
    """The simulation of a member at its start, its duration [s], and the frames that are recorded in a second [1/s].

    Raises:
        SceneError: The values do not make a scene.
    """
    settings: dict[str, Any] = {}
    duration, rate = 0.0, 30.0
    if job.document is not None:
        scene, options = build_document(with_values(job.document, values), Path(job.base))
        settings, duration, rate = dataclasses.asdict(options.settings), options.duration, options.frames_per_second
    else:
        assert job.factory is not None
        given = {name: value for name, value in values.items() if not name.startswith(SETTING)}
        scene = functions.load(job.factory)(**given)
        if not isinstance(scene, Scene):
            raise SceneError(f"sweep: base: {job.factory} has to give a Scene, got {check.short(scene)}")
        settings |= {name.removeprefix(SETTING): value for name, value in values.items() if name.startswith(SETTING)}
    settings |= {**job.simulation, "threads": threads}
    duration = duration if job.duration is None else job.duration
    rate = rate if job.frames_per_second is None else job.frames_per_second
    return Simulation(scene, **settings), duration, rate


def run(job: Job, member: str, values: dict[str, Any], limits: Limits, frames: str | None = None) -> dict[str, Any]:
    """Run a member.

    Args:
        job: What all members share.
        member: Hash of the member.
        values: Values of the parameters.
        limits: What it may use.
        frames: File to which frames are written; None: none.

    Returns:
        The row: `member`, `status`, `message`, `measures`, `seconds`, `solver_seconds`, `warnings`, `machine`,
        `versions`.
    """
    begun = time.perf_counter()
    row: dict[str, Any] = {"member": member, "status": OK, "message": "", "measures": {}, "solver_seconds": 0.0}
    deadline = None if limits.time is None else begun + limits.time
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        try:
            row["measures"] = _simulate(job, values, limits, deadline, frames, row)
        except _TimeLimitError as error:
            row |= {"status": TIMED_OUT, "message": str(error)}
        except DivergenceError as error:
            row |= {"status": DIVERGED, "message": _line(error)}
        except BaseException as error:  # whatever it is, it is a row of the table; Ctrl-C does not come here
            row |= {"status": FAILED, "message": _line(error)}
    texts = list(dict.fromkeys(" ".join(str(warning.message).split()) for warning in told))
    row["warnings"] = check.plain("; ".join(texts[:MOST_WARNINGS]), most=LONGEST)
    row["seconds"] = time.perf_counter() - begun
    return row | {"machine": platform.node(), "versions": versions()}


def warm(job: Job, values: dict[str, Any], limits: Limits) -> dict[str, Any]:
    """Compile all kernels of a member, take one step and try the measures.

    Returns:
        `error`: message of what went wrong, or ""; `bad`: whether a measure is to blame.
    """
    at_measures = False
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            simulation, duration, _ = build(job, values, limits.threads)
            if duration <= 0.0:
                raise SceneError("sweep: duration: is missing; a function that makes a scene does not say it")
            at_measures = True
            measuring = Measuring(job.measures, simulation)
            simulation.step()
            measuring.step()
            measuring.results()
    except DivergenceError:
        return {"error": "", "bad": False}
    except BaseException as error:  # the boundary to the code of the user
        return {"error": _line(error), "bad": at_measures}
    return {"error": "", "bad": False}


def _simulate(
    job: Job, values: dict[str, Any], limits: Limits, deadline: float | None, frames: str | None, row: dict[str, Any]
) -> dict[str, Any]:
    simulation, duration, rate = build(job, values, limits.threads)
    measuring = Measuring(job.measures, simulation)
    steps = round(duration / simulation.settings.dt)
    if frames is None:
        _take_steps(simulation, steps, measuring, deadline, row)
    else:
        with Recorder(simulation, [frames], frames_per_second=rate) as recorder:
            recorder.plan(steps)
            recorder.record()
            _take_steps(simulation, steps, measuring, deadline, row, recorder)
    return measuring.results()


def _take_steps(
    simulation: Simulation,
    steps: int,
    measuring: Measuring,
    deadline: float | None,
    row: dict[str, Any],
    recorder: Recorder | None = None,
) -> None:
    for _ in range(steps):
        begun = time.perf_counter()
        simulation.step()
        now = time.perf_counter()
        row["solver_seconds"] += now - begun
        measuring.step()
        if recorder is not None:
            recorder.record()
        if deadline is not None and now > deadline:
            raise _TimeLimitError(f"the time limit was reached at t = {simulation.time:g} s")


def _line(error: BaseException) -> str:
    """What went wrong on one line; of an error that is not ours also its type and the line of code."""
    try:
        text = "; ".join([str(error), *getattr(error, "__notes__", ())])
    except Exception:
        text = "an error that cannot tell what it is"
    if not isinstance(error, ShinariError):
        place = traceback.extract_tb(sys.exc_info()[2])[-1:]
        where = f" ({Path(place[0].filename).name}:{place[0].lineno})" if place else ""
        text = f"{type(error).__name__}: {text}{where}"
    return check.plain(text, longest=200, most=LONGEST)
