"""One file for each constraint type: derivation, C and its gradient, rest values, registration.

Importing this package registers the types that come with shinari.
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
