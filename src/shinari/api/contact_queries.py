"""Queries about contacts: the contact impulses of all systems, see `collision.report`, as a user sees them."""

from collections.abc import Sequence

import numpy as np

from shinari.collision.report import ContactImpulses, Contacts
from shinari.model.model import Model
from shinari.model.state import State
from shinari.solver.run import Run


class ContactQueries:
    """Contacts of a simulation.

    Args:
        run: The scene that runs.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def contacts(self) -> Contacts:
        """Active contacts of the last step that this simulation took: points, normals, forces, objects."""
        run, systems = self._run, self._run.bound.systems
        contact_impulses = ContactImpulses.joined(
            [found for system in systems if (found := system.contact_impulses()) is not None]
        )
        contacts = contacts_of_step(contact_impulses, run.model, run.state, run.settings.dt)
        return joined([contacts, *(found for system in systems if (found := system.contacts()) is not None)])

    def force_on(self, name: str) -> np.ndarray:
        """Sum of the contact forces on an object, a body or a collider [N], (3,)."""
        contacts = self.contacts()
        on, back = contacts.first == name, contacts.second == name
        return contacts.forces[on].sum(axis=0) - contacts.forces[back].sum(axis=0)


def contacts_of_step(contact_impulses: ContactImpulses, model: Model, state: State, dt: float) -> Contacts:
    """Contacts of a step of length dt [s]."""
    p, b = contact_impulses.particles, contact_impulses.weights
    world = state.origins[model.origin_index[p]] + state.x[p, :3]
    first = np.where(b > 0.0, b, 0.0)
    lead = np.argmax(first, axis=1)
    radius = np.take_along_axis(model.radii[p], lead[:, None], 1)
    positions = (first[:, :, None] * world).sum(axis=1) - radius * contact_impulses.normals
    forces = contact_impulses.impulses / dt
    solids = [collider.name for collider in model.colliders]
    solids += [name for system in model.systems for name in system.solid_names]
    names = np.array([name for name, _ in model.object_ranges] + solids)
    owners = model.owners[p].astype(np.int64)
    one = np.take_along_axis(owners, lead[:, None], 1)[:, 0]
    other = np.take_along_axis(owners, np.argmin(b, axis=1)[:, None], 1)[:, 0]
    other = np.where(contact_impulses.colliders >= 0, len(model.object_ranges) + contact_impulses.colliders, other)
    on_particles = np.zeros((model.particle_count, 3))
    np.add.at(on_particles, p.ravel(), (b[:, :, None] * forces[:, None, :]).reshape(-1, 3))
    return Contacts(positions, contact_impulses.normals, forces, names[one], names[other], on_particles[model.slots])


def joined(several: Sequence[Contacts]) -> Contacts:
    """Contacts of several systems; only those of the first are with particles."""
    names = ("positions", "normals", "forces", "first", "second")
    arrays = {name: np.concatenate([getattr(contacts, name) for contacts in several]) for name in names}
    return Contacts(**arrays, particle_forces=several[0].particle_forces)
