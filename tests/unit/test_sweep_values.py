"""Values of the parameters of a sweep: ranges, samples, and paths into a scene file."""

import numpy as np
import pytest
from sweep_cases import write_base

from shinari.errors import SceneError
from shinari.io.scene_file import read_document
from shinari.sweeps.define import define
from shinari.sweeps.paths import check_value, with_values
from shinari.sweeps.ranges import values_of
from shinari.sweeps.samples import members_of


@pytest.mark.parametrize(
    ("given", "values"),
    [
        ("lin:0:1:5", [0.0, 0.25, 0.5, 0.75, 1.0]),
        ("log:1e-9:1e-5:5", [1e-9, 1e-8, 1e-7, 1e-6, 1e-5]),
        ("int:2:5", [2, 3, 4, 5]),
        ("int:5:20:4", [5, 10, 15, 20]),
        ("lin:2:2:1", [2.0]),
        ("1, 2.5", [1, 2.5]),
        ("cotton,silk", ["cotton", "silk"]),
        ("cotton, 3", ["cotton", 3]),
        ("true,false", [True, False]),
        ("[0, -9.81, 0], [0, -1.62, 0]", [[0, -9.81, 0], [0, -1.62, 0]]),
        ([1, 2], [1, 2]),
        (np.linspace(0.0, 1.0, 3), [0.0, 0.5, 1.0]),
        (np.eye(2), [[1.0, 0.0], [0.0, 1.0]]),
        (3.5, [3.5]),
        (range(3), [0, 1, 2]),
    ],
)
def test_values_of_a_grid(given, values):
    found = values_of("p", given).grid("p")
    assert np.shape(found) == np.shape(values)
    for a, b in zip(found, values, strict=True):
        assert a == (pytest.approx(b, rel=1e-12) if isinstance(b, float) else b)
        assert type(a) is type(b)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("log:0:1:3", "above 0"),
        ("log:-1:1:3", "above 0"),
        ("lin:2:1:3", "has to rise"),
        ("lin:a:b:3", "finite numbers"),
        ("lin:0:inf:3", "finite numbers"),
        ("lin:0:1:x", "whole number of values"),
        ("lin:0:1:0", "at least 1"),
        ("lin:0:1:" + "9" * 5000, "whole number of values"),
        (range(10**9), "at most 1000000"),
        (np.array(1.0), "expected a number"),
        (["\ud800"], "text of Unicode"),
        ("lin:0", "expected lin:A:B:N"),
        ("exp:0:1:3", "expected lin:A:B:N"),
        ("int:0.5:2", "whole numbers"),
        ("", "no values"),
        ("1,,2", "expected lin:A:B:N"),
        ("{a", "expected lin:A:B:N"),
        ([], "no values"),
        ([None], "expected a number"),
        ([float("nan")], "nan"),
        (b"ab", "expected a number"),
        ({"a": 1}, "expected a number"),
    ],
)
def test_bad_ranges_are_refused(given, problem):
    with pytest.raises(SceneError, match=problem) as error:
        values_of("cloth[0].density", given)
    assert str(error.value).startswith("sweep: cloth[0].density: ")


def test_a_grid_has_all_combinations_the_last_parameter_fastest():
    values = {"a": values_of("a", "1,2"), "b": values_of("b", "x,y,z")}
    found = members_of(values, None, 0)
    assert [(row["a"], row["b"]) for row in found] == [(a, b) for a in (1, 2) for b in "xyz"]


def test_a_grid_needs_to_know_how_many():
    with pytest.raises(SceneError, match=r"sweep: a: the range does not say how many values a grid has.*sobol"):
        members_of({"a": values_of("a", "lin:0:1")}, None, 0)
    with pytest.raises(SceneError, match="a grid of 1000000000 members"):
        members_of({name: values_of(name, "lin:0:1:1000") for name in "abc"}, None, 0)


@pytest.mark.parametrize("method", ["sobol", "lhs"])
def test_samples_are_even_in_each_parameter(method):
    """Each of n equal parts of each range holds exactly one of n members: both constructions promise it."""
    pytest.importorskip("scipy")
    count = 64
    values = {"a": values_of("a", "lin:0:1"), "b": values_of("b", "log:1e-4:1e4:9")}
    found = members_of(values, f"{method}:{count}", 3)
    places = np.array([row["a"] for row in found]), (np.log10([row["b"] for row in found]) + 4.0) / 8.0
    for place in places:
        assert sorted((place * count).astype(int)) == list(range(count))


