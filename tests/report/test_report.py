"""The report: every number on the page against an independent computation; hostile names."""

import itertools
import re

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl
from credalens.report import (
    aggregates,
    cards,
    data,
    page,
    ranking,
    summary_text,
    trust,
    vega_bundle,
)
from report_pages import HOSTILE, Page, ensemble

NAMES = ("cat", "dog", "fox")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """One report with labels, ids and names: its page, the predictions and the labels."""
    P, y = ensemble()
    P.flags.writeable = False
    path = tmp_path_factory.mktemp("report") / "report.html"
    ids = [f"image {i}" for i in range(len(y))]
    assert cl.report.write(path, P, y, NAMES, ids, names=list("abcd")) == path
    return Page(path), P, y


def threshold_by_labels(P, y):
    """The largest of three accuracies that keeps at least half, or else the one that keeps most."""
    right, total = cl.majority_vote(P) == y, cl.total_uncertainty(P)
    found = [
        cl.guaranteed_threshold(right, total, target, 1 - 0.05 / 3, random_state=0)
        for target in (0.99, 0.95, 0.9)
    ]
    possible = [one for one in found if one.threshold is not None]
    half = [one for one in possible if one.kept >= 0.5]
    best = half[0] if half else max(possible, key=lambda one: one.kept)
    return best.threshold, best.target


def kind_masks(P, threshold):
    u = cl.quantify(P)
    review = u.total > threshold
    hard, apart = u.aleatoric.lower >= threshold / 2, 2 * u.epistemic >= threshold / 2
    assert (hard | apart)[review].all()
    return ~review, review & hard & ~apart, review & ~hard & apart, review & hard & apart


def one_percent(mask):
    return f"{100 * mask.sum() / len(mask):.1f} %"


# ---------------------------------------------------------------- the summary


def test_the_summary_with_labels(written):
    read, P, y = written
    threshold, target = threshold_by_labels(P, y)
    keep, ambiguous, unknown, both = kind_masks(P, threshold)
    assert min(keep.sum(), ambiguous.sum(), unknown.sum(), both.sum()) > 0
    right = cl.majority_vote(P) == y
    total = 1 - P.min(axis=1).max(axis=1)
    first = np.argsort(-total, kind="stable")[40:]
    assert right[first].mean() > right.mean()
    shown = read.text("summary")
    assert (
        f"Of 400 predictions, {keep.sum()} ({one_percent(keep)}) can be kept at an accuracy of "
        f"{100 * target:g} %: those with total uncertainty up to {threshold:.3f}." in shown
    )
    assert (
        f"The reasons to review the other {(~keep).sum()}: every model finds the input hard "
        f"({ambiguous.sum()}); the models disagree ({unknown.sum()}); every model finds the input "
        f"hard, and they disagree ({both.sum()})." in shown
    )
    assert (
        "Rejecting the 10 % with the largest total uncertainty (40) raises the accuracy "
        f"from {one_percent(right)} to {one_percent(right[first])}." in shown
    )
    assert f"Keep them: at least {100 * target:g} % are correct, with 95 % confidence." in shown


def test_the_kinds_and_the_rule(written):
    read, P, y = written
    right = cl.majority_vote(P) == y
    shown = read.text("summary")
    threshold, _ = threshold_by_labels(P, y)
    masks = kind_masks(P, threshold)
    for name, mask in zip(("keep", "ambiguous", "unknown", "both"), masks, strict=True):
        assert re.search(rf"{name}{mask.sum()}{re.escape(one_percent(mask))}", shown)
        accuracy = "100 %" if right[mask].all() else one_percent(right[mask])
        assert f"Accuracy {accuracy}." in shown
    assert f"reviewed if its total uncertainty is above {threshold:.3f}, the largest" in shown
    assert f"a risk of at least half of that ({threshold / 2:.3f})" in shown
    assert f"(epistemic uncertainty at least {threshold / 4:.3f})" in shown
    assert read.data["totals"] == [int(mask.sum()) for mask in masks]
    assert read.data["kinds"] == ["keep", "ambiguous", "unknown", "both"]


@pytest.mark.parametrize(
    ("options", "count", "how"),
    [
        ({}, 20, "at least 10 %"),
        ({"review_share": 0.25}, 50, "at least 25 %"),
        ({"review_threshold": 0.3}, None, "above 0.300, as requested"),
    ],
)
def test_what_to_review_without_labels(tmp_path, options, count, how):
    P, _ = ensemble(200)
    read = Page(cl.report.write(tmp_path / "r.html", P, **options))
    total = cl.total_uncertainty(P)
    threshold = options.get("review_threshold") or np.sort(total)[-count] - 1e-9
    review = total > threshold
    assert count in (None, review.sum())
    shown = read.text("summary")
    assert f"Of 200 predictions, the {review.sum()} with total uncertainty above" in shown
    assert f"({one_percent(review)}) are the first to review." in shown
    assert "There are no labels, so that the accuracy is not known." in shown
    assert "labels are needed to measure their accuracy" in shown
    assert how in shown
    assert read.data["totals"][0] == 200 - review.sum()
    assert read.data["kinds"][0] == "others"


