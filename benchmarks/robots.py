"""Milliseconds of a step of fifty humanoids of thirty hinges, 1,550 bodies: `python benchmarks/robots.py [CASE...]`.

A step is 1/60 s: 16.7 ms is real time. `air`: limp, they fall freely. `held`: PD control holds them on the ground.
`limp`: nothing does; they drop by 0.3 m, stand, collapse and lie. Times are means over half a second: the second, the
slowest and the last one. Beside them are the largest gap of a joint and the deepest corner in the ground, at the end.
With equal poses all robots move alike; with different ones their angles start at random within 0.3 of the limits.
"""

import argparse
import time
import warnings

import numpy as np
from robot_cases import crowd

import shinari as sn
from shinari.geometry.motion import rotation_matrix

HALF = 30
"""Steps of half a second."""
SPREAD = 0.3
CASES = ("air", "held", "limp")
HELD = sn.Servo(0.0, stiffness=1000.0, damping=50.0)


def built(case: str, robots: int, poses: str, **settings: object) -> tuple[sn.Simulation, list[sn.Robot]]:
    """The simulation of a case, after a step that compiles."""
    # of different poses feet may be lower than of equal ones
    height = 0.0 if (case, poses) == ("held", "equal") else 0.3
    spread = SPREAD if poses == "different" else 0.0
    scene, found = crowd(robots, height, ground=case != "air", spread=spread)
    with warnings.catch_warnings():
        # of different poses some overlap
        warnings.simplefilter("ignore", sn.ContactWarning)
        sim = sn.Simulation(scene, **settings)  # type: ignore[arg-type]
    if case == "held":
        for robot in found:
            robot.drive(dict(zip(robot.names, robot.angles, strict=True)), HELD)
    sim.step()
    return sim, found


def gap(sim: sn.Simulation, robots: list[sn.Robot]) -> float:
    """Largest distance of the anchors of a joint [m]."""
    bodies, most = sim.scene.bodies, 0.0
    for robot in robots:
        for handle in robot.joints.values():
            joint, ends = sim.scene.joints[handle.index], []
            for body, place in zip((joint.first, joint.second), joint.places, strict=True):
                pose = sim.pose(bodies[body].name)
                ends.append(pose.position + pose.matrix @ place)
            most = max(most, float(np.linalg.norm(ends[0] - ends[1])))
    return most


def depth(sim: sn.Simulation) -> float:
    """How deep the lowest corner of a box is in the ground [m]; spheres are the heads."""
    lowest = np.inf
    for body in sim.scene.bodies:
        pose = sim.pose(body.name)
        for piece in body.pieces:
            low, high = piece.shape.bounds()
            up = pose.matrix[1] @ rotation_matrix(piece.rotation)
            reach = high[0] if isinstance(piece.shape, sn.Sphere) else float(np.abs(up) @ (high - low)) / 2.0
            lowest = min(lowest, float((pose.position + pose.matrix @ piece.position)[1]) - reach)
    return max(-lowest, 0.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", help=f"{', '.join(CASES)}; all by default")
    parser.add_argument("--robots", type=int, default=50)
    parser.add_argument("--poses", nargs="*", choices=("equal", "different"), default=["equal", "different"])
    parser.add_argument("--substeps", type=int, nargs="*", default=[2, 4, 8])
    parser.add_argument("--threads", type=int, nargs="*", default=[2])
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument(
        "--processor", action="store_true", help="time of the processor, on a machine that is not quiet"
    )
    arguments = parser.parse_args()
    if unknown := [case for case in arguments.cases if case not in CASES]:
        parser.error(f"unknown cases: {', '.join(unknown)}; expected some of {', '.join(CASES)}")
    clock = time.process_time if arguments.processor else time.perf_counter
    print("| case | poses | substeps | threads | second | slowest | at | last | gap um | deep um |")
    print("|---|---|---:|---:|---:|---:|---:|---:|---:|---:|", flush=True)
    for case in arguments.cases or CASES:
        for poses in arguments.poses:
            for substeps in arguments.substeps:
                for threads in arguments.threads:
                    sim, robots = built(case, arguments.robots, poses, substeps=substeps, threads=threads)
                    times = np.zeros((round(2 * arguments.seconds), HALF))
                    for k in np.ndindex(times.shape):
                        begun = clock()
                        sim.step()
                        times[k] = 1e3 * (clock() - begun)
                    means = times.mean(axis=1)
                    sunk = 0.0 if case == "air" else depth(sim)
                    columns = [f"{means[1]:.1f}", f"{means.max():.1f}", f"{means.argmax() / 2:g} s", f"{means[-1]:.1f}"]
                    columns += [f"{1e6 * gap(sim, robots):.3g}", f"{1e6 * sunk:.3g}"]
                    print(f"| {' | '.join([case, poses, str(substeps), str(threads), *columns])} |", flush=True)


if __name__ == "__main__":
    main()
