"""Episodes of a task in many worlds: resets, actions, rewards and ends."""

from typing import NamedTuple

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.gym.task import Task

LARGEST = 10.0
"""Largest number of an observation."""

_KINDS = {"numbers": "iufb", "truth values": "b"}


class Outcome(NamedTuple):
    """The result of an action, each (W, ...).

    Attributes:
        observations: What is seen, (W, O) float32.
        rewards: Rewards, (W,).
        terminated: Whether the episode has ended.
        truncated: Whether it was cut off.
        success: Whether the task is done.
    """

    observations: np.ndarray
    rewards: np.ndarray
    terminated: np.ndarray
    truncated: np.ndarray
    success: np.ndarray


class Episodes:
    """Episodes of a task.

    Args:
        task: The task.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._started = np.zeros(len(task.worlds), bool)

    def start(self, chosen: np.ndarray, random: list[np.random.Generator]) -> None:
        """Start episodes anew.

        Args:
            chosen: Numbers of the worlds, (C,).
            random: Generators of all worlds.
        """
        self.task.worlds.reset(chosen)
        self.task.elapsed[chosen] = 0
        self._started[chosen] = True
        for world in chosen.tolist():
            self.task.start(world, random[world])

    def observe(self) -> np.ndarray:
        """What is seen now, (W, O) float32.

        Raises:
            SceneError: The task gives something else, or nan.
        """
        seen = self._given("observe", "numbers", (self.task.observations,))
        seen = self._without_nan("observe", seen, self._started)
        return np.clip(seen, -LARGEST, LARGEST).astype(np.float32)

    def _given(self, name: str, what: str, shape: tuple[int, ...] = ()) -> np.ndarray:
        """What a method of the task gives: an array of numbers or truth values, (W, *shape)."""
        label, wanted = type(self.task).__name__, (len(self.task.worlds), *shape)
        values = check.shaped(label, name, getattr(self.task, name)())
        if values.shape != wanted:
            raise SceneError(f"{label}: {name}: expected shape {wanted}, got {values.shape}")
        if values.dtype.kind not in _KINDS[what]:
            raise SceneError(f"{label}: {name}: expected {what}, got {check.short(values)}")
        return values

    def _without_nan(self, name: str, values: np.ndarray, active: np.ndarray) -> np.ndarray:
        """Refuse nan, which a learner would spread, in worlds that run; in those that have diverged it becomes 0."""
        lost = np.isnan(values)
        if not lost.any():
            return values
        worlds = lost.reshape(len(values), -1).any(axis=1) & active
        if (bad := np.flatnonzero(worlds & ~self.task.worlds.diverged)).size:
            raise SceneError(f"{type(self.task).__name__}: {name}: expected numbers, got nan in worlds {bad.tolist()}")
        return np.where(lost, 0.0, values)

    def act(self, actions: np.ndarray, active: np.ndarray) -> Outcome:
        """Carry out an action in each of the active worlds; the others stand still.

        Args:
            actions: Actions, (W, A).
            active: Which worlds, (W,) bool.

        Raises:
            SceneError: The actions have another shape, an active world has not been reset yet, or the task gives
                something else than a number or truth value for each world.
        """
        task = self.task
        given = check.array("environment", "actions", actions, (len(task.worlds), task.actions)).clip(-1.0, 1.0)
        if (missing := np.flatnonzero(active & ~self._started)).size:
            raise SceneError(f"environment: step: no episode has begun in worlds {missing.tolist()}; reset them first")
        for _ in range(task.every):
            task.act(given)
            task.worlds.step(mask=active)
        task.elapsed[active] += 1
        task.conclude()
        failed = (self._given("failed", "truth values") | task.worlds.diverged) & active
        # what is lost with the last action has not been done
        success = self._given("succeeded", "truth values") & active & ~failed
        terminated = success | failed
        truncated = (task.elapsed >= task.horizon) & active & ~terminated
        rewards = self._without_nan("reward", np.where(active, self._given("reward", "numbers"), 0.0), active)
        return Outcome(self.observe(), rewards, terminated, truncated, success)
