"""Copies of kernels that call other functions instead of some.

A kernel that is written against a function, such as a switch over kinds, serves other kinds by a copy in which a larger
switch stands in its place. A copy is named, as everything, by what it is made of: the original is untouched.
"""

from collections.abc import Mapping
from types import CellType, FunctionType
from typing import Any

from shinari.compute.kernels import Function, Kernel, Shared, referenced


def specialised(source: Any, instead: Mapping[Any, Any]) -> Any:
    """A copy of a kernel or function that calls others instead of some, and so do its callees.

    Args:
        source: A `Kernel`, `Shared` or `Function`.
        instead: What to call instead, by what is called.

    Returns:
        The copy; the source itself where it calls none of them.

    Raises:
        TypeError: One is called as an attribute of a module; import its name.
    """
    return _Copier(instead).copy(source)


class _Copier:
    def __init__(self, instead: Mapping[Any, Any]) -> None:
        self._made = dict(instead)

    def copy(self, source: Any) -> Any:
        if source not in self._made:
            self._made[source] = source
            self._made[source] = self._remake(source)
        return self._made[source]

    def _remake(self, source: Any) -> Any:
        function = source.python_function
        called = [(name, value) for name, value in referenced(function) if isinstance(value, (Function, Shared))]
        changed = {name: copy for name, value in called if (copy := self.copy(value)) is not value}
        if not changed:
            return source
        for name in changed:
            if "." in name:
                raise TypeError(f"{function.__name__}: calls {name}; import it by its name")
        copy = _bound(function, changed)
        if isinstance(source, Function):
            return Function(copy, source.fastmath)
        if isinstance(source, Shared):
            return Shared(copy, source.fastmath)
        return Kernel(copy, source.fastmath, source.vector, source.mixed, source.in_order, source.subject)


def _bound(function: Any, changed: Mapping[str, Any]) -> Any:
    """A function with the same code and other values of some globals and variables of enclosing functions."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    closure = tuple(CellType(changed[name]) if name in changed else cell for name, cell in cells)
    scope = {**function.__globals__, **changed}
    copy = FunctionType(code, scope, function.__name__, function.__defaults__, closure)
    copy.__annotations__, copy.__doc__ = function.__annotations__, function.__doc__
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy
