"""The essential part of the ledger: `shinari verify --quick`, about 60 s on two cores once the kernels are compiled."""

from shinari.verify.ledger import Entry

QUICK = (
    "free fall", "mass on a spring", "static extension of a chain", "energy of springs in joints", "work of a hand",
    "pendulum energy", "pendulum energy never grows", "top force of a hard chain",
    "iterations against substeps, large mass ratio", "corrections exert no torque", "angular momentum of a dumbbell",
    "catenary", "stopping distance", "conveyor", "nothing tunnels at 20 m/s", "hanging sheet", "terminal velocity",
    "bending stiffness of a sheet", "stiffness of a sheet in its plane", "stable over decades",
    "a patch slides down an incline", "a patch stops", "restitution on a moving solid", "a column of balls",
    "an overhand knot pulled tight", "a body is shot at a thin wall",
    "uniaxial stress of stable Neo-Hookean", "volume under gravity",
    "a beam recovers", "a thousand collapsed tetrahedra recover", "cantilever under its own weight",
    "plane stress of strain rows", "strain of a rest shape in a plane", "what hangs on a rope",
    "a balloon keeps its volume when it is pressed flat",
    "a rope tears at the strain asked", "elastica, tip load", "end moment", "Michell's ring", "stiffness of a lump",
    "a plastic bar keeps its bend", "free fall of a body", "a sleeping top stands", "period of a compound pendulum",
    "a block stops", "a ball hits a bar off its middle", "forces of joints at rest", "springs hold bodies",
    "a motor turns at its speed", "joints that follow each other", "terminal velocity in a medium", "forces in a stack",
    "a body shaken in its container stays inside",
    "kernel sums on a lattice", "a lattice has its rest density", "a box of fluid keeps its volume",
    "air drags by the area shown", "a dam breaks", "grains keep their momentum",
)  # fmt: skip
"""Short checks that stand for their families."""


def quick_checks(selection: list[tuple[Entry, str]]) -> list[tuple[Entry, str]]:
    """The essential of a selection, in its order: one check or a few of each family, each in one precision.

    A family without a check in `QUICK` is represented by its first one. Single precision is taken where a check can be
    made in it.
    """
    named = {entry.family for entry, _ in selection if entry.name in QUICK}
    chosen: dict[str, tuple[Entry, str]] = {}
    for entry, precision in selection:
        stands_in = entry.family not in named
        if entry.name in chosen or entry.name in QUICK or stands_in:
            chosen[entry.name] = (entry, precision)  # float32 comes last
        if stands_in:
            named.add(entry.family)
    return list(chosen.values())
