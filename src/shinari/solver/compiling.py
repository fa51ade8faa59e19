"""Says that kernels are being compiled, the first time a kind of scene runs on a machine."""

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numba

import shinari
from shinari.solver.rendered import kernel_folder


@contextmanager
def announce(kernels: Sequence[str]) -> Iterator[None]:
    """Print a line before and after work that compiles kernels not compiled on this machine before."""
    text = "\0".join((*kernels, numba.__version__, shinari.__version__))
    mark = kernel_folder() / f"compiled-{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    if mark.exists():
        yield
        return
    print("shinari: compiling for this machine, once; later runs start at once ...", file=sys.stderr, flush=True)
    begun = time.perf_counter()
    yield
    print(f"shinari: compiled in {time.perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    mark.touch()
