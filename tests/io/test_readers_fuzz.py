"""Damaged files: readers return rows or raise one `PredictionFileError`."""

import io
import os

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from credalens.io import PredictionFileError, ReadOptions, open_ensemble
from credalens.io.label_files import LabelOptions, read_labels
from prediction_files import FORMATS, predictions

pytestmark = pytest.mark.slow

#: Damaged files for each format; more by `CREDALENS_FUZZ=1000`.
N_EXAMPLES = int(os.environ.get("CREDALENS_FUZZ", "60"))
KINDS = [kind for kind in FORMATS if kind != "bare csv"]


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    members, labels = predictions(n=40)
    found = {}
    for kind in KINDS:
        ending, write = FORMATS[kind]
        path = folder / f"a{ending}"
        write(path, members[:, 0], labels)
        found[kind] = (ending, path.read_bytes())
    return found


#: What is done to a file: cut it, and put bytes in some places.
damage = st.tuples(
    st.floats(0, 1),
    st.lists(
        st.tuples(
            st.floats(0, 1, exclude_max=True),
            st.sampled_from(["replace", "insert", "delete"]),
            st.binary(min_size=1, max_size=4),
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
)


def damaged(data, how):
    share, edits, whole = how
    data = bytearray(data if whole else data[: int(share * len(data))])
    for place, kind, new in edits:
        at = int(place * len(data))
        if kind == "insert":
            data[at:at] = new
        elif kind == "delete":
            del data[at : at + len(new)]
        else:
            data[at : at + len(new)] = new
    return bytes(data)


def outcome(read):
    """Return what was read, or ``None`` if it raised an error of one line."""
    try:
        return read()
    except PredictionFileError as error:
        text = str(error)
        assert "\n" not in text
        assert "; " in text
        return None


def sound(chunks):
    for chunk in chunks:
        assert chunk.members.ndim == 3
        assert np.isfinite(chunk.members).all()
        assert np.allclose(chunk.members.sum(axis=2), 1, atol=1e-2)


@pytest.mark.filterwarnings("ignore")  # the libraries may say what they think of the file
@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind, originals, tmp_path):
    ending, data = originals[kind]
    path = tmp_path / f"damaged{ending}"

    @settings(max_examples=N_EXAMPLES, deadline=None, database=None, derandomize=True,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(damage, st.booleans())
    def check(how, skip):
        path.write_bytes(damaged(data, how))
        chunks = outcome(lambda: list(open_ensemble([str(path)]).chunks(rows=16, skip=skip)))
        sound(chunks or ())
        truth = outcome(lambda: read_labels(str(path), LabelOptions(id_name="id")))
        assert truth is None or truth.values.ndim in (1, 2)

    check()


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=N_EXAMPLES, deadline=None, database=None, derandomize=True)
@given(st.binary(max_size=200), st.sampled_from(["csv", "tsv", "npy", "jsonl"]), st.booleans())
def test_any_bytes_from_a_pipe(data, kind, header):
    def read():
        how = ReadOptions(format=kind, header=header)
        return list(
            open_ensemble(["-"], options=how, stdin=io.BytesIO(data)).chunks(rows=3, skip=True)
        )

    sound(outcome(read) or ())


FIELDS = ["0.5", "1", "0", "", "x", "nan", "-1", "1e400"]


@settings(max_examples=N_EXAMPLES, deadline=None, database=None, derandomize=True)
@given(st.lists(st.lists(st.sampled_from(FIELDS), max_size=3), min_size=1, max_size=12))
def test_invalid_lines_are_dropped_and_valid_lines_are_kept(lines):
    text = "p,q\n" + "".join(",".join(fields) + "\n" for fields in lines)
    rows = [fields for fields in lines if ",".join(fields)]
    good = [fields for fields in rows if sorted(fields) in (["0.5", "0.5"], ["0", "1"])]
    how = ReadOptions(columns=("p", "q"), format="csv")
    ensemble = {"options": how, "stdin": io.BytesIO(text.encode())}
    chunks = outcome(lambda: list(open_ensemble(["-"], **ensemble).chunks(rows=4, skip=True)))
    if chunks is None:
        assert not rows
        return
    kept = np.concatenate([chunk.members[:, 0] for chunk in chunks])
    assert np.array_equal(kept, np.array(good, dtype=float).reshape(-1, 2))
    assert sum(len(chunk.dropped) for chunk in chunks) == len(rows) - len(good)
