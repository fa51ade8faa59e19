r"""Force by a library: PyTorch, CuPy or NumPy pull at particles in the memory that the simulation has, without a copy.

     .  . .         after each step:   x = library.from_dlpack(positions)      nothing is copied: on a GPU both stay
    . \ | / .                          v = library.from_dlpack(velocities)     there, and the library's operations run
     --(o)--                           v -= w^2 dt x                           on them
    . / | \ .
     .  . .         a spring from each particle to the middle

With `--device cuda` the particles are on a GPU and `state.on_device` lends them; else they are NumPy arrays, which
speak the same protocol. Libraries that are not installed, or cannot read that memory, are skipped and named with the
reason.

Each step moves a particle by v dt and then changes v by -w^2 dt x. From rest that is, exactly,

    x_n = x_0 cos((n - 1/2) a) / cos(a / 2),    cos a = 1 - (w dt)^2 / 2.

Checked: every particle, to rounding; whoever works on a copy leaves all where they are.
"""

import argparse
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder

RATE = 2.0 * np.pi  # w [rad/s]: once a second in and out
LIBRARIES = ("numpy", "torch", "cupy")
HOST, GPU = 1, 2  # kinds of memory by the numbers of DLPack


def build(count: int, device: str) -> sn.Simulation:
    """Particles at rest in a ball, without gravity."""
    random = np.random.default_rng(1)
    directions = random.normal(size=(count, 3))
    radii = random.uniform(0.2, 1.0, size=(count, 1)) ** (1.0 / 3.0)
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    scene.add_particles(radii * directions / np.linalg.norm(directions, axis=1, keepdims=True), name="cloud")
    return sn.Simulation(scene, substeps=1, precision="float64", device=device)


def lent(simulation: sn.Simulation, name: str) -> Any:
    """Positions or velocities where they are."""
    state = simulation.state
    return state.on_device(name) if simulation.settings.device == "cuda" else getattr(state, name)


def library(name: str, kind: int) -> Any:
    """A library that can work on memory of a kind; or the reason why not, a str."""
    if find_spec(name) is None:
        return "is not installed"
    if name == "numpy" and kind != HOST:
        return "reads memory of the host only"
    if name == "cupy" and kind != GPU:
        return "reads memory of a GPU only"
    found = import_module(name)
    if name == "torch" and kind == GPU and not found.cuda.is_available():
        return "was built without CUDA, or finds no GPU"
    return found


def pull(simulation: sn.Simulation, chosen: Any) -> None:
    """Springs to the middle, by a library, in place."""
    x, v = (chosen.from_dlpack(lent(simulation, name)) for name in ("positions", "velocities"))
    v -= (RATE**2 * simulation.settings.dt) * x
    # the next step runs on a stream of its own
    if chosen.__name__ == "torch" and v.is_cuda:
        chosen.cuda.synchronize()
    elif chosen.__name__ == "cupy":
        chosen.cuda.Device().synchronize()


def exact(start: np.ndarray, steps: int, dt: float) -> np.ndarray:
    """Where the particles are after some steps [m], (N, 3)."""
    angle = np.arccos(1.0 - 0.5 * (RATE * dt) ** 2)
    return start * np.cos((steps - 0.5) * angle) / np.cos(0.5 * angle)


def shown() -> tuple[sn.Simulation, Any]:
    """What `shinari view` shows, and what drives it."""
    return build(2000, "cpu"), lambda simulation: pull(simulation, np)


def main(arguments: list[str] | None = None) -> None:
    """Let each library pull, compare with the exact motion, write results."""
    parser = argparse.ArgumentParser(description="libraries pull at particles without a copy")
    parser.add_argument("--particles", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu", help="where the particles are")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    outputs = [options.out / "force_by_a_library.html", options.out / "force_by_a_library.npz"]
    ran = []
    for name in LIBRARIES:
        simulation = build(options.particles, options.device)
        start = simulation.state.positions.copy()
        chosen = library(name, lent(simulation, "positions").__dlpack_device__()[0])
        if isinstance(chosen, str):
            print(f"{name}: skipped, {chosen}")
            continue
        paths = [] if ran else outputs
        with Recorder(simulation, paths, frames_per_second=60.0, title="a force by a library") as recorder:
            recorder.record()
            for _ in range(options.steps):
                simulation.step()
                pull(simulation, chosen)
                recorder.record()
        error = np.abs(simulation.state.positions - exact(start, options.steps, simulation.settings.dt)).max()
        moved = np.abs(simulation.state.positions - start).max()
        print(f"{name}: {options.steps} steps, positions off by {error:.1e} m after a way of up to {moved:.2f} m")
        assert moved > 0.1, "nothing moved: the library worked on a copy"
        # a unit in the last place in each step, and what grows of it
        assert error < 10.0 * options.steps * np.finfo(float).eps / (RATE * simulation.settings.dt)
        ran.append(name)
    if not ran:
        print("no library works on this memory: install torch or cupy")
        return
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
