"""A fluid around a rigid body that drags it and is not moved by it."""

from dataclasses import dataclass
from typing import Any

from shinari import check


@dataclass(frozen=True)
class Medium:
    """Air or water around a rigid body, which is dragged as the box of its mass and inertia would be.

    Attributes:
        density: Density of the medium [kg/m^3].
        viscosity: Its dynamic viscosity [Pa s].
        wind: Its velocity [m/s], (3,).
    """

    density: float = 0.0
    viscosity: float = 0.0
    wind: Any = (0.0, 0.0, 0.0)

    def checked(self, label: str) -> "Medium":
        """The same with checked values; messages name `label`.

        Raises:
            SceneError: A number is negative or not finite.
        """
        density = check.number(label, "medium: density", self.density, least=0.0)
        viscosity = check.number(label, "medium: viscosity", self.viscosity, least=0.0)
        return Medium(density, viscosity, tuple(check.vector(label, "medium: wind", self.wind).tolist()))
