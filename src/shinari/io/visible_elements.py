"""Which triangles and segments of objects that can tear are drawn, and which points of fluids that flow in and out.

Results list all there may ever be, frames choose.
"""

from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.tetrahedra.check import FACES, exposed_faces
from shinari.model.model import Model
from shinari.model.state import State
from shinari.scene.objects import ParticleObject
from shinari.systems.failure.tearing import elements_left


def can_tear(obj: ParticleObject) -> bool:
    """Whether the material of an object lets go at some strain."""
    return bool(np.isfinite(getattr(obj.material, "tear_strain", np.inf)))


def flows(scene: Scene, obj: ParticleObject) -> bool:
    """Whether particles of an object come and go."""
    return obj.sampling is not None and (obj.emitter is not None or bool(scene.sinks))


def varies(scene: Scene, obj: ParticleObject) -> bool:
    """Whether frames say what of an object is drawn."""
    return can_tear(obj) or flows(scene, obj)


def all_faces(obj: ParticleObject) -> np.ndarray | None:
    """Triangles that an object may ever show, (F, 3): without a visual surface those of all tetrahedra."""
    if obj.visual is not None:
        return obj.visual.faces
    if obj.tetrahedra is not None and can_tear(obj):
        return np.asarray(obj.tetrahedra)[:, FACES].reshape(-1, 3)
    return obj.faces


def drawn(scene: Scene, model: Model, state: State) -> np.ndarray:
    """Which triangles, segments and points of the objects that vary are drawn, one after the other, (H,) bool."""
    masks, stop = [np.zeros(0, bool)], 0
    for index, obj in enumerate(scene.particle_objects):
        start, stop = stop, stop + len(obj.positions)
        if flows(scene, obj):
            masks.append(model.present(state, range(start, stop)))
        if can_tear(obj):
            left = elements_left(model, state, index)
            assert left is not None
            masks.append(_mask(obj, left))
    return np.concatenate(masks)


def _mask(obj: ParticleObject, left: np.ndarray) -> np.ndarray:
    """Which of `all_faces`, or of the segments of a rope, are drawn when these elements are left."""
    if obj.tetrahedra is None:
        return left
    if obj.visual is None:
        return exposed_faces(obj.tetrahedra, left)
    lost = _lost_vertices(obj.visual, np.asarray(obj.tetrahedra), left)
    return np.logical_not(lost)[obj.visual.faces].min(axis=1)


def _lost_vertices(visual: Any, tetrahedra: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Which vertices of an embedded surface are in a tetrahedron that is gone, (V,) bool."""
    if left.all():
        return np.zeros(len(visual.vertices), bool)
    gone, own = (np.ascontiguousarray(np.sort(t, axis=1), np.int64) for t in (tetrahedra[~left], visual.corners))
    row = np.dtype((np.void, gone.dtype.itemsize * 4))
    return np.isin(own.view(row).ravel(), gone.view(row).ravel())
