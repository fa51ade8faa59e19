"""Emitters and sinks: layers at the right time and place, particles that wait, limits, sinks, states that go on."""

import math
import warnings

import numpy as np
import pytest

import shinari as sn

S = 0.02
PRECISIONS = ("float32", "float64")


def faucet(gravity: float = -9.81, **changes: object) -> tuple[sn.Scene, object]:
    """A scene with one emitter of a round nozzle that points down."""
    scene = sn.Scene(gravity=(0.0, gravity, 0.0))
    given = {"limit": 500, "radius": 2.0 * S, "position": (0.0, 1.0, 0.0), "speed": 1.0, "spacing": S} | changes
    return scene, scene.add_emitter(**given)


def quiet_steps(simulation: sn.Simulation, count: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sn.FluidWarning)
        simulation.step(count)


@pytest.mark.parametrize(
    ("dt", "substeps", "speed", "precision"),
    [(1 / 60, 1, 1.0, "float32"), (1 / 60, 4, 2.7, "float64"), (0.013, 2, 0.4, "float32"), (0.1, 1, 1.7, "float64")],
)
def test_layers_follow_each_other_at_the_spacing(dt: float, substeps: int, speed: float, precision: str) -> None:
    scene, handle = faucet(gravity=0.0, speed=speed, limit=2000, direction=(1.0, 0.0, 0.0))
    simulation = sn.Simulation(scene, dt=dt, substeps=substeps, precision=precision)
    simulation.step(max(1, round(0.3 / dt)))
    x = simulation.positions(handle)[simulation.active(handle)].astype(np.float64)
    # the last step let out what was due when it began, and moved it on by dt
    begun = (simulation.state.frame - 1) * dt
    layers = math.floor(begun * speed / S + 1e-9) + 1
    per_layer = len(scene.particle_objects[0].emitter.places)
    assert len(x) == layers * per_layer
    expected = speed * (begun + dt) - np.repeat(np.arange(layers), per_layer) * S
    assert np.abs(np.sort(x[:, 0])[::-1] - expected).max() < 0.02 * S
    assert np.abs(simulation.velocities(handle)[simulation.active(handle)] - [speed, 0, 0]).max() < 0.02 * speed


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("rate", [2e-4, 1e-3])
def test_the_rate_is_the_volume_that_leaves(rate: float, precision: str) -> None:
    scene, handle = faucet(gravity=0.0, speed=None, rate=rate, size=(3 * S, 4 * S), radius=None, limit=4000)
    assert len(scene.particle_objects[0].emitter.places) == 12
    simulation = sn.Simulation(scene, substeps=1, precision=precision)
    simulation.step(40)
    volume = simulation.active(handle).sum() * S**3
    # the first layer leaves at time zero
    assert abs(volume - rate * 39 / 60) <= 12 * S**3


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(("dt", "substeps"), [(1 / 60, 4), (0.05, 20)])
def test_a_jet_falls_freely(dt: float, substeps: int, precision: str) -> None:
    scene, handle = faucet(speed=1.5, limit=1000, start=0.05, material=sn.FluidMaterial(xsph=0.0))
    simulation = sn.Simulation(scene, dt=dt, substeps=substeps, precision=precision)
    simulation.step(round(0.3 / dt))
    there = simulation.active(handle)
    layers = (simulation.state.system_arrays["fluid/births"][there] - 1) // len(
        scene.particle_objects[0].emitter.places
    )
    ages = simulation.time - 0.05 - layers * S / 1.5
    expected = 1.0 - 1.5 * ages - 0.5 * 9.81 * ages**2
    # an explicit step of h falls g h t / 2 too far; what falls is drawn out and has no pressure
    off = np.abs(simulation.positions(handle)[there][:, 1] - expected)
    assert off.max() < 0.5 * 9.81 * dt / substeps * ages.max() * 1.05 + 1e-4


