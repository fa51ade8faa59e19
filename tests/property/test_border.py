"""No public function, method or setter answers a wrong value with anything but an error of the package.

Every parameter is given every wrong value while the others are right; then several at once, by chance, for as long as
`SHINARI_FUZZ_SECONDS` says. A call works, or it raises a `ShinariError` with a short message that names a field, and
leaves the object as it was.
"""

import contextlib
import hashlib
import inspect
import os
import random
import signal
import time
import types
import warnings
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from border_calls import CALLS, Call
from border_values import VALUES, mutations

import shinari as sn
from shinari import check
from shinari.api.world_states import WorldStates
from shinari.io.run_reader import Cache
from shinari.model.state import State
from shinari.output.recorder import Recorder
from shinari.scene.handle import BodyHandle, Handle
from shinari.scene.joint_handle import JointHandle
from shinari.scene.rod import RodHandle
from shinari.systems.grabs.queries import Grab

# values that are odd and accepted may be warned of; warnings that are not ours are looked at in each call
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

LONGEST_MESSAGE = 400
LONGEST_CALL = 20
FUZZ_SECONDS = float(os.environ.get("SHINARI_FUZZ_SECONDS", "2"))
# What a message calls an argument where it is not by its name.
OTHER_NAMES = ("vertices", "faces", "tetrahedra", "points", "mesh", "container", "preset", "pin", "clamp", "material")
# Values that are right: what they are called with has no meaning for them. An exception of theirs is that of the user.
UNFIT = {"Simulation.run": {"built-in function"}}
# Steps that only the solver takes, records that only it makes, and what takes no argument from a user.
NOT_CALLED = {
    "Grab.begin", "Grab.project", "State.take", "Recorder.record", "ForceMotor.drive", "Servo.drive",
    "VelocityMotor.drive", "Scene.find", "Robot", "Shape", "Simulation.of_run", "State.show",
    "State.of", "State.count_steps",
    "State.on_device", "WorldStates.on_device",  # no call is valid without a GPU
}  # fmt: skip
CLASSES = (
    sn.Scene, sn.Simulation, sn.Worlds, WorldStates, Handle, RodHandle, BodyHandle, JointHandle, Grab, State, Cache,
    Recorder,
)  # fmt: skip


class Fault(BaseException):
    """What a call did and must not do."""


def fingerprint(subject: Any) -> Any:
    """What a refused call must not change."""
    if isinstance(subject, sn.Scene):
        lists = (
            "particle_objects",
            "rows",
            "body_rows",
            "volumes",
            "colliders",
            "force_fields",
            "bodies",
            "joints",
            "sinks",
        )
        counts = [len(getattr(subject, name)) for name in (*lists, "pinned", "clamped", "ignored", "handles")]
        world = subject.gravity.tobytes(), id(subject.wind), subject.air_density, subject.damping
        return subject.revision, subject.particle_count, counts, world
    if isinstance(subject, sn.Simulation):
        own = subject.settings, id(subject.described), id(subject.model), len(subject._grabs), subject.left_over
        return own, fingerprint(subject.scene), fingerprint(subject.state)
    if isinstance(subject, State):
        total = hashlib.sha1()
        for name, array in subject.arrays().items():
            total.update(f"{name}{array.shape}".encode())
            total.update(array.tobytes())
        return subject.frame, subject.coloured, total.digest()
    if isinstance(subject, sn.Worlds):
        return fingerprint(subject.scene), [fingerprint(subject.world(k)) for k in range(len(subject))]
    if isinstance(subject, WorldStates):
        return [array.tobytes() for array in vars(subject)["_arrays"].values()]
    if isinstance(subject, Grab):
        return subject.target.tobytes(), subject.active
    scene = getattr(subject, "_scene", None)
    return None if scene is None else fingerprint(scene)


