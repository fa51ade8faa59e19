"""Actuators with inputs and states of their own: PID controllers and DC motors."""

from dataclasses import dataclass
from typing import Any

from shinari import check
from shinari.errors import SceneError

INPUTS = ("position", "velocity", "force", "voltage")
"""What a controller or motor can be told, in the order of its inputs."""
PID_INPUTS = INPUTS[:3]


@dataclass(frozen=True)
class PIDControl:
    """A controller of a length L and its rate V, towards a position p, a velocity v and with a force f.

    F = stiffness (p - L) + damping (v - V) + integral z + f, with z' = p - L. An input that it does not have is zero.

    Attributes:
        stiffness: Of the position [N/m].
        damping: Of the velocity [N s/m].
        integral: Of the integral of the position error [N/(m s)].
        most_integral: Largest integral z, beyond which it is held [m s]; 0: unbounded.
        most_rate: Largest rate at which the first input is followed [1/s]; 0: at once.
        inputs: What it is told, some of `"position"`, `"velocity"` and `"force"`, in this order.
    """

    stiffness: float
    damping: float = 0.0
    integral: float = 0.0
    most_integral: float = 0.0
    most_rate: float = 0.0
    inputs: tuple[str, ...] = ("position", "velocity")

    def __post_init__(self) -> None:
        for field in ("stiffness", "damping", "integral", "most_integral", "most_rate"):
            object.__setattr__(self, field, check.number("PIDControl", field, getattr(self, field), least=0.0))
        object.__setattr__(self, "inputs", _inputs("PIDControl", self.inputs, PID_INPUTS))


@dataclass(frozen=True)
class DCMotor:
    """A motor with brushes: a voltage U drives a current i through its winding, which gives the moment K i.

    U = R i + L di/dt + K V with the speed V; without an inductance i = (U - K V) / R. A controller, where there is one,
    asks for the moment tau of a `PIDControl` with U = (R / K) tau + K V, within `most_voltage`; an input `"voltage"` is
    added to that. The winding warms by T' = (R i^2 - T / thermal_resistance) / heat_capacity above `ambient`, and R
    grows by 1 + temperature_coefficient (T + ambient - reference_temperature). Cogging adds
    A sin(N L + phase). Friction is that of bristles with the deflection z, -s0 z - s1 z', with
    z' = V - s0 |V| z / g(V) and g(V) = Fc + (Fs - Fc) exp(-(V / vs)^2).
    Sources: Canudas de Wit et al. 1995, "A new model for control of systems with friction", for the friction; the
    motor is that of MuJoCo.

    Attributes:
        resistance: R [ohm].
        constant: K [N m/A or V s/rad].
        time_constant: L / R [s]; 0: the current follows at once.
        most_current_rate: Largest rate of the current [A/s]; 0: unbounded.
        controller: Its controller, or None.
        most_voltage: Largest voltage of the controller [V]; 0: unbounded.
        inputs: What it is told, some of `"position"`, `"velocity"`, `"force"` and `"voltage"`, in this order.
        cogging: A [N m], N and the phase [rad].
        bristles: s0 [N m/rad], s1 [N m s/rad], Fc and Fs [N m] and vs [rad/s].
        thermal: thermal_resistance [K/W], heat_capacity [J/K], temperature_coefficient [1/K], reference_temperature
            and ambient [degrees C]; zeros: R stays.
    """

    resistance: float
    constant: float
    time_constant: float = 0.0
    most_current_rate: float = 0.0
    controller: PIDControl | None = None
    most_voltage: float = 0.0
    inputs: tuple[str, ...] = ("voltage",)
    cogging: tuple[float, float, float] = (0.0, 0.0, 0.0)
    bristles: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    thermal: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        label = "DCMotor"
        object.__setattr__(self, "resistance", check.number(label, "resistance", self.resistance, above=0.0))
        for field in ("constant", "time_constant", "most_current_rate", "most_voltage"):
            object.__setattr__(self, field, check.number(label, field, getattr(self, field), least=0.0))
        if self.controller is not None:
            check.kind(label, "controller", self.controller, PIDControl)
            if self.constant == 0.0:
                raise SceneError(f"{label}: constant: a motor with a controller needs one above 0")
        object.__setattr__(self, "inputs", _inputs(label, self.inputs, INPUTS))
        if self.controller is None and set(self.inputs) & set(PID_INPUTS):
            raise SceneError(f"{label}: inputs: without a controller it takes a voltage alone, got {self.inputs}")
        for field, count in (("cogging", 3), ("bristles", 5), ("thermal", 5)):
            object.__setattr__(self, field, tuple(check.array(label, field, getattr(self, field), (count,)).tolist()))
        if self.bristles[0] < 0.0 or self.bristles[1] < 0.0:
            raise SceneError(f"{label}: bristles: stiffness and damping are at least 0, got {self.bristles[:2]}")
        if self.bristles[0] > 0.0 and not min(self.bristles[2:]) > 0.0:
            raise SceneError(f"{label}: bristles: forces and speed of bristles are above 0, got {self.bristles[2:]}")
        if self.thermal[0] < 0.0 or (self.thermal[0] > 0.0 and not self.thermal[1] > 0.0):
            raise SceneError(f"{label}: thermal: resistance and capacity are above 0, got {self.thermal[:2]}")


def _inputs(label: str, value: Any, known: tuple[str, ...]) -> tuple[str, ...]:
    """Names of inputs, checked."""
    names = tuple(check.choice(label, "inputs", name, known) for name in check.sequence(label, "inputs", value))
    if tuple(name for name in known if name in names) != names:
        raise SceneError(f"{label}: inputs: expected each once, in the order {', '.join(known)}; got {names}")
    return names
