"""Bytes of every array that a simulation holds, by particles and rows: `python benchmarks/memory.py [N]`."""

import sys
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from shinari.api.scene import Scene
from shinari.bench.sheet import Case
from shinari.bench.subjects import Ours


def arrays_of(thing: Any, path: str = "", seen: dict[int, Any] | None = None) -> dict[str, np.ndarray]:
    """Every array that an object of the package reaches, by its path, each memory once.

    Arrays are told apart by the memory they own, so a view of another array does not count again. What the scene
    holds, which is the user's, is left out unless the simulation holds it too.
    """
    seen = {} if seen is None else seen
    if id(thing) in seen or isinstance(thing, Scene):
        return {}
    seen[id(thing)] = thing
    if isinstance(thing, np.ndarray):
        owner = thing
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        if owner is not thing and id(owner) in seen:
            return {}
        seen[id(owner)] = owner
        return {path: owner}
    if isinstance(thing, dict):
        parts = thing.items()
    elif isinstance(thing, (list, tuple)):
        parts = enumerate(thing)
    elif is_dataclass(thing) and not isinstance(thing, type):
        parts = [(f.name, getattr(thing, f.name)) for f in fields(thing)]
    elif callable(thing) and getattr(thing, "__closure__", None):
        parts = enumerate(cell.cell_contents for cell in thing.__closure__)
    elif type(thing).__module__.startswith("shinari") and hasattr(thing, "__dict__"):
        parts = vars(thing).items()
    else:
        return {}
    found = {}
    for name, part in parts:
        found |= arrays_of(part, f"{path}.{name}" if path else str(name), seen)
    return found


def table_of(case: Case) -> dict[str, tuple[str, float]]:
    """What each array belongs to, `"row"` or `"particle"`, and its bytes for each of them."""
    engine = Ours(case)
    engine.step()
    simulation = engine.simulation
    held = {"model": simulation.model, "state": simulation.state, "workspace": simulation._bound}
    held["simulation"] = getattr(simulation, "_member_list", [])
    rows = simulation.model.blocks["distance"].row_count
    table = {}
    for path, array in arrays_of(held).items():
        by_row = len(array) == rows or ("hierarchy" not in path and array.size >= rows and ".blocks." in path)
        kind, count = ("row", rows) if by_row else ("particle", len(simulation.model.slots))
        table[path] = kind, array.nbytes / count
    return table


def bytes_of(case: Case) -> tuple[float, float, str]:
    """Bytes for each distance row and for each particle, and the arrays of particles by size."""
    table = table_of(case)
    particles = {path: size for path, (kind, size) in table.items() if kind == "particle"}
    largest = sorted(particles.items(), key=lambda item: -item[1])
    parts = ", ".join(f"{path.removeprefix('workspace.')} {size:.0f}" for path, size in largest if size >= 1.5)
    return sum(size for kind, size in table.values() if kind == "row"), sum(particles.values()), parts


if __name__ == "__main__":
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    for path, (kind, size) in sorted(table_of(Case(n)).items(), key=lambda item: -item[1][1]):
        print(f"{size:8.2f} B per {kind:<9} {path}")
