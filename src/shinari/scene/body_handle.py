"""The handle that `Scene.add_rigid_body` returns."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


@dataclass(frozen=True, eq=False, repr=False)
class BodyHandle:
    """A rigid body of a scene.

    Attributes:
        name: Name in messages and results.
        index: Its place among the bodies, as in `State.body_positions`.
    """

    described: ClassVar[str] = "a rigid body"
    _scene: "Contents"
    name: str
    index: int

    def __repr__(self) -> str:
        return f"<{self.name}: body {self.index}>"
