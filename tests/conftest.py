"""The option `--bounds`: every kernel checks the bounds of its arrays; and a garbage collector with less to do."""

import gc
import os
from pathlib import Path

import pytest

FOLDER = "out/bounds"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bounds", action="store_true", help=f"check the bounds of arrays in all kernels, which are cached in {FOLDER}"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bounds: among the tests that CI also runs with `--bounds`")
    config.addinivalue_line("markers", "ordinary_kernels: asks for exact bits or counts kernels; not for --bounds")
    if config.getoption("--bounds"):
        check_bounds(Path(config.rootpath, FOLDER, "objects"))


def check_bounds(folder: Path) -> None:
    """Check the bounds in all kernels of this process, and cache them in a folder of their own.

    Processes that a test starts run ordinary kernels from their ordinary cache.
    """
    os.environ["SHINARI_BOUNDS"] = "1"
    from shinari.compute import bounds, cached_files

    del os.environ["SHINARI_BOUNDS"]
    assert bounds.CHECKED, "the package was imported before the option was read"
    folder.mkdir(parents=True, exist_ok=True)
    usual = cached_files.wanted_folder
    cached_files.wanted_folder = lambda kind: folder if kind == "objects" else usual(kind)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--bounds"):
        skip = pytest.mark.skip(reason="does not hold for kernels with bounds checks")
        for item in items:
            if item.get_closest_marker("ordinary_kernels"):
                item.add_marker(skip)


def pytest_collection_finish() -> None:
    """Do not search the tests themselves for garbage, and search seldom: half of the time of parsing all sources."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)
