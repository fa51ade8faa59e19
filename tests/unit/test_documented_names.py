"""Names in docstrings and pages exist: attributes, arguments, identifiers, files."""

import ast
import builtins
import keyword
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "shinari"
SOURCES = sorted(PACKAGE.rglob("*.py"))
PAGES = [
    *(ROOT / name for name in ("CONTRIBUTING.md", "README.md", "docs/glossary.md", "docs/step.md")),
    *sorted((ROOT / "docs" / "decisions").glob("*.md")),
]

SECTION = re.compile(r"^( *)(Attributes|Args):\n((?:\1 +.*\n|\n)*)", re.M)
ENTRY = re.compile(r"^([a-z_]\w*(?:, [a-z_]\w*)*)(?: \(.*\))?:", re.I)
FENCE = re.compile(r"^ *```.*?^ *```", re.M | re.S)
SPAN = re.compile(r"`([^`]+)`")
COMMAND = re.compile(r"(shinari|make|git|pytest|python|apt-get) ")
ATTRIBUTE = re.compile(r"`([A-Z]\w+)\.(\w+)`")
MODULE = re.compile(r"\bshinari(?:\.[a-z_]\w*)+(?:\.[A-Z]\w+)?")

ELSEWHERE = {
    *("NUMBA_SLP_VECTORIZE", "vtkOpenGLSphereMapper", "libosmesa6", "libx264", "setswitchinterval", "lint", "imports"),
    *("get_scene_serializer", "as_html", "typos", "venv"),
}
"""Names of other programs and packages."""


def sections(text: str, title: str) -> set[str]:
    """Names of the entries under a title of a docstring."""
    found = set()
    for match in SECTION.finditer(text + "\n"):
        lines = [line for line in match.group(3).splitlines() if line.strip()]
        if match.group(2) == title and lines:
            depth = min(len(line) - len(line.lstrip()) for line in lines)
            entries = [ENTRY.match(line.strip()) for line in lines if len(line) - len(line.lstrip()) == depth]
            found |= {name for entry in entries if entry for name in entry.group(1).split(", ")}
    return found


def parameters(function: ast.FunctionDef) -> set[str]:
    """Names of the parameters of a function."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {argument.arg for argument in every if argument is not None}


@cache
def classes() -> dict[str, list[ast.ClassDef]]:
    """The classes of the package by name."""
    found: dict[str, list[ast.ClassDef]] = {}
    for path in SOURCES:
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(node)
    return found


@cache
def members(node: ast.ClassDef) -> set[str]:
    """Attributes and methods of a class, those of its bases in the package included."""
    found = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            found.add(part.attr)
        elif isinstance(part, ast.FunctionDef):
            found.add(part.name)
        elif isinstance(part, (ast.Assign, ast.AnnAssign)) and part in node.body:
            targets = part.targets if isinstance(part, ast.Assign) else [part.target]
            found |= {name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    for base in node.bases:
        name = base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")
        for other in classes().get(name, []):
            found |= members(other) if other is not node else set()
    return found


def unknown_entries(tree: ast.AST) -> list[tuple[str, str]]:
    """Objects, and names under `Attributes:` and `Args:` of their docstrings that they do not have."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            continue
        text = ast.get_docstring(node, clean=False) or ""
        if isinstance(node, ast.FunctionDef):
            wrong = sections(text, "Args") - parameters(node)
        else:
            makers = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name == "__init__"]
            given = parameters(makers[0]) if makers else members(node)
            wrong = (sections(text, "Args") - given) | (sections(text, "Attributes") - members(node))
        found += [(node.name, name) for name in sorted(wrong)]
    return found


@cache
def parsed(path: Path) -> ast.Module:
    """A file of the package or the tests."""
    return ast.parse(path.read_text())


def test_docstrings_name_what_there_is():
    found = {path: unknown_entries(parsed(path)) for path in SOURCES}
    assert {path.relative_to(PACKAGE).as_posix(): names for path, names in found.items() if names} == {}


