"""Small scenes, one for each system, that run on the host and in the simulator of CUDA."""

from collections.abc import Callable

import numpy as np

import shinari as sn
from shinari.constraints.registry import constraint_types

SCENES: dict[str, tuple[Callable[[sn.Scene], None], dict]] = {}
WIND = {"air": (3.0, 0.5, 1.0)}


def small(**settings):
    """Add a scene; its settings follow."""

    def add(build):
        SCENES[build.__name__] = build, settings
        return build

    return add


def start(name: str, **settings) -> sn.Simulation:
    """A simulation of a scene."""
    build, own = SCENES[name]
    scene = sn.Scene(wind=WIND.get(name))
    build(scene)
    return sn.Simulation(scene, **{"substeps": 2, **own, **settings})


def line(count: int, height: float = 0.0) -> np.ndarray:
    """Points along x, 0.1 m apart."""
    return np.array([[0.1 * k, height, 0.0] for k in range(count)])


@small()
def free_particles(scene):
    points = np.random.default_rng(1).uniform(size=(6, 3))
    scene.add_particles(points, velocity=points - 0.5)


@small(iterations=2)
def cloth_on_sphere(scene):
    scene.add_cloth(sn.grid(shape=(4, 4)), position=(0, 0.11, 0)).pin([0])
    scene.add_collider(sn.Sphere(0.1), restitution=0.5)


@small()
def load_on_a_rope(scene):
    rope = scene.add_rope(line(6, 0.5))
    rope.pin([0])
    load = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), density=1000, position=(0.5, 0.45, 0))
    scene.attach((rope, [5]), load)


@small()
def colliders(scene):
    """Particles beside colliders of all shapes, one of which moves."""
    shapes = (sn.Sphere(0.1), sn.Box((0.2, 0.2, 0.2)), sn.Capsule(0.05, 0.2), sn.Cylinder(0.1, 0.2), sn.Cone(0.1, 0.2),
              sn.ConvexHull(np.array([[0, 0, 0], [0.2, 0, 0], [0, 0.2, 0], [0, 0, 0.2]])))  # fmt: skip
    for k, shape in enumerate(shapes):
        scene.add_collider(shape, position=(k, 0.0, 0), restitution=0.3)
    scene.add_collider(sn.Sphere(0.1), motion=sn.Oscillation((7.0, 0, 0), (0, 0.1, 0), 1.0))
    points = np.array([[k + 0.02, 0.12, 0.01] for k in range(8)])
    scene.add_particles(points, velocity=np.tile([0.0, -3.0, 0.0], (8, 1)))


@small()
def mesh_collider(scene):
    scene.add_collider(sn.Mesh(*BOX))
    scene.add_particles([(0.0, 0.21, 0.0), (0.22, 0.0, 0.1)], velocity=[(0, -3.0, 0), (-2.0, 0, 0)])


@small(sweep="jacobi", iterations=3)
def jacobi(scene):
    scene.add_cloth(sn.grid(shape=(4, 4))).pin([0])


@small(sweep="chebyshev", iterations=6)
def chebyshev(scene):
    scene.add_cloth(sn.grid(shape=(4, 4))).pin([0])


@small(hierarchy=True, iterations=2)
def hierarchy(scene):
    scene.add_cloth(sn.grid(shape=(7, 7))).pin([0])


