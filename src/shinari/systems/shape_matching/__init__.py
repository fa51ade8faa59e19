"""Shape matching: clusters of particles that keep, or only slowly change, their shape."""
