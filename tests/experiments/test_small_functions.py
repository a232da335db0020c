"""Short functions of the experiments."""

import numpy as np
import pytest

from credalens.experiments.networks import load_factory, small
from credalens.experiments.output import Cell, Table
from credalens.experiments.predict import batched
from credalens.experiments.protocol import Config, components, seeds, stratified_split
from credalens.experiments.relative_likelihood import parse_check_every, parse_levels
from credalens.experiments.table2 import check_families
from credalens.experiments.table2_summary import mean_sd


def test_components():
    assert components("hartley") == ("AU", "EU")
    assert components("tv") == ("AU", "EU", "TU")


def test_seeds_do_not_depend_on_the_number_of_members():
    assert seeds(Config(), "iris", 0) == seeds(Config(members=3), "iris", 0)
    assert len({seeds(Config(), name, split) for name in ("iris", "zoo") for split in (0, 1)}) == 4


def test_a_class_with_one_instance_belongs_to_the_training_part():
    train, test = stratified_split(np.array([0, 0, 0, 0, 1, 1, 1, 2]), 0.3, seed=0)
    assert (len(train), len(test), 7 in train) == (5, 3, True)


def test_parsing():
    assert (parse_check_every("epoch"), parse_check_every("10")) == ("epoch", 10)
    with pytest.raises(ValueError, match="check-every: is '0'; pass epoch, batch or a number"):
        parse_check_every("0")
    assert parse_levels("1, 0.2") == (0.2, 1.0)
    assert check_families("tv, hartley") == ["hartley", "tv"]
    assert load_factory("credalens.experiments.networks:small") is small


def test_batches():
    assert [batch.tolist() for batch in batched([1, 2, 3], 2)] == [[1, 2], [3]]


def test_mean_and_standard_deviation():
    assert mean_sd([1.0, 3.0]) == (2.0, pytest.approx(2**0.5))
    assert np.isnan(mean_sd([1.0])[1])


def test_tables():
    table = Table("Times", ("measure", "of", "s"))
    table.add("TU", "TV", Cell("0.1", bold=True, spread="0.2"))
    assert table.text() == "Times\nmeasure  of           s\nTU       TV  0.1* ± 0.2"
    assert table.markdown() == (
        "**Times**\n\n| measure | of | s |\n|---|---|--:|\n| TU | TV | **0.1** ± 0.2 |"
    )
    assert r"TU & TV & \textbf{0.1} $\pm$ 0.2 \\" in table.latex()