def test_a_target_accuracy(tmp_path):
    P, y = ensemble(2000)
    read = Page(cl.report.write(tmp_path / "r.html", P, y, target_accuracy=0.97))
    right, total = cl.majority_vote(P) == y, cl.total_uncertainty(P)
    found = cl.guaranteed_threshold(right, total, 0.97, random_state=0)
    kept = total <= found.threshold
    assert 0 < kept.mean() < 1
    expected = f"{kept.sum():,} ({one_percent(kept)}) can be kept at an accuracy of 97 %"
    assert expected in read.text("summary")


def test_nothing_can_be_kept(tmp_path):
    P, _ = ensemble(300)
    y = np.random.default_rng(99).integers(3, size=300)
    shown = Page(cl.report.write(tmp_path / "r.html", P, y)).text("summary")
    assert "No part of the 300 predictions can be kept at an accuracy of 90 %" in shown
    assert "Accept them only if this accuracy is enough." in shown
    assert "Keep them" not in shown


def test_everything_can_be_kept(tmp_path):
    P, _ = ensemble(2000)
    shown = Page(cl.report.write(tmp_path / "r.html", P, cl.majority_vote(P))).text("summary")
    assert "All 2,000 predictions can be kept at an accuracy of 99 %." in shown
    assert "to review the 200 most uncertain ones: " in shown
    assert "Keep them: at least 99 % are correct, with 95 % confidence." in shown


@pytest.mark.slow
def test_sentences_of_small_numbers(tmp_path):
    sure = np.tile([[0.98, 0.02], [0.97, 0.03]], (12, 1, 1))
    shown = Page(cl.report.write(tmp_path / "r.html", sure, np.zeros(12, int))).text("summary")
    assert "No part of the 12 predictions can be kept at an accuracy of 90 %" in shown
    assert "does not change the accuracy, 100 %." in shown
    unsure = np.tile([[0.5, 0.5]], (1, 2, 1))
    shown = Page(cl.report.write(tmp_path / "r.html", unsure, review_threshold=0.4)).text("summary")
    assert "Of 1 prediction, the 1 with total uncertainty above 0.400 (100 %)" in shown
    assert "The reason to review it: every model finds the input hard." in shown
    shown = Page(cl.report.write(tmp_path / "r.html", unsure, [1])).text("summary")
    assert "0 of 1 are correct; too few to reject 10 %." in shown
    shown = Page(cl.report.write(tmp_path / "r.html", unsure, [0])).text("summary")
    assert "1 of 1 is correct" in shown


def test_one_model_is_described(tmp_path):
    P = np.array([[[0.9, 0.1]], [[0.55, 0.45]], [[0.5, 0.5]]])
    read = Page(cl.report.write(tmp_path / "r.html", P, review_threshold=0.4))
    shown = read.text("summary")
    assert "Epistemic uncertainty, i.e. disagreement, needs several models." in shown
    assert "One model alone cannot tell." in shown
    assert read.data["totals"] == [1, 2, 0, 0]
    assert "more data or training will help" not in shown
    assert "farthest apart" not in read.text("uncertain")
    assert "aleatoric 0.500, epistemic 0" in read.text("uncertain")
    assert "votes" not in read.text("listing")


# ---------------------------------------------------------------- map and table


def test_every_row_is_there_with_its_numbers(written):
    read, P, y = written
    rows = read.data["rows"]
    assert len(rows["r"]) == 400
    assert_array_equal(rows["r"], cl.rejection_order(1 - P.min(axis=1).max(axis=1)))
    place = np.array(rows["r"])
    u = cl.quantify(P[place])
    for key, values in {
        "t": u.total, "l": u.aleatoric.lower, "u": u.aleatoric.upper, "e": u.epistemic,
    }.items():  # fmt: skip
        assert_array_equal(rows[key], np.rint(1e4 * values), err_msg=key)
    assert rows["id"] == [f"image {i}" for i in place]
    assert_array_equal(rows["p"], cl.majority_vote(P[place]))
    assert_array_equal(rows["y"], y[place])
    masks = np.array(kind_masks(P, threshold_by_labels(P, y)[0]))
    assert_array_equal(rows["q"], masks.argmax(axis=0)[place])
    for i, shown in zip(place[:50], rows["v"], strict=False):
        votes = P[i].argmax(axis=1)
        pairs = list(zip(shown[::2], shown[1::2], strict=True))
        assert dict(pairs) == {k: int((votes == k).sum()) for k in set(votes.tolist())}
        assert [count for _, count in pairs] == sorted((c for _, c in pairs), reverse=True)


