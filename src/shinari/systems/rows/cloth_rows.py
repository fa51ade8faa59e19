"""From the material and the tailoring of a cloth to constraint rows."""

from dataclasses import replace

import numpy as np

from shinari.constraints import dihedral
from shinari.constraints.attachment import ATTACHMENT
from shinari.constraints.registry import constraint_type
from shinari.constraints.seam import SEAM
from shinari.constraints.strain_triangle import plane_stress
from shinari.geometry.topology import edge_rows
from shinari.maths.simplex import triangle_inverse
from shinari.scene.failure import failure_of
from shinari.scene.materials import ClothMaterial
from shinari.scene.objects import ParticleObject, Rows
from shinari.systems.rows.sheet import HINGE_FAMILIES, Sheet

# Part of a triangle's area that counts for the rows of a quad with both diagonals: a square lattice of axis springs k
# and diagonal springs k / 2 is isotropic, with Young's modulus x thickness = 4 k / 3 and Poisson's ratio 1/3.
QUAD_SHARE = 0.75


def cloth_rows(cloth: ParticleObject, start: int, sheet: Sheet | None = None) -> list[Rows]:
    """Rows of a cloth whose particles begin at global index `start`: stretch, shear, bending, then those sewn on."""
    material, sheet = cloth.material, sheet or Sheet(cloth)
    assert isinstance(material, ClothMaterial)
    if material.stretch_model == "strain":
        rows = [_membrane(material, sheet, start)]
    else:
        rows = _stretch_springs(material, sheet, start)
    rows += _bending_rows(material, sheet, start)
    if cloth.tailoring is not None:
        rows += [*_seam_rows(sheet, start), *_band_rows(material, sheet, start), *_pin_rows(material, sheet, start)]
    return rows


def _membrane(material: ClothMaterial, sheet: Sheet, start: int) -> Rows:
    """Strain rows of all triangles, in plane stress."""
    nu = 1.0 / 3.0 if material.poissons_ratio is None else material.poissons_ratio
    soft = material.stretch_compliance
    weights = np.array(plane_stress(nu))
    if material.shear_compliance is not None:
        # weight^2 = shear modulus over E / (1 - nu^2)
        weights[3] = np.sqrt(0.5 / material.shear_compliance * (1.0 - nu**2) * soft)
    compliance = (1.0 - nu**2) * soft / sheet.face_areas / sheet.stiffness(sheet.faces)
    m = len(sheet.faces)
    finite = np.isfinite(compliance) & (compliance > 0.0)
    damping = np.divide(material.damping, compliance, out=np.zeros(m), where=finite)
    parameters = {"weights": np.tile(weights, (m, 1))}
    if sheet.rest.given:
        # the axes of a plane of texture coordinates are those of the material
        along = np.array([1.0, 0.0, 0.0]) if sheet.rest.points is None else None
        parameters["inverse_rest"] = triangle_inverse(sheet.rest.corners, along)
    return Rows(
        "strain_triangle",
        sheet.faces + start,
        compliance,
        np.full(m, material.stretch_stiffness),
        damping=damping if damping.any() else None,
        parameters=parameters,
    )


