"""Controllers and DC motors of tendons: the force of a substep, and their states after it.

As with other actuators the force is linear in the speed v at the end of the substep, F = F0 - c v, so that no gain is
too large: the back electromotive force, bristles and the damping of a controller act with that speed, positions with
the length there. States advance with the speed at the start of the substep; bristles, which are stiff, advance by the
last substep before the force is found.
"""

import math

import numpy as np

from shinari.compute import Field, Record, kernel
from shinari.compute.kernels import STEADY
from shinari.maths.function import steady
from shinari.scene.actuator import ActuatorLaw
from shinari.scene.controllers import INPUTS, DCMotor, PIDControl
from shinari.systems.rigid.joints.table import MOTOR_DAMPING, MOTOR_FORCE, MOTOR_KIND, NO_MOTOR
from shinari.systems.rigid.tendons.values import BRISTLE, INTEGRAL, TEMPERATURE, TendonValues

# Columns of controllers; SLOT is that of the input whose rate is bounded.
KIND, GEAR, CONTROLS, SLOT = range(4)
STIFFNESS, DAMPING, INTEGRAL_GAIN, MOST_INTEGRAL, MOST_RATE = range(4, 9)
RESISTANCE, CONSTANT, TIME, MOST_CURRENT_RATE, MOST_VOLTAGE = range(9, 14)
COGGING, BRISTLES, THERMAL, FORCES, COMMAND = 14, 17, 22, 27, 29
WIDTH = 31
# Values of its column KIND.
NOTHING, PID, MOTOR = range(3)
POSITION, VELOCITY, FORCE, VOLTAGE = range(len(INPUTS))


class TendonControllers(Record):
    """Controllers and motors of tendons, T rows; see the columns above."""

    numbers = Field(np.float64, WIDTH)


def controller_row(law: ActuatorLaw | None) -> np.ndarray:
    """The columns of a controller or motor; zeros: there is none."""
    row = np.zeros(WIDTH)
    given = None if law is None else law.controller
    if law is None or given is None:
        return row
    control = given if isinstance(given, PIDControl) else given.controller
    row[KIND], row[GEAR] = PID if isinstance(given, PIDControl) else MOTOR, law.gear
    row[FORCES : FORCES + 2], row[COMMAND : COMMAND + 2] = law.force_limits, law.command_limits
    row[SLOT] = INPUTS.index(given.inputs[0]) if given.inputs else 0
    if control is not None:
        row[CONTROLS], row[STIFFNESS], row[DAMPING] = 1.0, control.stiffness, control.damping
        row[INTEGRAL_GAIN], row[MOST_INTEGRAL] = control.integral, control.most_integral
        row[MOST_RATE] = control.most_rate
    if isinstance(given, DCMotor):
        row[RESISTANCE], row[CONSTANT], row[TIME] = given.resistance, given.constant, given.time_constant
        row[MOST_CURRENT_RATE], row[MOST_VOLTAGE] = given.most_current_rate, given.most_voltage
        row[COGGING : COGGING + 3], row[BRISTLES : BRISTLES + 5] = given.cogging, given.bristles
        row[THERMAL : THERMAL + 5] = given.thermal
    return row


@steady
def wanted_force(t, n, values, inputs, length, speed, h):
    """Force of a controller and its slopes by length and speed; advances the integral of the position error."""
    z = values.states[t, INTEGRAL]
    force = n[t, STIFFNESS] * (inputs[POSITION] - length) + n[t, DAMPING] * (inputs[VELOCITY] - speed)
    force += n[t, INTEGRAL_GAIN] * z + inputs[FORCE]
    if n[t, INTEGRAL_GAIN] > 0.0:
        most = n[t, MOST_INTEGRAL]
        z += h * (inputs[POSITION] - length)
        values.states[t, INTEGRAL] = min(max(z, -most), most) if most > 0.0 else z
    return force, n[t, STIFFNESS], n[t, DAMPING]


@steady
def resistance_of(t, n, temperature):
    """Resistance of a winding at a temperature above that around it."""
    at = THERMAL
    if n[t, at] <= 0.0:
        return n[t, RESISTANCE]
    return n[t, RESISTANCE] * (1.0 + n[t, at + 2] * (temperature + n[t, at + 4] - n[t, at + 3]))


