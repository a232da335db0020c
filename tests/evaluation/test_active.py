"""Active learning: what is asked for next, and what is compared with what."""

from typing import ClassVar

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import credalens as cl

K = 3


class Recorder:
    """Knows the class of an input iff a labelled one has the same first number; remembers fits."""

    fits: ClassVar = []

    def __init__(self, random_state=None):
        self.random_state = random_state

    def get_params(self):
        return {"random_state": self.random_state}

    def set_params(self, random_state):
        self.random_state = random_state

    def fit(self, X, y):
        assert not hasattr(self, "known")  # a fresh copy each time
        self.known = dict(zip(X[:, 0], y, strict=True))
        Recorder.fits.append((X[:, 1].astype(int).tolist(), self.random_state))

    def predict(self, X):
        return np.array([self.known.get(x, -1) for x in X[:, 0]])

    def predict_proba(self, X):
        # Never sure of what it does not know, the less the larger the second number.
        P = np.full((len(X), K), 0.0)
        for i, (x, place) in enumerate(X):
            P[i] = np.eye(K)[self.known[x]] if x in self.known else _unsure(place)
        return P


def _unsure(place):
    return np.array([1 - place / 1000, place / 1000, 0])


@pytest.fixture
def data():
    Recorder.fits = []
    places = np.arange(40.0)
    X = np.stack([places % 20, places], axis=1)
    y = (places % 20).astype(int) % K
    return X, y


def run(data, score="tv total", **options):
    X, y = data
    options = {"n_initial": 5, "batch_size": 3, "n_rounds": 4, "n_repeats": 3} | options
    return cl.active_learning_curve(Recorder(), X, y, X[:20], y[:20], score, **options)


def test_the_most_uncertain_are_asked_for_first(data):
    run(data, n_repeats=1)
    fits = [places for places, _ in Recorder.fits]
    first, scored, random = fits[0], fits[1:5], fits[5:]
    assert len(fits) == 9
    known = first
    for after in scored:
        seen = {place % 20 for place in known}
        unknown = [place for place in range(40) if place % 20 not in seen]
        # TU of a single prediction is 1 - max: the largest place is the least sure.
        assert set(after) - set(known) == set(sorted(unknown)[-3:])
        assert after[: len(known)] == known
        known = after
    assert all(len(set(places)) == len(places) for places in fits)
    assert [len(places) for places in random] == [8, 11, 14, 17]
    assert random[0][:5] == first  # the same start
    assert random != scored


def test_knowing_where_to_look_pays(data):
    found = run(data, n_repeats=8)
    assert found.n_labels.tolist() == [5, 8, 11, 14, 17]
    assert_array_equal(found.accuracy["tv total"][:, 0], found.accuracy["random"][:, 0])
    gain, error = found.gain("tv total")
    assert gain > 3 * error > 0
    assert found.auc("tv total") - found.auc("random") == pytest.approx(gain)


def test_the_first_labels_hold_every_class(data):
    X, y = data
    y = np.where(np.arange(40) == 7, 2, 0)
    y[3] = 1
    cl.active_learning_curve(Recorder(), X, y, X, y, n_initial=4, n_rounds=0, n_repeats=6)
    for places, _ in Recorder.fits:
        assert {3, 7} < set(places)
    few = cl.active_learning_curve(Recorder(), X, y, X, y, n_initial=2, n_rounds=0, n_repeats=2)
    assert few.n_labels.tolist() == [2]
    assert few.gain("tv epistemic")[0] == 0
    assert few.auc("random") == few.mean("random")[0]


def test_seeds(data):
    one, same, other = (run(data, random_state=seed) for seed in (0, 0, 1))
    assert_array_equal(one.accuracy["random"], same.accuracy["random"])
    assert not np.array_equal(one.accuracy["random"], other.accuracy["random"])
    seeds = [seed for _, seed in Recorder.fits[:27]]
    assert len(set(seeds)) == 3  # one per repeat
    assert None not in seeds
    Recorder.fits = []
    X, y = data
    cl.active_learning_curve(Recorder(7), X, y, X, y, n_initial=3, n_rounds=1, n_repeats=1)
    assert {seed for _, seed in Recorder.fits} == {7}  # what was set stays