def test_cells_count_every_prediction_exactly(written):
    read, P, _ = written
    u = cl.quantify(P)
    x, y = np.rint(1e4 * u.aleatoric.lower), np.rint(1e4 * u.epistemic)
    cells = np.array(read.data["cells"])
    assert cells[:, 2].sum() == 400
    for i, j, count in cells:
        inside = (x // 100 == i) & (np.minimum(y // 50, 99) == j)
        assert inside.sum() == count


def test_the_largest_values_close_the_last_cell():
    P = np.tile(np.eye(2), (3, 1, 1))
    collector = data.Collector(data.ReportConfig(2, 2, ("a", "b"), measures=("tv",)))
    collector.add(P)
    assert aggregates.cells(collector.finish()) == [[0, 99, 3]]


@pytest.mark.slow
def test_many_rows_are_sampled_and_the_page_states_it(tmp_path):
    P, y = ensemble(30_000, 2, 3, sharp=2)
    ids = [f"a rather long name of an image, number {i:06d}.jpeg" for i in range(len(y))]
    read = Page(cl.report.write(tmp_path / "r.html", P, y, ids=ids))
    assert len(read.html.encode()) < 6_000_000
    keep, *review = kind_masks(P, threshold_by_labels(P, y)[0])
    review = np.any(review, axis=0)
    listed = np.array(read.data["rows"]["r"])
    assert len(listed) == 20_000
    assert len(set(listed.tolist())) == len(listed)
    order = cl.rejection_order(cl.total_uncertainty(P))
    assert_array_equal(listed[:10_000], order[:10_000])
    drawn = listed[read.data["drawn"]]
    assert len(drawn) == 1500
    assert review[drawn].all()
    assert np.array(read.data["cells"])[:, 2].sum() == 30_000
    shown = read.text("map")
    assert f"a sample, 1,500 of the {review.sum():,} to review" in shown
    assert f"lists {len(listed):,}: the 10,000 with the largest total uncertainty" in shown
    assert f"Of 30,000 predictions, {keep.sum():,} (" in read.text("summary")
    assert read.data["totals"][0] == keep.sum()


@pytest.mark.slow
def test_long_identifiers_leave_fewer_rows(tmp_path):
    P, _ = ensemble(21_000, 1, 2)
    ids = [f"{i:07d}" + "é" * 300 for i in range(len(P))]
    path = cl.report.write(tmp_path / "r.html", P, ids=ids, measures=["tv"])
    assert path.stat().st_size < 6_000_000
    assert 2000 < len(Page(path).data["rows"]["r"]) < 10_000


# ---------------------------------------------------------------- curves, distributions


def test_areas_beside_the_curves(written):
    read, P, y = written
    predicted = cl.majority_vote(P)
    shown = read.text("curves").partition("Metrics of selective prediction")[0]
    u = cl.quantify(P, ["tv", "entropy", "hartley", "information"])
    scores = {
        "Total variation": [u["tv"].total, u["tv"].aleatoric, u["tv"].epistemic],
        "Entropy": [None, u["entropy"].aleatoric, u["entropy"].epistemic],
        "Entropy, Hartley": [u["entropy"].total, None, None],
        "Hartley": [None, u["hartley"].aleatoric, u["hartley"].epistemic],
        "Confidence of the mean": [1 - P.mean(axis=1).max(axis=1), None, None],
        "Entropy of the mean": [u["information"].total, None, None],
        "Mutual information": [None, None, u["information"].epistemic],
        "Oracle": [predicted != y] * 3,
    }
    panels = re.split("(?:Total|Aleatoric|Epistemic) uncertainty", shown)[1:]
    for name, row in scores.items():
        for score, panel in zip(row, panels, strict=True):
            if score is not None:
                curve = cl.rejection_curve(y, predicted, score)
                assert f"{name}{curve.auc:.4f}{curve.monotonicity_ratio:.2f}" in panel
    assert all(f"Random{np.mean(predicted == y):.4f}0." in panel for panel in panels)
    spec = read.data["charts"]["curve-epistemic"]
    drawn = [one["accuracy"] for one in spec["data"]["values"] if one["score"] == "Hartley"]
    curve = cl.rejection_curve(y, predicted, u["hartley"].epistemic)
    np.testing.assert_allclose(drawn, curve.accuracy, atol=1e-6)


def test_metrics_and_the_best_score(written):
    read, P, y = written
    shown = read.text("curves")
    right, u = cl.majority_vote(P) == y, cl.quantify(P)
    confidence = 1 - P.mean(axis=1).max(axis=1)
    rows = {
        "Total uncertainty (total variation)": u.total,
        "Epistemic uncertainty (total variation)": u.epistemic,
        "Confidence of the mean, baseline": confidence,
    }
    for name, score in rows.items():
        m, area = cl.selective_metrics(right, None, score), cl.rejection_curve(right, None, score)
        values = (area.auc, m.aurc, m.augrc, m.prr, m.auroc)
        assert name + "".join(f"{value:.4f}" for value in values) in shown
    assert (
        f"most frequent label has an accuracy of {100 * np.bincount(y).max() / 400:.4g} %" in shown
    )
    best = max(rows, key=lambda name: cl.rejection_curve(right, None, rows[name]).auc)
    assert f"Best score: {best.removesuffix(', baseline').lower()}" in shown.lower().replace(
        "best score", "Best score"
    )


def test_a_clearly_better_baseline_is_in_the_summary(tmp_path):
    P, y = ensemble(2000, 5)
    P[:, 4] = np.random.default_rng(0).dirichlet(np.ones(3), 2000)  # spoils TU, not the mean
    read = Page(cl.report.write(tmp_path / "r.html", P, y))
    shown = read.text("summary")
    assert "Best score: confidence of the mean, AUC " in shown
    assert "Rank by confidence of the mean instead. See Accuracy after rejection." in shown


def test_sets_of_labels(written):
    read, P, y = written
    shown = read.text("sets")
    mask = cl.admissible(P)
    sizes = mask.sum(axis=1)
    for size in (1, 2, 3):
        share = (sizes == size).sum()
        assert re.search(rf"{size} labels?{share}", shown)
    pairs = {}
    for row in mask[sizes == 2]:
        name = " or ".join(NAMES[k] for k in np.flatnonzero(row))
        pairs[name] = pairs.get(name, 0) + 1
    assert all(f"{name}{count}" in shown for name, count in pairs.items())
    for label, rule in (("E-admissible", "e_admissible"), ("maximal", "maximal")):
        found = cl.set_metrics(y, cl.admissible(P, rule=rule))
        assert f"{label}{found.mean_size:.3f}{100 * found.coverage:.1f} % (" in shown
        assert f"{100 * found.single_accuracy:.1f} %{found.u65:.3f}{found.u80:.3f}" in shown
    values = read.data["charts"]["sets"]["data"]["values"]
    assert values[1]["size"] == pytest.approx(cl.admissible(P, rule="maximal").sum() / len(P))
    assert "Cost of decisions" not in shown


@pytest.mark.slow
def test_calibration_is_that_of_assess(written):
    read, P, y = written
    shown = read.text("trust")
    found = cl.validity.assess(P, y, n_resamples=100)
    accuracies, confidences = (P.argmax(axis=2) == y[:, None]).mean(axis=0), P.max(axis=2).mean(0)
    own = [cl.validity.reliability(P[:, [m]], y).top.calibrated for m in range(4)]
    assert own == [verdict == "calibrated" for verdict in found.verdicts]
    assert found.verdicts.tolist().count("underconfident") == 3
    assert "Of 4 models, 1 is calibrated and 3 are underconfident." in shown
    columns = found.verdicts, accuracies, confidences, found.reliability.ece_members
    for name, verdict, accuracy, confidence, ece in zip("abcd", *columns, strict=True):
        row = f"{name}{verdict}{100 * accuracy:.2f} %{100 * confidence:.2f} %{ece:.4f}"
        assert row in shown
    top = found.reliability.top
    inside = (top.verdict == "inside").sum()
    assert f"credal set in {inside} of {len(top.n)} bins" in shown
    assert f"mean is {found.reliability.ece:.4f}, the credal ECE" in shown
    assert f"to the band, is {found.reliability.credal_ece:.4f}." in shown
    values = read.data["charts"]["trust"]["data"]["values"]
    assert [one["n"] for one in values] == top.n.tolist()
    for name in ("start", "stop", "center", "band_lower", "band_upper", "observed", "lower",
                 "upper"):  # fmt: skip
        np.testing.assert_allclose([one[name] for one in values], getattr(top, name), atol=6e-7)
    assert "credalens validate FILES" in shown
    assert "label distribution" not in shown


@pytest.mark.slow
def test_models_that_are_not_calibrated(tmp_path):
    rng = np.random.default_rng(1)
    true = rng.dirichlet(np.ones(3), 4000)
    y = (true.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
    P = np.stack([true, true**3, true**0.4], axis=1)
    P = (P / P.sum(axis=2, keepdims=True)).astype(np.float32)
    read = Page(cl.report.write(tmp_path / "r.html", P, y, measures=["tv"]))
    shown = read.text("trust")
    assert "Of 3 models, 1 is calibrated, 1 is overconfident and 1 is underconfident." in shown
    assert "credalens validate FILES --fix temperature -o calibrated" in shown
    top = cl.validity.reliability(P, y).top  # in single precision
    values = read.data["charts"]["trust"]["data"]["values"]
    np.testing.assert_allclose([one["center"] for one in values], top.center, atol=6e-7)
    assert [one["n"] for one in values] == top.n.tolist()
    idents = [dict(attributes).get("id") for name, attributes in read.elements if name == "section"]
    assert idents[:3] == ["summary", "trust", "map"]
    right = Page(cl.report.write(tmp_path / "r.html", P[:, [0, 0]], y, measures=["tv"]))
    assert "All 2 models are calibrated." in right.text("trust")
    assert "credalens validate" not in right.text("trust")


@pytest.mark.parametrize(("labelled", "shape"), [(False, (50, 3, 3)), (True, (50, 1, 3)),
                                                 (True, (50, 3, 1))])  # fmt: skip
def test_no_calibration_without_labels_or_a_set(tmp_path, labelled, shape):
    P, y = ensemble(*shape)
    read = Page(cl.report.write(tmp_path / "r.html", P, y if labelled else None))
    assert "trust" not in read.texts
    assert "trust" not in read.data["charts"]
    assert "#trust" not in [attributes.get("href") for _, attributes in read.elements]


@pytest.mark.parametrize("step", [7, 100])
def test_label_distributions_in_chunks(step):
    rng = np.random.default_rng(2)
    P = rng.dirichlet(np.ones(3), (100, 4))
    P[:20, 0] = np.eye(3)[0]
    known = np.concatenate([np.eye(3)[[0] * 15 + [1] * 15], rng.dirichlet(np.ones(3), 70)])
    y = known.argmax(axis=1)
    y[90:] = -1
    counter = trust.TrustCounter(4)
    for start in range(0, 100, step):
        part = slice(start, start + step)
        # Files have no distributions in a chunk whose labels are one-hot.
        soft = None if (known[part].max(axis=1) == 1).all() else known[part]
        counter.add(P[part], y[part], P[part].argmax(axis=2), soft)
    found = counter.result()
    expected = cl.validity.coverage(P[:90], known[:90])
    assert found.covered == (expected.covered.sum(), 90)
    assert 15 < found.covered[0] < 90
    assert found.coverage_interval == (expected.lower, expected.upper)
    assert found.top.n.sum() == 90


@pytest.mark.slow
def test_label_distributions_as_labels(tmp_path):
    P, y = ensemble(200)
    known = np.concatenate([np.eye(3)[y[:150]], P[150:].mean(axis=1)])
    path = cl.report.write(tmp_path / "soft.html", P, known, NAMES)
    hard = cl.report.write(tmp_path / "hard.html", P, known.argmax(axis=1), NAMES)
    covered = int(cl.validity.coverage(P, known).covered.sum())
    assert 50 <= covered < 200
    text = Page(path).text()
    assert f"Of 200 label distributions, {covered}" in text
    assert "label distribution" not in Page(hard).text()


def test_costs_of_decisions(tmp_path):
    P, y = ensemble(300)
    cost = np.array([[0.0, 1], [20, 2], [3, 2]])
    names = ["wait", "treat"]
    read = Page(cl.report.write(tmp_path / "r.html", P, y, cost=cost, action_names=names))
    shown = read.text("sets")
    chosen = cl.decide(P, cost)
    risk = (P @ cost).max(axis=1)[np.arange(300), chosen].mean()
    paid = cost[y, chosen].mean()
    assert f"(Gamma-minimax){risk:.4f}{paid:.4f}" in shown
    assert "majority vote" not in shown
    square = Page(cl.report.write(tmp_path / "r.html", P, cost=1 - np.eye(3))).text("sets")
    vote = cl.majority_vote(P)
    risk = (1 - P.min(axis=1))[np.arange(300), vote].mean()
    assert f"majority vote{risk:.4f}" in square
    assert "mean cost with the labels" not in square


def test_distributions(written):
    read, P, _ = written
    u = cl.quantify(P)
    columns = (u.total, u.aleatoric.lower, u.aleatoric.upper, u.epistemic)
    for i, values in enumerate(columns):
        layers = read.data["charts"][f"histogram-{i}"]["layer"]
        bins = layers[0]["data"]["values"]
        for j, one in enumerate(bins):
            last = j == len(bins) - 1
            inside = (values >= one["from"]) & ((values < one["to"]) | last)
            assert one["n"] == inside.sum()
        assert layers[1]["data"]["values"][0]["x"] == np.median(values)
        assert f"median {np.median(values):.3f}" in read.text("distributions")


def test_by_predicted_class(written):
    read, P, y = written
    predicted, u = cl.majority_vote(P), cl.quantify(P)
    masks = kind_masks(P, threshold_by_labels(P, y)[0])
    shares = read.data["charts"]["classes"]["data"]["values"]
    for k, (name, code) in itertools.product(range(3), enumerate(masks)):
        count = (code & (predicted == k)).sum()
        found = [one for one in shares if one["k"] == str(k) and one["q"] == name]
        assert [one["n"] for one in found] == ([count] if count else [])
    medians = {one["k"]: one["eu"] for one in shares}
    assert medians["1"] == np.median(u.epistemic[predicted == 1])


# ---------------------------------------------------------------- instances and members


def test_the_most_uncertain_and_their_widest_pair(written):
    read, P, _ = written
    shown = read.text("uncertain")
    top = cl.rejection_order(cl.total_uncertainty(P))[:20]
    assert re.findall(r"image \d+", shown) == [f"image {i}" for i in top]
    pairs = re.findall(r"Farthest apart: (\w) (?:says|gives) [^,]*, (\w) ", shown)
    for i, pair in zip(top, pairs, strict=True):
        a, b = ("abcd".index(one) for one in pair)
        widest = max(np.abs(p - q).sum() for p, q in itertools.combinations(P[i], 2))
        assert np.abs(P[i, a] - P[i, b]).sum() == pytest.approx(widest)
    assert read.html.count('class="simplex"') == 20  # three classes
    # The widths of the bars of the first card, member by member.
    widths = re.findall(r"width:([\d.]+)%", read.html)[:12]
    np.testing.assert_allclose(np.array(widths, float), 100 * P[top[0]].ravel(), atol=0.006)


def test_the_members_in_words(written):
    read, P, y = written
    shown = read.text("members")
    d = cl.diagnose_members(P, y, list("abcd"))
    for m, verdict in enumerate(d.verdicts):
        assert verdict in shown
        assert f"{d.names[m]}{d.decides_total[m]:.1%}{d.in_widest_pair[m]:.1%}" in shown
    assert "No model distorts the uncertainty." in shown


@pytest.mark.parametrize("labelled", [True, False])
def test_a_broken_member_is_named_first_with_figures_without_it(tmp_path, labelled):
    P, y = ensemble(600, 4, 4)
    P[:, 2] = [0, 0, 0, 1]
    names = ["a", "b", "stuck", "d"]
    read = Page(cl.report.write(tmp_path / "r.html", P, y if labelled else None, names=names))
    shown = read.text("summary")
    warning = "stuck distorts the uncertainty on this page: it predicts class 3 for every input"
    assert shown.startswith("Summary" + warning)
    rest = np.delete(P, 2, axis=1)
    means = [cl.total_uncertainty(part).mean() for part in (rest, P)]
    assert f"mean total uncertainty is {means[0]:.3f}, not {means[1]:.3f}" in shown
    if labelled:
        right = [100 * (cl.majority_vote(part) == y).mean() for part in (rest, P)]
        assert f"the accuracy is {right[0]:.1f} %, not {right[1]:.1f} %" in shown
        found = cl.guaranteed_threshold(
            cl.majority_vote(rest) == y, cl.total_uncertainty(rest), 0.9, 1 - 0.05 / 3, 0
        )
        assert 0 < found.kept < 1
        assert f"{100 * found.kept:.1f} % can be kept at an accuracy of 90 %, not" in shown
    assert "Check it, or leave it out." in shown
    assert "See the warning at the top." in read.text("members")


def test_members_are_judged_on_a_sample_of_what_is_too_large(tmp_path, monkeypatch):
    P, y = ensemble(1000, 3, 3)
    monkeypatch.setattr("credalens.report.samples.DIAGNOSED_BYTES", P.nbytes // 3)
    monkeypatch.setattr("credalens.report.output.BLOCK_BYTES", 100 * 8 * 9)
    read = Page(cl.report.write(tmp_path / "r.html", P, y, names=list("abc")))
    shown = read.text("members")
    assert "one prediction in 4, 250 of 1,000" in shown
    for verdict in cl.diagnose_members(P[::4], y[::4], list("abc")).verdicts:
        assert verdict in shown


def test_random_orders_are_as_if_they_were_drawn(monkeypatch):
    # All places of three right ones among seven, each as likely as the other.
    ratios = []
    for right in itertools.combinations(range(7), 3):
        predicted = np.isin(np.arange(7), right).astype(int)
        curve = cl.rejection_curve(np.ones(7, int), predicted, -np.arange(7.0), ranking.CURVE_BINS)
        ratios.append(curve.monotonicity_ratio)
    monkeypatch.setattr(ranking, "RANDOM_ORDERS", 20_000)
    found = ranking._random_ratio(3, 7)
    assert found == pytest.approx(np.mean(ratios), abs=4 * np.std(ratios) / np.sqrt(20_000))


def test_method(written):
    read, P, _ = written
    shown = read.text("method")
    for word in ("Total variation", "Entropy", "Hartley", "certified", " ms", "numpy ", "Vega 6",
                 "credalens 0", "include 400 predictions"):  # fmt: skip
        assert word in shown
    error = cl.quantify(P, "entropy").error.max()
    assert f"{error:.1e} bits, certified" in shown


@pytest.mark.slow
def test_chunks_do_not_change_the_page(tmp_path, monkeypatch):
    P, y = ensemble(301, 3, 4)
    whole = Page(cl.report.write(tmp_path / "a.html", P, y))
    monkeypatch.setattr("credalens.report.output.BLOCK_BYTES", 20 * 8 * 12)
    parts = Page(cl.report.write(tmp_path / "b.html", P, y))
    assert parts.data == whole.data
    for ident in ("summary", "trust", "uncertain", "members", "curves", "distributions"):
        assert parts.text(ident) == whole.text(ident)


# ---------------------------------------------------------------- shapes


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 2), (5, 1, 3), (40, 2, 1), (3, 30, 3)])
@pytest.mark.parametrize("labelled", [False, True])
def test_small_shapes(tmp_path, shape, labelled):
    P = np.random.default_rng(0).dirichlet(np.ones(shape[2]), shape[:2])
    y = np.zeros(shape[0], int) if labelled else None
    read = Page(cl.report.write(tmp_path / "r.html", P, y))
    assert ("curves" in read.texts) == labelled
    assert f"{shape[0]} prediction" in read.text("summary")
    if shape[1] == 1:
        assert "There is only one model" in read.text("members")
    if shape[1] > cards.MAX_BARS:
        assert f"and {shape[1] - cards.MAX_BARS} more models" in read.text("uncertain")


