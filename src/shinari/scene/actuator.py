"""Actuators of tendons: from a command to an activation, and from that to a force along the tendon."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.scene.controllers import DCMotor, PIDControl

DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle")
"""From command to activation."""
ENDLESS = (-np.inf, np.inf)


@dataclass(frozen=True)
class Muscle:
    """The force of a muscle by its length L, its velocity V and its activation a.

    F = -peak_force (FL(L) FV(V) a + FP(L)), with L and V scaled by the length L0 at which the active force is largest.
    FL is a bump of parabolas over `least` to `most`, 1 at L = 1. FV falls from 1 to 0 as the muscle shortens with up to
    `speed`, and grows to `lengthening_force` as it is stretched. FP, the passive force, begins at L = 1: a parabola up
    to (1 + most) / 2, then a straight line, and `passive_force` at `most` less half a parabola.
    Source: the muscle of MuJoCo, after Millard et al. 2013.

    Attributes:
        peak_force: Largest active force at rest [N].
        lengths: Least and largest length of the tendon, times `gear` [m], which are `scaled` times L0, (2,).
        scaled: Scaled lengths of the muscle at these, (2,).
        least: Scaled length below which there is no active force, below 1.
        most: Scaled length above which there is none, above 1.
        speed: Speed of shortening at which there is none [L0/s].
        passive_force: Passive force scale, in peak forces.
        lengthening_force: Largest active force where it is stretched, in peak forces, at least 1.
    """

    peak_force: float
    lengths: tuple[float, float]
    scaled: tuple[float, float] = (0.75, 1.05)
    least: float = 0.5
    most: float = 1.6
    speed: float = 1.5
    passive_force: float = 1.3
    lengthening_force: float = 1.2

    def __post_init__(self) -> None:
        for field in ("peak_force", "passive_force"):
            object.__setattr__(self, field, check.number("Muscle", field, getattr(self, field), least=0.0))
        for field in ("lengths", "scaled"):
            object.__setattr__(self, field, _pair("Muscle", field, getattr(self, field)))
        object.__setattr__(self, "least", check.number("Muscle", "least", self.least, least=0.0, most=0.999))
        object.__setattr__(self, "most", check.number("Muscle", "most", self.most, least=1.001))
        object.__setattr__(self, "speed", check.number("Muscle", "speed", self.speed, above=0.0))
        growth = check.number("Muscle", "lengthening_force", self.lengthening_force, least=1.0)
        object.__setattr__(self, "lengthening_force", growth)

    @property
    def best_length(self) -> float:
        """Length L0 at which the active force is largest [m]."""
        return (self.lengths[1] - self.lengths[0]) / (self.scaled[1] - self.scaled[0])


@dataclass(frozen=True)
class ActuatorLaw:
    """An actuator that acts along a tendon: dynamics of its activation a under a command u, and its force.

    F = gear (g0 + g1 L + g2 V) a + gear (b0 + b1 L + b2 V), with L and V the length of the tendon and its rate times
    gear; a positive force lengthens the tendon. Or the force of a `Muscle`, a `PIDControl` or a `DCMotor`. The last two
    have inputs and states of their own: their activation is the integral of the position error, or the current. Else it
    follows by `dynamics`:
    `"none"` a = u; `"integrator"` a' = u; `"filter"` and `"filterexact"` a' = (u - a) / times[0], the latter exact in
    each substep; `"muscle"` the same with u in 0 to 1 and times[0] (0.5 + 1.5 a) where a grows, else
    times[1] / (0.5 + 1.5 a).

    Attributes:
        gain: g0 to g2 [N, N/m, N s/m], or g0 alone.
        bias: b0 to b2 [N, N/m, N s/m].
        muscle: A muscle, in place of both.
        controller: A controller or DC motor, in place of both.
        dynamics: How the activation follows the command.
        times: Time constants [s]: of a filter the first, of a muscle of growth and of decay.
        smoothing: Of a muscle: difference of command and activation over which both times blend; 0: they switch.
        gear: Factor of length and force.
        command_limits: Least and largest command; of a controller or motor those of its first input.
        activation_limits: Least and largest activation.
        force_limits: Least and largest force, without the gear [N]; cogging and bristles of a motor are beyond it.
        early: Whether the activation at the end of a substep acts in it, not that at its start.
    """

    gain: Any = (1.0, 0.0, 0.0)
    bias: Any = (0.0, 0.0, 0.0)
    muscle: Muscle | None = None
    dynamics: str = "none"
    times: tuple[float, float] = (0.01, 0.04)
    smoothing: float = 0.0
    gear: float = 1.0
    command_limits: tuple[float, float] = ENDLESS
    activation_limits: tuple[float, float] = ENDLESS
    force_limits: tuple[float, float] = ENDLESS
    early: bool = False
    controller: PIDControl | DCMotor | None = None

    def __post_init__(self) -> None:
        label = "ActuatorLaw"
        gain = (self.gain, 0.0, 0.0) if check.dimensions(label, "gain", self.gain) == 0 else self.gain
        for field, value in (("gain", gain), ("bias", self.bias)):
            object.__setattr__(self, field, tuple(check.array(label, field, value, (3,)).tolist()))
        if self.muscle is not None:
            check.kind(label, "muscle", self.muscle, Muscle)
        if self.controller is not None and not isinstance(self.controller, (PIDControl, DCMotor)):
            told = check.short(self.controller)
            raise SceneError(f"{label}: controller: expected a PIDControl or a DCMotor, got {told}")
        if self.controller is not None and self.muscle is not None:
            raise SceneError(f"{label}: controller: it has a muscle already; leave out one of the two")
        check.choice(label, "dynamics", self.dynamics, DYNAMICS)
        times = check.array(label, "times", self.times, (2,)).tolist()
        for value in times:
            check.number(label, "times", value, above=0.0)
        object.__setattr__(self, "times", tuple(times))
        object.__setattr__(self, "smoothing", check.number(label, "smoothing", self.smoothing, least=0.0))
        object.__setattr__(self, "gear", check.number(label, "gear", self.gear))
        if self.gear == 0.0:
            raise SceneError(f"{label}: gear: 0 leaves no force; give another number")
        for field in ("command_limits", "activation_limits", "force_limits"):
            object.__setattr__(self, field, _pair(label, field, getattr(self, field), infinite=True))
        check.choice(label, "early", self.early, (True, False))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of what it is told: `"command"`, or the inputs of its controller or motor."""
        return ("command",) if self.controller is None else self.controller.inputs

    def command(self, label: str, value: Any) -> tuple[float, ...]:
        """A checked command: a number for each input.

        Raises:
            SceneError: It is no number, or one for each of several inputs, or outside the limits.
        """
        if len(self.inputs) == 1:
            given = [check.number(label, "command", value)]
        else:
            given = check.array(label, "command", value, (len(self.inputs),)).tolist()
        low, high = self.command_limits
        if given and not low <= given[0] <= high:
            raise SceneError(f"{label}: command: {given[0]:g} is outside its limits {low:g} to {high:g}")
        return tuple(given)


