"""The state: everything that changes while a scene runs, and all that is needed to go on from it exactly."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shinari import check
from shinari.attributes import OwnAttributes
from shinari.errors import SceneError
from shinari.model.model import Model
from shinari.scene.contents import Contents


def array_layout(arrays: dict[str, np.ndarray], growing: frozenset[str]) -> dict[str, tuple]:
    """Shape and type of the arrays of a state by name, but for the number of rows of those that grow."""
    rows = {name: 1 if name.removeprefix("parts/") in growing else 0 for name in arrays}
    return {name: (array.shape[rows[name] :], array.dtype) for name, array in arrays.items()}


@dataclass(eq=False, repr=False)
class State(OwnAttributes):
    """State of a simulation.

    `positions` and `velocities` are the arrays themselves, not copies: writing into them acts on the next step, and
    the next step writes into them. Copy values to keep. Assigning a whole array copies it in. A particle that is
    fixed or pinned goes, in the next step, evenly from where it was to where it was written; its velocity is a result.

    Attributes:
        x: Positions relative to their origin [m] and inverse mass [1/kg], in solver order, (N, 4).
        v: Velocities [m/s] in solver order, (N, 3).
        origins: Origins that positions are relative to [m], (G, 3) float64.
        multipliers: Multipliers of the last substep by block, (M,) or (M, rows), in solver order.
        broken: Rows that have broken, by block, in solver order.
        system_arrays: Arrays of the systems, by name.
        external_work: Work done from outside since the start [J], see `Energy`.
        growing: Names of arrays of `system_arrays` with as many rows as there are contacts: each step may replace them.
        coloured: Whether the rows of blocks stand in the order of a Gauss-Seidel sweep, else as they were added.
    """

    _label = "state"
    _positions: np.ndarray
    _velocities: np.ndarray
    x: np.ndarray
    v: np.ndarray
    origins: np.ndarray
    multipliers: dict[str, np.ndarray]
    broken: dict[str, np.ndarray]
    system_arrays: dict[str, np.ndarray]
    _frame: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    coloured: bool = True
    external_work: float = 0.0
    growing: frozenset[str] = frozenset()

    def __repr__(self) -> str:
        bodies = self.system_arrays.get("bodies/positions", ())
        return f"<State: frame {self.frame}, {len(self._positions)} particles, {len(bodies)} bodies>"

    @property
    def frame(self) -> int:
        """Steps taken."""
        return int(self._frame[0])

    @frame.setter
    def frame(self, value: int) -> None:
        self._frame[0] = check.count("state", "frame", value, least=0)

    @property
    def positions(self) -> np.ndarray:
        """Positions [m], (N, 3), in the order in which particles were added. A view, writable."""
        return self._positions

    @positions.setter
    def positions(self, value: Any) -> None:
        _assign("positions", self._positions, value)

    @property
    def velocities(self) -> np.ndarray:
        """Velocities [m/s], (N, 3), in the order in which particles were added. A view, writable."""
        return self._velocities

    @velocities.setter
    def velocities(self, value: Any) -> None:
        _assign("velocities", self._velocities, value)

    def on_device(self, name: str) -> Any:
        """Positions or velocities as they are on the GPU, without a copy, until the next step.

        Values written there act on the next step, as on the host; finish it before (`torch.cuda.synchronize()`).

        Args:
            name: `"positions"` or `"velocities"`.

        Returns:
            An object with `__cuda_array_interface__` and `__dlpack__`, (N, 3): `torch.as_tensor`, `torch.from_dlpack`,
            `cupy.asarray` and `numba.cuda.as_cuda_array` take it.

        Raises:
            SceneError: The simulation runs on the host.
        """
        check.choice("state", "name", name, ("positions", "velocities"))
        raise SceneError(f"state: {name}: on_device needs a simulation with device='cuda'")

    @property
    def body_positions(self) -> np.ndarray:
        """Origins of the rigid bodies, as they were described [m], (B, 3) float64. A view, writable."""
        return self._body("positions", 3)

    @body_positions.setter
    def body_positions(self, value: Any) -> None:
        _assign("body_positions", self.body_positions, value)

    @property
    def body_rotations(self) -> np.ndarray:
        """Rotations of the rigid bodies, unit quaternions w x y z, (B, 4) float64. A view, writable."""
        return self._body("rotations", 4)

    @body_rotations.setter
    def body_rotations(self, value: Any) -> None:
        _assign("body_rotations", self.body_rotations, value)

    @property
    def body_velocities(self) -> np.ndarray:
        """Velocities of the centres of mass of the rigid bodies [m/s], (B, 3) float64. A view, writable."""
        return self._body("velocities", 3)

    @body_velocities.setter
    def body_velocities(self, value: Any) -> None:
        _assign("body_velocities", self.body_velocities, value)

    @property
    def body_angular_velocities(self) -> np.ndarray:
        """Angular velocities of the rigid bodies in world axes [rad/s], (B, 3) float64. A view, writable."""
        return self._body("angular_velocities", 3)

    @body_angular_velocities.setter
    def body_angular_velocities(self, value: Any) -> None:
        _assign("body_angular_velocities", self.body_angular_velocities, value)

    def _body(self, name: str, width: int) -> np.ndarray:
        found = self.system_arrays.get(f"bodies/{name}")
        return np.zeros((0, width)) if found is None else found

    def show(self, name: str, array: np.ndarray) -> None:
        """Use another array for what the user sees, which has the same values; before anything is bound to the state.

        Args:
            name: `"positions"`, `"velocities"`, `"frame"` (1,) or `"parts/"` and the name of an array of a system.
            array: The array.
        """
        if name.startswith("parts/"):
            self.system_arrays[name.removeprefix("parts/")] = array
        else:
            setattr(self, f"_{name}", array)

    def arrays(self) -> dict[str, np.ndarray]:
        """All arrays by name, the arrays themselves."""
        result = {"positions": self._positions, "velocities": self._velocities, "x": self.x, "v": self.v}
        result["origins"] = self.origins
        result |= {f"multipliers/{name}": values for name, values in self.multipliers.items()}
        return result | self.lasting()

    def of_last_step(self) -> dict[str, np.ndarray]:
        """What each step makes anew of the particles and the rows, by name, the arrays themselves."""
        result = {"positions": self.positions, "velocities": self.velocities, "x": self.x}
        return result | {f"multipliers/{name}": values for name, values in self.multipliers.items()}

    def lasting(self) -> dict[str, np.ndarray]:
        """Arrays beside positions and velocities that last from step to step, by name, the arrays themselves."""
        result = {f"broken/{name}": values for name, values in self.broken.items()}
        return result | {f"parts/{name}": values for name, values in self.system_arrays.items()}

    def take(self, arrays: dict[str, np.ndarray]) -> None:
        """Take over the values of arrays by name, in place; those that grow are replaced by copies."""
        mine = self.arrays()
        for name, values in arrays.items():
            part = name.removeprefix("parts/")
            if part in self.growing:
                self.system_arrays[part] = values.copy()
            else:
                mine[name][...] = values

    def copy(self) -> "State":
        """An independent copy."""
        return State(
            self._positions.copy(),
            self._velocities.copy(),
            self.x.copy(),
            self.v.copy(),
            self.origins.copy(),
            {name: values.copy() for name, values in self.multipliers.items()},
            {name: values.copy() for name, values in self.broken.items()},
            {name: values.copy() for name, values in self.system_arrays.items()},
            self._frame.copy(),
            self.coloured,
            self.external_work,
            self.growing,
        )

    def of(self, arrays: dict[str, np.ndarray]) -> "State":
        """A state of this moment of other arrays, by name; those that are not given are empty."""

        def part(prefix: str) -> dict[str, np.ndarray]:
            return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}

        none = np.zeros((0, 4))
        return State(
            arrays.get("positions", none),
            arrays.get("velocities", none),
            arrays.get("x", none),
            arrays.get("v", none),
            arrays.get("origins", none),
            part("multipliers/"),
            part("broken/"),
            part("parts/"),
            self._frame.copy(),
            self.coloured,
            self.external_work,
            self.growing,
        )

    def count_steps(self, count: int) -> None:
        """Count steps that were taken, without the checks of what others assign to `frame`."""
        self._frame[0] += count

    def restore(self, other: "State") -> None:
        """Take over the values of another state of the same model, in place.

        Raises:
            SceneError: The other state belongs to another model.
        """
        check.kind("state", "other", other, State)
        if array_layout(self.arrays(), self.growing) != array_layout(other.arrays(), self.growing):
            raise SceneError("state: other: belongs to another model")
        self.take(other.arrays())
        self.frame, self.external_work = other.frame, other.external_work

    def __eq__(self, other: object) -> bool:
        """Whether both hold the same bits."""
        if not isinstance(other, State):
            return NotImplemented
        mine, theirs = self.arrays(), other.arrays()
        return (
            self.frame == other.frame
            and mine.keys() == theirs.keys()
            and all(np.array_equal(values, theirs[name], equal_nan=True) for name, values in mine.items())
        )

    __hash__ = None  # type: ignore[assignment]


def start(model: Model, scene: Contents) -> State:
    """The state in which the model of a scene begins."""
    real, n = model.real, model.particle_count
    x = np.empty((n, 4), real)
    v = np.zeros((n, 3), real)
    local = scene.positions - model.origins[model.origin_index][model.slots]
    x[model.slots, :3] = local
    positions = (model.origins[model.origin_index][model.slots] + x[model.slots, :3]).astype(real)
    # what is fixed stands exactly where it was put
    fixed = np.flatnonzero(model.masses == 0.0)
    given = scene.positions[fixed].astype(real)
    slots = model.slots[fixed]
    shifted = given - model.origins[model.origin_index[slots]]
    x[slots, :3] = np.where(positions[fixed] == given, x[slots, :3], shifted)
    positions[fixed] = given
    x[:, 3] = model.inverse_masses
    velocities = np.concatenate([np.zeros((0, 3)), *(obj.velocities for obj in scene.particle_objects)])
    v[model.slots] = np.where(model.masses[:, None] > 0.0, velocities, 0.0)
    shapes = {
        name: (b.row_count,) if b.type.rows == 1 else (b.row_count, b.type.rows) for name, b in model.blocks.items()
    }
    breakable = {b.block for b in (*model.breakables, *model.tearable_rows)}
    breakable |= {f.block for tearable_mesh in model.tearable_meshes for f in tearable_mesh.dependent_rows}
    parts = {name: array for system in model.systems for name, array in system.start(model).items()}
    return State(
        _positions=positions,
        _velocities=v[model.slots],
        x=x,
        v=v,
        origins=model.origins.copy(),
        multipliers={name: np.zeros(shape, real) for name, shape in shapes.items()},
        broken={name: np.zeros(model.blocks[name].row_count, bool) for name in sorted(breakable)},
        system_arrays=parts,
        growing=frozenset(name for system in model.systems for name in system.growing),
    )


def _assign(field: str, target: np.ndarray, value: Any) -> None:
    array = check.shaped("state", field, value)
    if array.shape != target.shape or array.dtype.kind not in "fiu":
        raise SceneError(f"state: {field}: expected numbers of shape {target.shape}, got {check.short(array)}")
    with np.errstate(over="ignore"):  # infinity is caught as divergence
        target[...] = array
