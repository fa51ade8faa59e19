r"""A T-shirt from a pattern over a walking figure.

       ___   ___          two panels of the same outline, one in front of the figure and one behind it;
    __/   \_/   \__       four seams close within a second: top and side, left and right.
    \_    front   _/      Then the figure lowers its arms and walks.
      |           |
      |___________|

The figure is made here: ellipsoids and capsules on bones that swing, as one mesh with the same triangles in each frame
(`MeshSequence`). A character from a file, glTF or USD, would come by `shinari.read_animation`. The shirt collides with
itself: the sleeves do not pass through its sides when the arms come down, nor at any step of the walk.

Two numbers are checked at the end. All seams are closed to a millimetre. And the shirt is where its wearer is: its
middle is at most a few centimetres from that of the chest, though no vertex is held anywhere.
"""

import argparse
import time
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle
from shinari.shapes.base import shape_mesh

SEWING, LOWERING, WALKING = 1.0, 1.0, 2.0  # times of the parts [s]
SPEED, PACE = 0.8, 0.9  # of the walk [m/s], steps of a leg [1/s]
SUBSTEPS = 10
SPACING = 0.0125  # edges of the shirt: about 10,000 triangles [m]
CHEST = np.array([0.0, 1.25, 0.0])
SHOULDER, HIP = np.array([0.17, 1.37, 0.0]), np.array([0.085, 0.9, 0.0])  # of the left side; the right one mirrors
OPEN, DOWN = np.radians(50.0), np.radians(14.0)  # arms from the vertical while it is sewn, and when it walks


def bone(shape: sn.Shape, along: float) -> tuple[np.ndarray, np.ndarray]:
    """Mesh of a limb that hangs from the origin; `along` is how far its middle is beneath [m]."""
    vertices, faces = shape_mesh(shape, segments=20)
    return vertices - [0.0, along, 0.0], faces


# Ellipsoids of trunk, hips and head, their centres [m]; then limbs, each with its joint and the side that it is on.
TRUNK = [
    (sn.Ellipsoid((0.165, 0.27, 0.105)), (0.0, 1.20, 0.0)),
    (sn.Ellipsoid((0.155, 0.14, 0.11)), (0.0, 0.95, 0.0)),
    (sn.Ellipsoid((0.08, 0.11, 0.09)), (0.0, 1.65, 0.0)),
    (sn.Ellipsoid((0.19, 0.055, 0.06)), (0.0, 1.38, 0.0)),
    (sn.Capsule(0.048, 0.14), (0.0, 1.47, 0.0)),
]
ARM, LEG = bone(sn.Capsule(0.045, 0.50), 0.25), bone(sn.Capsule(0.075, 0.75), 0.375)


def swing(axis: tuple[float, float, float], angle: float) -> np.ndarray:
    """Quaternion of a turn."""
    return np.array([np.cos(0.5 * angle), *(np.sin(0.5 * angle) * np.array(axis))])


def figure(at: float) -> np.ndarray:
    """Vertices of the figure at a time [s], (V, 3)."""
    lowered = np.clip((at - SEWING) / LOWERING, 0.0, 1.0)
    lowered = lowered * lowered * (3.0 - 2.0 * lowered)
    walked = max(at - SEWING - LOWERING, 0.0)
    begun = min(walked / 0.5, 1.0)
    phase = 2.0 * np.pi * PACE * walked
    parts = [shape_mesh(shape, segments=24)[0] + centre for shape, centre in TRUNK]
    for side in (1.0, -1.0):
        out = side * (OPEN + (DOWN - OPEN) * lowered)
        forth = -side * 0.45 * begun * np.sin(phase)
        turn = rotation_matrix(quaternion_product(swing((1, 0, 0), forth), swing((0, 0, 1), out)))
        parts.append(ARM[0] @ turn.T + SHOULDER * [side, 1.0, 1.0])
        turn = rotation_matrix(swing((1, 0, 0), side * 0.45 * begun * np.sin(phase)))
        parts.append(LEG[0] @ turn.T + HIP * [side, 1.0, 1.0])
    bob = 0.015 * begun * (1.0 - np.cos(2.0 * phase))
    forward = SPEED * (walked - 0.25 if walked > 0.5 else walked**2)
    return np.concatenate(parts) + np.array([0.0, bob, forward])


def walk() -> sn.MeshSequence:
    """The figure at 60 frames in a second."""
    counted = [shape_mesh(shape, segments=24) for shape, _ in TRUNK] + [ARM, LEG, ARM, LEG]
    starts = np.cumsum([0, *(len(vertices) for vertices, _ in counted[:-1])])
    faces = np.concatenate([faces + start for (_, faces), start in zip(counted, starts, strict=True)])
    times = np.arange(0.0, SEWING + LOWERING + WALKING + 0.1, 1.0 / 60.0)
    return sn.MeshSequence(times, np.array([figure(at) for at in times]), faces)


