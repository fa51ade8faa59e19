"""What can be shown, by name: a scene file, a run, the scenes of the package, the examples beside it.

Every name is looked up in a table that is made when the server starts; nothing that a client sends becomes a path.
"""

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from shinari import check
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.errors import FileError, SceneError
from shinari.io.scene_file import DEFAULT, demo_scenes
from shinari.view.live_player import Runner
from shinari.view.page import Loaded, Source
from shinari.view.playback import Playback

CACHES = (".npz", ".npy", ".vtkhdf")
"""Extensions of runs that can be played again; .npy is what a run leaves of an .npz when it is killed."""
ROBOTS = (".urdf", ".xml", ".mjcf")
"""Extensions of robots."""
DEMO = "demo"
EXAMPLES = Path(__file__).parents[3] / "examples"
"""Where a checkout has its examples; an installed package has none."""
SHOWN = "shown"
"""The function of an example that gives what is shown of it: a `Simulation`, or with what drives it."""


def offered(
    what: str, name: str | None, *, playing: bool, surface: bool = False, package: Path | None = None
) -> tuple[dict[str, Source], str]:
    """What `shinari view` offers for the words of its command line.

    Args:
        what: A scene file, a robot, a run, or `demo`.
        name: Name of the demo or example.
        playing: Whether what is shown first starts by itself; what is chosen later does.
        surface: Whether fluids are drawn by their surface.
        package: Of a robot the folder of the files that it names.

    Returns:
        The sources by name, and the name of what is shown first.

    Raises:
        FileError: There is no such file.
        SceneError: There is no such demo.
    """
    table = demo_sources(surface=surface) | example_sources(surface=surface)
    if what == DEMO:
        chosen = name or DEFAULT
        if chosen not in table:
            meant = "".join(f"did you mean {near!r}; " for near in get_close_matches(chosen, table, 1))
            raise SceneError(
                f"view: demo: {check.short(chosen)} is unknown; {meant}known are "
                f"{check.names(table, near=chosen, most=20)}"
            )
        first = (demo_sources(playing, surface=surface) | example_sources(playing, surface=surface))[chosen]
        return table | {chosen: first}, chosen
    if name is not None:
        raise SceneError(f"view: {check.short(name)}: a name follows only after 'demo'")
    path = check.path("view", "what", what)
    if not path.is_file():
        near = get_close_matches(what, table, 1) or [DEFAULT]
        raise FileError(f"{what}: no such file; for a scene of the package: shinari view demo {near[0]}")
    if path.suffix.lower() in ROBOTS:
        return {path.name: robot_source(path, playing=playing, package=package)} | table, path.name
    if path.suffix.lower() in CACHES:
        return {path.name: cache_source(path, playing=playing)}, path.name
    return {path.name: scene_file_source(path, playing=playing, surface=surface)} | table, path.name


def simulation_source(make: Callable[[], tuple[Scene, Mapping[str, Any]]], title: str, *, playing: bool) -> Source:
    """A scene that is simulated.

    Args:
        make: Gives the scene and the settings of its `Simulation`.
        title: One line about it.
        playing: Whether it runs as soon as it is shown.
    """

    def load() -> Loaded:
        scene, settings = make()
        return Loaded(Runner(Simulation(scene, **settings), title, playing=playing), scene)

    return load


def scene_file_source(path: Path, *, playing: bool = True, surface: bool = False) -> Source:
    """A scene file (TOML)."""
    from shinari.io.scene_file import load_scene_file

    def load() -> Loaded:
        scene, options = load_scene_file(path)
        simulation = Simulation(scene, **asdict(options.settings))
        return Loaded(Runner(simulation, options.title or path.stem, playing=playing, surface=surface), scene)

    return load


def robot_source(path: Path, *, playing: bool = True, package: Path | None = None) -> Source:
    """A robot, URDF or MJCF, on the ground."""
    from shinari.io.robots.show import robot_scene

    def load() -> Loaded:
        scene, robot = robot_scene(path, package)
        return Loaded(Runner(Simulation(scene, substeps=10), robot.name, playing=playing), scene)

    return load


def cache_source(path: Path, *, playing: bool = True) -> Source:
    """A run that was written to a file, .npz or .vtkhdf."""
    from shinari.io.run_reader import open_cache

    return lambda: Loaded(Playback(open_cache(path), playing=playing))


def demo_sources(playing: bool = True, *, surface: bool = False) -> dict[str, Source]:
    """The scenes that come with the package."""
    return {n: scene_file_source(path, playing=playing, surface=surface) for n, path in demo_scenes().items()}


def example_sources(playing: bool = True, *, surface: bool = False) -> dict[str, Source]:
    """The examples of a checkout that say what is shown of them, by the names of their folders."""
    found = {}
    for folder in sorted(EXAMPLES.glob("[0-9][0-9]_*")):
        script = folder / f"{folder.name[3:]}.py"
        if script.is_file() and f"\ndef {SHOWN}(" in script.read_text(encoding="utf-8"):
            found[folder.name] = example_source(script, playing=playing, surface=surface)
    return found


def example_source(script: Path, *, playing: bool, surface: bool) -> Source:
    """An example: what its function `shown` gives."""

    def load() -> Loaded:
        name = f"shinari_example_{script.stem}"
        if name not in sys.modules:
            spec = importlib.util.spec_from_file_location(name, script)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[name] = module
            try:
                spec.loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        module = sys.modules[name]
        made = getattr(module, SHOWN)()
        simulation, before_step = made if isinstance(made, tuple) else (made, None)
        title = (module.__doc__ or script.stem).split("\n")[0].rstrip(".").split(":")[0]
        runner = Runner(simulation, title, playing=playing, surface=surface, before_step=before_step)
        return Loaded(runner, simulation.scene)

    return load
