"""Rest shapes, maps, seams, folds and bands of cloth: what is refused, and what is kept."""

import numpy as np
import pytest

import shinari as sn
from shinari.geometry.files.meshes import read_mesh
from shinari.solver.step import TOLERATED
from shinari.systems.surface_contact.build import participants
from shinari.systems.untangling.system import Untangling

PANEL = sn.grid(shape=(5, 5))


def two_panels(gap: float = 0.2, columns: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Two panels of 25 vertices, one above the other."""
    vertices, faces = PANEL
    other, more = sn.grid(shape=(columns, 5))
    return np.concatenate([vertices, other + np.array([0.0, gap, 0.0])]), np.concatenate([faces, more + len(vertices)])


LEFT, RIGHT = np.arange(0, 25, 5), np.arange(4, 25, 5)


def cloth(*args: object, **options: object) -> sn.Scene:
    scene = sn.Scene()
    scene.add_cloth(*args, name="shirt", **options)
    return scene


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sewing": [sn.Seam([0, 1], [45, 46])]}, None),
        ({"sewing": [sn.Seam([0, 5, 10], [25, 26, 26])]}, "sewing"),
        ({"sewing": [sn.Seam([0, 5, 10, 15, 20], [25, 30, 35, 40, 49])]}, r"sewing\[0\].*m and .*m long.*ease"),
        ({"sewing": [sn.Seam([0], [99])]}, r"sewing\[0\]: second: index 99"),
        ({"sewing": [sn.Fold([0, 12], 0.1)]}, r"sewing\[0\]: vertices: from 0 to 12"),
        ({"sewing": [sn.Fold([0, 1], 0.1)]}, "a triangle on each side"),
        ({"sewing": [sn.ElasticBand([0, 7])]}, "from 0 to 7 is not an edge"),
        ({"sewing": [sn.Fold([6, 7], 0.1), sn.Fold([7, 6], 0.2)]}, r"the edge \(6, 7\) is in more than one fold"),
        ({"sewing": ["seam"]}, "expected a Seam, a Fold or an ElasticBand"),
        ({"maps": {"mass": np.ones(49)}}, "maps: mass: expected one value for each of the 50 vertices"),
        ({"maps": {"weight": np.ones(50)}}, "maps: expected one of 'pin', 'thickness', 'stiffness', 'mass'"),
        ({"maps": {"pin": np.full(50, 1.5)}}, "maps: pin: must be at most 1"),
        ({"maps": {"stiffness": np.zeros(50)}}, "maps: stiffness: must be above 0"),
        ({"maps": {"pin": "group"}}, "'group' names an attribute of a mesh file"),
        ({"rest": "uv"}, "rest: 'uv' names an attribute of a mesh file"),
        ({"rest": np.zeros((49, 2))}, "rest: expected shape"),
        ({"rest": np.zeros((50, 2))}, "rest: face 0, .* has no area in the plane"),
        ({"rest": PANEL}, "rest: has 25 vertices and 32 faces, the cloth 50 and 64"),
    ],
)
def test_what_does_not_fit_the_mesh_is_refused(options, told):
    if told is None:
        cloth(two_panels(), **options)
        return
    with pytest.raises(sn.SceneError, match=told) as error:
        cloth(two_panels(), **options)
    assert "'shirt'" in str(error.value)


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: sn.Seam([0, 1], [2]), "first has 2 vertices and second 1"),
        (lambda: sn.Seam([0, 1], [2, 1]), "pair 1 sews vertex 1 to itself"),
        (lambda: sn.Fold([0], 0.1), "a line needs at least two"),
        (lambda: sn.Fold([0, 1], 90.0), "angles are in radians"),
        (lambda: sn.ElasticBand([0, 1], ratio=0.0), "ratio: must be above 0"),
    ],
)
def test_sewing_checks_itself(make, told):
    with pytest.raises(sn.SceneError, match=told):
        make()


def test_seams_and_tearing_exclude_each_other():
    with pytest.raises(sn.SceneError, match="a cloth with seams cannot tear"):
        cloth(two_panels(), material=sn.ClothMaterial(tear_strain=0.5), sewing=[sn.Seam(LEFT, LEFT + 25)])


def test_a_flipped_triangle_in_the_plane_is_named():
    vertices, faces = PANEL
    flat = vertices[:, [0, 2]].copy()
    flat[12] += [0.6, 0.0]
    with pytest.raises(sn.SceneError, match=r"rest: faces \d+ and \d+ lie on the same side of their edge .* flipped"):
        cloth((vertices, faces), rest=flat)


def test_islands_on_top_of_each_other_are_named():
    vertices, faces = two_panels()
    with pytest.raises(sn.SceneError, match=r"rest: faces \d+ and \d+ lie on top of each other"):
        cloth((vertices, faces), rest=vertices[:, [0, 2]])
    flat = vertices[:, [0, 2]] + np.where(np.arange(50)[:, None] < 25, 0.0, 1.5)
    cloth((vertices, faces), rest=flat)


def test_both_sides_of_a_cut_are_equally_long():
    vertices, faces = PANEL
    corners = vertices[:, [0, 2]][faces]
    right = (vertices[faces][:, :, 0] > -1e-9).all(axis=1)
    corners[right] = corners[right] * [1.0, 1.3] + [2.0, 0.0]
    with pytest.raises(sn.SceneError, match=r"rest: the edge \(\d+, \d+\) is .* both sides of a cut must match"):
        cloth((vertices, faces), rest=corners)


def test_texture_coordinates_of_a_picture_are_refused_with_their_scale():
    vertices, faces = PANEL
    with pytest.raises(sn.SceneError, match=r"0.01 times the area of the mesh.*multiply them by 10 "):
        cloth((vertices, faces), rest=0.1 * vertices[:, [0, 2]])


def test_a_rest_shape_is_the_same_mesh():
    vertices, faces = PANEL
    with pytest.raises(sn.SceneError, match=r"rest: face 0 is .*, in the cloth"):
        cloth((vertices, faces), rest=(vertices, np.roll(faces, 1, axis=0)))


@pytest.mark.parametrize("model", ["springs", "strain"])
def test_a_rest_shape_of_the_mesh_itself_changes_nothing(model):
    vertices, faces = PANEL
    material = sn.ClothMaterial(stretch_model=model)
    bare = sn.Simulation(cloth((vertices, faces), material=material), precision="float64")
    bare.step(3)
    for rest in (vertices, (vertices, faces), vertices[:, [0, 2]], vertices[:, [0, 2]][faces]):
        other = sn.Simulation(cloth((vertices, faces), material=material, rest=rest), precision="float64")
        other.step(3)
        np.testing.assert_allclose(other.state.positions, bare.state.positions, atol=1e-12)


def test_a_cloth_goes_to_its_rest_shape():
    vertices, faces = PANEL
    scene = sn.Scene(gravity=(0, 0, 0), damping=5.0)
    scene.add_cloth((vertices, faces), rest=0.8 * vertices, material=sn.ClothMaterial(stretch_compliance=1e-2))
    sim = sn.Simulation(scene)
    sim.step(120)
    np.testing.assert_allclose(np.ptp(sim.state.positions, axis=0), [0.8, 0.0, 0.8], atol=2e-3)


def write_ply(path, vertices, faces, **columns):
    head = ["ply", "format ascii 1.0", f"element vertex {len(vertices)}", *(f"property float {a}" for a in "xyz")]
    head += [f"property float {name}" for name in columns]
    head += [f"element face {len(faces)}", "property list uchar int vertex_indices", "end_header"]
    rows = np.column_stack([vertices, *columns.values()])
    lines = [" ".join(map(repr, row)) for row in rows.tolist()] + [f"3 {a} {b} {c}" for a, b, c in faces.tolist()]
    path.write_text("\n".join([*head, *lines, ""]))


def test_maps_and_rest_shape_from_a_ply_file(tmp_path):
    vertices, faces = PANEL
    pins, path = (np.arange(25) < 5).astype(float), tmp_path / "sheet.ply"
    write_ply(path, vertices, faces, s=vertices[:, 0] / 0.9, t=vertices[:, 2], hold=pins, heavy=1.0 + vertices[:, 0])
    found = sn.read_attributes(path)
    assert set(found) == {"s", "t", "hold", "heavy", "uv"}
    scene = cloth(path, rest="uv", maps={"pin": "hold", "mass": "heavy"})
    assert scene.pinned == {0, 1, 2, 3, 4}
    obj = scene.particle_objects[0]
    np.testing.assert_allclose(obj.masses.sum(), 0.2 / 0.9, rtol=1e-6)
    np.testing.assert_array_equal(obj.tailoring.rest, found["uv"])
    with pytest.raises(sn.SceneError, match="has no attribute 'holds'; it has"):
        cloth(path, maps={"pin": "holds"})


def test_texture_coordinates_and_colours_of_an_obj_file(tmp_path):
    path = tmp_path / "quad.obj"
    path.write_text(
        "v 0 0 0 1 0.5 0\nv 1 0 0 1 0.5 0\nv 1 1 0 1 0.5 0\nv 0 1 0 0 0.25 1\n"
        "vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3 4/4\n"
    )
    found = sn.read_attributes(path)
    np.testing.assert_array_equal(found["red"], [1, 1, 1, 0])
    vertices, faces = read_mesh(path)
    np.testing.assert_array_equal(found["uv"], vertices[:, :2][faces])
    (tmp_path / "mesh.stl").write_bytes(b"")
    with pytest.raises(sn.FileError, match=r"attributes: expected one of .obj, .ply, got '.stl'"):
        sn.read_attributes(tmp_path / "mesh.stl")
    path.write_text("v 0 0 0\nv 1 0 0\nv 1 1 0\nvt 0 0\nf 1/7 2/1 3/1\n")
    with pytest.raises(sn.FileError, match=r"quad.obj: .*texture coordinate 7, there are 1"):
        sn.read_attributes(path)


def test_thickness_follows_its_map():
    vertices, faces = PANEL
    scene = cloth((vertices, faces), material=sn.ClothMaterial(thickness=0.02), maps={"thickness": np.arange(25) / 24})
    np.testing.assert_allclose(scene.particle_objects[0].radii, 0.01 * np.arange(25) / 24)


@pytest.mark.parametrize("mode", ["triangles", "particles"])
def test_a_seam_closes_against_its_own_thickness(mode):
    scene = sn.Scene(gravity=(0, 0, 0), damping=2.0)
    material = sn.ClothMaterial(thickness=0.01, stretch_compliance=1e-3)
    panels = two_panels(gap=0.1)
    shirt = scene.add_cloth(
        panels, material=material, self_collision=mode, sewing=[sn.Seam(side, side + 25) for side in (LEFT, RIGHT)]
    )
    sim = sn.Simulation(scene)
    sim.step(90)
    x = sim.positions(shirt)
    for side in (LEFT, RIGHT):
        assert np.linalg.norm(x[side] - x[side + 25], axis=1).max() < 1e-3
    if mode == "triangles":
        assert np.abs(x[12, 1] - x[37, 1]) > 0.0099


def test_sewn_vertices_have_the_neighbours_of_each_other():
    scene = cloth(two_panels(), self_collision="triangles", sewing=[sn.Seam(LEFT, LEFT + 25)])
    sim = sn.Simulation(scene)
    who = participants(scene, sim._run.model)
    slots = sim._run.model.slots
    near = who.neighbours[who.neighbour_offsets[slots[5]] : who.neighbour_offsets[slots[5] + 1]]
    added = sorted(int(np.flatnonzero(slots == n)[0]) for n in near)
    assert {0, 6, 10, 25, 30, 31, 35} <= set(added)
    np.testing.assert_array_equal(who.rest[slots[LEFT]], who.rest[slots[LEFT + 25]])


def test_a_sewn_cloth_goes_on_from_a_checkpoint_bit_by_bit(tmp_path):
    panels = two_panels()
    sewing = [sn.Seam(LEFT, LEFT + 25, closing_time=0.3), sn.Fold([6, 7, 8], 0.5), sn.ElasticBand([0, 1, 2])]
    flat = panels[0][:, [0, 2]] + np.where(np.arange(50)[:, None] < 25, 0.0, 1.5)
    maps = {"stiffness": np.linspace(1, 2, 50), "pin": np.where(np.arange(50) % 5 == 4, 0.5, 0.0)}
    sim = sn.Simulation(cloth(panels, sewing=sewing, rest=flat, maps=maps))
    sim.step(6)
    sim.save(tmp_path / "half.npz")
    other = sn.Simulation.load(tmp_path / "half.npz")
    sim.step(20)
    other.step(20)
    np.testing.assert_array_equal(other.state.positions, sim.state.positions)
    assert np.linalg.norm(sim.state.positions[LEFT] - sim.state.positions[LEFT + 25], axis=1).max() < 1e-3


def test_a_material_changes_under_tailoring():
    scene = cloth(two_panels(), sewing=[sn.Fold([6, 7, 8], 0.5), sn.ElasticBand([0, 1, 2])], rest=two_panels()[0] * 1.1)
    sim = sn.Simulation(scene)
    before = sim.energy().elastic
    sim.change_material("shirt", stretch_compliance=5e-6)
    assert sim.energy().elastic > 1.8 * before


def test_a_seam_between_particles_needs_no_cloth():
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([[0, 0, 0], [1, 0, 0]])
    scene.add_constraint("seam", [[0, 1]], closing_time=0.5)
    sim = sn.Simulation(scene, dt=0.05)
    sim.step(5)
    assert np.ptp(sim.state.positions[:, 0]) == pytest.approx(0.5, abs=0.01)
    sim.step(6)
    assert np.ptp(sim.state.positions[:, 0]) < 1e-6


def outline(width: float = 0.4) -> dict[str, list[list[float]]]:
    w = width
    return {
        "bottom": [[0, 0], [w, 0]],
        "right": [[w, 0], [w, 0.3]],
        "top": [[w, 0.3], [0.2, 0.35], [0, 0.3]],
        "left": [[0, 0.3], [0, 0]],
    }


def test_a_pattern_becomes_a_mesh_with_matching_seams():
    pattern = sn.Pattern(0.03)
    pattern.add_panel("front", outline(), position=(0, 0, 0.1))
    pattern.add_panel("back", outline(), position=(0.4, 0, -0.1), rotation=(0, 0, 1, 0))
    pattern.add_seam("front.right", "back.left")
    x, faces = pattern.vertices, pattern.faces
    seam = pattern.seams[0]
    np.testing.assert_allclose(x[seam.first][:, :2], x[seam.second][:, :2], atol=1e-12)
    np.testing.assert_array_equal(pattern.edge("front.right"), seam.first)
    sides = x[faces[:, 1]] - x[faces[:, 0]], x[faces[:, 2]] - x[faces[:, 0]]
    area = 0.5 * np.linalg.norm(np.cross(*sides), axis=1)
    assert area.sum() == pytest.approx(2 * (0.12 + 0.5 * 0.4 * 0.05), rel=0.01)
    assert area.min() > 0.1 * 0.433 * 0.03**2
    cloth(pattern, sewing=pattern.seams)


@pytest.mark.parametrize(
    ("use", "told"),
    [
        (lambda p: p.add_panel("front", outline()), "panel 'front': name: is taken"),
        (lambda p: p.add_panel("b", {k: np.array(v)[::-1] for k, v in outline().items()}), "begins .* m from the end"),
        (lambda p: p.add_panel("b", {"a": [[0, 0], [0, 1], [1, 1], [0, 0]]}), "must run counter-clockwise"),
        (lambda p: p.add_panel("b", outline(1e5)), "more than 1000000 triangles; take a spacing of at least"),
        (
            lambda p: p.add_seam("front.right", "front.top"),
            r"seam 'front.right' - 'front.top': the edges are 0.3 m and",
        ),
        (lambda p: p.add_seam("front.right", "front.tip"), "there is no edge 'front.tip'; known are"),
        (lambda p: p.edge("side"), "there is no edge 'side'"),
    ],
)
def test_a_pattern_names_what_is_wrong(use, told):
    pattern = sn.Pattern(0.05)
    pattern.add_panel("front", outline())
    with pytest.raises(sn.SceneError, match=told):
        use(pattern)


def test_a_panel_that_crosses_itself_is_refused():
    pattern = sn.Pattern(0.05)
    pattern.add_panel("bow", {"rim": [[0, 0], [1, 0], [1, 1], [0.9, -0.5], [0, 1], [0, 0]]})
    with pytest.raises(sn.SceneError, match=r"panel 'bow': the border at .* crosses itself"):
        _ = pattern.vertices


@pytest.mark.parametrize("size", [1e-2, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(3))
def test_a_seam_without_ease_takes_edges_that_differ_by_rounding(size, seed):
    rng = np.random.default_rng(seed)
    turn = rng.uniform(-np.pi, np.pi)
    rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    corners = size * np.array([[0.0, 0.0], [0.3, 0.0], [0.3, 0.2], [0.0, 0.2]])
    pattern = sn.Pattern(0.02 * size)
    for name, points in (("first", corners), ("second", corners @ rotation.T + size * rng.uniform(-2, 2, 2))):
        edges = {side: points[[k, (k + 1) % 4]] for k, side in enumerate(("bottom", "right", "top", "left"))}
        pattern.add_panel(name, edges, position=(0, 0, size * (name == "second")))
    pattern.add_seam("first.bottom", "second.top", ease=0.0)
    cloth(pattern, sewing=pattern.seams)
    longer = sn.Pattern(0.02 * size)
    for name, points in (("first", corners), ("second", corners * (1.0 + 1e-11))):
        edges = {side: points[[k, (k + 1) % 4]] for k, side in enumerate(("bottom", "right", "top", "left"))}
        longer.add_panel(name, edges)
    with pytest.raises(sn.SceneError, match=r"change the pattern, or give an ease above 0"):
        longer.add_seam("first.bottom", "second.top", ease=0.0)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_seams_of_a_bag_that_collides_with_itself_stay_closed(precision):
    """Elements on both sides of a seam have its vertices in common: they neither touch nor intersect there."""
    corners = np.array([[0.0, 0.0], [0.3, 0.0], [0.3, 0.2], [0.0, 0.2]])
    edges = {name: corners[[k, (k + 1) % 4]] for k, name in enumerate(("bottom", "right", "top", "left"))}
    pattern, thickness = sn.Pattern(0.02), 0.002
    pattern.add_panel("front", edges, position=(0, 0, 0.05))
    pattern.add_panel("back", edges, position=(0.3, 0, -0.05), rotation=(0, 0, 1, 0))
    for first, second in (("bottom", "bottom"), ("left", "right"), ("right", "left")):
        pattern.add_seam(f"front.{first}", f"back.{second}", closing_time=0.2)
    scene = sn.Scene(damping=5.0)
    material = sn.ClothMaterial(thickness=thickness)
    bag = scene.add_cloth(pattern, sewing=pattern.seams, self_collision="triangles", material=material)
    bag.pin(pattern.edge("front.top"))
    sim = sn.Simulation(scene, precision=precision, substeps=10)
    sim.step(12)
    tangles = sim._bound.find(Untangling)
    for _ in range(48):
        sim.step()
        x = sim.positions(bag)
        apart = max(np.linalg.norm(x[seam.first] - x[seam.second], axis=1).max() for seam in pattern.seams)
        # contacts push either side of a seam: their passes end when they overlap by less than this part
        assert apart < 2.0 * TOLERATED * thickness
        assert not tangles.active


def test_a_scene_file_sews(tmp_path):
    vertices, faces = two_panels()
    columns = {"s": vertices[:, 0] + np.where(np.arange(50) < 25, 0.0, 1.5), "t": vertices[:, 2]}
    write_ply(tmp_path / "panels.ply", vertices, faces, **columns, heavy=np.full(50, 2.0))
    scene = tmp_path / "shirt.toml"
    text = f"""
    [[cloth]]
    name = "shirt"
    mesh = "panels.ply"
    rest = "uv"
    maps = {{ mass = "heavy" }}
    seams = [{{ first = {LEFT.tolist()}, second = {(LEFT + 25).tolist()}, closing_time = 0.2 }}]
    folds = [{{ vertices = [6, 7, 8], angle = 0.5 }}]
    bands = [{{ vertices = [0, 1, 2], ratio = 0.9 }}]
    """
    scene.write_text(text)
    obj = sn.load_scene(scene).particle_objects[0]
    assert obj.masses.sum() == pytest.approx(2.0 * 2.0 * 0.2, rel=1e-6)
    assert [len(obj.tailoring.seams), len(obj.tailoring.folds), len(obj.tailoring.bands)] == [5, 2, 2]
    scene.write_text(text.replace("0.5 }]", "4.0 }]"))
    with pytest.raises(sn.SceneError, match=r"Fold: angle: must be below pi.* at \$\.cloth\[0\]"):
        sn.load_scene(scene)
