"""All that touches the internals of Numba and llvmlite: types of records, entries of kernels, object code.

Numba types and lowers a function to LLVM's language. What it would do next is replaced: a function that becomes part of
others is not optimised by itself, only linked in; the one module of an entry is optimised once, checked (no calls of
Python, no allocation, no float64 in a kernel of float32) and written as relocatable object code.
"""

import operator
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import numba
import numba.core.imputils
import numba.core.registry
import numba.core.types
import numba.core.typing.templates
import numpy as np
from llvmlite import ir
from numba.core import cgutils, codegen, compiler
from numba.core.compiler_lock import global_compiler_lock
from numba.core.datamodel import models
from numba.core.datamodel.registry import register_default
from numba.core.errors import NumbaError, TypingError
from numba.core.typing.templates import AbstractTemplate, signature
from numba.core.typing.typeof import typeof_impl
from numba.extending import intrinsic
from numba.np.numpy_support import from_dtype

from shinari.compute import bounds, primitives
from shinari.compute import object_files as objects
from shinari.compute.entries import entry
from shinari.compute.kernels import CompileError, Function, Kernel, Native, Shared
from shinari.compute.record_types import Compiler, RecordTypes

# Numba does not declare the types of these.
types: Any = numba.core.types
lowering: Any = numba.core.imputils.builtin_registry
lower_getattr_generic: Any = numba.core.imputils.lower_getattr_generic
cpu_target: Any = numba.core.registry.cpu_target

I64 = ir.IntType(64)
WORDS = 16
OURS = "shinari: "
"""Begins messages of this file, to find them among those of Numba."""

# ---- types ----


def _refuse(message: str) -> None:
    raise TypingError(OURS + message)


RECORDS = RecordTypes(Compiler(types, numba.core.typing.templates, lowering, from_dtype, _refuse))
RecordType, ViewType, numba_type, _indices = RECORDS.record, RECORDS.view, RECORDS.of, RECORDS.indices
_primitive = RECORDS.primitive


@register_default(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, I64.as_pointer())


@register_default(ViewType)
class _ViewModel(models.StructModel if bounds.CHECKED else models.PrimitiveModel):  # type: ignore[misc]
    """A pointer; with bounds checks also the number of rows."""

    def __init__(self, manager: Any, kind: Any) -> None:
        pointer = types.CPointer(kind.dtype)
        if bounds.CHECKED:
            super().__init__(manager, kind, [("pointer", pointer), ("rows", types.int64)])
        else:
            super().__init__(manager, kind, manager.lookup(kind.dtype).get_data_type().as_pointer())


def _make_view(context: Any, builder: Any, kind: Any, pointer: Any, rows: Any) -> Any:
    if not bounds.CHECKED:
        return pointer
    view = cgutils.create_struct_proxy(kind)(context, builder)
    view.pointer, view.rows = pointer, rows
    return view._getvalue()


@lower_getattr_generic(RecordType)
def _field(context: Any, builder: Any, kind: Any, table: Any, name: str) -> Any:
    target = context.get_data_type(kind.field(name).dtype).as_pointer()
    slot = cgutils.gep_inbounds(builder, table, list(kind.cls.fields).index(name))
    pointer = _invariant(builder, builder.load(builder.bitcast(slot, target.as_pointer())))
    return _make_view(context, builder, kind.field(name), pointer, _rows(builder, kind, table, name))


def _invariant(builder: Any, value: Any) -> Any:
    """Mark a load as one whose memory does not change while a kernel runs: it is read once."""
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@lowering.lower(len, RecordType)
def _length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return _rows(builder, sig.args[0], args[0])


def _rows(builder: Any, kind: Any, table: Any, name: str | None = None) -> Any:
    """Number of rows, of a field where they differ."""
    slot = len(kind.cls.fields)
    if kind.cls.rows_of_each and name is not None:
        slot += 1 + list(kind.cls.fields).index(name)
    return _invariant(builder, builder.load(cgutils.gep_inbounds(builder, table, slot)))


