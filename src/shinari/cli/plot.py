"""`shinari plot`: curves of a run."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def plot(
    cache: Path,
    *,
    output: Annotated[Path | None, Parameter(alias="-o")] = None,
    what: Annotated[list[str] | None, Parameter(negative=(), consume_multiple=True)] = None,
) -> None:
    """Plot energies, momenta, residual and strain of a run over time.

    Args:
        cache: What a run wrote, .npz or .vtkhdf.
        output: Picture to write, .png or .svg; by default CACHE.png in the current folder.
        what: Some of energy, momentum, residual, strain; by default all.
    """
    from shinari.io.run_reader import open_cache
    from shinari.view.curves import CURVES, plot_run

    target = output or Path(f"{cache.stem}.png")
    with open_cache(cache) as run:
        plot_run(run, target, CURVES if what is None else what)
    print(f"shinari: wrote {target}", file=sys.stderr)
