"""`shinari verify`: the ledger of measurements against closed forms and papers."""

import json as json_module
import sys
from dataclasses import asdict
from typing import Annotated, Literal

from cyclopts import Parameter

from shinari.cli import FAILED, OK
from shinari.verify.ledger import PRECISIONS, Measurement, run_checks


def verify(
    *names: str,
    json: Annotated[bool, Parameter(negative=())] = False,
    precision: Literal["float64", "float32", "both"] = "both",
) -> int:
    """Check every method against closed forms and papers.

    Prints a line for each measurement: what theory or the paper gives, what the engine gives, how far they may be apart
    and where that tolerance comes from. Exit codes: 0 all passed, 1 one failed, 2 there is no such check.

    Args:
        names: Checks to run; none: all.
        json: Print the measurements as JSON on standard output.
        precision: Floating point type to check.
    """
    precisions = PRECISIONS if precision == "both" else (precision,)
    measurements = run_checks(names or None, precisions, started=_progress())
    failed = sum(not m.passed for m in measurements)
    if json:
        lines = [asdict(m) | {"passed": m.passed} for m in measurements]
        print(json_module.dumps({"passed": not failed, "measurements": lines}, indent=1))
    else:
        _print_table(measurements)
    return FAILED if failed else OK


def _progress():
    """What to call before each check: on a terminal its name is shown, elsewhere nothing."""
    if not sys.stderr.isatty():
        return None
    return lambda name, precision: print(f"\r\033[K{name}, {precision} ...", end="\r", file=sys.stderr, flush=True)


def _print_table(measurements: list[Measurement]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(show_lines=False, title_justify="left")
    for column in ("name", "source", "precision", "case"):
        table.add_column(column, overflow="fold")
    for column in ("expected", "measured", "tolerance"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("pass", no_wrap=True)
    before = None
    for m in measurements:
        same = before is not None and (m.name, m.precision) == (before.name, before.precision)
        if not same:
            table.add_section()
        heads = ("", "", "") if same else (m.name, m.source, m.precision)
        table.add_row(*heads, m.case, _expected(m), f"{m.measured:.9g}", _tolerance(m), _mark(m))
        before = m
    # a pipe has no width of its own; narrower, the numbers would be cut
    console = Console(highlight=False) if sys.stdout.isatty() else Console(width=200, highlight=False)
    console.print(table)
    for m in measurements:
        if not m.passed:
            console.print(f"failed: {m.name}, {m.precision}, {m.case}: off by {m.error:.3g}. Tolerance: {m.theory}.")
    failed = sum(not m.passed for m in measurements)
    checks = len({m.name for m in measurements})
    console.print(f"{checks} checks, {len(measurements)} measurements, {failed} failed.")


def _expected(m: Measurement) -> str:
    sign = {"equal": "", "at most": "<= ", "at least": ">= "}[m.bound]
    return f"{sign}{m.expected:.9g}"


def _tolerance(m: Measurement) -> str:
    return f"{m.tolerance:.2g} {'relative' if m.relative else 'absolute'}"


def _mark(m: Measurement) -> str:
    return "[green]yes[/green]" if m.passed else "[bold red]NO[/bold red]"
