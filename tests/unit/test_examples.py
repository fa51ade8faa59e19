"""Every example runs without a display, its own assertions hold, and it writes what it promises.

With SHINARI_EXAMPLES_OUT the results stay in that folder, one folder an example: the gallery of the documentation shows
them (docs/_ext/gallery.py).
"""

import importlib.util
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
import shinari.constraints  # the built-in types are there before the first test
from shinari.constraints.registry import _TYPES
from shinari.geometry.motion import rotation_matrix
from shinari.io.npz import read_npz

pytest.importorskip("matplotlib")

EXAMPLES = Path(__file__).parents[2] / "examples"

# script: the fewest frames with which its physics can be told, and what it writes
RUNS = {
    "01_rope_methods/rope_methods": ([], ["rope_methods.png"]),
    "02_cloth_materials/cloth_materials": (
        ["--frames", "75"],
        ["cloth_materials.html", "cloth_materials.npz", "cloth_materials.png"],
    ),
    "03_triple_pendulum/triple_pendulum": (["--frames", "60"], ["triple_pendulum.png"]),
    "04_flag_in_wind/flag_in_wind": (
        ["--frames", "150"],
        ["flag_in_wind.html", "flag_in_wind.npz", "flag_in_wind.png"],
    ),
    "05_mass_ratio_chain/mass_ratio_chain": (["--most", "10"], ["mass_ratio_chain.png"]),
    "06_custom_constraint/custom_constraint": (["--frames", "120"], ["custom_constraint.png"]),
    "07_your_mesh/your_mesh": (
        ["--frames", "61"],
        [
            "your_mesh.npz",
            "your_mesh_0000.ply",
            "your_mesh_0030.ply",
            "your_mesh.html",
            "your_mesh.usdc",
            "your_mesh.png",
        ],
    ),
    "08_sheet_over_sphere/sheet_over_sphere": (
        ["--points", "31", "--frames", "180"],
        ["sheet_over_sphere.html", "sheet_over_sphere.npz", "sheet_over_sphere.png"],
    ),
    "09_folding_stack/folding_stack": ([], ["folding_stack.html", "folding_stack.npz"]),
    "10_twisted_cloth/twisted_cloth": ([], ["twisted_cloth.html", "twisted_cloth.npz"]),
    "11_rope_knot/rope_knot": ([], ["rope_knot.html", "rope_knot.npz", "rope_knot.png"]),
    "12_flag_around_pole/flag_around_pole": (
        [],
        ["flag_around_pole.html", "flag_around_pole.npz", "flag_around_pole.png"],
    ),
    "13_cloth_on_your_mesh/cloth_on_your_mesh": (
        ["--points", "31", "--frames", "150"],
        ["cloth_on_your_mesh.html", "cloth_on_your_mesh.npz"],
    ),
    "14_poissons_ratio/poissons_ratio": ([], ["poissons_ratio.html", "poissons_ratio.npz"]),
    "15_jelly_drop/jelly_drop": (["--frames", "120"], ["jelly_drop.html", "jelly_drop.npz"]),
    "17_shape_matched_lump/shape_matched_lump": ([], ["shape_matched_lump.html", "shape_matched_lump.npz"]),
    "16_squash_and_recover/squash_and_recover": ([], ["squash_and_recover.html", "squash_and_recover.npz"]),
    "18_helix_spring/helix_spring": ([], ["helix_spring.html", "helix_spring.npz", "helix_spring.png"]),
    "19_twisted_rod/twisted_rod": ([], ["twisted_rod.html", "twisted_rod.npz", "twisted_rod.png"]),
    "21_tearing_sheet/tearing_sheet": ([], ["tearing_sheet.html", "tearing_sheet.npz"]),
    "20_balloon/balloon": ([], ["balloon.html", "balloon.npz", "balloon.png"]),
    "22_joints/joints": ([], ["joints.html", "joints.npz"]),
    "23_domino_run/domino_run": ([], ["domino_run.html", "domino_run.npz"]),
    "24_arch/arch": ([], ["arch.html", "arch.npz"]),
    "25_card_house/card_house": ([], ["card_house.html", "card_house.npz"]),
    "26_wing_nut/wing_nut": ([], ["wing_nut.html", "wing_nut.npz"]),
    "27_car/car": ([], ["car.html", "car.npz"]),
    "28_cloth_and_rope_on_bodies/cloth_and_rope_on_bodies": (
        [],
        ["cloth_and_rope_on_bodies.html", "cloth_and_rope_on_bodies.npz"],
    ),
    "29_soft_body_on_hinge/soft_body_on_hinge": ([], ["soft_body_on_hinge.html", "soft_body_on_hinge.npz"]),
    "30_meshes_piled/meshes_piled": ([], ["meshes_piled.html", "meshes_piled.npz"]),
    "31_dam_break/dam_break": ([], ["dam_break.html", "dam_break.npz", "dam_break.png"]),
    "32_double_dam_break/double_dam_break": ([], ["double_dam_break.html", "double_dam_break.npz"]),
    "33_faucet/faucet": ([], ["faucet.html", "faucet.npz"]),
    "34_floating_boxes/floating_boxes": ([], ["floating_boxes.html", "floating_boxes.npz"]),
    "35_cloth_bag_with_water/cloth_bag_with_water": (
        [],
        ["cloth_bag_with_water.html", "cloth_bag_with_water.npz"],
    ),
    "36_sand_column/sand_column": ([], ["sand_column.html", "sand_column.npz", "sand_column.png"]),
    "37_hourglass/hourglass": ([], ["hourglass.html", "hourglass.npz", "hourglass.png"]),
    "38_custom_shape/custom_shape": ([], ["custom_shape.html", "custom_shape.npz", "custom_shape.png"]),
    "39_robot_arm/robot_arm": ([], ["robot_arm.html", "robot_arm.npz", "robot_arm.png"]),
    "40_cup_under_tap/cup_under_tap": ([], ["cup_under_tap.html", "cup_under_tap.npz", "cup_under_tap.png"]),
    "41_wall_and_ball/wall_and_ball": ([], ["wall_and_ball.html", "wall_and_ball.npz"]),
    "42_rain_of_ragdolls/rain_of_ragdolls": ([], ["rain_of_ragdolls.html", "rain_of_ragdolls.npz"]),
    "43_crane/crane": ([], ["crane.html", "crane.npz"]),
    "44_calibrated_drape/calibrated_drape": ([], ["calibrated_drape.npz", "calibrated_drape.png"]),
    "45_dam_break_sensitivity/dam_break_sensitivity": (
        [],
        ["dam_break_sensitivity.npz", "dam_break_sensitivity.png"],
    ),
    "46_learn_to_balance/learn_to_balance": (
        [],
        ["learn_to_balance.html", "learn_to_balance.npz", "learn_to_balance.png"],
    ),
    "47_walking_shirt/walking_shirt": (["--spacing", "0.03"], ["walking_shirt.html", "walking_shirt.npz"]),
    "48_sand_castle/sand_castle": (
        ["--radius", "0.007", "--frames", "60"],
        ["sand_castle.html", "sand_castle.npz"],
    ),
    "49_force_by_a_library/force_by_a_library": (
        ["--particles", "2000"],
        ["force_by_a_library.html", "force_by_a_library.npz"],
    ),
}
FROM_CONTACT_ON = 8  # examples from this number on show contact: no triangle of theirs may cut another
# surfaces of soft lumps are only shown: what touches is the particles, and a skin that is squashed may fold; a figure
# is made of limbs that overlap
SKINS = ("jelly_lump", "cork_lump", "figure")
WORN_BY = {"shirt": "figure"}  # sheets and the moving meshes that they are on
SEWN = {"47_walking_shirt/walking_shirt": lambda module: module.build(0.03)[0]}
SWEEPS = (44, 45)  # examples that run many members on a cluster of Dask
NEEDS = {".html": "viser", ".usdc": "pxr"}


