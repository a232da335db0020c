"""The aleatoric interval of an ensemble against the disagreement of annotators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import spearmanr

import credalens as cl
from credalens import _validation
from credalens._backend import Array
from credalens.experiments import output
from credalens.experiments.output import Table
from credalens.io import Predictions
from credalens.validity.intervals import clopper_pearson

NAME = "human-labels"
#: Level of the intervals of the annotators' risk.
CONFIDENCE = 0.95
#: Simulated annotators are drawn so many times per image.
DRAWS = 20
#: Largest difference of a class probability to the set that counts as contained.
TOLERANCE = 0.01
#: Share of the distributions that conformal sets may miss.
ALPHA = 0.1
#: Groups of images by the annotators' risk, upper ends.
GROUPS = (0.0, 0.05, 0.2, 0.5, 1.0)


@dataclass(frozen=True)
class Humans:
    """The risk of the most frequent answer of the annotators, with its sampling error."""

    #: 1 minus the largest relative frequency, ``(n,)``, and the ends of its exact interval.
    risk: Array
    lower: Array
    upper: Array
    #: Number of annotators per image.
    n: Array

    @classmethod
    def of(cls, counts: Array) -> Humans:
        """Return the risks of counts ``(n, K)``."""
        n, top = counts.sum(axis=1), counts.max(axis=1)
        low, high = clopper_pearson(top, n, CONFIDENCE)
        return cls(1 - top / n, 1 - high, 1 - low, n)


@dataclass(frozen=True)
class Contained:
    """How an interval of risks compares with that of the annotators, as shares of the images."""

    inside: float
    #: The interval and the exact interval of the annotators' risk intersect.
    compatible: float
    above: float
    below: float
    width: float
    distance: float

    @classmethod
    def of(cls, lower: Array, upper: Array, humans: Humans) -> Contained:
        """Compare intervals ``(n,)`` with the risks; a point is an interval of width 0."""
        h = humans.risk
        gap = np.maximum(np.maximum(lower - h, h - upper), 0.0)
        compatible = (lower <= humans.upper) & (upper >= humans.lower)
        return cls(*(float(np.mean(x)) for x in (
            gap == 0, compatible, h > upper, h < lower, upper - lower, gap)))  # fmt: skip


def cross_calibrated(members: Array, labels: Array, seed: int) -> Array:
    """Return members with temperatures fitted to the other half of the images."""
    order = np.random.default_rng(seed).permutation(len(labels))
    result = np.empty(members.shape)
    halves = np.array_split(order, 2)
    for fit, apply in (halves, halves[::-1]):
        result[apply] = cl.validity.calibrate(members[fit], labels[fit])(members[apply])
    return result


def ceiling(members: Array, humans: Humans, interval: cl.Interval, seed: int) -> float:
    """Return the share of intervals that contain the risk of simulated annotators.

    They are drawn from the mean of the members, whose risk lies in the interval: what is missing
    to 1 is the sampling error of so many annotators alone.
    """
    rng = np.random.default_rng(seed)
    mean = members.mean(axis=1, dtype=np.float64)
    mean /= mean.sum(axis=1, keepdims=True)
    lower, upper = (np.asarray(end) for end in interval)
    shares = []
    for _ in range(DRAWS):
        risk = 1 - rng.multinomial(humans.n, mean).max(axis=1) / humans.n
        shares.append(np.mean((lower <= risk) & (risk <= upper)))
    return float(np.mean(shares))


def scores(members: Array) -> dict[str, Array]:
    """Return the scores that are compared with the annotators' risk."""
    interval = cl.aleatoric_uncertainty(members)
    risks = 1 - members.max(axis=2)
    mean = members.mean(axis=1, dtype=np.float64)
    return {
        "AU lower": np.asarray(interval.lower),
        "AU upper": np.asarray(interval.upper),
        "AU midpoint": np.asarray(cl.summarize(interval, "midpoint")),
        "confidence of the mean": 1 - mean.max(axis=1),
        "mean of the networks' risks": risks.mean(axis=1, dtype=np.float64),
        "S_* (lower entropy)": np.asarray(cl.lower_entropy(members)),
        "S^* (upper entropy)": np.asarray(cl.upper_entropy(members)),
        "total uncertainty": np.asarray(cl.total_uncertainty(members)),
        "epistemic uncertainty": np.asarray(cl.epistemic_uncertainty(members)),
    }


#: Scores that are not risks, so that their difference to one has no meaning.
NO_RISK = ("S_*", "S^*", "total", "epistemic")


@dataclass(frozen=True)
class Result:
    """The comparison for one version of the members."""

    interval: cl.Interval
    set: Contained
    networks: list[Contained]
    ceiling: float
    scores: Mapping[str, Array]
    #: Coverage of the annotators' label distributions by the set, up to `TOLERANCE`.
    coverage: cl.validity.Coverage


