"""Small scenes of all kinds in which contact, tearing, yielding and the like happen some steps after the start."""

import numpy as np
from lumps import box, lattice

import shinari as sn


def _ground(scene, height=0.0):
    scene.add_collider(sn.Plane((0, 1, 0), height))


def _cloth(scene, shape=(7, 7), size=(0.3, 0.3), position=(0, 0.1, 0), **options):
    material = sn.ClothMaterial(**{"thickness": 0.01, **options.pop("material", {})})
    return scene.add_cloth(sn.grid(shape=shape, size=size), material=material, position=position, **options)


def cloth_on_ball(self_collision=False, **settings):
    scene = sn.Scene()
    _cloth(scene, self_collision=self_collision)
    scene.add_collider(sn.Sphere(0.08))
    return scene, settings


def cloth_in_wind():
    scene = sn.Scene(wind=(3.0, 0.0, 1.0))
    _cloth(scene).pin([0])
    scene.add_collider(sn.Box((0.2, 0.05, 0.2)))
    scene.add_collider(sn.Capsule(0.05, 0.2), position=(0.1, -0.1, 0.0))
    return scene, {}


def sheets_and_rope():
    scene = sn.Scene()
    _cloth(scene, position=(0, 0, 0)).pin(range(49))
    _cloth(scene, shape=(5, 5), size=(0.1, 0.1), position=(0, 0.06, 0), self_collision="triangles")
    rope = np.stack([np.linspace(-0.1, 0.1, 9), np.full(9, 0.1), np.zeros(9)], axis=1)
    scene.add_rope(rope, material=sn.RopeMaterial(radius=0.01), self_collision=True)
    return scene, {}


def rope_on_rope():
    scene = sn.Scene()
    for k, height in enumerate((0.0, 0.06)):
        line = np.zeros((9, 3))
        line[:, 2 * k], line[:, 1] = np.linspace(-0.1, 0.1, 9), height
        rope = scene.add_rope(line, material=sn.RopeMaterial(radius=0.01), self_collision=True)
        if k == 0:
            rope.pin([0, 8])
    _ground(scene, -0.05)
    return scene, {}


def rod_on_ground(closed=False):
    scene = sn.Scene()
    angles = np.linspace(0, 2 * np.pi, 12, endpoint=False)
    ring = np.stack([0.1 * np.cos(angles), np.full(12, 0.06), 0.1 * np.sin(angles)], axis=1)
    line = np.stack([np.linspace(-0.1, 0.1, 9), np.full(9, 0.06), np.zeros(9)], axis=1)
    material = sn.RodMaterial(radius=0.01, density=900, youngs_modulus=1e6, shear_modulus=4e5)
    scene.add_rod(ring if closed else line, material=material, closed=closed)
    _ground(scene)
    return scene, {}


def soft_on_ground():
    scene = sn.Scene()
    scene.add_soft_body(sn.lattice((2, 2, 2), 0.1), position=(0, 0.2, 0))
    _ground(scene)
    return scene, {}


def lumps_on_ground(restitution=0.0):
    scene = sn.Scene()
    for height in (0.2, 0.6):
        scene.add_shape_matched(
            lattice(3, 3, 3), material=sn.LumpMaterial(density=500, restitution=restitution), position=(0, height, 0)
        )
    _ground(scene)
    return scene, {}


def particles_on_ground():
    scene = sn.Scene()
    scene.add_particles([[0, 0.1, 0], [0, 0.2, 0], [0.01, 0.3, 0]], radius=0.03, self_collision=True, restitution=0.5)
    _ground(scene)
    return scene, {}


def grains_on_ground():
    scene = sn.Scene()
    scene.add_grains(sn.Box((0.1, 0.1, 0.1)), radius=0.01, position=(0, 0.1, 0))
    _ground(scene)
    return scene, {}


def boxes():
    scene = sn.Scene()
    for k in range(3):
        scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0, 0.12 + 0.15 * k, 0), restitution=0.3)
    _ground(scene)
    return scene, {}


def all_shapes():
    scene = sn.Scene()
    mesh = sn.Mesh(*box(0.1, 0.1, 0.1))
    shapes = [sn.Sphere(0.05), sn.Box((0.1,) * 3), sn.Capsule(0.04, 0.1), sn.Cylinder(0.05, 0.1), sn.Cone(0.05, 0.1)]
    shapes += [mesh, sn.ConvexHull(box(0.1, 0.1, 0.1)[0]), sn.Compound([sn.Sphere(0.05), sn.Box((0.1,) * 3)])]
    for k, shape in enumerate(shapes):
        scene.add_rigid_body(shape, position=(0.02 * (k % 3), 0.15 + 0.2 * k, 0.01 * (k % 2)))
    _ground(scene)
    return scene, {}


def joints():
    scene = sn.Scene()
    first = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0, 0.5, 0))
    second = scene.add_rigid_body(sn.Sphere(0.05), position=(0.2, 0.5, 0))
    third = scene.add_rigid_body(sn.Box((0.1, 0.1, 0.1)), position=(0.4, 0.5, 0))
    scene.add_joint("hinge", first, anchor=(0, 0.5, 0), axis=(0, 0, 1), limits=(-0.5, 0.5))
    scene.add_joint("ball", first, second, anchor=(0.1, 0.5, 0), break_force=50.0)
    scene.add_joint("slider", second, third, anchor=(0.3, 0.5, 0), axis=(1, 0, 0), limits=(-0.05, 0.05))
    _ground(scene, 0.3)
    return scene, {}


