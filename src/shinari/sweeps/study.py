"""A study on disk: its plan, what is known of its members, and its table."""

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from shinari import check
from shinari.errors import SceneError
from shinari.sweeps import journal, plan
from shinari.sweeps.member import OK, STATUSES

if TYPE_CHECKING:
    import pyarrow

PENDING = "pending"
"""Status of a member that has not run yet."""


class Study:
    """The results of a sweep.

    Args:
        folder: Folder that `sn.sweep` or `shinari sweep` wrote.

    Attributes:
        folder: The folder.
        plan: The plan.

    Raises:
        FileError: It holds no study.
    """

    def __init__(self, folder: str | os.PathLike) -> None:
        self.folder = check.path("study", "folder", folder)
        self.plan = plan.load(self.folder)
        self._rows: dict[str, dict[str, Any]] | None = None

    def __len__(self) -> int:
        return len(self.plan.members)

    def __repr__(self) -> str:
        counts = ", ".join(f"{count} {status}" for status, count in self.counts().items() if count)
        return f"Study({str(self.folder)!r}, {len(self)} members: {counts})"

    def reload(self) -> None:
        """Read again what is known of the members, for a study that runs."""
        self._rows = None

    def rows(self) -> list[dict[str, Any]]:
        """What is known of each member, in the order of the plan; `values` are those of its parameters."""
        if self._rows is None:
            self._rows = journal.latest(self.folder)
        nothing = {"status": PENDING, "message": "", "measures": {}}
        return [
            {**nothing, **self._rows.get(one.hash, {}), "member": one.hash, "values": one.values}
            for one in self.plan.members
        ]

    def counts(self) -> dict[str, int]:
        """Number of members of each status."""
        found = Counter(row["status"] for row in self.rows())
        return {status: found.get(status, 0) for status in (*STATUSES, PENDING)}

    def failed(self) -> list[dict[str, Any]]:
        """Rows of the members that ended otherwise than well; `message` says why."""
        return [row for row in self.rows() if row["status"] not in (OK, PENDING)]

    def columns(self) -> list[str]:
        """Names of the parameters, then of the measures."""
        measures: dict[str, None] = {}
        for row in self.rows():
            measures |= dict.fromkeys(row["measures"])
        return [*self.plan.parameters, *measures]

    def column(self, name: str) -> np.ndarray:
        """A parameter or a measure for each member, (N,); what is not known is not a number.

        Raises:
            SceneError: There is none of that name.
        """
        rows, known = self.rows(), self.columns()
        if name not in known:
            raise SceneError(f"study: name: unknown {check.told(name)}; known are {check.names(known, near=name)}")
        field = "values" if name in self.plan.parameters else "measures"
        values = [row[field].get(name, np.nan) for row in rows]
        if all(isinstance(value, (bool, int, float)) for value in values):
            return np.array(values)
        listed = np.empty(len(values), object)
        listed[:] = values
        return listed

    def table(self) -> "pyarrow.Table":
        """All of it as a table of Arrow; `.to_pandas()` makes a data frame of it.

        Raises:
            MissingExtraError: The extra [cluster] is not installed.
        """
        from shinari.sweeps.table import table_of

        return table_of(self.plan, self.rows())
