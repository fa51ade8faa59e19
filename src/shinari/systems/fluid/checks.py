"""Looks at the fluids of a scene before it runs: refuses what cannot be simulated, warns of what was hardly meant."""

import numpy as np

from shinari.errors import ContactWarning, FluidWarning, SceneError, warn, warn_of_several
from shinari.scene.contents import Contents
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.objects import ParticleObject
from shinari.shapes.sampling.fill_volume import in_plane
from shinari.systems.fluid.thin_walls import warn_of_thin_walls

MOST_FLUIDS = 256
# Ratio of the rest densities of two fluids up to which both keep their density while the denser one, put on top, turns
# over: within 3, 9 and 4 % (99 of 100 particles) with 1 x 5, 4 x 4 and 10 x 2 iterations a step of 1/60 s, 8 layers of
# 0.02 m each. At 50 they are squeezed to 2.4, 1.03 and 1.07 times their density, at 100 to 9.8, 1.23 and 1.01.
MOST_RATIO = 20.0
# Particles nearer than this part of the spacing lie in each other.
NEAR = 0.5


def check_fluids(scene: Contents, real: type) -> list[ParticleObject]:
    """The fluids of a scene.

    Args:
        scene: The scene.
        real: Floating point type of the solver.

    Raises:
        SceneError: Two are sampled differently; they have two dimensions and not all is in one plane; or a sheet or a
            soft body cannot keep them off.

    Warns:
        FluidWarning: The densities of two fluids differ by more than a factor of 20, or walls are thinner than three
            spacings.
        ContactWarning: Two fluids, or particles of one, lie in each other.
    """
    fluids = [obj for obj in scene.particle_objects if obj.sampling is not None]
    if not fluids:
        return fluids
    if len(fluids) > MOST_FLUIDS:
        raise SceneError(f"scene: {len(fluids)} fluids; at most {MOST_FLUIDS} are possible")
    _check_alike(fluids)
    if fluids[0].sampling.dimensions == 2:  # type: ignore[union-attr]
        _check_plane(scene, fluids)
    _check_sheets(scene, fluids)
    _warn_of_ratio(fluids)
    warn_of_thin_walls(scene, fluids)
    _warn_of_overlaps(scene, [fluid for fluid in fluids if fluid.emitter is None], real)
    return fluids


def _check_alike(fluids: list[ParticleObject]) -> None:
    first = fluids[0]
    for fluid in fluids[1:]:
        for field in ("spacing", "support", "kernel", "dimensions", "boundary"):
            one, other = getattr(first.sampling, field), getattr(fluid.sampling, field)
            if one != other:
                raise SceneError(
                    f"fluid {fluid.name!r}: {field}: {other!r} is not that of {first.name!r}, {one!r}; "
                    f"all fluids of a scene are sampled alike"
                )


def _check_plane(scene: Contents, fluids: list[ParticleObject]) -> None:
    """Fluids of two dimensions share a plane and nothing pulls them out of it."""
    spacing = fluids[0].sampling.spacing  # type: ignore[union-attr]
    planes = [in_plane(f"fluid {fluid.name!r}", fluid.positions, spacing) for fluid in fluids]
    for fluid, z in zip(fluids, planes, strict=True):
        if abs(z - planes[0]) > 1e-6 * max(spacing, abs(z)):
            raise SceneError(
                f"fluid {fluid.name!r}: position: its plane z = {z:g} m is not that of {fluids[0].name!r}, "
                f"{planes[0]:g} m; all fluids of two dimensions share one"
            )
    if scene.gravity[2] != 0.0:
        raise SceneError(f"scene: gravity: pulls {fluids[0].name!r}, a fluid of two dimensions, out of its plane")


def _check_sheets(scene: Contents, fluids: list[ParticleObject]) -> None:
    """What a fluid touches keeps it off by triangles with a thickness, or ignores it."""
    for sheet in (obj for obj in scene.particle_objects if obj.faces is not None):
        label = f"{sheet.kind} {sheet.name!r}"
        for fluid in fluids:
            if {sheet.name, fluid.name} in scene.ignored:
                continue
            hint = f"fluid {fluid.name!r} goes through it"
            if sheet.self_collision == "particles":
                raise SceneError(f"{label}: self_collision: with 'particles' {hint}; take 'triangles', or False")
            if not (sheet.radii > 0.0).any():
                raise SceneError(f"{label}: thickness: with 0 {hint}; give it one, or let them ignore each other")


def _warn_of_ratio(fluids: list[ParticleObject]) -> None:
    densities = [fluid.material.rest_density for fluid in fluids if isinstance(fluid.material, FluidMaterial)]
    light, heavy = int(np.argmin(densities)), int(np.argmax(densities))
    ratio = densities[heavy] / densities[light]
    if ratio > MOST_RATIO:
        warn(
            f"{fluids[heavy].name!r} is {ratio:.3g} times as dense as {fluids[light].name!r}: at ratios beyond "
            f"{MOST_RATIO:g} they may be squeezed where the denser one lies above; take more substeps",
            FluidWarning,
        )


def _warn_of_overlaps(scene: Contents, fluids: list[ParticleObject], real: type) -> None:
    """Warn of particles nearer to each other than half a spacing, by fluids."""
    from shinari.collision.broad.neighbours import NeighbourLists

    sizes = [len(fluid.positions) for fluid in fluids]
    if sum(sizes) < 2:
        return
    points = np.concatenate([fluid.positions for fluid in fluids])
    owners = np.repeat(np.arange(len(fluids)), sizes)
    starts = np.cumsum([0, *sizes])
    x = np.zeros((len(points), 4), real)
    x[:, :3] = points - 0.5 * (points.min(axis=0) + points.max(axis=0))
    lists = NeighbourLists()
    offsets, indices = lists.find(x, NEAR * fluids[0].sampling.spacing * (1.0 - 1e-4), 1)  # type: ignore[union-attr]
    order = lists.grid.order[: len(x)].astype(np.int64)
    first, second = np.repeat(order, np.diff(offsets)), order[indices]
    first, second = first[first < second], second[first < second]
    keys = owners[first] * len(fluids) + owners[second]
    found = []
    for key in np.unique(keys):
        a, b = divmod(int(key), len(fluids))
        one, other = fluids[a].name, fluids[b].name
        if {one, other} in scene.ignored and a != b:
            continue
        pairs = np.stack([first[keys == key], second[keys == key]], axis=1)
        gaps = np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1)
        i, j = pairs[int(np.argmin(gaps))]
        count = len(np.unique(pairs[:, 0]))
        what = f"{one!r} and {other!r} overlap" if a != b else f"particles of {one!r} lie in each other"
        text = (
            f"{what} at the start: {count} particles have one nearer than half a spacing, the nearest "
            f"{gaps.min():.3g} m away, particle {i - starts[a]} of {one!r} and particle {j - starts[b]} of {other!r}"
        )
        found.append((float(-gaps.min()), text))
    warn_of_several(found, ContactWarning, "they burst apart")
