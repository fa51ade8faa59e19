"""Kernels for one item, typed records and recorded programs: the execution layer. It knows no physics.

records   named arrays with fixed row shapes, units and meanings
kernels   `@kernel` (one item), `@function` (part of its callers), `@shared` (compiled once)
program   launches, loops and conditions, recorded once and replayed by compiled code on all threads
cache     object files named by what they are made of
backend   everything that touches Numba and llvmlite; `record_types` types records for it and for numba-cuda
"""

from shinari.compute.kernels import Kernel, function, kernel, shared
from shinari.compute.primitives import convert, scratch
from shinari.compute.program import Program
from shinari.compute.records import Field, Record, View, real

__all__ = ["Field", "Kernel", "Program", "Record", "View", "convert", "function", "kernel", "real", "scratch", "shared"]
