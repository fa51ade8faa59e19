"""Ray casts: what rays meet first of bodies, colliders and surfaces."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.api.visual_surfaces import surface_now
from shinari.collision.rays import Rays, cast
from shinari.errors import SceneError
from shinari.scene.body import Body
from shinari.scene.handle import BodyHandle, ColliderHandle, Handle
from shinari.solver.ray_targets import Targets
from shinari.solver.run import Run
from shinari.systems.colliders.system import poses_at


@dataclass(frozen=True)
class RayHits:
    """What rays meet first, in the order of the rays.

    Attributes:
        distances: Distance from the origin of each ray to its hit [m], (M,); infinite where it meets nothing.
        positions: Where the hits are [m], (M, 3); nan where there is none.
        normals: Unit vectors out of the solid at the hits, of cloth and other sheets towards the origin of the ray,
            (M, 3); zero where there is none.
        names: Names of what was hit, objects, bodies or colliders, (M,); empty where nothing was.
    """

    distances: np.ndarray
    positions: np.ndarray
    normals: np.ndarray
    names: np.ndarray


class RayQueries:
    """Ray casts in a scene that runs.

    Args:
        run: The scene.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def cast_rays(
        self,
        origins: Any,
        directions: Any,
        *,
        max_distance: float = np.inf,
        ignore: Sequence[Handle | BodyHandle | ColliderHandle | str] = (),
    ) -> RayHits:
        """What rays meet first: shapes of rigid bodies and colliders, and surfaces as `surface` gives them.

        Shapes are met where they are exactly, meshes, cloth and soft bodies at their triangles, without a thickness. A
        ray that starts in a solid meets its surface from within; a body of several parts is one solid.
        Particles, ropes, rods, fluids, grains, and lumps without a visual surface are not met. Of two at the same
        distance either may be told.

        Args:
            origins: Where the rays start [m], (M, 3), or (3,) for all.
            directions: Where they go, of any length but zero, (M, 3), or (3,) for all.
            max_distance: Distance up to which they go [m].
            ignore: Objects, bodies and colliders that they pass through.

        Returns:
            Distances, positions, normals and names.

        Raises:
            SceneError: A direction is zero, numbers are not finite or of another shape, one of `ignore` is not in this
                scene, or what was written to the state is not finite.
        """
        label = "cast_rays"
        starts, along = _rays(label, origins, directions)
        most = check.number(label, "max_distance", max_distance, least=0.0, infinite=True)
        given = check.sequence(label, "ignore", ignore)
        self._run.refuse_later(given)
        kinds = Handle, BodyHandle, ColliderHandle
        targets = self._targets({self._run.scene.find(label, "ignore", each, *kinds).name for each in given})
        count = len(starts)
        rays = Rays(
            np.float64,
            origin=starts,
            along=along,
            distance=np.full(count, most if len(targets.names) else np.inf),
            normal=np.zeros((count, 3)),
            solid=np.full(count, -1),
        )
        if len(targets.names):
            cast(rays, targets.solids, targets.boxes, targets.parts, self._run.settings.threads)
        hit = rays.solid >= 0
        positions = np.full((count, 3), np.nan)
        positions[hit] = starts[hit] + rays.distance[hit, None] * along[hit]
        names = np.array([*targets.names, ""])[rays.solid]
        return RayHits(rays.distance, positions, rays.normal, names)

    def _targets(self, passed: set[str]) -> Targets:
        """What rays can meet now."""
        run, fixed = self._run, self._run.ray_targets
        places, turns = poses_at(run.model.colliders, run.time)
        poses = np.concatenate([places, run.state.body_positions]), np.concatenate([turns, run.state.body_rotations])
        handles = run.scene.handles
        surfaces = {name: surface_now(run, handles[name]) for name in fixed.surfaces if name not in passed}  # type: ignore[arg-type]
        _refuse_lost(poses, [collider.name for collider in run.model.colliders], run.scene.bodies, surfaces)
        return fixed.now(poses, surfaces, passed, run.settings.threads)


def _refuse_lost(
    poses: tuple[np.ndarray, np.ndarray],
    colliders: Sequence[str],
    bodies: Sequence[Body],
    surfaces: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> None:
    """Refuse places that are not finite: a tree over them would hide others."""
    names = [*colliders, *(body.name for body in bodies)]
    finite = np.isfinite(np.concatenate(poses, axis=1)).all(axis=1)
    lost = [names[k] for k in np.flatnonzero(~finite)]
    lost += [name for name, (vertices, _) in surfaces.items() if not np.isfinite(vertices).all()]
    if lost:
        raise SceneError(f"cast_rays: {lost[0]!r}: its state is not finite; write finite numbers, or restore another")


def _rays(label: str, origins: Any, directions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Origins and unit directions, (M, 3) each."""
    found = []
    for field, value in (("origins", origins), ("directions", directions)):
        shape = (3,) if check.dimensions(label, field, value) == 1 else (None, 3)
        found.append(np.atleast_2d(check.array(label, field, value, shape)))
    starts, along = found
    if len(starts) != len(along) and 1 not in (len(starts), len(along)):
        raise SceneError(f"{label}: directions: expected {len(starts)}, one for each origin, or one, got {len(along)}")
    # so that squares neither overflow nor vanish
    largest = np.abs(along).max(axis=1, keepdims=True, initial=0.0)
    if not largest.all():
        raise SceneError(f"{label}: directions: direction {int(np.argmin(largest))} must not be zero")
    along = along / largest
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    count = max(len(starts), len(along)) if len(starts) and len(along) else 0
    return tuple(np.array(np.broadcast_to(rows, (count, 3)), order="C") for rows in (starts, along))  # type: ignore[return-value]
