"""Prediction files in the shapes in which other programs write them, made from one ensemble."""

import bz2
import gzip
import json
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather

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


def keras(folder):
    return npys(folder, MEMBERS.astype(np.float32))


def keras_stacked(folder):
    np.save(folder / "all.npy", MEMBERS.transpose(1, 0, 2).astype(np.float32))
    return [folder / "all.npy", "--axes", "models,rows,classes"]


def fortran_transposed(folder):
    write = lambda path, m: np.save(path, np.asfortranarray(MEMBERS[:, m].T))  # noqa: E731
    return [*each(folder, "model_{}.npy", write), "--axes", "classes,rows"]


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


def compressed_npy(folder):
    def write(path, m):
        plain = folder / "plain.npy"
        np.save(plain, MEMBERS[:, m])
        path.write_bytes(gzip.compress(plain.read_bytes()))
        plain.unlink()

    return each(folder, "model_{}.npy.gz", write)


def clip(folder):
    return npzs(
        folder,
        logits=lambda m: LOGITS[:, m].astype(np.float32),
        labels=LABELS.astype(np.uint8),
        image_features=np.ones((N, 8), np.float32),
    )


def torchvision_logits(folder):
    return [*npys(folder, LOGITS.astype(np.float32)), "--logits"]


def both_read_as_probs(folder):
    return npzs(folder, probs=lambda m: MEMBERS[:, m], logits=lambda m: 3 * LOGITS[:, m])


def both_read_as_logits(folder):
    wrong = MEMBERS[:, ::-1]
    return [
        *npzs(folder, probs=lambda m: wrong[:, m], logits=lambda m: LOGITS[:, m]),
        "--logits",
    ]


def unknown_key(folder):
    return npzs(folder, resnet50=lambda m: MEMBERS[:, m], history=np.arange(7))


def chosen_key(folder):
    arrays = {"val": lambda m: MEMBERS[:, m], "test": lambda m: MEMBERS[:, ::-1][:, m]}
    return [*npzs(folder, **arrays, y_val=LABELS), "--key", "val", "--label-key", "y_val"]


def calibration_records(folder):
    """Keys of published records of calibration research."""
    return npzs(folder, predictions=lambda m: MEMBERS[:, m], ground_truth=LABELS[:, None])


def huggingface_logits(folder):
    return json_lines(
        folder, lambda i, m: {"idx": i, "logits": LOGITS[i, m].tolist(), "label": int(LABELS[i])}
    )


def huggingface_pipeline(folder):
    """``pipeline(top_k=None)``: labels and scores in the order of the scores."""

    def record(i, m):
        order = np.argsort(-MEMBERS[i, m])
        scores = [{"label": CLASSES[k], "score": float(MEMBERS[i, m, k])} for k in order]
        return {"id": str(i), "predictions": scores}

    return json_lines(folder, record)


def llm_logprobs(folder):
    def record(i, m):
        logprobs = dict(zip(CLASSES, np.log(MEMBERS[i, m]).tolist(), strict=True))
        return {"uid": f"q{i}", "logprobs": logprobs, "gold": CLASSES[LABELS[i]].upper()}

    return json_lines(folder, record)


def json_ensemble(folder):
    path = folder / "all.jsonl"
    path.write_text("".join(json.dumps({"probs": rows}) + "\n" for rows in MEMBERS.tolist()))
    return [path]


def json_lists(folder):
    return json_lines(folder, lambda i, m: MEMBERS[i, m].tolist())


def json_document(folder):
    def write(path, m):
        records = [
            {"probs": row, "target": int(y)}
            for row, y in zip(MEMBERS[:, m].tolist(), LABELS, strict=True)
        ]
        path.write_text(json.dumps(records, indent=1))

    return each(folder, "model_{}.json", write)


def shuffled(write, name):
    def make(folder):
        def one(path, m):
            write(frame(m, image_id=IDS).sample(frac=1, random_state=m), path)

        return each(folder, name, one)

    return make


def shuffled_npz(folder):
    def write(path, m):
        order = np.random.default_rng(m).permutation(N)
        np.savez(path, probs=MEMBERS[order, m], filenames=IDS[order], y=LABELS[order])

    return each(folder, "model_{}.npz", write)


def kaggle(folder):
    """A file of labels with other columns, in its own order and with more rows."""
    table = pd.DataFrame({"image_id": IDS, "age": 7, "target": np.array(CLASSES)[LABELS]})
    more = pd.DataFrame({"image_id": ["other"], "age": [8], "target": ["cow"]})
    table = pd.concat([table.sample(frac=1, random_state=5), more])
    return [*csvs(folder, image_id=IDS), *truth(folder, "train.csv", table)]


