"""The plan of a study: what is run, with which values, and a hash for each member."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import msgspec

from shinari import check
from shinari.errors import FileError, SweepError
from shinari.input_files import read_bytes
from shinari.partial_files import reason, writing
from shinari.sweeps.functions import Function

FORMAT = 1
FILE = "plan.json"
OWN = {"lock", "results.jsonl"}
"""Files that a study may have before its plan."""


class Measure(msgspec.Struct, frozen=True, kw_only=True):
    """What is measured of a member.

    Attributes:
        name: Name of a built-in measure, or of the column of a function.
        function: Function of the user; None: a built-in measure.
    """

    name: str
    function: Function | None = None


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """All that makes the result of a member beside the values of its parameters.

    Attributes:
        base: Path of the scene file, or name of the function.
        document: Tables of the scene file; None: a function makes the scene.
        files: Hashes of the files that the scene file names.
        factory: Function that makes the scene.
        simulation: Settings of the simulation that take the place of those of the file.
        duration: Simulated time [s]; None: as the file says.
        frames_per_second: Frames that are recorded in a second of simulated time [1/s]; None: as the file says, or 30.
        measures: What is measured.
        record: Format of the frames that are kept of each member: `npz` or `vtkhdf`; None: none.
    """

    base: str
    document: dict[str, Any] | None = None
    files: dict[str, str] = {}
    factory: Function | None = None
    simulation: dict[str, Any] = {}
    duration: float | None = None
    frames_per_second: float | None = None
    measures: list[Measure] = []
    record: str | None = None

    def digest(self) -> str:
        """Hash of what decides about results; where files stand does not."""
        facts = msgspec.to_builtins(self)
        facts["base"] = ""
        for function in (facts["factory"], *(measure["function"] for measure in facts["measures"])):
            if function is not None:
                function["folder"] = function["file"] = ""
        return _hash(facts)


class Member(msgspec.Struct, frozen=True):
    """A member of a study.

    Attributes:
        hash: Hash of the job and of the values: two members of one hash have the same result.
        values: Values of the parameters by path.
    """

    hash: str
    values: dict[str, Any]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """A study, as `plan.json` holds it.

    Attributes:
        job: What all members share.
        members: The members in the order of the table.
        parameters: How the values of each parameter were given.
        sample: How they were drawn; None: a grid.
        seed: Seed of the sample.
        shinari: Version that made the plan.
        format: Version of the file.
    """

    job: Job
    members: list[Member]
    parameters: dict[str, Any]
    sample: str | None = None
    seed: int = 0
    shinari: str = ""
    format: int = FORMAT


def members_with_hashes(job: Job, rows: list[dict[str, Any]]) -> list[Member]:
    """Members with those values."""
    digest = job.digest()
    return [Member(_hash([digest, values])[:16], values) for values in rows]


def save(folder: Path, plan: Plan) -> None:
    """Write the plan of a study.

    Raises:
        FileError: It cannot be written.
    """
    with writing(folder / FILE) as partial:
        partial.write_text(json.dumps(msgspec.to_builtins(plan)))


def load(folder: Path) -> Plan:
    """Read the plan of a study.

    Raises:
        FileError: There is none, or it is damaged or of another version.
    """
    path = folder / FILE
    try:
        found = json.loads(read_bytes(path))
        if isinstance(found, dict) and found.get("format") != FORMAT:
            raise FileError(
                f"{path}: is a plan of format {check.short(found.get('format'))}; this version reads {FORMAT}"
            )
        return msgspec.convert(found, Plan)
    except FileNotFoundError as error:
        raise FileError(f"{folder}: holds no study; expected a folder that shinari sweep wrote") from error
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    except (ValueError, RecursionError) as error:
        raise FileError(f"{path}: is no plan of a study: {check.plain(str(error))}") from error


def check_folder(folder: Path) -> None:
    """Make a folder for a study, if there is none.

    Raises:
        FileError: It cannot be made.
        SweepError: It holds something else.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = {entry.name for entry in os.scandir(folder)}
    except OSError as error:
        raise FileError(f"{folder}: cannot be made: {reason(error)}") from error
    if FILE not in names and not names <= OWN:
        raise SweepError(f"{folder}: is neither empty nor a study; choose another folder")


def prepare(folder: Path, plan: Plan, *, begun: bool) -> None:
    """Write a plan into a folder that is new, or that holds the same study, or a part of it.

    Args:
        folder: Folder of the study.
        plan: The plan.
        begun: Whether the folder has results; a plan that has none, since it was refused or stopped, is replaced.

    Raises:
        FileError: The folder cannot be written.
        SweepError: It holds another study.
    """
    if not (folder / FILE).exists():
        save(folder, plan)
        return
    before = load(folder)
    known = {member.hash for member in plan.members}
    if begun and not known.issuperset(member.hash for member in before.members):
        raise SweepError(f"{folder}: holds another study: {_difference(before, plan)}; choose another folder")
    if not begun or before.members != plan.members:
        save(folder, plan)


_DIFFERENCES = {
    "document": "the scene file differs",
    "files": "a file that the scene names differs",
    "factory": "the function that makes the scene differs",
    "measures": "the measures differ",
    "simulation": "the settings differ",
    "duration": "the duration differs",
    "frames_per_second": "the frames per second differ",
    "record": "the format of the frames differs",
}


def _difference(before: Plan, plan: Plan) -> str:
    """Which part of two plans differs, in words."""
    old, new = msgspec.to_builtins(before.job), msgspec.to_builtins(plan.job)
    for name, told in _DIFFERENCES.items():
        if old[name] != new[name]:
            return told
    if set(before.parameters) != set(plan.parameters):
        return "the parameters differ"
    return "the values of the parameters differ, and not all members of before are among them"


def _hash(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
