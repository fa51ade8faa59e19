"""Kernels for one item, the functions that they call, and what their machine code is made of.

    @function                 becomes part of its callers
    @shared                   large: compiled once for each precision, called by its symbol
    @kernel                   the body for one item; its entry runs it for a range of items

    @kernel
    def predict(i, particles: Particles, h: real):
        ...

Importing and hashing them needs no compiler: Numba is loaded when an object file is missing in the cache. Each of them
called as plain Python runs its body, for tests and debugging.
"""

import ast
import dis
import hashlib
import importlib.metadata
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import BuiltinFunctionType, CodeType, ModuleType
from typing import Annotated, Any, get_args, get_origin

import numpy as np

from shinari.compute.once import cached_property
from shinari.compute.records import PlainRecord, Record, View, concrete, real

# The compiler may contract, reorder and use approximate division; NaN and infinity keep their meaning: an infinite
# compliance is a row without force, and a NaN has to reach the check that stops a run.
FAST = frozenset({"contract", "nsz", "arcp", "afn", "reassoc"})
# Contacts decide by comparing; they do without reordering.
STEADY = FAST - {"reassoc"}
# Searches count first and write later: both must come to the same answer for a pair, from either side, in the vector
# part of a loop and in its rest. So the arithmetic of the broad phase is taken as written.
AS_WRITTEN: frozenset[str] = frozenset()


class CompileError(TypeError):
    """A kernel that does not compile: the message names it and what is wrong."""


class Function:
    """A function that kernels call and that becomes part of them.

    Attributes:
        python_function: The function.
        fastmath: What the compiler may do to its arithmetic; None: what its caller may.
    """

    def __init__(self, python_function: Callable, fastmath: frozenset[str] = FAST) -> None:
        self.python_function = python_function
        self.fastmath = fastmath
        self.__name__, self.__doc__ = python_function.__name__, python_function.__doc__
        self.__module__, self.__qualname__ = python_function.__module__, python_function.__qualname__
        self.__wrapped__ = python_function

    def __call__(self, *arguments: Any) -> Any:
        """Run it as plain Python, with the arithmetic of compiled code: a float is float64, 1 / 0 is infinite."""
        with np.errstate(all="ignore"):
            return self.python_function(*map(_doubles, arguments))

    @property
    def py_func(self) -> Callable:
        """The function, by the name that Numba uses."""
        return self.python_function

    @cached_property
    def dispatcher(self) -> Any:
        """What Numba calls it by."""
        from shinari.compute.backend import dispatcher

        return dispatcher(self)


def _doubles(value: Any) -> Any:
    """Floats of Python as float64, also in tuples: NumPy would let a float32 beside them decide."""
    if type(value) is float:
        return np.float64(value)
    return tuple(map(_doubles, value)) if type(value) is tuple else value


def function(python_function: Callable | None = None, *, fastmath: frozenset[str] = FAST) -> Any:
    """Make a function part of the kernels that call it."""
    if python_function is None:
        return lambda given: Function(given, fastmath)
    return Function(python_function, fastmath)


class Native:
    """Something with machine code of its own, for one precision.

    Attributes:
        source: The `Kernel` or `Shared` that it is compiled from.
        precision: What `real` means.
        symbol: Name of the machine code: a name for people and a hash of all that it is made of.
    """

    def __init__(self, source: "Kernel | Shared", precision: type) -> None:
        self.source, self.precision = source, precision
        made_of = repr((toolchain(), source.made_of(precision), dependencies(source.python_function, precision)))
        self.symbol = f"{source.name}_{hashlib.sha256(made_of.encode()).hexdigest()[:20]}"
        self._address = 0

    @property
    def is_loaded(self) -> bool:
        """Whether its machine code is in memory."""
        return self._address != 0

    @property
    def reference(self) -> str:
        """Name by which other object code calls it, see `shinari.compute.object_files.reference`."""
        from shinari.compute.object_files import reference

        return reference(self.symbol)

    @property
    def address(self) -> int:
        """Address of the machine code, which is loaded, or compiled and loaded, at the first call."""
        if not self._address:
            from shinari.compute.object_files import load

            load([self])
        return self._address

    def callees(self) -> "Iterator[Native]":
        """The shared functions that it calls by their symbols."""
        return shared_callees(self.source.python_function, self.precision, set())

    def loaded(self, address: int) -> None:
        """Its machine code is in memory now."""
        self._address = address