def test_float32_and_equal_members(tmp_path):
    P = np.full((50, 3, 4), 0.25, np.float32)
    read = Page(cl.report.write(tmp_path / "r.html", P, review_threshold=0.5))
    assert read.data["totals"] == [0, 50, 0, 0]
    assert "Farthest apart" not in read.text("uncertain")
    # Equal uncertainties cannot be ranked.
    read = Page(cl.report.write(tmp_path / "r.html", P))
    assert "Of 50 predictions, none has a total uncertainty above 0.750." in read.text("summary")
    assert read.data["totals"] == [50, 0, 0, 0]


@pytest.mark.slow
def test_ten_thousand_classes(tmp_path):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 1, (30, 3, 10_000)).astype(np.float32)
    logits[..., 7] += 9
    names = [f"class of things number {k}" for k in range(10_000)]
    Q = cl.ConvexHull.from_logits(logits)
    path = cl.report.write(tmp_path / "r.html", Q, class_names=names)
    assert path.stat().st_size < 3_000_000
    read = Page(path)
    # In the legend of each card, and as the kind of those that are not reviewed.
    assert read.text("uncertain").count("others") == 20 + 20 - 3
    assert "The Hartley family was not computed" in read.text("method")
    assert read.data["classes"] == names


def test_another_distance_keeps_its_unit(tmp_path):
    P, y = ensemble(100, 3, 5)
    options = {"distance": "ordinal", "measures": ["tv"], "review_threshold": 1.2}
    read = Page(cl.report.write(tmp_path / "r.html", P, y, **options))
    u = cl.quantify(P, "ordinal")
    codes = (u.aleatoric.lower >= 0.6).astype(int) + 2 * (u.epistemic >= 0.3)
    codes = np.where(u.total > 1.2, codes, 0)
    assert read.data["totals"] == np.bincount(codes, minlength=4).tolist()
    assert min(read.data["totals"]) > 0
    assert read.data["unit"] == 4e-4
    assert_array_equal(read.data["rows"]["t"],
                       np.rint(u.total[read.data["rows"]["r"]] / 4e-4))  # fmt: skip
    assert "is above 1.200, as requested" in read.text("summary")