def test_scores_of_every_kind(data):
    def sets(fitted, X):
        P = fitted.predict_proba(X)
        return np.stack([P, P[:, ::-1]], axis=1)

    scores = {
        "mine": lambda Q: cl.epistemic_uncertainty(Q),
        "AU": "tv aleatoric",  # an interval
        "hull": "entropy epistemic",
        "GH": "hartley epistemic",
    }
    found = run(data, scores, members=sets, n_rounds=1, n_repeats=1)
    assert list(found.accuracy) == [*scores, "random"]
    assert list(run(data, ["tv total", "tv epistemic"], n_rounds=0).accuracy) == [
        "tv total", "tv epistemic", "random",
    ]  # fmt: skip
    assert "total_uncertainty" in run(data, cl.total_uncertainty, n_rounds=0).accuracy


def test_equal_scores_are_taken_in_random_order(data):
    runs = [run(data, lambda Q: np.zeros(len(Q)), n_repeats=1, random_state=s) for s in (0, 1)]
    assert all(one.gain("<lambda>")[0] == 0 for one in runs)  # the same draws as random
    fits = [places for places, _ in Recorder.fits]
    assert fits[4] == fits[8]
    left = sorted(set(range(40)) - set(fits[0]))
    assert set(fits[1][5:]) != set(left[:3])


@pytest.mark.slow
def test_a_credal_classifier_on_frames():
    pd = pytest.importorskip("pandas")
    from sklearn.datasets import load_wine
    from sklearn.tree import DecisionTreeClassifier

    from credalens.predictors import CredalEnsembleClassifier

    X, y = load_wine(return_X_y=True, as_frame=True)
    y = pd.Series(np.array(["a", "b", "c"])[y])
    trees = DecisionTreeClassifier(max_depth=3, max_features=3)
    found = cl.active_learning_curve(
        CredalEnsembleClassifier(trees, n_members=4),
        X[::2], y[::2], X[1::2], y[1::2],
        ["tv epistemic"], n_initial=9, batch_size=6, n_rounds=2, n_repeats=2,
    )  # fmt: skip
    assert found.accuracy["tv epistemic"].shape == (2, 3)
    assert found.mean("tv epistemic")[-1] > 0.7


def test_progress_is_told(data):
    said = []

    def progress(items, what):
        said.append(what)
        return items

    run(data, progress=progress)
    assert said == ["3 runs of 2 x 4 rounds"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_rounds": 12}, r"y_pool: has 40 labels, n_initial \+ n_rounds \* batch_size is 41"),
        ({"batch_size": 0}, "batch_size: is 0; pass a whole number >= 1"),
        ({"n_initial": 0}, "n_initial: is 0"),
        ({"n_repeats": 0}, "n_repeats: is 0"),
        ({"score": "tv2"}, "score: is 'tv2'; pass one of confidence, .* and one of total"),
        ({"score": "random"}, "score: names .'random'.; pass at least one other score"),
        ({"score": {"random": "tv"}}, "score: names .'random'.; pass at least one other score"),
        ({"score": {}}, "score: is empty"),
        ({"score": ["tv", "tv"]}, "score: has two scores named 'tv'"),
        ({"metrics": "f1"}, "metrics: is 'f1'; choose one of 'accuracy', 'brier', 'log_loss'"),
        ({"metrics": [len, len]}, "metrics: has two metrics named 'len'"),
        ({"n_jobs": 0}, "n_jobs: is 0; pass a whole number, or -1"),
        ({"score": {"a": 1}}, "score: is 1; pass a name or a function"),
    ],
)
def test_refusals(data, options, message):
    with pytest.raises(ValueError, match=message):
        run(data, **options)


def test_refused_data(data):
    X, y = data
    with pytest.raises(ValueError, match="X_test: has 4 rows; pass 3, as in y"):
        cl.active_learning_curve(Recorder(), X, y, X[:4], y[:3], n_rounds=1)

    class Blind:
        def fit(self, X, y):
            pass

        def predict(self, X):
            return np.zeros(len(X))

    with pytest.raises(ValueError, match="Blind has neither predict_credal nor predict_proba"):
        cl.active_learning_curve(Blind(), X, y, X, y, n_initial=3, batch_size=1, n_rounds=1)


def test_result_and_picture():
    curves = {
        "TU": np.array([[0.5, 0.7], [0.7, 0.9]]),
        "random": np.array([[0.5, 0.6], [0.7, 0.8]]),
    }
    found = cl.ActiveLearning(np.array([10, 20]), curves)
    assert_array_equal(found.mean("TU"), [0.6, 0.8])
    assert found.spread("TU") == pytest.approx([np.sqrt(0.02)] * 2)
    assert found.gain("TU") == (pytest.approx(0.05), pytest.approx(0, abs=1e-12))
    assert repr(found) == (
        "ActiveLearning(10 to 20 labels, n_repeats=2, auc: TU=0.7000, random=0.6500)"
    )
    ax = cl.plots.active_learning_curves(found)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines()}
    assert_array_equal(lines["TU (mean 0.700)"], found.mean("TU"))
    assert len(ax.collections) == 2
    assert cl.plots.active_learning_curves(found, ax=ax) is ax
    ax.figure.canvas.draw()
    alone = cl.ActiveLearning(np.array([10]), {"random": np.array([[0.5]])})
    assert len(cl.plots.active_learning_curves(alone).collections) == 0


