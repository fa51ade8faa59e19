"""`shinari demo`: the scenes that come with the package."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from shinari.check import names, short
from shinari.errors import SceneError
from shinari.io.scene_file import DEFAULT, demo_scenes

_Flag = Parameter(negative=())
_Several = Parameter(alias="-o", negative=(), consume_multiple=True)

FORMATS = (".html", ".npz", ".usdc")
"""Formats written by default; PLY stands in for one whose extra is not installed."""


def demo(
    name: str = DEFAULT,
    *,
    output: Annotated[list[Path] | None, _Several] = None,
    duration: float | None = None,
    threads: int | None = None,
    list: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> int | None:
    """Run a scene that comes with the package.

    The default hangs a kerchief from a mesh file, blows wind on it and drops it on a moving ball.

    Args:
        name: Name of the scene, see --list.
        output: Files to write; by default ./out/NAME.html, .npz and .usdc, as far as the extras are installed.
        duration: Simulated time [s].
        threads: Threads to use.
        list: List the scenes and stop.
        json: Print a summary as JSON on standard output.
        quiet: No progress bar, and nothing about compiling.
    """
    from shinari.cli.run import run

    scenes = demo_scenes()
    if list:
        _list(scenes, json)
        return None
    if name not in scenes:
        raise SceneError(f"demo: name: {short(name)} is unknown; known are {names(scenes, near=name, most=20)}")
    outputs = output or [Path("out") / f"{name}{suffix}" for suffix in default_formats()]
    print(f"shinari: running {scenes[name]}", file=sys.stderr)
    return run(scenes[name], output=outputs, duration=duration, threads=threads, json=json, quiet=quiet)


def default_formats() -> list[str]:
    """Extensions that can be written here; says on standard error which cannot, and what to install."""
    from importlib.util import find_spec

    from shinari.output.writers import FORMATS as WRITERS

    chosen = []
    for suffix in FORMATS:
        requires = WRITERS[suffix].requires
        if requires is None or find_spec(requires[0]) is not None:
            chosen.append(suffix)
            continue
        print(f"shinari: no {suffix}: it needs pip install 'shinari[{requires[1]}]'", file=sys.stderr)
        if ".ply" not in chosen:
            chosen.append(".ply")
    return chosen


def _list(scenes: dict[str, Path], as_json: bool) -> None:
    import json
    import tomllib

    titles = {name: tomllib.loads(path.read_text())["scene"]["title"] for name, path in scenes.items()}
    if as_json:
        print(json.dumps(titles))
        return
    for name, title in titles.items():
        print(f"{name:12} {title}{' (default)' if name == DEFAULT else ''}")
