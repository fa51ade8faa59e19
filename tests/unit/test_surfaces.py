"""Triangles, edges and points against each other: distances, ways that cross, candidates, and what a run keeps."""

import json
import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_scenes import precisions

import shinari as sn
from shinari.compute import Field, Program, Record, function, kernel, real
from shinari.compute.kernels import STEADY
from shinari.geometry.proximity import PARALLEL, pair_distance, pair_weights
from shinari.maths.vec3 import sub
from shinari.systems.surface_contact.build import participants
from shinari.systems.surface_contact.crossing import impact
from shinari.systems.surface_contact.records import Candidates
from shinari.systems.surface_contact.system import SurfaceContacts
from shinari.verify.clearance import point_triangle_distances, segment_distances


class Fours(Record):
    """Rows of four points that move by w."""

    x = Field(real, (4, 3))
    w = Field(real, (4, 3))
    least = Field(real)
    found = Field(real)
    weights = Field(real, 4)


@function
def relative(rows, r):
    x = rows.x[r]
    return sub(x[1], x[0]), sub(x[2], x[0]), sub(x[3], x[0])


@kernel(fastmath=STEADY)
def find_distance(r, rows: Fours, edges: bool):
    a, b, c = relative(rows, r)
    rows.found[r], rows.weights[r] = pair_distance(edges, a, b, c), pair_weights(edges, a, b, c)


@kernel(fastmath=STEADY)
def find_time(r, rows: Fours, edges: bool):
    a, b, c = relative(rows, r)
    w = rows.w[r]
    rows.found[r] = impact(edges, a, b, c, w[0], w[1], w[2], w[3], rows.least[r])


def run(body, edges: bool, x: np.ndarray, **fields: np.ndarray) -> Any:
    rows: Any = Fours.zeros(len(x), x.dtype.type)
    for name, values in {"x": x, **fields}.items():
        rows.arrays[name][...] = values
    p = Program()
    p.launch(body, rows, edges, count=len(x))
    p.run()
    return rows


def distances(edges: bool, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rows = run(find_distance, edges, x)
    return rows.found, rows.weights


def impacts(edges: bool, x: np.ndarray, w: np.ndarray, least: np.ndarray) -> np.ndarray:
    return run(find_time, edges, x, w=w, least=least).found


def brute(edges: bool, x: np.ndarray) -> np.ndarray:
    """Distances of rows (K, 4, 3) with the formulas of the ledger, which share nothing with those of the solver."""
    x = x.astype(np.float64)
    return segment_distances(x[:, :2], x[:, 2:]) if edges else point_triangle_distances(x[:, 0], x[:, 1:])


def slender(edges: bool, x: np.ndarray) -> np.ndarray:
    """Whether the angle of two edges, or the least of a triangle, has a sine below 0.1, (K,)."""
    x = x.astype(np.float64)
    ways = [(x[:, 1] - x[:, 0], x[:, 3] - x[:, 2])]
    if not edges:
        ways = [(x[:, 1 + k] - x[:, 1 + (k + 1) % 3], x[:, 1 + (k + 2) % 3] - x[:, 1 + (k + 1) % 3]) for k in range(3)]
    sizes = [np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1) for a, b in ways]
    sines = [
        np.linalg.norm(np.cross(a, b), axis=1) / np.maximum(n, 1e-300) for (a, b), n in zip(ways, sizes, strict=True)
    ]
    return np.min(sines, axis=0) < 0.1


