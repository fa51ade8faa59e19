"""No object enters another: depths in scenes that press, drop, twist and knot, and no way through."""

from collections.abc import Callable, Iterator

import numpy as np

from shinari.api.simulation import Simulation
from shinari.verify import contact_scenes as scenes
from shinari.verify import fine_features
from shinari.verify.clearance import (
    distance_of_surfaces,
    least_distance,
    least_signed_distance,
    near_boxes,
    segment_distances,
)
from shinari.verify.contact_scenes import Case
from shinari.verify.knots import determinant
from shinari.verify.ledger import Measurement, at_least, at_most, check, equal

# Requirement: no penetration is deeper than this part of the thickness.
DEEPEST = 0.05
EVERY = 4

_NO_WAY = "vertex-triangle and edge-edge contacts: Bridson et al. 2002, Robust treatment of collisions, section 6"
_BOUND = "the bound of the requirement, 5 % of the thickness"


def depths(case: Case, precision: str, every: int = EVERY) -> tuple[Simulation, float, float]:
    """Run a case: greatest depth into surfaces and into solids, over the distance that is kept (thickness)."""
    sim = case.simulation(precision)
    triangles, segments = case.triangles(), case.segments()
    surface = solid = -np.inf
    for frame in range(round(case.seconds / sim.settings.dt)):
        case.step(sim)
        if frame % every:
            continue
        x = sim.state.positions.astype(np.float64)
        surface = max(surface, 1.0 - surface_distance(case, x, triangles, segments) / case.gap)
        for y, distance in case.in_solids(sim):
            solid = max(solid, 0.5 - least_signed_distance(y, triangles, distance) / case.gap)
        if case.mesh is not None:
            solid = max(solid, 0.5 - _mesh_distance(case, case.in_mesh(sim), triangles) / case.gap)
    return sim, surface, solid


def surface_distance(case: Case, x: np.ndarray, triangles: np.ndarray, segments: np.ndarray) -> float:
    """Least distance [m] of what is no neighbour; along a rope, of points more than half a loop apart."""
    if len(triangles):
        return least_distance(x, triangles, segments, case.gap)
    length = float(np.linalg.norm(x[segments[0, 0]] - x[segments[0, 1]]))
    first, second = np.triu_indices(len(segments), 1 + int(np.ceil(0.5 * np.pi * case.gap / length)) + 1)
    return float(segment_distances(x[segments[first]], x[segments[second]]).min())


def _mesh_distance(case: Case, x: np.ndarray, triangles: np.ndarray) -> float:
    """Least distance [m] of the sheet to the mesh; 0 where they intersect."""
    assert case.mesh is not None
    vertices, faces = case.mesh
    near = near_boxes(x[triangles], vertices[faces], 0.5 * case.gap)
    if len(near) == 0:
        return 0.5 * case.gap
    sheet, mesh = triangles[np.unique(near[:, 0])], faces[np.unique(near[:, 1])]
    return distance_of_surfaces((x, sheet), (vertices, mesh), 0.5 * case.gap)


def _lines(name: str, build: Callable[[], Case], precision: str) -> Iterator[Measurement]:
    case = build()
    _, surface, solid = depths(case, precision)
    yield at_most(f"{name}: depth into itself over thickness", DEEPEST, surface, theory=_BOUND)
    if case.solids or case.mesh:
        yield at_most(f"{name}: depth into the solid over thickness", DEEPEST, solid, theory=_BOUND)


@check("a sheet falls on solids", _NO_WAY)
def falling(precision: str) -> Iterator[Measurement]:
    """On a ball, on the edge of a cube, on a closed mesh finer than the sheet."""
    yield from _lines("ball", scenes.on_sphere, precision)
    yield from _lines("edge of a cube", scenes.on_cube_edge, precision)
    case = scenes.on_mesh()
    _, surface, solid = depths(case, precision)
    yield at_most("mesh with bumps: depth into itself over thickness", DEEPEST, surface, theory=_BOUND)
    yield at_most("mesh with bumps: depth into the mesh over thickness", DEEPEST, solid, theory=_BOUND)


