"""The JSON document of glTF 2.0, as far as shapes and motions go: materials, pictures and cameras are never looked at.

Khronos Group 2021, glTF 2.0 Specification, chapters 3 and 5.
"""

from typing import Annotated, Any

from msgspec import Meta, Struct, field

Index = Annotated[int, Meta(ge=0)]
Numbers = list[float]


class Buffer(Struct, rename="camel"):
    """Bytes in a file, in a data URI, or in the binary chunk."""

    byte_length: Annotated[int, Meta(ge=1)]
    uri: str | None = None


class BufferView(Struct, rename="camel"):
    """A part of a buffer; rows may lie `byte_stride` apart."""

    buffer: Index
    byte_length: Annotated[int, Meta(ge=1)]
    byte_offset: Index = 0
    byte_stride: Annotated[int, Meta(ge=1, le=252)] | None = None


class SparseIndices(Struct, rename="camel"):
    """Rows that differ."""

    buffer_view: Index
    component_type: int
    byte_offset: Index = 0


class SparseValues(Struct, rename="camel"):
    """Values of the rows that differ."""

    buffer_view: Index
    byte_offset: Index = 0


class Sparse(Struct, rename="camel"):
    """Rows of an accessor that differ from its buffer view, or from zero."""

    count: Annotated[int, Meta(ge=1)]
    indices: SparseIndices
    values: SparseValues


class Accessor(Struct, rename="camel"):
    """An array: `count` rows of a type in a buffer view; without one, zeros."""

    component_type: int
    count: Annotated[int, Meta(ge=1)]
    type: str
    buffer_view: Index | None = None
    byte_offset: Index = 0
    normalized: bool = False
    sparse: Sparse | None = None


class Primitive(Struct, rename="camel"):
    """Triangles with attributes at their corners; each target has changes of the positions."""

    attributes: dict[str, Index]
    indices: Index | None = None
    mode: int = 4
    targets: list[dict[str, Index]] = field(default_factory=list)
    extensions: dict[str, Any] = field(default_factory=dict)


class Mesh(Struct, rename="camel"):
    """Primitives, and the weights of their morph targets."""

    primitives: list[Primitive]
    weights: Numbers | None = None
    name: str = ""


class Node(Struct, rename="camel"):
    """A frame of reference in that of its parent, and the mesh that it places."""

    children: list[Index] = field(default_factory=list)
    mesh: Index | None = None
    skin: Index | None = None
    matrix: Annotated[Numbers, Meta(min_length=16, max_length=16)] | None = None
    translation: Annotated[Numbers, Meta(min_length=3, max_length=3)] = field(default_factory=lambda: [0.0] * 3)
    rotation: Annotated[Numbers, Meta(min_length=4, max_length=4)] = field(default_factory=lambda: [0.0, 0.0, 0.0, 1.0])
    scale: Annotated[Numbers, Meta(min_length=3, max_length=3)] = field(default_factory=lambda: [1.0] * 3)
    weights: Numbers | None = None
    name: str = ""
    extensions: dict[str, Any] = field(default_factory=dict)


class Skin(Struct, rename="camel"):
    """Nodes that carry vertices, and for each the matrix from the mesh to it in the pose of binding."""

    joints: Annotated[list[Index], Meta(min_length=1)]
    inverse_bind_matrices: Index | None = None
    name: str = ""


class Target(Struct):
    """Property of a node that a channel animates."""

    path: str
    node: Index | None = None


class Channel(Struct):
    """A sampler for a property."""

    sampler: Index
    target: Target


class Sampler(Struct):
    """Times, and values at them."""

    input: Index
    output: Index
    interpolation: str = "LINEAR"


class Animation(Struct):
    """Channels that play together."""

    channels: list[Channel]
    samplers: list[Sampler]
    name: str = ""


class Scene(Struct):
    """Nodes without parents."""

    nodes: list[Index] = field(default_factory=list)


class Asset(Struct):
    """Version of the format."""

    version: str


class Document(Struct, rename="camel"):
    """A whole file."""

    asset: Asset
    scene: Index | None = None
    scenes: list[Scene] = field(default_factory=list)
    nodes: list[Node] = field(default_factory=list)
    meshes: list[Mesh] = field(default_factory=list)
    skins: list[Skin] = field(default_factory=list)
    animations: list[Animation] = field(default_factory=list)
    accessors: list[Accessor] = field(default_factory=list)
    buffer_views: list[BufferView] = field(default_factory=list)
    buffers: list[Buffer] = field(default_factory=list)
    extensions_used: list[str] = field(default_factory=list)
    extensions_required: list[str] = field(default_factory=list)
