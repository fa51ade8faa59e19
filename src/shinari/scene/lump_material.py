"""Material and clusters of shape matched lumps of particles, in SI units."""

from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.scene.contact_material import checked_contact_material
from shinari.scene.presets import preset_of

MODES = ("rigid", "linear", "quadratic")


@dataclass(frozen=True)
class Clusters:
    """Which particles of a lump are matched together.

    Attributes:
        offsets: Where the members of each cluster start, (C + 1,).
        members: Particles of each cluster, local and ascending, (E,).
    """

    offsets: np.ndarray
    members: np.ndarray

    def check(self, label: str, count: int) -> None:
        """Refuse what no lump of so many particles could have, in a file that somebody changed.

        Raises:
            SceneError: The offsets do not lead through the members, or a member is out of range.
        """
        members = check.indices(label, "clusters: members", self.members, count)
        offsets = check.indices(label, "clusters: offsets", self.offsets, len(members) + 1)
        if len(offsets) < 2 or offsets[0] != 0 or offsets[-1] != len(members) or (np.diff(offsets) <= 0).any():
            raise SceneError(f"{label}: clusters: offsets: do not lead through the members")
        if (np.bincount(members, minlength=count) == 0).any():
            raise SceneError(f"{label}: clusters: members: a particle is in no cluster")


@dataclass(frozen=True, kw_only=True)
class LumpMaterial:
    """Material of a lump of particles whose shape is matched (Mueller et al. 2005).

    Stiffness k is the fraction of the displacement to its goal that a particle moves, from rest, in a sixtieth of a
    second. It is a spring between each particle and its goal: every mode of deformation oscillates with the angular
    frequency w = 60 sqrt(k / (1 - k)) rad/s, for any time step, number of substeps and of iterations, as long as these
    resolve it. A lump of stiffness 1 is rigid.

    Attributes:
        density: Mass per volume [kg/m^3].
        stiffness: Stiffness, 0 to 1.
        mode: Goal shape of a cluster: `"rigid"`, the shape at rest; `"linear"`, that shape partly stretched
            and sheared as it is now, with its volume; `"quadratic"`, partly bent and twisted too.
        beta: How much of the deformation the goal takes over, 0 to 1, for linear and quadratic clusters.
        cluster_size: Edge of overlapping cubes whose particles are clusters [m]; None: the lump is one cluster.
        yield_strain: Strain of a cluster above which its shape at rest changes; infinite: never.
        creep: How fast the excess goes into the shape at rest [1/s].
        most_strain: Largest change of the shape at rest.
        friction: Coulomb coefficient of sliding in contact.
        static_friction: Coulomb coefficient of sticking; None: as `friction`.
        restitution: Ratio of the speeds after and before an impact, 0 to 1.
        contact_compliance: Inverse stiffness of a contact [m/N].
    """

    density: float = 1000.0
    stiffness: float = 1.0
    mode: str = "rigid"
    beta: float = 0.5
    cluster_size: float | None = None
    yield_strain: float = np.inf
    creep: float = 10.0
    most_strain: float = np.inf
    friction: float = 0.5
    static_friction: float | None = None
    restitution: float = 0.0
    contact_compliance: float = 0.0

    def __post_init__(self) -> None:
        checked_contact_material(
            "LumpMaterial", self.friction, self.static_friction, self.restitution, self.contact_compliance
        )
        check.choice("LumpMaterial", "mode", self.mode, MODES)
        bounds: dict[str, dict] = {
            "density": {"above": 0.0},
            "stiffness": {"least": 0.0, "most": 1.0},
            "beta": {"least": 0.0, "most": 1.0},
            "yield_strain": {"least": 0.0, "infinite": True},
            "creep": {"least": 0.0},
            "most_strain": {"least": 0.0, "infinite": True},
        }
        if self.cluster_size is not None:
            bounds["cluster_size"] = {"above": 0.0}
        for field, limits in bounds.items():
            value = check.number("LumpMaterial", field, getattr(self, field), **limits)
            object.__setattr__(self, field, value)
        if self.mode == "quadratic" and self.yield_strain < np.inf:
            raise SceneError("LumpMaterial: yield_strain: only rigid and linear clusters flow; take mode 'linear'")

    @classmethod
    def preset(cls, name: str, **changes: float) -> "LumpMaterial":
        """A preset by name, with fields changed as asked.

        Raises:
            SceneError: No such preset or no such field; the message lists those there are.
        """
        return preset_of(cls, LUMP_PRESETS, name, changes)


# Densities of Ashby 2011, Materials Selection in Mechanical Design, tables of appendix A. Friction is that of a rough
# surface, and stiffness, yield and creep of jelly and clay are chosen by eye:
# shape matching has no Young's modulus.
LUMP_PRESETS: dict[str, LumpMaterial] = {
    "wood": LumpMaterial(density=700.0, friction=0.4),
    "stone": LumpMaterial(density=2600.0, friction=0.6),
    "jelly": LumpMaterial(density=1050.0, stiffness=0.5, mode="linear", beta=0.5, friction=0.3),
    "clay": LumpMaterial(density=1800.0, stiffness=0.9, yield_strain=0.02, creep=20.0, most_strain=2.0, friction=0.8),
}