def _cell(context: Any, builder: Any, view: Any, value: Any, kind: Any, index: Any) -> Any:
    """Pointer to where indices lead."""
    kinds = _indices(kind) or []
    values = cgutils.unpack_tuple(builder, index, len(kinds)) if isinstance(kind, types.BaseTuple) else [index]
    wide = [context.cast(builder, v, k, types.int64) for v, k in zip(values, kinds, strict=True)]
    pointer = value
    if bounds.CHECKED:
        both = cgutils.create_struct_proxy(view)(context, builder, value=value)
        pointer, limits = both.pointer, [both.rows, *map(I64, view.shape)]
        wide = [_checked(builder, view, *pair) for pair in zip(wide, limits, strict=False)]
    offset = I64(0)
    for k, each in enumerate(wide):
        stride = int(np.prod(view.shape[k:], dtype=np.int64))
        offset = builder.add(offset, builder.mul(each, I64(stride), flags=("nsw",)), flags=("nsw",))
    return builder.gep(pointer, [offset], inbounds=True)


def _checked(builder: Any, view: Any, index: Any, limit: Any) -> Any:
    """The index, or 0 after telling `bounds` that it is outside."""
    inside = builder.icmp_unsigned("<", index, limit)
    with builder.if_then(builder.not_(inside), likely=False):
        text = f"{builder.function.name.split('shinari')[-1][:80]}: {view}"
        where = builder.bitcast(
            cgutils.global_constant(builder, "where", cgutils.make_bytearray(text.encode() + b"\0")),
            ir.IntType(8).as_pointer(),
        )
        kind = ir.FunctionType(ir.VoidType(), [ir.IntType(8).as_pointer(), I64, I64])
        builder.call(cgutils.get_or_insert_function(builder.module, kind, bounds.SYMBOL), [where, index, limit])
    return builder.select(inside, index, I64(0))


@lowering.lower(operator.getitem, ViewType, types.Any)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    view, item = sig.args[0], sig.return_type
    cell = _cell(context, builder, view, args[0], sig.args[1], args[1])
    if isinstance(item, ViewType):
        return _make_view(context, builder, item, cell, I64(view.shape[len(_indices(sig.args[1]) or []) - 1]))
    if not isinstance(item, types.BaseTuple):
        return context.unpack_value(builder, item, cell)
    parts = [context.unpack_value(builder, view.dtype, _next(builder, cell, k)) for k in range(item.count)]
    return context.make_tuple(builder, item, parts)


@lowering.lower(operator.setitem, ViewType, types.Any, types.Any)
def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    view, _, item = sig.args
    cell = _cell(context, builder, view, args[0], sig.args[1], args[1])
    if isinstance(item, types.BaseTuple):
        for k, part in enumerate(cgutils.unpack_tuple(builder, args[2], item.count)):
            context.pack_value(builder, view.dtype, part, _next(builder, cell, k))
    else:
        context.pack_value(builder, view.dtype, args[2], cell)
    return context.get_dummy_value()


def _next(builder: Any, cell: Any, k: int) -> Any:
    return builder.gep(cell, [I64(k)], inbounds=True)


@typeof_impl.register(Function)
def _typeof_function(function: Function, _: Any) -> Any:
    return numba.typeof(function.dispatcher)


def dispatcher(function: Function) -> Any:
    """What Numba calls a function by."""
    options: dict[str, Any] = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "forceinline": True}
    options |= {"fastmath": set(function.fastmath), "error_model": "numpy", "boundscheck": False}
    options["pipeline_class"] = _Pipeline
    return numba.njit(**options)(function.python_function)


# ---- primitives ----


def _word(builder: Any, view: Any, row: Any, column: Any) -> Any:
    """A word of a record of the pool, whose rows are WORDS wide."""
    if bounds.CHECKED:
        view = builder.extract_value(view, 0)
    return builder.gep(view, [builder.add(builder.mul(row, I64(WORDS)), column)], inbounds=True)


@_primitive(primitives.load_address, [types.int64], types.int64)
def _load_address(builder: Any, address: Any) -> Any:
    return builder.load(builder.inttoptr(address, I64.as_pointer()))


@_primitive(primitives.store_address, [types.int64, types.int64], types.none)
def _store_address(builder: Any, address: Any, value: Any) -> None:
    builder.store(value, builder.inttoptr(address, I64.as_pointer()))


@_primitive(primitives.call_entry, [types.int64] * 4, types.none)
def _call_entry(builder: Any, address: Any, *arguments: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [I64] * 3)
    builder.call(builder.inttoptr(address, kind.as_pointer()), arguments)


