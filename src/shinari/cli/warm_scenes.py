"""Small scenes for which `shinari warm` compiles kernels: all kinds of objects, colliders, joints and constraints."""

from collections.abc import Iterator
from typing import Any

import numpy as np

import shinari as sn
from shinari.constraints.registry import constraint_types

SHAPES = (
    sn.Sphere(0.1),
    sn.Box((0.2, 0.2, 0.2)),
    sn.Capsule(0.05, 0.2),
    sn.Cylinder(0.1, 0.2),
    sn.Cone(0.1, 0.2),
    sn.ConvexHull(np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]])),
)


def scenes() -> Iterator[sn.Scene]:
    """The scenes, one after the other."""
    for surroundings in (_ground, _solids):
        for add in (_cloths, _lines, _lumps, _fluid):
            scene = sn.Scene()
            add(scene)
            surroundings(scene)
            yield scene
    yield _bodies()
    yield _joints()
    yield _attached()
    yield _sewn()
    for kind in constraint_types():
        for damping in (0.0, 1.0):
            yield _rows(kind, damping)


def _ground(scene: sn.Scene) -> None:
    scene.add_collider(sn.Plane((0, 1, 0), -1.0))


def _solids(scene: sn.Scene) -> None:
    """Colliders of all shapes; a ball that moves, and a body."""
    for k, shape in enumerate(SHAPES):
        scene.add_collider(shape, position=(k, -1.0, 0), restitution=0.1 if k == 0 else 0.0)
    scene.add_collider(sn.Sphere(0.1), motion=sn.Oscillation((0, -2.0, 0), (0, 0.1, 0), 1.0))
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 2.0, 0))


def _cloths(scene: sn.Scene) -> None:
    for k, collision in enumerate((False, "particles", "triangles")):
        scene.add_cloth(sn.grid(shape=(5, 5)), position=(2.0 * k, 0, 0), self_collision=collision).pin([0])


def _line(height: float) -> np.ndarray:
    return np.array([[0.1 * k, height, 0.0] for k in range(8)])


def _lines(scene: sn.Scene) -> None:
    scene.add_rope(_line(0.0)).pin([0])
    scene.add_rope(_line(0.5), self_collision=True)
    scene.add_rod(_line(1.0)).pin([0])
    scene.add_rod(_line(1.5), self_collision=True)


def _lumps(scene: sn.Scene) -> None:
    vertices, cells = sn.lattice((2, 2, 2), 0.1)
    scene.add_soft_body((vertices, cells))
    scene.add_shape_matched(vertices, density=1000.0, position=(0, 0.5, 0))
    scene.add_grains(sn.Box((0.1, 0.1, 0.1)), radius=0.02, position=(0, 1.0, 0))


def _fluid(scene: sn.Scene) -> None:
    scene.add_fluid(sn.Box((0.2, 0.2, 0.2)), spacing=0.05)
    scene.add_grains([[0.0, 0.0, 0.0], [0.05, 0.0, 0.0]], radius=0.01, material=sn.GrainMaterial(cohesion=100.0))


def _bodies() -> sn.Scene:
    """Bodies of all shapes above each other, so that all pairs are searched; enough of them for sweeps."""
    scene = sn.Scene()
    _ground(scene)
    for k, shape in enumerate(4 * SHAPES):
        scene.add_rigid_body(shape, position=(0, k, 0), restitution=0.1)
    return scene


def _joints() -> sn.Scene:
    """All kinds of joints, and bodies that never collide."""
    scene = sn.Scene()
    places = [(0.5 * k, 0.0, 0.0) for k in range(11)]
    bodies = [scene.add_rigid_body(sn.Sphere(0.1), position=place) for place in places]
    axis: dict[str, Any] = {"axis": (0, 0, 1)}
    each: list[tuple[str, dict[str, Any]]] = [
        ("fixed", {}), ("ball", {}), ("ball", {**axis, "swing_limit": 0.5}), ("hinge", axis),
        ("hinge", {**axis, "limits": (-1.0, 1.0), "motor": sn.VelocityMotor(1.0, 1.0)}), ("slider", axis),
        ("cylindrical", axis), ("universal", {**axis, "second_axis": (0, 1, 0)}), ("planar", axis),
        ("distance", {}),
    ]  # fmt: skip
    for k, (kind, options) in enumerate(each):
        second: dict[str, Any] = {"second_anchor": places[k + 1]} if kind == "distance" else {}
        scene.add_joint(kind, bodies[k], bodies[k + 1], anchor=places[k], **options, **second)
    return scene


def _attached() -> sn.Scene:
    """A cloth that holds a body, and rods that hold each other."""
    scene = sn.Scene()
    cloth = scene.add_cloth(sn.grid(shape=(5, 5)))
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, -0.2, 0))
    scene.attach((cloth, 12), (body, (0, -0.1, 0)))
    rope = scene.add_rope(_line(0.0))
    scene.attach((rope, 0), (cloth, 0))
    return scene


def _sewn() -> sn.Scene:
    """Two panels of a pattern with a seam, which collide, over a mesh that moves."""
    scene, pattern = sn.Scene(), sn.Pattern(0.1)
    for name, height in (("first", 0.0), ("second", 0.1)):
        edges = {"near": [[0.0, 0.0], [0.3, 0.0]], "rest": [[0.3, 0.0], [0.3, 0.3], [0.0, 0.3], [0.0, 0.0]]}
        pattern.add_panel(name, edges, position=(0, 0, height))
    pattern.add_seam("first.near", "second.near", ease=1.0)
    scene.add_cloth(pattern, sewing=pattern.seams, self_collision="triangles")
    vertices, faces = sn.grid(shape=(5, 5))
    scene.add_moving_mesh(sn.MeshSequence([0.0, 1.0], [vertices - 0.5, vertices - 0.4], faces))
    return scene


def _rows(kind: Any, damping: float) -> sn.Scene:
    """One row of a type, its rest values taken from its points or all one."""
    scene = sn.Scene()
    particles = scene.add_particles(np.random.default_rng(0).normal(size=(kind.points, 3)))
    given = {name: np.ones(1 if width == 1 else (1, width)) for name, width in kind.parameters if kind.rest is None}
    scene.add_constraint(kind.name, [list(particles.particles)], compliance=1e-3, damping=damping, **given)
    return scene
