"""What is under the mouse, and what the hands of several clients do to a simulation; without a browser."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import shinari as sn
from browser_help import PATIENCE, until
from shinari.io.frames import frame_of, layout_of
from shinari.io.results import DrawnPart, Frame, Layout
from shinari.view.picking import hit_point, nearest_particle


def seen(parts: tuple[DrawnPart, ...], points: np.ndarray, drawn: tuple[bool, ...] = ()) -> tuple[Layout, Frame]:
    none = np.zeros((0, 3))
    frame = Frame(0.0, points, 0.0 * points, none, np.zeros((0, 4)), none, none, np.array(drawn, bool))
    return Layout(parts, (), len(points), 60.0), frame


def test_a_ray_meets_the_sheet_in_front() -> None:
    """Two squares one behind the other: it is that in front, at the place of the ray, unless it has torn there."""
    square = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], float)
    points = np.concatenate([square, square - (0, 0, 2)])
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    layout, frame = seen((DrawnPart("sheets", "mesh", 0, 8, faces, varies=True),), points, (True,) * 4)
    eye, target = np.array((0.3, 0.4, 5.0)), np.array((0.7, 0.6, 0.0))
    hit = hit_point(layout, frame, 0, eye, 3.0 * (target - eye))
    assert hit == pytest.approx(target, abs=1e-12)
    assert nearest_particle(frame, range(8), hit) == 2
    assert nearest_particle(frame, range(4, 8), hit) == 2
    _, torn = seen(layout.parts, points, (False, True, True, True))
    assert hit_point(layout, torn, 0, eye, target - eye)[2] == pytest.approx(-2.0)
    # past the edge, and away from the eye: the nearest corner
    assert hit_point(layout, frame, 0, np.array((1.2, 1.1, 5.0)), np.array((0.0, 0.0, -1.0))) == pytest.approx(
        (1, 1, 0)
    )


def test_of_points_that_are_nearly_hit_the_one_in_front() -> None:
    points = np.array([(0.0, 0.01, 0.0), (0.0, 0.0, 1.0), (0.5, 0.0, 2.0)])
    layout, frame = seen((DrawnPart("balls", "points", 0, 3, radius=0.05),), points)
    eye, ahead = np.array((0.0, 0.005, 4.0)), np.array((0.0, 0.0, -1.0))
    assert hit_point(layout, frame, 0, eye, ahead) == pytest.approx(points[1])
    assert nearest_particle(frame, range(3), points[1]) == 1
    assert nearest_particle(frame, range(3), points[1], np.array([True, False, True])) == 0


def test_what_is_not_there_is_not_hit() -> None:
    points = np.array([(0.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.5, 0.0, 2.0)])
    layout, frame = seen((DrawnPart("water", "points", 0, 3, radius=0.05, varies=True),), points, (True, False, True))
    assert hit_point(layout, frame, 0, np.array((0.0, 0.0, 4.0)), np.array((0.0, 0.0, -1.0))) == pytest.approx(
        points[0]
    )


def scene() -> sn.Scene:
    made = sn.Scene()
    cloth = made.add_cloth(sn.grid(shape=(8, 8)), position=(0, 1, 0), name="cloth")
    cloth.pin([0, 7])
    made.add_rope(np.linspace((2, 1, 0), (2, 0.5, 0), 6), material=sn.RopeMaterial(tethers=True), name="rope").pin([0])
    return made


@pytest.fixture
def page() -> Iterator[Any]:
    pytest.importorskip("viser", reason="viser is not installed")
    from shinari.view.server import serve
    from shinari.view.sources import simulation_source

    source = simulation_source(lambda: (scene(), {"substeps": 4}), "a cloth", playing=False)
    made = serve({"one": source, "other": source}, "one", port=0)
    yield made
    made.close()


def finish(work: Any) -> None:
    """Run a coroutine, in another thread: a browser that a test before has left may have a loop in this one."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(asyncio.run, work).result(PATIENCE)


