"""The pages that are made: gallery, reference, equations and docstrings."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import shinari as sn
from shinari.errors import MissingExtraError

pytest.importorskip("sphinx", reason="needs the extra [docs]")
pytest.importorskip("latex2mathml", reason="needs the extra [docs]")

ROOT = Path(__file__).parents[2]


def extension(name: str):
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / "_ext" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def gallery(tmp_path, monkeypatch):
    monkeypatch.setenv("SHINARI_EXAMPLES_OUT", str(tmp_path))
    return extension("gallery")


def test_the_gallery_shows_every_example(gallery):
    scripts = set((ROOT / "examples").glob("*/*.py"))
    found = list(gallery.examples())
    assert {example.script for example in found} == scripts
    assert len(found) == len(scripts)
    assert [example.name for example in found] == sorted(example.name for example in found)
    for example in found:
        assert all(text.startswith("assert ") for text in example.assertions()), example.name
        assert len(example.assertions()) == len(re.findall(r"^\s*assert ", example.source, re.M)), example.name


def test_a_page_embeds_what_its_script_wrote(gallery, tmp_path):
    example = next(e for e in gallery.examples() if e.name == "08_sheet_over_sphere")
    picture = tmp_path / "08_sheet_over_sphere.png"
    assert "iframe" not in gallery.page(example, None)
    assert "Plot" not in gallery.page(example, None)
    assert gallery.draw(example, tmp_path) is None
    assert "figure" not in gallery.card(example, None)
    example.results.mkdir()
    (example.results / "sheet_over_sphere.html").touch()
    (example.results / "sheet_over_sphere.png").write_bytes(b"plot")
    page = gallery.page(example, picture)
    assert 'src="players/08_sheet_over_sphere.html"' in page
    assert "![Plot of" in page
    assert "The sheet keeps half its thickness from the ball" in page
    assert "    assert" not in page.partition("## The script")[0], "assertions stand at the left"
    assert gallery.draw(example, tmp_path) == picture
    assert picture.read_bytes() == b"plot", "without frames, the plot is the picture"
    assert "pictures/08_sheet_over_sphere.png" in gallery.card(example, picture)


def test_a_run_that_cannot_be_drawn_leaves_the_plot(gallery, tmp_path, monkeypatch):
    example = next(e for e in gallery.examples() if e.name == "31_dam_break")
    example.results.mkdir()
    (example.results / "dam_break.npz").write_bytes(b"frames")
    (example.results / "dam_break.png").write_bytes(b"plot")
    asked = []

    def render(run, picture, **look):
        asked.append((run.name, look))
        if len(asked) == 1:
            raise MissingExtraError("no EGL here")
        picture.write_bytes(b"drawn")

    monkeypatch.setattr("shinari.view.render.render", render)
    picture = gallery.draw(example, tmp_path)
    assert picture.read_bytes() == b"plot"
    picture.unlink()
    assert gallery.draw(example, tmp_path).read_bytes() == b"drawn"
    assert asked[1] == ("dam_break.npz", {"size": gallery.PICTURE, **gallery.LOOKS["31_dam_break"]})
    gallery.draw(example, tmp_path)
    assert len(asked) == 2, "what is newer than its run is not drawn again"
    assert set(gallery.LOOKS) <= {e.name for e in gallery.examples()}


def test_the_reference_has_every_option_table_type_and_check():
    reference = extension("reference")
    commands = reference.command_line()
    for option in ("`SCENE`", "`--substeps`", "`--output`, `-o`", "One of xpbd, pbd", "| 130 |"):
        assert option in commands
    tables = reference.scene_file()
    for text in ("`pin_nearest`", "[Oscillation](#scene-file-oscillationtable)", "`[0.0, -9.81, 0.0]`", "| needed |"):
        assert text in tables
    anchors = set(re.findall(r"^\((.+)\)=$", tables, re.M))
    assert set(re.findall(r"\]\(#([^)]+)\)", tables)) <= anchors
    types = reference.constraint_types()
    assert "| `distance` | 2 | 1 | `rest_length` | m/N |" in types
    assert "`pendulum period`" in reference.checks()
    assert reference.constraint_types() == types, "types that checks register are not listed"


def test_bars_of_a_docstring_are_bars_and_tables_are_tables():
    docstrings = extension("docstrings")
    lines = ["The length |x| of `a|b`.", "", "  | name | meaning |", "  |---|---|", "  | `a` | first |", "", "End."]
    docstrings.translate(None, "", "", None, None, lines)
    text = "\n".join(lines)
    assert r"The length \|x\| of `a|b`." in text
    assert "  .. list-table::" in text
    assert "     * - name\n       - meaning\n     * - `a`\n       - first" in text
    assert lines[-1] == "End."


@pytest.mark.parametrize(
    ("tex", "unknown"),
    [(r"\frac{1}{2} x^T", []), (r"\nosuch + 1", [r"\nosuch"]), ("a & b", ["&"])],
)
def test_equations_that_cannot_be_drawn_are_seen(tex, unknown):
    mathml = extension("mathml")
    assert mathml.UNKNOWN.findall(mathml.convert(tex)) == unknown


def test_names_of_ours_exist_and_others_do_not():
    names = extension("names")
    assert names._exists("shinari.scene.body.Drive")
    assert not names._exists("shinari.scene.body.NoSuch")
    assert not names._exists("shinari.nosuch.Drive")
    assert not names._exists("numpy.ndarray")


def test_references_by_the_place_of_definition_are_to_public_names():
    pages = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "api").glob("*.md"))
    documented = re.findall(r"^\.\. (?:auto\w+|py:data):: (\S+)$", pages, re.M)
    assert len(documented) == len(set(documented))
    last = [name.rpartition(".")[2] for name in documented]
    assert len(last) == len(set(last)), "names.py finds a page by the last part of a name"
    assert set(sn.__all__) <= set(last)
