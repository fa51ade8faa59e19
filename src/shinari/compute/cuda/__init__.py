"""The execution layer on an NVIDIA GPU: the same kernels, records on the device, programs played there.

- `api`: numba-cuda, chosen in one line; the device, and what is missing where there is none
- `memory`: copies of host arrays on the device, brought over when they are asked for
- `transfers`: copies to the host beside the launches that follow
- `program`, `unroll`, `player`: a recorded program as launches, and how they are played
- `batch`, `placed`: programs of many worlds, played by the same launches; where they are on the device
- `constants`: words of one player on the device
- `words`: kernels that steer a program: gates, loops, stops
- `simulator`: a device in plain Python, for tests
- `driver`: a device of hardware, by the interface of the driver
- `extension`, `ufuncs`: types of records, primitives and functions of NumPy for the compiler
- `ptx`: kernels as PTX, kept in the cache; `tuples`: what NVVM gets in place of loads and stores of whole tuples
"""
