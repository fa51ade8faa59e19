"""Variables of the environment: what is none of their values is refused where a simulation is built, in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import shinari as sn
from shinari import variables

WRONG = {
    "SHINARI_NUM_THREADS": ["0", "-1", "many", "1.5", "\u0661", "9" * 400],
    "SHINARI_COMPILE_PROCESSES": ["0", "-1", "all"],
    "SHINARI_BOUNDS": ["yes", "2", "true"],
    "SHINARI_QUIET": ["yes", "-1"],
    "SHINARI_CACHE_DIR": ["~nobody-of-that-name/cache"],
}
CASES = [(name, value) for name, values in WRONG.items() for value in values]


def build() -> sn.Simulation:
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0]])
    return sn.Simulation(scene, threads=1)


@pytest.mark.parametrize(("name", "value"), CASES)
def test_a_wrong_value_is_refused_with_what_is_accepted(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(sn.SceneError, match=f"^environment: {name}: .*") as refused:
        build()
    assert len(str(refused.value)) < 200
    with pytest.raises(sn.SceneError, match=name):
        variables.read(name)


@pytest.mark.parametrize("name", variables.READERS)
def test_an_empty_one_is_not_set(monkeypatch, name):
    monkeypatch.setenv(name, " ")
    assert variables.read(name) is None
    variables.check_all()


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("SHINARI_THREADS", "SHINARI_NUM_THREADS"),
        ("SHINARI_CACHE", "SHINARI_CACHE_DIR"),
        ("SHINARI_QUITE", "SHINARI_QUIET"),
    ],
)
def test_a_misspelt_one_is_told(monkeypatch, wrong, right):
    monkeypatch.setenv(wrong, "1")
    with pytest.raises(sn.SceneError, match=f"{wrong}: .* did you mean {right}"):
        build()


def test_those_of_others_are_none_of_ours(monkeypatch):
    for name in ("SHINARI_EXAMPLES_OUT", "SHINARI_PYTHON", "SHINARI_FUZZ_SECONDS"):
        monkeypatch.setenv(name, "anything")
    variables.check_all()


@pytest.mark.parametrize("name", ["xyz", "help", "i386", "--"])
def test_a_processor_that_is_not_known_ends_in_an_error(name):
    """The compiler would end the process."""
    script = "import shinari as sn; s = sn.Scene(); s.add_particles([[0, 0, 0]]); sn.Simulation(s, threads=1)"
    done = run("-c", script, SHINARI_CPU=name)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(f"got {name!r}")
    assert "SceneError: environment: SHINARI_CPU: expected native" in done.stderr


@pytest.mark.parametrize("variable", [("SHINARI_NUM_THREADS", "many"), ("SHINARI_CPU", "xyz")])
def test_a_command_prints_one_line(variable):
    name, value = variable
    done = run("-m", "shinari", "doctor", **{name: value})
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.startswith(f"shinari: environment: {name}: ")


def run(*words: str, **environment: str) -> subprocess.CompletedProcess:
    variables = {**os.environ, "PYTHONPATH": str(Path(sn.__file__).parents[1]), **environment}
    return subprocess.run([sys.executable, *words], env=variables, text=True, capture_output=True, timeout=300)
