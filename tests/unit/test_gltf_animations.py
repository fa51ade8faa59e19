"""Animations of glTF files against closed forms: nodes, skins, morph targets, interpolation, storage, bad input."""

import numpy as np
import pytest
from gltf_files import GltfBuilder

import shinari as sn
from shinari.geometry.files.meshes import read_mesh
from shinari.geometry.motion import rotation_matrix

TRIANGLE = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
FACE = [[0, 1, 2]]
SINGLE = 3e-7  # numbers in the file have single precision; of places up to 2 m


def about(axis, angle):
    """Quaternion x y z w."""
    return np.array([*(np.sin(0.5 * angle) * np.array(axis, float)), np.cos(0.5 * angle)])


def turned(points, axis, angle):
    x, y, z, w = about(axis, angle)
    return points @ rotation_matrix(np.array([w, x, y, z])).T


def triangle(**fields):
    """A file with a triangle on its only node."""
    file = GltfBuilder()
    file.node(mesh=file.mesh(TRIANGLE, FACE), name="body", **fields)
    return file


def bar(angle, times=(0.0, 1.0), *, shares="f4", sets=1):
    """A bar along x with joints at 0 and at 1 m; the second turns about z by an angle. Vertices and shares."""
    x = np.linspace(0.0, 2.0, 21)
    vertices = np.array([[a, b, c] for a in x for b, c in ((-0.1, -0.1), (0.1, -0.1), (0.0, 0.1))])
    faces = [[3 * k + i, 3 * k + (i + 1) % 3, 3 * k + 3 + i] for k in range(20) for i in range(3)]
    second = np.clip((vertices[:, 0] - 0.8) / 0.4, 0.0, 1.0)
    scale = {"f4": 1.0, "u1": 255.0, "u2": 65535.0}[shares]
    stored = np.round(second * scale) if scale > 1.0 else second
    nothing = np.zeros_like(stored)
    # of two sets the first has the second joint, and the second set the first joint
    columns = [[scale - stored, stored, nothing, nothing]]
    indices = [[0, 1, 0, 0]]
    if sets == 2:
        columns = [[nothing, stored, nothing, nothing], [scale - stored, nothing, nothing, nothing]]
        indices = [[0, 1, 0, 0], [0, 0, 0, 0]]
    file, attributes = GltfBuilder(), {}
    for number, (column, joints) in enumerate(zip(columns, indices, strict=True)):
        attributes[f"WEIGHTS_{number}"] = file.array(np.stack(column, axis=1), shares, normalized=scale > 1.0)
        attributes[f"JOINTS_{number}"] = file.array(np.tile(joints, (len(vertices), 1)), "u1")
    # what moves the node of the mesh must not move its vertices
    file.node(mesh=file.mesh(vertices, faces, **attributes), skin=0, translation=[5.0, 0.0, 0.0], children=[1])
    file.tree["nodes"][0]["children"] = []
    file.node(children=[2], name="shoulder")
    file.node(translation=[1.0, 0.0, 0.0], name="elbow")
    file.tree["scenes"][0]["nodes"] = [0, 1]
    bound = np.tile(np.eye(4), (2, 1, 1))
    bound[1, 3, 0] = -1.0  # columns first
    file.tree["skins"].append(
        {"joints": [1, 2], "inverseBindMatrices": file.array(bound.reshape(2, 16)), "name": "arm"}
    )
    file.animate(2, "rotation", times, [about((0, 0, 1), 0.0), about((0, 0, 1), angle)])
    return file, vertices, (stored / scale)[:, None]


@pytest.mark.parametrize("angle", [0.3, -1.2, 2.8])
@pytest.mark.parametrize(("shares", "sets"), [("f4", 1), ("u1", 1), ("u2", 1), ("f4", 2), ("u1", 2)])
def test_a_skinned_bar_bends_by_its_joint(tmp_path, angle, shares, sets):
    file, vertices, second = bar(angle, shares=shares, sets=sets)
    sequence = sn.read_animation(file.save(tmp_path / "bar.glb"), frames_per_second=20.0)
    assert sequence.positions.shape == (21, 63, 3)
    for k in range(21):
        bent = turned(vertices - [1, 0, 0], (0, 0, 1), angle * k / 20) + np.array([1, 0, 0])
        expected = (1.0 - second) * vertices + second * bent
        np.testing.assert_allclose(sequence.positions[k], expected, atol=2 * SINGLE)
    np.testing.assert_allclose(read_mesh(tmp_path / "bar.glb")[0], vertices, atol=SINGLE)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("angle", [1e-9, 0.5, 3.0])
