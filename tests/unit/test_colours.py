"""Colours of values: light is more, and never comes to mean more than it did."""

from dataclasses import replace

import numpy as np
import pytest

from shinari.errors import SceneError
from shinari.io.results import DrawnPart, Frame, Layout
from shinari.view.colours import ANCHORS, MODES, Colouring, colours_of, modes_of

LAYOUT = Layout(
    (
        DrawnPart("first", "points", 0, 2),
        DrawnPart("second", "points", 2, 5),
        DrawnPart("tap", "points", 5, 8, varies=True),
    ),
    (),
    9,
    30.0,
    measured=True,
)
NONE = np.zeros((0, 3))


def frame(strains: list[float] | None = None, speeds: list[float] | None = None, drawn: tuple = (1, 1, 1)) -> Frame:
    velocities = np.zeros((9, 3))
    velocities[:, 1] = np.zeros(9) if speeds is None else speeds
    values = np.zeros(0) if strains is None else np.array(strains)
    return Frame(
        0.0, np.zeros((9, 3)), velocities, NONE, np.zeros((0, 4)), NONE, NONE, np.array(drawn, bool),
        strains=values, forces=10.0 * values,
    )  # fmt: skip


def lightness(colors: np.ndarray) -> np.ndarray:
    """L of OKLab (Ottosson 2020) of sRGB colours (n, 3) uint8."""
    c = np.asarray(colors, float) / 255.0
    linear = np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)
    lms = linear @ np.array(
        [
            [0.4122214708, 0.2119034982, 0.0883024619],
            [0.5363325363, 0.6806995451, 0.2817188376],
            [0.0514459929, 0.1073969566, 0.6299787005],
        ]
    )
    return np.cbrt(lms) @ np.array([0.2104542553, 0.7936177850, -0.0040720468])


def test_lightness_rises_evenly() -> None:
    """From 0.46 to 0.94; colours are rounded to 1/255, and between two anchors sRGB is not straight in OKLab."""
    values = np.linspace(0.0, 1.0, 201)
    found = lightness(colours_of(values))
    assert np.abs(found - (0.46 + 0.48 * values)).max() < 0.01
    steps = np.diff(lightness(colours_of(np.linspace(0.0, 1.0, 41))))
    assert steps.min() > 0.0
    assert steps.max() < 2.0 * steps.mean()


def test_values_have_the_colours_of_the_anchors_and_stay_within() -> None:
    assert np.array_equal(colours_of(np.linspace(0.0, 1.0, len(ANCHORS))), ANCHORS.astype(np.uint8))
    assert np.array_equal(colours_of(np.array([-1.0, 2.0])), ANCHORS[[0, -1]].astype(np.uint8))
    assert colours_of(np.zeros(0)).shape == (0, 3)


def test_a_part_gets_the_colours_of_its_points() -> None:
    now = frame([0.0, 0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 0.0])
    colouring = Colouring(LAYOUT, "strain")
    first, second = colouring.of(0, now), colouring.of(1, now)
    assert (first.dtype, first.shape, second.shape) == (np.uint8, (2, 3), (3, 3))
    assert np.array_equal(np.concatenate([first, second]), colours_of(np.linspace(0.0, 1.0, 5)))
    assert colouring.largest == 0.4


@pytest.mark.parametrize(("mode", "value"), [("strain", 0.25), ("force", 2.5), ("speed", 3.0)])
def test_each_mode_takes_its_own_values(mode: str, value: float) -> None:
    now = frame([0.25] + [0.0] * 8, [-3.0] + [0.0] * 8)
    colouring = Colouring(LAYOUT, mode)
    assert np.array_equal(colouring.of(0, now), ANCHORS[[-1, 0]])
    assert colouring.largest == value


def test_the_largest_value_only_grows() -> None:
    colouring = Colouring(LAYOUT, "strain")
    seen = []
    for peak in (0.1, 0.4, 0.2):
        colouring.of(0, frame([peak] + [0.0] * 8))
        seen.append(colouring.largest)
    assert seen == [0.1, 0.4, 0.4]
    half = colouring.of(0, frame([0.2] + [0.0] * 8))
    assert np.array_equal(half[0], colours_of(np.array([0.5]))[0])


def test_all_parts_count_before_the_first_is_coloured() -> None:
    colouring = Colouring(LAYOUT, "strain")
    first = colouring.of(0, frame([0.1, 0.0, 0.2] + [0.0] * 6))
    assert np.array_equal(first[0], colours_of(np.array([0.5]))[0])


def test_a_given_largest_value_stays() -> None:
    colouring = Colouring(LAYOUT, "force", largest=2.0)
    found = colouring.of(0, frame([0.1, 1.0] + [0.0] * 7))
    assert np.array_equal(found, colours_of(np.array([0.5, 1.0])))
    assert colouring.largest == 2.0


def test_what_is_not_drawn_does_not_count() -> None:
    """Point 8 is in no part; points 5 to 7 are particles of a tap, of which the second waits."""
    speeds = [1.0, 0, 0, 0, 0, 2.0, 50.0, 0, 90.0]
    colouring = Colouring(LAYOUT, "speed")
    colouring.of(0, frame(speeds=speeds, drawn=(1, 0, 1)))
    assert colouring.largest == 2.0


def test_one_colour_in_the_mode_body_and_where_nothing_was_measured() -> None:
    assert Colouring(LAYOUT, "body").of(1, frame([0.1] * 9)) is None
    assert Colouring(LAYOUT, "strain").of(1, frame()) is None
    assert Colouring(LAYOUT, "speed").of(1, frame()) is not None


def test_a_frame_at_rest_is_dark() -> None:
    assert np.array_equal(Colouring(LAYOUT, "speed").of(0, frame()), ANCHORS[[0, 0]])


def test_modes_of_runs() -> None:
    assert modes_of(LAYOUT) == MODES
    assert modes_of(replace(LAYOUT, measured=False)) == ("body", "speed")


def test_bad_input_is_refused() -> None:
    with pytest.raises(SceneError, match="mode is 'heat', expected one of body, strain, force, speed"):
        Colouring(LAYOUT, "heat")
    with pytest.raises(SceneError, match="largest"):
        Colouring(LAYOUT, "strain", largest=0.0)


@pytest.mark.filterwarnings("error")
def test_what_is_no_number_has_the_colour_of_nothing_and_is_not_the_largest():
    colouring = Colouring(LAYOUT, "strain")
    strains = [np.nan, 0.5, np.inf, -np.inf, 0.25, np.nan, 0.0, 0.0, 0.0]
    assert np.array_equal(colouring.of(0, frame(strains)), colours_of(np.array([0.0, 1.0])))
    assert np.array_equal(colouring.of(1, frame(strains)), colours_of(np.array([1.0, 0.0, 0.5])))
    assert colouring.largest == 0.5