@pytest.mark.parametrize(
    ("radius", "size", "direction", "count"),
    [(0.5 * S, None, (0, 0, 1), 1), (5 * S, None, (1, 2, 3), 79), (None, (4 * S, 2 * S), (1, 0, 0), 8),
     (None, (S, 5.4 * S), (0, 1, 0), 5)],
)  # fmt: skip
def test_layers_lie_across_the_direction(radius: object, size: object, direction: tuple, count: int) -> None:
    scene, _ = faucet(radius=radius, size=size, direction=direction)
    places, unit = scene.particle_objects[0].emitter.places, scene.particle_objects[0].emitter.direction
    assert abs(len(places) - count) <= (2 if count == 79 else 0)
    assert np.abs(places @ unit).max() < 1e-12
    assert np.abs(places.mean(axis=0)).max() < 1e-12
    away = np.linalg.norm(places[:, None] - places[None], axis=2) + np.eye(len(places))
    assert len(places) == 1 or abs(away.min() - S) < 1e-12


def test_the_width_of_a_nozzle_is_level() -> None:
    scene, _ = faucet(radius=None, size=(4 * S, S), direction=(1, -1, 0))
    assert np.ptp(scene.particle_objects[0].emitter.places[:, 1]) < 1e-12


def test_two_dimensions() -> None:
    scene, handle = faucet(dimensions=2, radius=None, size=(3 * S, 9.0), direction=(1, 0, 0), gravity=0.0)
    simulation = sn.Simulation(scene, substeps=1)
    simulation.step(10)
    x = simulation.positions(handle)[simulation.active(handle)]
    assert len(x) == 3 * (math.floor(9 / 60 / S + 1e-9) + 1)
    assert np.ptp(x[:, 2]) == 0.0


def test_a_moving_nozzle_gives_its_velocity() -> None:
    scene, handle = faucet(gravity=0.0, motion=lambda t: (0.5 * t, 1.0, 0.0), speed=1.0)
    simulation = sn.Simulation(scene, substeps=2, precision="float64")
    simulation.step(20)
    there = simulation.active(handle)
    assert np.abs(simulation.velocities(handle)[there] - [0.5, -1.0, 0.0]).max() < 1e-3
    # all that left moves with the nozzle sideways: it hangs straight below it
    assert np.abs(simulation.positions(handle)[there][:, 0].mean() - 0.5 * simulation.time) < 0.05 * S


def crowd() -> tuple[sn.Scene, list]:
    """A cloth, a light body and a heavy one on their way past a nozzle that has not begun."""
    scene, emitter = faucet(start=10.0)
    row = np.linspace(-0.1, 0.1, 5)
    x, z = np.meshgrid(row, row)
    corners = np.arange(25).reshape(5, 5)
    a, b, c, d = corners[:-1, :-1].ravel(), corners[1:, :-1].ravel(), corners[:-1, 1:].ravel(), corners[1:, 1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([c, b, d], axis=1)])
    vertices = np.stack([x.ravel(), np.full(25, 1.1), z.ravel()], axis=1)
    cloth = scene.add_cloth((vertices, faces), material=sn.ClothMaterial(density=0.2, thickness=0.01))
    body = scene.add_rigid_body(sn.Box((0.05, 0.05, 0.05)), density=1.0, position=(0.0, 1.3, 0.0))
    return scene, [emitter, cloth, body]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_particles_that_wait_touch_and_weigh_nothing(precision: str) -> None:
    scene, (emitter, cloth, body) = crowd()
    simulation = sn.Simulation(scene, substeps=4, precision=precision)
    simulation.step(20)
    assert not simulation.active(emitter).any()
    assert np.array_equal(simulation.state.positions[emitter.particles.start : emitter.particles.stop],
                          scene.particle_objects[0].positions.astype(simulation.model.real))  # fmt: skip
    h, t = 1 / 240, 20 / 60
    fallen = 0.5 * 9.81 * t * (t + h)
    assert np.abs(simulation.positions(cloth)[:, 1] - (1.1 - fallen)).max() < 1e-4
    assert abs(simulation.state.body_positions[body.index, 1] - (1.3 - fallen)) < 1e-6
    assert len(simulation.contacts().forces) == 0
    mass = scene.particle_objects[1].masses.sum() + scene.bodies[0].mass
    assert abs(simulation.momentum()[1] + mass * 9.81 * t) < 1e-4 * mass
    energy = simulation.energy()
    assert abs(energy.kinetic - 0.5 * mass * (9.81 * t) ** 2) < 1e-3 * energy.kinetic
    heights = scene.particle_objects[1].masses.sum() * (1.1 - fallen) + scene.bodies[0].mass * (1.3 - fallen)
    assert abs(energy.gravitational - 9.81 * heights) < 1e-3 * abs(energy.gravitational)


