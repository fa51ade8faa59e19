"""Kernels as PTX: rendered from the same bodies, compiled by numba-cuda, kept in the cache by what they are made of."""

import hashlib
import importlib.metadata
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from shinari.compute import cached_files, compiling
from shinari.compute.cuda import words
from shinari.compute.cuda.api import compiler, internal
from shinari.compute.cuda.tuples import split_tuples
from shinari.compute.entries import entry
from shinari.compute.kernels import CompileError, Function, Kernel, Shared, dependencies, referenced
from shinari.compute.progress import Progress

SYMBOL = "shinari_entry"


def ptx(kernel: Kernel, precision: type, capability: tuple[int, int]) -> str:
    """PTX of the entry of a kernel, named `SYMBOL`, from the cache or compiled now.

    Args:
        kernel: The kernel.
        precision: What `real` means.
        capability: Compute capability of the device, such as (9, 0).

    Raises:
        CompileError: It does not compile.
    """
    return ptx_of_all([(kernel, precision)], capability)[0]


def ptx_of_all(kernels: list[tuple[Kernel, type]], capability: tuple[int, int]) -> list[str]:
    """PTX of kernels; see `ptx`. Where several are missing, several processes compile them."""
    names = [file_of(*each, capability) for each in kernels]
    found = [cached_files.read_cached("ptx", name) for name in names]
    missing = [number for number, data in enumerate(found) if data is None]
    if len(missing) > 1 and compiling.processes() > 1:
        # what each child would load again
        compiled(words.set_word, np.float32, capability)
        progress = Progress(len(missing))
        cached_files.cache_folder("ptx")  # children write to that of this process
        compiling.in_children(lambda k, _: bool(ptx(*kernels[missing[k]], capability)), len(missing), progress)
        progress.finish(kept=cached_files.is_kept("ptx"))
        for number in missing:
            found[number] = cached_files.read_cached("ptx", names[number])
    texts = []
    for each, name, there in zip(kernels, names, found, strict=True):
        text = compiled(*each, capability) if there is None else there[0].decode()
        if there is None:
            cached_files.write_verified(cached_files.cache_folder("ptx") / name, text.encode())
        texts.append(text)
    return texts


def file_of(kernel: Kernel, precision: type, capability: tuple[int, int]) -> str:
    """Name of the file of the PTX of a kernel in the cache."""
    made_of = (toolchain(), capability, kernel.made_of(precision), dependencies(kernel.python_function, precision))
    return f"{kernel.name}_{hashlib.sha256(repr(made_of).encode()).hexdigest()[:20]}.ptx"


@cache
def toolchain() -> tuple:
    """Versions of what compiles, and of the files that turn kernels into PTX.

    NVVM does not tell its release, which decides whether a driver can load its PTX: the size of its library does.
    """
    folder, total = Path(__file__).parent, hashlib.sha256()
    files = "extension.py", "ptx.py", "tuples.py", "words.py", "../entries.py", "../record_types.py"
    for name in files:
        total.update((folder / name).read_bytes())
    nvvm = Path(import_module("cuda.pathfinder").load_nvidia_dynamic_lib("nvvm").abs_path)
    versions = importlib.metadata.version("numba-cuda"), importlib.metadata.version("numpy")
    return *versions, nvvm.stat().st_size, total.hexdigest()


def compiled(kernel: Kernel, precision: type, capability: tuple[int, int]) -> str:
    """PTX of the entry of a kernel, compiled now."""
    from shinari.compute.backend import explain
    from shinari.compute.cuda.extension import DeviceFunction, argument, numba_type

    internals, types, nvvm = internal("compiler"), internal("types"), internal("cudadrv.nvvm")
    kinds = [numba_type(kind, precision) for _, kind in kernel.parameters]
    cuda = compiler()
    DeviceFunction.capability = capability
    body = DeviceFunction(entry(kernel, lambda k: argument(kinds[k], k)), forceinline=True)
    # products and sums are contracted in all of a kernel or in none of it
    options = {"opt": 3, "fma": int(contracts(kernel, set()))}
    try:
        result = internals.compile_cuda(
            grid_loop(cuda, body), types.void, (types.int64,) * 7, nvvm_options=options, cc=capability
        )
    except internal("core.errors").NumbaError as error:
        subject = f"{kernel.subject}: cannot be compiled as it is called" if kernel.subject else kernel.name
        raise CompileError(f"{subject}: {explain(error)}") from error
    library = result.library
    name = result.fndesc.llvm_func_name
    library._entry_name = name
    internals.kernel_fixup(library.get_function(name), False)
    nvvm.set_launch_bounds(library.get_function(name), THREADS)
    library._llvm_strs = [split_tuples(text) for text in library.llvm_strs]
    return library.get_asm_str(cc=capability).replace(name, SYMBOL)


THREADS = 128
"""Most threads of a block, known to the compiler, which gives each as many registers as that allows."""


def grid_loop(cuda: Any, body: Any) -> Any:
    """The entry: threads take items in strides while the run goes on and the gate is open."""
    follow, keep_loop, load_word, load_words = words.follow, words.keep_loop, words.load_word, words.load_words

    def run(control, gate, arguments, begin, end, table, worlds):  # type: ignore[no-untyped-def]
        follow()
        world = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
        if worlds > 0:
            if world >= worlds:
                return
            row = table + 40 * world
            control, gate, arguments = load_word(row), load_word(row + 8), load_word(row + 16)
            begin, end = load_word(row + 24), load_word(row + 32)
        halted, is_open, first, stop = load_words(control, gate, begin, end)
        if halted == 0 and is_open != 0:
            stride = np.int32(cuda.gridDim.y * cuda.blockDim.x)
            i = first + cuda.blockIdx.y * cuda.blockDim.x + cuda.threadIdx.x
            # in 32 bits: one register less that lives through the body
            left = np.int32(stop - i)
            while left > 0:
                body(arguments, i, i + 1)
                i += stride
                left = np.int32(left - stride)
                keep_loop()

    return run


def contracts(source: Kernel | Function | Shared, seen: set[int]) -> bool:
    """Whether products and sums may be contracted in a kernel and all that it calls."""
    seen.add(id(source))
    callees = [value for _, value in referenced(source.python_function) if isinstance(value, (Function, Shared))]
    return "contract" in source.fastmath and all(contracts(each, seen) for each in callees if id(each) not in seen)
