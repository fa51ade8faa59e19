"""Adds fluids to a scene."""

from typing import Any

import numpy as np

from shinari.scene import check
from shinari.scene.arguments import given_material, surface_of
from shinari.scene.contents import Contents
from shinari.scene.fluid_material import FluidMaterial, Sampling
from shinari.scene.handle import Handle
from shinari.scene.motion import NO_ROTATION
from shinari.scene.surface import Surface
from shinari.scene.things import Particles

_NO_ROTATION = tuple(NO_ROTATION.tolist())


class Fluids(Contents):
    """Fluids."""

    def add_fluid(
        self,
        shape_or_points: Any,
        *,
        spacing: float,
        material: FluidMaterial | None = None,
        position: Any = (0.0, 0.0, 0.0),
        rotation: Any = _NO_ROTATION,
        velocity: Any = None,
        support: float = 2.0,
        kernel: str = "poly6",
        dimensions: int = 3,
        boundary: str = "walls",
        name: str | None = None,
    ) -> Handle:
        """Add a fluid made of particles."""
        name = self._name("fluid", name)
        thing = f"fluid {name!r}"
        material = given_material(thing, material, FluidMaterial)
        points = self._placed(thing, check.array(thing, "points", shape_or_points, (None, 3)), position, rotation)
        masses = np.full(len(points), material.rest_density * spacing**3)
        return self._add_group(
            Particles(
                name,
                "fluid",
                points,
                masses,
                self._velocities(thing, velocity, masses),
                np.full(len(points), 0.5 * spacing),
                Surface(material.friction, None, material.restitution, 0.0),
                material=material,
                sampling=Sampling(spacing, support, kernel, dimensions, boundary),
            )
        )
