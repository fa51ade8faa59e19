"""Materials of cloth and rope, in SI units.

A compliance is the inverse of a stiffness: 0 is rigid, infinity is no resistance at all. `method="xpbd"` reads the
compliances; `method="pbd"` reads the dimensionless stiffnesses of the 2006 paper, between 0 and 1.
"""

from dataclasses import dataclass, fields

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.failure import FIELDS, check_failure
from shinari.scene.presets import preset_of

# Compliance per area [m^2/N], the inverse of Young's modulus [Pa]: concrete 25 GPa, wood 6 GPa, leather 0.1 GPa,
# tendon 0.05 GPa, rubber 1 MPa, muscle 5 kPa, fat 1 kPa. The table goes with M. Macklin's account of compliance in
# XPBD; a bar of length L and cross section A has the compliance L / A times this value [m/N].
MATERIAL_COMPLIANCE: dict[str, float] = {
    "concrete": 0.04e-9,
    "wood": 0.16e-9,
    "leather": 1e-8,
    "tendon": 0.2e-7,
    "rubber": 1e-6,
    "muscle": 0.2e-3,
    "fat": 1e-3,
}


@dataclass(frozen=True, kw_only=True)
class ClothMaterial:
    """Material of a sheet.

    The compliance of a row follows from that of the sheet: an edge of length L between triangles of areas A0 and A1
    stands for a strip of width (A0 + A1) / L, hence the row has L^2 / (A0 + A1) times the compliance given here, and
    4/3 of that in quads, which get a row along their other diagonal too. So a sheet of equilateral triangles or of
    squares has the stiffness asked for in every direction, with Poisson's ratio 1/3. With a shear compliance of its own
    the rows along the axes of a square grid have the compliance given here, those along diagonals twice that of shear.

    `stretch_model="strain"` takes a membrane of triangles instead (Mueller et al. 2014): any mesh then has the
    stiffness asked for, and the Poisson's ratio. Its rows cannot tear, flow or fold freely under compression.

    Attributes:
        density: Mass per area [kg/m^2].
        thickness: Thickness [m]; the middle surface keeps half of it in contact.
        friction: Coulomb coefficient of sliding in contact.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
        stretch_compliance: Compliance of the sheet against stretch [m/N]: 1 / (Young's modulus x thickness).
        compression_compliance: The same against compression [m/N]; None: as stretch; infinity: folds freely.
        shear_compliance: Compliance of the rows along the diagonals of quads [m/N]; None: as stretch. With `"strain"`
            1 / (2 x shear modulus x thickness); None: that of the same in every direction.
        stretch_model: `"springs"` along edges, or `"strain"`.
        poissons_ratio: Poisson's ratio in the plane with `"strain"`, above -1 and below 1; None: 1/3, as springs have.
        bend_stiffness: Bending stiffness of the sheet as a plate [N m]; 0: no bending rows. Triangles near equilateral
            meet it within 2 %; a grid whose diagonals all run in one direction is as stiff along its axes, and up to
            three times stiffer where it would fold across the diagonals.
        bend_model: `"isometric"`, `"dihedral"`, or `"cross"`: distance rows between the far corners of neighbouring
            triangles, with `bend_compliance`.
        bend_compliance: Compliance of `"cross"` rows [m/N].
        stretch_stiffness: Stiffness 0 to 1 of stretch rows with `method="pbd"`.
        compression_stiffness: The same where a row is compressed; None: as stretch.
        shear_stiffness: The same of shear rows; None: as stretch.
        bending_stiffness_ratio: The same of bending rows.
        damping: Damping time [s] of every row: its damping stiffness is this time times its stiffness.
        drag_normal: Drag coefficient for air that meets the sheet head on.
        drag_tangential: Drag coefficient for air that flows along the sheet.
        tethers: Keep each particle within its distance along the surface to the nearest pin (Kim et al. 2012).
        tear_strain: Strain above which an edge tears for good; infinity: never.
        yield_strain: Strain above which the rest length of an edge follows, so that the strain goes back to this;
            infinity: never.
        creep: Rate of that [1/s]; infinity: at once.
        plastic_limit: Change of the rest shape, as a strain, at which it stops.
    """

    density: float = 0.2
    thickness: float = 0.001
    friction: float = 0.3
    static_friction: float | None = None
    restitution: float = 0.0
    contact_compliance: float = 0.0
    stretch_compliance: float = 1e-5
    compression_compliance: float | None = None
    shear_compliance: float | None = None
    stretch_model: str = "springs"
    poissons_ratio: float | None = None
    bend_stiffness: float = 1e-5
    bend_model: str = "isometric"
    bend_compliance: float = 1e-2
    stretch_stiffness: float = 1.0
    compression_stiffness: float | None = None
    shear_stiffness: float | None = None
    bending_stiffness_ratio: float = 0.1
    damping: float = 0.0
    drag_normal: float = 1.0
    drag_tangential: float = 0.1
    tethers: bool = False
    tear_strain: float = np.inf
    yield_strain: float = np.inf
    creep: float = np.inf
    plastic_limit: float = np.inf

    def __post_init__(self) -> None:
        _check(self, above_zero=("density",), infinite=("stretch_compliance", "compression_compliance",
               "shear_compliance", "bend_compliance"), ratios=("stretch_stiffness", "compression_stiffness",
               "shear_stiffness", "bending_stiffness_ratio"))  # fmt: skip
        check.choice("ClothMaterial", "bend_model", self.bend_model, ("isometric", "dihedral", "cross"))
        check.choice("ClothMaterial", "stretch_model", self.stretch_model, ("springs", "strain"))
        _check_stretch_model(self)

    @classmethod
    def preset(cls, name: str, **changes: float) -> "ClothMaterial":
        """A preset by name, with fields changed as asked.

        Raises:
            SceneError: No such preset or no such field; the message lists those there are.
        """
        return preset_of(cls, CLOTH_PRESETS, name, changes)


