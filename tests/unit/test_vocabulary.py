"""The vocabulary: pages and messages use the terms of the glossary. `typos` checks the spelling (`make check`)."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    *sorted(path for path in (ROOT / "docs").glob("*.md")),
    *sorted(path for folder in ("methods", "decisions", "api") for path in (ROOT / "docs" / folder).glob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
]
SOURCES = sorted(path for path in (ROOT / "src" / "shinari").rglob("*.py"))

FORBIDDEN = {
    r"things?": "object, system, value",
    r"lets? (it |them )?go": "release, break",
    r"keeps? nothing off": "collides with nothing",
    r"feels? (no|the) air": "drag acts",
    r"hears? (of|about)": "reads",
    r"the ways? of (the )?(particles?|substeps?)": "path, displacement",
    r"every straight way": "every straight path",
}
"""Words that no page and no message contains, as patterns, and the terms to use instead."""

PAGES_ONLY = {
    r"(^|[.;:] )What (is|has|was|are|were|have)": "name the object: the technical noun first",
}
"""Patterns for pages alone."""

KEYS = re.compile(r"\b(of|one of) thing,|`[^`]*`")
"""What is a name: a key of scene files, and everything between backticks."""


def prose(text: str) -> str:
    """A page without code, comments and links, line by line."""
    text = re.sub(r"^```.*?^```", lambda m: "\n" * m.group(0).count("\n"), text, flags=re.M | re.S)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.S)
    return KEYS.sub("", re.sub(r"\]\([^)]*\)", "]", text))


def findings(text: str, words: dict[str, str]) -> list[str]:
    """What a text contains of the forbidden words."""
    found = []
    for pattern, instead in words.items():
        for match in re.finditer(pattern if pattern.startswith("(^") else rf"\b({pattern})\b", text, re.I | re.M):
            found.append(f"{text.count(chr(10), 0, match.start()) + 1}: {match.group(0).strip()!r}: {instead}")
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_pages_use_the_vocabulary(page: Path) -> None:
    assert findings(prose(page.read_text()), FORBIDDEN | PAGES_ONLY) == []


def messages(source: str) -> list[tuple[int, str]]:
    """Texts that a user may see: string literals with a space that are no docstrings, and their lines."""
    tree = ast.parse(source)
    told = {
        id(part) for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for part in [node.value]
    }  # fmt: skip
    return [
        (node.lineno, node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value and id(node) not in told
    ]


def test_messages_use_the_vocabulary() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {finding.partition(': ')[2]}"
        for path in SOURCES
        for line, text in messages(path.read_text())
        for finding in findings(KEYS.sub("", text), FORBIDDEN)
    ]
    assert found == []


def test_findings_are_found() -> None:
    assert findings("two things meet", FORBIDDEN) == ["1: 'things': object, system, value"]
    assert findings(prose("a\n```\nthings\n```\n`thing`\nit lets go"), FORBIDDEN) == ["6: 'lets go': release, break"]
    assert findings("What has torn keeps nothing off", PAGES_ONLY) != []
    assert findings("something, anything, nothing", FORBIDDEN) == []
