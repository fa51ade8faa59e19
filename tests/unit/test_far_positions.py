"""Objects placed where numbers are too coarse for their shape."""

import pytest

import shinari as sn

PLACED = {
    "cloth": lambda s, at: s.add_cloth(sn.grid(shape=(3, 4), size=(1.0, 2.0)), position=at),
    "soft body": lambda s, at: s.add_soft_body(sn.lattice((2, 1, 1), 0.5), position=at),
    "grains": lambda s, at: s.add_grains(sn.Box((0.2, 0.1, 0.2)), radius=0.015, position=at),
    "fluid": lambda s, at: s.add_fluid(sn.Box((0.2, 0.1, 0.2)), spacing=0.025, position=at),
    "shape matched": lambda s, at: s.add_shape_matched(sn.Box((0.2, 0.2, 0.2)), spacing=0.05, position=at),
}


@pytest.mark.parametrize("kind", PLACED)
def test_an_object_so_far_that_it_loses_its_shape_is_refused(kind: str) -> None:
    """Numbers near 2^52 are whole: triangles of a sheet there had no area, and ended in a division by zero."""
    for far in (2.0**52 + 1.0, -1e17):
        with pytest.raises(sn.SceneError, match=rf"{kind} .*: position: .* points are rounded to .* keep their shape"):
            PLACED[kind](sn.Scene(), (0.0, 1.0, far))
    PLACED[kind](sn.Scene(), (0.0, 1.0, 1e9))
