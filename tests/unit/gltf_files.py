"""Small glTF files, put together from arrays."""

import base64
import json
from typing import Any

import numpy as np

TYPES = {1: "SCALAR", 3: "VEC3", 4: "VEC4", 16: "MAT4"}
CODES = {"i1": 5120, "u1": 5121, "i2": 5122, "u2": 5123, "u4": 5125, "f4": 5126}


class GltfBuilder:
    """A document and the bytes of its one buffer.

    Attributes:
        tree: The document; tests change it.
    """

    def __init__(self) -> None:
        self.data = b""
        names = ("nodes", "meshes", "skins", "animations", "accessors", "bufferViews")
        self.tree: dict[str, Any] = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}]}
        self.tree |= {name: [] for name in names}

    def view(self, values: np.ndarray) -> int:
        """Add a buffer view; its number."""
        self.data += b"\0" * (-len(self.data) % 4)
        self.tree["bufferViews"].append({"buffer": 0, "byteOffset": len(self.data), "byteLength": values.nbytes})
        self.data += values.tobytes()
        return len(self.tree["bufferViews"]) - 1

    def array(self, values: Any, kind: str = "f4", *, normalized: bool = False) -> int:
        """Add an accessor; its number."""
        values = np.asarray(values, f"<{kind}")
        width = int(np.prod(values.shape[1:], dtype=int))
        accessor = {"bufferView": self.view(values), "componentType": CODES[kind], "count": len(values)}
        self.tree["accessors"].append(accessor | {"type": TYPES[width], "normalized": normalized})
        return len(self.tree["accessors"]) - 1

    def mesh(self, vertices: Any, faces: Any, **attributes: int) -> int:
        """Add a mesh of one primitive; its number."""
        primitive = {"attributes": {"POSITION": self.array(vertices)} | attributes}
        primitive["indices"] = self.array(np.ravel(faces), "u2")
        self.tree["meshes"].append({"primitives": [primitive], "name": f"mesh_{len(self.tree['meshes'])}"})
        return len(self.tree["meshes"]) - 1

    def node(self, **fields: Any) -> int:
        """Add a node; its number."""
        self.tree["nodes"].append(fields)
        return len(self.tree["nodes"]) - 1

    def animate(self, node: int, path: str, times: Any, output: int | Any, interpolation: str = "LINEAR") -> None:
        """Add a channel to the last animation, or to a first one."""
        if not self.tree["animations"]:
            self.tree["animations"].append({"channels": [], "samplers": [], "name": "move"})
        clip = self.tree["animations"][-1]
        output = output if isinstance(output, int) else self.array(output)
        clip["samplers"].append({"input": self.array(times), "output": output, "interpolation": interpolation})
        clip["channels"].append({"sampler": len(clip["samplers"]) - 1, "target": {"node": node, "path": path}})

    def save(self, path: Any, buffer: str = "embedded") -> Any:
        """Write `.gltf` with its buffer embedded or in a file of that name, or `.glb`; the path."""
        tree = {key: value for key, value in self.tree.items() if value != []}
        tree["buffers"] = [{"byteLength": len(self.data)}]
        if path.suffix == ".glb":
            text = json.dumps(tree).encode()
            text += b" " * (-len(text) % 4)
            data = self.data + b"\0" * (-len(self.data) % 4)
            size = (28 + len(text) + len(data)).to_bytes(4, "little")
            head = b"glTF\2\0\0\0" + size + len(text).to_bytes(4, "little") + b"JSON"
            path.write_bytes(head + text + len(data).to_bytes(4, "little") + b"BIN\0" + data)
            return path
        embedded = "data:application/octet-stream;base64," + base64.b64encode(self.data).decode()
        tree["buffers"][0]["uri"] = embedded if buffer == "embedded" else buffer
        if buffer != "embedded":
            (path.parent / buffer).write_bytes(self.data)
        path.write_text(json.dumps(tree))
        return path