class Shared:
    """A large function that is compiled once; its signature is that of its annotations."""

    def __init__(self, python_function: Callable, fastmath: frozenset[str]) -> None:
        self.python_function, self.fastmath, self.name = python_function, fastmath, python_function.__name__
        self.__name__, self.__doc__, self.__wrapped__ = self.name, python_function.__doc__, python_function
        self.parameters, self.returns = signature(python_function)
        self._natives: dict[type, Native] = {}

    def __call__(self, *arguments: Any) -> Any:
        """Run it as plain Python; see `Function`."""
        with np.errstate(all="ignore"):
            return self.python_function(*map(_doubles, arguments))

    def native(self, precision: type) -> Native:
        """Its machine code at a precision."""
        if precision not in self._natives:
            self._natives[precision] = Native(self, precision)
        return self._natives[precision]

    def made_of(self, precision: type) -> Any:
        """What names the machine code beside the code."""
        kinds = [(name, layout(kind, precision)) for name, kind in self.parameters]
        return "shared", sorted(self.fastmath), kinds, layout(self.returns, precision)


def shared(python_function: Callable | None = None, *, fastmath: frozenset[str] = FAST) -> Any:
    """Compile a large function once and call it by its symbol.

    All parameters and the result are annotated: scalar types (`int` is int64), `real`, tuples of them such as
    `tuple[real, real, real]`, records and `Annotated[Any, View(...)]`.
    """
    if python_function is None:
        return lambda given: Shared(given, fastmath)
    return Shared(python_function, fastmath)


class Kernel:
    """The body for one item. The first parameter is the item, the others are annotated records and scalars."""

    def __init__(
        self,
        python_function: Callable,
        fastmath: frozenset[str],
        vector: bool,
        mixed: bool,
        in_order: bool,
        subject: str = "",
    ) -> None:
        self.python_function, self.fastmath, self.name = python_function, fastmath, python_function.__name__
        self.vector, self.mixed, self.in_order, self.subject = vector, mixed, in_order, subject
        self.__name__, self.__doc__, self.__wrapped__ = self.name, python_function.__doc__, python_function
        parameters, _ = signature(python_function)
        self.item, self.parameters = parameters[0][0], parameters[1:]
        self._takes = [(*each, isinstance(each[1], type) and issubclass(each[1], Record)) for each in self.parameters]
        self._natives: dict[type, Native] = {}

    def __call__(self, item: int, *arguments: Any) -> Any:
        """Run the body for one item as plain Python."""
        plain = [PlainRecord(value) if isinstance(value, Record) else value for value in arguments]
        with np.errstate(all="ignore"):
            return self.python_function(item, *plain)

    def native(self, precision: type) -> Native:
        """Its machine code at a precision."""
        if precision not in self._natives:
            self._natives[precision] = Native(self, precision)
        return self._natives[precision]

    def made_of(self, precision: type) -> Any:
        """What names the machine code beside the code."""
        kinds = [(name, layout(kind, precision)) for name, kind in self.parameters]
        return "kernel", sorted(self.fastmath), self.vector, kinds

    def require_own_variables(self) -> None:
        """Refuse a body that assigns to a parameter: a launch reads it once, and the next item would find the change.

        Raises:
            CompileError: It assigns to one; the message says to which.
        """
        definition = definition_of(self.python_function)
        # the entry calls a body whose source is not known, which has variables of its own
        taken = {name for name, _ in self.parameters} & assigned_in(definition) if definition is not None else set()
        if taken:
            raise CompileError(f"{self.name}: assigns to its parameter {min(taken)}, which all items of a launch share")

    @property
    def records(self) -> list[type[Record]]:
        """Records among its parameters."""
        return [kind for _, kind in self.parameters if isinstance(kind, type) and issubclass(kind, Record)]

    def pack(self, arguments: tuple) -> tuple[np.ndarray, type]:
        """Arguments of a launch as a table, and their precision.

        Raises:
            TypeError: An argument is not what the signature says; the message names kernel and parameter.
        """
        if len(arguments) != len(self.parameters):
            names = ", ".join(name for name, _ in self.parameters)
            raise TypeError(f"{self.name}: got {len(arguments)} arguments; expected {names}")
        argument_block = np.zeros(len(arguments), np.int64)
        precision, numbers = None, []
        for k, (value, (name, kind, is_record)) in enumerate(zip(arguments, self._takes, strict=True)):
            if is_record:
                if not isinstance(value, kind):
                    raise TypeError(f"{self.name}: {name}: got {type(value).__name__}; expected {kind.__name__}")
                argument_block[k] = value.address
                if has_real(type(value)):
                    if precision not in (None, value.precision):
                        raise TypeError(f"{self.name}: got records of float32 and of float64; expected one precision")
                    precision = value.precision
            elif isinstance(value, Record):
                raise TypeError(f"{self.name}: {name}: got {type(value).__name__}; expected a number")
            else:
                numbers.append((k, kind, value))
        precision = precision or np.float32
        for k, kind, value in numbers:
            argument_block[k : k + 1].view(concrete(kind, precision))[0] = value
        return argument_block, precision


