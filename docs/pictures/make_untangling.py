"""Makes `untangling.jpg`: surfaces that start in each other come apart; rows are cases, columns are times."""

from pathlib import Path

import numpy as np
import pyvista as pv

from shinari.verify.untangling import crossed, in_ball, lay_out, loop, tee

CASES = {"crossed": crossed, "tee": tee, "loop": loop, "ball": in_ball}
STEPS = (0, 6, 9)


def main() -> None:
    """Run the cases and draw them."""
    pv.OFF_SCREEN = True
    plotter = pv.Plotter(shape=(len(CASES), len(STEPS)), window_size=[700, 800], off_screen=True, border=False)
    for row, (name, build) in enumerate(CASES.items()):
        case = build()
        sim = case.simulation("float32")
        if build is loop:
            lay_out(sim)
        for column, steps in enumerate(STEPS):
            if steps:
                sim.step(steps)
            plotter.subplot(row, column)
            for obj, colour in zip(case.scene.particle_objects, ("tomato", "steelblue"), strict=False):
                faces = np.insert(obj.faces, 0, 3, axis=1).ravel()
                mesh = pv.PolyData(sim.positions(obj.name).astype(float), faces)
                plotter.add_mesh(mesh, color=colour, show_edges=True)
            plotter.add_text(f"{name} {sim.time:.2f} s", font_size=7)
            plotter.camera_position = [(0.4, 0.35, 0.6), (0.0, 0.0, 0.0), (0.0, 1.0, 0.0)]
    plotter.screenshot(Path(__file__).with_name("untangling.jpg"))


if __name__ == "__main__":
    main()