def test_between_rotations_the_angle_grows_evenly(tmp_path, angle, sign):
    """Slerp, the shorter way, whichever of both quaternions of a rotation is stored."""
    axis = np.array([1.0, 2.0, 2.0]) / 3.0
    file = triangle()
    file.animate(0, "rotation", [0.5, 2.5], [about(axis, 0.2), sign * about(axis, 0.2 + angle)])
    file.animate(0, "translation", [0.5, 2.5], [[0, 0, 0], [1, 0, 0]])
    sequence = sn.read_animation(file.save(tmp_path / "turn.gltf"), frames_per_second=2.0)
    np.testing.assert_allclose(sequence.times, [0.0, 0.5, 1.0, 1.5, 2.0])
    for k in range(5):
        expected = turned(TRIANGLE, axis, 0.2 + 0.25 * k * angle) + np.array([0.25 * k, 0, 0])
        np.testing.assert_allclose(sequence.positions[k], expected, atol=2 * SINGLE)


@pytest.mark.parametrize("path", ["translation", "scale", "rotation"])
def test_a_cubic_spline_goes_through_its_polynomial(tmp_path, path):
    """Keys with the values and slopes of a cubic give back the cubic."""
    times = np.array([0.0, 0.7, 2.0])

    def value(t):
        return np.stack([1 + t - 0.4 * t**2 + 0.1 * t**3, 1 + 0.2 * t**3, 2.0 - t + 0.3 * t**2], axis=-1)

    def slope(t):
        return np.stack([1 - 0.8 * t + 0.3 * t**2, 0.6 * t**2, -1 + 0.6 * t], axis=-1)

    values, slopes = value(times), slope(times)
    if path == "rotation":  # normalised after it is interpolated
        values = np.column_stack([values, 0 * times])
        slopes = np.column_stack([slopes, 0 * times])
        values, slopes = values / 2.2, slopes / 2.2
        times, values, slopes = times[:2], values[:2], slopes[:2]
        values[0] /= np.linalg.norm(values[0])
        values[1] /= np.linalg.norm(values[1])
    file = triangle()
    file.animate(0, path, times, np.stack([slopes, values, slopes], axis=1).reshape(len(times) * 3, -1), "CUBICSPLINE")
    sequence = sn.read_animation(file.save(tmp_path / "spline.gltf"), frames_per_second=10.0)
    for t, found in zip(sequence.times, sequence.positions, strict=True):
        if path == "rotation":
            s, h = t / 0.7, 0.7
            q = (2 * s**3 - 3 * s**2 + 1) * values[0] + h * (s**3 - 2 * s**2 + s) * slopes[0]
            q = q + (3 * s**2 - 2 * s**3) * values[1] + h * (s**3 - s**2) * slopes[1]
            x, y, z, w = q / np.linalg.norm(q)
            expected = TRIANGLE @ rotation_matrix(np.array([w, x, y, z])).T
        else:
            expected = TRIANGLE + value(t) if path == "translation" else TRIANGLE * value(t)
        np.testing.assert_allclose(found, expected, atol=2e-6)


def test_a_step_stays_until_the_next_key(tmp_path):
    file = triangle()
    file.animate(0, "translation", [0.0, 1.0, 2.0], [[0, 0, 0], [1, 0, 0], [5, 0, 0]], "STEP")
    sequence = sn.read_animation(file.save(tmp_path / "step.gltf"), frames_per_second=4.0)
    np.testing.assert_allclose(sequence.positions[:, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1, 5])


