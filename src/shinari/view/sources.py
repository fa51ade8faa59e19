"""What can be shown, by name: a scene, a simulation, a cache; the scenes of the package."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from shinari.scene.scene import Scene
from shinari.simulation import Simulation
from shinari.view.page import Loaded, Source
from shinari.view.playback import Playback
from shinari.view.runner import Runner


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


def scene_file_source(path: Path, *, playing: bool = True) -> Source:
    """A scene file (TOML)."""
    from shinari.files.scene_file import load_scene_file

    def load() -> Loaded:
        scene, options = load_scene_file(path)
        simulation = Simulation(scene, **asdict(options.settings))
        return Loaded(Runner(simulation, options.title or path.stem, playing=playing), scene)

    return load


def cache_source(path: Path, *, playing: bool = True) -> Source:
    """A run that was written to a file, .npz or .vtkhdf."""
    from shinari.files.cache import open_cache

    return lambda: Loaded(Playback(open_cache(path), playing=playing))


def demo_sources() -> dict[str, Source]:
    """The scenes that come with the package."""
    from shinari.cli.demo import demo_scenes

    return {name: scene_file_source(path) for name, path in demo_scenes().items()}
