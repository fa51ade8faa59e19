"""Memory is asked for before it is taken, so that a list that grows too long ends in an error, not in the system.

Linux gives more memory than it has and ends the process, or another one, when it is written to. So what may be large is
compared with what is there: free physical memory, the limits of the process and those of its control groups.
"""

import ctypes
import os
import sys
from pathlib import Path

from shinari.errors import MemoryLimitError

# Smaller requests are not looked at [bytes]: asking the system takes some 50 us.
LARGE = 1 << 25
# Part of the available memory that one request may take.
MOST = 0.8
# Limits of a control group from here on mean that there is none [bytes].
NO_LIMIT = 1 << 60

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")


def require_memory(size: int, what: str) -> None:
    """See to it that memory can be had.

    Args:
        size: How much [bytes].
        what: Object and list for the message: `"rigid bodies: contacts: 12000 candidate pairs"`.

    Raises:
        MemoryLimitError: It is more than most of what is available.
    """
    if size < LARGE:
        return
    available = available_memory()
    if available is not None and size > MOST * available:
        raise MemoryLimitError(
            f"{what}: they need {_readable(size)} of memory, available are {_readable(available)}; accepted are at "
            f"most {MOST:.0%} of that. Take fewer or slower objects, more substeps, or raise the limit on memory."
        )


def available_memory() -> int | None:
    """Memory that this process can still take [bytes]; None where the system does not say."""
    known = [*_physical(), *_limits(), *_group_limits()]
    return max(0, min(known)) if known else None


def resident_memory() -> int | None:
    """Memory that this process has taken and uses [bytes]; None where the system does not say."""
    try:
        return int((_PROC / "self" / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError, IndexError):
        return None


def _readable(size: int) -> str:
    return f"{size / 2**30:.2f} GiB" if size >= 2**30 else f"{size / 2**20:.0f} MiB"


def _physical() -> list[int]:
    """Free physical memory, or all of it where the system says no more."""
    try:
        for line in (_PROC / "meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return [1024 * int(line.split()[1])]
    except (OSError, ValueError):
        pass
    if sys.platform == "win32":
        return _physical_of_windows()
    try:
        return [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")]
    except (AttributeError, OSError, ValueError):
        return []


def _physical_of_windows() -> list[int]:
    # MEMORYSTATUSEX: two numbers of 4 bytes, then of 8: total, free, ...
    status = (ctypes.c_uint64 * 8)()
    status[0] = ctypes.sizeof(status)
    kernel = getattr(ctypes, "windll").kernel32  # noqa: B009
    return [int(status[2])] if kernel.GlobalMemoryStatusEx(status) else []


def _limits() -> list[int]:
    """What the limits of the process (ulimit -v, -d) leave."""
    try:
        import resource

        # pages: all, resident, shared, text, library, data
        pages = [int(n) for n in (_PROC / "self" / "statm").read_text().split()]
        page = os.sysconf("SC_PAGE_SIZE")
    except (ImportError, OSError, ValueError, AttributeError):
        return []
    left = []
    for limit, used in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
        soft = resource.getrlimit(limit)[0]
        if soft != resource.RLIM_INFINITY:
            left.append(soft - used * page)
    return left


def _group_limits() -> list[int]:
    """What the control groups of the process, and those that contain them, leave."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return []
    left = []
    for line in lines:
        number, controllers, path = line.split(":", 2)
        if number == "0":
            names, root = ("memory.max", "memory.current", "inactive_file"), _GROUPS
        elif "memory" in controllers.split(","):
            names, root = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"), _GROUPS / "memory"
        else:
            continue
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents):
            left += _left_in(group, *names)
            if group == root:
                break
    return left


def _left_in(group: Path, limit_name: str, usage_name: str, cache_name: str) -> list[int]:
    """What the limit of a control group leaves; what is cached of files can be taken from them."""
    try:
        limit = (group / limit_name).read_text().strip()
        if limit == "max" or int(limit) >= NO_LIMIT:
            return []
        usage = int((group / usage_name).read_text())
        cached = [int(s[1]) for s in map(str.split, (group / "memory.stat").read_text().splitlines())
                  if s[0] == cache_name]  # fmt: skip
    except (OSError, ValueError, IndexError):
        return []
    return [int(limit) - usage + sum(cached)]
