"""`shinari run`: a scene file to results."""

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from shinari.errors import SceneError
from shinari.model.settings import METHODS, PRECISIONS, SWEEPS

if TYPE_CHECKING:
    from shinari.api.simulation import Simulation
    from shinari.io.scene_file import RunOptions

_Flag = Parameter(negative=())
_Several = Parameter(alias="-o", negative=(), consume_multiple=True)


def run(  # noqa: PLR0913  options of the command
    scene: Path | None = None,
    *,
    output: Annotated[list[Path] | None, _Several] = None,
    duration: float | None = None,
    fps: float | None = None,
    dt: float | None = None,
    substeps: int | None = None,
    iterations: int | None = None,
    method: Literal[METHODS] | None = None,  # type: ignore[valid-type]
    sweep: Literal[SWEEPS] | None = None,  # type: ignore[valid-type]
    precision: Literal[PRECISIONS] | None = None,  # type: ignore[valid-type]
    threads: int | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: float = 10.0,
    resume: Path | None = None,
    surface: Annotated[bool, _Flag] = False,
    profile: Annotated[bool, _Flag] = False,
    progress: Annotated[bool, _Flag] = False,
    json: Annotated[bool, _Flag] = False,
    quiet: Annotated[bool, _Flag] = False,
) -> int:
    """Run a scene file and write the results.

    Ctrl-C finishes the files with the frames so far and writes a checkpoint. Exit codes: 0 ok, 2 bad input, 3 diverged,
    4 an extra is missing, 130 interrupted.

    Args:
        scene: Scene file (TOML). With --resume it may be left out.
        output: Files to write, the format by extension: .npz .ply .usdc .usda .html .vtkhdf .glb .pc2 .mdd .png .jpg
            .mp4 .gif; by default SCENE.npz in the current folder.
        duration: Simulated time to reach [s].
        fps: Frames written for each second of simulated time; whole steps apart.
        dt: Time of a step [s].
        substeps: Substeps of a step.
        iterations: Iterations of the solver in each substep.
        method: Method of the solver.
        sweep: How the rows are solved.
        precision: Floating point type of the solver.
        threads: Threads to use.
        checkpoint: Checkpoint to write at the end and, so that a killed run can go on, now and then before.
        checkpoint_every: Time between two checkpoints of a run [s of real time].
        resume: Checkpoint to go on from; its settings hold.
        surface: Draw fluids by their surface, not their particles, in .ply, .usdc, .usda, .html, pictures and videos.
        profile: Print where the time went: by system, phase and kernel.
        progress: Print lines of JSON on standard output for another program: `step`, `steps`, `seconds_left`.
        json: Print a summary as JSON on standard output.
        quiet: No progress bar, and nothing about compiling.
    """
    changes: dict[str, Any] = {"dt": dt, "substeps": substeps, "iterations": iterations, "method": method}
    changes |= {"sweep": sweep, "precision": precision, "threads": threads}
    changes = {name: value for name, value in changes.items() if value is not None}
    if scene is None and resume is None:
        raise SceneError("run: scene: give a scene file, or a checkpoint with --resume")
    if resume is not None and changes:
        raise SceneError(f"run: {next(iter(changes))}: cannot change when a checkpoint is resumed")
    from shinari import check
    from shinari.cli.running import execute, tell
    from shinari.compute.progress import quietly

    duration = None if duration is None else check.number("run", "duration", duration, least=0.0)
    fps = None if fps is None else check.number("run", "fps", fps, above=0.0)
    with quietly(quiet):
        simulation, options = _simulation(scene, resume, changes)
        if duration is None:
            if options is None:
                raise SceneError("run: duration: give it when a checkpoint is resumed without its scene file")
            duration = options.duration
        name = scene or resume or Path()
        report = execute(
            simulation,
            output or [Path(f"{name.stem.removesuffix('.checkpoint')}.npz")],
            duration=duration,
            frames_per_second=fps or (options.frames_per_second if options else 30.0),
            title=(options.title if options else "") or name.stem,
            checkpoint=checkpoint,
            checkpoint_every=check.number("run", "checkpoint_every", checkpoint_every, least=0.0),
            quiet=quiet or json,
            lines=progress,
            surface=surface,
        )
    if profile:
        print(simulation.profile(), file=sys.stderr)
    return tell(report, json)


def _simulation(
    scene: Path | None, resume: Path | None, changes: dict[str, Any]
) -> "tuple[Simulation, RunOptions | None]":
    """The simulation, resumed or of the scene with changed settings, and what the scene file says of the run.

    With a checkpoint the scene file may be left out; when given, it must be the one that was saved.
    """
    from shinari.api.simulation import Simulation
    from shinari.io.checkpoint import load
    from shinari.io.scene_file import load_scene_file

    loaded, options = (None, None) if scene is None else load_scene_file(scene)
    if resume is not None:
        return load(resume, loaded), options
    assert loaded is not None
    assert options is not None
    return Simulation(loaded, **asdict(replace(options.settings, **changes))), options
