"""Time and memory of writing a run: `python benchmarks/exchange.py [SUFFIX ...]`, by default in every format below.

A waving sheet of 100k vertices, 60 frames, written five times; the least time of all frames and of finishing the file,
with the bytes on the disk (fsync), but without making the frames. Then the most memory of a process that writes 60 and
one that writes 600 frames: all of it, and what is its own (anonymous), without pages of files that the system may
take back. glTF is for short clips: 60 frames of 10k vertices.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from shinari.geometry.topology import grid
from shinari.io.results import DrawnPart, Frame, Layout
from shinari.output.writers import open_writer

FRAMES, LONG, RUNS = 60, 600, 5


def sheet(suffix: str) -> tuple[np.ndarray, Layout]:
    """Vertices (V, 3) of a sheet and its layout."""
    side = 100 if suffix == ".glb" else 317
    vertices, faces = grid(shape=(side, side), size=(2.0, 2.0))
    count = len(vertices)
    return vertices.astype(np.float32), Layout(
        (DrawnPart("sheet", "mesh", 0, count, faces, cloth=True),), (), count, 60.0
    )


def write(path: Path, frames: int) -> float:
    """Seconds that the writer takes for so many frames."""
    vertices, layout = sheet(path.suffix)
    none, turns = np.zeros((0, 3)), np.zeros((0, 4))
    taken = 0.0
    writer = open_writer(path, layout)
    for index in range(frames):
        points, velocities = vertices.copy(), np.zeros_like(vertices)
        points[:, 1] = 0.05 * np.sin(8.0 * vertices[:, 0] + 0.1 * index)
        velocities[:, 1] = 0.3 * np.cos(8.0 * vertices[:, 0] + 0.1 * index)
        frame = Frame(index / 60.0, points, velocities, none, turns, none, none)
        begun = time.perf_counter()
        writer.write(frame)
        taken += time.perf_counter() - begun
    begun = time.perf_counter()
    writer.close()
    return taken + time.perf_counter() - begun


def memory(suffix: str, frames: int) -> tuple[int, int]:
    """Most memory [MB] of a process that writes so many frames: all of it, and its own."""
    words = [sys.executable, __file__, "--measure", suffix, str(frames)]
    total, own = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return int(total), int(own)


def measure(suffix: str, frames: int) -> None:
    """Write once and print the most memory of this process [MB], Linux only."""
    most = {"VmRSS": 0, "RssAnon": 0}

    def watch() -> None:
        while True:
            for line in Path("/proc/self/status").read_text().splitlines():
                name, _, value = line.partition(":")
                if name in most:
                    most[name] = max(most[name], int(value.split()[0]) // 1000)
            time.sleep(0.02)

    threading.Thread(target=watch, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder) / f"run{suffix}", frames)
    print(*most.values())


def main() -> None:
    """Print the table."""
    if "--measure" in sys.argv:
        measure(sys.argv[2], int(sys.argv[3]))
        return
    heading = f"memory [MB], own: {FRAMES} and {LONG} frames"
    print(f"{'':8s}{'vertices':>10s}{f'{FRAMES} frames [s]':>16s}{'file [MB]':>12s}   {heading}")
    for suffix in sys.argv[1:] or [".usdc", ".pc2", ".mdd", ".vtkhdf", ".ply", ".glb"]:
        long = 240 if suffix == ".glb" else LONG
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"run{suffix}"
            least = min(write(path, FRAMES) for _ in range(RUNS))
            size = sum(file.stat().st_size for file in Path(folder).iterdir())
        found = [f"{total} ({own})" for total, own in (memory(suffix, count) for count in (FRAMES, long))]
        count = sheet(suffix)[1].particle_count
        print(f"{suffix:8s}{count:10d}{least:16.2f}{size / 1e6:12.0f}   {'   '.join(found)}", flush=True)


if __name__ == "__main__":
    main()
