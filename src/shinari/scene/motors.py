"""Motors of joints, as the user describes them."""

from dataclasses import dataclass, replace

import numpy as np

from shinari import check
from shinari.scene.body import Drive


@dataclass(frozen=True)
class VelocityMotor:
    """Turns a hinge, or moves a slider, with a speed.

    Attributes:
        speed: Speed of the first body against the second [rad/s or m/s].
        max_force: Largest moment of a hinge [N m], largest force of a slider [N].
    """

    speed: float
    max_force: float = np.inf

    def drive(self, label: str) -> Drive:
        """The checked record; messages name `label`.

        Raises:
            SceneError: A number is not finite or negative.
        """
        speed = check.number(label, "motor: speed", self.speed)
        most = check.number(label, "motor: max_force", self.max_force, least=0.0, infinite=True)
        return Drive("velocity", speed, most=most)


@dataclass(frozen=True)
class ForceMotor:
    """Turns a hinge with a moment, or moves a slider with a force.

    Attributes:
        force: Moment [N m] or force [N] on the first body, the opposite on the second.
        max_force: Largest moment of a hinge [N m], largest force of a slider [N]; more is cut off.
    """

    force: float = 0.0
    max_force: float = np.inf

    def drive(self, label: str) -> Drive:
        """The checked record; messages name `label`.

        Raises:
            SceneError: A number is not finite or negative.
        """
        force = check.number(label, "motor: force", self.force)
        most = check.number(label, "motor: max_force", self.max_force, least=0.0, infinite=True)
        return Drive("force", force, 0.0, most=most)


@dataclass(frozen=True)
class Servo:
    """Holds a hinge at an angle, or a slider at a travel.

    With a stiffness it is a PD controller: its moment or force is stiffness (target - q) + damping (speed - q') +
    force, at most `max_force`. That holds at the end of the substep, so that no gain is too large for the time step.

    Attributes:
        target: Angle [rad] or travel [m] of the first body against the second.
        stiffness: Stiffness [N m/rad or N/m]; infinite: as stiff as the largest force allows.
        damping: Damping of the motion [N m s/rad or N s/m].
        max_force: Largest moment of a hinge [N m], largest force of a slider [N].
        speed: Speed that the damping aims at [rad/s or m/s].
        force: Moment [N m] or force [N] that is added, for example to carry the weight.
        max_speed: Largest speed at which the joint is led from where it is to the target [rad/s or m/s].
    """

    target: float
    stiffness: float = np.inf
    damping: float = 0.0
    max_force: float = np.inf
    speed: float = 0.0
    force: float = 0.0
    max_speed: float = np.inf

    def drive(self, label: str) -> Drive:
        """The checked record; messages name `label`.

        Raises:
            SceneError: A number is not finite or negative.
        """
        target = check.number(label, "motor: target", self.target)
        stiffness = check.number(label, "motor: stiffness", self.stiffness, least=0.0, infinite=True)
        damping = check.number(label, "motor: damping", self.damping, least=0.0)
        most = check.number(label, "motor: max_force", self.max_force, least=0.0, infinite=True)
        speed = check.number(label, "motor: speed", self.speed)
        force = check.number(label, "motor: force", self.force)
        fastest = check.number(label, "motor: max_speed", self.max_speed, above=0.0, infinite=True)
        return Drive("position", target, stiffness, damping, most, speed, force, fastest)


Motor = VelocityMotor | Servo | ForceMotor
MOTORS = (VelocityMotor, Servo, ForceMotor)
"""What drives a joint."""


def within(drive: Drive, max_force: float, max_speed: float) -> Drive:
    """What a motor does at a joint: no more than the joint allows.

    Args:
        drive: The motor.
        max_force: Largest moment [N m] or force [N] of the joint.
        max_speed: Its largest speed [rad/s or m/s].
    """
    target = drive.target if drive.kind != "velocity" else float(np.clip(drive.target, -max_speed, max_speed))
    return replace(drive, target=target, most=min(drive.most, max_force), fastest=min(drive.fastest, max_speed))
