"""The registry refuses what cannot be a constraint, and says what it knows."""

import pytest

from shinari.constraints import registry
from shinari.constraints.registry import constraint_type, constraint_types, register
from shinari.errors import SceneError, ShinariError
from shinari.maths.function import function


@function
def gap(x, p):
    """Keeps the heights of two points apart.

    More text that is no summary.
    """
    return x[0][1] - x[1][1] - p[0], ((0.0, 1.0, 0.0), (0.0, -1.0, 0.0))


@pytest.fixture(autouse=True)
def _own_table(monkeypatch):
    """Types registered here are gone afterwards."""
    monkeypatch.setattr(registry, "_TYPES", dict(registry._TYPES))


def test_registered_type_is_found():
    kind = register("gap", points=2, parameters=("height", ("axis", 3)), evaluate=gap)
    assert constraint_type("gap") is kind
    assert kind in constraint_types()
    assert kind.parameters == (("height", 1), ("axis", 3))
    assert kind.width == 4
    assert kind.summary == "Keeps the heights of two points apart."
    assert kind.evaluate is gap


def test_given_summary_wins():
    assert register("gap", points=2, evaluate=gap, summary="Another.").summary == "Another."


def test_types_are_sorted_by_name():
    names = [kind.name for kind in constraint_types()]
    assert names == sorted(names)
    assert {"attachment", "coincidence", "dihedral", "distance", "isometric_bend", "tether", "volume"} <= set(names)


def test_every_type_has_a_summary():
    assert all(kind.summary.endswith(".") and "\n" not in kind.summary for kind in constraint_types())


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(SceneError, match=r"'distanc': type: is not registered.*distance"):
        constraint_type("distanc")


def test_same_name_replaces_the_type():
    first = register("gap", points=2, evaluate=gap)
    second = register("gap", points=2, parameters=("height",), evaluate=gap)
    assert constraint_type("gap") is second is not first
    assert [kind.name for kind in constraint_types()].count("gap") == 1


def test_replacing_does_not_reach_types_already_looked_up():
    first = register("gap", points=2, evaluate=gap)
    register("gap", points=2, one_sided=True, evaluate=gap)
    assert not first.one_sided


@pytest.mark.parametrize("name", ["", "two words", "1st", "a-b"])
def test_name_must_be_an_identifier(name):
    with pytest.raises(SceneError, match="identifier"):
        register(name, points=2, evaluate=gap)


@pytest.mark.parametrize(("points", "rows"), [(0, 1), (2, 0), (-1, 1)])
def test_points_and_rows_must_be_positive(points, rows):
    with pytest.raises(SceneError, match=r"'gap'.*at least 1"):
        register("gap", points=points, rows=rows, evaluate=gap)


@pytest.mark.parametrize("parameters", [("a", "a"), ("a", ("a", 3))])
def test_repeated_parameter_is_refused(parameters):
    with pytest.raises(SceneError, match=r"'gap': parameters: .*repeated"):
        register("gap", points=2, parameters=parameters, evaluate=gap)


def test_undecorated_evaluate_is_refused():
    with pytest.raises(SceneError, match=r"'gap': evaluate: decorate it with @shinari.function"):
        register("gap", points=2, evaluate=gap.py_func)


def test_refused_type_is_not_registered():
    with pytest.raises(ShinariError):
        register("gap", points=0, evaluate=gap)
    with pytest.raises(ValueError, match="not registered"):
        constraint_type("gap")
