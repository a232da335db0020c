"""How `make docs` turns this folder into pages."""

from importlib.metadata import version as installed

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
]
source_suffix = {".rst": "restructuredtext", ".md": "markdown"}
templates_path = ["_templates"]
exclude_patterns = ["images", "_templates"]
nitpicky = False

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 3

autosummary_generate = True
autosummary_generate_overwrite = True
autodoc_typehints = "none"  # numpydoc says types in words
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# Figures are made by the code shown above them, in one process a page.
plot_include_source = True
plot_html_show_source_link = False
plot_html_show_formats = False
plot_formats = [("png", 140)]
plot_pre_code = "import numpy as np\nimport matplotlib.pyplot as plt\nimport credalens as cl\n"
plot_rcparams = {"figure.figsize": (7.2, 4.2), "savefig.bbox": "tight", "font.size": 11}

# The mathematics is typeset by the reader's browser with a script that the pages carry along.
html_theme = "pydata_sphinx_theme"
html_title = "credalens"
# Pages without pages below them have no navigation of their own.
html_sidebars = {name: [] for name in ("start", "choose", "mathematics", "scaling", "comparison")}
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": True,
    "secondary_sidebar_items": ["page-toc"],
    "navbar_align": "left",
    "show_toc_level": 2,
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