def degenerate(edges: bool) -> np.ndarray:
    """Rows (K, 4, 3) without length or area, parallel, touching, and points over corners, sides and faces."""
    rows = [
        [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 0, 0]],
        [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 2, 0]],
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]],
        [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 0]],
        [[0, 0, 0], [1, 0, 0], [3, 1, 0], [0.5, 1, 0]],
        [[0, 0, 0], [1, 0, 0], [0.5, 0, 0], [2, 0, 0]],
        [[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]],
        [[0, 0, 0], [1, 1, 1], [0, 1, 0.5], [1, 0, 0.5]],
        [[0, 0, 0], [1, 0, 0], [1, 1e-4, 0], [0, -1e-4, 0.3]],
        [[0.2, 0.2, 0], [0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[0.5, 0.5, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[-1, -1, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[2, 0.0, 1], [0, 0, 0], [1, 0, 0], [0, 1, 0]],
        [[0.5, 0.3, 1], [0, 0, 0], [1, 0, 0], [2, 0, 0]],
        [[0.5, 0.3, 1], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
    ]
    return np.array(rows, np.float64)


@precisions
@pytest.mark.parametrize("edges", [False, True], ids=["point and triangle", "edges"])
def test_nearest_points_are_those_of_brute_force(edges, precision):
    """Random rows of many shapes, slender ones too, and degenerate ones."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(20000, 4, 3))
    x[5000:10000] *= 10.0 ** rng.uniform(-2, 1, (5000, 1, 3))
    x[10000:12000, 3] = x[10000:12000, 2] + 1e-3 * rng.normal(size=(2000, 3))
    # edges nearly parallel
    x[12000:14000, 3] = x[12000:14000, 2] + (x[12000:14000, 1] - x[12000:14000, 0]) * rng.uniform(-2, 2, (2000, 1))
    x[12000:13000, 3] += 1e-4 * rng.normal(size=(1000, 3))
    x = np.concatenate([x, degenerate(edges)]).astype(precision)
    found, weights = distances(edges, x)
    size = np.abs(x).max(axis=(1, 2)).astype(np.float64)
    expected, w = brute(edges, x), weights.astype(np.float64)
    eps = np.finfo(precision).eps
    # angles below sqrt(PARALLEL) count as none; in a slender triangle weights lose half of their digits
    crude = max(float(np.sqrt(PARALLEL)), 4.0 * np.sqrt(eps)) if edges else 4.0 * np.sqrt(eps)
    tolerance = np.where(slender(edges, x), crude, 20.0 * eps) * size
    assert np.isfinite(found).all()
    assert (np.abs(found - expected) <= tolerance).all(), ((found - expected) / tolerance).max()
    # the first point is a mean by weights that sum to one, the second the same, negative
    first = w[:, :2] if edges else w[:, :1]
    second = w[:, 2:] if edges else w[:, 1:]
    bound = 1e-12 if precision == "float64" else 1e-5
    np.testing.assert_allclose(first.sum(axis=1), 1.0, atol=bound)
    np.testing.assert_allclose(second.sum(axis=1), -1.0, atol=bound)
    assert first.min() >= -bound
    assert second.max() <= bound
    reached = np.linalg.norm(np.einsum("rk,rkc->rc", w, x.astype(np.float64)), axis=1)
    assert (np.abs(reached - expected) <= tolerance).all()


def crossing_times(x: np.ndarray, w: np.ndarray) -> list[np.ndarray]:
    """Times in (0, 1) at which the four points of each row (K, 4, 3), moving by w, lie in one plane: cubic roots."""
    a, b = x[:, 1:] - x[:, :1], w[:, 1:] - w[:, :1]
    at = np.linspace(0.0, 1.0, 4)
    volumes = np.stack([np.linalg.det(a + t * b) for t in at], axis=1)
    cubics = volumes @ np.linalg.inv(np.vander(at)).T
    result = []
    for cubic in cubics:
        roots = np.roots(cubic)
        real = roots[np.abs(roots.imag) < 1e-9].real
        result.append(np.sort(real[(real > 0.0) & (real < 1.0)]))
    return result


@precisions
@pytest.mark.parametrize("edges", [False, True], ids=["point and triangle", "edges"])
def test_ways_that_cross_are_found_before_they_do(edges, precision):
    """20,000 fast pairs; those that meet, by the roots of the cubic, must be stopped before."""
    rng = np.random.default_rng(11)
    x = rng.uniform(-1, 1, (20000, 4, 3)).astype(precision)
    w = (rng.uniform(-2, 2, (20000, 4, 3)) * 10.0 ** rng.uniform(-1, 0.7, (20000, 1, 1))).astype(precision)
    x64, w64 = x.astype(np.float64), w.astype(np.float64)
    start = brute(edges, x)
    gap = 0.1
    least = np.minimum(0.2 * gap, 0.9 * start).astype(precision)
    found = impacts(edges, x, w, least)
    first = np.full(len(x), 1.0)
    for r, times in enumerate(crossing_times(x64, w64)):
        for time in times:
            if brute(edges, (x64[r] + time * w64[r])[None])[0] < 1e-7:
                first[r] = time
                break
    crosses = first < 1.0
    assert crosses.sum() > 500
    assert (found[crosses] < first[crosses]).all()
    # no way up to the time found, or to the end, comes nearer than the least distance, but for roundings
    for part in np.linspace(0.0, 1.0, 41):
        now = brute(edges, x64 + part * found[:, None, None].astype(np.float64) * w64)
        assert (now >= least - 100.0 * np.finfo(precision).eps).all()


@precisions
@pytest.mark.parametrize("edges", [False, True], ids=["point and triangle", "edges"])
def test_ways_that_stay_far_are_not_reported(edges, precision):
    """Sampled ways that never come nearer than a good deal more than the least distance."""
    rng = np.random.default_rng(12)
    x = rng.uniform(-1, 1, (10000, 4, 3)).astype(precision)
    w = (rng.uniform(-1, 1, (10000, 4, 3)) * 10.0 ** rng.uniform(-2, 0.5, (10000, 1, 1))).astype(precision)
    least = np.full(len(x), 0.02, precision)
    found = impacts(edges, x, w, least)
    ways = np.stack([brute(edges, x.astype(np.float64) + t * w.astype(np.float64)) for t in np.linspace(0, 1, 101)])
    # it stops at a tenth of the way from the least distance to that at the start
    near = np.maximum(0.02 + 0.1 * (ways[0] - 0.02), 0.02)
    far = (ways > near).all(axis=0)
    assert far.sum() > 2000
    speed = np.linalg.norm(w, axis=2).sum(axis=1)
    clear = far & (ways.min(axis=0) > near + 0.01 * speed)
    assert clear.sum() > 1000
    assert (found[clear] == 1.0).all()


def candidates_of(scene: sn.Scene, precision: str = "float64"):
    """Simulation, participants and the contacts of a scene."""
    sim = sn.Simulation(scene, precision=precision, threads=1)
    who = participants(scene, sim.model)
    assert who is not None
    return sim, who, sim._bound.get(SurfaceContacts)


def found_between(surfaces: SurfaceContacts, begin: np.ndarray, ends: np.ndarray, stray: float) -> Candidates:
    """Candidates of particles that go from one place to another and may stray by so much, (N, 3)."""
    paths, look, table = surfaces._paths, surfaces._detection.detection, surfaces.rows
    surfaces.begin(0.0, np.zeros(0))
    paths.place[...], paths.goal[...], paths.velocity[...] = begin, ends, 0.0
    look.stray[0] = stray
    p = Program()
    surfaces._finder.record_find(p, look, surfaces._detection.members)
    p.run()
    count = int(table.table.found[0])
    arrays = {name: array[:count].copy() for name, array in table.candidates.arrays.items()}
    return Candidates(table.candidates.precision, **arrays)


@precisions
@pytest.mark.filterwarnings("ignore::shinari.errors.ContactWarning")
def test_candidates_are_all_pairs_that_can_come_within_the_gap(precision):
    """Against all pairs of two crumpled sheets, a rope and loose particles, each particle going anywhere in its box."""
    rng = np.random.default_rng(4)
    scene = sn.Scene()
    material = sn.ClothMaterial(thickness=0.01)
    for k in range(2):
        vertices, faces = sn.grid(shape=(8, 7), size=(0.4, 0.35))
        vertices = vertices + 0.004 * rng.normal(size=vertices.shape) + [0.01 * k, 0.04 * k, 0.0]
        mode = "triangles" if k == 0 else False
        scene.add_cloth((vertices, faces), material=material, self_collision=mode)
    points = np.linspace((-0.2, 0.02, -0.1), (0.2, 0.05, 0.1), 15)
    scene.add_rope(points, material=sn.RopeMaterial(radius=0.005))
    scene.add_particles(rng.uniform(-0.2, 0.2, (20, 3)) * [1, 0.3, 1], radius=0.02)
    sim, who, surfaces = candidates_of(scene, precision)
    begin = (sim.state.x[:, :3] + sim.state.origins[sim.model.origin_index]).astype(precision)
    ends = (begin + 0.01 * rng.normal(size=begin.shape)).astype(precision)
    found = found_between(surfaces, begin, ends, 0.001)
    rows = {(bool(e), *row) for e, row in zip(found.edges.tolist(), found.points.tolist(), strict=True)}
    assert len(rows) == len(found)

    def owned(i):
        return int(sim.model.owners[i])

    x64, e64 = begin.astype(np.float64), ends.astype(np.float64)
    missed = checked = 0
    samples = np.linspace(0.0, 1.0, 5)
    points_of = [(p,) for p in [*who.points.tolist(), *who.beads[:, 0].tolist()]]
    triangles = [tuple(t) for t in who.triangles.tolist()]
    lines = [tuple(t) for t in who.edges.tolist()]
    beads, segments = [tuple(t) for t in who.beads.tolist()], [tuple(t) for t in who.segments.tolist()]
    pairs = [(False, a, b) for a in points_of for b in triangles]
    pairs += [(True, a, b) for a, b in combinations(lines, 2)]
    pairs += [(True, a, b) for a in beads for b in segments]
    table = np.array([(*a, *b) for _, a, b in pairs])
    kind = np.array([e for e, _, _ in pairs])
    near = np.zeros(len(pairs), bool)
    gaps = sim.model.radii[table[:, 0]] + sim.model.radii[table[:, 2]]
    for t in samples:
        x = (1 - t) * x64 + t * e64
        for edges in (False, True):
            own = np.flatnonzero(kind == edges)
            near[own] |= brute(edges, x[table[own]]) < gaps[own]
    names = {(owned(a[0]), owned(b[0])) for _, a, b in pairs}
    assert len(names) > 8
    for k in np.flatnonzero(near):
        edges, a, b = pairs[k]
        if set(a) & set(b):
            continue
        first, second = owned(a[0]), owned(b[0])
        if first == second and who.alone[first]:
            continue
        checked += 1
        same = {(edges, *a, *b), (edges, *b, *a)} | {(edges, *a[::s], *b[::t]) for s in (1, -1) for t in (1, -1)}
        same |= {(edges, *b[::s], *a[::t]) for s in (1, -1) for t in (1, -1)} if edges else set()
        missed += not (same & rows)
    assert checked > 100
    assert missed == 0
    # nothing that shares a particle, is alone or passes for one of its own is there
    for edges, *row in rows:
        a, b = (row[:2], row[2:]) if edges else (row[:1], row[1:])
        assert not set(a) & set(b)
        assert owned(a[0]) != owned(b[0]) or not who.alone[owned(a[0])]


def crumpled() -> sn.Scene:
    """A sheet that is let fall on edge, a rope that lands on it and a few loose particles."""
    scene = sn.Scene()
    vertices, faces = sn.grid(shape=(24, 22), size=(0.46, 0.42), diagonal="alternating")
    vertices[:, 1] += 0.02 * np.sin(14.0 * vertices[:, 0])
    material = sn.ClothMaterial(thickness=0.004, friction=0.3, restitution=0.2)
    half = np.sqrt(0.5)
    turn = (half, 0.0, 0.0, half)
    scene.add_cloth(
        (vertices, faces), material=material, self_collision="triangles", position=(0, 0.26, 0), rotation=turn
    )
    points = np.linspace((-0.1, 0.55, 0.02), (0.1, 0.56, -0.02), 30)
    scene.add_rope(points, material=sn.RopeMaterial(radius=0.004), self_collision=True)
    scene.add_particles(np.linspace((-0.05, 0.6, 0), (0.05, 0.6, 0.05), 3), radius=0.01, mass=0.01)
    scene.add_collider(sn.Plane())
    return scene


SCRIPT = """
import hashlib, json, sys
sys.path.insert(0, sys.argv[1])
import shinari as sn
from test_surfaces import crumpled
results = []
for precision in json.loads(sys.argv[2]):
    for threads in (1, 2):
        sim = sn.Simulation(crumpled(), substeps=8, threads=threads, precision=precision)
        assert sim.threads == threads
        touched = 0
        for _ in range(40):
            sim.step()
            touched = max(touched, len(sim.contacts()))
        assert touched > 300, touched
        digest = hashlib.sha256(sim.contacts().forces.tobytes())
        for name, values in sorted(sim.state.arrays().items()):
            digest.update(name.encode() + values.tobytes())
        results.append(digest.hexdigest())
print(json.dumps(results))
"""


def hashes(precisions: list[str], cache: Path | None = None) -> list[str]:
    """Hashes of runs in these precisions, each with one thread and with two, in a process of its own."""
    source = str(Path(sn.__file__).parents[1])
    environment = {**os.environ, "NUMBA_NUM_THREADS": "2", "PYTHONPATH": source}
    environment |= {} if cache is None else {"NUMBA_CACHE_DIR": str(cache)}
    words = [sys.executable, "-c", SCRIPT, str(Path(__file__).parent), json.dumps(precisions)]
    done = subprocess.run(words, capture_output=True, text=True, env=environment, timeout=900)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.strip().splitlines()[-1])


@pytest.mark.ordinary_kernels
def test_bits_depend_neither_on_threads_nor_on_the_cache(tmp_path):
    """Single precision, in which what is compiled can round differently from what is cached, compiles all anew."""
    cold, warm = hashes(["float32"], tmp_path), hashes(["float32"], tmp_path)
    assert cold[0] == cold[1]
    assert cold == warm


def test_bits_in_double_precision_do_not_depend_on_threads():
    one, two = hashes(["float64"])
    assert one == two


@precisions
def test_a_checkpoint_among_contacts_resumes_bit_by_bit(tmp_path, precision):
    pytest.importorskip("h5py")
    one = sn.Simulation(crumpled(), substeps=8, threads=1, precision=precision)
    one.step(25)
    assert len(one.contacts()) > 100
    one.save(tmp_path / "half.h5")
    one.step(10)
    two = sn.Simulation.load(tmp_path / "half.h5")
    two.step(10)
    assert one.state == two.state
    np.testing.assert_array_equal(one.contacts().forces, two.contacts().forces)


def element_pairs(offset: float) -> tuple[sn.Scene, list]:
    """A sheet that falls on a pinned one, both moved along X by `offset`."""
    scene = sn.Scene()
    material = sn.ClothMaterial(thickness=0.004, friction=0.4)
    vertices, faces = sn.grid(shape=(9, 9), size=(0.2, 0.2))
    below = scene.add_cloth((vertices, faces), material=material, position=(offset, 0, 0))
    below.pin(np.arange(81))
    above = scene.add_cloth((vertices, faces), material=material, position=(offset + 0.013, 0.02, 0.007))
    return scene, [below, above]


@precisions
def test_far_from_the_origin_sheets_meet_as_near_it(precision):
    """A kilometre away, each object with an origin of its own."""
    results = []
    for offset in (0.0, 1000.0):
        scene, (_, above) = element_pairs(offset)
        sim = sn.Simulation(scene, precision=precision, threads=1, substeps=10)
        sim.step(30)
        results.append((sim.state.x.copy(), sim.forces(above), sim))
    (near, near_force, _), (far, far_force, sim) = results
    if precision == "float32":
        assert np.abs(sim.state.origins[:, 0]).max() > 900
    # positions as they were given differ by a rounding of a kilometre in float64
    tolerance = 1e-5 if precision == "float32" else 1e-8
    x = far[:, :3] + sim.state.origins[sim.model.origin_index] - [1000.0, 0, 0]
    np.testing.assert_allclose(x, near[:, :3] + results[0][2].state.origins[sim.model.origin_index], atol=tolerance)
    np.testing.assert_allclose(far_force, near_force, rtol=0.02, atol=0.02 * np.abs(near_force).max())


@precisions
def test_things_in_groups_of_different_origins_meet(precision):
    """The second sheet was built 300 m away, so that it has another origin, and is put above the first."""
    scene = sn.Scene(gravity=(0, 0, 0))
    material = sn.ClothMaterial(thickness=0.004)
    mesh = sn.grid(shape=(9, 9), size=(0.2, 0.2))
    below = scene.add_cloth(sn.grid(shape=(13, 13), size=(0.3, 0.3)), material=material, position=(300.0, 0, 0))
    below.pin(np.arange(169))
    above = scene.add_cloth(mesh, material=material, position=(0.0, 0.05, 0))
    sim = sn.Simulation(scene, precision=precision, threads=1)
    sim.positions(above)[:] = mesh[0] + [300.013, 0.02, 0.007]
    sim.velocities(above)[:] = [0, -1.0, 0]
    origins = sim.state.origins[sim.model.origin_index[sim.model.slots[[below.particles.start, above.particles.start]]]]
    sim.step(4)
    assert np.abs(np.diff(origins[:, 0])).max() > 100 or precision == "float64"
    y = sim.positions(above)[:, 1]
    assert y.min() > 0.95 * 0.004
    assert y.max() < 0.02


@pytest.mark.parametrize("way", ["ignored", "thin", "meets"])
def test_what_is_told_to_pass_passes(way):
    scene = sn.Scene()
    mesh = sn.grid(shape=(7, 7), size=(0.2, 0.2))
    thickness = 0.0 if way == "thin" else 0.004
    below = scene.add_cloth(mesh, material=sn.ClothMaterial(thickness=thickness))
    below.pin(np.arange(49))
    above = scene.add_cloth(mesh, material=sn.ClothMaterial(thickness=0.004), position=(0.003, 0.02, 0.004))
    if way == "ignored":
        scene.ignore_contact(below, above)
    sim = sn.Simulation(scene, threads=1)
    sim.step(15)
    y = sim.positions(above)[:, 1]
    if way == "meets":
        assert y.min() > 0.0035
        assert len(sim.contacts()) > 0
    else:
        np.testing.assert_allclose(y, 0.02 - 0.5 * 9.81 * 0.25**2, atol=0.003)
        assert len(sim.contacts()) == 0


@pytest.mark.parametrize("mode", [False, "triangles"])
def test_a_sheet_collides_with_itself_only_when_asked(mode):
    """The free half of a sheet is folded over and falls on the pinned one."""
    scene = sn.Scene()
    vertices, faces = sn.grid(shape=(21, 6), size=(0.4, 0.1))
    right = vertices[:, 0] > 0.0
    radius = 0.02
    arc = np.clip(vertices[right, 0], 0.0, np.pi * radius)
    rest = vertices[right, 0] - arc
    angle = arc / radius
    vertices[right, 0], vertices[right, 1] = radius * np.sin(angle) - rest, radius * (1.0 - np.cos(angle))
    sheet = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(thickness=0.004), self_collision=mode)
    sheet.pin(np.flatnonzero(~right))
    sim = sn.Simulation(scene, threads=1)
    sim.step(30)
    y = sim.positions(sheet)[:, 1]
    if mode:
        assert y[vertices[:, 0] < 0.0].min() >= -1e-6
        assert len(sim.contacts()) > 0
    else:
        assert y.min() < -0.05
        assert len(sim.contacts()) == 0


@pytest.mark.parametrize("x", [0.05, 0.5, 1.0])
def test_a_long_segment_and_a_large_triangle_are_met_far_from_their_ends(x):
    """What can meet is told from the boxes of edges and triangles, not from where their particles are."""
    scene = sn.Scene()
    rope = scene.add_rope([[-1.1, 0.0, 0.0], [1.1, 0.0, 0.0]], material=sn.RopeMaterial(radius=0.02, density=1.0))
    corners = np.array([[-2.0, -1.0, -2.0], [2.0, -1.0, -2.0], [2.0, -1.0, 2.0], [-2.0, -1.0, 2.0]])
    sheet = scene.add_cloth((corners, [[0, 2, 1], [0, 3, 2]]), material=sn.ClothMaterial(thickness=0.02))
    rope.pin([0, 1])
    sheet.pin(range(4))
    balls = scene.add_particles([[x, 0.2, 0.0], [x, -0.8, 0.7]], mass=0.1, radius=0.05)
    simulation = sn.Simulation(scene)
    lowest = np.full(2, np.inf)
    for _ in range(40):
        simulation.step()
        lowest = np.minimum(lowest, simulation.positions(balls)[:, 1])
    assert lowest[0] > 0.95 * 0.07, "the ball goes through the segment"
    assert lowest[1] > -1.0 + 0.95 * 0.06, "the ball goes through the triangle"
