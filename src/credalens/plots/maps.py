"""Maps of uncertainty over an image, and curves of uncertainty over a real-valued input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array, concrete_values
from credalens.measures import Interval, Uncertainty
from credalens.plots.style import (
    COLOURS,
    COMPONENTS,
    Legend,
    finish,
    line_width,
    merged,
    new_axes,
)

#: Maximum number of maps in a row.
MAPS_PER_ROW = 5


def uncertainty_maps(
    u: Uncertainty | Mapping[str, Any],
    *,
    image: Any = None,
    shared_scale: bool = True,
    axes: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot maps of uncertainty, one pixel per prediction.

    Parameters
    ----------
    u : Uncertainty, or mapping of str to array-like of shape (H, W) or Interval
        The result of `credalens.quantify` for a batch of shape (H, W), of which total, aleatoric
        (both ends) and epistemic uncertainty are plotted, or any named maps. NaN is left blank, for
        instance outside of a mask.
    image : array-like of shape (H, W), (H, W, 3) or (H, W, 4), optional
        The input, plotted first.
    shared_scale : bool, default=True
        Whether all maps have the same colour scale from 0, so that their colours can be compared,
        and one colour bar. Otherwise each map has its own.
    axes : sequence of matplotlib Axes, optional
        Axes to plot into, one per map, after one for the image; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.imshow` for the maps.

    Returns
    -------
    array of matplotlib Axes
        In the order of the maps, after that of the image.

    See Also
    --------
    uncertainty_curves : uncertainty over a real-valued input.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> members = np.random.default_rng(0).dirichlet(np.ones(3), (8, 12, 5))  # (H, W, M, K)
    >>> axes = cl.plots.uncertainty_maps(cl.quantify(members))
    >>> [ax.get_title() for ax in axes]
    ['total', 'aleatoric, lower', 'aleatoric, upper', 'epistemic']
    """
    maps = {name: _map(values, f"u[{name!r}]") for name, values in _components(u).items()}
    shapes = {values.shape for values in maps.values()}
    if len(shapes) != 1:
        _validation.raise_invalid(
            "u", f"has maps of shapes {sorted(shapes)}", "pass maps of one shape"
        )
    (shape,) = shapes
    picture = None if image is None else _picture(image, shape)
    count = len(maps) + (picture is not None)
    axes = _axes(count, shape) if axes is None else np.atleast_1d(np.asarray(axes, object)).ravel()
    if len(axes) != count:
        _validation.raise_invalid("axes", f"has {len(axes)} axes", f"pass {count}, one per map")
    for ax in axes:
        ax.set_axis_off()
    if picture is not None:
        axes[0].imshow(picture, cmap="gray")
        axes[0].set_title("input")
    finite = [values[np.isfinite(values)] for values in maps.values()]
    largest = max((float(values.max()) for values in finite if len(values)), default=1.0)
    ends = {"vmin": 0.0, "vmax": largest or 1.0} if shared_scale else {}
    own = axes[count - len(maps) :]
    for ax, (name, values) in zip(own, maps.items(), strict=True):
        style = {"cmap": "viridis", "interpolation": "nearest", **ends, **kwargs}
        if "norm" in kwargs:
            style = {key: value for key, value in style.items() if key not in ("vmin", "vmax")}
        drawn = ax.imshow(values, **style)
        ax.set_title(name)
        if not shared_scale:
            ax.figure.colorbar(drawn, ax=ax, shrink=0.8)
    if shared_scale:
        own[0].figure.colorbar(drawn, ax=list(axes), shrink=0.8, fraction=0.03, pad=0.01)
    return axes


