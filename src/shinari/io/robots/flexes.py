"""Flexible parts of a compiled robot, <flexcomp> and <flex>: cloth, ropes, nets and soft bodies.

The parser makes a body of each point, with slides in place of joints; here the points are particles.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

FULL_SLIDES = 3
SLIDE = 2
BEND, STRETCH = 1, 2
"""Bits of what of the elasticity of a sheet acts."""
NO_SELF_CONTACT = 0
AT_NODE = 1e-6
"""A point nearer than this to a node that is fixed is fixed as well [m]."""
NAMES_OF_EQUALITY = {2: "vert", 3: "strain"}
"""Constraints that hold edges in the mean; the other ones hold each edge."""


@dataclass(frozen=True)
class Flex:
    """A flexible part, in the world of the file.

    Attributes:
        name: Its name.
        dim: 1: segments, 2: triangles, 3: tetrahedra.
        points: Where its points are [m], (N, 3).
        rest: Lengths of its edges at rest [m], (E,).
        elements: Points of its elements, (M, dim + 1).
        edges: Points of its edges, (E, 2).
        masses: Masses of its points [kg], (N,).
        fixed: Body of the compiled model to which each point is fixed; -1: to none, (N,).
        bodies: Body of the compiled model that stands for each point, (N,); -1 of one that follows others.
        held: Whether its edges keep their lengths.
        edge_stiffness: Of each edge [N/m].
        edge_damping: Of each edge [N s/m].
        young: Young's modulus [Pa]; 0: none.
        poisson: Poisson's ratio.
        damping: Damping time of its elasticity [s].
        thickness: Of a sheet [m].
        acts: What of the elasticity of a sheet acts: `STRETCH` and `BEND`.
        radius: Distance that it keeps in contact [m].
        friction: Coefficient of friction.
        masks: What it is, and what it touches: a bit for each kind.
        self_contact: Whether it touches itself.
    """

    name: str
    dim: int
    points: np.ndarray
    rest: np.ndarray
    elements: np.ndarray
    edges: np.ndarray
    masses: np.ndarray
    fixed: np.ndarray
    bodies: np.ndarray
    held: bool
    edge_stiffness: float
    edge_damping: float
    young: float
    poisson: float
    damping: float
    thickness: float
    acts: int
    radius: float
    friction: float
    masks: tuple[int, int]
    self_contact: bool


@dataclass
class Flexes:
    """All flexible parts of a robot.

    Attributes:
        parts: Those that are read.
        points: Bodies of the compiled model that are points of flexible parts, and no bodies here.
        point_of: The flexible part and the index in it of each of these that is a particle.
    """

    parts: list[Flex] = field(default_factory=list)
    points: set[int] = field(default_factory=set)
    point_of: dict[int, tuple[int, int]] = field(default_factory=dict)


def point_bodies(model: Any) -> set[int]:
    """Bodies that are nothing but points of flexible parts: with slides only, no shape, and carrying nothing."""
    if not model.nflex:
        return set()
    carries = set(np.asarray(model.body_parentid[1:]).tolist())
    used = {*np.asarray(model.flex_vertbodyid).tolist(), *np.asarray(model.flex_nodebodyid).tolist()}
    return {b for b in used if b > 0 and b not in carries and _is_point(model, b)}


def _is_point(model: Any, body: int) -> bool:
    first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
    slides = all(int(model.jnt_type[j]) == SLIDE for j in range(first, first + count))
    return 0 < count <= FULL_SLIDES and slides and int(model.body_geomnum[body]) == 0


def flexes_of(spec: Any, model: Any, data: Any, skipped: list[str]) -> Flexes:
    """The flexible parts of a compiled robot; those that cannot be had are listed as skipped.

    Args:
        spec: Its description, which knows the elasticity.
        model: The compiled robot.
        data: Where everything is, with the places of points.
        skipped: Takes what cannot be had.
    """
    result = Flexes(points=point_bodies(model))
    for described in spec.flexes:
        part = _flex(described, int(described.id), model, data, result.points, skipped)
        if part is None:
            continue
        for index, body in enumerate(part.bodies.tolist()):
            if body >= 0:
                result.point_of[body] = len(result.parts), index
        result.parts.append(part)
    return result


def _flex(described: Any, f: int, model: Any, data: Any, points: set[int], skipped: list[str]) -> Flex | None:
    name = described.name or f"flex_{f + 1}"
    label = f"flex {name!r}"
    if model.flex_rigid[f]:
        skipped.append(f"{label}: all of its points are fixed to bodies; it is not touched and not seen")
        return None
    first, count = int(model.flex_vertadr[f]), int(model.flex_vertnum[f])
    dim = int(model.flex_dim[f])
    places = np.array(data.flexvert_xpos).reshape(-1, 3)[first : first + count]
    at = int(model.flex_elemdataadr[f])
    elements = np.array(model.flex_elem[at : at + int(model.flex_elemnum[f]) * (dim + 1)]).reshape(-1, dim + 1)
    edges = slice(int(model.flex_edgeadr[f]), int(model.flex_edgeadr[f]) + int(model.flex_edgenum[f]))
    if model.flex_interp[f]:
        bodies, masses, fixed = _by_nodes(model, data, f, places, points)
        skipped.append(f"{label}: its grid of nodes; all of its points move by themselves")
    else:
        bodies = np.array(model.flex_vertbodyid[first : first + count])
        moves = np.isin(bodies, list(points))
        masses = np.where(moves, np.asarray(model.body_mass)[bodies], 0.0)
        fixed, bodies = np.where(moves, -1, bodies), np.where(moves, bodies, -1)
        fewer = moves & (np.asarray(model.body_jntnum)[np.maximum(bodies, 0)] < FULL_SLIDES)
        if fewer.any():
            skipped.append(f"{label}: slides of its points, which move in all directions")
    if not (masses > 0.0).any():
        skipped.append(f"{label}: it is made of bodies that have shapes or joints of their own")
        return None
    # a fixed point weighs what the others do
    masses = np.where(masses > 0.0, masses, masses[masses > 0.0].mean())
    _list_others(described, f, model, label, skipped)
    touches = int(model.flex_condim[f]) >= 3
    masks = int(model.flex_contype[f]), int(model.flex_conaffinity[f])
    return Flex(
        name=name,
        dim=dim,
        points=places,
        rest=np.array(model.flexedge_length0[edges]),
        elements=elements,
        edges=np.array(model.flex_edge[edges]).reshape(-1, 2),
        masses=masses,
        fixed=fixed,
        bodies=bodies,
        held=bool(model.flex_edgeequality[f]),
        edge_stiffness=float(model.flex_edgestiffness[f]),
        edge_damping=float(model.flex_edgedamping[f]),
        young=float(described.young),
        poisson=float(described.poisson),
        damping=float(described.damping),
        thickness=float(described.thickness),
        acts=int(described.elastic2d) if described.thickness > 0.0 else 0,
        radius=float(model.flex_radius[f]),
        friction=float(model.flex_friction[f][0]) if touches else 0.0,
        masks=masks,
        self_contact=int(model.flex_selfcollide[f]) != NO_SELF_CONTACT and bool(masks[0] & masks[1]),
    )


def _by_nodes(
    model: Any, data: Any, f: int, places: np.ndarray, points: set[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Bodies, masses and fixings of points that follow the nodes of a grid: each has its share of the whole mass."""
    first, count = int(model.flex_nodeadr[f]), int(model.flex_nodenum[f])
    nodes = np.array(model.flex_nodebodyid[first : first + count])
    local = np.array(model.flex_node).reshape(-1, 3)[first : first + count]
    fixed = np.full(len(places), -1)
    mass = 0.0
    for body, offset in zip(nodes.tolist(), local, strict=True):
        if body in points:
            mass += float(model.body_mass[body])
            continue
        place = np.array(data.xpos[body]) + np.array(data.xmat[body]).reshape(3, 3) @ offset
        fixed[np.linalg.norm(places - place, axis=1) < AT_NODE] = body
    share = mass * count / max(int(np.isin(nodes, list(points)).sum()), 1) / len(places)
    return np.full(len(places), -1), np.full(len(places), share), fixed


def _list_others(described: Any, f: int, model: Any, label: str, skipped: list[str]) -> None:
    """List what a flexible part of the file has and one here has not."""
    kind = NAMES_OF_EQUALITY.get(int(model.flex_edgeequality[f]))
    if kind is not None:
        skipped.append(f"{label}: equality {kind!r}, which holds edges in the mean; here each edge keeps its length")
    if model.flex_edgedamping[f] > 0.0 and model.flex_edgeequality[f]:
        skipped.append(f"{label}: damping of its edges, which keep their lengths")
    if np.any(getattr(described, "stressyield", 0.0)):
        skipped.append(f"{label}: its plastic flow")
    if model.flex_margin[f] > 0.0:
        skipped.append(f"{label}: margin of its contacts")
