"""Implicit Euler on a chain of springs, solved by Newton's method: the reference that XPBD approximates."""

import numpy as np


class NewtonChain:
    """A chain of particles below a fixed point, in a plane.

    Each step solves M (x - x~) = h^2 f(x) with f = -grad C^T C / a. Unknown are the positions and the tensions
    t = C / a, so that stiff rows leave the system well conditioned:

        r = M (x - x~) / h^2 + sum t grad C = 0,    C - a t = 0

    Args:
        points: Positions [m], (N + 1, 2), the fixed one first.
        masses: Masses [kg], (N,).
        compliance: Of each row [m/N].
        gravity: Acceleration along -Y [m/s^2].
        h: Step [s].
    """

    def __init__(self, points: np.ndarray, masses: np.ndarray, compliance: float, gravity: float, h: float) -> None:
        self.x = points[1:].astype(np.float64)
        self.v = np.zeros_like(self.x)
        self.tensions = np.zeros(len(masses))
        self._anchor = points[0].astype(np.float64)
        self._rest = np.linalg.norm(np.diff(points, axis=0), axis=1)
        self._masses, self._compliance, self._h = masses, compliance, h
        self._gravity = np.array([0.0, -gravity])

    def step(self) -> None:
        """Advance by one step; Newton's method until nothing changes."""
        predicted = self.x + self._h * self.v + self._h**2 * self._gravity
        x, t = self.x + self._h * self.v, self.tensions.copy()
        for _ in range(60):
            change_x, change_t = self._newton(x, t, predicted)
            x, t = x + change_x, t + change_t
            if np.abs(change_x).max() < 1e-12 * self._rest.sum():
                break
        else:
            raise ArithmeticError("Newton's method did not converge")
        self.v = (x - self.x) / self._h
        self.x, self.tensions = x, t

    def _newton(self, x: np.ndarray, t: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(x)
        d = np.diff(np.vstack([self._anchor, x]), axis=0)
        length = np.linalg.norm(d, axis=1)
        normal = d / length[:, None]
        weight = self._masses / self._h**2
        jacobian = np.zeros((n, 2 * n))
        hessian = np.diag(np.repeat(weight, 2))
        for r in range(n):
            block = t[r] / length[r] * (np.eye(2) - np.outer(normal[r], normal[r]))
            here, above = slice(2 * r, 2 * r + 2), slice(2 * r - 2, 2 * r)
            jacobian[r, here] = normal[r]
            hessian[here, here] += block
            if r > 0:
                jacobian[r, above] = -normal[r]
                hessian[above, above] += block
                hessian[here, above] -= block
                hessian[above, here] -= block
        force = (weight[:, None] * (x - predicted)).ravel() + jacobian.T @ t
        gap = length - self._rest - self._compliance * t
        system = np.block([[hessian, jacobian.T], [jacobian, -self._compliance * np.eye(n)]])
        change = np.linalg.solve(system, -np.concatenate([force, gap]))
        return change[: 2 * n].reshape(n, 2), change[2 * n :]
