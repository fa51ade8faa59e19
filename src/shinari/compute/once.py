"""What is made once in a process, also when several threads ask for it at the same time."""

import os
import threading
from collections.abc import Callable
from functools import cache, wraps
from typing import Any, Generic, TypeVar

T = TypeVar("T")

LOCK = threading.RLock()
"""Held while kernels are made, compiled and loaded."""

if hasattr(os, "register_at_fork"):
    # a child has none of the threads that hold it
    os.register_at_fork(before=LOCK.acquire, after_in_parent=LOCK.release, after_in_child=LOCK.release)


def once(build: Callable) -> Any:
    """Let a function of hashable arguments, that makes kernels or types of records, make each of them once.

    `functools.cache` alone calls it twice when two threads ask before the first call has ended: a record of one type
    would then meet a kernel that was made for another of the same name.
    """
    made = cache(build)

    @wraps(build)
    def get(*arguments: Any, **keywords: Any) -> Any:
        with LOCK:
            return made(*arguments, **keywords)

    return get


class cached_property(Generic[T]):  # noqa: N801
    """An attribute that a method makes when it is first read; two threads get the one that is there first.

    That of `functools` holds, before Python 3.12, one lock for all objects of a class: a child that is forked while
    another thread reads the attribute waits for that lock without end.
    """

    def __init__(self, build: Callable[[Any], T]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        return instance.__dict__.setdefault(self._name, self._build(instance))
