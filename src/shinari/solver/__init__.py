"""From a scene to steps: builds the model, binds the systems, records the step, runs it.

The kernels of a step are in `shinari.systems`. `docs/step.md` follows a step through the files.
"""
