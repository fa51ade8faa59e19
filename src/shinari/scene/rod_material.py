"""Material of Cosserat rods, in SI units."""

import math
from dataclasses import dataclass

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.presets import preset_of

SOLVERS = ("direct", "iterative")


@dataclass(frozen=True, kw_only=True)
class RodMaterial:
    """Material of a rod of round section.

    Attributes:
        radius: Radius of the section [m].
        density: Mass per volume [kg/m^3].
        youngs_modulus: Young's modulus [Pa]: stretch and bending.
        shear_modulus: Shear modulus [Pa]: shear and twist; None: youngs_modulus / (2 (1 + poissons_ratio)).
        poissons_ratio: Poisson's ratio, above -1 and at most 0.5, in place of the shear modulus; None: 0.3.
        damping: Damping time [s]: internal forces and moments gain this time times their stiffness times the rate of
            strain.
        solver: `"direct"` solves all rows of a rod at once; `"iterative"` one after the other: a rod that is stiff
            then needs many substeps to be as stiff as asked, and its frames get the inertia of their points on top of
            their own, without which it is unstable.
        friction: Coulomb coefficient of sliding in contact.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
    """

    radius: float = 0.005
    density: float = 7850.0
    youngs_modulus: float = 2e11
    shear_modulus: float | None = None
    poissons_ratio: float | None = None
    damping: float = 0.0
    solver: str = "direct"
    friction: float = 0.3
    static_friction: float | None = None
    restitution: float = 0.0
    contact_compliance: float = 0.0

    def __post_init__(self) -> None:
        label = "RodMaterial"
        checked_contact_material(label, self.friction, self.static_friction, self.restitution, self.contact_compliance)
        check.choice(label, "solver", self.solver, SOLVERS)
        bounds: dict[str, dict] = {
            "radius": {"above": 0.0},
            "density": {"above": 0.0},
            "youngs_modulus": {"above": 0.0},
            "shear_modulus": {"above": 0.0},
            "poissons_ratio": {"above": -1.0, "most": 0.5},
            "damping": {"least": 0.0},
        }
        for field, limits in bounds.items():
            given = getattr(self, field)
            if given is None and field in ("shear_modulus", "poissons_ratio"):
                continue
            object.__setattr__(self, field, check.number(label, field, given, **limits))
        if self.shear_modulus is not None and self.poissons_ratio is not None:
            raise SceneError(f"{label}: poissons_ratio: give either it or shear_modulus, not both")

    @property
    def area(self) -> float:
        """Area A of the section [m^2]."""
        return math.pi * self.radius**2

    @property
    def second_moment(self) -> float:
        """Second moment I of the section about a diameter [m^4]; the polar moment is J = 2 I."""
        return 0.25 * math.pi * self.radius**4

    @property
    def rigidity(self) -> float:
        """Shear modulus G [Pa], given or from Poisson's ratio."""
        if self.shear_modulus is not None:
            return self.shear_modulus
        return self.youngs_modulus / (2.0 * (1.0 + (0.3 if self.poissons_ratio is None else self.poissons_ratio)))

    @property
    def shear_factor(self) -> float:
        """Share k of the section that carries shear: 6 (1 + nu) / (7 + 6 nu) for a circle (Cowper 1966)."""
        nu = min(max(0.5 * self.youngs_modulus / self.rigidity - 1.0, 0.0), 0.5)
        return 6.0 * (1.0 + nu) / (7.0 + 6.0 * nu)

    @property
    def stiffness(self) -> tuple[float, float, float, float]:
        """Against shear k G A [N], stretch E A [N], bending E I [N m^2] and twist G J [N m^2]."""
        shear = self.shear_factor * self.rigidity * self.area
        stretch = self.youngs_modulus * self.area
        return shear, stretch, self.youngs_modulus * self.second_moment, 2.0 * self.rigidity * self.second_moment

    @classmethod
    def preset(cls, name: str, **changes: float) -> "RodMaterial":
        """A preset by name, with fields changed as asked.

        Raises:
            SceneError: No such preset or no such field; the message lists those there are.
        """
        return preset_of(cls, ROD_PRESETS, name, changes)


# Steel wire: EN 10270-1, Steel wire for mechanical springs, gives E = 206 GPa and G = 81.5 GPa for design. Hair:
# Robbins 2012, Chemical and Physical Behavior of Human Hair, moduli of stretch 3.89 GPa and of torsion 0.89 GPa,
# density 1.32 g/cm^3, a strand of 80 um. Copper, nylon (type 6,6) and natural rubber: Ashby 2011, Materials Selection
# in Mechanical Design, tables of appendix A, middle of the ranges. The diameters are those of common products.
ROD_PRESETS: dict[str, RodMaterial] = {
    "steel wire": RodMaterial(radius=0.0005, density=7850.0, youngs_modulus=2.06e11, shear_modulus=8.15e10),
    "copper wire": RodMaterial(radius=0.0005, density=8940.0, youngs_modulus=1.3e11, poissons_ratio=0.34),
    "nylon line": RodMaterial(radius=0.00025, density=1130.0, youngs_modulus=2.9e9, poissons_ratio=0.4),
    "rubber cord": RodMaterial(
        radius=0.003, density=930.0, youngs_modulus=2e6, poissons_ratio=0.49, damping=0.005, friction=0.8
    ),
    "hair": RodMaterial(radius=4e-5, density=1320.0, youngs_modulus=3.89e9, shear_modulus=8.9e8),
}
