"""Ray casts in simulations: what moves, what is passed, what is refused."""

import numpy as np
import pytest

import shinari as sn

DOWN = (0.0, -1.0, 0.0)


def playground(**settings) -> tuple[sn.Simulation, dict]:
    """A floor, a cloth over it, a soft block, two bodies that move, one of them of two shapes, and a swinging wall."""
    scene = sn.Scene(gravity=(0, 0, 0))
    floor = scene.add_collider(sn.Plane(), name="floor")
    wall = scene.add_collider(sn.Box((1, 1, 0.2)), motion=sn.Oscillation((9, 0, 0), (1, 0, 0), 0.5), name="wall")
    cloth = scene.add_cloth(sn.grid(shape=(5, 5)), position=(-3, 1, 0), name="cloth")
    block = scene.add_soft_body(sn.lattice([2, 2, 2], 0.5), position=(-6, 1, 0), name="block")
    ball = scene.add_rigid_body(sn.Sphere(0.5), position=(0, 2, 0), velocity=(0, 1, 0), name="ball")
    hammer = sn.Compound(
        [sn.Box((0.2, 2, 0.2)), (sn.Cylinder(0.3, 1.0), (0, 1, 0), sn.rotation(axis=(0, 0, 1), angle=np.pi / 2))]
    )
    tool = scene.add_rigid_body(hammer, position=(4, 3, 0), angular_velocity=(0, 0, 2), name="hammer")
    handles = {"floor": floor, "wall": wall, "cloth": cloth, "block": block, "ball": ball, "hammer": tool}
    return sn.Simulation(scene, sleep=False, **settings), handles


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_rays_meet_what_moves_where_it_is_now(precision: str) -> None:
    sim, _ = playground(precision=precision)
    for count in (0, 30):
        sim.step(count)
        turn = 2.0 * sim.time
        up = np.array([-np.sin(turn), np.cos(turn), 0.0])
        centre = sim.scene.bodies[1].centre
        axes = sim.pose("hammer")
        head = axes.position + axes.matrix @ (0, 1, 0)
        assert axes.matrix @ (0, 1, 0) == pytest.approx(up, abs=2e-3), centre
        hits = sim.cast_rays(
            [
                (0, 9, 0),
                (-3.01, 9, 0.02),
                (-5.8, 9, 0.1),
                (-9, 9, 0),
                head + 3 * up,
                sim.collider_poses()[0][1] + (0, 0, 4),
            ],
            [DOWN, DOWN, DOWN, DOWN, -up, (0, 0, -2)],
        )
        assert hits.names.tolist() == ["ball", "cloth", "block", "floor", "hammer", "wall"]
        top = sim.pose("ball").position[1] + 0.5
        skin = sim.positions("block")[:, 1].max()
        assert hits.distances == pytest.approx([9 - top, 8, 9 - skin, 9, 2.7, 3.9], abs=1e-5)
        assert np.allclose(hits.normals[:4], (0, 1, 0), atol=1e-5)
        assert hits.normals[4] == pytest.approx(axes.matrix[:, 1], abs=1e-9)
        assert hits.normals[5] == pytest.approx((0, 0, 1))
        assert np.allclose(hits.positions[:4, 1], 9 - hits.distances[:4])
    assert top == pytest.approx(3.0, abs=1e-4)


def test_normals_of_sheets_point_at_the_ray_and_those_of_solids_out() -> None:
    sim, _ = playground()
    hits = sim.cast_rays([(-3, 0.5, 0.02), (-5.8, 1.5, 0.1), (0, 2, 0)], (0, 3, 0))
    assert hits.names.tolist() == ["cloth", "block", "ball"]
    assert np.allclose(hits.normals, [(0, -1, 0), (0, 1, 0), (0, 1, 0)], atol=1e-6)
    assert hits.distances == pytest.approx([0.5, 0.5, 0.5], abs=1e-6)


def test_rays_end_and_pass_what_they_are_told_to() -> None:
    sim, handles = playground()
    start = (0, 9, 0)
    assert sim.cast_rays(start, DOWN, max_distance=6.49).names.tolist() == [""]
    assert sim.cast_rays(start, DOWN, max_distance=6.51).names.tolist() == ["ball"]
    assert sim.cast_rays(start, DOWN, ignore=[handles["ball"]]).names.tolist() == ["floor"]
    nothing = sim.cast_rays(start, DOWN, ignore=["ball", handles["floor"]])
    assert nothing.names.tolist() == [""]
    assert np.isinf(nothing.distances).all()
    assert np.isnan(nothing.positions).all()
    assert sim.cast_rays((-3, 9, 0.02), DOWN, ignore=["cloth"]).names.tolist() == ["floor"]
    assert sim.cast_rays(start, DOWN, ignore=list(handles)).names.tolist() == [""]
    assert len(sim.cast_rays(np.zeros((0, 3)), np.zeros((0, 3))).names) == 0
    fan = sim.cast_rays(start, [DOWN, (0, 1, 0), (0, -2, 0)])
    assert fan.distances == pytest.approx([6.5, np.inf, 6.5])
    rows = sim.cast_rays([start, (-9, 3, 0)], DOWN)
    assert rows.distances == pytest.approx([6.5, 3.0])


