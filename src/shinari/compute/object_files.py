"""Object files of kernels: where they lie, how they are loaded, and who compiles what is missing.

A file is named by the hash of all that it is made of, so that a file that is there is right, and never changes. Folders
are searched in turn: that of the user, then the one that comes with the package. A file ends with its own digest; one
that is damaged counts as missing.
"""

import platform
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shinari import check, variables
from shinari.compute import bounds, cached_files
from shinari.compute.once import LOCK
from shinari.errors import SceneError

if TYPE_CHECKING:
    from shinari.compute.kernels import Native

# What every x86-64 processor since 2013 (Intel) and 2015 (AMD) has: kernels are compiled for it wherever they run, so
# that results do not depend on the processor.
BASELINE = "x86-64-v3"
_V3 = ("avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")

SHIPPED = Path(__file__).parent / "objects"
loaded: dict[str, Path] = {}
"""Symbols that this process loaded, and from where."""
_unwritten: dict[str, bytes] = {}
"""Object code that could not be written."""


def _llvm() -> Any:
    """LLVM, imported when it is first used: a script that only describes a scene does without."""
    import llvmlite.binding

    return llvmlite.binding


@cache
def triple() -> str:
    """The platform."""
    return _llvm().get_process_triple()


@cache
def processor() -> str:
    """The processor for which kernels are compiled; `SHINARI_CPU` names another one, `native` means this one.

    Raises:
        SceneError: LLVM does not know that name, or compiles nothing for it here.
    """
    wanted = variables.read("SHINARI_CPU")
    if wanted and wanted != "native":
        _require_processor(wanted)
        return wanted
    features = _llvm().get_host_cpu_features()
    if not wanted and platform.machine() in ("x86_64", "AMD64") and all(map(features.get, _V3)):
        return BASELINE
    return _llvm().get_host_cpu_name()


_TRY_PROCESSOR = """
import sys
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
machine = llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(cpu=sys.argv[1])
machine.emit_object(llvm.parse_assembly("define i64 @f(i64 %a) { ret i64 %a }"))
"""


def _require_processor(name: str) -> None:
    """See to it that LLVM compiles for a processor, in another process: it ends the one in which it does not."""
    if name in (BASELINE, _llvm().get_host_cpu_name()):
        return
    tried = subprocess.run([sys.executable, "-c", _TRY_PROCESSOR, name], capture_output=True, text=True)
    if tried.returncode or "not a recognized processor" in tried.stderr:
        raise SceneError(
            f"environment: SHINARI_CPU: expected native, or a processor of this platform that LLVM knows, such as "
            f"{_llvm().get_host_cpu_name()}, got {check.short(name)}"
        )


def folder() -> Path:
    """Folder of the object files of this user."""
    return cached_files.cache_folder("objects")


def read(symbol: str) -> tuple[bytes, Path] | None:
    """The object code of a symbol and its file; None when there is none, or a damaged one."""
    if symbol in _unwritten:
        return _unwritten[symbol], Path()
    if (found := cached_files.read_cached("objects", f"{symbol}.o")) is not None:
        return found
    path = SHIPPED / f"{symbol}.o"
    data = cached_files.read_verified(path)
    return None if data is None else (data, path)


def write(symbol: str, data: bytes) -> Path:
    """Keep the object code of a symbol in a file, which is returned; or in this process where that fails."""
    path = folder() / f"{symbol}.o"
    if cached_files.write_verified(path, data):
        return path
    _unwritten[symbol] = data
    return Path()


def is_kept() -> bool:
    """Whether the next process finds what this one compiled."""
    return not _unwritten and cached_files.is_kept("objects")


def load(natives: "Iterable[Native]") -> None:
    """Bring machine code into memory, callees first; what is in no folder is compiled."""
    with LOCK:
        wanted = order(natives)
        found = {native.symbol: read(native.symbol) for native in wanted if native.symbol not in loaded}
        missing = [native for native in wanted if found.get(native.symbol, True) is None]
        if missing:
            from shinari.compute.compiling import compile_missing

            found |= compile_missing(missing)
        for native in wanted:
            if native.symbol not in loaded:
                data, path = found[native.symbol]  # type: ignore[misc]
                native.loaded(link(native.symbol, data))
                loaded[native.symbol] = path
            else:
                native.loaded(_addresses[native.symbol])


def order(natives: "Iterable[Native]") -> "list[Native]":
    """Natives and all that they call, callees first, each once."""
    result: dict[str, Any] = {}

    def visit(native: "Native") -> None:
        if native.symbol not in result:
            for callee in native.callees():
                visit(callee)
            result[native.symbol] = native

    for native in natives:
        visit(native)
    return list(result.values())


_addresses: dict[str, int] = {}


def reference(symbol: str) -> str:
    """Name by which other object code calls a symbol.

    It is not the symbol itself: the linker would reach what it has loaded itself by a jump of at most 2 GiB. It reaches
    a name that it does not know by an address of 64 bits.
    """
    return f"far_{symbol}"


def link(symbol: str, data: bytes) -> int:
    """Load object code into the process; its symbol can be called from then on, from other object code, too."""
    engine, llvm = _engine(), _llvm()
    engine.add_object_file(llvm.ObjectFileRef.from_data(data))
    engine.finalize_object()
    address = engine.get_function_address(symbol)
    llvm.add_symbol(reference(symbol), address)
    _addresses[symbol] = address
    return address


@cache
def _engine() -> Any:
    llvm = _llvm()
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    if bounds.CHECKED:
        llvm.add_symbol(bounds.SYMBOL, bounds.address())
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    # sections of one object lie together in one mapping: code reaches its constants by 32 bits
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine, use_lmm=True)
