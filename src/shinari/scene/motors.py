"""Motors of joints, as the user describes them."""

from dataclasses import dataclass

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
class Servo:
    """Holds a hinge at an angle, or a slider at a travel.

    Attributes:
        target: Angle [rad] or travel [m] of the first body against the second, 0 as they were added.
        stiffness: Stiffness [N m/rad or N/m]; infinite: as stiff as the largest force allows.
        damping: Damping of the motion [N m s/rad or N s/m].
        max_force: Largest moment of a hinge [N m], largest force of a slider [N].
    """

    target: float
    stiffness: float = np.inf
    damping: float = 0.0
    max_force: float = np.inf

    def drive(self, label: str) -> Drive:
        """The checked record; messages name `label`.

        Raises:
            SceneError: A number is not finite or negative.
        """
        target = check.number(label, "motor: target", self.target)
        stiffness = check.number(label, "motor: stiffness", self.stiffness, above=0.0, infinite=True)
        damping = check.number(label, "motor: damping", self.damping, least=0.0)
        most = check.number(label, "motor: max_force", self.max_force, least=0.0, infinite=True)
        return Drive("position", target, stiffness, damping, most)
