"""Opens the writer that a file name asks for.

Every format keeps the same promises: whether the file can be written is found out when it is opened, before a long run
starts; a file of that name is replaced only by a whole one; fewer frames than planned (Ctrl-C) make a valid file. After
a run that failed or was killed, the frames so far are there under a partial name:

| format | the run failed | the run was killed, or the disk is full |
|---|---|---|
| `.npz` | `name.partial.npz` | `name.partial.npz.npy`, for `numpy.load` |
| `.usdc`, `.usda`, `.html`, `.glb`, `.png`, `.jpg`, `.mp4`, `.gif` | alike | alike |
| `.ply` | folder `name.partial/` | folder `name.partial/` |
| `.pc2` | folder `name.partial.pc2/` | folder `name.partial.pc2/` |
| `.mdd` | folder `name.partial.mdd/` | folder `name.partial.mdd/`, as `.pc2` |
| `.vtkhdf` | `name.partial.vtkhdf` | `name.partial.vtkhdf` |

A run without a frame makes no file.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass

from shinari import check
from shinari.errors import FileError, require
from shinari.io.frame_queue import Convert, FrameQueueWriter
from shinari.io.gltf import GlbWriter
from shinari.io.mdd import MddWriter
from shinari.io.npz import write_npz
from shinari.io.pc2 import Pc2Writer
from shinari.io.ply import PlyWriter
from shinari.io.results import Layout, Writer
from shinari.io.usd import write_usd
from shinari.io.vtkhdf import VtkhdfWriter
from shinari.view.html import write_html


@dataclass(frozen=True)
class Format:
    """A format that a run can be written in.

    Attributes:
        description: What it is for, in a few words.
        open: Makes the writer: path, layout, title.
        requires: Module and extra it needs beyond the core, None when nothing.
        measured: Whether it keeps strains, forces and measures.
    """

    description: str
    open: Callable[[str | os.PathLike, Layout, str], Writer]
    requires: tuple[str, str] | None = None
    measured: bool = False


def _queued(convert: Convert) -> Callable[[str | os.PathLike, Layout, str], Writer]:
    return lambda path, layout, title: FrameQueueWriter(path, layout, convert, title=title)


def _usd(path: str | os.PathLike, layout: Layout, title: str) -> Writer:
    """USD takes names of files in UTF-8 alone, which is found out before a run and not after it."""
    try:
        os.path.realpath(path).encode()
    except UnicodeEncodeError as error:
        raise FileError(f"{path}: its path is not in UTF-8, and USD takes no other") from error
    return FrameQueueWriter(path, layout, write_usd, title=title)


def _drawn(name: str) -> Callable[[str | os.PathLike, Layout, str], Writer]:
    """A function of `shinari.view.render` that draws the frames when the run is over; whether it can is asked now."""

    def open_drawn(path: str | os.PathLike, layout: Layout, title: str) -> Writer:
        from shinari.view import offscreen, render

        require("av", "render")
        offscreen.window_class()
        return FrameQueueWriter(path, layout, getattr(render, name), title=title)

    return open_drawn


FORMATS: dict[str, Format] = {
    ".npz": Format("arrays for NumPy", _queued(write_npz), measured=True),
    ".ply": Format("a sequence of meshes, one file a frame", lambda p, la, t: PlyWriter(p, la, title=t)),
    ".usdc": Format("Universal Scene Description, binary", _usd, ("pxr", "usd")),
    ".usda": Format("Universal Scene Description, text", _usd, ("pxr", "usd")),
    ".glb": Format("glTF with morph targets, for short clips", lambda p, la, t: GlbWriter(p, la, title=t)),
    ".pc2": Format("point caches for Blender and 3ds Max", lambda p, la, t: Pc2Writer(p, la, title=t)),
    ".mdd": Format("point caches for Blender and Houdini", lambda p, la, t: MddWriter(p, la, title=t)),
    ".html": Format("a player for any browser", _queued(write_html), ("viser", "view")),
    ".png": Format("the last frame as a picture", _drawn("write_picture"), ("pyvista", "render")),
    ".jpg": Format("the last frame as a smaller picture", _drawn("write_picture"), ("pyvista", "render")),
    ".mp4": Format("a video", _drawn("write_video"), ("pyvista", "render")),
    ".gif": Format("a video that every page shows", _drawn("write_video"), ("pyvista", "render")),
    ".vtkhdf": Format(
        "a cache for ParaView", lambda p, la, t: VtkhdfWriter(p, la, title=t), ("h5py", "cache"), measured=True
    ),
}
"""The formats by extension; the command line lists the same."""


def open_writer(path: str | os.PathLike, layout: Layout, *, title: str = "") -> Writer:
    """Open a file for the frames of a run; the extension chooses the format.

    Args:
        path: File to write; its folder is made when missing. `name.ply` stands for `name_0000.ply`,
            `name_0001.ply`, ...
        layout: What the frames hold.
        title: One line about the run, kept in the file where the format has a place for it.

    Raises:
        FileError: The extension is unknown, or nothing can be written there.
        MissingExtraError: The format needs an extra that is not installed.
    """
    path = check.path("writer", "path", path)
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise FileError(f"{path}: unknown extension {check.short(suffix)}, expected one of {', '.join(FORMATS)}")
    chosen = FORMATS[suffix]
    if chosen.requires is not None:
        require(*chosen.requires)
    return chosen.open(path, layout, title)
