"""Rows of constraints with a fixed number of points: projection, batches, sweeps."""
