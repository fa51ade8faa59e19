"""`shinari warm`: compile kernels ahead of time, for images and clusters."""

import json as json_module
import shutil
import sys
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from shinari.errors import FileError
from shinari.partial_files import reason

_Flag = Parameter(negative=())


def warm(
    scene: Path | None = None,
    *,
    copy_to: Path | None = None,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> None:
    """Compile all kernels that a scene can need into the cache; later runs load them.

    Args:
        scene: Scene file, compiled for the precision that it asks for. By default all scenes of the package, and
            small ones with all kinds of objects, joints, colliders and constraints, in both precisions.
        copy_to: Folder to which the kernels are copied as well.
        json: Print what was compiled as JSON.
        quiet: Print nothing.
    """
    from shinari.compute import compiling, object_files
    from shinari.compute.progress import quietly

    with quietly(quiet or json), warnings.catch_warnings():
        # overlaps are for the run to tell
        warnings.simplefilter("ignore")
        if scene is not None:
            _build_file(scene, {})
        else:
            _build_package()
    if copy_to is not None:
        _copy(object_files.loaded, copy_to)
    facts = {
        "compiled": len(compiling.compiled),
        "loaded": len(object_files.loaded),
        "cache": str(object_files.folder()),
    }
    if json:
        print(json_module.dumps(facts))
    elif not quiet:
        print(
            f"{facts['loaded']} kernels, {facts['compiled']} of them compiled now, in {facts['cache']}", file=sys.stderr
        )


def _build_file(path: Path, changes: dict[str, Any]) -> None:
    """Compile what the scene of a file can need."""
    from shinari.io.scene_file import load_scene_file

    scene, options = load_scene_file(path)
    _build(scene, asdict(options.settings) | changes)


def _build_package() -> None:
    from shinari.cli.warm_scenes import scenes
    from shinari.io.scene_file import demo_scenes

    for precision in ("float32", "float64"):
        for path in demo_scenes().values():
            _build_file(path, {"precision": precision})
        for scene in scenes():
            _build(scene, {"precision": precision})


def _build(scene: Any, settings: dict[str, Any]) -> None:
    """Build a simulation, take a step and ask what programs ask, each of which compiles its kernels."""
    from shinari.api.simulation import Simulation

    simulation = Simulation(scene, **settings)
    simulation.step()
    simulation.energy()
    simulation.residual()
    simulation.contacts()


def _copy(loaded: dict[str, Path], folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path in loaded.values():
            if path.is_file():
                shutil.copy(path, folder)
    except OSError as error:
        raise FileError(f"{folder}: kernels cannot be copied there: {reason(error)}") from error
