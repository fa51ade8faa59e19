"""Curves of a run over time: energies, momenta, residual and strain, as a picture. Needs the extra [plot]."""

import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import FileError, SceneError, require
from shinari.io.results import MEASURES
from shinari.io.run_reader import Cache
from shinari.partial_files import writing

CURVES = ("energy", "momentum", "residual", "strain")
"""What can be plotted."""
EXTENSIONS = (".png", ".svg")

WIDTH, HEIGHT = 8.0, 2.6
"""Size of one panel [inches]."""
RESOLUTION = 150
"""Pixels in an inch of a .png."""
FEW = 30
"""Up to so many frames the points of the curves are marked."""
LARGEST = 1e300
"""Largest value that is drawn: an axis adds margins to the range of the values, and rounds it up."""


def plot_run(cache: Cache, path: str | os.PathLike, what: Sequence[str] = CURVES) -> None:
    """Draw curves of a run, one panel below the other over a common axis of time.

    Args:
        cache: The run.
        path: Picture to write, .png or .svg; a file of that name is replaced. Values beyond 1e300, as of a run that
            diverges, leave gaps, and the picture says so.
        what: Some of `CURVES`, in their order from top to bottom; `"momentum"` makes two panels.

    Raises:
        FileError: The run has no frames or was not measured, or the picture cannot be written.
        SceneError: There is no such curve.
        MissingExtraError: matplotlib is not installed.
    """
    suffix = check.path("plot", "path", path).suffix.lower()
    if suffix not in EXTENSIONS:
        raise FileError(f"{path}: unknown extension {check.short(suffix)}, expected one of {', '.join(EXTENSIONS)}")
    for name in what:
        if name not in CURVES:
            raise SceneError(f"plot: what: {check.short(name)} is none of {', '.join(CURVES)}")
    if not what:
        raise SceneError(f"plot: what: expected some of {', '.join(CURVES)}")
    table = cache.measures()
    if len(table) == 0:
        raise FileError(f"{cache.path}: has no frames")
    figure = _figure(cache.title, cache.times, dict(zip(MEASURES, table.T, strict=True)), what)
    _write(figure, path, suffix)


def _figure(title: str, times: np.ndarray, values: dict[str, np.ndarray], what: Sequence[str]) -> Any:
    # the figure without pyplot: no display, no state that is shared with the program around it
    figures = require("matplotlib.figure", "plot")
    panels = [panel for name in what for panel in _PANELS[name]]
    figure = figures.Figure((WIDTH, HEIGHT * len(panels) + 0.5), layout="constrained")
    axes = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for panel, plot in zip(panels, axes, strict=True):
        panel(plot, times, values, "o" if len(times) <= FEW else "")
        plot.grid(alpha=0.3)
        plot.spines[["top", "right"]].set_visible(False)
        plot.margins(x=0.02)
        plot.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False)
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(title, parse_math=False)
    return figure


def drawable(values: np.ndarray) -> np.ndarray:
    """Values with nan, which leaves a gap, for those beyond what an axis can hold."""
    return np.where(np.abs(values) <= LARGEST, values, np.nan)


@contextmanager
def silent_glyphs() -> Iterator[None]:
    """While it lasts Matplotlib does not warn of characters that its fonts lack; it draws boxes for them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def _draw(plot: Any, times: np.ndarray, values: np.ndarray, **style: Any) -> None:
    """Draw a curve; a panel some of whose values are too large to be drawn says so."""
    if np.any(np.abs(values) > LARGEST):
        plot.set_title(f"gaps: beyond {LARGEST:g}", loc="right", color="#b84c57")
    plot.plot(times, drawable(values), **style)


def _energy(plot: Any, times: np.ndarray, values: dict[str, np.ndarray], marker: str) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        total = values["kinetic"] + values["gravitational"] + values["elastic"]
    for name, color in (("kinetic", "#3d7acc"), ("gravitational", "#4d9e5c"), ("elastic", "#e07533")):
        _draw(plot, times, values[name], marker=marker, ms=3, color=color, label=name)
    _draw(plot, times, total, ls="--", marker=marker, ms=3, color="#444444", label="total")
    work = values["external_work"]
    if np.nan_to_num(work).any():
        _draw(plot, times, work, ls=":", marker=marker, ms=3, color="#b84c57", label="work from outside")
    plot.set(title="energy", ylabel="[J]")


def _vector(name: str, title: str, unit: str) -> Any:
    """Panel of the three components of a vector."""

    def draw(plot: Any, times: np.ndarray, values: dict[str, np.ndarray], marker: str) -> None:
        for axis, color in zip("xyz", ("#b84c57", "#4d9e5c", "#3d7acc"), strict=True):
            _draw(plot, times, values[f"{name}_{axis}"], marker=marker, ms=3, color=color, label=axis)
        plot.set(title=title, ylabel=f"[{unit}]")

    return draw


def _residual(plot: Any, times: np.ndarray, values: dict[str, np.ndarray], marker: str) -> None:
    _draw(plot, times, values["residual"], marker=marker, ms=3, color="#b84c57", label="largest")
    plot.set(title="residual", ylabel="[unit of the row]")


def _strain(plot: Any, times: np.ndarray, values: dict[str, np.ndarray], marker: str) -> None:
    with np.errstate(over="ignore"):
        largest, mean = 100.0 * values["largest_strain"], 100.0 * values["mean_strain"]
    _draw(plot, times, largest, marker=marker, ms=3, color="#8566b3", label="largest")
    _draw(plot, times, mean, marker=marker, ms=3, color="#3d7acc", label="mean")
    plot.set(title="strain", ylabel="[%]")


_PANELS: dict[str, tuple[Any, ...]] = {
    "energy": (_energy,),
    "momentum": (
        _vector("momentum", "momentum", "kg m/s"),
        _vector("angular_momentum", "angular momentum about the origin", "kg m²/s"),
    ),
    "residual": (_residual,),
    "strain": (_strain,),
}


def _write(figure: Any, path: str | os.PathLike, suffix: str) -> None:
    matplotlib = require("matplotlib", "plot")
    # the same run gives the same bytes: no date, no random names
    settings = {"svg.hashsalt": "shinari", "svg.fonttype": "none"}
    with writing(path) as partial, matplotlib.rc_context(settings), silent_glyphs():
        metadata = {"Date": None} if suffix == ".svg" else {"Software": None}
        figure.savefig(partial, format=suffix[1:], dpi=RESOLUTION, metadata=metadata)
