"""Reference masks: which voxels and structures are wrong, and which scores find them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import Array
from credalens._extras import require
from credalens.evaluation import selective_metrics
from credalens.maps.cases import case_name
from credalens.maps.settings import SCORES, MapSettings
from credalens.maps.structures import BINS, BLOCK_VOXELS, bins_of
from credalens.maps.tiles import Tile, tiles
from credalens.maps.volumes import open_nifti, open_npy, open_npz

#: Suffixes of masks and images, which have no axis of classes.
SUFFIXES = (".nii.gz", ".nii", ".npy", ".npz", ".png", ".tif", ".tiff")
METRICS = ("n", "risk", "aurc", "eaurc", "augrc", "eaugrc", "prr", "auroc")


def find_files(folder: Path, names: Sequence[str], option: str) -> dict[str, Path]:
    """Return one file per case in a folder; those of nnU-Net's images end in ``_0000``."""
    if not folder.is_dir():
        raise ValueError(f"{option}: {folder} is not a folder; name one with a file per case")
    found = {case_name(path, SUFFIXES): path for path in sorted(folder.iterdir())}
    for name in names:
        path = found.get(name) or found.get(f"{name}_0000")
        if path is None:
            raise ValueError(
                f"{option}: {folder} has no file of case {name!r}; name a folder with one per case"
            )
        found[name] = path
    return {name: found[name] for name in names}


def open_grid(path: Path, space: Sequence[int], scratch: Path) -> Array:
    """Return a mask or an image on the grid of a case."""
    name = path.name.lower()
    if name.endswith((".nii", ".nii.gz")):
        array = open_nifti(path, scratch).array
    elif name.endswith(".npy"):
        array = open_npy(path).array
    elif name.endswith(".npz"):
        array = open_npz(path, scratch).array
    else:
        with require("PIL.Image", "plots").open(path) as image:
            array = np.asarray(image)
    if array.shape != tuple(space):
        raise ValueError(
            f"{path}: has shape {array.shape}, the maps have {tuple(space)}; resample it to these"
        )
    return array


class ReferenceCounts:
    """Errors of the vote by score, and the overlap of each structure with its reference."""

    def __init__(
        self, path: Path, maps: Mapping[str, Array], n_classes: int, settings: MapSettings,
        scratch: Path,
    ) -> None:  # fmt: skip
        vote = maps["vote"]
        reference = open_grid(path, vote.shape, scratch)
        #: Voxels whose vote is correct and wrong, by score.
        self.counts = {name: np.zeros((2, BINS), np.int64) for name in SCORES}
        self.shared = np.zeros(n_classes, np.int64)
        self.predicted = np.zeros(n_classes, np.int64)
        self.referred = np.zeros(n_classes, np.int64)
        for tile in tiles(vote.shape, BLOCK_VOXELS):
            truth = np.asarray(reference[tile])
            keep = np.ones(truth.shape, bool)
            if settings.ignore_label is not None:
                keep = truth != settings.ignore_label
            _check_labels(truth, keep, n_classes, path, tile)
            labels, truth = vote[tile][keep].astype(np.intp), truth[keep].astype(np.intp)
            wrong = labels != truth
            for name, counts in self.counts.items():
                index = bins_of(maps[name][tile][keep]) + BINS * wrong
                counts += np.bincount(index, minlength=2 * BINS).reshape(2, BINS)
            self.shared += np.bincount(labels[~wrong], minlength=n_classes)
            self.predicted += np.bincount(labels, minlength=n_classes)
            self.referred += np.bincount(truth, minlength=n_classes)

    def dice(self) -> Array:
        """Return the Dice coefficient of each class, NaN where vote and reference lack it."""
        total = self.predicted + self.referred
        return np.asarray(2 * self.shared / np.where(total, total, np.nan))

    def record(self, settings: MapSettings) -> dict[str, Any]:
        """Return what the tables need, as a JSON value."""
        dice = self.dice()
        first = self.counts[SCORES[0]]
        counted = int(first.sum())
        return {
            "voxels": counted,
            "accuracy": float(first[0].sum() / counted) if counted else None,
            "dice": [None if np.isnan(x) else float(x) for x in dice],
            "reference_voxels": self.referred.tolist(),
        }


def _check_labels(truth: Array, keep: Array, n_classes: int, path: Path, tile: Tile) -> None:
    if truth.dtype.kind == "f":
        bad = keep & ((truth != np.floor(truth)) | ~((truth >= 0) & (truth < n_classes)))
    else:
        bad = keep & ((truth < 0) | (truth >= n_classes))
    if bad.any():
        where = np.argwhere(bad)[0]
        at = tuple(int(i) + s.start for i, s in zip(where, tile, strict=True))
        value = truth[tuple(where)]
        raise ValueError(
            f"{path}: voxel {at} (zero-based) = {value} is not a class (0 to {n_classes - 1}); "
            f"pass --ignore-label {value}, or relabel"
        )


def selective_rows(
    records: Sequence[Mapping[str, Any]],
    counts: Sequence[Mapping[str, Array]],
    background: int | None,
) -> list[dict[str, Any]]:
    """Return metrics of selective prediction: of the errors of voxels, and of structures.

    A voxel has the loss 1 if the vote is wrong, and scores are rounded to 1 / 4096. A structure of
    a case has the loss 1 - Dice; those that are not predicted have no score and are left out.
    """
    rows = []
    centres = (np.arange(BINS) + 0.5) / BINS
    for name in SCORES:
        weights = np.sum([one[name] for one in counts], axis=0)
        loss = np.repeat([0.0, 1.0], BINS)
        found = selective_metrics(
            None, None, np.tile(centres, 2), loss=loss, sample_weight=weights.ravel()
        )
        values = {metric: getattr(found, metric) for metric in METRICS} | {"n": int(weights.sum())}
        rows.append({"level": "voxels", "score": name, **values})
    losses, scores = _structure_scores(records, background)
    if len(losses) > 1:
        for name, one in scores.items():
            found = selective_metrics(None, None, one, loss=losses)
            rows.append(
                {"level": "structures", "score": name}
                | {metric: getattr(found, metric) for metric in METRICS}
            )
    return rows


def _structure_scores(
    records: Sequence[Mapping[str, Any]], background: int | None
) -> tuple[Array, dict[str, Array]]:
    """Return 1 - Dice and the scores of the predicted structures of all cases."""
    losses: list[float] = []
    found: dict[str, list[float]] = {}
    for record in records:
        for k, row in enumerate(record["structures"]):
            dice = record["reference"]["dice"][k]
            if k == background or dice is None or not row["voxels"]:
                continue
            losses.append(1 - dice)
            for prefix in ("", "boundary_"):
                for name in SCORES:
                    column = f"{prefix}{name}_mean"
                    value = row[column]
                    found.setdefault(column, []).append(0.0 if value is None else value)
            found.setdefault("1 - dice_mean", []).append(1 - (row["dice_mean"] or 0.0))
    return np.array(losses), {name: np.array(values) for name, values in found.items()}
