"""Scene -> Model: flatten the particles, gather the rows by type, colour and renumber."""

from dataclasses import replace

import numpy as np

import shinari.constraints  # noqa: F401  registers the types that come with the package
from shinari import variables
from shinari.constraints.registry import constraint_type
from shinari.errors import SceneError
from shinari.geometry.ordering import locality_order
from shinari.model.model import Breakable, ConstraintBlock, Model, MovingTarget, PlasticRows, TearableRows
from shinari.model.settings import Settings
from shinari.model.spins import rolling_coefficients
from shinari.model.system_model import SystemModel
from shinari.scene.contents import Contents
from shinari.scene.handle import Handle
from shinari.scene.objects import Rows
from shinari.solver.hierarchy import HierarchyModel
from shinari.solver.particle_motion import ForceFieldModel
from shinari.solver.rest import build_rest
from shinari.systems.air.build import air_surface
from shinari.systems.air.model import AirModel
from shinari.systems.colliders.model import ColliderModel
from shinari.systems.colliders.moving_meshes import MovingMeshModel
from shinari.systems.colliders.start_overlaps import warn_of_starts_inside
from shinari.systems.coupling.body_loads import build_body_loads
from shinari.systems.coupling.model import CouplingModel
from shinari.systems.failure.breaking import BreakingModel
from shinari.systems.failure.build import build_tearable_meshes
from shinari.systems.failure.plastic import FlowModel
from shinari.systems.failure.tangles import TangleModel
from shinari.systems.failure.tearing import TearingModel
from shinari.systems.fluid.build import build_fluid
from shinari.systems.free_groups.build import build_free_groups
from shinari.systems.grabs.model import GrabModel
from shinari.systems.grains.model import GrainModel
from shinari.systems.grains.spin import build_spins
from shinari.systems.particle_contact.build import pair_members
from shinari.systems.particle_contact.model import PairModel
from shinari.systems.paths.model import PathModel
from shinari.systems.rigid.build import build_bodies
from shinari.systems.rods.build import build_rods
from shinari.systems.rows.build import build_block
from shinari.systems.rows.chebyshev import ChebyshevModel
from shinari.systems.rows.closing import ClosingModel
from shinari.systems.rows.model import RowsModel
from shinari.systems.rows.moving_targets import MovingTargetsModel
from shinari.systems.rows.scene_rows import scene_rows
from shinari.systems.shape_matching.build import build_lumps
from shinari.systems.shape_matching.impacts import LumpImpactModel
from shinari.systems.surface_contact.loads import build_loads
from shinari.systems.surface_contact.model import SurfaceContactModel
from shinari.systems.untangling.model import UntanglingModel
from shinari.systems.volume.build import build_volumes


def build_model(scene: Contents, settings: Settings) -> Model:
    """Build the model of a scene.

    Raises:
        SceneError: The scene is empty, a row cannot be built, or a variable of the environment is wrong.
    """
    variables.check_all()
    n = scene.particle_count
    if n == 0 and not scene.bodies and not scene.colliders:
        raise SceneError("scene: is empty; add an object with add_cloth, add_rope, add_rigid_body, add_collider, ...")
    real = np.float32 if settings.precision == "float32" else np.float64
    masses = np.concatenate([np.zeros(0), *(obj.masses for obj in scene.particle_objects)])
    masses[list(scene.pinned)] = 0.0
    rows = scene_rows(scene)
    tables = [row.indices for row in rows]
    order = locality_order(scene.positions, tables)
    slots = np.empty(n, np.uint32)
    slots[order] = np.arange(n, dtype=np.uint32)
    free = masses[order] > 0.0
    origin_index, origins, anchored = _origins(scene, rows)

    sizes = [len(obj.positions) for obj in scene.particle_objects]
    origins_of_particles = origins[np.repeat(origin_index, sizes)]
    by_type: dict[str, list[Rows]] = {}
    for row in rows:
        by_type.setdefault(row.type, []).append(row)
    blocks, moving_targets, breakables, tearable_rows, plastic_rows = {}, [], [], [], []
    for name, added in by_type.items():
        block = build_block(constraint_type(name), added, scene, slots, free, origins_of_particles, settings, real)
        blocks[name] = block
        _attach_motions(name, added, block, moving_targets, breakables)
        _attach_failures(name, added, block, tearable_rows, plastic_rows)

    def per_particle(values: list, dtype: type) -> np.ndarray:
        return np.repeat(np.array(values, dtype), sizes)[order]

    model = Model(
        real=real,
        slots=slots,
        masses=masses,
        radii=np.concatenate([np.zeros(0), *(obj.radii for obj in scene.particle_objects)])[order].astype(real),
        owners=per_particle(list(range(len(scene.particle_objects))), np.uint16),
        surfaces=surface_numbers(scene, real),
        origin_index=per_particle(list(origin_index), np.uint16),
        origins=origins,
        anchored=anchored,
        blocks=blocks,
        moving_targets=tuple(moving_targets),
        breakables=tuple(breakables),
        colliders=tuple(scene.colliders),
        air=air_surface(scene, slots, real),
        wind=scene.wind,
        force_fields=tuple(scene.force_fields),
        gravity=scene.gravity,
        damping=scene.damping,
        object_ranges=tuple((h.name, h.particles) for h in scene.handles.values() if isinstance(h, Handle)),
        tearable_rows=tuple(tearable_rows),
        tearable_meshes=build_tearable_meshes(scene, slots, blocks, tearable_rows),
        plastic_rows=tuple(plastic_rows),
    )
    model = replace(model, systems=_systems(scene, rows, model, settings))
    warn_of_starts_inside(scene, masses == 0.0)
    return model


