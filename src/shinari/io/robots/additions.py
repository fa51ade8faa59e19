"""Additions to a scene that happen as a whole."""

from collections.abc import Iterator
from contextlib import contextmanager

from shinari.api.scene import Scene


@contextmanager
def all_or_nothing(scene: Scene) -> Iterator[None]:
    """Everything is added, or nothing is."""
    lists = (scene.bodies, scene.joints, scene.tendons, scene.colliders)
    lists += (scene.particle_objects, scene.rows, scene.body_rows)
    lengths, handles, ignored = [len(items) for items in lists], dict(scene.handles), set(scene.ignored)
    pinned = set(scene.pinned)
    try:
        yield
    except BaseException:
        for items, length in zip(lists, lengths, strict=True):
            del items[length:]
        scene.handles, scene.ignored, scene.pinned, scene._positions = handles, ignored, pinned, None
        raise
