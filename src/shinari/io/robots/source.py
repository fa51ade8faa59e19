"""A robot file as text that MuJoCo may parse: nothing in it names a file any more.

Included files are put in their place, and meshes become assets in memory with names of our own, so that no path in the
file is ever opened by the parser. A file from outside can name no file beyond its folder and its packages.
"""

import posixpath
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree.ElementTree import Element

from shinari.errors import FileError
from shinari.io.robots.files import Files
from shinari.io.robots.meshes import readable
from shinari.io.robots.xml import write


@dataclass
class Source:
    """A robot file, read.

    Attributes:
        path: The file.
        files: Finds what it names.
        root: Its elements, for MuJoCo.
        urdf: Whether it is URDF, else MJCF.
        assets: Meshes and models that the text names.
        fixed: Name of the joint that fixes a link to its parent, by the name of the link; MuJoCo forgets it.
        mimics: Of each joint that follows another its name, the ratio and the offset.
        fastest: Speed limit of each joint that has one [rad/s or m/s].
        colours: Colour of each visual of each link of a URDF.
        skipped: What was left out, in words.
        repaired: What was changed to what it must have meant, in words.
        names: The asset of each file of a mesh.
        shells: Meshes that enclose no volume, by name: their mass is that of their surface.
        written: Meshes that were written anew, since MuJoCo could not read them, by the names of their assets.
        no_ranges: Whether lengths of muscles are not sought, since they cannot be found.
        balanced: Whether moments of inertia that no body has are averaged.
    """

    path: Path
    files: Files
    root: Element
    urdf: bool = False
    assets: dict[str, bytes] = field(default_factory=dict)
    fixed: dict[str, str] = field(default_factory=dict)
    mimics: dict[str, tuple[str, float, float]] = field(default_factory=dict)
    fastest: dict[str, float] = field(default_factory=dict)
    colours: dict[str, list[tuple[float, ...] | None]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)
    names: dict[Path, str] = field(default_factory=dict)
    shells: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    no_ranges: bool = False
    balanced: bool = False

    def skip(self, what: str) -> None:
        """List an element as left out; the same one many times once."""
        if what not in self.skipped:
            self.skipped.append(what)

    def repair(self, what: str) -> None:
        """Add to what was repaired, once."""
        if what not in self.repaired:
            self.repaired.append(what)

    @property
    def text(self) -> tuple[str, dict[int, Element]]:
        """Text for MuJoCo, and the element that starts on each of its lines."""
        try:
            return write(self.root)
        except RecursionError:
            raise FileError(f"{self.path}: its elements are nested too deep") from None


def add_mesh(source: Source, tag: str, name: str, folder: str = "") -> str:
    """Name of the asset that a mesh becomes; a file that is named twice is one.

    Raises:
        FileError: It cannot be read, or lies outside of the folders that may be read.
    """
    place = source.files.find(tag, name, folder)
    if place not in source.names:
        data = source.files.read(tag, name, folder)
        try:
            suffix, data = readable(place, posixpath.splitext(name)[1].lower(), data)
        except FileError as error:
            raise FileError(f"{source.path}: <{tag}>: {error}") from error
        asset = f"asset_{len(source.assets)}{suffix}"
        source.assets[asset], source.names[place] = data, asset
    return source.names[place]
