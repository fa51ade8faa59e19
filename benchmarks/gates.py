"""What speed and memory have to reach, measured: `python benchmarks/gates.py [GATE...] [--bench FILE] [--json FILE]`.

Gates: peers, threads, limit, scaling, memory, startup, hierarchy. Every number is printed with its bound.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from shinari.bench.measure import Result, Spread, machine, measure, read
from shinari.bench.sheet import DT, Case
from shinari.bench.subjects import available_peers
from shinari.bench.worker import Worker, wait_for_quiet

HERE = Path(__file__).resolve().parent
STEPS = 30


@dataclass
class Gate:
    """A number and its bound."""

    name: str
    value: float
    bound: float
    at_most: bool
    unit: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def __str__(self) -> str:
        word = "at most" if self.at_most else "at least"
        mark = "pass" if self.passed else "MISS"
        return f"{mark}  {self.name:<58} {self.value:9.3g} {self.unit:<9} {word} {self.bound:g}  {self.note}"


_measured: dict[Case, dict[str, Result]] = {}


def _take(path: Path) -> None:
    """Take the results that `shinari bench --peers --json` wrote instead of measuring again."""
    for line in read(path)["results"]:
        result = Result(**line | {"ms": Spread(**line["ms"])})
        _measured.setdefault(Case(result.n, result.bending), {})[result.subject] = result


def _results(case: Case) -> dict[str, Result]:
    """Every subject in one case, measured once a run."""
    if case not in _measured:
        found, missing = available_peers()
        if missing:
            raise SystemExit("gates: a peer is missing: " + "; ".join(missing))
        _measured[case] = {result.subject: result for result in measure(case, found, STEPS)}
    return _measured[case]


def peers() -> Iterator[Gate]:
    """Against pyPBD, in the order that it gives its own rows, and in ours."""
    for bending in (False, True):
        for n, bound in ((64, 2.5), (128, 3.0), (256, 5.0)):
            results = _results(Case(n, bending))
            # those that another run has measured, perhaps without peers
            for name in sorted({"pypbd", "pypbd-sorted"} & results.keys()):
                title = f"{name} / shinari, {n} x {n}{', bending' if bending else ''}"
                note = f"{results[name].ms.median:.3g} / {results['shinari'].ms.median:.3g} ms"
                yield Gate(title, results[name].ratio, bound, False, "x", note)


def threads() -> Iterator[Gate]:
    """One thread against two."""
    for bending in (False, True):
        for n in (128, 256):
            results = _results(Case(n, bending))
            title = f"1 thread / 2 threads, {n} x {n}{', bending' if bending else ''}"
            yield Gate(title, results["shinari, 1 thread"].ratio, 1.7, False, "x")


def limit() -> Iterator[Gate]:
    """Against the C++ loop."""
    for n in (128, 256):
        results = _results(Case(n))
        ours, cpp = results["shinari"], results["cpp"]
        note = f"{ours.ms.median:.3g} / {cpp.ms.median:.3g} ms"
        yield Gate(f"shinari / C++, whole step, {n} x {n}", 1.0 / cpp.ratio, 1.3, True, "x", note)
        assert ours.sweep_ns_per_row is not None
        assert cpp.sweep_ns_per_row is not None
        note = f"{ours.sweep_ns_per_row:.2f} / {cpp.sweep_ns_per_row:.2f} ns/row"
        ratio = ours.sweep_ns_per_row / cpp.sweep_ns_per_row
        yield Gate(f"shinari / C++, sweep alone, {n} x {n}", ratio, 1.3, True, "x", note)


def scaling() -> Iterator[Gate]:
    """Time per row from 10k to 4M rows."""
    times = {}
    for n in (59, 128, 256, 512, 1155):
        case = Case(n)
        with Worker("shinari", case) as worker:
            times[case.sheet.row_count] = worker.per_row(8)
    worst = max(times.values()) / min(times.values())
    note = ", ".join(f"{rows}: {ns:.2f}" for rows, ns in times.items())
    yield Gate("time per row, largest / smallest, 10k to 4M rows", worst, 1.5, True, "x", f"ns/row {note}")


def memory() -> Iterator[Gate]:
    """Bytes of all arrays of model, state and workspace in single precision, without and with the hierarchy."""
    from memory import bytes_of

    for hierarchy in (False, True):
        rows, particles, parts = bytes_of(Case(256, hierarchy=hierarchy))
        title = ", hierarchy" if hierarchy else ""
        yield Gate(f"bytes per distance row{title}", rows, 64, True, "B")
        yield Gate(f"bytes per particle{title}", particles, 96, True, "B", parts)


def startup() -> Iterator[Gate]:
    """Import, the first step with nothing compiled, and the first step of a warm start."""
    imports = [float(_child("import time; t = time.perf_counter(); import shinari; print(time.perf_counter() - t)"))
               for _ in range(9)]  # fmt: skip
    yield Gate("import shinari", statistics.median(imports), 0.3, True, "s")
    code = (
        f"import sys; sys.path.insert(0, {str(HERE)!r}); import shinari as sn; from scenes import flag; "
        "sn.Simulation(flag()).step()"
    )
    with tempfile.TemporaryDirectory() as folder:
        caches = {"SHINARI_CACHE_DIR": folder}
        yield Gate("first ever step of the flag, from process start", _seconds(code, caches), 20.0, True, "s")
        warm = [_seconds(code, caches) for _ in range(5)]
        yield Gate("warm start to first step of the flag", statistics.median(warm), 2.0, True, "s")


def hierarchy() -> Iterator[Gate]:
    """What the coarse levels bring at 256 x 256, and what they cost."""
    strains = {}
    for on in (False, True):
        with Worker("shinari", Case(256, hierarchy=on)) as worker:
            done = 1
            for seconds in (1, 2, 3, 5):
                worker.ask("step", round(seconds / DT) - done)
                done = round(seconds / DT)
                strains[on, seconds] = worker.ask("strain")
    for seconds in (1, 2, 3, 5):
        mean, largest = strains[True, seconds]
        without = strains[False, seconds]
        note = f"largest {largest:.2g}; without hierarchy mean {without[0]:.2g}, largest {without[1]:.2g}"
        yield Gate(f"mean |strain| at 256 x 256 after {seconds} s", mean, 0.03, True, "", note)
    for bending in (False, True):
        results = _results(Case(256, bending))
        title = f"hierarchy / none, time of a step, 256 x 256{', bending' if bending else ''}"
        yield Gate(title, results["shinari, hierarchy"].ratio, 1.2, True, "x")


def _child(code: str, variables: dict[str, str] | None = None) -> str:
    wait_for_quiet()
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ | (variables or {})
    )
    return result.stdout.strip()


def _seconds(code: str, variables: dict[str, str]) -> float:
    start = time.perf_counter()
    _child(code, variables)
    return time.perf_counter() - start


GATES = {f.__name__: f for f in (peers, threads, limit, scaling, memory, startup, hierarchy)}


def main() -> int:
    """Measure gates and print them; 1 when one is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gates", nargs="*", choices=[*GATES, []], help="which gates; all by default")
    parser.add_argument("--json", type=Path, help="write the numbers to this file")
    parser.add_argument("--bench", type=Path, help="what `shinari bench --peers --json` wrote, not to measure it again")
    options = parser.parse_args()
    if options.bench:
        _take(options.bench)
    gates = []
    for name in options.gates or GATES:
        for gate in GATES[name]():
            gates.append(gate)
            print(gate, flush=True)
    if options.json:
        lines = [asdict(gate) | {"passed": bool(gate.passed)} for gate in gates]
        options.json.write_text(json.dumps({"machine": machine(2), "gates": lines}, indent=1, default=float) + "\n")
    return 0 if all(gate.passed for gate in gates) else 1


if __name__ == "__main__":
    np.seterr(all="ignore")
    sys.exit(main())
