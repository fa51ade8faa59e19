"""Parameters of a scene file by their paths, such as `cloth[0].material.stretch_compliance`."""

import copy
import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from shinari import check
from shinari.errors import SceneError
from shinari.io.scene_file import checked_document
from shinari.io.scene_schema import SceneFile

PART = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<places>(\[[^\[\]]+\])*)")
SHOWN = 3
"""Nearest paths that a message names."""
MOST_OBJECTS, MOST_DEPTH = 20, 5
"""Objects of a kind, and tables inside each other, among which the nearest path is looked for."""


def with_values(document: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """A document with other values of some parameters, the given one unchanged.

    Raises:
        SceneError: A path leads to nothing that a scene file has; the message names the nearest ones.
    """
    changed = copy.deepcopy(document)
    for path, value in values.items():
        _assign(changed, path, copy.deepcopy(value))
    return changed


def check_value(document: dict[str, Any], path: str, value: Any, file: Path) -> None:
    """See to it that a parameter can have a value.

    Raises:
        SceneError: Unknown path, or a value of the wrong type or out of bounds.
    """
    try:
        checked_document(with_values(document, {path: value}), file)
    except SceneError as error:
        if str(error).startswith("sweep: "):
            raise
        problem = str(error).removeprefix(f"{file}: ")
        raise SceneError(f"sweep: {path}: value {check.short(value)}: {problem}") from error


def _assign(document: dict[str, Any], path: str, value: Any) -> None:
    steps = _steps(path)
    hints = [SceneFile]
    node: Any = document
    for number, step in enumerate(steps[:-1]):
        node, hints = _enter(document, path, node, hints, step, steps[number + 1])
    last = steps[-1]
    if isinstance(last, str):
        _field(document, path, node, hints, last)
        node[last] = value
    else:
        node[_index(document, path, node, last[0])] = value


def _steps(path: str) -> list[Any]:
    """Names as texts, places in brackets as tuples of one text.

    Raises:
        SceneError: It is no path.
    """
    steps: list[Any] = []
    for part in re.split(r"\.(?![^\[]*\])", path) if isinstance(path, str) else [""]:
        match = PART.fullmatch(part)
        if match is None:
            raise SceneError(
                f"sweep: set: {check.short(path)} is no path of a parameter; expected one like "
                "cloth[0].material.density or simulation.substeps"
            )
        steps.append(match["name"])
        steps += [(place.strip("'\""),) for place in re.findall(r"\[([^\[\]]+)\]", match["places"])]
    return steps


def _enter(document: dict, path: str, node: Any, hints: list[Any], step: Any, following: Any) -> tuple[Any, list[Any]]:
    """The table or list that a step leads to, which is made where the file is silent, and the types it can have."""
    if not isinstance(step, str):
        place = _index(document, path, node, step[0])
        return node[place], [inner for hint in hints for inner in _items(hint, place)]
    field = _field(document, path, node, hints, step)
    inside = _alternatives(field.type) if field is not None else []
    found = node.get(step)
    tables = isinstance(following, str) and bool(_tables(inside))
    if isinstance(found, str) and tables:
        found = node[step] = {"preset": found}
    elif found is None and (tables or (isinstance(following, str) and any(get_origin(h) is dict for h in inside))):
        found = node[step] = {}
    elif found is None and field is not None and isinstance(field.default, (tuple, list)) and field.default:
        found = node[step] = list(field.default)
    if not isinstance(found, dict if isinstance(following, str) else list):
        raise SceneError(f"sweep: {path}: unknown parameter; {_nearest(document, path)}")
    return found, inside


def _field(document: dict, path: str, node: Any, hints: list[Any], name: str) -> Any:
    """What the schema says of a field of a table; None where any name will do."""
    tables = _tables(hints)
    if not tables and any(get_origin(hint) is dict for hint in hints):
        return None
    for table in _narrowed(tables, node):
        for field in msgspec.structs.fields(table):
            if field.encode_name == name:
                return field
    raise SceneError(f"sweep: {path}: unknown parameter; {_nearest(document, path)}")


def _index(document: dict, path: str, node: Any, place: str) -> int:
    """A place in a list, by number or by the name of an object."""
    if not isinstance(node, list):
        raise SceneError(f"sweep: {path}: unknown parameter; {_nearest(document, path)}")
    if place.isdecimal():
        if len(place) < 10 and int(place) < len(node):
            return int(place)
        raise SceneError(f"sweep: {path}: there is no [{place}]; {_nearest(document, path)}")
    names = [item.get("name") for item in node if isinstance(item, dict)]
    if place in names:
        return names.index(place)
    known = check.names([name for name in names if isinstance(name, str)], near=place)
    raise SceneError(f"sweep: {path}: there is no [{check.told(place)}]; known are {known}")


def _alternatives(hint: Any) -> list[Any]:
    """The types that a hint allows, without annotations."""
    if get_origin(hint) is Annotated:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) in (Union, UnionType):
        return [one for part in get_args(hint) for one in _alternatives(part)]
    return [hint]


def _items(hint: Any, place: int) -> list[Any]:
    """The types of what stands at a place of a list."""
    if get_origin(hint) is list:
        return _alternatives(get_args(hint)[0])
    if get_origin(hint) is tuple and place < len(get_args(hint)):
        return _alternatives(get_args(hint)[place])
    return []


def _tables(hints: list[Any]) -> list[Any]:
    return [hint for hint in hints if isinstance(hint, type) and issubclass(hint, msgspec.Struct)]


def _narrowed(tables: list[Any], node: Any) -> list[Any]:
    """The tables that a node can be: where a tag says which, that one."""
    chosen = [t for t in tables if t.__struct_config__.tag_field and
              node.get(t.__struct_config__.tag_field) == t.__struct_config__.tag]  # fmt: skip
    return chosen or tables


def _nearest(document: dict[str, Any], path: str) -> str:
    known = list(_known(document, [SceneFile], "", 0))
    near = difflib.get_close_matches(path, known, n=SHOWN, cutoff=0.0)
    return f"nearest are {', '.join(near)}"


def _known(node: Any, hints: list[Any], prefix: str, depth: int) -> Iterator[str]:
    """Paths of what can be set in a document."""
    tables = _tables(hints)
    if isinstance(node, list) and not tables:
        for number, item in enumerate(node[:MOST_OBJECTS]):
            yield from _known(item, [inner for hint in hints for inner in _items(hint, number)],
                              f"{prefix}[{number}]", depth)  # fmt: skip
        return
    if prefix and not tables:
        yield prefix
        return
    if depth > MOST_DEPTH:
        return
    given = node if isinstance(node, dict) else {}
    for table in _narrowed(tables, given):
        for field in msgspec.structs.fields(table):
            inside = _alternatives(field.type)
            listed = any(get_origin(hint) is list and _tables(_items(hint, 0)) for hint in inside)
            if listed and not given.get(field.encode_name):
                continue
            place = f"{prefix}.{field.encode_name}" if prefix else field.encode_name
            yield from _known(given.get(field.encode_name), _tables(inside) or inside, place, depth + 1)
