"""Heaps, walls, nets and ragdolls: the scenes of `heaps.py`, each as a world that every engine gets."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rigid_worlds import Body, Link, World, about

import shinari as sn

UP, ACROSS, AHEAD = (0.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Heap:
    """A scene.

    Attributes:
        world: Its bodies and joints.
        seconds: How long it runs [s].
        stands: Whether it is at rest from the start, so that moving is an error.
    """

    world: World
    seconds: float
    stands: bool = False


def pyramids(rows: int, along: int = 1, across: int = 1, seconds: float = 5.0) -> Heap:
    """Pyramids of cubes of 1 m in one plane each, with so many cubes in their lowest rows."""
    world, cube = World(), sn.Box((1.0, 1.0, 1.0))
    for i, k in np.ndindex(along, across):
        for row in range(rows):
            for n in range(rows - row):
                world.add(Body(cube, np.array([i * (rows + 1.0) + n + 0.5 * row, row + 0.5, 2.0 * k])))
    return Heap(world, seconds, stands=True)


def wall(hit: bool, rows: int = 10, columns: int = 20) -> Heap:
    """A wall of bricks in running bond, with half a brick at its ends by turns; a ball of steel flies at it."""
    world, whole, half = World(), sn.Box((0.4, 0.2, 0.2)), sn.Box((0.2, 0.2, 0.2))
    for row in range(rows):
        for column in range(columns):
            short = column == (0 if row % 2 else columns - 1)
            x = 0.4 * column + (0.1 if short else 0.2) - (0.2 if row % 2 and column else 0.0)
            world.add(Body(half if short else whole, np.array([x, 0.1 + 0.2 * row, 0.0]), density=2000.0))
    if hit:
        at = np.array([0.2 * columns, 1.0, -3.0])
        world.add(Body(sn.Sphere(0.3), at, velocity=(0.0, 1.0, 15.0), density=7000.0))
    return Heap(world, 3.0, stands=not hit)


def pile(bodies: int = 5120) -> Heap:
    """Hulls of 32 points on a ball of 2 m, in columns that collapse."""
    rng = np.random.default_rng(42)
    points = rng.normal(size=(32, 3))
    points *= 2.0 / np.linalg.norm(points, axis=1)[:, None]
    hull = sn.ConvexHull(points - sn.ConvexHull(points).mass_properties().centre)
    world = World()
    for n in range(bodies):
        layer, k, i = np.unravel_index(n, (-(-bodies // 64), 8, 8))
        world.add(Body(hull, np.array([4.0 * i, 2.2 + 4.2 * layer, 4.0 * k])))
    return Heap(world, 5.0)


def grid(side: int = 100) -> Heap:
    """A net of balls with a ball joint between all neighbours, held by its upper edge, that do not touch."""
    world, ball = World(ground=False, collide=False), sn.Sphere(0.4)
    for k, i in np.ndindex(side, side - 1):
        here = world.add(Body(ball, np.array([k, -i, 0.0], float)))
        world.links.append(Link("ball", here, here - 1 if i else -1, np.array([k, 0.5 - i, 0.0])))
        if k > 0:
            world.links.append(Link("ball", here, here - side + 1, np.array([k - 0.5, -i, 0.0])))
    return Heap(world, 5.0)


# part: radius and length [m], the axis along which it lies, its middle; both sides have limbs
_TRUNK = {
    "pelvis": (0.12, 0.12, ACROSS, (0.0, 0.95, 0.0)),
    "belly": (0.11, 0.12, ACROSS, (0.0, 1.13, 0.0)),
    "chest": (0.13, 0.16, ACROSS, (0.0, 1.33, 0.0)),
    "head": (0.11, 0.02, UP, (0.0, 1.66, 0.0)),
}
_LIMBS = {
    "arm": (0.045, 0.20, UP, (0.27, 1.22, 0.0)),
    "forearm": (0.04, 0.20, UP, (0.27, 0.93, 0.0)),
    "thigh": (0.07, 0.28, UP, (0.10, 0.68, 0.0)),
    "shin": (0.055, 0.28, UP, (0.10, 0.28, 0.0)),
    "foot": (0.045, 0.12, AHEAD, (0.10, 0.05, 0.06)),
}
# child, parent, where, the swing of a ball or the least and largest angle about X of a hinge [rad]
_TRUNK_JOINTS = [
    ("belly", "pelvis", (0.0, 1.04, 0.0), 0.4),
    ("chest", "belly", (0.0, 1.22, 0.0), 0.4),
    ("head", "chest", (0.0, 1.50, 0.0), 0.7),
]
_LIMB_JOINTS = [
    ("arm", "chest", (0.27, 1.37, 0.0), 1.5),
    ("forearm", "arm", (0.27, 1.075, 0.0), (-2.4, 0.05)),
    ("thigh", "pelvis", (0.10, 0.87, 0.0), 1.0),
    ("shin", "thigh", (0.10, 0.48, 0.0), (-0.05, 2.4)),
    ("foot", "shin", (0.10, 0.09, 0.0), (-0.5, 0.5)),
]
_TURNS = {UP: about(UP, 0.0), ACROSS: about(AHEAD, 0.5 * np.pi), AHEAD: about(ACROSS, 0.5 * np.pi)}
_SHAPES = {part: sn.Capsule(size[0], size[1]) for part, size in (_TRUNK | _LIMBS).items()}


def add_ragdoll(world: World, place: np.ndarray) -> None:
    """Add a figure of 14 capsules and 13 joints that stands at a place, upright and facing Z."""
    parts = [(part, part, 1.0) for part in _TRUNK] + [
        (f"{part}{side:+.0f}", part, side) for side in (-1.0, 1.0) for part in _LIMBS
    ]
    found = {}
    for name, part, side in parts:
        _, _, axis, middle = (_TRUNK | _LIMBS)[part]
        at = place + np.array([side, 1.0, 1.0]) * middle
        found[name] = world.add(Body(_SHAPES[part], at, _TURNS[axis]))
    joints = [(*joint, 0.0) for joint in _TRUNK_JOINTS] + [
        (*joint, side) for side in (-1.0, 1.0) for joint in _LIMB_JOINTS
    ]
    for child, parent, where, most, side in joints:
        a = found[f"{child}{side:+.0f}" if side else child]
        b = found[f"{parent}{side:+.0f}" if side and parent in _LIMBS else parent]
        at = place + np.array([side or 1.0, 1.0, 1.0]) * where
        if isinstance(most, tuple):
            world.links.append(Link("hinge", a, b, at, ACROSS, limits=most))
        else:
            world.links.append(Link("ball", a, b, at, UP, swing=most))


def rain(figures: int = 300) -> Heap:
    """Figures of 14 capsules and 13 joints that fall on each other, three to a place."""
    world, rng = World(), np.random.default_rng(1)
    side = max(1, round((figures / 3) ** 0.5))
    for n in range(figures):
        layer, k, i = n // side**2, (n // side) % side, n % side
        shift = rng.uniform(-0.15, 0.15, 2)
        add_ragdoll(world, np.array([1.0 * i + shift[0], 1.0 + 2.0 * layer, 0.8 * k + shift[1]]))
    return Heap(world, 5.0)


def washer(side: int = 20) -> Heap:
    """Cubes of 0.4 m in a drum with four paddles that turns by 25 degrees a second."""
    world, cube = World(), sn.Box((0.4, 0.4, 0.4))
    radius, half, thick, panels = 0.75 * side, 0.48 * side, 0.1 * side, 36
    parts = []
    for n in range(panels):
        angle = 2.0 * np.pi * n / panels
        out, turn = np.array([np.cos(angle), np.sin(angle), 0.0]), about(AHEAD, angle)
        wide = 2.0 * (radius + thick) * np.tan(np.pi / panels)
        parts.append((sn.Box((thick, wide, 2.0 * half)), (radius + 0.5 * thick) * out, turn))
        if n % 9 == 0:
            parts.append((sn.Box((thick, 0.4 * thick, 2.0 * half)), (radius - 0.5 * thick) * out, turn))
    edge = 2.0 * (radius + thick)
    lid = sn.Box((edge, edge, thick))
    parts += [(lid, np.array([0.0, 0.0, z * (half + 0.5 * thick)]), about(UP, 0.0)) for z in (-1.0, 1.0)]
    middle = np.array([0.0, 2.0 * radius, 0.0])
    world.add(Body(sn.Compound(parts), middle, spin=(0.0, 0.0, np.radians(25.0)), kinematic=True))
    for place in np.ndindex(side, side, side):
        world.add(Body(cube, middle + 0.8 * (np.array(place) - 0.5 * (side - 1))))
    return Heap(world, 5.0)


def fall(bodies: int = 100_000) -> Heap:
    """Boxes of 0.3 to 0.6 m, turned at random, that fall into a heap from a block twenty deep."""
    world, rng = World(), np.random.default_rng(2)
    shapes = [sn.Box(tuple(size)) for size in rng.uniform(0.3, 0.6, (16, 3))]
    side = max(1, round((bodies / 20) ** 0.5))
    for n in range(bodies):
        layer, k, i = n // side**2, (n // side) % side, n % side
        turn = rng.normal(size=4)
        at = np.array([0.95 * i, 0.6 + 0.95 * layer, 0.95 * k])
        world.add(Body(shapes[n % 16], at, turn / np.linalg.norm(turn)))
    return Heap(world, 5.0)


CASES: dict[str, Callable[[], Heap]] = {
    "pyramid-210": lambda: pyramids(20),
    "pyramid-820": lambda: pyramids(40),
    "pyramid-5050": lambda: pyramids(100),
    "many-pyramids": lambda: pyramids(10, 14, 14, 2.0),
    "wall": lambda: wall(False),
    "wall-hit": lambda: wall(True),
    "pile-640": lambda: pile(640),
    "pile-5120": pile,
    "grid-380": lambda: grid(20),
    "grid-9900": grid,
    "rain-48": lambda: rain(48),
    "rain-300": rain,
    "washer-1000": lambda: washer(10),
    "washer-8000": washer,
}
