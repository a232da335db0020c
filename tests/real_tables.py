"""Tables in the shapes in which other programs write them."""

import bz2
import gzip
import lzma
import zipfile
from csv import QUOTE_NONNUMERIC

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather

from real_files import (
    BINARY,
    CLASSES,
    IDS,
    LABELS,
    MEMBERS,
    K,
    N,
    csvs,
    each,
    frame,
)


def sklearn_csv(folder):
    """``DataFrame(predict_proba).to_csv`` with its index and the target."""

    def write(path, m):
        table = frame(m)
        table.insert(0, "target", np.array(CLASSES)[LABELS])
        table.to_csv(path)

    return each(folder, "model_{}.csv", write)


def sklearn_single_precision_csv(folder):
    def write(path, m):
        frame(m, MEMBERS.astype(np.float32)).to_csv(path, index=False)

    return each(folder, "model_{}.csv", write)


def six_digits(folder):
    write = lambda path, m: frame(m).round(6).to_csv(path, index=False)  # noqa: E731
    return each(folder, "model_{}.csv", write)


def german_excel(folder):
    def write(path, m):
        frame(m, datei=IDS).round(4).to_csv(path, sep=";", decimal=",", index=False)

    return each(folder, "model_{}.csv", write)


def savetxt(folder):
    def write(path, m):
        np.savetxt(path, MEMBERS[:, m], header="cat dog fox")

    return each(folder, "model_{}.txt", write)


def commented(folder):
    def write(path, m):
        lines = frame(m).to_csv(index=False).splitlines()
        text = ["# model 3 of 5", "# val split", *lines[:9], "# second half", *lines[9:], ""]
        path.write_text("\n".join(text))

    return each(folder, "model_{}.csv", write)


def compressed(suffix):
    openers = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}

    def make(folder):
        def write(path, m):
            text = frame(m).to_csv(index=False).encode()
            if suffix in (".zst", ".lz4"):
                codec = {".zst": "zstd", ".lz4": "lz4"}[suffix]
                with pa.CompressedOutputStream(str(path), codec) as stream:
                    stream.write(text)
            elif suffix == ".zip":
                with zipfile.ZipFile(path, "w") as archive:
                    archive.writestr("model.csv", text)
            else:
                path.write_bytes(openers[suffix](text))

        return each(folder, "model_{}.csv" + suffix, write)

    return make


def shuffled(write, name):
    def make(folder):
        def one(path, m):
            write(frame(m, image_id=IDS).sample(frac=1, random_state=m), path)

        return each(folder, name, one)

    return make


