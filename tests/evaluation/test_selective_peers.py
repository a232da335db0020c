"""Values of other libraries, under their conventions.

The literals are the output of fd-shifts (commit c4467ae), torch-uncertainty 0.13.0, lm-polygraph
0.7.0 and MAPIE 1.6.0 for the data below.
"""

import math

import numpy as np
import pytest

import credalens as cl

CONFIDENCE = np.array([0.91, 0.35, 0.77, 0.64, 0.52, 0.98, 0.42, 0.83, 0.59, 0.70, 0.88, 0.47])
TIED = np.array([0.9, 0.3, 0.7, 0.7, 0.5, 0.9, 0.5, 0.9, 0.5, 0.7, 0.9, 0.3])
CORRECT = np.array([1, 0, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1], bool)
QUALITY = np.array([0.9, 0.1, 0.7, 0.3, 0.6, 1.0, 0.2, 0.8, 0.5, 0.65, 0.4, 0.0])
N = len(CORRECT)


def of(confidence=CONFIDENCE, **options):
    return cl.selective_metrics(CORRECT, None, -confidence, **options)


def test_by_hand():
    # By decreasing confidence: right, right, wrong, right, right, right, wrong, right, right,
    # right, wrong, wrong.
    errors = [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 4]
    found = of()
    assert found.aurc == pytest.approx(sum(e / k for k, e in enumerate(errors, 1)) / N, rel=1e-14)
    assert found.augrc == pytest.approx(sum(errors) / N**2, rel=1e-14)


def test_mapie():
    # auarc is the mean over the retained counts n, ..., 1; auroc that of scikit-learn.
    found = of()
    assert found.auarc == pytest.approx(0.7905002405002404, rel=1e-14)
    assert found.auroc == pytest.approx(0.71875, rel=1e-14)
    assert of(TIED).auroc == pytest.approx(0.59375, rel=1e-14)


@pytest.mark.slow
def test_mapie_itself():
    uncertainty = pytest.importorskip("mapie.metrics.uncertainty")
    rng = np.random.default_rng(0)
    for _ in range(20):
        confidence = rng.permutation(200) / 200
        correct = rng.random(200) < confidence
        found = cl.selective_metrics(correct, None, -confidence)
        assert found.auarc == pytest.approx(uncertainty.auarc(correct, confidence), rel=1e-12)
        assert found.auroc == pytest.approx(uncertainty.auroc(correct, confidence), rel=1e-12)
    # With ties, its area is that of one order, and ours the mean over all of them.
    orders = [rng.permutation(N) for _ in range(3000)]
    areas = [uncertainty.auarc(CORRECT[order], TIED[order]) for order in orders]
    error = np.std(areas) / math.sqrt(len(areas))
    assert of(TIED).auarc == pytest.approx(np.mean(areas), abs=4 * error)
    assert uncertainty.auarc(CORRECT, TIED) == pytest.approx(0.779, abs=5e-4)
    assert uncertainty.auarc(CORRECT[::-1], TIED[::-1]) == pytest.approx(0.634, abs=5e-4)


def test_conformal_regions_of_mapie():
    classification = pytest.importorskip("mapie.classification")
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    X, y = make_classification(
        900, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, flip_y=0.2, random_state=0
    )
    model = LogisticRegression().fit(X[:300], y[:300])
    levels = [0.9, 0.8]
    conformal = classification.SplitConformalClassifier(
        model, confidence_level=levels, conformity_score="lac", prefit=True
    ).conformalize(X[300:600], y[300:600])
    _, regions = conformal.predict_set(X[600:])
    own = model.predict_proba(X[300:600])[np.arange(300), y[300:600]]
    Q = cl.Possibility.from_conformal(1 - own, 1 - model.predict_proba(X[600:]))
    empty = 0
    for i, level in enumerate(levels):
        ours, theirs = Q.contour > 1 - level + 1e-12, regions[:, :, i]
        some = theirs.any(axis=1)
        np.testing.assert_array_equal(ours[some], theirs[some])
        # An empty region has the most possible class here.
        assert (ours[~some].sum(axis=1) == 1).all()
        empty += int((~some).sum())
    assert empty > 0


