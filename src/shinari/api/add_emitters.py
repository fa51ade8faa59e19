"""Adds emitters and sinks of fluids to a scene."""

import dataclasses
import math
from typing import Any

import numpy as np

from shinari import check
from shinari.api.arguments import given_material
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, Motion
from shinari.scene.contact_material import ContactMaterial
from shinari.scene.contents import Contents
from shinari.scene.emitter import Emitter, Sink, SinkHandle
from shinari.scene.fluid_material import FluidMaterial, Sampling, checked_sampling
from shinari.scene.handle import Handle
from shinari.scene.objects import ParticleObject
from shinari.shapes.base import Shape
from shinari.shapes.compound import Compound
from shinari.shapes.registry import type_of

_NO_ROTATION = tuple(NO_ROTATION.tolist())
# Part of a spacing that is rounding when it is asked how many particles fit across a nozzle.
_ROUNDING = 1e-6


def add_emitter(
    scene: Contents,
    fluid: Handle | str | None = None,
    *,
    limit: int,
    radius: float | None = None,
    size: Any = None,
    position: Any = (0.0, 0.0, 0.0),
    direction: Any = (0.0, -1.0, 0.0),
    speed: float | None = None,
    rate: float | None = None,
    start: float = 0.0,
    stop: float | None = None,
    recycle: bool = False,
    motion: Motion | None = None,
    spacing: float | None = None,
    material: FluidMaterial | None = None,
    support: float | None = None,
    kernel: str | None = None,
    dimensions: int | None = None,
    boundary: str | None = None,
    name: str | None = None,
) -> Handle:
    """Add a faucet: a nozzle out of which a fluid flows.

    A layer of particles leaves the nozzle each time that the fluid has gone one spacing, so that what flows has
    its rest density. Particles that have not left yet wait: they weigh nothing, touch nothing and are not shown.
    Layers that left since the last step appear where they have flown to in the meantime, in front of the nozzle.

    Args:
        fluid: A fluid of the scene, whose material and sampling apply; None: as the arguments
            from `spacing` on say.
        limit: Most particles that are out at a time. When it is reached a `FluidWarning` says so, and no more
            leave until a sink has taken some.
        radius: Radius of a round nozzle [m].
        size: Width and height of a rectangular nozzle [m], (2,). The width is level, the height is across it and
            the direction; for one that points up or down they are along x and z. Particles fit as often as they
            do, at least once.
        position: Middle of the nozzle [m].
        direction: Direction in which the fluid leaves; brought to length one.
        speed: Speed of the fluid [m/s].
        rate: Volume that leaves in a second [m^3/s] (a layer one spacing thick in two dimensions), instead of the
            speed: exact for the particles that fit into the nozzle.
        start: Time at which the first layer leaves [s].
        stop: Time after which none leaves [s]; None: never.
        recycle: When the limit is reached the oldest particles come out of the nozzle again.
        motion: Function of time [s] that returns the position of the nozzle, or its position and a rotation that
            turns `direction`; the fluid has the velocity of the nozzle besides its own.
        spacing: See `add_fluid`.
        material: The material; None: the default one.
        support: See `add_fluid`.
        kernel: See `add_fluid`.
        dimensions: See `add_fluid`. With 2 the nozzle is a row of particles in the plane, `size[0]` or twice the
            radius long.
        boundary: See `add_fluid`.
        name: Name in messages and results.

    Returns:
        The handle of the particles, all `limit` of them; `Simulation.active` tells which are out.

    Raises:
        SceneError: A value has the wrong type or shape, or lies outside its bounds. A nozzle inside a solid is
            refused when the simulation is built.
    """
    name = scene._name("emitter", name)
    label = f"emitter {name!r}"
    given = {"spacing": spacing, "support": support, "kernel": kernel, "dimensions": dimensions}
    material, sampling = _emitted(scene, label, fluid, material, given | {"boundary": boundary})
    way = check.vector(label, "direction", direction)
    length = float(np.linalg.norm(way))
    if length == 0.0 or not math.isfinite(length):
        raise SceneError(f"{label}: direction: must not be zero")
    at = check.vector(label, "position", position)
    places = _places(label, radius, size, way / length, sampling)
    speed = _speed(label, speed, rate, len(places), sampling.spacing)
    limit = check.count(label, "limit", limit, most=check.MOST_ROWS)
    if limit < len(places):
        raise SceneError(f"{label}: limit: {limit} are fewer than the {len(places)} particles of one layer")
    start = check.number(label, "start", start, least=0.0)
    stop = math.inf if stop is None else check.number(label, "stop", stop, above=start)
    check.choice(label, "recycle", recycle, (True, False))
    check.function_or_none(label, "motion", motion)
    emitter = Emitter(
        places, at, way / length, speed, sampling.spacing / speed, start, stop, recycle, motion
    )  # fmt: skip
    inactive_particles = emitter.layer(0.0, label)[0][np.arange(limit) % len(places)]
    masses = np.full(limit, material.rest_density * sampling.spacing**3)
    return scene._add_particle_object(
        ParticleObject(
            name,
            "fluid",
            inactive_particles,
            masses,
            scene._velocities(label, None, masses),
            np.full(limit, 0.5 * sampling.spacing),
            ContactMaterial(material.friction, None, material.restitution, 0.0),
            material=material,
            sampling=sampling,
            emitter=emitter,
        )
    )


