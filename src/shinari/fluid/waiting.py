"""Which particles of fluids are not there: they wait in an emitter, or a sink has taken them."""

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.state import State

ACTIVE = "fluid/active"
"""Name of the state's array that says which particles of fluids are there."""


def waiting(model: "Model", state: "State") -> np.ndarray:
    """Particles that are not there, in solver order, (K,) int64."""
    active = state.parts.get(ACTIVE)
    if active is None or active.all():
        return np.zeros(0, np.int64)
    fluids = next(part for part in model.parts if part.name == "fluid")
    return fluids.particles[~active]  # type: ignore[attr-defined]


def there(model: "Model", state: "State", particles: range) -> np.ndarray:
    """Which of some particles, as added, are there, (len(particles),) bool."""
    absent = np.zeros(model.particle_count, bool)
    absent[waiting(model, state)] = True
    return ~absent[model.slots[particles.start : particles.stop]]
