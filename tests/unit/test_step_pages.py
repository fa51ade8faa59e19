"""The pages that follow a step: phases, systems and functions are those of the code."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from types import SimpleNamespace

import numpy as np

import shinari.solver
import shinari.systems
from shinari.compute import Program
from shinari.model.particles import Clock
from shinari.model.settings import Settings
from shinari.model.system import System
from shinari.solver.step import PHASES, record_step

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "shinari"
HOP = re.compile(r"^\| (.+?) \| (.+?) \| .+ \| (?:machine|scene|step|substep) \|$", re.M)
PYTHON = "follow_state", "begin", "end", "check"
"""Methods of a system that run as Python, around the program of a step."""


def test_phases_are_those_of_systems_in_the_order_of_a_step():
    assert set(PHASES) == {name.removeprefix("record_") for name in vars(System) if name.startswith("record_")}
    called = []
    spy = SimpleNamespace(solves_contacts=True, repeated=False, tells_moved=True, in_one_pass=False, most_passes=0)
    for phase in PHASES:
        setattr(spy, f"record_{phase}", lambda *_, phase=phase: called.append(phase))
    record_step(Program(), [spy], Clock.zeros(1, np.float32), Settings())  # type: ignore[list-item]
    assert tuple(dict.fromkeys(called)) == PHASES


def systems(base: type = System) -> Iterator[type]:
    """All systems of the package."""
    for package in (shinari.systems, shinari.solver):
        for module in walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for system in base.__subclasses__():
        if system.__module__.startswith("shinari."):
            yield system
            yield from systems(system)


def overridden(system: type, names: tuple[str, ...], prefix: str = "") -> str:
    """Which of the methods a system has of its own."""
    own = [name for name in names if getattr(system, prefix + name) is not getattr(System, prefix + name)]
    return ", ".join(own) or "-"


def table() -> str:
    """The table of systems, by order and name."""
    lines = ["| order | system | folder | phases | Python, once a step |", "|---|---|---|---|---|"]
    for system in sorted(set(systems()), key=lambda system: (system.order, system.__name__)):
        folder = "/".join(system.__module__.split(".")[1:-1])
        phases, python = overridden(system, PHASES, "record_"), overridden(system, PYTHON)
        lines.append(f"| {system.order} | `{system.__name__}` | `{folder}` | {phases} | {python} |")
    return "\n".join(lines) + "\n"


def test_the_table_of_systems_is_that_of_the_code():
    page = (ROOT / "docs" / "decisions" / "systems.md").read_text()
    assert table() in page, f"put this table into docs/decisions/systems.md:\n{table()}"


def test_the_order_of_systems_follows_its_legend():
    """Every order lies in a range that the docstring of `System` explains."""
    legend = " ".join((System.__doc__ or "").partition("order:")[2].partition("solves_contacts:")[0].split())
    ranges = [(int(a), int(b or a)) for a, b in re.findall(r"(?:^|[,;:] )(\d+)(?: to (\d+))? [a-z]", legend)]
    for system in systems():
        assert any(a <= system.order <= b for a, b in ranges), (system, legend)


def test_every_hop_is_in_its_file():
    hops = HOP.findall((ROOT / "docs" / "step.md").read_text())
    assert len(hops) > 20
    for functions, files in hops:
        trees = [ast.parse(path.read_text()) for name in re.findall(r"`(.+?)`", files) for path in PACKAGE.glob(name)]
        assert trees, files
        for name in re.findall(r"`(.+?)`", functions):
            assert any(defines(tree, name.split(".")) for tree in trees) or name.startswith("System."), (name, files)


def defines(tree: ast.AST, names: list[str]) -> bool:
    """Whether a file defines a function, or a method of a class."""
    found = [node for node in ast.walk(tree) if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    found = [node for node in found if node.name == names[0]]
    return any(defines(ast.Module(node.body, []), names[1:]) for node in found) if names[1:] else bool(found)
