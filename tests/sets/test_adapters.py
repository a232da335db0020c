"""What other libraries hold, brought in: stacks, lists, frames, forests, probly's objects."""

from enum import StrEnum
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import credalens as cl
from ensembles import dirichlet

#: Seven instances, four models, three classes.
P = dirichlet(7, 4, 3)
MODELS = [P[:, m] for m in range(4)]
CLASSES = ["ape", "bee", "cow"]

# ---------------------------------------------------------------- stacks and sequences


@pytest.mark.parametrize("axis", [0, 1, -2, -3])
def test_axis_says_where_the_members_are(axis):
    stack = np.moveaxis(P, 1, axis)
    Q = cl.ConvexHull(stack, axis=axis)
    assert_array_equal(Q.members, P)
    assert np.shares_memory(Q.members, stack)


def test_axis_of_a_larger_batch():
    stack = np.random.default_rng(0).dirichlet(np.ones(3), (5, 2, 6))
    for axis in (0, 1, 2):
        Q = cl.ConvexHull(stack, axis=axis)
        assert_array_equal(Q.members, np.moveaxis(stack, axis, -2))


def test_measures_of_a_stack_are_those_of_the_members():
    got, wanted = cl.quantify(cl.ConvexHull(P.transpose(1, 0, 2).copy(), axis=0)), cl.quantify(P)
    assert_array_equal(got.total, wanted.total)
    assert_array_equal(got.epistemic, wanted.epistemic)


@pytest.mark.parametrize("axis", [2, -1])
def test_the_last_axis_is_that_of_the_classes(axis):
    with pytest.raises(ValueError, match=r"axis: is .*the classes are on the last axis"):
        cl.ConvexHull(P, axis=axis)


@pytest.mark.parametrize("axis", [3, -4, 0.0, True, "members"])
def test_axis_has_to_be_one(axis):
    with pytest.raises(ValueError, match=r"axis: is .*shape \(7, 4, 3\).*0 to 1"):
        cl.ConvexHull(P, axis=axis)


@pytest.mark.parametrize("function", [cl.quantify, cl.total_uncertainty, cl.as_credal_set])
def test_a_list_of_arrays_is_ambiguous_and_both_spellings_work(function):
    match = (
        r"^members: is a sequence of 4 arrays of shape \(7, 3\), which may be one per member or "
        r"one per instance; pass numpy.stack\(members, axis=-2\) for one per member, "
        r"numpy.stack\(members\) for one per instance$"
    )
    for given in (MODELS, tuple(MODELS)):
        with pytest.raises(ValueError, match=match):
            function(given)
    assert_array_equal(cl.ConvexHull(np.stack(MODELS, axis=-2)).members, P)
    assert_array_equal(cl.ConvexHull(np.stack(list(P))).members, P)
    with pytest.raises(ValueError, match=r"of shape \(7, 3\) and \(6, 3\), which may be"):
        function([MODELS[0], MODELS[1][:6]])


def test_a_list_of_arrays_with_an_axis():
    assert_array_equal(cl.ConvexHull(list(P), axis=-2).members, P)
    assert_array_equal(cl.ConvexHull(MODELS, axis=0).members, P)
    assert_array_equal(cl.ConvexHull(tuple(MODELS), axis=0).members, P)
    assert cl.ConvexHull(list(P[0])).batch_shape == ()


def test_a_dict_has_one_array_a_model():
    assert_array_equal(cl.ConvexHull(dict(zip("abcd", MODELS, strict=True))).members, P)


def test_arrays_of_several_shapes_are_named():
    with pytest.raises(ValueError, match=r"array 2 \(zero-based\) has shape \(6, 3\).*\(7, 3\)"):
        cl.ConvexHull([*MODELS[:2], MODELS[2][:6]], axis=0)


def test_sequences_of_logits():
    logits = np.random.default_rng(1).normal(size=(4, 7, 3))
    wanted = cl.ConvexHull.from_logits(logits.transpose(1, 0, 2), 2.0).members
    for given in (list(logits), tuple(logits), dict(enumerate(logits))):
        assert_array_equal(cl.ConvexHull.from_logits(given, 2.0).members, wanted)
    assert_array_equal(cl.ConvexHull.from_logits(logits, 2.0, axis=0).members, wanted)
    # One instance: a vector a model.
    assert_array_equal(cl.ConvexHull.from_logits(list(logits[:, 0]), 2.0).members, wanted[0])