def test_common_prefixes_of_names_are_left_out(tmp_path):
    P, _ = ensemble(20, 2)
    names = ["exp7/resnet", "exp7/vgg"]
    shown = Page(cl.report.write(tmp_path / "r.html", P, names=names)).text("members")
    assert "exp7" not in shown
    assert "resnet" in shown
    assert data.short_names(["ab_1", "ab_2"]) == ("ab_1", "ab_2")
    assert data.short_names(["resnet20", "resnet32"]) == ("resnet20", "resnet32")
    assert data.short_names(["alone_a"]) == ("alone_a",)
    assert data.short_names(["a_", "a_b"]) == ("a_", "a_b")


# ---------------------------------------------------------------- names from outside


@pytest.mark.slow
def test_hostile_names_are_only_text(tmp_path):
    K = len(HOSTILE)
    P, y = ensemble(60, K, K)
    ids = [HOSTILE[i % K] for i in range(60)]
    plain = [str(k) for k in range(K)]
    tame = Page(cl.report.write(tmp_path / "tame.html", P, y, plain, plain * 5 + plain[:5]))
    read = Page(cl.report.write(tmp_path / "hostile.html", P, y, HOSTILE, ids, names=HOSTILE,
                                title=HOSTILE[1]))  # fmt: skip
    tags = [[tag for tag, _ in one.elements] for one in (tame, read)]
    assert tags[0] == tags[1]
    attributes = [{key for _, attrs in one.elements for key in attrs} for one in (tame, read)]
    assert attributes[0] == attributes[1]
    assert read.data["classes"] == [name[:199] + "…" if len(name) > 200 else name
                                    for name in HOSTILE]  # fmt: skip
    assert set(read.data["rows"]["id"]) == set(read.data["classes"])
    assert HOSTILE[1] in "".join(read.texts[""])
    assert HOSTILE[0] in read.text("members")


