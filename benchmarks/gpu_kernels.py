"""What the compiler makes of kernels for a GPU: `python benchmarks/gpu_kernels.py [--all] [KERNEL ...]` prints a table.

Kernels of the cases of benchmarks/gpu_cases.py, in single precision, or with `--all` of all scenes of tests/cuda, for
compute capability 9.0 and, as the oldest that CUDA 13 compiles for, 7.5. It needs no GPU: NVVM and NVRTC make PTX
(`pip install 'numba-cuda[cu13]'`), and ptxas makes machine code of it and tells registers, spilled bytes, memory of a
thread and memory of a block (`pip install nvidia-cuda-nvcc`, or a toolkit). Instructions on float64 are counted in the
PTX; `*` marks kernels that compute in float64 on purpose or read records that hold it.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import shinari as sn
from shinari.compute.cuda.api import BLOCK_ROWS

CAPABILITIES = (9, 0), (7, 5)
USED = {
    "registers": r"Used (\d+) registers",
    "stack": r"(\d+) bytes stack frame",
    "stores": r"(\d+) bytes spill stores",
    "loads": r"(\d+) bytes spill loads",
    "shared": r"(\d+) bytes smem",
}


class Collector:
    """A device that runs nothing and notes which kernels it is to compile.

    Attributes:
        kernels: Kernels with their precision, in the order in which they came.
    """

    name, checked, block_rows = "compiler", False, BLOCK_ROWS

    def __init__(self) -> None:
        self.kernels: dict[tuple[Any, type], None] = {}
        self._free = 1 << 20

    def allocate(self, count: int) -> int:
        """An address that nothing is at."""
        self._free += count + 256 & ~255
        return self._free

    def compile(self, kernels: list[tuple[Any, type]]) -> list[Any]:
        """Note kernels."""
        self.kernels |= dict.fromkeys(kernels)
        return kernels

    def free(self, address: int) -> None: ...

    def upload(self, address: int, data: np.ndarray) -> None: ...

    def synchronise(self) -> None: ...

    def play(self, key: Any, launches: list[Any]) -> None: ...

    def forget(self, key: Any) -> None: ...

    def copy(self, target: int, source: int, count: int) -> None: ...

    def download(self, address: int, data: np.ndarray) -> None:
        """Zeros."""
        data[...] = 0


@dataclass
class Report:
    """What ptxas says of a kernel, and instructions on float64 in its PTX."""

    registers: int
    stack: int
    stores: int
    loads: int
    shared: int
    doubles: int


def collected(everything: bool) -> list[tuple[Any, type]]:
    """Kernels of the cases of the benchmark, or of all scenes of the tests."""
    from shinari.compute.cuda import api
    from shinari.compute.cuda.placed import STEERING

    collector = Collector()
    api.device = lambda: collector  # type: ignore[assignment]
    for build, settings in scenes(everything):
        scene = sn.Scene()
        build(scene)
        sn.Simulation(scene, device="cuda", **settings)
    return [(kernel, precision) for kernel, precision in collector.kernels if kernel not in STEERING]


def scenes(everything: bool) -> Iterator[tuple[Any, dict]]:
    """Functions that fill scenes, and settings."""
    here = Path(__file__).parent
    sys.path[:0] = [str(here), str(here.parent / "tests" / "cuda")]
    if everything:
        from scenes import SCENES  # type: ignore[import-not-found]

        yield from SCENES.values()
        return
    from gpu_cases import cases  # type: ignore[import-not-found]

    for case in cases(0.001).values():
        yield case.build, case.settings


def assembler() -> str:
    """Path of ptxas: of NVIDIA's package for Python, or of a toolkit."""
    for folder in map(Path, sys.path):
        found = sorted(folder.glob("nvidia/*/bin/ptxas"))
        if found:
            return str(found[-1])
    path = shutil.which("ptxas")
    if path is None:
        raise SystemExit("gpu_kernels: there is no ptxas; pip install nvidia-cuda-nvcc")
    return path


def report(kernel: Any, precision: type, capability: tuple[int, int]) -> Report:
    """Compile a kernel to machine code."""
    from shinari.compute.cuda.ptx import ptx

    text = ptx(kernel, precision, capability)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.ptx"
        path.write_text(text)
        command = [assembler(), "-v", f"-arch=sm_{capability[0]}{capability[1]}", str(path), "-o", str(path) + ".o"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"gpu_kernels: {kernel.name}: {done.stderr}")
    used = {name: sum(map(int, re.findall(pattern, done.stderr))) for name, pattern in USED.items()}
    return Report(**used, doubles=len(re.findall(r"\.f64\b", text)))


def row(kernel: Any, precision: type) -> str:
    """A row of the table."""
    reports = [report(kernel, precision, capability) for capability in CAPABILITIES]
    wide = kernel.mixed or "f8" in repr(kernel.made_of(precision)) or precision is np.float64
    cells = [f"`{kernel.name}`", f"{reports[0].doubles}{'*' if wide and reports[0].doubles else ''}"]
    for each in reports:
        cells += [f"{each.registers}", f"{each.stores + each.loads}", f"{each.stack}", f"{each.shared}"]
    return f"| {' | '.join(cells)} |"


def main(arguments: list[str]) -> int:
    """Print the table."""
    warnings.simplefilter("ignore")
    names = [name for name in arguments if not name.startswith("--")]
    found = [each for each in collected("--all" in arguments) if not names or each[0].name in names]
    heads = ["kernel", "float64"]
    for major, minor in CAPABILITIES:
        heads += [f"registers, {major}.{minor}", "spilled [B]", "stack [B]", "shared [B]"]
    print(f"| {' | '.join(heads)} |\n|{len(heads) * '---|'}")
    for kernel, precision in sorted(found, key=lambda each: each[0].name):
        print(row(kernel, precision), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
