r"""The plotting library that is embedded in the page.

Vega, from the wheel of vl-convert-python, was chosen by measuring what a page would carry:

=================================  ===========  =========  ========================================
library, from PyPI                 in the page  installed  remarks
=================================  ===========  =========  ========================================
plotly 7.1.0, whole                4.8 MB       70 MB      no partial bundle to be had
Observable Plot (pyobsplot 0.5.4)  1.4 MB       587 MB     made for notebooks, brings pandas, polars
bokeh 3.9.2, core                  1.3 MB       143 MB     canvas: colours are fixed when drawn
Vega 6 (vl-convert-python 1.9.0)   0.9 MB       84 MB      SVG: themes and print by CSS alone
uPlot (uplot-python 1.1.1)         0.1 MB       137 MB     lines; marks and hover would be ours
=================================  ===========  =========  ========================================

(Installed: with what it needs, into an empty environment.)

Vega draws SVG whose colours may be CSS variables, so that dark, light and print need no second
drawing; it has brushing and tooltips; its wheel depends on nothing. The cost is two seconds to put
the bundle together, once a process.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

NEEDED = "reports need vl-convert-python; pip install 'credalens[report]'"


def _package() -> Any:
    try:
        return importlib.import_module("vl_convert")
    except ImportError:
        raise ImportError(NEEDED) from None


def require() -> None:
    """Refuse to go on without the library, before anything is computed."""
    _package()


def describe() -> str:
    """Return the names and versions of what draws the charts."""
    package = _package()
    lite = package.get_vegalite_versions()[-1]
    return f"Vega {package.get_vega_version()}, Vega-Lite {lite} (BSD licence)"


@functools.cache
def bundle() -> str:
    """Return Vega, Vega-Lite and their loader as one script that defines ``vegaEmbed``."""
    script = str(_package().javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    # Nothing in a script element may look like its end.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
