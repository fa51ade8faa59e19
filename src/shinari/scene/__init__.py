"""The scene and its objects."""