def test_sobol_samples_continue_each_other_and_seeds_differ():
    pytest.importorskip("scipy")
    values = {"a": values_of("a", "lin:0:1"), "b": values_of("b", "int:1:9")}
    first, second = members_of(values, "sobol:16", 0), members_of(values, "sobol:32", 0)
    assert second[:16] == first
    assert members_of(values, "sobol:16", 1) != first
    assert members_of(values, "random:5", 1) == members_of(values, "random:5", 1)
    assert {type(row["b"]) for row in second} == {int}
    assert {row["b"] for row in members_of(values, "sobol:256", 0)} == set(range(1, 10))


def test_one_member_without_parameters_is_a_study(tmp_path):
    rest: dict = {"duration": None, "simulation": None, "frames_per_second": None, "record": None}
    for parameters in ({}, [{}]):
        found = define(write_base(tmp_path), parameters, "energy", sample=None, seed=0, **rest)
        assert [member.values for member in found.members] == [{}]


def test_members_that_are_drawn_twice_are_run_once():
    found = members_of({"a": values_of("a", "x,y")}, "random:50", 0)
    assert len(found) == 2


@pytest.mark.parametrize(
    "sample", ["sobol", "sobol:x", "lhs:" + 5000 * "9", "sobol:-4", "grid:3", "sobol:6", "lhs:0", 5]
)
def test_bad_samples_are_refused(sample):
    with pytest.raises(SceneError, match="sweep: sample: "):
        members_of({"a": values_of("a", "lin:0:1")}, sample, 0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("cloth[0].material.stretch_compliance", 1e-6),
        ("cloth[rag].material.density", 0.3),
        ("cloth['rag'].position[1]", 2.0),
        ("cloth[0].material", "silk"),
        ("cloth[0].grid.shape", [4, 5]),
        ("scene.gravity[1]", -1.62),
        ("scene.gravity", [0, -1.62, 0]),
        ("scene.wind.mean", [1, 0, 0]),
        ("simulation.substeps", 7),
        ("collider[0].shape.radius", 0.2),
        ("particles[bob].positions[1][0]", 1.5),
        ("constraint[0].parameters.rest_length", 0.9),
    ],
)
def test_paths_lead_into_a_scene_file(tmp_path, path, value):
    file = write_base(tmp_path)
    document = read_document(file)
    check_value(document, path, value, file)
    changed = with_values(document, {path: value})
    assert changed != document
    assert document == read_document(file), "the document itself stays as it is"


def test_a_preset_keeps_its_other_values(tmp_path):
    document = read_document(write_base(tmp_path))
    changed = with_values(document, {"cloth[0].material.density": 0.3})
    assert changed["cloth"][0]["material"] == {"preset": "cotton", "density": 0.3}


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (
            "cloth[0].material.strech_compliance",  # typos: ignore
            r"unknown parameter; nearest are cloth\[0\].material.stretch_compliance",
        ),
        ("cloth[0].stretch_compliance", r"nearest are cloth\[0\].material.stretch_compliance"),
        ("cloth[1].material.density", r"there is no \[1\]; nearest are cloth\[0\].material.density"),
        ("cloth[flag].material.density", r"there is no \[flag\]; known are rag"),
        (f"cloth[{'9' * 5000}].mass", "there is no "),
        ("simulation.substep", "nearest are simulation.substeps"),
        ("collider[0].shape.radus", r"nearest are collider\[0\].shape.radius"),  # typos: ignore
        ("scene.gravity[3]", r"nearest are scene.gravity\[2\]"),
        ("rod[0].material.radius", "unknown parameter; nearest are "),
        ("clth[0].mass", "unknown parameter; nearest are cloth"),
        ("cloth.material.density", "unknown parameter; nearest are cloth"),
        ("cloth[0]..density", "is no path of a parameter"),
        ("a b", "is no path of a parameter"),
        ("", "is no path of a parameter"),
        ("[0]", "is no path of a parameter"),
    ],
)
def test_unknown_paths_are_refused_with_the_nearest(tmp_path, path, problem):
    file = write_base(tmp_path)
    with pytest.raises(SceneError, match=problem) as error:
        check_value(read_document(file), path, 1.0, file)
    assert str(error.value).startswith("sweep: ")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        ("simulation.substeps", 2.5, "Expected int, got float"),
        ("cloth[0].material.density", "heavy", "Expected float, got str"),
        ("cloth[0].material.density", -1.0, "Expected float > 0.0"),
        ("cloth[0].self_collision", "yes", "Invalid enum value"),
        ("scene.gravity", [1.0, 2.0], "length 3"),
        ("simulation.method", "magic", "Invalid enum value"),
    ],
)
def test_values_of_the_wrong_type_are_refused(tmp_path, path, value, problem):
    file = write_base(tmp_path)
    with pytest.raises(SceneError, match=problem) as error:
        check_value(read_document(file), path, value, file)
    assert str(error.value).startswith(f"sweep: {path}: value ")
