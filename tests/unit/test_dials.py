"""Dials: places on sliders are values and back, and every place of every slider is a value that can be had."""

import math
from dataclasses import replace

import pytest

import shinari as sn
from shinari.api.changes import CHANGEABLE
from shinari.scene.fluid_material import FluidMaterial
from shinari.scene.grain_material import GrainMaterial
from shinari.scene.lump_material import LumpMaterial
from shinari.scene.rod_material import RodMaterial
from shinari.view.dials import AIR_DAMPING, DIALS, dials_of, told
from shinari.view.sliders import alike

MATERIALS = [
    sn.ClothMaterial(),
    sn.ClothMaterial(bend_model="cross", compression_compliance=math.inf, shear_compliance=1e-3),
    sn.ClothMaterial(stretch_model="strain", poissons_ratio=0.2),
    sn.ClothMaterial(stretch_model="strain", shear_compliance=1e-3),
    sn.ClothMaterial(bend_stiffness=0.0),
    sn.RopeMaterial(),
    sn.RopeMaterial(bend_compliance=1e-3),
    RodMaterial(),
    RodMaterial(shear_modulus=1e5, poissons_ratio=None),
    RodMaterial(poissons_ratio=0.4),
    sn.SoftMaterial(),
    LumpMaterial(),
    LumpMaterial(mode="linear"),
    GrainMaterial(),
    FluidMaterial(),
]


@pytest.mark.parametrize("dial", [*DIALS, AIR_DAMPING], ids=lambda dial: dial.field)
def test_a_place_is_a_value_and_back(dial):
    places = [dial.low, 0.3 * dial.low + 0.7 * dial.high, dial.high, dial.first, dial.last]
    for place in places:
        value = dial.value(place)
        # three digits of a value are less than the width of a step
        assert dial.place(value) == pytest.approx(place, abs=0.1 * dial.step)
    if dial.logarithmic:
        assert dial.value(-3.0) == 1e-3 or not dial.low <= -3.0 <= dial.high
        assert dial.value(dial.first) == (0.0 if dial.zero else 10.0**dial.low)
        assert dial.value(dial.last) == (math.inf if dial.infinite else 10.0**dial.high)


@pytest.mark.parametrize("material", MATERIALS, ids=lambda material: type(material).__name__)
def test_all_places_of_all_dials_of_a_material_can_be_had(material):
    dials = dials_of(material, windy=True)
    assert dials
    for dial in dials:
        assert dial.field in CHANGEABLE[type(material)]
        for place in (dial.first, 0.5 * (dial.low + dial.high), dial.last):
            value = dial.value(place)
            changed = replace(material, **{dial.field: value})
            assert getattr(changed, dial.field) == value
            # and the slider stays where it is, with the same ends
            again = next(d for d in dials_of(changed, windy=True) if d.field == dial.field)
            assert (again.first, again.last) == (dial.first, dial.last)


def test_what_does_nothing_has_no_dial():
    def fields(material, windy=False):
        return {dial.field for dial in dials_of(material, windy)}

    assert "drag_normal" not in fields(sn.ClothMaterial())
    assert "drag_normal" in fields(sn.ClothMaterial(), windy=True)
    assert "bend_compliance" not in fields(sn.ClothMaterial())
    assert "bend_stiffness" not in fields(sn.ClothMaterial(bend_stiffness=0.0))
    assert "bend_compliance" not in fields(sn.RopeMaterial())
    assert "beta" not in fields(LumpMaterial())
    assert "stiffness" not in fields(RodMaterial())


def test_values_are_told_with_units():
    dials = {dial.field: dial for dial in dials_of(sn.RopeMaterial(bend_compliance=1e-3), windy=False)}
    assert dials["stretch_compliance"].text(2.5e-7) == "2.5e\N{MINUS SIGN}7 1/N stretch compliance"
    assert dials["bend_compliance"].text(0.0) == "0 m/N bend compliance"
    assert dials["friction"].text(2) == "friction"
    plain = [told(value) for value in (0.0, 100.0, 0.5, 0.012345, 1e12, math.inf)]
    assert plain == ["0", "100", "0.5", "0.0123", "1e12", "\N{INFINITY}"]


def test_things_of_one_kind_and_material_share_their_sliders():
    scene = sn.Scene()
    for name in ("one", "two"):
        scene.add_rope([[0, 0, 0], [1, 0, 0]], name=name)
    scene.add_rope([[0, 1, 0], [1, 1, 0]], material=sn.RopeMaterial(radius=0.01), name="three")
    scene.add_particles([[5, 0, 0]])
    assert [names for names, _ in alike(scene).values()] == [["one", "two"], ["three"]]
