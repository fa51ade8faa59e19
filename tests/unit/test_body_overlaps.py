"""Warnings of bodies that start inside each other."""

import warnings

import numpy as np
import pytest

import shinari as sn
from shinari.errors import ContactWarning


def messages(scene):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sn.Simulation(scene)
    return [str(w.message) for w in caught if issubclass(w.category, ContactWarning)]


def test_bodies_inside_each_other_are_named_with_depth():
    scene = sn.Scene()
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 5, 0), name="upper")
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0.0, 4.2, 0.0), name="lower")
    scene.add_rigid_body(sn.Sphere(0.5), position=(8, 0.4, 0), name="ball")
    scene.add_collider(sn.Plane(), name="ground")
    found = messages(scene)
    assert len(found) == 2
    assert "'upper' and 'lower' overlap at the start, by 0.2 m" in found[0]
    assert "'ball' and collider 'ground' overlap at the start, by 0.1 m" in found[1]


@pytest.mark.parametrize("depth", [0.0, 1e-7, 1e-3, -0.01])
def test_what_touches_is_no_overlap(depth):
    scene = sn.Scene()
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 0.5 - depth, 0))
    scene.add_rigid_body(sn.Box((1, 1, 1)), position=(0, 1.5 - 2 * depth, 0))
    scene.add_collider(sn.Plane())
    assert messages(scene) == []


def test_what_never_touches_may_overlap():
    scene = sn.Scene()
    a = scene.add_rigid_body(sn.Sphere(0.5), position=(0, 3, 0))
    b = scene.add_rigid_body(sn.Sphere(0.5), position=(0.5, 3, 0))
    c = scene.add_rigid_body(sn.Sphere(0.5), position=(1.0, 3, 0))
    scene.add_joint("ball", a, b, anchor=(0.25, 3, 0))
    scene.ignore_contact(b, c)
    found = messages(scene)
    assert found == []


def test_parts_of_a_compound_are_one_body():
    scene = sn.Scene()
    parts = [sn.Box((1, 1, 1)), (sn.Box((1, 1, 1)), (0.5, 0, 0))]
    scene.add_rigid_body(sn.Compound(parts), position=(0, 3, 0), name="two")
    scene.add_rigid_body(sn.Box((4, 0.2, 4)), position=(0, 2.5, 0), kinematic=True, name="shelf")
    found = messages(scene)
    assert len(found) == 1
    assert "'two' and 'shelf' overlap at the start, by 0.1 m" in found[0]


def test_mesh_in_mesh():
    box = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
             [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    mesh = sn.Mesh(box, np.array(faces))
    scene = sn.Scene()
    scene.add_rigid_body(mesh, position=(0.1, 3.95, 0.2), name="a")
    scene.add_rigid_body(mesh, position=(0, 3, 0), name="b")
    found = messages(scene)
    assert len(found) == 1
    assert "'a' and 'b' overlap at the start, by 0.05 m" in found[0]


def test_many_overlaps_are_one_warning_that_names_the_deepest():
    """Twelve pairs: five are named, deepest first, and seven counted."""
    scene = sn.Scene()
    for k in range(12):
        scene.add_rigid_body(sn.Box((1, 1, 1)), position=(3 * k, 5, 0), name=f"lower {k}")
        scene.add_rigid_body(sn.Box((1, 1, 1)), position=(3 * k, 5.9 - 0.02 * (k % 7), 0), name=f"upper {k}")
    (told,) = messages(scene)
    named = told.split("; ")
    assert named[0] == "'lower 6' and 'upper 6' overlap at the start, by 0.22 m"
    assert len([text for text in named if "overlap at the start" in text]) == 5
    assert "and 7 others" in named[5]
    assert "scene.ignore_contact" in told
