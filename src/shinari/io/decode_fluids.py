"""Records of fluids and grains that come from a file, checked so that the solver can trust them."""

import dataclasses
from typing import Any

import numpy as np

from shinari import check
from shinari.io.decode_bodies import expect
from shinari.scene.emitter import Emitter, Sink
from shinari.scene.fluid_material import FluidMaterial, Sampling, checked_sampling
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.objects import ParticleObject
from shinari.shapes.base import Shape


def check_fluid(obj: ParticleObject) -> None:
    """Check what of an object makes it a fluid or grains, if it is either.

    Raises:
        SceneError: A field has the wrong shape or is outside its bounds.
        ValueError: Something is missing, or does not belong to it.
    """
    if obj.kind == "grains":
        material = expect(obj.material, GrainMaterial)
        if obj.angular_velocities is not None and material.rolling_friction is not None:
            check.array(obj.name, "angular_velocities", obj.angular_velocities, (len(obj.masses), 3), most=check.FINITE)
        elif obj.angular_velocities is not None:
            raise ValueError(f"{check.short(obj.name)} has angular velocities and does not turn")
    elif obj.angular_velocities is not None:
        raise ValueError(f"{check.short(obj.name)} has angular velocities and is no grains")
    if obj.kind != "fluid":
        if obj.sampling is not None or obj.emitter is not None:
            raise ValueError(f"{check.short(obj.name)} is sampled as a fluid and is none")
        return
    material, sampling = expect(obj.material, FluidMaterial), expect(obj.sampling, Sampling)
    checked_sampling(obj.name, **dataclasses.asdict(sampling))
    masses = np.unique(obj.masses[obj.masses != 0.0]) / (material.rest_density * sampling.volume)
    # those of a box are an equal part of its mass, near that of a cube
    if len(masses) > 1 or (np.abs(np.log2(masses)) > 1.0).any() or (obj.radii != 0.5 * sampling.spacing).any():
        raise ValueError(f"masses or radii of {check.short(obj.name)} are not those of its material and spacing")
    if obj.emitter is not None:
        _check_emitter(obj.name, expect(obj.emitter, Emitter), len(obj.positions), sampling)


def checked_sink(value: Any) -> Sink:
    """A sink, if it is one that could have been added.

    Raises:
        SceneError: A field has the wrong shape or is outside its bounds.
        ValueError: It is no sink.
    """
    sink = expect(value, Sink)
    name = expect(sink.name, str)
    if not isinstance(sink.shape, Shape):
        raise ValueError(f"{check.short(name)} has a {type(sink.shape).__name__} for a shape")
    check.vector(name, "position", sink.position)
    check.unit_quaternion(name, "rotation", sink.rotation)
    return sink


def _check_emitter(name: str, emitter: Emitter, count: int, sampling: Sampling) -> None:
    places = check.array(name, "places", emitter.places, (None, 3), most=check.FINITE)
    if not 1 <= len(places) <= count:
        raise ValueError(f"a layer of {check.short(name)} has {len(places)} particles of {count}")
    check.vector(name, "position", emitter.position)
    length = float(np.linalg.norm(check.vector(name, "direction", emitter.direction)))
    if abs(length - 1.0) > 1e-9:
        raise ValueError(f"direction of {check.short(name)} has the length {length:g}")
    check.number(name, "speed", emitter.speed, above=0.0)
    if emitter.interval != sampling.spacing / emitter.speed:
        raise ValueError(f"interval of {check.short(name)} is not its spacing over its speed")
    start = check.number(name, "start", emitter.start, least=0.0)
    check.number(name, "stop", emitter.stop, above=start, infinite=True)
    check.choice(name, "recycle", emitter.recycle, (True, False))
    check.function_or_none(name, "motion", emitter.motion)
