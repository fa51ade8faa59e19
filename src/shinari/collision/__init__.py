"""Detection of contacts between shapes and points, and the law of contact; independent of scenes and models."""
