"""A dense solver of bodies and joints in NumPy, for tests of joints alone: no sparse solver, no contact."""

import numpy as np

import shinari as sn
from shinari.compute import Program
from shinari.geometry.motion import rotation_matrix
from shinari.maths.quaternion import multiply
from shinari.systems.rigid.components import Components
from shinari.systems.rigid.elements import Elements
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.integration import as_frame
from shinari.systems.rigid.joints.joints import Joints, start_joints
from shinari.systems.rigid.joints.table import joints_of

UNIT = np.eye(6)


def cross_matrix(r):
    return np.array([[0.0, -r[2], r[1]], [r[2], 0.0, -r[0]], [-r[1], r[0], 0.0]])


def full(s):
    xx, yy, zz, yz, zx, xy = s
    return np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]])


def exponential(v):
    angle = np.linalg.norm(v)
    axis = v / angle if angle > 0 else v
    return np.array([np.cos(angle / 2), *(np.sin(angle / 2) * axis)])


def product(a, b):
    return np.array(multiply(a.tolist(), b.tolist()))


def logarithm(q):
    q = q if q[0] >= 0 else -q
    sine = np.linalg.norm(q[1:])
    return 2.0 * np.arctan2(sine, q[0]) / sine * q[1:] if sine > 1e-14 else 2.0 * q[1:]


