"""Tetrahedra of a body: from its surface, or given."""

from shinari.build.quality import Quality, measure_quality
from shinari.build.tetra_check import boundary_faces, check_tetrahedra, orient

__all__ = ["Quality", "boundary_faces", "check_tetrahedra", "measure_quality", "orient"]
