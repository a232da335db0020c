"""The axioms: what the paper proves is found, and wrong measures are caught."""

import numpy as np
import pytest
from typer.testing import CliRunner

import credalens as cl
from credalens import axioms, measures
from credalens.axioms.candidates import Candidates, draw, draw_weights, rounded
from credalens.axioms.report import Counterexample
from credalens.axioms.target import ALIASES
from credalens.cli import app
from credalens.distances import NAMES
from credalens.sets import CredalSet

PAPER = ("A1", "A2", "A3", "A4", "A5a", "A5b")


def reproduced(example, measure=None, **names):
    """Paste a counterexample back and say whether it still breaks the axiom."""
    scope = {"np": np, "cl": cl, "measure": measure, **names}
    exec(str(example), scope)
    return bool(scope["violated"])


def failures(report):
    """Return the axioms that fail; A5 only repeats its parts."""
    return {name for name in report.failed if name != "A5"}


def shannon(p):
    return -(p * np.log2(p, where=p > 0, out=np.zeros_like(p))).sum(axis=-1)


def error_rate(p):
    return 1 - p.max(axis=-1)


# The paper's table -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "failing"),
    [
        ("total", set()),  # Proposition 4.2
        ("epistemic", set()),
        ("mmi", set()),
        ("imprecision_bound", set()),
        ("generalized_hartley", set()),
        ("aleatoric_lower", {"A3"}),  # Propositions 4.2 and 4.9
        ("aleatoric_upper", {"A5b"}),
        ("lower_entropy", {"A3"}),
        ("upper_entropy", {"A5b"}),
        ("entropy_difference", {"A5b"}),
        ("hartley_residual", {"A3", "A5b"}),
    ],
)
def test_the_paper_is_reproduced(name, failing):
    report = axioms.check(name)
    assert failures(report) == failing
    assert all(report[axiom].held for axiom in PAPER if axiom not in failing)
    assert report.ok == (not failing)
    assert report["A5"].held == (not failing & {"A5a", "A5b"})
    for axiom in failing:
        assert reproduced(report[axiom].counterexample), axiom


@pytest.mark.slow
def test_every_claim_of_the_table_holds_and_every_failure_is_found():
    for report in axioms.table(n_classes=3, random_state=1, axioms="all", n_sets=300):
        measure = axioms.MEASURES[report.measure]
        assert report.broken_claims == ()
        assert set(measure.fails) <= set(report.failed), report.measure
        assert not set(measure.fails) & set(measure.claims)
        for axiom in report.failed:
            assert reproduced(report[axiom].counterexample), (report.measure, axiom)


def test_every_public_measure_and_every_named_distance_is_in_the_table():
    functions = [name for name in measures.__all__ if name.islower()]
    for name in set(functions) - {
        "aleatoric_uncertainty",
        "quantify",
        "quantify_dirichlet",
        "quantify_multilabel",
        "summarize",
    }:
        known = ALIASES.get(name, name) in axioms.MEASURES
        assert known, f"write a row for {name} in measures/table.py"
    for name in NAMES:
        suffix = "" if name == "tv" else f":{name}"
        for row in ("total", "aleatoric_lower", "aleatoric_upper", "epistemic"):
            assert f"{row}{suffix}" in axioms.MEASURES
    assert all(name == row.name for name, row in axioms.MEASURES.items())


def test_the_upper_end_is_at_a_generator_where_the_members_agree():
    # Proposition 4.9: half of the mass of every member is on the first class.
    def agreeing(members):
        return cl.ConvexHull((members + np.eye(members.shape[-1])[0]) / 2)

    assert axioms.check("aleatoric_upper", "A5b", sets=agreeing)["A5b"].held
    # Entropy goes on to grow between members that agree: (1, 1, 0)/2 and (1, 0, 1)/2.
    assert not axioms.check("upper_entropy", "A5b", sets=agreeing)["A5b"].held


def test_epistemic_uncertainty_is_dominated_invariant_and_bounded_by_imprecision():
    # Propositions 4.4, 4.5 and 4.6.
    report = axioms.check("epistemic", "dominance,translation,mmi,permutation")
    assert [verdict.held for verdict in report.verdicts.values()] == [True] * 4


def test_ordered_classes_may_not_be_permuted():
    report = axioms.check("epistemic:ordinal", ["permutation", "translation"], n_classes=3)
    assert report.failed == ("permutation",)
    assert reproduced(report["permutation"].counterexample)


@pytest.mark.slow
def test_the_hartley_residual_of_stars_is_negative():
    report = axioms.check("hartley_residual", "A1", n_classes=22, n_sets=225)
    example = report["A1"].counterexample
    assert example.values["value"] < -1e-3
    assert reproduced(example)