class World:
    """Bodies and joints of a scene, stepped by dense Newton steps."""

    def __init__(self, scene, h=1 / 600, steps=4):
        self.scene, self.h, self.steps = scene, h, steps
        count = len(scene.bodies)
        self.frames = f = Frames.zeros(count + 1)
        self.free = [i for i, b in enumerate(scene.bodies) if b.mass > 0.0]
        for i, b in enumerate(scene.bodies):
            f.x[i], f.q[i] = as_frame(b.position, b.rotation, b.centre, b.axes)
            f.v[i], f.w[i] = b.velocity, b.angular_velocity
            if b.mass > 0.0:
                f.inverse_mass[i], f.moments[i] = 1.0 / b.mass, b.moments
        f.x0[...], f.q0[...] = f.x, f.q
        self.parts = start_joints(scene.joints) | {
            "bodies/x": f.x[:count], "bodies/q": f.q[:count], "bodies/velocities": f.v[:count],
            "bodies/angular_velocities": f.w[:count],
        }  # fmt: skip
        self.joints = Joints(joints_of(scene.bodies, scene.joints), self.parts)
        self.jacobian_rows = self.joints.jacobian_rows()
        self.elements = Elements.zeros(len(scene.joints) + len(self.jacobian_rows))
        records = self.elements, self.jacobian_rows, self.frames
        self.evaluate_all, self.settle_all = Program(), Program()
        self.joints.record_evaluate(self.evaluate_all, *records, h)
        self.joints.record_settle(self.settle_all, *records, Components.zeros(1), h)
        self.torques = np.zeros((count + 1, 3))

    def evaluate(self):
        """Elements, bars and their rows, as the frames are now."""
        self.evaluate_all.run()
        self.jacobians = [self.jacobian(e) for e in range(len(self.scene.joints))]
        self.bar_rows = [self.bar_row(g) for g in range(len(self.jacobian_rows.force))]

    def start_substep(self):
        """The next evaluation is the first of a substep."""
        self.joints.phase.first[0] = 1

    def jacobian(self, e):
        """Rows d and phi of element e over all frames, (6, 6 F)."""
        el, rows = self.elements, np.zeros((6, 6 * len(self.frames.x)))
        for side, sign in ((0, 1.0), (1, -1.0)):
            i, r = int(el.frames[e, side]), el.arms[e, 3 * side : 3 * side + 3]
            rows[:, 6 * i : 6 * i + 6] += sign * UNIT
            rows[:3, 6 * i + 3 : 6 * i + 6] -= sign * cross_matrix(r)
        return rows

    def bar_row(self, g):
        row = np.zeros(6 * len(self.frames.x))
        for side in range(2):
            i = int(self.elements.frames[len(self.scene.joints) + g, side])
            row[6 * i : 6 * i + 6] += self.jacobian_rows.jacobian[g, 6 * side : 6 * side + 6]
        return row

    def system(self):
        """Stiffness of all elements and bars over all frames, and their force."""
        el, jacobian_rows, size = self.elements, self.jacobian_rows, 6 * len(self.frames.x)
        k, f = np.zeros((size, size)), np.zeros(size)
        for e, j in enumerate(self.jacobians):
            both = np.zeros((6, 6))
            both[:3, :3], both[3:, 3:] = full(el.stiffness[e, :6]), full(el.stiffness[e, 6:])
            k += j.T @ both @ j
            f += j.T @ el.force[e]
        for g, row in enumerate(self.bar_rows):
            k += jacobian_rows.stiffness[g] * np.outer(row, row)
            f += jacobian_rows.force[g] * row
        return k, f

    def inertia(self, i, q):
        turn = rotation_matrix(q)
        return turn @ np.diag(self.frames.moments[i]) @ turn.T

    def move(self, i, motion):
        f = self.frames
        f.x[i] += motion[:3]
        f.q[i] = product(exponential(motion[3:]), f.q[i])
        f.q[i] /= np.linalg.norm(f.q[i])

    def step(self, count=1):
        for _ in range(count):
            self._substep()

    def _substep(self):
        f, h = self.frames, self.h
        f.x0[...], f.q0[...] = f.x, f.q
        for i in self.free:
            f.v[i] += h * self.scene.gravity
            inertia = self.inertia(i, f.q[i])
            gyroscopic = cross_matrix(f.w[i]) @ inertia @ f.w[i]
            f.w[i] += h * np.linalg.solve(inertia, self.torques[i] - gyroscopic)
        for i in range(len(self.scene.bodies)):
            self.move(i, h * np.concatenate([f.v[i], f.w[i]]))
        moved = np.zeros((len(f.x), 6))
        chosen = np.concatenate([np.arange(6 * i, 6 * i + 6) for i in self.free])
        for _ in range(self.steps):
            self.evaluate()
            k, force = self.system()
            for i in self.free:
                at = slice(6 * i, 6 * i + 6)
                mass = np.zeros((6, 6))
                mass[:3, :3], mass[3:, 3:] = UNIT[:3, :3] / f.inverse_mass[i], self.inertia(i, f.q[i])
                k[at, at] += mass / h**2
                force[at] -= mass @ moved[i] / h**2
            motion = np.zeros(len(force))
            motion[chosen] = np.linalg.solve(k[np.ix_(chosen, chosen)], force[chosen])
            for e, jacobian in enumerate(self.jacobians):
                self.elements.displacement[e] = jacobian @ motion
            for g, row in enumerate(self.bar_rows):
                self.jacobian_rows.displacement[g] = row @ motion
            for i in self.free:
                self.move(i, motion[6 * i : 6 * i + 6])
                moved[i] += motion[6 * i : 6 * i + 6]
        self.settle_all.run()
        for i in self.free:
            f.v[i] = (f.x[i] - f.x0[i]) / h
            f.w[i] = logarithm(product(f.q[i], f.q0[i] * [1, -1, -1, -1])) / h


def two_bodies(rng, at=(0.0, 0.0, 0.0), gravity=(0.0, 0.0, 0.0)):
    """A scene with two bodies of uneven mass and inertia, turned at random, off their origins."""
    scene, pair = sn.Scene(gravity=gravity), []
    for mass in (2.0, 0.7):
        q = rng.normal(size=4)
        a = rng.normal(size=(3, 3))
        inertia = np.diag(rng.uniform(0.1, 0.17, 3)) + 0.003 * (a + a.T)
        pair.append(
            scene.add_rigid_body(
                None,
                mass=mass,
                inertia=inertia,
                centre=rng.normal(size=3) * 0.1,
                position=np.asarray(at) + rng.normal(size=3) * 0.5,
                rotation=q / np.linalg.norm(q),
            )
        )
    return scene, *pair
