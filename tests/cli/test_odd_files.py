"""Odd and invalid files: the exact message, and where its suggestion leads."""

import json
import shlex
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

import credalens as cl
import real_files as real
from prediction_files import call
from real_files import COUNTS, LABELS, LOGITS, MEMBERS, N

P = MEMBERS[:, 0]
rng = np.random.default_rng(0)


def text(name, content):
    """Return a function that writes a file of text or bytes."""

    def make(folder):
        data = content if isinstance(content, bytes) else content.encode()
        (folder / name).write_bytes(data)
        return [folder / name]

    return make


def npy(array):
    def make(folder):
        np.save(folder / "a.npy", array, allow_pickle=True)
        return [folder / "a.npy"]

    return make


def npz(**arrays):
    def make(folder):
        np.savez(folder / "a.npz", **arrays)
        return [folder / "a.npz"]

    return make


def truncated(folder):
    np.save(folder / "a.npy", P)
    (folder / "a.npy").write_bytes((folder / "a.npy").read_bytes()[:-100])
    return [folder / "a.npy"]


def labels(array):
    """Return a function that writes three models and a file of labels."""

    def make(folder):
        np.save(folder / "y.npy", array)
        return [*real.npys(folder), "--labels", folder / "y.npy"]

    return make


def two(first, second):
    def make(folder):
        for name, values in (("a", first), ("b", second)):
            if isinstance(values, pd.DataFrame):
                values.to_csv(folder / f"{name}.csv", index=False)
            else:
                np.save(folder / f"{name}.npy", values)
        return [next(folder.glob(f"{name}.*")) for name in "ab"]

    return make


def with_options(make, *options):
    return lambda folder: [*make(folder), *options]


def shuffled_ids(ids):
    return two(real.frame(0, id=np.arange(N)), real.frame(1, id=ids))


def pixels():
    return np.random.default_rng(1).dirichlet(np.ones(3), (2, 4, 5))


#: Rows rounded to one digit: their sums miss 1 by up to 0.1.
COARSE = np.array([[0.3, 0.3, 0.3], [0.1, 0.1, 0.9], [0.6, 0.3, 0.2], [0.2, 0.3, 0.4]])
COARSE_SUMS = COARSE / COARSE.sum(axis=1, keepdims=True)
SCORES = rng.random((N, 3))
PAIR = MEMBERS[:, :2]
#: Counts with different sums.
UNEVEN = np.stack([COUNTS + m * (np.arange(N) % 3)[:, None] for m in (1, 2, 3)], axis=1)

