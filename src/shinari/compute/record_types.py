"""Types of records for a compiler, and the rules by which it types their fields, their rows and primitives.

Numba and numba-cuda have registries of their own, and numba-cuda takes over what others register with Numba. Each
therefore gets types of its own: code that one of them writes for a type never fits a type of the other.
"""

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari.compute import primitives
from shinari.compute.records import Record, View, concrete


@dataclass(frozen=True)
class Compiler:
    """The parts of Numba, or of its fork, that types are made of.

    Attributes:
        types: Module of types.
        templates: Module of templates, `typing.templates`.
        lowering: Registry of what is lowered.
        from_dtype: The type of a `dtype`.
        refuse: Called with a message where a program is wrong; raises, or returns None where the compiler tells.
    """

    types: Any
    templates: Any
    lowering: Any
    from_dtype: Callable[[np.dtype], Any]
    refuse: Callable[[str], None]


class RecordTypes:
    """Types of records that one compiler knows.

    Args:
        compiler: The compiler.

    Attributes:
        record: Class of the types of records: a pointer to the table of addresses.
        view: Class of the types of views, rows of a fixed shape in memory: a pointer to the first.
    """

    def __init__(self, compiler: Compiler) -> None:
        self.compiler = compiler
        self.record, self.view = _classes(compiler)
        _declare_fields(compiler, self.record)
        _declare_rows(compiler, self.view)
        _declare_primitives(compiler, self.view)

    def of(self, kind: Any, precision: type) -> Any:
        """The compiler's type for a declared one."""
        types = self.compiler.types
        if kind is None:
            return types.void
        if isinstance(kind, tuple):
            return types.Tuple([self.of(item, precision) for item in kind])
        if isinstance(kind, View):
            return self.view(concrete(kind.dtype, precision), kind.shape)
        if isinstance(kind, type) and issubclass(kind, Record):
            return self.record(kind, precision)
        return self.compiler.from_dtype(concrete(kind, precision))

    def indices(self, kind: Any) -> list[Any] | None:
        """Types of the indices of `view[...]`; None where they are no integers."""
        return _indices(self.compiler.types, kind)

    def primitive(self, stub: Callable, kinds: list[Any], returns: Any) -> Callable[[Callable], Callable]:
        """Register what a stub becomes: a function of the builder and the arguments.

        Args:
            stub: The stub.
            kinds: Types of its arguments; None for any.
            returns: Type of its value.
        """
        compiler = self.compiler

        class Template(compiler.templates.AbstractTemplate):
            key = stub

            def generic(self, args: Any, kws: Any) -> Any:
                wanted = [kind or arg for kind, arg in zip(kinds, args, strict=True)]
                return compiler.templates.signature(returns, *wanted)

        compiler.templates.builtin_registry.register_global(stub, compiler.types.Function(Template))

        def register(write: Callable) -> Callable:
            @compiler.lowering.lower(stub, *(kind or compiler.types.Any for kind in kinds))
            def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
                result = write(builder, *args)
                return context.get_dummy_value() if result is None else result

            return write

        return register


def _classes(compiler: Compiler) -> tuple[Any, Any]:
    """The classes of types of records and of views."""
    types, from_dtype = compiler.types, compiler.from_dtype

    class ViewType(types.Type):
        def __init__(self, dtype: np.dtype, shape: tuple[int, ...]) -> None:
            self.dtype, self.shape = from_dtype(dtype), shape
            super().__init__(f"View({self.dtype}, {shape})")

        def item(self, indices: int) -> Any:
            """Type of `view[i, ...]` with so many indices; None when there are too many."""
            rank = len(self.shape)
            if indices > rank + 1:
                return None
            if indices == rank + 1:
                return self.dtype
            if indices == rank:
                return types.UniTuple(self.dtype, self.shape[-1])
            return ViewType(np.dtype(str(self.dtype)), self.shape[indices:])

    class RecordType(types.Type):
        def __init__(self, cls: type[Record], precision: type) -> None:
            self.cls, self.precision = cls, precision
            # records of one name and different fields are different types
            fields = ", ".join(f"{name}: {concrete(f.dtype, precision)}{f.shape}" for name, f in cls.fields.items())
            super().__init__(f"{cls.__module__}.{cls.__qualname__}({'ragged: ' * cls.rows_of_each}{fields})")

        def field(self, name: str) -> ViewType:
            """Type of a field."""
            declared = self.cls.fields[name]
            return ViewType(concrete(declared.dtype, self.precision), declared.shape)

    return RecordType, ViewType