def test_nodes_carry_their_children(tmp_path):
    """Parent turns about y, child has a matrix, its child is scaled unevenly and mirrored: p -> R (M (S p))."""
    file = GltfBuilder()
    file.node(children=[1], translation=[0, 0, 3])
    matrix = np.eye(4)
    matrix[:3] = [[0, -2, 0, 1], [2, 0, 0, 0], [0, 0, 2, -1]]
    file.node(children=[2], matrix=matrix.T.ravel().tolist())
    file.node(mesh=file.mesh(TRIANGLE, FACE), scale=[1, 2, -3])
    file.animate(0, "rotation", [0.0, 2.0], [about((0, 1, 0), 0.0), about((0, 1, 0), 1.0)])
    sequence = sn.read_animation(file.save(tmp_path / "chain.glb"), frames_per_second=1.0)
    inner = (TRIANGLE * [1, 2, -3]) @ matrix[:3, :3].T + matrix[:3, 3]
    for k in range(3):
        np.testing.assert_allclose(sequence(k), turned(inner, (0, 1, 0), 0.5 * k) + np.array([0, 0, 3]), atol=2e-6)
    assert sequence.faces.tolist() == [[2, 1, 0]]


@pytest.mark.parametrize("interpolation", ["LINEAR", "CUBICSPLINE"])
def test_morph_targets_are_added_with_their_weights(tmp_path, interpolation):
    file = triangle()
    up, out = np.array([[0, 0, 1.0]] * 3), 0.5 * TRIANGLE
    mesh = file.tree["meshes"][0]
    mesh["primitives"][0]["targets"] = [{"POSITION": file.array(up)}, {"POSITION": file.array(out)}, {}]
    mesh["weights"] = [0.25, 0.5, 1.0]
    np.testing.assert_allclose(read_mesh(file.save(tmp_path / "still.gltf"))[0], TRIANGLE + 0.25 * up + 0.5 * out)
    keys = np.array([[0.0, 0.0, 0.0], [1.0, -2.0, 1.0]])
    slopes = np.zeros_like(keys) if interpolation == "CUBICSPLINE" else None
    values = keys.ravel() if slopes is None else np.stack([slopes, keys, slopes], axis=1).ravel()
    file.animate(0, "weights", [0.0, 1.0], values, interpolation)
    sequence = sn.read_animation(file.save(tmp_path / "morph.gltf"), frames_per_second=5.0)
    for t in sequence.times:
        s = t if slopes is None else t * t * (3 - 2 * t)
        np.testing.assert_allclose(sequence(t), TRIANGLE + s * up - 2 * s * out, atol=SINGLE)


def test_whole_numbers_that_stand_for_fractions(tmp_path):
    """Normalised: c / 127, c / 255, c / 32767, c / 65535, not below -1."""
    for kind, most in (("i1", 127), ("i2", 32767), ("u2", 65535)):
        file = triangle()
        angle = 0.5 * np.pi
        keys = np.round(most * np.array([about((0, 0, 1), 0.0), about((0, 0, 1), angle)]))
        file.animate(0, "rotation", [0.0, 1.0], file.array(keys, kind, normalized=True))
        sequence = sn.read_animation(file.save(tmp_path / f"{kind}.glb"), frames_per_second=1.0)
        # both components are rounded by half a step, and normalised
        np.testing.assert_allclose(sequence(1.0), turned(TRIANGLE, (0, 0, 1), angle), atol=2.0 / most)
    file = triangle()
    corners = np.array([[-128, 0, 0], [127, 0, 0], [0, 64, 0]])
    file.tree["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = file.array(
        np.column_stack([corners, [0, 0, 0]])[:, :3], "i1", normalized=True
    )
    file.tree["extensionsRequired"] = ["KHR_mesh_quantization"]
    vertices, _ = read_mesh(file.save(tmp_path / "quantised.glb"))
    np.testing.assert_allclose(vertices, np.maximum(corners / 127, -1.0))


@pytest.mark.parametrize("based", [True, False])
def test_sparse_rows_replace_those_of_the_view_or_zeros(tmp_path, based):
    file = triangle()
    accessor = file.tree["accessors"][0]
    if not based:
        del accessor["bufferView"]
    accessor["sparse"] = {
        "count": 2,
        "indices": {"bufferView": file.view(np.array([0, 2], "<u2")), "componentType": 5123},
        "values": {"bufferView": file.view(np.array([[0, 0, 4], [0, 7, 0]], "<f4"))},
    }
    vertices, _ = read_mesh(file.save(tmp_path / "sparse.glb"))
    assert vertices.tolist() == [[0, 0, 4], TRIANGLE[1].tolist() if based else [0, 0, 0], [0, 7, 0]]