def _stretch_springs(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    """Distance rows along edges and along both diagonals of quads."""
    # with the second diagonal of a quad there are four families of rows where three hold a sheet of triangles
    share, of_quads = sheet.shares(QUAD_SHARE if material.shear_compliance is None else 1.0)
    pairs, across, is_shear = sheet.edges, sheet.other_diagonals, sheet.is_shear
    share, of_quads = share / sheet.stiffness(pairs), of_quads / sheet.stiffness(across)
    stretch = (material.stretch_compliance, material.compression_compliance,
               material.stretch_stiffness, material.compression_stiffness)  # fmt: skip
    shear = _shear_compliances(material)
    lengths, between = np.sqrt(sheet.edge_squares), sheet.across_lengths[sheet.diagonal]
    made = [(pairs[~is_shear], stretch, share[~is_shear], lengths[~is_shear])]
    if is_shear.any():
        made += [(pairs[is_shear], shear, share[is_shear], lengths[is_shear]), (across, shear, of_quads, between)]
    rows = []
    for ends, law, factor, rest in made:
        row = _springs(ends, start, *law, material.damping, factor)
        rows.append(replace(row, failure=failure_of(material), parameters=_length_at_rest(sheet, rest)))
    return rows


def _length_at_rest(sheet: Sheet, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """The parameters of distance rows; none where the shape at the start is that at rest."""
    return {"rest_length": lengths[:, None]} if sheet.rest.given else {}


def _bending_rows(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    if material.bend_model == "cross":
        plain = ~sheet.folds & ~sheet.diagonal
        pairs = sheet.across[plain]
        compliance = np.full(len(pairs), material.bend_compliance) / sheet.stiffness(pairs)
        row = distance_rows(pairs + start, compliance, None, material.bending_stiffness_ratio, None, material.damping)
        if sheet.rest.given or sheet.rest.seams:
            row = replace(row, parameters={"rest_length": sheet.across_lengths[plain][:, None]})
        return nonempty(row) + _fold_rows(material, sheet, start)
    if material.bend_stiffness == 0.0:
        return []
    kind = {"dihedral": "dihedral", "isometric": "isometric_bend"}[material.bend_model]
    plain = ~sheet.folds
    stiffness = material.bend_stiffness * sheet.stiffness(sheet.hinges[plain, :2])
    compliance = sheet.bending_factor(material.bend_model)[plain] / stiffness
    row = _bends(kind, sheet.hinges[plain] + start, compliance, material)
    if sheet.rest.given or sheet.rest.seams:
        row = replace(row, parameters=at_rest(kind, sheet.rest.hinge_points[plain]))
    return nonempty(row) + _fold_rows(material, sheet, start)


def _fold_rows(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    """Dihedral rows of the hinges at fold lines, at the angles of the lines."""
    if not sheet.folds.any():
        return []
    assert sheet.tailoring is not None
    hinges = sheet.hinges[sheet.folds]
    angles, factors = sheet.tailoring.angles[edge_rows(hinges, sheet.tailoring.folds)].T
    stiffness = material.bend_stiffness * factors * sheet.stiffness(hinges[:, :2])
    factor = HINGE_FAMILIES * dihedral.compliance_factor(sheet.rest.hinge_points[sheet.folds])
    row = _bends("dihedral", hinges + start, factor / stiffness, material)
    return [replace(row, parameters={"rest_angle": angles[:, None]})]


def _bends(kind: str, hinges: np.ndarray, compliance: np.ndarray, material: ClothMaterial) -> Rows:
    ratio = np.full(len(compliance), material.bending_stiffness_ratio)
    damping = material.damping / compliance if material.damping > 0.0 else None
    return Rows(kind, hinges, compliance, ratio, damping=damping)


def at_rest(kind: str, points: np.ndarray) -> dict[str, np.ndarray]:
    """Parameters of rows of a type that are at rest at points (M, K, 3), by name."""
    registered = constraint_type(kind)
    assert registered.rest is not None
    values = registered.rest(points)
    values = values if isinstance(values, tuple) else (values,)
    return {
        name: np.asarray(value).reshape(-1, width)
        for (name, width), value in zip(registered.parameters, values, strict=True)
    }


def _seam_rows(sheet: Sheet, start: int) -> list[Rows]:
    """Rows that close seams and hold them."""
    assert sheet.tailoring is not None
    pairs, m = sheet.tailoring.seams, len(sheet.tailoring.seams)
    return nonempty(
        Rows(
            SEAM.name,
            pairs + start,
            np.zeros(m),
            np.ones(m),
            compression_compliance=np.full(m, np.inf),
            compression_stiffness=np.zeros(m),
            parameters={"closing_time": sheet.tailoring.closing[:, None]},
        )
    )


def _band_rows(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    """Distance rows of elastic bands."""
    assert sheet.tailoring is not None
    pairs, (ratio, stiffness) = sheet.tailoring.bands, sheet.tailoring.elastic.T
    lengths = ratio * np.sqrt(sheet.edge_squares[edge_rows(pairs, sheet.edges)])
    row = distance_rows(pairs + start, lengths / stiffness, None, 1.0, None, material.damping)
    return nonempty(replace(row, parameters={"rest_length": lengths[:, None]}))


def _pin_rows(material: ClothMaterial, sheet: Sheet, start: int) -> list[Rows]:
    """Springs that hold vertices with a pin between free and fixed at their places."""
    assert sheet.tailoring is not None
    if sheet.tailoring.pins is None:
        return []
    held = np.flatnonzero((sheet.tailoring.pins > 0.0) & (sheet.tailoring.pins < 1.0))
    weights = sheet.tailoring.pins[held]
    soft = (1.0 - weights) / weights
    compliance = np.zeros(len(held)) if material.stretch_compliance == 0.0 else soft * material.stretch_compliance
    return nonempty(Rows(ATTACHMENT.name, (held + start)[:, None], compliance, weights))


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
    return distance_rows(pairs + start, compliances, compliances_below, stiffness, stiffness_below, damping)


def distance_rows(
    pairs: np.ndarray,
    compliance: np.ndarray,
    below: np.ndarray | None,
    stiffness: float,
    stiffness_below: float | None,
    damping: float,
) -> Rows:
    """Distance rows between pairs of particles (M, 2).

    Args:
        pairs: Global indices.
        compliance: Compliance of each [m/N], (M,).
        below: The same against compression; None: the same.
        stiffness: Stiffness 0 to 1 with `method="pbd"`.
        stiffness_below: The same against compression; None: the same.
        damping: Damping time [s].
    """
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


def nonempty(rows: Rows) -> list[Rows]:
    """The rows in a list, or an empty one where there are none."""
    return [rows] if len(rows.indices) else []