def medical(folder):
    return csvs(folder, StudyInstanceUID=IDS, patient=np.arange(N) // 3, fold=np.arange(N) % 5)


def openml(folder):
    return csvs(folder, instance_id=np.arange(N) * 7, target__0=LABELS)


def sigmoid(folder):
    return npys(folder, BINARY[..., 1:].astype(np.float32))


def sigmoid_csv(folder):
    def write(path, m):
        table = pd.DataFrame({"filename": IDS, "prob": BINARY[:, m, 1], "label": LABELS == 1})
        table.to_csv(path, index=False)

    return each(folder, "model_{}.csv", write)


def sigmoid_logits(folder):
    logit = np.log(BINARY[..., 1:] / BINARY[..., :1])
    return [*npys(folder, logit), "--logits"]


def hdf5(folder):
    import h5py

    def write(path, m):
        with h5py.File(path, "w") as file:
            file["test/predictions"] = MEMBERS[:, m].astype(np.float32)
            file["test/y_true"] = LABELS
            file["test/image_id"] = IDS.tolist()
            file["train/predictions"] = MEMBERS[:4, m]

    paths = each(folder, "model_{}.h5", write)
    return [*paths, "--key", "test/predictions"]


def safetensors(folder):
    from safetensors.numpy import save_file

    def write(path, m):
        save_file({"probs": MEMBERS[:, m].copy(), "labels": LABELS}, path)

    return each(folder, "model_{}.safetensors", write)


def zarr_group(folder):
    import zarr

    def write(path, m):
        group = zarr.open_group(str(path), mode="w")
        group.create_array("probs", data=MEMBERS[:, m])
        group.create_array("labels", data=LABELS)

    return each(folder, "model_{}.zarr", write)


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


def labels_in(make):
    return lambda folder: [*keras(folder), *make(folder)]


def ignored(folder):
    labels = LABELS.astype(np.uint8)
    labels[:5] = 255
    return [*truth(folder, "y.npy", labels), "--ignore-label", "255"]


def feather(table, path):
    pyarrow.feather.write_feather(pa.Table.from_pandas(table, preserve_index=False), str(path))


def parquet(table, path):
    table.to_parquet(path, index=False)


def csv(table, path):
    table.to_csv(path, index=False)


#: Case, how it is written, whether it has labels, the members, and the tolerance of the scores.
REAL = {
    "keras": (keras, False, MEMBERS, 1e-6),
    "keras stacked": (keras_stacked, False, MEMBERS, 1e-6),
    "fortran transposed": (fortran_transposed, False, MEMBERS, 0),
    "sklearn csv": (sklearn_csv, True, MEMBERS, 1e-15),
    "single precision csv": (sklearn_single_precision_csv, False, MEMBERS, 1e-6),
    "six digits": (six_digits, False, MEMBERS, 1e-5),
    "german excel": (german_excel, False, MEMBERS, 2e-4),
    "savetxt": (savetxt, False, MEMBERS, 1e-15),
    "comments": (commented, False, MEMBERS, 1e-15),
    **{f"csv{s}": (compressed(s), False, MEMBERS, 1e-15)
       for s in (".gz", ".bz2", ".xz", ".zst", ".zip", ".lz4")},
    "npy.gz": (compressed_npy, False, MEMBERS, 0),
    "clip": (clip, True, MEMBERS, 1e-6),
    "logits": (torchvision_logits, False, MEMBERS, 1e-6),
    "probs and logits": (both_read_as_probs, False, MEMBERS, 0),
    "probs and logits, --logits": (both_read_as_logits, False, MEMBERS, 1e-12),
    "unknown key": (unknown_key, False, MEMBERS, 0),
    "chosen key": (chosen_key, True, MEMBERS, 0),
    "calibration records": (calibration_records, True, MEMBERS, 0),
    "huggingface logits": (huggingface_logits, True, MEMBERS, 1e-12),
    "huggingface pipeline": (huggingface_pipeline, False, MEMBERS, 0),
    "llm logprobs": (llm_logprobs, True, MEMBERS, 1e-12),
    "json ensemble": (json_ensemble, False, MEMBERS, 0),
    "json lists": (json_lists, False, MEMBERS, 0),
    "json document": (json_document, True, MEMBERS, 0),
    "shuffled csv": (shuffled(csv, "model_{}.csv"), False, MEMBERS, 1e-15),
    "shuffled parquet": (shuffled(parquet, "model_{}.parquet"), False, MEMBERS, 0),
    "shuffled feather": (shuffled(feather, "model_{}.feather"), False, MEMBERS, 0),
    "shuffled npz": (shuffled_npz, True, MEMBERS, 0),
    "kaggle": (kaggle, True, MEMBERS, 1e-15),
    "medical": (medical, False, MEMBERS, 1e-15),
    "openml": (openml, True, MEMBERS, 1e-15),
    "sigmoid": (sigmoid, False, BINARY, 1e-6),
    "sigmoid csv": (sigmoid_csv, True, BINARY, 1e-15),
    "sigmoid logits": (sigmoid_logits, False, BINARY, 1e-12),
    "hdf5": (hdf5, True, MEMBERS, 1e-6),
    "safetensors": (safetensors, True, MEMBERS, 0),
    "zarr group": (zarr_group, True, MEMBERS, 0),
    "percentages": (percentages, False, MEMBERS, 1e-12),
    "other class order": (in_another_class_order, False, MEMBERS, 1e-15),
    "other class names": (with_other_class_names, False, MEMBERS, 1e-15),
    **{f"{np.dtype(kind).name} labels": (
        labels_in(lambda folder, kind=kind: truth(folder, "y.npy", LABELS.astype(kind))),
        True, MEMBERS, 1e-6) for kind in "bBhHiIlLfd"},
    "labels (n, 1)": (labels_in(lambda f: truth(f, "y.npy", LABELS[:, None])), True, MEMBERS, 1e-6),
    "one-hot labels": (labels_in(lambda f: truth(f, "y.npy", np.eye(K, dtype=int)[LABELS])), True,
                       MEMBERS, 1e-6),
    "labels in text": (labels_in(lambda f: truth(f, "y.txt")), True, MEMBERS, 1e-6),
    "names in capitals": (lambda f: [*csvs(f), *truth(f, "y.txt", [CLASSES[k].upper() for k in
                                                                   LABELS])], True, MEMBERS, 1e-15),
}  # fmt: skip
