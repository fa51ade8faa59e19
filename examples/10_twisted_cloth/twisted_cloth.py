r"""Twisted cloth: a strip is turned five times about its length; then its ends come nearer, and it rolls up.

    |==========|     both short edges are held, and turned against each other two and a half times each
    |=/\/\/\/\=|     the long edges become helices, longer than the middle: the strip narrows and wrinkles
    |==/@@@@\==|     where it has slack it rolls up, layer in layer

No triangle may cut another at any time. There is a number that tells without looking at a single contact: how often
the two long edges are linked. It counts their crossings in a projection, with signs (Gauss), stays what it is whatever
the strip does between its grips, and changes by one when the strip passes through itself. Five turns went in; five
turns have to be there.

Look at the player: the twist is even at first, then it gathers in one part, which winds itself into a cord while the
other opens; when the grips come nearer the cord gets thick and leans aside.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.output.recorder import Recorder
from shinari.scene.handle import Handle

WIDTH, LENGTH, EDGE, THICKNESS = 0.06, 0.80, 0.01, 0.003  # [m]
TURNS, TAUT, NEARER = 5, 0.10, 0.20  # [-], how much nearer the ends come while twisted and afterwards [m]
TWIST, PRESS, REST = 4.0, 2.0, 1.5  # times to twist, to come nearer and to rest [s]
SUBSTEPS = 20
COLUMNS, ROWS = round(WIDTH / EDGE) + 1, round(LENGTH / EDGE) + 1
ENDS = (np.arange(COLUMNS), np.arange(COLUMNS) + (ROWS - 1) * COLUMNS)


def build() -> tuple[sn.Scene, object]:
    """The strip along X, held by its short edges, in still air and without weight."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0), wind=(0.0, 0.0, 0.0), damping=3.0)
    material = sn.ClothMaterial.preset("cotton", thickness=THICKNESS, friction=0.2, damping=2e-3)
    vertices, faces = sn.grid(shape=(COLUMNS, ROWS), size=(WIDTH, LENGTH), diagonal="alternating")
    mesh = (vertices[:, [2, 1, 0]], faces[:, ::-1])
    strip = scene.add_cloth(mesh, material=material, self_collision="triangles", name="strip")
    strip.pin(np.concatenate(ENDS))
    return scene, strip


def grip(x: np.ndarray, way: float, time: float) -> np.ndarray:
    """Where a held edge is at a time [s]: x (N, 3) is where it was, way -1 the left one and +1 the right one."""
    turned = min(time / TWIST, 1.0)
    angle = way * np.pi * TURNS * turned
    inwards = 0.5 * way * (TAUT * turned**2 + NEARER * np.clip((time - TWIST) / PRESS, 0.0, 1.0))
    return np.stack([x[:, 0] - inwards, -np.sin(angle) * x[:, 2], np.cos(angle) * x[:, 2]], axis=1)


def twist(simulation: sn.Simulation, strip: Handle) -> None:
    """Write both ends to where they are after the next step."""
    for end, way in zip(ENDS, (-1.0, 1.0), strict=True):
        simulation.state.positions[end] = grip(strip.positions[end], way, simulation.time + 1.0 / 60.0)


def linking(first: np.ndarray, second: np.ndarray) -> float:
    """Half the sum of the signed crossings of two curves (N, 3), seen along Z from a little aside."""
    aside, _ = np.linalg.qr(np.array([[1.0, 0.03, 0.05], [-0.02, 1.0, 0.3], [0.04, -0.06, 1.0]]))
    p, q = first @ aside, second @ aside
    dp, dq = np.diff(p, axis=0)[:, None], np.diff(q, axis=0)[None]
    gap = q[None, :-1] - p[:-1, None]
    cross = dp[..., 0] * dq[..., 1] - dp[..., 1] * dq[..., 0]
    cross[cross == 0.0] = np.finfo(float).tiny  # parallel: they meet far away
    s = (gap[..., 0] * dq[..., 1] - gap[..., 1] * dq[..., 0]) / cross
    u = (gap[..., 0] * dp[..., 1] - gap[..., 1] * dp[..., 0]) / cross
    meet = (s >= 0.0) & (s < 1.0) & (u >= 0.0) & (u < 1.0)
    above = np.sign((gap + u[..., None] * dq - s[..., None] * dp)[..., 2])
    return 0.5 * float((np.sign(cross) * above)[meet].sum())


def turns(x: np.ndarray) -> float:
    """How often the long edges of the strip (ROWS, COLUMNS, 3) are linked; they go straight on beyond the grips."""
    beyond = np.array([10.0 * LENGTH, 0.0, 0.0])
    edges = [np.concatenate([[x[0, k] - beyond], x[:, k], [x[-1, k] + beyond]]) for k in (0, -1)]
    return abs(linking(*edges))


def shown() -> tuple[sn.Simulation, Callable[[sn.Simulation], None]]:
    """What `shinari view` shows."""
    scene, strip = build()
    return sn.Simulation(scene, substeps=SUBSTEPS), lambda simulation: twist(simulation, strip)


def main(arguments: list[str] | None = None) -> None:
    """Twist, press, check that five turns are still there, write results."""
    parser = argparse.ArgumentParser(description="a strip twisted five times")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, strip = build()
    simulation = sn.Simulation(scene, substeps=SUBSTEPS)
    outputs = [options.out / "twisted_cloth.html", options.out / "twisted_cloth.npz"]
    touching = 0
    with Recorder(simulation, outputs, title="a strip twisted five times") as recorder:
        recorder.record()
        for _ in range(round((TWIST + PRESS + REST) * 60.0)):
            twist(simulation, strip)
            simulation.step()
            recorder.record()
            touching = max(touching, len(simulation.contacts()))
            x = simulation.positions(strip).reshape(ROWS, COLUMNS, 3).astype(float)
            if simulation.time >= TWIST:  # the grips stand still, so that the number says something
                assert turns(x) == TURNS, f"{turns(x)} turns are left at {simulation.time:.2f} s"
    strain = np.abs(simulation.strains("distance")).mean()
    speed = np.linalg.norm(simulation.velocities(strip), axis=1).max()
    print(f"{turns(x):g} turns at the end, up to {touching} contacts")
    print(f"strain of the rows {100 * strain:.1f} % on average, speed {1e3 * speed:.1f} mm/s at most")
    assert touching > 50, "the strip hardly touches itself"
    assert strain < 0.05, "the strip was pulled rather than twisted"
    assert speed < 0.01, "the strip does not come to rest"
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
