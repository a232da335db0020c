"""Print inputs on which the value of a peer is wrong: ``python -m benchmarks.failures``.

Each finding has the input, the value of the peer, the value of credalens and an independent
certificate of the latter: a dual bound, a distribution of the set that attains the value, or exact
arithmetic. The versions are printed first; peers that are not installed are skipped.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

import credalens as cl
from benchmarks import peers, peers_lp, peers_probly


@dataclass(frozen=True)
class Finding:
    """An input, the value of a peer, the value of credalens, and its certificate."""

    peer: str
    what: str
    given: Any
    theirs: float
    ours: float
    certificate: str

    def as_text(self) -> str:
        rows = "\n".join("    " + line for line in repr(self.given).splitlines())
        return (
            f"{self.peer}: {self.what}\n{rows}\n"
            f"    theirs {self.theirs!r}\n    ours   {self.ours!r}\n"
            f"    {self.certificate}\n"
        )


def findings() -> Iterator[Finding]:
    """Yield the findings of all installed peers."""
    for find in (probly_new_hull, probly_new_box, probly_new_ball, probly_old, scipy_entropy,
                 highs):  # fmt: skip
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                yield from find()
            except ImportError as missing:
                print(f"{find.__name__} is skipped: {missing}\n")


def bits(p):
    """Return the entropy of a distribution."""
    return float(-(p * np.log2(np.where(p > 0, p, 1.0))).sum())


def upper_entropy_bound(P):
    """Return the upper entropy by credalens, and an upper bound for all distributions of the hull.

    With p the maximiser of credalens, the entropy of any mixture of the rows is at most the largest
    ``-sum_y P_my log p_y``, because the tangent plane of a concave function is above it.
    """
    value, _, p = cl.ConvexHull(P).max_entropy(distribution=True)
    surprise = -np.log2(np.where(p > 0, p, 1.0))
    return float(value / np.log(2)), float((P @ surprise).max())


def _upper(P, name, what, theirs):
    ours, bound = upper_entropy_bound(P)
    return Finding(name, what, P, float(theirs), ours,
                   f"the tangent plane at our maximiser gives the bound {bound!r}")  # fmt: skip


def probly_new_hull():
    """S* of hulls: one optimiser for the whole batch, and the logarithm of 0."""
    run = peers_probly.new("upper_entropy", peers_probly.hull)
    name = f"probly {peers_probly.new_version()}"
    peers_probly.load_new()
    zero_class = np.array([[0.7, 0.3, 0.0], [0.2, 0.8, 0.0]])
    yield _upper(
        zero_class,
        name,
        "S*, a class with probability zero in every member",
        run(zero_class[None])[0],
    )
    fine = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])
    both = run(np.stack([fine, zero_class]))
    alone = float(run(fine[None])[0])
    yield _upper(
        fine, name, f"S*, in a batch with the previous input; alone it is {alone!r}", both[0]
    )
    P = softmax((300, 5, 3), 10.0)
    theirs = run(P)
    i = int(np.argmax(cl.upper_entropy(P) - theirs))
    alone = run(P[i : i + 1])[0]
    yield _upper(
        P[i], name, f"S*, one of {len(P)} in a batch; alone it is {float(alone)!r}", theirs[i]
    )


def softmax(shape, scale, seed=0):
    """Return softmax outputs of normal logits."""
    x = np.random.default_rng(seed).normal(size=shape) * scale
    p = np.exp(x - x.max(axis=-1, keepdims=True))
    return p / p.sum(axis=-1, keepdims=True)


def _attained(Q, name, what, given, theirs):
    """Return a finding on the smallest entropy, certified by a distribution that attains it."""
    value, _, p = Q.min_entropy(distribution=True)
    inside = bool(Q.contains(p, 1e-12))
    return Finding(name, what, given, float(theirs), float(value / np.log(2)),
                   f"{p!r} is in the set ({inside}) and has entropy {bits(p)!r}")  # fmt: skip


def probly_new_box():
    """S_* of probability intervals: greedy allocation in one order of the classes per class."""
    run = peers_probly.new("lower_entropy", peers_probly.intervals)
    peers_probly.load_new()
    low = np.array([0.0, 0.1, 0.1, 0.1])
    high = np.array([0.6, 0.2, 0.3, 0.5])
    yield _attained(cl.ProbabilityIntervals(low, high), f"probly {peers_probly.new_version()}",
                    "S_* of probability intervals", np.stack([low, high]),
                    run(low[None], high[None])[0])  # fmt: skip


def probly_new_ball():
    """S* of a total variation ball: computed for its probability intervals."""
    run = peers_probly.new("upper_entropy", peers_probly.ball)
    peers_probly.load_new()
    center, radius = np.array([0.5, 0.5, 0.0, 0.0]), np.array(0.1)
    value, _, p = cl.TotalVariationBall(center, radius).max_entropy(distribution=True)
    theirs = run(center[None], radius[None])[0]
    yield Finding(
        f"probly {peers_probly.new_version()}", "S* of a total variation ball of radius 0.1",
        center, float(theirs), float(value / np.log(2)),
        "their maximiser has distance "
        f"{_their_distance(center, radius):.3f} from the centre; ours, {p!r}, has "
        f"{np.abs(p - center).sum() / 2:.3f}",
    )  # fmt: skip


def _their_distance(center, radius):
    import torch

    held = peers_probly.ball(torch.from_numpy(center[None]), torch.from_numpy(radius[None]))
    _, p = peers_probly.load_new()["upper_entropy"].known[peers_probly.Ball](
        held, 2, return_distribution=True
    )
    return float(np.abs(p.numpy()[0] - center).sum() / 2)


def probly_old():
    """SLSQP with its default tolerance, also for a minimum at an extreme point."""
    peers.load_probly()
    P = softmax((60, 5, 3), 1.0)
    theirs = peers_probly.old("lower_entropy_convex_hull")(P)
    i = int(np.argmax(theirs - cl.lower_entropy(P)))
    yield _attained(cl.ConvexHull(P[i]), "probly 0.3.0", "S_* of a hull", P[i], theirs[i])
    P = softmax((60, 5, 3), 10.0)
    theirs = peers_probly.old("upper_entropy_convex_hull")(P)
    i = int(np.argmax(cl.upper_entropy(P) - theirs))
    yield _upper(P[i], "probly 0.3.0", "S* of a hull", theirs[i])


def scipy_entropy():
    """SLSQP for S* with a small tolerance: finite-difference gradients stop it early."""
    worst = None
    for scale in (3.0, 10.0, 30.0):
        for p in softmax((20, 5, 4), scale, seed=3):
            found = _upper(p, "SciPy SLSQP, ftol=1e-12", "S* of a hull",
                           peers.slsqp_upper_entropy(p))  # fmt: skip
            if worst is None or found.ours - found.theirs > worst.ours - worst.theirs:
                worst = found
    yield worst


def highs():
    """HiGHS accepts constraint violations of 1e-7."""
    worst = {}
    for seed in range(20):
        rng = np.random.default_rng(seed)
        P = 0.25 + 1e-6 * rng.normal(size=(5, 4))
        P /= P.sum(axis=1, keepdims=True)
        ours = float(cl.aleatoric_uncertainty(P).upper)
        for name, theirs in (
            ("SciPy linprog", peers.linprog_upper(P)),
            ("highspy", peers_lp.highs_games(P[None])[0]),
        ):
            if name not in worst or abs(theirs - ours) > worst[name][0]:
                worst[name] = abs(theirs - ours), P, float(theirs), ours
    for name, (_, P, theirs, ours) in worst.items():
        low, high = exact_game(P)
        yield Finding(name, "AU_upper of members with differences of 1e-6", P, theirs, ours,
                      f"in exact arithmetic: at least {low!r}, at most {high!r}")  # fmt: skip


def exact_game(P):
    """Return bounds on ``max over w of min over y of 1 - (w P)_y``, without rounding.

    The weights of the members and of the classes are those of the solver. Any weights give bounds,
    which are computed in exact rational arithmetic.
    """
    from credalens import _kernels

    M, K = P.shape
    value, gap, w, y = np.empty(1), np.empty(1), np.empty((1, M)), np.empty((1, K))
    _kernels.solve_games(P[None], value, gap, w, y, 1)
    p = [[Fraction(x) for x in row] for row in P]
    w, y = (_fractions(v[0]) for v in (w, y))
    low = min(1 - sum(w[m] * p[m][k] for m in range(M)) for k in range(K))
    high = max(1 - sum(y[k] * p[m][k] for k in range(K)) for m in range(M))
    return float(low), float(high)


def _fractions(weights):
    parts = [Fraction(max(x, 0.0)) for x in weights]
    return [x / sum(parts) for x in parts]


def main() -> int:
    from benchmarks.grid import versions

    print(", ".join(f"{name} {v}" for name, v in versions().items()), end="\n\n")
    with np.printoptions(precision=17, linewidth=100, suppress=False):
        for found in findings():
            print(found.as_text(), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
