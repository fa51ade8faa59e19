"""The simulation of a scene, for handles that tell the present state."""

from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, ref

from shinari.errors import SceneError

if TYPE_CHECKING:
    from shinari.scene.contents import Contents

_SIMULATIONS: "WeakKeyDictionary[Contents, ref[Any]]" = WeakKeyDictionary()


def set_simulation(scene: "Contents", simulation: Any) -> None:
    """Let the handles of a scene ask this simulation, the last that was built of it, with whatever values."""
    _SIMULATIONS[scene._origin] = ref(simulation)


def simulation_of(scene: "Contents") -> Any | None:
    """The last simulation that was built of a scene, if there still is one."""
    found = _SIMULATIONS.get(scene._origin)
    return None if found is None else found()


def running(scene: "Contents", label: str) -> Any:
    """The simulation of a scene.

    Raises:
        SceneError: There is none.
    """
    simulation = simulation_of(scene)
    if simulation is None:
        raise SceneError(f"{label}: there is no simulation of its scene; build one first: sim = sn.Simulation(scene)")
    return simulation
