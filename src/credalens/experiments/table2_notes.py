"""The summary of Table 2 and the notes below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.metadata import version

from credalens._validation import counted
from credalens.experiments.forest_spaces import DEFAULT_SPACE, find_space
from credalens.experiments.protocol import Config
from credalens.experiments.split_runs import Outcome, SplitResult
from credalens.experiments.table2_summary import (
    GROUPS,
    Row,
    by_dataset,
    cells,
    mean_distance,
    ties,
)
from credalens.experiments.table2_timing import describe_times

#: Names of the families in tables and sentences.
LABELS = {"tv": "TV", "hartley": "Hartley", "entropy": "Entropy"}


def summary(rows: Sequence[Row]) -> list[str]:
    """Return how the table compares with the published one, in sentences."""
    found = cells(rows)
    if not found:
        return []
    near = sum(cell.distance <= 1 for cell in found)
    lines = [
        f"{near} of the {len(found)} published areas and monotonicity ratios are within one "
        "standard error of the mean (the paper's standard deviation divided by the square root of "
        f"its number of datasets); the mean distance is {mean_distance(found):.2f} standard errors."
    ]
    far = sorted((cell for cell in found if cell.distance > 2), key=lambda cell: -cell.distance)
    if far:
        listed = "; ".join(
            f"{cell.name} {cell.ours:.1f} (paper: {cell.printed:.1f})" for cell in far
        )
        lines.append(f"Farther than two standard errors: {listed}.")
    lines += [line for group in GROUPS for line in _ranking(group, rows)]
    return lines


def _ranking(group: str, rows: Sequence[Row]) -> list[str]:
    """Return in which components TV is among the best by the paper's rule, and which is worst."""
    own = [row for row in rows if row.group == group]
    if not {"tv", "entropy"} <= {row.family for row in own}:
        return []
    best: list[str] = []
    behind: list[str] = []
    for component in dict.fromkeys(row.component for row in own):
        block = [row for row in own if row.component == component]
        for quantity, word in (("area", "area"), ("mr", "MR")):
            tied = ties(block, quantity)[[row.family for row in block].index("tv")]
            (best if tied else behind).append(f"{component} {word}")
    worst = min((row for row in own if row.component == "EU"), key=lambda row: row.area_mean)
    names = {"entropy": "the entropy difference S* - S_*", "hartley": "the Hartley measure"}
    behind_text = f", and not in {_listed(behind)}" if behind else ""
    return [
        f"{group}: TV is best or within one standard error of the best in {_listed(best)}"
        f"{behind_text}. The lowest epistemic area is that of "
        f"{names.get(worst.family, worst.family.upper())}, {worst.area_mean:.1f}."
    ]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def remarks(outcome: Outcome, config: Config, splits: int, best: str = "bold") -> list[str]:
    """Return the notes below the table; `best` is how the best numbers are marked."""
    space = find_space(config.space)
    inferred = (
        "the closest of the spaces that were compared (the paper does not state its own)"
        if space.name == DEFAULT_SPACE
        else "not the default"
    )
    notes = [
        "AUC: area under the accuracy-rejection curve divided by the length of its interval, 1 is "
        "perfect; area: without the division, as in the paper, at most "
        f"{100 * (config.bins - 1) / config.bins:.1f} %; MR: share of steps in which the accuracy "
        "does not decrease.",
        "Mean ± standard deviation (ddof = 1) over datasets of the means over splits; "
        f"{best}: within one standard error of the best. diff: ours minus the paper's.",
        f"{config.members} random forests, space {space.name}, {inferred}: {space.description}; "
        "otherwise the defaults of scikit-learn; "
        f"{counted(splits, 'stratified split')} {100 - 100 * config.test_share:.0f}/"
        f"{100 * config.test_share:.0f}, seed {config.seed}.",
        describe_times(outcome.times, outcome.is_timed),
    ]
    unfinished = _unfinished(outcome.results, splits)
    if unfinished:
        notes.append(f"Fewer than {splits} splits: {unfinished}.")
    notes += [f"Failed: {name}: {reason}" for name, reason in outcome.failures.items()]
    if outcome.n_skipped:
        skipped = counted(outcome.n_skipped, "split")
        notes.append(f"{skipped} not computed because of the time limit; run again to continue.")
    return notes + _costs(outcome.results) + _versions_of(outcome.results)


def _versions_of(results: Sequence[SplitResult]) -> list[str]:
    """Return the versions of credalens that computed the splits, if others than this one did."""
    found = sorted({one.get("credalens", "unknown") for one in results})
    if found in ([], [version("credalens")]):
        return []
    return [f"Splits were computed with credalens {', '.join(found)}."]


def _unfinished(results: Sequence[SplitResult], splits: int) -> str:
    """Return the datasets with fewer than `splits` splits, by their number of splits."""
    names: dict[int, list[str]] = {}
    for name, done in by_dataset(results).items():
        if len(done) < splits:
            names.setdefault(len(done), []).append(name)
    return "; ".join(
        f"{count} of {', '.join(some) if len(some) <= 8 else counted(len(some), 'dataset')}"
        for count, some in sorted(names.items())
    )


def _costs(results: Sequence[SplitResult]) -> list[str]:
    """Return how the time of measuring compares with the time of training."""

    def seconds(selected: Callable[[str], bool]) -> float:
        measures = (item for result in results for item in result["measures"].items())
        return float(sum(measure["seconds"] for key, measure in measures if selected(key)))

    training = sum(result["training_seconds"] for result in results)
    if not training:
        return []
    # The entropy difference repeats both its terms, which are not counted twice.
    closed = seconds(lambda key: "hartley" not in key and key != "EU entropy")
    notes = [
        f"Training took {training:.0f} s; measuring without Hartley {closed:.2f} s, "
        f"{100 * closed / training:.3f} % of it."
    ]
    hartley = seconds(lambda key: key == "EU hartley")
    if hartley:
        notes.append(
            f"The generalized Hartley measure took {hartley:.1f} s, "
            f"{100 * hartley / training:.3f} % of the training."
        )
    sampled = {result["dataset"] for result in results if result["hartley_error"] > 0}
    if sampled:
        worst = max(result["hartley_error"] for result in results)
        notes.append(
            f"Hartley is exact for up to 20 classes and sampled for {', '.join(sorted(sampled))}: "
            f"standard error at most {worst:.2g} bits."
        )
    return notes
