"""Sums over the instances of an ensemble, with each member left out in turn."""

from __future__ import annotations

from typing import Any

import numpy as np

from credalens import _kernels
from credalens._backend import BLOCK_BYTES, DEFAULT_THREADS, Array, as_contiguous, blocks
from credalens._backend.ragged import group_blocks
from credalens.evaluation.likelihood import add_rows, label_probabilities, scaled_sums
from credalens.evaluation.rejection import RejectionCurve, rejected_counts
from credalens.evaluation.vote import ROUNDING as VOTE_ROUNDING
from credalens.evaluation.vote import weighted_votes

#: Smaller changes of uncertainty are rounding.
ROUNDING = 1e-12
#: Bins of total uncertainty in which votes are counted.
AUC_BINS = 1024
#: Predictions whose class probabilities differ by at most this are considered equal.
SAME = 1e-6


class MemberSums:
    """Sums over instances from which the influence of each member follows.

    Sums of a member are over the instances for which it is present, ``seen`` of them.
    """

    def __init__(self, n_members: int, n_classes: int, labelled: bool) -> None:
        self.n, self.n_classes, self.labelled = 0, n_classes, labelled
        self.total = self.wide = 0.0
        self.decides, self.widest, self.hits, self.same = np.zeros((4, n_members), np.int64)
        self.lower, self.spread, self.brier, self.logs = np.zeros((4, n_members))
        self.counts = np.zeros(n_classes, np.int64)
        self.seen, self.compared, self.agreed = np.zeros((3, n_members), np.int64)
        #: Numbers of correct and of wrong votes by total uncertainty: of all members, and without
        #: each, ``(M + 1, AUC_BINS, 2)``.
        self.histograms = np.zeros((n_members + 1, AUC_BINS, 2), np.int64) if labelled else None
        self.constant = np.ones(n_members, bool)
        self.first = np.full((n_members, n_classes), np.nan)
        self.first_squares, self.first_top = np.zeros(n_members), np.zeros(n_members, np.intp)

    def add(
        self,
        members: Array,
        labels: Array | None = None,
        weights: Array | None = None,
        mask: Array | None = None,
    ) -> None:
        """Add instances ``(n, M, K)``, already validated, and their class indices.

        `weights` ``(n, M)`` are those of the votes; members that are False in the `mask`
        ``(n, M)`` are missing.
        """
        M = members.shape[1]
        # The kernel returns several numbers per member and instance; this bounds their memory.
        rows = max(1, (1 << 20) // M)
        self._add_first(members, mask)
        if mask is not None and not mask.all():
            dtype = np.float32 if members.dtype.itemsize <= 4 else np.float64
            size = 8 * members[0].size
            for at, present in group_blocks(mask, lambda _: min(rows, BLOCK_BYTES // size)):
                block = as_contiguous(members[at[:, None], present], dtype)
                own = None if weights is None else weights[at[:, None], present]
                self._add_block(block, None if labels is None else labels[at], own, present)
            return
        for start, stop, (block,) in blocks((members,), (2,), rows=rows, large=True):
            own = None if weights is None else weights[start:stop]
            present = np.broadcast_to(np.arange(M), (stop - start, M))
            self._add_block(block, None if labels is None else labels[start:stop], own, present)

    def _add_first(self, members: Array, mask: Array | None) -> None:
        """Keep the first prediction of each member, with which the others are compared."""
        for m in np.flatnonzero(np.isnan(self.first[:, 0])):
            rows = np.arange(len(members)) if mask is None else np.flatnonzero(mask[:, m])
            if len(rows):
                own = self.first[m] = members[rows[0], m].astype(np.float64)
                self.first_squares[m], self.first_top[m] = own @ own, own.argmax()
                self.same[m] -= 1  # the first instance does not count as a repetition

    def _add_block(
        self, block: Array, labels: Array | None, weights: Array | None, present: Array
    ) -> None:
        """Add instances with equally many members, ``(b, m, K)``: those `present` ``(b, m)``."""
        squares, top, total = self._leave_one_out(block, present)
        alike = (top == self.first_top[present]) & (
            np.abs(squares - self.first_squares[present]) <= SAME
        )
        self.same += self._tally(alike, present)
        self._update_constant(block, present)
        votes = leave_one_out_votes(block, top, weights)
        everyone = self._tally(np.ones(present.shape, bool), present)
        self.seen += everyone
        if present.shape[1] > 1 or len(self.seen) == 1:
            self.compared += everyone
            self.agreed += self._tally(top == votes[:, 1:], present)
        else:  # there is no vote of others
            votes[:, 1:], total[:, 1:] = votes[:, :1], total[:, :1]
        if self.histograms is not None and labels is not None:
            # Without a member that is missing, nothing changes.
            votes_, total_ = (self._scatter(x[:, 1:], present, x[:, :1]) for x in (votes, total))
            correct = np.concatenate([votes[:, :1], votes_], axis=1) == labels[:, None]
            _count(self.histograms, np.concatenate([total[:, :1], total_], axis=1), correct)
        labels = votes[:, 0] if labels is None else labels
        of_label = label_probabilities(block, labels)
        self.brier = add_rows(self.brier, self._scatter(squares - 2 * of_label + 1, present))
        with np.errstate(divide="ignore"):
            self.logs = add_rows(self.logs, self._scatter(np.log(of_label), present))
        self.hits += self._tally(top == labels[:, None], present)
        self.counts += np.bincount(labels, minlength=self.n_classes)
        self.n += len(block)

    def _scatter(self, values: Array, present: Array, default: Any = 0) -> Array:
        """Return values ``(b, m)`` of the members that are present as ``(b, M)``."""
        M = len(self.seen)
        if values.shape[1] == M:
            return values
        whole = np.empty((len(values), M), values.dtype)
        whole[:] = default
        np.put_along_axis(whole, present, values, axis=1)
        return whole

    def _tally(self, flags: Array, present: Array) -> Array:
        """Return for how many instances each member has a flag ``(b, m)``."""
        if flags.shape[1] == len(self.seen):
            return np.asarray(np.count_nonzero(flags, axis=0))
        return np.bincount(present[flags], minlength=len(self.seen))

    def _leave_one_out(self, block: Array, present: Array) -> tuple[Array, Array, Array]:
        """Return sums of squares, top classes, and total uncertainty ``(b, 1 + m)``.

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
        self.decides += self._tally(lower > ROUNDING, present)
        self.widest += self._tally(widest > 0, present)
        self.lower = add_rows(self.lower, self._scatter(lower, present))
        self.spread = add_rows(self.spread, self._scatter(spread, present))
        total = 1 - best[:, None] - np.concatenate([np.zeros((b, 1)), lower], axis=1)
        return squares, top, total

    def _update_constant(self, block: Array, present: Array) -> None:
        # A few instances exclude almost every member, so the others are rarely read.
        for part in (slice(0, 16), slice(16, None)):
            for m in np.flatnonzero(self.constant):
                dense = block.shape[1] == len(self.seen)
                rows = block[part, m] if dense else block[part][present[part] == m]
                off = np.abs(rows - self.first[m].astype(block.dtype))
                self.constant[m] = off.size == 0 or off.max() <= SAME

    def figures(self) -> dict[str, Any]:
        """Return the fields of `MemberDiagnosis`, without the names."""
        n, seen = max(self.n, 1), np.maximum(self.seen, 1)
        return {
            "n_instances": self.n,
            "n_classes": self.n_classes,
            "n_present": self.seen,
            "mean_total": self.total / n,
            "mean_epistemic": self.wide / 4 / n,
            "decides_total": self.decides / seen,
            "in_widest_pair": self.widest / seen,
            "total_change": 0.0 - self.lower / n,
            "epistemic_change": 0.0 - self.spread / 4 / n,
            "constant": self.constant & (self.seen > 1),
            "brier": self.brier / seen,
            "frequencies": self.counts / n,
            "repeats": self.same / np.maximum(self.seen - 1, 1),
            "first_prediction": self.first,
            "agreement": self.agreed / np.maximum(self.compared, 1),
            **self._labelled(n),
        }

    def _labelled(self, n: int) -> dict[str, Any]:
        if self.histograms is None:
            return {}
        accuracy = self.histograms[:, :, 0].sum(axis=1) / n
        areas = np.array([_area(histogram) for histogram in self.histograms])
        return {
            "log_likelihood": scaled_sums(self.logs, self.seen, self.n),
            "accuracy": self.hits / np.maximum(self.seen, 1),
            "vote_accuracy": float(accuracy[0]),
            "auc": float(areas[0]),
            "accuracy_change": accuracy[1:] - accuracy[0],
            "auc_change": areas[1:] - areas[0],
        }


def leave_one_out_votes(block: Array, top: Array, weights: Array | None = None) -> Array:
    """Return the majority votes of all members and without each, ``(b, 1 + M)``.

    `top` are the most probable classes of the members, ``(b, M)``, `weights` those of their votes.
    Ties go to the larger mean probability, then to the smallest index; without a single member the
    vote is 0.
    """
    b, M, K = block.shape
    if weights is not None:
        counts = weighted_votes(top, weights, K)
        return _votes_by_definition(block, top, counts, weights.astype(np.float64))
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


def _votes_by_definition(
    block: Array, top: Array, counts: Array, weights: Array | None = None
) -> Array:
    at = np.arange(len(block))
    own = np.ones(top.shape, np.intp) if weights is None else weights
    rows = block if weights is None else block * own[:, :, None]
    mass = rows.sum(axis=1, dtype=np.float64)
    slack = 0.0 if weights is None else VOTE_ROUNDING * own.sum(axis=1, keepdims=True)
    votes = np.empty((len(block), 1 + block.shape[1]), np.intp)
    votes[:, 0] = _winner(counts, mass, slack)
    for m in range(block.shape[1]):
        counts[at, top[:, m]] -= own[:, m]
        votes[:, 1 + m] = _winner(counts, mass - rows[:, m], slack)
        counts[at, top[:, m]] += own[:, m]
    return votes


def _winner(counts: Array, mass: Array, slack: Array | float) -> Array:
    most = counts >= counts.max(axis=1, keepdims=True) - slack
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
