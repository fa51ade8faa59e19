"""Environments of Gymnasium: cloth, ropes, rods, liquids and grains to be handled. Needs the extra [gym].

`import shinari.gym` registers them: `gymnasium.make("shinari/FoldCloth-v0")` is one world,
`gymnasium.make_vec("shinari/FoldCloth-v0", num_envs=64)` are many. `Task` is the base of one's own.
"""

import re

from shinari import check
from shinari.errors import SceneError
from shinari.gym.environment import Environment, VectorEnvironment, gymnasium
from shinari.gym.task import Task
from shinari.gym.tasks import TASKS

__all__ = ["TASKS", "Environment", "Task", "VectorEnvironment", "register"]

_NAME = re.compile(r"([\w:-]+/)?[\w.:-]+")


def register(name: str, task: type[Task]) -> None:
    """Make a task known to Gymnasium, for one world and for many.

    Args:
        name: Name with a version, `"mine/Lift-v0"`.
        task: Its class.

    Raises:
        SceneError: It is none, or Gymnasium takes no such name.
    """
    check.text("register", "name", name)
    if _NAME.fullmatch(name) is None:
        raise SceneError(f"register: name: expected one such as 'mine/Lift-v0', got {check.short(name)}")
    if not callable(task):
        raise SceneError(f"register: task: expected a class derived from Task, got {check.short(task)}")
    own = "shinari.gym.environment"
    gymnasium.register(
        name,
        entry_point=f"{own}:Environment",
        vector_entry_point=f"{own}:VectorEnvironment",
        kwargs={"task": task},
    )


for _task in TASKS:
    register(f"shinari/{_task.__name__}-v0", _task)
