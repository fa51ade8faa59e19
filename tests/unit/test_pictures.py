"""Pictures and videos: what is seen where, read back by other readers."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from drawn import CLOTH, CUBE, FLOOR, SIZE, SQUARE, frame_at

from shinari.errors import FileError, MissingExtraError, SceneError
from shinari.io.frame_queue import frame_dtype
from shinari.io.results import COLORS, Body, DrawnPart, Layout
from shinari.view import offscreen
from shinari.view.camera import Camera
from shinari.view.geometry import icosphere

pyvista = pytest.importorskip("pyvista", reason="pyvista (extra [render]) is not installed")
pytest.importorskip("av", reason="av (extra [render]) is not installed")

GREY = "#dddddd"


@pytest.fixture(scope="module")
def drawing():
    """Skips what needs pictures where none can be drawn."""
    try:
        offscreen.window_class()
    except MissingExtraError as error:
        pytest.skip(str(error))


def painted(layout, frames, chosen=0, **options):
    from shinari.view.pictures import Painter, survey

    colouring = options.pop("colouring", None)
    scenery = survey(layout, frames, options.pop("direction", "corner"), SIZE)
    with Painter(layout, frames[0], scenery, size=SIZE, background=GREY, colouring=colouring, **options) as painter:
        return painter.image(frames[chosen]), painter.camera


def colourful(image):
    """Where something coloured is: ground, background and colliders are grey."""
    image = image.astype(int)
    return image.max(axis=2) - image.min(axis=2) > 30


def like(image, color):
    """Where the channels of a picture stand in the order of a colour, and are as far apart at least in part."""
    order = np.argsort(color)
    sorted_channels = image[..., order].astype(int)
    return colourful(image) & (np.diff(sorted_channels, axis=2) >= 0).all(axis=2)


def test_a_plane_is_the_ground_only_when_it_is_level():
    from shinari.view.pictures import survey

    layout = Layout(CLOTH.parts, (FLOOR,), 4, 30.0)
    for angle, floor in ((0.0, 0), (np.pi, 0), (0.1, None), (0.5 * np.pi, None)):
        turn = [[np.cos(0.5 * angle), 0.0, 0.0, np.sin(0.5 * angle)]]
        assert survey(layout, [frame_at(0.0, SQUARE, [[0.0, -1.0, 0.0]], rotations=turn)]).floor == floor


def test_cloth_is_seen_where_it_projects_and_nowhere_else(drawing):
    frames = [frame_at(0.0, SQUARE), frame_at(1.0, SQUARE + np.array([0.8, 0, 0.2]))]
    images = []
    for chosen, frame in enumerate(frames):
        image, camera = painted(CLOTH, frames, chosen)
        images.append(colourful(image))
        corners = camera.project(frame.positions, SIZE)[:, :2]
        edges = np.roll(corners, -1, axis=0) - corners
        columns, rows = np.meshgrid(np.arange(SIZE[0]) + 0.5, np.arange(SIZE[1]) + 0.5)
        sides = [
            ((columns - c[0]) * e[1] - (rows - c[1]) * e[0]) / np.linalg.norm(e)
            for c, e in zip(corners, edges, strict=True)
        ]
        depth = np.min(sides, axis=0)  # pixels inside of the outline
        assert images[-1][depth > 1.5].all()
        assert not images[-1][depth < -1.5].any()
        assert like(image, COLORS[0])[depth > 1.5].all()
    assert (images[0] != images[1]).sum() > 0.3 * images[0].sum()


@pytest.mark.parametrize("radius", [0.1, 0.3])
def test_a_particle_is_a_ball_of_its_radius(drawing, radius):
    layout = Layout((DrawnPart("bead", "points", 0, 1, radius=radius),), (), 1, 30.0)
    camera = Camera((0.0, 0.0, 4.0), (0.0, 0.0, 0.0))
    image, _ = painted(layout, [frame_at(0.0, [[0, 0, 0]])], camera=camera)
    # the outline of a sphere is a cone: sin = r/d
    pixels = 0.5 * SIZE[1] * np.tan(np.arcsin(radius / 4.0)) / np.tan(np.radians(0.5 * camera.angle))
    ball = np.ptp(image.astype(int), axis=2) > 12  # its rim is dark
    assert ball.sum() == pytest.approx(np.pi * pixels**2, rel=0.05)
    rows, columns = np.nonzero(ball)
    assert [columns.mean() + 0.5, rows.mean() + 0.5] == pytest.approx([0.5 * SIZE[0], 0.5 * SIZE[1]], abs=0.6)


def test_what_is_torn_or_waits_is_left_out(drawing):
    torn = replace(CLOTH, parts=(replace(CLOTH.parts[0], varies=True),))
    whole = colourful(painted(torn, [frame_at(0.0, SQUARE, drawn=[True, True])])[0]).sum()
    half = colourful(painted(torn, [frame_at(0.0, SQUARE, drawn=[True, False])])[0]).sum()
    assert half == pytest.approx(0.5 * whole, rel=0.1)
    water = Layout((DrawnPart("water", "points", 0, 2, radius=0.2, varies=True, fluid=True),), (), 2, 30.0)
    both, one = ([True, True], [True, False])
    frames = [frame_at(0.0, [[-0.5, 0, 0], [0.5, 0, 0]], drawn=there) for there in (both, one)]
    many, few = (colourful(painted(water, frames, k, direction="front")[0]).sum() for k in (0, 1))
    assert few == pytest.approx(0.5 * many, rel=0.15)
    rope = Layout((DrawnPart("rope", "curve", 0, 3, radius=0.05, varies=True),), (), 3, 30.0)
    frames = [frame_at(0.0, [[-1, 0, 0], [0, 0, 0], [1, 0, 0]], drawn=there) for there in (both, one)]
    many, few = (colourful(painted(rope, frames, k, direction="front")[0]).sum() for k in (0, 1))
    assert few == pytest.approx(0.5 * many, rel=0.15)


def test_both_sides_of_cloth_are_lit_and_the_back_is_lighter(drawing):
    means = []
    for z in (3.0, -3.0):
        image, _ = painted(CLOTH, [frame_at(0.0, SQUARE)], camera=Camera((0.0, 0.5, z), (0.0, 0.5, 0.0)))
        means.append(image[colourful(image)].mean(axis=0))
    front, back = means
    assert front.max() > 70
    assert back.max() > 70
    assert back.min() / back.max() > front.min() / front.max() + 0.15


def test_bodies_turn_and_keep_their_edges(drawing):
    from shinari.view.actors import split_edges

    layout = Layout((), (CUBE,), 0, 30.0)
    camera = Camera((0.0, 0.0, 3.0), (0.0, 0.0, 0.0))
    half = np.sqrt(0.5)
    straight = frame_at(0.0, [], [[0, 0, 0]])
    turned = frame_at(0.0, [], [[0, 0, 0]], rotations=[[np.cos(np.pi / 8), 0, 0, np.sin(np.pi / 8)]])  # 45 degrees
    widths = [np.ptp(np.nonzero(colourful(painted(layout, [f], camera=camera)[0]))[1]) for f in (straight, turned)]
    assert widths[1] / widths[0] == pytest.approx(1.0 / half, rel=0.05)
    source, faces = split_edges(CUBE.vertices, CUBE.faces)
    assert len(source) == 24
    assert np.array_equal(source[faces], CUBE.faces)
    ball = icosphere(3)
    assert len(split_edges(*ball)[0]) == len(ball[0])


def test_a_container_is_seen_into(drawing):
    tank = Body("tank", 2.0 * CUBE.vertices, CUBE.faces[:, ::-1])
    assert tank.hollow
    layout = Layout((DrawnPart("bead", "points", 0, 1, radius=0.2),), (tank,), 1, 30.0)
    image, camera = painted(layout, [frame_at(0.0, [[0, 0, 0]], [[0, 0, 0]])])
    column, row, _ = camera.project(np.zeros((1, 3)), SIZE)[0]
    assert like(image, COLORS[0])[int(row), int(column)]
    solid = replace(layout, bodies=(replace(tank, faces=CUBE.faces),))
    assert not colourful(painted(solid, [frame_at(0.0, [[0, 0, 0]], [[0, 0, 0]])])[0]).any()


def test_colours_tell_speeds(drawing):
    from shinari.view.colours import ANCHORS, Colouring

    layout = Layout((DrawnPart("beads", "points", 0, 2, radius=0.2),), (), 2, 30.0)
    frame = frame_at(0.0, [[-0.5, 0, 0], [0.5, 0, 0]], velocities=[[0, 0, 0], [3, 0, 0]])
    image, camera = painted(layout, [frame], colouring=Colouring(layout, "speed", 3.0), direction="front")
    for point, color in zip(frame.positions, (ANCHORS[0], ANCHORS[-1]), strict=True):
        column, row, _ = camera.project(point[None], SIZE)[0]
        seen = image[int(row), int(column)].astype(float)
        assert np.abs(seen / seen.max() - color / color.max()).max() < 0.15


def test_the_ground_is_dark_where_a_thing_stands_between_it_and_the_lamp(drawing):
    layout = Layout((DrawnPart("plate", "mesh", 0, 4, faces=np.array([[0, 2, 1], [0, 3, 2]])),), (FLOOR,), 4, 30.0)
    plate = np.array([[-0.3, 0.5, -0.3], [0.3, 0.5, -0.3], [0.3, 0.5, 0.3], [-0.3, 0.5, 0.3]])
    from shinari.view.shadows import LAMP_DEPTH, LAMP_DIRECTION

    away = np.array(LAMP_DIRECTION) / LAMP_DIRECTION[1]
    camera = Camera((0.0, 2.2, 3.0), (0.0, 0.2, 0.0))
    frame = frame_at(0.0, plate, [[0, 0, 0]])
    image, _ = painted(layout, [frame], camera=camera, grid=False)
    shadow, opposite = -0.5 * away, np.array([0.9, 0.0, 0.9])
    places = camera.project(np.array([shadow * [1, 0, 1], opposite]), SIZE)[:, :2].astype(int)
    dark, light = (float(image[row, column].mean()) for column, row in places)
    assert not colourful(image)[places[:, 1], places[:, 0]].any()
    # all of the lamp, and some of the sky
    assert dark < (1.0 - LAMP_DEPTH) * light
    assert light > 0.85 * 0xDD


def test_the_light_of_the_sky_under_a_roof():
    """A wide roof low above the ground takes nearly all light, a small one high above hardly any."""
    from shinari.view import shadows

    def darkest(half, height):
        a, b, c, d = half * np.array([[-1, 0, -1], [1, 0, -1], [1, 0, 1], [-1, 0, 1.0]]) + [0, height, 0]
        lights = shadows.Lights(np.zeros(3), 1.0, shadows.Ground(0.0, 2.0, 0.0))
        lights.cast(np.array([[a, b, c], [a, c, d]]), np.zeros((0, 4)))
        return lights._floor.light.min(), lights._floor.light[0]

    darkness = (1.0 - shadows.LAMP_DEPTH) * (1.0 - shadows.SKY_DEPTH)
    low, far = darkest(0.9, 0.05)
    assert low == pytest.approx(darkness, abs=0.05)
    assert far == pytest.approx(1.0, abs=0.01)
    assert darkest(0.05, 0.8)[0] > 1.0 - shadows.LAMP_DEPTH - 0.05
    assert darkest(0.0, 0.5) == pytest.approx((1.0, 1.0))


def test_pictures_without_things_and_with_odd_options(drawing):
    from shinari.view.pictures import Painter, survey

    empty = Layout((), (), 0, 30.0)
    image, _ = painted(empty, [frame_at(0.0, [])], grid=False)
    assert image.shape == (SIZE[1], SIZE[0], 3)
    assert image.std() < 12
    with pytest.raises(SceneError, match=r"background.*nocolour"):
        Painter(empty, frame_at(0.0, []), survey(empty, []), background="nocolour")
    with pytest.raises(SceneError, match=r"camera.*below"):
        survey(empty, [], "below")


# Files.


def test_a_single_point_is_seen(drawing):
    point = Layout((DrawnPart("dot", "points", 0, 1),), (), 1, 30.0)
    image, camera = painted(point, [frame_at(0.0, [[2.0, 1.0, -3.0]])])
    rows, columns = np.nonzero(colourful(image))
    across, down, _ = camera.project(np.array([[2.0, 1.0, -3.0]]), SIZE)[0]
    assert 20 < len(rows) < 500
    assert abs(columns.mean() - across) < 2.0
    assert abs(rows.mean() - down) < 2.0


def test_speeds_of_bodies_alone_are_no_error(drawing, tmp_path):
    from shinari.output.writers import open_writer
    from shinari.view.render import render

    with open_writer(tmp_path / "run.npz", Layout((), (CUBE,), 0, 30.0)) as writer:
        writer.write(frame_at(0.0, [], [[0.0, 0.5, 0.0]]))
    render(tmp_path / "run.npz", tmp_path / "x.png", size=(160, 90), colour="speed", overlay=True)
    assert (tmp_path / "x.png").exists()


def falling(count=7, fps=30.0):
    """A square that falls, as a spool has it."""
    layout = replace(CLOTH, frames_per_second=fps)
    frames = np.zeros(count, frame_dtype(layout))
    for k in range(count):
        frames[k]["time"] = k / fps
        frames[k]["positions"] = SQUARE - [0, 0.1 * k, 0]
    return layout, frames


@pytest.fixture
def cached(tmp_path):
    from shinari.io.npz import write_npz

    layout, frames = falling()
    write_npz(tmp_path / "run.npz", layout, frames, "a square")
    return tmp_path / "run.npz"


def test_video_read_back(drawing, cached, tmp_path):
    import av

    from shinari.view.render import render

    told = []
    render(cached, tmp_path / "x.mp4", size=SIZE, progress=lambda *state: told.append(state))
    with av.open(str(tmp_path / "x.mp4")) as file:
        stream = file.streams.video[0]
        assert stream.codec_context.name == "h264"
        assert stream.codec_context.pix_fmt == "yuv420p"
        assert (stream.width, stream.height) == SIZE
        assert float(stream.average_rate) == 30.0
        assert float(stream.duration * stream.time_base) == pytest.approx(7 / 30.0, abs=0.002)
        images = [frame.to_ndarray(format="rgb24") for frame in file.decode(video=0)]
    assert len(images) == 7
    rows = [np.nonzero(colourful(image))[0].mean() for image in images]
    assert (np.diff(rows) > 1.0).all()  # it falls
    data = (tmp_path / "x.mp4").read_bytes()
    assert data.index(b"moov") < data.index(b"mdat")
    assert told[-1] == ("drawing", 7, 7)


def test_a_video_has_the_colours_of_the_picture(drawing, cached, tmp_path):
    import av
    from PIL import Image

    from shinari.view.render import render

    look = {"size": SIZE, "camera": Camera((1.0, 1.0, 4.0), (0.0, 0.2, 0.0))}
    render(cached, tmp_path / "x.png", frame=0, **look)
    render(cached, tmp_path / "x.mp4", fps=4.0, **look)
    with Image.open(tmp_path / "x.png") as image:
        picture = np.asarray(image).astype(float)
    with av.open(str(tmp_path / "x.mp4")) as file:
        first, *others = (frame.to_ndarray(format="rgb24").astype(float) for frame in file.decode(video=0))
    assert others == []  # 0.2 s hold one of four pictures a second
    assert np.abs(first - picture).mean() < 2.0
    assert np.abs((first - picture).mean(axis=(0, 1))).max() < 1.5


def test_gif_read_back(drawing, cached, tmp_path):
    from PIL import Image

    from shinari.view.render import render

    render(cached, tmp_path / "x.gif", size=(160, 90), fps=10.0)
    with Image.open(tmp_path / "x.gif") as gif:
        assert gif.size == (160, 90)
        assert gif.n_frames == 3
        assert gif.info["loop"] == 0
        rows, durations = [], []
        for k in range(gif.n_frames):
            gif.seek(k)
            durations.append(gif.info["duration"])
            rows.append(np.nonzero(colourful(np.asarray(gif.convert("RGB"))))[0].mean())
    assert durations == [100, 100, 100]
    assert (np.diff(rows) > 1.0).all()


def test_a_picture_is_the_same_each_time_and_the_overlay_is_on_top(drawing, cached, tmp_path):
    from PIL import Image

    from shinari.view.render import render

    def picture(**options):
        # a camera of its own: without one each moment fills its picture
        render(cached, tmp_path / "x.png", size=SIZE, camera=Camera((1.5, 2.0, 3.0), (0.0, -0.3, 0.0)), **options)
        with Image.open(tmp_path / "x.png") as image:
            return np.asarray(image.convert("RGB")).astype(int)

    last = picture()
    assert np.array_equal(last, picture(frame=-1))
    assert np.array_equal(last, picture(time=0.2))
    assert not np.array_equal(last, picture(frame=-2))
    changed = np.abs(picture(overlay=True) - last).max(axis=2) > 40
    assert changed[-25:].any()
    assert not changed[30:-25].any()
    coloured = picture(overlay=True, colour="speed", largest=2.0)
    assert (np.abs(coloured - last).max(axis=2) > 40)[:40, :120].any()


def test_a_title_that_fits_is_written_as_it_is():
    from shinari.view.overlay import _shortened

    assert [_shortened("a flag", len, room) for room in (6, 5, 3, 2)] == ["a flag", "a ...", "", ""]


def test_a_fluid_is_the_whiter_the_faster_it_is(drawing):
    water = Layout((DrawnPart("water", "points", 0, 2, radius=0.2, fluid=True),), (), 2, 30.0)
    places = [[-0.5, 0.5, 0.0], [0.5, 0.5, 0.0]]
    frame = replace(frame_at(0.0, places, velocities=[[0, 0, 0], [0, 3, 0]]), densities=np.full(2, 1000.0))
    image, camera = painted(water, [frame])
    columns, rows, _ = camera.project(np.array(places), SIZE).T.round().astype(int)
    slow, fast = image[rows, columns].astype(int)
    assert np.ptp(fast) < 0.5 * np.ptp(slow)


def test_the_frames_of_a_video_are_the_nearest_ones():
    from shinari.view.render import _at_rate, _rate

    assert [_rate(None, 30.0, suffix) for suffix in (".mp4", ".gif")] == [30.0, 20.0]

    times = np.arange(31) / 30.0
    assert _at_rate(times, 30.0) == list(range(31))
    assert _at_rate(times, 10.0) == list(range(0, 31, 3))
    assert _at_rate(times, 60.0)[:5] == [0, 0, 1, 1, 2]
    assert _at_rate(5.0 + times, 15.0) == list(range(0, 31, 2))
    assert _at_rate(times[:1], 30.0) == [0]
    with pytest.raises(SceneError, match=r"fps: 30 in a second are 3e\+13 pictures of a run of 1e\+12 s"):
        _at_rate(1e12 * times, 30.0)
    with pytest.raises(SceneError, match="fps: 1e\\+308 in a second"):
        _at_rate(times, 1e308)


def test_a_body_that_is_nowhere_stays_where_it_was(drawing):
    layout, places = Layout((), (CUBE,), 0, 30.0), [[0.0, 0.0, 0.0]]
    lost = frame_at(1.0, [], [[np.nan, 0.0, 0.0]])
    frames = [frame_at(0.0, [], places), lost]
    assert np.array_equal(painted(layout, frames, 1)[0], painted(layout, frames, 0)[0])
    turned = frame_at(1.0, [], places, rotations=[[np.nan] * 4])
    assert colourful(painted(layout, [turned, turned], 1)[0]).any()


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("x.bmp", {}, r"unknown extension '.bmp'"),
        ("x.png", {"size": (8, 90)}, "size"),
        ("x.mp4", {"size": (161, 90)}, "size.*even"),
        ("x.png", {"time": 9.0}, "time: 9 s.*0 to 0.2"),
        ("x.png", {"frame": 7}, "frame 7.*has 7"),
        ("x.png", {"frame": 1, "time": 0.1}, "not both"),
        ("x.png", {"fps": 30.0}, "fps"),
        ("x.mp4", {"time": 0.1}, "time.*picture"),
        ("x.mp4", {"fps": 0.0}, "fps"),
        ("x.gif", {"fps": 60.0}, "fps.*50"),
        ("x.png", {"color": "speed"}, "render: unknown option 'color'; known are .*colour"),
        ("x.png", {"colour": "taste"}, "colour.*taste.*strain"),
        ("x.png", {"colour": "strain"}, "colour.*strain"),
    ],
)
def test_what_does_not_fit_is_refused_and_leaves_nothing(drawing, cached, tmp_path, name, options, message):
    from shinari.view.render import render

    options = {"size": (160, 90), **options}
    with pytest.raises((SceneError, FileError), match=message):
        render(cached, tmp_path / name, **options)
    assert os.listdir(tmp_path) == ["run.npz"]


# Machines without a library to draw with.


def test_without_a_library_one_message_names_the_packages(cached, tmp_path):
    """Empty files in the place of EGL, OSMesa and GL: what cannot be loaded is as good as missing."""
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    for name in ("libEGL.so.1", "libEGL.so", "libOSMesa.so", "libOSMesa.so.8", "libOSMesa.so.6", "libGL.so.1"):
        (hidden / name).touch()
    environment = {**os.environ, "LD_LIBRARY_PATH": str(hidden)}
    environment.pop("DISPLAY", None)
    environment.pop(offscreen.VARIABLE, None)
    command = [sys.executable, "-m", "shinari.cli", "render", str(cached), "-o", str(tmp_path / "x.png")]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 4
    assert result.stderr.startswith("shinari: no picture can be drawn here")
    assert len(result.stderr.strip().splitlines()) == 1
    assert "apt-get install libegl1" in result.stderr
    assert not (tmp_path / "x.png").exists()


def test_the_window_asked_for_is_taken_or_refused(monkeypatch):
    monkeypatch.setenv(offscreen.VARIABLE, "vtkNoWindow")
    offscreen.window_class.cache_clear()
    with pytest.raises(MissingExtraError, match=r"vtkNoWindow.*apt-get"):
        offscreen.window_class()
    offscreen.window_class.cache_clear()


def test_a_run_is_refused_before_it_starts_where_nothing_can_be_drawn(monkeypatch, tmp_path):
    from shinari.output.writers import open_writer

    def refuse():
        raise MissingExtraError("no picture can be drawn here")

    monkeypatch.setattr(offscreen, "window_class", refuse)
    for suffix in (".png", ".mp4", ".gif"):
        with pytest.raises(MissingExtraError, match="no picture"):
            open_writer(tmp_path / f"x{suffix}", CLOTH)
    assert os.listdir(tmp_path) == []