@steady
def motor_force(t, n, values, inputs, length, speed, h):
    """Force of the current of a motor, and its slopes by length and speed; advances current and temperature."""
    k, cold, voltage, stiffness, damping = n[t, CONSTANT], n[t, RESISTANCE], 0.0, 0.0, 0.0
    if n[t, CONTROLS] != 0.0:
        force, by_length, by_speed = wanted_force(t, n, values, inputs, length, speed, h)
        voltage, most = cold / k * force + k * speed, n[t, MOST_VOLTAGE]
        if most > 0.0 and abs(voltage) > most:
            voltage = min(max(voltage, -most), most)
        else:
            stiffness, damping = cold / k * by_length, cold / k * by_speed - k
    voltage += inputs[VOLTAGE]
    warm = values.states[t, TEMPERATURE]
    r = resistance_of(t, n, warm)
    # current by the voltage, its slopes, and what is left of it after a substep
    aim, left, old = (voltage - k * speed) / r, 0.0, values.activation[t]
    if n[t, TIME] > 0.0:
        left = math.exp(-h / n[t, TIME])
    current = aim + (old - aim) * left
    follows = 1.0 - left
    most = n[t, MOST_CURRENT_RATE]
    if n[t, TIME] > 0.0 and most > 0.0 and abs(aim - old) > most * n[t, TIME]:
        current = old + (1.0 if aim > old else -1.0) * most * n[t, TIME] * follows
        follows = 0.0
    values.activation[t] = current
    if n[t, THERMAL] > 0.0:
        heat = r * current * current - warm / n[t, THERMAL]
        values.states[t, TEMPERATURE] = warm + h * heat / n[t, THERMAL + 1]
    return k * current, k * follows * stiffness / r, k * follows * (damping + k) / r


@steady
def bristle_force(t, n, values, speed, h):
    """Force of bristles at the speed and its slope; advances them by the last substep."""
    at = BRISTLES
    s0, s1 = n[t, at], n[t, at + 1]
    x = speed / n[t, at + 4]
    a = s0 * abs(speed) / (n[t, at + 2] + (n[t, at + 3] - n[t, at + 2]) * math.exp(-x * x))
    left, gain = math.exp(-a * h), h
    if a * h > 1.0e-9:
        gain = (1.0 - left) / a
    z = left * values.states[t, BRISTLE] + gain * speed
    values.states[t, BRISTLE] = z
    after, c = left * z + gain * speed, (s0 + s1 / h) * gain
    return -s0 * after - s1 * (after - z) / h, c


@kernel(fastmath=STEADY)
def control_tendon(t, controllers: TendonControllers, values: TendonValues, h: np.float64):
    """Set the motor of a tendon with a controller or DC motor for a substep, and its states after it."""
    n = controllers.numbers
    if n[t, KIND] == NOTHING or values.motors[t, MOTOR_KIND] == NO_MOTOR:
        return
    gear = n[t, GEAR]
    length, speed = gear * values.start[t], gear * values.rate[t]
    i = values.inputs[t]
    slot = n[t, SLOT]
    u = i[0] if slot == 0 else (i[1] if slot == 1 else (i[2] if slot == 2 else i[3]))
    u = min(max(u, n[t, COMMAND]), n[t, COMMAND + 1])
    if n[t, MOST_RATE] > 0.0:
        s = values.states[t]
        most = h * n[t, MOST_RATE]
        u = min(max(u, s[0] - most), s[0] + most)
        values.states[t] = u, s[1], s[2], s[3]
    inputs = (
        u if slot == 0 else i[0], u if slot == 1 else i[1], u if slot == 2 else i[2], u if slot == 3 else i[3]
    )  # fmt: skip
    if n[t, KIND] == PID:
        force, k, c = wanted_force(t, n, values, inputs, length, speed, h)
        values.activation[t] = values.states[t, INTEGRAL]
    else:
        force, k, c = motor_force(t, n, values, inputs, length, speed, h)
    low, high = n[t, FORCES], n[t, FORCES + 1]
    if force < low or force > high:
        force, k, c = min(max(force, low), high), 0.0, 0.0
    if n[t, COGGING] != 0.0:
        phase = n[t, COGGING + 1] * length + n[t, COGGING + 2]
        force += n[t, COGGING] * math.sin(phase)
        k += max(-n[t, COGGING] * n[t, COGGING + 1] * math.cos(phase), 0.0)
    if n[t, BRISTLES] > 0.0:
        f, s = bristle_force(t, n, values, speed, h)
        force, c = force + f, c + s
    values.motors[t, MOTOR_FORCE] = gear * (force + c * speed)
    values.motors[t, MOTOR_DAMPING] = gear * gear * (c + h * k)