def test_one_logit_array_an_instance_needs_a_word():
    logits = np.random.default_rng(1).normal(size=(7, 4, 3))
    wanted = cl.ConvexHull.from_logits(logits).members
    assert_array_equal(cl.ConvexHull.from_logits(list(logits), axis=-2).members, wanted)


@pytest.mark.parametrize("library", ["jax.numpy", "dask.array"])
def test_other_libraries_stack_their_own(library):
    module = pytest.importorskip(library)
    models = [module.asarray(model.astype(np.float32)) for model in MODELS]
    stack = module.stack(models)
    if hasattr(stack, "rechunk"):
        stack = stack.rechunk(-1)  # every instance must be whole
    for Q in (cl.ConvexHull(models, axis=0), cl.ConvexHull(stack, axis=0)):
        assert isinstance(Q.members, type(models[0]))
        assert_array_equal(np.asarray(Q.members), P.astype(np.float32))


# ---------------------------------------------------------------- frames


def frames(library, shuffle=True):
    """Return the models as frames, their columns in another order each."""
    rng = np.random.default_rng(3)
    orders = [rng.permutation(3) if shuffle and m else np.arange(3) for m in range(4)]
    return [
        library.DataFrame({CLASSES[k]: model[:, k] for k in order})
        for model, order in zip(MODELS, orders, strict=True)
    ]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_are_aligned_by_the_names_of_their_columns(library):
    tables = frames(pytest.importorskip(library))
    assert any(list(table.columns) != CLASSES for table in tables)
    for Q in (
        cl.ConvexHull(tables),
        cl.ConvexHull(tables, axis=0),
        cl.ConvexHull(dict(enumerate(tables))),
        cl.ConvexHull.from_frames(tables),
        cl.ConvexHull.from_frames(iter(tables)),
    ):
        assert_array_equal(Q.members, P)
    assert_array_equal(cl.quantify(tables).epistemic, cl.quantify(P).epistemic)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_picks_and_orders_the_classes(library):
    module = pytest.importorskip(library)
    tables = [
        module.DataFrame({"id": list("abcdefg"), **{c: table[c] for c in CLASSES}})
        for table in frames(module)
    ]
    Q = cl.ConvexHull.from_frames(tables, columns=["cow", "ape", "bee"])
    assert_array_equal(Q.members, P[..., [2, 0, 1]])
    with pytest.raises(ValueError, match=r"frames\[0\]: column 'id' is not numeric"):
        cl.ConvexHull(tables)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_with_other_columns_are_named(library):
    module = pytest.importorskip(library)
    tables = frames(module)
    tables[2] = module.DataFrame({"ape": P[:, 2, 0], "bee": P[:, 2, 1], "cat": P[:, 2, 2]})
    with pytest.raises(ValueError, match=r"frames\[2\]: lacks 'cow' and also has 'cat'.*columns="):
        cl.ConvexHull(tables)
    with pytest.raises(ValueError, match=r"frames\[2\]: lacks 'cow'"):
        cl.ConvexHull.from_frames(tables, columns=CLASSES)
    with pytest.raises(ValueError, match=r"frames\[1\]: has 6 rows, frames\[0\] 7"):
        cl.ConvexHull([tables[0], tables[1][:6]])
    with pytest.raises(ValueError, match=r"columns: has a column twice"):
        cl.ConvexHull.from_frames(tables, columns=["ape", "ape"])


def test_pandas_rows_are_aligned_by_index():
    pandas = pytest.importorskip("pandas")
    tables = [table.set_axis(list("abcdefg")) for table in frames(pandas)]
    shuffled = [tables[0], *(table.sample(frac=1, random_state=1) for table in tables[1:])]
    assert_array_equal(cl.ConvexHull(shuffled).members, P)
    # Labels twice are fine where the indexes agree, and cannot be aligned where they do not.
    twice = [table.set_axis([*"abcdef", "f"]) for table in tables]
    assert_array_equal(cl.ConvexHull(twice).members, P)
    with pytest.raises(ValueError, match=r"frames\[1\]: has another index.*label twice"):
        cl.ConvexHull([twice[0], twice[1][::-1]])
    with pytest.raises(ValueError, match=r"frames\[1\]: has no row 'g'.*reset_index"):
        cl.ConvexHull([tables[0], tables[1].set_axis([*"abcdef", "z"])])


