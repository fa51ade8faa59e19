"""From a scene to a model: topology, colouring, order in memory, distances on surfaces; each tested alone."""
