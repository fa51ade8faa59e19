"""Whether kernels run on a device in this process: in the simulator of CUDA, or on hardware."""

import os
from functools import cache
from importlib.util import find_spec

import pytest


def _simulator() -> bool:
    return os.environ.get("NUMBA_ENABLE_CUDASIM") == "1" and find_spec("numba_cuda") is not None


@cache
def _device() -> bool:
    if _simulator() or find_spec("numba_cuda") is None:
        return _simulator()
    from shinari.compute.cuda.api import status

    return not status().startswith("none")


on_device = pytest.mark.skipif(
    not _device(),
    reason="runs on a GPU, or in the simulator of CUDA: NUMBA_ENABLE_CUDASIM=1 with numba-cuda, see `make cuda`",
)
in_simulator = pytest.mark.skipif(
    not _simulator(), reason="runs in the simulator of CUDA, whose memory is that of the process: see `make cuda`"
)
