"""How `make docs` turns this folder into pages."""

import inspect
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "credalens"
author = "The credalens developers"
release = installed("credalens")
version = release.partition("+")[0]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx-mathjax-offline",
    "numpydoc",
    "matplotlib.sphinxext.plot_directive",
    "sphinx_copybutton",
    "sphinx_design",
    "tables",
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
templates_path = ["_templates"]
exclude_patterns = ["images", "_templates"]
nitpicky = False
default_role = "py:obj"

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"  # numpydoc says types in words
autodoc_mock_imports = ["torch"]  # the pages are made without it
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Figures are made by the code shown above them, in one process per page.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 140)]
plot_rcparams = {"figure.figsize": (7.2, 4.2), "savefig.bbox": "tight", "font.size": 11}

# The mathematics is typeset by the reader's browser with a script that the pages carry along.
html_theme = "pydata_sphinx_theme"
html_title = "credalens"
toc_object_entries_show_parents = "hide"  # the names fit beside the page
# Pages without pages below them have no navigation of their own.
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_context = {"default_mode": "auto"}
html_sidebars = {
    name: [] for name in ("start", "choose", "mathematics", "scaling", "comparison", "cli")
}
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Say what the extension does not: pages may be read in parallel. It only copies a script."""
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.connect("source-read", close_up)
    app.connect("autodoc-process-signature", own_constructor)


def close_up(app, name, source):
    """Leave out the empty line that ends a doctest before the fence that ends its block."""
    source[0] = re.sub(r"\n\n( *```\n)", r"\n\1", source[0])


def own_constructor(app, what, name, thing, options, signature, returns):
    """Give a class on top of a stand-in for torch's its own parameters, not the stand-in's."""
    if what != "class" or signature != "(*args, **kwargs)" or "__init__" not in vars(thing):
        return None
    return f"({', '.join([*inspect.signature(thing.__init__).parameters][1:])})", returns