@contextlib.contextmanager
def limited(seconds: int) -> Iterator[None]:
    """Raise a `Fault` after some time, where the system can."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def give_up(*_: Any) -> None:
        raise Fault("takes too long")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(call: Call, subject: Any, before: Any, given: dict[str, Any]) -> bool:
    """Whether a call changes an object whose fingerprint is `before`.

    Raises:
        Fault: It does what it must not do.
    """
    with warnings.catch_warnings(record=True) as noise:
        warnings.simplefilter("always")
        refusal = called(call, subject, given)
    for warning in noise:
        if not warning.category.__module__.startswith("shinari"):
            raise Fault(f"{warning.category.__name__}: {warning.message} at {warning.filename}:{warning.lineno}")
    changed = fingerprint(subject) != before
    if refusal is None:
        return changed
    message = str(refusal)
    if len(message) > LONGEST_MESSAGE:
        raise Fault(f"message of {len(message)} characters: {message[:150]}")
    # a message of a file names the file; a function that was given says what it likes
    free = isinstance(refusal, (sn.FileError, sn.MissingExtraError)) or any(callable(value) for value in given.values())
    if ": " not in message or not (free or any(name in message for name in (*given, *OTHER_NAMES))):
        raise Fault(f"message names no field of {', '.join(given)}: {message}")
    if changed and not free:
        raise Fault(f"refused, and changed all the same: {message}")
    return changed


def called(call: Call, subject: Any, given: dict[str, Any]) -> sn.ShinariError | None:
    """Call; the error of the package that it raises."""
    try:
        with limited(LONGEST_CALL):
            call.function(subject, **given)
    except sn.ShinariError as error:
        return error
    except (Fault, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        trace = [frame for frame in traceback_of(error) if "shinari" in frame[0]]
        raise Fault(f"{type(error).__name__}: {str(error)[:150]} at {trace[-1:]}") from error
    return None


def traceback_of(error: BaseException) -> list[tuple[str, int]]:
    trace, frames = error.__traceback__, []
    while trace is not None:
        frames.append((trace.tb_frame.f_code.co_filename, trace.tb_lineno))
        trace = trace.tb_next
    return frames


class Trial:
    """Calls of one kind, one after the other, on an object that is made anew when a call has changed it."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.renew()
        valid = call.valid(self.subject)
        self.parameters = tuple(dict.fromkeys((*call.parameters, *valid)))
        if call.target.endswith((".preset", "add_constraint", "change_material")):
            self.parameters += ("unknown_field",)

    def renew(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.subject = self.call.subject()
        self.mark = fingerprint(self.subject)

    def values(self, parameter: str) -> dict[str, Any]:
        """Functions that make the wrong values of a parameter, by name."""
        left_out = UNFIT.get(self.call.target, set())
        found = {name: make for name, make in VALUES.items() if name not in left_out}
        valid = self.call.valid(self.subject)
        if parameter in valid:
            found |= {name: lambda value=value: value for name, value in mutations(valid[parameter])}
        return found

    def run(self, chosen: dict[str, Any]) -> str | None:
        """Call with some arguments replaced; what was wrong with it."""
        given = self.call.valid(self.subject)
        for parameter, make in chosen.items():
            given[parameter] = make()
        try:
            changed = attempt(self.call, self.subject, self.mark, given)
        except Fault as fault:
            self.renew()
            return ascii(fault)
        if changed:
            self.renew()
        return None


QUERIES = [name for name in CALLS if name.startswith("Simulation.") and " " not in name]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of its own, which all tests share, and no server."""
    folder = tmp_path_factory.getbasetemp() / "border"
    folder.mkdir(exist_ok=True)
    monkeypatch.chdir(folder)
    from shinari.view import notebook

    monkeypatch.setattr(notebook, "serve", lambda *_, **__: types.SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(notebook, "page_address", lambda _: "")


@pytest.mark.parametrize("name", CALLS)
def test_every_wrong_value_is_refused_or_taken(name: str) -> None:
    trial = Trial(CALLS[name])
    assert called(trial.call, trial.subject, trial.call.valid(trial.subject)) is None, "the valid call is refused"
    trial.renew()
    faults = []
    for parameter in trial.parameters:
        for title, make in trial.values(parameter).items():
            fault = trial.run({parameter: make})
            if fault is not None:
                faults.append(f"{parameter} = {title}: {fault}")
    assert not faults, "\n".join(faults[:20])


@pytest.mark.parametrize("name", [name for name in QUERIES if len(CALLS[name].parameters) == 1])
def test_queries_of_what_the_scene_has_not(name: str) -> None:
    """A scene of two particles has no joint, no fluid, no rod: what is bound for those does not exist."""
    trial = Trial(replace(CALLS[name], subject=CALLS["Simulation.step"].subject, valid=lambda _: {}))
    faults = [(title, trial.run({trial.parameters[0]: make})) for title, make in trial.values("").items()]
    assert not [fault for fault in faults if fault[1] is not None]


def test_wrong_values_together() -> None:
    """Several wrong arguments at once, by chance, for a time."""
    seed = random.SystemRandom().randrange(2**32) if FUZZ_SECONDS > 10.0 else 1
    chance, end, faults = random.Random(seed), time.monotonic() + FUZZ_SECONDS, {}
    while time.monotonic() < end:
        trial = Trial(chance.choice(list(CALLS.values())))
        for _ in range(30):
            several = chance.sample(trial.parameters, min(len(trial.parameters), chance.randint(1, 3)))
            chosen = {parameter: chance.choice(list(trial.values(parameter).items())) for parameter in several}
            fault = trial.run({parameter: make for parameter, (_, make) in chosen.items()})
            if fault is not None:
                told = ", ".join(f"{parameter} = {title}" for parameter, (title, _) in chosen.items())
                faults.setdefault(fault[:120], f"{trial.call.name}: {told}: {fault}")
    assert not faults, f"seed {seed}:\n" + "\n".join(faults.values())


def test_every_public_name_is_called() -> None:
    targets = {call.target for call in CALLS.values()}
    names = {name for name in sn.__all__ if callable(getattr(sn, name)) and not _is_error(getattr(sn, name))}
    wanted = names - NOT_CALLED
    for cls in CLASSES:
        for name, member in inspect.getmembers(cls):
            if name.startswith("_") or f"{cls.__name__}.{name}" in NOT_CALLED:
                continue
            if isinstance(member, property):
                wanted |= {f"{cls.__name__}.{name}="} if member.fset else set()
            elif callable(member) and len(inspect.signature(member).parameters) > _own(cls, name):
                owner = next(base for base in cls.__mro__ if name in vars(base) or base is object)
                inherited = owner is not cls and owner in CLASSES
                wanted |= set() if inherited else {f"{cls.__name__}.{name}"}
    assert wanted <= targets, f"add a valid call of {', '.join(sorted(wanted - targets))} to border_calls.py"


def _is_error(member: Any) -> bool:
    return isinstance(member, type) and issubclass(member, (Exception, Warning))


def _own(cls: type, name: str) -> int:
    """Parameters that are not given by a user: self."""
    return 0 if isinstance(inspect.getattr_static(cls, name), (staticmethod, classmethod)) else 1


def test_a_state_that_was_made_no_number_ends_as_divergence() -> None:
    for values in (np.nan, np.inf):
        scene = sn.Scene()
        scene.add_rope([[0, 0, 0], [1, 0, 0]], name="line")
        sim = sn.Simulation(scene, threads=1)
        sim.state.positions[1] = values
        with pytest.raises(sn.DivergenceError, match=r"'line', .* is no finite number"):
            sim.step()


REPORTED = {
    "open_cache": (lambda sim: sn.open_cache(None), sn.FileError, "cache: path: expected a path, got None"),  # type: ignore[arg-type]
    "save": (lambda sim: sim.save(None), sn.FileError, "checkpoint: path: expected a path, got None"),
    "lattice": (lambda sim: sn.lattice([[0, 1], [1]], 1.0), sn.SceneError, "lattice: cells: expected"),  # type: ignore[list-item]
    "add_joint": (
        lambda sim: sim.scene.add_joint(np.zeros(3), "a", "b", anchor=(0, 0, 0)),
        sn.SceneError,
        r"joint: kind: expected one of .*an array of float64 \(3,\)",
    ),
    "clusters": (
        lambda sim: sim.scene.add_shape_matched(np.eye(3), radius=0.1, clusters=1),
        sn.SceneError,
        "clusters: expected a list, got 1",
    ),
    "forces of an array": (lambda sim: sim.forces(np.zeros(3)), sn.SceneError, "forces: of: expected .*float64"),
    "forces of a state": (lambda sim: sim.forces(sim.state), sn.SceneError, "forces: of: expected"),
    "strains": (lambda sim: sim.strains([1]), sn.SceneError, "of: expected a type of which there are rows"),
    "joint_load": (lambda sim: sim.joint_load("distance"), sn.SceneError, "joint: unknown name 'distance'"),
    "take_changes": (lambda sim: sim.take_changes([1.0]), sn.SceneError, "changes: expected a dict, got"),
    "long choice": (
        lambda sim: check.choice("register", "places", "z", ["x", "y" * 5000]),
        sn.SceneError,
        r"^register: places: expected one of 'x', 'y.{1,80}, got 'z'$",
    ),
    "many choices": (
        lambda sim: check.choice("register", "places", "z", [f"p{k}" for k in range(99)]),
        sn.SceneError,
        r"'p19' and 79 more, got 'z'$",
    ),
    "long text": (lambda sim: sim.forces("x" * 5000), sn.SceneError, r"^.{1,200}$"),
}


@pytest.mark.parametrize(("act", "kind", "message"), REPORTED.values(), ids=REPORTED)
def test_reported(act: Any, kind: type, message: str) -> None:
    scene = sn.Scene()
    scene.add_rope([[0, 0, 0], [1, 0, 0]])
    with pytest.raises(kind, match=message):
        act(sn.Simulation(scene, threads=1))


@pytest.mark.parametrize("name", ["name", "particles"])
def test_handles_cannot_be_changed(name: str) -> None:
    scene = sn.Scene()
    rope = scene.add_rope([[0, 0, 0], [1, 0, 0]])
    with pytest.raises(AttributeError):
        setattr(rope, name, None)


def test_a_scene_that_was_given_another_gravity_needs_a_new_simulation() -> None:
    scene = sn.Scene()
    scene.add_rope([[0, 0, 0], [1, 0, 0]])
    scene.gravity = (0, -1, 0)
    sim = sn.Simulation(scene, threads=1)
    assert sim.model.gravity.tolist() == [0, -1, 0]
    scene.gravity = (0, -2, 0)
    with pytest.raises(sn.SceneError, match="was changed after the simulation was built"):
        sim.step()


def test_an_exception_of_a_function_of_the_user_passes_through() -> None:
    def broken(time: float) -> Any:
        raise LookupError("no such key")

    with pytest.raises(LookupError, match="no such key"):
        sn.Scene().add_collider(sn.Sphere(1), motion=broken)
