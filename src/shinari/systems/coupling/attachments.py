"""Attachments of particles to bodies, as a part of the model."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from shinari.compute import Program
from shinari.geometry.motion import rotation_matrix
from shinari.model.particles import Origins, Particles
from shinari.model.system import System
from shinari.model.system_model import BoundSystems, SystemModel
from shinari.scene.objects import BODY_ATTACHMENT
from shinari.systems.coupling.attachment_rows import AttachmentRows, Breaks, break_attachments, solve_attachments
from shinari.systems.coupling.records import BodySweeps
from shinari.systems.coupling.response import begin_body_sweep, end_body_sweep
from shinari.systems.rigid.frames import Frames
from shinari.systems.rigid.model import frames_of

if TYPE_CHECKING:
    from shinari.model.model import Model
    from shinari.model.settings import Settings
    from shinari.model.state import State
    from shinari.scene.contents import Contents

MULTIPLIERS, BROKEN = "attachments/multipliers", "attachments/broken"


@dataclass(frozen=True)
class AttachmentModel(SystemModel):
    """What of the attachments to bodies never changes; M rows.

    Attributes:
        particles: Particle of each in solver order, (M,).
        bodies: Body of each, (M,).
        described: Place in the axes of the body as it was described [m], (M, 3).
        places: Place in the axes of the body's frame [m], (M, 3).
        lengths: Distance that is kept [m], (M,); 0: held at the place.
        compliances: Compliance [m/N], (M,).
        limits: Force above which it lets go [N], (M,).
    """

    particles: np.ndarray
    bodies: np.ndarray
    described: np.ndarray
    places: np.ndarray
    lengths: np.ndarray
    compliances: np.ndarray
    limits: np.ndarray
    multipliers = (MULTIPLIERS,)

    @property
    def tight(self) -> np.ndarray:
        """Which of them hold a particle at a place without giving way, (M,) bool."""
        return (self.lengths == 0.0) & (self.compliances == 0.0)

    def start(self, model: "Model") -> dict[str, np.ndarray]:
        """Pushes of the last substep, and what has let go."""
        return {MULTIPLIERS: np.zeros((len(self.particles), 3)), BROKEN: np.zeros(len(self.particles), bool)}

    def bind(self, bound: BoundSystems) -> "list[Attachments]":
        """The attachments of a simulation."""
        return [Attachments(self, bound.state, bound.settings, bound.particles, bound.origins)]

    def energy(self, model: "Model", state: "State", h: float) -> tuple[float, float, float]:
        """None, and the elastic energy of what has a compliance [J]."""
        on = (self.compliances > 0.0) & ~state.system_arrays[BROKEN]
        error = np.linalg.norm(self._offsets(model, state)[on], axis=1) - self.lengths[on]
        return 0.0, 0.0, 0.5 * float((error**2 / self.compliances[on]).sum())

    def forces(self, kind: str, state: "State", h: float) -> np.ndarray | None:
        """Forces of attachments on the bodies in the last substep of length h [s], (M, 3) [N]."""
        return state.system_arrays[MULTIPLIERS] * (-1.0 / h**2) if kind == BODY_ATTACHMENT else None

    def point_forces(self, state: "State", h: float) -> tuple[np.ndarray, np.ndarray]:
        """Particles, (M,), and the forces on them [N]."""
        return self.particles.astype(np.int64), np.linalg.norm(state.system_arrays[MULTIPLIERS] / h**2, axis=1)

    def _offsets(self, model: "Model", state: "State") -> np.ndarray:
        """From the place on the body to the particle [m], (M, 3)."""
        world = state.origins[model.origin_index[self.particles]] + state.x[self.particles, :3]
        rotations = np.array([rotation_matrix(q) for q in state.body_rotations])[self.bodies]
        return world - state.body_positions[self.bodies] - np.einsum("mrc,mc->mr", rotations, self.described)


class Attachments(System):
    """Attachments bound to the arrays of one simulation.

    Attributes:
        rows: What never changes.
        records: The rows as kernels see them.
    """

    order = 50
    can_rest = True
    on_device = True

    def __init__(
        self, rows: AttachmentModel, state: "State", settings: "Settings", particles: Particles, origins: Origins
    ) -> None:
        self.rows, parts = rows, state.system_arrays
        self._state, self._h, self._particles, self._origins = state, settings.substep, particles, origins
        self.records = AttachmentRows(
            np.float64,
            particle=rows.particles,
            body=rows.bodies,
            place=rows.places,
            length=rows.lengths,
            compliance=rows.compliances,
            limit=rows.limits,
            broken=parts[BROKEN],
            multiplier=parts[MULTIPLIERS],
        )
        self._breaks = Breaks.zeros(1)
        self._frames: Frames | None = None

    def connect(self, bound: BoundSystems) -> None:
        """Take the frames of the bodies, whose `x` and `q` are read and changed by `project`."""
        if self._frames is None:
            frames = frames_of(bound)
            assert frames is not None  # an attachment has a body
            self._frames, self._body_sweeps = frames, BodySweeps.zeros(len(frames))

    def take_released(self) -> bool:
        """Whether an attachment has broken since this was last asked."""
        broke = bool(self._breaks.broke[0])
        self._breaks.broke[0] = 0
        return broke

    @property
    def held(self) -> np.ndarray:
        """Particles and the bodies that hold them, (H, 2), without broken attachments."""
        on = ~self._state.system_arrays[BROKEN]
        return np.stack([self.rows.particles[on], self.rows.bodies[on]], axis=1).astype(np.int64)

    def record_project(self, p: Program, first: bool) -> None:
        """Record that all attachments are solved once."""
        frames, body_sweeps = self._frames, self._body_sweeps
        assert frames is not None
        p.launch(begin_body_sweep, frames, body_sweeps, count=len(frames))
        p.serial(
            solve_attachments, self.records, self._particles, self._origins, frames, body_sweeps, int(first), self._h
        )
        p.launch(end_body_sweep, frames, body_sweeps, self._h, count=len(frames))

    def record_finish(self, p: Program) -> None:
        """Record that attachments break whose force is above their limit."""
        if np.isfinite(self.rows.limits).any():
            p.serial(break_attachments, self.records, self._breaks, self._h)


def build_attachments(scene: "Contents", slots: np.ndarray) -> AttachmentModel:
    """The attachments of a scene to its bodies."""
    counts = [len(rows.particles) for rows in scene.body_rows]
    places = np.concatenate([rows.places for rows in scene.body_rows])
    bodies = np.repeat([rows.body for rows in scene.body_rows], counts)
    centres = np.array([body.centre for body in scene.bodies])[bodies]
    axes = np.array([rotation_matrix(body.axes) for body in scene.bodies])[bodies]
    return AttachmentModel(
        particles=slots[np.concatenate([rows.particles for rows in scene.body_rows])].astype(np.int64),
        bodies=bodies,
        described=places,
        places=np.einsum("mcr,mc->mr", axes, places - centres),
        lengths=np.concatenate([rows.lengths for rows in scene.body_rows]),
        compliances=np.repeat([rows.compliance for rows in scene.body_rows], counts).astype(np.float64),
        limits=np.repeat(
            [np.inf if rows.break_force is None else rows.break_force for rows in scene.body_rows], counts
        ).astype(np.float64),
    )
