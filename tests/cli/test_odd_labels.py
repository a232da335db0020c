"""Labels that are no classes, and models that do not fit together."""

from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import credalens as cl
import real_files as real
from odd_files import (
    PAIR,
    P,
    check,
    labels,
    scores,
    shuffled_ids,
    two,
    with_options,
)
from prediction_files import call
from real_files import IDS, LABELS, MEMBERS, N

ONE_BASED = np.r_[LABELS[:-1] + 1, 255]
ONE_HOT = pd.DataFrame(np.eye(3, dtype=int)[LABELS], columns=list(real.CLASSES))


def table():
    """Return labels by file name, in another order than the predictions."""
    found = pd.DataFrame({"image_id": IDS, "target": LABELS})
    return found.sample(frac=1, random_state=5)


def by_id(folder, found):
    return [*real.csvs(folder, image_id=IDS), *real.truth(folder, "y.csv", found)]


def numbered(found):
    return found.assign(image_id=np.arange(N))


def labels_npz(folder):
    np.savez(folder / "y.npz", fine=LABELS, coarse=np.zeros(N))
    return [*real.npys(folder), "--labels", folder / "y.npz"]


CASES = {
    # Labels.
    "an unsigned label": (
        labels(np.where(LABELS == 0, 255, LABELS).astype(np.uint8)),
        "{f}/y.npy: row 4 (zero-based): "
        "has the label '255'; labels are 0 to 2; pass --ignore-label 255 or relabel",
        "--ignore-label 255",
        (MEMBERS, np.where(LABELS == 0, -1, LABELS)),
    ),
    "a negative label": (
        labels(np.where(LABELS == 0, -1, LABELS)),
        "{f}/y.npy: row 4 (zero-based): has the label "
        "'-1'; labels are 0 to 2; pass --ignore-label -1 or relabel",
        "--ignore-label -1",
        (MEMBERS, np.where(LABELS == 0, -1, LABELS)),
    ),
    "labels from 1 on": (
        labels(LABELS + 1),
        "{f}/y.npy: row 0 (zero-based): has the label '3'; labels are 0 to 2; if "
        "these start at 1, pass --class-names 1-3",
        "--class-names 1-3",
        (MEMBERS, LABELS),
    ),
    "labels from 1 on, of named classes": (
        lambda f: [*real.csvs(f), *real.truth(f, "y.npy", LABELS + 1)],
        "{f}/y.npy: row 0 (zero-based): has the label '3'; labels are cat, dog, fox or 0 to 2; if "
        "these start at 1, pass --class-names 1-3",
        "--class-names 1-3",
        (MEMBERS, LABELS),
    ),
    "labels from 1 on, and ignored ones": (
        with_options(labels(ONE_BASED), "--ignore-label", "255"),
        "{f}/y.npy: row 0 (zero-based): has the label '3'; labels are 0 to 2; if these start at 1, "
        "pass --class-names 1-3",
        "--class-names 1-3",
        (MEMBERS, np.where(ONE_BASED == 255, -1, LABELS)),
    ),
    "names without names": (
        labels(np.array(["cat", "dog", "fox"])[LABELS]),
        "{f}/y.npy: row 0 (zero-based): has the "
        "label 'fox'; the classes have no names: pass --class-names in the order of the columns",
        "--class-names cat,dog,fox",
        (MEMBERS, LABELS),
    ),
    "a name that is none": (
        lambda f: [*real.csvs(f), *real.truth(f, "y.txt", ["cat"] * 39 + ["cow"])],
        "{f}/y.txt: row "
        "39 (zero-based): has the label 'cow'; labels are cat, dog, fox or 0 to 2; pass "
        "--ignore-label cow or relabel",
        "--ignore-label cow",
        MEMBERS,
    ),
    "too few labels": (
        labels(LABELS[:5]),
        "{f}/y.npy: has 5 labels, the models have 40 rows; pass one for each row",
        labels(LABELS),
        (MEMBERS, LABELS),
    ),
    "labels of other classes": (
        labels(np.ones((N, 2))),
        "{f}/y.npy: has labels of shape (rows, 2); "
        "save one label per row, or one number for each of 3 classes",
        labels(np.eye(3)[LABELS]),
        (MEMBERS, LABELS),
    ),
    "negative distributions": (
        labels(np.full((N, 3), -1.0)),
        "{f}/y.npy: row 0 (zero-based): has "
        "the label '[-1. -1. -1.]'; save one-hot rows, distributions or "
        "counts, which are not negative",
        labels(np.eye(3)[LABELS]),
        (MEMBERS, LABELS),
    ),
    "no column of labels": (
        lambda f: [*real.csvs(f), *real.truth(f, "y.csv", pd.DataFrame({"a": LABELS, "b": 0}))],
        "{f}/y.csv: contains a, b, not a column of labels; name it by --label-column",
        "--label-column a",
        (MEMBERS, LABELS),
    ),
    "counts of named classes, of classes without names": (
        lambda f: [*real.npys(f), *real.truth(f, "y.csv", ONE_HOT)],
        "{f}/y.csv: contains cat, dog, fox, not a column of labels; name it by --label-column, or "
        "pass --class-names cat,dog,fox if these are the classes in their order",
        "--class-names cat,dog,fox",
        (MEMBERS, LABELS),
    ),
    "several arrays of labels": (
        labels_npz,
        "{f}/y.npz: contains fine, coarse, not an array of labels; name it by --label-key",
        "--label-key fine",
        (MEMBERS, LABELS),
    ),
    "ids of labels twice": (
        lambda f: by_id(f, pd.concat([table(), table()[:2]])),
        "{f}/y.csv: has the id 'img_020.png' twice, and its rows are in another order; make ids "
        "unique, or put the rows of all files in the same order",
        lambda f: by_id(f, table()),
        (MEMBERS, LABELS),
    ),
    "other ids of labels": (
        lambda f: by_id(f, numbered(table())),
        "{f}/y.csv: has none of the ids of the rows, such as img_000.png; its first is 0; save the "
        "same ids, or pass --id-column none if it has the order of the rows",
        lambda f: [*by_id(f, numbered(table().sort_index())), "--id-column", "none"],
        (MEMBERS, LABELS),
    ),
    # Models that do not fit together.
    "ids in another order, and twice": (
        two(real.frame(0, id=np.arange(N) // 2), real.frame(1, id=np.arange(N)[::-1] // 2)),
        "{a}: has the id '0' twice, and its rows are in another order; make ids unique, or put the "
        "rows of all files in the same order",
        two(real.frame(0, id=np.arange(N) // 2), real.frame(1, id=np.arange(N) // 2)),
        PAIR,
    ),
    "more ids": (
        two(real.frame(0, id=IDS)[1:], real.frame(1, id=IDS)),
        "{f}/b.csv: has the id img_000.png, which {a} does not have; pass models of the same rows, "
        "--missing allow if models lack rows, or --id-column none if their rows are in the same "
        "order",
        two(real.frame(0, id=IDS)[1:], real.frame(1, id=IDS)[1:]),
        PAIR[1:],
    ),
    "other rows": (
        two(P, P[:5]),
        "{f}/b.npy: has 5 rows, {a} 40; pass models of the same rows",
    ),
    "other numbers of classes": (
        two(P, MEMBERS[:, 0, :2]),
        "{f}/b.npy: has 2 classes, {a} 3; pass models of the same classes",
    ),
    "labels in the folder of the models": (
        lambda f: [real.npys(f) and real.truth(f, "y.csv", pd.DataFrame({"label": LABELS})) and f],
        "{f}/y.csv: has 1 classes, {f}/model_0.npy 3; pass models of the same classes, or --labels "
        "{f}/y.csv if it contains labels",
        lambda f: [f, "--labels", f / "y.csv"],
        (MEMBERS, LABELS),
    ),
    "other ids": (
        shuffled_ids(np.arange(N) + 1),
        "{f}/b.csv: has no row with the id 0 (row 0 of "
        "{a}); pass models of the same rows, --missing allow if models lack rows, or --id-column "
        "none if their rows are in the same order",
        "--id-column none",
        PAIR,
    ),
    "ids twice": (
        shuffled_ids(np.r_[1, 1, np.arange(N - 2)]),
        "{f}/b.csv: has the id '1' twice, and its rows are in another order; make ids unique, or "
        "put the rows of all files in the same order",
        shuffled_ids(np.arange(N)),
        PAIR,
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_message_and_what_it_suggests(case, tmp_path):
    check(CASES[case], tmp_path)


class TestLabelsOutOfRange:
    """All integer dtypes, in every format."""

    @pytest.mark.parametrize(
        ("kind", "where"),
        [
            *((kind, "npy") for kind in "bBhHiIlLfd"),
            *product("BIqd", ["npz", "in npz", "parquet", "in parquet", "csv"]),
        ],
    )
    def test_ignored_or_refused(self, kind, where, tmp_path):
        wrong = 100 if kind == "b" else 255
        y = np.where(LABELS == 0, wrong, LABELS).astype(kind)
        arguments, at = self.write(tmp_path, where, y)
        shown = f"{wrong}.0" if kind in "fd" and where != "csv" else f"{wrong}"
        message = call("score", *arguments, "-q", code=2).stderr
        row = int(np.argmax(LABELS == 0))
        for text in (f"{at}: row {row} (zero-based): has the label '{shown}'",
                     f"; pass --ignore-label {wrong} or relabel"):  # fmt: skip
            assert text in message
        rows = scores(tmp_path, [*arguments, "--ignore-label", wrong], MEMBERS)
        right = cl.majority_vote(MEMBERS) == LABELS
        assert [row["correct"] for row in rows] == [
            None if y == 0 else bool(ok) for y, ok in zip(LABELS, right, strict=True)
        ]
        assert [row["label"] is None for row in rows] == (LABELS == 0).tolist()
        done = call("evaluate", *arguments, "--ignore-label", wrong, "--bootstrap", 0)
        n = int((LABELS > 0).sum())
        accuracy = 100 * right[LABELS > 0].mean()
        assert f"Accuracy on all {n} rows in %: {accuracy:.2f}" in done.stdout
        note = f"{N - n} rows with an ignored label are scored but not evaluated"
        assert note in done.stderr

    def write(self, folder, where, y):
        """Return the arguments, and the file that has the labels."""
        path = folder / f"y.{where}"
        if where == "in npz":
            paths = real.npzs(folder, probs=lambda m: MEMBERS[:, m], labels=y)
            return paths, paths[0]
        if where == "in parquet":

            def write(path, m):
                columns = {name: MEMBERS[:, m, k] for k, name in enumerate(real.CLASSES)}
                pyarrow.parquet.write_table(pa.table({**columns, "label": y}), path)

            paths = real.each(folder, "m{}.parquet", write)
            return paths, paths[0]
        if where == "npy":
            np.save(path, y)
        elif where == "npz":
            np.savez(path, y_true=y)
        elif where == "parquet":
            pyarrow.parquet.write_table(pa.table({"target": y}), path)
        else:
            integers = y.astype(int) if y.dtype.kind == "f" else y
            pd.DataFrame({"label": integers}).to_csv(path, index=False)
        return [*real.npys(folder), "--labels", path], path