def add_sink(
    scene: Contents,
    shape: Shape,
    *,
    position: Any = (0.0, 0.0, 0.0),
    rotation: Any = _NO_ROTATION,
    name: str | None = None,
) -> SinkHandle:
    """Add a region in which fluids vanish.

    At the start of each step the particles of fluids whose middle is inside are taken away: those of an emitter
    wait there to be let out again, those that were put into the scene are gone for good. `Simulation.sunk` counts
    them. A sink has to be thicker than the displacement of a particle in a step.

    Args:
        shape: A shape, as for a collider; a `Plane` takes everything below it.
        position: Where the origin of the shape is [m].
        rotation: Its rotation, a unit quaternion w x y z.
        name: Name in messages.

    Raises:
        SceneError: A value has the wrong type or shape, or lies outside its bounds.
    """
    name = scene._name("sink", name)
    label = f"sink {name!r}"
    if isinstance(shape, Compound) or not isinstance(shape, Shape):
        raise SceneError(f"{label}: shape: expected a shape, such as Sphere or Box, got {check.short(shape)}")
    type_of(shape)
    at = check.vector(label, "position", position)
    scene.sinks.append(Sink(name, shape, at, check.unit_quaternion(label, "rotation", rotation)))
    scene.revision += 1
    handle = SinkHandle(name, len(scene.sinks) - 1)
    scene.handles[name] = handle
    return handle


def _emitted(
    scene: Contents, label: str, fluid: Any, material: Any, given: dict[str, Any]
) -> tuple[FluidMaterial, Sampling]:
    """Material and sampling of an emitter."""
    if fluid is None:
        if given["spacing"] is None:
            raise SceneError(f"{label}: spacing: give it, or the fluid that is to flow")
        defaults: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(Sampling)}
        chosen = {field: defaults[field] if value is None else value for field, value in given.items()}
        return given_material(label, material, FluidMaterial), checked_sampling(label, **chosen)
    for field, value in ({"material": material} | given).items():
        if value is not None:
            raise SceneError(f"{label}: {field}: is that of the fluid; give one of both")
    handle = scene.find(label, "fluid", fluid, Handle)
    objects = [obj for obj in scene.particle_objects if obj.name == handle.name]
    if objects[0].sampling is None:
        raise SceneError(f"{label}: fluid: expected a fluid of this scene, got {check.short(fluid)}")
    assert isinstance(objects[0].material, FluidMaterial)
    return objects[0].material, objects[0].sampling


def _speed(label: str, speed: Any, rate: Any, count: int, spacing: float) -> float:
    """Speed of the fluid [m/s], as given or from the rate."""
    if (speed is None) == (rate is None):
        raise SceneError(f"{label}: speed: give either speed or rate")
    if speed is not None:
        return check.number(label, "speed", speed, above=0.0)
    return check.number(label, "rate", rate, above=0.0) / (count * spacing**2)


def _places(label: str, radius: Any, size: Any, direction: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Particles of a layer, from the middle of the nozzle [m], (K, 3)."""
    if (radius is None) == (size is None):
        raise SceneError(f"{label}: radius: give either radius or size")
    if radius is not None:
        radius = check.number(label, "radius", radius, above=0.0)
        widths = np.full(2, 2.0 * radius)
    else:
        widths = check.array(label, "size", size, (2,))
        for width in widths:
            check.number(label, "size", width, above=0.0)
    field = "size" if radius is None else "radius"
    if widths.min() < sampling.spacing * (1.0 - _ROUNDING) and sampling.dimensions == 3:
        raise SceneError(f"{label}: {field}: the nozzle is narrower than one spacing, {sampling.spacing:g} m")
    across, up = _axes(label, direction, sampling.dimensions)
    s = sampling.spacing
    check.row_count(label, field, *(int(width / s) + 1 for width in widths[: sampling.dimensions - 1]))
    if sampling.dimensions == 2:
        grid = np.stack(np.meshgrid(_row(widths[0], s), [0.0]), axis=-1).reshape(-1, 2)
    elif radius is None:
        grid = np.stack(np.meshgrid(_row(widths[0], s), _row(widths[1], s)), axis=-1).reshape(-1, 2)
    else:
        grid = _disc(radius, s)
    return grid @ np.stack([across, up])


def _row(width: float, spacing: float) -> np.ndarray:
    """As many points as fit side by side, about 0 [m]."""
    count = max(int(width / spacing + _ROUNDING), 1)
    return (np.arange(count) - 0.5 * (count - 1)) * spacing


def _disc(radius: float, spacing: float) -> np.ndarray:
    """Points of a square lattice in a disc [m], (K, 2): about the one or the other middle, as fits the area better."""
    n = int(radius / spacing) + 1
    found = []
    for shift in (0.0, 0.5):
        row = (np.arange(-n, n + 1) + shift) * spacing
        points = np.stack(np.meshgrid(row, row), axis=-1).reshape(-1, 2)
        found.append(points[(points**2).sum(axis=1) <= (radius * (1.0 + _ROUNDING)) ** 2])
    area = math.pi * radius**2
    return min(found, key=lambda points: abs(len(points) * spacing**2 - area))


def _axes(label: str, direction: np.ndarray, dimensions: int) -> tuple[np.ndarray, np.ndarray]:
    """Axes of the width and the height of a nozzle, (3,) each."""
    if dimensions == 2:
        if abs(direction[2]) > 1e-9:
            raise SceneError(f"{label}: direction: leaves the plane of a fluid in two dimensions")
        return np.array([-direction[1], direction[0], 0.0]), np.array([0.0, 0.0, 1.0])
    level = np.cross([0.0, 1.0, 0.0], direction)
    if np.linalg.norm(level) < 1e-6:
        return np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    level /= np.linalg.norm(level)
    return level, np.cross(direction, level)
