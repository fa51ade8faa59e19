"""What the pages say runs: every snippet of README, CONTRIBUTING and docs, page by page, in order.

- ```python blocks of a page run in one namespace, in a temporary folder;
- ```toml blocks are scene files: they are written there, under the name in their first line, and loaded;
- lines of other blocks that start with `shinari` are parsed by the command line's own application;
  those of a ```sh block after `<!-- run -->` are run.

A ```python block that cannot run here says why in a line `<!-- not run: why -->` before it, and is compiled. A mesh
`my_mesh.obj` is in the folder, as on the disk of the reader.
"""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

import shinari as sn
import shinari.constraints  # the built-in types are there before the first test
from shinari.cli import COMMANDS, MISSING_EXTRA, OK, main, make_app
from shinari.constraints.registry import _TYPES
from shinari.errors import MissingExtraError
from shinari.geometry.files.meshes import write_mesh
from shinari.io.scene_file import load_scene_file
from shinari.verify.ledger import all_checks

ROOT = Path(__file__).parents[2]
GENERATED = ("gallery", "notebooks", "reference")  # made by the build of the documentation, from what other tests check
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *(
        path
        for path in sorted((ROOT / "docs").rglob("*.md"))
        if path.relative_to(ROOT / "docs").parts[0] not in GENERATED
    ),
]
FENCE = re.compile(r"^(?P<indent> *)(?P<marks>`{3,})(?P<language>[^\n`]*)\n(?P<text>.*?)^ *(?P=marks) *$", re.M | re.S)
REMARK = re.compile(r"<!-- (?P<text>[^\n]*?) -->\s*\Z")
LINK = re.compile(r"\]\(([^)\s]+)\)")
COMMAND = re.compile(r"`shinari ([a-z]+)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the remark before it, its text, the line it begins at."""

    language: str
    remark: str
    text: str
    line: int


def blocks(page: str) -> list[Block]:
    found = []
    for match in FENCE.finditer(page):
        remark = REMARK.search(page[: match.start()])
        indent = len(match["indent"])
        text = "".join(line[indent:] if line.strip() else "\n" for line in match["text"].splitlines(keepends=True))
        line = page[: match.start("text")].count("\n") + 1
        found.append(Block(match["language"].strip(), remark["text"] if remark else "", text, line))
    return found


def commands(text: str) -> list[list[str]]:
    """Words of each line that calls shinari, without the name of the program."""
    lines = text.replace("\\\n", " ").splitlines()
    words = [shlex.split(line.removeprefix("$ "), comments=True) for line in lines if "shinari" in line]
    return [line[1:] for line in words if line[:1] == ["shinari"]]


def run_page(path: Path, folder: Path) -> None:
    """Run the blocks of a page in a folder.

    Raises:
        AssertionError: A command of the page failed, or a remark means nothing.
        MissingExtraError: The page needs an extra that is not installed.
        Exception: Whatever a snippet raised; the traceback names the page and the line.
    """
    page = path.read_text(encoding="utf-8")
    namespace = {"__name__": "snippet"}
    for block in blocks(page):
        where = f"{path.name}, line {block.line}"
        if block.language == "python":
            assert not block.remark or block.remark.startswith("not run: "), f"{where}: {block.remark}"
            code = compile("\n" * (block.line - 1) + block.text, f"<{path.name}>", "exec")
            if not block.remark:
                exec(code, namespace)
        elif block.language == "toml":
            name = re.match(r"# (\S+\.toml)\n", block.text)
            scene = folder / (name[1] if name else "scene.toml")
            scene.write_text(block.text, encoding="utf-8")
            load_scene_file(scene)
        else:
            for words in commands(block.text):
                make_app().parse_args(words, exit_on_error=False, print_error=False)
                if block.remark == "run":
                    code = main(words)
                    if code == MISSING_EXTRA:
                        raise MissingExtraError(f"{where}: shinari {' '.join(words)}")
                    assert code == OK, f"{where}: shinari {' '.join(words)}"


@pytest.fixture(autouse=True)
def registry():
    """What a page registers is forgotten after it, so that the order of the tests does not matter."""
    before = dict(_TYPES)
    yield
    for name, kind in list(_TYPES.items()):
        if kind.evaluate.py_func.__module__ == "snippet":
            del _TYPES[name]
            _TYPES.update({name: before[name]} if name in before else {})


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_a_page_says_runs(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    vertices, faces = sn.grid(shape=(11, 11), size=(1.0, 1.0))
    write_mesh(tmp_path / "my_mesh.obj", vertices[:, [0, 2, 1]], faces)
    try:
        run_page(path, tmp_path)
    except MissingExtraError as error:
        pytest.skip(f"an extra is missing: {error}")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_commands_in_the_text_exist(path):
    named = set(COMMAND.findall(path.read_text(encoding="utf-8")))
    assert named <= set(COMMANDS), f"{path.name}: there is no shinari {', '.join(sorted(named - set(COMMANDS)))}"


def test_the_methods_name_every_check_and_no_other():
    named = {
        name
        for path in (ROOT / "docs" / "methods").glob("*.md")
        for words in commands(path.read_text(encoding="utf-8"))
        if words[0] == "verify"
        for name in words[1:]
    }
    assert named == set(all_checks())


def _generated(file: Path) -> bool:
    """Whether a page is made by the build."""
    return file.relative_to(ROOT / "docs").parts[0] in GENERATED


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_to_files(path):
    page = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in LINK.findall(page):
        if not target.startswith(("http:", "https:", "#")):
            file = (path.parent / target.partition("#")[0]).resolve()
            assert file.exists() or (file.is_relative_to(ROOT / "docs") and _generated(file)), target


def test_the_version_is_the_first_of_the_changelog():
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert first is not None
    assert first[1] == sn.__version__


def test_every_public_name_has_its_place_in_the_reference():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    listed = re.findall(r"^\.\. (?:auto\w+|py:data):: shinari\.(\w+)$", pages, re.M)
    assert sorted(listed) == sorted(sn.__all__)


PAGE = """Text.

```python
x = 1
```

1. In a list:

   ```python
   y = x + {second}
   assert y == 3
   ```
<!-- not run: needs a planet -->
```python
import planet
```
"""


def test_snippets_share_a_namespace_and_failures_are_seen(tmp_path):
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text(PAGE.format(second=2))
    bad.write_text(PAGE.format(second=5))
    run_page(good, tmp_path)
    with pytest.raises(AssertionError) as failure:
        run_page(bad, tmp_path)
    assert failure.traceback[-1].lineno + 1 == 11, "the line of the page"


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("sh", "shinari run scene.toml --no-such-option\n"),
        ("sh", "shinari no-such-command\n"),
        ("", "$ shinari run a.toml \\\n    --substeps many\n"),
        ("toml", "[[cloth]]\nmesh = 3\n"),
        ("python", "x = (\n"),
    ],
)
def test_wrong_commands_scenes_and_snippets_are_found(language, text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"```{language}\n{text}```\n")
    with pytest.raises(Exception):  # noqa: B017, PT011  each of another kind
        run_page(page, tmp_path)
