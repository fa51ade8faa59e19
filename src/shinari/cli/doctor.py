"""`shinari doctor`: what this machine has, and whether all works."""

import json as json_module
import os
import platform
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

EXTRAS = {"cache": ("h5py", "h5py"), "usd": ("pxr", "usd-core"), "view": ("viser", "viser"),
          "plot": ("matplotlib", "matplotlib"), "render": ("pyvista", "pyvista"), "mesh": ("meshio", "meshio"),
          "tet": ("pytetwild", "pytetwild"), "robot": ("mujoco", "mujoco"),
          "surface": ("pysplashsurf", "pysplashsurf"), "cluster": ("distributed", "distributed"),
          "gym": ("gymnasium", "gymnasium"), "cuda": ("numba_cuda", "numba-cuda")}  # fmt: skip
"""Module and distribution of each extra, the first one of those that it has."""


def doctor(*, json: Annotated[bool, Parameter(negative=())] = False) -> int:
    """Say what this machine has, and run a check of a second; the exit code is 1 when it fails.

    Args:
        json: Print it as JSON.
    """
    failures = check()
    facts, warnings = look()
    if json:
        print(json_module.dumps({**facts, "warnings": warnings, "failures": failures}))
    else:
        for key, value in facts.items():
            print(f"{key.replace('_', ' '):18} {value if not isinstance(value, dict) else _listed(value)}")
        for warning in warnings:
            print(f"{'note':18} {warning}")
        print(f"{'self check':18} {'; '.join(failures) or 'passed'}")
    return 1 if failures else 0


def look() -> tuple[dict[str, Any], list[str]]:
    """Facts by name, and what is worth changing; to be called after `check`."""
    import numpy as np

    import shinari
    from shinari.compute import object_files
    from shinari.compute.cuda.api import status
    from shinari.compute.threads import processors

    warnings = []
    folder = object_files.folder()
    count, size = _contents(folder)
    shipped, shipped_size = _contents(object_files.SHIPPED)
    if not folder.is_relative_to(Path.home()) and "SHINARI_CACHE_DIR" not in os.environ:
        warnings.append(f"kernels are kept in {folder}; when that is temporary every process compiles anew")
    extras = {name: _version(distribution) for name, (_, distribution) in EXTRAS.items()}
    for name, (module, _) in EXTRAS.items():
        if find_spec(module) is None:
            extras[name] = "missing"
            warnings.append(f"the extra [{name}] is not installed: pip install 'shinari[{name}]'")
    facts = {
        "shinari": shinari.__version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "numpy": np.__version__,
        "numba": version("numba"),
        "threads": processors(),
        "processors": os.cpu_count(),
        "gpu": status(),
        "kernel_target": object_files.processor(),
        "kernel_cache": str(folder),
        "cached_kernels": f"{count} files, {size / 1e6:.1f} MB",
        "shipped_kernels": f"{shipped} files, {shipped_size / 1e6:.1f} MB",
        "kernels_used": _origins(),
        "extras": extras,
    }
    return facts, warnings


def check() -> list[str]:
    """Run what has a closed form; gives what went wrong.

    A particle falls for one second, x = -g h^2 n (n + 1) / 2 after n substeps of h; a pair of particles keeps its
    length; two runs give the same bits.
    """
    import numpy as np

    import shinari as sn

    scene = sn.Scene()
    particle = scene.add_particles([(0.0, 0.0, 0.0)])
    pair = scene.add_particles([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0)], mass=(0.0, 1.0))
    scene.add_constraint("distance", [pair.particles])
    runs = [sn.Simulation(scene, precision="float64") for _ in range(2)]
    begun = time.perf_counter()
    for simulation in runs:
        simulation.step(60)
    if time.perf_counter() - begun > 30.0:
        print("shinari: compiling took long; it is kept for the next time", file=sys.stderr)
    simulation, failures = runs[0], []
    n = 60 * simulation.settings.substeps
    fallen = -0.5 * 9.81 * simulation.settings.substep**2 * n * (n + 1)
    if abs(simulation.positions(particle)[0, 1] - fallen) > 1e-9:
        failures.append(f"a free fall of one second came to {simulation.positions(particle)[0, 1]} m, not {fallen}")
    length = float(np.linalg.norm(np.diff(simulation.positions(pair), axis=0)))
    if abs(length - 1.0) > 1e-6:
        failures.append(f"a rigid pair has the length {length}, not 1")
    if runs[0].state != runs[1].state:
        failures.append("two equal runs differ")
    return failures


def _origins() -> dict[str, int]:
    """How many kernels of the self check came from where."""
    from shinari.compute import compiling, object_files

    compiled = set(compiling.compiled)
    shipped = sum(path.parent == object_files.SHIPPED for path in object_files.loaded.values())
    return {
        "compiled now": len(compiled),
        "from the cache": len(object_files.loaded) - shipped - len(compiled),
        "shipped": shipped,
    }


def _contents(folder: Path) -> tuple[int, int]:
    files = [file for file in folder.rglob("*") if file.is_file()]
    return len(files), sum(file.stat().st_size for file in files)


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "missing"


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{key} ({value})" for key, value in values.items())
