"""MDD point cache: the vertices of one mesh in every frame, for Blender, Houdini, LightWave and Modo.

    int32 samples, int32 points
    float32 time [s] of each sample
    float32 x y z [m] of each point of the first sample, then of the next; all big-endian

The files are named as those of `shinari.io.pc2`: `cloth.mdd`, `cloth_<part>.mdd`, ..., each with its mesh
`cloth.mdd.obj`. The times stand before the points, so that the format cannot grow: the frames are kept as PC2 in the
folder `cloth.partial.mdd/`, where a run that is killed leaves them, and become MDD when the run is over.
"""

import os
import struct
from pathlib import Path

import numpy as np

from shinari.io.pc2 import HEADER, CachedMesh, Pc2Writer
from shinari.io.results import Frame, Layout

CHUNK = 2**22
"""Numbers that are turned around at a time."""


class MddWriter(Pc2Writer):
    """Writes the point caches of a run: as PC2 while it goes on, as MDD at the end."""

    def __init__(self, path: str | os.PathLike, layout: Layout, *, title: str = "") -> None:
        super().__init__(path, layout, title=title)
        self._times: list[float] = []

    def _append(self, frame: Frame) -> None:
        super()._append(frame)
        self._times.append(frame.time)

    def _cache(self, mesh: CachedMesh) -> Path:
        return self._folder / f"{mesh.name}.pc2"

    def _whole(self) -> list[Path]:
        for mesh in self._meshes:
            cache = self._cache(mesh)
            write_mdd(cache, cache.with_suffix(self.path.suffix), mesh.count, np.array(self._times))
            cache.unlink()
        return super()._whole()


def write_mdd(pc2: Path, mdd: Path, count: int, times: np.ndarray) -> None:
    """Turn a PC2 file into an MDD file.

    Args:
        pc2: File to read.
        mdd: File to write.
        count: Number of points.
        times: Times of the samples [s], shape (T,).
    """
    with pc2.open("rb") as source, mdd.open("wb") as target:
        target.write(struct.pack(">ii", len(times), count))
        target.write(times.astype(">f4").tobytes())
        source.seek(HEADER.size)
        for first in range(0, 3 * count * len(times), CHUNK):
            values = np.fromfile(source, "<f4", min(CHUNK, 3 * count * len(times) - first))
            target.write(values.astype(">f4").tobytes())
