"""Reference pages made from the package: command line, scene files, constraint types, checks.

They are written as Markdown into docs/reference (not in the repository) before the pages are read.
"""

import json
import re
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from sphinx.application import Sphinx

GENERATED = "Made from the package itself when these pages are built."


def command_line() -> str:
    """Every command with its arguments, options and exit codes."""
    from shinari import cli

    app = cli.make_app()
    lines = ["# Command line", "", GENERATED, ""]
    for name in cli.COMMANDS:
        if name not in app:
            continue
        lines += _command(app[name], f"## shinari {name}")
        for below in app[name]:
            if not below.startswith("-"):
                lines += _command(app[name][below], f"### shinari {name} {below}")
    codes = (cli.__doc__ or "").partition("\n\n")[2].partition("\n\nErrors")[0]
    lines += ["## Exit codes", "", codes, ""]
    return "\n".join(lines)


def _command(command: Any, title: str) -> list[str]:
    """A command with its options."""
    summary, _, rest = (command.default_command.__doc__ or "").partition("\n")
    text, _, _ = rest.partition("    Args:")
    options = [_option(argument) for argument in command.assemble_argument_collection(parse_docstring=True)]
    table = ["| option | | default |", "|---|---|---|", *options, ""] if options else []
    return [title, "", summary, "", _dedent(text), "", *table]


def _option(argument: Any) -> str:
    field = argument.field_info
    names = list(argument.names)
    if not field.is_keyword_only:
        names[:1] = [field.name.upper()]
    default = "" if field.default in (None, False, field.empty) else f"`{field.default}`"
    text = argument.parameter.help or ""
    choices = [choice for part in (argument.hint, *get_args(argument.hint)) for choice in _choices(part)]
    if choices:
        text = f"{text} One of {', '.join(choices)}."
    return f"| {', '.join(f'`{name}`' for name in names)} | {_cell(text)} | {default} |"


def _choices(hint: Any) -> tuple[str, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def scene_file() -> str:
    """Every table of a scene file with its keys."""
    from shinari.io.json_schema import json_schema

    tables = json_schema()["$defs"]
    lines = [
        "# Scene files",
        "",
        "A scene file is TOML: `[scene]` and `[simulation]` once, `[[cloth]]`, `[[collider]]` and so on for each",
        "thing. Units are SI, Y is up, rotations are quaternions w x y z; a mesh is looked for beside the file. This",
        "is the scene of `shinari demo`:",
        "",
        "```{literalinclude} ../../src/shinari/scenes/kerchief.toml",
        ":language: toml",
        "```",
        "",
        "`shinari schema > shinari.json` writes the JSON schema from which this page is made. An editor that knows it",
        "completes and checks while you type; those that use Taplo find it by a first line `#:schema shinari.json`.",
        "",
    ]
    for name, table in tables.items():
        title = "The file" if name == "SceneFile" else name.removesuffix("Table")
        lines += [f"({_anchor(name)})=", f"## {title}", "", table.get("description", ""), ""]
        lines += ["| key | type | | default |", "|---|---|---|---|"]
        needed = table.get("required", [])
        for key, schema in table.get("properties", {}).items():
            default = "needed" if key in needed else _default(schema)
            lines.append(f"| `{key}` | {_type(schema)} | {_cell(schema.get('description', ''))} | {default} |")
        lines.append("")
    return "\n".join(lines)


def _anchor(name: str) -> str:
    return "scene-file-" + name.lower()


def _type(schema: dict[str, Any]) -> str:
    """The type of a key in words; tables lead to their section."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name.removesuffix('Table')}](#{_anchor(name)})"
    if "anyOf" in schema:
        return " or ".join(_type(choice) for choice in schema["anyOf"] if choice.get("type") != "null")
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        if "prefixItems" in schema:
            return f"{len(schema['prefixItems'])} {_type(schema['prefixItems'][0])}s"
        return f"list of {_type(schema['items'])}" if schema.get("items") else "list"
    if schema.get("type") == "number":
        return f"number{_range(schema)}"
    if schema.get("type") == "integer":
        return f"integer{_range(schema)}"
    kind = str(schema.get("type", "any"))
    return {"boolean": "`true` or `false`", "object": "table"}.get(kind, kind)


def _range(schema: dict[str, Any]) -> str:
    signs = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}
    return "".join(f" {sign} {schema[key]:g}" for key, sign in signs.items() if key in schema)


def _default(schema: dict[str, Any]) -> str:
    default = schema.get("default")
    return "" if default in (None, "", [], {}) else f"`{json.dumps(default)}`"


def constraint_types() -> str:
    """The table of constraint types."""
    import shinari.constraints  # noqa: F401  the built-in types register themselves
    from shinari.constraints.registry import constraint_types

    lines = [
        "# Constraint types",
        "",
        "`scene.add_constraint(type, indices, ...)` and `[[constraint]]` of scene files know these types. The files of",
        "`src/shinari/constraints` hold their derivations and drawings. A row of any type takes `compliance`,",
        "`stiffness` and `damping`.",
        "",
        "| type | points | equations | parameters | unit of the compliance | |",
        "|---|---:|---:|---|---|---|",
    ]
    for kind in constraint_types():
        if not kind.evaluate.py_func.__module__.startswith("shinari.constraints."):
            continue  # of a check, or of a user
        parameters = ", ".join(f"`{name}`" + (f" ({width})" if width > 1 else "") for name, width in kind.parameters)
        cells = (f"`{kind.name}`", kind.points, kind.rows, parameters, kind.compliance_unit, _cell(kind.summary))
        lines.append("| " + " | ".join(str(cell) for cell in cells) + " |")
    return "\n".join([*lines, ""])


def checks() -> str:
    """The table of the checks of `shinari verify`."""
    from shinari.verify.ledger import all_checks

    known = all_checks()
    lines = [
        "# Checks",
        "",
        f"`shinari verify` measures {len(known)} checks on your machine and prints expected value, measured value and",
        "tolerance of each; `shinari verify NAME...` measures some, by the name of a check or of its family, or the",
        "beginning of several families, as in `shinari verify rigid`.",
        "",
        "| check | family | source | precisions |",
        "|---|---|---|---|",
    ]
    for name, entry in known.items():
        lines.append(f"| `{name}` | `{entry.family}` | {_cell(entry.source)} | {', '.join(entry.precisions)} |")
    return "\n".join([*lines, ""])


def _dedent(text: str) -> str:
    return "\n".join(line.strip() for line in text.strip().splitlines())


def _cell(text: str) -> str:
    """Text for a cell of a table: what Markdown would read as a mark stays what it is."""
    return re.sub(r"([|*<$\[\]])", r"\\\1", " ".join(text.split()))


PAGES = {
    "command_line": command_line,
    "scene_file": scene_file,
    "constraint_types": constraint_types,
    "checks": checks,
}


def write(app: Sphinx) -> None:
    """Write the pages, those that have changed."""
    folder = Path(app.srcdir) / "reference"
    folder.mkdir(exist_ok=True)
    for name, make in PAGES.items():
        path, text = folder / f"{name}.md", make()
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
