"""Scenes of bodies and the frames that their solver would have, for tests of contact alone."""

import numpy as np

from shinari.compute import Program
from shinari.systems.rigid.contact.collision_shapes import collision_shapes_of
from shinari.systems.rigid.contact.table import BodyContacts
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import as_frame

DT, H, WEIGHT = 1.0 / 60.0, 1.0 / 600.0, 9.81


def frames_of(scene):
    """Frames at the start of the first substep."""
    count = len(scene.bodies)
    frames = Frames.zeros(count + 1 + len(scene.colliders))
    for k, body in enumerate(scene.bodies):
        frames.x[k], frames.q[k] = as_frame(body.position, body.rotation, body.centre, body.axes)
        frames.v[k], frames.w[k] = body.velocity, body.angular_velocity
        frames.inverse_mass[k] = 0.0 if body.kinematic else 1.0 / body.mass
    for k, collider in enumerate(scene.colliders):
        frames.x[count + 1 + k], frames.q[count + 1 + k] = collider.position, collider.rotation
    frames.x0[...], frames.q0[...] = frames.x, frames.q
    return frames


class Contacts(BodyContacts):
    """Contacts that can be found by themselves."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._program = Program()
        self.record_find(self._program)

    def find(self, threads):
        self._program.run(threads)


def contacts_of(scene, frames=None, threads=1, detection="frame", before=None):
    """Contacts of a scene with its points found for the first substep, after those before, and the frames."""
    frames = frames_of(scene) if frames is None else frames
    contacts = Contacts(collision_shapes_of(scene), frames, DT, H, WEIGHT, detection)
    if before is not None:
        keys, cores, forces = before
        contacts.set_warm_start(keys, np.hstack([cores, forces]))
    contacts.begin()
    contacts.find(threads)
    return contacts, frames


def listed_pairs(contacts):
    """Pairs of collision shapes that may touch, (K, 2)."""
    return contacts.pairs.collision_shapes[: contacts.pair_count]


def turned(quaternion, vectors):
    """Vectors (..., 3) turned by unit quaternions (..., 4)."""
    w, axis = quaternion[..., :1], quaternion[..., 1:]
    across = 2.0 * np.cross(axis, vectors)
    return vectors + w * across + np.cross(axis, across)


def places(table, frames):
    """Core points of a and of b in the world, (P, 3) each, and gaps (P,)."""
    n = table.count
    a = table.frames[:n, 0]
    on_a = frames.x0[a] + turned(frames.q0[a], table.core[:n])
    apart = table.gap[:n] + table.radius[:n].sum(axis=1)
    return on_a, on_a - apart[:, None] * table.normal[:n], table.gap[:n]


def drift(frames, h):
    """Move the frames by their velocities for a time."""
    frames.x0[...] += h * frames.v
    spin = 0.5 * h * frames.w
    w, axis = frames.q0[:, :1].copy(), frames.q0[:, 1:].copy()
    frames.q0[:, :1] = w - (spin * axis).sum(axis=1, keepdims=True)
    frames.q0[:, 1:] = axis + w * spin + np.cross(spin, axis)
    frames.q0[...] /= np.linalg.norm(frames.q0, axis=1, keepdims=True)


def random_turn(rng):
    """A unit quaternion, evenly spread."""
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)
