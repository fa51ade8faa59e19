"""The pages of methods name every check of the ledger, and no others."""

import re
from pathlib import Path

from shinari.constraints import registry
from shinari.verify.ledger import all_checks

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {path.name: path.read_text() for path in sorted((DOCS / "methods").glob("*.md"))}


def commands() -> list[tuple[str, str]]:
    """Page and line of each `shinari verify` on the pages."""
    return [
        (name, line) for name, text in PAGES.items() for line in text.splitlines() if line.startswith("shinari verify")
    ]


def test_every_check_named_on_a_page_exists():
    known = all_checks()
    wrong = [(page, name) for page, line in commands() for name in re.findall(r'"([^"]+)"', line) if name not in known]
    assert not wrong


def test_every_check_is_named_on_a_page():
    named = {name for _, line in commands() for name in re.findall(r'"([^"]+)"', line)}
    assert not sorted(set(all_checks()) - named)


def test_every_page_is_in_the_index():
    index = PAGES["index.md"]
    listed = index[index.index("```{toctree}") :].split()
    assert sorted(f"{name}.md" for name in listed if f"{name}.md" in PAGES) == sorted(set(PAGES) - {"index.md"})


def test_files_of_the_package_named_on_the_pages_exist():
    package = Path(registry.__file__).parents[1]
    named = {
        (page, found)
        for page, text in PAGES.items()
        for found in re.findall(r"`((?:[a-z_]+/)+[a-z_]+\.py)`", text)
        if not found.startswith("tests/")
    }
    assert len(named) > 20
    assert not [(page, found) for page, found in sorted(named) if not (package / found).exists()]


def test_every_constraint_of_the_package_is_on_a_page():
    package = Path(registry.__file__).parent
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "registry"}
    assert not sorted(name for name in files if not any(f"constraints/{name}.py" in text for text in PAGES.values()))


def test_examples_and_tests_named_on_the_pages_exist():
    root = DOCS.parent
    for page, text in PAGES.items():
        for found in re.findall(r"`(\d\d_[a-z_]+)`", text):
            assert (root / "examples" / found).is_dir(), (page, found)
        for found in re.findall(r"`(tests/[a-z_/]+\.py)`", text):
            assert (root / found).exists(), (page, found)


def test_pictures_of_the_tuning_guide_are_small_and_all_shown():
    text = (DOCS / "tuning.md").read_text()
    shown = set(re.findall(r"\(pictures/(tuning_[a-z_]+\.jpg)\)", text))
    script = (DOCS / "pictures" / "tuning_cases.py").read_text()
    made = {f"tuning_{name}.jpg" for name in re.findall(r'^    "([a-z_]+)": Case\(', script, re.M)}
    assert shown == made == {path.name for path in (DOCS / "pictures").glob("tuning_*.jpg")}
    assert all((DOCS / "pictures" / name).stat().st_size <= 80_000 for name in shown)
