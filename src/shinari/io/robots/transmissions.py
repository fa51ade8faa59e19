"""Actuators of an MJCF that act on sites, through cranks and on ball joints: as levers of tendons of their own."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from shinari.geometry.motion import quaternion_product, rotation_matrix
from shinari.io.robots.mechanism import BALL, Mechanism
from shinari.scene.handle import BodyHandle
from shinari.scene.tendon import Crank, Thrust, Via

AT_JOINT, AT_JOINT_IN_PARENT, AT_CRANK, AT_SITE = 0, 1, 2, 4
"""Kinds of what an actuator acts on."""
_OPPOSITE = np.array([1.0, -1.0, -1.0, -1.0])


def has_levers(model: Any, index: int) -> bool:
    """Whether an actuator acts on a site, through a crank or on a ball joint."""
    kind, target = int(model.actuator_trntype[index]), int(model.actuator_trnid[index, 0])
    on_ball = kind in (AT_JOINT, AT_JOINT_IN_PARENT) and int(model.jnt_type[target]) == BALL
    return kind in (AT_CRANK, AT_SITE) or on_ball


class LeverReader:
    """Makes the levers of actuators.

    Args:
        m: The robot.
        bodies: Its bodies by number.
        point: Where a place of the file is in the scene.
        turn: Unit quaternion that turns directions of the file to those of the scene.
    """

    def __init__(
        self, m: Mechanism, bodies: Mapping[int, BodyHandle], point: Callable[[Any], np.ndarray], turn: np.ndarray
    ) -> None:
        self._m, self._bodies, self._point = m, bodies, point
        self._turn, self._matrix = turn, rotation_matrix(turn)

    def levers(self, index: int) -> list[Thrust | Crank]:
        """The levers of an actuator; none where nothing that it acts on can move."""
        m, model = self._m, self._m.model
        kind, target = int(model.actuator_trntype[index]), [int(k) for k in model.actuator_trnid[index]]
        gear = np.array(model.actuator_gear[int(model.actuator_outadr[index])])
        if kind == AT_CRANK:
            ends, found = target, self._crank(index, *target)
        elif kind == AT_SITE:
            ends, found = [k for k in target if k >= 0], self._thrust(gear, *target)
        else:
            body = int(model.jnt_bodyid[target[0]])
            moved = [body, int(model.body_parentid[body])]
            return [self._on_ball(gear[:3], target[0], kind == AT_JOINT)] if self._movable(moved) else []
        return found if self._movable([int(m.model.site_bodyid[k]) for k in ends]) else []

    def _movable(self, bodies: list[int]) -> bool:
        carriers = [self._m.carrier(body) for body in bodies]
        return any(body and not self._m.static[body] for body in carriers)

    def _body(self, body: int) -> BodyHandle | None:
        return self._bodies.get(self._m.carrier(body))

    def _site(self, site: int) -> tuple[BodyHandle | None, np.ndarray, np.ndarray]:
        """The body of a site, where it is in the scene, and the matrix of its axes there."""
        m = self._m
        axes = self._matrix @ np.array(m.data.site_xmat[site]).reshape(3, 3)
        return self._body(int(m.model.site_bodyid[site])), self._point(m.data.site_xpos[site]), axes

    def _crank(self, index: int, pin: int, slider: int) -> list[Thrust | Crank]:
        body, place, _ = self._site(pin)
        base, origin, axes = self._site(slider)
        rod = float(self._m.model.actuator_cranklength[index])
        return [Crank(body, place, Via(base, origin), axes[:, 2], rod)]

    def _thrust(self, gear: np.ndarray, site: int, reference: int) -> list[Thrust | Crank]:
        if not gear.any():
            return []
        body, place, axes = self._site(site)
        if reference < 0:
            return [Thrust(body, place, axes @ gear[:3], axes @ gear[3:])]
        base, origin, carried = self._site(reference)
        turned = self._relative(self._site_turn(site), self._site_turn(reference))
        return [Thrust(body, place, carried @ gear[:3], carried @ gear[3:], Via(base, origin), turned)]

    def _site_turn(self, site: int) -> np.ndarray:
        m, body = self._m, int(self._m.model.site_bodyid[site])
        return quaternion_product(np.array(m.data.xquat[body]), np.array(m.model.site_quat[site]))

    def _relative(self, turn: np.ndarray, other: np.ndarray) -> np.ndarray:
        """By how much one is turned from the other, in the axes of the scene."""
        found = quaternion_product(turn, other * _OPPOSITE)
        return quaternion_product(quaternion_product(self._turn, found), self._turn * _OPPOSITE)

    def _on_ball(self, gear: np.ndarray, joint: int, own_axes: bool) -> Thrust:
        """A moment between a body and its parent, in the axes of the one or of the other."""
        m, model = self._m, self._m.model
        body = int(model.jnt_bodyid[joint])
        parent, place = int(model.body_parentid[body]), self._point(m.data.xanchor[joint])
        turn = np.array(m.data.xquat[body])
        at = int(model.jnt_qposadr[joint])
        zero = quaternion_product(turn, np.array(m.data.qpos[at : at + 4]) * _OPPOSITE)
        above, below = self._body(body), self._body(parent)
        if own_axes:
            moment = -(self._matrix @ rotation_matrix(turn) @ gear)
            base = Via(above, place)
            return Thrust(below, place, moment=moment, base=base, turned=self._relative(zero, turn))
        moment = self._matrix @ rotation_matrix(zero) @ gear
        return Thrust(above, place, moment=moment, base=Via(below, place), turned=self._relative(turn, zero))