@dataclass(frozen=True, kw_only=True)
class RopeMaterial:
    """Material of a rope made of distance rows.

    Attributes:
        density: Mass per length [kg/m].
        radius: Radius [m].
        friction: Coulomb coefficient of sliding in contact.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
        stretch_compliance: Strain per newton [1/N], 1 / (Young's modulus x cross section); a segment of length L has
            the compliance L times this.
        compression_compliance: The same against compression [1/N]; None: as stretch; infinity: a string.
        bend_compliance: Compliance [m/N] of distance rows that skip one point; infinity: none.
        stretch_stiffness: Stiffness 0 to 1 with `method="pbd"`.
        compression_stiffness: The same where a segment is compressed; None: as stretch.
        bending_stiffness_ratio: The same of bending rows.
        damping: Damping time [s] of every row.
        tethers: Keep each particle within its distance along the rope to the nearest pin (Kim et al. 2012).
        tear_strain: Strain above which a segment tears for good; infinity: never.
        yield_strain: Strain above which the rest length of a segment follows, so that the strain goes back to this;
            infinity: never.
        creep: Rate of that [1/s]; infinity: at once.
        plastic_limit: Change of the rest shape, as a strain, at which it stops.
    """

    density: float = 0.1
    radius: float = 0.005
    friction: float = 0.3
    static_friction: float | None = None
    restitution: float = 0.0
    contact_compliance: float = 0.0
    stretch_compliance: float = 0.0
    compression_compliance: float | None = None
    bend_compliance: float = np.inf
    stretch_stiffness: float = 1.0
    compression_stiffness: float | None = None
    bending_stiffness_ratio: float = 0.1
    damping: float = 0.0
    tethers: bool = False
    tear_strain: float = np.inf
    yield_strain: float = np.inf
    creep: float = np.inf
    plastic_limit: float = np.inf

    def __post_init__(self) -> None:
        _check(self, above_zero=("density",), infinite=("stretch_compliance", "compression_compliance",
               "bend_compliance"), ratios=("stretch_stiffness", "compression_stiffness",
               "bending_stiffness_ratio"))  # fmt: skip


# Fields with checks of their own.
_OWN_CHECKS = ("bend_model", "stretch_model", "poissons_ratio")


