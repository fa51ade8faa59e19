"""Code of records and primitives for the compiler of numba-cuda; `shinari.compute.backend` is that of the host.

Two things differ on a GPU: addresses of records are marked as addresses of global memory, and rows of 8 or 16 bytes are
loaded and stored at once.
"""

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from llvmlite import ir

from shinari.compute import primitives
from shinari.compute.cuda import ufuncs, words
from shinari.compute.cuda.api import internal
from shinari.compute.kernels import Function, Shared
from shinari.compute.record_types import Compiler, RecordTypes

# numba-cuda does not declare the types of these.
types, cgutils, models = internal("types"), internal("cgutils"), internal("datamodel.models")
imputils, templates = internal("core.imputils"), internal("typing.templates")
extending, compile_cuda = internal("extending"), internal("compiler").compile_cuda
CUDADispatcher: Any = internal("dispatcher").CUDADispatcher
lowering, lower_getattr_generic = imputils.builtin_registry, imputils.lower_getattr_generic
intrinsic, register_model, typeof_impl = extending.intrinsic, extending.register_model, extending.typeof_impl
from_dtype = internal("np.numpy_support").from_dtype

I64 = ir.IntType(64)
ufuncs.register()
GLOBAL = 1
"""Address space of the memory that records are in."""


RECORDS = RecordTypes(Compiler(types, templates, lowering, from_dtype, lambda message: None))
RecordType, ViewType, numba_type, _indices = RECORDS.record, RECORDS.view, RECORDS.of, RECORDS.indices


@register_model(RecordType)
class _RecordModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, I64.as_pointer())


@register_model(ViewType)
class _ViewModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, manager.lookup(kind.dtype).get_data_type().as_pointer())


def _global(builder: Any, address: Any, element: Any) -> Any:
    """A pointer to memory of records from an address; the compiler learns which memory it is."""
    pointer = builder.inttoptr(address, ir.PointerType(element, GLOBAL))
    return builder.addrspacecast(pointer, element.as_pointer())


def _invariant(builder: Any, value: Any) -> Any:
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@lower_getattr_generic(RecordType)
def _field(context: Any, builder: Any, kind: Any, table: Any, name: str) -> Any:
    slot = cgutils.gep_inbounds(builder, table, list(kind.cls.fields).index(name))
    address = _invariant(builder, builder.load(slot))
    return _global(builder, address, context.get_data_type(kind.field(name).dtype))


