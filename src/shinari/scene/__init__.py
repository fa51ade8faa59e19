"""The scene and what can be put in it."""