@small()
def soft_body(scene):
    scene.add_soft_body(sn.lattice((1, 1, 1), 0.1), position=(0, 0.1, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small()
def force_field(scene):
    scene.add_particles(line(4))
    scene.add_force_field(swirl)


@small()
def air(scene):
    scene.add_cloth(sn.grid(shape=(4, 4))).pin([0])


@small()
def pins(scene):
    scene.add_rope(line(6)).pin([0, 5])


@small()
def breaking_attachment(scene):
    rope = scene.add_particles(line(3))
    scene.add_constraint("distance", [(0, 1), (1, 2)])
    scene.attach((rope, 0), (0.0, 0.0, 0.0), break_force=2.0)


@small()
def particle_contact(scene):
    points = np.array([[0, 0, 0], [0.17, 0, 0], [0.05, 0.19, 0], [0.4, 0, 0.0]])
    velocity = [(0, 0, 0), (-4, 0, 0), (0, -3, 0), (-6, 0, 0)]
    for k in range(4):
        scene.add_particles(points[k : k + 1], radius=0.08, velocity=velocity[k])


@small()
def cloth_particles(scene):
    scene.add_cloth(sn.grid(shape=(3, 3)), self_collision="particles").pin([0])
    scene.add_cloth(sn.grid(shape=(2, 2)), position=(0.1, 0.3, 0), velocity=(0, -5, 0), self_collision="particles")


@small()
def grains(scene):
    """A pile of five grains of radius 0.02 m that fall on a plane."""
    points = np.array([[0, 0.02, 0], [0.04, 0.02, 0], [0.0, 0.02, 0.04], [0.04, 0.02, 0.04], [0.02, 0.05, 0.02]])
    scene.add_grains(points, radius=0.02, velocity=(0, -1, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small(substeps=8)
def wet_grains(scene):
    """Three wet grains that touch or nearly touch, of two materials."""
    points = np.array([[0, 0.02, 0], [0.04, 0.02, 0], [0.0, 0.0605, 0.0]])
    scene.add_grains(points, radius=0.02, material=sn.GrainMaterial(cohesion=500.0))
    scene.add_grains([[0.02, 0.06, 0.034]], radius=0.019, material=sn.GrainMaterial(cohesion=300.0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small()
def fluid(scene):
    scene.add_fluid(sn.Box((0.15, 0.15, 0.15)), spacing=0.05)


@small()
def fluid_on_plane(scene):
    scene.add_fluid(sn.Box((0.1, 0.1, 0.1)), spacing=0.05, position=(0, 0.05, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small()
def surface_contact(scene):
    lower = scene.add_cloth(sn.grid(shape=(3, 3)), self_collision="triangles")
    lower.pin(lower.particles)
    scene.add_cloth(sn.grid(shape=(2, 2)), position=(0.1, 0.01, 0.07), velocity=(0, -2, 0), self_collision="triangles")


@small()
def shape_matching(scene):
    vertices, _ = sn.lattice((1, 1, 1), 0.1)
    scene.add_shape_matched(vertices, density=1000.0, position=(0, 0.1, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small(iterations=2)
def rod(scene):
    scene.add_rod(line(6)).pin([0])


@small()
def volume(scene):
    ball = scene.add_cloth(OCTAHEDRON)
    scene.add_volume(ball, ratio=1.2)


@small(rigid_solver="sweeps", sleep=False)
def bodies_by_sweeps(scene):
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))
    for k in range(2):
        scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1 + 0.2 * k, 0))


@small(sleep=False)
def hulls(scene):
    """Hulls that touch each other and the ground."""
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))
    wedge = sn.ConvexHull([(x, y, 0.1 * x) for x in (-0.1, 0.1) for y in (-0.1, 0.1)] + [(0.0, 0.0, 0.15)])
    scene.add_rigid_body(wedge, position=(0, 0.1, 0))
    scene.add_rigid_body(wedge, position=(0.02, 0.28, 0.01), rotation=(0.8, 0.6, 0, 0))
    scene.add_rigid_body(wedge, position=(0.05, 0.13, 0.12), rotation=(0.8, 0, 0.6, 0))


@small(sleep=False)
def bodies(scene):
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1, 0))


@small(sleep=False)
def joints(scene):
    """A chain of bodies with a hinge that has limits and a motor, a ball joint and a slider."""
    bodies = [scene.add_rigid_body(sn.Sphere(0.1), position=(0.5 * k, 0, 0)) for k in range(4)]
    scene.add_joint("hinge", bodies[0], None, anchor=(0, 0, 0), axis=(0, 0, 1))
    motor = sn.VelocityMotor(1.0, 1.0)
    scene.add_joint("hinge", bodies[0], bodies[1], anchor=(0.25, 0, 0), axis=(0, 0, 1), limits=(-1.0, 1.0), motor=motor)
    scene.add_joint("ball", bodies[1], bodies[2], anchor=(0.75, 0, 0))
    scene.add_joint("slider", bodies[2], bodies[3], anchor=(1.25, 0, 0), axis=(0, 1, 0))


@small(sleep=False)
def tendons(scene):
    """A tendon over four bodies, around a cylinder and over a pulley; two coupled joints, and a medium."""
    bodies = [
        scene.add_rigid_body(sn.Sphere(0.1), position=(0.5 * k, 0, 0), medium=sn.Medium(1.2, 0.1)) for k in range(4)
    ]
    joints = [
        scene.add_joint("hinge", body, anchor=(0.5 * k, 0.3, 0), axis=(0, 0, 1)) for k, body in enumerate(bodies[:2])
    ]
    scene.couple_joints(joints[1], joints[0], (0, -0.5, 0.1))
    path = [sn.Via(bodies[k], (0.5 * k, 0, 0)) for k in range(4)]
    path[2:2] = [sn.Wrap(bodies[1], 0.1, (0.75, 0.05, 0), axis=(0, 0, 1))]
    path += [sn.Pulley(2.0), sn.Via(None, (0, 1, 0)), sn.Via(bodies[3], (1.5, 0, 0))]
    scene.add_tendon(path, joints={joints[0]: 0.2}, stiffness=50.0, damping=1.0, limits=(0.0, 5.0), dry_friction=0.2)
    muscle = sn.Muscle(5.0, (-1.0, 1.0))
    scene.add_tendon(joints={joints[0]: 1.0}, actuator=muscle)
    law = sn.ActuatorLaw(2.0, (1.0, -3.0, -0.1), dynamics="filterexact", times=(0.1, 1.0))
    scene.add_tendon(joints={joints[1]: 1.0}, actuator=law)


@small(sleep=False)
def shapes_of_bodies(scene):
    """Bodies of all shapes that meet each other and a plane."""
    scene.add_collider(sn.Plane((0, 1, 0), -0.15))
    shapes = (sn.Sphere(0.1), sn.Box((0.2, 0.2, 0.2)), sn.Capsule(0.05, 0.2), sn.Cylinder(0.1, 0.2))
    for k, shape in enumerate(shapes):
        scene.add_rigid_body(shape, position=(0.19 * k, 0, 0.01 * k), velocity=(1.5 - k, -2.0, 0), restitution=0.2)


@small(dt=0.1)
def sleeping_body(scene):
    """A box that falls asleep."""
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))
    scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, 0.1, 0))


