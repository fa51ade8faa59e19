"""Sweeps over rows given as plain arrays, as one launch."""

import numpy as np

from shinari.compute import Program
from shinari.constraints.registry import ConstraintType
from shinari.model.particles import Particles
from shinari.systems.rows.batches import Batches
from shinari.systems.rows.projection import (
    Corrections,
    Relaxation,
    Variant,
    batches_record,
    multipliers_record,
    projection,
    rows_record,
)


def sweep(
    kind: ConstraintType,
    variant: Variant,
    offsets,
    indices,
    parameters,
    coefficient,
    multipliers,
    x,
    scale,
    *,
    h=0.0,
    threads=1,
    **fields,
) -> None:
    """Solve rows (M, ...) colour after colour; multipliers, x (N, 4) and corrections are written.

    Damped rows need the fields damping, predicted and velocities, gathered ones corrections and weights.
    """
    real, sides = x.dtype.type, coefficient.shape[1]
    tables = {"coefficient": coefficient}
    tables |= {"parameters": parameters} if kind.width else {}
    tables |= {"damping": fields["damping"]} if variant.damped else {}
    if variant.batched:
        batches = Batches(indices, offsets)
        offsets = batches.offsets
        tables = {name: batches.arranged(table) for name, table in tables.items()}
        record = batches_record(kind.points, kind.width, sides, variant.damped)
        rows = [record(real, rows=batches.rows, points=batches.indices, **tables)]
        rows.append(multipliers_record(kind.rows)(real, multiplier=multipliers))
    else:
        record = rows_record(kind.points, kind.width, sides, kind.rows, variant.damped)
        rows = [record(real, points=indices, multiplier=multipliers, **tables)]
    particles = Particles.zeros(len(x), real)
    particles.bind(x=x)
    if variant.damped:
        particles.bind(predicted=fields["predicted"], v=fields["velocities"])
    jacobi = []
    if variant.gathers:
        jacobi = [Corrections(real, value=fields["corrections"]), Relaxation(real, weight=fields["weights"])]
    p = Program()
    p.launch(projection(kind, variant), *rows, particles, *jacobi, scale, h, colours=np.asarray(offsets), grain=8)
    p.run(threads)
