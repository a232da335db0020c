"""Small prediction files in every format, and the commands that read them."""

import json
import re
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
from typer.testing import CliRunner

from credalens.cli import app

NAMES = ("cat", "dog", "bird")
runner = CliRunner(env={"COLUMNS": "100", "FORCE_COLOR": None})


def call(*arguments, code=0, **options):
    """Run a command in this process; stderr of a failure must be one line."""
    done = runner.invoke(app, [str(a) for a in arguments], **options)
    assert done.exit_code == code, (done.output, done.exception)
    if code:
        message = without_core_warning(done.stderr)
        assert done.stdout == ""
        assert "Traceback" not in message, message
        assert message.startswith("credalens: ")
        assert len(message.splitlines()) == 1, message
    return done


def without_core_warning(text):
    """Return standard error as it is on a machine with a core for each of the workers."""
    warning = r"credalens: warning: .* fewer workers or threads would be faster\n"
    return re.sub(warning, "", text)


def command(*arguments):
    """Return a command line for a process of its own."""
    return [sys.executable, "-m", "credalens", *(str(a) for a in arguments)]


def process(*arguments, **options):
    return subprocess.run(command(*arguments), capture_output=True, timeout=120, **options)


def predictions(n=50, M=3, K=3, dtype=np.float64, seed=0):
    """Members (n, M, K) and labels that the vote often, but not always, gets right."""
    rng = np.random.default_rng(seed)
    center = rng.dirichlet(np.full(K, 0.4), n)
    members = np.stack([rng.dirichlet(20 * p + 0.05) for p in center for _ in range(M)])
    members = members.reshape(n, M, K).astype(dtype)
    members /= members.sum(axis=-1, keepdims=True)
    labels = np.array([rng.choice(K, p=p) for p in center])
    return members, labels


def read(path):
    """Return the columns of a table of scores."""
    if path.suffix == ".npz":
        return dict(np.load(path))
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}
    kind = pyarrow.csv.read_csv if path.suffix == ".csv" else pyarrow.parquet.read_table
    table = kind(path)
    return {name: table[name].to_numpy() for name in table.column_names}


def write_npy(path, values, labels=None):
    np.save(path, values)


def write_fortran_npy(path, values, labels=None):
    np.save(path, np.asfortranarray(values))


def write_npz(path, values, labels=None):
    np.savez(path, probs=values, **({} if labels is None else {"labels": labels}))


def write_npz_compressed(path, values, labels=None):
    np.savez_compressed(path, probs=values, **({} if labels is None else {"labels": labels}))


def _table(values, labels=None, names=NAMES):
    columns = {name: values[:, k] for k, name in enumerate(names)}
    if labels is not None:
        columns["label"] = np.array(names)[labels]
    return pa.table(columns)


def write_csv(path, values, labels=None):
    pyarrow.csv.write_csv(_table(values, labels), path)


def write_tsv(path, values, labels=None):
    pyarrow.csv.write_csv(_table(values, labels), path, pyarrow.csv.WriteOptions(delimiter="\t"))


def write_bare_csv(path, values, labels=None):
    path.write_text("".join(",".join(map(repr, row)) + "\n" for row in values.tolist()))


def write_parquet(path, values, labels=None):
    pyarrow.parquet.write_table(_table(values, labels), path)


def write_nested_parquet(path, values, labels=None):
    columns = {"probs": values.tolist()}
    if labels is not None:
        columns["label"] = labels
    if values.dtype == np.float32:
        inner = pa.list_(pa.float32())
        kind = inner if values.ndim == 2 else pa.list_(inner)
        columns["probs"] = pa.array(columns["probs"], kind)
    pyarrow.parquet.write_table(pa.table(columns), path, row_group_size=17)


def write_feather(path, values, labels=None):
    pyarrow.feather.write_feather(_table(values, labels), str(path), chunksize=17)


def write_arrow_stream(path, values, labels=None):
    table = _table(values, labels)
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=13)


def write_jsonl(path, values, labels=None):
    rows = [{"probs": row} for row in values.tolist()]
    for row, label in zip(rows, () if labels is None else labels, strict=False):
        row["label"] = int(label)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_hdf5(path, values, labels=None):
    import h5py

    with h5py.File(path, "w") as file:
        file.create_dataset("probs", data=values, chunks=(16, *values.shape[1:]))
        if labels is not None:
            file["labels"] = labels


def write_safetensors(path, values, labels=None):
    from safetensors.numpy import save_file

    arrays = {"probs": np.ascontiguousarray(values)}
    save_file(arrays if labels is None else {**arrays, "labels": labels}, path)


def write_zst_csv(path, values, labels=None):
    with pa.CompressedOutputStream(str(path), "zstd") as stream:
        pyarrow.csv.write_csv(_table(values, labels), stream)


#: Ending and how to write it, for one model ``(n, K)``.
FORMATS = {
    "npy": (".npy", write_npy),
    "fortran npy": (".npy", write_fortran_npy),
    "npz": (".npz", write_npz),
    "compressed npz": (".npz", write_npz_compressed),
    "csv": (".csv", write_csv),
    "bare csv": (".csv", write_bare_csv),
    "tsv": (".tsv", write_tsv),
    "parquet": (".parquet", write_parquet),
    "nested parquet": (".parquet", write_nested_parquet),
    "feather": (".feather", write_feather),
    "arrow stream": (".arrow", write_arrow_stream),
    "jsonl": (".jsonl", write_jsonl),
    "hdf5": (".h5", write_hdf5),
    "safetensors": (".safetensors", write_safetensors),
    "zst csv": (".csv.zst", write_zst_csv),
}  # fmt: skip