@small(sleep=False)
def attached(scene):
    cloth = scene.add_cloth(sn.grid(shape=(3, 3)))
    body = scene.add_rigid_body(sn.Box((0.2, 0.2, 0.2)), position=(0, -0.2, 0))
    scene.attach((cloth, 4), (body, (0, -0.1, 0)))


@small(sleep=False)
def body_on_cloth(scene):
    cloth = scene.add_cloth(sn.grid(shape=(4, 4)))
    cloth.pin(cloth.particles)
    scene.add_rigid_body(sn.Sphere(0.1), position=(0.031, 0.11, 0.017), velocity=(0, -2, 0), friction=0.0)
    scene.add_particles([(0.0, 0.22, 0.05)], radius=0.01, velocity=[(0, -3, 0)])


@small(sleep=False)
def fluid_with_body(scene):
    scene.add_fluid(sn.Box((0.1, 0.1, 0.1)), spacing=0.05)
    scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0, -0.11, 0))


@small()
def grains_in_fluid(scene):
    """Three grains sink into a block of fluid."""
    scene.add_fluid(sn.Box((0.15, 0.15, 0.15)), spacing=0.05, material=sn.FluidMaterial(viscosity=0.1))
    points = [[0.01, 0.02, 0.0], [-0.03, 0.0, 0.02], [0.04, -0.03, -0.02]]
    scene.add_grains(points, radius=0.008, spread=0.5, velocity=(0, -1, 0))


@small()
def fluid_effects(scene):
    material = sn.FluidMaterial(rest_density=1000, viscosity=0.5, surface_tension=0.07)
    scene.add_fluid(sn.Box((0.1, 0.1, 0.15)), spacing=0.05, material=material)


@small()
def emitter(scene):
    scene.add_emitter(limit=30, radius=0.05, position=(0, 1, 0), speed=4.0, spacing=0.05)


@small()
def tearing(scene):
    """A strip that hangs at two corners and is far too weak for its weight: it tears."""
    material = sn.ClothMaterial(tear_strain=1e-4, stretch_compliance=0.1)
    scene.add_cloth(sn.grid(shape=(4, 2)), material=material).pin([0, 3])


