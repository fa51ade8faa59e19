"""`shinari render`, and pictures among the outputs of `shinari run`."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from shinari import cli
from shinari.errors import MissingExtraError
from shinari.io.run_reader import open_cache
from shinari.view import offscreen

pytest.importorskip("pyvista", reason="pyvista (extra [render]) is not installed")
av = pytest.importorskip("av", reason="av (extra [render]) is not installed")

SCENE = """
[scene]
title = "small"
[simulation]
duration = 0.1
frames_per_second = 30
substeps = 3
threads = 1
[[cloth]]
name = "flag"
grid = { shape = [5, 5] }
pin = [0, 4]
"""
SIZE = ["--size", "160x90"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    try:
        offscreen.window_class()
    except MissingExtraError as error:
        pytest.skip(str(error))
    monkeypatch.chdir(tmp_path)
    Path("scene.toml").write_text(SCENE)
    return tmp_path


def test_a_scene_and_its_run_as_pictures_and_videos(folder, capsys):
    from PIL import Image

    assert cli.main(["run", "scene.toml", "-o", "run.npz", "last.png", "run.mp4", "--quiet"]) == 0
    assert "any player" in capsys.readouterr().err
    assert not list(folder.glob("*partial*"))
    with open_cache("run.npz") as cache:
        count = len(cache)
    with av.open("run.mp4") as file:
        assert [frame.width for frame in file.decode(video=0)] == [1280] * count
    assert cli.main(["render", "scene.toml", "-o", "scene.png", "--quiet"]) == 0
    assert cli.main(["render", "run.npz", "-o", "sub/run.png", "sub/run.jpg", "sub/run.gif", *SIZE, "--fps", "10"]) == 0
    with Image.open("last.png") as last, Image.open("scene.png") as again, Image.open("sub/run.png") as small:
        assert np.array_equal(np.asarray(last), np.asarray(again))
        assert small.size == (160, 90)
        with Image.open("sub/run.jpg") as jpeg:
            assert jpeg.format == "JPEG"
            difference = np.asarray(jpeg).astype(int) - np.asarray(small)
        assert np.abs(difference).mean() < 2.0
    with Image.open("sub/run.gif") as gif:
        assert (gif.size, gif.n_frames) == ((160, 90), 2)
    assert cli.main(["render", "scene.toml", "-o", "fast.mp4", *SIZE, "--fps", "60", "--quiet"]) == 0
    with av.open("fast.mp4") as file:
        shown = [frame.to_ndarray() for frame in file.decode(video=0)]
    assert len(shown) == 7
    assert all((first != second).any() for first, second in pairwise(shown)), "run at 60, not every frame of 30 twice"


def test_looks_that_differ_make_pictures_that_differ(folder):
    from PIL import Image

    assert cli.main(["run", "scene.toml", "--quiet"]) == 0
    looks = [
        [],
        ["--frame", "0"],
        ["--time", "0.04"],
        ["--camera", "left"],
        ["--camera", "1,1,2:0,0,0"],
        ["--colour", "strain"],
        ["--color", "speed", "--largest", "9"],
        ["--background", "#203040"],
        ["--overlay"],
    ]
    seen = []
    for look in looks:
        assert cli.main(["render", "scene.npz", *SIZE, *look, "--quiet"]) == 0
        with Image.open("scene.png") as image:
            seen.append(np.asarray(image.convert("RGB")).astype(int))
    for k, image in enumerate(seen):
        assert all(np.abs(image - other).max() > 30 for other in seen[:k]), looks[k]


@pytest.mark.filterwarnings("default::shinari.errors.FrameRateWarning")  # the command tells it in its own way
def test_a_scene_that_diverges_is_not_drawn(folder, capsys):
    Path("wild.toml").write_text(
        '[simulation]\ndt = 0.5\nsubsteps = 1\nthreads = 1\nprecision = "float64"\n'
        '[[particles]]\nname = "dust"\npositions = [[0, 0, 0]]\nvelocity = [1e308, 0, 0]\n'
    )
    assert cli.main(["render", "wild.toml", "--quiet"]) == cli.DIVERGED
    error = capsys.readouterr().err
    assert "'dust', particle 0" in error
    assert error.strip().endswith("nothing is drawn")
    assert "partial" not in error
    assert not Path("wild.png").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.npz"], "nowhere.npz: no such file"),
        (["nowhere.toml"], "nowhere.toml"),
        (["scene.obj"], "scene.obj"),
        (["scene.toml", "-o", "x.bmp"], "'.bmp'"),
        (["scene.toml", "--size", "big"], "size"),
        (["scene.toml", "--size", "1x1"], "size"),
        (["scene.toml", "--camera", "underneath"], "camera"),
        (["scene.toml", "--camera", "1e300,0,0:0,0,0"], "camera"),
        (["scene.toml", "--colour", "loud"], "colour"),
        (["scene.toml", "--background", "noise"], "background"),
        (["scene.toml", "--largest", "0"], "largest"),
        (["scene.toml", "-o", "x.png", "x.mp4", "--size", "161x90"], "size: the width and height of an .mp4 are even"),
        (["scene.toml", "-o", "x.gif", "--fps", "60"], "fps: a .gif"),
        (["scene.toml", "-o", "x.mp4", "--fps", "0"], "fps: is 0"),
        (["scene.toml", "-o", "x.png", "--fps", "10"], "fps: a picture has none"),
        (["scene.toml", "-o", "x.mp4", "x.gif", "--time", "0.1"], "time: chooses a picture"),
        (["scene.toml", "-o", "x.mp4", "--frame", "0"], "frame: chooses a picture"),
    ],
)
def test_bad_words_are_refused_in_one_line_and_nothing_is_run(folder, capsys, words, message):
    assert cli.main(["render", *words]) == 2
    error = capsys.readouterr().err.strip()
    assert message in error
    assert len(error.splitlines()) == 1
    assert [path.name for path in folder.iterdir()] == ["scene.toml"]
