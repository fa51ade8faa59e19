"""Every example runs without a display, its own assertions hold, and it writes what it promises."""

import importlib.util
from pathlib import Path

import pytest

import shinari as sn
import shinari.constraints  # the built-in types are there before the first test
from shinari.constraints.registry import _TYPES

pytest.importorskip("matplotlib")

EXAMPLES = Path(__file__).parents[2] / "examples"

# script: the fewest frames with which its physics can be told, and what it writes
RUNS = {
    "01_rope_methods/rope_methods": ([], ["rope_methods.png"]),
    "02_cloth_materials/cloth_materials": (["--frames", "75"], ["cloth_materials.html", "cloth_materials.png"]),
    "03_triple_pendulum/triple_pendulum": (["--frames", "60"], ["triple_pendulum.png"]),
    "04_flag_in_wind/flag_in_wind": (["--frames", "150"], ["flag_in_wind.html", "flag_in_wind.png"]),
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
}
NEEDS = {".html": "viser", ".usdc": "pxr"}


def load(name: str):
    spec = importlib.util.spec_from_file_location(Path(name).name, EXAMPLES / f"{name}.py")
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


@pytest.mark.parametrize("name", RUNS)
def test_example(name, tmp_path):
    arguments, files = RUNS[name]
    if not name.startswith("07") and any(file.endswith(".html") for file in files):
        pytest.importorskip("viser")
    load(name).main([*arguments, "--out", str(tmp_path)])
    for file in files:
        needed = NEEDS.get(Path(file).suffix)
        if needed is None or installed(needed):
            assert (tmp_path / file).stat().st_size > 1000, file


def test_a_mesh_of_ones_own(tmp_path):
    module = load("07_your_mesh/your_mesh")
    mesh = tmp_path / "mine.ply"
    module.write_mesh(mesh, *upright())
    module.main(["--mesh", str(mesh), "--frames", "5", "--out", str(tmp_path / "out")])
    assert (tmp_path / "out" / "your_mesh.npz").exists()


def upright():
    vertices, faces = sn.grid(shape=(8, 8))
    return vertices[:, [0, 2, 1]], faces


def test_every_example_is_listed_and_run():
    scripts = {str(path.relative_to(EXAMPLES).with_suffix("")) for path in EXAMPLES.glob("*/*.py")}
    assert scripts == set(RUNS)
    index = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for script in scripts:
        assert index.count(f"{script}.py") == 2, script
