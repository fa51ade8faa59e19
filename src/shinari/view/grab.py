"""Panel: take hold of objects with the mouse, and pin them.

A press on an object takes the particle that is nearest to the mouse and draws it, as a spring, to where the mouse is in
the plane through it that faces the camera; a pinned one goes there itself. The ball that marks a pin is taken as well:
at the edge of a sheet the mouse may meet nothing else. A rigid body is held at the place that was pressed. Let go,
objects keep their velocity. Each client drags for itself; one that leaves lets go.
"""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import numpy as np

from shinari.api.simulation import Simulation
from shinari.check import short
from shinari.errors import SceneError
from shinari.geometry.motion import rotation_matrix
from shinari.io.results import Frame
from shinari.scene.handle import BodyHandle, Handle
from shinari.systems.grabs.queries import Grab
from shinari.view.hulls import Hulls
from shinari.view.live_player import Runner
from shinari.view.page import Page
from shinari.view.picking import hit_point, nearest_particle
from shinari.view.pin_marks import PinMarks
from shinari.view.stage import THIN, Node, Stage

MODES = ("grab", "pin")
FREQUENCY = 100.0
"""Angular frequency of the spring with what it draws [1/s]: an object hangs g / FREQUENCY^2 = 1 mm below the mouse."""
STRENGTH = 500.0
"""Largest force for each kilogram of what is drawn [N/kg]: fifty times its weight. It does not tear what is taut."""
PERIOD = 0.05
"""Time between two messages of a mouse that moves [s]: viser sends twenty a second."""
LOOSE = ("particles", "grains", "fluid")
"""Kinds of objects of which one particle is drawn, not the whole."""
MARKER = 0.012
"""Radius of the markers, as a part of the size of the scene."""
GRAB_COLOR = (250, 190, 40)

Taken = tuple[Handle | BodyHandle, int | None]
"""A object and a particle of it, or a body and None."""
Take = Callable[[Any, Frame], Taken]
"""What an event of the mouse meets in a frame."""


def add_grab(page: Page) -> None:
    """Add the panel to a page."""
    Hands(page)