def panel(neck: float) -> dict[str, np.ndarray]:
    """Outline of a panel, seen from outside, its neckline so deep [m]."""
    along, across = np.array([np.sin(OPEN), -np.cos(OPEN)]), np.array([np.cos(OPEN), np.sin(OPEN)])
    cuff = SHOULDER[:2] + 0.26 * along
    collar, under = np.array([0.085, 1.475]), np.array([0.225, 1.16])
    side = np.array([[0.235, 0.80], under, cuff - 0.085 * across])
    top = np.array([cuff + 0.085 * across, SHOULDER[:2] + 0.075 * across, collar])
    bow = np.linspace(0.0, np.pi, 13)
    line = np.column_stack([collar[0] * np.cos(bow), collar[1] - neck * np.sin(bow)])
    mirror = np.array([-1.0, 1.0])
    return {
        "hem": np.array([side[0] * mirror, side[0]]),
        "side right": side,
        "cuff right": np.array([side[-1], top[0]]),
        "top right": top,
        "neck": line,
        "top left": (top * mirror)[::-1],
        "cuff left": np.array([top[0] * mirror, side[-1] * mirror]),
        "side left": (side * mirror)[::-1],
    }


def shirt(spacing: float) -> sn.Pattern:
    """Front and back, and their seams."""
    pattern = sn.Pattern(spacing)
    pattern.add_panel("front", panel(0.07), position=(0.0, 0.0, 0.13))
    pattern.add_panel("back", panel(0.02), position=(0.0, 0.0, -0.13), rotation=swing((0, 1, 0), np.pi))
    for edge, closing_time in (("top", 0.3 * SEWING), ("side", 0.9 * SEWING)):  # it hangs on the shoulders first
        pattern.add_seam(f"front.{edge} right", f"back.{edge} left", closing_time=closing_time)
        pattern.add_seam(f"front.{edge} left", f"back.{edge} right", closing_time=closing_time)
    return pattern


def build(spacing: float = SPACING) -> tuple[sn.Scene, Handle, sn.Pattern]:
    """The figure, and the shirt before it is sewn."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0), damping=4.0)  # the panels float while they are sewn
    scene.add_moving_mesh(walk(), thickness=0.004, friction=0.4, name="figure")
    pattern = shirt(spacing)
    material = sn.ClothMaterial.preset("cotton", thickness=0.002, damping=2e-3)
    worn = scene.add_cloth(pattern, material=material, sewing=pattern.seams, self_collision="triangles", name="shirt")
    return scene, worn, pattern


def gap(x: np.ndarray, pattern: sn.Pattern) -> float:
    """Largest distance of two vertices that are sewn together [m]."""
    return max(float(np.linalg.norm(x[seam.first] - x[seam.second], axis=1).max()) for seam in pattern.seams)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0], substeps=SUBSTEPS, hierarchy=True)


def main(arguments: list[str] | None = None) -> None:
    """Sew, put on, walk; check the seams and where the shirt is; write results."""
    parser = argparse.ArgumentParser(description="a T-shirt from a pattern over a walking figure")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    parser.add_argument("--spacing", type=float, default=SPACING, help="edges of the shirt [m]")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, worn, pattern = build(options.spacing)
    simulation = sn.Simulation(scene, substeps=SUBSTEPS, hierarchy=True)
    outputs = [options.out / "walking_shirt.html", options.out / "walking_shirt.npz"]
    taken = []
    with Recorder(simulation, outputs, title="a T-shirt from a pattern over a walking figure") as recorder:
        recorder.record()
        for frame in range(round(60 * (SEWING + LOWERING + WALKING))):
            if frame == round(60 * SEWING):
                simulation.change(gravity=(0.0, -9.81, 0.0), damping=0.5)
            begun = time.perf_counter()
            simulation.step()
            taken.append(time.perf_counter() - begun)
            recorder.record()
    x = simulation.positions(worn)
    apart = gap(x, pattern)
    trunk = figure(simulation.time)[: len(shape_mesh(TRUNK[0][0], segments=24)[0])].mean(axis=0)
    off = np.abs(x.mean(axis=0) - trunk)
    assert apart < 1e-3, f"a seam is {1e3 * apart:.2f} mm open"
    assert (off < [0.05, 0.15, 0.08]).all(), f"the shirt is {off} m from its wearer"
    print(f"{len(pattern.faces)} triangles, {1.0 / np.median(taken):.1f} steps a second")
    print(f"largest gap of a seam: {1e3 * apart:.3f} mm; middle of the shirt from that of the trunk: {off.round(3)} m")
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
