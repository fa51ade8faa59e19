"""Effects on fluids beside the pressure: one file for each; a file that is added here is found.

Forces move the particles at the start of a substep, where they have come by their velocities: what a force presses into
a fluid is then undone by the pressure of the same substep and leaves no velocity, and oscillations that the substep
does not resolve are damped. What changes velocities comes at the end: weight, confinement and drag, then what smooths.
The weight of the air does not oscillate, and a velocity takes it more exactly than a position does.
"""

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from shinari.systems.fluid.effects.apply_forces import Forces
from shinari.systems.fluid.effects.base import Effect

if TYPE_CHECKING:
    from shinari.systems.fluid.model import FluidModel

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")


def forces_of(fluids: "FluidModel", h: float, real: type) -> list[Effect]:
    """Effects that move the particles at the start of a substep; h: substep [s]."""
    forces = [effect(fluids, h, real) for effect in _asked(fluids, "force")]
    moving: list[Effect] = [Forces(forces, h)] if forces else []
    return moving + [effect(fluids, h, real) for effect in _asked(fluids, "position")]


def effects_of(fluids: "FluidModel", h: float, real: type, windy: bool) -> list[Effect]:
    """Effects that change velocities at the end of a substep.

    Args:
        fluids: The fluids.
        h: Substep [s].
        real: Type of the arrays.
        windy: Whether the scene has air; without it there is no drag.
    """
    asked = [effect for effect in _asked(fluids, "velocity") if fluids.grains or not effect.of_grains]
    return [effect(fluids, h, real) for effect in asked if windy or not effect.of_air]


def _asked(fluids: "FluidModel", phase: str) -> list[type[Effect]]:
    """Effects of a phase that a material asks for, in their order."""
    known = [effect for effect in known_effects() if effect.phase == phase]
    asked = [e for e in known if any(getattr(material, e.field) > 0.0 for material in fluids.materials)]
    return sorted(asked, key=lambda effect: effect.order)


def known_effects(base: type[Effect] = Effect) -> list[type[Effect]]:
    """All classes below one that have a field, without those that a class derived from them replaces."""
    found = []
    for effect in base.__subclasses__():
        derived = known_effects(effect)
        field = getattr(effect, "field", None)
        if field is not None and all(other.field != field for other in derived):
            found.append(effect)
        found += derived
    return found
