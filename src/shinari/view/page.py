"""The page in the browser: a player, the stage it is seen on, and panels beside it.

A panel is one file `shinari/view/NAME.py` with a function `add_NAME(page)`, and its name in `PANELS`. It may use
`page.server` (viser), `page.runner`, `page.stage`, `page.layout`, `page.simulation_scene` and `page.colouring`, and ask
to be called with `on_frame`, `on_change` and `on_status`. These calls come from the thread of the page, one at a time;
callbacks of viser come from its event loop and must not wait for anything there: `page.runner.do(...)` only queues.
"""

import contextlib
import io
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.check import short
from shinari.errors import SceneError, ShinariError
from shinari.io.results import Frame, Layout
from shinari.view.player import FRAME_PERIOD, Player
from shinari.view.stage import VIEW_ANGLE, Stage

PANELS = ("transport", "grab", "sliders", "colour_panel", "plots")
"""Names of the panels, from top to bottom."""

STATUS_PERIOD = 0.1
"""Least time between two calls of the callbacks of `on_status` [s]."""
SETTLING = 0.15
"""Time that a browser is given to load a coloured surface when nothing follows it [s]."""


@dataclass(frozen=True)
class Loaded:
    """Something to be shown, read or built.

    Attributes:
        player: What plays it.
        scene: The scene that is simulated; None for a cache.
    """

    player: Player
    scene: Scene | None = None


Source = Callable[[], Loaded]
"""Makes what is shown; called in the thread of the page, and again when it is chosen again."""


