"""Many worlds: copies of one scene with parameters, states and controls of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn

import numpy as np

from shinari import check
from shinari.api.changes import changed_material, checked_world
from shinari.api.scene import Scene
from shinari.api.simulation import Simulation
from shinari.api.vary import Variation
from shinari.api.world_states import WorldStates
from shinari.attributes import OwnAttributes
from shinari.compute.threads import processors
from shinari.errors import DivergenceError, MemoryLimitError, SceneError
from shinari.memory_limit import require_memory, resident_memory
from shinari.model.settings import Settings
from shinari.model.state import State
from shinari.scene.handle import Handle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.tendon import TendonHandle
from shinari.solver.build import build_model
from shinari.solver.device_state import for_device
from shinari.solver.diagnostics import Energy
from shinari.solver.rebuild import RowTable
from shinari.solver.snapshot import Snapshots
from shinari.solver.stepping import Stepping
from shinari.solver.world import Progress, World
from shinari.solver.worlds import Errors, WorldSteps
from shinari.systems.rigid.joints.driving import wanted_drive

_BODIES = ("positions", "rotations", "velocities", "angular_velocities")
ON_DIVERGENCE = ("raise", "hold")
# Worlds that a message tells of.
TOLD = 3
# Worlds before the first look at what they take, and memory that is taken once, by kernels that are loaded [bytes].
LOOKED = 16
ONCE = 1 << 25


class Worlds(OwnAttributes):
    """Many copies of a scene, each with parameters, a state and controls of its own.

    A world has the same bits as a `Simulation` of its scene, whatever the others do. Each takes its steps on one
    thread, several at once.

    Args:
        scene: The scene of which the worlds are copies.
        count: Worlds.
        vary: What differs from the start: values for all worlds, (W, ...), by the path of a parameter. Paths are
            `"gravity"` and `"wind"`, (W, 3), and `"damping"`, (W,); the name of an object and a field of its material
            that can change, `"flag.stretch_compliance"`; `mass` of a body or object [kg]; `position`, `rotation`,
            `motion`, `friction` or `restitution` of a collider.
        threads: Threads to use; None: all processors. Results do not depend on it.
        on_divergence: `"raise"`: a world that leaves the finite numbers ends `step` in a `DivergenceError`, when the
            others have taken their steps. `"hold"`: no error. In both cases it stands still in its last good state,
            and `diverged` tells, until it is reset.
        **settings: Settings of the simulations, such as `dt` and `substeps`; see `Simulation`.

    Raises:
        SceneError: A setting, a path or a value is unusable; the message names it.
        MemoryLimitError: So many worlds need more memory than there is.

    Warns:
        ContactWarning: Objects overlap at the start.
    """

    _label = "worlds"

    def __init__(
        self,
        scene: Scene,
        count: int,
        *,
        vary: Mapping[str, Any] | None = None,
        threads: int | None = None,
        on_divergence: str = "raise",
        **settings: Any,
    ) -> None:
        check.kind("worlds", "scene", scene, Scene)
        self._scene, count = scene, check.count("worlds", "count", count)
        self._settings = _settings(settings)
        self._threads = processors() if threads is None else check.count("worlds", "threads", threads)
        self._holds = check.choice("worlds", "on_divergence", on_divergence, ON_DIVERGENCE) == "hold"
        variation = Variation(scene, count, vary)
        model = build_model(scene, self._settings)
        for system in model.systems:
            system.warn(scene, model)
        rows = RowTable(scene) if variation else None
        size = 6 * model.particle_count * np.dtype(model.real).itemsize + 13 * len(scene.bodies) * 8
        require_memory(count * size, f"worlds: count: {count} worlds")
        shown = {
            "positions": np.zeros((count, model.particle_count, 3), model.real),
            "velocities": np.zeros((count, model.particle_count, 3), model.real),
        }
        widths = (3, 4, 3, 3)
        for name, width in zip(_BODIES, widths, strict=True):
            shown[f"parts/bodies/{name}"] = np.zeros((count, len(scene.bodies), width))
        device = for_device(self._settings.device)
        self._state = WorldStates(shown, device)
        if not scene.bodies:
            shown = {name: shown[name] for name in ("positions", "velocities")}
        progress = Progress.zeros(count)
        self._stepping = Stepping()
        self._worlds: list[World] = []
        before = resident_memory()
        for k in range(count):
            _require_rest(k, count, before)
            described, own = (scene, model) if rows is None else variation.model(k, model, self._settings, rows)
            views = {name: array[k] for name, array in shown.items()}
            world = World(scene, self._settings, own, described, views, progress, k, device.beside(), self._stepping)
            self._worlds.append(world)
        self._steps, self._snapshots = WorldSteps(self._worlds, progress), Snapshots(self._worlds)
        self._diverged = np.zeros(count, bool)

    def __len__(self) -> int:
        return len(self._worlds)

    def __repr__(self) -> str:
        return f"<Worlds: {len(self)} of {self._scene!r}>"

    def __reduce__(self) -> NoReturn:
        """Refuse copies by `copy` and `pickle`: memory that compiled code points to cannot be copied so.

        Raises:
            SceneError: Always.
        """
        raise SceneError(
            "worlds: cannot be copied or pickled; copy the state of a world (`world(k).state.copy()` and `restore`), "
            "save it to a file with `world(k).save`, or build other Worlds of the scene, which can be pickled"
        )

    @property
    def scene(self) -> Scene:
        """The scene of which the worlds are copies."""
        return self._scene

    @property
    def settings(self) -> Settings:
        """The settings of all worlds."""
        return self._settings

    @property
    def state(self) -> WorldStates:
        """The states: `state.positions` (W, N, 3) and so on. Writing to them acts on the next step."""
        return self._state

    @property
    def times(self) -> np.ndarray:
        """Simulated time of each world since its start or last reset [s], (W,)."""
        return self._steps.frames * self._settings.dt

    @property
    def diverged(self) -> np.ndarray:
        """Worlds that stand still because they left the finite numbers, (W,) bool; a copy. `reset` revives them."""
        return self._diverged.copy()

    def step(self, count: int = 1, *, mask: Any = None) -> None:
        """Advance all worlds by `count` times dt, but for those that have diverged.

        Args:
            count: Steps.
            mask: Worlds to advance, (W,) bool or their numbers; None: all.

        Raises:
            DivergenceError: A position left the finite numbers, or particles flew too far apart; the other worlds
                have taken their steps.
            MemoryLimitError: Contacts need more memory than there is; the other worlds have taken their steps.
            SceneError: The scene was changed after the worlds were built.
        """
        check.count("worlds", "count", count, least=0)
        chosen = self._chosen(mask)
        if self._worlds[0].changed():
            raise SceneError("worlds: scene: was changed after the worlds were built; build new ones")
        with self._stepping.alone("step"):
            errors = self._steps.take(chosen[~self._diverged[chosen]], count, self._threads)
            self._diverged[list(errors)] = True
        if errors:
            self._tell(errors)

    def _tell(self, errors: Errors) -> None:
        """Raise the errors of worlds, unless those that diverge are held."""
        memory = {k: error for k, error in errors.items() if isinstance(error, MemoryLimitError)}
        if self._holds and not memory:
            return
        told = dict(sorted((memory or errors).items()))
        lines = "; ".join(f"world {k}: {error}" for k, error in list(told.items())[:TOLD])
        rest = f"; and {len(told) - TOLD} more" if len(told) > TOLD else ""
        kind = MemoryLimitError if memory else DivergenceError
        raise kind(f"worlds: {len(told)} of {len(self)} stopped: {lines}{rest}")

    def reset(self, mask: Any = None) -> None:
        """Bring worlds back to the start of the scene, or to the state of the last `keep`.

        Materials and pins stay as they are now, motors of joints become those of that state, grabs are released. The
        bits of other worlds do not change.

        Args:
            mask: Worlds to bring back, (W,) bool or their numbers; None: all.

        Raises:
            SceneError: The mask has another length, or a number is out of range.
        """
        chosen = self._chosen(mask)
        with self._stepping.alone("reset"):
            self._snapshots.restore(chosen)
            self._diverged[chosen] = False

    def keep(self, mask: Any = None) -> None:
        """Let the present states be those to which `reset` brings worlds back: settled, filled, folded.

        Args:
            mask: Worlds, (W,) bool or their numbers; None: all.

        Raises:
            SceneError: The mask has another length, or a number is out of range.
        """
        chosen = self._chosen(mask)
        with self._stepping.alone("keep"):
            self._snapshots.keep(chosen)

    def restore(self, state: State, *, mask: Any = None) -> None:
        """Let worlds go on from a state: of a `Simulation` of the scene, or of one of them.

        Args:
            state: The state; its values are copied.
            mask: Worlds, (W,) bool or their numbers; None: all.

        Raises:
            SceneError: The state belongs to another model, or the mask has another length.
        """
        chosen, kept = self._chosen(mask), check.kind("worlds", "state", state, State).copy()
        for k in chosen.tolist():
            self.world(k).restore(kept)
        self._diverged[chosen] = False

    def positions(self, handle: Handle | str) -> np.ndarray:
        """Positions of an object in all worlds [m], (W, n, 3): a writable view.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return self._state.positions[:, self._worlds[0].particles_of(handle)]

    def velocities(self, handle: Handle | str) -> np.ndarray:
        """Velocities of an object in all worlds [m/s], (W, n, 3): a writable view.

        Raises:
            SceneError: It is no object with particles of this scene.
        """
        return self._state.velocities[:, self._worlds[0].particles_of(handle)]

    def world(self, index: int) -> Simulation:
        """A world as a simulation, for all that can be asked of one and changed in it.

        It is no copy: a step of it, a new material or a grab there happens in this world.

        Raises:
            SceneError: There is no world of that number.
        """
        index = check.count("worlds", "index", index, least=0, most=len(self) - 1)
        return Simulation.of_run(self._worlds[index])

    def energy(self) -> Energy:
        """Energies of all worlds [J], as those of `Simulation.energy`, each (W,)."""
        each = [self.world(k).energy() for k in range(len(self))]
        values: dict[str, Any] = {
            field.name: np.array([getattr(e, field.name) for e in each]) for field in fields(Energy)
        }
        return Energy(**values)

    def drive(self, joint: JointHandle | str, motors: Any, *, mask: Any = None) -> None:
        """Drive a joint from now on, in each world on its own.

        Args:
            joint: A hinge or slider.
            motors: A motor, a number or None for all of the worlds, or one for each; see `Simulation.drive`.
            mask: Worlds, (W,) bool or their numbers; None: all.

        Raises:
            SceneError: As `Simulation.drive`; or there are not as many motors as worlds. No world is driven then.
        """
        known, chosen = self._scene.find("worlds", "joint", joint, JointHandle), self._chosen(mask)
        each: list[Any] = [motors] * len(chosen)
        if isinstance(motors, np.ndarray):
            each = check.array("worlds", "motors", motors, (len(chosen),)).tolist()
        elif isinstance(motors, Sequence):
            each = check.sequence("worlds", "motors", motors)
        if len(each) != len(chosen):
            raise SceneError(f"worlds: motors: expected {len(chosen)}, one for each world, got {len(each)}")
        for k, motor in zip(chosen.tolist(), each, strict=True):
            # either all or none
            wanted_drive(self._scene.joints[known.index], motor, self.world(k).bodies.motor(known))
        for k, motor in zip(chosen.tolist(), each, strict=True):
            self.world(k).drive(known, motor)

    def command(self, tendon: TendonHandle | str, commands: Any, *, mask: Any = None) -> None:
        """Give the actuator of a tendon a command from now on, in each world its own; see `TendonHandle.command`.

        Args:
            tendon: A tendon with an actuator.
            commands: A command for all of the worlds, or one for each, (W,); of an actuator with several inputs I, (I,)
                or (W, I).
            mask: Worlds, (W,) bool or their numbers; None: all.

        Raises:
            SceneError: It is no tendon of this scene or has no actuator, or a command is outside its limits; no world
                has got one.
        """
        known = self._scene.find("worlds", "tendon", tendon, TendonHandle)
        law, chosen = self._scene.tendons[known.index].actuator, self._chosen(mask)
        if law is None:
            raise SceneError(f"worlds: command: tendon {known.name!r} has no actuator; add it with actuator=")
        shape = () if len(law.inputs) == 1 else (len(law.inputs),)
        each = self._each("commands", commands, chosen, shape)
        for value in each:
            law.command(f"tendon {known.name!r}", value)
        for k, value in zip(chosen.tolist(), each, strict=True):
            self.world(k).bodies.command_tendons([known], [value])

    def joint_coordinates(self, joints: Sequence[JointHandle | str]) -> tuple[np.ndarray, np.ndarray]:
        """Angles [rad] of hinges and travels [m] of sliders, (W, J), and their rates of change, (W, J).

        Raises:
            SceneError: One is no joint of this scene.
        """
        given = check.sequence("worlds", "joints", joints)
        known = [self._scene.find("worlds", "joints", joint, JointHandle) for joint in given]
        each = [self.world(k).bodies.coordinates(known) for k in range(len(self))]
        return np.array([values for values, _ in each]), np.array([rates for _, rates in each])

    def change(self, *, mask: Any = None, **values: Any) -> None:
        """Change gravity, wind or damping of worlds while they run; see `Simulation.change`.

        Args:
            mask: Worlds, (W,) bool or their numbers; None: all.
            **values: `gravity` and `wind`, (3,) or one for each world, (W, 3); `damping`, a number or (W,).

        Raises:
            SceneError: A value is unknown, has another shape or is outside its bounds. Nothing has changed then.
        """
        chosen = self._chosen(mask)
        each = {
            check.choice("worlds", "name", name, tuple(_CHANGES)): self._each(name, value, chosen, _CHANGES[name])
            for name, value in values.items()
        }
        rows = [{name: value[row] for name, value in each.items()} for row in range(len(chosen))]
        for k, row in zip(chosen.tolist(), rows, strict=True):
            # either all or none
            checked_world(f"worlds: world {k}", row)
        for k, row in zip(chosen.tolist(), rows, strict=True):
            self.world(k).change(**row)

    def change_material(self, target: Handle | str, *, mask: Any = None, **values: Any) -> None:
        """Change fields of the material of an object in worlds while they run; see `Simulation.change_material`.

        Args:
            target: Handle or name of an object.
            mask: Worlds, (W,) bool or their numbers; None: all.
            **values: Fields and their values: a number, or one for each world, (W,).

        Raises:
            SceneError: A field is unknown or cannot change, or a value has another shape or is outside its bounds.
        """
        known = self._scene.find("worlds", "target", target, Handle)
        chosen = self._chosen(mask)
        each = {name: self._each(name, value, chosen, ()) for name, value in values.items()}
        rows = [{name: value[row] for name, value in each.items()} for row in range(len(chosen))]
        for k, row in zip(chosen.tolist(), rows, strict=True):
            # either all or none
            changed_material(f"worlds: world {k}", self.world(k).material(known), row)
        for k, row in zip(chosen.tolist(), rows, strict=True):
            self.world(k).change_material(known, **row)

    def _each(self, name: str, value: Any, chosen: np.ndarray, shape: tuple[int, ...]) -> list[Any]:
        """A value for each of some worlds, from one for all or one for each."""
        array = check.shaped("worlds", name, value)
        if array.dtype.kind not in "biuf" or array.shape == shape:
            return [value] * len(chosen)
        if array.shape != (len(chosen), *shape):
            raise SceneError(
                f"worlds: {name}: expected shape {shape}, or {(len(chosen), *shape)} for one in each world, got "
                f"{array.shape}"
            )
        # a list of its own elements: the array has made numbers of truth values among them
        each = value if isinstance(value, (list, tuple)) else array.tolist()
        return [item.item() if isinstance(item, np.generic) else item for item in each]

    def _chosen(self, mask: Any) -> np.ndarray:
        """Numbers of the worlds that a mask means, (C,) int64."""
        if mask is None:
            return np.arange(len(self))
        array = check.shaped("worlds", "mask", mask)
        if array.dtype == bool:
            if array.shape != (len(self),):
                raise SceneError(f"worlds: mask: expected shape ({len(self)},), got {array.shape}")
            return np.flatnonzero(array)
        return np.unique(check.indices("worlds", "mask", mask, len(self)))


_CHANGES = {"gravity": (3,), "wind": (3,), "damping": ()}


def _require_rest(built: int, count: int, before: int | None) -> None:
    """See to it that there is memory for the rest of the worlds, by what those that are built have taken.

    Looked at each time their number has doubled: buffers of contacts and of steps are only known once they are there.
    """
    if built < LOOKED or built & (built - 1) or before is None:
        return
    taken = (resident_memory() or 0) - before - ONCE
    require_memory(taken * (count - built) // built, f"worlds: count: {count} worlds")


def _settings(given: dict[str, Any]) -> Settings:
    """Settings of all worlds, each of which is stepped by one thread."""
    check.known("worlds", "setting", given, [field.name for field in fields(Settings) if field.name != "threads"])
    return Settings(threads=1, **given)
