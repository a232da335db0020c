"""Sketches: merged exactly; checks: by definitions, with few false alarms."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from credalens.monitor import ScoreSketch, check
from credalens.monitor.check import share_of_run
from credalens.monitor.effects import effect
from credalens.monitor.histogram import Histogram, common_table
from credalens.monitor.page import write_page
from credalens.policy import Policy, PolicyGuarantee, ThresholdRule
from policy_cases import CLASSES, POLICIES, members, policy

reals = st.floats(width=32, allow_nan=True, allow_infinity=True)


@pytest.mark.slow
@given(st.lists(reals, max_size=30), st.lists(reals, max_size=30))
def test_a_histogram_counts_rounded_values(first, second):
    histogram = Histogram()
    histogram.add(np.array(first))
    values, counts = histogram.table()
    known = sorted(x for x in first if not math.isnan(x))
    assert histogram.missing == len(first) - len(known)
    assert counts.sum() == histogram.total == len(known)
    assert (np.diff(values) > 0).all() or len(values) < 2
    rounded = np.repeat(values, counts)
    for exact, found in zip(known, rounded, strict=True):
        if math.isinf(found):
            assert abs(exact) > 3.39e38
            assert exact * found > 0
        else:  # below the smallest normal number, the error is absolute
            assert abs(found - exact) <= max(2**-9 * abs(exact), 2.0**-134)
    other, both = Histogram(), Histogram()
    other.add(np.array(second))
    both.add(np.array(second + first))
    merged = histogram + other
    assert merged.missing == both.missing
    restored = Histogram.from_arrays(merged.as_arrays())
    for one in (merged, restored):
        for found, expected in zip(one.table(), both.table(), strict=True):
            assert found.tolist() == expected.tolist()
    table = common_table(histogram, other)
    assert table[1].sum() == histogram.total
    assert table[2].sum() == other.total


def test_nan_with_any_payload_is_missing():
    bits = np.array([0x7FFFFFFF, 0xFFFFFFFF, 0x7F800001, 0x3F800000], np.uint32)
    histogram = Histogram()
    histogram.add(bits.view(np.float32))
    assert histogram.missing == 3
    assert histogram.table()[0].tolist() == [1.0]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=12),
       st.lists(st.integers(-3, 3), min_size=1, max_size=12))  # fmt: skip
def test_effects_by_their_definitions(first, second):
    values = np.unique(first + second)
    a, b = ([one.count(v) for v in values] for one in (first, second))
    found = effect(values, a, b, n_resamples=200)
    pairs = [(y > x) + (y == x) / 2 for x in first for y in second]
    assert found.superiority[0] == pytest.approx(np.mean(pairs))
    assert found.mean_difference[0] == pytest.approx(np.mean(second) - np.mean(first), abs=1e-12)
    for estimate, low, high in (found.superiority, found.mean_difference):
        assert low - 1e-12 <= high
        assert low - 1 <= estimate <= high + 1


@pytest.mark.slow
def test_bootstrap_intervals_cover_the_true_difference():
    """Against resampling of the rows themselves."""
    rng = np.random.default_rng(3)
    x, y = rng.random(4000), rng.random(3000) ** 0.9
    first, second = Histogram(), Histogram()
    first.add(x)
    second.add(y)
    found = effect(*common_table(first, second), n_resamples=2000)
    means = [rng.choice(y, 3000).mean() - rng.choice(x, 4000).mean() for _ in range(2000)]
    expected = np.quantile(means, [0.025, 0.975])
    np.testing.assert_allclose(found.mean_difference[1:], expected, atol=0.002)
    assert found.direction == "higher"


# ---------------------------------------------------------------- sketches


def table(n=300, seed=0, shift=1.0, **more):
    rng = np.random.default_rng(seed)
    classes = np.array(CLASSES)[rng.integers(0, 4, n)]
    total = (rng.random(n) ** shift).astype(np.float32)
    return {
        "tv_total": total,
        "tv_epistemic": total / 2 * rng.random(n),
        "prediction": classes,
        "site": np.array(["north", "south"])[rng.integers(0, 2, n)],
        **more,
    }


def sketch_of(columns, **options):
    sketch = ScoreSketch(["tv_total", "tv_epistemic"], **options)
    sketch.add(columns)
    return sketch


def same(first, second):
    a, b = first.as_arrays(), second.as_arrays()
    assert a.keys() == b.keys()
    for key in a:
        np.testing.assert_array_equal(a[key], b[key])


def test_merged_sketches_are_that_of_all_rows():
    data = table(correct=np.random.default_rng(1).random(300) < 0.9)
    options = {"by": "site", "policy": policy(ThresholdRule(0.5)), "target_accuracy": 0.8}
    whole = sketch_of(data, **options)
    merged = whole.empty()
    for start in range(0, 300, 70):
        merged = merged + sketch_of({k: v[start : start + 70] for k, v in data.items()}, **options)
    merged.groups = {name: merged.groups[name] for name in whole.groups}
    for name, group in merged.groups.items():
        group.votes = {label: group.votes[label] for label in whole.groups[name].votes}
    same(whole, merged)
    same(whole, whole.from_arrays(whole.as_arrays()))
    kept = data["tv_total"] <= 0.5
    assert whole.total.kept == kept.sum()
    assert whole.outcomes.tolist() == [[kept.sum(), (kept & ~data["correct"]).sum()]]
    for site in ("north", "south"):
        assert whole.groups[site].rows == (data["site"] == site).sum()


@pytest.mark.parametrize(
    "site",
    [
        np.arange(300) % 7 + 900_000,
        np.ma.MaskedArray(np.arange(300) % 5, np.arange(300) % 3 == 0),
        np.array(["b", "a", "c"])[np.arange(300) % 3],
    ],
    ids=["large numbers", "missing", "texts"],
)
def test_groups_by_their_definition(site):
    from credalens.monitor.score_files import _integers

    data = table()
    given = site
    if site.dtype.kind == "i" and not np.ma.isMaskedArray(site):
        given = _integers(site)
    sketch = sketch_of({**data, "site": given}, by="site")
    texts = ["(none)" if one is None else str(one) for one in site.tolist()]
    assert set(sketch.groups) == set(texts)
    for name, group in sketch.groups.items():
        rows = np.array([one == name for one in texts])
        expected = Histogram()
        expected.add(data["tv_epistemic"][rows])
        found = group.histograms["tv_epistemic"].table()
        assert [one.tolist() for one in found] == [one.tolist() for one in expected.table()]
        classes, counts = np.unique(data["prediction"][rows], return_counts=True)
        assert group.votes == dict(zip(classes.tolist(), counts.tolist(), strict=True))
        assert group.rows == rows.sum()


@pytest.mark.parametrize("name", ["threshold", "by class", "labels", "abstain", "costs"])
def test_the_kept_rows_are_those_of_the_policy(name):
    from credalens.policy.application import PreparedColumns

    own, P = POLICIES[name], members(200)
    found = own.apply(P)
    columns, _ = PreparedColumns(own).rows(own.prepare(P), None, own.class_names)
    sketch = ScoreSketch(["tv_total"], policy=own)
    sketch.add(columns)
    assert sketch.total.kept == found.keep.sum()


def test_outcomes_by_the_definitions_of_the_guarantees():
    def guarantee(quantity, k):
        return PolicyGuarantee(quantity, k, 0.9, 0.95, 0.95, 0.9, 0.9, 10)

    given = [guarantee("accuracy", None), guarantee("precision", 1), guarantee("sensitivity", 1)]
    own = policy(ThresholdRule(0.5), guarantees=given)
    rng = np.random.default_rng(0)
    data = table(400)
    truth = np.where(rng.random(400) < 0.7, data["prediction"], "dog")
    known = rng.random(400) < 0.8
    data["label"] = np.ma.MaskedArray(truth, ~known)
    data["correct"] = np.ma.MaskedArray(truth == data["prediction"], ~known)
    sketch = sketch_of(data, policy=own)
    expected = np.zeros((3, 2), int)
    for total, vote, label, seen in zip(
        data["tv_total"], data["prediction"], truth, known, strict=True
    ):
        keep, wrong = total <= 0.5, vote != label
        expected[0] += [seen and keep, seen and keep and wrong]
        expected[1] += [seen and keep and vote == "dog", seen and keep and vote == "dog" and wrong]
        expected[2] += [seen and label == "dog", seen and label == "dog" and keep and wrong]
    assert sketch.outcomes.tolist() == expected.tolist()
    late = sketch.empty()
    late.add(data, scores=False)
    assert late.outcomes.tolist() == expected.tolist()
    assert late.rows == 0


# ---------------------------------------------------------------- checks


@pytest.mark.slow
def test_a_change_is_found_with_its_direction():
    options = {"by": "site", "policy": policy(ThresholdRule(0.5))}
    found = check(
        sketch_of(table(2000), **options), sketch_of(table(1500, 1, shift=0.6), **options)
    )
    assert found.alarm
    by_name = {(one.column, one.group): one for one in found.changes}
    assert len(by_name) == 4 * 3
    total, keep = by_name["tv_total", ""], by_name["keep rate", ""]
    assert total.alarm
    assert total.direction == "higher"
    assert total.superiority[0] > 0.55
    assert total.difference[1] < 0.125 < total.difference[2]  # 1 / 1.6 - 1 / 2
    assert keep.alarm
    assert keep.direction == "lower"
    assert not by_name["prediction", ""].alarm
    assert by_name["tv_total", "north"].n_new + by_name["tv_total", "south"].n_new == 1500
    assert len(found.to_pandas()) == 12
    assert "raise an alarm" in repr(found)


def test_small_changes_raise_no_alarm():
    reference, new = sketch_of(table(30000)), sketch_of(table(30000, 1, shift=0.93))
    assert check(reference, new, least_change=0).alarm
    assert not check(reference, new, least_change=0.1).alarm


@pytest.mark.slow
def test_the_rate_of_false_alarms():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(150):
        seeds = rng.integers(0, 2**31, 2)
        parts = [sketch_of(table(150, seed)) for seed in seeds]
        alarms += check(*parts, level=0.2, least_change=0, n_resamples=1).alarm
    assert alarms <= 45  # 30 are allowed; 45 have a probability below 0.3 %


def test_the_level_of_repeated_runs():
    parts = [sketch_of(table(500, seed)) for seed in (0, 1)]
    levels = [check(*parts, level=0.1, run=k).change_level for k in (None, 1, 2)]
    assert levels == [0.1, 0.1 * share_of_run(1), 0.1 * share_of_run(2)]
    assert 0.999 < sum(map(share_of_run, range(1, 2000))) < 1


@pytest.mark.slow
def test_guarantees_are_tested_part_by_part():
    guarantee = PolicyGuarantee("accuracy", None, 0.95, 0.95, 0.95, 0.96, 0.97, 300)
    own = policy(ThresholdRule(1.0), guarantees=[guarantee])
    data = table(1000, correct=np.random.default_rng(0).random(1000) < 0.97)
    good = sketch_of(data, policy=own)
    bad = sketch_of(data | {"correct": np.random.default_rng(1).random(1000) < 0.85}, policy=own)
    assert not check(good, good).alarm
    found = check(good, good, outcomes=[good.outcomes, bad.outcomes])
    (one,) = found.targets
    assert found.alarm
    assert one.alarm
    assert one.pvalue < 1e-6
    assert one.trials == 2000
    assert one.target.name == "accuracy >= 0.95"
    assert found.target_level == found.change_level == 0.025
    # An alarm stays, however many correct predictions follow.
    parts = [good.outcomes, bad.outcomes, 100 * good.outcomes]
    assert check(good, good, outcomes=parts).targets[0].alarm


@pytest.mark.parametrize(
    ("reference", "new"),
    [
        ([0.5], [0.5]),
        ([0.0] * 30, [1.0] * 40),
        ([np.inf, 1.0, 2.0] * 10, [1.0, -np.inf, np.inf] * 10),
        ([np.nan] * 3 + [1.0], [0.25, np.nan]),
        ([-0.0, 0.0], [0.0, 1e-45, 3e38]),
    ],
)
def test_odd_columns(reference, new, tmp_path):
    parts = [ScoreSketch(["x"]) for _ in range(2)]
    for part, values in zip(parts, (reference, new), strict=True):
        part.add({"x": np.array(values)})
    found = check(*parts, n_resamples=20)
    (one,) = found.changes
    assert 0 <= one.pvalue <= 1
    assert 0 <= one.distance <= 1
    assert one.n_reference == sum(not math.isnan(x) for x in reference)
    repr(found)
    assert write_page(tmp_path / "page.html", found, *parts).stat().st_size > 1000


def test_columns_without_values_are_not_tested():
    parts = [ScoreSketch(["x"]) for _ in range(2)]
    parts[0].add({"x": [0.5]})
    parts[1].add({"x": [math.nan]})
    found = check(*parts)
    assert len(found.changes) == 0
    assert not found.alarm


def test_groups_without_reference_are_reported():
    reference, new = (sketch_of(table(200, s), by="site") for s in (0, 1))
    del reference.groups["north"]
    found = check(reference, new)
    assert found.unknown_groups == ("north",)
    assert {one.group for one in found.changes} == {"", "south"}


def test_errors_name_the_argument():
    sketch = sketch_of(table())
    with pytest.raises(ValueError, match="new: has no rows"):
        check(sketch, sketch.empty())
    with pytest.raises(ValueError, match="has another by"):
        check(sketch, sketch_of(table(), by="site"))
    with pytest.raises(ValueError, match="columns: has no 'tv_epistemic'"):
        sketch.add({"tv_total": [0.1]})
    with pytest.raises(ValueError, match="more than 200 values"):
        sketch_of(table(300, site=np.arange(300)), by="site")
    repair = Policy(n_classes=2, member_names=["a"], rule=None)
    with pytest.raises(ValueError, match="only repairs"):
        ScoreSketch(["x"], policy=repair)