def _indices(types: Any, kind: Any) -> list[Any] | None:
    items = list(kind.types) if isinstance(kind, types.BaseTuple) else [kind]
    return items if items and all(isinstance(item, types.Integer) for item in items) else None


def _declare_fields(compiler: Compiler, record_type: Any) -> None:
    """`record.name` and `len(record)`."""
    types, templates = compiler.types, compiler.templates

    @templates.builtin_registry.register_attr
    class Attributes(templates.AttributeTemplate):
        key = record_type

        def generic_resolve(self, kind: Any, name: str) -> Any:
            if name not in kind.cls.fields:
                return compiler.refuse(
                    f"{kind.cls.__name__}: {name}: no such field; fields: {', '.join(kind.cls.fields)}"
                )
            return kind.field(name)

    @templates.builtin_registry.register_global(len)
    class Length(templates.AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return templates.signature(types.intp, *args) if isinstance(args[0], record_type) else None


def _declare_rows(compiler: Compiler, view_type: Any) -> None:
    """`view[...]` and `view[...] = value`."""
    types, templates, refuse = compiler.types, compiler.templates, compiler.refuse

    @templates.builtin_registry.register_global(operator.getitem)
    class GetItem(templates.AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            view, index = args
            if not isinstance(view, view_type) or (indices := _indices(types, index)) is None:
                return None
            if (item := view.item(len(indices))) is None:
                return refuse(f"{view}: {len(indices)} indices; expected at most {len(view.shape) + 1}")
            return templates.signature(item, view, index)

    @templates.builtin_registry.register_global(operator.setitem)
    class SetItem(templates.AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            view, index, value = args
            if not isinstance(view, view_type) or (indices := _indices(types, index)) is None:
                return None
            item = view.item(len(indices))
            if item is None or isinstance(item, view_type):
                return refuse(f"{view}: {len(indices)} indices; expected {len(view.shape)} or {len(view.shape) + 1}")
            if isinstance(item, types.BaseTuple) and getattr(value, "count", 1) != item.count:
                return refuse(f"{view}: got {value}; expected {item}")
            return templates.signature(types.none, view, index, item)


def _declare_primitives(compiler: Compiler, view_type: Any) -> None:
    """`convert` and `scratch`."""
    types, templates = compiler.types, compiler.templates

    @templates.builtin_registry.register_global(primitives.convert)
    class Convert(templates.AbstractTemplate):
        def generic(self, args: Any, kws: Any) -> Any:
            return templates.signature(args[1], *args)

    @compiler.lowering.lower(primitives.convert, types.Number, types.Number)
    def lower_convert(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return context.cast(builder, args[0], sig.args[0], sig.return_type)

    @templates.builtin_registry.register_global(primitives.scratch)
    class Scratch(templates.AbstractTemplate):
        """`scratch(shape, like)`: the shape has to be a constant."""

        prefer_literal = True

        def generic(self, args: Any, kws: Any) -> Any:
            sizes = list(args[0]) if isinstance(args[0], types.BaseTuple) else [args[0]]
            if not all(isinstance(size, types.IntegerLiteral) for size in sizes):
                return compiler.refuse(f"scratch: shape: got {args[0]}; expected constants")
            counts = tuple(size.literal_value for size in sizes)
            return templates.signature(view_type(np.dtype(str(types.unliteral(args[1]))), counts[1:]), *args)
