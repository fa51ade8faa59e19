"""A simulation as the queries of its systems see it."""

from typing import TYPE_CHECKING, Protocol, TypeVar

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.settings import Settings
    from shinari.model.state import State
    from shinari.scene.contents import Contents

S = TypeVar("S")


class Running(Protocol):
    """A simulation as the queries of its systems see it; settings, model and pins may be others at the next call."""

    @property
    def scene(self) -> "Contents":
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

    def bind(self) -> None:
        """Bind the kernels anew to the arrays of the state."""
        ...

    def system(self, kind: type[S]) -> S:
        """The system of a class; there must be one."""
        ...
