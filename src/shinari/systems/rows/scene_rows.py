"""From the objects of a scene to constraint rows: cloth and rope become rows like those that a user adds."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from shinari.constraints.strain_triangle import plane_stress
from shinari.errors import SceneError
from shinari.geometry.geodesic import geodesic_distances
from shinari.scene.contents import Contents
from shinari.scene.failure import failure_of
from shinari.scene.materials import ClothMaterial, RopeMaterial
from shinari.scene.objects import ParticleObject, Rows
from shinari.scene.soft_material import SoftMaterial
from shinari.systems.rows.sheet import Sheet
from shinari.systems.rows.soft_rows import soft_rows

# Part of a triangle's area that counts for the rows of a quad with both diagonals: a square lattice of axis springs k
# and diagonal springs k / 2 is isotropic, with Young's modulus x thickness = 4 k / 3 and Poisson's ratio 1/3.
QUAD_SHARE = 0.75

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


def cloth_rows(cloth: ParticleObject, start: int, sheet: Sheet | None = None) -> list[Rows]:
    """Stretch, shear and bending rows of a cloth whose particles begin at global index `start`."""
    material, sheet = cloth.material, sheet or Sheet(cloth)
    assert isinstance(material, ClothMaterial)
    if material.stretch_model == "strain":
        rows = [_membrane(material, sheet, start)]
    else:
        rows = _stretch_springs(material, sheet, start)
    return rows + _bending_rows(material, sheet, start)


def _membrane(material: ClothMaterial, sheet: Sheet, start: int) -> Rows:
    """Strain rows of all triangles, in plane stress."""
    nu = 1.0 / 3.0 if material.poissons_ratio is None else material.poissons_ratio
    soft = material.stretch_compliance
    weights = np.array(plane_stress(nu))
    if material.shear_compliance is not None:
        # weight^2 = shear modulus over E / (1 - nu^2)
        weights[3] = np.sqrt(0.5 / material.shear_compliance * (1.0 - nu**2) * soft)
    compliance = (1.0 - nu**2) * soft / sheet.face_areas
    m = len(sheet.faces)
    finite = np.isfinite(compliance) & (compliance > 0.0)
    damping = np.divide(material.damping, compliance, out=np.zeros(m), where=finite)
    return Rows(
        "strain_triangle",
        sheet.faces + start,
        compliance,
        np.full(m, material.stretch_stiffness),
        damping=damping if damping.any() else None,
        parameters={"weights": np.tile(weights, (m, 1))},
    )


def _stretch_springs(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    """Distance rows along edges and along both diagonals of quads."""
    # with the second diagonal of a quad there are four families of rows where three hold a sheet of triangles
    share, of_quads = sheet.shares(QUAD_SHARE if material.shear_compliance is None else 1.0)
    pairs, is_shear = sheet.edges, sheet.is_shear
    stretch = (material.stretch_compliance, material.compression_compliance,
               material.stretch_stiffness, material.compression_stiffness)  # fmt: skip
    shear = _shear_compliances(material)
    rows = [_springs(pairs[~is_shear], start, *stretch, material.damping, share[~is_shear])]
    if is_shear.any():
        rows.append(_springs(pairs[is_shear], start, *shear, material.damping, share[is_shear]))
        rows.append(_springs(sheet.other_diagonals, start, *shear, material.damping, of_quads))
    return [replace(row, failure=failure_of(material)) for row in rows]


def rope_rows(rope: ParticleObject, start: int) -> list[Rows]:
    """Stretch and, when asked for, bending rows of a rope whose particles begin at global index `start`."""
    material, x = rope.material, rope.positions
    assert isinstance(material, RopeMaterial)
    index = np.arange(len(x))
    pairs = np.stack([index[:-1], index[1:]], axis=1)
    length = np.linalg.norm(np.diff(x, axis=0), axis=1)
    below = material.compression_compliance
    rows = [
        _distance(
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
        rows.append(_distance(skip + start, compliance, None, material.bending_stiffness_ratio, None, material.damping))
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
    return _nonempty(
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


def _bending_rows(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    if material.bend_model == "cross":
        pairs = sheet.bends
        compliance = np.full(len(pairs), material.bend_compliance)
        return _nonempty(
            _distance(pairs + start, compliance, None, material.bending_stiffness_ratio, None, material.damping)
        )
    if material.bend_stiffness == 0.0:
        return []
    kind = {"dihedral": "dihedral", "isometric": "isometric_bend"}[material.bend_model]
    compliance = sheet.bending_factor(material.bend_model) / material.bend_stiffness
    ratio = np.full(len(compliance), material.bending_stiffness_ratio)
    damping = material.damping / compliance if material.damping > 0.0 else None
    return _nonempty(Rows(kind, sheet.hinges + start, compliance, ratio, damping=damping))


def _shear_compliances(material: ClothMaterial) -> tuple[float, float | None, float, float | None]:
    """Compliances and stiffnesses of shear rows: as stretch where the material names none of their own."""
    compliance, below = material.stretch_compliance, material.compression_compliance
    stiffness, stiffness_below = material.stretch_stiffness, material.compression_stiffness
    if material.shear_compliance is not None:
        compliance, below = material.shear_compliance, None
    if material.shear_stiffness is not None:
        stiffness, stiffness_below = material.shear_stiffness, None
    return compliance, below, stiffness, stiffness_below


def _springs(
    pairs: np.ndarray,
    start: int,
    compliance: float,
    below: float | None,
    stiffness: float,
    stiffness_below: float | None,
    damping: float,
    factor: np.ndarray,
) -> Rows:
    """Distance rows of a membrane: a factor, L^2 / (A0 + A1), times the compliance of the sheet."""
    compliances = np.zeros(len(pairs)) if compliance == 0.0 else compliance * factor
    compliances_below = None if below is None else (np.zeros(len(pairs)) if below == 0.0 else below * factor)
    return _distance(pairs + start, compliances, compliances_below, stiffness, stiffness_below, damping)


def _distance(
    pairs: np.ndarray,
    compliance: np.ndarray,
    below: np.ndarray | None,
    stiffness: float,
    stiffness_below: float | None,
    damping: float,
) -> Rows:
    m = len(pairs)
    finite = np.isfinite(compliance) & (compliance > 0.0)
    viscosity = np.divide(damping, compliance, out=np.zeros(m), where=finite)
    return Rows(
        "distance",
        pairs,
        compliance,
        np.full(m, stiffness),
        compression_compliance=below,
        compression_stiffness=None if stiffness_below is None else np.full(m, stiffness_below),
        damping=viscosity if viscosity.any() else None,
    )


def _nonempty(rows: Rows) -> list[Rows]:
    return [rows] if len(rows.indices) else []