def test_the_limit_is_said_once() -> None:
    scene, handle = faucet(limit=30, name="tap")
    simulation = sn.Simulation(scene, substeps=2)
    with pytest.warns(sn.FluidWarning, match=r"emitter 'tap': limit: all 30 particles are out at t = 0.05 s") as said:
        simulation.step(60)
    assert len(said) == 1
    assert simulation.active(handle).all()


def test_the_oldest_come_again() -> None:
    scene, handle = faucet(limit=60, recycle=True, gravity=0.0)
    simulation = sn.Simulation(scene, substeps=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.step(60)
    assert simulation.active(handle).all()
    # the newest sixty: layers of 12 or 13, so that none is farther than so many layers
    layer = len(scene.particle_objects[0].emitter.places)
    depth = 1.0 - simulation.positions(handle)[:, 1]
    assert depth.max() < (math.ceil(60 / layer) + 1) * S
    births = simulation.state.system_arrays["fluid/births"]
    assert len(np.unique(births)) == 60
    assert np.ptp(births) == 59


def test_more_leaves_in_a_step_than_there_may_be() -> None:
    scene, handle = faucet(limit=60, recycle=True, gravity=0.0, speed=20.0)
    simulation = sn.Simulation(scene, substeps=1, dt=0.1)
    simulation.step(2)
    assert simulation.active(handle).all()
    assert np.isfinite(simulation.positions(handle)).all()


def test_stop_and_start() -> None:
    scene, handle = faucet(gravity=0.0, start=0.1, stop=0.2)
    simulation = sn.Simulation(scene, substeps=1)
    simulation.step(6)
    assert not simulation.active(handle).any()
    simulation.step(30)
    assert simulation.active(handle).sum() == 6 * len(scene.particle_objects[0].emitter.places)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize(
    ("shape", "at", "turn"),
    [(sn.Plane(), (0, 0.8, 0), (1, 0, 0, 0)), (sn.Box((1, 0.2, 1)), (0, 0.7, 0), (math.cos(0.1), 0, 0, math.sin(0.1)))],
)
def test_a_sink_takes_what_comes(shape: object, at: tuple, turn: tuple, precision: str) -> None:
    scene, handle = faucet(limit=300)
    drop = scene.add_fluid(np.array([[0.3, 1.0, 0.0], [0.3, 20.0, 0.0]]), spacing=S)
    sink = scene.add_sink(shape, position=at, rotation=turn)
    simulation = sn.Simulation(scene, substeps=2, precision=precision)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulation.step(60)
    out, fill = simulation.active(handle), simulation.active(drop)
    assert fill.tolist() == [False, True]
    emitted = simulation.state.system_arrays["fluid/births"].max()
    assert emitted > 300
    assert simulation.sunk(sink) == emitted - out.sum() + 1  # and one of the drop
    assert simulation.positions(handle)[out][:, 1].min() > 0.5
    mass = (out.sum() + 1) * 1000 * S**3
    assert abs(simulation.momentum()[1]) < mass * 15
    assert (simulation.velocities(handle)[~out] == 0.0).all()


def sloshing() -> tuple[sn.Scene, object, object]:
    scene, handle = faucet(limit=200, recycle=True, radius=1.5 * S)
    scene.add_collider(sn.Box((0.16, 1.0, 0.16), inside=True), position=(0.0, 0.8, 0.0))
    sink = scene.add_sink(sn.Sphere(0.04), position=(0.05, 0.35, 0.0))
    return scene, handle, sink


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_state_goes_on_with_the_same_bits(precision: str, tmp_path: object) -> None:
    runs = []
    for threads in (1, 2):
        scene, _, sink = sloshing()
        simulation = sn.Simulation(scene, substeps=2, precision=precision, threads=threads)
        simulation.step(60)
        runs.append(simulation.state.copy())
        sunk = simulation.sunk(sink)
        simulation.step(30)
        after = simulation.state.copy()
        assert simulation.sunk(sink) > sunk > 0
        other = sn.Simulation(scene, substeps=2, precision=precision, threads=3 - threads)
        other.restore(runs[-1])
        other.step(30)
        assert other.state == after
    assert runs[0] == runs[1]


def test_what_waits_in_a_state_that_is_restored_has_its_mass() -> None:
    scene, handle = faucet()
    simulation = sn.Simulation(scene, substeps=2)
    simulation.step(3)
    kept = simulation.state.copy()
    simulation.step(3)
    simulation.restore(kept)
    assert not simulation.active(handle).all()
    assert (simulation.model.masses > 0.0).all()


def test_a_checkpoint_goes_on_with_the_same_bits(tmp_path) -> None:
    pytest.importorskip("h5py")
    scene, _, sink = sloshing()
    simulation = sn.Simulation(scene, substeps=2)
    simulation.step(60)
    simulation.save(tmp_path / "faucet.h5")
    loaded = sn.Simulation.load(tmp_path / "faucet.h5")
    simulation.step(20)
    loaded.step(20)
    assert loaded.state == simulation.state
    assert loaded.sunk(sink.name) == simulation.sunk(sink)


def test_a_step_that_fails_takes_nothing_with_it() -> None:
    def sway(time: float) -> tuple:
        return (0.0, -1.0, 0.0) if time < 0.3 else (0.0, math.nan, 0.0)

    scene, _, _ = sloshing()
    scene.add_collider(sn.Sphere(0.1), position=(0.0, -1.0, 0.0), motion=sway)
    simulation = sn.Simulation(scene, substeps=2)
    for _ in range(40):
        before = simulation.state.copy()
        try:
            simulation.step()
        except sn.SceneError:
            break
    else:
        pytest.fail("the motion should have failed")
    state = simulation.state
    assert np.array_equal(state.positions, before.positions)
    assert np.array_equal(state.velocities, before.velocities)
    assert np.array_equal(state.x[:, 3], before.x[:, 3])
    assert all(np.array_equal(values, before.system_arrays[name]) for name, values in state.system_arrays.items())


def test_a_nozzle_inside_a_solid_is_refused() -> None:
    scene, _ = faucet(name="tap")
    scene.add_collider(sn.Box((1.0, 0.5, 1.0)), position=(0.0, 0.9, 0.0), name="block")
    with pytest.raises(sn.SceneError, match=r"emitter 'tap': position: its nozzle is 0.15 m inside 'block'"):
        sn.Simulation(scene)
    scene, _ = faucet(name="tap")
    scene.add_rigid_body(sn.Sphere(0.5), position=(0.0, 1.2, 0.0), name="ball")
    with pytest.raises(sn.SceneError, match=r"emitter 'tap': position: its nozzle is 0.3 m inside 'ball'"):
        sn.Simulation(scene)
    scene, _ = faucet(name="tap", radius=None, size=(2 * S, 2 * S))
    scene.add_collider(sn.Plane((1.0, 0.0, 0.0), -0.8 * S), name="wall")
    with pytest.warns(sn.ContactWarning, match="'tap' starts inside collider 'wall': 2 particles"):
        sn.Simulation(scene)
    # in the middle of a container, and with its particles half a spacing off the wall, it is in none
    scene, _ = faucet(radius=None, size=(2 * S, 2 * S), position=(0.0, 1.0, 0.0))
    scene.add_collider(sn.Box((2 * S, 1.0, 2 * S), inside=True), position=(0.0, 1.0, 0.0))
    sn.Simulation(scene)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"limit": 0}, "emitter 'emitter': limit: must be at least 1, got 0"),
        ({"limit": 3}, r"emitter 'emitter': limit: 3 are fewer than the 1\d particles of one layer"),
        ({"limit": 2.5}, "limit: expected a whole number"),
        ({"radius": None}, "radius: give either radius or size"),
        ({"size": (1.0, 1.0)}, "radius: give either radius or size"),
        ({"radius": 0.2 * S}, "radius: the nozzle is narrower than one spacing, 0.02 m"),
        ({"radius": None, "size": (0.1, 0.1 * S)}, "size: the nozzle is narrower than one spacing"),
        ({"speed": None}, "speed: give either speed or rate"),
        ({"rate": 1.0}, "speed: give either speed or rate"),
        ({"speed": 0.0}, "speed: must be above 0, got 0"),
        ({"speed": math.nan}, "speed: expected a finite number"),
        ({"direction": (0, 0, 0)}, "direction: must not be zero"),
        ({"direction": (0, 0, 1), "dimensions": 2}, "direction: leaves the plane"),
        ({"start": -1.0}, "start: must be at least 0, got -1"),
        ({"start": 1.0, "stop": 1.0}, "stop: must be above 1, got 1"),
        ({"recycle": "yes"}, "recycle: expected one of"),
        ({"motion": 3.0}, "motion: expected a function"),
        ({"spacing": None}, "spacing: give it, or the fluid that is to flow"),
        ({"spacing": -1.0}, "spacing: must be above 0"),
        ({"material": 3}, "material: expected a FluidMaterial"),
        ({"fluid": "tank"}, "spacing: is that of the fluid; give one of both"),
        ({"fluid": "rope", "spacing": None}, "fluid: expected a fluid of this scene"),
    ],
)
def test_bad_emitters_are_refused(changes: dict, text: str) -> None:
    scene = sn.Scene()
    scene.add_fluid(np.zeros((1, 3)), spacing=S, name="tank")
    scene.add_rope(np.eye(3), name="rope")
    given = {"limit": 100, "radius": 2.0 * S, "speed": 1.0, "spacing": S} | changes
    with pytest.raises(sn.SceneError, match=text):
        scene.add_emitter(**given)


