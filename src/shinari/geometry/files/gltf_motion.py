"""Motions in glTF: how values go from key to key, and where nodes are.

Khronos Group 2021, glTF 2.0 Specification, section 3.11 and appendix C. Shoemake 1985, Animating rotation with
quaternion curves: between two rotations the angle grows evenly, the shorter way round. Everything is computed for all
times at once.
"""

from dataclasses import dataclass

import numpy as np

from shinari import check
from shinari.geometry.files.gltf_document import Animation, Channel
from shinari.geometry.files.gltf_file import GltfFile

WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}
INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")


@dataclass(frozen=True)
class Curve:
    """Values at increasing times; for cubic splines the slopes before and after each, too.

    Attributes:
        times: Keys [s], (K,).
        values: (K, W), those of a rotation x y z w.
        slopes: Before and after each key [1/s], (2, K, W); None: the curve is no spline.
        steps: It jumps from key to key.
        turns: It is a rotation.
    """

    times: np.ndarray
    values: np.ndarray
    slopes: np.ndarray | None = None
    steps: bool = False
    turns: bool = False

    def __call__(self, times: np.ndarray) -> np.ndarray:
        """Values at times, (T, W); those of the ends before and after."""
        times = np.clip(times, self.times[0], self.times[-1])
        left = np.clip(np.searchsorted(self.times, times, side="right") - 1, 0, max(len(self.times) - 2, 0))
        right = np.minimum(left + 1, len(self.times) - 1)
        length = np.where(right > left, self.times[right] - self.times[left], 1.0)
        s = ((times - self.times[left]) / length)[:, None]
        first, second = self.values[left], self.values[right]
        if self.steps:
            return np.where(s < 1.0, first, second)
        if self.slopes is not None:
            found = self._spline(s, length[:, None], left, right)
            return unit(found) if self.turns else found
        return slerp(first, second, s) if self.turns else first + s * (second - first)

    def _spline(self, s: np.ndarray, length: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Cubic Hermite spline, appendix C.4."""
        assert self.slopes is not None
        before, after = self.slopes
        s2, s3 = s * s, s * s * s
        return (
            (2.0 * s3 - 3.0 * s2 + 1.0) * self.values[left]
            + length * (s3 - 2.0 * s2 + s) * after[left]
            + (3.0 * s2 - 2.0 * s3) * self.values[right]
            + length * (s3 - s2) * before[right]
        )


def unit(quaternions: np.ndarray) -> np.ndarray:
    """Quaternions of length 1, (T, 4)."""
    return quaternions / np.maximum(np.linalg.norm(quaternions, axis=-1, keepdims=True), 1e-300)


def slerp(first: np.ndarray, second: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Rotations between rotations (T, 4), the part s (T, 1) of the shorter way."""
    second = np.where((first * second).sum(axis=1, keepdims=True) < 0.0, -second, second)
    apart = np.linalg.norm(first - second, axis=1, keepdims=True)
    angle = 2.0 * np.arctan2(apart, np.linalg.norm(first + second, axis=1, keepdims=True))
    sine = np.where(angle > 1e-6, np.sin(angle), 1.0)
    begin = np.where(angle > 1e-6, np.sin((1.0 - s) * angle) / sine, 1.0 - s)
    end = np.where(angle > 1e-6, np.sin(s * angle) / sine, s)
    return unit(begin * first + end * second)


def matrices(translation: np.ndarray, rotation: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Matrices T R S, (T, 4, 4), of rows of translations, rotations x y z w, and scales."""
    x, y, z, w = rotation.T
    found = np.zeros((len(rotation), 4, 4))
    turn = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - z * w), 2.0 * (x * z + y * w)],
        [2.0 * (x * y + z * w), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - x * w)],
        [2.0 * (x * z - y * w), 2.0 * (y * z + x * w), 1.0 - 2.0 * (x * x + y * y)],
    ]
    found[:, :3, :3] = np.moveaxis(np.array(turn), -1, 0) * scale[:, None, :]
    found[:, :3, 3] = translation
    found[:, 3, 3] = 1.0
    return found


def parents(file: GltfFile) -> np.ndarray:
    """Parent of each node, -1 for none, (N,).

    Raises:
        FileError: A node has two parents, or is among its own descendants.
    """
    nodes = file.document.nodes
    found = np.full(len(nodes), -1, np.int64)
    for index, node in enumerate(nodes):
        for child in node.children:
            file.element("node", nodes, child, f"node {index}")
            if found[child] >= 0:
                raise file.error(
                    f"node {child} {nodes[child].name!r}: is a child of node {found[child]} and of node {index}; a "
                    f"node has one parent"
                )
            found[child] = index
    # whoever has not come to an end after as many steps as there are nodes goes round in a circle
    above = found.copy()
    for _ in range(len(nodes).bit_length()):
        above = np.where(above >= 0, above[above], -1)
    if (above >= 0).any():
        index = int(above[np.argmax(above >= 0)])
        raise file.error(f"node {index} {nodes[index].name!r}: is among its own children; remove it from them")
    return found


class Poses:
    """Where the nodes of a file are at some times.

    Args:
        file: The file.
        curves: Those of a clip, by node and property.
        times: When [s], (T,).

    Raises:
        FileError: The nodes are no tree, or one has no rotation.
    """

    def __init__(self, file: GltfFile, curves: dict[tuple[int, str], Curve], times: np.ndarray) -> None:
        self._file, self._curves, self._times = file, curves, times
        self._parents = parents(file)
        self._known: dict[int, np.ndarray] = {}

    def roots(self) -> list[int]:
        """Nodes without parents."""
        return np.flatnonzero(self._parents < 0).tolist()

    def world(self, index: int) -> np.ndarray:
        """Matrices of a node in the world, (T, 4, 4)."""
        chain = [index]
        while chain[-1] not in self._known and self._parents[chain[-1]] >= 0:
            chain.append(int(self._parents[chain[-1]]))
        for each in reversed(chain):
            if each not in self._known:
                above, local = self._parents[each], self._local(each)
                self._known[each] = local if above < 0 else self._known[int(above)] @ local
        return self._known[index]

    def weights(self, index: int, given: list[float]) -> np.ndarray:
        """Weights of the morph targets of a node's mesh, (T, targets), where they are not animated as given."""
        curve = self._curves.get((index, "weights"))
        if curve is None:
            return np.broadcast_to(np.array(given, np.float64), (len(self._times), len(given)))
        return curve(self._times)

    def _local(self, index: int) -> np.ndarray:
        node, count = self._file.document.nodes[index], len(self._times)
        if node.matrix is not None:
            return np.broadcast_to(np.array(node.matrix).reshape(4, 4).T, (count, 4, 4))
        values = []
        for key, given in (("translation", node.translation), ("rotation", node.rotation), ("scale", node.scale)):
            curve = self._curves.get((index, key))
            value = np.array(given, np.float64)
            if key == "rotation":
                size = float(np.linalg.norm(value))
                if not 0.9 < size < 1.1:
                    raise self._file.error(f"node {index} {node.name!r}: rotation {given} is no unit quaternion")
                value /= size
            values.append(np.broadcast_to(value, (count, len(value))) if curve is None else curve(self._times))
        return matrices(*values)


def curves(file: GltfFile, animation: int, targets: dict[int, int]) -> dict[tuple[int, str], Curve]:
    """Curves of an animation by node and property.

    Args:
        file: The file.
        animation: Its number.
        targets: Number of morph targets of the nodes that have a mesh.

    Raises:
        FileError: A channel or a sampler is damaged.
    """
    found: dict[tuple[int, str], Curve] = {}
    clip = file.document.animations[animation]
    for number, channel in enumerate(clip.channels):
        label = f"animation {animation} {clip.name!r}: channel {number}"
        node, path = channel.target.node, channel.target.path
        if node is None or path == "pointer":  # properties of extensions: materials, lights, cameras
            continue
        element = file.element("node", file.document.nodes, node, label)
        if path != "weights" and path not in WIDTHS:
            raise file.error(f"{label}: animates {check.short(path)}; known are {', '.join(WIDTHS)}, weights")
        if element.matrix is not None and path in WIDTHS:
            raise file.error(
                f"{label}: node {node} has a matrix; give it translation, rotation and scale to animate it"
            )
        if (node, path) in found:
            raise file.error(f"{label}: node {node} has two channels for its {path}; remove one")
        width = WIDTHS.get(path) or targets.get(node, 0)
        if width == 0:
            raise file.error(f"{label}: animates weights, node {node} has no mesh with morph targets; remove it")
        found[node, path] = _curve(file, clip, channel, width, label)
    return found


def _curve(file: GltfFile, clip: Animation, channel: Channel, width: int, label: str) -> Curve:
    sampler = file.element("sampler", clip.samplers, channel.sampler, label)
    label = f"{label}: sampler {channel.sampler}"
    if sampler.interpolation not in INTERPOLATIONS:
        raise file.error(
            f"{label}: interpolation {check.short(sampler.interpolation)} is none of {', '.join(INTERPOLATIONS)}"
        )
    path, spline = channel.target.path, sampler.interpolation == "CUBICSPLINE"
    times = file.reals(sampler.input, ("SCALAR",), label)[:, 0]
    if times[0] < 0.0 or (np.diff(times) <= 0.0).any():
        at = int(np.argmax(np.diff(times, prepend=-np.inf) <= 0.0)) if times[0] >= 0.0 else 0
        raise file.error(f"{label}: its times must increase from 0 or later; time {at} is {times[at]:g} s")
    kind = {3: "VEC3", 4: "VEC4"}[width] if path in WIDTHS else "SCALAR"
    values = file.reals(sampler.output, (kind,), label).reshape(-1)
    needed = len(times) * width * (3 if spline else 1)
    if len(values) != needed:
        raise file.error(
            f"{label}: {len(times)} times of {path} need {needed} numbers, accessor {sampler.output} has "
            f"{len(values)}; export it again"
        )
    slopes = None
    if spline:
        before, values, after = np.moveaxis(values.reshape(len(times), 3, width), 1, 0)
        slopes = np.stack([before, after])
    values = values.reshape(len(times), width)
    turns = path == "rotation"
    if turns:
        sizes = np.linalg.norm(values, axis=1)
        bad = np.flatnonzero((sizes < 0.9) | (sizes > 1.1))
        if bad.size:
            raise file.error(f"{label}: rotation {bad[0]} is no unit quaternion, its length is {sizes[bad[0]]:.3g}")
        values = values if spline else unit(values)
    return Curve(times, values, slopes, sampler.interpolation == "STEP", turns)
