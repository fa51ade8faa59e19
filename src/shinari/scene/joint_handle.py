"""The handle that `Scene.add_joint` returns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


@dataclass(frozen=True, eq=False, repr=False)
class JointHandle:
    """A joint of a scene.

    Attributes:
        name: Name in messages and results.
        index: Its place among the joints.
    """

    described: ClassVar[str] = "a joint"
    _scene: "Contents"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: joint {self.index}>"