@_primitive(primitives.cycles, [], types.int64)
def _cycles(builder: Any) -> Any:
    if objects.triple().startswith("aarch64"):
        counter = ir.InlineAsm(ir.FunctionType(I64, []), "mrs $0, cntvct_el0", "=r", side_effect=True)
        return builder.call(counter, [])
    return builder.call(builder.module.declare_intrinsic("llvm.readcyclecounter", (), ir.FunctionType(I64, [])), [])


@_primitive(primitives.pause, [], types.none)
def _pause(builder: Any) -> None:
    text = "yield" if objects.triple().startswith("aarch64") else "pause"
    builder.asm(ir.FunctionType(ir.VoidType(), []), text, "~{memory}", [], side_effect=True)


@_primitive(primitives.atomic_load, [None, types.int64, types.int64], types.int64)
def _atomic_load(builder: Any, *place: Any) -> Any:
    return builder.load_atomic(_word(builder, *place), "acquire", 8)


@_primitive(primitives.atomic_store, [None, types.int64, types.int64, types.int64], types.none)
def _atomic_store(builder: Any, view: Any, row: Any, column: Any, value: Any) -> None:
    builder.store_atomic(value, _word(builder, view, row, column), "release", 8)


@_primitive(primitives.atomic_add, [None, types.int64, types.int64, types.int64], types.int64)
def _atomic_add(builder: Any, view: Any, row: Any, column: Any, value: Any) -> Any:
    return builder.atomic_rmw("add", _word(builder, view, row, column), value, "acq_rel")


@_primitive(primitives.compare_exchange, [None, *[types.int64] * 4], types.boolean)
def _compare_exchange(builder: Any, view: Any, row: Any, column: Any, expected: Any, value: Any) -> Any:
    pair = builder.cmpxchg(_word(builder, view, row, column), expected, value, "acq_rel", "acquire")
    return builder.extract_value(pair, 1)


