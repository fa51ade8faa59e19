"""Folders of systems read alike: models stand in `model.py`, systems in `system.py`."""

import ast
from pathlib import Path

import pytest

SYSTEMS = Path(__file__).parents[2] / "src" / "shinari" / "systems"
MODELS, SYSTEM = ("SystemModel", "PairModel"), ("System", "Pairs")
FOLDERS = sorted(path for path in SYSTEMS.iterdir() if (path / "__init__.py").exists())


def classes(path: Path, bases: tuple[str, ...]) -> list[str]:
    """Classes of a file that derive from one of some names."""
    return [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and any(isinstance(b, ast.Name) and b.id in bases for b in node.bases)
    ]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_models_and_systems_stand_where_they_are_looked_for(folder: Path) -> None:
    """A folder with several systems has a file for each further one; its model stands there, too, or in `model.py`."""
    found = []
    for path in sorted(folder.rglob("*.py")):
        models, systems = classes(path, MODELS), classes(path, SYSTEM)
        if path.name != "model.py" and (not systems or path.name == "system.py"):
            found += [f"{path.name}: {name}: belongs into model.py" for name in models]
    assert found == []
    if (folder / "model.py").exists():
        assert classes(folder / "model.py", MODELS)
        assert classes(folder / "system.py", SYSTEM)


def test_every_folder_has_a_layer() -> None:
    """A folder that the contract of layers does not list would be free to import everything."""
    text = (SYSTEMS.parents[2] / "pyproject.toml").read_text()
    contract = text[text.index("Systems know those beneath them only") :]
    assert "exhaustive = true" in contract
    assert all(f'{folder.name}"' in contract or f"{folder.name} " in contract for folder in FOLDERS)
