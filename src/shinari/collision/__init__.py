"""Detection of contacts between shapes and points, and the law of contact; it knows no scene and no model."""
