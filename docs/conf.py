"""Sphinx configuration of the documentation, for `make docs`."""

import inspect
import re
import sys
from importlib.metadata import version as installed
from pathlib import Path

import credalens

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
autodoc_typehints = "none"  # numpydoc describes the types
autodoc_mock_imports = ["torch"]  # the documentation is built without PyTorch
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Figures are plotted by the code shown above them.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 140)]
plot_rcparams = {"figure.figsize": (7.2, 4.2), "savefig.bbox": "tight", "font.size": 11}

# MathJax, which is copied into the pages, typesets formulas in the browser.
html_theme = "pydata_sphinx_theme"
html_title = "credalens"
toc_object_entries_show_parents = "hide"  # full names do not fit into the sidebar
# Pages without subpages have no primary sidebar.
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = ["explorer_frame.js"]
html_context = {"default_mode": "auto"}
html_sidebars = {
    name: []
    for name in (
        "start",
        "choose",
        "mathematics",
        "scaling",
        "backends",
        "comparison",
        "cli",
        "explorer",
        "glossary",
        "faq",
        "citing",
    )
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
    """Register the event handlers."""
    # The extension only copies a script, so that pages can be read in parallel.
    app.extensions["sphinx-mathjax-offline"].parallel_read_safe = True
    app.connect("source-read", strip_doctest_end)
    app.connect("autodoc-process-signature", constructor_signature)
    app.connect("build-finished", write_explorer)


def write_explorer(app, exception):
    """Write the page of the live figure."""
    if exception is None and app.builder.format == "html":
        credalens.explore.write(Path(app.outdir) / "_static" / "explorer_figure.html")


def strip_doctest_end(app, name, source):
    """Remove the empty line between the end of a doctest and the end of its code block."""
    source[0] = re.sub(r"\n\n( *```\n)", r"\n\1", source[0])


def constructor_signature(app, what, name, thing, options, signature, returns):
    """Document the parameters of a class whose base class is a mock object of PyTorch."""
    if what != "class" or signature != "(*args, **kwargs)" or "__init__" not in vars(thing):
        return None
    return f"({', '.join([*inspect.signature(thing.__init__).parameters][1:])})", returns