def test_lm_polygraph():
    # rcc-auc is the mean of the risks; targets are scaled to [0, 1]. The random order of PRR is
    # the mean of 1000 shuffles there, and the expectation here.
    assert of().aurc == pytest.approx(0.20949975949975952, rel=1e-14)
    real = cl.selective_metrics(None, None, -CONFIDENCE, loss=1 - QUALITY)
    assert real.aurc == pytest.approx(0.28119543650793655, rel=1e-14)
    areas = {  # area, oracle, mean of 1000 random orders
        (1.0, "errors"): (0.7905002405002405, 0.9235690235690236, 0.6694474567099566),
        (0.5, "errors"): (0.7393338143338144, 0.8471380471380471, 0.6678421356421357),
        (1.0, "quality"): (0.7188045634920636, 0.7534212662337664, 0.5126236253908129),
        (0.5, "quality"): (0.6053869047619047, 0.6260091991341992, 0.5124465563371814),
    }
    for (cap, kind), (area, best, shuffled) in areas.items():
        quality = CORRECT if kind == "errors" else QUALITY
        found = cl.selective_metrics(None, None, -CONFIDENCE, loss=1 - quality, max_rejection=cap)
        random = quality.mean()
        assert found.prr == pytest.approx((area - random) / (best - random), rel=1e-12)
        assert found.prr == pytest.approx((area - shuffled) / (best - shuffled), abs=0.01)


def test_torch_uncertainty():
    # The trapezoidal rule over the coverages 1/n, ..., 1, divided by the length 1 - 1/n.
    found = of()
    ends = (found.risk_at(1 / N), found.risk)
    aurc = (N * found.aurc - sum(ends) / 2) / (N - 1)
    assert aurc == pytest.approx(0.21339367709142026, rel=1e-6)  # in single precision there
    augrc = (N * found.augrc - (ends[0] / N + ends[1]) / 2) / (N - 1)
    assert augrc == pytest.approx(0.12878787867411157, rel=1e-6)
    assert found.coverage_at(0.2) == pytest.approx(0.8333333134651184, rel=1e-6)
    assert found.coverage_at(0.05) == pytest.approx(0.1666666716337204, rel=1e-6)
    assert found.risk_at(0.5) == pytest.approx(0.16666666666666666, rel=1e-14)
    assert found.risk_at(0.8) == pytest.approx(0.2, rel=1e-14)


def test_fd_shifts():
    # The trapezoidal rule from coverage 0, where the selective risk is that of the most confident
    # row and the generalized risk is 0; the oracle is that of infinitely many rows.
    found = of()
    aurc = found.aurc + (found.risk_at(1 / N) - found.risk) / (2 * N)
    assert aurc == pytest.approx(0.1956108706108706, rel=1e-14)
    error = found.risk
    limit = error + (1 - error) * math.log(1 - error)
    assert aurc - limit == pytest.approx(0.1325876093496466, rel=1e-12)
    for confidence, augrc, excess in (
        (CONFIDENCE, 0.11805555555555555, 0.06250000000000001),
        (TIED, 0.14583333333333331, 0.09027777777777778),
    ):
        # Straight lines between distinct scores are the expectation over ties.
        ours = of(confidence).augrc - error / (2 * N)
        assert ours == pytest.approx(augrc, rel=1e-14)
        assert ours - error**2 / 2 == pytest.approx(excess, rel=1e-13)
    # Straight lines between selective risks are not.
    tied = of(TIED)
    steps = tied.risk_at(np.array([4, 7, 10, 12]) / N)
    lines = np.trapezoid([steps[0], *steps], np.array([0, 4, 7, 10, 12]) / N)
    assert lines == pytest.approx(0.27628968253968245, rel=1e-14)
    assert tied.aurc != pytest.approx(lines, rel=1e-3)
