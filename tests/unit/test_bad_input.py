"""Bad input is refused when the scene is built, in words that name the object and the field."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import shinari as sn
from shinari.constraints import registry
from shinari.output.writers import open_writer

VERTICES, FACES = sn.grid(shape=(3, 3))
NAN, INF = math.nan, math.inf


def cloth(vertices: object = VERTICES, faces: object = FACES, **options: object) -> Callable[[sn.Scene], object]:
    return lambda scene: scene.add_cloth((vertices, faces), name="flag", **options)  # type: ignore[arg-type]


def rows(type: str, indices: object, **options: object) -> Callable[[sn.Scene], object]:
    def add(scene: sn.Scene) -> object:
        scene.add_particles(np.eye(3), name="dust")
        return scene.add_constraint(type, indices, **options)  # type: ignore[arg-type]

    return add


def simulate(**settings: object) -> Callable[[sn.Scene], object]:
    def run(scene: sn.Scene) -> object:
        scene.add_particles(np.eye(3))
        return sn.Simulation(scene, **settings)  # type: ignore[arg-type]

    return run


def ignoring(first: object, second: object) -> Callable[[sn.Scene], object]:
    def act(scene: sn.Scene) -> object:
        cloth()(scene)
        scene.add_collider(sn.Sphere(1), name="ball")
        scene.add_collider(sn.Sphere(1), name="moon")
        scene.ignore_contact(first, second)  # type: ignore[arg-type]

    return act


def moving(motion: Callable) -> Callable[[sn.Scene], object]:
    return lambda scene: scene.add_collider(sn.Sphere(1), motion=motion, name="ball")


def registered(**options: object) -> object:
    return sn.register("odd", **{"points": 1, "evaluate": sn.function(lambda x, p: 0.0), **options})  # type: ignore[arg-type]


def dust(**options: object) -> Callable[[sn.Scene], object]:
    return lambda scene: scene.add_particles(np.eye(3), name="dust", **options)  # type: ignore[arg-type]


def moved(index: int, value: float) -> np.ndarray:
    vertices = VERTICES.copy()
    vertices[index] = value
    return vertices


FIN = ([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 1]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]])

SCENE_CASES = {
    "grid shape": (lambda s: sn.grid(shape=5), r"grid: shape"),
    "grid size": (lambda s: sn.grid(shape=(5, 5), size=("1", "1")), r"grid: size"),
    "preset field": (lambda s: sn.ClothMaterial.preset("denim", densty=1), r"ClothMaterial: densty.*density"),
    "mass text": (lambda s: s.add_particles(np.eye(3), mass="1", name="dust"), r"'dust': mass"),
    "mass truth": (lambda s: s.add_particles(np.eye(3), mass=[True, False, True], name="dust"), r"'dust': mass"),
    "positions text": (lambda s: s.add_particles([["1", "2", "3"]], name="dust"), r"'dust': positions"),
    "compliance text": (rows("distance", [[0, 1]], compliance="1e-6"), r"'distance': compliance"),
    "constraint name a list": (rows(["distance"], [[0, 1]]), r"constraint \['distance'\]"),  # type: ignore[arg-type]
    "name of two lines": (lambda s: s.add_particles(np.eye(3), name="a\nb"), r"particles: name"),
    "box inside": (lambda s: sn.Box((1, 1, 1), inside="no"), r"Box: inside"),  # type: ignore[arg-type]
    "dt too small": (simulate(dt=1e-300), r"simulation: dt"),
    "predicate by point": (lambda s: cloth()(s).where(lambda p: p[1] > 0), r"flag: where.*\(9,\)"),  # type: ignore
    "register width": (lambda s: registered(parameters=[("n", 0)]), r"register 'odd': parameters: width"),
    "register reserved": (lambda s: registered(parameters=["compliance"]), r"register 'odd': parameters: 'compliance'"),
    "register one text": (lambda s: registered(parameters="height"), r"register 'odd': parameters"),
    "register points": (lambda s: registered(points=1.5), r"register 'odd': points"),
    "density negative": (lambda s: sn.ClothMaterial(density=-1), r"ClothMaterial: density"),
    "density nan": (lambda s: sn.ClothMaterial(density=NAN), r"ClothMaterial: density"),
    "density text": (lambda s: sn.ClothMaterial(density="1"), r"ClothMaterial: density"),
    "rope density": (lambda s: sn.RopeMaterial(density=0), r"RopeMaterial: density"),
    "mass negative": (lambda s: s.add_particles(np.eye(3), mass=-1, name="dust"), r"'dust': mass"),
    "mass shape": (lambda s: s.add_particles(np.eye(3), mass=[1, 2], name="dust"), r"'dust': mass.*\(3,\)"),
    "position nan": (lambda s: s.add_particles([[NAN, 0, 0]], name="dust"), r"'dust': positions.*\[0, 0\]"),
    "positions shape": (lambda s: s.add_particles([[1, 0]], name="dust"), r"'dust': positions.*shape"),
    "no particles": (lambda s: s.add_particles(np.zeros((0, 3)), name="dust"), r"'dust': positions"),
    "compliance negative": (rows("distance", [[0, 1]], compliance=-1), r"'distance': compliance.*at least 0"),
    "compliance nan": (rows("distance", [[0, 1]], compliance=NAN), r"'distance': compliance"),
    "stiffness above one": (rows("distance", [[0, 1]], stiffness=2), r"'distance': stiffness.*at most 1"),
    "damping negative": (rows("distance", [[0, 1]], damping=-1), r"'distance': damping"),
    "dt": (simulate(dt=0), r"simulation: dt.*above 0"),
    "dt nan": (simulate(dt=NAN), r"simulation: dt"),
    "substeps": (simulate(substeps=0), r"simulation: substeps.*at least 1"),
    "iterations": (simulate(iterations=0), r"simulation: iterations"),
    "method": (simulate(method="euler"), r"simulation: method.*'xpbd'"),
    "precision": (simulate(precision="float16"), r"simulation: precision"),
    "unknown setting": (simulate(sweep="sor"), r"simulation: sweep"),
    "empty scene": (lambda s: sn.Simulation(s), r"scene: is empty"),
    "mesh empty": (cloth(np.zeros((0, 3)), np.zeros((0, 3), int)), r"'flag': vertices.*empty"),
    "mesh without faces": (cloth(VERTICES, np.zeros((0, 3), int)), r"'flag': faces.*empty"),
    "face out of range": (cloth(VERTICES, [*FACES.tolist(), [0, 1, 99]]), r"'flag': faces\[8\].*99"),
    "face negative": (cloth(VERTICES, [[0, 1, -1]]), r"'flag': faces\[0\]"),
    "faces of floats": (cloth(VERTICES, FACES.astype(float)), r"'flag': faces"),
    "vertex nan": (cloth(moved(4, NAN)), r"'flag': vertices\[4\].*not finite"),
    "vertex infinite": (cloth(moved(4, INF)), r"'flag': vertices\[4\].*not finite"),
    "triangle twice": (cloth(VERTICES, [*FACES.tolist(), FACES[3].tolist()]), r"'flag': faces\[.*8"),
    "triangle degenerate": (cloth([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]]), r"'flag': faces\[0\].*area"),
    "vertex repeated": (cloth(VERTICES, [*FACES.tolist(), [0, 0, 1]]), r"'flag': faces\[8\].*repeats"),
    "edge of three triangles": (cloth(*FIN), r"'flag'.*edge.*\(?\[?0, 1"),
    "not a mesh": (lambda s: s.add_cloth(3, name="flag"), r"'flag': mesh"),
    "pin out of range": (lambda s: cloth()(s).pin([9]), r"flag: pin: index 9.*0 .. 8"),  # type: ignore[attr-defined]
    "pin of text": (lambda s: cloth()(s).pin(["a"]), r"flag: pin"),  # type: ignore[attr-defined]
    "rotation": (cloth(rotation=(1, 1, 0, 0)), r"'flag': rotation.*length 1"),
    "constraint unknown": (rows("spring", [[0, 1]]), r"'spring'.*known are"),
    "parameter unknown": (rows("distance", [[0, 1]], length=1.0), r"'distance': length.*rest_length"),
    "parameter shape": (rows("distance", [[0, 1]], rest_length=[1.0, 2.0]), r"'distance': rest_length.*\(1,\)"),
    "index repeated": (rows("distance", [[0, 1], [1, 1]]), r"'distance': indices: row 1 repeats"),
    "index out of range": (rows("distance", [[0, 3]]), r"'distance': indices.*3"),
    "ragged indices": (rows("distance", [[0, 1], [0]]), r"'distance': indices.*differ"),
    "ragged parameter": (rows("distance", [[0, 1]], rest_length=[[1], [1, 2]]), r"'distance': rest_length.*differ"),
    "ragged positions": (lambda s: s.add_particles([[0, 0, 0], [1]], name="dust"), r"'dust': positions"),
    "ragged velocity": (cloth(velocity=[[0, 0, 0], [1]]), r"'flag': velocity"),
    "huge mass": (lambda s: s.add_particles(np.eye(3), mass=10**400, name="dust"), r"'dust': mass"),
    "huge density": (lambda s: sn.ClothMaterial(density=10**400), r"ClothMaterial: density"),
    "huge index": (rows("distance", [[0, 10**40]]), r"'distance': indices"),
    "row of three": (rows("distance", [[0, 1, 2]]), r"'distance': indices.*\(M, 2\)"),
    "rope of one point": (lambda s: s.add_rope([[0, 0, 0]], name="r"), r"'r': points"),
    "rope standing still": (lambda s: s.add_rope([[0, 0, 0], [0, 0, 0]], name="r"), r"'r': points: 0 and 1"),
    "name taken": (lambda s: (cloth()(s), cloth()(s)), r"'flag' is taken"),
    "radius": (lambda s: sn.Sphere(0), r"Sphere: radius"),
    "no shape": (lambda s: s.add_collider("ball", name="b"), r"'b': shape"),
    "motion": (lambda s: s.add_collider(sn.Sphere(1), motion=3, name="b"), r"'b': motion"),
    "friction": (lambda s: s.add_collider(sn.Sphere(1), friction=-1, name="b"), r"'b': friction"),
    "gravity": (lambda s: sn.Scene(gravity=(0, 1)), r"scene: gravity"),
    "radius negative": (dust(radius=-1), r"'dust': radius.*at least 0"),
    "radius infinite": (dust(radius=[1, INF, 1]), r"'dust': radius.*finite"),
    "radius nan": (dust(radius=[NAN, 1, 1]), r"'dust': radius.*finite"),
    "radius shape": (dust(radius=[1, 2]), r"'dust': radius.*\(3,\)"),
    "particles friction": (dust(friction=-0.1), r"'dust': friction.*at least 0"),
    "particles friction nan": (dust(friction=NAN), r"'dust': friction.*finite"),
    "particles static friction": (dust(friction=0.5, static_friction=0.4), r"'dust': static_friction.*0\.4.*friction"),
    "static friction alone": (dust(static_friction=0.4), r"'dust': static_friction.*friction, which is None"),
    "particles restitution": (dust(restitution=1.1), r"'dust': restitution.*at most 1"),
    "particles restitution negative": (dust(restitution=-1), r"'dust': restitution.*at least 0"),
    "particles compliance": (dust(contact_compliance=-1), r"'dust': contact_compliance.*at least 0"),
    "particles compliance infinite": (dust(contact_compliance=INF), r"'dust': contact_compliance.*finite"),
    "particles self-collision": (dust(self_collision="triangles"), r"'dust': self_collision.*False, True, got 'tri"),
    "material friction": (lambda s: sn.ClothMaterial(friction=-1), r"ClothMaterial: friction.*at least 0"),
    "material friction missing": (lambda s: sn.ClothMaterial(friction=None, static_friction=1), r"static_friction"),
    "material static friction": (lambda s: sn.RopeMaterial(static_friction=0.1), r"RopeMaterial: static_friction"),
    "material restitution": (lambda s: sn.RopeMaterial(restitution=2), r"RopeMaterial: restitution.*at most 1"),
    "material compliance": (lambda s: sn.ClothMaterial(contact_compliance=NAN), r"ClothMaterial: contact_compliance"),
    "material thickness": (lambda s: sn.ClothMaterial(thickness=-1), r"ClothMaterial: thickness.*at least 0"),
    "rope radius": (lambda s: sn.RopeMaterial(radius=INF), r"RopeMaterial: radius.*finite"),
    "collider friction nan": (lambda s: s.add_collider(sn.Sphere(1), friction=NAN, name="b"), r"'b': friction"),
    "collider friction missing": (lambda s: s.add_collider(sn.Sphere(1), friction=None, name="b"), r"'b': friction"),
    "collider static friction": (lambda s: s.add_collider(sn.Sphere(1), static_friction=0.1, name="b"),
                                 r"'b': static_friction: 0.1 has to be at least friction, which is 0.3"),
    "collider restitution": (lambda s: s.add_collider(sn.Sphere(1), restitution=-1, name="b"), r"'b': restitution"),
    "collider compliance": (lambda s: s.add_collider(sn.Sphere(1), contact_compliance=-1, name="b"),
                            r"'b': contact_compliance.*at least 0"),
    "cloth self-collision true": (cloth(self_collision=True), r"'flag': self_collision.*'particles', 'triangles', got"),
    "cloth self-collision kind": (cloth(self_collision="edges"), r"'flag': self_collision.*'triangles', got 'edges'"),
    "thickness above the edges": (
        cloth(self_collision="triangles", material=sn.ClothMaterial(thickness=0.6)),
        r"'flag': thickness: 0\.6 m.*shortest edge at rest, 0\.5 m between vertices 0 and 1.*at most 0\.5 m",
    ),
    "no thickness": (
        cloth(self_collision="particles", material=sn.ClothMaterial(thickness=0)),
        r"'flag': thickness: a sheet without one.*0\.1 m",
    ),
    "rope self-collision": (
        lambda s: s.add_rope([[0, 0, 0], [1, 0, 0]], self_collision="segments", name="line"),
        r"'line': self_collision.*False, True, got 'segments'",
    ),
    "thin rope on itself": (
        lambda s: s.add_rope(np.eye(3), material=sn.RopeMaterial(radius=0), self_collision=True, name="line"),
        r"'line': self_collision: a rope of radius 0",
    ),
    "ignore unknown": (ignoring("flag", "sail"), r"second: unknown name 'sail'.*known are flag, ball, moon"),
    "ignore number": (ignoring(3, "flag"), r"ignore_contact: first: expected an object .*got 3"),
    "ignore none": (ignoring("flag", None), r"ignore_contact: second: expected an object .*got None"),
    "ignore itself": (ignoring("flag", "flag"), r"ignore_contact: second: is 'flag' like first; see self_collision"),
    "ignore colliders": (ignoring("ball", "moon"), r"ignore_contact: second: 'ball' and 'moon' are colliders"),
    "ignore of another scene": (
        ignoring(sn.Scene().add_particles([[0, 0, 0]], name="flag"), "ball"),
        r"ignore_contact: first: 'flag' belongs to another scene",
    ),
    "detection": (simulate(contact_detection="never"), r"simulation: contact_detection.*'frame', 'substep'"),
    "depenetration": (simulate(depenetration_speed=-1), r"simulation: depenetration_speed.*at least 0"),
    "motion nan": (moving(lambda t: (NAN, 0, 0)), r"'ball': motion: position at t = 0 s.*not a finite"),
    "motion truth": (moving(lambda t: (0, 1, True)), r"'ball': motion: position at t = 0 s: expected numbers"),
    "motion text": (moving(lambda t: "here"), r"'ball': motion: position at t = 0 s"),
    "motion rotation": (moving(lambda t: ((0, 0, 0), (0, 0, 0, 0))), r"'ball': motion: rotation at t = 0 s.*length 1"),
    "mesh with holes": (
        lambda s: sn.Mesh(VERTICES, FACES, solid=True),
        r"Mesh: solid: 8 edges have only one face \(holes: 1\), the first between vertices 0 and 1; give solid=False",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("act", "message"), SCENE_CASES.values(), ids=SCENE_CASES)
def test_the_python_interface_names_thing_and_field(act: Callable, message: str) -> None:
    with pytest.raises(sn.SceneError, match=message) as raised:
        act(sn.Scene())
    assert isinstance(raised.value, ValueError)


GRID = "[[cloth]]\nname = 'flag'\ngrid = { shape = [3, 3] }\n"
DUST = "[[particles]]\nname = 'dust'\npositions = [[0, 0, 0], [1, 0, 0]]\n"
DISTANCE = DUST + "[[constraint]]\ntype = 'distance'\n"

TOML_CASES = {
    "unknown table": ("[sky]\n", r"unknown field sky"),
    "unknown key": (GRID + "colour = 'red'\n", r"unknown field colour - at \$\.cloth\[0\]"),
    "unknown key of a material": (GRID + "material = { weight = 1 }\n", r"weight - at \$\.cloth\[0\]\.material"),
    "wrong type": (GRID + "position = 'here'\n", r"got str - at \$\.cloth\[0\]\.position"),
    "vector of two": ("[scene]\ngravity = [0, 1]\n", r"length 3, got 2 - at \$\.scene\.gravity"),
    "density zero": (GRID + "material = { density = 0 }\n", r"Expected float > 0.0 - at \$\.cloth\[0\].*density"),
    "density infinite": (GRID + "material = { density = inf }\n", r"density.*finite.*\$\.cloth\[0\]"),
    "preset unknown": (GRID + "material = 'chainmail'\n", r"'chainmail'.*\$\.cloth\[0\]"),
    "mass negative": (DUST + "mass = -1\n", r"\$\.particles\[0\]\.mass"),
    "dt": ("[simulation]\ndt = 0\n", r"\$\.simulation\.dt"),
    "substeps": ("[simulation]\nsubsteps = 0\n", r"\$\.simulation\.substeps"),
    "substeps of a float": ("[simulation]\nsubsteps = 1.5\n", r"\$\.simulation\.substeps"),
    "method": ("[simulation]\nmethod = 'euler'\n", r"'euler' - at \$\.simulation\.method"),
    "duration": ("[simulation]\nduration = inf\n", r"simulation: duration"),
    "compliance negative": (DISTANCE + "indices = [[0, 1]]\ncompliance = -1\n", r"\$\.constraint\[0\]\.compliance"),
    "compliance nan": (DISTANCE + "indices = [[0, 1]]\ncompliance = nan\n", r"\$\.constraint\[0\]\.compliance"),
    "constraint unknown": (DUST + "[[constraint]]\ntype = 'spring'\nindices = [[0, 1]]\n", r"'spring'.*known are"),
    "parameter unknown": (DISTANCE + "indices = [[0, 1]]\nparameters = { length = 1 }\n", r"length.*rest_length"),
    "parameter shape": (DISTANCE + "indices = [[0, 1]]\nparameters = { rest_length = [1, 2] }\n", r"rest_length"),
    "index repeated": (DISTANCE + "indices = [[0, 0]]\n", r"row 0 repeats.*\$\.constraint\[0\]"),
    "index out of range": (DISTANCE + "indices = [[0, 2]]\n", r"index 2 .*\$\.constraint\[0\]"),
    "index out of object": (DISTANCE + "thing = 'dust'\nindices = [[0, 2]]\n", r"2 is out of range 0 .. 1"),
    "rows of several lengths": (DISTANCE + "indices = [[0, 1], [0]]\n", r"same length"),
    "index negative": (DISTANCE + "indices = [[0, -1]]\n", r"\$\.constraint\[0\]\.indices\[0\]\[1\]"),
    "index huge": (DISTANCE + f"indices = [[0, {10**30}]]\n", r"\$\.constraint\[0\]\.indices"),
    "thing unknown": (DISTANCE + "thing = 'sand'\nindices = [[0, 1]]\n", r"'sand'.*known are dust"),
    "pin out of range": (GRID + "pin = [9]\n", r"flag: pin: index 9.*\$\.cloth\[0\]"),
    "no mesh and no grid": ("[[cloth]]\nname = 'flag'\n", r"'flag': mesh, grid"),
    "mesh and grid": (GRID + "mesh = 'a.obj'\n", r"'flag': mesh, grid"),
    "grid too large": ("[[cloth]]\ngrid = { shape = [99999, 99999] }\n", r"grid\.shape"),
    "rope ends missing": ("[[rope]]\nfrom = [0, 0, 0]\n", r"rope: points"),
    "rope points and ends": ("[[rope]]\npoints = [[0,0,0],[1,0,0]]\ncount = 3\n", r"rope: points"),
    "shape unknown": ("[[collider]]\nshape = { type = 'torus' }\n", r"'torus' - at \$\.collider\[0\]\.shape"),
    "shape without type": ("[[collider]]\nshape = { radius = 1 }\n", r"type.*\$\.collider\[0\]\.shape"),
    "radius": ("[[collider]]\nshape = { type = 'sphere', radius = 0 }\n", r"\$\.collider\[0\]\.shape\.radius"),
    "keyframes": (
        "[[collider]]\nshape = { type = 'plane' }\n"
        "motion = { type = 'keyframes', times = [1, 0], positions = [[0,0,0],[0,0,0]] }\n",
        r"Keyframes: times.*\$\.collider\[0\]",
    ),
    "attach to nothing": (DUST + "[[attach]]\nthing = 'dust'\nto = {}\n", r"attach: to.*\$\.attach\[0\]"),
    "attach to two": (
        DUST + "[[attach]]\nthing = 'dust'\nto = { thing = 'dust', point = [0, 0, 0] }\n",
        r"attach: to: exactly one",
    ),
    "attach to itself": (
        DUST + "[[attach]]\nthing = 'dust'\nindex = 0\nto = { thing = 'dust', index = 0 }\n",
        r"same particle",
    ),
    "attach index": (DUST + "[[attach]]\nthing = 'dust'\nindex = 5\nto = { point = [0, 0, 0] }\n", r"index 5"),
    "attach unclear": (GRID + DUST + "[[attach]]\nthing = 'dust'\nto = { thing = 'flag' }\n", r"which particle"),
    "attach a collider": (
        "[[collider]]\nname = 'b'\nshape = { type = 'plane' }\n[[attach]]\nthing = 'b'\nto = { point = [0, 0, 0] }\n",
        r"'b' is a collider",
    ),
    "self-collision true": (GRID + "self_collision = true\n", r"'flag': self_collision.*'triangles'.*\$\.cloth\[0\]"),
    "self-collision kind": (GRID + "self_collision = 'edges'\n", r"'edges' - at \$\.cloth\[0\]\.self_collision"),
    "thickness": (
        GRID + "self_collision = 'triangles'\nmaterial = { thickness = 0.6 }\n",
        r"'flag': thickness.*at most 0\.5 m.*\$\.cloth\[0\]",
    ),
    "restitution": (DUST + "restitution = 2\n", r"<= 1.0 - at \$\.particles\[0\]\.restitution"),
    "static friction": (DUST + "friction = 1\nstatic_friction = 0.5\n", r"static_friction.*\$\.particles\[0\]"),
    "restitution of a material": (
        GRID + "material = { restitution = 2 }\n",
        r"<= 1.0 - at \$\.cloth\[0\]\.material.*restitution",
    ),
    "radius of a particle": (DUST + "radius = [0.1, -0.1]\n", r"\$\.particles\[0\]\.radius"),
    "radii too many": (DUST + "radius = [1, 2, 3]\n", r"'dust': radius.*\(2,\).*\$\.particles\[0\]"),
    "contact compliance": (DUST + "contact_compliance = -1\n", r"\$\.particles\[0\]\.contact_compliance"),
    "collider compliance": (
        "[[collider]]\nshape = { type = 'plane' }\ncontact_compliance = inf\n",
        r"contact_compliance.*finite.*\$\.collider\[0\]",
    ),
    "detection": ("[simulation]\ncontact_detection = 'never'\n", r"'never' - at \$\.simulation\.contact_detection"),
    "ignore unknown": (
        GRID + "[[ignore_contact]]\nfirst = 'flag'\nsecond = 'sail'\n",
        r"ignore_contact: second: unknown name 'sail'.*known are flag - at \$\.ignore_contact\[0\]",
    ),
    "ignore one": (GRID + "[[ignore_contact]]\nfirst = 'flag'\n", r"second - at \$\.ignore_contact\[0\]"),
    "name twice": (GRID + GRID, r"'flag' is taken.*\$\.cloth\[1\]"),
    "too large": (GRID + "position = [1e308, 1e308, 1e308]\nrotation = [1, 1, 1, 1]\n", r"position.*\$\.cloth\[0\]"),
}


@pytest.mark.parametrize(("text", "message"), TOML_CASES.values(), ids=TOML_CASES)
def test_a_scene_file_names_file_and_field(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "scene.toml"
    path.write_text(text)
    with pytest.raises(sn.SceneError, match=message) as raised:
        sn.load_scene(path)
    assert str(path) in str(raised.value)


FILE_CASES = {
    "syntax": (b"[scene]\ngravity = 0 0\n", r"no valid TOML.*line 2"),
    "end": (b"[scene]\ngravity = [0,\n", r"no valid TOML.*line 3"),
    "bytes": (b"\xff\xfe\x00", r"UTF-8"),
    "deep": (b"a = " + b"[" * 5000, r"TOML"),
    "digits": (b"a = " + b"1" * 5000, r"TOML"),
    "mesh missing": (b"[[cloth]]\nmesh = 'none.obj'\n", r"none\.obj.*No such file"),
    "mesh of no format": (b"[[cloth]]\nmesh = 'mesh.blend'\n", r"mesh\.blend.*extension"),
    "mesh of garbage": (b"[[cloth]]\nmesh = 'garbage.ply'\n", r"garbage\.ply"),
    "mesh cut short": (b"[[cloth]]\nmesh = 'short.ply'\n", r"short\.ply"),
    "mesh is a folder": (b"[[cloth]]\nmesh = 'folder.obj'\n", r"folder\.obj"),
}


@pytest.mark.parametrize(("data", "message"), FILE_CASES.values(), ids=FILE_CASES)
def test_a_damaged_file_is_named(tmp_path: Path, data: bytes, message: str) -> None:
    from shinari.geometry.files.meshes import write_mesh

    path = tmp_path / "scene.toml"
    path.write_bytes(data)
    (tmp_path / "garbage.ply").write_bytes(bytes(range(256)) * 8)
    write_mesh(tmp_path / "short.ply", VERTICES, FACES)
    (tmp_path / "short.ply").write_bytes((tmp_path / "short.ply").read_bytes()[:-20])
    (tmp_path / "folder.obj").mkdir()
    with pytest.raises(sn.FileError, match=message) as raised:
        sn.load_scene(path)
    assert isinstance(raised.value, OSError)


def test_a_missing_scene_file(tmp_path: Path) -> None:
    with pytest.raises(sn.FileError, match=r"none\.toml.*No such file"):
        sn.load_scene(tmp_path / "none.toml")
    with pytest.raises(sn.FileError, match="Is a directory"):
        sn.load_scene(tmp_path)
    with pytest.raises(sn.FileError):
        sn.load_scene("a\0b.toml")


def test_a_missing_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scene = sn.Scene()
    scene.add_particles(np.eye(3))
    simulation = sn.Simulation(scene)
    for module in ("h5py", "pxr", "viser"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(sn.MissingExtraError, match=r"h5py.*\[cache\].*pip install"):
        simulation.save(tmp_path / "c.vtkhdf")
    with pytest.raises(sn.MissingExtraError, match=r"\[cache\]"):
        sn.Simulation.load(tmp_path / "c.vtkhdf")
    for name, extra in (("a.usdc", "usd"), ("a.html", "view"), ("a.vtkhdf", "cache")):
        with pytest.raises(sn.MissingExtraError, match=rf"\[{extra}\]"):
            open_writer(tmp_path / name, None)  # type: ignore[arg-type]


def test_divergence_names_frame_thing_and_particle() -> None:
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0], [1, 0, 0]], velocity=(1e308, 0, 0), name="dust")
    simulation = sn.Simulation(scene, dt=0.5, substeps=1, threads=1, precision="float64")
    with pytest.raises(sn.DivergenceError, match=r"frame \d+ .*'dust', particle \d") as raised:
        simulation.step(10)
    assert isinstance(raised.value, ArithmeticError)
    assert np.isfinite(simulation.state.positions).all()


@pytest.mark.parametrize("value", [(NAN, 0.0, 0.0), (0.0, INF, 0.0), ((0.0, 0.0, 0.0), (NAN, 0.0, 0.0, 0.0))])
def test_a_motion_that_leaves_the_numbers_is_named_with_its_time(value: object) -> None:
    scene = sn.Scene(gravity=(0, 0, 0))
    scene.add_particles([[0, 5, 0]], radius=0.1)
    scene.add_collider(sn.Sphere(1), motion=lambda t: value if t > 0.26 else (0.0, 0.0, 0.0), name="ball")
    simulation = sn.Simulation(scene, dt=0.1, substeps=4, threads=1)
    simulation.step(2)
    before = simulation.state.copy()
    with pytest.raises(sn.SceneError, match=r"collider 'ball': motion: (position|rotation) at t = 0\.(275|3) s"):
        simulation.step()
    assert simulation.state == before


def test_a_target_that_leaves_the_numbers_is_named_with_its_time() -> None:
    scene = sn.Scene()
    dust = scene.add_particles([[0, 0, 0]])
    with pytest.raises(sn.SceneError, match=r"attach: second: position at t = 0 s"):
        scene.attach((dust, 0), lambda t: (NAN, 0, 0))
    scene.attach((dust, 0), lambda t: (NAN if t > 0.15 else 0.0, 0.0, 0.0))
    simulation = sn.Simulation(scene, dt=0.1, substeps=2, threads=1)
    with pytest.raises(sn.SceneError, match=r"attach: second: position at t = 0\.(15|2) s"):
        simulation.step(3)


@pytest.mark.parametrize("length", [0.25, 0.023456, 1.0 / 3.0, 9.999e-7, 123456.0])
def test_the_thickness_that_is_offered_is_accepted(length: float) -> None:
    mesh = sn.grid(shape=(2, 2), size=(length, length))
    for wanted in (2.0 * length, 0.0):
        with pytest.raises(sn.SceneError, match=r"thickness") as raised:
            sn.Scene().add_cloth(mesh, material=sn.ClothMaterial(thickness=wanted), self_collision="triangles")
        text = str(raised.value)
        offered = float(text.split("take at most ")[1].split()[0] if wanted else text.split("; ")[1].split()[0])
        sn.Scene().add_cloth(mesh, material=sn.ClothMaterial(thickness=offered), self_collision="triangles")


def test_handles_of_another_scene_are_refused() -> None:
    first, second = sn.Scene(), sn.Scene()
    for scene in (first, second):
        scene.add_particles(np.eye(3), name="dust")
        scene.add_constraint("distance", [[0, 1]])
    other = second.add_constraint("distance", [[1, 2]])
    simulation = sn.Simulation(first)
    with pytest.raises(sn.SceneError, match=r"'dust' belongs to another scene"):
        simulation.positions(second["dust"])  # type: ignore[arg-type]
    with pytest.raises(sn.SceneError, match=r"forces: of: <distance.* belongs to another scene"):
        simulation.forces(other)


@pytest.mark.parametrize("value", [(1.0, 2.0), (NAN, 0.0, 0.0), None, "x", 3.0])
def test_wind_that_is_no_velocity_is_named(value: object) -> None:
    scene = sn.Scene(wind=lambda time: value)
    scene.add_cloth((VERTICES, FACES))
    with pytest.raises(sn.SceneError, match=r"wind: at t = "):
        sn.Simulation(scene).step()


def test_functions_that_do_not_compile_are_named_in_one_line() -> None:
    scene = sn.Scene()
    scene.add_particles(np.eye(3))
    with pytest.raises(sn.SceneError, match=r"force field: function: expected a function of 4 arguments"):
        scene.add_force_field(sn.function(lambda x, v: (0.0, 0.0, 0.0)))
    scene.add_force_field(sn.function(lambda x, v, m, t: (0.0, 0.0)))
    with pytest.raises(sn.SceneError, match=r"force field: function") as raised:
        sn.Simulation(scene).step()
    assert "\n" not in str(raised.value)
    registered(parameters=["height"], translation_invariant=False)
    scene = sn.Scene()
    scene.add_particles(np.eye(3))
    scene.add_constraint("odd", [[0]], height=1.0)
    try:
        with pytest.raises(sn.SceneError, match=r"constraint 'odd': evaluate") as raised:
            sn.Simulation(scene).step()
        assert "\n" not in str(raised.value)
    finally:
        registry._TYPES.pop("odd")


def test_a_file_recorded_twice_is_refused(tmp_path: Path) -> None:
    scene = sn.Scene()
    scene.add_particles(np.eye(3))
    with pytest.raises(sn.FileError, match="named twice"):
        sn.Simulation(scene).run(0.1, record=[tmp_path / "a.npz", str(tmp_path / "a.npz")])


def test_a_negative_rest_length_is_refused() -> None:
    scene = sn.Scene()
    scene.add_particles([[0, 0, 0], [1, 0, 0]])
    for kind in ("distance", "tether"):
        with pytest.raises(sn.SceneError, match=f"'{kind}': rest_length: must be at least 0"):
            scene.add_constraint(kind, [[0, 1]], rest_length=-1.0)


def test_gradients_must_be_one_for_each_point() -> None:
    from shinari.constraints import registry

    @sn.function
    def evaluate(x, p):
        """Returns a gradient too many."""
        return x[0][0], (x[0], x[0])

    known = dict(registry._TYPES)
    try:
        sn.register("too_many", points=1, evaluate=evaluate, translation_invariant=False)
        scene = sn.Scene()
        scene.add_particles([[0, 0, 0]])
        scene.add_constraint("too_many", [[0]])
        with pytest.raises(sn.SceneError, match=r"too_many.*cannot be compiled"):
            sn.Simulation(scene, threads=1).step()
    finally:
        registry._TYPES.clear()
        registry._TYPES.update(known)
