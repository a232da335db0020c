"""Files that cannot be opened, and arrays of other shapes."""

import numpy as np
import pytest
import scipy.io

import real_files as real
from odd_files import (
    ROW,
    P,
    check,
    npy,
    npz,
    text,
    truncated,
    with_options,
)
from real_files import LABELS, MEMBERS, N


def pixels():
    return np.random.default_rng(1).dirichlet(np.ones(3), (2, 4, 5))


def matlab(folder):
    scipy.io.savemat(folder / "a.mat", {"probs": P, "labels": LABELS})
    return [folder / "a.mat"]


CASES = {
    # Files that cannot be opened.
    "no file": (lambda f: [f / "a.npy"], "{a}: does not exist; check the name"),
    "no xlsx": (lambda f: [f / "a.xlsx"], "{a}: does not exist; check the name"),
    "empty": (text("a.csv", ""), "{a}: is empty; write it again"),
    "blank": (
        text("a.csv", "\n\n"),
        "{a}: is empty; pass a file with one line per row",
    ),
    "xlsx": (
        text("a.xlsx", "x"),
        "{a}: is a .xlsx file, which is not read; save it as CSV: "
        "pandas.read_excel('a.xlsx').to_csv('a.csv', index=False)",
    ),
    "pickle": (
        text("a.pkl", "x"),
        "{a}: is a .pkl file, which is not read; pickles can run code; "
        "save the arrays by numpy.savez, or the table as Parquet",
        npz(probs=P),
        P[:, None],
    ),
    "xls": (
        text("b.xls", "x"),
        "{a}: is a .xls file, which is not read; save it as CSV: "
        "pandas.read_excel('b.xls').to_csv('b.csv', index=False)",
    ),
    "matlab": (
        matlab,
        "{a}: is a .mat file, which is not read; convert it: numpy.savez(path, "
        "**scipy.io.loadmat('a.mat'))",
        lambda f: npz(**scipy.io.loadmat(matlab(f)[0]))(f),
        (P[:, None], LABELS),
    ),
    "docx": (
        text("a.docx", "x"),
        "{a}: has the unknown file extension '.docx'; supported are .csv "
        ".tsv .txt .jsonl .ndjson .json .npy .npz .parquet .feather .arrow .zarr .h5 .hdf5 "
        ".safetensors .pt .pth",
    ),
    "compressed npz": (
        text("a.npz.gz", "x"),
        "{a}: is compressed; unpack it: .npz is read as it is",
    ),
    "not gzip": (
        text("a.csv.gz", "hello"),
        "{a}: cannot be read (OSError: zlib inflate failed: "
        "incorrect header check); check its file extension and write it again",
    ),
    "text as npy": (
        text("a.npy", "0.5,0.5\n"),
        "{a}: cannot be read (ValueError: the magic string "
        "is not correct; expected b'\\x93NUMPY', got b'0.5,0.'); check its file "
        "extension and write it again",
        text("a.csv", "0.5,0.5\n"),
        np.full((1, 1, 2), 0.5),
    ),
    "text as h5": (
        text("a.h5", "hello"),
        "{a}: cannot be read (OSError: Unable to synchronously "
        "open file (file signature not found)); check its file extension and write it "
        "again",
    ),
    "utf-16": (
        text("a.csv", "a,b\n0.5,0.5\n".encode("utf-16")),
        "{a}: is UTF-16 text; save it as UTF-8",
        text("a.csv", "a,b\n0.5,0.5\n"),
        np.full((1, 1, 2), 0.5),
    ),
    "truncated": (truncated, "{a}: is truncated: it has 35 of 40 rows; copy it again"),
    "objects": (
        npy(np.array([{"a": 1}], object)),
        "{a}: contains pickled Python objects, which are "
        "not loaded because they can run code; save an array of numbers, or of text",
    ),
    "folder of weights": (
        lambda f: [(f / "a.pt").write_bytes(b"x") and f],
        "{f}: has no prediction files; name them by a pattern, '{f}/*.pt'",
    ),
    # Arrays of other shapes.
    "a number": (
        npy(np.float64(3)),
        "{a}: contains a single number; save (rows, ..., classes)",
    ),
    "labels": (
        npy(LABELS),
        "{a}: has shape (40,) and dtype int64, like labels; save predictions "
        "(rows, classes), and pass labels by --labels",
        lambda f: [*real.npys(f), "--labels", *npy(LABELS)(f)],
        (MEMBERS, LABELS),
    ),
    "text": (npy(np.array([["a", "b"]])), "{a}: has dtype <U1; save floats"),
    "no rows": (npy(np.ones((0, 3))), "{a}: has no rows; save at least one"),
    "no classes": (
        npy(np.ones((3, 0))),
        "{a}: has shape (3, 0); save (rows, classes) or (rows, models, classes)",
        npy(P),
        P[:, None],
    ),
    "images, classes last": (
        npy(pixels()),
        "{a}: has shape (2, 4, 5, 3), like predictions for every pixel; save one row per "
        "pixel: a.reshape(-1, 3)",
        lambda f: npy(pixels().reshape(-1, 3))(f),
        pixels().reshape(-1, 1, 3),
    ),
    "images, classes second": (
        npy(np.moveaxis(pixels(), -1, 1)),
        "{a}: has shape (2, 3, 4, 5), like predictions for every "
        "pixel; save one row per pixel: numpy.moveaxis(a, 1, -1).reshape(-1, 3)",
        lambda f: npy(pixels().reshape(-1, 3))(f),
        pixels().reshape(-1, 1, 3),
    ),
    "nnunet": (
        npz(probabilities=np.moveaxis(pixels(), -1, 0)),
        "{a}: probabilities has shape (3, 2, 4, 5), "
        "like predictions for every pixel; save one row per pixel: "
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
        lambda f: [*npy(P)(f), "--axes", "rows,classes"],
        P[:, None],
    ),
    "too many axes": (
        with_options(npy(P), "--axes", "models,rows,classes"),
        "{a}: has shape (40, 3), --axes names 3 axes; name 2 axes",
        lambda f: [*npy(P)(f), "--axes", "rows,classes"],
        P[:, None],
    ),
    "axes of a table": (
        with_options(text("a.csv", "a,b\n.5,.5\n"), "--axes", "rows,classes"),
        "--axes: applies to arrays, and there are none; leave it out",
        text("a.csv", "a,b\n.5,.5\n"),
        np.full((1, 1, 2), 0.5),
    ),
    # Arrays of archives.
    "no predictions": (
        npz(history=np.arange(4)),
        "{a}: contains history (4,); save predictions "
        "(rows, classes) or (rows, models, classes), e.g. by numpy.savez(path, "
        "probs=...)",
        npz(probs=P),
        P[:, None],
    ),
    "several arrays": (
        npz(val=P, test=MEMBERS[:, 1]),
        "{a}: contains val (40, 3), test (40, 3); name the predictions, e.g. --key val",
        "--key val",
        P[:, None],
    ),
    "arrays without names": (
        lambda f: [np.savez(f / "a.npz", P, MEMBERS[:, 1], LABELS) or f / "a.npz"],
        "{a}: contains arr_0 (40, 3), arr_1 (40, 3); save numpy.stack(models, axis=1), or name the "
        "predictions, e.g. --key arr_0",
        npz(probs=np.stack([P, MEMBERS[:, 1]], axis=1)),
        MEMBERS[:, :2],
    ),
    "no such key": (
        with_options(npz(probs=P), "--key", "c"),
        "{a}: has no array 'c' (--key); it has probs (40, 3)",
        lambda f: [*npz(probs=P)(f), "--key", "probs"],
        P[:, None],
    ),
    "no such label key": (
        with_options(npz(probs=P), "--label-key", "c"),
        "{a}: has no array 'c' (--label-key); it has probs (40, 3)",
    ),
    "models first, with labels in it": (
        npz(probs=MEMBERS.swapaxes(0, 1), labels=LABELS),
        "{a}: labels has shape (40,); the predictions have shape (3, 40, 3): if its axes are so, "
        "pass --axes models,rows,classes",
        "--axes models,rows,classes",
        (MEMBERS, LABELS),
    ),
    "classes first, with labels in it": (
        npz(probs=np.moveaxis(MEMBERS[:, :2], 2, 0), labels=LABELS),
        "{a}: labels has shape (40,); the predictions have shape (3, 40, 2): if its axes are so, "
        "pass --axes models,rows,classes",
        "--axes models,rows,classes",
        ROW + "member 2 sums to 0.2025400589; its classes seem to be on another axis: pass --axes "
        "classes,rows,models",
    ),
    "labels of another shape": (
        with_options(npz(probs=P, years=np.ones(7)), "--label-key", "years"),
        "{a}: years has shape (7,); save shape (40,), one entry per row",
    ),
    "pickled labels": (
        npz(probs=P, labels=np.array(["cat"] * N, object)),
        "{a}: labels contains pickled Python objects, which are not loaded because they can run "
        "code; save an array of numbers, or of text",
        npz(probs=P, labels=np.array(["cat"] * N), class_names=["cat", "dog", "fox"]),
        (P[:, None], np.zeros(N)),
    ),
    "too few labels in it": (
        npz(probs=P, labels=LABELS[:5]),
        "{a}: labels has shape (5,); save shape (40,), one entry per row",
        "--label-column none",
        P[:, None],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_message_and_what_it_suggests(case, tmp_path):
    check(CASES[case], tmp_path)
