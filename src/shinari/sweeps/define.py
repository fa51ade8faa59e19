"""Makes the plan of a study from what a user asks for, and refuses what cannot run before anything is computed."""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import msgspec

import shinari.version
from shinari import check
from shinari.errors import SceneError, require
from shinari.io.scene_file import build_document, checked_document, read_document
from shinari.model.settings import Settings
from shinari.sweeps import functions
from shinari.sweeps.functions import Function
from shinari.sweeps.measures import measures_of
from shinari.sweeps.member import SETTING
from shinari.sweeps.paths import check_value
from shinari.sweeps.plan import Job, Plan, members_with_hashes
from shinari.sweeps.ranges import Choices, Range, plain_value, values_of
from shinari.sweeps.samples import members_of

RECORDS = ("npz", "vtkhdf")


def define(
    base: Any,
    parameters: Any,
    measures: Any,
    *,
    sample: str | None,
    seed: int,
    duration: float | None,
    simulation: Mapping[str, Any] | None,
    frames_per_second: float | None,
    record: str | None,
) -> Plan:
    """The plan of a study; see `shinari.sweeps.run.sweep`.

    Raises:
        SceneError: A parameter, a range, a measure or a setting is not usable; the message names the nearest names.
        FileError: The scene file, or a file that it names, cannot be read.
    """
    if record is not None:
        check.choice("sweep", "record", record, RECORDS)
        if record == "vtkhdf":
            require("h5py", "cache")
    if duration is not None:
        duration = check.number("sweep", "duration", duration, above=0.0)
    if frames_per_second is not None:
        frames_per_second = check.number("sweep", "frames_per_second", frames_per_second, above=0.0)
    found = _base(base)
    values, rows = _values(parameters, sample, seed)
    job = msgspec.structs.replace(
        found,
        simulation=_settings(simulation, values),
        duration=duration,
        frames_per_second=frames_per_second,
        measures=measures_of(measures),
        record=record,
    )
    _check_parameters(job, values)
    return Plan(
        job=job,
        members=members_with_hashes(job, rows),
        parameters={path: _told(parameters, path) for path in values},
        sample=sample,
        seed=seed,
        shinari=shinari.version.__version__,
    )


def _base(base: Any) -> Job:
    """What makes the scene: a file or a function."""
    if callable(base):
        function = functions.function_given("base", base)
        return Job(base=str(function), factory=function)
    if functions.is_name(base):
        function = functions.function_named("base", base)
        return Job(base=str(function), factory=function)
    path = check.path("sweep", "base", base).absolute()
    document = read_document(path)
    checked_document(document, path)
    return Job(base=str(path), document=document, files=dict(_files(document, path.parent)))


def _files(node: Any, folder: Path) -> Iterator[tuple[str, str]]:
    """Names and hashes of the files that a document names."""
    if isinstance(node, dict):
        node = list(node.values())
    if isinstance(node, list):
        for item in node:
            yield from _files(item, folder)
    elif isinstance(node, str) and node and "\0" not in node and len(node) < 1000:
        try:
            if (folder / node).is_file():
                yield node, hashlib.sha256((folder / node).read_bytes()).hexdigest()[:16]
        except OSError:  # no name of a file, or one that may not be read: the scene will tell
            return


def _values(parameters: Any, sample: Any, seed: int) -> tuple[dict[str, Range | Choices], list[dict[str, Any]]]:
    """Values of each parameter, and the rows of the members."""
    if isinstance(parameters, Mapping):
        for path in parameters:
            check.text("sweep", "parameters", path)
        values = {path: values_of(path, given) for path, given in parameters.items()}
        return values, members_of(values, sample, seed)
    rows = check.sequence("sweep", "parameters", parameters)
    if (
        sample is not None
        or not rows
        or not all(isinstance(row, Mapping) and row.keys() == rows[0].keys() for row in rows)
    ):
        raise SceneError(
            "sweep: parameters: expected a dict of ranges by path, or, without a sample, a list of dicts with the same "
            f"paths, one for each member, got {check.short(parameters)}"
        )
    if not rows[0]:
        return {}, [{}]
    # a list stands for several values of a grid: here each is one
    columns = {path: values_of(path, [row[path] for row in rows]) for path in rows[0]}
    given = [
        dict(zip(columns, row, strict=True)) for row in zip(*(c.extremes() for c in columns.values()), strict=True)
    ]
    return columns, list({repr(row): row for row in given}.values())


def _told(parameters: Any, path: str) -> Any:
    """How the values of a parameter were given, for the plan."""
    given = parameters[path] if isinstance(parameters, Mapping) else "one by one"
    return given if isinstance(given, str) else check.short(given)


def _settings(simulation: Mapping[str, Any] | None, values: Mapping[str, Any]) -> dict[str, Any]:
    given = {} if simulation is None else check.kind("sweep", "simulation", simulation, Mapping)
    settings: dict[str, Any] = {}
    for name, value in given.items():
        settings[name] = None if value is None else plain_value(f"simulation: {check.told(name)}", value)
    known = [field.name for field in fields(Settings) if field.name != "threads"]
    for name in settings:
        if name not in known:
            raise SceneError(
                f"sweep: simulation: unknown {check.told(name)}; known are {check.names(known, near=name)}"
            )
        if SETTING + name in values:
            raise SceneError(f"sweep: simulation: {name}: is a parameter as well; give one of the two")
    Settings(**settings)
    return settings


def _check_parameters(job: Job, values: Mapping[str, Range | Choices]) -> None:
    """Refuse parameters that the scene does not have, and values that they cannot have."""
    if job.duration is not None and f"{SETTING}duration" in values:
        raise SceneError("sweep: duration: is a parameter as well; give one of the two")
    if job.document is None:
        assert job.factory is not None
        _check_factory(job.factory, functions.load(job.factory), values)
        return
    path = Path(job.base)
    build_document(job.document, path)
    for name, given in values.items():
        for value in given.extremes():
            check_value(job.document, name, value, path)


def _check_factory(function: Function, factory: Callable[..., Any], values: Mapping[str, Range | Choices]) -> None:
    try:
        names, needed, every = functions.parameters_of(factory)
    except (TypeError, ValueError):  # it does not say
        return
    for path, given in values.items():
        if path.startswith(SETTING):
            name = path.removeprefix(SETTING)
            if name == "threads":
                raise SceneError("sweep: simulation.threads: results do not depend on it; give threads")
            for value in given.extremes():
                _settings({name: value}, {})
        elif path not in names and not every:
            known = check.names([*names, "simulation.substeps"], near=path)
            raise SceneError(f"sweep: {path}: {function} has no such parameter; nearest are {known}")
    for name in needed:
        if name not in values:
            raise SceneError(f"sweep: {name}: is needed by {function} and has no value; add it to the parameters")
