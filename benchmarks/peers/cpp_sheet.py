"""The distance rows of the sheet in C++, in the colours and the memory order of the engine, compiled when it runs."""

import ctypes
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from shinari.api.simulation import Simulation
from shinari.bench.sheet import DT, GRAVITY, Case

FLAGS = ["-O3", "-march=native", "-ffast-math", "-fopenmp", "-shared", "-fPIC"]


def compiler() -> str | None:
    """A C++ compiler, or None."""
    return shutil.which("g++") or shutil.which("c++")


class _Sheet(ctypes.Structure):
    _fields_ = [("particles", ctypes.c_int64), ("colours", ctypes.c_int64)] + [
        (name, ctypes.c_void_p)
        for name in ("offsets", "rows", "rest", "compliance", "multipliers", "x", "previous", "v")
    ]


class CppSheet:
    """The loop with its arrays; it has no bending."""

    def __init__(self, case: Case) -> None:
        simulation = Simulation(case.sheet.scene(), dt=DT, substeps=case.substeps, precision="float32")
        model, state = simulation.model, simulation.state
        block = model.blocks["distance"]
        self._arrays = [
            np.array(block.offsets, np.int64),
            np.array(block.indices, np.uint32),
            np.array(block.parameters, np.float32),
            np.array(block.coefficient, np.float32),
            np.zeros(block.row_count, np.float32),
            state.x.copy(),
            np.zeros((len(state.x), 3), np.float32),
            np.zeros((len(state.x), 3), np.float32),
        ]
        self._x, self._slots, self._origin = self._arrays[5], model.slots, model.origins[0]
        pointers = [array.ctypes.data for array in self._arrays]
        self._sheet = _Sheet(len(state.x), len(block.offsets) - 1, *pointers)
        self._library, self._flags = _compiled()
        self._h, self._substeps = ctypes.c_float(DT / case.substeps), case.substeps
        self._rows = block.row_count

    def step(self) -> None:
        """Advance by dt."""
        self._library.step(ctypes.byref(self._sheet), self._h, ctypes.c_float(GRAVITY), self._substeps)

    def sweep(self) -> None:
        """Solve every row once."""
        self._library.sweep(ctypes.byref(self._sheet), self._h)

    def positions(self) -> np.ndarray:
        """Positions [m], (N, 3)."""
        return self._x[self._slots, :3] + self._origin

    def facts(self) -> dict:
        """Rows, colours and how it was compiled."""
        return {"version": self._flags, "rows": {"distance": self._rows}, "colours": self._sheet.colours}


def _compiled() -> tuple[ctypes.CDLL, str]:
    found = compiler()
    if found is None:
        raise RuntimeError("no C++ compiler: install g++")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "sheet.so"
        source = Path(__file__).with_name("sheet.cpp")
        subprocess.run([found, *FLAGS, "-o", str(library), str(source)], check=True)
        version = subprocess.run([found, "-dumpfullversion"], capture_output=True, text=True, check=True).stdout.strip()
        return ctypes.CDLL(str(library)), f"g++ {version} {' '.join(FLAGS[:4])}"
