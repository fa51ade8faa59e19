"""Whether VTK can draw on this machine without a screen, found out before it is asked to.

VTK draws through EGL or OSMesa, libraries of the system that a Python package cannot bring. Where neither is there,
VTK 9.7 does not raise an error: it ends the process with a segmentation fault at the first picture. So a process of its
own draws a first one.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

from shinari.errors import MissingExtraError

VARIABLE = "VTK_DEFAULT_OPENGL_WINDOW"
"""Variable of the environment in which VTK looks which class of window it is to make."""
WINDOWS = {"vtkEGLRenderWindow": "EGL", "vtkOSOpenGLRenderWindow": "OSMesa"}
"""Classes of windows that need no display, best first, and their libraries."""
X_WINDOW = "vtkXOpenGLRenderWindow"
PACKAGES = "libegl1 libgl1-mesa-dri (or libosmesa6)"
"""What brings them in Debian and Ubuntu."""

_TRIAL = """
import vtkmodules.vtkRenderingOpenGL2
from vtkmodules.vtkRenderingCore import vtkRenderer, vtkRenderWindow
window = vtkRenderWindow()
window.SetShowWindow(False)
window.SetOffScreenRendering(True)
window.SetSize(8, 8)
window.AddRenderer(vtkRenderer())
window.Render()
print(window.GetClassName(), window.SupportsOpenGL())
"""


@cache
def window_class() -> str | None:
    """Class of VTK's window that draws without a screen here; None leaves the choice to VTK (not on Linux).

    Raises:
        MissingExtraError: There is none; the message names the packages.
    """
    asked = os.environ.get(VARIABLE)
    if asked is None and sys.platform != "linux":
        return None
    chosen = [asked] if asked else [*WINDOWS, *([X_WINDOW] if os.environ.get("DISPLAY") else [])]
    for name in chosen:
        if draws(name):
            return name
    tried = ", ".join(WINDOWS.get(name, name) for name in chosen)
    raise MissingExtraError(
        f"no picture can be drawn here without a screen (tried {tried}): VTK needs EGL or OSMesa, which come with the "
        f"system: apt-get install {PACKAGES}"
    )


def draws(name: str) -> bool:
    """Whether a window of this class draws, tried in a process of its own."""
    environment = {**os.environ, VARIABLE: name}
    trial = subprocess.run([sys.executable, "-c", _TRIAL], env=environment, capture_output=True, text=True)
    return trial.returncode == 0 and trial.stdout.split() == [name, "1"]


@contextmanager
def window_chosen() -> Iterator[None]:
    """While it lasts, VTK makes windows of the class that draws here.

    Raises:
        MissingExtraError: There is none.
    """
    name, before = window_class(), os.environ.get(VARIABLE)
    if name is not None:
        os.environ[VARIABLE] = name
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before
