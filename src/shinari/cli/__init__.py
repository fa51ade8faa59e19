"""The command line: one file a command, imported when the command is called, so that `shinari --help` stays fast.

Exit codes of every command:

| code | meaning |
|---|---|
| 0 | all went well |
| 1 | a check failed (`verify`, `bench`, `doctor`) |
| 2 | bad input: a scene, a file or an option |
| 3 | the simulation diverged; what was written so far, and the last good state, are kept |
| 4 | an extra is not installed; the message names it |
| 130 | interrupted; what was written so far, and a checkpoint, are kept |

Errors and warnings are one line on standard error; with `--json` standard output gets errors too, as
`{"status": "error", ...}`.
A command is a function of the same name as its file, which may return an exit code.
"""

import errno
import io
import json
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, TextIO

from cyclopts import App, CycloptsError

from shinari import __version__, check, errors, variables
from shinari.errors import DivergenceError, MissingExtraError, ShinariError

OK, FAILED, BAD_INPUT, DIVERGED, MISSING_EXTRA, INTERRUPTED = 0, 1, 2, 3, 4, 130

UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of a stream that takes no more."""

LONGEST_WORD, LONGEST_MESSAGE = 400, 4000
"""Characters of a word in a message, such as a path, and of a message; of longer ones the middle is left out."""

COMMANDS = {
    "run": "Run a scene file and write the results.",
    "demo": "Run a scene that comes with the package.",
    "render": "Draw a run, or a scene, as pictures and videos.",
    "view": "Look at a scene in the browser.",
    "sweep": "Run a scene with many values of its parameters.",
    "plot": "Plot energies, momenta, residual and strain of a run.",
    "verify": "Check every method against closed forms and papers.",
    "bench": "Measure speed and memory.",
    "info": "Say what is in a scene, mesh, result or checkpoint.",
    "blender": "Write the extension for Blender.",
    "schema": "Print the JSON schema of scene files.",
    "warm": "Compile kernels ahead of time.",
    "doctor": "Say what this machine has and whether all works.",
}
"""Commands and what they do; one without its file is left out."""

_HELP = """Position based dynamics: cloth, ropes and more.

Exit codes: 0 all went well; 1 a check failed; 2 bad input; 3 the simulation diverged; 4 an extra is not installed;
130 interrupted.
"""


def make_app() -> App:
    """The application with all its commands, none of them imported yet."""
    app = App(name="shinari", help=_HELP, version=__version__, result_action="return_value")
    for name, summary in COMMANDS.items():
        if find_spec(f"shinari.cli.{name}") is not None:
            app.command(f"shinari.cli.{name}:{name}", name=name, help=summary)
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Args:
        arguments: Words of the command line; None: those of the process.

    Returns:
        The exit code, see above.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):  # None when the process was started without one
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115  as long as the process
    if isinstance(sys.stdout, io.TextIOWrapper):  # names that its encoding lacks, and those of files that are no UTF-8
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        return _run(words)
    except BrokenPipeError:  # the reader of the output has gone, as in `shinari schema | head`
        _lead_nowhere(sys.stdout)
        return OK
    except OSError as error:
        if error.errno not in UNWRITABLE or error.filename is not None:
            raise
        _lead_nowhere(sys.stdout)
        try:
            print(f"shinari: standard output: cannot be written: {error.strerror}", file=sys.stderr, flush=True)
        except OSError:
            _lead_nowhere(sys.stderr)
        return BAD_INPUT


def _run(words: list[str]) -> int:
    """Run a command; gives its exit code."""
    try:
        with _plain_warnings():
            variables.check_all()
            code = make_app()(words, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except CycloptsError as error:
        return _fail(error, BAD_INPUT, words)
    except DivergenceError as error:
        return _fail(error, DIVERGED, words)
    except MissingExtraError as error:
        return _fail(error, MISSING_EXTRA, words)
    except ShinariError as error:
        return _fail(error, BAD_INPUT, words)
    except KeyboardInterrupt:
        return _fail(KeyboardInterrupt("interrupted"), INTERRUPTED, words)
    except SystemExit as end:  # Rich, which prints the help, makes one of a broken pipe
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    return code if isinstance(code, int) else OK


def _lead_nowhere(stream: TextIO) -> None:
    """Give a stream up: what waits in it would fail again when Python ends."""
    with open(os.devnull, "w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


@contextmanager
def _plain_warnings() -> Iterator[None]:
    """While it lasts, what the engine warns of is one line, without the place in the code."""
    with warnings.catch_warnings():
        show = warnings.showwarning

        def tell(message: Warning | str, category: type[Warning], *place: Any, **more: Any) -> None:
            if category.__module__ == errors.__name__:
                print(f"shinari: warning: {' '.join(str(message).split())}", file=sys.stderr)
            else:
                show(message, category, *place, **more)

        warnings.showwarning = tell
        yield


def _fail(error: BaseException, code: int, words: list[str]) -> int:
    lines = [check.plain(str(error), LONGEST_WORD, LONGEST_MESSAGE), *getattr(error, "__notes__", ())]
    if "--json" in words:
        report = {"status": "error", "exit_code": code, "error": type(error).__name__, "message": "; ".join(lines)}
        print(json.dumps(report), flush=True)
    print(f"shinari: {'; '.join(lines)}", file=sys.stderr)
    return code
