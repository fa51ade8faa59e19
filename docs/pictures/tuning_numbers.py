"""Prints the numbers of the tuning guide that are in its text and in no picture.

Run `python docs/pictures/tuning_numbers.py`; it needs no extra.
"""

import numpy as np
from tuning_cases import hanging, layered, loaded, mean_strain, tank, unrest

import shinari as sn


def rod_longer(substeps: int) -> float:
    """How much longer a rod of 1 m and 0.1 kg with 10 kg on its last point is after four seconds [mm]."""
    radius = 0.003
    material = sn.RodMaterial(radius=radius, density=0.1 / (np.pi * radius**2), youngs_modulus=1e9)
    scene = sn.Scene(damping=3.0)
    rod = scene.add_rod(np.linspace([0, 2, 0], [0, 1, 0], 21), material=material, point_masses=[0.0] * 20 + [10.0])
    rod.pin(0)
    sim = sn.Simulation(scene, substeps=substeps, threads=1)
    sim.step(240)
    return 1e3 * float(1.0 - sim.positions(rod)[20, 1])


def main() -> None:
    """Measure and print."""
    print("cloth is rubbery: mean strain of 60 x 60 vertices")
    for substeps, iterations, hierarchy in ((5, 1, False), (5, 4, False), (20, 1, False), (5, 1, True), (20, 1, True)):
        strain = mean_strain(hanging(60, substeps=substeps, iterations=iterations, hierarchy=hierarchy))
        print(f"  {substeps} x {iterations}, hierarchy={hierarchy}: {strain:.4f}")
    print("it jitters: rms speed in the sixth second, and mean strain after it, 40 x 40 vertices, 20 substeps")
    for label, damping, material in (
        ("as it is", 0.0, None),
        ("Scene(damping=0.5)", 0.5, None),
        ("ClothMaterial(damping=0.01)", 0.0, sn.ClothMaterial(damping=0.01)),
    ):
        sim = hanging(40, damping=damping, material=material)
        print(f"  {label}: {unrest(sim):.4f} m/s, {np.abs(sim.strains()).mean():.4f}")
    print("a rope under a load: how much longer [mm]")
    for substeps, tears, tether in (
        (5, False, False),
        (40, False, False),
        (10, True, False),
        (40, True, False),
        (10, True, True),
    ):
        longer = loaded(substeps, tears, tether)[1]
        print(f"  {substeps} substeps, {'swept' if tears else 'at once'}{', a tether' if tether else ''}: {longer:.1f}")
    for substeps in (10, 20):
        print(f"  rod, {substeps} substeps: {rod_longer(substeps):.1f}")
    print("a fluid compresses")
    for settings in ({"substeps": 4}, {"substeps": 1, "iterations": 5}):
        print(f"  {settings}: {tank('', **settings).value}")
    print("grains sink")
    # where masses fall as exp(-k y), k times the height of a grain is 6 here
    print(f"  8 substeps, mass_scaling=300: {layered(8, 300.0)[1]:.4f} grains")


if __name__ == "__main__":
    main()