def surface_numbers(scene: Contents, real: type) -> np.ndarray:
    """What each object is in contact, (T, 4); see `ContactMaterial.numbers`."""
    return np.array([obj.surface.numbers for obj in scene.particle_objects], real).reshape(-1, 4)


def _systems(scene: Contents, rows: list[Rows], model: Model, settings: Settings) -> tuple[SystemModel, ...]:
    """Models of all systems that the scene may need. A system finds those that stand before it when it is bound.

    Systems of equal `order` take part in this order, too: rods, shape matching, volumes, attachments, loaded ropes and
    fluids share 50, plastic flow and tangles 81. The table of orders and phases is in docs/decisions/systems.md.
    """
    slots, real = model.slots, model.real
    found = (
        RowsModel(),
        build_rods(scene, slots, settings),
        build_lumps(scene, slots, real),
        build_volumes(scene, slots),
        build_free_groups(scene, rows, slots),
        *_attachments(scene, slots),
        build_fluid(scene, slots, real),
        build_bodies(scene),
        ColliderModel(),
        AirModel(),
        BreakingModel(),
        FlowModel(),
        TangleModel(),
        TearingModel(),
        MovingTargetsModel(),
        ClosingModel(),
        MovingMeshModel(),
        HierarchyModel(),
        ChebyshevModel(),
        ForceFieldModel(),
        GrabModel(),
        build_spins(scene, model),
        _pairs(scene, model),
        SurfaceContactModel(),
        UntanglingModel(),
        build_loads(scene),
        CouplingModel(len(scene.bodies) if any(body.pieces for body in scene.bodies) else 0),
        build_body_loads(scene),
        LumpImpactModel(),
        PathModel(),
        build_rest(scene, model),
    )
    return tuple(system for system in found if system is not None)


def _pairs(scene: Contents, model: Model) -> PairModel:
    """Contacts between particles; with grains those that remember their forces."""
    members = pair_members(scene, model)
    grains = members is not None and members.grains.any()
    turn = bool((rolling_coefficients(scene) >= 0.0).any())
    return GrainModel(members, turn) if grains else PairModel(members)


def _attachments(scene: Contents, slots: np.ndarray) -> list[SystemModel]:
    """What holds particles at bodies, and ropes that carry bodies or particles; loaded only where there is any."""
    found: list[SystemModel] = []
    if scene.body_rows:
        from shinari.systems.coupling.attachments import build_attachments

        found.append(build_attachments(scene, slots))
    kinds = {obj.kind for obj in scene.particle_objects}
    if "rope" in kinds and (found or "particles" in kinds):
        from shinari.systems.coupling.loaded_ropes import LoadedRopesModel

        found.append(LoadedRopesModel())
    return found


def _attach_failures(
    name: str,
    added: list[Rows],
    block: ConstraintBlock,
    tearable_rows: list[TearableRows],
    plastic_rows: list[PlasticRows],
) -> None:
    where = np.empty(block.row_count, np.int64)
    where[block.added_index] = np.arange(block.row_count)
    start = 0
    for row in added:
        rows = where[start : start + len(row.indices)]
        start += len(row.indices)
        if row.failure is None or len(rows) == 0:
            continue
        if row.failure.tear_strain < np.inf:
            tearable_rows.append(TearableRows(name, rows, row.failure.tear_strain))
        if row.failure.yield_strain < np.inf:
            width = block.type.parameters[0][1]
            plastic_rows.append(PlasticRows(name, rows, f"plastic/{name}_{len(plastic_rows)}", width, row.failure))


def _attach_motions(
    name: str,
    added: list[Rows],
    block: ConstraintBlock,
    moving_targets: list[MovingTarget],
    breakables: list[Breakable],
) -> None:
    where = np.empty(block.row_count, np.int64)
    where[block.added_index] = np.arange(block.row_count)
    start = 0
    for row in added:
        rows = where[start : start + len(row.indices)]
        start += len(row.indices)
        if row.motion is not None:
            moving_targets.append(MovingTarget(name, rows, row.motion))
        if row.break_force is not None:
            breakables.append(Breakable(name, rows, row.break_force))


def _origins(scene: Contents, rows: list[Rows]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index of the origin of each object, the origins (G, 3), and which of them are anchored to the world's."""
    starts = np.cumsum([0] + [len(obj.positions) for obj in scene.particle_objects])
    parent = np.arange(len(scene.particle_objects))

    def root(k: int) -> int:
        while parent[k] != k:
            k = parent[k]
        return k

    world = set()
    for row in rows:
        owners = np.searchsorted(starts, row.indices, side="right") - 1
        for column in owners.T[1:]:
            for a, b in np.unique(np.stack([owners[:, 0], column], axis=1), axis=0):
                parent[root(int(b))] = root(int(a))
        kind = constraint_type(row.type)
        if not kind.translation_invariant and not kind.places:
            world.update(np.unique(owners).tolist())
    fluids = [k for k, obj in enumerate(scene.particle_objects) if obj.kind == "fluid"]
    for k in fluids[1:]:
        parent[root(k)] = root(fluids[0])
    roots = np.array([root(k) for k in range(len(scene.particle_objects))])
    names, origin_index = np.unique(roots, return_inverse=True)
    if len(names) > np.iinfo(np.uint16).max:
        raise SceneError(f"scene: {len(names)} separate objects; at most {np.iinfo(np.uint16).max} are possible")
    origins, anchored = np.zeros((len(names), 3)), np.zeros(len(names), bool)
    for g in range(len(names)):
        members = np.flatnonzero(origin_index == g)
        anchored[g] = any(int(k) in world for k in members)
        points = np.concatenate([scene.particle_objects[k].positions for k in members])
        origins[g] = 0.0 if anchored[g] else np.round(0.5 * (points.min(axis=0) + points.max(axis=0)))
    return origin_index, origins, anchored