FIX_ROW = "fix the row, or drop it by --on-error skip"
ROW = "{a}: row 0 (zero-based): "
#: Case: how it is written, the message, the options that it suggests, and the members that
#: are then read, or the message that follows. {a} is the first file, {f} the folder.
CASES = {
    # Files that cannot be opened.
    "no file": (lambda f: [f / "a.npy"], "{a}: does not exist; check the name", None, None),
    "no xlsx": (lambda f: [f / "a.xlsx"], "{a}: does not exist; check the name", None, None),
    "empty": (text("a.csv", ""), "{a}: is empty; write it again", None, None),
    "blank": (
        text("a.csv", "\n\n"),
        "{a}: is empty; pass a file with one line per row",
        None,
        None,
    ),
    "xlsx": (
        text("a.xlsx", "x"),
        "{a}: is a .xlsx file, which is not read; save it as CSV: "
        "pandas.read_excel('a.xlsx').to_csv('a.csv', index=False)",
        None,
        None,
    ),
    "pickle": (
        text("a.pkl", "x"),
        "{a}: is a .pkl file, which is not read; pickles can run code; "
        "save the arrays by numpy.savez, or the table as Parquet",
        None,
        None,
    ),
    "docx": (
        text("a.docx", "x"),
        "{a}: has the unknown file extension '.docx'; supported are .csv "
        ".tsv .txt .jsonl .ndjson .json .npy .npz .parquet .feather .arrow .zarr .h5 .hdf5 "
        ".safetensors .pt .pth",
        None,
        None,
    ),
    "compressed npz": (
        text("a.npz.gz", "x"),
        "{a}: is compressed; unpack it: .npz is read as it is",
        None,
        None,
    ),
    "not gzip": (
        text("a.csv.gz", "hello"),
        "{a}: cannot be read (OSError: zlib inflate failed: "
        "incorrect header check); check its file extension and write it again",
        None,
        None,
    ),
    "text as npy": (
        text("a.npy", "0.5,0.5\n"),
        "{a}: cannot be read (ValueError: the magic string "
        "is not correct; expected b'\\x93NUMPY', got b'0.5,0.'); check its file "
        "extension and write it again",
        None,
        None,
    ),
    "text as h5": (
        text("a.h5", "hello"),
        "{a}: cannot be read (OSError: Unable to synchronously "
        "open file (file signature not found)); check its file extension and write it "
        "again",
        None,
        None,
    ),
    "utf-16": (
        text("a.csv", "a,b\n0.5,0.5\n".encode("utf-16")),
        "{a}: is UTF-16 text; save it as UTF-8",
        None,
        None,
    ),
    "truncated": (truncated, "{a}: is truncated: it has 35 of 40 rows; copy it again", None, None),
    "objects": (
        npy(np.array([{"a": 1}], object)),
        "{a}: contains pickled Python objects, which are "
        "not loaded because they can run code; save an array of numbers, or of text",
        None,
        None,
    ),
    "folder of weights": (
        lambda f: [(f / "a.pt").write_bytes(b"x") and f],
        "{f}: has no prediction files; name them by a pattern, '{f}/*.pt'",
        None,
        None,
    ),
    # Arrays of other shapes.
    "a number": (
        npy(np.float64(3)),
        "{a}: contains a single number; save (rows, ..., classes)",
        None,
        None,
    ),
    "labels": (
        npy(LABELS),
        "{a}: has shape (40,) and dtype int64, like labels; save predictions "
        "(rows, classes), and pass labels by --labels",
        None,
        None,
    ),
    "text": (npy(np.array([["a", "b"]])), "{a}: has dtype <U1; save floats", None, None),
    "no rows": (npy(np.ones((0, 3))), "{a}: has no rows; save at least one", None, None),
    "no classes": (
        npy(np.ones((3, 0))),
        "{a}: has shape (3, 0); save (rows, classes) or (rows, models, classes)",
        None,
        None,
    ),
    "images, classes last": (
        npy(pixels()),
        "{a}: has shape (2, 4, 5, 3), predictions for every pixel; save one row per "
        "pixel: a.reshape(-1, 3)",
        lambda f: npy(pixels().reshape(-1, 3))(f),
        pixels().reshape(-1, 1, 3),
    ),
    "images, classes second": (
        npy(np.moveaxis(pixels(), -1, 1)),
        "{a}: has shape (2, 3, 4, 5), predictions for every "
        "pixel; save one row per pixel: numpy.moveaxis(a, 1, -1).reshape(-1, 3)",
        lambda f: npy(pixels().reshape(-1, 3))(f),
        pixels().reshape(-1, 1, 3),
    ),
    "nnunet": (
        npz(probabilities=np.moveaxis(pixels(), -1, 0)),
        "{a}: probabilities has shape (3, 2, 4, 5), "
        "predictions for every pixel; save one row per pixel: "
        "numpy.moveaxis(probabilities, 0, -1).reshape(-1, 3)",
        lambda f: npy(pixels().reshape(-1, 3))(f),
        pixels().reshape(-1, 1, 3),
    ),
    "transposed": (
        npy(P.T),
        ROW + "sums to 7.744004545; its classes seem to be on another axis: "
        "pass --axes classes,rows",
        "--axes classes,rows",
        P[:, None],
    ),
    "classes first of three": (
        npy(np.moveaxis(MEMBERS, 2, 0)),
        ROW + "member 5 sums to 2.891499463; its classes seem to be "
        "on another axis: pass --axes classes,rows,models",
        "--axes classes,rows,models",
        MEMBERS,
    ),
    "classes second of three": (
        npy(MEMBERS.swapaxes(1, 2)),
        ROW + "member 1 sums to 2.175667437; its classes seem to be on "
        "another axis: pass --axes rows,classes,models",
        "--axes rows,classes,models",
        MEMBERS,
    ),
    "models first": (with_options(labels(LABELS), "--axes", "rows,classes"), None, None, MEMBERS),
    "models first, with labels": (
        lambda f: [*npy(MEMBERS.swapaxes(0, 1))(f), *real.truth(f, "y.npy")],
        "{f}/y.npy: has 40 labels, the models have 3 rows; {a} has shape (3, 40, 3): if its axes "
        "are so, pass --axes models,rows,classes",
        "--axes models,rows,classes",
        MEMBERS,
    ),
    "an unknown axis": (
        with_options(npy(P), "--axes", "rows,colour"),
        "--axes: is 'rows,colour'; name each axis once: models, rows and classes in their order",
        None,
        None,
    ),
    "too many axes": (
        with_options(npy(P), "--axes", "models,rows,classes"),
        "{a}: has shape (40, 3), --axes names 3 axes; name 2 axes",
        None,
        None,
    ),
    "axes of a table": (
        with_options(text("a.csv", "a,b\n.5,.5\n"), "--axes", "rows,classes"),
        "--axes: applies to arrays, and there are none; leave it out",
        None,
        None,
    ),
    # Rows that are not distributions.
    "logits": (
        npy(LOGITS[:, 0]),
        ROW + "class 2 is negative; pass --logits if these are logits",
        "--logits",
        P[:, None],
    ),
    "positive logits": (
        npy(LOGITS[:, 0] - LOGITS.min() + 1),
        ROW + "sums to 27.16076045; pass --logits if these are logits",
        "--logits",
        P[:, None],
    ),
    "log-probabilities": (
        npy(np.log(P)),
        ROW + "class 0 is negative; these are log-probabilities: pass --logits",
        "--logits",
        P[:, None],
    ),
    "percentages": (
        npy(100 * P),
        ROW + "sums to 100; these look like percentages: pass --percent",
        "--percent",
        P[:, None],
    ),
    "percentages of 100.5": (
        npy(100.5 * P),
        ROW + "sums to 100.5; these look like percentages: pass --percent",
        "--percent",
        ROW + "sums to 1.005; pass --normalize to rescale",
    ),
    "percentages of 100.5, rescaled": (
        with_options(npy(100.5 * P), "--percent"),
        ROW + "sums to 1.005; pass --normalize to rescale",
        "--normalize",
        P[:, None],
    ),
    "counts": (
        npy(COUNTS),
        ROW + "sums to 50; pass --normalize if these are counts",
        "--normalize",
        COUNTS[:, None] / 50,
    ),
    "equal sums": (
        npy(3 * P),
        ROW + "sums to 3; pass --normalize to rescale",
        "--normalize",
        P[:, None],
    ),
    "one digit": (
        npy(COARSE),
        ROW + "sums to 0.9; pass --normalize to rescale",
        "--normalize",
        COARSE_SUMS[:, None],
    ),
    "one row": (
        npy(np.array([[1.0, 0.5, 0.5]])),
        ROW + "sums to 2; pass --logits for logits, --normalize for weights, or --on-error skip",
        "--normalize",
        np.array([[[0.5, 0.25, 0.25]]]),
    ),
    "scores": (
        npy(SCORES),
        ROW + f"sums to {SCORES[0].sum():.10g}; these are scores in [0, 1] that "
        "do not sum to 1, such as sigmoid outputs: save softmax outputs, or pass --axes "
        "rows,models if these are of class 1 by several models",
        "--axes rows,models",
        np.stack([1 - SCORES, SCORES], axis=-1),
    ),
    "rounded below 0": (
        npy(np.array([[1.001, -0.001], [0.25, 0.75], [1.002, -0.002]])),
        ROW + "class 1 is negative; write numpy.clip(x, 0, None) of the probabilities",
        lambda f: npy(np.array([[1.001, 0], [0.25, 0.75], [1.002, 0]]))(f),
        "{a}: row 2 (zero-based): sums to 1.002; pass --normalize to rescale, " + FIX_ROW,
    ),
    "one wrong row": (
        npy(np.r_[P, [[0.5, 0.5, 0.5]]]),
        "{a}: row 40 (zero-based): sums to 1.5; " + FIX_ROW,
        "--on-error skip",
        P[:, None],
    ),
    "one rounded row": (
        npy(np.r_[P, [[0.5, 0.25, 0.3]]]),
        "{a}: row 40 (zero-based): sums to 1.05; pass --normalize to rescale, " + FIX_ROW,
        "--normalize",
        np.r_[P, [[0.5 / 1.05, 0.25 / 1.05, 0.3 / 1.05]]][:, None],
    ),
    "nan": (
        npy(np.r_[P, [[0.5, np.nan, 0.5]]]),
        "{a}: row 40 (zero-based): class 1 is NaN; " + FIX_ROW,
        "--on-error skip",
        P[:, None],
    ),
    "infinite": (
        npy(np.r_[P, [[0.5, np.inf, 0.5]]]),
        "{a}: row 40 (zero-based): class 1 is infinite; " + FIX_ROW,
        "--on-error skip",
        P[:, None],
    ),
    "one of two above 1": (
        npy(np.array([[1.5], [0.5]])),
        ROW + "the probability 1.5 is above 1; "
        "pass --logits for logits, or save one column per class",
        "--logits",
        real.softmax(np.array([[[0, 1.5]], [[0, 0.5]]])),
    ),
    "one of two in percent": (
        npy(np.array([[75.0], [50.0]])),
        ROW + "the probability 75 is above 1; "
        "pass --percent for percentages, or --logits for logits",
        "--percent",
        np.array([[[0.25, 0.75]], [[0.5, 0.5]]]),
    ),
    "logits of distributions": (
        with_options(npy(P), "--logits"),
        "{a}: --logits was passed, but its rows are distributions; "
        "leave out --logits, or pass --force-logits to take their softmax",
        "--force-logits",
        real.softmax(P)[:, None],
    ),
    "logits of percentages": (
        with_options(npy(100 * P), "--logits"),
        "{a}: --logits was passed, but its rows are "
        "percentages; leave out --logits and pass --percent, or pass --force-logits to take their "
        "softmax",
        lambda f: [*npy(100 * P)(f), "--percent"],
        P[:, None],
    ),
    "logits of coarse rows": (
        with_options(npy(COARSE), "--logits"),
        "{a}: --logits was passed, but its rows are nearly "
        "distributions; leave out --logits and pass --normalize, or pass --force-logits to take "
        "their softmax",
        lambda f: [*npy(COARSE)(f), "--normalize"],
        COARSE_SUMS[:, None],
    ),
    "percent of distributions": (
        with_options(npy(P), "--percent"),
        "{a}: --percent was passed, but its rows sum to 1; leave out --percent",
        npy(P),
        P[:, None],
    ),
    "normalize logits": (
        with_options(npy(LOGITS[:, 0]), "--normalize"),
        ROW + "class 2 is negative; pass --logits if these are logits",
        lambda f: [*npy(LOGITS[:, 0])(f), "--logits"],
        P[:, None],
    ),
    # Arrays of archives.
    "no predictions": (
        npz(history=np.arange(4)),
        "{a}: contains history (4,); save predictions "
        "(rows, classes) or (rows, models, classes), e.g. by numpy.savez(path, "
        "probs=...)",
        None,
        None,
    ),
    "several arrays": (
        npz(val=P, test=MEMBERS[:, 1]),
        "{a}: contains val (40, 3), test (40, 3); name the predictions, e.g. --key val",
        "--key val",
        P[:, None],
    ),
    "no such key": (
        with_options(npz(probs=P), "--key", "c"),
        "{a}: has no array 'c' (--key); it has probs (40, 3)",
        None,
        None,
    ),
    "no such label key": (
        with_options(npz(probs=P), "--label-key", "c"),
        "{a}: has no array 'c' (--label-key); it has probs (40, 3)",
        None,
        None,
    ),
    "too few labels in it": (
        npz(probs=P, labels=LABELS[:5]),
        "{a}: labels has shape (5,); save shape (40,), one entry per row",
        "--label-column none",
        P[:, None],
    ),
    # Columns of tables.
    "a column of zeros": (
        lambda f: real.csvs(f, junk=0),
        "{f}/model_0.csv: the column junk contains only zeros and "
        "may be a class or not; pass --columns cat,dog,fox or --columns cat,dog,fox,junk",
        "--columns cat,dog,fox",
        MEMBERS,
    ),
    "logits and folds": (
        lambda f: [*real.csvs(f, LOGITS, grp=np.arange(N) % 5), "--logits"],
        "{f}/model_0.csv: the "
        "column grp contains integers, unlike the others, and may be a class or not; pass "
        "--columns cat,dog,fox or --columns cat,dog,fox,grp",
        "--columns cat,dog,fox",
        MEMBERS,
    ),
    "counts and row numbers": (
        lambda f: [*real.csvs(f, UNEVEN, nr=np.arange(N)), "--normalize"],
        "{f}/model_0.csv: the column nr contains row numbers and may be a class or not; pass "
        "--columns cat,dog,fox or --columns cat,dog,fox,nr",
        "--columns cat,dog,fox",
        UNEVEN / UNEVEN.sum(axis=2, keepdims=True),
    ),
    "logits, later with folds": (
        lambda f: real.csvs(f, LOGITS, grp=np.arange(N) % 5),
        "{f}/model_0.csv: row 0 (zero-based): "
        "class fox is negative; pass --logits if these are logits",
        "--logits",
        "{f}/model_0.csv: the column grp contains integers, unlike the others, and may be a class "
        "or not; pass --columns cat,dog,fox or --columns cat,dog,fox,grp",
    ),
    "text only": (
        text("a.csv", "a,b\nx,y\n"),
        "{a}: has no column of numbers (a is 'x'); save one number per class",
        "--columns a,b",
        ROW + "column 'a' is 'x', not a number; fix it, or name the class "
        "columns by --columns or this one by --id-column",
    ),
    "two equal names": (
        text("a.csv", "a,a\n0.5,0.5\n"),
        "{a}: has two columns 'a'; rename one, or pass --no-header",
        None,
        None,
    ),
    "a short line": (
        text("a.csv", "a,b\n.5,.5\n0.5\n"),
        "{a}: row 1 (zero-based): has 1 fields instead of 2; " + FIX_ROW,
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "header only": (
        text("a.csv", "a,b\n"),
        "{a}: has a header but no rows; pass at least one row",
        None,
        None,
    ),
    "names of classes that differ": (
        two(real.frame(0), real.frame(1).rename(columns={"cat": "cow"})),
        "{f}/b.csv: has the "
        "classes cow, dog, fox, {f}/a.csv cat, dog, fox; pass --class-names to name them by "
        "position",
        "--class-names cat,dog,fox",
        PAIR,
    ),
    "too few class names": (
        with_options(npy(P), "--class-names", "a,b"),
        "--class-names: has 2 different names; pass 3, one per class",
        None,
        None,
    ),
    # JSON.
    "no json": (
        text("a.jsonl", "hello\n"),
        "{a}: has no line with a JSON object or a list of numbers; write one JSON object per line",
        None,
        None,
    ),
    "a broken line": (
        text("a.jsonl", '{"probs": [0.5, 0.5]}\n{"probs": [0.5\n'),
        "{a}: row 1 (zero-based): is not "
        "a valid record (JSON parse error: Missing a comma or ']' after an array element. in row "
        "0); write one JSON object per line",
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "other classes": (
        text("a.jsonl", '{"probs": [0.5, 0.5]}\n{"probs": [0.5, 0.25, 0.25]}\n'),
        "{a}: row 1 "
        "(zero-based): probs is 3 instead of 2; fix the row so that all have as many members and "
        "classes, or pass --on-error skip",
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "two lists": (
        text("a.jsonl", '{"x": [0.5, 0.5], "y2": [1, 0]}\n'),
        "{a}: has lists in x, y2; name the predictions, e.g. --key x",
        "--key x",
        np.array([[[0.5, 0.5]]]),
    ),
    "some log-probabilities": (
        text("a.jsonl", "".join(json.dumps({"logprobs": [-0.5, x]}) + "\n" for x in (-2.0, -3.0))),
        ROW
        + "sums to 0.7418659429; the exponentials of log-probabilities of all classes sum to 1: "
        "save all, or pass --logits to rescale those of some",
        "--logits",
        real.softmax(np.array([[[-0.5, -2.0]], [[-0.5, -3.0]]])),
    ),
    # Labels.
    "an unsigned label": (
        labels(np.where(LABELS == 0, 255, LABELS).astype(np.uint8)),
        "{f}/y.npy: row 4 (zero-based): "
        "has the label '255'; labels are 0 to 2; pass --ignore-label 255 or relabel",
        "--ignore-label 255",
        MEMBERS,
    ),
    "a negative label": (
        labels(np.where(LABELS == 0, -1, LABELS)),
        "{f}/y.npy: row 4 (zero-based): has the label "
        "'-1'; labels are 0 to 2; pass --ignore-label -1 or relabel",
        "--ignore-label -1",
        MEMBERS,
    ),
    "labels from 1 on": (
        labels(LABELS + 1),
        "{f}/y.npy: row 0 (zero-based): has the label '3'; labels are 0 to 2; if "
        "these start at 1, pass --class-names 1-3",
        "--class-names 1-3",
        MEMBERS,
    ),
    "names without names": (
        labels(np.array(["cat", "dog", "fox"])[LABELS]),
        "{f}/y.npy: row 0 (zero-based): has the "
        "label 'fox'; the classes have no names: pass --class-names in the order of the columns",
        "--class-names cat,dog,fox",
        MEMBERS,
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
        None,
        None,
    ),
    "labels of other classes": (
        labels(np.ones((N, 2))),
        "{f}/y.npy: has labels of shape (rows, 2); "
        "save one label per row, or one number for each of 3 classes",
        None,
        None,
    ),
    "negative distributions": (
        labels(np.full((N, 3), -1.0)),
        "{f}/y.npy: row 0 (zero-based): has "
        "the label '[-1. -1. -1.]'; save one-hot rows, distributions or "
        "counts, which are not negative",
        None,
        None,
    ),
    "no column of labels": (
        lambda f: [*real.csvs(f), *real.truth(f, "y.csv", pd.DataFrame({"a": LABELS, "b": 0}))],
        "{f}/y.csv: contains a, b, not a column of labels; name it by --label-column",
        "--label-column a",
        MEMBERS,
    ),
    # Models that do not fit together.
    "other rows": (
        two(P, P[:5]),
        "{f}/b.npy: has 5 rows, {a} 40; pass models of the same rows",
        None,
        None,
    ),
    "other numbers of classes": (
        two(P, MEMBERS[:, 0, :2]),
        "{f}/b.npy: has 2 classes, {a} 3; pass models of the same classes",
        None,
        None,
    ),
    "other ids": (
        shuffled_ids(np.arange(N) + 1),
        "{f}/b.csv: has no row with the id 0 (row 0 of "
        "{a}); pass models of the same rows, or --id-column none if their rows are in "
        "the same order",
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


def check_scores(folder, arguments, members):
    out = folder / "scores.jsonl"
    call("score", *arguments, "-q", "-o", out)
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    expected = cl.total_uncertainty(members)
    assert np.allclose([row["tv_total"] for row in rows], expected, rtol=0, atol=1e-12)
    return rows


@pytest.mark.parametrize("case", CASES)
def test_message_and_what_it_suggests(case, tmp_path):
    make, message, suggestion, outcome = CASES[case]
    arguments = make(tmp_path)

    def refused(arguments, message):
        shown = message.replace("{a}", str(arguments[0])).replace("{f}", str(tmp_path))
        found = call("score", *arguments, "-q", code=2).stderr.removesuffix("\n")
        assert found.removeprefix("credalens: ") in (shown, shown[:300])

    if message is None:
        check_scores(tmp_path, arguments, outcome)
        return
    refused(arguments, message)
    if suggestion is None:
        return
    if callable(suggestion):
        arguments = suggestion(tmp_path)
    else:
        arguments = [*arguments, *shlex.split(suggestion)]
    if isinstance(outcome, str):
        refused(arguments, outcome)
    else:
        check_scores(tmp_path, arguments, outcome)


def test_there_are_many():
    assert len(CASES) >= 60


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
        rows = check_scores(tmp_path, [*arguments, "--ignore-label", wrong], MEMBERS)
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
