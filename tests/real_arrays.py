"""Arrays in the shapes in which other programs write them."""

import gzip

import numpy as np

from real_files import BINARY, IDS, LABELS, LOGITS, MEMBERS, N, each, npys, npzs


def keras(folder):
    return npys(folder, MEMBERS.astype(np.float32))


def keras_stacked(folder):
    np.save(folder / "all.npy", MEMBERS.transpose(1, 0, 2).astype(np.float32))
    return [folder / "all.npy", "--axes", "models,rows,classes"]


def fortran_transposed(folder):
    write = lambda path, m: np.save(path, np.asfortranarray(MEMBERS[:, m].T))  # noqa: E731
    return [*each(folder, "model_{}.npy", write), "--axes", "classes,rows"]


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


def shuffled_npz(folder):
    def write(path, m):
        order = np.random.default_rng(m).permutation(N)
        np.savez(path, probs=MEMBERS[order, m], filenames=IDS[order], y=LABELS[order])

    return each(folder, "model_{}.npz", write)


def shuffled_row_vectors(folder):
    def write(path, m):
        order = np.random.default_rng(m).permutation(N)
        vectors = {"ids": IDS[order][None], "labels": LABELS[order][None]}
        np.savez(path, probs=MEMBERS[order, m], **vectors)

    return each(folder, "model_{}.npz", write)


def sigmoid(folder):
    return npys(folder, BINARY[..., 1:].astype(np.float32))


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


def huggingface_trainer(folder):
    """``Trainer.predict`` returns logits as predictions."""
    logits = lambda m: LOGITS[:, m].astype(np.float32)  # noqa: E731
    return [*npzs(folder, predictions=logits, label_ids=LABELS, metrics=np.ones(3)), "--logits"]


def matlab(folder):
    """Arrays in column-major order, and a row vector of labels that start at 1."""
    import h5py

    def write(path, m):
        with h5py.File(path, "w") as file:
            file["probs"] = MEMBERS[:, m].T
            file["labels"] = LABELS[None, :] + 1.0

    options = ["--axes", "classes,rows", "--class-names", "1-3"]
    return [*each(folder, "model_{}.h5", write), *options]


#: Case, how it is written, whether it has labels, the members, and the tolerance of the scores.
ARRAYS = {
    "keras": (keras, False, MEMBERS, 1e-6),
    "keras stacked": (keras_stacked, False, MEMBERS, 1e-6),
    "fortran transposed": (fortran_transposed, False, MEMBERS, 0),
    "npy.gz": (compressed_npy, False, MEMBERS, 0),
    "clip": (clip, True, MEMBERS, 1e-6),
    "logits": (torchvision_logits, False, MEMBERS, 1e-6),
    "probs and logits": (both_read_as_probs, False, MEMBERS, 0),
    "probs and logits, --logits": (both_read_as_logits, False, MEMBERS, 1e-12),
    "unknown key": (unknown_key, False, MEMBERS, 0),
    "chosen key": (chosen_key, True, MEMBERS, 0),
    "calibration records": (calibration_records, True, MEMBERS, 0),
    "huggingface trainer": (huggingface_trainer, True, MEMBERS, 1e-6),
    "shuffled npz": (shuffled_npz, True, MEMBERS, 0),
    "shuffled row vectors": (shuffled_row_vectors, True, MEMBERS, 0),
    "sigmoid": (sigmoid, False, BINARY, 1e-6),
    "sigmoid logits": (sigmoid_logits, False, BINARY, 1e-12),
    "matlab": (matlab, True, MEMBERS, 0),
    "hdf5": (hdf5, True, MEMBERS, 1e-6),
    "safetensors": (safetensors, True, MEMBERS, 0),
    "zarr group": (zarr_group, True, MEMBERS, 0),
}
