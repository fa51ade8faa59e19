"""Sensors of MJCF robots that see what is around: range finders and distances, as MuJoCo reads them."""

from pathlib import Path

import numpy as np
import pytest

import shinari as sn

mujoco = pytest.importorskip("mujoco", reason="the extra [robot] is not installed")

UPRIGHT = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
"""Turns the world of files, Z up, to that of scenes."""
SHAPES = {
    "sphere": 'type="sphere" size=".2"',
    "box": 'type="box" size=".2 .1 .3"',
    "capsule": 'type="capsule" size=".1 .2"',
    "cylinder": 'type="cylinder" size=".15 .2"',
    "ellipsoid": 'type="ellipsoid" size=".2 .1 .3"',
    "hull": 'type="mesh" mesh="wedge"',
}
WEDGE = '<asset><mesh name="wedge" vertex="-.2 -.2 -.2 .3 0 0 0 .25 0 0 0 .2 .1 .2 .25"/></asset>'

FREE = '<default><geom contype="1" conaffinity="0"/></default>'
"""Nothing touches anything."""


def both(tmp_path: Path, text: str) -> tuple:
    """The robot in a simulation, and MuJoCo's model and data, at the start."""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    scene = sn.Scene(air_density=0.0)
    robot = sn.load_robot(path, scene)
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return robot, sn.Simulation(scene, dt=1 / 1000, substeps=20, threads=1, precision="float64"), model, data


def told(values: object) -> str:
    return " ".join(map(str, values))  # type: ignore[arg-type]


def turned(values: np.ndarray) -> np.ndarray:
    """Vectors of the file, one after another, in the scene."""
    return (values.reshape(-1, 3) @ UPRIGHT.T).ravel()


@pytest.mark.parametrize("seed", range(3))
def test_range_finders_read_what_mujoco_reads(tmp_path: Path, seed: int) -> None:
    """From bodies and from the world; past the own body and what is not seen; at all shapes; while they move."""
    rng = np.random.default_rng(seed)
    bodies, sensors = "", ""
    for k, geom in enumerate(SHAPES.values()):
        at, turn = rng.uniform((-1, -1, 0.2), (1, 1, 2.2)), rng.uniform(-180, 180, 3)
        sites = "".join(
            f'<site name="s{k}_{i}" pos="{told(rng.uniform(-0.1, 0.1, 3))}" euler="{told(rng.uniform(-180, 180, 3))}"/>'
            for i in range(12)
        )
        bodies += f'<body pos="{told(at)}" euler="{told(turn)}"><freejoint/><geom {geom}/>{sites}</body>'
        sensors += "".join(f'<rangefinder name="r{k}_{i}" site="s{k}_{i}"/>' for i in range(12))
    bodies += '<body pos="0 0 1.2"><freejoint/><geom type="sphere" size=".4" rgba="1 1 1 0" mass="1"/></body>'
    text = f"""<mujoco><option gravity="0 0 -9.81" timestep="5e-5"/>{FREE}{WEDGE}<worldbody>
      <geom type="plane" size="0 0 1"/><site name="w" pos="0 0 4" euler="178 1 0"/>{bodies}</worldbody>
      <sensor>{sensors}<rangefinder name="w" site="w"/></sensor></mujoco>"""
    robot, sim, model, data = both(tmp_path, text)
    for steps in (0, 200):
        sim.step(steps)
        mujoco.mj_step(model, data, 20 * steps)
        mujoco.mj_forward(model, data)
        expected = np.array([data.sensor(name).data[0] for name in robot.sensors])
        found = np.array([sensor.read()[0] for sensor in robot.sensors.values()])
        # from below MuJoCo does not see a plane
        counts = (expected >= 0.0) | (found < 0.0) if steps else np.full(len(found), True)
        assert (expected >= 0.0).sum() > 20
        assert (expected < 0.0).sum() > 5
        assert np.allclose(found[counts], expected[counts], rtol=0, atol=1e-9 if steps == 0 else 2e-3)


