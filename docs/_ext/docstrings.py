"""Docstrings hold a little Markdown, for people who read them in an editor: |x| is a length, rows of | are a table."""

import re

from sphinx.application import Sphinx

CELLS = re.compile(r"(?<!\\)\|")
CODE = re.compile(r"(`[^`]*`)")


def translate(app: Sphinx, what: str, name: str, thing: object, options: object, lines: list[str]) -> None:
    """Turn the lines of a docstring into reStructuredText, in place."""
    result: list[str] = []
    table: list[str] = []
    for line in [*lines, ""]:
        if line.lstrip().startswith("|") and line.rstrip().endswith("|"):
            table.append(line)
            continue
        if table:
            result += _table(table)
            table = []
        result.append(_escaped(line))
    lines[:] = result[:-1]


def _escaped(line: str) -> str:
    """A line whose bars outside of code are bars."""
    parts = CODE.split(line)
    return "".join(part if part.startswith("`") else part.replace("|", r"\|") for part in parts)


def _table(rows: list[str]) -> list[str]:
    """A table of Markdown as a list-table; its second row is the rule."""
    indent = " " * (len(rows[0]) - len(rows[0].lstrip()))
    lines = ["", f"{indent}.. list-table::", f"{indent}   :header-rows: 1", ""]
    for row in (rows[0], *rows[2:]):
        cells = [cell.strip() for cell in CELLS.split(row.strip())[1:-1]]
        lines += [f"{indent}   {'  -' if k else '* -'} {cell}" for k, cell in enumerate(cells)]
    return [*lines, ""]


def setup(app: Sphinx) -> dict:
    """Translate before napoleon reads the sections."""
    app.connect("autodoc-process-docstring", translate, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
