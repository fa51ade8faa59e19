"""The notebooks, as the tests have executed them: nothing runs a second time.

They come from out/examples/notebooks, or that folder in SHINARI_EXAMPLES_OUT, where tests/unit/test_notebooks.py leaves
them, and go to docs/notebooks, which is not in the repository; MyST-NB shows them with their outputs.
"""

import os
import shutil
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
INDEX = """# Notebooks

Three notebooks of the folder `notebooks` of a checkout, with the outputs of the tests. Open them in Jupyter, change a
number, run them again.

"""

logger = logging.getLogger(__name__)


def write(app: Sphinx) -> None:
    """Copy the executed notebooks and write their index; one without outputs is a warning."""
    results = Path(os.environ.get("SHINARI_EXAMPLES_OUT", ROOT / "out" / "examples")) / "notebooks"
    folder = Path(app.srcdir) / "notebooks"
    folder.mkdir(exist_ok=True)
    names = []
    for source in sorted((ROOT / "notebooks").glob("*.ipynb")):
        executed, target = results / source.name, folder / source.name
        if not executed.is_file():
            logger.warning("notebooks: %s is not executed: make docs does it", source.name)
        chosen = executed if executed.is_file() else source
        if not target.exists() or target.read_bytes() != chosen.read_bytes():
            shutil.copyfile(chosen, target)
        names.append(source.stem)
    tree = "\n".join(["```{toctree}", ":maxdepth: 1", "", *names, "```", ""])
    index = folder / "index.md"
    if not index.exists() or index.read_text(encoding="utf-8") != INDEX + tree:
        index.write_text(INDEX + tree, encoding="utf-8")


def setup(app: Sphinx) -> dict:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
