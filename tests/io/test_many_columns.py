"""Many columns, files and bad rows take linear time: counted operations, not seconds."""

import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from credalens.datasets import dat
from credalens.io import PredictionFileError, ReadOptions, open_ensemble, values
from credalens.io.class_columns import choose_class_columns
from credalens.io.columns import find_known
from credalens.io.parquet import MANY_FILES, ParquetSource
from prediction_files import predictions


class Name(str):
    """A name of a column that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other):
        Name.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


@pytest.fixture(autouse=True)
def count():
    Name.compared = 0


def choose(K, values, **options):
    names = [Name(f"c{k}") for k in range(K)]
    return choose_class_columns(names, values, {Name("c1")}, **options)


@pytest.mark.parametrize("what", ["rows", "logits", "counts", "integers", "zeros"])
def test_classes_are_chosen_in_linear_time(what):
    K, rng = 1500, np.random.default_rng(0)
    x = {
        "rows": lambda: rng.dirichlet(np.ones(K), 30),
        "logits": lambda: rng.standard_normal((30, K)),
        "counts": lambda: rng.integers(0, 9, (30, K)).astype(float),
        "integers": lambda: rng.integers(0, 2, (30, K)).astype(float),
        "zeros": lambda: np.c_[rng.dirichlet(np.ones(20), 30), np.zeros((30, K - 20))],
    }[what]()
    try:
        choose(K, x, logits=what == "logits", rescaled=what == "counts")
    except Exception as doubt:
        assert type(doubt).__name__ == "UndecidedError"  # noqa: PT017
    assert Name.compared < 100 * K


def test_known_names_are_found_in_linear_time():
    names = [*(f"class_{k}" for k in range(3000)), "id", "y-0", "Y true"]
    assert find_known(names, ("y_true", "y", "id", "class")) == ["Y true", "id", "y-0"]
    known = [Name(name) for name in ("y_true", "y", "id", "class")]
    Name.compared = 0
    find_known(names, known)
    assert Name.compared < 100


@pytest.mark.slow
def test_a_wide_table(tmp_path, monkeypatch):
    K = 50_000
    x = np.random.default_rng(0).dirichlet(np.ones(K), 2)
    lines = [",".join(f"c{k}" for k in range(K)), *(",".join(map(repr, row.tolist())) for row in x)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    # pyarrow parses lines of more than a megabyte, without the slow parser line by line.
    monkeypatch.setattr("credalens.io.text.TextSource._parse_lines", None)
    (chunk,) = open_ensemble([str(tmp_path / "a.csv")]).chunks()
    assert np.array_equal(chunk.members[:, 0], x)


def test_a_file_of_bad_rows_is_refused_at_the_first(tmp_path, monkeypatch):
    described = []
    row = values._Description.row
    monkeypatch.setattr(
        values._Description, "row", lambda self, i: described.append(i) or row(self, i)
    )
    np.save(tmp_path / "a.npy", np.full((500, 3), 0.4))
    with pytest.raises(PredictionFileError, match=r"row 0 \(zero-based\).* sums to 1.2"):
        list(open_ensemble([str(tmp_path / "a.npy")]).chunks())
    assert described == [0]
    list(open_ensemble([str(tmp_path / "a.npy")]).chunks(skip=True))
    assert described == [0, *range(500)]


class TestManyFiles:
    @pytest.fixture
    def source(self, tmp_path):
        members, _ = predictions(6)
        table = pa.table({"probs": members.tolist()})
        for i in range(2 * MANY_FILES + 3):
            pyarrow.parquet.write_table(table, tmp_path / f"part-{i}.parquet")
        return ParquetSource(str(tmp_path), ReadOptions())

    @pytest.mark.slow
    def test_small_files_share_a_partition(self, source):
        bounds = source.partition_bounds(1000)
        n = 2 * MANY_FILES + 3
        assert bounds == [*range(0, 6 * n, 18), 6 * n][: len(bounds)]
        assert len(bounds) <= MANY_FILES + 1
        assert source.partition_bounds(6) == [*range(0, 6 * n + 1, 6)]  # large files do not
        ranges = [r for a, b in pairwise(bounds)
                  for r in source.row_ranges(a, b)]  # fmt: skip
        assert [path for path, _, _ in ranges] == [file.path for file in source._files]
        part = source.restrict(bounds[5], bounds[6])
        assert len(part._files) == 3
        rows = bounds[5] + 2, bounds[6]
        assert part.row_ranges(*rows) == source.row_ranges(*rows)
        assert source.row_ranges(7, 7) == []

    @pytest.mark.slow
    def test_ranges_are_found_without_a_loop_over_all_files(self, source):
        calls = 0

        def profile(frame, event, argument):
            nonlocal calls
            calls += event == "call" and frame.f_code.co_name in ("stop", "<lambda>")

        sys.setprofile(profile)
        try:
            source.row_ranges(600, 606)
        finally:
            sys.setprofile(None)
        assert calls < 60


@pytest.mark.parametrize(
    "text",
    ["a" + " real" * 30_000 + "x", "'" * 50_000, " " * 50_000 + "'x", "a {" * 30_000,
     "a" + " " * 50_000 + "q", "'a' " * 30_000, "a real [" * 10_000 + " x"],
    ids=range(7),
)  # fmt: skip
def test_keel_lines_are_split_in_linear_time(text):
    """A regular expression that backtracks would take minutes or hours for one of these."""
    dat._split(text)
    dat._split_attribute(text.strip())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("weight real [0, 9]", ("weight", None, "0, 9")),
        ("seeds integer[0,20]", ("seeds", None, "0,20")),
        ("x REAL", ("x", None, None)),
        ("'skin colour' {red, 'light green'}", ("skin colour", "red, 'light green'", None)),
        ("kind{a,b}", ("kind", "a,b", None)),
        ("'it is' real[1, 2]", ("it is", None, "1, 2")),
        ("two words nominal", ("two words", None, None)),
        ("real", None),
        ("{a, b}", None),
        ("x", None),
        ("'open real", ("'open", None, None)),
        ("x real 5", None),
    ],
)
def test_attributes(text, expected):
    assert dat._split_attribute(text) == expected
