"""Bodies of functions as text, to be written into a switch instead of being called.

A callee is optimised alone and again in each caller, and what it returns is rounded differently there; written into the
switch it is compiled once, as if the switch had been written by hand.
"""

import ast
import builtins
from typing import Any

from shinari.compute.kernels import Function, assigned_in, definition_of, referenced


def body_of(function: Function, name: str, arguments: str, scope: dict[str, Any], result: str = "") -> list[str]:
    """Lines that do what a call does.

    Args:
        function: The function.
        name: Prefix of its own names, so that they clash with no others.
        arguments: Names of the arguments, as in a call.
        scope: Receives what the lines refer to.
        result: Variable that receives what it returns; "": the lines return it.
    """
    scope[name] = function
    call = f"{result} = {name}({arguments})" if result else f"return {name}({arguments})"
    tree = definition_of(function.python_function)
    if tree is None:
        return [call]
    statements = tree.body[1:] if ast.get_docstring(tree, clean=False) is not None else tree.body
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    parameters = [parameter.arg for parameter in tree.args.args]
    single = len(returns) == 1 and returns[0] is statements[-1]
    if (result and not single) or assigned_in(tree) & set(parameters) or not isinstance(statements[-1], ast.Return):
        return [call]
    names = dict(zip(parameters, filter(None, map(str.strip, arguments.split(","))), strict=True))
    outside = dict(referenced(function.python_function))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in names and not hasattr(builtins, node.id):
            names[node.id] = f"{name}_{node.id}"
            if node.id in outside:
                scope[names[node.id]] = outside[node.id]
    renamed = [_Renamer(names, result).visit(statement) for statement in statements]
    return "\n".join(map(ast.unparse, map(ast.fix_missing_locations, renamed))).splitlines()


class _Renamer(ast.NodeTransformer):
    def __init__(self, names: dict[str, str], result: str) -> None:
        self._names, self._result = names, result

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)

    def visit_Return(self, node: ast.Return) -> Any:
        self.generic_visit(node)
        if not self._result or node.value is None:
            return node
        return ast.copy_location(ast.Assign([ast.Name(self._result, ast.Store())], node.value), node)
