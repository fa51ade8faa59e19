"""The step and the kernels it is made of."""
