"""Tasks as environments of Gymnasium: one world, or many of them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError, require
from shinari.gym.episodes import LARGEST, Episodes
from shinari.gym.pictures import BrowserPage, Pictures
from shinari.gym.task import Task

gymnasium: Any = require("gymnasium", "gym")
_vector: Any = require("gymnasium.vector", "gym")
AutoresetMode: Any = _vector.AutoresetMode

RENDER_MODES = ("rgb_array", "human")
LARGEST_SEED = 2**128


def spaces(task: Task) -> tuple[Any, Any]:
    """The spaces of the observations and of the actions of a task in one world."""
    seen = gymnasium.spaces.Box(-LARGEST, LARGEST, (task.observations,), np.float32)
    return seen, gymnasium.spaces.Box(-1.0, 1.0, (task.actions,), np.float32)


class _Rendering:
    """Pictures of a task, made when they are first asked for."""

    def __init__(self, task: Task, mode: str | None) -> None:
        if mode is not None and mode not in RENDER_MODES:
            raise SceneError(f"environment: render_mode: expected one of {', '.join(RENDER_MODES)}, got {mode!r}")
        self._task, self._mode = task, mode
        self._pictures: Pictures | None = None
        self.page: BrowserPage | None = None

    def show(self) -> None:
        """Show the first world in the browser, where the mode is `human`."""
        if self._mode != "human":
            return
        if self.page is None:
            self.page = BrowserPage(self._task)
            print(f"shinari viewer at {self.page.address}")
        self.page.update()

    def images(self) -> list[np.ndarray] | None:
        """Pictures of all worlds, where the mode is `rgb_array`."""
        if self._mode != "rgb_array":
            return None
        if self._pictures is None:
            self._pictures = Pictures(self._task)
        return [self._pictures.image(world) for world in range(len(self._task.worlds))]

    def close(self) -> None:
        """Close what was opened."""
        for each in (self._pictures, self.page):
            if each is not None:
                each.close()
        self._pictures = self.page = None


class Environment(gymnasium.Env):
    """A task in one world.

    Args:
        task: Class of the task, called with the number of worlds.
        render_mode: `"rgb_array"`: `render` returns a picture. `"human"`: the world is seen in the browser.
        **options: Further arguments of the task.

    Raises:
        SceneError: An option is unknown, or one is unusable.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 30}  # noqa: RUF012  as Gymnasium declares it

    def __init__(self, task: Callable[..., Task], *, render_mode: str | None = None, **options: Any) -> None:
        self.task = _made(task, 1, options, "render_mode")
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": _rate(self.task)}
        self.observation_space, self.action_space = spaces(self.task)
        self._episodes, self._rendering = Episodes(self.task), _Rendering(self.task, render_mode)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start an episode; it has no options.

        Raises:
            SceneError: There is an option, or the seed is none.
        """
        _options(options)
        super().reset(seed=_seed(seed))
        self._episodes.start(np.zeros(1, np.int64), [self.np_random])
        self._rendering.show()
        return self._episodes.observe()[0], {"success": False}

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Carry out an action."""
        given = check.array("environment", "action", action, (self.task.actions,))
        outcome = self._episodes.act(given[None], np.ones(1, bool))
        self._rendering.show()
        info = {"success": bool(outcome.success[0])}
        ends = bool(outcome.terminated[0]), bool(outcome.truncated[0])
        return outcome.observations[0], float(outcome.rewards[0]), *ends, info

    def render(self) -> np.ndarray | None:
        """A picture of the world, (height, width, 3) uint8, where the mode is `rgb_array`."""
        images = self._rendering.images()
        return None if images is None else images[0]

    def close(self) -> None:
        """Close pictures and pages."""
        self._rendering.close()


