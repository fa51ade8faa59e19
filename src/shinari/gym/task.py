"""The base of environments: a scene, and how an agent acts in it and what it sees, in many worlds at once.

    class Lift(Task):
        actions, observations = 1, 2

        def build(self):
            scene = sn.Scene()
            self.rope = scene.add_rope([(0, 0, 0), (0.5, 0, 0), (1, 0, 0)])
            self.rope.pin([0])
            return scene

        def act(self, actions):
            self.worlds.positions(self.rope)[:, 0, 1] += 0.01 * actions[:, 0]

        def observe(self):
            return self.worlds.positions(self.rope)[:, (0, 2), 1]

        def reward(self):
            return self.worlds.positions(self.rope)[:, 2, 1]

`Environment(Lift)` is a `gymnasium.Env` of it, `VectorEnvironment(Lift, 64)` a `VectorEnv`.
"""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from shinari import check
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.api.worlds import Worlds
from shinari.errors import SceneError

_TAKEN = ("scene", "count", "threads", "vary", "on_divergence")


class Task(ABC):
    """A task in many worlds. Arrays of a task have an axis of worlds in front, like those of `Worlds`.

    Args:
        count: Worlds.
        threads: Threads to use; None: all processors.

    Attributes:
        actions: Numbers of an action, each from -1 to 1.
        observations: Numbers of an observation.
        every: Steps of the simulation that an action lasts.
        horizon: Actions after which an episode is cut off.
        settings: Settings of the simulations, `{"dt": ..., "substeps": ...}`.
        camera: Where pictures are taken from and the point that is in their middle [m]; None: so that the start fits.
        worlds: The worlds.
        elapsed: Actions since the start of the episode of each world, (W,).
    """

    actions: ClassVar[int]
    observations: ClassVar[int]
    every: ClassVar[int] = 1
    horizon: ClassVar[int] = 200
    settings: ClassVar[dict[str, Any]] = {}
    camera: ClassVar[tuple[tuple[float, float, float], tuple[float, float, float]] | None] = None

    def __init__(self, count: int = 1, *, threads: int | None = None) -> None:
        settings = check.kind(type(self).__name__, "settings", self.settings, dict)
        for name in _TAKEN:
            if name in settings:
                raise SceneError(f"{type(self).__name__}: settings: {name!r} belongs to the environment; leave it out")
        self.worlds = Worlds(self.build(), count, threads=threads, on_divergence="hold", **settings)
        self.elapsed = np.zeros(count, np.int64)
        self.settle(self.worlds.world(0))
        if self.worlds.times[0] > 0.0:
            self.worlds.restore(self.worlds.world(0).state)
            self.worlds.keep()
        self.prepare()

    @abstractmethod
    def build(self) -> Scene:
        """The scene of which all worlds are copies."""

    @abstractmethod
    def act(self, actions: np.ndarray) -> None:
        """Write the controls of the next step, from actions (W, A) from -1 to 1; called before each step."""

    @abstractmethod
    def observe(self) -> np.ndarray:
        """What is seen, (W, O); numbers beyond 10 in size are cut off, nan is refused."""

    def conclude(self) -> None:  # noqa: B027  may stay empty
        """An action has been carried out: bring the arrays of the task up to date."""

    @abstractmethod
    def reward(self) -> np.ndarray:
        """Reward of the action that has been carried out, (W,); nan is refused."""

    def settle(self, simulation: Simulation) -> None:  # noqa: B027  may stay empty
        """Bring the scene into the state with which episodes begin: let it come to rest, fold, fill."""

    def prepare(self) -> None:  # noqa: B027  may stay empty
        """Make the arrays of the task, once the worlds are there."""

    def start(self, world: int, random: np.random.Generator) -> None:  # noqa: B027  may stay empty
        """Vary the start of an episode in a world that was reset; bring the arrays of the task back to it."""

    def script(self) -> np.ndarray:
        """Actions of a policy that does the task, from all that the simulation knows, (W, A).

        Raises:
            NotImplementedError: The task has none.
        """
        raise NotImplementedError(f"{type(self).__name__}: has no scripted policy")

    def succeeded(self) -> np.ndarray:
        """Worlds in which the task is done, (W,) bool: the episode ends."""
        return np.zeros(len(self.worlds), bool)

    def failed(self) -> np.ndarray:
        """Worlds in which it cannot be done any more, (W,) bool: the episode ends."""
        return np.zeros(len(self.worlds), bool)