def medical(folder):
    return csvs(folder, StudyInstanceUID=IDS, patient=np.arange(N) // 3, fold=np.arange(N) % 5)


def openml(folder):
    return csvs(folder, instance_id=np.arange(N) * 7, target__0=LABELS)


def sigmoid_csv(folder):
    def write(path, m):
        table = pd.DataFrame({"filename": IDS, "prob": BINARY[:, m, 1], "label": LABELS == 1})
        table.to_csv(path, index=False)

    return each(folder, "model_{}.csv", write)


def percentages(folder):
    return [*csvs(folder, 100 * MEMBERS), "--percent"]


def in_another_class_order(folder):
    rng = np.random.default_rng(0)

    def write(path, m):
        frame(m)[[CLASSES[k] for k in rng.permutation(K)]].to_csv(path, index=False)

    return [*each(folder, "model_{}.csv", write), "--class-names", "cat,dog,fox"]


def with_other_class_names(folder):
    def write(path, m):
        table = frame(m)
        table.columns = [f"model{m}_{name}" for name in CLASSES]
        table.to_csv(path, index=False)

    return [*each(folder, "model_{}.csv", write), "--class-names", "cat,dog,fox"]


def feather(table, path):
    pyarrow.feather.write_feather(pa.Table.from_pandas(table, preserve_index=False), str(path))


def parquet(table, path):
    table.to_parquet(path, index=False)


def csv(table, path):
    table.to_csv(path, index=False)


def r_write_table(folder):
    """``write.table``: no name above the names of the rows."""

    def write(path, m):
        lines = frame(m).to_csv(sep=" ", header=False).splitlines()
        path.write_text("\n".join(['"cat" "dog" "fox"', *lines, ""]))

    return each(folder, "model_{}.txt", write)


def r_write_csv(folder):
    """``write.csv``: an empty name above the names of the rows, all in quotes."""

    def write(path, m):
        table = frame(m)
        table.index = [f"row {i + 1}" for i in range(N)]
        table.to_csv(path, quoting=QUOTE_NONNUMERIC)

    return each(folder, "model_{}.csv", write)


def printed_frame(folder):
    return each(folder, "model_{}.txt", lambda path, m: path.write_text(frame(m).to_string()))


def index_saved_twice(folder):
    """A column ``Unnamed: 0`` of an index that was read as a column, and another index."""

    def write(path, m):
        frame(m).rename_axis("Unnamed: 0").reset_index().to_csv(path)

    return each(folder, "model_{}.csv", write)


def windows(folder):
    """A byte order mark, other ends of lines, and empty lines at the end."""

    def write(path, m):
        text = frame(m, label=np.array(CLASSES)[LABELS]).to_csv(index=False, lineterminator="\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")

    return each(folder, "model_{}.csv", write)


def titled(folder):
    """A title above the table, and a separator at the end of every row."""

    def write(path, m):
        text = frame(m).to_csv(index=False).replace("\n", ",\n").replace("fox,", "fox", 1)
        path.write_text(f"Predictions of model {m}\n\n{text}")

    return each(folder, "model_{}.csv", write)


def excel_hint(folder):
    def write(path, m):
        path.write_text("sep=;\n" + frame(m).to_csv(sep=";", decimal=",", index=False))

    return each(folder, "model_{}.csv", write)


def decimal_commas_in_quotes(folder):
    def write(path, m):
        rows = [[f"{p:.15f}".replace(".", ",") for p in row] for row in MEMBERS[:, m]]
        lines = [",".join(f'"{text}"' for text in row) for row in [CLASSES, *rows]]
        path.write_text("\n".join(lines))

    return each(folder, "model_{}.csv", write)


def own_statistics(folder):
    """Columns of measurements in [0, 1] besides the classes."""

    def write(path, m):
        ordered = np.sort(MEMBERS[:, m])
        margin, doubt = ordered[:, -1] - ordered[:, -2], 1 - ordered[:, -1] / 2
        frame(m, margin=margin, doubt=doubt).to_csv(path, index=False)

    return each(folder, "model_{}.csv", write)


def log_probabilities_and_time(folder):
    seconds = np.random.default_rng(0).random(N)
    return [*csvs(folder, np.log(MEMBERS), seconds=seconds), "--logits"]


def shuffled_files_in_folders(folder):
    """File names with and without folder and extension, under a name in another language."""

    def write(path, m):
        names = [f"/data/{name}" for name in IDS] if m else [name[:-4] for name in IDS]
        table = frame(m)
        table.insert(0, "Datei", names)
        table.sample(frac=1, random_state=m).to_csv(path, index=False)

    return each(folder, "model_{}.csv", write)


#: Case, how it is written, whether it has labels, the members, and the tolerance of the scores.
TABLES = {
    "sklearn csv": (sklearn_csv, True, MEMBERS, 1e-15),
    "single precision csv": (sklearn_single_precision_csv, False, MEMBERS, 1e-6),
    "six digits": (six_digits, False, MEMBERS, 1e-5),
    "german excel": (german_excel, False, MEMBERS, 2e-4),
    "savetxt": (savetxt, False, MEMBERS, 1e-15),
    "comments": (commented, False, MEMBERS, 1e-15),
    **{f"csv{s}": (compressed(s), False, MEMBERS, 1e-15)
       for s in (".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4")},
    "write.table": (r_write_table, False, MEMBERS, 1e-15),
    "write.csv": (r_write_csv, False, MEMBERS, 1e-15),
    "printed frame": (printed_frame, False, MEMBERS, 1e-5),
    "index saved twice": (index_saved_twice, False, MEMBERS, 1e-15),
    "windows": (windows, True, MEMBERS, 1e-15),
    "title": (titled, False, MEMBERS, 1e-15),
    "separator hint of excel": (excel_hint, False, MEMBERS, 1e-15),
    "decimal commas in quotes": (decimal_commas_in_quotes, False, MEMBERS, 1e-12),
    "own statistics": (own_statistics, False, MEMBERS, 1e-15),
    "log-probabilities and time": (log_probabilities_and_time, False, MEMBERS, 1e-12),
    "shuffled csv": (shuffled(csv, "model_{}.csv"), False, MEMBERS, 1e-15),
    "shuffled parquet": (shuffled(parquet, "model_{}.parquet"), False, MEMBERS, 0),
    "shuffled feather": (shuffled(feather, "model_{}.feather"), False, MEMBERS, 0),
    "shuffled files in folders": (shuffled_files_in_folders, False, MEMBERS, 1e-15),
    "medical": (medical, False, MEMBERS, 1e-15),
    "openml": (openml, True, MEMBERS, 1e-15),
    "sigmoid csv": (sigmoid_csv, True, BINARY, 1e-15),
    "percentages": (percentages, False, MEMBERS, 1e-12),
    "other class order": (in_another_class_order, False, MEMBERS, 1e-15),
    "other class names": (with_other_class_names, False, MEMBERS, 1e-15),
}  # fmt: skip
