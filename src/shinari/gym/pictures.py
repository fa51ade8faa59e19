"""Pictures of the worlds of a task, and the page in the browser on which one of them is seen."""

import numpy as np

from shinari.errors import require
from shinari.gym.task import Task
from shinari.io.frames import frame_of, layout_of

SIZE = (480, 360)


class Pictures:
    """Draws worlds of a task, all from the same place. Needs the extra [render].

    Args:
        task: The task.
        size: Width and height [pixels].
    """

    def __init__(self, task: Task, size: tuple[int, int] = SIZE) -> None:
        require("pyvista", "render")
        from shinari.view.camera import Camera
        from shinari.view.pictures import Painter, survey

        self._task = task
        layout = layout_of(task.worlds.scene, 1.0 / task.worlds.settings.dt)
        first = frame_of(task.worlds.world(0))
        camera = None if task.camera is None else Camera(*task.camera)
        self._painter = Painter(layout, first, survey(layout, [first], size=size), size=size, camera=camera, grid=False)

    def image(self, world: int) -> np.ndarray:
        """Picture of a world now, (height, width, 3) uint8."""
        return self._painter.image(frame_of(self._task.worlds.world(world)))

    def close(self) -> None:
        """Give back what the pictures need."""
        self._painter.close()


class BrowserPage:
    """A page in the browser that shows a world of a task. Needs the extra [view].

    Args:
        task: The task.
        world: Number of the world.

    Attributes:
        address: Where a browser finds it.
    """

    def __init__(self, task: Task, world: int = 0) -> None:
        require("viser", "view")
        from shinari.gym.follower import Follower
        from shinari.view.page import Loaded
        from shinari.view.server import page_address, serve

        self.follower = Follower(task.worlds.world(world), type(task).__name__)
        self._page = serve({"task": lambda: Loaded(self.follower)}, "task", port=0)
        self.address = page_address(self._page)

    def update(self) -> None:
        """Show the world as it is now."""
        self.follower.update()

    def close(self) -> None:
        """Close the page."""
        self._page.close()