@pytest.mark.slow
def test_several_metrics():
    from sklearn.datasets import load_iris
    from sklearn.metrics import brier_score_loss, get_scorer, log_loss
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    y = np.array(["a", "b", "c"])[y]

    def share(fitted, X, y):
        return float(np.mean(fitted.predict(X) == "a"))

    def reference(fitted, X, y):
        P = fitted.predict_proba(X)
        brier = brier_score_loss(y, P, labels=fitted.classes_)
        return brier if metric == "brier" else log_loss(y, P, labels=fitted.classes_)

    for metric in ("brier", "log_loss"):
        found = cl.active_learning_curve(
            GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], ["tv", "upper_entropy"],
            metrics=[metric, share, reference], n_initial=12, batch_size=3, n_rounds=2, n_repeats=2,
        )  # fmt: skip
        assert list(found.others) == [metric, "share", "reference"]
        assert list(found.others["share"]) == ["tv", "upper_entropy", "random"]
        for name in found.accuracy:
            ours, theirs = (found.values(name, m) for m in (metric, "reference"))
            scale = 1 if metric == "log_loss" else 2  # scikit-learn halves it for two classes only
            assert ours == pytest.approx(theirs) or ours == pytest.approx(scale * theirs)
        frame = found.to_pandas()
        assert frame.index.name == "n_labels"
        assert frame[f"tv {metric}"].tolist() == found.mean("tv", metric).tolist()
        assert "upper_entropy share (std)" in frame.columns
        assert found[1:].others[metric]["tv"].shape == (2, 2)
        assert found.gain("tv", metric)[0] == pytest.approx(
            found.auc("tv", metric) - found.auc("random", metric)
        )
    scorer = {"balanced": get_scorer("balanced_accuracy")}
    found = cl.active_learning_curve(
        GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], "tv", metrics=scorer,
        n_initial=12, n_rounds=0, n_repeats=1,
    )  # fmt: skip
    assert list(found.others) == ["balanced"]
    with pytest.raises(ValueError, match="metric: is 'brier'; choose one of"):
        found.mean("tv", "brier")


def test_labels_that_no_fit_has_seen_have_probability_zero(data):
    X, y = data
    found = cl.active_learning_curve(
        Recorder(), X, y, X, np.full(40, 7), metrics=("brier", "log_loss"), n_initial=3,
        n_rounds=0, n_repeats=1,
    )  # fmt: skip
    assert found.others["log_loss"]["random"][0, 0] == pytest.approx(-np.log(np.finfo(float).eps))
    assert found.others["brier"]["random"][0, 0] > 1


def test_rows_of_the_measure_table_and_families_by_name(data):
    names = ["upper_entropy", "mmi", "tv", "ordinal epistemic", "tv_aleatoric_upper", "total"]
    found = run(data, names, n_rounds=1, n_repeats=1)
    assert list(found.accuracy) == [*names, "random"]
    same = run(data, {"a": "tv total", "b": "tv", "c": "total", "d": cl.TotalVariation()})
    for name in "bcd":
        assert_array_equal(same.accuracy[name], same.accuracy["a"])
    assert "total_uncertainty" in run(data, cl.total_uncertainty, n_rounds=0).accuracy
    assert "TotalVariation" in run(data, cl.TotalVariation(), n_rounds=0).accuracy


@pytest.mark.slow
def test_jobs_do_not_change_the_result():
    from sklearn.datasets import load_iris
    from sklearn.naive_bayes import GaussianNB

    X, y = load_iris(return_X_y=True)
    seen = []

    def progress(items, description):
        for item in items:
            seen.append(item)
            yield item

    one, two = (
        cl.active_learning_curve(
            GaussianNB(), X[::2], y[::2], X[1::2], y[1::2], "tv", n_initial=6, batch_size=3,
            n_rounds=2, n_repeats=3, n_jobs=jobs, progress=progress,
        )
        for jobs in (None, 2)
    )  # fmt: skip
    for name in one.accuracy:
        assert_array_equal(one.accuracy[name], two.accuracy[name])
    assert seen == [0, 1, 2] * 2
