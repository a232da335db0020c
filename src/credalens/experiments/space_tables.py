"""Tables and sentences of the comparison of spaces of hyper-parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from credalens._validation import counted
from credalens.datasets import KEEL
from credalens.experiments.forest_spaces import DEFAULT_SPACE
from credalens.experiments.output import Cell, Table
from credalens.experiments.table2_summary import GROUPS, PAPER, PublishedCell, mean_distance


@dataclass(frozen=True)
class Scored:
    """One space, and how its cells compare with the published ones."""

    label: str
    description: str
    cells: list[PublishedCell]
    #: CPU seconds of the training, validation included.
    seconds: float
    #: Area and MR in percent of every variant of the residual for K <= 10; empty if not computed.
    residuals: Mapping[str, tuple[float, float]] = field(default_factory=dict)

    def of(self, group: str | None) -> list[PublishedCell]:
        """Return the cells of a group, or all."""
        return [cell for cell in self.cells if group in (None, cell.group)]

    def near(self, group: str | None = None) -> int:
        """Return the number of cells within one standard error of the printed ones."""
        return sum(cell.distance <= 1 for cell in self.of(group))


def cell_key(cell: PublishedCell) -> tuple[str, str, str, str]:
    """Return group, component, family and quantity of a cell."""
    return cell.group, cell.component, cell.family, cell.quantity


def studied_spaces(scored: Sequence[Scored]) -> list[Scored]:
    """Return the spaces without the complete run."""
    return [one for one in scored if one.description]


def closest(scored: Sequence[Scored]) -> Scored:
    """Return the space with the smallest mean distance."""
    return min(studied_spaces(scored), key=lambda one: mean_distance(one.cells))


def sentences(scored: Sequence[Scored]) -> list[str]:
    """Return which space is closest, and which cells none reproduces."""
    best, found = closest(scored), studied_spaces(scored)
    most = max(found, key=lambda one: one.near())
    n = len(best.cells)
    lines = [
        f"The closest space is `{best.label}` ({best.description}): {best.near()} of the {n} "
        "published areas and monotonicity ratios are within one standard error of the mean, the "
        f"mean distance is {mean_distance(best.cells):.2f} standard errors."
    ]
    if most.near() > best.near():
        lines.append(f"`{most.label}` has more cells within one standard error, {most.near()}.")
    if best.label == DEFAULT_SPACE:
        lines.append(
            "It is the default of `credalens reproduce table2`. It is inferred from the published "
            "results: the paper does not state its space."
        )
    else:
        lines.append(f"The default of `credalens reproduce table2` is `{DEFAULT_SPACE}`.")
    never = [
        (cells_of_all[0], min(cells_of_all, key=lambda cell: cell.distance))
        for cells_of_all in zip(*(one.cells for one in found), strict=True)
        if min(cell.distance for cell in cells_of_all) > 1
    ]
    if never:
        listed = "; ".join(
            f"{cell.name} (paper: {cell.printed:.1f}, nearest {near.ours:.1f})"
            for cell, near in never
        )
        lines.append(f"Within one standard error in no space: {listed}.")
    return lines


def conventions(datasets: Sequence[str], splits: int, is_adjusted: bool) -> list[str]:
    """Return the conventions of the numbers."""
    left_out = sorted(set(KEEL) - set(datasets))
    lines = [
        "Distance: difference to the printed mean in its standard errors, the printed standard "
        "deviation divided by the square root of the printed number of datasets. All printed areas "
        f"and monotonicity ratios count, {2 * len(PAPER)} numbers; times do not.",
        f"{counted(len(datasets), 'dataset')}, {counted(splits, 'split')} each; left out "
        f"because of their size: {', '.join(left_out) or 'none'}.",
        "The paper refers to Chau et al. (2025), which states that hyper-parameters such as the "
        "depth are drawn at random, and does not state the space either. The spaces were chosen by "
        "hand; the score says how near each is, not that the authors used it.",
        "Training: CPU seconds for one split of every dataset, validation included.",
    ]
    lines.append(
        "Variants of the residual: S* - w GH with a weight w, and with S* divided by its maximum. "
        "They are no measures; they show which scaling the printed row could have. With the weight "
        "1 / ln 2, S* is in nats and GH in bits."
    )
    if is_adjusted:
        lines.append(
            "Means are corrected for the datasets that are left out: by the difference between "
            "the mean over all datasets and over those of the study, in the complete run in the "
            "last row, whose own numbers are not corrected."
        )
    return lines


def residual_table(scored: Sequence[Scored]) -> list[Table]:
    """Return the table of the variants of the Hartley residual, if they were computed."""
    found = [one for one in scored if one.residuals]
    if not found:
        return []
    group = GROUPS[0]
    table = Table(f"{group}: area / MR in % of variants of the residual S* - GH",
                  ("space", *found[0].residuals), n_text=1)  # fmt: skip
    printed = PAPER[group, "AU", "hartley"]
    text = f"{printed.area:.1f} / {printed.mr:.1f}"
    table.add("paper", text, *("" for _ in list(found[0].residuals)[1:]))
    for one in found:
        row = (f"{area:.1f} / {ratio:.1f}" for area, ratio in one.residuals.values())
        table.add(one.label, *row)
    return [table]


def overview(scored: Sequence[Scored], groups: Sequence[str]) -> Table:
    """Return the table of the spaces; the smallest mean distance is bold."""
    sizes = {group: len(scored[0].of(group)) for group in groups}
    table = Table(
        "Cells within one standard error, and mean distance in standard errors",
        ("space", "hyper-parameters", *(f"{g} within (of {sizes[g]})" for g in groups), "all",
         *(f"{g} distance" for g in groups), "all", "training s"),
    )  # fmt: skip
    best = closest(scored)
    for one in scored:
        distances = (f"{mean_distance(one.of(group)):.2f}" for group in groups)
        table.add(
            one.label, one.description, *(str(one.near(group)) for group in groups),
            str(one.near()), *distances,
            Cell(f"{mean_distance(one.cells):.2f}", one is best), f"{one.seconds:.0f}",
        )  # fmt: skip
    return table


def cell_table(scored: Sequence[Scored], group: str) -> Table:
    """Return area / MR of every measure and space; bold: both within one standard error."""
    keys = [key[1:] for key in PAPER if key[0] == group]
    names = [f"{component} {family}" for component, family in keys]
    table = Table(f"{group}: area / MR in %", ("space", *names), n_text=1)
    printed = (PAPER[group, *key] for key in keys)
    table.add("paper", *(f"{one.area:.1f} / {one.mr:.1f}" for one in printed))
    for one in scored:
        by = {cell_key(cell): cell for cell in one.cells}
        row = []
        for key in keys:
            area, ratio = (by[group, *key, quantity] for quantity in ("area", "mr"))
            text = f"{area.ours:.1f} / {ratio.ours:.1f}"
            row.append(Cell(text, max(area.distance, ratio.distance) <= 1))
        table.add(one.label, *row)
    return table