# Wrong measures ----------------------------------------------------------------------------------


def test_the_mean_entropy_of_the_members_is_no_function_of_the_hull():
    def mean_entropy(Q):
        return shannon(Q.members).mean(axis=-1)

    report = axioms.check(mean_entropy, bound=2.0)
    # {(1/2, 1/2)} has 1 bit, the hull of two corners around it 0.
    assert failures(report) == {"A3", "A5a"}
    assert all(report[axiom].held for axiom in ("A1", "A2", "A4"))
    assert report["A5b"].held is None
    assert reproduced(report["A5a"].counterexample, mean_entropy)
    assert reproduced(report["A3"].counterexample, mean_entropy)


@pytest.mark.slow
def test_the_number_of_extreme_points_jumps():
    def n_corners(Q):
        corners = Q.extreme_points()
        return 1 + (corners[:, 1:] != corners[:, :1]).any(axis=2).sum(axis=1)

    report = axioms.check(n_corners)
    # It also grows without end, and a square fits into a triangle.
    assert failures(report) == {"A1", "A2", "A3"}
    assert report["A4"].held
    assert report["A5a"].held
    for axiom in report.failed:
        assert reproduced(report[axiom].counterexample, n_corners)


def test_the_upper_aleatoric_end_of_the_generators_is_not_that_of_the_set():
    def from_generators(Q):
        return error_rate(Q.members).max(axis=-1)

    report = axioms.check(from_generators, pointwise=error_rate)
    assert failures(report) == {"A3", "A5a"}
    # It is attained at a generator, by construction: A5b alone would not have caught it.
    assert all(report[axiom].held for axiom in ("A1", "A2", "A4", "A5b"))
    for axiom in report.failed:
        assert reproduced(report[axiom].counterexample, from_generators)


def test_a_pointwise_functional_shows_where_the_generators_do_not_suffice():
    def upper(Q):
        return cl.aleatoric_uncertainty(Q).upper

    def lower(Q):
        return cl.aleatoric_uncertainty(Q).lower

    report = axioms.check(upper, "A5", pointwise=error_rate)
    assert report.failed == ("A5b", "A5")
    assert reproduced(report["A5b"].counterexample, upper)
    assert axioms.check(lower, "A5", pointwise=error_rate).ok


@pytest.mark.parametrize(
    ("axiom", "measure", "options"),
    [
        ("A1", lambda Q: cl.total_uncertainty(Q) - 0.01, {}),
        ("A1", lambda Q: np.where(cl.total_uncertainty(Q) == 0, np.nan, 0.5), {}),
        ("A1", lambda Q: cl.total_uncertainty(Q), {"bound": 0.9}),
        ("A1", lambda Q: np.full(len(Q), np.log2(Q.n_members)), {}),
        # The threshold is nowhere near a special set: the jump is found by bisection.
        ("A2", lambda Q: (cl.epistemic_uncertainty(Q) > 0.2137).astype(float), {}),
        ("A4", lambda Q: error_rate(Q.members).sum(axis=-1), {}),
        # Scaled by the batch that it came in.
        ("A4", lambda Q: cl.total_uncertainty(Q) / cl.total_uncertainty(Q).max(initial=1e-9), {}),
        ("A5a", lambda Q: error_rate(Q.members[:, 0]), {}),
        ("dominance", lambda Q: 1.1 * cl.epistemic_uncertainty(Q), {"total": "epistemic"}),
        ("dominance", lambda Q: cl.total_uncertainty(Q), {"total": cl.epistemic_uncertainty}),
        ("translation", lambda Q: Q.upper()[:, 0], {}),
        ("mmi", lambda Q: 1.1 * cl.epistemic_uncertainty(Q), {}),
        ("mmi", lambda Q: cl.epistemic_uncertainty(Q), {"mmi": cl.epistemic_uncertainty}),
        ("permutation", lambda Q: Q.upper()[:, 0], {}),
        ("permutation", lambda Q: error_rate(Q.members[:, 0]), {}),
    ],
)
def test_a_wrong_measure_is_caught(axiom, measure, options):
    report = axioms.check(measure, axiom, **options)
    assert report.failed == (axiom,)
    assert reproduced(report[axiom].counterexample, measure)


def test_steep_measures_are_continuous():
    # The change is 3e-5 for the smallest step of 1e-9, and shrinks with it.
    assert axioms.check(lambda Q: np.sqrt(cl.epistemic_uncertainty(Q)), "A2").ok


