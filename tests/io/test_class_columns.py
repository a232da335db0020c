"""Which columns of a table are classes."""

import numpy as np
import pytest

from credalens.io.class_columns import UndecidedError, choose_class_columns
from credalens.io.columns import ID_NAMES, LABEL_NAMES, OTHER_NAMES, columns_option, find_known
from ensembles import dirichlet

P = dirichlet(200, 1, 4)[:, 0]
CLASSES = ["a", "b", "c", "d"]
rng = np.random.default_rng(0)
INTEGERS = rng.integers(0, 5, len(P)).astype(float)


def chosen(extra, described=(), values=P, **options):
    names = [*CLASSES, *extra]
    columns = np.column_stack([values, *extra.values()])
    return choose_class_columns(names, columns, described, **options)


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"grp": INTEGERS},
        {"number": np.arange(200.0)},
        {"constant": np.ones(200)},
        {"confidence": P.max(axis=1)},
        {"entropy": -(P * np.log(P)).sum(axis=1)},
        {"flag": (rng.random(200) < 0.01).astype(float)},
        {"number": np.arange(200.0), "grp": INTEGERS, "weight": rng.normal(size=200)},
        {"missing": np.full(200, np.nan)},
        {"stamp": 1.6e9 + np.arange(200.0)},
    ],
    ids=lambda extra: "-".join(extra) or "none",
)
def test_other_columns_are_left_out_without_a_telling_name(extra):
    assert chosen(extra) == CLASSES


@pytest.mark.parametrize("name", ["instance_id", "target-0", "fold", "patient", "constant 0"])
def test_columns_with_telling_names(name):
    for column in (np.zeros(200), INTEGERS):
        assert chosen({name: column}, {name}) == CLASSES


def test_a_class_with_a_telling_name_is_needed_for_the_sum():
    for name in ("y", "n", "class", "weight"):
        names = [name, "b", "c", "d"]
        assert choose_class_columns(names, P, {name}) == names
        columns = np.column_stack([P, INTEGERS])
        assert choose_class_columns([*names, "fold"], columns, {name, "fold"}) == names
    assert choose_class_columns(["y", "n"], P[:, :2] / P[:, :2].sum(1)[:, None], {"y", "n"}) == [
        "y",
        "n",
    ]


def test_a_column_of_zeros_is_reported_unless_others_have_zeros_too():
    with pytest.raises(
        UndecidedError, match="column e contains only zeros and may be a class"
    ) as e:
        chosen({"e": np.zeros(200)})
    assert [list(choice) for choice in e.value.choices] == [CLASSES, [*CLASSES, "e"]]
    hard = np.eye(4)[rng.integers(0, 4, 200)]
    assert chosen({"e": np.zeros(200)}, values=hard) == [*CLASSES, "e"]


def test_several_possibilities_are_listed():
    with pytest.raises(UndecidedError, match="several sets of columns sum to 1") as error:
        chosen({"copy": P[:, 3]})
    assert [*CLASSES[:3], "copy"] in error.value.choices
    assert CLASSES in error.value.choices


def test_a_few_invalid_rows_do_not_change_the_decision():
    spoilt = P.copy()
    spoilt[:20, 1] = 7
    spoilt[30:40] = np.nan
    assert chosen({"grp": INTEGERS}, values=spoilt) == CLASSES


@pytest.mark.parametrize("scale", [1, 100])
def test_rows_that_are_to_be_rescaled(scale):
    coarse = scale * P.round(2)
    assert chosen({"grp": INTEGERS}, values=coarse) == CLASSES
    assert chosen({"grp": INTEGERS}, values=coarse, rescaled=True) == CLASSES


def test_logits_have_no_sums():
    logits = rng.normal(size=(200, 4))
    assert chosen({}, values=logits) == CLASSES
    assert chosen({"fold": INTEGERS}, {"fold"}, values=logits, logits=True) == CLASSES
    with pytest.raises(
        UndecidedError, match="column grp contains integers, unlike the others, and"
    ):
        chosen({"grp": INTEGERS}, values=logits, logits=True)
    counts = rng.poisson(9, (200, 4)).astype(float)
    assert chosen({}, values=counts, rescaled=True) == CLASSES
    with pytest.raises(
        UndecidedError, match="the column nr contains row numbers and may be a class"
    ):
        chosen({"nr": np.arange(200.0)}, values=counts, rescaled=True)


