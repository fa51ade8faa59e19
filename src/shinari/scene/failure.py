"""How a material fails: where it tears, and where it flows."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError


@dataclass(frozen=True)
class Failure:
    """Strains at which rows break, and at which they change their rest shape.

    Attributes:
        tear_strain: Strain above which a row breaks for good; infinity: never.
        yield_strain: Strain above which the rest shape follows; infinity: never.
        creep: Rate at which strain beyond the yield becomes plastic [1/s]; infinity: at once.
        plastic_limit: Strain of the rest shape at which it stops to flow.
    """

    tear_strain: float = np.inf
    yield_strain: float = np.inf
    creep: float = np.inf
    plastic_limit: float = np.inf


FIELDS = tuple(field.name for field in fields(Failure))


def failure_of(material: Any) -> Failure | None:
    """The failure of a material; None when it neither tears nor flows."""
    values = {name: getattr(material, name) for name in FIELDS}
    if np.isinf(values["tear_strain"]) and np.isinf(values["yield_strain"]):
        return None
    return Failure(**values)


def check_failure(material: Any) -> None:
    """Check the fields of a frozen material that say how it fails, and make them floats.

    Raises:
        SceneError: One is not positive, or it would tear before it could flow.
    """
    label = type(material).__name__
    for name in FIELDS:
        value = check.number(label, name, getattr(material, name), above=0.0, infinite=True)
        object.__setattr__(material, name, value)
    if material.tear_strain < material.yield_strain < np.inf:
        raise SceneError(
            f"{label}: yield_strain: {material.yield_strain:g} is not below the tear_strain {material.tear_strain:g}: "
            f"it would tear before it could flow"
        )