@check("sheets that cross at 10 m/s", _NO_WAY)
def crossing(precision: str) -> Iterator[Measurement]:
    """Two free sheets fly at each other, head on and shifted by less and more than an edge."""
    for substeps in (5, 10, 20):
        # with five substeps they go eight times the thickness in one, and how deep they end differs with the shift
        for offset in (0.0, 0.013, 0.04, 0.06, 0.1, 0.14) if substeps == 5 else (0.0, 0.013, 0.1):
            case = scenes.crossing(offset, substeps)
            _, surface, _ = depths(case, precision, every=1)
            yield at_most(f"depth over thickness, shifted by {offset:g} m, {substeps} substeps", DEEPEST, surface,
                          theory=_BOUND)  # fmt: skip


@check("a strip twisted by five turns", _NO_WAY)
def twist(precision: str) -> Iterator[Measurement]:
    """It coils up and touches itself."""
    yield from _lines("strip", scenes.twisted, precision)


@check("a stack of eight sheets", _NO_WAY)
def stack(precision: str) -> Iterator[Measurement]:
    """They fall on each other, keep their order and come to rest."""
    case = scenes.stack()
    sim, surface, solid = depths(case, precision)
    yield at_most("depth of the layers over thickness", DEEPEST, surface, theory=_BOUND)
    yield at_most("depth into the ground over thickness", DEEPEST, solid, theory=_BOUND)
    yield at_most(
        "root mean square speed after 3 s [m/s]",
        0.01,
        float(np.sqrt((sim.state.velocities.astype(np.float64) ** 2).sum(axis=1).mean())),
        theory="at rest",
    )
    centres = np.array([sim.positions(obj.name)[40, 1] for obj in case.scene.particle_objects], np.float64)
    least = float(np.diff(centres).min()) / case.gap
    yield at_least(
        "least distance of the middles of neighbouring sheets over thickness",
        1.0 - DEEPEST,
        least,
        theory="layers keep their order and their distance",
    )


@check("an overhand knot pulled tight", _NO_WAY)
def knot(precision: str) -> Iterator[Measurement]:
    """It stays a knot, and its strands keep off each other."""
    case = scenes.knot()
    sim, surface, _ = depths(case, precision)
    yield at_most("depth of the strands over the diameter", DEEPEST, surface, theory=_BOUND)
    yield equal(
        "determinant of the knot, its ends joined far away",
        3,
        determinant(sim.state.positions),
        absolute=0.5,
        theory="3 for an overhand knot, 1 for a free rope; a whole number",
    )


@check("a sheet caught between jaws, a plate and the ground", _NO_WAY)
def caught(precision: str) -> Iterator[Measurement]:
    """All of them but the ground move."""
    yield from _lines("sheet", scenes.gripped, precision)


@check("a sheet is drawn over a mesh finer than its triangles", _NO_WAY)
def fine(precision: str) -> Iterator[Measurement]:
    """Waves, bumps, a spike and an edge, at two thicknesses; and bumps that turn and rise under the sheet."""
    cases = [("plate with waves of 20 mm", 0.002), ("plate with bumps of 14 mm", 0.002),
             ("plate with bumps of 14 mm", 0.004), ("spike", 0.002), ("roof", 0.002)]  # fmt: skip
    for name, thickness in cases:
        yield _depth(
            f"{name}, thickness {thickness:g} m",
            fine_features.dragged(fine_features.SURFACES[name](), thickness=thickness),
            precision,
        )
    bumpy = fine_features.SURFACES["plate with bumps of 14 mm"]()
    yield _depth(
        "the same that turns and rises",
        fine_features.dragged(bumpy, motion=fine_features.turning(), speed=0.0),
        precision,
    )


def _depth(name: str, case: Case, precision: str) -> Measurement:
    _, _, solid = depths(case, precision)
    return at_most(f"{name}: depth into the mesh over thickness", DEEPEST, solid, theory=_BOUND)
