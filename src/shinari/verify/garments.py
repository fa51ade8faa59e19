"""Sewn cloth: seams against a joined mesh, rest shapes in a plane, maps between vertices."""

import math
from collections.abc import Iterator

import numpy as np

from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.geometry.mesh_sequence import MeshSequence
from shinari.geometry.topology import face_normals_areas, grid
from shinari.scene.handle import Handle
from shinari.scene.materials import ClothMaterial
from shinari.scene.sewing import ElasticBand, Fold, Seam
from shinari.verify.ledger import Measurement, at_most, check, equal, roundoff
from shinari.verify.scenes import small

_LENGTH, _WIDTH, _CELLS = 0.2, 0.1, (20, 10)
_GRAVITY = 9.81
_OPEN = 0.05


def _strip() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, triangles and columns of the vertices of a strip along x."""
    nx, nz = _CELLS
    vertices, faces = grid(shape=(nx + 1, nz + 1), size=(_LENGTH, _WIDTH))
    return vertices, faces, np.arange(len(vertices)) % (nx + 1)


def _cut(column: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, Seam]:
    """The strip cut along a column, its right part moved away: vertices, triangles, columns, and the seam."""
    vertices, faces, columns = _strip()
    left, right = np.flatnonzero(columns <= column), np.flatnonzero(columns >= column)
    to_left, to_right = np.full(len(vertices), -1), np.full(len(vertices), -1)
    to_left[left], to_right[right] = np.arange(len(left)), len(left) + np.arange(len(right))
    on_left = (columns[faces] <= column).all(axis=1)
    cut = np.concatenate([to_left[faces[on_left]], to_right[faces[~on_left]]])
    points = np.concatenate([vertices[left], vertices[right] + [_OPEN, 0.0, 0.0]])
    line = np.flatnonzero(columns == column)
    seam = Seam(to_left[line], to_right[line], closing_time=0.2)
    return points, cut, np.concatenate([columns[left], columns[right]]), seam


def _hung(precision: str, material: ClothMaterial, column: int | None) -> tuple[Simulation, Handle, np.ndarray]:
    """The strip, whole or sewn, hanging at rest along x from its first column."""
    if column is None:
        vertices, faces, columns = _strip()
        sewing = []
    else:
        vertices, faces, columns, seam = _cut(column)
        sewing = [seam]
    scene = Scene(gravity=(_GRAVITY, 0.0, 0.0), damping=20.0)
    strip = scene.add_cloth((vertices, faces), material=material, sewing=sewing)
    strip.pin(np.flatnonzero(columns == 0))
    sim = small(scene, precision, dt=1.0 / 60.0, substeps=40)
    sim.step(120)
    return sim, strip, columns


@check("a seam carries as a joined mesh does", "Statics: the force of a seam is the weight beneath it")
def seam_force(precision: str) -> Iterator[Measurement]:
    """A strip hangs by its upper end, whole and cut and sewn: gap, force and extension."""
    for model, compliance, column in (("springs", 1e-2, 10), ("strain", 1e-2, 10), ("springs", 2e-2, 5)):
        material = ClothMaterial(density=2.0, stretch_compliance=compliance, stretch_model=model, bend_stiffness=1e-5)
        whole, strip, columns = _hung(precision, material, None)
        ends = [whole.positions(strip)[columns == end, 0].mean() for end in (0, _CELLS[0])]
        sewn, other, at = _hung(precision, material, column)
        x = sewn.positions(other)
        seam = _cut(column)[3]
        stretch = [x[at == end, 0].mean() for end in (0, _CELLS[0])]
        case = f"{model}, {compliance:g} m/N, cut at column {column}"
        gap = float(np.linalg.norm(x[seam.first] - x[seam.second], axis=1).max())
        yield at_most(f"gap [m], {case}", 1e-3, gap, theory="closed to a millimetre")
        # the thread hangs at the middle of the vertices that it joins
        weight = material.density * _WIDTH * _GRAVITY * (_LENGTH * (1.0 - column / _CELLS[0]))
        force = float(sewn.forces("seam").sum())
        yield equal(f"force of the seam [N], {case}", weight, force, relative=0.01,
                    theory="statics; the remaining oscillation after 2 s at 20 / s")  # fmt: skip
        yield equal(f"extension [m], {case}", ends[1] - ends[0] - _LENGTH, stretch[1] - stretch[0] - _LENGTH,
                    relative=0.05, theory="that of the whole strip, 5 %")  # fmt: skip


@check("a panel that was cut, sewn and laid flat has its area", "Isometry: a seam moves panels, it strains none")
def seam_area(precision: str) -> Iterator[Measurement]:
    """The strip is cut, one part moved away, sewn, and comes to rest without gravity."""
    for column, model in ((10, "springs"), (7, "strain")):
        vertices, faces, _, seam = _cut(column)
        scene = Scene(gravity=(0.0, 0.0, 0.0), damping=5.0)
        material = ClothMaterial(density=2.0, stretch_compliance=1e-2, stretch_model=model, bend_stiffness=1e-5)
        panel = scene.add_cloth((vertices, faces), material=material, sewing=[seam])
        sim = small(scene, precision, dt=1.0 / 60.0, substeps=20)
        sim.step(180)
        area = float(face_normals_areas(sim.positions(panel), faces)[1].sum())
        yield equal(f"area [m^2], {model}, cut at column {column}", _LENGTH * _WIDTH, area, relative=1e-3,
                    theory="strain left by the closing seam after 3 s at 5 / s")  # fmt: skip


def _turned(angle: float) -> np.ndarray:
    return np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])


@check("strain of a rest shape in a plane", "Mueller et al. 2014; E = A E t / (2 (1 - nu^2)) (a^2 + b^2 + 2 nu a b)")
def flat_rest(precision: str) -> Iterator[Measurement]:
    """Texture coordinates that are the mesh over (1 + a), (1 + b), in two islands, turned."""
    vertices, faces, columns = _strip()
    for a, b, nu, turn in ((0.02, 0.0, 0.3, 0.0), (0.05, -0.03, 0.0, 0.7), (0.1, 0.1, 0.45, 2.0)):
        flat = vertices[:, [0, 2]] / [1.0 + a, 1.0 + b]
        corners = flat[faces]
        # two islands: the right half lies elsewhere
        corners[(columns[faces] >= 10).all(axis=1)] += [0.5, 0.1]
        case = f"a = {a:g}, b = {b:g}, nu = {nu:g}, turned by {turn:g} rad"
        scene = Scene()
        # the axes of strain rows are those of the plane: stretch along them is free of shear
        material = ClothMaterial(stretch_compliance=1e-3, stretch_model="strain", poissons_ratio=nu, bend_stiffness=0.0)
        scene.add_cloth((vertices, faces), rest=corners, material=material)
        sim = small(scene, precision)
        area = _LENGTH * _WIDTH / (1.0 + a) / (1.0 + b)
        theory = area / 1e-3 / (2.0 * (1.0 - nu**2)) * (a * a + b * b + 2.0 * nu * a * b)
        smallest = max(abs(a), abs(b))
        rounding = 16.0 * roundoff(precision) * 0.2 / 0.01 / smallest
        yield equal(f"energy [J], {case}", theory, sim.energy().elastic, relative=2.0 * rounding,
                    theory="positions of 0.2 m rounded, over a cell and the strain")  # fmt: skip
        scene = Scene()
        scene.add_cloth(
            (vertices, faces), rest=corners @ _turned(turn), material=ClothMaterial(stretch_compliance=1e-3)
        )
        springs = small(scene, precision).energy().elastic
        # a square lattice of springs with both diagonals: E t e^2 / 2 for a strain e along x at nu = 1/3
        lattice = area / 1e-3 / (2.0 * (1.0 - 1.0 / 9.0)) * (a * a + b * b + 2.0 / 3.0 * a * b)
        yield equal(f"energy of springs [J], {case}", lattice, springs, relative=0.12 + 2.0 * rounding,
                    theory="squares of the strains, and half cells at the rim")  # fmt: skip


@check("maps are linear between vertices", "Integrals of linear functions; 1D statics u' = F / (E t w s)")
def linear_maps(precision: str) -> Iterator[Measurement]:
    """Mass and its centre, the displacement of a strip whose stiffness grows along it, a soft pin, the thickness."""
    vertices, faces, columns = _strip()
    along = (vertices[:, 0] + 0.5 * _LENGTH) / _LENGTH
    for first, last in ((1.0, 3.0), (0.5, 4.0)):
        scene = Scene(gravity=(0.0, 0.0, 0.0), damping=20.0)
        factor = first + (last - first) * along
        material = ClothMaterial(density=2.0, stretch_compliance=2e-2, stretch_model="strain", poissons_ratio=0.0,
                                 bend_stiffness=0.0)  # fmt: skip
        scene.add_cloth((vertices, faces), material=material, maps={"mass": factor})
        masses = scene.particle_objects[0].masses
        case = f"from {first:g} to {last:g}"
        mean = 0.5 * (first + last)
        yield equal(f"mass [kg], {case}", 2.0 * _LENGTH * _WIDTH * mean, float(masses.sum()), relative=1e-12,
                    theory="exact; rounding of a sum")  # fmt: skip
        centre = (first / 2.0 + (last - first) / 3.0) / mean
        yield equal(f"centre of mass along the strip, {case}", centre, float(masses @ along / masses.sum()),
                    relative=1e-12, theory="exact; rounding of a sum")  # fmt: skip
        scene = Scene(gravity=(0.0, 0.0, 0.0), damping=20.0)
        strip = scene.add_cloth((vertices, faces), material=material, maps={"stiffness": factor})
        strip.pin(np.flatnonzero((columns == 0) | (columns == _CELLS[0])))
        sim = small(scene, precision, dt=1.0 / 60.0, substeps=40)
        end, pull = np.flatnonzero(columns == _CELLS[0]), 0.01
        sim.state.positions[end, 0] += pull
        sim.step(150)
        middle = sim.positions(strip)[columns == _CELLS[0] // 2, 0].mean()
        theory = math.log(0.5 * (first + last) / first) / math.log(last / first)
        yield equal(f"displacement of the middle over that of the end, {case}", theory, float(middle) / pull,
                    relative=0.01, theory="cells of 1/20 of the length; solved to 1 %")  # fmt: skip
    for weight in (0.2, 0.5, 0.8):
        scene = Scene(gravity=(0.0, -_GRAVITY, 0.0), damping=20.0)
        material = ClothMaterial(density=2.0, stretch_compliance=1e-2, bend_stiffness=0.0)
        scene.add_cloth((vertices, faces), material=material, maps={"pin": np.full(len(vertices), weight)})
        sim = small(scene, precision, dt=1.0 / 60.0, substeps=20)
        sim.step(120)
        theory = float(scene.particle_objects[0].masses.sum()) * _GRAVITY
        force = sim.forces("attachment")
        yield equal(f"force of soft pins [N], weight {weight:g}", theory, float(np.abs(force.sum(axis=0)).max()),
                    relative=0.01, theory="the weight of the strip; oscillation after 2 s at 20 / s")  # fmt: skip
        inner = (columns == 10) & (np.abs(vertices[:, 2]) < 0.02)
        drop = -float(sim.state.positions[inner, 1].mean())
        share = float(scene.particle_objects[0].masses[inner].mean())
        yield equal(f"drop of inner vertices [m], weight {weight:g}", share * _GRAVITY * 1e-2 * (1.0 - weight) / weight,
                    drop, relative=0.05, theory="m g (1 - w) / w times the compliance of the sheet")  # fmt: skip


@check("folds and elastic bands at rest", "Discrete Shells: a hinge is at rest at its angle; Hooke's law of the band")
def folds_and_bands(precision: str) -> Iterator[Measurement]:
    """A strip that is bent along a line without gravity; a band along one that is held at both ends."""
    vertices, faces, columns = _strip()
    line = np.flatnonzero(columns == 10)
    for angle in (0.6, -1.2):
        scene = Scene(gravity=(0.0, 0.0, 0.0), damping=5.0)
        material = ClothMaterial(density=0.5, stretch_compliance=1e-2, bend_stiffness=1e-3)
        strip = scene.add_cloth((vertices, faces), material=material, sewing=[Fold(line, angle)])
        sim = small(scene, precision, dt=1.0 / 60.0, substeps=40)
        sim.step(240)
        x = sim.positions(strip).astype(np.float64)
        normals = face_normals_areas(x, faces)[0]
        left, right = (normals[where].mean(axis=0) for where in ((columns[faces] <= 8).all(axis=1),
                                                                 (columns[faces] >= 12).all(axis=1)))  # fmt: skip
        between = math.atan2(float(np.linalg.norm(np.cross(left, right))), float(left @ right))
        ridge = float(x[columns == 10, 1].mean() - 0.5 * (x[columns == 0, 1].mean() + x[columns == 20, 1].mean()))
        yield equal(f"angle [rad] of a fold of {angle:g}", angle, math.copysign(between, ridge), relative=0.05,
                    theory="no load: all hinges at rest but for the last of the oscillation")  # fmt: skip
    for ratio, stiffness in ((0.8, 20.0), (0.9, 5.0)):
        scene = Scene(gravity=(0.0, 0.0, 0.0))
        row = np.arange(_CELLS[0] + 1)
        material = ClothMaterial(stretch_compliance=math.inf, bend_stiffness=0.0)
        scene.add_cloth((vertices, faces), material=material, sewing=[ElasticBand(row, ratio, stiffness)])
        sim = small(scene, precision)
        theory = 0.5 * stiffness * (1.0 / ratio - 1.0) ** 2 * ratio * _LENGTH
        yield equal(f"energy [J] of a band of ratio {ratio:g}", theory, sim.energy().elastic,
                    relative=64.0 * roundoff(precision) * _LENGTH / (1.0 - ratio) / 0.01,
                    theory="EA e^2 / 2 over its length; rounded positions over an edge")  # fmt: skip


@check("a moving mesh carries cloth by friction", "Coulomb: v = a t while a < mu g, else v = mu g t")
def carried(precision: str) -> Iterator[Measurement]:
    """A patch of cloth lies on a mesh that sets out with a constant acceleration, slower and faster than friction."""
    vertices, faces = grid(shape=(5, 3), size=(8.0, 2.0))
    for friction, acceleration in ((0.5, 2.0), (0.2, 4.0), (0.3, 1.0), (0.6, 9.0)):
        times = np.linspace(0.0, 1.0, 61)
        places = np.array([vertices + np.array([0.5 * acceleration * t * t, 0.0, 0.0]) for t in times])
        scene = Scene(gravity=(0.0, -_GRAVITY, 0.0))
        scene.add_moving_mesh(MeshSequence(times, places, faces), friction=friction, thickness=0.004)
        material = ClothMaterial(friction=friction, thickness=0.004, stretch_compliance=1e-4)
        patch = scene.add_cloth(grid(shape=(5, 5), size=(0.2, 0.2)), material=material, position=(-2.0, 0.004, 0.0))
        sim = small(scene, precision, dt=1.0 / 60.0, substeps=20)
        sim.step(60)
        # the mesh has a speed for each step: at the end that of the middle of the last one
        sticks = acceleration < friction * _GRAVITY
        speed = acceleration * (1.0 - 0.5 / 60.0) if sticks else friction * _GRAVITY
        x = float(sim.state.velocities[patch.particles.start : patch.particles.stop, 0].astype(np.float64).mean())
        yield equal(f"speed [m/s] after 1 s, mu = {friction:g}, a = {acceleration:g} m/s^2", speed, x, relative=0.01,
                    theory="a part of a step at the start and the end")  # fmt: skip