def test_identifiers_that_are_missing(tmp_path):
    P = np.full((2, 2, 2), 0.5)
    page = Page(cl.report.write(tmp_path / "a.html", P, ids=["x", None]))
    assert page.data["rows"]["id"] == ["x", ""]
    assert "None" not in page.text("uncertain")
    assert "row 1" in page.text("uncertain")


def test_names_that_are_no_unicode(tmp_path):
    P, _ = ensemble(5)
    path = cl.report.write(tmp_path / "r.html", P, ids=[f"\udcff{i}" for i in range(5)])
    assert set(Page(path).data["rows"]["id"]) == {f"?{i}" for i in range(5)}


def test_nothing_on_the_page_is_fetched(written):
    read, _, _ = written
    policy = next(a["content"] for tag, a in read.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    scripts = re.search(r"script-src ([^;]*)", policy)[1].split()
    assert len(scripts) == 3  # Vega, the page, and the explorer that it opens
    assert all(source.startswith("'sha256-") for source in scripts)
    for _, attrs in read.elements:
        assert "src" not in attrs
        assert attrs.get("href", "#").startswith(("#", "data:"))
    own = [page._resource(name) for name in ("page.html", "page.css", "page.js")]
    assert not any("//" in re.sub(r"(?m)^\s*//.*$|\s// .*$", "", text) for text in own)
    assert len(own[2].splitlines()) < 500


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"members": np.empty((0, 2, 3))}, "members: has no rows"),
        ({"members": np.full((3, 2), 0.5)}, r"members: has shape \(3, 2\)"),
        ({"members": np.full((3, 2, 3), 0.5)}, "members: row .* sums to 1.5"),
        ({"members": cl.Contamination([0.5, 0.5], 0.1)}, "members: is a Contamination"),
        ({"y": [0, 1]}, "y: has 2 entries; pass 5"),
        ({"y": np.full((5, 2), 0.5)}, "y: has 2 columns; pass one per class, 3"),
        ({"y": np.ones((5, 3))}, r"y: row 0 \(zero-based\) sums to 3"),
        ({"y": [0, 1, 2, 3, 0]}, r"y: is 3 at index 3 \(zero-based\)"),
        ({"y": [0, 1, np.nan, 1, 0]}, "y: is nan at index 2 .* remove rows without a label"),
        ({"y": ["a", "b", "a", "a", "?"], "class_names": ["a", "b", "c"]}, "y: is . at index 4"),
        ({"class_names": ["a"]}, "class_names: has 1 entries; pass 3, one per class"),
        ({"class_names": "abc"}, "class_names: is a string"),
        ({"names": ["a"]}, "names: has 1 entries; pass 2"),
        ({"ids": ["a"]}, "ids: has 1 entries; pass 5"),
        ({"measures": ["tvv"]}, "measures: is 'tvv'"),
        ({"distance": "far"}, "distance: is 'far'"),
        ({"review_threshold": -1}, "review_threshold: is -1; pass a number >= 0"),
        ({"review_share": 1}, "review_share: is 1"),
        ({"y": [0] * 5, "target_accuracy": "x"}, "target_accuracy: is 'x'"),
        ({"target_accuracy": 0.9}, "target_accuracy: needs labels; pass y, or review_share"),
        ({"review_share": 0.1, "review_threshold": 0.4}, "review_threshold: excludes review_share"),
        ({"cost": np.ones((2, 3))}, r"cost: has shape \(2, 3\)"),
        ({"cost": np.ones((3, 2)), "action_names": ["a"]}, "action_names: has 1 entries; pass 2"),
        ({"path": "report.txt"}, "path: .*report.txt is not an .html file"),
        ({"path": "nowhere/report.html"}, "nowhere is not a folder"),
    ],
)
def test_invalid_arguments(tmp_path, change, message):
    members = np.full((5, 2, 3), 1 / 3)
    arguments = {"members": members, **change}
    path = tmp_path / arguments.pop("path", "report.html")
    with pytest.raises(ValueError, match=message):
        cl.report.write(path, **arguments)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_labels_as_names_and_rows_to_normalise(tmp_path):
    P, y = ensemble(40)
    plain = Page(cl.report.write(tmp_path / "a.html", P, y, NAMES))
    named = Page(cl.report.write(tmp_path / "b.html", 2 * P, np.array(NAMES)[y], NAMES,
                                 normalize=True))  # fmt: skip
    floats = Page(cl.report.write(tmp_path / "c.html", P, y.astype(float), NAMES))
    assert named.data["rows"]["y"] == plain.data["rows"]["y"] == floats.data["rows"]["y"]
    assert named.text("summary") == plain.text("summary")


