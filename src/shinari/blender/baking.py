"""Runs `shinari run` in a process of its own, so that Blender stays alive: progress, cancel, messages.

No `bpy` here. The process prints a line of JSON for its progress (`shinari run --progress`); a thread reads them.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections import deque
from pathlib import Path
from typing import Any

PYTHON_FILE = "python.txt"
"""File next to the add-on, written by `shinari blender`: the Python that has shinari."""
LONGEST_MESSAGE = 30
"""Lines of messages that are kept."""


def python_with_shinari(chosen: str = "") -> list[str]:
    """Words that start shinari: those of the Python that was chosen, of the one that made the add-on, or of the path.

    Raises:
        ValueError: There is none.
    """
    note = Path(__file__).with_name(PYTHON_FILE)
    for python in (chosen, os.environ.get("SHINARI_PYTHON", ""), note.read_text("utf-8") if note.exists() else ""):
        if python.strip():
            if shutil.which(python.strip()) is None:
                raise ValueError(f"{python.strip()}: is no program; set Python with shinari in the preferences")
            return [python.strip(), "-m", "shinari.cli"]
    found = shutil.which("shinari")
    if found is None:
        raise ValueError("shinari is not found: set Python with shinari in the preferences of the add-on")
    return [found]


class Bake:
    """A run in a process of its own.

    Args:
        program: Words that start shinari.
        scene: Scene file.
        output: Result, `.npz`.

    Attributes:
        output: The result.
        done: Part that is done, 0 to 1.
        left: Time left [s]; None: not known yet.
    """

    def __init__(self, program: list[str], scene: Path, output: Path) -> None:
        self.output = output
        self.done, self.left = 0.0, None
        self.cancelled = False
        self._said: deque[str] = deque(maxlen=LONGEST_MESSAGE)
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONHOME"}
        more: dict[str, Any] = {}
        if sys.platform == "win32":  # so that Ctrl-Break reaches it alone, without a console of its own
            more["creationflags"] = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.CREATE_NO_WINDOW
        words = [*program, "run", str(scene), "-o", str(output), "--progress"]
        try:
            self._process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, encoding="utf-8",
                errors="replace", cwd=scene.parent, env=environment, **more,
            )  # fmt: skip
        except OSError as error:
            raise ValueError(f"{program[0]}: does not start: {error.strerror}") from error
        self._readers = [
            threading.Thread(target=self._read_progress, daemon=True),
            threading.Thread(target=self._read_messages, daemon=True),
        ]
        for reader in self._readers:
            reader.start()

    @property
    def running(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def text(self) -> str:
        """How far it is, in a few words."""
        if self.done == 0.0:
            # the sidebar shows some thirty letters and cuts the middle out of more, where the count is
            return self._said[-1].removeprefix("shinari: ").split(", ")[0] if self._said else "starting"
        left = "" if self.left is None else f", {self.left:.0f} s left"
        return f"{100.0 * self.done:.0f} %{left}"

    def cancel(self) -> None:
        """Ask it to stop after the step; the second call ends it at once."""
        if self.running:
            gently = signal.CTRL_BREAK_EVENT if sys.platform == "win32" else signal.SIGTERM
            if self.cancelled:
                self._process.kill()
            else:
                self._process.send_signal(gently)
        self.cancelled = True

    def result(self) -> str:
        """Wait for the end.

        Returns:
            Warnings, one a line; the result is in `output`. Of a run that was cancelled it has the frames so far.

        Raises:
            ValueError: The run failed; the message is that of shinari.
        """
        code = self._process.wait()
        for reader in self._readers:
            reader.join()
        said = [line.removeprefix("shinari: ") for line in self._said]
        if code != 0 and not (self.cancelled and self.output.exists()):
            raise ValueError("; ".join(said[-3:]) or f"shinari ended with the code {code}")
        return "\n".join(line.removeprefix("warning: ") for line in said if line.startswith("warning: "))

    def _read_progress(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as stream:
            for line in stream:
                told = json.loads(line)
                self.done, self.left = told["step"] / max(told["steps"], 1), told["seconds_left"]

    def _read_messages(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                if line.strip():
                    self._said.append(line.strip())
