"""Sums over the instances of an ensemble, with each member left out in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import DEFAULT_THREADS, Array, blocks
from credalens.evaluation.likelihood import add_rows, label_probabilities
from credalens.evaluation.rejection import RejectionCurve, rejected_counts

#: Smaller changes of uncertainty are rounding.
ROUNDING = 1e-12
#: Bins of total uncertainty in which votes are counted.
AUC_BINS = 1024
#: Predictions whose class probabilities differ by at most this are considered equal.
SAME = 1e-6


class MemberSums:
    """Sums over instances from which the influence of each member follows."""

    def __init__(self, n_members: int, n_classes: int, labelled: bool) -> None:
        self.n, self.n_classes, self.labelled = 0, n_classes, labelled
        self.total = self.wide = 0.0
        self.decides, self.widest, self.hits, self.same = np.zeros((4, n_members), np.int64)
        self.lower, self.spread, self.brier, self.logs = np.zeros((4, n_members))
        self.counts = np.zeros(n_classes, np.int64)
        self.agreed = np.zeros(n_members, np.int64)
        #: Numbers of correct and of wrong votes by total uncertainty: of all members, and without
        #: each, ``(M + 1, AUC_BINS, 2)``.
        self.histograms = np.zeros((n_members + 1, AUC_BINS, 2), np.int64) if labelled else None
        self.constant = np.ones(n_members, bool)
        self.first = np.full((n_members, n_classes), np.nan)

    def add(self, members: Array, labels: Array | None = None) -> None:
        """Add instances ``(n, M, K)``, already validated, and their class indices."""
        # The kernel returns several numbers per member and instance; this bounds their memory.
        rows = max(1, (1 << 20) // members.shape[1])
        for start, stop, (block,) in blocks((members,), (2,), rows=rows, large=True):
            self._add_block(block, None if labels is None else labels[start:stop])

    def _add_block(self, block: Array, labels: Array | None) -> None:
        squares, top, total = self._leave_one_out(block)
        if self.n == 0:
            self.first = block[0].astype(np.float64)
            self.first_squares, self.first_top = squares[0], top[0]
            self.same -= 1  # the first instance does not count as a repetition
        alike = (top == self.first_top) & (np.abs(squares - self.first_squares) <= SAME)
        self.same += np.count_nonzero(alike, axis=0)
        self._update_constant(block)
        votes = leave_one_out_votes(block, top)
        self.agreed += np.count_nonzero(top == votes[:, 1:], axis=0)
        if self.histograms is not None and labels is not None:
            _count(self.histograms, total, votes == labels[:, None])
        labels = votes[:, 0] if labels is None else labels
        of_label = label_probabilities(block, labels)
        self.brier = add_rows(self.brier, squares - 2 * of_label + 1)
        with np.errstate(divide="ignore"):
            self.logs = add_rows(self.logs, np.log(of_label))
        self.hits += (top == labels[:, None]).sum(axis=0)
        self.counts += np.bincount(labels, minlength=self.n_classes)
        self.n += len(block)

    def _leave_one_out(self, block: Array) -> tuple[Array, Array, Array]:
        """Return sums of squares, top classes, and total uncertainty ``(b, 1 + M)``.

        The first column of the last is that of all members, the others without each of them.
        """
        b, M = block.shape[:2]
        (best, wide), (lower, spread, squares) = np.empty((2, b)), np.empty((3, b, M))
        widest, top = np.empty((b, M), np.uint8), np.empty((b, M), np.int32)
        _kernels.leave_one_out(
            block, best, wide, lower, spread, widest, squares, top, DEFAULT_THREADS
        )
        sums = add_rows(np.array([self.total, self.wide]), np.stack([1 - best, wide], axis=1))
        self.total, self.wide = float(sums[0]), float(sums[1])
        self.decides += np.count_nonzero(lower > ROUNDING, axis=0)
        self.widest += np.count_nonzero(widest, axis=0)
        self.lower, self.spread = add_rows(self.lower, lower), add_rows(self.spread, spread)
        total = 1 - best[:, None] - np.concatenate([np.zeros((b, 1)), lower], axis=1)
        return squares, top, total

    def _update_constant(self, block: Array) -> None:
        # A few instances exclude almost every member, so the others are rarely read.
        for part in (block[:16], block[16:]):
            for m in np.flatnonzero(self.constant):
                off = np.abs(part[:, m] - self.first[m].astype(block.dtype))
                self.constant[m] = off.size == 0 or off.max() <= SAME

    def figures(self) -> dict[str, Any]:
        """Return the fields of `MemberDiagnosis`, without the names."""
        n = max(self.n, 1)
        return {
            "n_instances": self.n,
            "n_classes": self.n_classes,
            "mean_total": self.total / n,
            "mean_epistemic": self.wide / 4 / n,
            "decides_total": self.decides / n,
            "in_widest_pair": self.widest / n,
            "total_change": 0.0 - self.lower / n,
            "epistemic_change": 0.0 - self.spread / 4 / n,
            "constant": self.constant & (self.n > 1),
            "brier": self.brier / n,
            "frequencies": self.counts / n,
            "repeats": self.same / max(self.n - 1, 1),
            "first_prediction": self.first,
            "agreement": self.agreed / n,
            **self._labelled(n),
        }

    def _labelled(self, n: int) -> dict[str, Any]:
        if self.histograms is None:
            return {}
        accuracy = self.histograms[:, :, 0].sum(axis=1) / n
        areas = np.array([_area(histogram) for histogram in self.histograms])
        return {
            "log_likelihood": self.logs,
            "accuracy": self.hits / n,
            "vote_accuracy": float(accuracy[0]),
            "auc": float(areas[0]),
            "accuracy_change": accuracy[1:] - accuracy[0],
            "auc_change": areas[1:] - areas[0],
        }


def leave_one_out_votes(block: Array, top: Array) -> Array:
    """Return the majority votes of all members and without each, ``(b, 1 + M)``.

    `top` are the most probable classes of the members, ``(b, M)``. Ties go to the larger mean
    probability, then to the smallest index; without a single member the vote is 0.
    """
    b, M, K = block.shape
    at = np.arange(b)[:, None]
    counts = np.bincount((top + at * K).ravel(), minlength=b * K).reshape(b, K)
    own = counts[at, top]  # votes for the class of each member
    first = np.take_along_axis(top, own.argmax(axis=1)[:, None], axis=1)
    votes = np.empty((b, 1 + M), np.intp)
    votes[:] = first
    # One vote less changes nothing if the winner is ahead by more than one.
    close = np.flatnonzero(own.max(axis=1) - np.where(top == first, 0, own).max(axis=1) <= 1)
    if len(close):
        votes[close] = _votes_by_definition(block[close], top[close], counts[close])
    return votes


def _votes_by_definition(block: Array, top: Array, counts: Array) -> Array:
    at = np.arange(len(block))
    mass = block.sum(axis=1, dtype=np.float64)
    votes = np.empty((len(block), 1 + block.shape[1]), np.intp)
    votes[:, 0] = _winner(counts, mass)
    for m in range(block.shape[1]):
        counts[at, top[:, m]] -= 1
        votes[:, 1 + m] = _winner(counts, mass - block[:, m])
        counts[at, top[:, m]] += 1
    return votes


def _winner(counts: Array, mass: Array) -> Array:
    most = counts == counts.max(axis=1, keepdims=True)
    return np.asarray(np.where(most, mass, -1.0).argmax(axis=1))


def _count(histograms: Array, total: Array, correct: Array) -> None:
    """Add the votes ``(b, 1 + M)`` to the histograms of total uncertainty."""
    bins = np.clip((total * AUC_BINS).astype(np.intp), 0, AUC_BINS - 1)
    for histogram, index, right in zip(histograms, bins.T, correct.T, strict=True):
        flat = np.bincount(2 * index + ~right, minlength=2 * AUC_BINS)
        histogram += flat.reshape(AUC_BINS, 2)


def _area(histogram: Array, n_bins: int = 30) -> float:
    """Return the area under the accuracy-rejection curve, rows of a bin in random order."""
    n = int(histogram.sum())
    if n == 0:
        return float("nan")
    kept = n - rejected_counts(n, n_bins)
    rows, correct = (np.concatenate([[0], np.cumsum(x)])
                     for x in (histogram.sum(axis=1), histogram[:, 0]))  # fmt: skip
    return RejectionCurve(np.arange(n_bins) / n_bins, np.interp(kept, rows, correct) / kept).auc
