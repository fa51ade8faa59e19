"""A humanoid of thirty hinges as MJCF, and fifty of them in a scene."""

import tempfile
from pathlib import Path

import numpy as np

import shinari as sn

HIP = ("0 0 1", "-30 30"), ("1 0 0", "-20 20"), ("0 1 0", "-90 40"), ("0 1 0", "-5 120")
FOOT = ("0 1 0", "-40 40"), ("1 0 0", "-20 20"), ("0 1 0", "-10 40")
LEG_SHAPES = (
    ("0 {y} -.1", ".06 .06 .02"), ("0 0 -.05", ".05 .05 .02"), ("0 0 -.05", ".06 .05 .18"),
    ("0 0 -.37", ".05 .045 .17"), ("0 0 -.35", ".03 .03 .02"), ("0 0 -.05", ".12 .05 .02"), ("0.15 0 0", ".04 .05 .02"),
)  # fmt: skip
ARM = ("0 1 0", "-120 60"), ("1 0 0", "-60 60"), ("0 0 1", "-60 60"), ("0 1 0", "-120 5"), ("0 0 1", "-60 60")
ARM_SHAPES = (
    ("0 {y} .35", ".03 .03 .03"), ("0 {z} -.07", ".03 .03 .03"), ("0 0 -.07", ".035 .035 .11"),
    ("0 0 -.23", ".03 .03 .11"), ("0 0 -.23", ".02 .02 .02"), ("0 0 -.05", ".02 .04 .06"),
)  # fmt: skip


def limb(name: str, shapes: tuple, joints: tuple, y: float, z: float) -> str:
    """Boxes one below the other, each on a hinge."""
    text = ""
    for k, ((place, size), (axis, limits)) in reversed(list(enumerate(zip(shapes, joints, strict=True)))):
        text = f"""<body pos="{place.format(y=y, z=z)}"><joint name="{name}{k}" axis="{axis}" range="{limits}"
          damping=".5" armature=".01"/>
          <geom type="box" size="{size}" pos="0 0 {-float(size.split()[2])}"/>{text}</body>"""
    return text


def humanoid() -> str:
    """Thirty hinges, upright, its feet on the ground."""
    legs = "".join(limb(f"leg{s}", LEG_SHAPES, (*HIP, *FOOT), 0.1 * s, 0.0) for s in (1, -1))
    arms = "".join(limb(f"arm{s}", ARM_SHAPES, (*ARM, ("1 0 0", "-40 40")), 0.22 * s, 0.01 * s) for s in (1, -1))
    neck = """<body pos="0 0 .36"><joint name="neck" axis="0 1 0" range="-40 40" damping=".5" armature=".01"/>
      <geom type="sphere" size=".1" pos="0 0 .12"/></body>"""
    text = neck + arms
    spine = (("0 0 .08", "1 0 0", "-30 30", ".1 .16 .15", 0.2), ("0 0 .08", "0 1 0", "-30 60", ".09 .12 .03", 0.03),
             ("0 0 .05", "0 0 1", "-40 40", ".09 .12 .04", 0.03))  # fmt: skip
    for k, (place, axis, limits, size, height) in enumerate(spine):
        text = f"""<body pos="{place}"><joint name="spine{2 - k}" axis="{axis}" range="{limits}"
          damping="2" armature=".02"/><geom type="box" size="{size}" pos="0 0 {height}"/>{text}</body>"""
    return f"""<mujoco><default><geom density="500" friction="1"/></default><worldbody>
      <body name="pelvis" pos="0 0 1.06"><freejoint/><geom type="box" size=".1 .15 .07"/>{text}{legs}</body>
      </worldbody></mujoco>"""


def crowd(count: int, height: float, ground: bool, spread: float = 0.0) -> tuple[sn.Scene, list[sn.Robot]]:
    """Humanoids in rows of ten, 1.6 m apart.

    Args:
        count: How many.
        height: Of their feet over the ground [m].
        ground: Whether there is one.
        spread: How far their angles are apart, as part of the limits; 0: all stand upright.
    """
    scene = sn.Scene()
    if ground:
        scene.add_collider(sn.Plane(), friction=1.0)
    rng = np.random.default_rng(0)
    limits: dict[str, tuple] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "humanoid.xml"
        path.write_text(humanoid())
        if spread > 0.0:
            one = sn.load_robot(path, sn.Scene())
            limits = dict(zip(one.names, spread * one.limits, strict=True))
        robots = [
            sn.load_robot(
                path,
                scene,
                position=(k % 10 * 1.6, height, k // 10 * 1.6),
                angles={name: float(rng.uniform(*pair)) for name, pair in limits.items()},
                name=f"robot_{k}",
            )
            for k in range(count)
        ]
    return scene, robots
