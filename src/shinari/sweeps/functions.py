"""Functions of the user, named by `module:function`, so that a process anywhere can import them.

Nothing is pickled: a function is told to other processes by its name and by the file or folder that it comes from.
"""

import hashlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from shinari import check
from shinari.errors import SceneError

NAME = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_known: dict["Function", Callable[..., Any]] = {}
"""Functions that this process was given: their files are not imported once more."""
IMPORTING = "SHINARI_SWEEP_MEMBER"
"""Variable of the environment of processes that run members."""


class Function(msgspec.Struct, frozen=True, kw_only=True):
    """Where a function is.

    Attributes:
        module: Name of the module; of a script, that of its file.
        name: Name of the function in it.
        folder: Folder that the module is imported from, for one that is not installed.
        file: File of a script, which no name can import.
        digest: Hash of the text of the function.
    """

    module: str
    name: str
    folder: str = ""
    file: str = ""
    digest: str = ""

    def __str__(self) -> str:
        return f"{self.module}:{self.name}"


def is_name(text: Any) -> bool:
    """Whether a text is of the form `module:function`."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None


def function_named(field: str, text: str) -> Function:
    """The function `module:function`, which is imported now, from the current folder or from what is installed.

    Raises:
        SceneError: There is none.
    """
    module, _, name = text.partition(":")
    folder = os.getcwd()
    try:
        found = getattr(_module(module, folder, ""), name, None)
    except SceneError as error:
        raise SceneError(f"sweep: {field}: {text}: {error}") from error
    if not callable(found):
        known = [key for key, value in vars(sys.modules[module]).items() if callable(value) and key[0] != "_"]
        raise SceneError(f"sweep: {field}: {module} has no function {name}; it has {check.names(known, near=name)}")
    return Function(module=module, name=name, folder=folder, digest=_digest(found))


def function_given(field: str, given: Callable[..., Any]) -> Function:
    """A function of a module or a script as others can import it.

    Raises:
        SceneError: It stands inside another function, or in no file.
    """
    name, module = getattr(given, "__qualname__", ""), getattr(given, "__module__", None) or ""
    codes = [function.__code__ for function in _plain_functions(given)]
    file = codes[0].co_filename if codes else None
    if not name.isidentifier() or file is None or not Path(file).is_file():
        raise SceneError(
            f"sweep: {field}: {check.short(given)} cannot be imported by other processes; expected a function that "
            "stands at the top of a file"
        )
    path = Path(file).resolve()
    if _importable(module, path):
        folder = path.parents[module.count(".") + (path.name == "__init__.py")]
        function = Function(module=module, name=name, folder=str(folder), digest=_digest(given))
    else:
        function = Function(module=path.stem, name=name, file=str(path), digest=_digest(given))
    _known[function] = given
    return function


def load(function: Function) -> Callable[..., Any]:
    """Import a function.

    Raises:
        SceneError: It cannot be imported.
    """
    if function in _known:
        return _known[function]
    found = getattr(_module(function.module, function.folder, function.file), function.name, None)
    if not callable(found):
        raise SceneError(f"{function}: there is no such function on this machine")
    return found


def parameters_of(function: Callable[..., Any]) -> tuple[list[str], list[str], bool]:
    """Names of the parameters of a function, those that have no default, and whether it takes any name."""
    names, needed, every = [], [], False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            every = True
        elif parameter.kind is not inspect.Parameter.VAR_POSITIONAL:
            names.append(parameter.name)
            if parameter.default is inspect.Parameter.empty:
                needed.append(parameter.name)
    return names, needed, every


def _importable(module: str, path: Path) -> bool:
    """Whether a module of that name is that file."""
    if module in ("", "__main__", "__mp_main__"):
        return False
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return False
    return found is not None and found.origin is not None and Path(found.origin).resolve() == path


def _module(name: str, folder: str, file: str) -> ModuleType:
    if file:
        return _script(name, file)
    if folder and folder not in sys.path:
        # behind what is installed: a file beside a script must not take the place of a package
        sys.path.append(folder)
    try:
        return importlib.import_module(name)
    except Exception as error:  # the boundary to the code of the user
        raise SceneError(f"cannot be imported: {type(error).__name__}: {check.plain(str(error))}") from error


def _script(name: str, file: str) -> ModuleType:
    """A script as a module, run once in a process."""
    known = f"shinari_script_{hashlib.sha256(file.encode()).hexdigest()[:12]}"
    if known in sys.modules:
        return sys.modules[known]
    spec = importlib.util.spec_from_file_location(known, file)
    if spec is None or spec.loader is None:
        raise SceneError(f"{file}: is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[known] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # the boundary to the code of the user
        del sys.modules[known]
        raise SceneError(f"{file}: cannot be imported: {type(error).__name__}: {check.plain(str(error))}") from error
    return module


def _plain_functions(given: Callable[..., Any]) -> list[Any]:
    """A function without its decorators, or the functions of a class, in which Python keeps where they stand."""
    parts = list(vars(given).values()) if inspect.isclass(given) else [given]
    return [part for part in map(inspect.unwrap, filter(callable, parts)) if inspect.isfunction(part)]


def _digest(function: Callable[..., Any]) -> str:
    try:
        text = "\n".join(inspect.getsource(part) for part in _plain_functions(function))
    except (OSError, TypeError):  # of a module that is compiled
        text = ""
    return hashlib.sha256(text.encode()).hexdigest()[:16]
