"""Equations as MathML, which browsers draw themselves: the pages load no script and no font from elsewhere."""

import re

from docutils.nodes import SkipNode
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util import logging

UNKNOWN = re.compile(r"<m[ion]>(\\\w+|&)</m[ion]>")  # a command or a mark that stayed as it was

logger = logging.getLogger(__name__)


def inline(self, node) -> None:
    """Write an equation within a line."""
    self.body.append(_mathml(node, "inline"))
    raise SkipNode


def block(self, node) -> None:
    """Write an equation on a line of its own, with its number if it has one."""
    number = f'<span class="eqno">({node["number"]})</span>' if node.get("number") else ""
    label = f' id="equation-{node["label"]}"' if node.get("label") else ""
    self.body.append(f'<div class="math"{label}>{_mathml(node, "block")}{number}</div>\n')
    raise SkipNode


def _mathml(node, display: str) -> str:
    """The equation of a node; what cannot be converted is a warning."""
    text = node.astext().replace("{aligned}", "{align}")
    result = convert(text, display=display)
    for unknown in UNKNOWN.findall(result):
        logger.warning("%s cannot be drawn in the equation %s", unknown, text, location=node)
    return result


def setup(app: Sphinx) -> dict:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
