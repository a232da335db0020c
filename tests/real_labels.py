"""Predictions with labels in the shapes in which other programs write them."""

import numpy as np
import pandas as pd

from real_files import CLASSES, IDS, LABELS, MEMBERS, K, csvs, npys, truth

NAMES = np.array(CLASSES)[LABELS]


def table(names=NAMES, **columns):
    """Return labels by file name, in another order than the predictions."""
    found = pd.DataFrame({"image_id": IDS, **columns, "target": names})
    return found.sample(frac=1, random_state=5)


def by_id(labels, name="y.csv", **options):
    """Write predictions with ids, and a table of labels."""

    def make(folder):
        labels.to_csv(folder / name, index=False, **options)
        return [*csvs(folder, image_id=IDS), "--labels", folder / name]

    return make


def by_position(name, labels):
    """Write predictions without ids, and a file of labels."""
    return lambda folder: [*npys(folder), *truth(folder, name, labels)]


def one_column(header, labels):
    """Write predictions with class names, and a CSV file of one column."""

    def make(folder):
        (folder / "y.csv").write_text("\n".join([*header, *map(str, labels), ""]))
        return [*csvs(folder), "--labels", folder / "y.csv"]

    return make


def arrays(**labels):
    def make(folder):
        np.savez(folder / "y.npz", **labels)
        return [*npys(folder), "--labels", folder / "y.npz"]

    return make


MORE = pd.DataFrame({"image_id": ["other"], "target": ["cow"]})
ONE_HOT = pd.DataFrame(np.eye(K, dtype=int)[LABELS], columns=[c.upper() for c in CLASSES])
#: Case, and how it is written: the predictions are those of `MEMBERS`, the labels `LABELS`.
WITH_LABELS = {
    "kaggle": by_id(pd.concat([table(age=7), MORE])),
    "ids under another name": by_id(table().rename(columns={"image_id": "Bild"})),
    "ids without extension": by_id(table().replace(r"\.png$", "", regex=True)),
    "ids in a folder": by_id(table().replace(r"^img", "data/train/img", regex=True)),
    "no header": by_id(table(), header=False),
    "no header, indices": by_id(table(LABELS), header=False),
    "semicolons": by_id(table(), sep=";"),
    "tabs": by_id(table(), "y.tsv", sep="\t"),
    "gzip": by_id(table(), "y.csv.gz"),
    "another name of the labels": by_id(table().rename(columns={"target": "diagnosis"})),
    "spaces": by_id(table([f" {name} " for name in NAMES])),
    "one-hot columns by id": by_id(ONE_HOT.assign(image_id=IDS).sample(frac=1, random_state=2)),
    "names beside an index": one_column(
        [], pd.DataFrame({"diagnosis": NAMES}).to_csv().splitlines()
    ),
    "names in one column": one_column([], NAMES),
    "names under a header": one_column(["diagnosis"], NAMES),
    "indices under a header": one_column(["diagnosis"], LABELS),
    "indices as floats": one_column(["label"], [f"{y}.0" for y in LABELS]),
    "labels in text": by_position("y.txt", LABELS),
    "labels in text under a header": by_position("y.txt", ["label", *LABELS]),
    "names in capitals": lambda f: [*csvs(f), *truth(f, "y.txt", [n.upper() for n in NAMES])],
    "labels (n, 1)": by_position("y.npy", LABELS[:, None]),
    "labels (1, n)": by_position("y.npy", LABELS[None]),
    "one-hot labels": by_position("y.npy", np.eye(K, dtype=int)[LABELS]),
    "images and labels": arrays(x_test=np.ones((len(LABELS), 2, 2)), y_test=LABELS[:, None]),
    **{f"{np.dtype(kind).name} labels": by_position("y.npy", LABELS.astype(kind))
       for kind in "bBhHiIlLfd"},
}  # fmt: skip
LABELLED = {name: (make, True, MEMBERS, 1e-15) for name, make in WITH_LABELS.items()}
