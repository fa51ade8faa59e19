"""Milliseconds of a step of a swinging chain of 100 links, and how far it gapes: `python benchmarks/chains.py`.

A step is 1/60 s with 10 substeps. Peers that are not installed are skipped with the reason.
"""

import argparse

import numpy as np
from rigid_cases import Chain, timed
from rigid_engines import engines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engines", nargs="*", help="shinari, PyBullet, MuJoCo, 'Newton XPBD', pyPBD; all by default")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=5.0)
    arguments = parser.parse_args()
    for kind in ("ball", "hinge"):
        case = Chain(kind)
        for name, engine in engines(arguments.engines).items():
            try:
                subject = engine(case, arguments.threads)
            except NotImplementedError as error:
                print(f"{name:12s} {kind}: skipped: {error}")
                continue
            times, poses = timed(subject, round(60 * arguments.seconds))
            times, gap = 1e3 * times, max(case.gap(x, q) for x, q in poses)
            print(
                f"{name:12s} 100 {kind:5s} joints: {np.median(times):6.3f} ms (least {times.min():.3f}); gaps at most "
                f"{1e3 * gap:.3f} mm",
                flush=True,
            )


if __name__ == "__main__":
    main()
