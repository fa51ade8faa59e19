"""Robots from URDF and MJCF files: bodies, shapes, joints, limits and motors. Needs the extra [robot]."""