def compare(members: Array, humans: Humans, counts: Array, seed: int) -> Result:
    """Return the comparison of an ensemble ``(n, M, K)`` with the annotators."""
    interval = cl.aleatoric_uncertainty(members)
    risks = 1 - members.max(axis=2)
    return Result(
        interval,
        Contained.of(np.asarray(interval.lower), np.asarray(interval.upper), humans),
        [Contained.of(risk, risk, humans) for risk in risks.T],
        ceiling(members, humans, interval, seed),
        scores(members),
        cl.validity.coverage(members, counts / humans.n[:, None], tolerance=TOLERANCE),
    )


def run(
    predictions: Predictions, counts: Any, out: Path, *, seed: int = 0, command: str = ""
) -> str:
    """Write figure, tables and page to the folder `out`, and return the tables as text."""
    counts = _checked(counts, predictions)
    if predictions.labels is None:
        _validation.raise_invalid("labels", "no file has labels", "pass --labels FILE")
    humans = Humans.of(counts)
    members = np.asarray(predictions.members, np.float64)
    versions = {
        "as published": members,
        "recalibrated": cross_calibrated(members, predictions.labels, seed),
    }
    results = {name: compare(points, humans, counts, seed) for name, points in versions.items()}
    tables = [_containment(results, predictions.names), _by_group(results, humans),
              _rankings(results, humans),
              conformal_table(members, counts, seed)]  # fmt: skip
    output.save_figure(draw(results, humans), out, NAME)
    columns = ("version", "score", "mean_absolute_error", "spearman")
    output.write_csv(out / f"{NAME}.csv", columns, _errors(results, humans))
    notes = _notes(predictions, humans, results)
    summary = sentences(results, humans)
    page = output.page(NAME, tables, notes, summary=summary, command=command)
    output.write_text(out / f"{NAME}.md", page)
    return "\n\n".join([*(table.text() for table in tables), "\n".join([*summary, *notes])])


def _checked(counts: Any, predictions: Predictions) -> Array:
    array = np.asarray(counts)
    expected = (len(predictions.members), predictions.members.shape[2])
    if array.shape != expected:
        _validation.raise_invalid(
            "annotators", f"has shape {array.shape}", f"pass counts (images, classes), {expected}"
        )
    if (array < 0).any() or (array != np.floor(array)).any() or not (array.sum(axis=1) > 0).all():
        _validation.raise_invalid("annotators", "has rows that are not counts", "pass counts")
    return array.astype(np.int64)


def _percent(x: float) -> str:
    return f"{100 * x:.1f}"


def _containment(results: Mapping[str, Result], names: tuple[str, ...]) -> Table:
    table = Table(
        "The annotators' risk and the aleatoric interval, shares of the images in %",
        ("version", "risk of", "contains", "compatible", "annotators above", "below",
         "mean width", "mean distance"),
    )  # fmt: skip
    for version, result in results.items():
        rows = {"credal set": result.set} | dict(zip(names, result.networks, strict=True))
        for name, one in rows.items():
            shares = (_percent(x) for x in (one.inside, one.compatible, one.above, one.below))
            table.add(version, name, *shares, f"{one.width:.4f}", f"{one.distance:.4f}")
    return table


def groups(humans: Humans) -> dict[str, Array]:
    """Return the images by the annotators' risk."""
    found = {"0": humans.risk == 0}
    for low, high in pairwise(GROUPS):
        found[f"({low:g}, {high:g}]"] = (humans.risk > low) & (humans.risk <= high)
    return {name: mask for name, mask in found.items() if mask.any()}


def _by_group(results: Mapping[str, Result], humans: Humans) -> Table:
    table = Table(
        "By the annotators' risk",
        ("version", "risk", "images", "contains %", "compatible %", "mean lower", "mean upper",
         "mean risk"),
    )  # fmt: skip
    for version, result in results.items():
        lower, upper = (np.asarray(end) for end in result.interval)
        for name, mask in groups(humans).items():
            some = Humans(humans.risk[mask], humans.lower[mask], humans.upper[mask], humans.n[mask])
            one = Contained.of(lower[mask], upper[mask], some)
            means = (f"{x[mask].mean():.4f}" for x in (lower, upper, humans.risk))
            table.add(version, name, str(int(mask.sum())), _percent(one.inside),
                      _percent(one.compatible), *means)  # fmt: skip
    return table


def conformal_table(members: Array, counts: Array, seed: int) -> Table:
    """Return the coverage of conformal sets of the mean, calibrated on half of the images."""
    table = Table(
        "Conformal credal sets of the mean of the networks, calibrated to the annotators' "
        f"distributions of one half of the images, {_percent(1 - ALPHA)} % promised",
        ("score", "set", "covered %", "from %", "to %", "mean TU", "mean AU width"),
    )  # fmt: skip
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    mean = members.mean(axis=1)
    mean /= mean.sum(axis=1, keepdims=True)
    order = np.random.default_rng(seed).permutation(len(mean))
    fit, test = np.array_split(order, 2)
    for score in ("tv", "kl"):
        sets = cl.validity.conformal(mean[fit], frequencies[fit], score, ALPHA)(mean[test])
        found = cl.validity.coverage(sets, frequencies[test])
        u = cl.quantify(sets)
        width = np.asarray(u.aleatoric.upper) - np.asarray(u.aleatoric.lower)
        shares = (_percent(x) for x in (found.coverage, found.lower, found.upper))
        table.add(score, type(sets).__name__, *shares, f"{np.mean(u.total):.4f}",
                  f"{width.mean():.4f}")  # fmt: skip
    return table