@lowering.lower(len, RecordType)
def _length(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    slot = len(sig.args[0].cls.fields)
    return _invariant(builder, builder.load(cgutils.gep_inbounds(builder, args[0], slot)))


def _cell(context: Any, builder: Any, view: Any, pointer: Any, kind: Any, index: Any) -> Any:
    """Pointer to where indices lead."""
    kinds = _indices(kind) or []
    values = cgutils.unpack_tuple(builder, index, len(kinds)) if isinstance(kind, types.BaseTuple) else [index]
    offset = I64(0)
    for k, (value, each) in enumerate(zip(values, kinds, strict=True)):
        wide = context.cast(builder, value, each, types.int64)
        stride = int(np.prod(view.shape[k:], dtype=np.int64))
        offset = builder.add(offset, builder.mul(wide, I64(stride), flags=("nsw",)), flags=("nsw",))
    return builder.gep(pointer, [offset], inbounds=True)


def vector_bytes(view: Any, item: Any) -> int:
    """Bytes of a row that is loaded at once: all rows of that view begin at a multiple of them; 0 for other rows."""
    size = item.count * (view.dtype.bitwidth // 8) if isinstance(view.dtype, types.Number) else 0
    return size if size in (8, 16) and item.count in (2, 4) else 0


@lowering.lower(operator.getitem, ViewType, types.Any)
def _get(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    view, item = sig.args[0], sig.return_type
    cell = _cell(context, builder, view, args[0], sig.args[1], args[1])
    if isinstance(item, ViewType):
        return cell
    if not isinstance(item, types.BaseTuple):
        return context.unpack_value(builder, item, cell)
    if size := vector_bytes(view, item):
        kind = ir.VectorType(context.get_data_type(view.dtype), item.count)
        row = builder.load(builder.bitcast(cell, kind.as_pointer()), align=size)
        parts = [builder.extract_element(row, ir.IntType(32)(k)) for k in range(item.count)]
    else:
        parts = [context.unpack_value(builder, view.dtype, _next(builder, cell, k)) for k in range(item.count)]
    return context.make_tuple(builder, item, parts)


@lowering.lower(operator.setitem, ViewType, types.Any, types.Any)
def _set(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    view, _, item = sig.args
    cell = _cell(context, builder, view, args[0], sig.args[1], args[1])
    if not isinstance(item, types.BaseTuple):
        context.pack_value(builder, view.dtype, args[2], cell)
        return context.get_dummy_value()
    parts = cgutils.unpack_tuple(builder, args[2], item.count)
    if size := vector_bytes(view, item):
        kind = ir.VectorType(context.get_data_type(view.dtype), item.count)
        row = ir.Constant(kind, ir.Undefined)
        for k, part in enumerate(parts):
            row = builder.insert_element(row, part, ir.IntType(32)(k))
        builder.store(row, builder.bitcast(cell, kind.as_pointer()), align=size)
    else:
        for k, part in enumerate(parts):
            context.pack_value(builder, view.dtype, part, _next(builder, cell, k))
    return context.get_dummy_value()


def _next(builder: Any, cell: Any, k: int) -> Any:
    return builder.gep(cell, [I64(k)], inbounds=True)


@typeof_impl.register(Function)
@typeof_impl.register(Shared)
def _typeof_function(function: Function | Shared, _: Any) -> Any:
    return _device_function(function)._numba_type_


@cache
def _device_function(function: Function | Shared) -> Any:
    """What the compiler calls a function by. A shared one is not copied into its callers."""
    return DeviceFunction(function.python_function, forceinline=isinstance(function, Function))


class DeviceFunction(CUDADispatcher):
    """A function on the device. It is compiled for `capability`; numba-cuda would ask the device at hand."""

    capability: tuple[int, int] = (9, 0)

    def __init__(self, python_function: Callable, forceinline: bool) -> None:
        super().__init__(python_function, {"device": True, "forceinline": forceinline, "opt": True})

    def compile_device(self, args: Any, return_type: Any = None) -> Any:
        """Type and lower it for types of arguments, once."""
        if args not in self.overloads:
            with self._compiling_counter:
                forced, capability = self.targetoptions["forceinline"], DeviceFunction.capability
                options = {"opt": 3, "fastmath": False}
                found = compile_cuda(
                    self.py_func, return_type, args, forceinline=forced, nvvm_options=options, cc=capability
                )
                self.overloads[args] = found
                found.target_context.insert_user_function(found.entry_point, found.fndesc, [found.library])
        return self.overloads[args]


def argument(kind: Any, slot: int) -> Any:
    """Intrinsic that reads an argument of a launch from its table: the table of a record, or a number."""

    @intrinsic
    def read(typing_context: Any, table: Any) -> Any:
        def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            pointer = _global(builder, args[0], I64)
            cell = cgutils.gep_inbounds(builder, pointer, slot)
            if isinstance(kind, RecordType):
                return _global(builder, _invariant(builder, builder.load(cell)), I64)
            target = context.get_data_type(kind)
            value = _invariant(builder, builder.load(builder.bitcast(cell, target.as_pointer())))
            return context.data_model_manager[kind].from_data(builder, value)

        return kind(types.int64), lower

    return read


# ---- primitives ----


@RECORDS.primitive(words.load_word, [types.int64], types.int64)
def _load_word(builder: Any, address: Any) -> Any:
    return builder.load(_global(builder, address, I64), align=8)


@RECORDS.primitive(words.store_word, [types.int64, types.int64], types.none)
def _store_word(builder: Any, address: Any, value: Any) -> None:
    builder.store(value, _global(builder, address, I64), align=8)


@RECORDS.primitive(words.load_words, [types.int64] * 4, types.UniTuple(types.int64, 4))
def _load_words(builder: Any, *addresses: Any) -> Any:
    # as they stand here: the compiler would move a load behind the branch that may not need it
    loads = " ".join(f"ld.global.b64 ${k}, [${4 + k}];" for k in range(4))
    kind = ir.LiteralStructType([I64] * 4)
    found = builder.asm(ir.FunctionType(kind, [I64] * 4), loads, "=&l,=&l,=&l,=&l,l,l,l,l", addresses, True)
    row = ir.Constant(ir.ArrayType(I64, 4), ir.Undefined)
    for k in range(4):
        row = builder.insert_value(row, builder.extract_value(found, k), k)
    return row


@RECORDS.primitive(words.follow, [], types.none)
def _follow(builder: Any) -> None:
    if DeviceFunction.capability >= words.FOLLOWS:
        text = "griddepcontrol.wait; griddepcontrol.launch_dependents;"
        builder.asm(ir.FunctionType(ir.VoidType(), []), text, "~{memory}", [], True)


@RECORDS.primitive(words.keep_loop, [], types.none)
def _keep_loop(builder: Any) -> None:
    call = builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], True)
    call.attributes.add("convergent")


@lowering.lower(primitives.scratch, types.Any, types.Any)
def _lower_scratch(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    sizes = list(sig.args[0]) if isinstance(sig.args[0], types.BaseTuple) else [sig.args[0]]
    count = int(np.prod([size.literal_value for size in sizes]))
    value = context.get_data_type(sig.return_type.dtype)
    with builder.goto_entry_block():
        memory = builder.alloca(ir.ArrayType(value, count))
        memory.align = 16
    return builder.bitcast(memory, value.as_pointer())
