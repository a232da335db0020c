"""The section on how well each score ranks the errors."""

from __future__ import annotations

from typing import Any

from credalens.measures.quantify import COMPONENTS
from credalens.report.charts import FAMILY_STYLES, ORACLE, RANDOM
from credalens.report.data import ReportData
from credalens.report.markup import Markup, join, tag
from credalens.report.ranking import (
    BASELINE_LABELS,
    RANDOM_ORDERS,
    Ranking,
    family_label,
    score_label,
)
from credalens.report.sections import section, table
from credalens.report.summary_text import level, number

#: Metrics of the table, and their headings.
SHOWN_METRICS = {"aurc": "AURC", "augrc": "AUGRC", "prr": "PRR", "auroc": "AUROC"}


def ranking_section(data: ReportData, ranking: Ranking) -> Markup:
    """Return the best score, the rejection curves and the metrics of all scores."""
    panels = [
        tag("div", tag("h3", f"{component} uncertainty".capitalize()),
            tag("div", _class="chart", data_chart=f"curve-{component}"),
            _areas(data, ranking, component))
        for component in COMPONENTS
    ]  # fmt: skip
    caption = (
        "Accuracy of the remaining predictions when the most uncertain ones are rejected first, "
        f"over all {number(data.n)}. AUC: area under the curve, 1 is perfect. MR: share of the "
        "steps in which the accuracy does not decrease. The random curve is an expectation, its MR "
        f"the mean over {RANDOM_ORDERS} random orders. Aleatoric intervals are ranked by their "
        "lower end, then by their upper end. Confidence, entropy of the mean and mutual "
        "information are baselines that do not use the credal set."
    )
    frequent = (
        f"Always predicting the most frequent label has an accuracy of "
        f"{level(round(ranking.majority_class, 4))}."
    )
    return section(
        "curves", "Accuracy after rejection",
        tag("p", ranking.best.describe(), " ", frequent, _class="lead"),
        tag("figure", tag("div", *panels, _class="panels three"), tag("figcaption", caption)),
        _metrics(data, ranking),
    )  # fmt: skip


def _areas(data: ReportData, ranking: Ranking, component: str) -> Markup:
    """Return the table below the curves of one component, which is also their legend."""
    rows: list[tuple[Any, str, float, float]] = []
    for (part, family), curve in ranking.scores.items():
        if part == component:
            name = family_label(data, family, component)
            if (component, family) == ("total", "entropy") and "hartley" in data.families:
                name += ", Hartley"
            rows.append((FAMILY_STYLES[family], name, curve.auc, curve.monotonicity_ratio))
    oracle = ranking.oracle
    rows.append((ORACLE, "Oracle", oracle.auc, oracle.monotonicity_ratio))
    rows.append((RANDOM, "Random", ranking.random.auc, ranking.random_ratio))
    cells = [
        [join([_line(style), name]), f"{auc:.4f}", f"{ratio:.2f}"]
        for style, name, auc, ratio in rows
    ]
    return table([tag("span", "ranked by", _class="hidden"), "AUC", "MR"], cells, "numbers")


def _line(style: tuple[str, list[int]]) -> Markup:
    colour, dash = style
    stroke = tag("line", x1=0, y1=6, x2=34, y2=6, style=f"stroke:{colour}", stroke_width=3,
                 stroke_dasharray=" ".join(map(str, dash)) if dash != [1, 0] else None)  # fmt: skip
    return tag("svg", stroke, width=34, height=12, aria_hidden="true", _class="line")


def _metrics(data: ReportData, ranking: Ranking) -> Markup | None:
    """Return the metrics of all scores; the best value of each is in bold."""
    if not ranking.metrics:
        return None
    best = {
        name: (max if name in ("prr", "auroc") else min)(
            getattr(one, name) for one in ranking.metrics.values()
        )
        for name in SHOWN_METRICS
    }
    rows: list[list[Any]] = []
    for (component, family), found in ranking.metrics.items():
        kind = ", baseline" if (component, family) in BASELINE_LABELS else ""
        row: list[Any] = [f"{score_label(data, component, family)}{kind}".capitalize()]
        row.append(f"{ranking.scores[component, family].auc:.4f}")
        for name in SHOWN_METRICS:
            value = getattr(found, name)
            text = f"{value:.4f}"
            row.append(tag("strong", text) if value == best[name] else text)
        rows.append(row)
    caption = (
        "AURC: mean risk over all coverages. AUGRC: mean generalised risk. PRR: area between the "
        "score and a random order, relative to the oracle. AUROC: of the detection of errors. "
        "Smaller is better for the first two, larger for the others; equal scores are averaged "
        "over their orders."
    )
    return join([
        tag("h3", "Metrics of selective prediction"),
        table(["score", "AUC", *SHOWN_METRICS.values()], rows, "numbers"),
        tag("p", caption, _class="note"),
    ])  # fmt: skip
