r"""Shape matched lump: a hare of jelly is dropped, pressed flat and lets go; one of cork tumbles into a curtain.

       | press |                                      both are the same surface, made here: ellipsoids that melt into
       '-------'          \                |          each other where they meet, filled with 400 particles
       (\ (\              \  (\ (\        |
       ( . .)              \ ( . .)       | curtain   jelly: overlapping clusters, each goes back to a shape that may
     o (  ")(")             \o(  ")(")    |                  stretch, shear and keeps its volume
    ___________________      \________________        cork:  one rigid cluster

Shape matching has no elements and no forces: each cluster of particles finds the rotation that brings its shape at rest
nearest to where its particles are now, and each particle goes to the mean of the places that its clusters want it at
(Mueller et al. 2005). That works from any state, so a press that squashes the hare cannot break it.

Checked: the free fall, that the hare is squashed and gets its shape back, that the cork stays rigid while it tumbles,
that the curtain stops it and is pushed back, and that the floor carries the weight in the end.

Look at the player: the hare of jelly falls on its side, bulges under the press, and the cork hare rolls over its
head into the curtain.
"""

import argparse
import itertools
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle

GRAVITY = 9.81  # [m/s^2]
DROP = 0.15  # height of the fall [m]
SPACING = 0.02  # of the particles [m]
MARGIN = (
    0.004  # by which balls are larger than half the spacing, so that the surface stays clear of what it lies on [m]
)
PRESS, HOLD, LIFT = 1.2, 1.9, 2.2  # when the press starts to come down, is down, starts to leave [s]
DOWN = 0.08  # height under the press [m]

# centre, radii [m] and tilt about Z [rad] of each ellipsoid, the hare looking along +X
ELLIPSOIDS = [
    ((0.00, 0.080, 0.000), (0.090, 0.078, 0.070), 0.0),  # body
    ((0.075, 0.160, 0.000), (0.056, 0.052, 0.050), 0.0),  # head
    ((0.055, 0.240, 0.030), (0.024, 0.065, 0.022), 0.25),  # ears
    ((0.055, 0.240, -0.030), (0.024, 0.065, 0.022), 0.25),
    ((-0.090, 0.090, 0.000), (0.030, 0.030, 0.030), 0.0),  # tail
    ((0.070, 0.030, 0.045), (0.045, 0.030, 0.026), 0.0),  # feet
    ((0.070, 0.030, -0.045), (0.045, 0.030, 0.026), 0.0),
]


def melted(points: np.ndarray) -> np.ndarray:
    """A function that is negative inside of the hare, at points (N, 3), (N,)."""
    total = np.zeros(len(points))
    for centre, radii, tilt in ELLIPSOIDS:
        c, s = np.cos(tilt), np.sin(tilt)
        x, y, z = (points - centre).T
        away = np.sqrt(((c * x + s * y) / radii[0]) ** 2 + ((c * y - s * x) / radii[1]) ** 2 + (z / radii[2]) ** 2)
        total += np.exp(-12.0 * (away - 1.0))
    return -np.log(np.maximum(total, 1e-12))


def hare(cell: float = 0.014) -> tuple[np.ndarray, np.ndarray]:
    """Closed surface of the hare by marching tetrahedra: vertices (V, 3) [m], faces (F, 3)."""
    low, high = np.array([-0.14, -0.02, -0.09]), np.array([0.15, 0.32, 0.09])
    counts = np.ceil((high - low) / cell).astype(int)
    grid = np.stack(np.meshgrid(*(np.arange(n + 1) for n in counts), indexing="ij"), axis=-1)
    points = low + cell * grid.reshape(-1, 3)
    values = melted(points)
    number = np.arange(len(points)).reshape(counts + 1)
    # six tetrahedra in each cube: along its diagonal, one for each order of the axes
    tetrahedra = []
    for order in itertools.permutations(range(3)):
        corner, corners = np.zeros(3, int), [np.zeros(3, int)]
        for axis in order:
            corner = corner + np.eye(3, dtype=int)[axis]
            corners.append(corner)
        even = np.linalg.det(np.array(corners[1:])) > 0.0
        cut = [number[tuple(slice(c, c + n) for c, n in zip(k, counts, strict=True))].ravel() for k in corners]
        tetrahedra.append(np.stack(cut if even else [cut[0], cut[2], cut[1], cut[3]], axis=1))
    t = np.concatenate(tetrahedra)
    inside = values[t] < 0.0
    t, inside = t[inside.any(axis=1) & ~inside.all(axis=1)], inside[inside.any(axis=1) & ~inside.all(axis=1)]
    edges, triangles = [], []
    for mask in range(1, 15):
        chosen = t[(inside == [(mask >> k) & 1 for k in range(4)]).all(axis=1)]
        ins, out = [k for k in range(4) if mask >> k & 1], [k for k in range(4) if not mask >> k & 1]
        loop = [(i, o) for i in ins for o in out]
        if len(ins) == 2:
            loop = [loop[0], loop[1], loop[3], loop[2]]
        for k in range(1, len(loop) - 1):
            corners = np.stack([np.sort(chosen[:, pair], axis=1) for pair in (loop[0], loop[k], loop[k + 1])], axis=1)
            triangles.append(corners)
            edges.append(chosen[:, [ins[0], out[0]]])
    corners, way = np.concatenate(triangles), np.concatenate(edges)
    unique, faces = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    a, b = values[unique[:, 0]], values[unique[:, 1]]
    # away from the ends, so that no triangle is a sliver
    share = np.clip(a / (a - b), 0.1, 0.9)[:, None]
    vertices = (1.0 - share) * points[unique[:, 0]] + share * points[unique[:, 1]]
    faces = faces.reshape(-1, 3)
    x = vertices[faces]
    outward = np.einsum(
        "fi,fi->f", np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0]), points[way[:, 1]] - points[way[:, 0]]
    )
    return vertices, np.where((outward > 0.0)[:, None], faces, faces[:, ::-1])


