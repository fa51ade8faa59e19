"""One file for each shape: its description, mass, drawing, scene-file table, and the functions that kernels call.

Importing this package registers the shapes that come with shinari; a file that is added here is found. No other package
switches on kinds of shapes: host code calls the methods of `Shape`, kernels call `shinari.shapes.kernels.dispatch`.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