class Hands:
    """What the mice of all clients hold, and the markers of that and of the pins."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._drags: dict[int, Drag] = {}
        # markers are moved in the thread of the page and taken away in that of the server
        self._lock = threading.Lock()
        self._pins = PinMarks(page.server.scene, self._listen_to_pins)
        self._stage: Stage | None = None
        self._hulls: Hulls | None = None
        self._mode: Any = page.server.gui.add_dropdown(
            "mouse",
            MODES,
            hint="grab: drag an object with the left button. pin: a click on it pins or unpins the point; in either "
            "mode shift and a click do that, too",
        )
        self._changed()
        page.on_change(self._changed)
        page.on_frame(self._draw)
        page.on_status(self._follow)

    def _changed(self) -> None:
        """Another scene, or the same from its start."""
        page = self._page
        self._mode.visible = isinstance(page.runner, Runner)
        if page.stage is not self._stage:
            self._stage = page.stage
            for client in list(self._drags):
                self._let_go(client)
            self._pins.forget()
            if self._hulls is not None:
                self._hulls.remove()
            self._hulls = Hulls(page.server.scene, page.layout, THIN * page.stage.size)
            if isinstance(page.runner, Runner):
                page.stage.on_node(self._listen)
        if isinstance(page.runner, Runner):
            page.runner.do(self._pins.look)

    def _listen(self, node: Node) -> None:
        """Let a node be dragged and clicked; of discs a hull around them, and only dragged."""
        handle, layout = node.handle, self._page.layout
        # of a coloured surface the mesh is taken, which stays there while assets come and go
        coloured = hasattr(handle, "glb_data")
        if coloured or (node.part is None and not self._rigid(node)):
            return

        def dragged(event: Any, frame: Frame) -> Taken:
            return self._held(node, frame, np.array(event.start_position), event.instance_index)

        def seen(event: Any, frame: Frame, origin: Any, direction: Any) -> Taken:
            if node.part is None:
                return self._body(node, event.instance_index), None
            place = hit_point(layout, frame, node.part, np.array(origin), np.array(direction))
            return self._held(node, frame, place, None)

        def clicked(event: Any, frame: Frame) -> Taken:
            return seen(event, frame, event.ray_origin, event.ray_direction)

        def beyond(event: Any, frame: Frame) -> Taken:
            eye = event.client.camera.position
            return seen(event, frame, eye, np.array(event.start_position) - eye)

        if not hasattr(handle, "on_drag"):
            frame = self._page.runner.latest()
            assert self._hulls is not None
            assert node.part is not None
            assert frame is not None
            self._hear_drags(self._hulls.add(node.part, frame), beyond, keeps=True)
            return
        hidden = node.part is not None and layout.parts[node.part].start >= layout.particle_count
        self._hear_drags(handle, dragged, keeps=hidden)
        self._hear_clicks(handle, clicked)

    def _listen_to_pins(self, handle: Any, pinned: np.ndarray) -> None:
        """Let the markers of pins be dragged and clicked."""

        def marked(event: Any, frame: Frame) -> Taken:
            return self._particle(int(pinned[checked(event.instance_index, len(pinned))]))

        self._hear_drags(handle, marked, keeps=True)
        self._hear_clicks(handle, marked)

    def _hear_drags(self, handle: Any, dragged: Take, *, keeps: bool) -> None:
        """Let a node be dragged, with what says which object the mouse meets."""

        @handle.on_drag("left")
        async def _(event: Any) -> None:
            self._drag(dragged, keeps, event)

    def _hear_clicks(self, handle: Any, clicked: Take) -> None:
        """Let a node be clicked, with what says which object the mouse meets."""

        @handle.on_click
        async def _(event: Any) -> None:
            if self._mode.value == "pin":
                self._toggle(clicked, event)

        @handle.on_click(modifier="shift")
        async def _(event: Any) -> None:
            self._toggle(clicked, event)

    def _rigid(self, node: Node) -> bool:
        return bool(node.bodies) and all(self._page.layout.bodies[k].rigid for k in node.bodies)

    def _drag(self, take: Take, keeps: bool, event: Any) -> None:
        """A press that moves, the way of the mouse, and its end."""
        if event.phase == "start":
            self._let_go(event.client_id)
            runner, frame = self._page.runner, self._page.runner.latest()
            if not isinstance(runner, Runner) or frame is None:
                return
            taken = self._taken(take, event, frame)
            if taken is None:
                return
            held, index = taken
            drag = Drag(runner, held, index, frame, np.array(event.start_position), keeps, self._tell(event))
            with self._lock:
                drag.mark(self._page.server.scene, f"/held by {event.client_id}", MARKER * self._page.stage.size)
                self._drags[event.client_id] = drag
        if event.client_id in self._drags:
            self._drags[event.client_id].move(np.array(event.end_position))
        if event.phase == "end":
            self._let_go(event.client_id)

    def _let_go(self, client: int) -> None:
        """Let go of what a client holds, if it does."""
        with self._lock:
            drag = self._drags.pop(client, None)
            if drag is not None:
                drag.end()

    def _toggle(self, take: Take, event: Any) -> None:
        """Pin the particle under the mouse, or let it go."""
        runner, frame, tell = self._page.runner, self._page.runner.latest(), self._tell(event)
        if not isinstance(runner, Runner) or frame is None:
            return
        taken = self._taken(take, event, frame)
        if taken is None:
            return
        held, index = taken
        if isinstance(held, BodyHandle) or index is None:
            tell(SceneError("a rigid body cannot be pinned"))
            return

        def change(simulation: Simulation) -> None:
            (simulation.unpin if index in simulation.pinned(held) else simulation.pin)(held, index)
            self._pins.look(simulation)

        tell_failure(runner.do(change), tell)

    def _taken(self, take: Take, event: Any, frame: Frame) -> Taken | None:
        """What an event meets; None, and its client is told, when there is no such object any more."""
        try:
            return take(event, frame)
        except Exception as error:
            self._tell(event)(error)
            return None

    def _held(self, node: Node, frame: Frame, point: np.ndarray, instance: int | None) -> Taken:
        """What a node draws, and the particle of it that is nearest to a point; None of a body."""
        if node.part is None:
            return self._body(node, instance), None
        scene, layout = self._page.simulation_scene, self._page.layout
        assert scene is not None
        part = layout.parts[node.part]
        held = scene[part.name]
        assert isinstance(held, Handle)
        there = frame.drawn[layout.varying[part.name]] if part.kind == "points" and part.varies else None
        return held, nearest_particle(frame, held.particles, point, there)

    def _body(self, node: Node, instance: int | None) -> BodyHandle:
        """The body that an instance of a node draws."""
        scene, number = self._page.simulation_scene, node.bodies[checked(instance or 0, len(node.bodies))]
        assert scene is not None
        return next(h for h in scene.handles.values() if isinstance(h, BodyHandle) and h.index == number)

    def _particle(self, number: int) -> Taken:
        """The object that a particle of the scene belongs to, and its index there."""
        scene = self._page.simulation_scene
        assert scene is not None
        held = next(h for h in scene.handles.values() if isinstance(h, Handle) and number in h.particles)
        return held, number - held.particles.start

    def _tell(self, event: Any) -> Any:
        """Something that shows an error to the client of an event."""

        def tell(error: BaseException) -> None:
            event.client.add_notification("That cannot be held", str(error), color="red", auto_close_seconds=6.0)

        return tell

    def _follow(self) -> None:
        """Move the hulls to where objects are, less often than frames come."""
        frame = self._page.runner.latest()
        if self._hulls is not None and frame is not None:
            with self._page.server.atomic():
                self._hulls.follow(frame)

    def _draw(self, frame: Frame) -> None:
        """Move the markers to where objects are in a frame."""
        with self._lock:
            for drag in self._drags.values():
                drag.draw(frame)
        self._pins.draw(frame, MARKER * self._page.stage.size)


class Drag:
    """One object in the hand of one client.

    Args:
        runner: What runs the simulation.
        held: What is held.
        index: The particle of it, or None of a body.
        frame: What was seen when it was pressed.
        point: Where it was pressed [m], (3,).
        keeps: Whether it stays as far from the mouse as it was: the mouse met something in its place.
        tell: Shows an error to the client.
    """

    def __init__(
        self,
        runner: Runner,
        held: Handle | BodyHandle,
        index: int | None,
        frame: Frame,
        point: np.ndarray,
        keeps: bool,
        tell: Any,
    ) -> None:
        self._runner, self._held, self._index, self._point = runner, held, index, point
        self._local = np.zeros(3)
        self._grab: Grab | None = None
        self._marks: list[Any] = []
        if isinstance(held, BodyHandle):
            turn = rotation_matrix(frame.body_rotations[held.index])
            self._local = (point - frame.body_positions[held.index]) @ turn
        # a particle under a surface that is shown in its place, or a pin under its marker
        self._offset = self.place(frame) - point if keeps else np.zeros(3)
        self._target = point + self._offset
        tell_failure(runner.do(self._hold), tell)

    def place(self, frame: Frame) -> np.ndarray:
        """Where what is held is in a frame [m], (3,)."""
        held = self._held
        if isinstance(held, BodyHandle):
            return frame.body_positions[held.index] + rotation_matrix(frame.body_rotations[held.index]) @ self._local
        return np.asarray(frame.positions[held.particles[self._index or 0]], np.float64)

    def move(self, point: np.ndarray) -> None:
        """The mouse is at a point [m], (3,)."""
        self._target = point + self._offset
        self._runner.do(self._follow)

    def end(self) -> None:
        """Let go."""
        self._runner.do(self._release)
        for mark in self._marks:
            mark.remove()
        self._marks = []

    def mark(self, scene: Any, name: str, radius: float) -> None:
        """Add a ball where it is held, and a line to where it is drawn."""
        at = tuple(self._target)
        ball = scene.add_icosphere(f"{name}", radius, GRAB_COLOR, subdivisions=2, position=at, cast_shadow=False)
        line = scene.add_line_segments(f"{name} line", np.array([[at, at]]), GRAB_COLOR, thickness=0.4 * radius)
        self._marks = [ball, line]

    def draw(self, frame: Frame) -> None:
        """Move the markers to where they are in a frame."""
        if self._marks:
            place = self.place(frame)
            self._marks[0].position = place
            self._marks[1].points = np.array([[place, self._target]])

    def _hold(self, simulation: Simulation) -> None:
        held, index = self._held, self._index
        if isinstance(held, BodyHandle):
            mass = simulation.scene.bodies[held.index].mass
            position, rotation = simulation.pose(held)
            point = position + rotation_matrix(rotation) @ self._local
            self._grab = simulation.grab(held, point=point, **spring(mass))
        elif index not in simulation.pinned(held):
            group = next(group for group in simulation.scene.particle_objects if group.name == held.name)
            mass = float(group.masses[index] if group.kind in LOOSE else group.masses.sum())
            self._grab = simulation.grab(held, index, **spring(mass))

    def _follow(self, simulation: Simulation) -> None:
        if self._grab is not None:
            self._grab.target = self._target
        elif isinstance(self._held, Handle) and self._index in simulation.pinned(self._held):
            simulation.positions(self._held)[self._index] = self._target

    def _release(self, simulation: Simulation) -> None:
        if self._grab is not None:
            self._grab.release()


def spring(mass: float) -> dict[str, Any]:
    """How a mass [kg] is held: it would swing at `FREQUENCY`, and is damped so that it does not."""
    return {
        "compliance": 1.0 / (mass * FREQUENCY**2),
        "damping": 2.0 * mass * FREQUENCY,
        "max_force": mass * STRENGTH,
        "glide": PERIOD,
    }


def checked(index: int | None, count: int) -> int:
    """The index of an instance that a client has sent.

    Raises:
        SceneError: There are not so many.
    """
    if index is None or not 0 <= index < count:
        raise SceneError(f"viewer: instance: expected 0 to {count - 1}, got {short(index)}")
    return index


def tell_failure(future: Future, tell: Any) -> None:
    """Call a function with the error of something that was queued, if it ends in one."""

    def look(done: Future) -> None:
        if not done.cancelled() and done.exception() is not None:
            tell(done.exception())

    future.add_done_callback(look)
