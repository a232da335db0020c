"""The page of maps, its pictures, and maps on a cluster."""

import io
import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from typer.testing import CliRunner

from credalens.cli import app
from credalens.maps import pictures
from credalens.maps.pictures import png, worst_slices
from segmentations import probabilities, read_maps, write_folds

FOLDER = "<b>case & 1"


def run(*arguments):
    return CliRunner().invoke(app, ["map", *map(str, arguments)])


def test_pictures_are_png_files():
    image = pytest.importorskip("PIL.Image")
    pixels = np.random.default_rng(0).integers(0, 256, (7, 5, 3), np.uint8)
    assert_array_equal(np.asarray(image.open(io.BytesIO(png(pixels)))), pixels)


@pytest.mark.parametrize("block", [7, 1 << 20])
def test_worst_slices_have_the_largest_sums(block, monkeypatch):
    monkeypatch.setattr(pictures, "BLOCK_VOXELS", block)
    total = np.random.default_rng(0).random((4, 5, 6)).astype(np.float32)
    total[2, :, 3] += 1
    total[:, 1] += 1
    assert worst_slices(total) == [(0, 2), (1, 1), (2, 3)]
    assert worst_slices(total[0]) == []


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    root = tmp_path_factory.mktemp("segmentation")
    cases = {f"case_{i}": probabilities(seed=i, space=(6, 20, 17)) for i in range(2)}
    cases[FOLDER] = probabilities(seed=5, space=(20, 30))
    folders = write_folds(root, cases)
    masks, images = root / "masks", root / "images"
    for name, one in cases.items():
        for folder, values in ((masks, one[0].argmax(axis=0)), (images, one[0, 0])):
            folder.mkdir(exist_ok=True)
            np.save(folder / f"{name}.npy", values)
    out = root / "maps"
    done = run(*folders, "-o", out, "--classes", "background,<i>organ</i>,lesion",
               "--references", masks, "--images", images)  # fmt: skip
    assert done.exit_code == 0, done.output
    return root, folders, out


def test_the_page_has_pictures_and_tables(outcome):
    text = (outcome[2] / "index.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;case &amp; 1" in text
    assert "&lt;i&gt;organ&lt;/i&gt;" in text
    assert "<b>case" not in text
    assert text.count("<img") == 4 * (3 + 3 + 1)
    assert "Which score finds the errors" in text
    record = json.loads((outcome[2] / "case_0" / "case.json").read_text())
    assert [view["axis"] for view in record["views"]] == [0, 1, 2]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_the_window_and_loads_nothing(width, outcome, open_page):
    size = {"width": width, "height": 900}
    seen = open_page(outcome[2] / "index.html", viewport=size)
    page = seen.page
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.eval_on_selector_all("img", "all => all.every(i => i.naturalWidth > 0)")
    assert seen.said == []
    assert [url for url in seen.asked if not url.startswith("data:")] == [seen.url]


@pytest.mark.slow
def test_a_cluster_writes_the_same_maps(outcome):
    pytest.importorskip("distributed")
    root, folders, out = outcome
    again = root / "cluster"
    done = run(*folders, "-o", again, "--engine", "dask", "--workers", "1")
    assert done.exit_code == 0, done.output
    for name in ("case_0", "case_1", FOLDER):
        for key, values in read_maps(again / name).items():
            assert_array_equal(values, read_maps(out / name)[key])
    shutil.rmtree(again / "case_1")
    before = (again / "case_0" / "case.json").stat().st_mtime_ns
    assert run(*folders, "-o", again, "--engine", "dask", "--workers", "1").exit_code == 0
    assert (again / "case_1" / "maps.npz").exists()
    assert (again / "case_0" / "case.json").stat().st_mtime_ns == before


def test_options_of_references_and_clusters(outcome, tmp_path):
    _, folders, _ = outcome
    done = run(*folders, "-o", tmp_path / "maps", "--ignore-label", "255")
    assert (done.exit_code, "--ignore-label: needs reference" in done.output) == (2, True)
    done = run(*folders, "-o", tmp_path / "maps", "--workers", "2")
    assert (done.exit_code, "--workers: needs --engine dask" in done.output) == (2, True)
    assert not (tmp_path / "maps").exists()
