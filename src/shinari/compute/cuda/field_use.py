"""Which fields of its records a kernel reads and writes: what the host needs to run it, and what it changes.

Fields are found in the source, in functions that a kernel calls, too. Whatever is not a plain element, such as a field
that is handed on, counts as read and written; so do all fields of a record where no source is known.
"""

import ast
from collections.abc import Callable
from functools import cache
from typing import Any

from shinari.compute.kernels import Function, Kernel, Shared, definition_of, referenced

Fields = dict[str, bool]
"""Whether a field is written, by its name; it is read, too, since others of its rows stay as they are."""

ALL = "*"
"""The name that stands for all fields."""


@cache
def fields_of(kernel: Kernel) -> list[Fields]:
    """Fields that a kernel uses of each of its parameters; none of numbers."""
    found = []
    for name, kind in kernel.parameters:
        used = _used(kernel.python_function)[name] if kind in kernel.records else {}
        found.append(dict.fromkeys(kind.fields, True) if ALL in used else used)
    return found


@cache
def _used(python_function: Callable) -> dict[str, Fields]:
    """Fields that a function uses, by its parameters."""
    definition = definition_of(python_function)
    if definition is None:
        return {name: {ALL: True} for name in python_function.__code__.co_varnames}  # type: ignore[attr-defined]
    names = [argument.arg for argument in definition.args.args]
    search = _Search(names, dict(referenced(python_function)))
    for line in definition.body:
        search.visit(line)
    return search.found


class _Search(ast.NodeVisitor):
    """Looks for the fields of parameters.

    Args:
        names: The parameters.
        scope: What the function finds by name.
    """

    def __init__(self, names: list[str], scope: dict[str, Any]) -> None:
        self.found: dict[str, Fields] = {name: {} for name in names}
        self._scope = scope

    def visit_Subscript(self, node: ast.Subscript) -> None:
        field = node.value
        if isinstance(field, ast.Attribute) and self._is_parameter(field.value):
            self._use(field, isinstance(node.ctx, ast.Store))
            self.visit(node.slice)
        else:
            self.generic_visit(node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if self._is_parameter(node.value):
            self._use(node, True)
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        callee = self._scope.get(node.func.id) if isinstance(node.func, ast.Name) else None
        inner = _used(callee.python_function) if isinstance(callee, Function | Shared) else {}
        plain = not node.keywords and len(inner) == len(node.args)
        for given, fields in zip(node.args, inner.values() if plain else [{ALL: True}] * len(node.args), strict=True):
            if not self._is_parameter(given):
                self.visit(given)
            elif not (isinstance(node.func, ast.Name) and node.func.id == "len"):
                for name, is_written in fields.items():
                    self._note(given.id, name, is_written)  # type: ignore[attr-defined]
        for keyword in node.keywords:
            self.visit(keyword.value)

    def visit_Name(self, node: ast.Name) -> None:
        # a record that is handed on in any other way
        if node.id in self.found:
            self._note(node.id, ALL, True)

    def _is_parameter(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and node.id in self.found

    def _use(self, node: ast.Attribute, is_written: bool) -> None:
        self._note(node.value.id, node.attr, is_written)  # type: ignore[attr-defined]

    def _note(self, parameter: str, field: str, is_written: bool) -> None:
        self.found[parameter][field] = self.found[parameter].get(field, False) or is_written
