"""`shinari plot`: the curves are those of the run, the picture is one, and nothing needs a display."""

import os
import re
import subprocess
import sys
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shinari.cli import BAD_INPUT, OK, main
from shinari.errors import FileError, SceneError
from shinari.io.results import MEASURES, DrawnPart, Frame, Layout
from shinari.io.run_reader import open_cache
from shinari.output.writers import open_writer
from shinari.view.curves import CURVES, _figure, plot_run

pytest.importorskip("matplotlib", reason="matplotlib is not installed")

LAYOUT = Layout((DrawnPart("point", "points", 0, 1),), (), 1, 10.0, measured=True)
COUNT = 60


def measures(time: float) -> np.ndarray:
    """A mass on a spring: kinetic and elastic energy share 2 J, the momentum along y swings."""
    values = dict.fromkeys(MEASURES, 0.0)
    values |= {"kinetic": 2.0 * np.sin(time) ** 2, "elastic": 2.0 * np.cos(time) ** 2, "gravitational": -0.5}
    values |= {"momentum_y": np.sin(time), "residual": 1e-3, "mean_strain": 0.01, "largest_strain": 0.25}
    return np.array([values[name] for name in MEASURES])


def write(path: Path, layout: Layout = LAYOUT, title: str = "a spring & its mass") -> None:
    none = np.zeros((0, 3))
    with open_writer(path, layout, title=title) as writer:
        for index in range(COUNT):
            point, measured = np.zeros((1, 3)), layout.measured
            frame = Frame(0.1 * index, point, point, none, np.zeros((0, 4)), none, none)
            values = {"strains": np.zeros(1), "forces": np.zeros(1), "measures": measures(0.1 * index)}
            writer.write(replace(frame, **values) if measured else frame)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "spring.npz"
    write(path)
    return path


def picture(path: Path) -> np.ndarray:
    from matplotlib.image import imread

    return np.asarray(imread(path))[..., :3]


def test_all_curves_make_a_picture(run: Path, tmp_path: Path) -> None:
    assert main(["plot", str(run), "-o", str(tmp_path / "run.png")]) == OK
    pixels = picture(tmp_path / "run.png")
    assert pixels.shape[:2] == (2025, 1200)
    assert 0.5 < pixels.mean() < 0.999
    assert list(tmp_path.iterdir()) == [tmp_path / "run.png"]


def test_the_chosen_curves_only(run: Path, tmp_path: Path) -> None:
    assert main(["plot", str(run), "-o", str(tmp_path / "run.svg"), "--what", "residual", "energy"]) == OK
    text = (tmp_path / "run.svg").read_text()
    words = re.findall(r"<text[^>]*>([^<]*)</text>", text)
    assert {
        "residual",
        "energy",
        "[J]",
        "[unit of the row]",
        "kinetic",
        "gravitational",
        "elastic",
        "total",
        "largest",
    } <= {*words}
    assert {"time [s]", "a spring &amp; its mass"} <= {*words}
    assert not {"momentum", "strain"} & {*words}
    assert words.index("residual") < words.index("energy")


def test_the_curves_are_those_of_the_run(run: Path) -> None:
    times = 0.1 * np.arange(COUNT)
    with open_cache(run) as cache:
        table = cache.measures()
        figure = _figure("", cache.times, dict(zip(MEASURES, table.T, strict=True)), CURVES)
    lines = {(axes.get_title(), line.get_label()): line.get_xydata() for axes in figure.axes for line in axes.lines}
    expected = {
        ("energy", "kinetic"): 2.0 * np.sin(times) ** 2,
        ("energy", "total"): np.full(COUNT, 1.5),
        ("momentum", "y"): np.sin(times),
        ("momentum", "x"): np.zeros(COUNT),
        ("angular momentum about the origin", "z"): np.zeros(COUNT),
        ("residual", "largest"): np.full(COUNT, 1e-3),
        ("strain", "largest"): np.full(COUNT, 25.0),
        ("strain", "mean"): np.full(COUNT, 1.0),
    }
    for key, values in expected.items():
        assert np.allclose(lines[key], np.stack([times, values], axis=1), atol=1e-12), key
    assert len(lines) == 4 + 3 + 3 + 1 + 2


