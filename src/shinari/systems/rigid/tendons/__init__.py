"""Tendons: lengths over joints and along paths over bodies, as Jacobian rows of the equations of bodies."""
