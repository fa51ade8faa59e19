"""Surfaces of objects as they are shown: own triangles, or surfaces in place of the particles."""

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.embedded_surface import EmbeddedSurface
from shinari.geometry.skinning import blend
from shinari.model.model import Model
from shinari.model.state import State
from shinari.scene.cluster_surface import ClusterSurface
from shinari.scene.handle import Handle
from shinari.scene.visual import Visual
from shinari.solver.run import Run
from shinari.systems.failure.tearing import elements_left, faces_left, shown_left


def surface_now(run: Run, handle: Handle) -> tuple[np.ndarray, np.ndarray]:
    """Vertices [m], (V, 3), and faces, (F, 3), of an object with particles, copies; torn elements are left out.

    Raises:
        SceneError: It has no surface.
    """
    particles, number = run.particles_of(handle), run.object_index(handle)
    obj, left = run.scene.particle_objects[number], elements_left(run.model, run.state, number)
    if obj.visual is not None:
        members = range(particles.start, particles.stop)
        return vertices_now(obj.visual, run.model, run.state, members, run.threads), shown_left(obj, left)
    if obj.faces is None:
        raise SceneError(f"surface: handle: {obj.name!r} is made of {obj.kind} and has no triangles")
    return run.state.positions[particles].copy(), np.array(faces_left(obj, left))


def vertices_now(visual: Visual, model: Model, state: State, particles: range, threads: int) -> np.ndarray:
    """Vertices of a surface in the world [m], (V, 3).

    Args:
        visual: The surface.
        model: The model that its object is in.
        state: A state of it.
        particles: Global indices of the particles of the object.
        threads: Threads to use.
    """
    if isinstance(visual, ClusterSurface):
        from shinari.systems.shape_matching.surface import places

        return places(visual, model, state, particles, threads)
    # tetrahedra share rows, so their particles share an origin
    origin = state.origins[model.origin_index[model.slots[particles.start]]]
    return _blended(visual, model, state.x, origin, particles, threads)


def velocities_now(visual: Visual, model: Model, state: State, particles: range, threads: int) -> np.ndarray:
    """Velocities of the vertices [m/s], (V, 3); the arguments are those of `vertices_now`."""
    if isinstance(visual, ClusterSurface):
        from shinari.systems.shape_matching.surface import speeds

        return speeds(visual, model, state, particles)
    return _blended(visual, model, state.v, np.zeros(3), particles, threads)


def _blended(
    visual: Visual, model: Model, values: np.ndarray, origin: np.ndarray, particles: range, threads: int
) -> np.ndarray:
    assert isinstance(visual, EmbeddedSurface)
    slots = model.slots[particles.start : particles.stop]
    return blend(visual.corners, visual.weights, slots, values, origin, threads)