def bodies_and_particles():
    scene = sn.Scene()
    body = scene.add_rigid_body(sn.Box((0.2, 0.1, 0.2)), position=(0, 0.06, 0))
    _cloth(scene, shape=(5, 5), size=(0.1, 0.1), position=(0, 0.2, 0))
    line = np.stack([np.full(6, 0.1), np.linspace(0.11, 0.3, 6), np.full(6, 0.1)], axis=1)
    rope = scene.add_rope(line, material=sn.RopeMaterial(radius=0.005))
    rope.pin([5])
    scene.attach((rope, 0), (body, (0.1, 0.11, 0.1)), break_force=5.0)
    _ground(scene)
    return scene, {}


def water(**material):
    scene = sn.Scene()
    scene.add_fluid(
        sn.Box((0.15, 0.15, 0.15)), spacing=0.03, position=(0, 0.15, 0), material=sn.FluidMaterial(**material)
    )
    scene.add_collider(sn.Box((0.3, 0.6, 0.3), inside=True), position=(0, 0.3, 0))
    return scene, {"substeps": 4}


def thick_water():
    return water(viscosity=5.0, surface_tension=0.07, vorticity=0.1, air_drag=0.1, ambient_density=1.2, adhesion=0.1)


def water_on_bodies_and_cloth():
    scene, settings = water()
    scene.add_rigid_body(sn.Box((0.08, 0.08, 0.08)), density=500, position=(0, 0.05, 0))
    _cloth(scene, shape=(5, 5), size=(0.1, 0.1), position=(0.05, 0.35, 0))
    return scene, settings


def faucet():
    scene, settings = water()
    scene.add_emitter(scene.handles["fluid"], limit=200, radius=0.05, position=(0, 0.5, 0), speed=1.0, start=0.1)
    scene.add_sink(sn.Box((0.05, 0.05, 0.05)), position=(0.1, 0.02, 0.1))
    return scene, settings


def tearing():
    scene = sn.Scene(gravity=(0, -30.0, 0))
    cloth = _cloth(scene, material={"tear_strain": 0.05, "stretch_compliance": 1e-3, "density": 2.0})
    cloth.pin(range(7))
    return scene, {}


def plastic():
    scene = sn.Scene(gravity=(0, -30.0, 0))
    material = {"yield_strain": 0.01, "creep": 10.0, "stretch_compliance": 1e-3, "density": 2.0}
    _cloth(scene, material=material).pin(range(7))
    scene.add_soft_body(
        sn.lattice((1, 1, 1), 0.1), position=(0, 1, 0), material=sn.SoftMaterial(youngs_modulus=1e4, yield_strain=0.01)
    ).pin([0, 1])
    return scene, {}


def breaking():
    scene = sn.Scene()
    cloth = _cloth(scene)
    scene.attach((cloth, 0), (-0.15, 0.1, -0.15), break_force=0.005, compliance=1e-3)
    scene.attach((cloth, 6), (0.15, 0.1, -0.15), break_force=0.005, compliance=1e-3)
    _ground(scene)
    return scene, {}


@sn.function
def swirl(x, v, m, t):
    return (m * x[2], -m * x[1], -m * x[0])


def force_field():
    scene = sn.Scene()
    scene.add_particles([[0, 0.1, 0]], radius=0.03)
    scene.add_force_field(swirl)
    _ground(scene)
    return scene, {}


def balloon():
    scene = sn.Scene()
    cloth = scene.add_cloth(box(0.2, 0.2, 0.2), position=(0, 0.2, 0), material=sn.ClothMaterial(thickness=0.01))
    scene.add_volume(cloth, ratio=1.1)
    _ground(scene)
    return scene, {}


SCENES = {
    "cloth on a ball": cloth_on_ball,
    "cloth with particles": lambda: cloth_on_ball("particles"),
    "cloth with triangles": lambda: cloth_on_ball("triangles"),
    "cloth in wind": cloth_in_wind,
    "sheets and rope": sheets_and_rope,
    "rope on rope": rope_on_rope,
    "rod": rod_on_ground,
    "closed rod": lambda: rod_on_ground(True),
    "soft body": soft_on_ground,
    "shape matched": lumps_on_ground,
    "shape matched, bouncing": lambda: lumps_on_ground(0.5),
    "particles": particles_on_ground,
    "grains": grains_on_ground,
    "tearing": tearing,
    "plastic": plastic,
    "breaking": breaking,
    "force field": force_field,
    "balloon": balloon,
    "hierarchy": lambda: cloth_on_ball(hierarchy=True),
    "jacobi": lambda: cloth_on_ball(sweep="jacobi"),
    "averaged": lambda: cloth_on_ball(sweep="jacobi-averaged"),
    "chebyshev": lambda: cloth_on_ball(sweep="chebyshev", iterations=6),
    "pbd": lambda: cloth_on_ball(method="pbd", iterations=3),
    "boxes": boxes,
    "water": water,
    "faucet": faucet,
    "joints": joints,
    "bodies and particles": bodies_and_particles,
    "thick water": thick_water,
    "water, bodies, cloth": water_on_bodies_and_cloth,
    "all shapes": all_shapes,
}
