"""What overlaps or intersects at the start is reported, against brute force and closed forms; what does not is not."""

import re
import warnings
from collections.abc import Callable

import numpy as np
import pytest
import trimesh
from small_scenes import precisions

import shinari as sn
from shinari.errors import ContactWarning
from shinari.geometry.topology import edges
from shinari.systems.surface_contact import start_overlaps as start

OVERLAP = re.compile(r"'(\w+)' and '(\w+)' overlap at the start, by ([\d.e+-]+) m at particle (\d+) of '(\w+)'; "
                     r"they are pushed apart at depenetration_speed")  # fmt: skip
PIERCED = re.compile(
    r"(\d+) edges pierce (\d+) triangles, one at particle (\d+) of '(\w+)'; (they are|it is) pulled apart"
)


def messages(scene: sn.Scene, **settings: object) -> list[str]:
    """The warnings that building a scene gives."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sn.Simulation(scene, threads=1, **settings)  # type: ignore[arg-type]
    assert all(warning.category is ContactWarning for warning in caught)
    return [str(warning.message) for warning in caught]


def turned(points: np.ndarray, seed: int) -> np.ndarray:
    """Points after a random rotation."""
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return points @ turn.T


def sheet(scene: sn.Scene, name: str, mesh: tuple, thickness: float = 0.01, mode: str | bool = False) -> object:
    return scene.add_cloth(mesh, material=sn.ClothMaterial(thickness=thickness), self_collision=mode, name=name)


def rumpled(seed: int, count: int = 9, height: float = 0.15) -> tuple[np.ndarray, np.ndarray]:
    """A sheet of a square metre whose vertices are moved at random."""
    vertices, faces = sn.grid(shape=(count, count))
    return vertices + np.random.default_rng(seed).uniform(-1, 1, vertices.shape) * [0.02, height, 0.02], faces


def segment_distances(p: np.ndarray, q: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distances of segments p q and a b, (K,): the least over the inner point and the four ends."""
    d, e, r = q - p, b - a, p - a
    dd, ee, de = (d * d).sum(1), (e * e).sum(1), (d * e).sum(1)
    dr, er = (d * r).sum(1), (e * r).sum(1)
    best = np.full(len(p), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        s, t = (de * er - ee * dr) / (dd * ee - de**2), (dd * er - de * dr) / (dd * ee - de**2)
        trials = [(s, t)] + [(x, np.clip((er + x * de) / ee, 0, 1)) for x in (0.0 * dd, 0.0 * dd + 1)]
        trials += [(np.clip((x * de - dr) / dd, 0, 1), x) for x in (0.0 * dd, 0.0 * dd + 1)]
    for s, t in trials:
        good = (s >= 0) & (s <= 1) & (t >= 0) & (t <= 1)
        apart = np.linalg.norm(r + np.where(good, s, 0)[:, None] * d - np.where(good, t, 0)[:, None] * e, axis=1)
        best = np.where(good, np.minimum(best, apart), best)
    return best


def closest(first: tuple, second: tuple) -> float:
    """Distance of two meshes that do not intersect."""
    found = []
    for (x, faces), (y, _) in ((first, second), (second, first)):
        k, f = (index.ravel() for index in np.meshgrid(np.arange(len(y)), np.arange(len(faces))))
        near = trimesh.triangles.closest_point(x[faces[f]], y[k])
        found.append(np.linalg.norm(near - y[k], axis=1).min())
    one, two = edges(first[1]), edges(second[1])
    k, m = (index.ravel() for index in np.meshgrid(np.arange(len(one)), np.arange(len(two))))
    ends = first[0][one[k]], second[0][two[m]]
    found.append(segment_distances(ends[0][:, 0], ends[0][:, 1], ends[1][:, 0], ends[1][:, 1]).min())
    return min(found)


def piercing(first: tuple, second: tuple) -> tuple[int, int]:
    """How many edges of the one mesh pierce how many triangles of the other, those that share a vertex left out."""
    (x, faces), (y, others) = first, second
    lines = edges(faces)
    k, f = (index.ravel() for index in np.meshgrid(np.arange(len(lines)), np.arange(len(others))))
    if x is y:
        apart = (lines[k][:, :, None] != others[f][:, None, :]).all(axis=(1, 2))
        k, f = k[apart], f[apart]
    p, q = x[lines[k, 0]], x[lines[k, 1]]
    a, b, c = (y[others[f, n]] for n in range(3))
    # p + t (q - p) = a + u (b - a) + v (c - a)
    matrix = np.stack([p - q, b - a, c - a], axis=2)
    regular = np.abs(np.linalg.det(matrix)) > 0.0
    t, u, v = np.linalg.solve(matrix[regular], (p - a)[regular][:, :, None])[:, :, 0].T
    hit = (t > 0) & (t < 1) & (u >= 0) & (v >= 0) & (u + v <= 1)
    return len(np.unique(k[regular][hit])), len(np.unique(f[regular][hit]))


@precisions
@pytest.mark.parametrize(("half", "other", "apart"), [(0.005, 0.005, 0.004), (0.02, 0.005, 0.02), (0.001, 0.001, 1e-4)])
@pytest.mark.parametrize("at", [(0.0, 0.0, 0.0), (1000.0, -500.0, 2000.0)])
def test_sheets_closer_than_their_half_thicknesses(
    precision: str, half: float, other: float, apart: float, at: tuple
) -> None:
    scene = sn.Scene()
    mesh = rumpled(1, height=0.0)
    sheet(scene, "low", (mesh[0] + at, mesh[1]), 2 * half)
    # a bump: the deepest place is known
    lifted = mesh[0] + at + [0.013, half + other + 1e-3, -0.017]
    lifted[40, 1] = at[1] + apart
    sheet(scene, "high", (lifted, mesh[1]), 2 * other)
    (text,) = messages(scene, precision=precision)
    found = OVERLAP.match(text)
    assert found, text
    assert found.group(1, 2) == ("low", "high")
    assert float(found[3]) == pytest.approx(half + other - apart, rel=6e-3)  # three digits are printed


def test_the_particle_is_the_one_at_the_worst_place() -> None:
    scene = sn.Scene()
    scene.add_rope(np.linspace([5, 0, 0], [6, 0, 0], 30))
    points = np.random.default_rng(0).uniform([-0.4, 0.006, -0.4], [0.4, 1.0, 0.4], (200, 3))
    points[137, 1] = 0.004
    scene.add_particles(points, radius=0.005, name="dust")
    sheet(scene, "floor", sn.grid(shape=(5, 5)))
    (text,) = messages(scene)
    assert text == (
        "'dust' and 'floor' overlap at the start, by 0.006 m at particle 137 of 'dust'; they are pushed apart at "
        "depenetration_speed"
    )


@pytest.mark.parametrize("down", [True, False])
def test_either_end_of_a_rope_may_touch_a_sheet(down: bool) -> None:
    scene = sn.Scene()
    points = np.linspace([0.03, 1, 0.02], [0.03, 0.004, 0.02], 10)
    scene.add_rope(points if down else points[::-1], name="rope", material=sn.RopeMaterial(radius=0.005))
    sheet(scene, "floor", sn.grid(shape=(5, 5)))
    (text,) = messages(scene)
    assert f"by 0.006 m at particle {9 if down else 0} of 'rope'" in text


@pytest.mark.parametrize("seed", range(8))
def test_depth_of_rumpled_sheets_is_that_of_brute_force(seed: int) -> None:
    first = rumpled(seed, height=0.03)
    second = rumpled(seed + 100, height=0.03)
    gap = 0.02
    # brought to half the gap: the depth is the other half
    second[0][:, 1] += 0.3
    for _ in range(60):
        second[0][:, 1] -= 0.9 * max(closest(first, second) - 0.5 * gap, 0.0)
    for seed_of_turn in (None, seed):
        scene = sn.Scene()
        for name, (vertices, faces) in (("first", first), ("second", second)):
            sheet(scene, name, (vertices if seed_of_turn is None else turned(vertices, seed_of_turn), faces), gap)
        (text,) = messages(scene)
        found = OVERLAP.match(text)
        assert found, text
        assert float(found[3]) == pytest.approx(gap - closest(first, second), rel=6e-3)


@precisions
@pytest.mark.parametrize("seed", range(6))
def test_piercing_edges_are_counted_as_by_brute_force(seed: int, precision: str) -> None:
    first = rumpled(seed)
    second = rumpled(seed + 100)
    second = np.add(turned(second[0], seed), [0.01, 0.02, 0.03]), second[1]
    forth, back = piercing(first, second), piercing(second, first)
    assert min(forth + back) > 0
    scene = sn.Scene()
    sheet(scene, "first", first, 1e-3)
    sheet(scene, "second", second, 1e-3)
    (text,) = messages(scene, precision=precision)
    found = PIERCED.search(text)
    assert found, text
    assert text.startswith("'first' and 'second' intersect at the start: ")
    assert (int(found[1]), int(found[2])) == (forth[0] + back[0], forth[1] + back[1])
    assert found[4] == "first"


@pytest.mark.parametrize("seed", range(6))
def test_a_sheet_that_intersects_itself(seed: int) -> None:
    vertices, faces = rumpled(seed, height=0.02)
    # rolled up with a radius that shrinks, and back through itself
    angle = 7.0 * (vertices[:, 0] + 0.5)
    radius = 0.2 * np.cos(0.35 * angle)
    rolled = np.stack([radius * np.cos(angle), radius * np.sin(angle) + vertices[:, 1], vertices[:, 2]], axis=1)
    pierced = piercing((rolled, faces), (rolled, faces))
    scene = sn.Scene()
    sheet(scene, "flag", (rolled, faces), 1e-4, "triangles")
    texts = messages(scene)
    assert bool(texts) == (pierced[0] > 0)
    for text in texts:
        found = PIERCED.search(text)
        assert found, text
        assert text.startswith("'flag' intersects itself at the start: ")
        assert (int(found[1]), int(found[2])) == pierced
    for mode in (False, "particles"):
        scene = sn.Scene()
        sheet(scene, "flag", (rolled, faces), 1e-4, mode)
        assert messages(scene) == []
    if seed == 0:
        assert pierced[0] > 0


def test_layers_without_distance_are_entangled() -> None:
    scene = sn.Scene()
    sheet(scene, "low", sn.grid(shape=(5, 5)))
    sheet(scene, "high", sn.grid(shape=(5, 5)))
    (text,) = messages(scene)
    assert text.startswith("'low' and 'high' intersect at the start: there is no distance at particle ")
    assert text.endswith("they stay entangled there")
    # a strip that lies on itself
    vertices, faces = sn.grid(shape=(11, 2))
    vertices[6:11, 0] = vertices[4::-1, 0]
    vertices[17:22, 0] = vertices[15:10:-1, 0]
    scene = sn.Scene()
    with pytest.warns(sn.SeamWarning):
        sheet(scene, "strip", (vertices, faces), mode="triangles")
    (text,) = messages(scene)
    assert text.startswith("'strip' intersects itself at the start: ")


def ropes(apart: float) -> Callable[[sn.Scene], object]:
    def add(scene: sn.Scene) -> None:
        scene.add_rope(np.linspace([-1, 0, 0], [1, 0, 0], 8), name="one", material=sn.RopeMaterial(radius=0.02))
        scene.add_rope(
            np.linspace([0.1, apart, -1], [0.1, apart, 1], 8), name="two", material=sn.RopeMaterial(radius=0.03)
        )

    return add


def rope_and_dust(apart: float) -> Callable[[sn.Scene], object]:
    def add(scene: sn.Scene) -> None:
        scene.add_rope(np.linspace([-1, 0, 0], [1, 0, 0], 8), name="one", material=sn.RopeMaterial(radius=0.02))
        scene.add_particles([[0.03, 5, 0], [0.05, apart, 0]], radius=[1, 0.03], name="two")

    return add


def rope_and_sheet(apart: float) -> Callable[[sn.Scene], object]:
    def add(scene: sn.Scene) -> None:
        scene.add_rope(np.linspace([-1, apart, 0], [1, apart, 0], 8), name="one", material=sn.RopeMaterial(radius=0.03))
        sheet(scene, "two", sn.grid(shape=(7, 7)), 0.04)

    return add


@pytest.mark.parametrize("add", [ropes, rope_and_dust, rope_and_sheet])
@pytest.mark.parametrize("apart", [0.03, 0.0499, 0.05, 0.06])
def test_ropes_and_loose_particles(add: Callable, apart: float) -> None:
    scene = sn.Scene()
    add(apart)(scene)
    found = [OVERLAP.match(text) for text in messages(scene)]
    assert len(found) == (apart < 0.05)
    for match in found:
        assert match
        assert match.group(1, 2) == ("one", "two")
        assert float(match[3]) == pytest.approx(0.05 - apart, rel=6e-3)


@pytest.mark.parametrize("seed", range(5))
def test_what_does_not_overlap_is_not_reported(seed: int) -> None:
    """A flat sheet at any angle that collides with itself, and one that lies on it at just the distance it keeps."""
    vertices, faces = sn.grid(shape=(20, 20))
    scene = sn.Scene()
    sheet(scene, "low", (turned(vertices, seed), faces), mode="triangles")
    sheet(scene, "high", (turned(np.add(vertices, [0.01, 0.01, 0.02]), seed), faces), mode="triangles")
    assert messages(scene) == []


def test_joints_do_not_count_but_the_rest_of_the_thing_does() -> None:
    def build(end: float) -> sn.Scene:
        scene = sn.Scene()
        flag = sheet(scene, "flag", sn.grid(shape=(9, 9)))
        points = np.array([[0, 0, 0], [0, 0.2, 0], [0.3, 0.2, 0], [0.3, end, 0]])
        rope = scene.add_rope(points, name="rope")
        scene.attach((rope, 0), (flag, 40))  # type: ignore[arg-type]
        return scene

    assert messages(build(0.1)) == []
    (text,) = messages(build(0.004))
    found = OVERLAP.match(text)
    assert found, text
    assert float(found[3]) == pytest.approx(0.006, rel=6e-3)
    assert found.group(4, 5) != ("0", "rope")


def overlapping(**options: object) -> sn.Scene:
    scene = sn.Scene()
    sheet(scene, "low", sn.grid(shape=(5, 5)))
    high = scene.add_cloth(sn.grid(shape=(5, 5)), position=(0.01, 0.004, 0.02), name="high",
                           material=sn.ClothMaterial(**{"thickness": 0.01, **options}))  # type: ignore[arg-type] # fmt: skip
    assert high.name == "high"
    return scene


def test_things_that_cannot_push_each_other_are_not_compared() -> None:
    assert len(messages(overlapping())) == 1
    ignoring = overlapping()
    ignoring.ignore_contact("low", "high")
    assert messages(ignoring) == []
    fixed = overlapping()
    fixed.pin(range(50))
    assert messages(fixed) == []
    assert messages(overlapping(thickness=0.0)) == []


def test_there_is_one_warning_for_each_two_things() -> None:
    scene = overlapping()
    sheet(scene, "third", (sn.grid(shape=(5, 5))[0] + [0.03, 0.008, 0.01], sn.grid(shape=(5, 5))[1]))
    sheet(scene, "far", (sn.grid(shape=(5, 5))[0] + [0.03, 1.0, 0.01], sn.grid(shape=(5, 5))[1]))
    texts = messages(scene)
    assert [text.split(" overlap")[0] for text in texts] == [
        "'low' and 'high'",
        "'low' and 'third'",
        "'high' and 'third'",
    ]


def test_the_warning_points_at_the_line_of_the_user() -> None:
    with pytest.warns(ContactWarning) as caught:
        sn.Simulation(overlapping(), threads=1)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ContactWarning):
            sn.Simulation(overlapping(), threads=1)


def test_nothing_is_searched_where_boxes_do_not_meet(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr(start, "Tree", refuse)
    monkeypatch.setattr(start, "_compare", refuse)
    scene = sn.Scene()
    for k in range(4):
        vertices, faces = sn.grid(shape=(5, 5))
        sheet(scene, f"sheet{k}", (np.add(vertices, [0, 0.02 * k, 0]), faces))
    assert messages(scene) == []


def test_short_strands_are_compared_without_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hair has many thousand pairs of strands whose boxes touch: a tree for each took minutes. Both find the same."""
    rng = np.random.default_rng(3)
    scene = sn.Scene()
    for k in range(30):
        points = rng.uniform(-0.05, 0.05, 3) + np.linspace(0.0, 0.3, 12)[:, None] * turned(np.eye(3)[:1], k)
        scene.add_rope(points, material=sn.RopeMaterial(radius=0.002), name=f"strand{k}")
    monkeypatch.setattr(start, "FEW", 0)
    found = messages(scene)
    assert found
    monkeypatch.undo()

    def refuse(*_: object) -> None:
        raise AssertionError("a tree")

    monkeypatch.setattr(start, "Tree", refuse)
    assert messages(scene) == found