def _errors(results: Mapping[str, Result], humans: Humans) -> list[list[Any]]:
    rows = []
    for version, result in results.items():
        for name, score in result.scores.items():
            rank = float(spearmanr(score, humans.risk).statistic)
            error = "" if name.startswith(NO_RISK) else float(np.abs(score - humans.risk).mean())
            rows.append([version, name, error, rank])
    return rows


def _rankings(results: Mapping[str, Result], humans: Humans) -> Table:
    table = Table("Agreement of scores with the annotators' risk",
                  ("version", "score", "mean absolute error", "Spearman correlation"))  # fmt: skip
    for version, name, error, rank in _errors(results, humans):
        table.add(version, name, f"{error:.4f}" if error != "" else "", f"{rank:.3f}")
    return table


def _notes(predictions: Predictions, humans: Humans, results: Mapping[str, Result]) -> list[str]:
    n = humans.n
    ceilings = ", ".join(f"{_percent(one.ceiling)} % {name}" for name, one in results.items())
    covered = ", ".join(
        f"{_percent(one.coverage.coverage)} % {name} (mean distance "
        f"{one.coverage.mean_distance:.4f})"
        for name, one in results.items()
    )
    return [
        f"{predictions!r}, {n.min()} to {n.max()} annotators per image; their mean risk, 1 minus "
        f"the relative frequency of the most frequent answer, is {humans.risk.mean():.4f}, and it "
        f"is 0 for {_percent(float((humans.risk == 0).mean()))} % of the images.",
        "contains: the aleatoric interval contains the annotators' risk. compatible: it intersects "
        f"the exact (Clopper-Pearson) {100 * CONFIDENCE:g} % interval of that risk; a network has "
        "an interval of width 0.",
        "With as many annotators drawn from the mean of the networks, whose risk lies in the "
        f"interval, the interval contains their risk for {ceilings}: the rest is sampling error.",
        "The set contains the label distribution of the annotators, up to a difference of "
        f"{TOLERANCE:g} in every class, for {covered}. Unanimous annotators are a vertex of the "
        "simplex, which a set reaches only if a network has probability 1.",
        "Recalibrated: one temperature per network, fitted to the labels of the other half of the "
        "images.",
    ]


def sentences(results: Mapping[str, Result], humans: Humans) -> list[str]:
    """Return how the interval compares with the networks and with the annotators."""
    lines = [
        "The risk of the annotators, 1 minus the relative frequency of their most frequent answer, "
        f"is an estimate of the aleatoric uncertainty; its mean is {humans.risk.mean():.3f}."
    ]
    for version, one in results.items():
        shares = sorted(100 * network.compatible for network in one.networks)
        lines.append(
            f"Networks {version}: the aleatoric interval is compatible with the annotators' risk "
            f"on {_percent(one.set.compatible)} % of the images, single networks on "
            f"{shares[0]:.1f} to {shares[-1]:.1f} %. Mean width of the interval "
            f"{one.set.width:.3f}; the annotators' risk is above it on {_percent(one.set.above)} % "
            f"and below it on {_percent(one.set.below)} % of the images."
        )
    ranks = {
        (version, name): float(spearmanr(score, humans.risk).statistic)
        for version, one in results.items()
        for name, score in one.scores.items()
    }
    best = max(ranks, key=lambda key: ranks[key])
    lines.append(
        f"Rank correlations of the scores with the annotators' risk are {min(ranks.values()):.2f} "
        f"to {ranks[best]:.2f}; the largest is that of the {best[1]}, networks {best[0]}."
    )
    return lines


def draw(results: Mapping[str, Result], humans: Humans) -> Any:
    """Return the figure: mean intervals against the annotators' risk, one panel per version."""
    figure = output.new_figure(11, 4.6)
    axes = figure.subplots(1, len(results), sharey=True, squeeze=False)[0]
    for ax, (version, result) in zip(axes, results.items(), strict=True):
        lower, upper = (np.asarray(end) for end in result.interval)
        edges = np.unique(np.quantile(humans.risk, np.linspace(0, 1, 41)))
        index = np.searchsorted(edges, humans.risk)
        used = np.unique(index)
        means = {
            name: np.array([values[index == i].mean() for i in used])
            for name, values in {"risk": humans.risk, "lower": lower, "upper": upper,
                                 "mean": result.scores["confidence of the mean"]}.items()
        }  # fmt: skip
        ax.fill_between(means["risk"], means["lower"], means["upper"], alpha=0.25, lw=0,
                        label="mean aleatoric interval")  # fmt: skip
        ax.plot(means["risk"], means["mean"], lw=1.5, label="confidence of the mean")
        ax.plot([0, 0.6], [0, 0.6], "k--", lw=1, label="equal risks")
        ax.set(title=version, xlabel="risk of the annotators' most frequent answer",
               xlim=(0, 0.6))  # fmt: skip
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("risk of the models")
    axes[0].legend(frameon=False, loc="upper left")
    return figure