def test_counterexamples_are_small():
    example = axioms.check("aleatoric_lower", "A3")["A3"].counterexample
    # A corner and its middle with another: two members, one point inside, numbers like 0.5.
    assert example.arrays["members"].shape == (2, 4)
    assert example.arrays["weights"].shape == (1, 2)
    assert set(example.arrays["members"].ravel()) <= {0.0, 0.5, 1.0}
    assert example.values == {"inner": 0.5, "outer": 0.0}
    assert repr(example) == example.code


# Other kinds of sets -----------------------------------------------------------------------------


class Contaminated(CredalSet):
    """A tenth of any distribution mixed into the mean of the members."""

    def __init__(self, center):
        self._center = center

    @classmethod
    def from_members(cls, members):
        return cls(members.mean(axis=-2))

    @property
    def batch_shape(self):
        return self._center.shape[:-1]

    @property
    def n_classes(self):
        return self._center.shape[-1]

    @property
    def dtype(self):
        return self._center.dtype

    def extreme_points(self):
        return 0.9 * self._center[..., None, :] + 0.1 * np.eye(self.n_classes)

    def __getitem__(self, index):
        return Contaminated(self._center[index])

    def plain(self):
        return self


@pytest.mark.slow
def test_sets_of_another_kind_are_checked_where_the_axiom_speaks_of_them():
    report = axioms.check("total", "A1-A5,translation", sets=Contaminated, n_sets=200)
    assert report["A1"].held
    assert report["A3"].held
    # None of these sets is precise; and their mean depends on how a hull is written.
    assert report["A4"].held is None
    assert report["A5b"].held
    assert report["translation"].held is False
    code = report["translation"].counterexample.code
    assert "cl.Contaminated.from_members(members[None])" in code


def test_a_function_that_makes_sets_is_named_in_the_code():
    def sharpened(members):
        return cl.ConvexHull(members**2, normalize=True)

    example = axioms.check("aleatoric_lower", "A3", sets=sharpened)["A3"].counterexample
    assert reproduced(example, sets=sharpened)
    # Not affine: mixtures of the members need not be mixtures afterwards, and are left out.
    assert axioms.check("total", "A3", sets=sharpened).ok


# The report --------------------------------------------------------------------------------------


def test_the_report_says_what_was_found():
    report = axioms.check("aleatoric_lower", "A1, A3, A5a", n_sets=100)
    assert list(report) == ["A1", "A3", "A5a"]
    assert report["A1"].n_sets >= 100
    assert report["A1"].counterexample is None
    text = str(report)
    assert "aleatoric_lower, 4 classes" in text
    assert f"held on {report['A1'].n_sets} sets" in text
    assert "FAILS: inner" in text
    assert report["A3"].counterexample.code.splitlines()[1] in text


@pytest.mark.slow
def test_what_could_not_be_checked_is_said():
    report = axioms.check(lambda Q: cl.total_uncertainty(Q), "all", n_sets=50)
    assert (report["A5a"].held, report["A5b"].held, report["A5"].held) == (True, None, None)
    assert str(report["A5"]) == "not checked: A5b: pass pointwise="
    assert "not checked: pass total=" in str(report["dominance"])
    everywhere_nan = axioms.check(lambda Q: np.full(len(Q), np.nan), "A1,A3", n_sets=50)
    assert everywhere_nan["A1"].held is False
    assert everywhere_nan["A3"].held is None


@pytest.mark.slow
def test_the_table_is_printed():
    reports = axioms.table(["total", "lower_entropy"], n_classes=2, n_sets=60)
    lines = axioms.render(reports).splitlines()
    assert lines[0].split() == ["measure", *PAPER]
    assert lines[1].split() == ["total", *["yes"] * 6]
    assert lines[2].split() == ["lower_entropy", "yes", "yes", "NO", "yes", "yes", "yes"]
    assert lines[3].startswith("lower_entropy fails A3: inner")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [("--measures", "total,mmi"), ("--measure", "total", "--measure", "mmi")]
)
def test_the_command_takes_several_measures(options):
    done = CliRunner().invoke(app, ["axioms", *options, "--classes", "2"])
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["measure", "total", "mmi"]


def test_a_broken_claim_is_marked():
    report = axioms.check("total", "A1", bound=0.5)
    assert report.broken_claims == ("A1",)
    assert "NO!" in axioms.render([report])


