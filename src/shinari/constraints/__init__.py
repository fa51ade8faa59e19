"""One file for each constraint: derivation, C and its gradient, rest values, registration.

A constraint that is written for several elements registers a type for each: `attachment_place` and
`attachment_distance` for segments, triangles and tetrahedra. Importing this package registers the types that come with
shinari.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
