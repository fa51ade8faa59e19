"""Which values of a scene can be turned while it runs, in which range, and how they are told.

A dial turns a number into a place on a slider and back. Compliances and moduli reach over many orders of magnitude:
their slider is that of the exponent, and its ends stand for 0 and for infinity where these are values.
"""

import math
from dataclasses import dataclass, replace

from shinari.api.changes import CHANGEABLE
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.objects import Material

END = 0.5
"""How far beyond the least and the largest exponent the places for 0 and infinity are."""
DIGITS = 3
"""Digits that a value from a slider of exponents has."""
NAMES = {"youngs_modulus": "Young's modulus", "poissons_ratio": "Poisson's ratio"}
"""What fields are called that are not called by their own name."""


@dataclass(frozen=True)
class Parameter:
    """A value on a slider.

    Attributes:
        field: Name of the field.
        unit: Its unit, or nothing.
        low: Least value; of a logarithmic dial its exponent.
        high: Largest value; of a logarithmic dial its exponent.
        step: Between two places.
        logarithmic: Whether places are exponents of ten.
        zero: Whether the first place of a logarithmic dial is 0.
        infinite: Whether its last place is infinity.
        method: Method that reads it; None: every one.
    """

    field: str
    unit: str
    low: float
    high: float
    step: float = 0.05
    logarithmic: bool = False
    zero: bool = False
    infinite: bool = False
    method: str | None = None

    @property
    def hint(self) -> str | None:
        """What the number beside the slider is, where it is not the value."""
        return "The number is the exponent of ten." if self.logarithmic else None

    @property
    def first(self) -> float:
        """First place of the slider."""
        return self.low - END if self.zero else self.low

    @property
    def last(self) -> float:
        """Last place of the slider."""
        return self.high + END if self.infinite else self.high

    def place(self, value: float) -> float:
        """Where a value is on the slider; one beyond its ends is at an end."""
        if not self.logarithmic:
            return min(max(value, self.low), self.high)
        if value == 0.0:
            return self.first
        return self.last if math.isinf(value) else min(max(math.log10(value), self.low), self.high)

    def value(self, place: float) -> float:
        """The value at a place of the slider."""
        if not self.logarithmic:
            return float(place)
        if self.zero and place < self.low:
            return 0.0
        return math.inf if self.infinite and place > self.high else float(f"{10.0**place:.{DIGITS - 1}e}")

    def text(self, value: float) -> str:
        """Name of the field, and the value where the number beside the slider is another."""
        name = NAMES.get(self.field, self.field.replace("_", " "))
        # viser breaks narrow labels at every point: a value that begins a line is not broken
        return f"{told(value)} {self.unit} {name}" if self.logarithmic else name

    @property
    def marks(self) -> tuple[tuple[float, str], ...]:
        """Both ends of the slider."""
        ends = ((self.first, self.value(self.first)), (self.last, self.value(self.last)))
        return tuple((place, told(value)) for place, value in ends)


def told(value: float) -> str:
    """A value in three digits."""
    if math.isinf(value):
        return "\N{INFINITY}"
    mantissa, _, exponent = f"{value:.{DIGITS}g}".partition("e")
    return f"{mantissa}e{int(exponent)}".replace("-", "\N{MINUS SIGN}") if exponent else mantissa


def _log(field: str, unit: str, low: float, high: float, *, zero: bool = False, infinite: bool = False) -> Parameter:
    return Parameter(field, unit, low, high, logarithmic=True, zero=zero, infinite=infinite)


def _part(field: str, method: str | None = None) -> Parameter:
    return Parameter(field, "", 0.0, 1.0, step=0.01, method=method)


DIALS = (
    _log("stretch_compliance", "m/N", -9, 0, zero=True, infinite=True),
    _log("compression_compliance", "m/N", -9, 0, zero=True, infinite=True),
    _log("shear_compliance", "m/N", -9, 0, zero=True, infinite=True),
    _log("bend_stiffness", "N m", -9, 1),
    _log("bend_compliance", "m/N", -6, 3, zero=True, infinite=True),
    _log("youngs_modulus", "Pa", 2, 12),
    _log("shear_modulus", "Pa", 2, 12),
    Parameter("poissons_ratio", "", -0.9, 0.49, step=0.01),
    _part("stiffness"),
    _part("beta"),
    *(_part(name, "pbd") for name in ("stretch_stiffness", "compression_stiffness", "shear_stiffness",
                                      "bending_stiffness_ratio")),
    _log("damping", "s", -5, 0, zero=True),
    _log("viscosity", "Pa s", -4, 3, zero=True),
    _log("surface_tension", "N/m", -4, 1, zero=True),
    _log("compressibility", "1/Pa", -10, -3, zero=True),
    Parameter("vorticity", "", 0.0, 2.0),
    _part("xsph"),
    _part("adhesion"),
    Parameter("friction", "", 0.0, 2.0),
    _part("restitution"),
    Parameter("drag_normal", "", 0.0, 4.0),
    Parameter("drag_tangential", "", 0.0, 4.0),
)  # fmt: skip
"""Dials of materials by the name of the field, in the order in which they are shown."""

AIR_DAMPING = _log("damping", "1/s", -3, 2, zero=True)
"""The rate at which all velocities decay."""


def parameters_of(material: Material, windy: bool) -> list[Parameter]:
    """The dials of a material: those of its fields that have a value and do something.

    Args:
        material: The material.
        windy: Whether there is air.
    """
    return [_fitting(parameter, material) for parameter in DIALS if _acts(material, parameter.field, windy)]


def _acts(material: Material, field: str, windy: bool) -> bool:
    """Whether a field of a material has a value that does something."""
    value = getattr(material, field, None) if field in CHANGEABLE[type(material)] else None
    if value is None or (field.startswith("drag") and not windy):
        return False
    if field == "beta":
        return getattr(material, "mode", "rigid") != "rigid"
    if isinstance(material, ClothMaterial) and field == "bend_compliance":
        return material.bend_model == "cross"
    if field == "bend_stiffness":
        # without it there are no bending rows, and none can be added while it moves
        return getattr(material, "bend_model", "cross") != "cross" and value > 0.0
    # a rope without bending rows gets none either
    return not (isinstance(material, RopeMaterial) and field == "bend_compliance" and math.isinf(value))


def _fitting(parameter: Parameter, material: Material) -> Parameter:
    """The dial with the unit and the ends that a field has in this material."""
    if isinstance(material, RopeMaterial):
        if parameter.field in ("stretch_compliance", "compression_compliance"):
            return replace(parameter, unit="1/N")
        if parameter.field == "bend_compliance":
            return replace(parameter, infinite=False)
    if isinstance(material, ClothMaterial) and material.stretch_model == "strain" and material.shear_compliance:
        return replace(parameter, zero=False, infinite=False) if parameter.field.endswith("_compliance") else parameter
    return parameter
