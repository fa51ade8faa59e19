"""Panel: what is shown, play and pause, single step, reset, speed, and for a cache its time line."""

from typing import Any

from shinari.view.live_player import Runner
from shinari.view.page import Page
from shinari.view.playback import Playback

SPEEDS = {"1/8": 0.125, "1/4": 0.25, "1/2": 0.5, "1": 1.0, "2": 2.0, "4": 4.0}
"""Choices of how fast time goes, as multiples of real time."""


def add_transport(page: Page) -> None:
    """Add the panel to a page."""
    Transport(page)


class Transport:
    """The buttons and what they do."""

    def __init__(self, page: Page) -> None:
        self._page = page
        gui = page.server.gui
        self._status = gui.add_markdown("")
        self._scene: Any = None
        if len(page.sources) > 1:
            self._scene = gui.add_dropdown("scene", tuple(page.sources), initial_value=page.chosen)
        self._play = gui.add_button("play")
        self._step = gui.add_button("step")
        self._reset = gui.add_button("reset")
        self._speed = gui.add_dropdown("speed", tuple(SPEEDS), initial_value="1")
        hint = "Without them a browser that draws by the processor is about ten times faster."
        self._shadows = gui.add_checkbox("shadows", True, hint=hint)
        self._line: Any = None
        self._told = -1
        self._asked: int | None = None
        self._connect()
        self._changed()
        self._say()
        page.on_change(self._changed)
        page.on_status(self._say)
        page.on_frame(lambda frame: self._follow())

    def _connect(self) -> None:
        @self._play.on_click
        async def _(event: Any) -> None:
            running = self._page.runner.status == "running"
            _ = self._page.runner.pause() if running else self._page.runner.play()

        @self._step.on_click
        async def _(event: Any) -> None:
            self._page.runner.step()

        @self._reset.on_click
        async def _(event: Any) -> None:
            self._page.runner.reset()

        @self._speed.on_update
        async def _(event: Any) -> None:
            self._page.runner.speed = SPEEDS[self._speed.value]

        @self._shadows.on_update
        async def _(event: Any) -> None:
            self._page.server.scene.configure_default_lights(cast_shadow=self._shadows.value)

        if self._scene is not None:

            @self._scene.on_update
            async def _(event: Any) -> None:
                if event.client is None:  # the page's own setting of the value
                    return
                self._status.content = f"building **{self._scene.value}** ..."
                self._page.choose(self._scene.value)

    def _changed(self) -> None:
        """Another scene: speed and time line begin anew."""
        self._page.runner.speed = SPEEDS[self._speed.value]
        if self._scene is not None and self._scene.value != self._page.chosen:
            self._scene.value = self._page.chosen
        if self._line is not None:
            self._line.remove()
            self._line = None
        player = self._page.runner
        if isinstance(player, Playback) and player.count > 1:
            self._line = self._page.server.gui.add_slider("frame", 0, player.count - 1, 1, 0)
            self._told, self._asked = 0, None

            @self._line.on_update
            async def _(event: Any) -> None:
                if event.client is not None:
                    self._asked = int(event.target.value)
                    player.seek(self._asked)

    def _follow(self) -> None:
        """Move the time line along, but not against a hand that pulls it faster than frames are shown."""
        player = self._page.runner
        if self._asked is not None and isinstance(player, Playback):
            if player.index == self._asked:
                self._told, self._asked = self._asked, None
            return
        if self._line is not None and isinstance(player, Playback) and self._told != player.index:
            self._told = player.index
            self._line.value = player.index

    def _say(self) -> None:
        """Write the state, and what can be done in it."""
        runner = self._page.runner
        frame = runner.latest()
        time = 0.0 if frame is None else frame.time
        status = runner.status
        if status == "running" and isinstance(runner, Runner) and runner.steps == 0:
            status = "compiling or loading its kernels"
        lines = [f"**{runner.title or self._page.chosen}** {status}, t = {time:.3f} s"]
        if runner.message:
            lines.append(f"**{runner.message}** Press reset to go back to the start.")
        if self._page.problem:
            lines.append(f"**{self._page.problem}**")
        text = "\n\n".join(lines)
        if self._status.content != text:
            self._status.content = text
        label = "pause" if runner.status == "running" else "play"
        if self._play.label != label:
            self._play.label = label
