"""Array backends for tests, and cases that run on each of them: sets and measures."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.testing import assert_allclose

import credalens as cl
from credalens._backend import tree_map
from credalens.sets import set_function

METRIC = np.array([[0, 1, 2, 3], [1, 0, 1.5, 2], [2, 1.5, 0, 1], [3, 2, 1, 0.0]])


#: Costs of three actions.
COST = np.array([[0, 1, 0.75], [5, 1, 0.75], [2, 1, 0.75], [0, 3, 0.75]])


@dataclass(frozen=True)
class ArrayBackend:
    """An array library: how to create its arrays, and how to recognise them."""

    name: str

    def asarray(self, x: Any) -> Any:
        """Return a NumPy array as one of the library; Dask arrays have chunks of 4 rows."""
        if self.name == "torch":
            return importlib.import_module("torch").from_numpy(np.array(x))
        if self.name == "jax":
            return importlib.import_module("jax.numpy").asarray(x)
        if self.name == "dask":
            chunks = (4, -1, -1)[: np.ndim(x)]
            return importlib.import_module("dask.array").from_array(np.asarray(x), chunks=chunks)
        return np.asarray(x)

    @property
    def types(self) -> tuple[type, ...]:
        """The types of its arrays."""
        return {
            "numpy": lambda: (np.ndarray, np.generic),
            "torch": lambda: (importlib.import_module("torch").Tensor,),
            "jax": lambda: (importlib.import_module("jax").Array,),
            "dask": lambda: (importlib.import_module("dask.array").Array,),
        }[self.name]()

    def assert_same(self, result: Any, expected: Any, atol: float) -> None:
        """Assert that a result consists of arrays of the library with the expected values."""
        ours, theirs = [], []
        tree_map(ours.append, result)
        tree_map(theirs.append, expected)
        assert len(ours) == len(theirs)
        for got, wanted in zip(ours, theirs, strict=True):
            assert isinstance(got, self.types), type(got)
            assert tuple(got.shape) == np.shape(wanted)
            dtype = str(np.asarray(wanted).dtype)
            own = str(got.dtype).rpartition(".")[2]
            assert own == dtype or (self.name == "jax" and own == "int32")  # its default integer
            values = got.compute() if self.name == "dask" else np.asarray(got)
            assert_allclose(values, wanted, rtol=0, atol=atol)


def _row_max(x: Any) -> Any:
    top = x.max(-1)
    return getattr(top, "values", top)[:, None]


#: Sets over four classes, from members ``(n, M, 4)`` of any library.
SETS = {
    "hull": cl.ConvexHull,
    "intervals": lambda x: cl.ProbabilityIntervals(x[:, 0] * 0.5, x[:, 0] * 0.5 + 0.5),
    "contamination": lambda x: cl.Contamination(x[:, 0], 0.25),
    "ball": lambda x: cl.TotalVariationBall(x[:, 0], radius=0.125),
    "kl ball": lambda x: cl.KLBall(x[:, 0], radius=0.125),
    "ordinal ball": lambda x: cl.OrdinalBall(x[:, 0], radius=0.125),
    "lower probability": lambda x: cl.LowerProbability(cl.ConvexHull(x).lower_probabilities()),
    "belief": lambda x: cl.BeliefFunction.possibility(x[:, 0] / _row_max(x[:, 0])),
    "possibility": lambda x: cl.Possibility(x[:, 0] / _row_max(x[:, 0])),
    "hull of a box": lambda x: SETS["intervals"](x).to_hull(),
    "box of a hull": lambda x: cl.ConvexHull(x).to_intervals(),
}
#: Measures that need extreme points, which these balls do not list.
NEEDS_POINTS = {"mmd", "scoring rules", "volume"}
#: Measures and queries.
MEASURES = {
    "total": cl.total_uncertainty,
    "aleatoric": cl.aleatoric_uncertainty,
    "epistemic": lambda Q: cl.epistemic_uncertainty(Q, return_error=True),
    "ordinal": lambda Q: cl.quantify(Q, "ordinal"),
    "metric": lambda Q: cl.epistemic_uncertainty(Q, cl.Wasserstein(METRIC)),
    "kolmogorov": lambda Q: cl.quantify(Q, "kolmogorov"),
    "mmd": lambda Q: cl.total_uncertainty(Q, cl.MMD(np.eye(4))),
    "upper entropy": lambda Q: cl.upper_entropy(Q, return_error=True, return_distribution=True),
    "lower entropy": lambda Q: cl.lower_entropy(Q, base="e", return_distribution=True),
    "hartley": lambda Q: cl.generalized_hartley(Q, return_error=True),
    "imprecision": lambda Q: cl.maximum_mean_imprecision(Q, "ordinal", return_error=True),
    "bound": cl.imprecision_bound,
    "quantify": lambda Q: cl.quantify(Q, measure=["tv", "entropy", "hartley"]),
    "scoring rules": lambda Q: cl.quantify(
        Q, ["scoring:log", "scoring:brier", "scoring:spherical", "scoring:zero_one"]
    ),
    "label-wise": lambda Q: cl.quantify(Q, "labelwise:credal", base="e"),
    "volume": cl.volume,
    "vote": cl.majority_vote,
    "decisions": lambda Q: tuple(cl.decide(Q, cost, rule) for cost in (None, COST)
                                 for rule in ("gamma_minimax", "hurwicz", "minimax_regret")),
    "admissible": lambda Q: tuple(
        cl.admissible(Q, cost, rule, return_error=True) for cost in (None, COST)
        for rule in ("e_admissible", "maximal", "interval_dominance")
    ),
    "label set": lambda Q: cl.decisions.best_label_set(Q, return_error=True),
    "expectations": lambda Q: (
        Q.lower(), Q.upper(), Q.lower([0, 1, 2, 3.5]), Q.upper(np.eye(4)[:3]), Q.center(),
        Q.lower_probability([0, 3]), Q.lower_probabilities(), Q.choquet([0, 1, 2, 3.5]),
        Q.is_two_monotone(), Q.contains([0.25] * 4),
    ),
}  # fmt: skip


@set_function()
def _weighted(Q: Any) -> Any:
    weights = [1, 2, 0, 3, 1]
    return (
        *Q.second_order("log", weights),
        *Q.second_order_by_class("brier", weights),
        Q.median_distance(weights),
    )


#: Measures of the members as a sample, for five members.
SAMPLE_MEASURES = {
    "families": lambda Q: cl.quantify(
        Q,
        ["information", "variance", "zero_one", "spherical", "second_order_distance", "confidence",
         "labelwise:entropy", "labelwise:variance"],
    ),
    "functions": lambda Q: (
        cl.predictive_entropy(Q), cl.expected_entropy(Q, "e"), cl.mutual_information(Q, "classes"),
    ),
    "weighted": _weighted,
}  # fmt: skip