def test_rows_may_lie_apart(tmp_path):
    file = triangle()
    rows = np.zeros((3, 5), "<f4")
    rows[:, 1:4] = TRIANGLE + 1.0
    accessor = file.tree["accessors"][0]
    accessor["bufferView"], accessor["byteOffset"] = file.view(rows), 4
    file.tree["bufferViews"][-1]["byteStride"] = 20
    assert np.array_equal(read_mesh(file.save(tmp_path / "apart.glb"))[0], TRIANGLE + 1.0)


def test_strips_and_fans(tmp_path):
    for mode, expected in ((5, [[0, 1, 2], [1, 3, 2], [2, 3, 4]]), (6, [[1, 2, 0], [2, 3, 0], [3, 4, 0]])):
        file = GltfBuilder()
        file.node(mesh=file.mesh(np.arange(15.0).reshape(5, 3), [0, 1, 2, 3, 4]))
        file.tree["meshes"][0]["primitives"][0]["mode"] = mode
        assert read_mesh(file.save(tmp_path / "mode.glb"))[1].tolist() == expected


def test_one_file_in_three_containers(tmp_path):
    file, *_ = bar(1.0)
    (tmp_path / "parts").mkdir()
    first = sn.read_animation(file.save(tmp_path / "bar.glb"))
    for path in (file.save(tmp_path / "in.gltf"), file.save(tmp_path / "out.gltf", "parts/bar data.bin")):
        found = sn.read_animation(path)
        assert np.array_equal(found.positions, first.positions)
        assert np.array_equal(found.times, first.times)
    assert len(first.times) == 61


def test_meshes_and_clips_are_chosen_by_name(tmp_path):
    file = triangle()
    file.node(mesh=file.mesh(TRIANGLE + 3.0, FACE), name="hat", translation=[0, 1, 0])
    file.tree["scenes"][0]["nodes"] = [0, 1]
    file.animate(0, "translation", [0.0, 1.0], [[0, 0, 0], [1, 0, 0]])
    file.tree["animations"].append({"channels": [], "samplers": [], "name": "jump"})
    file.animate(0, "translation", [0.0, 2.0], [[0, 0, 0], [0, 4, 0]])
    path = file.save(tmp_path / "figure.glb")
    sequence = sn.read_animation(path)
    assert sequence.positions.shape[1] == 6
    np.testing.assert_allclose(sequence(1.0)[0], [1, 0, 0])
    np.testing.assert_allclose(sequence(1.0)[3:], TRIANGLE + np.array([3, 4, 3]))
    np.testing.assert_allclose(sn.read_animation(path, clip="jump", mesh="body")(1.0), TRIANGLE + np.array([0, 2, 0]))
    assert sn.read_animation(path, mesh="mesh_0").positions.shape[1] == 3
    for given, told in (
        ({"clip": "run"}, r"figure\.glb: animation: holds no clip 'run'; known are move, jump"),
        ({"mesh": "leg"}, r"figure\.glb: animation: holds no mesh 'leg'; known are body, mesh_0, hat, mesh_1"),
        ({"mesh": "hat"}, r"animation 0 'move': no mesh moves in it: mesh 1 'mesh_1': primitive 0; take another"),
        ({"frames_per_second": 1e8}, r"1 s at 1e\+08 frames_per_second are 100000001 frames of 6 vertices.*take fewer"),
    ):
        with pytest.raises(sn.FileError, match=told):
            sn.read_animation(path, **given)


def test_a_figure_of_bones_carries_cloth(tmp_path):
    """A plate on a joint rises by 0.2 m and lifts a cloth."""
    vertices, faces = sn.grid(shape=(9, 9), size=(1.0, 1.0))
    file = GltfBuilder()
    rows = np.tile([1, 0, 0, 0], (len(vertices), 1))
    attributes = {"JOINTS_0": file.array(0 * rows, "u1"), "WEIGHTS_0": file.array(rows, "f4")}
    file.node(mesh=file.mesh(vertices, faces, **attributes), skin=0)
    file.node(name="hip")
    file.tree["scenes"][0]["nodes"] = [0, 1]
    file.tree["skins"].append({"joints": [1]})
    file.animate(1, "translation", [0.0, 0.5], [[0, 0, 0], [0, 0.2, 0]])
    scene = sn.Scene()
    scene.add_moving_mesh(sn.read_animation(file.save(tmp_path / "lift.glb")), thickness=0.01)
    cloth = scene.add_cloth(sn.grid(shape=(5, 5), size=(0.3, 0.3)), position=(0, 0.01, 0),
                            material=sn.ClothMaterial(thickness=0.01))  # fmt: skip
    sim = sn.Simulation(scene)
    sim.step(60)
    heights = sim.positions(cloth)[:, 1]
    # half of both thicknesses above the plate
    assert ((heights > 0.2099) & (heights < 0.2125)).all()


