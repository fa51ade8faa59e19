"""Material of grains, in SI units."""

from dataclasses import dataclass
from typing import Any

from shinari import check
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.presets import preset_of


@dataclass(frozen=True, kw_only=True)
class GrainMaterial:
    """Material of grains.

    Grains are balls that do not turn unless they have a `rolling_friction`: nothing rolls, as if the resistance to
    rolling were infinite. A heap is far steeper than one of balls that roll with the same friction, so take less of it:
    0.35 gives about 32 degrees, and 0.14 runs out as far as sand does when a column of it collapses. Angular momentum
    is not conserved where grains that do not turn rub.

    Attributes:
        density: Mass per volume of a grain [kg/m^3]; a heap has about 0.6 of it.
        friction: Coulomb coefficient of sliding in contact.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
        mass_scaling: Rate k [1/m] at which masses fall with the height y, as exp(-k y), where two grains push each
            other apart; 0: not at all (Macklin et al. 2014, section 5.1). What is below then yields less, and a high
            stack is stiffer for the same work. Each contact acts as if the upper grain were lighter than it is: the
            momentum of grains that are not at rest is not conserved, and neither are the forces that are read out
            those of the true masses. Take a fraction of the inverse height of the heap.
        rolling_friction: The grains turn: coefficient of the moment against rolling, over the normal force and the
            radius; 0: they roll freely; None: they do not turn. A ball rests on slopes up to atan(rolling_friction).
            Against cloth and rigid bodies grains rub as if they did not turn.
        cohesion: Tensile strength that liquid between the grains gives a heap of them [Pa], whatever their size (Rumpf
            1962); 0: dry. Fine wet sand has about 1000; of grains of the radius R in a liquid of the surface tension
            gamma it is 1.8 gamma / R. Vertical walls stand up to 4 cohesion tan(phi) tan(45 deg + phi/2) / (rho g) at
            the angle phi of internal friction and the density rho of the heap. Two materials attract each other by
            the smaller one. Walls, bodies and cloth do not attract grains.
    """

    density: float = 2650.0
    friction: float = 0.35
    static_friction: float | None = None
    restitution: float = 0.0
    contact_compliance: float = 0.0
    mass_scaling: float = 0.0
    rolling_friction: float | None = None
    cohesion: float = 0.0

    def __post_init__(self) -> None:
        surface = (self.friction, self.static_friction, self.restitution, self.contact_compliance)
        checked_contact_material("GrainMaterial", *surface)
        bounds: dict[str, dict] = {"density": {"above": 0.0}, "mass_scaling": {"least": 0.0},
                                   "cohesion": {"least": 0.0}}  # fmt: skip
        for field, limits in bounds.items():
            value = check.number("GrainMaterial", field, getattr(self, field), **limits)
            object.__setattr__(self, field, value)
        if self.rolling_friction is not None:
            value = check.number("GrainMaterial", "rolling_friction", self.rolling_friction, least=0.0)
            object.__setattr__(self, "rolling_friction", value)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> "GrainMaterial":
        """A preset by name, with fields changed as asked.

        Raises:
            SceneError: No such preset or no such field; the message lists those there are.
        """
        return preset_of(cls, GRAIN_PRESETS, name, changes)


# Densities of the grains themselves: quartz and granite 2650 kg/m^3, soda-lime glass 2500 (handbook values, rounded).
# The frictions are those that give a heap the angle of repose of the real one, not those of the surfaces: about 33
# degrees for dry sand and 40 for crushed rock (Lambe and Whitman 1969, Soil Mechanics), 24 for glass beads (Lajeunesse,
# Mangeney-Castelnau and Vilotte 2004); see the check "angle of repose".
GRAIN_PRESETS: dict[str, GrainMaterial] = {
    "sand": GrainMaterial(density=2650.0, friction=0.35),
    "wet sand": GrainMaterial(density=2650.0, friction=0.35, cohesion=1000.0),
    "gravel": GrainMaterial(density=2650.0, friction=0.5),
    "glass beads": GrainMaterial(density=2500.0, friction=0.27),
}
