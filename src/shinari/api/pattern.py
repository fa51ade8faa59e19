"""Sewing patterns: flat panels with named edges, divided so that the edges of a seam have the same vertices."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from shinari import check
from shinari.attributes import OwnAttributes
from shinari.errors import SceneError
from shinari.geometry.motion import NO_ROTATION, rotation_matrix
from shinari.geometry.triangulate import triangulate_polygon
from shinari.scene.sewing import EASE, Seam, length_rounding

MOST_TRIANGLES = 1_000_000
_NO_ROTATION = tuple(NO_ROTATION.tolist())


class Pattern(OwnAttributes):
    """Panels and seams, and the mesh that they become: `scene.add_cloth(pattern, sewing=pattern.seams)`.

    Args:
        spacing: Length of the edges of the triangles [m].

    Raises:
        SceneError: The spacing is not above 0.
    """

    _label = "Pattern"

    def __init__(self, spacing: float) -> None:
        self._spacing = check.number("Pattern", "spacing", spacing, above=0.0)
        self._edges: dict[str, dict[str, np.ndarray]] = {}
        self._poses: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        self._sewn: list[tuple[str, str, float, float]] = []
        self._made: tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]] | None = None

    def add_panel(
        self,
        name: str,
        edges: Mapping[str, Any],
        *,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = _NO_ROTATION,
    ) -> None:
        """Add a flat panel.

        Args:
            name: Its name.
            edges: Its border, counter-clockwise, as edges by name: points along each, (K, 2) [m], the first where the
                edge before ends.
            position: Where the origin of the pattern's plane goes [m].
            rotation: Rotation of that plane, from XY, a unit quaternion w x y z.

        Raises:
            SceneError: The edges do not form a border, or the name is taken.
        """
        label = f"panel {check.short(check.text('panel', 'name', name))}"
        if name in self._edges:
            raise SceneError(f"{label}: name: is taken")
        lines = {
            check.text(label, "edges", key): check.array(label, f"edges: {key}", points, (None, 2))
            for key, points in check.kind(label, "edges", edges, Mapping).items()
        }
        if not lines:
            raise SceneError(f"{label}: edges: a panel needs a border, got none")
        keys = list(lines)
        for before, key in zip([*keys[-1:], *keys[:-1]], keys, strict=True):
            if len(lines[key]) < 2:
                raise SceneError(f"{label}: edges: {key}: an edge needs at least two points")
            apart = float(np.linalg.norm(lines[key][0] - lines[before][-1]))
            if apart > 1e-3 * self._spacing:
                raise SceneError(f"{label}: edges: {key}: begins {apart:.3g} m from the end of {before}; join them")
        border = np.concatenate([line[:-1] for line in lines.values()])
        following = np.roll(border, -1, axis=0)
        area = 0.5 * float((border[:, 0] * following[:, 1] - border[:, 1] * following[:, 0]).sum())
        if area <= 0.0:
            raise SceneError(f"{label}: edges: must run counter-clockwise; the area is {area:.3g} m^2")
        if area / (0.433 * self._spacing**2) > MOST_TRIANGLES:
            least = (area / (0.433 * MOST_TRIANGLES)) ** 0.5
            raise SceneError(
                f"{label}: edges: {area:.3g} m^2 at a spacing of {self._spacing:g} m are more than {MOST_TRIANGLES} "
                f"triangles; take a spacing of at least {least:.2g} m"
            )
        turn = rotation_matrix(check.unit_quaternion(label, "rotation", rotation))
        self._poses[name] = check.vector(label, "position", position), turn
        self._edges[name], self._made = lines, None

    def add_seam(self, first: str, second: str, *, closing_time: float = 0.5, ease: float = EASE) -> None:
        """Sew two edges together, the second one from its end to its beginning.

        So two panels that lie side by side, or back to back, are sewn without a twist.

        Args:
            first: `"panel.edge"`.
            second: `"panel.edge"`.
            closing_time: Time in which the seam closes [s].
            ease: Largest difference of their lengths, as a part of the longer one; rounding is free.

        Raises:
            SceneError: There is no such edge, or their lengths differ by more.
        """
        label = f"seam {check.short(first)} - {check.short(second)}"
        lines = [self._edge(label, field, edge) for field, edge in (("first", first), ("second", second))]
        lengths = [_length(line) for line in lines]
        rounding = length_rounding(sum(map(len, lines)), max(float(np.abs(line).max()) for line in lines))
        ease = check.number(label, "ease", ease, least=0.0, most=1.0)
        time = check.number(label, "closing_time", closing_time, least=0.0)
        if abs(lengths[0] - lengths[1]) > ease * max(lengths) + rounding:
            raise SceneError(
                f"{label}: the edges are {lengths[0]:.4g} m and {lengths[1]:.4g} m long; change the pattern, or give "
                f"an ease above {ease:g} to gather the longer one"
            )
        self._sewn.append((first, second, time, ease))
        self._made = None

    @property
    def vertices(self) -> np.ndarray:
        """Vertices where the panels were put [m], (V, 3)."""
        return self._mesh()[0]

    @property
    def faces(self) -> np.ndarray:
        """Triangles, (F, 3)."""
        return self._mesh()[1]

    @property
    def seams(self) -> list[Seam]:
        """The seams, for the argument `sewing` of `Scene.add_cloth`."""
        _, _, lines = self._mesh()
        return [
            Seam(lines[first], lines[second][::-1], closing_time=time, ease=ease)
            for first, second, time, ease in self._sewn
        ]

    def edge(self, name: str) -> np.ndarray:
        """Vertices along an edge `"panel.edge"`, in order, (K,): for bands, folds and pins.

        Raises:
            SceneError: There is no such edge.
        """
        self._edge("Pattern", "name", name)
        return self._mesh()[2][name]

    def _lines(self) -> dict[str, np.ndarray]:
        """Points along all edges by `"panel.edge"`."""
        return {f"{panel}.{edge}": line for panel, lines in self._edges.items() for edge, line in lines.items()}

    def _edge(self, label: str, field: str, name: Any) -> np.ndarray:
        known = self._lines()
        if not isinstance(name, str) or name not in known:
            names = check.names(known, near=name)
            raise SceneError(f"{label}: {field}: there is no edge {check.short(name)}; known are {names}")
        return known[name]

    def _mesh(self) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        """Vertices, triangles, and the vertices along all edges."""
        if self._made is None:
            if not self._edges:
                raise SceneError("Pattern: has no panels; add one with add_panel")
            parts = self._divisions()
            vertices, faces, lines, start = [], [], {}, 0
            for panel, edges in self._edges.items():
                border = np.concatenate([_divided(line, parts[f"{panel}.{key}"])[:-1] for key, line in edges.items()])
                points, triangles = triangulate_polygon(border, self._spacing, f"panel {panel!r}")
                at = 0
                for key in edges:
                    end = at + parts[f"{panel}.{key}"]
                    lines[f"{panel}.{key}"] = start + np.arange(at, end + 1) % len(border)
                    at = end
                position, turn = self._poses[panel]
                vertices.append(np.column_stack([points, np.zeros(len(points))]) @ turn.T + position)
                faces.append(triangles + start)
                start += len(points)
            self._made = np.concatenate(vertices), np.concatenate(faces), lines
        return self._made

    def _divisions(self) -> dict[str, int]:
        """Parts into which each edge is divided; edges that are sewn together have as many."""
        parts = {name: max(1, round(_length(line) / self._spacing)) for name, line in self._lines().items()}
        for _ in self._sewn:
            for first, second, _, _ in self._sewn:
                parts[first] = parts[second] = max(parts[first], parts[second])
        return parts


def _length(line: np.ndarray) -> float:
    return float(np.linalg.norm(np.diff(line, axis=0), axis=1).sum())


def _divided(line: np.ndarray, parts: int) -> np.ndarray:
    """A line in equal parts, (parts + 1, 2)."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(line, axis=0), axis=1))])
    at = np.linspace(0.0, along[-1], parts + 1)
    return np.stack([np.interp(at, along, line[:, axis]) for axis in range(2)], axis=1)
