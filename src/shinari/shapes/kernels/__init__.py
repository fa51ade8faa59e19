"""What kernels call of shapes: helpers that several shapes share, and the dispatch over kinds."""
