"""`shinari bench`: how fast the hanging sheet is, here and in other engines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from shinari.errors import FileError, SceneError

if TYPE_CHECKING:
    from rich.table import Table

_Flag = Parameter(negative=())


def bench(
    *sizes: int,
    peers: Annotated[bool, _Flag] = False,
    json: Path | None = None,
    compare: Path | None = None,
    steps: int = 60,
    threads: int = 2,
) -> int:
    """Measure a hanging sheet of N x N particles: time, time per row, and how well it keeps its size.

    Subjects run in processes of their own and take turns, so that ratios hold on a machine that others use as well.
    Each row prints mean and largest |strain|, because speed without convergence counts for nothing.

    Args:
        sizes: Particles along an edge of the sheet; by default 64, 128 and 256.
        peers: Measure other engines too: pyPBD when it is installed, and in a checkout of the repository a C++ loop.
        json: Write machine, versions, medians and quartiles to this file.
        compare: Print ratios to an earlier file that --json wrote.
        steps: Timed steps of each subject, at least 20.
        threads: Threads to use.
    """
    from rich.console import Console

    from shinari.bench.measure import read, run
    from shinari.bench.subjects import available_peers

    sizes = sizes or (64, 128, 256)
    if min(sizes) < 3:
        raise SceneError(f"bench: sizes: a sheet has at least 3 particles along an edge, got {min(sizes)}")
    if steps < 20:
        raise SceneError(f"bench: steps: a median needs at least 20, got {steps}")
    if threads < 1:
        raise SceneError(f"bench: threads: expected at least 1, got {threads}")
    earlier = None if compare is None else read(compare)
    errors = Console(stderr=True)
    console = Console() if sys.stdout.isatty() else Console(width=160)
    found, missing = available_peers() if peers else ([], [])
    for line in missing:
        errors.print(f"without {line}")
    with errors.status("measuring") as status:
        report = run(sizes, found, steps, threads, lambda name: status.update(f"measuring {name}"))
    console.print(_table(report, earlier))
    console.print(_machine_line(report))
    if json is not None:
        _write(json, report)
    return 0


def _table(report: dict[str, Any], earlier: dict[str, Any] | None) -> Table:
    from rich.table import Table

    from shinari.bench.measure import key

    old = {} if earlier is None else {key(result): result for result in earlier["results"]}
    table = Table(title="hanging sheet, 1 x 1 m, 1 kg, k = 1e4 N/m, dt 1/60 s, 10 substeps x 1 iteration")
    columns = ["scene", "N", "rows", "subject", "ms/step", "quartiles", "ratio", "ns/row", "in sweep"]
    for name in [*columns, "mean |strain|", "largest", *(["/ earlier"] if old else [])]:
        left = name in ("scene", "subject")
        table.add_column(name, justify="left" if left else "right", no_wrap=True)
    for result in report["results"]:
        ms, sweep = result["ms"], result["sweep_ns_per_row"]
        line = [
            "sheet + bending" if result["bending"] else "sheet",
            str(result["n"]),
            str(result["rows"]),
            result["subject"],
            f"{ms['median']:.3g}",
            f"{ms['low']:.3g} - {ms['high']:.3g}",
            f"{result['ratio']:.2f}",
            f"{result['ns_per_row']:.2f}",
            "" if sweep is None else f"{sweep:.2f}",
            f"{result['mean_strain']:.2g}",
            f"{result['largest_strain']:.2g}",
        ]
        if old:
            before = old.get(key(result))
            line.append("" if before is None else f"{ms['median'] / before['ms']['median']:.2f}")
        table.add_row(*line, end_section=result is _last_of_case(report, result))
    return table


def _last_of_case(report: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    same = [r for r in report["results"] if (r["n"], r["bending"]) == (result["n"], result["bending"])]
    return same[-1]


def _machine_line(report: dict[str, Any]) -> str:
    machine = report["machine"]
    seconds = report["results"][0]["steps"] / 60.0
    before, after = report["load"]
    busy = "" if before is None else f", load {before:.1f} to {after:.1f}"
    return (
        f"{machine['processor']}, {machine['threads']} of {machine['cores']} cores{busy}; Python {machine['python']}, "
        f"Numba {machine['numba']}, shinari {machine['shinari']}; strains after {seconds:.2f} s of simulated time"
    )


def _write(path: Path, report: dict[str, Any]) -> None:
    import json

    from shinari.partial_files import check_target

    check_target(path)
    try:
        path.write_text(json.dumps(report, indent=1) + "\n")
    except OSError as error:
        raise FileError(f"bench: cannot write {str(path)!r}: {error.strerror}") from error
