"""The JSON schema of scene files, read off the tables and their docstrings."""

import inspect
import re
from typing import Any

import msgspec

from shinari.io import scene_schema, schema_bodies, schema_fluids, schema_objects, schema_solids
from shinari.shapes.registry import shape_types


def json_schema() -> dict[str, Any]:
    """JSON schema of scene files, for editors and other programs: the text of `shinari schema`."""
    (reference,), components = msgspec.json.schema_components([scene_schema.SceneFile], ref_template="#/$defs/{name}")
    modules = (schema_objects, schema_solids, schema_bodies, schema_fluids, scene_schema)
    tables = {name: table for module in modules for name, table in vars(module).items()}
    tables |= {each.table.__name__: each.table for each in shape_types() if each.table is not None}
    for name, definition in components.items():
        _describe(definition, tables[name])
    dialect = "https://json-schema.org/draft/2020-12/schema"
    return {"$schema": dialect, "title": "shinari scene", **reference, "$defs": components}


def _describe(definition: dict[str, Any], table: type) -> None:
    """Give each property the line that the docstring of the table, or of its base, has about it."""
    texts: dict[str, str] = {}
    for kind in reversed(table.__mro__):
        _, _, attributes = inspect.cleandoc(kind.__doc__ or "").partition("\n\nAttributes:\n")
        texts |= dict(re.findall(r"^    (\w+): (.*(?:\n {6,}.*)*)", attributes, re.MULTILINE))
    definition["description"] = (inspect.getdoc(table) or "").split("\n")[0]
    for key, schema in definition.get("properties", {}).items():
        text = texts.get("start" if key == "from" else key)
        if text and "description" not in schema:
            schema["description"] = re.sub(r"\s+", " ", text).strip()
