"""Draw scripted episodes of the environments: `python docs/pictures/make_environments.py [NAME ...]`."""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

from shinari.gym import TASKS
from shinari.gym.episodes import Episodes
from shinari.gym.pictures import Pictures

FOLDER = Path(__file__).parent
# Parts of the scripted episode that are drawn, side by side.
MOMENTS = 0.0, 0.5, 1.0


def main(names: list[str]) -> None:
    """Play a scripted episode of each task and draw three moments of it."""
    for task_class in TASKS:
        if names and task_class.__name__ not in names:
            continue
        length = len(list(played(task_class)))
        wanted = {round(part * (length - 1)) for part in MOMENTS}
        images = [image() for k, image in enumerate(played(task_class)) if k in wanted]
        path = FOLDER / f"environment_{task_class.__name__}.jpg"
        Image.fromarray(np.concatenate(images, axis=1)).save(path, quality=88)
        print(f"wrote {path}: {length} actions")


def played(task_class):
    """An episode of the script: after each action what draws it."""
    task = task_class(1)
    episodes, pictures = Episodes(task), Pictures(task, (400, 300))
    episodes.start(np.zeros(1, np.int64), [np.random.default_rng(3)])
    ended = False
    while not ended:
        yield lambda: pictures.image(0)
        outcome = episodes.act(task.script(), np.ones(1, bool))
        ended = bool(outcome.terminated[0] or outcome.truncated[0])
    yield lambda: pictures.image(0)
    pictures.close()


if __name__ == "__main__":
    main(sys.argv[1:])
