"""What is drawn of a simulation: the layout of its scene, and the frames."""

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.api.visual_surfaces import velocities_now, vertices_now
from shinari.geometry.motion import pose_at, rotation_matrix
from shinari.io.results import Body, DrawnPart, Frame, Layout
from shinari.io.visible_elements import all_faces, drawn, varies
from shinari.shapes.base import shape_mesh
from shinari.solver.diagnostics import Measured
from shinari.systems.rigid.surface import body_surface

KINDS = {
    "cloth": "mesh",
    "soft": "mesh",
    "rope": "curve",
    "rod": "curve",
    "particles": "points",
    "lump": "points",
    "fluid": "points",
    "grains": "points",
}
"""How objects are drawn that have no surface of their own."""

VELOCITY_SPAN = 1.0e-4
"""Part of a step over which the motion of a collider is differenced for its velocity."""


def layout_of(scene: Scene, frames_per_second: float, surface: bool = False, measured: bool = False) -> Layout:
    """What results of a scene hold: every object of particles is a part, every rigid body and every collider a body.

    An object with a visual surface is drawn by that, in place of its particles.

    Args:
        scene: The scene.
        frames_per_second: Frames in a second of simulated time [1/s].
        surface: Whether fluids are drawn by their surface.
        measured: Whether frames hold strains, forces and measures.
    """
    parts, start, end = [], 0, scene.particle_count
    for obj in scene.particle_objects:
        stop = start + len(obj.positions)
        if obj.visual is not None:
            count = len(obj.visual.vertices)
            parts.append(DrawnPart(obj.name, "mesh", end, end + count, obj.visual.faces, varies=varies(scene, obj)))
            end += count
        else:
            kind = KINDS[obj.kind]
            faces = all_faces(obj) if kind == "mesh" else None
            radius, fluid = float(obj.radii.max()), obj.sampling is not None
            closed = obj.rod is not None and obj.rod.closed
            parts.append(
                DrawnPart(
                    obj.name, kind, start, stop, faces, radius, varies(scene, obj), fluid, fluid and surface,
                    cloth=obj.kind == "cloth", closed=closed,
                )
            )  # fmt: skip
        start = stop
    bodies = [Body(body.name, *body_surface(body), rigid=True, color=body.color) for body in scene.bodies]
    bodies += [Body(collider.name, *shape_mesh(collider.shape)) for collider in scene.colliders]
    return Layout(tuple(parts), tuple(bodies), start, frames_per_second, end - start, measured)


def frame_of(simulation: Simulation, measured: bool = False) -> Frame:
    """The moment at which a simulation is; its arrays change with the next step.

    Args:
        simulation: The simulation.
        measured: Measure strains, forces and energies too.
    """
    model, state, scene = simulation.model, simulation.state, simulation.scene
    vertices, velocities, start = [state.positions], [state.velocities], 0
    for obj in scene.particle_objects:
        particles = range(start, start + len(obj.positions))
        start = particles.stop
        if obj.visual is not None:
            vertices.append(vertices_now(obj.visual, model, state, particles, simulation.threads))
            velocities.append(velocities_now(obj.visual, model, state, particles, simulation.threads))
    if len(vertices) > 1:
        vertices, velocities = [np.concatenate(vertices)], [np.concatenate(velocities)]
    pairs = zip(_moving_bodies(simulation), _moving_colliders(simulation), strict=True)
    places, turns, speeds, spins = (np.concatenate(pair) for pair in pairs)
    shown = drawn(scene, model, state)
    fluids = [simulation.densities(obj.name) for obj in scene.particle_objects if obj.sampling is not None]
    densities = np.concatenate([np.zeros(0), *fluids])
    return Frame(
        simulation.time, vertices[0], velocities[0], places, turns, speeds, spins, shown, densities,
        *(_measured(simulation) if measured else ()),
    )  # fmt: skip


def _measured(simulation: Simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Strains and forces of the points, each (N + V,), and measures (M,)."""
    found, scene = simulation.measure(), simulation.scene
    return _at_points(scene, found.strains), _at_points(scene, found.forces), measures_of(found)


def measures_of(found: Measured) -> np.ndarray:
    """The numbers that `MEASURES` names, (M,)."""
    energy = found.energy
    numbers = [energy.kinetic, energy.gravitational, energy.elastic, *found.momentum, *found.angular_momentum]
    return np.array([*numbers, found.residual, found.mean_strain, found.largest_strain, energy.external_work])


def _at_points(scene: Scene, values: np.ndarray) -> np.ndarray:
    """Values of the particles, (N,), then those of the vertices of surfaces: means of their particles, (N + V,).

    The weights are those that move the surface. Where a vertex lies outside of its tetrahedron one is negative and
    does not count, so that no mean leaves the range of its particles.
    """
    found, start = [values], 0
    for obj in scene.particle_objects:
        own = values[start : start + len(obj.positions)]
        start += len(obj.positions)
        if obj.visual is not None:
            weights = np.maximum(obj.visual.weights, 0.0)
            found.append((weights * own[obj.visual.corners]).sum(axis=1) / weights.sum(axis=1))
    return np.concatenate(found)


def _moving_bodies(simulation: Simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rotations, velocities of the origins and angular velocities of the rigid bodies."""
    state, bodies = simulation.state, simulation.scene.bodies
    arms = [rotation_matrix(q) @ body.centre for q, body in zip(state.body_rotations, bodies, strict=True)]
    arms = np.reshape(arms, (len(bodies), 3))
    at_origin = state.body_velocities - np.cross(state.body_angular_velocities, arms)
    return state.body_positions, state.body_rotations, at_origin, state.body_angular_velocities


def _moving_colliders(simulation: Simulation) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Positions, rotations, velocities and angular velocities of the colliders."""
    places, rotations = simulation.collider_poses()
    velocities, spins = np.zeros((len(places), 3)), np.zeros((len(places), 3))
    for index, collider in enumerate(simulation.scene.colliders):
        if collider.motion is not None:
            ahead = VELOCITY_SPAN * simulation.settings.dt
            place, rotation = pose_at(collider.motion, simulation.time + ahead, collider.rotation)
            velocities[index] = (place - places[index]) / ahead
            turn = rotation_matrix(rotation) @ rotation_matrix(rotations[index]).T
            spins[index] = np.array([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]])
            spins[index] *= 0.5 / ahead
    return places, rotations, velocities, spins