class Mouse:
    """What viser would tell of the mouse of a client over an object."""

    def __init__(self, page: Any, client: int, thing: Any) -> None:
        """Over a part, by its index, or a node of viser."""
        self.page, self.client = page, client
        parts = {node.part: node.handle for node in page.stage.nodes}
        self.handle = parts[thing] if isinstance(thing, int) else thing
        self.told: list[str] = []
        who = SimpleNamespace(add_notification=lambda title, text, **options: self.told.append(text))
        self.about = {"client": who, "client_id": client, "instance_index": None}
        self.pressed = np.zeros(3)
        # viser keeps them for a drag that is under way when its node is taken away
        (self.callback,) = (entry.callback for entry in self.handle._impl.drag_cb)

    def drag(self, phase: str, at: Any) -> None:
        if phase == "start":
            self.pressed = np.array(at, float)
        about = {"phase": phase, "start_position": tuple(self.pressed), "end_position": tuple(np.array(at, float))}
        finish(self.callback(SimpleNamespace(**self.about, **about)))

    def click(self, at: Any) -> None:
        """With shift, from above."""
        entry = next(entry for entry in self.handle._impl.click_cb if entry.modifier == "shift")
        ray = {"ray_origin": tuple(np.add(at, (0, 5, 0))), "ray_direction": (0.0, -1.0, 0.0)}
        finish(entry.callback(SimpleNamespace(**self.about, **ray)))


def asked(page: Any, question: Any) -> Any:
    return page.runner.do(question).result(PATIENCE)


def test_clients_drag_each_for_himself(page: Any) -> None:
    one, other = Mouse(page, 1, 0), Mouse(page, 2, 1)
    start = asked(page, lambda sim: sim.state.positions.copy())
    one.drag("start", start[63] + (0.01, 0.0, 0.0))
    other.drag("start", start[69])
    one.drag("update", start[63] + (0.0, 0.2, -0.2))
    held = asked(page, lambda sim: {grab.object_name: grab for grab in sim._grabs})
    assert {name: grab.index for name, grab in held.items()} == {"cloth": 63, "rope": 5}
    assert held["cloth"].target == pytest.approx(start[63] + (0.0, 0.2, -0.2), abs=1e-6)
    for _ in range(30):
        page.runner.step().result(PATIENCE)
    assert asked(page, lambda sim: sim.positions("cloth")[63]) == pytest.approx(start[63] + (0, 0.2, -0.2), abs=0.02)
    until(lambda: page.runner.latest().time == asked(page, lambda sim: sim.time), "the last step is in the picture")
    # a second press without the end of the first, and the end
    one.drag("start", asked(page, lambda sim: sim.positions("cloth")[9].copy()))
    assert sorted(grab.index for grab in asked(page, lambda sim: list(sim._grabs))) == [5, 9]
    one.drag("end", start[63])
    one.drag("update", start[63])
    assert [grab.object_name for grab in asked(page, lambda sim: list(sim._grabs))] == ["rope"]
    # another scene: what was held is let go, and what its mouse still says is nothing to the new one
    page.choose("other").result(PATIENCE)
    other.drag("update", start[69])
    other.drag("end", start[69])
    assert asked(page, lambda sim: list(sim._grabs)) == []
    assert not one.told
    assert not other.told
    assert page.problem == ""


def test_pins_by_clicks(page: Any) -> None:
    mouse, rope = Mouse(page, 1, 0), Mouse(page, 1, 1)
    place = asked(page, lambda sim: sim.positions("cloth")[27].copy())
    higher = np.add(place, (0.0, 0.1, 0.0))
    mouse.click(place)
    assert asked(page, lambda sim: sim.pinned("cloth").tolist()) == [0, 7, 27]
    # a pin is dragged itself
    mouse.drag("start", place)
    mouse.drag("update", higher)
    page.runner.step().result(PATIENCE)
    assert asked(page, lambda sim: sim.positions("cloth")[27]) == pytest.approx(higher, abs=1e-6)
    mouse.drag("end", higher)
    mouse.click(higher)
    assert asked(page, lambda sim: sim.pinned("cloth").tolist()) == [0, 7]
    rope.click(asked(page, lambda sim: sim.positions("rope")[3].copy()))
    asked(page, lambda sim: None)
    assert "tethers" in rope.told[0]


