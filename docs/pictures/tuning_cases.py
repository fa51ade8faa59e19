"""The scenes of the tuning guide: what looks wrong, and the same with what the guide says.

A case is a function that yields two shots, before and after: a simulation where it is to be drawn, what is different,
and a number that tells the two apart.
"""

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import shinari as sn
from shinari.geometry.tetrahedra.check import volumes

UPRIGHT = (0.5**0.5, 0.5**0.5, 0.0, 0.0)
"""Turns a sheet of `sn.grid` upright."""


@dataclass(frozen=True)
class Shot:
    """Half of a picture. All run on one thread: two wait for each other when the machine is busy.

    Attributes:
        simulation: What is drawn.
        label: What is different.
        value: What was measured.
    """

    simulation: sn.Simulation
    label: str
    value: str


@dataclass(frozen=True)
class Case:
    """A picture.

    Attributes:
        shots: Makes both halves.
        colour: A mode of `shinari.view.colours`.
        largest: Value of the brightest colour.
        direction: A direction of `shinari.view.camera`.
        together: Whether both halves are seen from the same place.
    """

    shots: Callable[[], Iterator[Shot]]
    colour: str = "body"
    largest: float | None = None
    direction: str = "corner"
    together: bool = True


def hanging(cells: int, damping: float = 0.0, material: sn.ClothMaterial | None = None, **settings) -> sn.Simulation:
    """A sheet of 1 m that hangs by two corners, just let go."""
    scene = sn.Scene(damping=damping)
    mesh = sn.grid(shape=(cells, cells))
    sheet = scene.add_cloth(mesh, material=material, rotation=UPRIGHT, position=(0, 1, 0))
    top = sheet.positions[:, 1].max() - 1e-6
    sheet.pin(sheet.where(lambda x: (x[:, 1] > top) & (np.abs(x[:, 0]) > 0.499)))
    return sn.Simulation(scene, threads=1, **settings)


def mean_strain(sim: sn.Simulation) -> float:
    """Mean |strain| in the second second."""
    sim.step(60)
    strains = []
    for _ in range(12):
        sim.step(5)
        strains.append(np.abs(sim.strains()).mean())
    return float(np.mean(strains))


def unrest(sim: sn.Simulation) -> float:
    """Root mean square of the speeds in the sixth second [m/s]."""
    sim.step(300)
    speeds = []
    for _ in range(60):
        sim.step()
        speeds.append(np.sqrt((sim.state.velocities**2).sum(axis=1).mean()))
    return float(np.mean(speeds))


def rubbery() -> Iterator[Shot]:
    """A large sheet at few substeps."""
    for label, settings in (("5 substeps", {}), ("5 substeps, hierarchy=True", {"hierarchy": True})):
        sim = hanging(60, substeps=5, **settings)
        yield Shot(sim, label, f"mean strain {mean_strain(sim):.3f}")


def jitters() -> Iterator[Shot]:
    """A sheet that does not come to rest."""
    for substeps in (5, 20):
        sim = hanging(40, substeps=substeps)
        yield Shot(sim, f"{substeps} substeps", f"rms speed after 5 s {unrest(sim):.3f} m/s")


def stiff_to_bend() -> Iterator[Shot]:
    """A kerchief on a ball."""
    for stiffness in (1e-2, 1e-5):
        scene = sn.Scene(damping=1.0)
        material = sn.ClothMaterial(bend_stiffness=stiffness, thickness=0.004)
        mesh = sn.grid(shape=(41, 41), size=(0.8, 0.8))
        cloth = scene.add_cloth(mesh, material=material, position=(0, 0.45, 0), self_collision="triangles")
        scene.add_collider(sn.Sphere(0.2), position=(0, 0.22, 0))
        scene.add_collider(sn.Plane())
        sim = sn.Simulation(scene, threads=1)
        sim.step(150)
        wide = 2.0 * np.linalg.norm(sim.positions(cloth)[:, [0, 2]], axis=1).max()
        yield Shot(sim, f"bend_stiffness={stiffness:g}", f"{wide:.2f} m across")


