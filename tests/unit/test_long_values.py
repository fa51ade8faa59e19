"""Messages repeat the beginning and the end of a long value, wherever it came from."""

import contextlib
import copy
import io
import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shinari as sn
from shinari import check, cli
from shinari.geometry.files.meshes import read_mesh, write_mesh
from shinari.geometry.files.tetra_files import read_tetrahedra
from shinari.io.codec import decode
from shinari.io.results import Body, DrawnPart, Layout
from shinari.io.scene_file import demo_scenes
from shinari.output.writers import open_writer
from shinari.verify.ledger import select_checks
from shinari.view.camera import parse_camera
from shinari.view.colours import Colouring
from shinari.view.curves import plot_run
from shinari.view.pictures import survey
from shinari.view.render import View, render
from shinari.view.server import start_server
from shinari.view.sources import offered

LONGEST_MESSAGE = 900  # all that is known and a value: far below what is given
LONG = {
    "text": "x" * 5000,
    "words": "x y " * 1250,
    "suffix": "a." + "x" * 5000,
    "file name": "a." + "x" * 240,
    "folders": "/".join(["x" * 200] * 25),
    "signs": "'\"\\\n" * 1250,
}
LAYOUT = Layout((DrawnPart("dust", "points", 0, 1),), (), 1, 30.0)
CALLS: dict[str, Callable[[str], Any]] = {
    "view colour": lambda text: View(colour=text),
    "view background": lambda text: View(background=text),
    "camera": parse_camera,
    "camera of a picture": lambda text: survey(LAYOUT, [], text),
    "colouring": lambda text: Colouring(LAYOUT, text),
    "render": lambda text: render(text, "a.png"),
    "demo to view": lambda text: offered("demo", text, playing=False),
    "file to view": lambda text: offered(text, None, playing=False),
    "file and name to view": lambda text: offered("a.toml", text, playing=False),
    "host": lambda text: start_server(text, 0),
    "port": lambda text: start_server("127.0.0.1", text),  # type: ignore[arg-type]
    "twins": lambda text: Layout((DrawnPart(text, "points", 0, 1),) * 2, (), 1, 30.0),
    "kind of a part": lambda text: Layout((DrawnPart(text, text, 0, 1),), (), 1, 30.0),
    "body": lambda text: Layout((), (Body(text, np.zeros((2, 2)), np.zeros((0, 3), int)),), 0, 30.0),
    "output": lambda text: open_writer(text, LAYOUT),
    "curves": lambda text: plot_run(None, "a.png", [text]),  # type: ignore[arg-type]
    "file of curves": lambda text: plot_run(None, text),  # type: ignore[arg-type]
    "run": sn.open_cache,
    "scene": sn.load_scene,
    "mesh": read_mesh,
    "mesh to write": lambda text: write_mesh(text, np.zeros((3, 3)), np.array([[0, 1, 2]])),
    "tetrahedra": read_tetrahedra,
    "robot": lambda text: sn.load_robot(text, sn.Scene()),
    "check": lambda text: select_checks([text]),
    "precision of a check": lambda text: select_checks(None, [text]),
    "array of a checkpoint": lambda text: decode({"array": text}, []),
    "record of a checkpoint": lambda text: decode({"record": text, "fields": {}}, []),
    "node of a checkpoint": lambda text: decode({text: 1, "list": 1}, []),
}
WORDS = [
    *([command, "LONG"] for command in cli.COMMANDS),
    ["LONG"], ["--LONG"], ["run", "s.toml", "-o", "LONG"], ["run", "s.toml", "--checkpoint", "LONG"],
    ["run", "s.toml", "--duration", "LONG"], ["run", "s.toml", "--duration=LONG"], ["view", "demo", "LONG"],
    ["view", "s.toml", "LONG"], ["render", "s.toml", "--size", "LONG"], ["render", "s.toml", "--camera", "LONG"],
    ["render", "s.toml", "--color", "LONG"], ["render", "s.toml", "--background", "LONG"],
    ["render", "s.toml", "-o", "LONG"], ["plot", "a.npz", "--what", "LONG"], ["bench", "--compare", "LONG"],
]  # fmt: skip


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_calls(call: Callable[[str], Any], text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises((sn.ShinariError, ValueError)) as caught:
        call(text)
    assert len(str(caught.value)) < LONGEST_MESSAGE


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_words_of_the_command_line(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for words in WORDS:
        given = [word.replace("LONG", text) for word in words]
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            assert cli.main(given) == cli.BAD_INPUT, words
        assert (out.getvalue(), err.getvalue().count("\n")) == ("", 1), words
        assert max(map(len, err.getvalue().split())) <= cli.LONGEST_WORD + 50, words
        assert len(err.getvalue()) <= cli.LONGEST_MESSAGE + 50, words


def fields(node: Any, place: tuple = ()) -> Iterator[tuple]:
    """Places of all fields of a document, and of all texts with `None` behind them."""
    for key, value in node.items() if isinstance(node, dict) else enumerate(node):
        if isinstance(node, dict):
            yield (*place, key)
        if isinstance(value, (dict, list)):
            yield from fields(value, (*place, key))
        elif isinstance(value, str):
            yield (*place, key, None)


def written(node: Any) -> str:
    """A value in TOML."""
    if isinstance(node, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {written(value)}" for key, value in node.items()) + "}"
    return "[" + ", ".join(map(written, node)) + "]" if isinstance(node, list) else json.dumps(node)


@pytest.mark.parametrize("name", demo_scenes())
def test_fields_and_texts_of_scene_files(name: str, tmp_path: Path) -> None:
    document, seen = tomllib.loads(Path(demo_scenes()[name]).read_text()), set()
    for place in fields(document):
        kind = tuple(key for key in place if not isinstance(key, int))
        if kind in seen:
            continue
        seen.add(kind)
        changed = node = copy.deepcopy(document)
        *way, last = place[:-1] if place[-1] is None else place
        for key in way:
            node = node[key]
        if place[-1] is None:
            node[last] = LONG["text"]
        else:
            node[LONG["text"]] = node.pop(last)
        path = tmp_path / "s.toml"
        path.write_text("\n".join(f"{json.dumps(key)} = {written(value)}" for key, value in changed.items()))
        told = ""
        try:
            sn.load_scene(path)
        except sn.ShinariError as error:
            told = str(error)
        assert len(told) < LONGEST_MESSAGE, place
    assert len(seen) > 10


def test_the_middle_is_left_out() -> None:
    assert check.plain("a  b\nc") == "a b c"
    assert check.plain("see " + "x" * 90 + "yz", 10) == "see xxxxx...xxxyz"
    assert check.plain("ab " * 100, 10, 20) == "ab ab ab a...b ab ab ab"
