"""Says that kernels are being compiled, the first time a kind of scene runs on a machine."""

import hashlib
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numba
from numba.core.errors import NumbaError

import shinari
from shinari.errors import SceneError
from shinari.solver.rendered import kernel_folder

# Seconds after which work that may be compiling says so; what is found in the cache is loaded sooner.
PATIENCE = 0.4


@contextmanager
def announce(kernels: Sequence[str]) -> Iterator[None]:
    """Print a line during and after work that compiles kernels not compiled on this machine before."""
    text = "\0".join((*kernels, numba.__version__, _installation()))
    mark = kernel_folder() / f"compiled-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if mark.exists():
        yield
        return
    told = threading.Event()

    def tell() -> None:
        told.set()
        print("shinari: compiling for this machine, once; later runs start at once ...", file=sys.stderr, flush=True)

    begun = time.perf_counter()
    timer = threading.Timer(PATIENCE, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
    if told.is_set():
        print(f"shinari: compiled in {time.perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    mark.touch()


@lru_cache(maxsize=1)
def _installation() -> str:
    """Where the package is and how old: kernels that are not rendered are cached beside their source."""
    folder = Path(shinari.__file__).parent
    return f"{folder} {max(path.stat().st_mtime_ns for path in folder.rglob('*.py'))}"


def uncompilable(thing: str, error: NumbaError) -> SceneError:
    """What to raise when a function of the user cannot be compiled, in one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    noise = ("Failed in", "During:", "File ", "No implementation", "There are", "-", "Of which", "Overload", "<source")
    told = [line for line in lines if line and not line.startswith(noise)]
    return SceneError(f"{thing}: cannot be compiled as it is called: {(told or lines)[0][:200]}")
