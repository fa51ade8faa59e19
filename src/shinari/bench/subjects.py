"""What is measured: our engine and pyPBD, with the same scene behind the same three methods."""

import importlib.util
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shinari.bench.sheet import DT, STIFFNESS, Case
from shinari.compute import Program
from shinari.errors import FileError, require
from shinari.systems.rows.system import BlockSolver

# pyPBD multiplies its bending energy, not a fold, by this; it is the value of its own examples. Time does not depend on
# it, and neither does the strain within the digits of the table.
PYPBD_BEND_STIFFNESS = 100.0
_PYPBD_DISTANCE_XPBD, _PYPBD_ISOMETRIC_XPBD = 4, 3


class Subject(Protocol):
    """An engine with the sheet in it."""

    def step(self) -> None:
        """Advance by dt."""
        ...

    def positions(self) -> np.ndarray:
        """Positions [m], (N, 3), in the order of the sheet."""
        ...

    def facts(self) -> dict[str, Any]:
        """What it simulates, as it reports it itself: rows, version."""
        ...


class Ours:
    """This engine."""

    def __init__(self, case: Case) -> None:
        from shinari.api.simulation import Simulation

        self.simulation = Simulation(
            case.sheet.scene(),
            dt=DT,
            substeps=case.substeps,
            iterations=case.iterations,
            threads=case.threads,
            hierarchy=case.hierarchy,
        )
        self._threads = case.threads
        self._sweep = Program()
        for rows in self.simulation._bound.all_bound(BlockSolver):
            rows.record_project(self._sweep, True)

    def step(self) -> None:
        """Advance by dt."""
        self.simulation.step()

    def sweep(self) -> None:
        """Solve every row once."""
        self._sweep.run(self._threads)

    def positions(self) -> np.ndarray:
        """Positions [m], (N, 3)."""
        return self.simulation.state.positions

    def facts(self) -> dict[str, Any]:
        """Rows and colours by type, and the threads."""
        import shinari

        blocks = self.simulation.model.blocks.items()
        return {
            "version": shinari.__version__,
            "rows": {name: block.row_count for name, block in blocks},
            "colours": {name: len(block.offsets) - 1 for name, block in blocks},
            "threads": self.simulation.threads,
        }


class PyPBD:
    """pyPBD, which runs on OMP_NUM_THREADS threads and in double precision.

    Args:
        case: What it simulates.
        own_order: Let it make the rows from the triangles, as its examples do, instead of handing them over axis by
            axis: the same rows, which lie in its memory in another order.

    Raises:
        MissingExtraError: It is not installed.
    """

    def __init__(self, case: Case, *, own_order: bool = False) -> None:
        pypbd = require("pypbd", "bench")
        sheet = case.sheet
        simulation = pypbd.Simulation.getCurrent()
        simulation.initDefault()
        self._model, self._stepper = simulation.getModel(), simulation.getTimeStep()
        options = type(self._stepper)
        self._stepper.setValueUInt(options.NUM_SUB_STEPS, case.substeps)
        self._stepper.setValueUInt(options.MAX_ITERATIONS, case.iterations)
        # nothing here collides: iterations over velocities would only cost it time
        self._stepper.setValueUInt(options.MAX_ITERATIONS_V, 0)
        pypbd.TimeManager.getCurrent().setTimeStepSize(DT)
        self._particles = self._model.getParticles()
        if own_order:
            mesh = self._model.addTriangleModel(sheet.positions, sheet.faces().ravel().tolist())
        else:
            mesh = None
            for point in sheet.positions:
                self._particles.addVertex(point)
        for i in range(len(sheet.positions)):
            self._particles.setMass(i, 0.0 if i in sheet.pinned else sheet.mass)
        if mesh is not None:
            others = (0.0, 0.0, 0.0, 0.0, 0.0, False, False)
            self._model.addClothConstraints(mesh, _PYPBD_DISTANCE_XPBD, STIFFNESS, *others)
            if case.bending:
                self._model.addBendingConstraints(mesh, _PYPBD_ISOMETRIC_XPBD, PYPBD_BEND_STIFFNESS)
        else:
            for i, j in sheet.rows.tolist():
                self._model.addDistanceConstraint_XPBD(i, j, STIFFNESS)
            for i, j, k, m in sheet.hinges.tolist():  # it wants the far corners first
                self._model.addIsometricBendingConstraint_XPBD(k, m, i, j, PYPBD_BEND_STIFFNESS)
        self._kinds = pypbd.DistanceConstraint_XPBD, pypbd.IsometricBendingConstraint_XPBD

    def step(self) -> None:
        """Advance by dt."""
        self._stepper.step(self._model)

    def positions(self) -> np.ndarray:
        """Positions [m], (N, 3)."""
        return np.array(self._particles.getVertices()).reshape(-1, 3)

    def facts(self) -> dict[str, Any]:
        """Rows by type, colours, masses and stiffnesses, read back from it."""
        constraints = list(self._model.getConstraints())
        distance, bend = ([c for c in constraints if isinstance(c, kind)] for kind in self._kinds)
        masses = [self._particles.getMass(i) for i in range(self._particles.size())]
        options = type(self._stepper)
        return {
            "version": version("pypbd"),
            "rows": {"distance": len(distance), "isometric_bend": len(bend)},
            "colours": len(self._model.getConstraintGroups()),
            "mass": sum(masses),
            "fixed": masses.count(0.0),
            "stiffness": sorted({c.stiffness for c in distance}),
            "substeps": self._stepper.getValueUInt(options.NUM_SUB_STEPS),
            "iterations": self._stepper.getValueUInt(options.MAX_ITERATIONS),
        }


def subject(name: str, case: Case) -> Subject:
    """A subject by its name.

    `"shinari"`; `"pypbd"`, with its rows as it makes them from triangles; `"pypbd-sorted"`, with its rows handed over
    axis by axis; or `"cpp"`, which needs a checkout of the repository.
    """
    if name == "shinari":
        return Ours(case)
    if name.startswith("pypbd"):
        return PyPBD(case, own_order=name == "pypbd")
    return _peer("cpp_sheet", "CppSheet")(case)


def peer_folder() -> Path | None:
    """Folder of the peers in a checkout of the repository, or None where only the package is installed."""
    folder = Path(__file__).resolve().parents[3] / "benchmarks" / "peers"
    return folder if (folder / "cpp_sheet.py").exists() else None


def available_peers() -> tuple[list[str], list[str]]:
    """Names of the peers that can run here, and why the others cannot."""
    found, missing = [], []
    if importlib.util.find_spec("pypbd") is None:
        missing.append("pypbd: not installed; pip install 'shinari[bench]'")
    else:
        found += ["pypbd", "pypbd-sorted"]
    if peer_folder() is None:
        missing.append("cpp: its source is in the benchmarks folder of the repository")
    elif _peer("cpp_sheet", "compiler")() is None:
        missing.append("cpp: no g++ or c++ found")
    else:
        found.append("cpp")
    return found, missing


def _peer(module: str, name: str) -> Callable:
    folder = peer_folder()
    if folder is None:
        raise FileError(f"bench: {module}: only a checkout of the repository has it")
    spec = importlib.util.spec_from_file_location(f"shinari_peer_{module}", folder / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return getattr(loaded, name)