def test_a_range_finder_tells_all_that_it_is_asked_for(tmp_path: Path) -> None:
    """Fields in MuJoCo's order, its cutoff, and what it tells where nothing is met."""
    every = 'data="dist dir origin point normal depth"'
    text = f"""<mujoco><worldbody><geom type="plane" size="5 5 1" euler="0 10 0"/><body pos=".3 .2 2"><freejoint/>
      <geom type="box" size=".1 .1 .1"/><site name="down" pos=".01 .02 .03" euler="170 5 0"/><site name="up"/></body>
      </worldbody><sensor><rangefinder name="all" site="down" {every}/><rangefinder name="none" site="up" {every}/>
      <rangefinder name="cut" site="down" {every} cutoff=".4"/><rangefinder name="none cut" site="up" cutoff=".5"/>
      <rangefinder name="two" site="down" data="point depth"/><rangefinder name="far" site="down" cutoff="3"/>
      </sensor></mujoco>"""
    robot, sim, _, data = both(tmp_path, text)
    assert robot.skipped == []
    assert sim.time == 0.0
    for name, sensor in robot.sensors.items():
        expected = np.array(data.sensor(name).data)
        if len(expected) == 14:
            expected[1:13] = turned(expected[1:13])
        elif len(expected) == 4:
            expected[:3] = turned(expected[:3])
        assert sensor.read() == pytest.approx(expected, abs=1e-12), name


