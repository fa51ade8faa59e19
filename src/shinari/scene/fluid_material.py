"""Material of fluids, in SI units, and how they are sampled."""

from dataclasses import dataclass

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.presets import preset_of

BOUNDARIES = ("walls", "particles")
SMOOTHING_KERNELS = ("spiky", "cubic-spline", "poly6")
"""Kernels by number; see `shinari.systems.fluid.smoothing`."""
# Supports in spacings. Below the first a particle at rest has no neighbours that count; above the second it has more
# than 250, and what it costs buys nothing.
LEAST_SUPPORT, MOST_SUPPORT = 1.2, 4.0


@dataclass(frozen=True)
class Sampling:
    """How a fluid is made of particles; the same for all fluids of a scene.

    Attributes:
        spacing: Distance of the particles at rest [m]; each fills a cube of this edge.
        support: Distance at which the kernels end, in spacings.
        kernel: One of `SMOOTHING_KERNELS`.
        dimensions: 3; or 2 for a layer of particles in a plane of constant z.
        boundary: How solids enter the density: `"walls"`, by their distance; `"particles"`, by particles on them.
    """

    spacing: float
    support: float = 2.0
    kernel: str = "spiky"
    dimensions: int = 3
    boundary: str = "walls"

    @property
    def volume(self) -> float:
        """Volume of a particle [m^3]; in two dimensions the layer is one spacing thick."""
        return self.spacing**3


def checked_sampling(
    label: str, spacing: float, support: float, kernel: str, dimensions: int, boundary: str
) -> Sampling:
    """How a fluid is sampled.

    Raises:
        SceneError: A value has the wrong type, or lies outside its bounds.
    """
    spacing = check.number(label, "spacing", spacing, above=0.0)
    support = check.number(label, "support", support, above=0.0)
    if not LEAST_SUPPORT <= support <= MOST_SUPPORT:
        raise SceneError(
            f"{label}: support: is where the kernels end, in spacings of the particles: expected {LEAST_SUPPORT:g} to "
            f"{MOST_SUPPORT:g}, got {support:g}; nearer than that a particle has no neighbours to be held by, farther "
            f"it has more than 250"
        )
    check.choice(label, "kernel", kernel, SMOOTHING_KERNELS)
    check.choice(label, "boundary", boundary, BOUNDARIES)
    if check.count(label, "dimensions", dimensions, least=2) > 3:
        raise SceneError(f"{label}: dimensions: expected 2 or 3, got {dimensions}")
    return Sampling(spacing, support, kernel, int(dimensions), boundary)


@dataclass(frozen=True, kw_only=True)
class FluidMaterial:
    """Material of a fluid.

    Attributes:
        rest_density: Mass per volume [kg/m^3].
        compressibility: Relative change of the volume by the pressure [1/Pa]; 0: incompressible.
        viscosity: Dynamic viscosity [Pa s]; solids do not hold it back, see `friction`.
        xsph: Part of the difference to the mean velocity around that a particle loses in a sixtieth of a second, 0 to
            1 (Schechter and Bridson 2012).
        vorticity: Strength of vorticity confinement, as a multiple of the spacing; 0: none (Fedkiw, Stam, Jensen 2001).
        surface_tension: [N/m]; it needs substeps of sqrt(rest_density spacing^3 / (2 pi surface_tension)) or less.
        adhesion: Work of wetting a solid over that of parting the fluid, (1 + cos of the angle of contact) / 2: 0 for a
            fluid that does not wet, 1 for one that spreads.
        air_drag: Drag coefficient of the area that the fluid shows to the air of the scene; a scene without wind has
            no air.
        grain_drag: Factor on the drag between the fluid and the grains in it, which follows from their sizes, the
            density and the viscosity (Dallavalle 1948, Di Felice 1994); 0: none.
        ambient_density: Density of the surrounding medium, which is not simulated [kg/m^3]; it buoys up a gas.
        cohesive: Whether pressures may be negative; else particles are never pulled together. At a free surface the
            density is below that at rest, so such a fluid is pulled together as it starts, within a substep: the more
            substeps, the faster (a box of 48 particles that touches nothing bursts at 2 to 8 m/s).
        tensile_correction: Part k of the pressures of two particles that pushes them apart when they are near, so that
            they do not clump, at most 0.1, above which drops burst; 0: none (Monaghan 2000; Macklin and Mueller 2013,
            equation 13).
        tensile_power: Its power n.
        tensile_distance: Its distance, as part of the support.
        friction: Coulomb coefficient on solids.
        restitution: Ratio of the speeds after and before an impact on solids, 0 to 1.
    """

    rest_density: float = 1000.0
    compressibility: float = 0.0
    viscosity: float = 0.0
    xsph: float = 0.01
    vorticity: float = 0.0
    surface_tension: float = 0.0
    adhesion: float = 0.0
    air_drag: float = 0.0
    grain_drag: float = 1.0
    ambient_density: float = 0.0
    cohesive: bool = False
    tensile_correction: float = 0.0
    tensile_power: int = 4
    tensile_distance: float = 0.2
    friction: float = 0.0
    restitution: float = 0.0

    def __post_init__(self) -> None:
        checked_contact_material("FluidMaterial", self.friction, None, self.restitution, 0.0)
        check.choice("FluidMaterial", "cohesive", self.cohesive, (True, False))
        check.count("FluidMaterial", "tensile_power", self.tensile_power)
        bounds: dict[str, dict] = {
            "rest_density": {"above": 0.0},
            "compressibility": {"least": 0.0},
            "viscosity": {"least": 0.0},
            "xsph": {"least": 0.0, "most": 1.0},
            "vorticity": {"least": 0.0},
            "surface_tension": {"least": 0.0},
            "adhesion": {"least": 0.0, "most": 1.0},
            "air_drag": {"least": 0.0},
            "grain_drag": {"least": 0.0},
            "ambient_density": {"least": 0.0},
            "tensile_correction": {"least": 0.0, "most": 0.1},
            "tensile_distance": {"above": 0.0, "most": 0.9},
        }
        for field, limits in bounds.items():
            value = check.number("FluidMaterial", field, getattr(self, field), **limits)
            object.__setattr__(self, field, value)

    @classmethod
    def preset(cls, name: str, **changes: float) -> "FluidMaterial":
        """A preset by name, with fields changed as asked.

        Raises:
            SceneError: No such preset or no such field; the message lists those there are.
        """
        return preset_of(cls, FLUID_PRESETS, name, changes)


# At 20 degrees Celsius, rounded (Lide 2005, CRC Handbook of Chemistry and Physics).
FLUID_PRESETS: dict[str, FluidMaterial] = {
    "water": FluidMaterial(rest_density=998.0, viscosity=0.001),
    "oil": FluidMaterial(rest_density=910.0, viscosity=0.08),
    "honey": FluidMaterial(rest_density=1420.0, viscosity=10.0),
}
