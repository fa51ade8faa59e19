"""`shinari warm`: compile kernels ahead of time, for images and clusters."""

import json as json_module
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

_Flag = Parameter(negative=())


def warm(
    scene: Path | None = None,
    *,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> None:
    """Compile all kernels that a scene can need into the cache; later runs load them.

    Args:
        scene: Scene file, compiled for the precision that it asks for. By default all scenes that come with the package
            and all types of constraints, in both precisions.
        json: Print what was compiled as JSON.
        quiet: Print nothing.
    """
    from shinari.compute import cache, compiling
    from shinari.compute.progress import quietly

    with quietly(quiet or json):
        if scene is not None:
            _build_file(scene, {})
        else:
            _build_package()
    facts = {"compiled": len(compiling.compiled), "loaded": len(cache.loaded), "cache": str(cache.folder())}
    if json:
        print(json_module.dumps(facts))
    elif not quiet:
        print(
            f"{facts['loaded']} kernels, {facts['compiled']} of them compiled now, in {facts['cache']}", file=sys.stderr
        )


def _build_file(path: Path, changes: dict[str, Any]) -> None:
    """Build the simulation of a scene file, which compiles what it can need."""
    import warnings

    from shinari.files.scene_file import load_scene_file
    from shinari.simulation import Simulation

    scene, options = load_scene_file(path)
    with warnings.catch_warnings():
        # overlaps are for the run to tell
        warnings.simplefilter("ignore")
        Simulation(scene, **(asdict(options.settings) | changes))


def _build_package() -> None:
    from shinari.constraints.registry import constraint_types
    from shinari.files.scene_file import demo_scenes

    for precision in ("float32", "float64"):
        for path in demo_scenes().values():
            _build_file(path, {"precision": precision})
        for kind in constraint_types():
            _build_rows(kind, precision)


def _build_rows(kind: Any, precision: str) -> None:
    """Build simulations with one row of a type, without and with damping."""
    import numpy as np

    import shinari as sn

    points = np.random.default_rng(0).normal(size=(kind.points, 3))
    for damping in (0.0, 1.0):
        scene = sn.Scene()
        particles = scene.add_particles(points)
        given = (
            {}
            if kind.rest is not None
            else {name: np.ones(1 if width == 1 else (1, width)) for name, width in kind.parameters}
        )
        scene.add_constraint(kind.name, [list(particles.particles)], compliance=1e-3, damping=damping, **given)
        sn.Simulation(scene, precision=precision, iterations=2)