def test_torn_triangles_are_not_met() -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    vertices, faces = sn.grid(shape=(3, 3))
    material = sn.ClothMaterial(density=0.2, tear_strain=0.1)
    cloth = scene.add_cloth((vertices, faces), material=material)
    cloth.pin(range(9))
    sim = sn.Simulation(scene)
    corners = np.asarray(vertices)[faces]
    above = np.add(corners.mean(axis=1), (0, 1, 0))
    assert np.isfinite(sim.cast_rays(above, DOWN).distances).all()
    sim.positions(cloth)[0] -= (0.5, 0, 0.5)
    sim.step(2)
    left = {tuple(sorted(face)) for face in sim.surface(cloth)[1].tolist()}
    there = [tuple(sorted(face)) in left for face in np.asarray(faces).tolist()]
    assert 0 < sum(there) < len(faces)
    assert np.isfinite(sim.cast_rays(above, DOWN).distances).tolist() == there


def test_bits_do_not_depend_on_threads_or_on_other_rays() -> None:
    rng = np.random.default_rng(3)
    origins, directions = rng.uniform(-8, 8, (4000, 3)), rng.normal(size=(4000, 3))
    found = [playground(threads=threads)[0].cast_rays(origins, directions) for threads in (1, 2)]
    sim = playground(threads=1)[0]
    found.append(sim.cast_rays(origins, directions))
    few = sim.cast_rays(origins[:7], directions[:7])
    for other in found[1:]:
        assert np.array_equal(other.distances, found[0].distances)
        assert np.array_equal(other.normals, found[0].normals)
        assert np.array_equal(other.names, found[0].names)
    assert np.array_equal(few.distances, found[0].distances[:7])
    assert len(set(found[0].names.tolist())) == 7


def test_rays_of_a_world_are_those_of_its_simulation() -> None:
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    scene.add_rigid_body(sn.Sphere(0.5), position=(0, 2, 0), name="ball")
    worlds = sn.Worlds(scene, 3)
    worlds.state.body_positions[1, 0] = (0, 4, 0)
    found = [worlds.world(k).cast_rays((0, 9, 0), DOWN).distances[0] for k in range(3)]
    assert found == pytest.approx([6.5, 4.5, 6.5], abs=1e-12)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"origins": (0, 0)}, "origins: expected shape"),
        ({"origins": np.zeros((2, 3, 3))}, "origins: expected shape"),
        ({"origins": (0, np.nan, 0)}, "origins: not a finite number"),
        ({"origins": "here"}, "origins"),
        ({"directions": (0, 0, 0)}, "directions: direction 0 must not be zero"),
        ({"directions": [(0, 1, 0), (0, 0, 0)]}, "directions: direction 1 must not be zero"),
        ({"directions": (0, np.inf, 0)}, "directions: not a finite number"),
        ({"origins": np.zeros((2, 3)), "directions": np.ones((3, 3))}, "directions: expected 2"),
        ({"max_distance": -1.0}, "max_distance: must be at least 0"),
        ({"max_distance": np.nan}, "max_distance"),
        ({"ignore": "ball"}, "ignore: expected a list"),
        ({"ignore": ["bal"]}, "ignore: unknown name 'bal'"),
        ({"ignore": [3]}, "ignore: expected an object with particles or a rigid body or a collider, got 3"),
    ],
)
def test_bad_rays_are_refused(options: dict, told: str) -> None:
    scene = sn.Scene()
    scene.add_rigid_body(sn.Sphere(0.5), name="ball")
    sim = sn.Simulation(scene)
    with pytest.raises(sn.SceneError, match=f"cast_rays: {told}"):
        sim.cast_rays(**{"origins": (0, 9, 0), "directions": DOWN, **options})


@pytest.mark.parametrize("name", ["ball", "cloth"])
def test_a_state_that_is_not_finite_is_refused(name: str) -> None:
    sim, _ = playground()
    places = sim.positions("cloth") if name == "cloth" else sim.state.body_positions
    places[0, 1] = np.nan
    with pytest.raises(sn.SceneError, match=f"cast_rays: '{name}': its state is not finite"):
        sim.cast_rays((0, 9, 0), DOWN)
    places[0, 1] = 1.0
    assert sim.cast_rays((-9, 9, 0), DOWN).names.tolist() == ["floor"]


def test_a_direction_of_any_length_is_one() -> None:
    scene = sn.Scene()
    scene.add_rigid_body(sn.Sphere(0.5), name="ball")
    sim = sn.Simulation(scene)
    for size in (1e-200, 1e-3, 1.0, 1e15):
        assert sim.cast_rays((0, 9, 0), (0, -size, 0)).distances == pytest.approx([8.5], rel=1e-15)
