"""Reference masks: accuracies, Dice coefficients and metrics of selective prediction."""

import csv
from dataclasses import replace

import numpy as np
import pytest

import credalens as cl
from credalens.maps import MapSettings, find_cases, map_cases
from credalens.maps.job import write_tables
from credalens.maps.references import find_files
from credalens.maps.structures import BINS
from segmentations import affine, probabilities, read_maps, write_folds

IGNORED = 255


@pytest.fixture(scope="module")
def volumes():
    return {f"case_{i}": probabilities(seed=i) for i in range(3)}


def mask_of(volumes, seed=0):
    """Return a noisy mask with some voxels that are ignored."""
    rng = np.random.default_rng(seed)
    mean = volumes.mean(axis=0)
    mask = (mean + 0.2 * rng.standard_normal(mean.shape)).argmax(axis=0).astype(np.uint8)
    mask[0, 0] = IGNORED
    return mask


def run(folders, out, masks, **settings):
    cases = find_cases(folders)
    files = find_files(masks, [case.name for case in cases], "--references")
    cases = [replace(case, reference=files[case.name]) for case in cases]
    options = MapSettings(ignore_label=IGNORED, **settings)
    records = map_cases(cases, out, options)
    return records, write_tables(records, out)


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("format_", ["npy", "nii.gz", "npz"])
def test_metrics_are_those_of_all_voxels(format_, volumes, tmp_path):
    masks = tmp_path / "masks"
    masks.mkdir()
    for i, (name, one) in enumerate(volumes.items()):
        mask = mask_of(one, i)
        if format_ == "npy":
            np.save(masks / f"{name}.npy", mask)
        elif format_ == "npz":
            np.savez_compressed(masks / f"{name}.npz", labels=mask)
        else:
            nibabel = pytest.importorskip("nibabel")
            nibabel.save(nibabel.Nifti1Image(mask.T, affine()), masks / f"{name}.nii.gz")
    folders = write_folds(tmp_path, volumes)
    records, rows = run(folders, tmp_path / "maps", masks)
    wrong, scores, losses, means = [], [], [], []
    for i, name in enumerate(volumes):
        maps, mask = read_maps(tmp_path / "maps" / name), mask_of(volumes[name], i)
        keep = mask != IGNORED
        errors = maps["vote"][keep] != mask[keep]
        assert records[i]["reference"]["accuracy"] == pytest.approx(1 - errors.mean())
        wrong.append(errors)
        scores.append(np.floor(maps["total"][keep] * BINS))
        for k in range(3):
            a, b = (maps["vote"] == k) & keep, (mask == k) & keep
            dice = 2 * (a & b).sum() / (a.sum() + b.sum())
            assert records[i]["reference"]["dice"][k] == pytest.approx(dice)
            if k > 0:
                losses.append(1 - dice)
                means.append(maps["total"][maps["vote"] == k].mean(dtype=float))
    found = {(row["level"], row["score"]): row for row in rows}
    wanted = cl.selective_metrics(~np.concatenate(wrong), None, np.concatenate(scores))
    for metric in ("n", "risk", "aurc", "eaurc", "augrc", "prr", "auroc"):
        value = found["voxels", "total"][metric]
        assert value == pytest.approx(getattr(wanted, metric)), metric
    wanted = cl.selective_metrics(None, None, means, loss=losses)
    assert found["structures", "total_mean"]["aurc"] == pytest.approx(wanted.aurc)
    assert found["structures", "total_mean"]["n"] == 6
    table = rows_of(tmp_path / "maps" / "selective.csv")
    assert len(table) == len(rows) == 4 + 9
    assert rows_of(tmp_path / "maps" / "cases.csv")[0]["accuracy"]
    assert rows_of(tmp_path / "maps" / "structures.csv")[1]["reference_dice"]


def test_masks_that_cannot_be_used(volumes, tmp_path):
    folders = write_folds(tmp_path, volumes)
    masks = tmp_path / "masks"
    with pytest.raises(ValueError, match=r"--references: .*masks is not a folder"):
        run(folders, tmp_path / "maps", masks)
    masks.mkdir()
    with pytest.raises(ValueError, match=r"--references: .* has no file of case 'case_0'"):
        run(folders, tmp_path / "maps", masks)
    for name, one in volumes.items():
        mask = mask_of(one)
        mask[2, 3, 4] = 7
        np.save(masks / f"{name}.npy", mask)
    match = r"case_0.npy: voxel \(2, 3, 4\) .* = 7 is not a class \(0 to 2\); pass --ignore-label 7"
    with pytest.raises(ValueError, match=match):
        run(folders, tmp_path / "maps", masks)
    np.save(masks / "case_0.npy", mask[1:])
    with pytest.raises(ValueError, match=r"case_0.npy: has shape \(5, 9, 8\), the maps have"):
        run(folders, tmp_path / "maps", masks)
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == ["settings.json"]


def test_a_mask_that_is_added_or_changed_is_evaluated(volumes, tmp_path):
    folders = write_folds(tmp_path, {"case_0": volumes["case_0"]})
    out, masks = tmp_path / "maps", tmp_path / "masks"
    records = map_cases(find_cases(folders), out, MapSettings(ignore_label=IGNORED))
    assert "reference" not in records[0]
    assert write_tables(records, out) == []
    masks.mkdir()
    np.save(masks / "case_0.npy", mask_of(volumes["case_0"]))
    (first,), _ = run(folders, out, masks)
    np.save(masks / "case_0.npy", mask_of(volumes["case_0"], 5))
    (second,), _ = run(folders, out, masks)
    assert first["reference"]["dice"] != second["reference"]["dice"]
