"""Whether the simulator of CUDA takes the place of hardware in this process."""

import os
from importlib.util import find_spec

import pytest

simulated = pytest.mark.skipif(
    os.environ.get("NUMBA_ENABLE_CUDASIM") != "1" or find_spec("numba_cuda") is None,
    reason="runs in the simulator of CUDA: NUMBA_ENABLE_CUDASIM=1 with numba-cuda, see `make cuda`",
)
