"""Milliseconds of a step of stacks of cubes, and whether they stand: `python benchmarks/stacks.py [ENGINE...]`.

A step is 1/60 s with 10 substeps. The cubes fall by 5 mm and stand, awake, for the rest of the time. Peers that are not
installed are skipped with the reason.
"""

import argparse

import numpy as np
from rigid_cases import Stacks, timed
from rigid_engines import engines

CASES = {100: Stacks((5, 5), 4), 500: Stacks((10, 10), 5), 1000: Stacks((10, 10), 10)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", help="shinari, PyBullet, MuJoCo, 'Newton XPBD', pyPBD; all by default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--boxes", type=int, nargs="*", choices=CASES, default=list(CASES))
    arguments = parser.parse_args()
    for boxes in arguments.boxes:
        case = CASES[boxes]
        for name, engine in engines(arguments.engines).items():
            try:
                subject = engine(case, arguments.threads, sleep=False)
            except NotImplementedError as error:
                print(f"{name:12s} {boxes:5d} boxes: skipped: {error}")
                continue
            times, poses = timed(subject, round(60 * arguments.seconds))
            times, x = 1e3 * times, poses[-1][0]
            standing = times[len(times) // 2 :]
            print(
                f"{name:12s} {boxes:5d} boxes: {np.median(standing):7.2f} ms standing (least {standing.min():.2f}), "
                f"{times.mean():7.2f} ms on average; {case.moved(x)} moved, {1e3 * case.depth(x):.3f} mm deep at the "
                f"end, {1e3 * max(case.depth(y) for y, _ in poses):.2f} mm at most",
                flush=True,
            )


if __name__ == "__main__":
    main()