def test_the_same_seed_finds_the_same_and_axioms_do_not_disturb_each_other():
    alone = axioms.check("hartley_residual", "A3", random_state=3)
    among = axioms.check("hartley_residual", "A1,A3", random_state=3)
    assert alone["A3"].counterexample.code == among["A3"].counterexample.code
    assert alone["A3"].n_sets == among["A3"].n_sets


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("entropy",), {}, "measure: is 'entropy'; choose one of"),
        ((3,), {}, "measure: is 3; pass a name, or a function of sets"),
        (("total", "A6"), {}, "axioms: is 'A6'; choose one of"),
        (("total", []), {}, "axioms: is .*which names none"),
        (("total", "A1", 1), {}, "n_classes: is 1; pass a whole number >= 2"),
        (("total",), {"n_sets": 0}, "n_sets: is 0"),
        (("total",), {"tolerance": 0.0}, "tolerance: is 0.0"),
        (("total",), {"bound": -1.0}, "bound: is -1.0"),
        (("total",), {"sets": "box"}, "sets: is 'box'"),
        (("total",), {"sets": lambda P: P}, "sets: made .*return a batch of"),
        ((lambda Q: Q.members,), {}, r"measure: returned ndarray of shape \(90, 3, 4\)"),
        ((cl.aleatoric_uncertainty,), {}, "measure: returned Interval.*one of its ends"),
        ((cl.total_uncertainty, "A5b"), {}, "axioms: names 'A5b'; to check it, pass pointwise="),
        ((cl.total_uncertainty, "A5"), {"pointwise": np.sum}, "pointwise: returned shape"),
        ((cl.total_uncertainty, "dominance"), {}, "to check it, pass total="),
        (("total",), {"total": "sum"}, "total: is 'sum'"),
        (("total",), {"random_state": -1}, "random_state: is -1"),
    ],
)
def test_bad_arguments_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        axioms.check(*arguments, **options)


def test_an_unknown_axiom_of_a_report_is_refused():
    report = axioms.check("total", "A1", n_sets=10)
    with pytest.raises(ValueError, match="axiom: is 'A3'; choose one of 'A1'"):
        report["A3"]
    with pytest.raises(ValueError, match="measures: is 'total'; pass a list"):
        axioms.table("total")


# The pieces --------------------------------------------------------------------------------------


@pytest.mark.parametrize("members", [1, 2, 5])
@pytest.mark.parametrize("classes", [2, 3, 7])
def test_drawn_rows_are_distributions(members, classes):
    rng = np.random.default_rng(0)
    trial = Candidates(
        draw(rng, 90, members, classes),
        draw_weights(rng, 90, 3, members),
        draw(rng, 90, 1, classes),
    )
    for near in (trial, trial.perturbed(rng, 0.5)):
        for array in near.arrays().values():
            assert array.min() >= 0
            np.testing.assert_allclose(array.sum(axis=-1), 1, atol=1e-12)
        cl.ConvexHull(near.members)  # not refused


def test_rounding_keeps_distributions():
    # 0.26, 0.26, 0.48 in tenths: 2, 2, 4 and the largest remainders, 0.08 and 0.06, up.
    np.testing.assert_allclose(rounded(np.array([0.26, 0.26, 0.48]), 10), [0.3, 0.2, 0.5])
    x = np.random.default_rng(0).dirichlet(np.ones(5), 200)
    for parts in (1, 4, 10, 1000):
        near = rounded(x, parts)
        np.testing.assert_allclose(near.sum(axis=1), 1, atol=1e-12)
        assert np.abs(near - x).max() < 1 / parts


def test_the_generators_of_the_table_are_the_definitions():
    P = np.random.default_rng(0).dirichlet(np.ones(3), (4, 2))
    # For the hull of two members every event's extremes are at them: GH by hand for K = 3.
    for members in P:
        low = {A: members[:, list(A)].sum(axis=1).min() for A in [(0,), (1,), (2,), (0, 1), (0, 2),
                                                                  (1, 2)]}  # fmt: skip
        pairs = sum(low[(a, b)] - low[(a,)] - low[(b,)] for a, b in [(0, 1), (0, 2), (1, 2)])
        whole = 1 - sum(low[(a,)] for a in range(3)) - pairs
        expected = pairs * 1.0 + whole * np.log2(3)
        at = axioms.MEASURES["generalized_hartley"].at_generators(members[None])
        np.testing.assert_allclose(at, expected, atol=1e-12)
        np.testing.assert_allclose(
            axioms.MEASURES["mmi"].at_generators(members[None]),
            np.abs(members[0] - members[1]).sum() / 2,
        )


def test_a_zero_has_no_sign():
    assert Counterexample("A1", {}, {"inner": -0.0, "outer": -1.0}, "").summary() == (
        "inner 0, outer -1"
    )
