"""Figures of the grid: cost against N, M and K."""

from __future__ import annotations

from pathlib import Path

#: The colour-blind safe palette of Okabe and Ito; the markers differ as well.
STYLES = {
    "credalens": ("#0072B2", "o", "-"),
    "NumPy": ("#E69F00", "s", "-"),
    "paper's pseudocode": ("#D55E00", "^", "-"),
    "SciPy": ("#D55E00", "v", "-"),
    "SciPy pdist": ("#CC79A7", "D", "-"),
    "SciPy wasserstein_distance": ("#D55E00", "v", "--"),
    "probly 0.9.1": ("#000000", "P", "-"),
    "probly 0.3.0": ("#56B4E9", "X", "--"),
    "highspy, solver reused": ("#009E73", "<", "-"),
    "highspy, new solver per problem": ("#009E73", ">", "--"),
    "POT emd2": ("#F0E442", "h", "-"),
    "read limit": ("#999999", "", ":"),
}


def style(name):
    """Return colour, marker and line style by the longest matching prefix of the name."""
    best = max((key for key in STYLES if name.startswith(key)), key=len, default="read limit")
    return STYLES[best]


def series(record, case, axis):
    """Return sizes and microseconds per instance along an axis, by implementation."""
    cells = {tuple(c["size"]): c for c in record["cells"] if c["case"] == case}
    found = {}
    for size in record["axes"].get(case, {}).get(axis, ()):
        cell = cells.get(tuple(size))
        for result in [cell["ours"], *cell["peers"]] if cell else ():
            if result["us"] is not None:
                point = size["NMK".index(axis)], result["us"]
                found.setdefault(result["name"], []).append(point)
    return found


def costs(record, cases, path: Path) -> None:
    """Draw one row of panels per case and one column per axis, and save the figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import NullFormatter, NullLocator

    columns = [a for a in "NMK" if any(series(record, case, a) for case in cases)]
    figure, panels = plt.subplots(len(cases), len(columns), squeeze=False,
                                  figsize=(3.3 * len(columns) + 2, 2.5 * len(cases)),
                                  layout="constrained")  # fmt: skip
    for row, case in zip(panels, cases, strict=True):
        for panel, axis in zip(row, columns, strict=True):
            drawn = series(record, case, axis)
            if not drawn:
                panel.set_visible(False)
                continue
            for name, points in drawn.items():
                colour, marker, line = style(name)
                ours = name == "credalens"
                panel.loglog(*zip(*points, strict=True), color=colour, marker=marker,
                             linestyle=line, label=name, markersize=6 if ours else 4.5,
                             linewidth=2.6 if ours else 1.3, zorder=3 if ours else 2,
                             markeredgecolor="#444444", markeredgewidth=0.4)  # fmt: skip
            sizes = sorted({x for points in drawn.values() for x, _ in points})
            panel.set_xticks(sizes, [f"{x:,}" for x in sizes])
            panel.xaxis.set_minor_locator(NullLocator())
            panel.yaxis.set_minor_formatter(NullFormatter())
            fixed = _fixed(record, case, axis)
            panel.set_xlabel(f"{axis}   ({fixed})" if fixed else axis, fontsize=10)
            panel.grid(alpha=0.3, linewidth=0.5)
            panel.tick_params(which="both", labelsize=9.5)
            if axis == columns[0]:
                panel.set_title(case, fontsize=12, loc="left")
                panel.set_ylabel("µs per instance", fontsize=10)
        shown = [p for p in row if p.get_visible()]
        if shown:
            handles, labels = shown[-1].get_legend_handles_labels()
            row[-1].set_visible(True)
            shown[-1].legend(handles, labels, fontsize=10, loc="center left",
                             bbox_to_anchor=(1.02, 0.5), frameon=False)  # fmt: skip
    for panel in panels.ravel():
        if not panel.lines:
            panel.set_axis_off()
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _fixed(record, case, axis):
    size = record["axes"][case][axis][0]
    others = [f"{name} = {x}" for name, x in zip("NMK", size, strict=True) if name != axis and x]
    return ", ".join(others)
