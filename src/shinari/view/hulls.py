"""What the mouse takes hold of where particles are drawn as discs, which it goes through in a browser.

Spheres instead would be met, but a browser places instances one by one: 4000 of them take six times as long as discs.
A hull that nobody sees is as good to take hold of, and is a few kilobytes.
"""

from typing import Any

import numpy as np

from shinari.io.results import Frame, Layout
from shinari.view.geometry import hull


class Hulls:
    """A transparent surface around the particles of each part that was added.

    Args:
        scene: The scene of a viser server.
        layout: What the frames hold.
        thin: Radius of particles that have none [m].
    """

    def __init__(self, scene: Any, layout: Layout, thin: float) -> None:
        self._scene, self._layout, self._thin = scene, layout, thin
        self._handles: dict[int, Any] = {}
        self._followed: Frame | None = None

    def add(self, part: int, frame: Frame) -> Any:
        """Add that of a part, by its index; gives viser's handle."""
        vertices, faces = self._around(part, frame)
        # a browser tells nothing of the mouse on what is hidden, so it is there with an opacity of 0
        handle = self._scene.add_mesh_simple(
            f"/hull {part}", vertices, faces, opacity=0.0, side="double", cast_shadow=False, receive_shadow=False
        )
        self._handles[part] = handle
        return handle

    def follow(self, frame: Frame) -> None:
        """Move them to where the particles are in a frame."""
        if frame is self._followed:
            return
        self._followed = frame
        for part, handle in self._handles.items():
            handle.vertices, handle.faces = self._around(part, frame)

    def remove(self) -> None:
        """Take them away."""
        for handle in self._handles.values():
            handle.remove()
        self._handles = {}

    def _around(self, index: int, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
        part = self._layout.parts[index]
        points = np.asarray(frame.positions[part.start : part.stop], np.float64)
        if part.name in self._layout.varying:
            points = points[frame.drawn[self._layout.varying[part.name]]]
        return hull(points, part.radius or self._thin)
