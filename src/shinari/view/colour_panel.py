"""Panel: what objects are coloured by, and what the colours mean."""

from typing import Any

from shinari.view.colours import ANCHORS, MEASURED_MODES, MODES, UNITS, Colouring, modes_of
from shinari.view.live_player import Runner
from shinari.view.page import Page


def add_colour_panel(page: Page) -> None:
    """Add the panel to a page."""
    ColourPanel(page)


class ColourPanel:
    """A choice of the mode, and a legend."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._choice: Any = page.server.gui.add_dropdown("colour", self._modes())
        self._legend: Any = page.server.gui.add_html("", visible=False)

        @self._choice.on_update
        async def _(event: Any) -> None:
            self._apply()

        page.on_change(self._changed)
        page.on_status(self._tell)

    def _modes(self) -> tuple[str, ...]:
        """A simulation can be measured at any time, a cache was or was not."""
        return MODES if isinstance(self._page.runner, Runner) else modes_of(self._page.layout)

    def _changed(self) -> None:
        """Another scene, or the same from its start: values of before do not count."""
        modes, mode = self._modes(), self._choice.value
        if tuple(self._choice.options) != modes:
            self._choice.options = modes
            self._choice.value = mode if mode in modes else MODES[0]
        self._apply()

    def _apply(self) -> None:
        page, mode = self._page, self._choice.value
        if isinstance(page.runner, Runner):
            page.runner.measured = mode in MEASURED_MODES
            page.runner.do(lambda simulation: None)  # a new frame, also while it is paused
        page.colouring = None if mode == "body" else Colouring(page.layout, mode)
        self._legend.visible = mode != "body"
        self._tell()

    def _tell(self) -> None:
        """Write the largest value seen."""
        colouring = self._page.colouring
        text = "" if colouring is None else legend(colouring.mode, colouring.largest)
        if self._legend.content != text:
            self._legend.content = text


def legend(mode: str, largest: float) -> str:
    """HTML of a bar of the colours, from 0 to the largest value with its unit."""
    colors = ", ".join(f"rgb({r:.0f}, {g:.0f}, {b:.0f})" for r, g, b in ANCHORS)
    value = f"{largest:.1%}" if mode == "strain" else f"{largest:.3g} {UNITS[mode]}"
    return (
        '<div style="margin: 0.2em 1em; font-size: 0.8em">'
        f'<div style="height: 0.8em; border-radius: 2px; background: linear-gradient(to right, {colors})"></div>'
        f'<div style="display: flex; justify-content: space-between"><span>0</span><span>{mode}</span>'
        f"<span>{value}</span></div></div>"
    )