def _check_stretch_model(material: ClothMaterial) -> None:
    """Fields of springs alone, and of strain rows alone."""
    if material.stretch_model == "springs":
        if material.poissons_ratio is not None:
            raise SceneError(
                "ClothMaterial: poissons_ratio: springs have 1/3; another one needs stretch_model='strain'"
            )
        return
    if material.poissons_ratio is not None:
        ratio = check.number("ClothMaterial", "poissons_ratio", material.poissons_ratio, above=-1.0)
        if ratio >= 1.0:
            raise SceneError(f"ClothMaterial: poissons_ratio: {ratio:g} must be below 1")
    for name in ("compression_compliance", "compression_stiffness", "shear_stiffness"):
        if getattr(material, name) is not None:
            raise SceneError(
                f"ClothMaterial: {name}: needs stretch_model='springs'; strain rows are solved as one system"
            )
    if material.shear_compliance is not None:
        for name in ("shear_compliance", "stretch_compliance"):
            if not 0.0 < getattr(material, name) < np.inf:
                raise SceneError(
                    f"ClothMaterial: {name}: must be finite and above zero for a shear of its own in strain rows"
                )
    for name in ("tear_strain", "yield_strain"):
        if np.isfinite(getattr(material, name)):
            raise SceneError(f"ClothMaterial: {name}: needs stretch_model='springs'; strain rows neither tear nor flow")


def _check(material: object, above_zero: tuple[str, ...], infinite: tuple[str, ...], ratios: tuple[str, ...]) -> None:
    label = type(material).__name__
    surface = (getattr(material, name) for name in ("friction", "static_friction", "restitution", "contact_compliance"))
    checked_contact_material(label, *surface)
    check_failure(material)
    for field in fields(material):  # type: ignore[arg-type]
        value = getattr(material, field.name)
        if (value is None and field.default is None) or field.name in _OWN_CHECKS or field.name in FIELDS:
            continue
        if field.name == "tethers":
            check.choice(label, field.name, value, (True, False))
            continue
        least, above = (-np.inf, 0.0) if field.name in above_zero else (0.0, -np.inf)
        most = 1.0 if field.name in ratios else np.inf
        checked = check.number(
            label, field.name, value, least=least, above=above, most=most, infinite=field.name in infinite
        )
        object.__setattr__(material, field.name, checked)


def _solid_sheet(compliance: float, density: float, thickness: float = 0.002) -> ClothMaterial:
    """A sheet of a solid: membrane compliance 1/(E t), bending stiffness E t^3 / 12 (plate with nu = 0)."""
    return ClothMaterial(
        density=density * thickness,
        thickness=thickness,
        stretch_compliance=compliance / thickness,
        bend_stiffness=thickness**3 / (12.0 * compliance),
    )


# Densities of the solids of the table [kg/m^3], handbook values.
_SOLID_DENSITY = {
    "concrete": 2400.0,
    "wood": 700.0,
    "leather": 860.0,
    "tendon": 1120.0,
    "rubber": 1100.0,
    "muscle": 1060.0,
    "fat": 920.0,
}

# Cloths. Denim and cotton are measured: Wang, O'Brien and Ramamoorthi 2011, Data-Driven Elastic Models for Cloth,
# samples "11oz black denim" and "gray interlock" (60 % cotton), rows of small strain and curvature. Silk is an
# estimate: 8 momme of 4.34 g/m^2, and Peirce 1930, The Handle of Cloth as a Measurable Quantity, bending stiffness =
# weight per area x (bending length)^3, with a bending length of 16 mm. "leather" is the solid of the table, 1 mm thick.
CLOTH_PRESETS: dict[str, ClothMaterial] = {
    "silk": ClothMaterial(
        density=0.035, thickness=0.0001, friction=0.2, stretch_compliance=1.0 / 2000.0, bend_stiffness=1.4e-6
    ),
    "cotton": ClothMaterial(
        density=0.187, thickness=0.0007, friction=0.4, stretch_compliance=1.0 / 261.0, bend_stiffness=2.3e-5
    ),
    "denim": ClothMaterial(
        density=0.324, thickness=0.0008, friction=0.5, stretch_compliance=1.0 / 1014.0, bend_stiffness=6.4e-5
    ),
    **{
        name: _solid_sheet(compliance, _SOLID_DENSITY[name], 0.001 if name == "leather" else 0.002)
        for name, compliance in MATERIAL_COMPLIANCE.items()
    },
}
