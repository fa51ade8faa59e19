"""The handle that `Scene.add_joint` returns."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shinari.scene.contents import Contents


class JointHandle:
    """A joint of a scene.

    Attributes:
        name: Name in messages and results.
        index: Its place among the joints.
    """

    def __init__(self, scene: "Contents", name: str, index: int) -> None:
        self._scene = scene
        self.name = name
        self.index = index

    def __repr__(self) -> str:
        return f"<{self.name}: joint {self.index}>"