def test_no_rows():
    assert choose_class_columns(["a", "fold"], np.empty((0, 2)), {"fold"}) == ["a"]


def test_known_names():
    wild = ["image_id", "filename", "File-Name", "path", "StudyInstanceUID", "uid", "sample_id"]
    assert set(find_known(wild, ID_NAMES)) == set(wild)
    wild = ["target", "y", "y_true", "class", "ground_truth", "Label"]
    assert set(find_known(wild, LABEL_NAMES)) == set(wild)
    assert find_known(["target-0", "a"], LABEL_NAMES) == ["target-0"]
    assert find_known(["class_0", "class_1"], LABEL_NAMES) == []
    assert find_known(["fold", "Patient"], OTHER_NAMES) == ["fold", "Patient"]
    assert find_known(["label", "y"], LABEL_NAMES)[0] == "label"


def test_option_for_columns():
    names = ["id", *(f"c{k}" for k in range(30)), "x,y"]
    assert columns_option(["c1", "c0"], names) == "--columns c1,c0"
    assert columns_option(names[1:31], names) == "--columns 1-30"
    assert columns_option(["c0", "x,y"], names) == "--columns 1,31"
    assert columns_option([str(k) for k in range(40)], ["", *map(str, range(40))]) == (
        "--columns 0-39"
    )


Q = dirichlet(200, 1, 4, seed=1)[:, 0]


def test_adjacent_columns_that_sum_to_one():
    unit = {"u": rng.random(200), "v": rng.random(200)}
    assert chosen(unit) == CLASSES
    names = ["u", *CLASSES, "v", "w"]
    columns = np.column_stack([unit["u"], P, unit["v"], rng.random(200)])
    assert choose_class_columns(names, columns, ()) == CLASSES
    few = choose_class_columns(names, columns[:3], ())
    assert few == names  # three rows do not show it


@pytest.mark.parametrize("alternate", [False, True])
def test_columns_of_several_models(alternate):
    both = {f"{c}2": Q[:, k] for k, c in enumerate(CLASSES)}
    names, columns = [*CLASSES, *both], np.column_stack([P, Q])
    if alternate:
        order = [0, 4, 1, 5, 2, 6, 3, 7]
        names, columns = [names[k] for k in order], columns[:, order]
    with pytest.raises(UndecidedError, match="several sets of columns sum to 1") as error:
        choose_class_columns(names, columns, ())
    assert [list(choice) for choice in error.value.choices] == [CLASSES, list(both)]
    assert error.value.otherwise == "or save one file per model"


def test_log_probabilities_and_a_measurement():
    for extra in (rng.random(200), 90 * rng.random(200), -rng.random(200)):
        assert chosen({"x": extra}, values=np.log(P), logits=True) == CLASSES


def test_equal_sums_and_a_measurement():
    assert chosen({"x": rng.random(200)}, values=3 * P, rescaled=True) == CLASSES
    assert chosen({}, values=3 * P, rescaled=True) == CLASSES
    assert chosen({"x": -rng.random(200)}, values=7 * P, rescaled=True) == CLASSES


@pytest.mark.parametrize(
    ("extra", "what"),
    [
        (200 + 50 * rng.normal(size=200), "much larger numbers than the others"),
        (np.abs(rng.normal(size=200)), "no negative numbers, unlike the others,"),
    ],
    ids=["large", "positive"],
)
def test_columns_unlike_logits(extra, what):
    logits = rng.normal(size=(200, 4))
    with pytest.raises(UndecidedError, match=f"the column x contains {what} and may be") as error:
        chosen({"x": extra}, values=logits, logits=True)
    assert [list(choice) for choice in error.value.choices] == [CLASSES, [*CLASSES, "x"]]
    few = np.column_stack([logits, extra])[:10]
    assert choose_class_columns([*CLASSES, "x"], few, (), logits=True) == [*CLASSES, "x"]
    # Classes with large or positive logits only, of which there are several.
    both = {"x": extra, "z": extra[::-1]}
    assert chosen(both, values=logits, logits=True) == [*CLASSES, "x", "z"]


def test_one_of_two_classes_and_integers():
    values = np.column_stack([np.arange(200.0), P[:, 0]])
    with pytest.raises(UndecidedError, match="column nr contains row numbers") as error:
        choose_class_columns(["nr", "score"], values, ())
    assert [list(choice) for choice in error.value.choices] == [["score"], ["nr", "score"]]
