"""Measures of a study over its parameters: one plot for each pair."""

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import FileError, SceneError, require
from shinari.partial_files import check_target, writing
from shinari.sweeps.study import Study
from shinari.view.curves import drawable, silent_glyphs

FORMATS = (".png", ".svg", ".pdf")
MOST = 12
"""Most rows and columns of plots."""


def plot_study(
    study: Study, path: str | os.PathLike, *, x: Sequence[str] | None = None, y: Sequence[str] | None = None
) -> None:
    """Plot measures over parameters as points, one for each member.

    Args:
        study: The study.
        path: Picture to write, `.png`, `.svg` or `.pdf`. Values beyond 1e300 are left out.
        x: Names for the axes across; None: all parameters that are numbers.
        y: Names for the axes up; None: all measures that are numbers.

    Raises:
        SceneError: A name is unknown or not of numbers, or there is nothing to plot.
        FileError: The picture cannot be written.
        MissingExtraError: Matplotlib is not installed.
    """
    require("matplotlib", "plot")
    target = check_target(path)
    if target.suffix not in FORMATS:
        raise FileError(f"{path}: unknown extension {check.short(target.suffix)}, expected one of {', '.join(FORMATS)}")
    parameters = list(study.plan.parameters)
    across = _axes(study, parameters, x)
    up = _axes(study, [name for name in study.columns() if name not in parameters], y)
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(1.0 + 3.2 * len(across), 0.6 + 2.6 * len(up)), layout="constrained")
    FigureCanvasAgg(figure)
    axes: Any = figure.subplots(len(up), len(across), squeeze=False, sharey="row", sharex="col")
    for row, (name, values) in enumerate(up.items()):
        for column, (path_across, places) in enumerate(across.items()):
            axis = axes[row, column]
            axis.plot(drawable(places), drawable(values), "o", markersize=4, alpha=0.7, markeredgewidth=0.0)
            axis.grid(alpha=0.3)
            if str(study.plan.parameters.get(path_across, "")).startswith("log:"):
                _logarithmic(axis, places)
            if column == 0:
                axis.set_ylabel(name, parse_math=False)
            if row == len(up) - 1:
                axis.set_xlabel(path_across, parse_math=False)
    with writing(path) as partial, silent_glyphs():
        figure.savefig(partial, dpi=120)


def _logarithmic(axis: Any, places: np.ndarray) -> None:
    """Make the axis across logarithmic, with as many numbers as there is room for."""
    from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

    axis.set_xscale("log")
    if np.nanmax(places) < 300.0 * np.nanmin(places):
        axis.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axis.xaxis.set_minor_formatter(NullFormatter())


def _axes(study: Study, names: list[str], chosen: Sequence[str] | None) -> dict[str, np.ndarray]:
    """Columns of numbers by name."""
    if chosen is None:
        found = {name: column for name in names if (column := study.column(name)).dtype.kind in "iuf"}
        found = dict(list(found.items())[:MOST])
    else:
        found = {name: study.column(name) for name in chosen}
        for name, column in found.items():
            if column.dtype.kind not in "iuf":
                raise SceneError(f"plot: {check.told(name)}: has values that are no numbers; choose another one")
    if not any(np.isfinite(column).any() for column in found.values()):
        raise SceneError(f"plot: {study.folder}: has no numbers to plot yet")
    return found
