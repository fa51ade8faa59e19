"""What to say about functions of the user that cannot be compiled."""

from numba.core.errors import NumbaError

from shinari.errors import SceneError


def uncompilable(thing: str, error: NumbaError) -> SceneError:
    """What to raise when a function of the user cannot be compiled, in one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    noise = ("Failed in", "During:", "File ", "No implementation", "There are", "-", "Of which", "Overload", "<source")
    told = [line for line in lines if line and not line.startswith(noise)]
    return SceneError(f"{thing}: cannot be compiled as it is called: {(told or lines)[0][:200]}")
