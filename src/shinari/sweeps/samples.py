"""Which members a study has: a grid of all combinations, or points drawn from the ranges."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError, require
from shinari.sweeps.ranges import WHOLE, Choices, Range

METHODS = ("sobol", "lhs", "random")
MOST_MEMBERS = 10**6
FORMS = "sobol:N, lhs:N or random:N"


def members_of(parameters: Mapping[str, Range | Choices], sample: str | None, seed: int) -> list[dict[str, Any]]:
    """Values of the parameters for each member, none twice.

    Args:
        parameters: Values of each parameter by path.
        sample: None: a grid, all combinations, the last parameter fastest. `"sobol:N"`: a scrambled Sobol sequence;
            `"lhs:N"`: a Latin hypercube; `"random:N"`: independent points. Ranges are then continuous, and how many
            values a range has on a grid does not count.
        seed: Seed of the sample. Sobol samples of one seed continue each other.

    Raises:
        SceneError: Unknown sample, or too many members.
        MissingExtraError: A Sobol sequence or a Latin hypercube needs SciPy, which the extra [cluster] brings.
    """
    check.count("sweep", "seed", seed, least=0)
    if sample is None:
        grids = [values.grid(path) for path, values in parameters.items()]
        count = math.prod(map(len, grids))
        if count > MOST_MEMBERS:
            raise SceneError(f"sweep: parameters: a grid of {count} members; accepted are at most {MOST_MEMBERS}")
        rows = [dict(zip(parameters, row, strict=True)) for row in itertools.product(*grids)]
    else:
        method, count = _parsed(sample)
        places = _places(method, count, max(len(parameters), 1), seed)
        columns = [values.at(places[:, k]) for k, values in enumerate(parameters.values())]
        rows = [dict(zip(parameters, row, strict=True)) for row in zip(*columns, strict=True)] if columns else [{}]
    return list({repr(row): row for row in rows}.values())


def _parsed(sample: Any) -> tuple[str, int]:
    method, _, word = sample.partition(":") if isinstance(sample, str) else ("", "", "")
    if method not in METHODS or not WHOLE.fullmatch(word):
        raise SceneError(f"sweep: sample: expected {FORMS}, got {check.short(sample)}")
    count = check.count("sweep", "sample", int(word), most=MOST_MEMBERS)
    if method == "sobol" and count & (count - 1):
        below = 1 << (count.bit_length() - 1)
        raise SceneError(f"sweep: sample: sobol: expected a power of two, such as {below} or {2 * below}, got {count}")
    return method, count


def _places(method: str, count: int, dimensions: int, seed: int) -> np.ndarray:
    """Points of the unit cube, (count, dimensions)."""
    generator = np.random.default_rng(seed)
    if method == "random":
        return generator.random((count, dimensions))
    qmc: Any = require("scipy.stats.qmc", "cluster")
    sampler = qmc.Sobol if method == "sobol" else qmc.LatinHypercube
    return sampler(dimensions, rng=generator).random(count)
