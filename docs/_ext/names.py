"""References to names where they are defined lead to where they are documented.

Signatures say `shinari.shapes.sphere.Sphere`, or only `Sphere`; pages document it as `shinari.Sphere`. What is ours and
has no page stays plain text; what is nowhere stays a warning.
"""

from importlib import import_module

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.nodes import make_refnode


def resolve(app: Sphinx, env: BuildEnvironment, node: pending_xref, content: nodes.Element):
    """The documented object whose last name is the same, when there is exactly one; else the text, if it is ours."""
    if node.get("refdomain") != "py":
        return None
    last = node["reftarget"].rpartition(".")[2]
    found = {
        (entry.docname, entry.node_id): name
        for name, entry in env.domains.python_domain.objects.items()
        if name.rpartition(".")[2] == last and entry.objtype in ("class", "exception", "function", "data")
    }
    if len(found) != 1:
        return content if _exists(node["reftarget"]) else None
    (((page, anchor), name),) = found.items()
    return make_refnode(app.builder, node["refdoc"], page, anchor, content, name)


def _exists(name: str) -> bool:
    """Whether that name can be imported from the package."""
    module, _, last = name.rpartition(".")
    try:
        return module.startswith("shinari") and hasattr(import_module(module), last)
    except ImportError:
        return False


def setup(app: Sphinx) -> dict:
    """Register the resolver."""
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
