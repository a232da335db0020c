"""Prediction files in the shapes in which other programs write them, made from one ensemble."""

import json

import numpy as np
import pandas as pd

N, M, K = 40, 3, 3
CLASSES = ("cat", "dog", "fox")


def softmax(z):
    e = np.exp(z - z.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def _ensemble():
    rng = np.random.default_rng(7)
    center = 3 * rng.normal(size=(N, K))
    logits = np.stack([center + rng.normal(size=center.shape) for _ in range(M)], axis=1)
    labels = np.array([rng.choice(K, p=p) for p in softmax(center)])
    counts = np.array([rng.multinomial(50, p) for p in softmax(center)])
    return logits, labels, counts


LOGITS, LABELS, COUNTS = _ensemble()
MEMBERS = softmax(LOGITS)
#: The probability of the second class against the others, as two classes.
BINARY = np.stack([1 - MEMBERS[..., 1], MEMBERS[..., 1]], axis=-1)
IDS = np.array([f"img_{i:03d}.png" for i in range(N)])


def each(folder, name, write):
    """Write one file per model; return their paths."""
    paths = [folder / name.format(m) for m in range(M)]
    for m, path in enumerate(paths):
        write(path, m)
    return paths


def frame(m, values=MEMBERS, **columns):
    """Return the predictions of a model as a frame; `columns` follow the classes."""
    table = pd.DataFrame(values[:, m], columns=list(CLASSES))
    for name, column in columns.items():
        table[name.replace("__", "-")] = column
    return table


def csvs(folder, values=MEMBERS, **columns):
    """Write a CSV file per model, with further columns."""
    return each(
        folder,
        "model_{}.csv",
        lambda path, m: frame(m, values, **columns).to_csv(path, index=False),
    )


def npys(folder, values=MEMBERS):
    return each(folder, "model_{}.npy", lambda path, m: np.save(path, values[:, m]))


def npzs(folder, **arrays):
    """Write an .npz per model; functions are called with the number of the model."""

    def write(path, m):
        np.savez(path, **{k: v(m) if callable(v) else v for k, v in arrays.items()})

    return each(folder, "model_{}.npz", write)


def json_lines(folder, record, name="model_{}.jsonl"):
    def write(path, m):
        path.write_text("".join(json.dumps(record(i, m)) + "\n" for i in range(N)))

    return each(folder, name, write)


def truth(folder, name, labels=LABELS):
    """Write labels; return the option."""
    path = folder / name
    if path.suffix == ".npy":
        np.save(path, labels)
    elif path.suffix == ".csv":
        labels.to_csv(path, index=False)
    else:
        path.write_text("".join(f"{label}\n" for label in labels))
    return ["--labels", path]
