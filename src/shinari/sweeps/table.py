"""The table of a study: one row for each member, as a Parquet file."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shinari import check
from shinari.errors import FileError, require
from shinari.partial_files import check_target, writing
from shinari.sweeps.plan import Plan

if TYPE_CHECKING:
    from shinari.sweeps.study import Study

FILE = "table.parquet"
TIMES = ("seconds", "solver_seconds", "machine")
"""Columns that differ from run to run; all others are the same each time."""
FIXED = ("member", "status", "message", "warnings", *TIMES)
VERSIONS = ("shinari", "python", "numpy", "numba")


def table_of(plan: Plan, rows: list[dict[str, Any]]) -> Any:
    """The table: `member`, the parameters, the measures, `status`, `message`, `warnings`, times, machine, versions.

    Args:
        plan: The plan.
        rows: What is known of each member, in the order of the plan.

    Returns:
        A `pyarrow.Table`. Columns of numbers are doubles or whole numbers, lists of numbers are lists; parameters of
        several types are JSON. What is not known is null.
    """
    pyarrow: Any = require("pyarrow", "cluster")
    columns = {"member": pyarrow.array([row["member"] for row in rows], pyarrow.string())}
    for path in plan.parameters:
        columns[_free(path)] = _column(pyarrow, [row["values"].get(path) for row in rows])
    measures = dict.fromkeys(name for row in rows for name in row["measures"])
    for name in measures:
        columns[_free(name)] = _column(pyarrow, [row["measures"].get(name) for row in rows])
    for name in FIXED[1:4]:
        columns[name] = pyarrow.array([row.get(name) for row in rows], pyarrow.string())
    for name in TIMES[:2]:
        columns[name] = pyarrow.array([row.get(name) for row in rows], pyarrow.float64())
    columns["machine"] = pyarrow.array([row.get("machine") for row in rows], pyarrow.string())
    for name in VERSIONS:
        columns[name] = pyarrow.array([row.get("versions", {}).get(name) for row in rows], pyarrow.string())
    facts = {"base": plan.job.base, "parameters": plan.parameters, "sample": plan.sample, "seed": plan.seed}
    return pyarrow.table(columns).replace_schema_metadata({"shinari": json.dumps(facts)})


def write(folder: Path, table: Any) -> Path:
    """Write the table of a study; an earlier one is replaced by a whole one.

    Raises:
        FileError: It cannot be written.
    """
    write_as(folder / FILE, table)
    return folder / FILE


def _free(name: str) -> str:
    """A name that no column of the table has by itself."""
    return f"{name}_" if name in (*FIXED, *VERSIONS) else name


def _column(pyarrow: Any, values: list[Any]) -> Any:
    """A column of the narrowest type that holds all values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return pyarrow.array(values, pyarrow.bool_())
    if kinds <= {int} and all(abs(value) < 2**63 for value in values if value is not None):
        return pyarrow.array(values, pyarrow.int64())
    if kinds <= {int, float}:
        return pyarrow.array([None if value is None else float(value) for value in values], pyarrow.float64())
    if kinds <= {str}:
        return pyarrow.array(values, pyarrow.string())
    if kinds <= {list} and all(type(item) in (int, float) for value in values for item in value or ()):
        return pyarrow.array(values, pyarrow.list_(pyarrow.float64()))
    return pyarrow.array([None if value is None else json.dumps(value) for value in values], pyarrow.string())


def write_as(path: Path, table: Any) -> None:
    """Write a table to a file of the user, `.parquet` or `.csv`.

    Raises:
        FileError: Another extension, or it cannot be written.
    """
    suffix = check_target(path).suffix
    if suffix not in (".parquet", ".csv"):
        raise FileError(f"{path}: unknown extension {check.short(suffix)}, expected .parquet or .csv")
    with writing(path) as partial:
        if suffix == ".parquet":
            require("pyarrow.parquet", "cluster").write_table(table, partial)
        else:
            require("pyarrow.csv", "cluster").write_csv(_flat(table), partial)


def print_table(study: "Study") -> None:
    """Print parameters, measures and status of all members on standard output."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    names, rows = study.columns(), study.rows()
    shown = Table(box=None)
    for name in [*names, "status"]:
        shown.add_column(Text(name), overflow="fold")  # a name in brackets is no markup
    for row in rows:
        known = {**row["values"], **row["measures"]}
        shown.add_row(*(Text(_cell(known.get(name))) for name in names), row["status"])
    # a file or a pipe has no width
    Console(width=None if sys.stdout.isatty() else 30 * (len(names) + 1)).print(shown)


def _flat(table: Any) -> Any:
    """A table for CSV, which has no lists: those are JSON there."""
    pyarrow: Any = require("pyarrow", "cluster")
    for number, field in enumerate(table.schema):
        if pyarrow.types.is_list(field.type):
            texts = [None if value is None else json.dumps(value) for value in table.column(number).to_pylist()]
            table = table.set_column(number, field.name, pyarrow.array(texts, pyarrow.string()))
    return table


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return "" if value is None else check.short(value)
