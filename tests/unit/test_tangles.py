"""Tetrahedra at an edge that is wound twice are compressible, see `shinari.systems.failure.tangles`."""

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.geometry.tetrahedra.lattice import lattice
from shinari.maths.simplex import tetrahedron_inverse
from shinari.systems.failure.tangles import BACK, MARGIN, TANGLED, inner_edges, search_limits
from shinari.verify.solid_recovery import SIDE, off_shape, squeezed

SECTORS = 8


def fan(turns: float = 1.0, radius: float = 0.1) -> np.ndarray:
    """An edge, and points that go round it, (2 + SECTORS, 3): with two turns all volumes are sqrt(2) times as large."""
    angle = 2.0 * np.pi * turns * np.arange(SECTORS) / SECTORS
    ring = radius * np.stack([np.cos(angle), np.sin(angle), np.zeros(SECTORS)], axis=1)
    return np.concatenate([[[0.0, 0.0, -0.1], [0.0, 0.0, 0.1]], ring])


RING = np.array([[0, 1, 2 + k, 2 + (k + 1) % SECTORS] for k in range(SECTORS)])


def held(ratio: float, precision: str = "float64", **material) -> sn.Simulation:
    """Tetrahedra around an edge whose vertices all are pinned."""
    scene = sn.Scene(gravity=(0, 0, 0))
    law = sn.SoftMaterial(density=1000.0, youngs_modulus=1e5, poissons_ratio=ratio, thickness=0.0, **material)
    scene.add_soft_body((fan(), RING), material=law, name="solid").pin(np.arange(2 + SECTORS))
    return sn.Simulation(scene, precision=precision, threads=1, substeps=2)


def tangled_at(sim: sn.Simulation, *states: np.ndarray) -> list[int]:
    """How many tetrahedra are tangled after a step that begins with a state, one after another."""
    found = []
    for state in states:
        sim.state.positions = state
        sim.step(2)
        found.append(int(sim.state.system_arrays[TANGLED].sum()))
    return found


@pytest.mark.bounds
@precisions
def test_tetrahedra_are_tangled_at_an_edge_that_is_wound_twice_until_they_are_near_their_shape(precision):
    sim = held(0.45, precision)
    # by its own law a length of 1 - e has the energy e^2 (1 + 10) of mu V / 2
    stretch = np.array([1.0, 1.0, 1.0 - 0.9 * (BACK / 11.0) ** 0.5])
    states = fan(), fan(2), 0.7 * fan(), fan() * [1.0, 1.0, 0.95], fan() * stretch, fan(2) @ np.diag([2.0, 0.1, 1.0])
    assert tangled_at(sim, *states) == [0, SECTORS, SECTORS, SECTORS, 0, SECTORS]


@precisions
def test_tetrahedra_that_are_flat_or_inside_out_or_thin_keep_their_law(precision):
    """A pressed body that gives way is pressed inside out: its inner vertices came out of its surface."""
    x = fan()
    crossed = x.copy()
    crossed[2:] -= [0.3, 0.0, 0.0]
    rng = np.random.default_rng(2)
    states = [x * s for s in ([1, 1, 0.01], [0.01, 1, 1], [1, 1, 0], [1, 1, -1], [0.2, 0.2, 0.2], [9.0, 9.0, 9.0])]
    states += [crossed, 0.0 * x, x * [1, 0, 0], fan(0.0), fan(-1.0), fan(-2.0)]
    states += [x + 0.02 * rng.normal(size=x.shape) for _ in range(5)]
    assert tangled_at(held(0.49, precision), *states) == [0] * len(states)


@precisions
def test_tangles_do_not_spread_to_edges_that_share_no_tetrahedron_with_them(precision):
    """The second edge is wound backwards or no more; that is no tangle unless one of its own tetrahedra was tangled."""
    scene, shift = sn.Scene(gravity=(0, 0, 0)), np.array([1.0, 0.0, 0.0])
    law = sn.SoftMaterial(density=1000.0, youngs_modulus=1e5, poissons_ratio=0.45, thickness=0.0)
    count = 2 + SECTORS
    vertices, tetrahedra = np.concatenate([fan(), fan() + shift]), np.concatenate([RING, RING + count])
    scene.add_soft_body((vertices, tetrahedra), material=law).pin(np.arange(2 * count))
    sim = sn.Simulation(scene, precision=precision, threads=1, substeps=2)
    turns = (2, -1), (2, 0), (2, 2), (1, -1), (1, 1), (1, -1)
    states = [np.concatenate([fan(first), fan(second) + shift]) for first, second in turns]
    assert tangled_at(sim, *states) == [SECTORS, SECTORS, 2 * SECTORS, SECTORS, 0, 0]


