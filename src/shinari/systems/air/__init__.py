"""Wind and drag on triangles."""
