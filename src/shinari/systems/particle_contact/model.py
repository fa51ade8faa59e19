"""Model of contacts between particles."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from shinari.model.model import Model
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.contents import Contents
from shinari.systems.particle_contact.build import MemberTable, pair_members

if TYPE_CHECKING:
    from shinari.systems.particle_contact.system import Pairs


@dataclass(frozen=True)
class PairModel(SystemModel):
    """Contacts between particles as balls.

    Attributes:
        members: The particles, or None when no two of them can ever touch.
    """

    members: MemberTable | None
    rebound = True

    def with_pins(self, scene: Contents, model: Model) -> "PairModel":
        """The contacts with other fixed particles."""
        return replace(self, members=pair_members(scene, model))

    def bind(self, bound: BoundSystems) -> "list[Pairs]":
        """The contacts of a simulation."""
        from shinari.systems.particle_contact.system import Pairs

        if self.members is None:
            return []
        return [Pairs(bound.model, bound.settings, bound.particles, bound.origins, bound.clock, self.members)]