def test_bad_sinks_are_refused() -> None:
    scene, handle = faucet()
    with pytest.raises(sn.SceneError, match="sink 'sink': shape: expected a shape"):
        scene.add_sink(3)
    with pytest.raises(sn.SceneError, match="sink 'sink': position: expected"):
        scene.add_sink(sn.Sphere(1.0), position=3)
    with pytest.raises(sn.SceneError, match="sunk: sink: expected a sink"):
        sn.Simulation(scene, substeps=1).sunk(handle)


def test_what_flows_is_the_fluid_given() -> None:
    scene = sn.Scene()
    material = sn.FluidMaterial(rest_density=800.0)
    tank = scene.add_fluid(np.zeros((1, 3)), spacing=S, material=material, support=2.2, kernel="cubic-spline")
    scene.add_emitter(tank, limit=50, radius=S, speed=1.0, position=(0, 1, 0))
    assert scene.particle_objects[1].material is material
    assert scene.particle_objects[1].sampling == scene.particle_objects[0].sampling
    assert np.allclose(scene.particle_objects[1].masses, 800.0 * S**3)


def test_what_flows_cannot_be_held() -> None:
    scene, handle = faucet(name="tap")
    handle.pin([3])
    with pytest.raises(
        sn.SceneError, match="emitter 'tap': particle 3 is pinned; particles of emitters and sinks cannot be fixed"
    ):
        sn.Simulation(scene)
    scene, _ = faucet(name="tap")
    scene.add_constraint("distance", [[7, 8]])
    with pytest.raises(sn.SceneError, match="emitter 'tap': particle 7 is in a row of type 'distance'"):
        sn.Simulation(scene)
    scene, handle = faucet(name="tap")
    body = scene.add_rigid_body(sn.Sphere(0.1), name="ball")
    scene.attach((handle, 2), (body, (0.0, 0.1, 0.0)))
    with pytest.raises(sn.SceneError, match="emitter 'tap': particle 2 is attached to 'ball'"):
        sn.Simulation(scene)


def test_a_faucet_fills_a_container_to_the_level_of_what_left() -> None:
    scene = sn.Scene()
    s = 0.025
    scene.add_collider(sn.Box((6 * s, 1.0, 6 * s), inside=True), position=(0.0, 0.5, 0.0), friction=0.0)
    tap = scene.add_emitter(
        limit=400, size=(3 * s, 3 * s), position=(0.0, 0.4, 0.0), speed=1.0, stop=0.7, spacing=s,
        material=sn.FluidMaterial(xsph=0.1),
    )  # fmt: skip
    simulation = sn.Simulation(scene, substeps=8)
    simulation.step(150)
    there = simulation.active(tap)
    assert there.sum() == 9 * 29
    x = simulation.positions(tap)[there]
    level = there.sum() * s / 36
    assert abs(2.0 * x[:, 1].mean() / level - 1.0) < 0.1
    assert x[:, 1].max() < level + s
    assert abs(simulation.densities(tap)[there].max() / 1000.0 - 1.0) < 0.1