def test_frames_keep_single_precision_and_read_nullable_columns():
    pandas = pytest.importorskip("pandas")
    tables = frames(pandas)
    single = [table.astype(np.float32) for table in tables]
    assert cl.ConvexHull(single).dtype == np.float32
    nullable = [table.astype("Float64") for table in tables]
    assert_array_equal(cl.ConvexHull(nullable).members, P)
    nullable[1].loc[3, "bee"] = pandas.NA
    with pytest.raises(ValueError, match=r"entry at index \(3, 1, 1\) .* is NaN|missing"):
        cl.ConvexHull(nullable)


def test_frames_of_pandas_and_polars_mix_by_position():
    one = frames(pytest.importorskip("pandas"))
    two = frames(pytest.importorskip("polars"))
    assert_array_equal(cl.ConvexHull([one[0], two[1], one[2], two[3]]).members, P)


def test_what_is_no_frame_is_refused():
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match=r"frames\[1\]: is a ndarray"):
        cl.ConvexHull.from_frames([frames(pandas)[0], MODELS[1]])
    with pytest.raises(ValueError, match=r"frames: is empty"):
        cl.ConvexHull.from_frames([])
    with pytest.raises(ValueError, match=r"axis: is 1 for a list of frames"):
        cl.ConvexHull(frames(pandas), axis=1)


# ---------------------------------------------------------------- forests

X, Y = load_iris(return_X_y=True)
WEIGHTS = np.random.default_rng(0).uniform(0.1, 3, len(Y))
FORESTS = {
    "random": RandomForestClassifier(12, random_state=0),
    "no bootstrap": RandomForestClassifier(8, max_depth=2, bootstrap=False, random_state=0),
    "class weights": RandomForestClassifier(
        8, max_depth=3, class_weight={0: 1, 1: 5, 2: 0.5}, bootstrap=False, random_state=0
    ),
    "extra": ExtraTreesClassifier(8, min_samples_leaf=5, random_state=0),
    "bag": BaggingClassifier(DecisionTreeClassifier(max_depth=2), 8, random_state=0),
    "bag of features": BaggingClassifier(
        DecisionTreeClassifier(max_depth=3), 8, max_features=0.5, random_state=0
    ),
}
each_forest = pytest.mark.parametrize("name", FORESTS)


def weighted(forest):
    """Say whether weights are used: versions differ in what they mean to a bootstrap sample."""
    return not isinstance(forest, BaggingClassifier) and not forest.bootstrap


def grown(name, labels=Y):
    forest = FORESTS[name]
    return forest.fit(X, labels, sample_weight=WEIGHTS if weighted(forest) else None)


def features(forest):
    return getattr(forest, "estimators_features_", [slice(None)] * len(forest.estimators_))


@each_forest
def test_a_tree_is_a_member_bit_for_bit(name):
    forest = grown(name)
    Q = cl.ConvexHull.from_forest(forest, X)
    single = X.astype(np.float32)
    for m, (tree, columns) in enumerate(zip(forest.estimators_, features(forest), strict=True)):
        assert_array_equal(Q.members[:, m], tree.predict_proba(single[:, columns]))
    assert_allclose(Q.center(), forest.predict_proba(X), atol=1e-12)


@each_forest
def test_smoothing_adds_to_the_counts_of_a_leaf(name):
    """Counts taken from the training data, as each tree saw it."""
    forest = grown(name)
    new = X[::7] + 0.01
    for s in (0.5, 1, 20):
        Q = cl.ConvexHull.from_forest(forest, new, smoothing=s)
        for m, (tree, columns) in enumerate(zip(forest.estimators_, features(forest), strict=True)):
            weight = weights_of(forest, m)
            leaf_of, leaf = tree.apply(X[:, columns]), tree.apply(new[:, columns])
            for i in range(len(new)):
                inside = leaf_of == leaf[i]
                counts = np.bincount(Y[inside], weight[inside], minlength=3)
                wanted = (counts + s) / (counts.sum() + 3 * s)
                assert_allclose(Q.members[i, m], wanted, atol=1e-12)


def weights_of(forest, m):
    """Return how much each row counted when tree `m` was grown."""
    if not weighted(forest):
        return np.bincount(forest.estimators_samples_[m], minlength=len(Y)).astype(float)
    return WEIGHTS * ([forest.class_weight[y] for y in Y] if forest.class_weight else 1)


def test_much_smoothing_leaves_nothing_to_know():
    Q = cl.ConvexHull.from_forest(grown("random"), X, smoothing=1e9)
    assert_allclose(Q.members, 1 / 3, atol=1e-6)
    assert cl.epistemic_uncertainty(Q).max() < 1e-6


