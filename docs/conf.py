"""Sphinx configuration: `make docs` builds into out/docs, with warnings as errors and without a network."""

import sys
from pathlib import Path

import shinari

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "shinari"
author = "the shinari contributors"
copyright = author
version = release = shinari.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    # in _ext:
    "docstrings",
    "gallery",
    "mathml",
    "names",
    "notebooks",
    "reference",
]
exclude_patterns = ["_build", "pictures/*.md"]
html_theme = "furo"
html_title = "shinari"
html_static_path = ["_static"]
html_css_files = ["shinari.css"]
html_copy_source = False
smartquotes = False  # two hyphens begin an option
html_theme_options = {"navigation_with_keys": True}

myst_enable_extensions = ["dollarmath", "deflist", "colon_fence", "attrs_block", "attrs_inline"]
nb_execution_mode = "off"  # the tests run them
myst_heading_anchors = 3
html_math_renderer = "mathml"

# Docstrings are written for people who read them in an editor: `name` is code.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
maximum_signature_line_length = 88
autodoc_default_options = {"members": True, "inherited-members": True}
napoleon_numpy_docstring = False
napoleon_use_ivar = True

# A name of ours has to be there. Those of Python, NumPy and others would need their indices from the network.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!shinari\.).*")]