def law_of(label: str, value: Any) -> ActuatorLaw | None:
    """The actuator that is meant: a muscle alone has the dynamics of one.

    Raises:
        SceneError: It is none.
    """
    if value is None or isinstance(value, ActuatorLaw):
        return value
    if isinstance(value, Muscle):
        return ActuatorLaw(muscle=value, dynamics="muscle", command_limits=(0.0, 1.0))
    if isinstance(value, (PIDControl, DCMotor)):
        return ActuatorLaw(controller=value)
    raise SceneError(
        f"{label}: actuator: expected an ActuatorLaw, a Muscle, a PIDControl or a DCMotor, got {check.short(value)}"
    )


def _pair(label: str, field: str, value: Any, infinite: bool = False) -> tuple[float, float]:
    """A lower and an upper bound."""
    row = isinstance(value, (tuple, list)) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if not (row and len(value) == 2):
        raise SceneError(f"{label}: {field}: expected two numbers, got {check.short(value)}")
    low, high = (_bound(label, field, bound, infinite) for bound in value)
    if low > high or (low == high and not infinite):
        raise SceneError(f"{label}: {field}: the lower, {low:g}, is not below the upper, {high:g}")
    return low, high


def _bound(label: str, field: str, value: Any, infinite: bool) -> float:
    if infinite and isinstance(value, (float, np.floating)) and np.isinf(value):
        return float(value)
    return check.number(label, field, value)