def uncertainty_curves(
    x: Any,
    u: Uncertainty | Mapping[str, Any],
    *,
    xlabel: str = "input",
    ylabel: str = "uncertainty",
    legend: Legend = True,
    ax: Any = None,
    **kwargs: Any,
) -> Any:
    """Plot total, aleatoric and epistemic uncertainty over a real-valued input.

    Parameters
    ----------
    x : array-like of shape (n,)
        The input of each instance, in any order.
    u : Uncertainty, or mapping of str to array-like of shape (n,) or Interval
        The result of `credalens.quantify` for a batch of n instances, or any named scores. An
        interval is plotted as the band between its ends.
    xlabel, ylabel : str
        Labels of the axes.
    legend : bool or dict, default=True
        Whether to add a legend; a mapping has keyword arguments of `Axes.legend`.
    ax : matplotlib Axes, optional
        Axes to plot into; by default those of a new figure.
    **kwargs
        Keyword arguments of `Axes.plot` for the curves.

    Returns
    -------
    matplotlib Axes

    See Also
    --------
    uncertainty_maps : uncertainty over an image.

    Examples
    --------
    >>> import numpy as np
    >>> import credalens as cl
    >>> x = np.linspace(-2, 2, 9)
    >>> p = 1 / (1 + np.exp(-np.outer(x, [1, 2, 4])))  # three logistic models
    >>> ax = cl.plots.uncertainty_curves(x, cl.quantify(np.stack([1 - p, p], axis=-1)))
    >>> ax.get_legend_handles_labels()[1]
    ['total', 'aleatoric', 'epistemic']
    """
    at = _validation.finite(x, "x")
    if at.ndim != 1:
        _validation.raise_invalid("x", f"has shape {at.shape}", "pass one number per instance")
    scores = {name: _ends(values, len(at), f"u[{name!r}]") for name, values in _parts(u).items()}
    if not scores:
        _validation.raise_invalid("u", "is empty", "pass at least one named score")
    order = np.argsort(at, kind="stable")
    ax = new_axes(6.4, 4.2) if ax is None else ax
    for i, (name, ends) in enumerate(scores.items()):
        band = len(ends) == 2
        # Thin ends: the upper one is often equal to the total uncertainty.
        style = {"color": COMPONENTS.get(name, COLOURS[i % len(COLOURS)]),
                 "lw": line_width(0.8 if band else 2), "zorder": 2 if band else 2.5}  # fmt: skip
        style = merged("lines.Line2D", style, kwargs)
        for end in ends:
            (drawn,) = ax.plot(at[order], end[order], **{**style, "label": f"_{name}"})
        if band:
            colour, (low, high) = drawn.get_color(), (end[order] for end in ends)
            ax.fill_between(at[order], low, high, color=colour, alpha=0.25, lw=0, label=name)
        else:
            drawn.set_label(name)
    return finish(ax, xlabel, ylabel, legend=legend, ncols=3)


def _parts(u: Any) -> dict[str, Any]:
    """Return the components of an uncertainty, or the named scores of a mapping."""
    if isinstance(u, Mapping):
        return dict(u)
    if not isinstance(u, Uncertainty):
        _validation.raise_invalid(
            "u", f"is a {type(u).__name__}", "pass the result of quantify, or named arrays"
        )
    named = {"total": u.total, "aleatoric": u.aleatoric, "epistemic": u.epistemic}
    return {name: values for name, values in named.items() if values is not None}


def _components(u: Any) -> dict[str, Any]:
    """Return the named arrays; the ends of an interval as two of them."""
    found: dict[str, Any] = {}
    for name, values in _parts(u).items():
        if isinstance(values, Interval):
            found |= {f"{name}, lower": values.lower, f"{name}, upper": values.upper}
        else:
            found[name] = values
    if not found:
        _validation.raise_invalid("u", "is empty", "pass at least one named map")
    return found


def _map(values: Any, name: str) -> Array:
    array = _validation.numeric(concrete_values(values), name).astype(np.float64)
    if array.ndim != 2:
        _validation.raise_invalid(name, f"has shape {array.shape}", "pass a map of shape (H, W)")
    return np.asarray(array)


def _picture(image: Any, shape: tuple[int, ...]) -> Array:
    array = np.asarray(concrete_values(image))
    if array.shape[:2] != shape or array.shape[2:] not in ((), (3,), (4,)):
        _validation.raise_invalid(
            "image", f"has shape {array.shape}", f"pass {shape}, or three or four channels of it"
        )
    return array


def _ends(values: Any, n: int, name: str) -> tuple[Array, ...]:
    ends = tuple(values) if isinstance(values, Interval) else (values,)
    arrays = tuple(_validation.finite(concrete_values(end), name) for end in ends)
    for array in arrays:
        if array.shape != (n,):
            _validation.raise_invalid(
                name, f"has shape {array.shape}", f"pass one number per instance, ({n},)"
            )
    return arrays


def _axes(count: int, shape: tuple[int, ...]) -> Array:
    columns = min(count, MAPS_PER_ROW)
    rows = -(-count // columns)
    ratio = min(max(shape[0] / max(shape[1], 1), 0.3), 2.0)
    found = new_axes(2.5 * columns + 0.6, (2.5 * ratio + 0.4) * rows, columns, rows)
    axes = np.atleast_1d(np.asarray(found, object)).ravel()
    axes[0].figure.set_layout_engine("compressed")  # maps have a fixed aspect ratio
    for ax in axes[count:]:
        ax.remove()
    return axes[:count]
