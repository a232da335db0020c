"""Maps and tables of segmentation ensembles, compared with loops over voxels."""

import csv
import itertools
import json
import math
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.maps import MapSettings, find_cases, map_cases
from credalens.maps import compute as compute_module
from credalens.maps import structures as structures_module
from credalens.maps.cases import class_names
from credalens.maps.job import write_tables
from credalens.maps.structures import boundary, percentile
from credalens.maps.tiles import tiles
from segmentations import affine, probabilities, read_maps, write_case, write_folds

SCORES = ("total", "aleatoric_lower", "aleatoric_upper", "epistemic")


def members_of(volumes):
    """Return (voxels, M, K) of (M, K, *space), by a loop."""
    M, K, *space = volumes.shape
    return np.array([[[volumes[m, k][at] for k in range(K)] for m in range(M)]
                     for at in np.ndindex(*space)])  # fmt: skip


def expected_maps(volumes):
    """Return the maps by the definition of each measure, voxel by voxel."""
    space = volumes.shape[2:]
    members = members_of(volumes).astype(np.float64)
    u = cl.quantify(members)
    total = [1 - P.min(axis=0).max() for P in members]
    lower = [1 - P.max() for P in members]
    half = [max((0.25 * np.abs(p - q).sum() for p, q in itertools.combinations(P, 2)), default=0)
            for P in members]  # fmt: skip
    found = {
        "total": np.array(total),
        "aleatoric_lower": np.array(lower),
        "aleatoric_upper": u.aleatoric.upper,
        "epistemic": np.array(half),
        "vote": np.array([cl.majority_vote(P[None])[0] for P in members]),
        "set_size": cl.admissible(members).sum(axis=-1),
    }
    return {name: values.reshape(space) for name, values in found.items()}


def check_maps(got, wanted, atol=2e-6):
    assert set(got) == {*SCORES, "vote", "set_size"}
    for name in SCORES:
        assert got[name].dtype == np.float32
        assert_allclose(got[name], wanted[name], atol=atol, err_msg=name)
    assert_array_equal(got["vote"], wanted["vote"])
    assert_array_equal(got["set_size"], wanted["set_size"])


def run(folders, out, **settings):
    cases = find_cases(folders)
    records = map_cases(cases, out, MapSettings(**settings))
    write_tables(records, out)
    return records


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def volumes():
    return probabilities()


@pytest.fixture(scope="module")
def expected(volumes):
    return expected_maps(volumes)


@pytest.mark.parametrize("format_", ["npz", "npy", "nii", "nii.gz"])
def test_maps_in_every_format(format_, volumes, expected, tmp_path):
    if format_.startswith("nii"):
        pytest.importorskip("nibabel")
    folders = write_folds(tmp_path, {"liver_001": volumes, "liver_002": volumes[:, :, :3]}, format_)
    run(folders, tmp_path / "maps")
    check_maps(read_maps(tmp_path / "maps" / "liver_001"), expected)
    assert expected["set_size"].max() > 1
    second = read_maps(tmp_path / "maps" / "liver_002")
    assert_allclose(second["total"], expected["total"][:3], atol=2e-6)


def test_small_tiles_give_the_same_maps_and_tables(volumes, expected, tmp_path, monkeypatch):
    folders = write_folds(tmp_path, {"a": volumes})
    whole = run(folders, tmp_path / "whole")
    for most in (1, 7, 100):
        monkeypatch.setattr(compute_module, "TILE_BYTES", most * 4 * 9)
        monkeypatch.setattr(structures_module, "BLOCK_VOXELS", most)
        tiled = run(folders, tmp_path / f"tiled{most}")
        check_maps(read_maps(tmp_path / f"tiled{most}" / "a"), expected)
        for key, value in whole[0]["summary"].items():
            assert tiled[0]["summary"][key] == pytest.approx(value, rel=1e-6), key