def load(name: str, folder: Path = EXAMPLES):
    spec = importlib.util.spec_from_file_location(Path(name).name, folder / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


@pytest.fixture(autouse=True)
def registry():
    """What an example registers is forgotten after it, so that the order of the tests does not matter."""
    before = dict(_TYPES)
    yield
    _TYPES.clear()
    _TYPES.update(before)


def results(name: str, tmp_path: Path) -> Path:
    """The folder for what an example writes, empty."""
    if "SHINARI_EXAMPLES_OUT" not in os.environ:
        return tmp_path
    folder = Path(os.environ["SHINARI_EXAMPLES_OUT"]) / Path(name).parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


# the water of the bag begins as a block that its cloth overlaps a little
@pytest.mark.filterwarnings("ignore:'bag' and 'water' overlap:shinari.errors.ContactWarning")
@pytest.mark.parametrize("name", RUNS)
def test_example(name, tmp_path):
    arguments, files = RUNS[name]
    out = results(name, tmp_path)
    if int(name[:2]) in SWEEPS:
        pytest.importorskip("distributed")
        pytest.importorskip("pyarrow")
    if not name.startswith("07") and any(file.endswith(".html") for file in files):
        pytest.importorskip("viser")
    load(name).main([*arguments, "--out", str(out)])
    for file in files:
        needed = NEEDS.get(Path(file).suffix)
        if needed is None or installed(needed):
            assert (out / file).stat().st_size > 1000, file
    if int(name[:2]) >= FROM_CONTACT_ON:
        sewn = SEWN[name](load(name)) if name in SEWN else None
        check_no_intersections(read_npz(out / f"{Path(name).name}.npz"), sewn)


def check_no_intersections(run: dict[str, np.ndarray], sewn: sn.Scene | None = None, every: int = 4) -> None:
    """No triangle of a sheet cuts another one, or a collider as it is drawn, in every fourth frame and the last.

    Vertices that are sewn together in a scene are one.
    """
    pytest.importorskip("vtk")
    intersecting = load("intersections", Path(__file__).parents[1]).intersecting
    parts = zip(run["part_names"], run["part_kinds"], strict=True)
    sheets = [name for name, kind in parts if kind == "mesh" and name not in SKINS]
    objects = [] if sewn is None else sewn.particle_objects
    joined = {obj.name: obj.tailoring.joined(len(obj.positions)) for obj in objects if obj.tailoring is not None}
    frames = len(run["times"])
    for k in sorted({*range(0, frames, every), frames - 1}):
        for sheet in sheets:
            faces = run[f"faces_{sheet}"]
            if f"drawn_{sheet}" in run:
                faces = faces[run[f"drawn_{sheet}"][k]]
            triangles = run["positions"][k][slice(*run[f"range_{sheet}"])].astype(float)[faces]
            cut = intersecting(triangles, names=joined[sheet][faces] if sheet in joined else faces)
            assert len(cut) == 0, f"{sheet} cuts itself at {run['times'][k]:.2f} s: triangles {cut[0]}"
            if sheet in WORN_BY:
                wearer = run["positions"][k][slice(*run[f"range_{WORN_BY[sheet]}"])].astype(float)
                cut = intersecting(triangles, wearer[run[f"faces_{WORN_BY[sheet]}"]])
                assert len(cut) == 0, f"{sheet} cuts {WORN_BY[sheet]} at {run['times'][k]:.2f} s: triangles {cut[0]}"
            for body, position, rotation in zip(
                run["body_names"], run["body_positions"][k], run["body_rotations"][k], strict=True
            ):
                placed = run[f"body_vertices_{body}"] @ rotation_matrix(rotation).T + position
                cut = intersecting(triangles, placed[run[f"body_faces_{body}"]])
                assert len(cut) == 0, f"{sheet} cuts {body} at {run['times'][k]:.2f} s: triangles {cut[0]}"


def test_the_determinant_tells_a_knot_from_a_rope_without():
    module = load("11_rope_knot/rope_knot")
    knot = module.overhand()
    assert module.determinant(knot) == 3
    assert module.determinant(knot * (1.0, 1.0, -1.0)) == 3, "the mirrored knot"
    ramp = np.stack([knot[:, 0], knot[:, 1], np.linspace(0.0, 1.0, len(knot))], axis=1)
    assert module.determinant(ramp) == 1, "a curve that only climbs is no knot"


def test_the_linking_number_counts_turns():
    module = load("10_twisted_cloth/twisted_cloth")
    t = np.linspace(0.0, 1.0, module.ROWS)[:, None]
    across = np.linspace(-0.03, 0.03, module.COLUMNS)[None]
    for count in (0, 1, 3, 5):
        angle = 2.0 * np.pi * count * t
        x = np.stack([t + 0.0 * across, across * np.cos(angle), across * np.sin(angle)], axis=2)
        assert module.turns(x) == count


def test_a_mesh_of_ones_own(tmp_path):
    module = load("07_your_mesh/your_mesh")
    mesh = tmp_path / "mine.ply"
    module.write_mesh(mesh, *upright())
    module.main(["--mesh", str(mesh), "--frames", "5", "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "your_mesh.npz").exists()


def test_cloth_on_a_mesh_of_ones_own_that_is_open(tmp_path):
    module = load("13_cloth_on_your_mesh/cloth_on_your_mesh")
    vertices, faces = sn.grid(shape=(12, 12))
    vertices[:, 1] = 0.4 * np.cos(np.pi * vertices[:, 0]) * np.cos(np.pi * vertices[:, 2])
    module.write_mesh(tmp_path / "tent.ply", vertices, faces)
    arguments = ["--points", "21", "--frames", "30", "--out", str(tmp_path)]
    module.main(["--mesh", str(tmp_path / "tent.ply"), *arguments])
    check_no_intersections(read_npz(tmp_path / "cloth_on_your_mesh.npz"))


def upright():
    vertices, faces = sn.grid(shape=(8, 8))
    return vertices[:, [0, 2, 1]], faces


def test_every_example_is_listed_and_run():
    scripts = {str(path.relative_to(EXAMPLES).with_suffix("")) for path in EXAMPLES.glob("*/*.py")}
    assert scripts == set(RUNS)
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for script in scripts:
        assert index.count(f"{script}.py") == 2, script
