"""`shinari render`: a run, or a scene, as pictures and videos."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from shinari.check import short
from shinari.errors import FileError, SceneError

_Flag = Parameter(negative=())
_Several = Parameter(alias="-o", negative=(), consume_multiple=True)


def render(  # noqa: PLR0913  options of the command
    source: Path,
    *,
    output: Annotated[list[Path] | None, _Several] = None,
    time: float | None = None,
    frame: int | None = None,
    fps: float | None = None,
    size: str = "1280x720",
    camera: str = "corner",
    color: Annotated[str, Parameter(name=["--colour", "--color"])] = "body",
    largest: float | None = None,
    background: str = "#eef1f5",
    overlay: Annotated[bool, _Flag] = False,
    surface: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> int:
    """Draw a run, or a scene, as pictures and videos.

    No display and no GPU are needed, but EGL or OSMesa. Exit codes: 0 ok, 2 bad input, 3 the scene diverged, 4 an extra
    or EGL is missing, 130 interrupted.

    Args:
        source: A run as .npz or .vtkhdf, or a scene file (.toml), which is run first.
        output: Files to write: .png, .jpg, .mp4 or .gif; by default SOURCE.png in the current folder.
        time: Moment of a picture [s]; by default the last.
        frame: Frame of a picture, instead; negative numbers count from the end.
        fps: Pictures of a video in a second; by default as many as the run has, of a .gif at most 20.
        size: Width and height in pixels.
        camera: corner, front, back, left, right or above, so that the motion just fits; or position and target
            [m] as in 2,1.5,3:0,0.5,0.
        color: What is shown as colour: body, strain, force or speed.
        largest: Value of the brightest colour; by default the largest in what is drawn.
        background: A colour by name or as #rrggbb.
        overlay: Write the title, the time and what colours mean on it.
        surface: Draw fluids by their surface; needs the extra [surface].
        quiet: No progress bar, and nothing about compiling.
    """
    from shinari.cli.running import drawing
    from shinari.errors import require
    from shinari.io.run_reader import open_cache
    from shinari.partial_files import check_target
    from shinari.view.camera import parse_camera
    from shinari.view.render import PICTURES, VIDEOS, View
    from shinari.view.render import render as draw

    outputs = output or [Path(f"{source.stem}.png")]
    look: dict[str, Any] = {"size": _size(size), "camera": parse_camera(camera), "colour": color, "largest": largest}
    look |= {"background": background, "overlay": overlay, "surface": surface}
    View(**look)  # refuses what does not fit before a long run
    for path in outputs:
        if path.suffix.lower() not in (*PICTURES, *VIDEOS):
            known = ", ".join((*PICTURES, *VIDEOS))
            raise FileError(f"{path}: unknown extension {short(path.suffix)}, expected one of {known}")
        check_target(path)
    _check_moments(outputs, time, frame, fps, look["size"])
    for module in ("pyvista", "av"):
        require(module, "render")
    from shinari.view.offscreen import window_class

    window_class()  # before a long run, and before many frames are read
    with tempfile.TemporaryDirectory() as folder:
        if source.suffix.lower() == ".toml":
            code, source = _run(source, Path(folder), fps, quiet)
            if code:
                return code
        with open_cache(source) as cache:
            for path in outputs:
                video = path.suffix.lower() in VIDEOS
                moment: dict[str, Any] = {"fps": fps} if video else {"time": time, "frame": frame}
                with drawing(quiet) as tell:
                    draw(cache, path, **moment, **look, progress=tell)
                print(f"shinari: wrote {path}", file=sys.stderr)
    return 0


def _check_moments(
    outputs: list[Path], time: float | None, frame: int | None, fps: float | None, size: tuple[int, int]
) -> None:
    """Refuse, before a long run, an option that no output takes or that does not fit one."""
    from shinari.view.render import VIDEOS
    from shinari.view.video import check_video

    videos = [path.suffix.lower() for path in outputs if path.suffix.lower() in VIDEOS]
    for suffix in videos:
        check_video(suffix, size, fps)
    if fps is not None and not videos:
        raise SceneError("render: fps: a picture has none, and no output is a video")
    for name, value in (("time", time), ("frame", frame)):
        if value is not None and len(videos) == len(outputs):
            raise SceneError(f"render: {name}: chooses a picture, and every output is a video")


def _run(scene: Path, folder: Path, fps: float | None, quiet: bool) -> tuple[int, Path]:
    """Run a scene file into a folder, with as many frames in a second as asked; gives the exit code and the cache."""
    from dataclasses import asdict

    from shinari.api.simulation import Simulation
    from shinari.cli.running import execute
    from shinari.io.scene_file import load_scene_file

    loaded, options = load_scene_file(scene)
    cache = folder / f"{scene.stem}.npz"
    report = execute(
        Simulation(loaded, **asdict(options.settings)),
        [cache],
        duration=options.duration,
        frames_per_second=fps or options.frames_per_second,
        title=options.title or scene.stem,
        quiet=quiet,
    )
    if report.exit_code:
        # what is left of the run goes with the folder
        said = report.cause or f"{report.status} at t = {report.time:g} s"
        print(f"shinari: {scene}: {said}; nothing is drawn", file=sys.stderr)
    return report.exit_code, cache


def _size(text: str) -> tuple[int, int]:
    try:
        width, height = (int(word) for word in text.lower().split("x"))
    except ValueError as error:
        raise SceneError(f"render: size: {short(text)} is no width and height, as in 1280x720") from error
    return width, height
