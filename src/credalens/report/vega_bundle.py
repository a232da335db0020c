"""The plotting library that is embedded in the page.

Vega, from the wheel of vl-convert-python, adds 0.9 MB to a page (plotly 4.8 MB, Observable Plot
1.4 MB, bokeh 1.3 MB, uPlot 0.1 MB but lines only). It draws SVG whose colours may be CSS variables,
so that dark, light and print themes need no second drawing; it supports brushing and tooltips; its
wheel has no dependencies. Building the bundle takes two seconds, once per process.
"""

from __future__ import annotations

import functools
from typing import Any

from credalens import _extras


def require() -> Any:
    """Import vl-convert; if it is not installed, raise an error that names the extra."""
    return _extras.require("vl_convert", "report")


def describe() -> str:
    """Return the names and versions of the libraries that draw the charts."""
    package = require()
    lite = package.get_vegalite_versions()[-1]
    return f"Vega {package.get_vega_version()}, Vega-Lite {lite} (BSD licence)"


@functools.cache
def bundle() -> str:
    """Return Vega, Vega-Lite and their loader as one script that defines ``vegaEmbed``."""
    script = str(require().javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    # The script must not contain anything that ends a script element.
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
