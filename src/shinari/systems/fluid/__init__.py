"""Position based fluids: density, walls, viscosity, tension, emitters."""
