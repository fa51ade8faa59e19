"""Arrays that are read without being counted.

Each array that is passed to a function costs an atomic count of references up and one down. In contact, where one pair
goes through tens of functions that read the same arrays, that took more time than the work, and two threads that count
the same arrays hinder each other. A borrowed array has no count; whoever lends it has to hold it meanwhile.
"""

from typing import Any

from numba.core import cgutils, types
from numba.core.imputils import impl_ret_untracked
from numba.extending import intrinsic

from shinari.maths.function import steady
from shinari.rigid.contact.shapes import Shapes


def _borrow(typing: Any, array: Any) -> Any:
    """The same array without an owner."""
    if not isinstance(array, types.Array):
        return None

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        view.meminfo = cgutils.get_null_value(view.meminfo.type)
        view.parent = cgutils.get_null_value(view.parent.type)
        return impl_ret_untracked(context, builder, signature.return_type, view._getvalue())

    return array(array), generate


borrow: Any = intrinsic(_borrow)


@steady
def borrow_shapes(shapes):
    """Arrays of shapes without owners."""
    return Shapes(
        borrow(shapes.kind),
        borrow(shapes.size),
        borrow(shapes.hull),
        borrow(shapes.vertices),
        borrow(shapes.vertex_starts),
        borrow(shapes.planes),
        borrow(shapes.face_starts),
        borrow(shapes.loops),
        borrow(shapes.loop_starts),
    )