def test_geometry_of_nifti_is_kept(volumes, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    folders = write_folds(tmp_path, {"a": volumes}, "nii.gz")
    (record,) = run(folders, tmp_path / "maps", threshold=0.3)
    for name in (*SCORES, "vote", "set_size"):
        image = nibabel.load(tmp_path / "maps" / "a" / f"{name}.nii.gz")
        assert image.shape == volumes.shape[:1:-1]
        assert_allclose(image.affine, affine(), atol=1e-5)
        assert image.header.get_xyzt_units()[0] == "mm"
    volume = 0.5 * 0.8 * 2.0
    assert record["summary"]["volume_mm3"] == pytest.approx(volumes[0, 0].size * volume, rel=1e-5)
    above = record["summary"]["voxels_above"]
    assert record["summary"]["volume_above_mm3"] == pytest.approx(above * volume, rel=1e-5)


def test_scaled_integers_of_nifti_and_another_class_axis(tmp_path):
    nibabel = pytest.importorskip("nibabel")
    volumes = probabilities()
    for m, volume in enumerate(volumes):
        (tmp_path / f"fold_{m}").mkdir()
        image = nibabel.Nifti1Image(volume.T.copy(), affine())
        image.header.set_data_dtype(np.int16)
        nibabel.save(image, tmp_path / f"fold_{m}" / "a.nii")
    run([tmp_path / f"fold_{m}" for m in range(3)], tmp_path / "maps", kind="normalize")
    assert_allclose(read_maps(tmp_path / "maps" / "a")["total"],
                    expected_maps(volumes)["total"], atol=2e-4)  # fmt: skip
    last = write_folds(tmp_path / "last", {"a": np.moveaxis(volumes, 1, -1)}, "npy")
    run(last, tmp_path / "maps2", class_axis=-1)
    assert_allclose(read_maps(tmp_path / "maps2" / "a")["total"],
                    expected_maps(volumes)["total"], atol=2e-6)  # fmt: skip


def test_the_segmentation_beside_a_npz_file_has_the_geometry(volumes, expected, tmp_path):
    nibabel = pytest.importorskip("nibabel")
    folders = write_folds(tmp_path, {"a": volumes.astype(np.float16)})
    labels = volumes[0].argmax(axis=0).astype(np.uint8)
    nibabel.save(nibabel.Nifti1Image(labels.T, affine()), folders[0] / "a.nii.gz")
    (folders[0] / "dataset.json").write_text(
        json.dumps({"labels": {"background": 0, "liver": 1, "tumour": 2}})
    )
    assert class_names(folders) == ["background", "liver", "tumour"]
    run(folders, tmp_path / "maps")
    image = nibabel.load(tmp_path / "maps" / "a" / "total.nii.gz")
    assert_allclose(image.affine, affine(), atol=1e-5)
    assert_allclose(np.asarray(image.dataobj).T, expected["total"], atol=2e-3)


@pytest.mark.parametrize("format_", ["tif", "png"])
def test_image_stacks(format_, tmp_path):
    pytest.importorskip("PIL")
    volumes = probabilities(space=(9, 11))
    root = tmp_path / format_
    for m, volume in enumerate(volumes):
        pages = volume if format_ == "tif" else np.round(volume * 255).astype(np.uint8)
        write_case(root / f"model_{m}", "case", volume, format_, pages=pages)
    run(sorted(root.iterdir()), tmp_path / "maps")
    got = read_maps(tmp_path / "maps" / "case")
    assert_allclose(got["total"], expected_maps(volumes)["total"],
                    atol=1e-2 if format_ == "png" else 2e-6)  # fmt: skip


def test_tables_are_those_of_a_loop_over_voxels(volumes, expected, tmp_path):
    folders = write_folds(tmp_path, {"a": volumes})
    run(folders, tmp_path / "maps", threshold=0.4, names=("background", "organ", "lesion"))
    vote, space = expected["vote"], volumes.shape[2:]
    edge = np.zeros(space, bool)
    for at in np.ndindex(*space):
        for axis, step in itertools.product(range(3), (-1, 1)):
            other = list(at)
            other[axis] += step
            if 0 <= other[axis] < space[axis] and vote[tuple(other)] != vote[at]:
                edge[at] = True
    assert_array_equal(boundary(vote), edge)
    labels = volumes.argmax(axis=1)
    rows = rows_of(tmp_path / "maps" / "structures.csv")
    assert [row["structure"] for row in rows] == ["background", "organ", "lesion"]
    for k, row in enumerate(rows):
        inside = vote == k
        assert int(row["voxels"]) == inside.sum()
        assert int(row["boundary_voxels"]) == (inside & edge).sum()
        assert int(row["voxels_above"]) == (inside & (expected["total"] > 0.4)).sum()
        for name in SCORES:
            for prefix, where in (("", inside), ("boundary_", inside & edge)):
                values = expected[name][where]
                assert float(row[f"{prefix}{name}_mean"]) == pytest.approx(values.mean(), abs=1e-5)
                exact = np.quantile(values, 0.95, method="inverted_cdf")
                assert float(row[f"{prefix}{name}_p95"]) == pytest.approx(exact, abs=2e-4)
        dice = [
            2 * (a & b).sum() / (a.sum() + b.sum())
            for a, b in itertools.combinations([one == k for one in labels], 2)
        ]
        assert float(row["dice_mean"]) == pytest.approx(np.mean(dice), abs=1e-5)
        assert float(row["dice_min"]) == pytest.approx(min(dice), abs=1e-5)
    (case,) = rows_of(tmp_path / "maps" / "cases.csv")
    front = expected["total"][vote > 0]
    assert float(case["foreground_total_mean"]) == pytest.approx(front.mean(), abs=1e-5)
    assert float(case["total_mean"]) == pytest.approx(expected["total"].mean(), abs=1e-5)


def test_structures_that_no_model_predicts(tmp_path):
    volumes = np.zeros((2, 3, 4, 4), np.float32)
    volumes[:, 0] = 1
    run(write_folds(tmp_path, {"a": volumes}), tmp_path / "maps")
    rows = rows_of(tmp_path / "maps" / "structures.csv")
    assert rows[1]["voxels"] == "0"
    assert rows[1]["total_mean"] == rows[1]["dice_mean"] == ""
    assert rows[0]["dice_mean"] == "1"


@pytest.mark.parametrize("rule", ["e_admissible", "maximal", "interval_dominance"])
def test_set_sizes_of_every_rule(rule, tmp_path):
    volumes = probabilities(4, 4, (5, 6, 4), seed=3, sharpness=2.0)
    volumes[:, :, 0, 0] = 0.25  # ties
    run(write_folds(tmp_path, {"a": volumes}), tmp_path / "maps", rule=rule)
    wanted = cl.admissible(members_of(volumes), rule=rule).sum(axis=-1).reshape(5, 6, 4)
    assert_array_equal(read_maps(tmp_path / "maps" / "a")["set_size"], wanted)


def test_logits_and_values_that_need_normalisation(volumes, expected, tmp_path):
    logits = write_folds(tmp_path / "logits", {"a": np.log(volumes) + 3})
    run(logits, tmp_path / "maps1", kind="logits")
    check_maps(read_maps(tmp_path / "maps1" / "a"), expected, atol=1e-5)
    scaled = write_folds(tmp_path / "scaled", {"a": volumes * np.float32(1.7)})
    run(scaled, tmp_path / "maps2", kind="normalize")
    check_maps(read_maps(tmp_path / "maps2" / "a"), expected, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda v: np.log(v), r"fold_1/a.npz: a probability of voxel \(0, 0, 0\).*--logits"),
        (lambda v: v * 0.5, r"voxel \(0, 0, 0\) \(zero-based\) sum to 0.5; pass --normalize"),
        (lambda v: np.where(v == v[2, 3, 4, 5], np.nan, v), r"voxel \(3, 4, 5\).* is NaN"),
        (lambda v: v[:, :4], r"fold_1/a.npz: has shape \(3, 4, 9, 8\), .*fold_0.*same grid"),
        (lambda v: v.astype(np.int32), r"has dtype int32 .*pass probabilities"),
        (lambda v: v[0, 0, 0], r"has shape \(8,\); pass probabilities"),
    ],
)
def test_invalid_volumes_leave_nothing(change, match, volumes, tmp_path):
    folders = write_folds(tmp_path, {"a": volumes})
    write_case(folders[1], "a", change(volumes[1]))
    with pytest.raises(ValueError, match=match):
        run(folders, tmp_path / "maps")
    assert sorted(path.name for path in (tmp_path / "maps").iterdir()) == ["settings.json"]


