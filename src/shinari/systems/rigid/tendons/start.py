"""Length of a tendon where a scene begins, by the kernels that measure it while it runs."""

from collections.abc import Sequence
from dataclasses import replace

from shinari.scene.body import WORLD, Body, Joint
from shinari.scene.tendon import Tendon
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import as_frame
from shinari.systems.rigid.joints.joints import Joints, start_joints
from shinari.systems.rigid.joints.table import joints_of
from shinari.systems.rigid.tendons.table import tendons_of
from shinari.systems.rigid.tendons.tendons import Tendons, start_tendons


def start_length(bodies: Sequence[Body], joints: Sequence[Joint], tendon: Tendon) -> float:
    """Length of a tendon over bodies and joints as they were added [m]."""
    bodies, joints, tendon = _own(bodies, joints, tendon)
    frames = Frames.zeros(len(bodies) + 1)
    for i, body in enumerate(bodies):
        frames.x[i], frames.q[i] = as_frame(body.position, body.rotation, body.centre, body.axes)
    held = Joints(joints_of(bodies, joints), start_joints(joints))
    found = Tendons(tendons_of(bodies, joints, [tendon], 0), start_tendons([tendon]), held, len(bodies))
    lengths, _ = found.measure(frames)
    return float(lengths[0])


def _own(bodies: Sequence[Body], joints: Sequence[Joint], tendon: Tendon) -> tuple[list[Body], list[Joint], Tendon]:
    """The bodies and joints of a tendon alone, and the tendon with their numbers among these."""
    used = sorted({term.joint for term in tendon.terms})
    ends = {end for j in used for end in (joints[j].first, joints[j].second)}
    for segment in tendon.segments:
        ends |= {*segment.bodies, segment.side_body, WORLD if segment.wrapped is None else segment.wrapped}
    ends |= {body for lever in tendon.levers for body in lever.bodies}
    kept = sorted(ends - {WORLD})
    number = {index: k for k, index in enumerate(kept)} | {WORLD: WORLD}
    segments = tuple(
        replace(
            segment,
            bodies=(number[segment.bodies[0]], number[segment.bodies[1]]),
            side_body=number[segment.side_body],
            wrapped=None if segment.wrapped is None else number[segment.wrapped],
        )
        for segment in tendon.segments
    )
    terms = tuple(replace(term, joint=used.index(term.joint)) for term in tendon.terms)
    levers = tuple(replace(v, bodies=(number[v.bodies[0]], number[v.bodies[1]])) for v in tendon.levers)
    own = [replace(joints[j], first=number[joints[j].first], second=number[joints[j].second]) for j in used]
    return [bodies[i] for i in kept], own, replace(tendon, terms=terms, segments=segments, levers=levers)
