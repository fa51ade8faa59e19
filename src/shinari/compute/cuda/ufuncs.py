"""Functions of NumPy that numba-cuda does not translate for numbers: they become those of libdevice."""

from collections.abc import Callable
from typing import Any

import numpy as np

from shinari.compute.cuda.api import internal

UNARY = {np.sqrt: "sqrt", np.exp: "exp", np.floor: "floor", np.ceil: "ceil", np.rint: "rint", np.cbrt: "cbrt",
         np.absolute: "fabs", np.fabs: "fabs", np.trunc: "trunc", np.expm1: "expm1", np.log1p: "log1p"}  # fmt: skip
BINARY = {np.copysign: "copysign"}


def _from_libdevice(name: str, kind: Any, arguments: int) -> Callable:
    """What lowers a call: a function of libdevice on numbers of one type."""
    target, signature = getattr(internal("libdevice"), name), internal("typing.templates").signature

    def lower(context: Any, builder: Any, sig: Any, values: Any) -> Any:
        return context.get_function(target, signature(kind, *arguments * [kind]))(builder, values)

    return lower


def register() -> None:
    """Add them to the table of numba-cuda."""
    table, types = internal("ufuncs").ufunc_db(), internal("types")
    for names, arguments in ((UNARY, 1), (BINARY, 2)):
        for ufunc, name in names.items():
            single = _from_libdevice(f"{name}f", types.float32, arguments)
            double = _from_libdevice(name, types.float64, arguments)
            table.setdefault(ufunc, {f"{arguments * 'f'}->f": single, f"{arguments * 'd'}->d": double})
    finite = internal("np.npyfuncs").np_real_isfinite_impl
    table.setdefault(np.isfinite, {"f->?": finite, "d->?": finite})