@pytest.mark.parametrize(("height", "precision"), [(0.05, "float32"), (0.02 + 8.0 * 0.05 / 15.0, "float64")])
def test_what_is_tangled_is_not_held_by_what_is_not(height, precision):
    """These two stayed inside out around edges that were wound no more, beside tetrahedra of another law."""
    sim, rest, _ = squeezed(precision, 1e4, 0.49, height, 0.0)
    assert off_shape(sim.state.positions, rest) < 0.01 * SIDE


@precisions
@pytest.mark.parametrize("ratio", [-0.3, 0.0, 0.1])
def test_bodies_that_recover_by_themselves_keep_their_law(ratio, precision):
    assert tangled_at(held(ratio, precision), fan(2), fan(2) * [1, 1, -1]) == [0, 0]


def test_the_elastic_energy_is_that_of_the_law_in_use():
    """At 0.8 of their height: 0.2^2 (1 + s^2) mu V / 2, with s^2 = 1.25 where they are tangled."""
    mu, volume = 1e5 / 2.9, SECTORS * 0.5 * 0.1**2 * np.sin(2.0 * np.pi / SECTORS) * 0.2 / 3.0
    sim, low = held(0.45), fan() * [1.0, 1.0, 0.8]
    tangled_at(sim, low)
    assert sim.energy().elastic == pytest.approx(0.5 * mu * volume * 0.04 * 11.0, rel=1e-9)
    tangled_at(sim, fan(2), low)
    assert sim.energy().elastic == pytest.approx(0.5 * mu * volume * 0.04 * 2.25, rel=1e-9)


def test_tangled_tetrahedra_follow_a_changed_ratio():
    """Bodies of nu <= 0.1 have no other law: at 0.8 of their height 0.2^2 (1 + s^2) mu V / 2 with s^2 = 5/4."""
    volume = SECTORS * 0.5 * 0.1**2 * np.sin(2.0 * np.pi / SECTORS) * 0.2 / 3.0
    sim = held(0.45)
    tangled_at(sim, fan(2))
    sim.change_material("solid", poissons_ratio=0.1)
    tangled_at(sim, fan() * [1.0, 1.0, 0.8])
    assert sim.energy().elastic == pytest.approx(0.5 * 1e5 / 2.2 * volume * 0.04 * 2.25, rel=1e-9)


@pytest.mark.filterwarnings("ignore::shinari.FailureWarning")
def test_pieces_around_a_torn_tetrahedron_may_overlap():
    sim = held(0.45, tear_strain=0.5)
    x = fan(15.0 / 14.0)
    x[2] *= 3.0
    tangled_at(sim, x)
    assert any(broken.any() for broken in sim.state.broken.values())
    assert tangled_at(sim, fan(2)) == [0]


def test_inner_edges_are_those_with_one_closed_ring():
    eye = np.tile(np.eye(3).ravel(), (SECTORS, 1))
    points, count, around, rows = inner_edges(RING, eye)
    assert (points.tolist(), count.tolist()) == ([[0, 1]], [SECTORS])
    np.testing.assert_array_equal(np.roll(around, -int(np.argmin(around))), 2 + np.arange(SECTORS))
    np.testing.assert_array_equal(RING[rows, 2], around)
    mirror = inner_edges(RING[:, [1, 0, 2, 3]], -eye)
    np.testing.assert_array_equal(mirror[2], around)
    assert len(inner_edges(RING[:-1], eye[:-1])[0]) == 0  # open
    twins = np.concatenate([RING, np.where(RING > 1, RING + SECTORS, RING)])
    assert len(inner_edges(twins, np.tile(eye, (2, 1)))[0]) == 0  # two rings
    assert len(inner_edges(np.concatenate([RING, RING]), np.tile(eye, (2, 1)))[0]) == 0  # each of them twice
    assert len(inner_edges(RING[:0], eye[:0])[0]) == 0


def turns(x: np.ndarray, edges: np.ndarray, count: np.ndarray, around: np.ndarray) -> np.ndarray:
    """Winding numbers of the polygons around edges by the sum of their angles, (E,)."""
    found = np.zeros(len(edges))
    for e, (a, b) in enumerate(edges):
        axis = x[b] - x[a]
        ring = x[around[count[:e].sum() : count[: e + 1].sum()]] - x[a]
        ring = ring - np.outer(ring @ axis, axis) / (axis @ axis)
        after = np.roll(ring, -1, axis=0)
        sine = np.cross(ring, after) @ axis / np.linalg.norm(axis)
        found[e] = np.arctan2(sine, np.einsum("ij,ij->i", ring, after)).sum() / (2.0 * np.pi)
    return np.abs(found.round())


