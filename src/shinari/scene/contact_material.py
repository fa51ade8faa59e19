"""Contact properties: friction, restitution and compliance of an object or a collider."""

from dataclasses import dataclass
from typing import Any

from shinari import check
from shinari.errors import SceneError


@dataclass(frozen=True)
class ContactMaterial:
    """Contact properties of an object or of a collider.

    Where two of them meet, the geometric mean of the coefficients of friction acts (the other's alone where one is
    None, and 0 where both are), the larger restitution, and the sum of the compliances.

    Attributes:
        friction: Coulomb coefficient of sliding; None: that of the other object.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        compliance: Inverse stiffness of a contact [m/N].
    """

    friction: float | None = None
    static_friction: float | None = None
    restitution: float = 0.0
    compliance: float = 0.0

    @property
    def numbers(self) -> tuple[float, float, float, float]:
        """Friction, static friction (-1 where the other's acts), restitution, compliance."""
        sliding = -1.0 if self.friction is None else self.friction
        sticking = sliding if self.static_friction is None else self.static_friction
        return sliding, sticking, self.restitution, self.compliance


def checked_contact_material(
    label: str, friction: Any, static_friction: Any, restitution: Any, compliance: Any
) -> ContactMaterial:
    """A surface from the values of a user.

    Raises:
        SceneError: A value is no number or outside its bounds.
    """
    if friction is not None:
        friction = check.number(label, "friction", friction, least=0.0)
    if static_friction is not None:
        static_friction = check.number(label, "static_friction", static_friction, least=0.0)
        if friction is None or static_friction < friction:
            raise SceneError(
                f"{label}: static_friction: {static_friction:g} has to be at least friction, which is {friction}"
            )
    restitution = check.number(label, "restitution", restitution, least=0.0, most=1.0)
    compliance = check.number(label, "contact_compliance", compliance, least=0.0)
    return ContactMaterial(friction, static_friction, restitution, compliance)
