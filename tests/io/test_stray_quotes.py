"""A quote that makes several lines of a text table one row is an error that names the line."""

from itertools import combinations

import numpy as np
import pytest

from credalens.io import lines, open_ensemble
from credalens.io.source import PredictionFileError
from prediction_files import call

ROWS = ["a1,cat,.75,.25", "a2,dog,.25,.75", "a3,dog,.5,.5", "a4,cat,1,0", "a5,cat,.625,.375"]
HEADER = "id,label,cat,dog"


def write(path, rows, separator=","):
    path.write_text("\n".join([HEADER, *rows, ""]).replace(",", separator))
    return str(path)


def message(path):
    with pytest.raises(PredictionFileError) as found:
        list(open_ensemble([path]).chunks())
    return str(found.value)


@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize(("first", "last"), list(combinations(range(5), 2)))
def test_rows_are_not_merged(first, last, separator, tmp_path):
    rows = list(ROWS)
    rows[first] = rows[first].replace(",c", ',"c').replace(",d", ',"d')
    rows[last] = rows[last].replace("cat,", 'cat",').replace("dog,", 'dog",')
    text = message(write(tmp_path / "a.csv", rows, separator))
    assert (
        f"row {first} (zero-based): line {first + 2} opens a quote that ends on line {last + 2}"
        in text
    )
    assert f"so that {last - first + 1} rows would be read as one; remove the quote" in text


@pytest.mark.parametrize("skip", [(), ("--on-error", "skip")])
def test_a_quote_without_an_end(skip, tmp_path):
    rows = list(ROWS)
    rows[2] = rows[2].replace("dog,", '"dog,')
    done = call(
        "score", "-q", write(tmp_path / "a.csv", rows), "-o", tmp_path / "s.csv", *skip, code=2
    )
    assert "line 4" in done.stderr
    assert not (tmp_path / "s.csv").exists()


def test_a_quote_before_a_number(tmp_path):
    rows = [ROWS[0], 'a2,dog,.25,".75', *ROWS[2:]]
    assert "line 3" in message(write(tmp_path / "a.csv", rows))


def test_a_quote_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "TEXT_BLOCK", 1 << 10)
    rows = [f"a{i},cat,.75,.25" for i in range(500)]
    rows[321] = 'a321,"cat,.75,.25'
    rows[322] = 'a322,cat",.75,.25'
    text = message(write(tmp_path / "a.csv", rows))
    assert "row 321 (zero-based): line 323 opens a quote" in text


@pytest.mark.parametrize(
    "text",
    [
        '"two\nlines"',
        '"a, b\nc, d"',
        '"first\nsecond, with one comma"',
        '"a ""quote""\n\nb"',
        'a"b',
    ],
)
def test_text_with_line_breaks_is_one_field(text, tmp_path):
    rows = [f"{text},.75,.25", "plain,.5,.5", f"{text},.25,.75"]
    (tmp_path / "a.csv").write_text("\n".join(["id,cat,dog", *rows, ""]))
    (chunk,) = open_ensemble([str(tmp_path / "a.csv")]).chunks()
    assert np.array_equal(chunk.members[:, 0, 0], [0.75, 0.5, 0.25])
