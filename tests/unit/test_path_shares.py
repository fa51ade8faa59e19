"""What zones change is shared out to the pairs that joined them, and told as contacts."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.topology import grid
from shinari.model.particles import Particles
from shinari.systems.paths.records import Forest, PathState, Shares
from shinari.systems.paths.shares import branch, plant, share_of, share_out
from shinari.systems.paths.system import PathCertificates
from shinari.systems.rigid.frames import Frames

RATE = 100.0


class Nodes:
    """Particles, frames and a collider, as the kernels see them; masses of 0 do not give way."""

    def __init__(self, particles: np.ndarray, frames: np.ndarray) -> None:
        self.particles, self.frames = Particles.zeros(len(particles), np.float64), Frames.zeros(len(frames))
        self.masses = np.concatenate([particles, frames, [0.0]])
        inverse = np.divide(1.0, self.masses, out=np.zeros(len(self.masses)), where=self.masses > 0.0)
        self.particles.x[:, 3], self.frames.inverse_mass[...] = inverse[: len(particles)], inverse[len(particles) : -1]
        self.forest, self.shares = Forest.zeros(len(self.masses)), Shares.zeros(64)
        self.state = PathState.zeros(1, np.float64)
        self.state.substep[0] = 1.0 / RATE
        for i in range(len(self.masses)):
            plant(i, self.forest, self.particles, self.frames, self.state)

    def join(self, i: int, j: int, told: bool = True) -> None:
        """A pair meets, or two corners of one triangle."""
        if told:
            share_of(self.forest, self.shares, self.state, i, j)
        else:
            branch(self.forest, i, j)

    def move(self, change: np.ndarray) -> None:
        """Change the momenta of the nodes that give way by so much [N s], (N, 3), and share it out."""
        inverse = np.concatenate([self.particles.x[:, 3], self.frames.inverse_mass])
        moved = change[:-1] * inverse[:, None] / RATE
        self.particles.x[:, :3] += moved[: len(self.particles)]
        self.frames.x[...] += moved[len(self.particles) :]
        share_out(0, self.forest, self.shares, self.particles, self.frames, self.state)

    def told(self) -> list[tuple[int, int, float]]:
        """Nodes of each pair, and the impulse along x on its first."""
        count = self.state.settled_shares[0]
        rows = zip(self.shares.nodes[:count].tolist(), self.shares.impulse[:count, 0].tolist(), strict=True)
        return [(i, j, impulse) for (i, j), impulse in rows]


def along_x(values: list[float]) -> np.ndarray:
    """Vectors along x, (N, 3)."""
    return np.array([[value, 0.0, 0.0] for value in values])


def test_what_is_behind_a_pair_goes_through_it():
    nodes = Nodes(np.array([1.0, 2.0]), np.array([4.0]))
    for i, j in ((0, 1), (2, 1), (2, 3)):
        nodes.join(i, j)
    nodes.move(along_x([-1.0, -2.0, -4.0, 0.0]))
    assert [(i, j) for i, j, _ in nodes.told()] == [(0, 1), (2, 1), (2, 3)]
    np.testing.assert_allclose([impulse for *_, impulse in nodes.told()], [-1.0, 3.0, -7.0], rtol=1e-12)


def test_a_pair_that_joins_nothing_new_is_not_told():
    nodes = Nodes(np.array([1.0, 1.0]), np.array([2.0]))
    for i, j in ((0, 2), (1, 2), (0, 1), (1, 0)):
        nodes.join(i, j)
    nodes.move(along_x([-1.0, -1.0, 2.0, 0.0]))
    assert [(i, j) for i, j, _ in nodes.told()] == [(0, 2), (1, 2)]


def test_nothing_goes_through_what_does_not_give_way():
    """Two bodies at both sides of a wall, and at a fixed particle: each is told with the first that it met."""
    nodes = Nodes(np.array([0.0]), np.array([1.0, 1.0]))
    for i, j in ((1, 3), (2, 3), (1, 0), (2, 0)):
        nodes.join(i, j)
    nodes.move(along_x([0.0, -5.0, 3.0, 0.0]))
    np.testing.assert_allclose(nodes.told(), [(1, 3, -5.0), (2, 3, 3.0)], rtol=1e-12)


def test_within_a_triangle_nothing_is_told():
    nodes = Nodes(np.ones(3), np.array([3.0]))
    nodes.join(0, 1, told=False)
    nodes.join(0, 2, told=False)
    nodes.join(0, 3)
    nodes.move(along_x([-1.0, -2.0, -3.0, 6.0, 0.0]))
    np.testing.assert_allclose(nodes.told(), [(0, 3, -6.0)], rtol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_random_zones_balance(seed):
    """Each node that gives way gets what its momentum changed by, whatever pairs met in whatever order."""
    random = np.random.default_rng(seed)
    masses = random.uniform(0.5, 2.0, 12) * (random.random(12) > 0.2 * (seed % 2))
    nodes = Nodes(masses[:8], masses[8:])
    for _ in range(40):
        nodes.join(*sorted(random.choice(13, 2, replace=False).tolist()))
    change = random.normal(size=(13, 3)) * (nodes.masses > 0.0)[:, None]
    free = nodes.masses > 0.0
    groups = [np.flatnonzero(members) for members in components(nodes.forest.root)]
    for members in groups:
        if free[members].all():
            # a zone that nothing holds keeps its momentum
            change[members] -= change[members].mean(axis=0)
    nodes.move(change)
    count, sums = nodes.state.settled_shares[0], np.zeros((13, 3))
    np.add.at(sums, nodes.shares.nodes[:count, 0], nodes.shares.impulse[:count])
    np.add.at(sums, nodes.shares.nodes[:count, 1], -nodes.shares.impulse[:count])
    np.testing.assert_allclose(sums[free], change[free], atol=1e-11)


def components(parents: np.ndarray) -> np.ndarray:
    """Members of each tree, (T, N)."""
    names = np.arange(len(parents))
    for _ in names:
        names = parents[names]
    return names[None, :] == np.unique(names)[:, None]


def shot(precision: str = "float64") -> sn.Simulation:
    """A ball at a held sheet, and a cube at a wall."""
    scene = sn.Scene(gravity=(0, 0, 0))
    vertices, faces = grid(shape=(15, 15), size=(0.3, 0.3))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(thickness=0.004, density=0.3), name="sheet")
    sheet.pin(np.flatnonzero(np.abs(vertices - vertices.mean(axis=0))[:, [0, 2]].max(axis=1) > 0.1499))
    scene.add_rigid_body(sn.Sphere(0.02), position=(0.013, -0.1, 0.007), velocity=(0, 80, 0), name="ball")
    turn = np.array([0.9, 0.3, 0.2, 0.1])
    scene.add_rigid_body(
        sn.Box((0.04, 0.04, 0.04)), position=(0.5, -0.1, 0), rotation=turn / np.linalg.norm(turn), velocity=(0, 300, 0),
        name="cube",
    )  # fmt: skip
    scene.add_collider(sn.Box((0.4, 0.01, 0.4)), position=(0.5, 0.0, 0.0), name="wall")
    return sn.Simulation(scene, substeps=1, precision=precision)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_shares_are_contacts_of_the_pairs_that_met(precision):
    sim = shot(precision)
    certificates, pairs, upwards = sim._run.bound.get(PathCertificates), set(), []
    # in the fourth step the sheet has wrapped the ball and meets it from the side
    for _ in range(3):
        sim.step()
        particles, bodies = certificates.contact_impulses(), certificates.contacts()
        assert bodies is not None
        np.testing.assert_allclose(particles.weights.sum(axis=1), 1.0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(particles.normals, axis=1), 1.0, atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(bodies.normals, axis=1), 1.0, atol=1e-6)
        keys = np.column_stack([particles.particles, particles.colliders])
        assert len(np.unique(keys, axis=0)) == len(keys)
        upwards.append(particles.normals[:, 1])
        contacts = sim.contacts()
        pairs |= set(zip(contacts.first.tolist(), contacts.second.tolist(), strict=True))
        # the corner of the cube that met the wall goes on as one with it
        far = np.linalg.norm(bodies.positions - sim.pose("cube").position, axis=1)
        assert (abs(far - 0.02 * np.sqrt(3.0)) < 1e-3).all()
    assert pairs == {("sheet", "ball"), ("cube", "wall")}
    # the ball comes from below, so that the sheet is above it
    assert len(np.concatenate(upwards)) >= 2
    assert (np.concatenate(upwards) > 0.0).all()


def test_a_step_in_which_nothing_is_stopped_tells_no_shares():
    sim = shot()
    certificates, stopped = sim._run.bound.get(PathCertificates), 0
    for _ in range(20):
        sim.step()
        bodies = certificates.contacts()
        assert bodies is not None
        told = len(certificates.contact_impulses().impulses) + len(bodies.forces)
        assert bool(told) <= bool(certificates.zones)
        stopped += certificates.zones
    assert stopped


@pytest.mark.parametrize(("friction", "restitution", "compliance"), [(0.5, 0.0, 0.0), (0.5, 0.5, 1e-5)])
@pytest.mark.parametrize("soft", [True, False])
def test_forces_of_surfaces_change_the_momentum(soft, friction, restitution, compliance):
    """Rows that were found anew within a step settle velocities once more, and that is told, too."""
    scene = sn.Scene(gravity=(0, 0, 0))
    law = {"friction": friction, "restitution": restitution, "contact_compliance": compliance}
    if soft:
        scene.add_soft_body(sn.lattice((3, 3, 3), 0.05), material=sn.SoftMaterial(density=800, **law))
    else:
        scene.add_cloth(grid(shape=(9, 9), size=(0.3, 0.3)), material=sn.ClothMaterial(thickness=0.006, **law))
    places = np.random.default_rng(0).uniform(-0.1, 0.1, (12, 3)) + np.array([0, 0.3, 0])
    points = scene.add_particles(places, mass=0.1, radius=0.015, velocity=(0.5, -3, 0), **law)
    sim, largest = sn.Simulation(scene, substeps=5, precision="float64", threads=1), 0.0
    for _ in range(20):
        before = sim.velocities(points).copy()
        sim.step()
        pushed = sim.contacts().particle_forces[points.particles]
        np.testing.assert_allclose(pushed, 0.1 * (sim.velocities(points) - before) * 60, rtol=0, atol=1e-9)
        largest = max(largest, float(np.abs(pushed).max()))
    assert largest > 0.1
