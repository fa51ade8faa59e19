"""Every notebook runs from a fresh kernel, its own assertions hold, and it draws.

With SHINARI_EXAMPLES_OUT the executed notebooks stay in that folder, in `notebooks`: the documentation shows them
(docs/_ext/notebooks.py).
"""

import os
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="nbclient and ipykernel come with the extra [test]")
nbclient = pytest.importorskip("nbclient", reason="nbclient and ipykernel come with the extra [test]")
pytest.importorskip("ipykernel", reason="nbclient and ipykernel come with the extra [test]")

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert [path.stem for path in NOTEBOOKS] == ["01_methods_compared", "02_fitting_a_drape", "03_robot_and_cloth"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_outputs_are_not_in_the_repository(path):
    notebook = nbformat.read(path, 4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    assert notebook.cells[0].source.startswith("# "), "the first cell has the title"


def run(path):
    """Outputs of the cells of a notebook, and the notebook with them."""
    notebook = nbformat.read(path, 4)
    client = nbclient.NotebookClient(
        notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    client.execute()
    return [output for cell in notebook.cells for output in cell.get("outputs", [])], notebook


def messages(outputs):
    """What was written to the error stream."""
    return [output.text for output in outputs if output.output_type == "stream" and output.name == "stderr"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
    # told once on a machine; readers see what comes after
    monkeypatch.setenv("SHINARI_QUIET", "1")
    outputs, notebook = run(path)
    pictures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert pictures, "it draws nothing"
    assert not messages(outputs), "a reader sees messages in the output"
    results = os.environ.get("SHINARI_EXAMPLES_OUT")
    folder = Path(results) / "notebooks" if results else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    nbformat.write(notebook, folder / path.name)