def test_what_is_coloured_can_be_held(page: Any) -> None:
    """A browser ends the drag of what is hidden: the mesh stays there, transparent, while coloured ones come and go."""
    from shinari.view.colours import Colouring

    cloth = next(node.handle for node in page.stage.nodes if node.part == 0)
    page.colouring = Colouring(page.layout, "speed")

    def coloured() -> list:
        return [node.handle for node in page.stage.nodes if hasattr(node.handle, "glb_data")]

    for count in (1, 2):
        page.runner.step().result(PATIENCE)
        until(lambda count=count: len(coloured()) >= count, "the coloured surface is there")
    assert not any(handle._impl.drag_cb or handle._impl.click_cb for handle in coloured())
    until(lambda: cloth.opacity == 0.0, "the coloured surface is seen")
    assert cloth.visible
    page.colouring = None
    until(lambda: cloth.opacity is None, "the mesh is seen again")


def test_one_of_many_discs_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """A browser tells nothing of the mouse on discs; a hull that is not seen is taken, and follows them."""
    pytest.importorskip("viser", reason="viser is not installed")
    from shinari.view import drawings
    from shinari.view.server import serve
    from shinari.view.sources import simulation_source

    monkeypatch.setattr(drawings, "MOST_SPHERES", 20)
    places = np.stack(np.meshgrid(*[0.1 * np.arange(3)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    made = sn.Scene()
    made.add_particles(places, radius=0.04, name="dots")
    page = serve({"dots": simulation_source(lambda: (made, {}), "dots", playing=False)}, "dots", port=0)
    try:
        assert not hasattr(page.stage.nodes[0].handle, "on_drag")
        hull = page.server.scene.get_handle_by_name("/hull 0")
        assert hull is not None
        mouse = Mouse(page, 1, hull)
        # seen from the front right: the ray goes on from the hull to the particle behind that place
        eye = places[-1] + (0.5, 0.5, 2.0)
        mouse.about["client"].camera = SimpleNamespace(position=eye)
        pressed = places[-1] + 0.05 * (eye - places[-1])
        mouse.drag("start", pressed)
        mouse.drag("update", np.add(pressed, (0.0, 0.3, 0.0)))
        (grab,) = asked(page, lambda sim: list(sim._grabs))
        assert grab.index == len(places) - 1
        assert grab.target == pytest.approx(places[-1] + (0.0, 0.3, 0.0), abs=1e-6)
        mouse.drag("end", pressed)
        assert asked(page, lambda sim: list(sim._grabs)) == []

        def lift(sim: sn.Simulation) -> None:
            sim.state.positions[:] += (0.0, 7.0, 0.0)

        asked(page, lift)
        until(lambda: hull.vertices[:, 1].min() > 6.8, "the hull has followed")
        assert page.problem == ""
    finally:
        page.close()


def test_a_body_is_held_where_it_is_pressed() -> None:
    """The place on it, in its own axes, from the picture in which it was pressed."""
    from shinari.view.grab import Drag

    made = sn.Scene(gravity=(0, 0, 0), damping=10.0)
    body = made.add_rigid_body(sn.Box((0.4, 0.2, 0.2)), position=(1, 2, 3), rotation=(0.8, 0.0, 0.6, 0.0), name="box")
    simulation = sn.Simulation(made, substeps=4)
    tasks: list[Any] = []
    runner: Any = SimpleNamespace(do=lambda task: (tasks.append(task), SimpleNamespace(add_done_callback=print))[1])
    corner, way = np.array((1.1, 2.1, 3.05)), np.array((0.0, 0.3, 0.0))
    drag = Drag(runner, body, None, frame_of(simulation), corner, False, print)
    assert drag.place(frame_of(simulation)) == pytest.approx(corner)
    drag.move(corner + way)
    for task in tasks:
        task(simulation)
    (grab,) = simulation._grabs
    assert grab.target == pytest.approx(corner + way)
    simulation.step(60)
    assert drag.place(frame_of(simulation)) == pytest.approx(corner + way, abs=1e-3)
    assert layout_of(made, 60.0).bodies[0].name == grab.object_name
    drag.end()
    tasks[-1](simulation)
    assert not simulation._grabs