def passes_through() -> Iterator[Shot]:
    """A strip that falls on its end and folds."""
    for mode in (False, "triangles"):
        sim, strip = folded(mode)
        yield Shot(sim, f"self_collision={mode!r}", f"{crossings(sim, strip)} edges pierce triangles")


def folded(mode: bool | str) -> tuple[sn.Simulation, object]:
    """A strip of 1.2 m after two seconds."""
    scene = sn.Scene()
    scene.add_collider(sn.Plane())
    mesh = sn.grid(shape=(61, 11), size=(1.2, 0.2))
    strip = scene.add_cloth(
        mesh,
        material=sn.ClothMaterial(thickness=0.004),
        self_collision=mode,
        rotation=(0.5**0.5, 0, 0, 0.5**0.5),
        position=(0, 0.62, 0),
    )
    sim = sn.Simulation(scene, threads=1)
    sim.step(120)
    return sim, strip


def crossings(sim: sn.Simulation, handle) -> int:
    """Pairs of an edge and a triangle of a sheet that pierce each other."""
    x = sim.positions(handle).astype(np.float64)
    faces = next(group.faces for group in sim.scene.particle_objects if group.name == handle.name)
    edges = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    a, b, c = (x[faces[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    count = 0
    for first, second in edges:
        start, way = x[first], x[second] - x[first]
        slope = normal @ way
        with np.errstate(divide="ignore", invalid="ignore"):
            t = ((a - start) * normal).sum(axis=1) / slope
        hit = start + t[:, None] * way
        inside = np.ones(len(faces), bool)
        for u, v in ((a, b), (b, c), (c, a)):
            inside &= (np.cross(v - u, hit - u) * normal).sum(axis=1) > 0.0
        apart = (faces != first).all(axis=1) & (faces != second).all(axis=1)
        count += int((inside & apart & (t > 0.0) & (t < 1.0)).sum())
    return count


def sticks() -> Iterator[Shot]:
    """A sheet on a slope of 25 degrees, tan = 0.47."""
    tilt = np.radians(25.0)
    turn = (np.cos(tilt / 2), 0.0, 0.0, -np.sin(tilt / 2))
    along, across = np.array([np.cos(tilt), -np.sin(tilt), 0.0]), np.array([np.sin(tilt), np.cos(tilt), 0.0])
    for friction in (0.6, 0.2):
        scene = sn.Scene()
        scene.add_collider(sn.Box((3.0, 0.1, 0.8)), rotation=turn, friction=friction)
        material = sn.ClothMaterial(friction=friction, thickness=0.004)
        mesh = sn.grid(shape=(21, 21), size=(0.4, 0.4))
        place = 0.053 * across - 0.8 * along
        cloth = scene.add_cloth(mesh, material=material, rotation=turn, position=place)
        sim = sn.Simulation(scene, threads=1)
        sim.step(60)
        way = (sim.positions(cloth).mean(axis=0) - place) @ along
        yield Shot(sim, f"friction={friction:g}", f"{way:.3f} m in 1 s")


def slow() -> Iterator[Shot]:
    """The same kerchief in two resolutions."""
    for cells in (61, 31):
        scene = sn.Scene()
        scene.add_collider(sn.Sphere(0.2), position=(0, 0.22, 0))
        scene.add_collider(sn.Plane())
        mesh = sn.grid(shape=(cells, cells), size=(0.8, 0.8))
        material = sn.ClothMaterial(thickness=0.004)
        scene.add_cloth(mesh, material=material, position=(0, 0.45, 0), self_collision="triangles")
        sim = sn.Simulation(scene, threads=1)
        times = []
        for _ in range(40):
            begin = time.perf_counter()
            sim.step()
            times.append(time.perf_counter() - begin)
        yield Shot(sim, f"{cells} x {cells} vertices", f"{1e3 * statistics.median(times):.0f} ms a step")


def explodes() -> Iterator[Shot]:
    """Jacobi that corrects too much."""
    for relaxation in (1.0, None):
        sim = hanging(30, sweep="jacobi", relaxation=relaxation)
        text = "stable"
        try:
            sim.step(60)
        except sn.DivergenceError:
            text = f"diverges after {sim.time:.2f} s"
        yield Shot(sim, f"sweep='jacobi', relaxation={relaxation}", text)


def too_soft() -> Iterator[Shot]:
    """A cube of 0.3 m under its own weight."""
    for modulus in (3e3, 3e4):
        scene = sn.Scene(damping=1.0)
        scene.add_collider(sn.Plane())
        material = sn.SoftMaterial(youngs_modulus=modulus)
        cube = scene.add_soft_body(sn.lattice((6, 6, 6), 0.05), material=material, position=(0, 0.002, 0))
        sim = sn.Simulation(scene, threads=1)
        sim.step(180)
        yield Shot(sim, f"youngs_modulus={modulus:g}", f"{sim.positions(cube)[:, 1].max():.3f} m high")


def inverts() -> Iterator[Shot]:
    """A cube whose particles were thrown into disorder, two seconds later."""
    for model in ("stvk", "neo_hookean"):
        scene = sn.Scene(gravity=(0, 0, 0), damping=1.0)
        material = sn.SoftMaterial(model=model)
        cube = scene.add_soft_body(sn.lattice((6, 6, 6), 0.05), material=material)
        sim = sn.Simulation(scene, threads=1)
        x = sim.positions(cube)
        x[:] = x.mean(axis=0) + np.random.default_rng(0).normal(0.0, 0.1, x.shape)
        sim.step(120)
        tetrahedra = scene.particle_objects[0].tetrahedra
        inverted = int((volumes(sim.positions(cube).astype(np.float64), tetrahedra) < 0.0).sum())
        yield Shot(sim, f"model='{model}'", f"{inverted} of {len(tetrahedra)} inverted")


def heavy_load() -> Iterator[Shot]:
    """10 kg on a rope of 0.1 kg: on one that can tear, which is swept, and on one that is solved at once."""
    for tears, label in ((True, "can tear: swept"), (False, "solved at once")):
        sim, longer = loaded(15, tears)
        yield Shot(sim, f"15 substeps, {label}", f"{longer:.1f} mm longer")


def loaded(substeps: int, tears: bool, tether: bool = False) -> tuple[sn.Simulation, float]:
    """A rope of 1 m that holds a particle of 10 kg, after four seconds, and how much longer it is [mm]."""
    scene = sn.Scene(damping=3.0)
    material = sn.RopeMaterial(density=0.1, radius=0.01, tear_strain=10.0 if tears else np.inf)
    rope = scene.add_rope(np.linspace([0, 2, 0], [0, 1, 0], 21), material=material)
    rope.pin(0)
    load = scene.add_particles([[0, 1, 0]], mass=10.0, radius=0.06)
    scene.attach((load, 0), (rope, 20))
    scene.ignore_contact(load, rope)
    if tether:
        scene.add_constraint("tether", [[load.particles[0], rope.particles[0]]])
    sim = sn.Simulation(scene, substeps=substeps, threads=1)
    sim.step(240)
    return sim, 1e3 * float(1.0 - sim.positions(rope)[20, 1])


def stack() -> Iterator[Shot]:
    """1000 kg on four boxes of 1 kg."""
    for solver in ("sweeps", "direct"):
        scene = sn.Scene()
        scene.add_collider(sn.Plane(), friction=0.6)
        boxes = [
            scene.add_rigid_body(
                sn.Box((0.2, 0.2, 0.2)),
                mass=1000.0 if level == 4 else 1.0,
                position=(0.003 * (level % 2), 0.1 + 0.2 * level, 0),
                friction=0.6,
            )
            for level in range(5)
        ]
        sim = sn.Simulation(scene, rigid_solver=solver, threads=1)
        sim.step(36)
        way = np.linalg.norm(sim.pose(boxes[-1])[0] - [0.0, 0.9, 0.0])
        yield Shot(sim, f"rigid_solver='{solver}'", f"the load moves by {1e3 * way:.2f} mm in 0.6 s")


def tank(label: str, kernel: str = "spiky", **settings) -> Shot:
    """Water that stands in a tank, after two seconds."""
    scene = sn.Scene()
    scene.add_collider(sn.Box((0.3, 0.5, 0.2), inside=True), position=(0, 0.25, 0))
    water = scene.add_fluid(sn.Box((0.3, 0.3, 0.2)), spacing=0.02, position=(0, 0.15, 0), kernel=kernel)
    sim = sn.Simulation(scene, threads=1, **settings)
    sim.step(120)
    speed = np.sqrt((sim.velocities(water) ** 2).sum(axis=1).mean())
    return Shot(sim, label, f"{sim.densities(water).mean():.0f} kg/m3, rms speed {speed:.2f} m/s")


def compresses() -> Iterator[Shot]:
    """One iteration a frame, and twenty substeps of one."""
    yield tank("1 substep", substeps=1)
    yield tank("20 substeps", substeps=20)


def boils() -> Iterator[Shot]:
    """The paper's pair of kernels, and one whose gradient is that of its density."""
    yield tank("kernel='poly6'", kernel="poly6")
    yield tank("kernel='spiky'", kernel="spiky")


def heaps() -> Iterator[Shot]:
    """Grains that fall apart from a cylinder without walls, stirred a little."""
    for friction in (0.05, 0.35):
        scene = sn.Scene()
        scene.add_collider(sn.Plane(), friction=0.6)
        material = sn.GrainMaterial(friction=friction)
        grains = scene.add_grains(
            sn.Cylinder(0.1, 0.16), radius=0.008, spread=0.2, position=(0, 0.09, 0), material=material
        )
        sim = sn.Simulation(scene, threads=1)
        sim.velocities(grains)[:] = np.random.default_rng(0).uniform(-0.3, 0.3, (len(grains), 3))
        sim.step(180)
        yield Shot(sim, f"friction={friction:g}", f"{sim.positions(grains)[:, 1].max() + 0.008:.3f} m high")


def sinks() -> Iterator[Shot]:
    """A layer of heavy grains in the hollows of a light one, of a hundredth of its density."""
    for substeps in (4, 40):
        sim, sunk = layered(substeps)
        yield Shot(sim, f"{substeps} substeps", f"sinks by {sunk:.3f} grains in 2 s")


def layered(substeps: int, scaling: float = 0.0) -> tuple[sn.Simulation, float]:
    """Both layers after two seconds, and how far the upper one sank [diameters of a grain]."""
    d = 0.02
    lower = np.array([(i, 0.5, j) for i in range(6) for j in range(6)]) * d
    upper = lower[(lower[:, [0, 2]] < 4.5 * d).all(axis=1)] + np.array([0.5, 0.5**0.5, 0.5]) * d
    scene = sn.Scene()
    for points, density in ((lower, 100.0), (upper, 1e4)):
        material = sn.GrainMaterial(density=density, mass_scaling=scaling)
        layer = scene.add_grains(points, radius=d / 2, material=material)
    box = sn.Box((6 * d, 10 * d, 6 * d), inside=True)
    scene.add_collider(box, position=(2.5 * d, 5 * d, 2.5 * d), friction=0.8)
    sim = sn.Simulation(scene, substeps=substeps, threads=1)
    sim.step(120)
    return sim, float((upper[:, 1] - sim.positions(layer)[:, 1]).max()) / d


CASES = {
    "rubbery": Case(rubbery, "strain", 0.1),
    "stiff_to_bend": Case(stiff_to_bend),
    "jitters": Case(jitters, "speed", 1.0),
    "passes_through": Case(passes_through),
    "sticks": Case(sticks),
    "slow": Case(slow),
    "explodes": Case(explodes, together=False),
    "too_soft": Case(too_soft),
    "inverts": Case(inverts),
    "heavy_load": Case(heavy_load, direction="front"),
    "stack": Case(stack),
    "compresses": Case(compresses),
    "boils": Case(boils),
    "heaps": Case(heaps),
    "sinks": Case(sinks),
}

warnings.filterwarnings("ignore", category=sn.ContactWarning)  # what is wrong is shown on purpose