class VectorEnvironment(_vector.VectorEnv):
    """A task in many worlds.

    A world behaves, bit by bit, as an `Environment` that was given the same seed and actions.

    Args:
        task: Class of the task, called with the number of worlds.
        num_envs: Worlds.
        render_mode: `"rgb_array"`: `render` returns a picture of each world. `"human"`: the first one is seen in the
            browser.
        autoreset_mode: What becomes of a world whose episode has ended: `NEXT_STEP`, `SAME_STEP` or `DISABLED`, as in
            Gymnasium.
        **options: Further arguments of the task, such as `threads`.

    Raises:
        SceneError: An option is unknown, or one is unusable.
    """

    metadata = {"render_modes": list(RENDER_MODES), "render_fps": 30}  # noqa: RUF012  as Gymnasium declares it

    def __init__(
        self,
        task: Callable[..., Task],
        num_envs: int = 1,
        *,
        render_mode: str | None = None,
        autoreset_mode: Any = AutoresetMode.NEXT_STEP,
        **options: Any,
    ) -> None:
        super().__init__()
        self.autoreset_mode = _autoreset_mode(autoreset_mode)
        self.task = _made(task, num_envs, options, "num_envs", "render_mode", "autoreset_mode")
        self.num_envs, self.render_mode = num_envs, render_mode
        self.metadata = {
            **self.metadata,
            "render_fps": _rate(self.task),
            "autoreset_mode": self.autoreset_mode,
        }
        self.single_observation_space, self.single_action_space = spaces(self.task)
        self.observation_space = _vector.utils.batch_space(self.single_observation_space, num_envs)
        self.action_space = _vector.utils.batch_space(self.single_action_space, num_envs)
        self._episodes, self._rendering = Episodes(self.task), _Rendering(self.task, render_mode)
        self._random: list[np.random.Generator] = []
        self._seeds: list[int] = []
        self._ended = np.zeros(num_envs, bool)

    @property
    def np_random(self) -> tuple[np.random.Generator, ...]:
        """The generator of each world."""
        return tuple(self._random)

    @property
    def np_random_seed(self) -> tuple[int, ...]:
        """The seed of each world."""
        return tuple(self._seeds)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Start episodes in all worlds, or in those of `options["reset_mask"]`, (W,) bool.

        Args:
            seed: Seed of the first world, the others have the numbers that follow; or one for each.
            options: `{"reset_mask": mask}`.

        Raises:
            SceneError: There is another option, the mask has another shape, a seed is none, or there are not as many
                seeds as worlds.
        """
        mask = np.ones(self.num_envs, bool)
        known = _options(options, "reset_mask")
        if "reset_mask" in known:
            mask = check.shaped("environment", "reset_mask", known["reset_mask"])
            if mask.shape != (self.num_envs,) or mask.dtype != bool:
                raise SceneError(
                    f"environment: reset_mask: expected ({self.num_envs},) bool, got {mask.dtype} {mask.shape}"
                )
        self._seed(seed, mask)
        self._episodes.start(np.flatnonzero(mask), self._random)
        self._ended[mask] = False
        self._rendering.show()
        return self._episodes.observe(), self._success(np.zeros(self.num_envs, bool), mask)

    def _seed(self, seed: int | Sequence[int | None] | None, mask: np.ndarray) -> None:
        """Give worlds new generators, where there is a seed or none yet."""
        given: Any = seed
        if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool):
            given = [int(seed) + k for k in range(self.num_envs)]
        given = [None] * self.num_envs if given is None else check.sequence("environment", "seed", given)
        if len(given) != self.num_envs:
            raise SceneError(f"environment: seed: expected {self.num_envs} seeds, got {len(given)}")
        seeds = [_seed(each) for each in given]
        fresh = not self._random
        if fresh:
            self._random, self._seeds = [np.random.default_rng()] * self.num_envs, [0] * self.num_envs
        for k in range(self.num_envs):
            if fresh or (mask[k] and seeds[k] is not None):
                self._random[k], self._seeds[k] = gymnasium.utils.seeding.np_random(seeds[k])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Carry out an action in each world."""
        again = self._ended.copy()
        if again.any() and self.autoreset_mode == AutoresetMode.DISABLED:
            ended = np.flatnonzero(again).tolist()
            raise SceneError(f"environment: step: the episodes of worlds {ended} have ended; reset them first")
        seen, rewards, terminated, truncated, success = self._episodes.act(actions, ~again)
        infos = self._success(success, ~again)
        ended = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP:
            again = ended
            for k in np.flatnonzero(ended).tolist():
                final = {"final_obs": seen[k].copy(), "final_info": {"success": bool(success[k])}}
                infos = self._add_info(infos, final, k)
        if again.any():
            self._episodes.start(np.flatnonzero(again), self._random)
            seen[again] = self._episodes.observe()[again]
        self._ended = ended if self.autoreset_mode != AutoresetMode.SAME_STEP else np.zeros(self.num_envs, bool)
        self._rendering.show()
        return seen, rewards, terminated, truncated, infos

    def _success(self, success: np.ndarray, told: np.ndarray) -> dict[str, Any]:
        return {"success": success, "_success": told.copy()}

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A picture of each world, (height, width, 3) uint8, where the mode is `rgb_array`."""
        images = self._rendering.images()
        return None if images is None else tuple(images)

    def close_extras(self, **_: Any) -> None:
        """Close pictures and pages."""
        self._rendering.close()


def _made(task: Any, count: int, options: dict[str, Any], *own: str) -> Task:
    """A task of so many worlds; `own` are further options of the environment."""
    if not callable(task):
        raise SceneError(f"environment: task: expected a class derived from Task, got {check.short(task)}")
    _check_options(task, options, own)
    made = check.kind("environment", "task", task(count, **options), Task)
    for name in ("actions", "observations", "every", "horizon"):
        check.count(type(made).__name__, name, getattr(made, name, None))
    return made


def _check_options(task: Callable[..., Any], options: dict[str, Any], own: tuple[str, ...]) -> None:
    """Refuse options that neither the environment nor the task takes."""
    try:
        parameters = list(inspect.signature(task).parameters.values())
    except (TypeError, ValueError):  # it does not say
        return
    if all(parameter.kind is not inspect.Parameter.VAR_KEYWORD for parameter in parameters):
        # the first one is the number of worlds
        check.known("environment", "option", options, [*(parameter.name for parameter in parameters[1:]), *own])


def _options(given: Any, *known: str) -> dict[str, Any]:
    """Options of a reset, of which all are known."""
    options = {} if given is None else check.kind("environment", "options", given, dict)
    check.known("environment: options", "option", options, known)
    return options


def _seed(given: Any) -> int | None:
    """A seed, an integer of Python since Gymnasium takes no other, or None."""
    return None if given is None else check.count("environment", "seed", given, least=0, most=LARGEST_SEED)


def _autoreset_mode(given: Any) -> Any:
    try:
        return AutoresetMode(given)
    except ValueError:
        known = ", ".join(mode.name for mode in AutoresetMode)
        raise SceneError(
            f"environment: autoreset_mode: expected AutoresetMode, one of {known}, got {check.short(given)}"
        ) from None


def _rate(task: Task) -> int:
    """Actions in a second, for videos."""
    return max(round(1.0 / (task.every * task.worlds.settings.dt)), 1)
