"""Whether sets pass the checks of validity more often after `validity.repair`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

import credalens as cl
from credalens import _validation
from credalens._backend import Array
from credalens.experiments import output
from credalens.experiments.output import Cell, Table
from credalens.io import Predictions
from credalens.validity.assessment import block_size
from credalens.validity.reliability_diagram import ReliabilityDiagram
from credalens.validity.top_label_sums import TopLabelSums

NAME = "repair"
#: Significance level of all checks.
LEVEL = 0.05
#: Resamples of a test of calibration.
RESAMPLES = 200


@dataclass(frozen=True)
class Checks:
    """The checks of an ensemble on rows that no part of it was fitted to.

    The first three are shares of bins, the next two are 1 if a test does not reject and 0 if it
    does.
    """

    bands: float
    means: float
    members: float
    constant: float
    varying: float
    ece: float
    credal_ece: float
    band_width: float
    auc_total: float
    auc_confidence: float

    @classmethod
    def of(cls, members: Array, labels: Array, seed: int) -> Checks:
        """Check members ``(n, M, K)`` on labels ``(n,)``."""
        found = cl.validity.reliability(members, labels, confidence=1 - LEVEL)
        sums = TopLabelSums(members.shape[1])
        sums.add(members, labels)
        diagrams, of_members = (found.top, *found.classes), sums.of_members(1 - LEVEL)
        pvalues = [
            cl.validity.calibration_test(
                members,
                labels,
                weights,
                n_resamples=RESAMPLES,
                n_power=0,
                block_size=block_size(members.shape[2]),
                random_state=seed,
            ).pvalue
            for weights in ("constant", "predictions")
        ]
        vote = cl.majority_vote(members)
        mean = members.mean(axis=1, dtype=np.float64)
        total = cl.rejection_curve(labels, vote, cl.total_uncertainty(members))
        confidence = cl.rejection_curve(labels, mean.argmax(axis=1), 1 - mean.max(axis=1))
        return cls(
            bands=_share(diagrams, [one.n_outside for one in diagrams]),
            means=_share(diagrams, [one.n_center_outside for one in diagrams]),
            members=_share(of_members, [one.n_outside for one in of_members]),
            constant=pvalues[0] >= LEVEL,
            varying=pvalues[1] >= LEVEL,
            ece=found.ece,
            credal_ece=found.credal_ece,
            band_width=found.top.band_width,
            auc_total=total.auc,
            auc_confidence=confidence.auc,
        )


def _share(diagrams: Sequence[ReliabilityDiagram], outside: Sequence[int]) -> float:
    """Return the share of the bins that pass."""
    return 1 - sum(outside) / sum(len(one.n) for one in diagrams)


#: What the tables call the checks that are passed or not, and the other metrics.
PASSED = {
    "bands": "bins with the frequency in the band",
    "means": "bins with the frequency at the mean",
    "members": "bins of the members",
    "constant": "test of one mixture",
    "varying": "test of a mixture by instance",
}
METRICS = {
    "ece": "ECE of the mean",
    "credal_ece": "credal ECE",
    "band_width": "mean width of the band",
    "auc_total": "AUC of TU",
    "auc_confidence": "AUC of the confidence",
}


@dataclass(frozen=True)
class Study:
    """The checks of an ensemble before and after repair, one of each per random half."""

    before: Sequence[Checks]
    after: Sequence[Checks]
    #: Names of the members that were left out in at least one half, with how often.
    left_out: Mapping[str, int]
    n_tested: int

    def values(self, name: str) -> tuple[Array, Array]:
        """Return a check before and after the repair, one value per half."""
        before, after = (
            np.array([float(getattr(one, name)) for one in checks])
            for checks in (self.before, self.after)
        )
        return before, after

    def passed(self) -> tuple[float, float]:
        """Return the mean share of the passed checks before and after."""
        before, after = (
            float(np.mean([self.values(name)[i] for name in PASSED])) for i in range(2)
        )
        return before, after


def study(predictions: Predictions, n_splits: int, seed: int) -> Study:
    """Fit the repair to random halves of the rows, and check the other halves."""
    if predictions.labels is None:
        _validation.raise_invalid("labels", "no file has labels", "pass --labels FILE")
    members, labels = np.asarray(predictions.members, np.float64), np.asarray(predictions.labels)
    before, after = [], []
    left_out: dict[str, int] = {}
    for split in range(n_splits):
        order = np.random.default_rng([seed, split]).permutation(len(labels))
        fit, tested = np.array_split(order, 2)
        repair = cl.validity.repair(members[fit], labels[fit], names=predictions.names)
        for m in set(range(members.shape[1])) - set(repair.kept.tolist()):
            left_out[predictions.names[m]] = left_out.get(predictions.names[m], 0) + 1
        before.append(Checks.of(members[tested], labels[tested], split))
        after.append(Checks.of(np.asarray(repair(members[tested])), labels[tested], split))
    return Study(before, after, left_out, len(tested))


def run(
    ensembles: Mapping[str, Predictions],
    out: Path,
    *,
    n_splits: int = 5,
    seed: int = 0,
    command: str = "",
) -> str:
    """Write ``repair.md`` and ``repair.csv`` to the folder `out`, and return the tables as text."""
    out.mkdir(parents=True, exist_ok=True)
    studies = {name: study(one, n_splits, seed) for name, one in ensembles.items()}
    tables = [_passed_table(studies), _metric_table(studies)]
    rows = [
        (name, when, split, *(float(getattr(one, field.name)) for field in fields(Checks)))
        for name, found in studies.items()
        for when, checks in (("before", found.before), ("after", found.after))
        for split, one in enumerate(checks)
    ]
    columns = ("ensemble", "repair", "split", *(field.name for field in fields(Checks)))
    output.write_csv(out / f"{NAME}.csv", columns, rows)
    summary, notes = _sentences(studies), _notes(studies, n_splits)
    page = output.page(NAME, tables, notes, summary=summary, figure=False, command=command)
    output.write_text(out / f"{NAME}.md", page)
    return "\n\n".join([*(table.text() for table in tables), "\n".join([*summary, *notes])])


def _passed_table(studies: Mapping[str, Study]) -> Table:
    table = Table(
        "Passed checks, % of the bins or of the halves; halves in which the share rises or falls",
        ("ensemble", "check", "before", "after", "rises", "falls"),
    )
    for name, found in studies.items():
        for i, (check, words) in enumerate(PASSED.items()):
            before, after = found.values(check)
            table.add(
                name if i == 0 else "",
                words,
                f"{100 * before.mean():.0f}",
                Cell(f"{100 * after.mean():.0f}", bold=after.mean() > before.mean()),
                str(int((after > before).sum())),
                str(int((after < before).sum())),
            )
    return table


def _metric_table(studies: Mapping[str, Study]) -> Table:
    table = Table(
        "Errors and rankings in %, mean ± standard deviation over the halves",
        ("ensemble", "metric", "before", "after", "difference"),
    )
    for name, found in studies.items():
        for i, (metric, words) in enumerate(METRICS.items()):
            before, after = (100 * x for x in found.values(metric))
            table.add(
                name if i == 0 else "",
                words,
                *(Cell.estimate(x.mean(), _deviation(x), 2)
                  for x in (before, after, after - before)),
            )  # fmt: skip
    return table


def _deviation(values: Array) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else float("nan")


def _sentences(studies: Mapping[str, Study]) -> list[str]:
    sentences = []
    for name, found in studies.items():
        before, after = found.passed()
        kept = [f"{member} ({n} of {len(found.before)})" for member, n in found.left_out.items()]
        width, total, confidence = (
            found.values(key) for key in ("band_width", "auc_total", "auc_confidence")
        )
        sentences.append(
            f"{name}: the sets pass {100 * before:.0f} % of the checks before and "
            f"{100 * after:.0f} % after the repair, with bands of mean width {width[0].mean():.2f} "
            f"and {width[1].mean():.2f}; the AUC of total uncertainty is "
            f"{100 * total[0].mean():.2f} % before and {100 * total[1].mean():.2f} % after, that "
            f"of the confidence of the mean {100 * confidence[0].mean():.2f} % and "
            f"{100 * confidence[1].mean():.2f} %. "
            f"Members left out by the repair: {', '.join(kept) or 'none'}."
        )
    return sentences


def _notes(studies: Mapping[str, Study], n_splits: int) -> list[str]:
    n = ", ".join(f"{found.n_tested} ({name})" for name, found in studies.items())
    return [
        f"{n_splits} random halves: the repair is fitted to one half, and all checks are made on "
        f"the other; tested rows: {n}. The halves overlap, so they are not independent.",
        "Bins: of the top label and of each class, for the band [mean lower, mean upper] and for "
        "the mean of the members; of the top label, for each member. A bin passes if the exact "
        "interval of the observed frequency intersects the band, or contains the mean "
        f"probability; {100 * (1 - LEVEL):.0f} % with the Bonferroni correction. Almost any "
        "frequency lies in a wide band: compare the mean widths.",
        "The common temperature of the repair serves the mean of the members; the bins of the "
        "members themselves get worse if it is far from 1.",
        "Test: `validity.calibration_test` of whether a mixture of the members is calibrated does "
        f"not reject at {LEVEL:g}; {RESAMPLES} resamples.",
    ]
