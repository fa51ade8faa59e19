"""The certificate of all paths, as a system of the model."""

from typing import TYPE_CHECKING

from shinari.model.system_model import BoundSystems, SystemModel

if TYPE_CHECKING:
    from shinari.systems.paths.system import PathCertificates


class PathModel(SystemModel):
    """The certificate of all paths; loaded only for a scene with particles or bodies."""

    rebound = True

    def bind(self, bound: BoundSystems) -> "list[PathCertificates]":
        """The certificate of a simulation."""
        from shinari.systems.paths.system import PathCertificates

        return [PathCertificates(bound)]