def test_the_same_run_gives_the_same_bytes(run: Path, tmp_path: Path) -> None:
    for suffix in (".png", ".svg"):
        data = []
        for index in range(2):
            with open_cache(run) as cache:
                plot_run(cache, tmp_path / f"{index}{suffix}", ["strain"])
            data.append((tmp_path / f"{index}{suffix}").read_bytes())
        assert data[0] == data[1]


def test_no_display_is_needed_and_none_is_asked_for(run: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from shinari.cli import main;"
        f"code = main(['plot', {str(run)!r}, '--what', 'energy']);"
        "print(code, 'matplotlib.pyplot' in sys.modules)"
    )
    environment = {name: value for name, value in os.environ.items() if name not in ("DISPLAY", "MPLBACKEND")}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path, env=environment
    )
    assert done.stdout == "0 False\n"
    assert "wrote spring.png" in done.stderr
    assert (tmp_path / "spring.png").exists()


def test_what_cannot_be_plotted_is_refused(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "old.npz", replace(LAYOUT, measured=False))
    for words, message in (
        (["old.npz"], "old.npz: holds no measures"),
        (["none.npz"], "none.npz: no such file"),
        ([str(run), "-o", "run.jpg"], "unknown extension '.jpg', expected one of .png, .svg"),
        ([str(run), "--what", "heat"], "'heat' is none of energy, momentum, residual, strain"),
    ):
        assert main(["plot", *words]) == BAD_INPUT
        assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["old.npz"]
    with open_cache(run) as cache:
        with pytest.raises(SceneError, match="what"):
            plot_run(cache, tmp_path / "run.png", [])
        (tmp_path / "folder.png").mkdir()
        with pytest.raises(FileError, match="folder"):
            plot_run(cache, tmp_path / "folder.png")


@pytest.mark.parametrize("scale", [1e307, -1e308, 1.7e308, np.inf])
def test_values_that_no_axis_holds_leave_gaps_and_the_picture_says_so(scale: float, tmp_path: Path) -> None:
    path = tmp_path / "diverged.npz"
    with open_writer(path, LAYOUT) as writer:
        none, point = np.zeros((0, 3)), np.zeros((1, 3))
        for index, size in enumerate((1.0, 2.0, scale, -scale)):
            frame = Frame(0.1 * index, point, point, none, np.zeros((0, 4)), none, none)
            values = {"strains": np.zeros(1), "forces": np.zeros(1), "measures": np.full(len(MEASURES), size)}
            writer.write(replace(frame, **values))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main(["plot", str(path), "-o", str(tmp_path / "run.svg")]) == OK
        assert main(["plot", str(path), "-o", str(tmp_path / "run.png")]) == OK
    words = re.findall(r"<text[^>]*>([^<]*)</text>", (tmp_path / "run.svg").read_text())
    assert words.count("gaps: beyond 1e+300") == 5
    with open_cache(path) as cache:
        figure = _figure("", cache.times, dict(zip(MEASURES, cache.measures().T, strict=True)), ["strain"])
    for line in figure.axes[0].lines:
        assert np.array_equal(line.get_ydata(), [100.0, 200.0, np.nan, np.nan], equal_nan=True)


def test_a_title_is_no_formula(tmp_path: Path) -> None:
    write(tmp_path / "run.npz", title="costs $5_^$")
    assert main(["plot", str(tmp_path / "run.npz"), "-o", str(tmp_path / "run.svg")]) == OK
    assert ">costs $5_^$</text>" in (tmp_path / "run.svg").read_text()


def test_a_title_may_have_characters_that_no_font_has(tmp_path: Path) -> None:
    write(tmp_path / "run.npz", title="\u65d7 \u0939\u093f \u0627 \U0001f600")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("run.png", "run.svg"):
            assert main(["plot", str(tmp_path / "run.npz"), "-o", str(tmp_path / name)]) == OK