def kernel(
    python_function: Callable | None = None,
    *,
    fastmath: frozenset[str] = FAST,
    vector: bool = False,
    mixed: bool = False,
    in_order: bool = False,
    subject: str = "",
) -> Any:
    """Make a kernel of the body for one item.

    Args:
        python_function: The body.
        fastmath: What the compiler may do to its arithmetic.
        vector: Whether inner loops over SIMD batches become vector instructions: scalars are not packed then, which
            would hide the loops.
        mixed: Whether it computes in float64 on purpose where its records are of float32.
        in_order: Whether an item goes through many rows one after the other, where each needs what the one before left:
            a thread of a GPU takes a hundred times as long as one of the host, which runs it there.
        subject: Function of a user that it calls, for the message when it does not compile.
    """
    if python_function is None:
        return lambda given: Kernel(given, fastmath, vector, mixed, in_order, subject)
    return Kernel(python_function, fastmath, vector, mixed, in_order, subject)


def signature(python_function: Callable) -> tuple[list[tuple[str, Any]], Any]:
    """Names and annotated types of the parameters, and of the result."""
    parameters = inspect.signature(python_function).parameters
    annotations = python_function.__annotations__
    kinds = [(name, declared(annotations.get(name, int))) for name in parameters]
    return kinds, declared(annotations.get("return"))


def declared(annotation: Any) -> Any:
    """The type that an annotation declares: tuples are written `tuple[real, real]`, others `Annotated[Any, type]`."""
    if get_origin(annotation) is Annotated:
        return annotation.__metadata__[0]
    if get_origin(annotation) is tuple:
        return tuple(map(declared, get_args(annotation)))
    return tuple(map(declared, annotation)) if isinstance(annotation, tuple) else annotation


@cache
def has_real(record: type[Record]) -> bool:
    """Whether fields of a record depend on the precision."""
    return any(declared.dtype is real for declared in record.fields.values())


def layout(kind: Any, precision: type) -> Any:
    """What of a declared type matters to machine code."""
    if kind is None:
        return None
    if isinstance(kind, tuple):
        return tuple(layout(item, precision) for item in kind)
    if isinstance(kind, View):
        return "view", concrete(kind.dtype, precision).str, kind.shape
    if isinstance(kind, type) and issubclass(kind, Record):
        fields = [(name, concrete(f.dtype, precision).str, f.shape) for name, f in kind.fields.items()]
        return ["ragged", *fields] if kind.rows_of_each else fields
    return concrete(kind, precision).str


@cache
def toolchain() -> tuple:
    """Versions of what compiles, and the processor that it compiles for."""
    from shinari.compute.bounds import CHECKED
    from shinari.compute.object_files import processor, triple

    versions = [importlib.metadata.version(name) for name in ("numba", "llvmlite", "numpy")]
    return (*versions, generator(), triple(), processor(), CHECKED)