def test_classes_are_in_the_order_of_the_forest():
    names = np.array(["setosa", "virginica", "versicolor"])[Y]
    forest = grown("random", names)
    Q = cl.ConvexHull.from_forest(forest, X)
    assert_allclose(Q.center(), forest.predict_proba(X), atol=1e-12)


def test_a_tree_that_never_saw_a_class_gives_it_nothing():
    """A bag of few rows: the classes of a tree are matched by their number."""
    bag = BaggingClassifier(DecisionTreeClassifier(), 20, max_samples=3, random_state=1).fit(X, Y)
    # Weights stand for rows in newer versions of scikit-learn; these trees are grown on rows.
    trees = [
        DecisionTreeClassifier().fit(X[rows], Y[rows])
        for rows in bag.estimators_samples_
    ]  # fmt: skip
    assert any(len(tree.classes_) < 3 for tree in trees)
    bag.estimators_ = trees
    Q = cl.ConvexHull.from_forest(bag, X)
    for m, tree in enumerate(trees):
        wanted = np.zeros((len(X), 3))
        wanted[:, tree.classes_] = tree.predict_proba(X)
        assert_array_equal(Q.members[:, m], wanted)
    smooth = cl.ConvexHull.from_forest(bag, X, smoothing=1)
    assert_allclose(smooth.members.sum(-1), 1)
    assert (smooth.members > 0).all()


