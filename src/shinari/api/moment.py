"""A simulation as it is at one moment, for those who read it while it goes on."""

from shinari.api.simulation import Simulation


class Moment:
    """A simulation as it is when this is made.

    On a GPU the arrays of its state are copied to the host beside the steps that follow. On the host nothing is copied:
    it is the simulation itself, to be read before the next step.

    Args:
        simulation: The simulation.
        everything: Whether all of the state is wanted, or what is drawn only.

    Attributes:
        is_on_its_way: Whether a step may be taken before it is read.
    """

    def __init__(self, simulation: Simulation, *, everything: bool) -> None:
        self._simulation, run = simulation, simulation._run
        skipped = {f"parts/{name}" for name in run.state.growing}
        if not any(obj.visual is not None for obj in run.scene.particle_objects):
            skipped |= {"x", "v"}

        def is_wanted(name: str) -> bool:
            return everything or not (name in skipped or name.startswith("multipliers/"))

        # before the first step densities are measured, on the records themselves
        self._transfer = run.later(is_wanted) if run.state.frame else None
        self.is_on_its_way = self._transfer is not None
        if self.is_on_its_way:
            # the model and settings of now
            self._run, self._state = run.at(run.state), run.state.of({})

    def simulation(self) -> Simulation:
        """The simulation as it was; on a GPU once its arrays have arrived, until `close`.

        Raises:
            DeviceError: The GPU has failed meanwhile.
        """
        if self._transfer is None:
            return self._simulation
        state = self._state.of(self._transfer.arrays())
        return Simulation.of_run(self._run.at(state))

    def close(self) -> None:
        """It is not read any more."""
        if self._transfer is not None:
            self._transfer.close()
