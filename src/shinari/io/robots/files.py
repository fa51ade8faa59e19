"""Files that a robot file names: found beside it or in a package, never anywhere else."""

import os
import posixpath
import re
from pathlib import Path

from shinari import check
from shinari.errors import FileError
from shinari.input_files import read_bytes
from shinari.partial_files import reason

PACKAGES = ("package://", "model://")
SEARCH_PATH = "ROS_PACKAGE_PATH"
OF_DESCRIPTIONS = ("urdf", "mjcf", "xml", "robots")
"""Names of folders that by custom have the robot files of a package, with folders of its meshes beside them."""

LONGEST_PLACE = 400
"""Characters of a path in a message."""


class Files:
    """Finds and reads the files that a robot file names.

    A path is relative to the folder of the file, or absolute; of a file in a folder `urdf`, `mjcf`, `xml` or `robots`
    it may go to those beside that, `../meshes`, and it may begin with the name of a folder above. `package://NAME/rest`
    is `rest` in the folder that was given as the package; else in the nearest folder above the file that is called
    NAME, has a folder NAME in it or is the package NAME by its package.xml; else in the folders of ROS_PACKAGE_PATH.
    Nothing outside these folders is read, neither by `..` nor through a link.

    Args:
        path: The robot file.
        package: Folder for which `package://NAME` stands; None: it is sought.

    Attributes:
        package: As given.
    """

    def __init__(self, path: Path, package: Path | None) -> None:
        self._path, self.package = path, package
        self._folder = Path(os.path.realpath(path)).parent
        self._found: dict[str, Path | None] = {}

    def find(self, tag: str, name: str, folder: str = "") -> Path:
        """Path of a file that a tag names, relative to a folder beside the robot file.

        Raises:
            FileError: It lies outside of the folders that may be read, or its package is nowhere.
        """
        short = check.short(name)
        name = name.replace("\\", "/").removeprefix("file://")
        scheme = next((scheme for scheme in PACKAGES if name.startswith(scheme)), None)
        if scheme is not None:
            package, _, rest = name.removeprefix(scheme).lstrip("/").partition("/")
            base = self._folder_of(package)
            if base is None:
                raise FileError(
                    f"{self._path}: <{tag}>: the package {check.short(package)} of {short} is in no folder above the "
                    f"file and not in {SEARCH_PATH}; give load_robot(package=folder) or --package"
                )
        else:
            base, rest = self._folder, posixpath.join(folder, name)
            if ":" in rest:
                raise FileError(f"{self._path}: <{tag}>: cannot read {short}; expected a path beside the file")
        file = Path(os.path.realpath(base / posixpath.normpath(rest)))
        if scheme is None and not os.path.exists(file):  # unlike Path it takes names that are too long
            # a path that begins with the name of a folder above counts from where that folder is
            first, above = rest.partition("/")[0], (self._folder, *self._folder.parents)
            named = [folder for folder in above if folder.name == first]
            file = Path(os.path.realpath(named[0].parent / posixpath.normpath(rest))) if named else file
        allowed = [base, self._folder, *([] if self.package is None else [self.package])]
        if self._folder.name.lower() in OF_DESCRIPTIONS:
            allowed.append(self._folder.parent)
        if not any(file.is_relative_to(os.path.realpath(root)) for root in allowed):
            both = os.path.commonpath([self._folder, file])
            raise FileError(
                f"{self._path}: <{tag}>: names the file {short}, which lies outside the folder of the robot; where "
                f"it may be read, give load_robot(package={both!r}) or --package"
            )
        return file

    def read(self, tag: str, name: str, folder: str = "") -> bytes:
        """Bytes of a file that a tag names.

        Raises:
            FileError: It is not there, cannot be read, or lies outside of the folders that may be read.
        """
        file = self.find(tag, name, folder)
        try:
            return read_bytes(file)
        except (OSError, ValueError) as error:
            short, place = check.short(name), check.plain(str(file), LONGEST_PLACE, LONGEST_PLACE)
            raise FileError(
                f"{self._path}: <{tag}>: the file {short} cannot be read: {reason(error)}; put it at {place}"
            ) from error

    def _folder_of(self, name: str) -> Path | None:
        if self.package is not None:
            return self.package
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name]

    def _search(self, name: str) -> Path | None:
        if not re.fullmatch(r"[\w.-]+", name) or name.startswith("."):
            return None
        above = [self._folder, *self._folder.parents][:-1]
        for folder in above:
            if folder.name == name or _declares(folder / "package.xml", name):
                return folder
            if os.path.isdir(folder / name):
                return folder / name
        for root in os.environ.get(SEARCH_PATH, "").split(os.pathsep):
            if root and os.path.isabs(root):
                if os.path.isdir(Path(root) / name):
                    return Path(root) / name
                if Path(root).name == name and Path(root).is_dir():
                    return Path(root)
        return self._folder


def _declares(path: Path, name: str) -> bool:
    """Whether a package.xml is that of the package."""
    try:
        text = read_bytes(path).decode("utf-8", "replace")
    except (OSError, ValueError):
        return False
    return re.search(rf"<name>\s*{re.escape(name)}\s*</name>", text) is not None
