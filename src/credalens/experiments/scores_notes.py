"""Sentences on the page of the comparison of scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from credalens._validation import counted
from credalens.evaluation.compare import verdict_of
from credalens.experiments.forest_spaces import find_space
from credalens.experiments.protocol import Config
from credalens.experiments.scores_compare import BASELINE, FORESTS, RESAMPLES, Comparison
from credalens.experiments.scores_summary import GroupRow, Report
from credalens.experiments.scores_tasks import (
    ACTIVE_MEMBERS,
    ACTIVE_TREES,
    BATCH,
    INITIAL,
    N_DIGITS,
    REPEATS,
    ROUNDS,
    TREES,
)
from credalens.experiments.split_runs import Outcome, SplitResult
from credalens.experiments.table2_summary import by_dataset

OVERVIEW = [
    "Difference in AUROC to `tv_total`: of the detection of errors; in the columns `ood` of the "
    "detection of digits that were not trained on; in the column `active`, difference in mean "
    "accuracy. Larger is better. Bold: the 95 % interval does not contain 0. KEEL: mean over the "
    "datasets.",
]


#: The score whose comparison with the baseline is summarised.
CONFIDENCE_SCORE = "confidence_total"


def summary(report: Report, groups: Mapping[str, Sequence[GroupRow]]) -> list[str]:
    """Return how the confidence of the mean compares with the baseline, in AUROC."""
    found: dict[str, list[str]] = {"better": [], "worse": [], "": []}
    for one in report.comparisons:
        numbers = one.measures[CONFIDENCE_SCORE]["auroc"]
        found[verdict_of("auroc", *numbers[4:])].append(f"{one.name} ({100 * numbers[3]:+.2f})")
    lines = []
    if report.comparisons:
        words = {"better": "better on", "worse": "worse on", "": "not clearly different on"}
        parts = "; ".join(f"{words[key]} {', '.join(some)}" for key, some in found.items() if some)
        lines.append(
            f"Detection of errors: `{CONFIDENCE_SCORE}` compared with `{BASELINE}`, difference in "
            f"AUROC in percentage points: {parts}."
        )
    for kind, rows in groups.items():
        (row,) = (r for r in rows if (r.score, r.metric) == (CONFIDENCE_SCORE, "auroc"))
        lines.append(
            f"Forests {FORESTS[kind]} on {counted(row.n_datasets, 'KEEL dataset')}: mean "
            f"difference {100 * row.difference:+.2f} [{100 * row.difference_lower:+.2f}, "
            f"{100 * row.difference_upper:+.2f}]; better on {row.n_better}, worse on {row.n_worse}."
        )
    return lines


def of_ensemble(one: Comparison) -> list[str]:
    """Return the size and the accuracy of an ensemble, and what is wrong with it."""
    lines = [
        f"{one.n} rows, {one.n_members} models, {one.n_classes} classes. Accuracy of the vote "
        f"{one.accuracy:.4f}, of the mean prediction {one.accuracy_of_mean:.4f}."
    ]
    if one.faulty:
        lines.append(f"Models that `credalens diagnose` reports: {', '.join(one.faulty)}.")
    if one.hartley_error:
        lines.append(f"Hartley is sampled: standard error at most {one.hartley_error:.2g} bits.")
    return lines


def of_group(config: Config, kind: str, splits: Sequence[SplitResult]) -> list[str]:
    """Return the protocol of the forests, and how datasets are summarised."""
    space = "the defaults of scikit-learn, which differ in their seeds"
    if not kind:
        space = find_space(config.space).description
    counts = sorted({len(one) for one in by_dataset(splits).values()})
    number = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    lines = [
        f"The protocol of Table 2: {config.members} random forests, {space}; {number} stratified "
        f"70/30 splits per dataset, seed {config.seed}. `scores.csv` has the numbers of each "
        "dataset.",
        "Numbers of a dataset are means over its splits, the ends of its intervals as well, which "
        "is conservative, since splits share rows. Difference: mean over the datasets, with a 95 % "
        "bootstrap interval over the datasets. Better on, worse on: number of datasets whose own "
        "interval does not contain 0; by chance alone, at most 2.5 % of the datasets are expected "
        "in each column. AUROC is undefined for test parts without errors, which are left out.",
    ]
    worst = max(split["hartley_error"] for split in splits)
    if worst:
        lines.append(f"Hartley is sampled for many classes: standard error at most {worst:.2g}.")
    return lines


def of_task(task: str) -> list[str]:
    """Return the protocol of a task."""
    members = "random forests on the digits of scikit-learn"
    if task == "active":
        return [
            f"{ACTIVE_MEMBERS} {members}, {ACTIVE_TREES} trees each; {INITIAL} initial labels, "
            f"{ROUNDS} rounds of {BATCH}; {REPEATS} repetitions. Mean accuracy over the rounds; "
            "95 % t interval of the difference over the repetitions."
        ]
    kind = (
        f"{TREES} trees each"
        if task == "ood-equal"
        else "with hyperparameters drawn by `random_forests`"
    )
    return [
        f"Ten {members}, {kind}, trained without one digit, which the scores are to detect; every "
        f"digit {REPEATS // N_DIGITS} times. 95 % t interval of the difference over the ten digits."
    ]


def conventions() -> list[str]:
    """Return the conventions of the numbers."""
    return [
        "A score is a column of `credalens score`; intervals (`tv_aleatoric`, "
        "`scoring:brier_aleatoric`) are ordered by their lower, then their upper end. Ties are "
        "averaged. Errors are those of the majority vote of the models.",
        "AUC: area under the accuracy-rejection curve with 30 points, divided by its length; AURC, "
        "AUGRC and AUROC as in `selective_metrics`. AUC and AUROC are better if larger, AURC and "
        "AUGRC if smaller. All in percent.",
        f"Difference: score minus `{BASELINE}`, with its 95 % interval from a paired bootstrap of "
        f"the rows ({RESAMPLES} resamples). Bold, and a verdict: the interval does not contain 0. "
        "Intervals are not adjusted for the number of scores: of twenty differences that are truly "
        "0, one is expected to be bold.",
        "Left out, because their order is that of another score: the totals of `zero_one` and "
        "`second_order_distance` (`confidence_total`) and of `spherical` (`variance_total`), and "
        "the aleatoric intervals of `scoring:zero_one` (`tv_aleatoric`), `scoring:log` (both "
        "entropies) and `scoring:spherical` (`scoring:brier_aleatoric`).",
    ]


def problems(outcome: Outcome) -> list[str]:
    """Return what failed or was left out."""
    lines = [f"Failed: {name}: {reason}" for name, reason in outcome.failures.items()]
    if outcome.n_skipped:
        skipped = counted(outcome.n_skipped, "split")
        lines.append(f"{skipped} not computed because of the time limit; run again to continue.")
    return lines
