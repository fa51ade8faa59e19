"""The gallery: a card and a page for each example, made from its script and from what it wrote.

The results come from out/examples/NAME, or the folder in SHINARI_EXAMPLES_OUT, where the tests of the examples leave
them: nothing is simulated here. Pictures are drawn from the .npz as `shinari render` does, players are embedded. Pages
and pictures go to docs/gallery, which is not in the repository.
"""

import ast
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
PICTURE = (640, 360)  # [pixels]
# Examples whose last frame, seen so that the whole motion fits, does not show what they are about: moment [s], camera.
LOOKS = {
    "12_flag_around_pole": {"camera": ((0.95, 1.9, 1.7), (0.1, 1.45, 0.0))},
    "16_squash_and_recover": {"time": 0.6, "camera": ((0.45, 0.07, 0.9), (0.0, 0.06, 0.0))},
    "20_balloon": {"time": 2.5, "camera": ((0.9, 0.25, 1.8), (0.0, 0.28, 0.0))},
    "21_tearing_sheet": {"time": 0.6, "camera": ((1.3, 1.3, 2.6), (0.0, -0.4, 0.0))},
    "25_card_house": {"time": 2.0, "camera": ((0.2, 0.18, 0.4), (0.0, 0.09, 0.0))},
    "30_meshes_piled": {"camera": ((0.9, 1.05, 1.5), (0.0, 0.28, 0.0))},
    "31_dam_break": {"time": 0.15},
    "32_double_dam_break": {"time": 0.5},
    "33_faucet": {"camera": ((0.22, 0.66, 0.44), (0.0, 0.17, 0.0))},
    "35_cloth_bag_with_water": {"camera": ((0.29, 0.62, 0.58), (0.0, -0.07, 0.0))},
    "36_sand_column": {"camera": ((0.36, 0.32, 0.56), (0.0, 0.03, 0.0))},
    "41_wall_and_ball": {"time": 1.35, "camera": ((1.7, 1.8, 3.2), (0.0, 0.45, -0.2))},
    "42_rain_of_ragdolls": {"time": 1.0},
    "43_crane": {"time": 2.2},
}
ROW = re.compile(
    r"^\| \[(?P<title>[^]]+)\]\((?P<script>[^)]+)\) \| (?P<shows>.+) \| `(?P<command>[^`]+)` \|$", re.MULTILINE
)