def set_path(tree, path, value):
    *way, last = path
    for key in way:
        tree = tree[key]
    if value is None:
        del tree[last]
    else:
        tree[last] = value


@pytest.mark.parametrize(
    ("path", "value", "told"),
    [
        (["asset", "version"], "1.0", "is glTF '1.0'; export it as glTF 2.0"),
        (["extensionsRequired"], ["ACME_bend"], "needs the extensions ACME_bend, which are not known"),
        (["extensionsUsed"], ["EXT_mesh_gpu_instancing"], "needs the extensions EXT_mesh_gpu_instancing"),
        (["extensionsUsed"], ["KHR_draco_mesh_compression"], r"compressed geometry \(KHR_draco.*without compression"),
        (["nodes", 2, "children"], [1], "node [12] '(shoulder|elbow)': is among its own children"),
        (["nodes", 0, "children"], [2], "node 2 'elbow': is a child of node 0 and of node 1"),
        (["nodes", 1, "children"], [7], "node 1: names node 7, of which there are 3"),
        (["nodes", 0, "mesh"], 3, "node 0 '': names mesh 3, of which there are 1"),
        (["nodes", 1, "rotation"], [0, 0, 0, 0], "node 1 'shoulder': rotation .* is no unit quaternion"),
        (["nodes", 2, "matrix"], [1.0] * 16, "channel 0: node 2 has a matrix; give it translation"),
        (["nodes", 0, "skin"], 4, "node 0 '': names skin 4, of which there are 1"),
        (["skins", 0, "joints"], [1], "vertex 27 hangs on joint 1, skin 0 'arm' has 1; bind it again"),
        (["skins", 0, "joints"], [1, 9], "skin 0 'arm': names node 9, of which there are 3"),
        (["skins", 0, "joints"], [1, 2, 2], "inverse bind matrices: there are 2 for 3 joints"),
        (["meshes", 0, "primitives", 0, "attributes", "WEIGHTS_0"], None, "primitive 0: has JOINTS_0 and no WEIGHTS_0"),
        (["meshes", 0, "primitives", 0, "attributes", "WEIGHTS_0"], 2, "accessor 2: is 'VEC3', .* needs VEC4"),
        (["meshes", 0, "primitives", 0, "attributes", "POSITION"], None, "primitive 0: has no POSITION"),
        (["meshes", 0, "primitives", 0, "mode"], 1, "primitive 0: holds points or lines, only triangles"),
        (["meshes", 0, "primitives", 0, "targets"], [{"POSITION": 4}], "is 'MAT4', .* target 0 needs VEC3"),
        (["accessors", 2, "count"], 10**9, "accessor 2: claims to hold 1000000000 rows"),
        (["accessors", 2, "count"], 64, "accessor 2: 64 rows of 12 bytes, .* do not fit into the 756 bytes of"),
        (["accessors", 2, "count"], 40, "index .* is vertex 4[0-9], there are 40 vertices"),
        (["accessors", 2, "componentType"], 99, "accessor 2: component type 99 is none of 5120"),
        (["accessors", 3, "componentType"], 5126, "accessor 3: .* rows of 4 bytes"),
        (["bufferViews", 2, "byteLength"], 10**6, "buffer view 2: ends at byte .*, buffer 0 at"),
        (["bufferViews", 2, "buffer"], 5, "buffer view 2: names buffer 5, of which there are 1"),
        (["animations"], None, "holds no animation; export it with one"),
        (["animations", 0, "channels"], [], "animation 0 'move': has no channels"),
        (["animations", 0, "channels", 0, "sampler"], 5, "channel 0: names sampler 5, of which there are 1"),
        (["animations", 0, "channels", 0, "target", "path"], "colour", "animates 'colour'; known are translation"),
        (["animations", 0, "channels", 0, "target", "path"], "weights", "node 2 has no mesh with morph targets"),
        (["animations", 0, "channels", 0, "target", "path"], "scale", "is 'VEC4', .* sampler 0 needs VEC3"),
        (["animations", 0, "samplers", 0, "interpolation"], "BEZIER", "interpolation 'BEZIER' is none of LINEAR"),
        (["animations", 0, "samplers", 0, "interpolation"], "CUBICSPLINE", "2 times of rotation need 24 numbers"),
        (["scene"], 3, "names scene 3, of which there are 1"),
        (["nodes"], "none", "its JSON is damaged: .*nodes"),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_with_its_element(tmp_path, path, value, told):
    file, *_ = bar(1.0)
    set_path(file.tree, path, value)
    with pytest.raises(sn.FileError, match=rf"bar\.gltf: .*{told}"):
        sn.read_animation(file.save(tmp_path / "bar.gltf"))


def test_values_that_cannot_be_are_refused(tmp_path):
    for times, told in (([0.0, 0.0], "time 1 is 0 s"), ([-1.0, 1.0], "time 0 is -1 s")):
        file, *_ = bar(1.0, times)
        with pytest.raises(sn.FileError, match=f"sampler 0: its times must increase from 0 or later; {told}"):
            sn.read_animation(file.save(tmp_path / "times.gltf"))
    file = triangle()
    file.animate(0, "rotation", [0.0, 1.0], [[0, 0, 0, 1], [0, 0, 0, 0.5]])
    with pytest.raises(sn.FileError, match=r"rotation 1 is no unit quaternion, its length is 0.5"):
        sn.read_animation(file.save(tmp_path / "turn.gltf"))
    file = triangle()
    file.animate(0, "translation", [0.0, 1.0], [[0, 0, 0], [np.nan, 0, 0]])
    with pytest.raises(sn.FileError, match="accessor 2: row 1 is not finite"):
        sn.read_animation(file.save(tmp_path / "nan.gltf"))
    file, *_ = bar(1.0)
    shares = np.tile([0.5, 0.2, 0, 0], (63, 1))
    file.tree["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"] = file.array(shares)
    with pytest.raises(sn.FileError, match=r"the weights of vertex 0 are \[0.5, 0.2.*have the sum 1: normalise"):
        sn.read_animation(file.save(tmp_path / "shares.gltf"))
    file = triangle()
    file.tree["meshes"][0]["primitives"][0]["targets"] = [{"POSITION": file.array(np.zeros((4, 3)))}]
    file.animate(0, "weights", [0.0, 1.0], [0.0, 1.0])
    with pytest.raises(sn.FileError, match="target 0: has 4 rows for 3 vertices; its topology must be that"):
        sn.read_animation(file.save(tmp_path / "target.gltf"))


def test_buffers_come_from_the_folder_of_the_file(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    file, *_ = bar(1.0)
    path = file.save(inside / "bar.gltf", "bar.bin")
    (tmp_path / "bar.bin").write_bytes((inside / "bar.bin").read_bytes())
    text = path.read_text()
    for name in ("../bar.bin", "%2e%2e/bar.bin", str(tmp_path / "bar.bin"), "file:///etc/passwd", "http://a/b.bin"):
        path.write_text(text.replace('"bar.bin"', f'"{name}"'))
        with pytest.raises(sn.FileError, match=r"bar\.gltf: buffer 0: names the file .* lies outside its folder"):
            sn.read_animation(path)
    path.write_text(text.replace('"bar.bin"', '"arm.bin"'))
    with pytest.raises(sn.FileError, match=r"bar\.gltf: buffer 0: 'arm.bin' cannot be read: No such file"):
        sn.read_animation(path)
    path.write_text(text)
    (inside / "bar.bin").write_bytes(file.data[:-8])
    with pytest.raises(sn.FileError, match=r"buffer 0: has \d+ bytes, \d+ were promised; it is cut short"):
        sn.read_animation(path)
    whole = file.save(inside / "bar.glb").read_bytes()
    for data, told in ((whole[:-40], "chunk 1 is cut short"), (whole[:30], "chunk 0 is cut short"),
                       (whole[:4] + b"\1" + whole[5:], "is glTF 1; export it as glTF 2.0"),
                       (whole[:12], "its first chunk is not JSON")):  # fmt: skip
        (inside / "bar.glb").write_bytes(data)
        with pytest.raises(sn.FileError, match=rf"bar\.glb: .*{told}"):
            sn.read_animation(inside / "bar.glb")