@lowering.lower(primitives.scratch, types.Any, types.Any)
def _lower_scratch(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    sizes = list(sig.args[0]) if isinstance(sig.args[0], types.BaseTuple) else [sig.args[0]]
    count = int(np.prod([size.literal_value for size in sizes]))
    value = context.get_data_type(sig.return_type.dtype)
    with builder.goto_entry_block():
        memory = builder.alloca(ir.ArrayType(value, count))
        memory.align = 64
    pointer = builder.bitcast(memory, value.as_pointer())
    return _make_view(context, builder, sig.return_type, pointer, I64(sizes[0].literal_value))


@typeof_impl.register(Shared)
def _typeof_shared(shared: Shared, _: Any) -> Any:
    return _shared_type(shared)


@cache
def _shared_type(shared: Shared) -> Any:
    """A function type whose overloads are the precisions that a shared function is called with."""

    class Template(AbstractTemplate):
        key = shared

        def generic(self, args: Any, kws: Any) -> Any:
            context = self.context
            for precision in (np.float32, np.float64):
                wanted = [numba_type(kind, precision) for _, kind in shared.parameters]
                if len(wanted) == len(args) and all(map(context.can_convert, args, wanted)):
                    exact = [w == a for w, a in zip(wanted, args, strict=True) if not isinstance(w, types.Integer)]
                    if all(exact):
                        return signature(numba_type(shared.returns, precision), *wanted)
            declared = ", ".join(f"{name}: {numba_type(kind, np.float32)}" for name, kind in shared.parameters)
            raise TypingError(OURS + f"{shared.name}: got {args}; expected {declared}")

    for precision in (np.float32, np.float64):
        _lower_call(shared, precision)
    cpu_target.target_context.refresh()
    return types.Function(Template)


def _lower_call(shared: Shared, precision: type) -> None:
    kinds = [numba_type(kind, precision) for _, kind in shared.parameters]

    @lowering.lower(shared, *kinds)
    def call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        symbol = shared.native(precision).reference
        value = context.get_value_type(sig.return_type) if sig.return_type != types.void else ir.VoidType()
        kind = ir.FunctionType(value, [argument.type for argument in args])
        result = builder.call(cgutils.get_or_insert_function(builder.module, kind, symbol), args)
        return result if sig.return_type != types.void else context.get_dummy_value()


# ---- object code ----


def _argument(kind: Any, slot: int) -> Any:
    """Intrinsic that reads an argument of a launch from its table."""

    @intrinsic
    def read(typing_context: Any, table: Any) -> Any:
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = builder.inttoptr(args[0], I64.as_pointer())
            target = context.get_data_type(kind)
            cell = builder.bitcast(cgutils.gep_inbounds(builder, pointer, slot), target.as_pointer())
            return context.data_model_manager[kind].from_data(builder, _invariant(builder, builder.load(cell)))

        return kind(types.int64), lower

    return read


ROOM = "room_of_"
"""Begins the name of a variable that every object has: llvmlite reserves memory for the table of addresses of far
functions as its alignment wants it only where there are data of that alignment, and ends the process otherwise."""


class _Library(codegen.AOTCodeLibrary):
    """A module that is optimised only as part of the entry that links it in."""

    def _optimize_functions(self, ll_module: Any) -> None:
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        if not getattr(self, "is_entry", False):
            return
        for each in self._final_module.functions:
            if not each.is_declaration and each.name != self.name:
                each.linkage = "internal"  # nobody else calls it: it is inlined where that pays
        for each in self._final_module.global_variables:
            if not each.is_declaration and each.name != ROOM + self.name:
                each.linkage = "internal"  # environments of Python code, which no code reads
        super()._optimize_final_module()
        self._rename()

    def _rename(self) -> None:
        """Name what is left inside by its order: Numba's names count what the process has compiled before."""
        inside = [*self._final_module.functions, *self._final_module.global_variables]
        inside = [e for e in inside if not e.is_declaration and e.name not in (self.name, ROOM + self.name)]
        for number, each in enumerate(inside):
            each.name = f"inside_{number}"

    def get_pointer_to_function(self, name: str) -> int:
        return 0


class _Codegen(codegen.AOTCPUCodegen):
    _library_class = _Library

    def set_env(self, name: str, environment: Any) -> None:
        """Code that calls no Python needs no environment."""


class _Pipeline(compiler.Compiler):
    """Numba's passes without those for closures, generators and loops over literals, which kernels do not have."""

    def define_pipelines(self) -> list[Any]:
        manager: Any = compiler.DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes, seen = [], set()
        for each, text in manager.passes:
            name = each.name()
            if name not in SKIPPED and not (name in ONCE and name in seen):
                passes.append((each, text))
            seen.add(name)
        manager.passes = passes
        manager.finalize()
        return [manager]


# Passes of Numba that change nothing in kernels; each goes through all variables. The last ends the life of variables,
# which matters to what is counted: kernels have no such objects.
SKIPPED = {
    "with_lifting", "inline_closure_likes", "make_function_op_code_to_jit_function", "inline_inlinables",
    "find_literally", "literal_unroll", "LiteralPropagation", "inline_overloads", "nopython_rewrites",
    "Rewrite dynamic raises", "ir_legalization",
}  # fmt: skip
ONCE = {"dead_branch_prune"}


@cache
def _codegen() -> Any:
    llvm.initialize_native_asmparser()
    return _Codegen("shinari", cpu_name=objects.processor())


@contextmanager
def _object_code(vector: bool) -> Iterator[Any]:
    """Make Numba produce modules for the baseline processor instead of code for this process."""
    context = cpu_target.target_context
    context.refresh()
    kept = context._internal_codegen, numba.config.SLP_VECTORIZE  # type: ignore[attr-defined]
    context._internal_codegen = _codegen()
    numba.config.SLP_VECTORIZE = 0 if vector else 1  # type: ignore[attr-defined]
    cpu_target.typing_context.resolve_function_type = _resolve
    try:
        yield context
    finally:
        context._internal_codegen, numba.config.SLP_VECTORIZE = kept  # type: ignore[attr-defined]
        del cpu_target.typing_context.resolve_function_type


_resolved: dict[Any, Any] = {}


def _resolve(function: Any, arguments: Any, keywords: Any) -> Any:
    """Signature of a call. Numba asks for the same in every round of inference, and for each operator in all functions.

    What has a name for its function has values among its arguments: items of tuples.
    """
    resolve = type(cpu_target.typing_context).resolve_function_type
    if keywords or isinstance(function, str):
        return resolve(cpu_target.typing_context, function, arguments, keywords)
    found = _resolved.get((function, arguments))
    if found is None:
        found = resolve(cpu_target.typing_context, function, arguments, keywords)
        _resolved[function, arguments] = found
    return found


def compile_object(native: Native) -> bytes:
    """Object code that defines `native.symbol` with the C calling convention.

    Raises:
        CompileError: It does not compile, or calls what compiled code may not.
    """
    source, precision = native.source, native.precision
    if isinstance(source, Kernel):
        kinds = [numba_type(kind, precision) for _, kind in source.parameters]
        python_function = entry(source, lambda k: _argument(kinds[k], k))
        sig = types.void(types.int64, types.int64, types.int64)
    else:
        python_function = source.python_function
        sig = numba_type(source.returns, precision)(*(numba_type(kind, precision) for _, kind in source.parameters))
    flags: Any = compiler.Flags()
    options = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
    options |= {"fastmath": set(source.fastmath), "boundscheck": False}
    cpu_target.options.parse_as_flags(flags, options)
    flags.no_compile = True
    vector = isinstance(source, Kernel) and source.vector
    with global_compiler_lock, _object_code(vector) as context:
        try:
            result = compiler.compile_extra(
                cpu_target.typing_context,
                context,
                python_function,
                sig.args,
                sig.return_type,
                flags,
                {},
                pipeline_class=_Pipeline,
            )
        except NumbaError as error:
            raise CompileError(f"{_subject(source)}: {explain(error)}") from error
        library = context.codegen().create_library(native.symbol)
        library.is_entry = True
        library.add_linking_library(result.library)
        library.add_ir_module(_wrapper(context, result.fndesc, native.symbol, sig))
        library.finalize()
        module = library._final_module
        _check(source, native, module)
        return library._codegen._tm.emit_object(module)


def _subject(source: Kernel | Shared) -> str:
    """What a message says of a kernel."""
    subject = getattr(source, "subject", "")
    return f"{subject}: cannot be compiled as it is called" if subject else source.name


def _wrapper(context: Any, descriptor: Any, symbol: str, sig: Any) -> Any:
    """`symbol(arguments) -> value` around Numba's convention; what may raise keeps a call of `raises_an_error`."""
    module = context.codegen()._create_empty_module(symbol)
    room: Any = ir.GlobalVariable(module, I64, ROOM + symbol)
    room.linkage, room.initializer = "common", I64(0)
    value = ir.VoidType() if sig.return_type == types.void else context.get_value_type(sig.return_type)
    wrapper = ir.Function(module, ir.FunctionType(value, [context.get_value_type(t) for t in sig.args]), symbol)
    builder = ir.IRBuilder(wrapper.append_basic_block("entry"))
    callee = context.declare_function(module, descriptor)
    status, result = context.call_conv.call_function(builder, callee, sig.return_type, sig.args, wrapper.args)
    with builder.if_then(status.is_error):
        builder.call(ir.Function(module, ir.FunctionType(ir.VoidType(), []), "raises_an_error"), [])
    if sig.return_type == types.void:
        builder.ret_void()
    else:
        builder.ret(result)
    return module


# What compiled code may call: LLVM's operations, the mathematics of the C library, shared functions.
_ALLOWED = re.compile(
    r"llvm\.|mem(set|cpy|move)$|(a?(sin|cos|tan)|atan2|exp2?|sqrt|log(2|10|1p)?|pow|fmod|cbrt|hypot|floor|ceil|trunc|rint)f?$"
    r"|.*_[0-9a-f]{20}$|" + bounds.SYMBOL + "$"
)


def _check(source: Kernel | Shared, native: Native, module: Any) -> None:
    foreign = sorted(f.name for f in module.functions if f.is_declaration and not _ALLOWED.match(f.name))
    if foreign:
        raise CompileError(f"{_subject(source)}: allocates, raises or calls Python ({', '.join(foreign)})")
    declared = repr(source.made_of(native.precision))
    mixed = isinstance(source, Kernel) and source.mixed
    if native.precision is np.float32 and not mixed and "f8" not in declared and re.search(r"\bdouble\b", str(module)):
        raise CompileError(f"{_subject(source)}: computes in float64; write constants as np.float32(...)")


def explain(error: Exception) -> str:
    """One line of what Numba says over many."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines()]
    for line in lines:
        if OURS in line:
            return line.split(OURS, 1)[1][:300]
    noise = ("Failed in", "During:", "File ", "No implementation", "There are", "-", "Of which", "Overload", "<source")
    told = [line for line in lines if line and not line.startswith(noise)]
    return (told or lines)[0][:200]