def test_folders_that_do_not_match(volumes, tmp_path):
    folders = write_folds(tmp_path, {"a": volumes, "b": volumes})
    with pytest.raises(ValueError, match="got 1 folder; name one per model"):
        find_cases(folders[:1])
    (folders[2] / "b.npz").unlink()
    with pytest.raises(ValueError, match=r"fold_2: lacks case 'b', which .*fold_0 has"):
        find_cases(folders)
    with pytest.raises(ValueError, match="nothing: does not exist; name folders"):
        find_cases([folders[0], tmp_path / "nothing"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"empty: has no .npz"):
        find_cases([folders[0], tmp_path / "empty"])
    np.save(tmp_path / "empty" / "a.npy", volumes[0])
    with pytest.raises(ValueError, match=r"empty: has npy files, .*fold_0 has npz"):
        find_cases([folders[0], tmp_path / "empty"])


def test_damaged_files(volumes, tmp_path):
    folders = write_folds(tmp_path, {"a": volumes})
    (folders[0] / "a.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"a.npz: is not a .npz file"):
        run(folders, tmp_path / "maps")
    np.savez(folders[0] / "a.npz", first=volumes[0], second=volumes[0])
    with pytest.raises(ValueError, match=r"no array 'probabilities' \(arrays: first, second\)"):
        run(folders, tmp_path / "maps")


@pytest.mark.parametrize(
    ("labels", "names"),
    [
        ({"background": 0, "organ": 1, "ignore": 2}, ["background", "organ"]),
        ({"0": "background", "1": "organ"}, ["background", "organ"]),
        ({"organ": 1, "background": 0}, ["background", "organ"]),
        ({"background": 0, "whole": [1, 2], "core": 2}, None),
        ({"background": 0, "organ": 2}, None),
        (["background"], None),
    ],
)
def test_names_in_the_description_of_a_dataset(labels, names, tmp_path):
    assert class_names([tmp_path]) is None
    (tmp_path / "dataset.json").write_text(json.dumps({"labels": labels}))
    assert class_names([tmp_path / "other", tmp_path]) == names


def test_an_interrupted_run_leaves_finished_cases_only(volumes, tmp_path, monkeypatch):
    monkeypatch.setattr(compute_module, "TILE_BYTES", 100 * 4 * 9)
    folders, out = write_folds(tmp_path, {"a": volumes, "b": volumes}), tmp_path / "maps"

    def interrupt(done, total, name):
        if done > 1.5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        map_cases(find_cases(folders), out, MapSettings(), interrupt)
    assert sorted(path.name for path in out.iterdir()) == ["a", "settings.json"]
    records = map_cases(find_cases(folders), out, MapSettings())
    assert [one["case"] for one in records] == ["a", "b"]
    assert_array_equal(read_maps(out / "a")["total"], read_maps(out / "b")["total"])


def test_a_run_is_continued(volumes, tmp_path):
    folders = write_folds(tmp_path, {"a": volumes, "b": volumes * 0.5, "c": volumes})
    out = tmp_path / "maps"
    with pytest.raises(ValueError, match=r"fold_0/b.npz"):
        run(folders, out)
    assert (out / "a" / "maps.npz").exists()
    assert not (out / "c").exists()
    assert not list(out.glob(".work-*"))
    before = (out / "a" / "case.json").stat().st_mtime_ns
    for m, folder in enumerate(folders):
        write_case(folder, "b", volumes[m])
    seen = []
    records = map_cases(
        find_cases(folders), out, MapSettings(), lambda done, total, name: seen.append((done, name))
    )
    assert [one["case"] for one in records] == ["a", "b", "c"]
    assert {name for _, name in seen} == {"b", "c", ""}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert (out / "a" / "case.json").stat().st_mtime_ns == before
    write_case(folders[0], "a", volumes[1])  # a changed input is computed again
    run(folders, out)
    assert (out / "a" / "case.json").stat().st_mtime_ns > before
    with pytest.raises(ValueError, match=r"maps with other settings .threshold.; name another"):
        run(folders, out, threshold=0.1)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(ValueError, match="is not empty and has no maps"):
        run(folders, tmp_path / "other")


def test_wrong_names_and_axes(volumes, tmp_path):
    folders = write_folds(tmp_path, {"a": volumes})
    with pytest.raises(ValueError, match=r"--classes: has 2 names, and .*a.npz has 3 classes"):
        run(folders, tmp_path / "maps", names=("x", "y"))
    with pytest.raises(
        ValueError, match=r"--class-axis: is 4, .*shape \(3, 6, 9, 8\); pass 0 to 3"
    ):
        run(folders, tmp_path / "maps2", class_axis=4)


@pytest.mark.parametrize("shape", [(7,), (3, 4), (2, 3, 5)])
def test_tiles_cover_every_element_once(shape):
    for most in (1, 2, 5, 12, 1000):
        seen = np.zeros(shape, int)
        for tile in tiles(shape, most):
            assert 1 <= seen[tile].size <= max(most, 1)
            seen[tile] += 1
        assert (seen == 1).all()


def test_percentile_of_counts():
    assert math.isnan(percentile(np.zeros(4096, int), 0.95))
    counts = np.zeros(4096, int)
    counts[[10, 4095]] = [95, 5]
    assert percentile(counts, 0.95) == pytest.approx(10.5 / 4096)
    assert percentile(counts, 0.951) == pytest.approx(4095.5 / 4096)


@pytest.mark.slow
def test_memory_is_less_than_that_of_the_case(tmp_path, monkeypatch):
    monkeypatch.setattr(compute_module, "TILE_BYTES", 1 << 18)
    monkeypatch.setattr(structures_module, "BLOCK_VOXELS", 1 << 13)
    volumes = probabilities(2, 3, (384, 40, 40))
    folders = write_folds(tmp_path, {"a": volumes})
    tracemalloc.start()
    run(folders, tmp_path / "maps")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.5 * volumes.nbytes, peak  # mostly the buffer of 1 MB for decompression
