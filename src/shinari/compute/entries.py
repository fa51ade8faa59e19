"""Renders the entry of a kernel: a loop over items around the body.

The body is written into the loop instead of being called, so that it is typed and lowered once. Where that is not
possible (its source is not known, or it returns from inside a loop of its own) the entry calls it.
"""

import ast
import linecache
import textwrap
from collections.abc import Callable
from typing import Any

from shinari.compute.kernels import Function, Kernel, definition_of


def entry(kernel: Kernel, read: Callable[[int], Any]) -> Any:
    """`entry(launch, begin, end)` as a Python function.

    Args:
        kernel: The kernel.
        read: Gives, for the number of a parameter, a compiled function that reads it from the table of a launch.
    """
    python_function = kernel.python_function
    names = [name for name, _ in kernel.parameters]
    lines = [f"def {kernel.name}(launch_, begin_, end_):"]
    lines += [f"    {name} = read_{k}_(launch_)" for k, name in enumerate(names)]
    lines += [f"    for {kernel.item} in range(begin_, end_):", *_body(kernel)]
    closure = zip(python_function.__code__.co_freevars, python_function.__closure__ or (), strict=True)
    scope = dict(python_function.__globals__) | {name: cell.cell_contents for name, cell in closure}
    scope |= {f"read_{k}_": read(k) for k in range(len(names))}
    scope["body_"] = Function(python_function, kernel.fastmath)
    source, path = "\n".join(lines) + "\n", f"<entry of {python_function.__module__}.{kernel.name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    exec(compile(source, path, "exec"), scope)
    return scope[kernel.name]


def _body(kernel: Kernel) -> list[str]:
    names = ", ".join([kernel.item, *(name for name, _ in kernel.parameters)])
    call = [f"        body_({names})"]
    tree = definition_of(kernel.python_function)
    if tree is None:
        return call
    statements = tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body
    returns = _ReturnsToContinue()
    statements = [returns.visit(statement) for statement in statements]
    if returns.nested:
        return call
    return textwrap.indent("\n".join(map(ast.unparse, statements)), " " * 8).splitlines() or ["        pass"]


class _ReturnsToContinue(ast.NodeTransformer):
    """`return` ends the work on an item; from inside a loop of the body there is no statement for that."""

    def __init__(self) -> None:
        self.depth, self.nested = 0, False

    def _loop(self, node: Any) -> Any:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_For = visit_While = _loop

    def visit_Return(self, node: ast.Return) -> Any:
        self.nested = self.nested or self.depth > 0 or node.value is not None
        return ast.copy_location(ast.Continue(), node)