class Page:
    """What the clients of one server see, all of them the same.

    Args:
        server: The viser server; the page stops it when it is closed.
        sources: What can be shown, by the name under which it is offered.
        chosen: Name of what is shown first; its source is called at once, in this thread.

    Attributes:
        server: The viser server.
        sources: What can be shown, by name.
        chosen: Name of what is shown.
        runner: A `Runner`, or a `Playback` of a cache.
        simulation_scene: The scene that is simulated; None for a cache.
        stage: What is drawn.
        problem: Why what was chosen last could not be shown, or nothing.

    Raises:
        ShinariError: The first cannot be shown.
    """

    def __init__(self, server: Any, sources: Mapping[str, Source], chosen: str) -> None:
        self.server = server
        self.sources = dict(sources)
        self.problem = ""
        self._colouring: Any = None
        # width over height of the picture for which the camera of each client was turned last
        self._aspects: dict[int, float] = {}
        self._frame_callbacks: list[Callable[[Frame], None]] = []
        self._change_callbacks: list[Callable[[], None]] = []
        self._status_callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._wanted: tuple[str, Future] | None = None
        self._closed = threading.Event()
        self._restyled = False
        self._show_loaded(chosen, self.sources[chosen]())
        server.scene.set_up_direction("+y")
        server.gui.configure_theme(show_logo=False, show_share_button=False)
        server.gui.main_panel.dock_right()  # beside the scene, not in front of it
        server.on_client_connect(self._welcome)
        server.on_client_disconnect(self._see_off)
        for name in PANELS:
            getattr(import_module(f"shinari.view.{name}"), f"add_{name}")(self)
        self._thread = threading.Thread(target=self._loop, name="shinari page", daemon=True)
        self._thread.start()

    @property
    def layout(self) -> Layout:
        """What the frames hold."""
        return self.runner.layout

    @property
    def colouring(self) -> Any:
        """The `shinari.view.colours.Colouring` in use; None: each object in its own colour. It goes with the scene."""
        return self._colouring

    @colouring.setter
    def colouring(self, value: Any) -> None:
        self._colouring = value
        self._restyled = True

    def on_frame(self, callback: Callable[[Frame], None]) -> None:
        """Call a function with each frame that is shown, 30 a second at most."""
        self._frame_callbacks.append(callback)

    def on_change(self, callback: Callable[[], None]) -> None:
        """Call a function when something else is shown, or the same from its start."""
        self._change_callbacks.append(callback)

    def on_status(self, callback: Callable[[], None]) -> None:
        """Call a function when the status of the player may be another, and about ten times a second while it runs."""
        self._status_callbacks.append(callback)

    def choose(self, name: str) -> Future:
        """Show something else.

        Args:
            name: One of the names of `sources`.

        Returns:
            None when it is shown; a SceneError for an unknown name, or the error for which it cannot be shown.
        """
        future: Future = Future()
        if name not in self.sources:
            future.set_exception(SceneError(f"viewer: scene: {short(name)} is not on offer"))
            return future
        with self._lock:
            before, self._wanted = self._wanted, (name, future)
        if before is not None:
            before[1].cancel()
        return future

    def close(self) -> None:
        """Stop the player and the server."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._thread.join()
        self.runner.close()
        stop_quietly(self.server)

    def _loop(self) -> None:
        seen, generation, told = 0, self.runner.generation, 0.0
        while not self._closed.is_set():
            if self._switch():
                seen, generation = 0, self.runner.generation
            number, frame = self.runner.wait(seen, FRAME_PERIOD)
            begun = time.perf_counter()
            if frame is not None and (number != seen or self._restyled):
                seen, self._restyled = number, False
                self._show(frame)
            elif self.stage.lags and begun - self._shown > SETTLING:
                self.stage.settle()
            if generation != self.runner.generation:
                generation = self.runner.generation
                self._call(self._change_callbacks)
            if begun - told > STATUS_PERIOD:
                told = begun
                self._call(self._status_callbacks)

    def _show(self, frame: Frame) -> None:
        self._shown = time.perf_counter()
        try:
            with self.server.atomic():
                self.stage.show(frame, self._colouring)
        except Exception as error:
            self.problem = f"cannot be drawn: {error!r}"
            return
        self._call(self._frame_callbacks, frame)

    def _call(self, callbacks: list[Callable[..., None]], *arguments: Any) -> None:
        """A panel that fails is told about, and leaves the page as it is."""
        for callback in callbacks:
            try:
                callback(*arguments)
            except Exception as error:
                self.problem = f"{type(error).__name__}: {error}"

    def _switch(self) -> bool:
        with self._lock:
            wanted, self._wanted = self._wanted, None
        if wanted is None or not wanted[1].set_running_or_notify_cancel():
            return False
        name, future = wanted
        self.runner.pause()
        before = self.chosen, Loaded(self.runner, self.simulation_scene)
        try:
            loaded = self.sources[name]()
        except Exception as error:  # of an example too, which may raise anything
            self._refuse(name, error, future)
            return False
        self.stage.remove()
        try:
            self._show_loaded(name, loaded)
        except Exception as error:
            loaded.player.close()
            self._show_loaded(*before)
            self._call(self._change_callbacks)
            self._refuse(name, error, future)
            return True
        before[1].player.close()
        self._look()
        self._call(self._change_callbacks)
        self._call(self._status_callbacks)
        future.set_result(None)
        return True

    def _refuse(self, name: str, error: Exception, future: Future) -> None:
        """Say why something cannot be shown."""
        self.problem = f"{name}: {error if isinstance(error, ShinariError) else repr(error)}"
        future.set_exception(error)
        self._call(self._status_callbacks)

    def _show_loaded(self, name: str, loaded: Loaded) -> None:
        self.chosen, self.problem = name, ""
        self.runner, self.simulation_scene = loaded.player, loaded.scene
        self._colouring = None
        frame = self.runner.latest()
        assert frame is not None
        self.stage = Stage(self.server.scene, self.layout, frame, box=self.runner.box())
        self._shown = time.perf_counter()
        camera = self.server.initial_camera
        camera.position, camera.look_at = self.stage.camera()
        camera.up, camera.fov = (0.0, 1.0, 0.0), np.radians(VIEW_ANGLE)
        camera.near, camera.far = self.stage.depths

    def _look(self) -> None:
        """Turn the cameras of those who are here to what is new."""
        for client in self.server.get_clients().values():
            self._turn(client)

    def _turn(self, client: Any) -> None:
        """Turn the camera of a client so that the stage is in its picture, as wide as that is."""
        self._aspects[client.client_id] = client.camera.aspect
        client.camera.position, client.camera.look_at = self.stage.camera(client.camera.aspect)
        client.camera.near, client.camera.far = self.stage.depths

    async def _welcome(self, client: Any) -> None:
        """Keep the stage in the picture of a client until it moves its camera: panels come after the first picture."""
        self._aspects[client.client_id] = 1.0

        @client.camera.on_update
        async def _(camera: Any) -> None:
            before = self._aspects.get(client.client_id)
            if before is None:  # it has left
                return
            position, _ = self.stage.camera(before)
            here = np.allclose(camera.position, position, atol=1e-3 * self.stage.size)
            if here and min(camera.aspect, 1.0) != min(before, 1.0):
                self._turn(client)

    async def _see_off(self, client: Any) -> None:
        """Forget a client that leaves."""
        self._aspects.pop(client.client_id, None)


def stop_quietly(server: Any) -> None:
    """Stop a viser server, which would say so on standard output."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
