"""Credal classifiers: members, sets, points, abstention; oracles for what is solved."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import credalens as cl
from credalens.predictors import (
    CredalEnsembleClassifier,
    CredalEnsemblingClassifier,
    CredalWrapperClassifier,
    RelativeLikelihoodClassifier,
    random_forests,
)

X, y = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[y]
TREE = DecisionTreeClassifier(max_features=1, max_depth=3)

MODELS = {
    "ensemble": CredalEnsembleClassifier(TREE, 5, random_state=0),
    "wrapper": CredalWrapperClassifier(TREE, 5, random_state=0),
    "ensembling": CredalEnsemblingClassifier(TREE, 5, random_state=0),
    "likelihood": RelativeLikelihoodClassifier(
        GaussianNB(), alpha=0.8, n_candidates=5, samples=(0.3, 1.0), random_state=0
    ),
}
every_model = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS.keys())


# ---------------------------------------------------------------- all of them


@every_model
def test_sets_of_labels(model):
    fitted = clone(model).fit(X, NAMES)
    Q = fitted.predict_credal(X)
    sets = fitted.predict_set(X)
    assert sets.dtype == bool
    assert sets.shape == (len(X), 3)
    assert_array_equal(sets, cl.admissible(Q))
    assert (sets.sum(axis=1) > 1).any()  # some instances are open
    assert (fitted.predict_set(X, "maximal") >= sets).all()
    cost = [[0, 1], [5, 1], [0, 1]]
    assert_array_equal(fitted.predict_set(X, cost=cost), cl.admissible(Q, cost))


@every_model
def test_string_labels_and_data_frames(model):
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    fitted = clone(model).fit(frame, NAMES)
    plain = clone(model).fit(X, y)
    assert_array_equal(fitted.feature_names_in_, ["a", "b", "c", "d"])
    assert fitted.n_features_in_ == 4
    assert_array_equal(fitted.classes_, ["setosa", "versicolor", "virginica"])
    assert_array_equal(fitted.predict_proba(frame), plain.predict_proba(X))
    assert_array_equal(fitted.predict(frame), fitted.classes_[plain.predict(X)])
    assert plain.score(X, y) > 0.85


@every_model
def test_any_number_of_jobs_gives_the_same(model):
    one = clone(model).set_params(n_jobs=1).fit(X, y)
    with parallel_config("threading"):
        two = clone(model).set_params(n_jobs=3).fit(X, y)
        assert_array_equal(one.predict_members(X), two.predict_members(X))


@pytest.mark.slow
@every_model
def test_other_processes_give_the_same(model):
    one = clone(model).fit(X, y)
    two = clone(model).set_params(n_jobs=2).fit(X, y)
    assert_array_equal(one.predict_members(X), two.predict_members(X))


@every_model
def test_the_seed_decides(model):
    first, again = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_array_equal(first.predict_members(X), again.predict_members(X))
    state = clone(model).set_params(random_state=np.random.RandomState(0)).fit(X, y)
    assert_array_equal(first.predict_members(X), state.predict_members(X))
    other = clone(model).set_params(random_state=1).fit(X, y)
    assert np.any(first.predict_members(X)[:, -1] != other.predict_members(X)[:, -1])


@every_model
def test_sets_uncertainty_and_points_belong_together(model):
    fitted = clone(model).fit(X, y)
    Q = fitted.predict_credal(X)
    assert isinstance(Q, cl.CredalSet)
    assert (len(Q), Q.n_classes) == (150, 3)
    assert Q.contains(fitted.predict_proba(X)).all()
    for measure in ("tv", "entropy"):
        got, expected = fitted.predict_uncertainty(X, measure), cl.quantify(Q, measure)
        assert_array_equal(got.total, expected.total)
        assert_array_equal(got.epistemic, expected.epistemic)


@every_model
def test_majority_votes_have_no_probabilities(model):
    fitted = clone(model).set_params(voting="majority").fit(X, NAMES)
    assert not hasattr(fitted, "predict_proba")
    assert hasattr(fitted.set_params(voting="soft"), "predict_proba")
    with pytest.raises(ValueError, match="voting: is 'hard'; choose one of 'majority', 'soft'"):
        clone(model).set_params(voting="hard").fit(X, y)


@every_model
def test_in_a_pipeline_and_a_grid_search(model):
    search = GridSearchCV(
        make_pipeline(StandardScaler(), clone(model)),
        {f"{type(model).__name__.lower()}__voting": ["soft", "majority"]},
        cv=2,
    )
    search.fit(X, NAMES)
    assert search.best_score_ > 0.7
    final = search.best_estimator_[-1]
    assert len(final.predict_credal(StandardScaler().fit_transform(X))) == 150


@every_model
def test_a_table_with_words_reaches_the_members_as_it_is(model):
    frame = pd.DataFrame({"kind": np.where(X[:, 0] > 5.5, "long", "short"), "width": X[:, 3]})
    from sklearn.preprocessing import OneHotEncoder

    encode = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    name = "estimator" if hasattr(model, "estimator") else "estimators"
    inner = make_pipeline(encode, model.get_params()[name])
    fitted = clone(model).set_params(**{name: inner}).fit(frame, NAMES)
    assert fitted.score(frame, NAMES) > 0.8


# ---------------------------------------------------------------- abstention


@every_model
def test_abstains_on_the_most_uncertain(model):
    fitted = clone(model).fit(X, y)
    answer = fitted.predict_or_abstain(X, reject=0.1)
    order = cl.rejection_order(fitted.predict_uncertainty(X).total)
    expected = fitted.predict(X)
    expected[order[:15]] = -1
    assert_array_equal(answer, expected)
    assert answer.dtype == expected.dtype


def test_shares_are_the_decimals_that_were_written():
    model = clone(MODELS["ensemble"]).fit(X, y)
    many = X[np.arange(100)]
    assert 0.29 * 100 < 29  # what a floating-point floor would make 28
    assert np.sum(model.predict_or_abstain(many, reject=0.29) == -1) == 29
    assert np.sum(model.predict_or_abstain(many, reject=np.float32(0.29)) == -1) == 29
    assert np.sum(model.predict_or_abstain(many[:9], reject=0.5) == -1) == 4
    assert np.all(model.predict_or_abstain(many, reject=1) == -1)
    assert_array_equal(model.predict_or_abstain(many, reject=0), model.predict(many))


def test_ties_are_rejected_in_their_order():
    model = clone(MODELS["ensemble"]).fit(X, y)
    same = np.repeat(X[70:71], 10, axis=0)
    assert_array_equal(model.predict_or_abstain(same, reject=0.3) == -1, np.arange(10) < 3)


@pytest.mark.parametrize("component", ["total", "aleatoric", "epistemic"])
def test_a_threshold_does_not_depend_on_the_batch(component):
    model = clone(MODELS["ensemble"]).fit(X, y)
    whole = model.predict_or_abstain(X, threshold=0.15, component=component)
    some = X[45::15]
    parts = [model.predict_or_abstain(x[None], threshold=0.15, component=component) for x in some]
    assert_array_equal(whole[45::15], np.concatenate(parts))
    score = getattr(model.predict_uncertainty(X), component)
    score = score.lower if component == "aleatoric" else score
    assert_array_equal(whole == -1, score > 0.15)
    assert 0 < np.sum(whole == -1) < 150


def test_any_measure_is_a_score():
    model = clone(MODELS["ensemble"]).fit(X, y)
    for measure in ("entropy", "ordinal", cl.Kolmogorov()):
        for component in ("total", "aleatoric", "epistemic"):
            answer = model.predict_or_abstain(X, reject=0.2, measure=measure, component=component)
            assert np.sum(answer == -1) == 30


def test_the_label_of_abstention():
    words = clone(MODELS["ensemble"]).fit(X, NAMES)
    assert words.predict_or_abstain(X, reject=1)[0] == "abstain"
    assert words.predict_or_abstain(X, reject=1, abstain_label="ask a botanist")[0] == (
        "ask a botanist"
    )
    mixed = words.predict_or_abstain(X, reject=0.5, abstain_label=-1)
    assert mixed.dtype == object
    assert set(mixed.tolist()) == {*NAMES.tolist(), -1}
    numbers = clone(MODELS["ensemble"]).fit(X, y)
    assert set(numbers.predict_or_abstain(X, reject=0.5, abstain_label="?").tolist()) == {
        0, 1, 2, "?",
    }  # fmt: skip
    assert np.isnan(numbers.predict_or_abstain(X, reject=1, abstain_label=np.nan)).all()
    small = clone(MODELS["ensemble"]).fit(X, y.astype(np.uint8))
    assert small.predict_or_abstain(X, reject=1)[0] == -1
    truths = clone(MODELS["ensemble"]).fit(X, y == 1)
    counts = truths.predict_or_abstain(X, reject=0.5)
    assert counts.dtype.kind == "i"
    assert set(counts.tolist()) == {0, 1, -1}
    for model, answer in ((truths, counts), (words, mixed)):
        answered = np.isin(answer, model.classes_)
        assert_array_equal(answered, answer != -1)
        assert_array_equal(answer[answered], model.predict(X)[answered])
    signs = clone(MODELS["ensemble"]).fit(X[:100], 2 * y[:100] - 1)
    with pytest.raises(ValueError, match="abstain_label: -1 is a class; pass a label"):
        signs.predict_or_abstain(X, reject=0.1)
    assert signs.predict_or_abstain(X, reject=1, abstain_label=0)[0] == 0
    with pytest.raises(ValueError, match="abstain_label: 'setosa' is a class"):
        words.predict_or_abstain(X, reject=0.1, abstain_label="setosa")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "reject: neither of reject and threshold given; pass one"),
        ({"reject": 0.1, "threshold": 0.1}, "reject: both of reject and threshold given"),
        ({"reject": 1.5}, r"reject: is 1.5; pass a number in \[0, 1\]"),
        ({"reject": True}, "reject: is True; pass a number"),
        ({"threshold": np.nan}, "threshold: is nan; pass a number"),
        ({"reject": 0.1, "component": "both"}, "component: is 'both'; choose one of"),
        ({"reject": 0.1, "measure": "bogus"}, "measure: is 'bogus'"),
    ],
)
def test_abstention_that_is_refused(arguments, message):
    model = clone(MODELS["ensemble"]).fit(X, y)
    with pytest.raises(ValueError, match=message):
        model.predict_or_abstain(X, **arguments)


# ---------------------------------------------------------------- members


@pytest.mark.slow
def test_the_default_is_the_forests_of_the_paper():
    model = CredalEnsembleClassifier(n_members=2, random_state=7).fit(X, y)
    expected = [f.fit(X, y).predict_proba(X) for f in random_forests(2, 7)]
    assert_array_equal(model.predict_members(X), np.stack(expected, axis=1))
    assert_allclose(model.predict_proba(X), np.mean(expected, axis=0), atol=1e-15)
    assert_array_equal(
        model.set_params(voting="majority").predict(X), cl.majority_vote(model.predict_members(X))
    )


def test_members_by_name():
    model = CredalEnsembleClassifier([("nb", GaussianNB()), ("tree", clone(TREE))], random_state=0)
    assert model.get_params()["tree__max_depth"] == 3
    model.set_params(tree__max_depth=1, nb=KNeighborsClassifier(5))
    assert clone(model).fit(X, y).named_estimators_["tree"].get_depth() == 1
    assert isinstance(clone(model).fit(X, y).named_estimators_["nb"], KNeighborsClassifier)
    search = GridSearchCV(model, {"tree__max_depth": [1, 3]}, cv=2).fit(X, y)
    assert search.best_params_["tree__max_depth"] in (1, 3)
    with pytest.raises(ValueError, match="not unique"):
        CredalEnsembleClassifier([("a", TREE), ("a", TREE)]).fit(X, y)


def test_members_keep_their_own_seeds_and_get_one_if_they_have_none():
    own = DecisionTreeClassifier(max_features=1, random_state=3)
    model = CredalEnsembleClassifier([own, TREE], random_state=0).fit(X, y)
    assert model.estimators_[0].random_state == 3
    assert model.estimators_[1].random_state is not None
    assert TREE.random_state is None


def test_clones_of_one_estimator_differ_in_seed_or_rows():
    model = CredalEnsembleClassifier(TREE, 4, random_state=0).fit(X, y)
    assert len({tree.random_state for tree in model.estimators_}) == 4
    with pytest.raises(ValueError, match=r"GaussianNB has no random_state.*bootstrap=True"):
        CredalEnsembleClassifier(GaussianNB(), 4).fit(X, y)
    drawn = CredalEnsembleClassifier(GaussianNB(), 4, bootstrap=True, random_state=0).fit(X, y)
    assert len({float(m.theta_[0, 0]) for m in drawn.estimators_}) == 4
    # Rows are drawn within the classes.
    assert all(m.class_count_.tolist() == [50, 50, 50] for m in drawn.estimators_)


def test_prefit_members_stay_as_they_are():
    members = [
        GaussianNB().fit(X, NAMES),
        LogisticRegression(max_iter=1000).fit(X[50:], NAMES[50:]),
    ]
    frozen = [FrozenEstimator(m) for m in members]
    model = CredalEnsembleClassifier(frozen).fit(X[:60], NAMES[:60])
    # Labels that only a member knows are classes too; those that it does not know get 0.
    assert_array_equal(model.classes_, ["setosa", "versicolor", "virginica"])
    got = model.predict_members(X)
    assert_array_equal(got[:, 0], members[0].predict_proba(X))
    assert_array_equal(got[:, 1, 1:], members[1].predict_proba(X))
    assert_array_equal(got[:, 1, 0], 0)
    with pytest.raises(ValueError, match="was fitted to labels of dtype <U10, y has int64"):
        CredalEnsembleClassifier(frozen).fit(X, y)


@pytest.mark.slow
def test_a_member_twice_changes_neither_set_nor_uncertainty():
    members = random_forests(3, 0)
    for f in members:
        f.set_params(n_estimators=5)
    for kind in (CredalEnsembleClassifier, CredalWrapperClassifier):
        once = kind(members).fit(X, y)
        twice = kind([*members, members[1]]).fit(X, y)
        for measure in ("tv", "entropy", "hartley"):
            a, b = (m.predict_uncertainty(X, measure) for m in (once, twice))
            assert_allclose(a.total, b.total, atol=1e-9)
            assert_allclose(a.epistemic, b.epistemic, atol=1e-9)
        Q, R = once.predict_credal(X), twice.predict_credal(X)
        assert_array_equal(Q.lower(), R.lower())
        assert_array_equal(Q.upper(), R.upper())


@pytest.mark.parametrize("forest", [RandomForestClassifier(8), ExtraTreesClassifier(8)])
def test_the_trees_of_a_forest(forest):
    model = CredalEnsembleClassifier(forest, members="trees", random_state=0).fit(X, NAMES)
    inner = model.named_estimators_["ensemble"]
    got = model.predict_members(X)
    assert got.shape == (150, 8, 3)
    trees = [tree.predict_proba(X.astype(np.float32)) for tree in inner.estimators_]
    assert_allclose(got, np.stack(trees, axis=1), atol=1e-15)
    assert_allclose(model.predict_proba(X), inner.predict_proba(X), atol=1e-14)
    frozen = CredalEnsembleClassifier(FrozenEstimator(inner), members="trees").fit(X, NAMES)
    assert_array_equal(frozen.predict_members(X), got)


def test_smoothed_leaves_are_counted():
    for forest in (RandomForestClassifier(4), BaggingClassifier(TREE, 4, max_features=3)):
        model = CredalEnsembleClassifier(forest, members="trees", smoothing=0.5, random_state=0)
        model.fit(X, y)
        inner = model.named_estimators_["ensemble"]
        for m, (tree, rows) in enumerate(
            zip(inner.estimators_, inner.estimators_samples_, strict=True)
        ):
            features = getattr(inner, "estimators_features_", [range(4)] * 4)[m]
            own = X[:, features].astype(np.float32)
            together = tree.apply(own[7:8])[0] == tree.apply(own[rows])
            counts = np.bincount(y[rows][together], minlength=3) + 0.5
            assert_allclose(model.predict_members(X[7:8])[0, m], counts / counts.sum())


@pytest.mark.slow
def test_a_bag_of_features_and_missing_classes():
    # Neighbours take no weights, so that a member is given its rows only.
    bag = BaggingClassifier(KNeighborsClassifier(1), 8, max_features=2, max_samples=3)
    model = CredalEnsembleClassifier(bag, members="trees", random_state=0).fit(X, NAMES)
    inner = model.named_estimators_["ensemble"]
    assert any(len(part.classes_) < 3 for part in inner.estimators_)
    assert_allclose(model.predict_proba(X), inner.predict_proba(X), atol=1e-12)
    with pytest.raises(ValueError, match=r"smoothing: is 1\.0 but KNeigh.* has no leaves"):
        model.set_params(smoothing=1).predict_members(X)


def test_weights_are_passed_on():
    weights = np.where(y == 2, 0.0, 1.0)
    model = CredalEnsembleClassifier(TREE, 3, random_state=0).fit(X, y, sample_weight=weights)
    assert np.all(model.predict_proba(X)[:, 2] == 0)
    rows = CredalEnsembleClassifier(TREE, 3, bootstrap=True, random_state=0)
    assert np.all(rows.fit(X, y, sample_weight=weights).predict_proba(X)[:, 2] == 0)
    with pytest.raises(TypeError, match="sample_weight: KNeighborsClassifier does not support it"):
        CredalEnsembleClassifier([TREE, KNeighborsClassifier()]).fit(X, y, sample_weight=weights)
    with pytest.raises(ValueError, match="groups"):
        CredalEnsembleClassifier(TREE).fit(X, y, groups=weights)


def test_weights_are_routed_to_members_that_ask():
    weights = np.where(y == 2, 0.0, 1.0)
    with config_context(enable_metadata_routing=True):
        asks = clone(TREE).set_fit_request(sample_weight=True)
        ignores = clone(TREE).set_fit_request(sample_weight=False)
        model = CredalEnsembleClassifier([("a", asks), ("b", ignores)], random_state=0)
        got = model.fit(X, y, sample_weight=weights).predict_members(X)
        assert np.all(got[:, 0, 2] == 0)
        assert np.any(got[:, 1, 2] > 0)
        CredalEnsembleClassifier(n_members=1).fit(X, y, sample_weight=weights)


def test_members_of_several_precisions():
    class Single(GaussianNB):
        def predict_proba(self, X):
            return super().predict_proba(X).astype(np.float32)

    model = CredalEnsembleClassifier([Single(), GaussianNB(var_smoothing=0.1)]).fit(X, y)
    assert model.predict_members(X).dtype == np.float32
    assert CredalEnsembleClassifier([GaussianNB()]).fit(X, y).predict_proba(X).dtype == float


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (CredalEnsembleClassifier([]), "estimators: is empty"),
        (CredalEnsembleClassifier([LinearSVC()]), "linearsvc-0.*has no predict_proba"),
        (CredalEnsembleClassifier(n_members=0), "n_members: is 0; pass a whole number >= 1"),
        (CredalEnsembleClassifier(members="leaves"), "members: is 'leaves'; choose one of"),
        (CredalEnsembleClassifier([TREE], members="trees"), "is a list, members are 'trees'"),
        (
            CredalEnsembleClassifier(GradientBoostingClassifier(n_estimators=2), members="trees"),
            "GradientBoostingClassifier has no list of probabilistic",
        ),
        (CredalEnsembleClassifier(TREE, members="trees"), "DecisionTreeClassifier has no list"),
        (CredalEnsembleClassifier(TREE, smoothing=1), "smoothing: is 1, members are 'estimators'"),
        (CredalEnsembleClassifier(smoothing=-1, members="trees"), "smoothing: is -1"),
        (CredalEnsemblingClassifier(TREE, keep=0), "keep: is 0; pass a number in"),
        (CredalEnsemblingClassifier(TREE, distance="l3"), "distance: is 'l3'"),
        (CredalEnsemblingClassifier(TREE, distance=3), "distance: is 3"),
        (
            CredalEnsemblingClassifier(TREE, distance="kolmogorov"),
            "representative: is 'minimizer', which is not known for 'kolmogorov'; pass 'medoid'",
        ),
        (CredalEnsemblingClassifier(TREE, representative="mode"), "representative: is 'mode'"),
    ],
)
def test_refused_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_predictions_that_are_no_distributions_are_refused():
    class Wrong(GaussianNB):
        def predict_proba(self, X):
            return 2 * super().predict_proba(X)

    model = CredalEnsembleClassifier([GaussianNB(), Wrong()]).fit(X, y)
    with pytest.raises(ValueError, match=r"row \(0, 1\) \(zero-based\) sums to 2"):
        model.predict_credal(X)


@pytest.mark.slow
def test_scikit_learn_is_not_imported_with_the_package():
    script = "import sys, json, credalens as cl; a = 'sklearn' in sys.modules; cl.predictors; "
    script += "print(json.dumps([a, 'sklearn' in sys.modules, 'torch' in sys.modules]))"
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout
    assert json.loads(out) == [False, True, False]


# ---------------------------------------------------------------- wine, once, as a user would


def test_rejecting_raises_accuracy_on_what_is_kept():
    from sklearn.model_selection import train_test_split

    A, b = load_wine(return_X_y=True)
    A_train, A_test, b_train, b_test = train_test_split(A, b, test_size=0.5, random_state=0)
    model = CredalEnsembleClassifier(RandomForestClassifier(10, max_depth=2), 5, random_state=0)
    answer = model.fit(A_train, b_train).predict_or_abstain(A_test, reject=0.3)
    kept = answer != -1
    assert np.mean(answer[kept] == b_test[kept]) > model.score(A_test, b_test)


class RowsTree(DecisionTreeClassifier):
    """A tree that takes no weights, so that a bag gives it rows, of some classes only."""

    def fit(self, X, y):
        return super().fit(X, y)


def test_trees_are_smoothed_as_the_set_from_a_forest_is():
    bag = BaggingClassifier(RowsTree(), 8, max_samples=4, random_state=0)
    model = CredalEnsembleClassifier(bag, members="trees", smoothing=0.5, random_state=0).fit(X, y)
    assert min(len(tree.classes_) for tree in model.estimators_) < len(model.classes_)
    expected = cl.ConvexHull.from_forest(model._whole, X, smoothing=0.5).members
    assert_array_equal(model.predict_members(X), expected)
    assert model.predict_members(X).min() > 0
