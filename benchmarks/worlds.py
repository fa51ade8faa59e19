"""World steps per second of `sn.Worlds`, beside MuJoCo's rollout on threads: `python benchmarks/worlds.py`.

A step is 1/60 s, of cart-poles 1/50 s. The sheet has 30 x 30 particles and hangs by two corners: distance rows along
both axes and one diagonal, without bending, or a `ClothMaterial` as it is by default, with shear and bending rows.
MuJoCo takes as many of its own steps as shinari takes substeps; its sheet is a flex of the same mesh with edges as
equality constraints, its pole 20 hinges with springs. Subjects take turns; the table has medians. Processor time tells
what one thread needs, wherever other programs keep the processors busy.
"""

import argparse
import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import shinari as sn

SIDE, SEGMENTS = 30, 20


@dataclass(frozen=True)
class Case:
    """A scene and its batch.

    Attributes:
        build: Makes the scene.
        count: Worlds.
        substeps: Substeps of a step.
        dt: Time of a step [s].
        mujoco: Description for MuJoCo, with `{timestep}`.
    """

    build: Callable[[], sn.Scene]
    count: int
    substeps: int
    dt: float = 1 / 60
    mujoco: str = ""


def sheet() -> sn.Scene:
    scene = sn.Scene()
    vertices, faces = sn.grid(shape=(SIDE, SIDE), size=(1.0, 1.0))
    scene.add_particles(vertices, mass=1.0 / SIDE**2)
    edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)
    scene.add_constraint("distance", edges, compliance=1e-4)
    scene.pin([0, SIDE - 1])
    return scene


def cloth(table: bool = False) -> sn.Scene:
    scene = sn.Scene()
    handle = scene.add_cloth(sn.grid(shape=(SIDE, SIDE), size=(1.0, 1.0)), position=(0, 0.1, 0))
    if table:
        scene.add_collider(sn.Plane())
    else:
        handle.pin([0, SIDE - 1])
    return scene


def sheet_on_table() -> sn.Scene:
    scene = sn.Scene()
    vertices, faces = sn.grid(shape=(SIDE, SIDE), size=(1.0, 1.0))
    scene.add_particles(vertices + np.array([0, 0.02, 0]), mass=1.0 / SIDE**2, radius=0.005)
    edges = np.unique(np.sort(np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]]), axis=1), axis=0)
    scene.add_constraint("distance", edges, compliance=1e-4)
    scene.add_collider(sn.Plane(), friction=0.4)
    return scene


def cart_pole() -> sn.Scene:
    """A flexible pole on a cart whose place is given."""
    scene = sn.Scene()
    points = np.stack([np.zeros(SEGMENTS + 1), np.linspace(0.0, 1.0, SEGMENTS + 1), np.zeros(SEGMENTS + 1)], axis=1)
    scene.add_rod(points, material=sn.RodMaterial(radius=0.01, density=1000, youngs_modulus=1e9)).pin([0])
    return scene


_FLEX = """<mujoco><option timestep="{{timestep}}" solver="CG" iterations="10"/><worldbody>{floor}
<flexcomp name="cloth" type="grid" count="30 30 1" spacing="0.0345 0.0345 0.0345" pos="0 0 {height}" mass="1" dim="2"
 radius="0.005"><edge equality="true"/><contact selfcollide="none"/>{pin}</flexcomp></worldbody></mujoco>"""
FLEX = _FLEX.format(floor="", height="1", pin='<pin id="0 29"/>')
FLEX_ON_TABLE = _FLEX.format(floor='<geom type="plane" size="5 5 1"/>', height="0.02", pin="")


def _pole(link: int = 0) -> str:
    inner = _pole(link + 1) if link + 1 < SEGMENTS else ""
    place, stiffness = (0.05, 20) if link else (0, 0)
    return (
        f'<body pos="0 0 {place}"><joint type="hinge" axis="0 1 0" stiffness="{stiffness}" damping="0.01"/><geom '
        f'type="capsule" size="0.01" fromto="0 0 0 0 0 0.05" contype="0" conaffinity="0"/>{inner}</body>'
    )


