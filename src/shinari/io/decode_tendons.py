"""Tendons that come from a file, checked so that the solver can trust them."""

from typing import Any

import numpy as np

from shinari import check
from shinari.api.add_tendons import COEFFICIENTS
from shinari.io.decode_bodies import checked_drive, expect
from shinari.scene.actuator import ActuatorLaw
from shinari.scene.body import WORLD
from shinari.scene.contents import Contents
from shinari.scene.tendon import LEVERS, JointTerm, Lever, Segment, Tendon


def checked_tendon(value: Any, scene: Contents) -> Tendon:
    """A tendon over bodies and joints of a scene, if it is one that could have been added.

    Raises:
        SceneError: A field has the wrong shape or is outside its bounds.
        ValueError: It is no tendon.
    """
    tendon = expect(value, Tendon)
    name = expect(tendon.name, str)
    for term in expect(tendon.terms, tuple):
        term = expect(term, JointTerm)
        check.indices(name, "joint", term.joint, len(scene.joints))
        check.array(name, "coefficients", term.coefficients, (COEFFICIENTS,))
        check.number(name, "offset", term.offset)
    for segment in expect(tendon.segments, tuple):
        _check_segment(name, segment, len(scene.bodies))
    for lever in expect(tendon.levers, tuple):
        _check_lever(name, lever, len(scene.bodies))
    if tendon.held is not None:
        check.number(name, "held", tendon.held)
    for field in ("compliance", "stiffness", "damping", "limit_compliance", "dry_friction", "mass"):
        check.number(name, field, getattr(tendon, field), least=0.0)
    check.array(name, "slack", tendon.slack, (2,))
    if tendon.limits is not None and not (np.shape(tendon.limits) == (2,) and tendon.limits[0] <= tendon.limits[1]):
        raise ValueError(f"limits of {check.short(name)} are no pair")
    check.number(name, "max_force", tendon.max_force, above=0.0, infinite=True)
    checked_drive(name, tendon.drive)
    if tendon.actuator is not None:
        # what it is made of was checked as it was made
        expect(tendon.actuator, ActuatorLaw)
    return tendon


def _check_segment(name: str, value: Any, bodies: int) -> None:
    segment = expect(value, Segment)
    wrapped = () if segment.wrapped is None else (segment.wrapped,)
    for body in (*segment.bodies, *wrapped, segment.side_body):
        if body != WORLD:
            check.indices(name, "bodies", body, bodies)
    check.array(name, "places", segment.places, (2, 3), most=check.FINITE)
    check.number(name, "part", segment.part, above=0.0)
    check.choice(name, "through", segment.through, (True, False))
    if segment.wrapped is not None:
        check.number(name, "radius", segment.radius, above=0.0)
        check.vector(name, "centre", segment.centre)
    if segment.turn is not None:
        check.unit_quaternion(name, "turn", segment.turn)
    if segment.side is not None:
        check.vector(name, "side", segment.side)


def _check_lever(name: str, value: Any, bodies: int) -> None:
    lever = expect(value, Lever)
    check.choice(name, "kind", lever.kind, LEVERS)
    for body in lever.bodies:
        if body != WORLD:
            check.indices(name, "bodies", body, bodies)
    check.array(name, "places", lever.places, (2, 3), most=check.FINITE)
    check.vector(name, "force", lever.force)
    check.vector(name, "moment", lever.moment)
    check.unit_quaternion(name, "turn", lever.turn)
    check.number(name, "rod", lever.rod, least=0.0)
