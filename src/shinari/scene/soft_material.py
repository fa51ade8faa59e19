"""Material of soft bodies, in SI units."""

from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.failure import check_failure
from shinari.scene.presets import preset_of

MODELS = ("neo_hookean", "stvk", "corotated", "strain")


@dataclass(frozen=True, kw_only=True)
class SoftMaterial:
    """Material of a body of tetrahedra.

    Attributes:
        density: Mass per volume [kg/m^3].
        youngs_modulus: Young's modulus for small strains [Pa].
        poissons_ratio: Poisson's ratio for small strains, above -1 and below 0.5.
        model: `"neo_hookean"` (Macklin and Mueller 2021), the choice for everything that is squashed or stretched far;
            `"stvk"` (St. Venant-Kirchhoff) and `"corotated"`, linear in strain; `"strain"` (Mueller et al. 2014).
        damping: Damping time [s] of every row: its damping stiffness is this time times its stiffness. A row that is
            damped for long against its neighbours takes more substeps to converge; look at `Simulation.residual`.
        tear_strain: Largest principal strain above which a tetrahedron breaks for good; infinity: never.
        yield_strain: Strain above which its rest shape follows at constant volume, so that the strain goes back to
            this; measured as sqrt(2/3) |deviator of the logarithmic strain|, which is the strain of a bar of an
            incompressible material that is pulled; infinity: never.
        creep: Rate of that [1/s]; infinity: at once.
        plastic_limit: The same measure of the rest shape at which it stops, 2 at most: stretched to a ratio of 20 to 1.
        thickness: The surface keeps half of it in contact [m].
        friction: Coulomb coefficient of sliding in contact.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
    """

    density: float = 1000.0
    youngs_modulus: float = 1e5
    poissons_ratio: float = 0.45
    model: str = "neo_hookean"
    damping: float = 0.0
    tear_strain: float = np.inf
    yield_strain: float = np.inf
    creep: float = np.inf
    plastic_limit: float = np.inf
    thickness: float = 0.002
    friction: float = 0.5
    static_friction: float | None = None
    restitution: float = 0.0
    contact_compliance: float = 0.0

    def __post_init__(self) -> None:
        checked_contact_material(
            "SoftMaterial", self.friction, self.static_friction, self.restitution, self.contact_compliance
        )
        check_failure(self)
        check.choice("SoftMaterial", "model", self.model, MODELS)
        bounds: dict[str, dict] = {
            "density": {"above": 0.0},
            "youngs_modulus": {"above": 0.0},
            "poissons_ratio": {"above": -1.0},
            "damping": {"least": 0.0},
            "thickness": {"least": 0.0},
        }
        for field, limits in bounds.items():
            value = check.number("SoftMaterial", field, getattr(self, field), **limits)
            object.__setattr__(self, field, value)
        if self.poissons_ratio >= 0.5:
            raise SceneError(
                f"SoftMaterial: poissons_ratio: {self.poissons_ratio:g} must be below 0.5, where a solid keeps its "
                f"volume exactly; 0.49 to 0.499 is nearly so"
            )

    @property
    def lame(self) -> tuple[float, float]:
        """Lame's parameters lambda and mu for small strains [Pa]."""
        e, nu = self.youngs_modulus, self.poissons_ratio
        return e * nu / ((1.0 + nu) * (1.0 - 2.0 * nu)), e / (2.0 * (1.0 + nu))

    @classmethod
    def preset(cls, name: str, **changes: float) -> "SoftMaterial":
        """A preset by name, with fields changed as asked.

        Raises:
            SceneError: No such preset or no such field; the message lists those there are.
        """
        return preset_of(cls, SOFT_PRESETS, name, changes)


# Rubber: natural rubber in Ashby 2011, Materials Selection in Mechanical Design, tables of appendix A. Flesh: muscle at
# rest as in the table of compliances of `shinari.scene.materials`; density of muscle of Mendez and Keys 1960. Fat:
# adipose tissue of Samani, Zubovits and Plewes 2007, Elastic moduli of normal and pathological human breast tissues,
# 3.25 kPa. Foam: flexible polymer foam of very low density in Ashby 2011; Poisson's ratio of Gibson and Ashby 1997,
# Cellular Solids. Jelly is an estimate: a dessert of gelatin in water has a few kPa. None of them is exactly
# incompressible here: 0.49 stands for nearly so.
SOFT_PRESETS: dict[str, SoftMaterial] = {
    "rubber": SoftMaterial(density=930.0, youngs_modulus=2e6, poissons_ratio=0.49, friction=0.8),
    "flesh": SoftMaterial(density=1060.0, youngs_modulus=5e3, poissons_ratio=0.49, friction=0.5, damping=0.005),
    "fat": SoftMaterial(density=920.0, youngs_modulus=3.25e3, poissons_ratio=0.49, friction=0.5, damping=0.005),
    "jelly": SoftMaterial(density=1050.0, youngs_modulus=5e3, poissons_ratio=0.48, friction=0.3),
    "foam": SoftMaterial(density=25.0, youngs_modulus=5e5, poissons_ratio=0.3, friction=0.6),
}
