"""File formats: scene files, checkpoints, robots, frames of a run and their readers.

Formats of frames are entered in `shinari.output.writers`. Mesh files are read and written by `shinari.geometry.files`.
"""
