"""What all tables of a scene file are made of: bounds of numbers, and the refusal of unknown keys."""

from typing import Annotated

from msgspec import Meta, Struct

Positive = Annotated[float, Meta(gt=0)]
NonNegative = Annotated[float, Meta(ge=0)]
Ratio = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=1, le=2**31 - 1)]
Index = Annotated[int, Meta(ge=0, le=2**31 - 1)]
Name = Annotated[str, Meta(min_length=1)]
Vector = tuple[float, float, float]
Quaternion = tuple[float, float, float, float]
PositiveVector = tuple[Positive, Positive, Positive]
PerRow = NonNegative | list[NonNegative]


class Table(Struct, forbid_unknown_fields=True, kw_only=True):
    """Base of all tables: a key that is not known is an error."""