def test_docstrings_and_comments_name_modules_and_attributes_that_there_are():
    found = {}
    for path in SOURCES:
        text = path.read_text()
        wrong = [name for name in MODULE.findall(text) if not importable(name)]
        wrong += [f"{name}.{attribute}" for name, attribute in ATTRIBUTE.findall(text) if not has(name, attribute)]
        found |= {path.relative_to(PACKAGE).as_posix(): wrong} if wrong else {}
    assert found == {}


def names_of(node: ast.AST) -> set[str]:
    """Identifiers in a node itself."""
    texts = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "module")]
    return {word for text in texts if text for word in text.split(".")}


@cache
def identifiers() -> set[str]:
    """Identifiers of the package and its tests, and strings without a space."""
    found = {*dir(builtins), *keyword.kwlist, *ELSEWHERE}
    for path in [*SOURCES, *(ROOT / "tests").rglob("*.py"), *PACKAGE.rglob("*.toml")]:
        found |= {path.stem, *path.relative_to(ROOT).parts}
        if path.suffix != ".py":
            continue
        for node in ast.walk(parsed(path)):
            found |= names_of(node)
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " not in node.value.strip():
                found |= {node.value, *re.findall(r"\w+", node.value)}
    return found


def path_exists(name: str) -> bool:
    """Whether a file or folder of the repository is called so, from its root or that of the package."""
    pattern = re.sub(r"<\w+>|NAME", "*", name.rstrip("/"))
    return any(list(base.glob(pattern)) for base in (ROOT, PACKAGE)) or pattern.startswith("out/")


def unknown_names(page: str) -> list[str]:
    """Spans between backticks that name a file, a module, an attribute or an identifier that is not there."""
    return [span for span in SPAN.findall(FENCE.sub("", page)) if not all(_known(span))]


def _known(span: str) -> Iterator[bool]:
    """For each name in a span: whether it exists."""
    paths = [word for word in re.findall(r"[\w./<>*-]+", span) if re.search(r"\w/|\.(py|md)$", word)]
    for path in paths:
        yield path_exists(path) or path in identifiers()
        span = span.replace(path, "")
    yield from map(importable, MODULE.findall(span))
    if not COMMAND.match(span) and not re.search(r"\^|: ", span):
        for name in re.findall(r"(?<![\w\"'])[A-Za-z_]\w+", span):
            yield name in identifiers()
    for name, attribute in re.findall(r"\b([A-Z]\w+)\.(\w+)", span):
        yield has(name, attribute)


def has(name: str, attribute: str) -> bool:
    """Whether a class of the package, or one that it uses, has an attribute."""
    owners = classes().get(name, [])
    return any(attribute in members(owner) for owner in owners) if owners else name in identifiers()


def importable(name: str) -> bool:
    """Whether a dotted name is a module of the package, or a name in one."""
    *parents, last = name.split(".")[1:]
    file = PACKAGE.joinpath(*parents, last)
    if file.with_suffix(".py").exists() or file.is_dir():
        return True
    module = PACKAGE.joinpath(*parents)
    source = module.with_suffix(".py") if parents and module.with_suffix(".py").exists() else module / "__init__.py"
    return source.exists() and last in {name for node in ast.walk(parsed(source)) for name in names_of(node)}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_name_what_there_is(page):
    assert unknown_names(page.read_text()) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "api").glob("*.md")), ids=lambda page: page.name)
def test_modules_that_pages_name_are_there(page):
    assert [name for name in MODULE.findall(page.read_text()) if not importable(name)] == []


def test_wrong_names_are_found():
    text = "`work.find(Solids)`, `solver/stepp.py`, `shinari.maths.threads`, `Scene.nothing`, `grain_rows.py`"
    assert len(unknown_names(text)) == 5
    assert unknown_names("`Scene.find`, `solver/step.py`, `shinari.maths.vec3`, `shapes/`, `record_<phase>(p)`") == []
    wrong = '''
class Table:
    """A table.

    Attributes:
        first, second: Two.
        third: More.
            fourth: no entry.
    """

    first: int

    def __init__(self):
        self.second = 2

def f(a):
    """F.

    Args:
        a: One.
        b: None.
    """
'''
    assert unknown_entries(ast.parse(wrong)) == [("Table", "third"), ("f", "b")]
