"""Cosserat rods: kernels against dense references in NumPy, momentum, clamps, checkpoints."""

import numpy as np
import pytest

import shinari as sn
from shinari.compute.program import run_recorded
from shinari.systems.rods.model import RodModel
from shinari.systems.rods.system import RodSystem

LINE = np.linspace(0.0, 1.0, 5)[:, None] * [1.0, 0.0, 0.0]


def product(a, b):
    return np.concatenate([[a[0] * b[0] - a[1:] @ b[1:]], a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:])])


def conjugate(q):
    return q * np.array([1.0, -1.0, -1.0, -1.0])


def rotate_back(q, v):
    return product(product(conjugate(q), np.concatenate([[0.0], v])), q)[1:]


def turned(q, v):
    """q (1, v/2), normalised."""
    p = product(q, np.concatenate([[1.0], 0.5 * v]))
    return p / np.linalg.norm(p)


def rotation_vector(q):
    """That of a quaternion that is no rest."""
    sine = np.linalg.norm(q[1:])
    return 2.0 * np.arctan2(sine, q[0]) / sine * q[1:] if sine > 0.0 else np.zeros(3)


def strains(x, q, ends, after, lengths, rest):
    """C of all rows, (S, 6), from the definition."""
    values = np.zeros((len(q), 6))
    for s, (i, j) in enumerate(ends):
        values[s, :3] = rotate_back(q[s], x[j] - x[i]) - [0.0, 0.0, lengths[s]]
        if after[s] != s:
            p = product(conjugate(q[s]), q[after[s]])
            p *= 1.0 if p @ rest[s] >= 0.0 else -1.0
            values[s, 3:] = rotation_vector(p) - rotation_vector(rest[s])
    return values


