"""Parts as the formats hold them that know one mesh whose vertices move: PC2, MDD and the morph targets of glTF.

A mesh of that kind keeps its faces. A triangle or a segment that is there in some frames only can still be shown: it
gets vertices of its own, and lies in one point, its first corner, while it is not there.
"""

import os
from dataclasses import dataclass

import numpy as np

from shinari.check import short
from shinari.errors import FileError
from shinari.io.results import DrawnPart, Layout, part_color


@dataclass(frozen=True, eq=False)
class AnimatedMesh:
    """A part with the points that its cells use.

    Attributes:
        part: The part.
        rows: Its points in a frame, shape (n,): all of a curve, the first of a closed one again at its end, or of
            points, and of a mesh those of its triangles; the particles inside of a soft body are left out.
        cells: Indices into `rows`: triangles (F, 3) of a mesh, segments (S, 2) of a curve that can tear; (0, 3) for
            the others.
        color: Red, green and blue in 0..1.
        there: Which of `Frame.drawn` say whether a point is at its place, shape (n,); None: it always is.
        else_rows: The points in a frame where it is otherwise, shape (n,).
    """

    part: DrawnPart
    rows: np.ndarray
    cells: np.ndarray
    color: tuple[float, float, float]
    there: np.ndarray | None = None
    else_rows: np.ndarray | None = None

    @property
    def name(self) -> str:
        """Name of the part."""
        return self.part.name

    @property
    def kind(self) -> str:
        """Kind of the part."""
        return self.part.kind

    @property
    def count(self) -> int:
        """Number n of its points."""
        return len(self.rows)

    def rows_of(self, drawn: np.ndarray) -> np.ndarray:
        """Its points in a frame that draws this, shape (n,)."""
        if self.there is None or self.else_rows is None:
            return self.rows
        return np.where(drawn[self.there], self.rows, self.else_rows)


def animated_meshes(path: str | os.PathLike, layout: Layout, drawn: np.ndarray | None = None) -> list[AnimatedMesh]:
    """The parts of a layout.

    Args:
        path: File that is going to be written, for the message.
        layout: The layout.
        drawn: What frames draw, shape (T, H), for a format in which triangles and segments may vanish into a point;
            None: for one in which they may not.

    Raises:
        FileError: A part tears and must not, or is a fluid that flows in or out.
    """
    result, varying = [], layout.varying
    for index, part in enumerate(layout.parts):
        if part.varies and (part.kind == "points" or drawn is None):
            what = "a fluid that flows in or out" if part.fluid else "an object that can tear"
            raise FileError(
                f"{path}: {short(part.name)} is {what}, and {os.path.splitext(path)[1]} holds meshes whose faces and "
                "points stay the same: use .usdc, .ply, .vtkhdf or .npz"
            )
        color = part_color(index)
        if part.varies and drawn is not None:
            result.append(_torn(part, color, varying[part.name], drawn))
            continue
        rows, cells = part.line, np.zeros((0, 3), np.int32)
        if part.faces is not None:
            rows, cells = _used(np.asarray(part.faces) + part.start)
        result.append(AnimatedMesh(part, rows, cells, color))
    return result


def _torn(part: DrawnPart, color: tuple[float, float, float], where: slice, drawn: np.ndarray) -> AnimatedMesh:
    """A part whose triangles or segments are there in some frames only."""
    seen = np.asarray(drawn[:, where])
    always, ever = seen.all(axis=0), seen.any(axis=0)
    if part.faces is None:
        cells = np.arange(part.start, part.stop - 1)[:, None] + np.arange(2)
    else:
        cells = np.asarray(part.faces, np.int64) + part.start
    rows, kept = _used(cells[always])
    which = np.flatnonzero(ever & ~always)
    own = len(rows) + np.arange(which.size * cells.shape[1], dtype=np.int32).reshape(-1, cells.shape[1])
    # a point that is always at its place asks for any triangle that always is there
    there = np.concatenate([np.full(len(rows), always.argmax() if len(rows) else 0), np.repeat(which, cells.shape[1])])
    return AnimatedMesh(
        part,
        np.concatenate([rows, cells[which].ravel()]),
        np.concatenate([kept, own]),
        color,
        there + where.start,
        np.concatenate([rows, np.repeat(cells[which, 0], cells.shape[1])]),
    )


def _used(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The points (n,) that cells use, and the cells as indices into these."""
    rows, corners = np.unique(cells, return_inverse=True)
    return rows.astype(np.int64), corners.reshape(cells.shape).astype(np.int32)