def test_a_range_finder_sees_flexible_parts(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><geom type="plane" size="5 5 1"/><site name="w" pos=".03 .01 3" euler="180 0 0"/>
      <body pos="0 0 2"><freejoint/><geom type="sphere" size=".1"/>
      <site name="s" pos=".03 .01 0" euler="180 0 0"/></body>
      <flexcomp name="sheet" type="grid" dim="2" count="5 5 1" spacing=".2 .2 .1" pos="0 0 1" mass="1" radius=".001">
      <edge equality="true"/></flexcomp></worldbody><sensor><rangefinder name="r" site="s"/></sensor></mujoco>"""
    robot, sim, _, data = both(tmp_path, text)
    assert sim.time == 0.0
    assert robot.sensors["r"].read() == pytest.approx([1.0], abs=1e-6)
    # MuJoCo's does not
    assert data.sensor("r").data == pytest.approx([2.0], abs=1e-6)


@pytest.mark.parametrize("apart", [True, False], ids=["apart", "overlapping"])
@pytest.mark.parametrize("seed", range(4))
def test_distances_are_those_of_mujoco(tmp_path: Path, seed: int, apart: bool) -> None:
    """Between bodies of two geoms and from a plane: distance, direction and nearest points.

    What overlaps is parted by the least translation, which MuJoCo finds to its `ccd_tolerance`, on round shapes only
    roughly; its points are compared by the distance that they have.
    """
    rng = np.random.default_rng(seed)
    names = rng.permutation(list(SHAPES))[:4]
    places = [np.add(rng.uniform(-0.25, 0.25, 3), (x, 0, 1)) for x in (0.0, 1.6 * apart)]
    bodies = "".join(
        f'<body name="b{k}" pos="{told(at)}" euler="{told(rng.uniform(-180, 180, 3))}"><freejoint/>'
        f'<geom name="g{k}" {SHAPES[names[2 * k]]}/><geom name="h{k}" {SHAPES[names[2 * k + 1]]} pos=".1 .3 0"/></body>'
        for k, at in enumerate(places)
    )
    ends = {"b": 'body1="b0" body2="b1"', "g": 'geom1="g0" geom2="h1"', "m": 'geom1="h0" body2="b1"',
            "p": 'geom1="p" body2="b1"', "q": 'body1="b0" geom2="p"'}  # fmt: skip
    kinds = ("distance", "normal", "fromto")
    sensors = "".join(f'<{kind} name="{kind}_{e}" {given} cutoff="9"/>' for e, given in ends.items() for kind in kinds)
    text = f"""<mujoco><option ccd_tolerance="1e-10" ccd_iterations="200"/>{FREE}{WEDGE}<worldbody>
      <geom name="p" type="plane" size="9 9 1" euler="10 5 0"/>{bodies}</worldbody>
      <sensor>{sensors}</sensor></mujoco>"""
    robot, sim, _, data = both(tmp_path, text)
    assert robot.skipped == []
    assert sim.time == 0.0
    for e in ends:
        distance, normal, points = (robot.sensors[f"{kind}_{e}"].read() for kind in kinds)
        expected = data.sensor(f"distance_{e}").data[0]
        assert (expected > 0.0) == apart or e in "gmpq"
        if expected > 0.0 or e in "pq":
            assert distance == pytest.approx([expected], abs=1e-7), (e, names)
            assert normal == pytest.approx(turned(data.sensor(f"normal_{e}").data), abs=1e-4), (e, names)
            assert points == pytest.approx(turned(data.sensor(f"fromto_{e}").data), abs=2e-4), (e, names)
        else:
            # no translation that is shorter parts them
            assert expected - 1e-4 <= distance[0] <= max(0.0, expected) + 1e-4, (e, names)
        assert np.linalg.norm(points[3:] - points[:3]) == pytest.approx(abs(distance[0]), abs=1e-9)
        assert points[3:] - points[:3] == pytest.approx(abs(distance[0]) * normal, abs=1e-9)


def test_distances_end_at_their_cutoff_and_follow_the_bodies(tmp_path: Path) -> None:
    text = """<mujoco><worldbody><geom name="floor" type="plane" size="5 5 1"/><body name="a" pos="0 0 3"><freejoint/>
      <geom type="sphere" size=".5"/></body></worldbody><sensor>
      <distance name="far" body1="a" geom2="floor" cutoff="9"/>
      <distance name="near" body1="a" geom2="floor" cutoff="1"/><normal name="n" body1="a" geom2="floor" cutoff="1"/>
      <fromto name="f" body1="a" geom2="floor" cutoff="1"/>
      <distance name="zero" body1="a" geom2="floor"/></sensor></mujoco>"""
    robot, sim, _, data = both(tmp_path, text)
    for name, sensor in robot.sensors.items():
        assert sensor.read() == pytest.approx(np.array(data.sensor(name).data), abs=1e-12), name
    sim.step(400)
    height = sim.pose(robot.bodies["a"]).position[1] - 0.5
    assert height < 2.0
    assert robot.sensors["far"].read() == pytest.approx([height])
    sim.state.body_positions[0, 1] = 1.0
    assert robot.sensors["near"].read() == pytest.approx([0.5])
    assert robot.sensors["n"].read() == pytest.approx((0, -1, 0), abs=1e-12)
    assert robot.sensors["f"].read() == pytest.approx((0, 0.5, 0, 0, 0, 0), abs=1e-12)


def test_what_is_not_read_is_listed(tmp_path: Path) -> None:
    text = f"""<mujoco>{WEDGE}<worldbody><geom type="plane" size="5 5 1"/><body name="a" pos="0 0 4"><freejoint/>
      <geom name="b" type="sphere" size=".5"/><geom name="shown" type="mesh" mesh="wedge" contype="0" conaffinity="0"/>
      <camera name="eye" resolution="4 4"/></body></worldbody><sensor><rangefinder name="seen" camera="eye"/>
      <distance name="gap" geom1="shown" body2="world"/></sensor></mujoco>"""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    with pytest.warns(sn.RobotWarning, match="sensor 'seen'"):
        robot = sn.load_robot(path, sn.Scene())
    assert robot.sensors == {}
    assert [line.split(":")[0] for line in robot.skipped] == ["sensor 'seen'", "sensor 'gap'"]
