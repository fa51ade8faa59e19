"""Momentum of objects that nothing holds."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.verify.ledger import Measurement, at_least, check, equal, roundoff
from shinari.verify.scenes import small

_MOMENTUM = "Mueller et al. 2006, Position Based Dynamics, section 3.2: sum m dx = 0, sum r x m dx = 0"
_KEEPING = (("gauss-seidel", 1), ("gauss-seidel", 5), ("jacobi", 5), ("chebyshev", 6))


def _cloud(
    precision: str,
    seed: int,
    sweep: str,
    iterations: int,
    *,
    h: float,
    rows: str = "mixed",
    compliance: float | None = None,
) -> Simulation:
    """Twelve particles of different masses, thrown apart, with the distances that they have at the start.

    Rows are a random net of distances with two volumes (`"mixed"`), the net alone (`"net"`) or separate `"pairs"`. With
    other distances the net would have stress of its own, and what the rows change of its spin would be taken back.
    """
    rng = np.random.default_rng(seed)
    scene = Scene(gravity=(0, 0, 0))
    n = 12
    points, masses = rng.uniform(-1, 1, (n, 3)), 10.0 ** rng.uniform(-1, 1, n)
    scene.add_particles(points, mass=masses, velocity=rng.normal(0, 2, (n, 3)))
    net = np.array([(i, j) for i in range(n) for j in range(i) if rng.random() < 0.4])
    if rows == "pairs":
        net = np.arange(n).reshape(-1, 2)
    if rows == "mixed":
        scene.add_constraint("volume", [[0, 1, 2, 3], [5, 6, 7, 8]], compliance=1e-3)
    softness = 1e-4 * rng.random(len(net)) if compliance is None else compliance
    scene.add_constraint("distance", net, compliance=softness)
    return small(scene, precision, dt=h, substeps=1, iterations=iterations, sweep=sweep)


def _writes(sim: Simulation, steps: int) -> tuple[float, float]:
    """Square root of the number of position updates, and the largest mass [kg]."""
    points = sum(block.indices.size for block in sim.model.blocks.values())
    return math.sqrt(points * sim.settings.iterations * steps), float(sim.model.masses.max())


@check("linear momentum", _MOMENTUM)
def linear(precision: str) -> Iterator[Measurement]:
    """Change of momentum of a free net over a hundred steps, over the sum of |m v|."""
    for sweep, iterations in _KEEPING:
        for seed in (1, 2):
            h = 1 / 100
            sim = _cloud(precision, seed, sweep, iterations, h=h)
            before, size = sim.momentum(), _size(sim)
            sim.step(100)
            walk, heaviest = _writes(sim, 100)
            yield equal(
                f"change over sum |m v|, {sweep}, {iterations} iterations, net {seed}",
                0.0,
                float(np.linalg.norm(sim.momentum() - before)) / size,
                absolute=4.0 * walk * roundoff(precision) * heaviest * _reach(sim) / h / size,
                theory="four deviations of a random walk, m u x / h for each position written",
            )


@check(
    "averaged Jacobi breaks momentum",
    "Macklin et al. 2014, Unified Particle Physics, section 4.2: averaging by particle",
)
def averaged(precision: str) -> Iterator[Measurement]:
    """The documentation says that averaging per particle does not keep momentum; it must show."""
    for seed in (1, 2):
        sim = _cloud(precision, seed, "jacobi-averaged", 5, h=1 / 100)
        before, size = sim.momentum(), _size(sim)
        sim.step(100)
        yield at_least(
            f"change over sum |m v|, jacobi-averaged, net {seed}",
            0.01,
            float(np.linalg.norm(sim.momentum() - before)) / size,
            theory="counts of rows differ by a factor of two and more in the net, so does the push on both ends",
        )


@check("corrections exert no torque", _MOMENTUM)
def torque(precision: str) -> Iterator[Measurement]:
    """Sum of m x~ cross dv over every step, x~ the predicted positions at which the rows pushed.

    It is exact where every row pushes along a direction taken at x~: one Jacobi iteration on any net, and any number of
    iterations on separate pairs.
    """
    for sweep, iterations, rows in (("jacobi", 1, "net"), ("gauss-seidel", 1, "pairs"), ("gauss-seidel", 5, "pairs")):
        for seed in (1, 2):
            h = 1 / 100
            sim = _cloud(precision, seed, sweep, iterations, h=h, rows=rows)
            total, turning = np.zeros(3), 0.0
            for _ in range(50):
                x, v = _state(sim)
                sim.step()
                change = sim.model.masses[:, None] * (_state(sim)[1] - v)
                total += np.cross(x + h * v, change).sum(axis=0)
                turning += float(np.abs(np.cross(x + h * v, change)).sum())
            walk, heaviest = _writes(sim, 50)
            yield equal(
                f"angular impulse over that of the single pushes, {sweep}, {iterations} iterations, {rows} {seed}",
                0.0,
                float(np.linalg.norm(total)) / turning,
                absolute=4.0 * walk * roundoff(precision) * heaviest * _reach(sim) ** 2 / h / turning,
                theory="four deviations of a random walk, x m u x / h for each position written",
            )


@check("angular momentum of a dumbbell", "position update of a hard rod in closed form: tan f' = sin f / (2 - cos f)")
def dumbbell(precision: str) -> Iterator[Measurement]:
    """A hard rod spins. It turns by f in a step, so its velocity is along a chord and L = I sin(f) / h.

    From x~ = 2 x_n - x_{n-1} the next angle f' follows; the first is atan(w h). The pushes have no torque about the
    predicted points, yet L decays, as in implicit Euler: by (w h)^2 per step to first order.
    """
    # masses [kg], length [m], spin [rad/s], h [s]
    for (first, second), length, spin, h in (((1, 1), 2.0, 3.0, 1 / 60), ((1, 5), 0.5, 10.0, 1 / 600)):
        scene = Scene(gravity=(0, 0, 0))
        a, b = length * second / (first + second), length * first / (first + second)
        scene.add_particles(
            [[a, 0, 0], [-b, 0, 0]], mass=[first, second], velocity=[[0, spin * a, 0], [0, -spin * b, 0]]
        )
        scene.add_constraint("distance", [[0, 1]])
        sim = small(scene, precision, dt=h, substeps=1)
        sim.step(200)
        angle = math.atan(spin * h)
        for _ in range(199):
            angle = math.atan(math.sin(angle) / (2.0 - math.cos(angle)))
        inertia = first * a * a + second * b * b
        yield equal(
            f"L after 200 steps, masses {first:g} and {second:g}, {length:g} m, {spin:g} rad/s, h {h:.2e} [kg m^2/s]",
            inertia * math.sin(angle) / h,
            float(sim.angular_momentum()[2]),
            absolute=4.0 * math.sqrt(400) * roundoff(precision) * inertia / h,
            theory="four deviations of a random walk, m x u x / h for each position written",
        )


@check(
    "angular momentum is kept in the limit",
    "the change is of first order in h, as in implicit Euler",
    precisions=("float64",),
)
def angular(precision: str) -> Iterator[Measurement]:
    """Ratio of the changes of angular momentum of a free net in 0.1 s at h / 2 and h, extrapolated to h = 0."""
    for seed in (1, 2, 3):
        changes, largest = [], 0.0
        for count in (1000, 2000, 4000):
            sim = _cloud(precision, seed, "gauss-seidel", 8, h=0.1 / count, rows="net", compliance=1e-3)
            largest = max(largest, _fastest(sim) * 0.1 / count)
            before = sim.angular_momentum()
            sim.step(count)
            changes.append(float(np.linalg.norm(sim.angular_momentum() - before) / np.linalg.norm(before)))
        ratios = changes[1] / changes[0], changes[2] / changes[1]
        yield equal(
            f"change of L at h over that at 2 h, net {seed} (it is {changes[2]:.1e} of L at h = 2.5e-05 s)",
            0.5,
            2.0 * ratios[1] - ratios[0],
            absolute=0.5 * largest,
            theory="extrapolated, the error is of order (w h)^2; w h allowed, w the largest frequency of the net",
        )


def _fastest(sim: Simulation) -> float:
    """Bound on the largest frequency of a net of springs [rad/s]: twice the stiffness at a particle over its mass."""
    block = sim.model.blocks["distance"]
    stiffness = np.zeros(len(sim.model.masses))
    for column in block.indices.T:
        np.add.at(stiffness, column, 1.0 / block.compliance[:, 0])
    return math.sqrt(float((2.0 * stiffness * sim.model.inverse_masses).max()))


def _state(sim: Simulation) -> tuple[np.ndarray, np.ndarray]:
    """Positions and velocities in float64, copied."""
    return sim.state.positions.astype(np.float64), sim.state.velocities.astype(np.float64)


def _size(sim: Simulation) -> float:
    """Sum of |m v| [kg m/s]."""
    return float(sim.model.masses @ np.linalg.norm(_state(sim)[1], axis=1))


def _reach(sim: Simulation) -> float:
    """Largest coordinate [m], at the start or now."""
    return max(float(np.abs(sim.state.positions).max()), float(np.abs(sim.scene.positions).max()))