def gradient(x, q, *shape):
    """dC / d(x, turns of the frames in their axes) by central differences, (6 S, 3 N + 3 S)."""
    n, m = len(x), len(q)
    columns, d = [], 1e-6
    for k in range(3 * n + 3 * m):
        sides = []
        for sign in (1.0, -1.0):
            xs, qs = x.copy(), q.copy()
            if k < 3 * n:
                xs[k // 3, k % 3] += sign * d
            else:
                turn = np.zeros(3)
                turn[(k - 3 * n) % 3] = sign * d
                qs[(k - 3 * n) // 3] = turned(q[(k - 3 * n) // 3], turn)
            sides.append(strains(xs, qs, *shape).ravel())
        columns.append((sides[0] - sides[1]) / (2.0 * d))
    return np.array(columns).T


def random_rod(seed, *, ring, solver="direct", precision="float64", segments=6, damping=0.0, clamped=True):
    """A simulation of a bent rod of uneven segments, some points pinned and some frames clamped."""
    rng = np.random.default_rng(seed)
    n = segments if ring else segments + 1
    angle = np.linspace(0.0, 2.0 * np.pi if ring else 3.0, n, endpoint=not ring)
    points = 0.3 * np.stack([np.cos(angle), np.sin(angle), 0.3 * np.sin(2.0 * angle)], axis=1)
    points += rng.uniform(-0.03, 0.03, points.shape)
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.RodMaterial(radius=0.01, youngs_modulus=1e6, poissons_ratio=0.3, density=1000.0, solver=solver,
                              damping=damping)  # fmt: skip
    scene.add_rod([[5, 5, 5], [5, 5, 6], [5, 6, 6]], material=material)  # another rod before it
    rod = scene.add_rod(points, closed=ring, material=material)
    if clamped:
        rod.pin(1)
        rod.clamp([2])
    sim = sn.Simulation(scene, dt=1 / 600, substeps=1, precision=precision, threads=1)
    return sim, rod, rng


def table(sim, rod):
    """What the reference needs of a rod: free of the tables of the solver where it can be."""
    model = sim.model.find(RodModel)
    assert isinstance(model, RodModel)
    chosen = slice(rod.segments.start, rod.segments.stop)
    slots = sim.model.slots[rod.particles.start : rod.particles.stop].astype(int)
    n, m = len(slots), len(rod.segments)
    ends = np.stack([np.arange(m), (np.arange(m) + 1) % n], axis=1)
    closed = n == m
    after = np.array([(s + 1) % m if closed or s + 1 < m else s for s in range(m)])
    return model, chosen, slots, (ends, after, model.lengths[chosen], model.rest[chosen])


def disturb(sim, rod, rng, size):
    """Random offsets of points [m] and frames [rad]."""
    _, chosen, slots, _ = table(sim, rod)
    free = sim.state.x[slots, 3:] > 0.0
    sim.state.x[slots, :3] += size * rng.uniform(-0.1, 0.1, (len(slots), 3)) * free
    frames = sim.state.system_arrays["rods/frames"][chosen]
    for q in frames:
        q[...] = turned(q.astype(float), size * rng.uniform(-1, 1, 3))


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("segments", [3, 4, 7])
@pytest.mark.parametrize("first", [True, False])
def test_direct_step_is_that_of_a_dense_solution(ring, segments, first):
    """One projection against a dense G W G^T + alpha~ with G by finite differences."""
    for seed in range(3):
        sim, rod, rng = random_rod(seed, ring=ring, segments=segments)
        disturb(sim, rod, rng, 0.003)
        model, chosen, slots, shape = table(sim, rod)
        x, q = sim.state.x[slots, :3].copy(), sim.state.system_arrays["rods/frames"][chosen].copy()
        lam = rng.normal(0.0, 1e-7, (len(q), 6)) * (not first)
        jointed = np.repeat(shape[1] != np.arange(len(q)), 3).reshape(-1, 3)
        lam[:, 3:] *= jointed
        sim.state.system_arrays["rods/multipliers"][chosen] = lam

        g = gradient(x, q, *shape)
        weights = model.weights[chosen][:, [0, 0, 1]]
        w = np.concatenate([np.repeat(sim.state.x[slots, 3], 3), weights.ravel()])
        alpha = (model.softness[chosen] * 600.0**2).ravel()
        c = strains(x, q, *shape).ravel()
        change = np.linalg.solve((g * w) @ g.T + np.diag(alpha), -c - alpha * lam.ravel())
        moved = w * (g.T @ change)
        assert 1e-4 < np.abs(moved).max() < 0.15, "a single step that moves something"
        x_new = x + moved[: x.size].reshape(-1, 3)
        q_new = np.array([turned(a, v) for a, v in zip(q, moved[x.size :].reshape(-1, 3), strict=True)])

        run_recorded(sim._bound.get(RodSystem).record_project, first)
        scale = np.abs(moved).max()
        assert np.abs(sim.state.x[slots, :3] - x_new).max() < 1e-6 * scale
        assert np.abs(sim.state.system_arrays["rods/frames"][chosen] - q_new).max() < 1e-6 * scale
        lam_new = lam + change.reshape(-1, 6)
        assert (
            np.abs(sim.state.system_arrays["rods/multipliers"][chosen] - lam_new).max() < 1e-6 * np.abs(lam_new).max()
        )
        pinned = sim.state.x[slots, 3] == 0.0
        assert pinned.sum() == 1
        assert np.array_equal(sim.state.x[slots[pinned], :3], x[pinned])
        assert np.array_equal(sim.state.system_arrays["rods/frames"][chosen][2], q[2])


@pytest.mark.parametrize("ring", [False, True])
@pytest.mark.parametrize("segments", [6, 7])
def test_sweeps_converge_to_the_equations_of_all_rows(ring, segments):
    """C + alpha~ lambda goes to zero."""
    sim, rod, rng = random_rod(1, ring=ring, segments=segments, solver="iterative")
    disturb(sim, rod, rng, 0.02)
    model, chosen, slots, shape = table(sim, rod)
    part = sim._bound.get(RodSystem)
    run_recorded(part.record_project, True)

    def residual():
        c = strains(sim.state.x[slots, :3], sim.state.system_arrays["rods/frames"][chosen], *shape)
        return np.abs(c + model.softness[chosen] * 600.0**2 * sim.state.system_arrays["rods/multipliers"][chosen]).max()

    before = residual()
    for _ in range(2000):
        run_recorded(part.record_project, False)
    assert residual() < 1e-6 * before


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_same_bits_on_any_number_of_threads(precision):
    states = []
    for threads in (1, 2, 3):
        scene = sn.Scene(damping=0.1)
        rng = np.random.default_rng(2)
        for k in range(7):
            points = np.cumsum(rng.normal(0.0, 0.1, (5 + 3 * k, 3)), axis=0)
            material = sn.RodMaterial(radius=0.01, youngs_modulus=1e6, solver="iterative" if k % 3 == 2 else "direct",
                                      damping=0.01 * (k % 2))  # fmt: skip
            # apart from each other
            scene.add_rod(points + np.array([0, 0, 50.0 * k]), material=material, closed=k % 2 == 1).pin(0)
        sim = sn.Simulation(scene, substeps=5, iterations=2, precision=precision, threads=threads)
        sim.step(10)
        states.append(sim.state.copy())
    assert states[0] == states[1] == states[2]
    assert not np.array_equal(states[0].positions, scene.positions.astype(precision))


def test_frames_at_the_start():
    t = 2.0 * np.pi * np.arange(40) / 40
    knot = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    for closed in (False, True):
        rod = sn.Scene().add_rod(knot, closed=closed)
        spans = np.diff(knot, axis=0, append=knot[:1])[: len(rod.segments)]
        for q, span in zip(rod.frames, spans, strict=True):
            assert abs(np.linalg.norm(q) - 1.0) < 1e-12
            assert np.allclose(rotate_back(q, span / np.linalg.norm(span)), [0, 0, 1], atol=1e-12)
        twists = [product(conjugate(a), b) for a, b in zip(rod.frames[:-1], rod.frames[1:], strict=True)]
        twists = np.array([2.0 * np.arctan2(p[3], p[0]) for p in twists])
        twists -= 2.0 * np.pi * np.round(twists / (2.0 * np.pi))
        # an open curve has no twist; a closed one has the same at every joint, the last one too
        assert np.abs(twists - twists[0]).max() < 1e-9
        assert abs(twists[0]) < 1e-9 or closed
        last = product(conjugate(rod.frames[-1]), rod.frames[0])
        closing = 2.0 * np.arctan2(last[3], last[0])
        assert not closed or abs((closing - twists[0] + np.pi) % (2.0 * np.pi) - np.pi) < 1e-9


def test_a_free_top_keeps_momentum_and_energy():
    """What is predicted for a frame is the motion of a symmetric top, at any speed and step."""
    from shinari.compute import Program
    from shinari.model.particles import Clock
    from shinari.systems.rods.motion import predict_frame
    from shinari.systems.rods.records import Frames, Segments

    rng = np.random.default_rng(0)
    frames, segments = Frames.zeros(5, np.float64), Segments.zeros(5)
    q, w = frames.q, frames.spin
    q[...] = rng.normal(size=(5, 4))
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    w[...] = rng.normal(0.0, 30.0, (5, 3))
    segments.inverse_inertia[...] = 2.0, 1.0
    inertia = np.array([0.5, 0.5, 1.0])

    def momenta():
        own = np.array([inertia * rotate_back(a, b) for a, b in zip(q, w, strict=True)])
        world = np.array([rotate_back(conjugate(a), b) for a, b in zip(q, own, strict=True)])
        return world, 0.5 * (own**2 / inertia).sum(axis=1)

    before, energy = momenta()
    first = q.copy()
    p = Program()
    with p.loop(1000):
        p.launch(predict_frame, segments, frames, Clock.zeros(1, np.float64), 1, 0.1, count=5)
    p.run()
    after, later = momenta()
    assert np.allclose(after, before, rtol=1e-10)
    assert np.allclose(later, energy, rtol=1e-10)
    assert np.abs(q - first).max() > 0.1


def test_clamped_frames_go_where_they_are_put():
    scene = sn.Scene(gravity=(0, 0, 0))
    rod = scene.add_rod(np.linspace(0.0, 1.0, 11)[:, None] * [1, 0, 0], material=sn.RodMaterial(youngs_modulus=1e7))
    rod.pin([0, 1, 9, 10])
    rod.clamp([0, -1 + len(rod.segments)])
    sim = sn.Simulation(scene, dt=0.02, substeps=7, precision="float64", threads=1)
    start = sim.frames(rod).copy()
    sim.step(3)
    assert np.allclose(sim.frames(rod), start, atol=1e-12), "nothing was asked, so nothing turns"
    goal = product(start[-1], np.array([np.cos(0.6), 0.0, 0.0, np.sin(0.6)]))
    sim.frames(rod)[-1] = 3.0 * goal  # of any length
    sim.step()
    assert np.allclose(sim.frames(rod)[-1], goal, atol=1e-12)
    spin = sim.state.system_arrays["rods/spins"][-1]
    assert np.allclose(spin, [1.2 / 0.02, 0.0, 0.0], rtol=1e-9)
    sim.frames(rod)[-1] = -goal  # the same rotation
    sim.step()
    assert np.allclose(sim.state.system_arrays["rods/spins"][-1], 0.0, atol=1e-9)
    sim.step(400)
    # twist is even along the rod: 1.2 rad between the middles of the end segments
    stiffness = sn.RodMaterial(youngs_modulus=1e7).stiffness[3]
    moments = sim.rod_loads(rod).moments
    assert np.allclose(moments, [stiffness * 1.2 / 0.9, 0, 0], rtol=1e-6, atol=1e-6 * stiffness)


@pytest.mark.parametrize("solver", ["direct", "iterative"])
def test_loads_of_a_hanging_rod_and_of_a_cantilever(solver):
    material = sn.RodMaterial(radius=0.02, youngs_modulus=1e7, density=1000.0, solver=solver)
    scene = sn.Scene(damping=4.0)
    hanging = scene.add_rod(np.linspace(0.0, 1.0, 9)[:, None] * [0, -1, 0], material=material)
    level = scene.add_rod(np.linspace(0.0, 0.2, 5)[:, None] * [1, 0, 0] + [5, 0, 0], material=material)
    for rod in (hanging, level):
        rod.pin([0, 1])
        rod.clamp(0)
    sim = sn.Simulation(scene, dt=0.01, substeps=1, iterations=60, precision="float64", threads=1)
    sim.step(1500)
    for rod in (hanging, level):
        m = sim.model.masses[rod.particles.start : rod.particles.stop]
        x = sim.positions(rod)
        loads = sim.rod_loads(rod)
        for s in range(1, len(rod.segments)):
            # what hangs on the segment pulls the part before it down
            force = m[s + 1 :].sum() * np.array([0.0, -9.81, 0.0])
            assert np.allclose(loads.forces[s], force, rtol=2e-3, atol=2e-3)
        for s in range(1, len(rod.segments) - 1):
            # and turns it: moment of the weights behind about the point between the segments
            arm = x[s + 2 :] - x[s + 1]
            moment = np.cross(arm, m[s + 2 :, None] * [0.0, -9.81, 0.0]).sum(axis=0)
            half = np.cross(x[s + 1] - 0.5 * (x[s] + x[s + 1]), loads.forces[s])
            assert np.allclose(loads.moments[s], moment, rtol=2e-2, atol=0.02 * np.abs(half).max() + 1e-4)


def test_damping_is_that_of_a_dashpot():
    """One step of a segment under gravity: u (1 + w^2 h^2 + w^2 h tau) = g h^2."""
    h = 1 / 60
    for tau in (0.0, 0.01, 1.0):
        for solver in ("direct", "iterative"):
            material = sn.RodMaterial(radius=0.01, youngs_modulus=1e5, density=1000.0, damping=tau, solver=solver)
            scene = sn.Scene()
            rod = scene.add_rod([[0, 0, 0], [0, -0.1, 0]], material=material)
            rod.pin(0)
            rod.clamp(0)
            sim = sn.Simulation(scene, dt=h, substeps=1, iterations=3, precision="float64", threads=1)
            sim.step()
            rate = material.stiffness[1] / 0.1 / (0.5 * 1000.0 * material.area * 0.1)
            expected = 9.81 * h * h / (1.0 + rate * h * h + rate * h * tau)
            assert -sim.positions(rod)[1, 1] - 0.1 == pytest.approx(expected, rel=1e-10)


def test_energy_of_a_bent_ring():
    """A straight rod bent to a ring of radius R stores pi E I / R."""
    n = 200
    t = 2.0 * np.pi * np.arange(n) / n
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.RodMaterial(radius=0.01, youngs_modulus=1e7)
    scene.add_rod(0.5 * np.stack([np.cos(t), np.sin(t), 0 * t], axis=1), material=material, closed=True,
                  rest_curvature=(0, 0, 0))  # fmt: skip
    sim = sn.Simulation(scene, precision="float64")
    energy = sim.energy()
    assert energy.elastic == pytest.approx(np.pi * material.stiffness[2] / 0.5, rel=1e-3)
    assert energy.kinetic == 0.0


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_far_from_the_origin_is_as_near_it(precision):
    ways = []
    for at in (0.0, 4096.0):
        scene = sn.Scene(damping=1.0)
        t = np.linspace(0.0, 1.0, 41)[:, None]
        rod = scene.add_rod(t * [1.0, 0, 0] + [at, 0, -at], material=sn.RodMaterial.preset("rubber cord"))
        rod.pin([0, 40])
        sim = sn.Simulation(scene, precision=precision, substeps=5, threads=1)
        sim.step(60)
        ways.append(sim.state.x[sim.model.slots, :3].astype(float) + sim.state.origins[0] - [at, 0, -at])
    assert np.abs(ways[0]).max() > 0.01
    assert np.abs(ways[1] - ways[0]).max() < (1e-9 if precision == "float64" else 2e-5)


def test_goes_on_from_a_copy_and_from_a_checkpoint(tmp_path):
    pytest.importorskip("h5py")
    scene = sn.Scene()
    rod = scene.add_rod(np.linspace(0.0, 1.0, 11)[:, None] * [1, 0, 0], material=sn.RodMaterial(damping=0.01), name="r")
    ring = scene.add_rod([[0, 5, 0], [1, 5, 0], [1, 6, 0], [0, 6, 1]], closed=True)
    rod.pin(0)
    rod.clamp([0, 3])
    sim = sn.Simulation(scene, substeps=4)
    sim.step(3)
    sim.frames(rod)[3] = sim.frames(rod)[2]
    sim.save(tmp_path / "a.h5")
    kept = sim.state.copy()
    sim.step(3)
    after = sim.state.copy()
    sim.restore(kept)
    sim.step(3)
    assert sim.state == after
    again = sn.Simulation.load(tmp_path / "a.h5")
    again.step(3)
    assert again.state == after
    assert again.scene["r"].segments == rod.segments
    assert again.scene.handles[ring.name].segments == ring.segments
    assert len(again.frames("r")) == 10


def test_a_step_that_fails_leaves_frames_as_they_were():
    scene = sn.Scene()
    rod = scene.add_rod(LINE, material=sn.RodMaterial(youngs_modulus=1e7))
    rod.pin(0)
    sim = sn.Simulation(scene, substeps=5)
    sim.step(3)
    frames, spins = sim.frames(rod).copy(), sim.state.system_arrays["rods/spins"].copy()
    sim.velocities(rod)[3] = np.inf
    with pytest.raises(sn.DivergenceError, match="'rod'"):
        sim.step()
    assert np.array_equal(sim.frames(rod), frames)
    assert np.array_equal(sim.state.system_arrays["rods/spins"], spins)
    sim.velocities(rod)[3] = 0.0
    sim.step()
    assert np.isfinite(sim.frames(rod)).all()


def test_rests_on_a_plane():
    scene = sn.Scene(damping=1.0)
    scene.add_collider(sn.Plane())
    material = sn.RodMaterial(radius=0.01, youngs_modulus=1e7, density=1000.0)
    rod = scene.add_rod(np.linspace(0.0, 1.0, 21)[:, None] * [1, 0.3, 0] + [0, 0.1, 0], material=material)
    t = 2.0 * np.pi * np.arange(12) / 12
    ring = scene.add_rod(0.2 * np.stack([np.cos(t), 0 * t + 1.0, np.sin(t)], axis=1) + [0, 0, 2.0], material=material,
                         closed=True)  # fmt: skip
    sim = sn.Simulation(scene, substeps=10)
    sim.step(240)
    for handle in (rod, ring):
        assert np.allclose(sim.positions(handle)[:, 1], 0.01, atol=1e-3)


def test_the_segment_that_closes_a_ring_touches_too():
    scene = sn.Scene()
    t = 2.0 * np.pi * (np.arange(24) + 0.5) / 24
    ring = scene.add_rod(np.stack([np.sin(t), 0 * t, np.cos(t)], axis=1), closed=True)
    ring.pin(np.arange(24))
    middle = 0.5 * (ring.positions[-1] + ring.positions[0])
    ball = scene.add_particles(middle + np.array([0, 0.3, 0]), radius=0.1, mass=0.1)
    sim = sn.Simulation(scene, substeps=10)
    sim.step(30)
    assert sim.positions(ball)[0, 1] == pytest.approx(0.105, abs=0.01)


def test_the_segment_that_closes_a_ring_lies_on_solids_and_can_be_attached_to():
    t = 2.0 * np.pi * np.arange(8) / 8
    scene = sn.Scene()
    ring = scene.add_rod(0.5 * np.stack([np.cos(t), 0 * t + 0.9, np.sin(t)], axis=1), closed=True)
    middles = 0.5 * (ring.positions + np.roll(ring.positions, -1, axis=0))
    scene.add_collider(sn.Box((0.1, 0.4, 0.1)), position=middles[3] * (1, 0, 1) + (0, 0.2, 0))
    scene.add_rigid_body(sn.Box((0.1, 0.4, 0.1)), position=middles[7] * (1, 0, 1) + (0, 0.2, 0), kinematic=True)
    ball = scene.add_particles(middles[7:] - (0, 0.1, 0), mass=1e-4)
    scene.attach((ball, 0), ring)
    sim = sn.Simulation(scene, substeps=10)
    sim.step(30)
    x = sim.positions(ring)
    lies = 0.4 + sn.RodMaterial().radius
    assert np.allclose(0.5 * (x[[3, 7], 1] + x[[4, 0], 1]), lies, atol=1e-3)
    assert np.linalg.norm(sim.positions(ball)[0] - 0.5 * (x[7] + x[0])) == pytest.approx(0.1, rel=1e-3)


def test_a_thick_ring_does_not_touch_itself_where_it_closes():
    """Points nearer along it than half a loop are no contact, across the first point too."""
    scene = sn.Scene(gravity=(0, 0, 0))
    t = 2.0 * np.pi * np.arange(120) / 120
    material = sn.RodMaterial(radius=0.02, youngs_modulus=1e7)
    ring = scene.add_rod(0.3 * np.stack([np.cos(t), np.sin(t), 0 * t], axis=1), closed=True, material=material,
                         self_collision=True)  # fmt: skip
    sim = sn.Simulation(scene)
    sim.step(10)
    assert len(sim.contacts()) == 0
    assert np.abs(np.linalg.norm(sim.positions(ring), axis=1) - 0.3).max() < 1e-5


def test_a_weight_on_a_point_is_carried():
    """The end of a wire of grams carries a kilogram: extension m g L / (E A) at one iteration."""
    material = sn.RodMaterial.preset("steel wire")
    scene = sn.Scene(damping=5.0)
    masses = [0.0] * 20 + [1.0]
    wire = scene.add_rod(np.linspace(0.0, 0.5, 21)[:, None] * [0, -1, 0], material=material, point_masses=masses)
    wire.pin(0)
    wire.clamp(0)
    sim = sn.Simulation(scene, precision="float64", threads=1)
    sim.step(60)
    own = sim.model.masses
    assert own[-1] == pytest.approx(1.0 + 0.5 * 7850.0 * material.area * 0.025)
    carried = np.cumsum(own[::-1])[::-1][1:] * 9.81
    assert -sim.positions(wire)[-1, 1] - 0.5 == pytest.approx((carried * 0.025 / material.stiffness[1]).sum(), rel=1e-6)
    assert sim.rod_loads(wire).forces[0, 1] == pytest.approx(-carried[0], rel=1e-6)


@pytest.mark.parametrize("closed", [False, True])
@pytest.mark.parametrize("precision", ["float64", "float32"])
@pytest.mark.parametrize(
    ("substeps", "points", "density"), [(2, 61, 7850), (5, 121, 7850), (5, 61, 1100), (20, 121, 7850)]
)
def test_a_rod_far_from_its_rest_curvature_loses_energy_only(substeps, points, density, precision, closed):
    """A straight rod of steel that is to curl up, or a ring that is to have another curvature."""
    scene = sn.Scene(gravity=(0, 0, 0))
    t = np.linspace(0, 2 * np.pi, points, endpoint=not closed)
    line = np.stack([np.cos(t), np.sin(t), 0 * t], axis=1) / (2 * np.pi) if closed else np.outer(t / t[-1], (1, 0, 0))
    material = sn.RodMaterial(radius=0.005, density=density, youngs_modulus=2e11)
    scene.add_rod(line, material=material, closed=closed, rest_curvature=(8, 3, 5))
    sim = sn.Simulation(scene, substeps=substeps, precision=precision)
    energies = [sim.energy().total]
    for _ in range(60):
        sim.step()
        energies.append(sim.energy().total)
    assert max(energies) <= energies[0] * (1 + 1e-6)
    assert energies[-1] < 0.9 * energies[0]
