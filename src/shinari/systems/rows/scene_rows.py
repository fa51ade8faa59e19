"""From the objects of a scene to constraint rows: cloth and rope become rows like those that a user adds."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shinari.errors import SceneError
from shinari.geometry.geodesic import geodesic_distances
from shinari.scene.contents import Contents
from shinari.scene.failure import failure_of
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.objects import ParticleObject, Rows
from shinari.scene.soft_material import SoftMaterial
from shinari.systems.rows.cloth_rows import cloth_rows, distance_rows, nonempty
from shinari.systems.rows.sheet import Sheet
from shinari.systems.rows.soft_rows import soft_rows

# Distances along a domed surface may come out up to half a per cent short; a tether must never hold back a taut cloth.
TETHER_SLACK = 1.005


def scene_rows(scene: Contents) -> list[Rows]:
    """All rows of a scene: first those that were added as rows, then those of each cloth and rope in order."""
    return [*scene.rows, *(rows for made in rows_by_object(scene) for rows in made)]


def rows_by_object(scene: Contents, sheets: Mapping[int, Sheet] | None = None) -> list[list[Rows]]:
    """Rows that follow from the material of each object, its tethers last.

    Args:
        scene: The scene.
        sheets: What is known of the meshes of cloths, by the index of the object.
    """
    made, start = [], 0
    for number, obj in enumerate(scene.particle_objects):
        rows = object_rows(obj, start, None if sheets is None else sheets.get(number))
        if getattr(obj.material, "tethers", False):
            if getattr(obj.material, "tear_strain", np.inf) < np.inf:
                raise SceneError(f"{obj.kind} {obj.name!r}: tethers: would hold what tears off; leave out tear_strain")
            end = start + len(obj.positions)
            pinned = np.flatnonzero(obj.masses == 0.0).tolist()
            pinned += [p - start for p in scene.pinned if start <= p < end]
            rows += tether_rows(obj, start, np.unique(np.array(pinned, np.int64)))
        made.append(rows)
        start += len(obj.positions)
    return made


def object_rows(obj: ParticleObject, start: int, sheet: Sheet | None = None) -> list[Rows]:
    """Rows that the material of an object makes, without tethers.

    Args:
        obj: The object.
        start: Global index of its first particle.
        sheet: Of a cloth what is known of its mesh; None: found anew.
    """
    if isinstance(obj.material, ClothMaterial):
        return cloth_rows(obj, start, sheet)
    if isinstance(obj.material, RopeMaterial):
        return rope_rows(obj, start)
    # what is left is not made of rows
    return soft_rows(obj, start) if isinstance(obj.material, SoftMaterial) else []


def rope_rows(rope: ParticleObject, start: int) -> list[Rows]:
    """Stretch and, when asked for, bending rows of a rope whose particles begin at global index `start`."""
    material, x = rope.material, rope.positions
    assert isinstance(material, RopeMaterial)
    index = np.arange(len(x))
    pairs = np.stack([index[:-1], index[1:]], axis=1)
    length = np.linalg.norm(np.diff(x, axis=0), axis=1)
    below = material.compression_compliance
    rows = [
        distance_rows(
            pairs + start,
            material.stretch_compliance * length,
            None if below is None else below * length,
            material.stretch_stiffness,
            material.compression_stiffness,
            material.damping,
        )
    ]
    rows = [replace(row, failure=failure_of(material)) for row in rows]
    if np.isfinite(material.bend_compliance) and len(x) > 2:
        skip = np.stack([index[:-2], index[2:]], axis=1)
        compliance = np.full(len(skip), material.bend_compliance)
        rows.append(
            distance_rows(skip + start, compliance, None, material.bending_stiffness_ratio, None, material.damping)
        )
    return rows


def tether_rows(obj: ParticleObject, start: int, pins: np.ndarray) -> list[Rows]:
    """A row from each particle to the pin that is nearest along the surface or the rope.

    Args:
        obj: A cloth or rope whose particles begin at global index `start`.
        start: That index.
        pins: Its fixed particles, local indices, (K,).
    """
    if len(pins) == 0:
        return []
    if obj.faces is not None:
        graph = obj.faces
    else:
        index = np.arange(len(obj.positions))
        graph = np.stack([index[:-1], index[1:]], axis=1)
    lengths, nearest = geodesic_distances(obj.positions, graph, pins)
    free = np.isfinite(lengths) & (lengths > 0.0)
    free[pins] = False
    pairs = np.stack([np.flatnonzero(free), pins[nearest[free]]], axis=1)
    m = len(pairs)
    return nonempty(
        Rows(
            "tether",
            pairs + start,
            np.zeros(m),
            np.ones(m),
            compression_compliance=np.full(m, np.inf),
            compression_stiffness=np.zeros(m),
            parameters={"rest_length": TETHER_SLACK * lengths[free][:, None]},
        )
    )