INDEX = """# Gallery

Each example is one script that explains itself, checks its physics and writes a player, a plot or both. The results
shown here are those of the tests, some of them at a smaller size than the script has by itself; pictures are drawn by
`shinari render` from the `.npz` that a script writes, or are its plot.

"""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Example:
    """A script of the folder examples, and the folder with its results."""

    title: str
    shows: str
    command: str
    script: Path
    results: Path

    @property
    def name(self) -> str:
        """Name of its folder and of its page, such as `08_sheet_over_sphere`."""
        return self.script.parent.name

    @cached_property
    def source(self) -> str:
        """Text of the script."""
        return self.script.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The script, parsed."""
        return ast.parse(self.source)

    def assertions(self) -> list[str]:
        """Source of each assertion, in the order of the script."""
        found = [node for node in ast.walk(self.tree) if isinstance(node, ast.Assert)]
        found.sort(key=lambda node: node.lineno)
        lines = self.source.splitlines()
        texts = ["\n".join(lines[node.lineno - 1 : node.end_lineno]) for node in found]
        return [
            re.sub(rf"^ {{{node.col_offset}}}", "", text, flags=re.M) for node, text in zip(found, texts, strict=True)
        ]

    def result(self, suffix: str) -> Path | None:
        """The file of that kind that the script wrote; None when there is none."""
        path = self.results / f"{self.script.stem}{suffix}"
        return path if path.is_file() else None


def examples() -> Iterator[Example]:
    """All examples, in the order of their numbers, as the table of examples/README.md lists them."""
    results = Path(os.environ.get("SHINARI_EXAMPLES_OUT", ROOT / "out" / "examples"))
    rows = [match.groupdict() for match in ROW.finditer((EXAMPLES / "README.md").read_text(encoding="utf-8"))]
    for row in sorted(rows, key=lambda row: row["title"]):
        script = EXAMPLES / row["script"]
        yield Example(row["title"], row["shows"], row["command"], script, results / script.parent.name)


def draw(example: Example, folder: Path) -> Path | None:
    """The picture of an example: drawn from its frames, else its plot; None when there is neither."""
    picture, run, plot = folder / f"{example.name}.png", example.result(".npz"), example.result(".png")
    source = run or plot
    if source is None:
        return None
    newest = max(path.stat().st_mtime for path in (source, Path(__file__)))  # cameras are in this file
    if picture.exists() and picture.stat().st_mtime > newest:
        return picture
    if run and _render(run, picture, **LOOKS.get(example.name, {})):
        return picture
    return Path(shutil.copyfile(plot, picture)) if plot else None


def _render(run: Path, picture: Path, camera: Any = None, **look: Any) -> bool:
    """Draw a run; False, with a line in the log, where pictures cannot be drawn or the run is not one of today."""
    from shinari.errors import FileError, MissingExtraError
    from shinari.view.camera import Camera
    from shinari.view.render import render

    if camera is not None:
        look["camera"] = Camera(*camera)
    try:
        render(run, picture, size=PICTURE, **look)
    except MissingExtraError as error:
        logger.info("gallery: %s is not drawn: %s", run.name, error)
        return False
    except FileError as error:
        logger.warning("gallery: not drawn: %s", error)
        return False
    return True


def page(example: Example, picture: Path | None) -> str:
    """The page of an example."""
    lines = [f"# {example.title}", ""]
    if example.result(".html"):
        player = f"players/{example.name}.html"
        lines += [
            "```{raw} html",
            f'<iframe class="player" src="{player}" loading="lazy" title="{example.title}, player"></iframe>',
            f'<p><a href="{player}">Open the player alone</a>: drag to turn, wheel to zoom.</p>',
            "```",
            "",
        ]
    elif picture and example.result(".npz"):
        lines += [f"![{example.title}](pictures/{picture.name})", ""]
    lines += [ast.get_docstring(example.tree) or "", ""]
    if example.result(".png"):
        lines += [f"![Plot of {example.title}](pictures/{example.name}_plot.png)", ""]
    lines += ["## Run it", "", "```sh", example.command, "```", ""]
    lines += ["## What it asserts", "", "```python", *example.assertions(), "```", ""]
    lines += ["## The script", "", f"```{{literalinclude}} ../../examples/{example.script.relative_to(EXAMPLES)}"]
    return "\n".join([*lines, ":language: python", "```", ""])


def card(example: Example, picture: Path | None) -> str:
    """The card of an example on the page of the gallery."""
    title = f"[{example.title}]({example.name}.md)"
    if picture is None:
        return f":::{{container}} card\n{title}\n\n{example.shows}\n:::\n"
    head = f":::{{figure}} pictures/{picture.name}\n:figclass: card\n:target: {example.name}.html"
    return f"{head}\n\n{title}\n\n{example.shows}\n:::\n"


def write(app: Sphinx) -> None:
    """Write the pages of the gallery; an example without results is a warning."""
    folder = Path(app.srcdir) / "gallery"
    pictures = folder / "pictures"
    pictures.mkdir(parents=True, exist_ok=True)
    cards, names = [], []
    for example in examples():
        picture = draw(example, pictures)
        if picture is None and not example.result(".html"):
            logger.warning("gallery: %s has no results: make docs writes them", example.results)
        if plot := example.result(".png"):
            shutil.copyfile(plot, pictures / f"{example.name}_plot.png")
        _update(folder / f"{example.name}.md", page(example, picture))
        cards.append(card(example, picture))
        names.append(example.name)
    tree = "\n".join(["```{toctree}", ":hidden:", ":maxdepth: 1", "", *names, "```", ""])
    grid = "\n".join(["::::{container} cards", *cards, "::::", ""])
    _update(folder / "index.md", INDEX + grid + "\n" + tree)


def _update(path: Path, text: str) -> None:
    """Write a page that has changed."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def copy_players(app: Sphinx, exception: Exception | None) -> None:
    """Put the players beside the pages."""
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir) / "gallery" / "players"
        folder.mkdir(parents=True, exist_ok=True)
        for example in examples():
            if player := example.result(".html"):
                shutil.copyfile(player, folder / f"{example.name}.html")


def setup(app: Sphinx) -> dict:
    """Write the pages before Sphinx looks for them, copy the players when it is done."""
    app.connect("builder-inited", write)
    app.connect("build-finished", copy_players)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
