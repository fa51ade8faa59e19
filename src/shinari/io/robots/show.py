"""A robot file as a scene to look at: on the ground, its joints held where they start."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from shinari.api.scene import Scene
from shinari.geometry.motion import rotation_matrix
from shinari.io.robots.load import load_robot
from shinari.io.robots.robot import MOVES, Robot
from shinari.scene.body import Drive
from shinari.shapes.plane import Plane
from shinari.systems.rigid.surface import body_surface


def robot_scene(path: Path, package: Path | None = None) -> tuple[Scene, Robot]:
    """The robot of a file in a scene of its own, with ground under it unless the file has some.

    Joints without a motor are held at their start by one within the force that the file allows.

    Args:
        path: The file.
        package: Folder that `load_robot` takes.

    Raises:
        MissingExtraError: MuJoCo is not installed.
        FileError: The file cannot be read.
        SceneError: What it describes cannot be simulated.
    """
    scene = Scene()
    robot = load_robot(path, scene, package=package)
    for handle in robot.joints.values():
        joint = scene.joints[handle.index]
        if joint.kind in MOVES and joint.drive is None:
            scene.joints[handle.index] = replace(joint, drive=Drive("position", joint.start, most=joint.max_force))
    if not robot.colliders:
        scene.add_collider(Plane(), position=(0.0, _lowest(scene), 0.0), friction=0.8, name="ground")
    return scene, robot


def _lowest(scene: Scene) -> float:
    """Height of the lowest point of all bodies and flexible parts [m]; 0 where there is none."""
    heights = [float(scene.positions[:, 1].min())] if scene.particle_count else []
    for body in scene.bodies:
        vertices, _ = body_surface(body)
        if len(vertices):
            heights.append(float((vertices @ rotation_matrix(body.rotation).T + body.position)[:, 1].min()))
    return float(np.min(heights)) if heights else 0.0
