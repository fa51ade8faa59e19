"""Checks of kernels on a GPU, a scene for each system: `python benchmarks/gpu_sanitizer.py TOOL [SCENE ...]`.

TOOL is `memcheck` (accesses outside of what was allocated), `racecheck` (shared memory), `initcheck` (memory that was
read before it was written) or `synccheck`, of NVIDIA's compute-sanitizer; or `bits`: two processes take the same steps
and have the same bits. The scenes are those of tests/cuda, without those of single constraint types unless they are
named. Each runs in a process of its own; exit code 1 if one failed. In the simulator `bits` can be tried.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

TOOLS = ("memcheck", "racecheck", "initcheck", "synccheck")
FOUND, STEPS, LIMIT = 9, 2, 300.0
"""Exit code where a tool finds something; steps of a scene; seconds that a scene may take."""


def run(name: str) -> int:
    """Take steps of a scene on the device, and print a hash of the state."""
    from scenes import start  # type: ignore[import-not-found]

    warnings.simplefilter("ignore")
    simulation = start(name, device="cuda")
    simulation.step(STEPS)
    total = hashlib.sha256()
    for values in simulation.state.arrays().values():
        total.update(values.tobytes())
    print(f"state {total.hexdigest()}")
    return 0


def checked(tool: str, name: str) -> str:
    """What a tool finds in a scene; empty: nothing."""
    command = [sys.executable, __file__, "--run", name]
    if tool in TOOLS:
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", str(FOUND), *command]
    states = set()
    for _ in range(2 if tool == "bits" else 1):
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
        except subprocess.TimeoutExpired:
            return f"took longer than {LIMIT:.0f} s"
        lines = (done.stdout + done.stderr).strip().splitlines() or ["no output"]
        if done.returncode:
            errors = [line for line in lines if "ERROR SUMMARY" in line or "Error" in line]
            return (errors or lines)[-1]
        states |= {line for line in lines if line.startswith("state ")}
    return "two processes have different bits" if len(states) > 1 else ""


def main(arguments: list[str]) -> int:
    """Run the scenes."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "cuda"))
    if arguments[:1] == ["--run"]:
        return run(arguments[1])
    from scenes import SCENES  # type: ignore[import-not-found]

    from shinari.compute.cuda.api import status

    tool = arguments[0] if arguments else ""
    names = arguments[1:] or [name for name in SCENES if not name.startswith("rows_")]
    if tool not in (*TOOLS, "bits"):
        print(f"gpu_sanitizer: {tool!r}: expected one of {', '.join((*TOOLS, 'bits'))}", file=sys.stderr)
        return 2
    if unknown := [name for name in names if name not in SCENES]:
        print(f"gpu_sanitizer: {unknown[0]!r}: expected one of {', '.join(SCENES)}", file=sys.stderr)
        return 2
    simulated = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
    if status().startswith("none") or (simulated and tool != "bits"):
        print(f"gpu_sanitizer: nothing to check: {status()}", file=sys.stderr)
        return 1
    if tool in TOOLS and shutil.which("compute-sanitizer") is None:
        print("gpu_sanitizer: there is no compute-sanitizer; it comes with NVIDIA's CUDA toolkit", file=sys.stderr)
        return 1
    failed = 0
    for name in names:
        found = checked(tool, name)
        failed += bool(found)
        print(f"{name}: {found or 'nothing found'}", flush=True)
    print(f"{len(names)} scenes, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
