"""What `import shinari` brings, and what it leaves out: a script that only describes a scene must not wait."""

import subprocess
import sys

import pytest

import shinari

HEAVY = ("numba", "llvmlite", "trimesh", "h5py", "cyclopts", "rich", "scipy", "matplotlib", "viser", "pxr")


def loaded_by(statements: str) -> set[str]:
    """Which of the heavy packages a fresh process has after the statements."""
    script = f"{statements}\nimport sys\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=900)
    return set(done.stdout.split())


def test_import_is_light():
    assert loaded_by("import shinari") == set()


def test_a_scene_of_plain_things_is_light():
    described = """
import shinari as sn
sn.Scene(gravity=(0, 0, 0)).add_particles([[0, 0, 0]])
sn.Scene().add_fluid(sn.Box((1, 1, 1)), spacing=0.1)
sn.ClothMaterial(), sn.RopeMaterial(), sn.Sphere(1.0), sn.Box((1, 1, 1)), sn.Capsule(1, 1), sn.Plane(), sn.SceneError
"""
    assert loaded_by(described) == set()


def test_a_simulation_loads_no_compiler():
    assert loaded_by("import shinari; shinari.Simulation") == set()


@pytest.mark.parametrize("name", shinari.__all__)
def test_public_name_resolves(name):
    assert getattr(shinari, name) is not None
    assert name in dir(shinari)


def test_public_names_are_sorted_and_complete():
    # sorted as ruff sorts them: constants, then classes, then functions
    def rank(name: str) -> tuple[int, str]:
        return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)

    assert shinari.__all__ == sorted(shinari.__all__, key=rank)
    assert len(set(shinari.__all__)) == len(shinari.__all__)
    assert set(shinari._LAZY) <= set(shinari.__all__)
    modules = {name for name, value in vars(shinari).items() if type(value).__name__ == "module"}
    visible = {name for name in vars(shinari) if not name.startswith("_")} - modules
    assert visible - {"import_module", "TYPE_CHECKING", "Any"} <= set(shinari.__all__)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Simulacrum'"):
        shinari.Simulacrum  # noqa: B018


def test_errors_are_also_what_python_calls_them():
    for error, builtin in (
        (shinari.SceneError, ValueError),
        (shinari.FileError, OSError),
        (shinari.FrameError, IndexError),
        (shinari.DivergenceError, ArithmeticError),
        (shinari.MissingExtraError, ImportError),
    ):
        assert issubclass(error, shinari.ShinariError)
        assert issubclass(error, builtin)