def generator() -> str:
    """Sum of the files that turn kernels into machine code: a change of them makes other code of the same kernels."""
    folder, total = Path(__file__).parent, hashlib.sha256()
    for name in ("backend.py", "record_types.py", "entries.py", "primitives.py"):
        total.update((folder / name).read_bytes())
    return total.hexdigest()


# ---- what a function is made of ----


def dependencies(python_function: Callable, precision: type, seen: set[int] | None = None) -> list[str]:
    """All that a function is made of, as text: code, constants, callees. It does not depend on where its file lies.

    Raises:
        TypeError: It reads a global that compiled code cannot hold.
    """
    seen = set() if seen is None else seen
    if id(python_function) in seen:
        return []
    seen.add(id(python_function))
    texts = [_code_text(python_function.__code__)]
    for name, value in referenced(python_function):
        if isinstance(value, Function):
            texts += [str(sorted(value.fastmath)), *dependencies(value.python_function, precision, seen)]
        elif isinstance(value, Shared):
            texts.append(value.native(precision).reference)
        elif isinstance(value, (bool, int, float, tuple, str, np.generic)):
            texts.append(f"{name}={value!r}")
        elif hasattr(value, "is_primitive"):
            texts.append(f"{name} is {value.__name__}")
        elif not isinstance(value, (type, ModuleType, BuiltinFunctionType, np.ufunc)):
            raise TypeError(
                f"{python_function.__name__}: reads {name}, of type {type(value).__name__}; "
                "expected a number, a tuple of numbers, a @function or a @shared function"
            )
    return texts


def _code_text(code: CodeType) -> str:
    constants = [_code_text(value) if isinstance(value, CodeType) else value for value in code.co_consts]
    # the docstring is a constant, too
    if constants and isinstance(constants[0], str):
        constants[0] = ""
    return repr((code.co_code, code.co_names, code.co_varnames, constants))


@cache
def global_names(code: CodeType) -> tuple[str, ...]:
    """Globals that code reads; `co_names` has the names of attributes, too, such as those of fields."""
    found, argument, bytecode = [], 0, code.co_code
    # what `dis.get_instructions` says, in a tenth of its time: every start of a process hashes its kernels
    for operation, low in zip(bytecode[::2], bytecode[1::2], strict=True):
        argument = argument << 8 | low
        if operation == _EXTENDED:
            continue
        if operation == _LOAD_GLOBAL:
            found.append(code.co_names[argument >> 1])
        argument = 0
    return tuple(dict.fromkeys(found))


_LOAD_GLOBAL, _EXTENDED = dis.opmap["LOAD_GLOBAL"], dis.opmap["EXTENDED_ARG"]


def referenced(python_function: Callable) -> list[tuple[str, Any]]:
    """Names and values that a function reads: globals, variables of enclosing functions, attributes of modules."""
    scope, code = python_function.__globals__, python_function.__code__  # type: ignore[attr-defined]
    closure = zip(code.co_freevars, python_function.__closure__ or (), strict=True)  # type: ignore[attr-defined]
    found = [(name, scope[name]) for name in global_names(code) if name in scope]
    found += [(name, cell.cell_contents) for name, cell in closure]
    modules = [value for _, value in found if isinstance(value, ModuleType) and value not in (np, math)]
    for module in modules:
        # which name belongs to which module does not matter: one too many only makes the hash more careful
        inside = [(f"{module.__name__}.{name}", vars(module)[name]) for name in code.co_names if name in vars(module)]
        modules += [value for _, value in inside if isinstance(value, ModuleType) and value not in (*modules, np, math)]
        found += inside
    return found


def definition_of(python_function: Callable) -> ast.FunctionDef | None:
    """The definition of a function as a tree; None where its source is not known."""
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(python_function))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return tree if isinstance(tree, ast.FunctionDef) else None


def assigned_in(definition: ast.FunctionDef) -> set[str]:
    """Names to which a function assigns."""
    return {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def shared_callees(python_function: Callable, precision: type, seen: set[int]) -> Iterator[Native]:
    """The shared functions that a function calls, in functions that become part of it, too."""
    for _, value in referenced(python_function):
        if isinstance(value, Shared):
            yield value.native(precision)
        elif isinstance(value, Function) and id(value) not in seen:
            seen.add(id(value))
            yield from shared_callees(value.python_function, precision, seen)
