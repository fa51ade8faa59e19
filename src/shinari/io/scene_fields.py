"""Fields that the tables of all objects of a scene file share: materials and pins."""

from typing import Any

import msgspec

from shinari.io.schema_objects import Pinned
from shinari.scene.handle import Handle


def material_of(kind: Any, table: Any) -> Any:
    """A material of a kind, from the name of a preset or from fields; None where the file is silent."""
    if table is None or isinstance(table, str):
        return None if table is None else kind.preset(table)
    given = {k: v for k, v in msgspec.structs.asdict(table).items() if v is not msgspec.UNSET}
    preset = given.pop("preset", None)
    return kind(**given) if preset is None else kind.preset(preset, **given)


def pin(handle: Handle, table: Pinned) -> None:
    """Fix the particles that a table says."""
    handle.pin(table.pin)
    handle.pin([handle.nearest(point) for point in table.pin_nearest])
