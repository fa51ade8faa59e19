r"""Wing nut: what spins about its middle axis turns over, again and again, without anything that pushes it.

          __            Dzhanibekov saw it on a wing nut in 1985, in orbit; Poinsot knew in 1834. The angular momentum L
         |  |           stays where it is; in the axes of the body it moves on the circle of its length and on the
    =====|__|=====      ellipsoid of its energy, and there the middle axis is a saddle

With moments of inertia I1 < I2 < I3 the angular velocity along the middle axis is a Jacobi elliptic function of time
(Landau and Lifshitz, Mechanics, section 37). From one turning over to the next it takes 2 K(m) / l; for
L^2 > 2 E I2

    l^2 = (I3 - I2) (L^2 - 2 E I1) / (I1 I2 I3),    m = (I2 - I1) (2 E I3 - L^2) / ((I3 - I2) (L^2 - 2 E I1)),

and with 1 and 3 exchanged otherwise. Checked: that time, the energy and the angular momentum.
"""

import argparse
from pathlib import Path

import numpy as np

import shinari as sn
from shinari.geometry.motion import rotation_matrix
from shinari.output.recorder import Recorder

SPIN, NUDGE = 12.0, 0.02  # about the middle axis and beside it [rad/s]


def build() -> tuple[sn.Scene, np.ndarray, np.ndarray]:
    """A nut with two wings that spins; its moments and their axes in columns, from small to large."""
    scene = sn.Scene(gravity=(0.0, 0.0, 0.0))
    shape = sn.Compound([sn.Cylinder(0.012, 0.03), (sn.Box((0.09, 0.02, 0.006)), (0.0, 0.008, 0.0))])
    probe = sn.Scene()
    probe.add_rigid_body(shape, density=7800.0)
    body = probe.bodies[0]
    order = np.argsort(body.moments)
    axes = rotation_matrix(body.axes)[:, order]
    scene.add_rigid_body(shape, density=7800.0, angular_velocity=SPIN * axes[:, 1] + NUDGE * axes[:, 0], name="nut")
    return scene, body.moments[order], axes


def time_to_turn(moments: np.ndarray, spin: np.ndarray) -> float:
    """Time from one turning over to the next [s], of angular velocities along the axes."""
    squared, energy = ((moments * spin) ** 2).sum(), 0.5 * (moments * spin**2).sum()
    i1, i2, i3 = moments if squared > 2.0 * energy * moments[1] else moments[::-1]
    rate = np.sqrt((i3 - i2) * (squared - 2.0 * energy * i1) / (i1 * i2 * i3))
    m = (i2 - i1) * (2.0 * energy * i3 - squared) / ((i3 - i2) * (squared - 2.0 * energy * i1))
    a, b = 1.0, np.sqrt(1.0 - m)  # K(m) by the arithmetic-geometric mean
    for _ in range(20):
        a, b = 0.5 * (a + b), np.sqrt(a * b)
    return float(np.pi / a / rate)


def shown() -> sn.Simulation:
    """What `shinari view` shows."""
    return sn.Simulation(build()[0])


def main(arguments: list[str] | None = None) -> None:
    """Spin, find when it turns over, check, write results."""
    parser = argparse.ArgumentParser(description="a wing nut turns over in flight")
    parser.add_argument("--seconds", type=float, default=6.0, help="time to watch [s]; it turns over three times in 6")
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the results")
    options = parser.parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)

    scene, moments, axes = build()
    simulation = sn.Simulation(scene)
    spin = axes.T @ scene.bodies[0].angular_velocity
    exact = time_to_turn(moments, spin)
    energy, momentum = simulation.energy().total, simulation.angular_momentum()
    outputs = [options.out / "wing_nut.html", options.out / "wing_nut.npz"]
    turned, before = [], spin[1]
    with Recorder(simulation, outputs, frames_per_second=60.0, title="a wing nut") as recorder:
        recorder.record()
        while simulation.time < options.seconds:
            simulation.step()
            recorder.record()
            _, rotation = simulation.pose("nut")
            now = axes[:, 1] @ rotation_matrix(rotation).T @ simulation.state.body_angular_velocities[0]
            if now * before < 0.0:
                turned.append(simulation.time - now / (now - before) * simulation.settings.dt)
            before = now
    between = np.diff(turned)
    drift = abs(simulation.energy().total / energy - 1.0)
    lost = np.linalg.norm(simulation.angular_momentum() - momentum) / np.linalg.norm(momentum)
    print(f"moments {moments}; it turned over {len(turned)} times")
    print(
        f"every {between.mean():.4f} s, from {between.min():.4f} to {between.max():.4f}; the theory says {exact:.4f} s"
    )
    print(f"energy is off by {drift:.1e}, angular momentum by {lost:.1e}")
    assert len(turned) >= 3, "it hardly turns over"
    assert np.abs(between / exact - 1.0).max() < 0.01, "it turns over at the wrong time"
    assert drift < 1e-3
    assert lost < 1e-6
    print(f"wrote {', '.join(str(path) for path in outputs)}")


if __name__ == "__main__":
    main()
