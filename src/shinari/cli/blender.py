"""`shinari blender`: the extension for Blender as a zip."""

import sys
import zipfile
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from shinari.blender.baking import PYTHON_FILE
from shinari.partial_files import check_target

FILES = (
    "__init__.py",
    "baking.py",
    "blender_manifest.toml",
    "import_run.py",
    "objects.py",
    "panel.py",
    "scene_folder.py",
)


def blender(
    *,
    output: Annotated[Path, Parameter(alias="-o")] = Path("shinari_blender.zip"),
    portable: Annotated[bool, Parameter(negative=())] = False,
) -> None:
    """Write the extension for Blender 4.2 and newer as a zip: drop it on a window of Blender.

    Args:
        output: File to write.
        portable: Leave out where the Python of this command is, which bakes unless the preferences say another.
    """
    target = check_target(output)
    folder = Path(__file__).parents[1] / "blender"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in FILES:
            archive.write(folder / name, name)
        if not portable:
            archive.writestr(PYTHON_FILE, sys.executable)
    print(f"shinari: wrote {target}: drop it on Blender; its panel is in the sidebar of the 3D view", file=sys.stderr)
