"""Episodes of a task in many worlds: resets, actions, rewards and ends."""

from typing import NamedTuple

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.gym.task import Task

LARGEST = 10.0
"""Largest number of an observation."""


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
        """What is seen now, (W, O) float32."""
        seen, expected = np.asarray(self.task.observe()), (len(self.task.worlds), self.task.observations)
        if seen.shape != expected:
            raise SceneError(f"{type(self.task).__name__}: observe: expected shape {expected}, got {seen.shape}")
        return np.clip(seen, -LARGEST, LARGEST).astype(np.float32)

    def act(self, actions: np.ndarray, active: np.ndarray) -> Outcome:
        """Carry out an action in each of the active worlds; the others stand still.

        Args:
            actions: Actions, (W, A).
            active: Which worlds, (W,) bool.

        Raises:
            SceneError: The actions have another shape, or an active world has not been reset yet.
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
        failed = (task.failed() | task.worlds.diverged) & active
        # what is lost with the last action has not been done
        success = task.succeeded() & active & ~failed
        terminated = success | failed
        truncated = (task.elapsed >= task.horizon) & active & ~terminated
        rewards = np.where(active, task.reward(), 0.0)
        return Outcome(self.observe(), rewards, terminated, truncated, success)
