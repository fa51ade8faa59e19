"""XML of robot files: safe to parse, and so written that a line number tells the element."""

from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element
from xml.parsers import expat

from shinari.errors import FileError
from shinari.input_files import read_bytes
from shinari.partial_files import reason

DEEPEST = 200
"""Levels of elements; more are taken for damage."""


def parse(path: Path, data: bytes | None = None) -> Element:
    """Root of an XML file without declarations of its own: those can hide other files and grow without bound.

    Args:
        path: The file, which messages name.
        data: Its contents; None: it is read.

    Raises:
        FileError: It cannot be read, is no XML, has a document type or is nested too deep.
    """
    depth = 0

    def refuse(*_: object) -> None:
        raise FileError(f"{path}: has a document type declaration, which a robot does not need")

    def enter(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise FileError(f"{path}: its elements are nested more than {DEEPEST} deep")

    def leave(_: str) -> None:
        nonlocal depth
        depth -= 1

    try:
        data = read_bytes(path) if data is None else data
        # some programs write blank lines before the declaration
        data = data.lstrip()
        scanner = expat.ParserCreate()
        scanner.StartDoctypeDeclHandler, scanner.StartElementHandler, scanner.EndElementHandler = refuse, enter, leave
        scanner.Parse(data, True)
        root = ElementTree.fromstring(data)
        for element in root.iter():
            # names of other vocabularies as plain ones, but for macros
            if element.tag.startswith("{") and "xacro" not in element.tag:
                element.tag = element.tag.rpartition("}")[2]
        return root
    except FileError:
        raise
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot be read: {reason(error)}") from error
    except (expat.ExpatError, ElementTree.ParseError) as error:
        raise FileError(f"{path}: is no XML: {error}") from error


def write(root: Element) -> tuple[str, dict[int, Element]]:
    """Text of an element with one tag on each line, and the element that starts on each line."""
    lines: dict[int, Element] = {}
    line = 1
    todo: list[Element | None] = [root]
    while todo:
        element = todo.pop()
        if element is not None:
            lines[line] = element
            element.text, element.tail = "\n" if len(element) else None, "\n"
            if len(element):
                todo += [None, *reversed(element)]
        line += 1
    return ElementTree.tostring(root, encoding="unicode"), lines


def parents(root: Element) -> dict[Element, Element]:
    """The parent of each element beneath a root."""
    return {child: parent for parent in root.iter() for child in parent}


def described(element: Element, parent: Element | None = None) -> str:
    """An element in words: its tag with its name, and that of what it belongs to."""
    name = element.get("name")
    text = f"<{element.tag}>" + (f" {name!r}" if name else "")
    owner = None if parent is None or parent.tag in ("robot", "mujoco") else parent.get("name")
    return text + (f" of {parent.tag} {owner!r}" if owner and parent is not None else "")
