"""Flexible parts of an MJCF: cloth, ropes and soft bodies with the points, masses and elasticity of MuJoCo."""

import warnings
from pathlib import Path

import numpy as np
import pytest

import shinari as sn

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")


def load(folder: Path, text: str, **options) -> tuple[sn.Scene, sn.Robot]:
    path = folder / "robot.xml"
    path.write_text(text)
    scene = sn.Scene(air_density=0.0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.RobotWarning)
        return scene, sn.load_robot(path, scene)


def part(options: str, inner: str = "", head: str = "") -> str:
    return f'<mujoco>{head}<worldbody><flexcomp name="f" {options}>{inner}</flexcomp></worldbody></mujoco>'


def model_of(text: str):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return mujoco.MjModel.from_xml_string(text)


def points_of(text: str, rest_time: float = 0.0) -> np.ndarray:
    """Where MuJoCo has the points, Y up: at the start, or after a time in which velocities decay by 3/s."""
    model = model_of(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    for _ in range(round(rest_time / model.opt.timestep)):
        mujoco.mj_step(model, data)
        data.qvel *= 1.0 - 3.0 * model.opt.timestep
    points = np.array(data.flexvert_xpos).reshape(-1, 3)
    return np.column_stack([points[:, 0], points[:, 2], -points[:, 1]])


GRID = 'count="4 3 1" spacing=".1 .1 .1" mass="0.6"'
BENDS = '<elasticity young="1e4" thickness="1e-3" elastic2d="bend"/>'
HELD = '<edge equality="true"/>'
KINDS = {
    "grid 1": (f'type="grid" dim="1" {GRID.replace("4 3 1", "5 1 1")}', "rope"),
    "grid 2": (f'type="grid" dim="2" {GRID}', "cloth"),
    "grid 3": (f'type="grid" dim="3" {GRID.replace("4 3 1", "4 3 2")}', "soft"),
    "circle": (f'type="circle" dim="1" {GRID.replace("4 3 1", "9 1 1")}', "rope"),
    "disc": (f'type="disc" dim="2" {GRID.replace("4 3 1", "5 5 1")}', "cloth"),
    "square": (f'type="square" dim="2" {GRID.replace("4 3 1", "5 5 1")}', "cloth"),
    "box": (f'type="box" dim="3" dof="radial" {GRID.replace("4 3 1", "4 3 3")}', "soft"),
    "cylinder": (f'type="cylinder" dim="3" dof="radial" {GRID.replace("4 3 1", "4 4 4")}', "soft"),
    "ellipsoid": (f'type="ellipsoid" dim="3" dof="radial" {GRID.replace("4 3 1", "4 4 4")}', "soft"),
    "mesh": ('type="mesh" file="part.obj" scale="2 2 2" mass="0.6"', "cloth"),
    "net": ('type="direct" dim="1" point="0 0 0 .1 0 0 0 .1 0 -.1 0 0" element="0 1 0 2 0 3" mass=".4"', "particles"),
    "sheet": ('type="direct" dim="2" point="0 0 0 .1 0 0 0 .1 0 .1 .1 0" element="0 1 2 2 1 3" mass=".4"', "cloth"),
    "tetrahedra": ('type="direct" dim="3" point="0 0 0 .1 0 0 0 .1 0 0 0 .1" element="0 2 1 3" mass=".4"', "soft"),
    "nodes": (f'type="grid" dim="3" dof="trilinear" {GRID.replace("4 3 1", "4 3 3")}', "soft"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_points_and_masses_are_those_of_mujoco(tmp_path: Path, kind: str) -> None:
    options, made = KINDS[kind]
    cube = "v 0 0 0\nv .1 0 0\nv 0 .1 0\nv 0 0 .1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
    (tmp_path / "part.obj").write_text(cube)
    text = part(f'{options} radius="0.004" pos="1 2 3" euler="0 0 30"', "" if kind == "nodes" else HELD)
    # the middle of what is radial is fixed to the body that carries it
    if kind in ("box", "cylinder", "ellipsoid"):
        body = '<body name="b"><freejoint/><geom size=".01" mass="1"/>'
        text = text.replace("<worldbody>", f"<worldbody>{body}").replace("</worldbody>", "</body></worldbody>")
    scene, robot = load(tmp_path, text)
    handle, obj = robot.flexes["f"], scene.particle_objects[0]
    assert obj.kind == made
    expected = points_of(text.replace('file="part.obj"', f'file="{tmp_path}/part.obj"'))
    assert handle.positions == pytest.approx(expected, abs=1e-9)
    radial = kind in ("box", "cylinder", "ellipsoid")
    mass = 0.4 if "0.6" not in options else 0.6
    assert obj.masses.sum() == pytest.approx(mass, rel=1e-6)
    assert obj.masses == pytest.approx(obj.masses[0])
    assert len(scene.body_rows) == radial
    sim = sn.Simulation(scene, substeps=4, precision="float64")
    sim.step(3)
    assert sim.state.velocities[:, 1].mean() == pytest.approx(-9.81 * 0.05, rel=0.05)


def test_springs_in_edges_carry_what_hangs_below_them(tmp_path: Path) -> None:
    """Each edge of a hanging rope is longer by the weight below it over its stiffness.

    A sweep over the rows leaves an error of the order of (c h + k h^2) / m, from both neighbours of a point.
    """
    text = part('dim="1" count="6 1 1" spacing=".1 .1 .1" mass="0.6" quat=".5 .5 .5 .5"', "")
    text = text.replace("></flexcomp>", '><pin id="5"/><edge stiffness="200" damping="1"/></flexcomp>')
    text = text.replace('quat=".5 .5 .5 .5"', 'axisangle="0 1 0 -90"')
    scene, robot = load(tmp_path, text, damping=3.0)
    sim = sn.Simulation(scene, substeps=200, precision="float64")
    start = sim.positions(robot.flexes["f"]).copy()
    sim.run(4.0, progress=False)
    now = sim.positions(robot.flexes["f"])
    assert now[5] == pytest.approx(start[5], abs=1e-12)
    stretched = np.linalg.norm(np.diff(now, axis=0), axis=1) - 0.1
    h = 1.0 / 60.0 / 200.0
    error = 2.0 * (1.0 * h + 200.0 * h**2) / 0.1
    assert stretched == pytest.approx(0.1 * 9.81 / 200.0 * np.arange(1, 6), rel=error)


HANGING = {
    "cloth": (
        'dim="2" count="7 7 1" spacing=".08 .08 .08" mass=".1"',
        '<pin grid="0 0 6 0"/><elasticity young="1e4" poisson="0.2" damping="0.05" thickness="2e-3" elastic2d="both"/>',
    ),
    "plate": (
        'dim="2" count="9 3 1" spacing=".05 .05 .05" mass=".1"',
        '<pin gridrange="0 0 1 2"/>'
        '<elasticity young="1e6" poisson="0.3" damping="0.05" thickness="6e-3" elastic2d="both"/>',
    ),
    "beam": (
        'dim="3" count="7 3 3" spacing=".05 .05 .05" mass="1"',
        '<pin gridrange="0 0 0 0 2 2"/><elasticity young="1e4" poisson="0.3" damping="0.02"/>',
    ),
}


@pytest.mark.parametrize("case", HANGING)
def test_what_hangs_has_the_shape_that_mujoco_finds(tmp_path: Path, case: str) -> None:
    """The error falls with the substeps; at these it is below 2 % of the deflection."""
    options, inner = HANGING[case]
    inner += '<contact selfcollide="none" contype="0" conaffinity="0"/>'
    head = '<option timestep="1e-3" integrator="discrete" gravity="0 0 -1"/>'
    text = part(f'{options} radius="1e-3"', inner, head)
    try:
        expected = points_of(text, 6.0)
    except ValueError as error:
        pytest.skip(f"this MuJoCo has no such integrator: {error}")
    scene, robot = load(tmp_path, text, damping=3.0, gravity=(0.0, -1.0, 0.0))
    start = robot.flexes["f"].positions.copy()
    sim = sn.Simulation(scene, substeps=200, precision="float64")
    sim.run(6.0, progress=False)
    found = sim.positions(robot.flexes["f"])
    deflection = np.linalg.norm(expected - start, axis=1).max()
    assert np.linalg.norm(found - expected, axis=1).max() < 0.02 * deflection


POINTS = 'type="direct" dim="2" point="0 0 0 1 0 0 0 1 0 0 -1 0 0 0 1"'
ARM = """<mujoco><worldbody>
<geom name="floor" type="plane" size="2 2 .1" contype="2" conaffinity="2"/>
<body name="arm" pos="0 0 1"><joint name="j" axis="0 1 0"/>
  <geom type="capsule" size=".02" fromto="0 0 0 .4 0 0" mass="1"
  contype="2" conaffinity="2"/>
  <flexcomp name="flag" dim="2" count="4 4 1" spacing=".05 .05 .05" mass=".05" radius=".002" pos=".5 0 0"
    quat=".70710678 .70710678 0 0">
    <pin grid="0 0 0 3"/><edge equality="true"/>%s</flexcomp></body>
</worldbody>%s</mujoco>"""


def test_pins_move_along_with_the_body_that_carries_them(tmp_path: Path) -> None:
    scene, robot = load(tmp_path, ARM % ("", ""))
    flag = robot.flexes["flag"]
    (rows,) = scene.body_rows
    assert rows.particles.tolist() == [0, 3]
    assert not scene.pinned
    assert {name for pair in scene.ignored for name in pair if "flag" not in name} >= {"robot/arm", "robot/floor"}
    sim = sn.Simulation(scene, substeps=20, precision="float64")

    def local() -> np.ndarray:
        pose = sim.pose(robot.bodies["arm"])
        return (sim.positions(flag)[[0, 3]] - pose.position) @ pose.matrix

    start = local()
    sim.run(0.5, progress=False)
    assert robot.joints["j"].angle > 0.5
    # a row that holds a point yields by a part of what a substep moves it
    assert local() == pytest.approx(start, abs=1e-4)
    edges = np.linalg.norm(np.diff(sim.positions(flag).reshape(4, 4, 3), axis=0), axis=2)
    assert edges == pytest.approx(0.05, rel=0.02)


def test_equalities_hold_points_at_bodies_and_in_space(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><flexcomp name="a" dim="1" count="4 1 1" spacing=".1 .1 .1" mass=".1" radius=".002">
    <edge equality="true"/></flexcomp><body name="b" pos=".15 0 0"><freejoint/><geom size=".01" mass=".2"/></body>
    </worldbody><equality><connect body1="a_0" anchor="0 0 0"/><connect body1="a_3" body2="b" anchor="0 0 0"/>
    </equality></mujoco>"""
    scene, robot = load(tmp_path, text, damping=2.0)
    assert robot.skipped == []
    assert scene.pinned == {0}
    sim = sn.Simulation(scene, substeps=40, precision="float64")
    sim.run(4.0, progress=False)
    points = sim.positions(robot.flexes["a"])
    assert points[0] == pytest.approx([-0.15, 0.0, 0.0], abs=1e-12)
    assert points[3] == pytest.approx(sim.pose(robot.bodies["b"]).position, abs=1e-4)
    # it hangs down in the end
    assert points[3] == pytest.approx([-0.15, -0.3, 0.0], abs=0.02)


def test_contact_is_as_in_the_file(tmp_path: Path) -> None:
    ways = {"": "triangles", '<contact selfcollide="none"/>': None, '<contact contype="0"/>': None}
    for inner, expected in ways.items():
        scene, robot = load(tmp_path, part('dim="2" count="3 3 1" spacing=".1 .1 .1" radius=".004"', HELD + inner))
        assert scene.particle_objects[0].self_collision == expected
        assert scene.particle_objects[0].radii == pytest.approx(0.004)
        assert robot.skipped == []
    thick = 'type="direct" dim="2" point="0 0 0 .1 0 0 0 .1 0 .1 .1 0" element="0 1 2 2 1 3" radius=".08"'
    scene, robot = load(tmp_path, part(thick, HELD))
    assert scene.particle_objects[0].self_collision is None
    assert "contact with itself" in robot.skipped[0]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (part(f'{POINTS} element="0 1 2 1 0 3 0 1 4"', BENDS), "edge"),
        (part('dim="2" count="3 3 1" rigid="true"'), "all of its points are fixed"),
        (part('dim="7" count="3 3 1"'), "flexcomp"),
        (part('type="mesh" file="part.txt"'), "flexcomp"),
        (part('dim="2" count="3 3 1"', '<edge equality="strange"/>'), "equality 'strange'"),
        (part('dim="3" dof="trilinear" count="3 3 3"', '<elasticity young="1e4"/>'), "grid of nodes"),
        ('<mujoco><worldbody><body name="b"><flexcomp name="f" dim="9"/></body></worldbody></mujoco>', "flexcomp"),
    ],
)
def test_what_cannot_be_had_is_listed(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "part.txt").write_text("no mesh")
    scene, robot = load(tmp_path, text)
    assert any(told in line for line in robot.skipped), robot.skipped
    assert len(scene.particle_objects) == len(robot.flexes)


def test_a_robot_that_cannot_be_added_leaves_no_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise sn.SceneError("no")

    monkeypatch.setattr("shinari.io.robots.load.SensorReader", refuse)
    path, scene = tmp_path / "robot.xml", sn.Scene()
    path.write_text(ARM % ("", ""))
    with pytest.raises(sn.SceneError, match="no"):
        sn.load_robot(path, scene)
    assert (scene.particle_count, scene.rows, scene.body_rows, scene.pinned) == (0, [], [], set())
