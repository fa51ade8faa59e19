"""Free groups of particles with stress of their own: they do not begin to turn by themselves."""
