"""Fluids drawn by their surface in place of their particles: a mesh whose faces are others in each frame."""

from typing import Any

import numpy as np

from shinari.io.results import DrawnPart, Layout
from shinari.systems.fluid.surface_mesh import reconstruct


def fluid_mesh(part: DrawnPart, layout: Layout, frame: Any) -> tuple[np.ndarray, np.ndarray]:
    """Surface of the particles of a part that are there in a frame.

    Returns:
        Vertices [m], (V, 3) float32, and faces, (F, 3) int32.

    Raises:
        MissingExtraError: pysplashsurf is not installed.
    """
    points = _frame_value(frame, "positions")[part.start : part.stop]
    if part.varies:
        points = points[_frame_value(frame, "drawn")[layout.varying[part.name]]]
    # the particles are as thick as their spacing
    vertices, faces = reconstruct(points, 2.0 * part.radius)
    return vertices.astype(np.float32), faces.astype(np.int32)


def _frame_value(frame: Any, name: str) -> np.ndarray:
    """An array of a frame, or of a record of the spool."""
    return np.asarray(frame[name] if isinstance(frame, np.void) else getattr(frame, name))
