"""Certifies the paths of a substep: nothing passes through anything, whatever the speed."""
