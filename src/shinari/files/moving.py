"""Parts as the formats hold them that know one mesh whose vertices move: PC2, MDD and the morph targets of glTF."""

import os
from dataclasses import dataclass

import numpy as np

from shinari.errors import FileError
from shinari.files.results import Layout, part_color


@dataclass(frozen=True, eq=False)
class Moving:
    """A part with the points that its cells use.

    Attributes:
        name: Name of the part.
        kind: `"mesh"`, `"curve"` or `"points"`.
        rows: Its points in a frame, shape (n,): all of a curve or of points, and of a mesh those of its triangles; the
            particles inside of a soft body are left out.
        faces: Triangles of a mesh, indices into `rows`, shape (F, 3); (0, 3) for the others.
        color: Red, green and blue in 0..1.
    """

    name: str
    kind: str
    rows: np.ndarray
    faces: np.ndarray
    color: tuple[float, float, float]

    @property
    def count(self) -> int:
        """Number n of its points."""
        return len(self.rows)


def moving_parts(path: str | os.PathLike, layout: Layout) -> list[Moving]:
    """The parts of a layout.

    Args:
        path: File that is going to be written, for the message.
        layout: The layout.

    Raises:
        FileError: A part tears, or is a fluid that flows in or out: its cells are not the same in every frame.
    """
    result = []
    for index, part in enumerate(layout.parts):
        if part.varies:
            what = "a fluid that flows in or out" if part.fluid else "a thing that can tear"
            raise FileError(
                f"{path}: {part.name!r} is {what}, and {os.path.splitext(path)[1]} holds meshes whose faces and points "
                "stay the same: use .usdc, .ply, .vtkhdf or .npz"
            )
        rows, faces = np.arange(part.start, part.stop), np.zeros((0, 3), np.int32)
        if part.faces is not None:
            used, corners = np.unique(part.faces, return_inverse=True)
            rows, faces = rows[used.astype(np.int64)], corners.reshape(-1, 3).astype(np.int32)
        result.append(Moving(part.name, part.kind, rows, faces, part_color(index)))
    return result