@small()
def plastic(scene):
    material = sn.SoftMaterial(youngs_modulus=1e4, yield_strain=0.01)
    scene.add_soft_body(sn.lattice((1, 1, 1), 0.1), material=material, position=(0, 0.049, 0), velocity=(0, -2, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small()
def plastic_lump(scene):
    vertices, _ = sn.lattice((2, 1, 1), 0.1)
    clay = sn.LumpMaterial(stiffness=0.6, mode="linear", cluster_size=0.2, yield_strain=0.01, creep=20.0)
    scene.add_shape_matched(vertices, density=1000.0, material=clay, position=(0, 0.1, 0), velocity=(0, -3, 0))
    scene.add_collider(sn.Plane((0, 1, 0), 0.0))


@small()
def rod_in_one_sweep(scene):
    scene.add_rod(line(6), self_collision=False).pin([0, 1])


@small()
def moving_target(scene):
    cloth = scene.add_cloth(sn.grid(shape=(3, 3)))
    scene.attach((cloth, 0), sn.Oscillation((0, 0, 0), (0.1, 0, 0), 2.0))


@small()
def intersecting_sheets(scene):
    """A sheet that stands through another one: both are pulled apart."""
    material = sn.ClothMaterial(thickness=0.01)
    lying = scene.add_cloth(sn.grid(shape=(3, 3)), material=material, self_collision="triangles")
    lying.pin([0])
    standing = sn.grid(shape=(3, 3), size=(0.3, 0.3))
    place = {"position": (0.05, 0.02, 0.03), "rotation": (np.cos(np.pi / 4), np.sin(np.pi / 4), 0, 0)}
    scene.add_cloth(standing, material=material, self_collision="triangles", **place)


@small()
def moving_mesh(scene):
    """A sheet that is lifted against a particle."""
    vertices, faces = sn.grid(shape=(2, 2))
    lifted = np.stack([vertices, np.add(vertices, (0, 0.2, 0))])
    scene.add_moving_mesh(sn.MeshSequence([0.0, 0.1], lifted, faces))
    tilted = {"position": (0.05, 0.11, 0.07), "rotation": (0.9, 0.3, 0.1, 0.3)}
    scene.add_cloth(sn.grid(shape=(2, 2), size=(0.2, 0.2)), self_collision="triangles", **tilted)


@sn.function
def swirl(x, v, m, t):
    """A force that turns around y [N]."""
    return -x[2], x[1] * v[0] * m, x[0] + t


BOX = (
    np.array([[x, y, z] for x in (-0.2, 0.2) for y in (-0.2, 0.2) for z in (-0.2, 0.2)]),
    np.array([[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
              [0, 6, 4], [1, 5, 7], [1, 7, 3]]),
)  # fmt: skip
OCTAHEDRON = (
    0.1 * np.array([[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]], float),
    np.array([[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]),
)


def rows_of(kind, damping: float) -> Callable[[sn.Scene], None]:
    """A scene with one row of a type, its rest values taken from its points or all one."""

    def build(scene):
        points = np.random.default_rng(0).normal(size=(kind.points, 3))
        particles = scene.add_particles(points, velocity=0.1 * points[::-1])
        given = {name: np.ones(1 if width == 1 else (1, width)) for name, width in kind.parameters if kind.rest is None}
        scene.add_constraint(kind.name, [list(particles.particles)], compliance=1e-3, damping=damping, **given)

    return build


for _kind in constraint_types():
    for _damping in (0.0, 1.0):
        SCENES[f"rows_{_kind.name}_{'damped' * (_damping > 0) or 'undamped'}"] = rows_of(_kind, _damping), {}


# Joints and contacts of bodies are solved until what is left is a part of about 1e-6 of the impulses.
ITERATIVE = 1e-5
# Roundings that a coordinate goes through in a substep. Kernels compute the same in another order at most where the
# compiler of the host reorders or contracts, so each rounding may differ.
ROUNDINGS = 64


def tolerances(simulation: sn.Simulation) -> tuple[float, float]:
    """How far positions [m] and velocities [m/s] may differ: roundings of positions, which velocities divide by h."""
    settings, state = simulation.settings, simulation.state
    size = max(float(np.abs(state.positions).max(initial=0.0)), 1.0)
    substeps = simulation.settings.substeps * max(state.frame, 1)
    position = ROUNDINGS * substeps * settings.iterations * np.finfo(simulation.model.real).eps * size
    return position, 2.0 * position / settings.substep


def assert_agree(first: sn.Simulation, second: sn.Simulation) -> None:
    """Both are in the same state but for rounding."""
    position, velocity = tolerances(first)
    if len(first.state.positions):
        assert np.abs(first.state.positions - second.state.positions).max() <= position
        assert np.abs(first.state.velocities - second.state.velocities).max() <= velocity
    for name in ("body_positions", "body_rotations", "body_velocities", "body_angular_velocities"):
        mine, theirs = getattr(first.state, name), getattr(second.state, name)
        assert np.abs(mine - theirs).max(initial=0.0) <= ITERATIVE * max(np.abs(mine).max(initial=0.0), 1.0)
    for (name, mine), theirs in zip(first.state.lasting().items(), second.state.lasting().values(), strict=True):
        assert mine.shape == theirs.shape, name
        if mine.dtype.kind != "f":
            assert np.array_equal(mine, theirs), name


def compared(sim: sn.Simulation) -> dict[str, np.ndarray]:
    """Arrays of the state of a simulation, without those that tell of rest: no scene rests on a GPU."""
    return {name: values for name, values in sim.state.arrays().items() if not name.startswith("parts/rest/")}