@pytest.mark.slow
def test_classes_that_are_called_by_numbers(tmp_path):
    # As on the command line: a label 1 is then the class of that name, not the second one.
    P, y = ensemble(40)
    names = [str(k + 1) for k in range(P.shape[2])]
    plain = Page(cl.report.write(tmp_path / "a.html", P, y))
    named = Page(cl.report.write(tmp_path / "b.html", P, y + 1, names))
    assert named.data["rows"]["y"] == plain.data["rows"]["y"]
    with pytest.raises(ValueError, match=r"^y: is 0 at index"):
        cl.report.write(tmp_path / "c.html", P, np.zeros(40, int), names)


def test_classes_that_are_called_by_truth_values(tmp_path):
    P = np.array([[[0.6, 0.4]], [[0.1, 0.9]]])
    page = Page(cl.report.write(tmp_path / "a.html", P, np.array([True, False]), ["True", "False"]))
    assert page.data["rows"]["y"] == [0, 1]


def test_a_failure_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(vega_bundle, "bundle", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        cl.report.write(path, ensemble(10)[0])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_percentages_are_not_rounded_to_certainty():
    shown = [
        summary_text.percent(count, 100_000).replace("\u00a0", " ") for count in (0, 1, 99_999)
    ]
    assert shown == ["0 %", "< 0.1 %", "> 99.9 %"]
    assert [summary_text.measure(x) for x in (0, 4.9e-4, 0.0126)] == ["0", "0.000", "0.013"]
