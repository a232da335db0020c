"""The result of an assessment in sentences: answers to questions, and what to do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from credalens._validation import counted
from credalens.validity.assessment import Assessment
from credalens.validity.ensemble_repair import Repair
from credalens.validity.label_coverage import Coverage
from credalens.validity.reliability_diagram import ReliabilityDiagram

#: Names that a sentence lists at most.
MOST_NAMES = 5


@dataclass(frozen=True)
class Answer:
    """A question about an ensemble, and the sentences that answer it."""

    question: str
    sentences: tuple[str, ...]


def answers(found: Assessment) -> list[Answer]:
    """Return the answers, with what to do as the last one."""
    parts = [
        Answer("Is each model calibrated?", _models(found)),
        Answer("Is the credal set calibrated?", _set(found)),
    ]
    if found.coverage is not None:
        about = _coverage(found.coverage)
        parts.append(Answer("Does it contain the known label distributions?", (about,)))
    parts.append(Answer("Which models or classes are at fault?", _faults(found)))
    return [*parts, Answer("What to do", tuple(advice(found)))]


def _models(found: Assessment) -> tuple[str, ...]:
    sentences = []
    for verdict in ("calibrated", "overconfident", "underconfident"):
        own = [found.names[m] for m in range(len(found.names)) if found.verdicts[m] == verdict]
        if own:
            sentences.append(f"{listed(own)} {'is' if len(own) == 1 else 'are'} {verdict}.")
    return tuple(sentences)


def _set(found: Assessment) -> tuple[str, ...]:
    r, test = found.reliability, found.test
    band = _band(r.top)
    errors = (
        f"Calibration error (ECE) of the mean {r.ece:.4f}, of the nearest point of the band "
        f"{r.credal_ece:.4f}."
    )
    verdict = "rejected" if test.pvalue < found.level else "not rejected"
    tested = (
        f"That some mixture of the models is calibrated is {verdict} at the level "
        f"{found.level:g} (p = {test.pvalue:.3g})."
    )
    power = " and ".join(f"{100 * p:.0f} % at temperature {t:g}" for t, p in test.power.items())
    return band, errors, f"{tested} Power of the test: {power}."


def _band(top: ReliabilityDiagram) -> str:
    below, above = int((top.verdict == "below").sum()), int((top.verdict == "above").sum())
    bins = counted(len(top.n), "bin")
    if not below + above:
        return f"The accuracy of the top label is compatible with the band in all of {bins}."
    parts = []
    if below:
        parts.append(f"below the band in {below}")
    if above:
        parts.append(f"above the band in {above}")
    return f"The accuracy of the top label is {' and '.join(parts)} of {bins}."


def _coverage(c: Coverage) -> str:
    return (
        f"{100 * c.coverage:.1f} % of the distributions lie in their set ({100 * c.confidence:g} % "
        f"interval {100 * c.lower:.1f} to {100 * c.upper:.1f} %); the mean distance to the set is "
        f"{c.mean_distance:.4f}."
    )


def _faults(found: Assessment) -> tuple[str, ...]:
    sentences = []
    if found.diagnosis is not None:
        sentences += [f"{found.names[m]} distorts the uncertainty." for m in _spoilers(found)]
    classes = [found.class_names[k] for k in found.classes_outside]
    if classes:
        sentences.append(
            f"Classes with frequencies outside of the band ({len(classes)}): {listed(classes)}."
        )
    return tuple(sentences) or ("None was found.",)


def _spoilers(found: Assessment) -> Sequence[int]:
    return () if found.diagnosis is None else found.diagnosis.spoilers


def advice(found: Assessment) -> list[str]:
    """Return what to do: leave models out, recalibrate them, widen the sets; or nothing."""
    r = found.repair
    steps = []
    left_out = [found.names[m] for m in range(len(found.names)) if m not in r.kept.tolist()]
    if left_out:
        steps.append(f"Leave out {listed(left_out)}.")
    recalibrated = [found.names[m] for m in r.kept if r.scaling.recalibrated[m]]
    if recalibrated and r.calibration is not None:
        steps.append(f"Recalibrate {listed(recalibrated)} ({r.calibration.method}).")
    if steps:
        before, after = r.before, r.after
        steps.append(
            "Afterwards, cross-fitted: area under the accuracy-rejection curve of total "
            f"uncertainty {100 * before['auc_total']:.2f} -> {100 * after['auc_total']:.2f} %, "
            f"accuracy {100 * before['accuracy']:.2f} -> {100 * after['accuracy']:.2f} %, ECE of "
            f"the mean {before['ece']:.4f} -> {after['ece']:.4f}, credal ECE "
            f"{before['credal_ece']:.4f} -> {after['credal_ece']:.4f}."
        )
        steps.append(
            f"Of the bins of all classes, {_percents(r, 'band_bins')} have frequencies compatible "
            f"with the band, {_percents(r, 'mean_bins')} with the mean probability; mean width of "
            f"the band {before['band_width']:.4f} -> {after['band_width']:.4f}."
        )
    outside = found.coverage is not None and found.coverage.upper < 0.9
    if r.after["credal_ece"] > 0.01 or outside:
        steps.append(
            "Widen the sets: those of credalens.validity.conformal contain the label "
            "distribution with a probability that you choose."
        )
    return steps or ["Nothing: no check failed, and a repair would gain nothing."]


def _percents(r: Repair, metric: str) -> str:
    return f"{100 * r.before[metric]:.1f} -> {100 * r.after[metric]:.1f} %"


def listed(names: Sequence[str]) -> str:
    """Return names as a list of words, with the number of those that are omitted."""
    if len(names) > MOST_NAMES:
        return f"{', '.join(names[:MOST_NAMES])} and {len(names) - MOST_NAMES} others"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
