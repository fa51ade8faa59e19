"""The option `--bounds`: every kernel checks the bounds of its arrays, see `bounds_checks`."""

import shutil
from pathlib import Path

import pytest

import bounds_checks

FOLDER = "out/bounds"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--bounds",
        choices=[bounds_checks.COMPILED, bounds_checks.INTERPRETED],
        help=f"check the bounds of arrays in all kernels; compiled ones are cached in {FOLDER}",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "bounds: among the tests that CI also runs with `--bounds interpreted`")
    config.addinivalue_line("markers", "ordinary_kernels: asks for parallel kernels or exact bits; not for --bounds")
    mode = config.getoption("--bounds")
    if not mode:
        return
    place = Path(config.rootpath, FOLDER)
    if not hasattr(config, "workerinput"):  # the first process of a run with workers, or the only one
        stamp, sources = place / "sources", bounds_checks.hash_of_sources()
        if not stamp.exists() or stamp.read_text() != sources:
            # Numba does not notice an edited callee
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(parents=True)
            stamp.write_text(sources)
    bounds_checks.switch_on(mode, place)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--bounds"):
        skip = pytest.mark.skip(reason="does not hold for kernels with bounds checks")
        for item in items:
            if item.get_closest_marker("ordinary_kernels"):
                item.add_marker(skip)
