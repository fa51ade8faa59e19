"""A simulation as the queries of its systems see it."""

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from shinari.model import Model
    from shinari.scene.scene import Scene
    from shinari.settings import Settings
    from shinari.state import State

S = TypeVar("S")


class Running(Protocol):
    """A simulation as the queries of its systems see it; settings, model and pins may be others at the next call."""

    @property
    def scene(self) -> "Scene":
        """The scene as it was built."""
        ...

    @property
    def model(self) -> "Model":
        """The model."""
        ...

    @property
    def state(self) -> "State":
        """The state."""
        ...

    @property
    def settings(self) -> "Settings":
        """The settings."""
        ...

    @property
    def threads(self) -> int:
        """Threads to use."""
        ...

    def bound(self, kind: type[S]) -> S:
        """The system of a class; there must be one."""
        ...
