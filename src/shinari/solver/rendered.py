"""Kernels that are rendered as modules of their own, so that their compiled code is found again by the next process.

Numba looks a compiled function up by its file. A kernel that closes over a user's function has no file, so it would be
compiled anew in every process; one that imports the function from a module is found in 2 ms. The name of the rendered
module holds a hash of everything the kernel depends on, since Numba does not notice that a callee has been edited.
"""

import hashlib
import inspect
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import Any

import numba
import numpy as np

from shinari.compute.files import cache_folder, warn_of_cache, write_whole
from shinari.maths.function import FLAGS
from shinari.maths.threads import held_at_fork

# A module is seen by other threads when it is complete.
_lock = held_at_fork(threading.RLock())
_rendered: dict[tuple, ModuleType] = {}
# The setting itself is another one while a thread compiles a kernel without packing.
_PACKING = f"slp={numba.config.SLP_VECTORIZE}"  # type: ignore[attr-defined]


def kernel_folder() -> Path:
    """Folder of the rendered modules."""
    return cache_folder("kernels")


def render(name: str, template: str, functions: dict[str, Any]) -> ModuleType:
    """Import the module made from a template, from the cache when nothing it depends on has changed.

    Args:
        name: Name of the kernel, for people who read a profile.
        template: Source, with `{imports}` and `{cache}` where the imports and the cache flag of Numba go.
        functions: Compiled functions that the source calls, by the names it uses.
    """
    key = (name, template, tuple(functions.items()))
    with _lock:
        module = _rendered.get(key)
        if module is None:
            module = _rendered[key] = _render(*key)
        return module


def _render(name: str, template: str, functions: tuple[tuple[str, Any], ...]) -> ModuleType:
    homes = {alias: _home(function) for alias, function in functions}
    if not all(homes.values()):
        return _in_memory(name, template, functions)
    imports = "\n".join(f"from {home[0]} import {home[1]} as {alias}" for alias, home in homes.items() if home)
    source = template.replace("{imports}", imports).replace("{cache}", "True")
    # a set prints in another order in each process
    flags = sorted(f"{flag}={sorted(value) if isinstance(value, set) else value}" for flag, value in FLAGS.items())
    parts = [source, numba.__version__, np.__version__, *flags, _PACKING]
    parts += [text for _, function in functions for text in _dependencies(function)]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:20]
    module_name = f"shinari_kernel_{name}_{digest}"
    if module_name in sys.modules:
        return sys.modules[module_name]
    path = kernel_folder() / f"{module_name}.py"
    try:
        _keep(path, source)
    except OSError as error:
        warn_of_cache(path.parent, f"cannot be written ({error.strerror}); the next process compiles anew")
        return _in_memory(name, template, functions)
    module = ModuleType(module_name)
    module.__file__ = str(path)
    # not imported from the file, which another process may change, nor from what Python makes of it
    exec(compile(source, path, "exec"), vars(module))
    sys.modules[module_name] = module
    return module


def _in_memory(name: str, template: str, functions: tuple[tuple[str, Any], ...]) -> ModuleType:
    """The module of a kernel that the next process cannot find again."""
    source = template.replace("{imports}", "").replace("{cache}", "False")
    module = ModuleType(f"shinari_kernel_{name}")
    vars(module).update(functions)
    exec(compile(source, f"<shinari kernel {name}>", "exec"), vars(module))
    return module


def _keep(path: Path, source: str) -> None:
    """Write the source of a module where it is not there or damaged.

    Raises:
        OSError: It can be neither read nor written.
    """
    wanted = source.encode()
    try:
        found = path.read_bytes()
    except FileNotFoundError:
        found = wanted[:0]
    else:
        if found != wanted:
            warn_of_cache(path.parent, f"{path.name} is damaged; such files are written anew")
    if found != wanted:
        write_whole(path, wanted)


def _home(function: Any) -> tuple[str, str] | None:
    """Module and name from which a compiled function can be imported in another process; None: it cannot."""
    python_function = function.py_func
    module, name = python_function.__module__, python_function.__name__
    if module in ("__main__", None) or getattr(sys.modules.get(module), name, None) is not function:
        return None
    file = getattr(sys.modules[module], "__file__", None)
    return (module, name) if file and Path(file).exists() else None


def _dependencies(function: Any, seen: set[int] | None = None) -> list[str]:
    """Source of a compiled function and of all that it calls, and the value of every constant it reads."""
    seen = set() if seen is None else seen
    if id(function) in seen:
        return []
    seen.add(id(function))
    python_function = function.py_func
    texts = [inspect.getsource(python_function)]
    names = sorted(_names(python_function.__code__))
    readable = {name: python_function.__globals__.get(name) for name in names}
    modules = [value for value in readable.values() if isinstance(value, ModuleType)]
    for module in modules:
        # names read as `module.name`; which of them belongs to which module does not matter for a hash
        found = {f"{module.__name__}.{name}": getattr(module, name, None) for name in names}
        modules += [value for value in found.values() if isinstance(value, ModuleType) and value not in modules]
        readable |= found
    for name, value in readable.items():
        texts += _constant(name, value, seen)
    return texts


def _constant(name: str, value: Any, seen: set[int]) -> list[str]:
    """What the hash has to know of a value that a compiled function reads."""
    if hasattr(value, "py_func"):
        return _dependencies(value, seen)
    if isinstance(value, tuple):
        return [text for k, item in enumerate(value) for text in _constant(f"{name}[{k}]", item, seen)]
    if isinstance(value, (int, float, complex, str, np.generic)):
        return [f"{name}={value!r}"]
    if isinstance(value, np.ndarray):
        return [f"{name}={value.dtype}{value.shape}{value.tobytes().hex()}"]
    return []


def _names(code: Any) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if inspect.iscode(constant):
            names |= _names(constant)
    return names
