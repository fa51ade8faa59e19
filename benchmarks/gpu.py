"""Steps on a GPU: `python benchmarks/gpu.py [CASE ...]` prints one row for each case, or says that there is no GPU.

Medians of steps without copies, which end with the device at rest. Beside each stand the bytes that its launches read
and write, counted, and which share of the bandwidth that is: a copy on the device in the same run measures it. Bytes
are counted by running the bodies of kernels in plain Python for a few items of each launch; a launch whose condition
did not hold in the last step, or that has a single item, counts nothing.

Of many worlds those of one are counted: all have the same scene.

Each case runs in a process of its own and is written to `out/gpu.jsonl` (`--out FILE`) when it is done, so that the
command can be stopped and given again: cases that are there are not measured again (`--again`: they are). With
`--minutes 9` none is begun or goes on after that time. `--list` names the cases, `--small` takes a thousandth of the
sizes, to try it in the simulator.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from gpu_cases import Case, cases

import shinari as sn

STEPS, SAMPLES = 30, 8
COPY = 1 << 28
"""Bytes of the copy that measures the bandwidth."""


# ---- bytes, counted ----


class Counted:
    """A field that counts the bytes of what is read and written; what is written stays here.

    Args:
        array: The rows.
        counter: The total, one element.
    """

    def __init__(self, array: np.ndarray, counter: list[int]) -> None:
        self._array, self._counter, self._written = array, counter, {}

    def __getitem__(self, index: Any) -> Any:
        if index in self._written:
            return self._written[index]
        value = self._array[index]
        if isinstance(value, np.ndarray) and value.ndim > 1:
            return Counted(value, self._counter)
        self._counter[0] += value.nbytes
        return tuple(value) if isinstance(value, np.ndarray) else value

    def __setitem__(self, index: Any, value: Any) -> None:
        self._counter[0] += self._array[index].nbytes
        self._written[index] = value


class CountedRecord:
    """A record whose fields count."""

    def __init__(self, record: Any, counter: list[int]) -> None:
        self._rows = len(record)
        for name in record.fields:
            setattr(self, name, Counted(record.arrays[name], counter))

    def __len__(self) -> int:
        return self._rows


def bytes_of_item(kernel: Any, arguments: tuple, items: range) -> float:
    """Mean bytes that an item reads and writes, from a few of them."""
    from shinari.compute import Record

    counter = [0]
    chosen = items[:: max(len(items) // SAMPLES, 1)][:SAMPLES]
    for item in chosen:
        plain = [CountedRecord(each, counter) if isinstance(each, Record) else each for each in arguments]
        with np.errstate(all="ignore"):
            kernel.python_function(item, *plain)
    return counter[0] / max(len(chosen), 1)


def launches(program: Any) -> Iterator[tuple[Any, tuple, range, int]]:
    """Kernel, arguments, items and number of each launch of the last step, without parts whose condition is false."""
    from shinari.compute.program import LAUNCH, LOOP, WHEN

    def value(cell: Any) -> int:
        return int(program.device_memory.fetch(cell[0])[cell[1]]) if isinstance(cell, tuple) else int(cell)

    at, ends = 0, []
    while at < len(program.recorded):
        operation, first, second, begin, end, _ = program.recorded[at]
        while ends and at >= ends[-1][0]:
            ends.pop()
        passes = ends[-1][1] if ends else 1
        if operation == WHEN and not value(program.operands[first]):
            at = second
            continue
        if operation == LOOP:
            ends.append((second, passes * value(program.operands[first])))
        elif operation == LAUNCH:
            kernel, _, arguments, _ = program.calls[first]
            yield kernel, arguments, range(value(program.operands[begin]), value(program.operands[end])), passes
        at += 1


def count_bytes(subject: sn.Simulation | sn.Worlds) -> float:
    """Bytes that the launches of a step read and write."""
    if isinstance(subject, sn.Worlds):
        world = subject._worlds[0]
        return len(subject) * bytes_of_program(world.bound.program if world.steps is None else world.steps)
    return bytes_of_program(subject._bound.program)


def bytes_of_program(program: Any) -> float:
    """Bytes that the launches of a program have read and written."""
    total, known = 0.0, {}
    for kernel, arguments, items, passes in launches(program):
        key = kernel, tuple(map(id, arguments)), len(items)
        if key not in known:
            known[key] = bytes_of_item(kernel, arguments, items) if len(items) > 1 else 0.0
        total += passes * len(items) * known[key]
    return total


# ---- time ----


def bandwidth(device: Any) -> float:
    """Bytes in a second that a copy on the device reads and writes."""
    first, second = device.allocate(COPY), device.allocate(COPY)
    times = []
    for _ in range(10):
        device.synchronise()
        begun = time.perf_counter()
        device.copy(second, first, COPY)
        device.synchronise()
        times.append(time.perf_counter() - begun)
    device.free(first)
    device.free(second)
    return 2 * COPY / statistics.median(times[2:])


def first_step(case: Case, device: Any) -> tuple[Any, float]:
    """A simulation or worlds, and the seconds until the first step is over."""
    begun = time.perf_counter()
    subject = case.start("cuda")
    subject.step()
    device.synchronise()
    return subject, time.perf_counter() - begun


def measure(name: str, scale: float) -> dict[str, Any]:
    """A row of the table: seconds until the first step is over, seconds of a step, bytes of one, and the bandwidth."""
    from shinari.compute.cuda.api import device, is_simulated

    there, case = device(), cases(scale)[name]
    row: dict[str, Any] = {"case": name, "goal_ms": case.goal, "device": there.name, "worlds": case.worlds or 1}
    subject, row["first_s"] = first_step(case, there)
    if case.first_only:
        return row
    if not is_simulated():
        subject.step(3)
    times = []
    for _ in range(1 if is_simulated() else STEPS):
        begun = time.perf_counter()
        subject.step()
        there.synchronise()
        times.append(time.perf_counter() - begun)
    row |= {"step_ms": 1e3 * statistics.median(times), "bytes": count_bytes(subject)}
    return row | ({} if is_simulated() else {"bandwidth": bandwidth(there)})


def measured(name: str, case: Case, options: argparse.Namespace, seconds: float) -> dict[str, Any] | str:
    """The row of a case, measured by a process of its own; or why there is none."""
    with tempfile.TemporaryDirectory() as folder:
        own = {"SHINARI_CACHE_DIR": folder} if case.first_only else {}
        command = [sys.executable, __file__, "--row", name, *(["--small"] if options.small else [])]
        for _ in range(2 if case.cached else 1):
            begun = time.monotonic()
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, timeout=seconds, env=os.environ | own
                )
            except subprocess.TimeoutExpired:
                return f"took longer than the {seconds:.0f} s that were left"
            if done.returncode:
                return (done.stderr.strip().splitlines() or ["no error was told"])[-1]
            seconds -= time.monotonic() - begun
    return json.loads(done.stdout.splitlines()[-1])


HEAD = """| case | first step [s] | step [ms] | goal [ms] | steps a second | bytes [MB] | GB/s | of a copy's bandwidth |
|---|---|---|---|---|---|---|---|"""


def line(row: dict[str, Any]) -> str:
    """A row of the table."""
    if "step_ms" not in row:
        return f"| {row['case']} | {row['first_s']:.1f} | | {row['goal_ms']:g} for the first step | | | | |"
    goal = "" if row["goal_ms"] is None else f"{row['goal_ms']:g}"
    steps = row["worlds"] / (1e-3 * row["step_ms"])
    rate = row["bytes"] / (1e-3 * row["step_ms"])
    share = f"{rate / row['bandwidth']:.0%} of {row['bandwidth'] / 1e9:.0f} GB/s" if "bandwidth" in row else ""
    cells = f"{row['step_ms']:.3g} | {goal} | {steps:,.0f} | {row['bytes'] / 1e6:.1f} | {rate / 1e9:.0f} | {share}"
    return f"| {row['case']} | {row['first_s']:.1f} | {cells} |"


def known_rows(path: Path) -> dict[str, dict[str, Any]]:
    """Rows that were written before, by case."""
    rows = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {row["case"]: row for row in rows}


def fill(names: list[str], found: dict[str, Case], options: argparse.Namespace) -> int:
    """Measure the cases that are missing and print all; 1 if some are still missing."""
    path, ends = Path(options.out), time.monotonic() + 60.0 * options.minutes
    path.parent.mkdir(parents=True, exist_ok=True)
    known, missing = known_rows(path), []
    print(HEAD)
    for name in names:
        if name not in known or options.again:
            left = ends - time.monotonic()
            row = measured(name, found[name], options, left) if left > 0.0 else "no time was left"
            if isinstance(row, str):
                missing.append(f"{name}: {row}")
                continue
            known[name] = row
            with path.open("a") as file:
                file.write(json.dumps(row) + "\n")
        print(line(known[name]), flush=True)
    for each in missing:
        print(f"gpu: {each}", file=sys.stderr)
    return 1 if missing else 0


def main(arguments: list[str]) -> int:
    """Print the table; 1 without a GPU or where a case could not be measured."""
    from shinari.compute.cuda.api import device, is_simulated

    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("case", nargs="*", help="cases to measure; none: all")
    parser.add_argument("--minutes", type=float, default=60.0, help="end after so many minutes; run again to go on")
    parser.add_argument("--out", default="out/gpu.jsonl", help="file of the rows that are done")
    parser.add_argument("--again", action="store_true", help="measure what is in the file, too")
    parser.add_argument("--small", action="store_true", help="a thousandth of the sizes")
    parser.add_argument("--list", action="store_true", help="name the cases")
    parser.add_argument("--row", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    scale = 0.001 if options.small else 1.0
    found = cases(scale)
    if options.list:
        print(*found, sep="\n")
        return 0
    if unknown := [name for name in options.case if name not in found]:
        print(f"gpu: {unknown[0]!r}: no such case; expected one of {', '.join(found)}", file=sys.stderr)
        return 2
    if options.row:
        print(json.dumps(measure(options.row, scale)))
        return 0
    try:
        device()
    except sn.ShinariError as error:
        print(f"gpu: nothing to measure: {error}", file=sys.stderr)
        return 1
    if is_simulated() and not options.small:
        print("gpu: nothing to measure: the simulator has no speed; --small tries the counting", file=sys.stderr)
        return 1
    return fill(options.case or list(found), found, options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