def press(time: float) -> tuple[float, float, float]:
    """Where the centre of the press is [m]."""
    height = np.interp(time, [PRESS, HOLD, LIFT, LIFT + 0.4], [0.6, DOWN, DOWN, 0.6])
    return 0.0, float(height) + 0.01, 0.0


def build() -> tuple[sn.Scene, Handle, Handle, Handle]:
    """The scene, the hare of jelly, that of cork, and the curtain."""
    surface = hare()
    low = surface[0][:, 1].min()
    scene = sn.Scene(gravity=(0.0, -GRAVITY, 0.0))
    scene.add_collider(sn.Plane(), friction=0.5, name="floor")
    scene.add_collider(sn.Box((0.6, 0.02, 0.8)), motion=press, position=press(0.0), friction=0.3, name="press")
    jelly = sn.LumpMaterial.preset("jelly", stiffness=0.92, beta=0.4, cluster_size=5.0 * SPACING)
    radius = 0.5 * SPACING + MARGIN
    soft = scene.add_shape_matched(
        surface,
        material=jelly,
        spacing=SPACING,
        radius=radius,
        position=(0.0, DROP + MARGIN - low, 0.0),
        name="jelly_lump",
    )
    tilt = np.radians(35.0)
    down = np.array([np.cos(tilt), -np.sin(tilt), 0.0])
    normal = np.array([np.sin(tilt), np.cos(tilt), 0.0])
    turn = (np.cos(0.5 * tilt), 0.0, 0.0, -np.sin(0.5 * tilt))
    middle = np.array([0.8, 0.24, 0.0])
    scene.add_collider(
        sn.Box((0.9, 0.04, 0.5)), position=middle - 0.02 * normal, rotation=turn, friction=0.7, name="ramp"
    )
    cork = sn.LumpMaterial(density=150.0, friction=0.7)
    hard = scene.add_shape_matched(
        surface,
        material=cork,
        spacing=SPACING,
        radius=radius,
        position=middle - 0.3 * down + (0.01 - low) * normal,
        rotation=turn,
        velocity=tuple(0.8 * down),
        name="cork_lump",
    )
    vertices, faces = sn.grid(shape=(17, 17), size=(0.6, 0.6), diagonal="alternating")
    curtain = scene.add_cloth(
        (vertices[:, [1, 2, 0]], faces),
        material=sn.ClothMaterial.preset("cotton", density=0.4, thickness=0.01),
        self_collision="triangles",
        position=(1.22, 0.34, 0.0),
        name="curtain",
    )
    curtain.pin(curtain.where(lambda x: x[:, 1] > x[:, 1].max() - 1e-6))
    return scene, soft, hard, curtain


def distances(x: np.ndarray) -> np.ndarray:
    """Distances between every tenth particle (K, K) [m]."""
    some = x[::10].astype(float)
    return np.linalg.norm(some[:, None] - some[None], axis=2)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0])


def main(arguments: list[str] | None = None) -> None:
    """Run the example."""
    parser = argparse.ArgumentParser(description="A hare of jelly and one of cork, as shape matched particles.")
    parser.add_argument("--frames", type=int, default=240, help="frames of 1/60 s, at least 200")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    scene, jelly, cork, curtain = build()
    sim = sn.Simulation(scene)
    rest, hard = distances(jelly.positions), distances(cork.positions)
    hung, squashed, bent, pushed = sim.positions(curtain).copy(), 1.0, 0.0, 0.0
    carried = 0.0
    name = "shape_matched_lump"
    with Recorder(
        sim, [options.out / f"{name}.html", options.out / f"{name}.npz"], title="Shape matched lump"
    ) as recorder:
        recorder.record()
        for frame in range(options.frames):
            if frame == 8:
                fallen = float((jelly.positions - sim.positions(jelly))[:, 1].mean())
                steps = round(sim.time * 60.0 * sim.settings.substeps)
                exact = 0.5 * GRAVITY * sim.settings.substep**2 * steps * (steps + 1)
                assert abs(fallen - exact) < 1e-4, "falls freely"
            sim.step()
            recorder.record()
            squashed = min(squashed, float(np.ptp(sim.positions(jelly)[:, 1])) + SPACING)
            if frame >= options.frames - 30:
                carried += float(sim.forces(jelly)[1]) / 30.0
            bent = max(bent, float(np.abs(distances(sim.positions(cork)) - hard).max()))
            pushed = max(pushed, float((sim.positions(curtain) - hung)[:, 0].max()))
    left = float(np.abs(distances(sim.positions(jelly)) - rest).max() / rest.max())
    weight = GRAVITY * float(sim.model.masses[jelly.particles.start : jelly.particles.stop].sum())
    print(f"jelly: {len(jelly)} particles, squashed to {1e3 * squashed:.0f} mm, distances {left:.1%} off at last")
    print(f"the floor carries {carried:.2f} N of {weight:.2f} N")
    print(
        f"cork: {len(cork)} particles, distances changed by at most {1e3 * bent:.2f} mm; curtain pushed {pushed:.3f} m"
    )
    assert squashed < DOWN, "pressed flat"
    assert left < 0.05, "gets its shape back"
    assert abs(carried / weight - 1.0) < 0.02, "the floor carries the weight"
    assert bent < 0.1 * SPACING, "cork is rigid"
    assert pushed > 0.02, "the curtain gives way"


if __name__ == "__main__":
    main()
