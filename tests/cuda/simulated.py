"""Whether kernels run on a device in this process: the simulator of CUDA, or hardware."""

import os
from importlib.util import find_spec

import pytest


def _missing() -> bool:
    if find_spec("numba_cuda") is None:
        return True
    if os.environ.get("NUMBA_ENABLE_CUDASIM") == "1":
        return False
    from shinari.compute.cuda.api import status

    return status().startswith("none")


simulated = pytest.mark.skipif(
    _missing(),
    reason="runs in the simulator of CUDA: NUMBA_ENABLE_CUDASIM=1 with numba-cuda, see `make cuda`",
)