@pytest.mark.parametrize("name", ["random", "bag", "bag of features"])
def test_frames_of_features_do_not_warn(name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    forest = FORESTS[name].fit(frame, Y)
    Q = cl.ConvexHull.from_forest(forest, frame)  # a warning would be an error
    assert_allclose(Q.center(), forest.predict_proba(frame), atol=1e-12)
    with pytest.raises(ValueError, match=r"(?i)columns|feature names"):
        cl.ConvexHull.from_forest(forest, frame[list("dcba")])


@pytest.mark.parametrize("name", ["random", "bag of features"])
def test_sparse_features(name):
    from scipy.sparse import csr_array

    forest = grown(name)
    got = cl.ConvexHull.from_forest(forest, csr_array(X)).members
    assert_array_equal(got, cl.ConvexHull.from_forest(forest, X).members)


@pytest.mark.slow
def test_what_is_no_forest_is_refused():
    refused = {
        "not fitted": RandomForestClassifier(),
        "HistGradientBoostingClassifier has no estimators_":
            HistGradientBoostingClassifier(max_iter=1).fit(X, Y),
        "AdaBoostClassifier weights its trees": AdaBoostClassifier(n_estimators=2).fit(X, Y),
        "has no estimators_": object(),
        "2 outputs": RandomForestClassifier(3).fit(X, np.stack([Y, Y], axis=1)),
        "DecisionTreeRegressor": RandomForestRegressor(3).fit(X, Y),
        "of LogisticRegression.*predict_proba": BaggingClassifier(LogisticRegression(C=0.1), 2)
        .fit(X[::5, :1], Y[::5]),
        "of ndarray": GradientBoostingClassifier(n_estimators=2).fit(X, Y),
    }  # fmt: skip
    for words, forest in refused.items():
        with pytest.raises(ValueError, match=rf"forest: .*{words}"):
            cl.ConvexHull.from_forest(forest, X)


@pytest.mark.parametrize("smoothing", [-1, np.inf, np.nan, "1", None])
def test_smoothing_is_a_number(smoothing):
    with pytest.raises(ValueError, match="smoothing: is"):
        cl.ConvexHull.from_forest(grown("random"), X, smoothing=smoothing)


def test_features_are_counted():
    with pytest.raises(ValueError, match=r"X: has shape \(150, 5\); pass an array \(n, 4\)"):
        cl.ConvexHull.from_forest(grown("bag"), np.hstack([X, X[:, :1]]))


# ---------------------------------------------------------------- probly
# Stand-ins with the attributes of probly's classes: the newer versions of probly need a newer
# Python than these tests. Those of 0.3 run in test_torch_adapters.py.


def distribution(array):
    return SimpleNamespace(array=array, probabilities=array, num_classes=array.shape[-1])


def credal_set(array, protected=1, name="array"):
    return SimpleNamespace(**{name: distribution(array)}, protected_axes={name: protected})


def sample(array, weights=None):
    """A sample has its draws on some axis, and hands them out on the first one."""
    return SimpleNamespace(samples=array, sample_size=4, weights=weights)


@pytest.mark.parametrize("name", ["array", "tensor"])
def test_probly_convex_sets_and_singletons(name):
    Q = cl.from_probly(credal_set(P, name=name))
    assert_array_equal(Q.members, P)
    assert np.shares_memory(Q.members, P)
    Q = cl.from_probly(credal_set(P[:, 0], 0, name))
    assert_array_equal(Q.members, P[:, :1])


def test_probly_distributions_and_samples():
    draws = P.transpose(1, 0, 2)
    for given in (draws, distribution(draws), MODELS, [distribution(p) for p in MODELS]):
        assert_array_equal(cl.from_probly(sample(given)).members, P)
    assert_array_equal(cl.from_probly(distribution(P)).members, P[:, :, None])
    single = [distribution(p[0]) for p in MODELS]
    assert_array_equal(cl.from_probly(sample(single)).members, P[0])


def test_a_draw_without_weight_is_not_in_the_hull():
    Q = cl.from_probly(sample(P.transpose(1, 0, 2), weights=[0.5, 0, 2, 1]))
    assert_array_equal(Q.members, P[:, [0, 2, 3]])
    Q = cl.from_probly(sample(P.transpose(1, 0, 2), weights=np.ones(4)))
    assert_array_equal(Q.members, P)


def test_probly_intervals_and_balls():
    low, high = P.min(axis=1), P.max(axis=1)
    Q = cl.from_probly(SimpleNamespace(lower_bounds=low, upper_bounds=high))
    assert isinstance(Q, cl.ProbabilityIntervals)
    assert_allclose(Q.lower(), cl.ProbabilityIntervals(low, high).lower())
    Q = cl.from_probly(SimpleNamespace(nominal=distribution(P[:, 0]), radius=np.full(7, 0.1)))
    assert isinstance(Q, cl.TotalVariationBall)
    assert_allclose(Q.upper(), np.minimum(P[:, 0] + 0.1, 1))


def test_the_representations_of_older_versions():
    class Structure(StrEnum):
        HULL = "convex_hull"

    def old(structure, problem="classification"):
        return SimpleNamespace(data=P, structure=structure, problem=problem)

    for structure in ("convex_hull", "finite", Structure.HULL):
        assert_array_equal(cl.from_probly(old(structure)).members, P)
    box = cl.from_probly(old("interval"))
    assert isinstance(box, cl.ProbabilityIntervals)
    assert_allclose(box.lower(), cl.ProbabilityIntervals.from_members(P).lower())
    with pytest.raises(ValueError, match=r"obj: is about regression"):
        cl.from_probly(old("convex_hull", "regression"))
    with pytest.raises(ValueError, match=r"obj.structure: is 'ball'"):
        cl.from_probly(old("ball"))


def test_arrays_and_our_own_sets_pass():
    assert_array_equal(cl.from_probly(P).members, P)
    assert_array_equal(cl.from_probly(P.tolist()).members, P)
    Q = cl.Contamination(P[:, 0], 0.1)
    assert cl.from_probly(Q) is Q


@pytest.mark.parametrize(
    ("obj", "words"),
    [
        (object(), r"obj: is a object, which is not understood; pass a convex, discrete"),
        (SimpleNamespace(alphas=np.ones(3), threshold=0.1), "not understood"),
        (SimpleNamespace(predict_representation=len), r"has to predict first.*represent\(x\)"),
    ],
)
def test_what_probly_has_and_we_do_not_is_refused(obj, words):
    with pytest.raises(ValueError, match=words):
        cl.from_probly(obj)


def test_objects_of_probly_are_sets_everywhere_and_never_mere_arrays():
    """Their arrays can mean something else: that of a ball is its centre."""
    ball = type("ArrayDistanceBasedCredalSet", (), {
        "__module__": "probly.representation.credal_set.array",
        "nominal": distribution(P[:, 0]),
        "radius": np.full(7, 0.1),
        "__array__": lambda self, *args, **kwargs: P[:, 0],
    })()  # fmt: skip
    wanted = cl.quantify(cl.TotalVariationBall(P[:, 0], np.full(7, 0.1)))
    assert_array_equal(cl.quantify(ball).total, wanted.total)
    with pytest.raises(ValueError, match=r"members: is probly's Array.*from_probly"):
        cl.ConvexHull(ball)
