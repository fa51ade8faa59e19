"""Scenes, measures and executors for the tests of sweeps; other processes import this file."""

import os
import resource
import signal
import time
from concurrent.futures import Future
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.sweeps import worker

G = 9.81
BASE = """
[simulation]
duration = 0.1
substeps = 4

[[particles]]
name = "bob"
positions = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
mass = [0.0, 1.0]

[[constraint]]
type = "distance"
indices = [[0, 1]]

[[cloth]]
name = "rag"
grid = { shape = [3, 3] }
material = "cotton"

[[collider]]
shape = { type = "sphere", radius = 0.3 }
position = [0, -5, 0]
"""
"""A scene file in which much can be set."""


def write_base(folder: Path) -> Path:
    path = folder / "base.toml"
    path.write_text(BASE)
    return path


class MuteError(Exception):
    """An error whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no")


def falling(speed: float = 0.0, behave: str = "well", marker: str = "") -> sn.Scene:
    """A particle thrown upwards, which may do what members do at their worst."""
    if behave == "raise":
        raise ValueError("there is no such ball")
    if behave == "hang":
        time.sleep(1000.0)
    if behave == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if behave == "die once" and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if behave == "eat":
        np.ones(2**30, np.uint8)
    if behave == "interrupt":
        raise KeyboardInterrupt
    if behave == "mute":
        raise MuteError
    if behave == "ask":
        input("Which ball? ")
    if behave == "close":
        os.closerange(3, 64)
    if behave == "no scene":
        return 3  # type: ignore[return-value]
    scene = sn.Scene(gravity=(0, -G, 0))
    scene.add_particles([[0.0, 0.0, 0.0]], velocity=(0, speed, 0))
    if behave == "diverge":
        scene.add_particles([[0.0, 1.0, 0.0]], velocity=(0, 1e30, 0))
        scene.add_particles([[0.0, 1.0, 0.0]], velocity=(1e30, 0, 0))
        scene.add_constraint("distance", [[1, 2]])
    return scene


def slow(speed: float = 0.0) -> sn.Scene:
    """The same, slow to build."""
    time.sleep(0.3)
    return falling(speed)


def needing(length: float) -> sn.Scene:
    return falling(length)


def height(sim: sn.Simulation) -> float:
    return float(sim.state.positions[0, 1])


def where(sim: sn.Simulation) -> dict:
    return {"height": height(sim), "all": sim.state.positions[0]}


def text(sim: sn.Simulation) -> str:
    return "high"


def broken(sim: sn.Simulation) -> float:
    return sim.no_such_name  # type: ignore[attr-defined]


def two(sim: sn.Simulation, other: float) -> float:
    return other


def process(sim: sn.Simulation) -> float:
    return os.getpid()


def memory(sim: sn.Simulation) -> float:
    """Most memory that this process has had [MiB]."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


class Highest:
    """The greatest height in the whole run."""

    def __init__(self) -> None:
        self.most = -np.inf

    def step(self, sim: sn.Simulation) -> None:
        self.most = max(self.most, height(sim))

    def result(self, sim: sn.Simulation) -> float:
        return self.most


class NoResult:
    def step(self, sim: sn.Simulation) -> None: ...


def thrown(speed: float, seconds: float, dt: float = 1.0 / 60.0, substeps: int = 20) -> float:
    """Height after a time: y = v t - g h^2 n (n + 1) / 2 after n substeps of h, as semi-implicit Euler has it."""
    h, n = dt / substeps, round(seconds / dt) * substeps
    return speed * n * h - 0.5 * G * h * h * n * (n + 1)


class Pretender:
    """An executor that answers at once without running anything; it counts what it is given at a time."""

    def __init__(self) -> None:
        self.open = self.most = self.count = 0

    def submit(self, function, task):
        if function is worker.warm:
            warmed: Future = Future()
            warmed.set_result({"error": "", "bad": False})
            return warmed
        self.open += 1
        self.count += 1
        self.most = max(self.most, self.open)
        future = _Counted(self)
        row = {"member": task["member"], "status": "ok", "message": "", "measures": {"height": 1.0}, "seconds": 0.0}
        future.set_result(row)
        return future


class _Counted(Future):
    def __init__(self, pretender: Pretender) -> None:
        super().__init__()
        self._pretender = pretender

    def result(self, timeout=None):
        self._pretender.open -= 1
        return super().result(timeout)
