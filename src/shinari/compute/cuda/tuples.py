"""Loads and stores of whole tuples as those of their elements, in the language of LLVM.

Numba keeps a variable that is a tuple in memory as one aggregate. Where two values of it meet behind a branch, the
optimiser of NVVM 13.0 does not end; with elements that are loaded and stored one by one it does.
"""

import re
from collections.abc import Callable, Iterator

_LOAD = re.compile(r'^  (%"[^"]+") = load ([\[{].*), \2\* (%"[^"]+")$', re.MULTILINE)
_STORE = re.compile(r'^  store ([\[{].*) (%"[^"]+"|zeroinitializer|undef), \1\* (%"[^"]+")$', re.MULTILINE)
_ARRAY = re.compile(r"\[(\d+) x (.*)\]$")


def split_tuples(text: str) -> str:
    """The text of a module in which no aggregate is loaded or stored."""
    return _STORE.sub(_store, _LOAD.sub(_load, text))


def _load(found: re.Match) -> str:
    result, kind, address = found.groups()
    lines, whole, each = [], "undef", list(_elements(kind))
    name = _names(result)
    for k, (path, element) in enumerate(each):
        place, value = name(f"at{k}"), name(f"of{k}")
        lines += [_pointer(place, kind, address, path), f"  {value} = load {element}, {element}* {place}"]
        target = result if k == len(each) - 1 else name(f"to{k}")
        lines.append(f"  {target} = insertvalue {kind} {whole}, {element} {value}, {', '.join(path)}")
        whole = target
    return "\n".join(lines) if lines else found.group()


def _store(found: re.Match) -> str:
    kind, value, address = found.groups()
    lines = []
    name = _names(f'%"{address[2:-1]}.{found.start()}"')
    for k, (path, element) in enumerate(_elements(kind)):
        place, part = name(f"at{k}"), value
        lines.append(_pointer(place, kind, address, path))
        if value.startswith("%"):
            part = name(f"of{k}")
            lines.append(f"  {part} = extractvalue {kind} {value}, {', '.join(path)}")
        lines.append(f"  store {element} {part}, {element}* {place}")
    return "\n".join(lines) if lines else found.group()


def _names(base: str) -> Callable[[str], str]:
    """Names of values that belong to one."""
    return lambda suffix: f'{base[:-1]}.{suffix}"'


def _pointer(place: str, kind: str, address: str, path: tuple[str, ...]) -> str:
    steps = ", ".join(f"i32 {step}" for step in ("0", *path))
    return f"  {place} = getelementptr inbounds {kind}, {kind}* {address}, {steps}"


def _elements(kind: str) -> Iterator[tuple[tuple[str, ...], str]]:
    """Paths and types of the numbers and pointers of an aggregate."""
    if array := _ARRAY.match(kind):
        parts = int(array.group(1)) * [array.group(2)]
    elif kind.startswith("{") and kind.endswith("}"):
        parts = _split(kind[1:-1])
    else:
        yield (), kind
        return
    for k, part in enumerate(parts):
        for path, element in _elements(part):
            yield (str(k), *path), element


def _split(text: str) -> list[str]:
    """Parts between the commas of a list of types, but not inside of brackets."""
    parts, depth, begin = [], 0, 0
    for at, character in enumerate(text):
        depth += (character in "[{(<") - (character in "]})>")
        if character == "," and depth == 0:
            parts.append(text[begin:at].strip())
            begin = at + 1
    return [part for part in [*parts, text[begin:].strip()] if part]
