"""Builds Box3D, from a checkout that you have fetched, with our driver: `python build_box3d.py CHECKOUT`.

It needs cmake and a C compiler. Nothing of the checkout is changed or copied; all goes to out/box3d.
"""

import argparse
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUT = HERE.parents[1] / "out" / "box3d"
DRIVER = OUT / "driver"


def build(checkout: Path) -> Path:
    """Build the library as its project does for a release, without samples and tests, then the driver; its path."""
    if not (checkout / "include" / "box3d" / "box3d.h").exists():
        raise SystemExit(f"{checkout}: no checkout of Box3D: it has no include/box3d/box3d.h")
    OUT.mkdir(parents=True, exist_ok=True)
    off = ["BUILD_SHARED_LIBS", "BOX3D_SAMPLES", "BOX3D_UNIT_TESTS", "BOX3D_BENCHMARKS"]
    options = ["-DCMAKE_BUILD_TYPE=Release", *(f"-D{name}=OFF" for name in off)]
    _run("cmake", "-S", str(checkout), "-B", str(OUT / "library"), *options)
    _run("cmake", "--build", str(OUT / "library"), "--target", "box3d")
    library = next((OUT / "library").rglob("libbox3d.a"))
    source, headers = HERE / "box3d.c", checkout / "include"
    _run("cc", "-O2", "-DNDEBUG", f"-I{headers}", str(source), str(library), "-lm", "-lpthread", "-o", str(DRIVER))
    return DRIVER


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="folder of Box3D's sources")
    print(f"built {build(parser.parse_args().checkout.resolve())}")


if __name__ == "__main__":
    main()
