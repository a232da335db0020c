"""Truncated predictions: dense ensembles, their lists, and other ensembles with the same lists."""

import numpy as np

#: Kinds of dense members.
KINDS = ("dirichlet", "peaked", "sparse", "ties", "uniform", "dirac", "equal", "disjoint")
#: Where the mass of the unlisted classes is.
TAILS = ("dense", "spread", "other lists", "outside", "random")


def dense_members(rng, kind, M, K):
    """Return one instance ``(M, K)``."""
    if kind == "dirichlet":
        return rng.dirichlet(np.ones(K), size=M)
    if kind == "peaked":
        logits = 4 * rng.normal(size=K) + rng.normal(size=(M, K))
        P = np.exp(logits - logits.max(axis=1, keepdims=True))
    elif kind == "sparse":
        P = rng.dirichlet(np.full(K, 0.3), size=M) * (rng.random((M, K)) < 0.5)
        P[np.arange(M), rng.integers(K, size=M)] += 0.1
    elif kind == "ties":
        P = rng.integers(0, 3, size=(M, K)).astype(float)
        P[:, rng.integers(K)] += 1
    elif kind == "uniform":
        P = np.ones((M, K))
    elif kind == "dirac":
        P = np.eye(K)[rng.integers(K, size=M)]
    elif kind == "equal":
        P = np.repeat(rng.dirichlet(np.ones(K))[None], M, axis=0)
    else:  # disjoint: the supports of the members are different
        P = rng.random((M, K)) * (np.arange(K) % M == np.arange(M)[:, None]) + 1e-12
    return P / P.sum(axis=1, keepdims=True)


def truncate(rng, P, counts=None):
    """Return ids and probabilities ``(M, k)`` of the largest, in random order, padded with -1."""
    M, K = P.shape
    counts = rng.integers(1, K + 1, size=M) if counts is None else np.broadcast_to(counts, M)
    width = int(counts.max()) + int(rng.integers(2))
    ids, probs = np.full((M, width), -1), np.full((M, width), np.nan)
    for m in range(M):
        top = np.lexsort((rng.random(K), -P[m]))[: counts[m]]  # ties at the cutoff in random order
        rng.shuffle(top)
        where = rng.permutation(width)[: counts[m]]
        ids[m, where], probs[m, where] = top, P[m, top]
    return ids, probs


def complete(rng, ids, probs, K, tail):
    """Return an ensemble ``(M, K)`` with the same lists; the tails are placed as `tail` says."""
    M = len(ids)
    P = np.zeros((M, K))
    union = {int(y) for y in ids.ravel() if y >= 0}
    target = int(rng.choice(sorted(union)))
    for m in range(M):
        own = ids[m] >= 0
        P[m, ids[m][own]] = probs[m][own]
        others = np.setdiff1d(np.arange(K), ids[m][own])
        rest = max(1 - P[m].sum(), 0.0)
        if not len(others):
            continue
        cap = min(rest, probs[m][own].min())
        if tail == "spread":
            P[m, others] = rest / len(others)
            continue
        order = rng.permutation(others).tolist()
        if tail == "other lists":  # the same classes first, where other members have most
            order.sort(key=lambda y: (y != target, y not in union, -P[:, y].max()))
        elif tail == "outside":
            order.sort(key=lambda y: y in union)
        for y in order:
            P[m, y] = min(cap, rest)
            rest -= P[m, y]
    return P


def cases(seed, count, M=None, K=None):
    """Yield dense ensembles ``(M, K)`` with lists of their largest probabilities."""
    rng = np.random.default_rng(seed)
    for i in range(count):
        members = int(rng.integers(1, 6)) if M is None else M
        classes = int(rng.integers(2, 9)) if K is None else K
        P = dense_members(rng, KINDS[i % len(KINDS)], members, classes)
        ids, probs = truncate(rng, P)
        for tail in TAILS:
            yield (P if tail == "dense" else complete(rng, ids, probs, classes, tail)), ids, probs
