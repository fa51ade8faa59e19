"""Equations as MathML, which browsers draw themselves: the pages load no script and no font from elsewhere."""

from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(self, node) -> None:
    """Write an equation within a line."""
    self.body.append(convert(node.astext()))
    raise _skip()


def block(self, node) -> None:
    """Write an equation on a line of its own, with its number if it has one."""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    label = f' id="equation-{node["label"]}"' if node.get("label") else ""
    self.body.append(f'<div class="math"{label}>{convert(node.astext(), display="block")}{number}</div>\n')
    raise _skip()


def _skip() -> Exception:
    from docutils.nodes import SkipNode

    return SkipNode()


def setup(app: Sphinx) -> dict:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
