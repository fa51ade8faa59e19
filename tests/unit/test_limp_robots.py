"""Limp robots that fall onto their limits: the direct solution of a substep stays bounded where it does not settle."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn

pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

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
    text = ""
    for k, ((place, size), (axis, limits)) in reversed(list(enumerate(zip(shapes, joints, strict=True)))):
        text = f"""<body pos="{place.format(y=y, z=z)}"><joint name="{name}{k}" axis="{axis}" range="{limits}"
          damping=".5" armature=".01"/>
          <geom type="box" size="{size}" pos="0 0 {-float(size.split()[2])}"/>{text}</body>"""
    return text


def humanoid() -> str:
    """Thirty hinges."""
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


def test_limp_robots_at_few_substeps_stay_together(tmp_path: Path) -> None:
    """Fifty of thirty hinges at three substeps: none is faster than what falls from twice its height, 6 m/s, times two.

    A Newton step that turns bodies by more than rows of joints are linear for is shortened: without that one of them
    flew apart at 425 m/s.
    """
    path = tmp_path / "humanoid.xml"
    path.write_text(humanoid())
    scene = sn.Scene()
    scene.add_collider(sn.Plane(), friction=1.0)
    robots = [
        sn.load_robot(path, scene, position=(k % 10 * 1.6, 0.3, k // 10 * 1.6), name=f"r{k}", angles={})
        for k in range(50)
    ]
    assert len(robots[0].names) == 30
    sim = sn.Simulation(scene, substeps=3)
    for _ in range(200):
        sim.step()
        assert np.abs(sim.state.body_velocities).max() < 12.0