@pytest.mark.parametrize("even", [True, False])
def test_an_edge_that_is_wound_twice_has_a_tetrahedron_beyond_its_limit(even):
    """Fans of many proportions; those that open evenly are the least stretched."""
    rng, seen, least = np.random.default_rng(7), 0, np.inf
    for _ in range(200):
        rest, x = fan(), fan(2)
        if not even:
            part = np.cumsum(rng.uniform(0.3, 1.0, SECTORS))
            angle, out = 2.0 * np.pi * part / part[-1], 0.1 * rng.uniform(0.5, 2.0, (2, SECTORS))
            for points, turn, radius in ((rest, 1.0, out[0]), (x, 2.0, out[1])):
                points[2:, 0], points[2:, 1] = radius * np.cos(turn * angle), radius * np.sin(turn * angle)
        x = x @ (np.diag(rng.uniform(0.3, 3.0, 3)) + rng.choice([0.0, 0.3]) * rng.normal(size=(3, 3)))
        x += rng.choice([0.0, 0.01]) * rng.normal(size=x.shape)
        inverse = tetrahedron_inverse(rest[RING])
        edges, count, around, _ = inner_edges(RING, inverse)
        f = np.swapaxes(x[RING[:, 1:]] - x[RING[:, :1]], 1, 2) @ inverse.reshape(-1, 3, 3)
        size = (f * f).sum(axis=(1, 2)) ** 3 / np.linalg.det(f) ** 2
        if turns(x, edges, count, around)[0] >= 2.0:
            seen += 1
            least = min(least, (size * MARGIN / search_limits(inverse)).max())
    assert seen > 100
    assert least > 1.0


def test_edges_of_a_body_that_is_stretched_by_half_are_not_looked_at():
    x, tetrahedra = lattice((2, 2, 2), 0.1)
    limits = search_limits(tetrahedron_inverse(x[tetrahedra]))
    # corners of a cube: smallest angle arccos(1 / sqrt(3)), k = 1 + sqrt(3); the regular ones: arccos(1 / 3), k = 4
    k = np.array([1.0 + 3.0**0.5, 4.0])
    np.testing.assert_allclose(np.unique(limits.round(6)), MARGIN * 6.75 * (k + 1.0 / k) ** 2, rtol=1e-6)
    stretch = np.array([1.5, 1.5**-0.5, 1.5**-0.5])
    assert (stretch @ stretch) ** 3 < limits.min()
    # without volume at rest there is no angle
    np.testing.assert_array_equal(search_limits(np.zeros((1, 9))), 0.0)


@pytest.mark.parametrize("sweep", ["gauss-seidel", "jacobi"])
def test_a_tangled_body_goes_on_bit_by_bit(tmp_path, sweep):
    pytest.importorskip("h5py")
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.SoftMaterial(density=1000.0, youngs_modulus=1e4, poissons_ratio=0.49, thickness=0.0)
    scene.add_soft_body((fan(), RING), material=material, name="solid")
    sim = sn.Simulation(scene, threads=1, substeps=4, sweep=sweep)
    sim.state.positions = fan(2)
    sim.step(1)
    assert sim.state.system_arrays[TANGLED].any()
    sim.save(tmp_path / "half.vtkhdf")
    again = sn.Simulation.load(tmp_path / "half.vtkhdf")
    sim.step(20)
    again.step(20)
    np.testing.assert_array_equal(sim.state.positions, again.state.positions)
    np.testing.assert_array_equal(sim.state.system_arrays[TANGLED], again.state.system_arrays[TANGLED])


@precisions
@pytest.mark.parametrize(("ratio", "height", "friction"), [(0.495, 0.02, 0.5), (0.49, 0.04, 0.0)])
def test_a_body_is_not_released_into_a_tangle(ratio, height, friction, precision):
    """Where tetrahedra keep their law they end with all volumes positive, 0.8 and 1.0 of an edge off their shape."""
    sim, rest, _ = squeezed(precision, 1e4, ratio, height, friction)
    assert off_shape(sim.state.positions, rest) < 0.01 * SIDE
    assert not sim.state.system_arrays[TANGLED].any()


def test_a_beam_from_random_positions_is_not_caught_in_a_tangle():
    """Of nu = 0.3, caught by the law alone: all volumes positive, 0.82 of its length off its shape."""
    vertices, tetrahedra = lattice((5, 2, 2), 0.1)
    rng = np.random.default_rng(9)
    states = [rng.uniform(0.0, 1.0, vertices.shape) * vertices.max(axis=0) * scale for scale in (1e-3, 0.3, 1.0)]
    scene = sn.Scene(gravity=(0, 0, 0), damping=2.0)
    material = sn.SoftMaterial(density=1000.0, youngs_modulus=1e5, poissons_ratio=0.3, thickness=0.0)
    scene.add_soft_body((vertices, tetrahedra), material=material)
    sim = sn.Simulation(scene, threads=1, substeps=20)
    sim.state.positions = states[2]
    sim.step(480)
    assert off_shape(sim.state.positions, vertices) < 1e-3
