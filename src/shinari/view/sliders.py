"""Panel: sliders for the settings, for gravity and air, and for the materials of the objects in the scene.

What a client moves is queued for the thread of the simulation, the newest value of each control only, and changes the
simulation between two steps. A change that is refused is told to who asked for it, and the control goes back.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.model.settings import METHODS, SWEEPS, Settings
from shinari.view.live_player import Runner
from shinari.view.page import Page
from shinari.view.parameters import AIR_DAMPING, Parameter, parameters_of

MOST_SUBSTEPS, MOST_ITERATIONS = 100, 50
"""Ends of the sliders, unless the scene begins with more."""
TOLD_SECONDS = 10.0
"""How long a client is told why something was not changed [s]."""


def add_sliders(page: Page) -> None:
    """Add the panel to a page."""
    Sliders(page)


@dataclass(eq=False)
class Control:
    """Something on the page that changes a value.

    Attributes:
        handle: The handle of viser.
        value: The value that the simulation has.
        apply: Gives a simulation a value.
        read: The value for what the handle shows.
        show: What the handle shows for a value.
        label: Label for a value; None: it stays.
        method: Method that reads the value; None: every one.
    """

    handle: Any
    value: Any
    apply: Callable[[Simulation, Any], None]
    read: Callable[[Any], Any]
    show: Callable[[Any], Any]
    label: Callable[[Any], str] | None = None
    method: str | None = None


class Sliders:
    """The panel; empty while a cache is played."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._lock = threading.Lock()
        self._runner: Any = None
        self._folder: Any = None
        self._controls: list[Control] = []
        self._pending: dict[Control, tuple[Any, Any]] = {}
        self._order = page.server.gui.add_markdown("", visible=False).order
        self._follow()
        page.on_change(self._follow)

    def _follow(self) -> None:
        """Begin anew when something else is shown; after a reset the simulation keeps its values."""
        runner = self._page.runner
        if runner is self._runner:
            return
        with self._lock:
            self._runner, self._pending, self._controls = runner, {}, []
        if self._folder is not None:
            self._folder.remove()
            self._folder = None
        if isinstance(runner, Runner):
            self._folder = self._page.server.gui.add_folder("simulation", order=self._order)
            # what a simulation holds is read in its own thread
            seen = runner.do(lambda simulation: (simulation.settings, simulation.described))
            seen.add_done_callback(partial(self._fill, runner, self._folder))

    def _fill(self, runner: Runner, folder: Any, seen: Future) -> None:
        if seen.cancelled() or runner is not self._runner:
            return
        settings, scene = seen.result()
        with folder:
            self._add_settings(settings)
            self._add_world(scene)
            for names, material in alike(scene).values():
                title = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
                with self._page.server.gui.add_folder(title, expand_by_default=False):
                    for parameter in parameters_of(material, scene.wind is not None):
                        self._add_parameter(
                            parameter,
                            getattr(material, parameter.field),
                            partial(_change_material, names, parameter.field),
                        )
        self._show_those_of(settings.method)

    def _add_settings(self, settings: Settings) -> None:
        gui = self._page.server.gui
        for field, most in (("substeps", MOST_SUBSTEPS), ("iterations", MOST_ITERATIONS)):
            value = getattr(settings, field)
            handle = gui.add_slider(field, 1, max(most, value), 1, value)
            self._add(Control(handle, value, partial(_change, field), int, int))
        for field, choices in (("method", METHODS), ("sweep", SWEEPS)):
            value = getattr(settings, field)
            handle = gui.add_dropdown(field, choices, initial_value=value)
            self._add(Control(handle, value, partial(_change, field), str, str))

    def _add_world(self, scene: Scene) -> None:
        gui = self._page.server.gui
        for field, unit in (("gravity", "m/s\N{SUPERSCRIPT TWO}"), ("wind", "m/s")):
            value = getattr(scene, field)
            # a wind that is a function of time stays what it is
            if not callable(value):
                shown = (0.0, 0.0, 0.0) if value is None else tuple(float(part) for part in value)
                handle = gui.add_vector3(f"{field} {unit}", shown, step=0.1)
                self._add(Control(handle, shown, partial(_change, field), tuple, tuple))
        self._add_parameter(AIR_DAMPING, scene.damping, partial(_change, "damping"))

    def _add_parameter(self, parameter: Parameter, value: float, apply: Callable[[Simulation, Any], None]) -> None:
        place = parameter.place(value)
        handle = self._page.server.gui.add_slider(
            parameter.text(value),
            parameter.first,
            parameter.last,
            parameter.step,
            place,
            marks=parameter.marks,
            hint=parameter.hint,
        )
        self._add(Control(handle, value, apply, parameter.value, parameter.place, parameter.text, parameter.method))

    def _add(self, control: Control) -> None:
        self._controls.append(control)

        @control.handle.on_update
        async def _(event: Any) -> None:
            # what the server itself sets comes without a client
            if event.client is not None:
                self._moved(control, event.client)

    def _moved(self, control: Control, client: Any) -> None:
        value = control.read(control.handle.value)
        if control.label is not None:
            control.handle.label = control.label(value)
        with self._lock:
            inactive_particles = bool(self._pending)
            self._pending[control] = value, client
        if not inactive_particles:
            self._runner.do(self._apply)

    def _apply(self, simulation: Simulation) -> None:
        """Make the changes that wait; called in the thread of the simulation."""
        with self._lock:
            pending, self._pending = self._pending, {}
        for control, (value, client) in pending.items():
            try:
                control.apply(simulation, value)
            except Exception as error:  # whatever went wrong, the simulation goes on with what it had
                client.add_notification("not changed", str(error), color="red", auto_close_seconds=TOLD_SECONDS)
                control.handle.value = control.show(control.value)
                if control.label is not None:
                    control.handle.label = control.label(control.value)
            else:
                control.value = value
        self._show_those_of(simulation.settings.method)

    def _show_those_of(self, method: str) -> None:
        """Hide what the method does not read."""
        for control in self._controls:
            visible = control.method in (None, method)
            if control.handle.visible != visible:
                control.handle.visible = visible


def alike(scene: Scene) -> dict[Any, tuple[list[str], Any]]:
    """Names of the objects of each kind and material, and the material, in the order of the scene."""
    found: dict[Any, tuple[list[str], Any]] = {}
    for group in scene.particle_objects:
        if group.material is not None:
            found.setdefault((group.kind, group.material), ([], group.material))[0].append(group.name)
    return found


def _change(field: str, simulation: Simulation, value: Any) -> None:
    simulation.change(**{field: value})


def _change_material(names: list[str], field: str, simulation: Simulation, value: float) -> None:
    simulation.change_material(names, **{field: value})
