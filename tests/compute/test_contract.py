"""What the execution layer relies on: the internals of Numba and llvmlite, and rules that its sources keep."""

import ast
import contextlib
import dis
import importlib
import inspect
import pkgutil
import sys
import types
import warnings
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm
import numba
import numba.core.types as numba_types
import pytest
from llvmlite import ir
from numba.core import cgutils, codegen, compiler
from numba.core.imputils import builtin_registry as lowering
from numba.core.registry import cpu_target
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate
from numba.core.typing.templates import builtin_registry as typing

import shinari
from shinari.compute.kernels import Kernel, global_names
from shinari.errors import MissingExtraError

SOURCE = Path(shinari.__file__).parent
COMPILER = {"compute/backend.py", "compute/object_files.py", "compute/cuda/extension.py"}
"""The files that may import Numba and llvmlite."""
MOST = 12
"""Parameters of a kernel, its item included."""


# ---- Numba and llvmlite ----

INSIDE = [
    (codegen.AOTCodeLibrary, "_optimize_functions _optimize_final_module create_ir_module add_ir_module finalize"),
    (codegen.AOTCodeLibrary, "add_linking_library"),
    (codegen.AOTCPUCodegen, "_library_class create_library _create_empty_module"),
    (type(cpu_target.target_context), "codegen refresh get_data_type get_value_type make_tuple cast unpack_value"),
    (type(cpu_target.target_context), "pack_value get_dummy_value declare_function call_conv"),
    (cgutils, "create_struct_proxy gep_inbounds get_or_insert_function global_constant make_bytearray unpack_tuple"),
    (compiler, "compile_extra Flags Compiler"),
    (compiler.DefaultPassBuilder, "define_nopython_pipeline"),
    (compiler.Flags, "no_compile"),
    (lowering, "lower"),
    (typing, "register_attr register_global"),
    (AttributeTemplate, "generic_resolve"),
    (AbstractTemplate, "prefer_literal"),
    (numba.config, "SLP_VECTORIZE"),
    (numba_types, "CPointer UniTuple Tuple BaseTuple Integer IntegerLiteral Number Function Type unliteral"),
    (ir.IRBuilder, "load_atomic store_atomic atomic_rmw cmpxchg gep alloca goto_entry_block if_then asm"),
    (ir.Instruction, "set_metadata"),
    (ir.Module, "add_metadata declare_intrinsic"),
    (
        llvm,
        "create_mcjit_compiler parse_assembly get_host_cpu_features get_host_cpu_name get_process_triple add_symbol",
    ),
    (llvm, "initialize_native_target initialize_native_asmprinter initialize_native_asmparser"),
    (llvm.ObjectFileRef, "from_data"),
    (llvm.ExecutionEngine, "add_object_file finalize_object get_function_address"),
    (llvm.TargetMachine, "emit_object"),
]
"""Attributes that the execution layer uses or replaces; its other tests compile and run with all of them."""


@pytest.mark.parametrize(("owner", "names"), INSIDE, ids=lambda value: getattr(value, "__name__", ""))
def test_internals_are_there(owner, names):
    assert [name for name in names.split() if not hasattr(owner, name)] == []


def test_what_is_replaced_is_what_is_called():
    """`AOTCodeLibrary` optimises by the two methods that `backend` overrides, and in no other place."""
    library = inspect.getsource(codegen.CPUCodeLibrary)
    assert "self._optimize_functions(ll_module)" in library
    assert "self._optimize_final_module()" in library
    assert library.count("_module_pass_manager") >= 1


def test_passes_that_are_left_out_are_there():
    """A renamed pass would be run again, and nobody would notice."""
    from shinari.compute.backend import ONCE, SKIPPED

    state = types.SimpleNamespace(func_ir=None, flags=compiler.Flags())
    names = [each.name() for each, _ in compiler.DefaultPassBuilder.define_nopython_pipeline(state).passes]
    assert set(names) >= SKIPPED | ONCE
    assert all(names.count(name) > 1 for name in ONCE)


def test_objects_of_the_code_generator():
    from shinari.compute.backend import _codegen

    generator = _codegen()
    assert isinstance(generator._tm, llvm.TargetMachine)
    assert generator._data_layout
    assert generator.create_library("empty")._final_module is not None
    assert cpu_target.target_context._internal_codegen is not generator


def test_objects_are_kept_together_in_memory():
    """MCJIT takes `use_lmm`, without which code may lie too far from its constants."""
    assert "use_lmm" in inspect.signature(llvm.create_mcjit_compiler).parameters


# ---- sources ----


@cache
def sources() -> dict[str, ast.Module]:
    return {p.relative_to(SOURCE).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in SOURCE.rglob("*.py")}


def test_the_compiler_is_imported_in_few_files():
    found = set()
    for name, tree in sources().items():
        for node in ast.walk(tree):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if any(module.split(".")[0] in ("numba", "llvmlite") for module in modules):
                found.add(name)
    assert found == COMPILER


def test_no_loop_is_parallel_for_numba():
    found = []
    for name, tree in sources().items():
        for node in ast.walk(tree):
            named = {getattr(node, "id", None), getattr(node, "attr", None), getattr(node, "name", None)}
            parallel = isinstance(node, ast.keyword) and node.arg == "parallel"
            if "prange" in named or parallel:
                found.append(f"{name}:{getattr(node, 'lineno', 0)}")
    assert found == []


def kernels() -> list[Kernel]:
    """Kernels of all modules of the package."""
    found = {}
    # an extra that is not installed raises in both places
    for module in pkgutil.walk_packages(shinari.__path__, "shinari.", onerror=lambda name: None):
        if module.name.endswith("__main__"):
            continue
        with warnings.catch_warnings(), contextlib.suppress(ModuleNotFoundError, MissingExtraError):
            warnings.simplefilter("ignore")
            importlib.import_module(module.name)
    modules = [module for name, module in sys.modules.items() if name.startswith("shinari.")]
    for imported in modules:
        found |= {id(value): value for value in vars(imported).values() if isinstance(value, Kernel)}
    return list(found.values())


def test_globals_are_those_that_dis_finds():
    codes = [kernel.python_function.__code__ for kernel in kernels()]
    for code in codes:
        loads = [step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"]
        assert global_names(code) == tuple(dict.fromkeys(loads))
    assert any(map(global_names, codes))


def test_globals_with_long_numbers_are_found():
    names = [f"name_{k}" for k in range(1000)]
    scope = {}
    exec("def long():\n    return " + ", ".join(names), scope)
    assert global_names(scope["long"].__code__) == tuple(names)


def test_no_kernel_has_many_parameters():
    every = kernels()
    assert len(every) > 100
    many = {f"{k.__module__}.{k.name}": len(k.parameters) + 1 for k in every if len(k.parameters) + 1 > MOST}
    assert many == {}