POLE = (
    '<mujoco><option timestep="{timestep}" integrator="implicitfast"/><worldbody><body><joint type="slide" '
    'axis="1 0 0"/><geom size="0.1" mass="1" contype="0" conaffinity="0"/>' + _pole() + "</body></worldbody></mujoco>"
)

CASES = {
    "64 sheets of 900, no bending": Case(sheet, 64, 10, mujoco=FLEX),
    "64 cloths of 900, shear and bending": Case(cloth, 64, 10),
    "64 sheets of 900 on a table": Case(sheet_on_table, 64, 10, mujoco=FLEX_ON_TABLE),
    "64 cloths of 900 on a table": Case(lambda: cloth(True), 64, 10),
    "1,024 cart-poles of 20 segments": Case(cart_pole, 1024, 4, 1 / 50, POLE),
}

Subject = Callable[[], int]
"""Takes steps; returns how many world steps."""


def ours(case: Case, threads: int) -> Subject:
    worlds = sn.Worlds(case.build(), case.count, threads=threads, substeps=case.substeps, dt=case.dt)
    worlds.step(20)

    def run() -> int:
        for _ in range(5):
            worlds.step()
        return 5 * case.count

    return run


def plain(case: Case) -> Subject:
    simulation = sn.Simulation(case.build(), threads=1, substeps=case.substeps, dt=case.dt)
    simulation.step(20)

    def run() -> int:
        for _ in range(40):
            simulation.step()
        return 40

    return run


def one(case: Case) -> Subject:
    worlds = sn.Worlds(case.build(), 1, threads=1, substeps=case.substeps, dt=case.dt)
    worlds.step(20)

    def run() -> int:
        for _ in range(40):
            worlds.step()
        return 40

    return run


def rollout(case: Case, threads: int) -> Subject:
    import mujoco
    from mujoco import rollout as batch

    model = mujoco.MjModel.from_xml_string(case.mujoco.format(timestep=case.dt / case.substeps))
    data = [mujoco.MjData(model) for _ in range(threads)]
    mujoco.mj_forward(model, data[0])
    size = mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros(size)
    mujoco.mj_getState(model, data[0], start, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    # fewer worlds than ours, since it is slower; each takes one of our steps
    count = min(case.count, 8 if model.nv > 1000 else case.count)
    states = np.tile(start, (count, 1))

    def run() -> int:
        nonlocal states
        after, _ = batch.rollout(model, data, states, nstep=case.substeps)
        states = np.ascontiguousarray(after[:, -1])
        return count

    run()
    return run


def measured(subject: Subject) -> tuple[float, float]:
    """Wall and processor time of a world step [us]."""
    wall, cpu = time.perf_counter(), time.process_time()
    count = subject()
    return 1e6 * (time.perf_counter() - wall) / count, 1e6 * (time.process_time() - cpu) / count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help="parts of names; all by default")
    parser.add_argument("--turns", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    peer = importlib.util.find_spec("mujoco") is not None
    print("| | | world steps/s | us of processor time a world step | least |\n|---|---|---:|---:|---:|")
    for name, case in CASES.items():
        if arguments.cases and not any(part in name for part in arguments.cases):
            continue
        subjects = {"a simulation, 1 thread": plain(case), "a batch of one": one(case)}
        subjects |= {f"{threads} threads": ours(case, threads) for threads in (1, arguments.threads)}
        if peer and case.mujoco:
            subjects[f"MuJoCo, {arguments.threads} threads"] = rollout(case, arguments.threads)
        times = {key: [] for key in subjects}
        for _ in range(arguments.turns):
            for key, subject in subjects.items():
                times[key].append(measured(subject))
        for key, each in times.items():
            wall, cpu = np.median(each, axis=0)
            least = np.min(each, axis=0)[1]
            print(f"| {name} | {key} | {1e6 / wall:,.0f} | {cpu:,.1f} | {least:,.1f} |", flush=True)


if __name__ == "__main__":
    main()
