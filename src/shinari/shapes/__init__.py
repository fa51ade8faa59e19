"""One file for each shape: its description, mass, drawing, scene-file table, and the functions that kernels call.

Importing this package registers the shapes that come with shinari; a file that is added here is found. Host code calls
the methods of `Shape`, kernels call `shinari.shapes.kernels.dispatch`; that is all that a new shape needs.

Some modules switch on kinds as well. Each does so for an algorithm of its own, and takes the general one for every
other shape. A new shape needs no such case:

    meshes and hulls, which have fields and tables
        collision/narrow/convex.py, collision/narrow/edge_cone.py, collision/narrow/field_points.py,
        collision/narrow/fields.py, collision/narrow/mesh_pool.py, collision/narrow/piercing.py,
        collision/narrow/manifold.py, collision/narrow/round.py, systems/rigid/body_shapes.py,
        systems/rigid/contact/collision_shapes.py
    closed forms of pairs of bodies
        systems/rigid/contact/pairs.py
    particles near planes and containers
        systems/colliders/detection.py, systems/colliders/collide.py, systems/colliders/start_overlaps.py,
        systems/colliders/elements.py
    particles between boxes and other bodies, which are solved with both at once
        systems/coupling/heavy_pairs.py
    density of fluids at planes, boxes and containers
        systems/fluid/wall_kernels.py
    walls of meshes that are too thin for a fluid
        systems/fluid/thin_walls.py
    paths that are certified: how thick a solid is, and how exactly its distance is known
        systems/paths/rigid_paths.py, systems/paths/collider_paths.py, systems/coupling/body_paths.py
    distances of two shapes: those to planes in closed form
        collision/pair_distances.py
    rays: triangles of meshes, walls of containers
        solver/ray_targets.py
    filling of containers, levels of fluids
        api/fill_containers.py, api/add_fluids.py
"""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
