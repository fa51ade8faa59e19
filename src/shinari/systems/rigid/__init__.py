"""Rigid bodies: their motion, joints and contacts, solved together in each substep.

`system.py` records the phases of a substep, `equations.py` the solution. The files in the order of their use:

1. Detect contacts. `contact/margins.py` decides whether pairs are found again, `contact/broad.py` and
   `contact/pair_lists.py` list candidate pairs, `contact/pairs.py` and `contact/mesh_pairs.py` find or update their
   points, `contact/table.py` writes the table of contact points.
2. Predict the poses: `integration.py`.
3. Write the elements (`elements.py`): contact points by `points.py`, joints by `joints/evaluate.py`, which calls
   `joints/rows.py`, `joints/limits.py` and `joints/gears.py`.
4. Assign the elements to the graph, with its components: `graph.py`. `elimination.py` and `elimination_tree.py` order
   the bodies of each, `supernodes.py` lists those that are eliminated together.
5. Solve each component by Newton steps: `newton.py` chooses the solver and decides on further steps, `direct_solver.py`
   records a step, `direct.py` assembles the matrix, `panels.py` and `factor.py` factor it with the operations of
   `block.py`, `refine.py` uses an earlier factor, `line_search.py` finds the step length. Heaps in motion, and those
   that cost too much, are solved by `sweeps.py`: `joint_trees.py` finds the trees of joints, which `sweep_trees.py`
   solves and `sweep_renewal.py` factors again where they have come far, `sweep_groups.py` lists and colours the other
   elements, `sweep_rows.py` writes the rows of the contact points, `sweep_points.py` solves them and `sweep_joints.py`
   the joints that close loops.
6. Limit the energy of impacts: `impact_energy.py`.
7. Derive the velocities from the poses: `integration.py`. Store the loads of joints: `joints/results.py`.
8. Apply restitution to the velocities: `impacts.py` records `bounce.py`, `sweep_bounce.py` and `impact_energy.py`.
9. Report the contact forces: `report.py`.

Before a substep, `sleep.py` wakes islands that are about to be touched; after a step it updates the idle times of the
bodies. `model.py` has the constant data of a scene, `frames.py`, `components.py` and `progress.py` the records that
these files share.
"""
