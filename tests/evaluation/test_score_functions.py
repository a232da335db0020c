"""Scores by name: rows of the measure table, columns of the command line, functions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
from credalens.evaluation.score_functions import named_scores, score_function
from credalens.evaluation.scores import ScoreColumns
from credalens.measures.quantify import FAMILIES
from credalens.measures.table import MEASURES
from ensembles import dirichlet

P = dirichlet(12, 4, 3)


def test_every_column_of_the_command_line_is_a_score():
    for summary in ("interval", "lower"):
        columns = ScoreColumns(FAMILIES, summary=summary)(cl.ConvexHull(P))
        for name, values in columns.items():
            assert_allclose(score_function(name)(cl.ConvexHull(P)), values, err_msg=name)


def test_every_row_of_the_measure_table_is_a_score():
    Q = cl.ConvexHull(P)
    for name, function in named_scores(list(MEASURES)).items():
        values = function(Q)
        assert values.shape == (12,)
        assert_allclose(values, MEASURES[name](Q))


def test_intervals_and_totals():
    Q = cl.ConvexHull(P)
    for name in ("tv aleatoric", "scoring:brier", "scoring:brier total"):
        assert isinstance(score_function(name)(Q), cl.Interval)
    by_class = cl.quantify(Q, "labelwise:credal").epistemic
    assert_allclose(score_function("labelwise:credal epistemic")(Q), by_class.sum(axis=1))


def test_names_of_functions_and_distances():
    found = named_scores(["tv", cl.upper_entropy, cl.Wasserstein.ordinal(3)])
    assert list(found) == ["tv", "upper_entropy", "Wasserstein"]
    assert cl.make_selective_scorer("aurc", measure=cl.upper_entropy).__name__ == (
        "aurc upper_entropy"
    )


@pytest.mark.parametrize(
    ("score", "message"),
    [
        ("tv2", "score: is 'tv2'; pass one of"),
        ("tv epistemic_upper", "score: is 'tv epistemic_upper'; pass one of"),
        ([], "score: is empty"),
        (["tv", "tv"], "score: has two scores named 'tv'"),
        (3, "score: is 3; pass a name or a function"),
    ],
)
def test_refused(score, message):
    with pytest.raises(ValueError, match=message):
        named_scores(score)


@pytest.mark.parametrize("name", ["confidence epistemic", "information aleatoric_upper"])
def test_components_that_a_family_does_not_have(name):
    with pytest.raises(ValueError, match="which is not one number per instance; choose another"):
        score_function(name)(cl.ConvexHull(P))
    assert np.isfinite(score_function("confidence")(cl.ConvexHull(P))).all()
