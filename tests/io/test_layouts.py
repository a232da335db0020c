"""Layouts of text and of arrays: separators, comments, headers; axes in any order."""

import itertools

import numpy as np
import pytest

from credalens.io import PredictionFileError, ReadOptions, open_ensemble
from credalens.io.npy import NpyReader
from credalens.io.text_layout import find_layout
from ensembles import dirichlet

MEMBERS = dirichlet(23, 4, 3)


def layout(text, **options):
    found = find_layout("a.csv", text.encode(), True, False, ReadOptions(**options))
    return found.separator, found.decimal, found.header, list(found.names)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n0.5,0.5\n", (",", ".", True, ["a", "b"])),
        ("a;b\n0,5;0,5\n", (";", ",", True, ["a", "b"])),
        ("0,5;0,5\n0,25;0,75\n", (";", ",", False, ["0", "1"])),
        ("a;b\n0.5;0.5\n", (";", ".", True, ["a", "b"])),
        ("a\tb\n0,5\t0,5\n", ("\t", ",", True, ["a", "b"])),
        ("a b\n1e-3 0.999\n", (" ", ".", True, ["a", "b"])),
        ("x y,0.5,0.5\nz w,0.25,0.75\n", (",", ".", False, ["0", "1", "2"])),
        ("img,0.5,0.5\nimg2,0.25,0.75\n", (",", ".", False, ["0", "1", "2"])),
        ("# note\na,b\n0.5,0.5\n", (",", ".", True, ["a", "b"])),
        ("# a,b\n0.5,0.5\n", (",", ".", True, ["a", "b"])),
        ("# made on Monday, by me, here\n0.5,0.5\n", (",", ".", False, ["0", "1"])),
        ("#1,0.5,0.5\n#2,0.25,0.75\n", (",", ".", False, ["0", "1", "2"])),
        ("id|a|b\n7|0.5|0.5\n", ("|", ".", True, ["id", "a", "b"])),
    ],
)
def test_text(text, expected):
    assert layout(text) == expected


def test_identifiers_with_a_number_sign_are_not_comments(tmp_path):
    (tmp_path / "a.csv").write_text("id,a,b\n#1,0.5,0.5\n#2,0.25,0.75\n")
    (chunk,) = open_ensemble([str(tmp_path / "a.csv")]).chunks()
    assert chunk.ids.tolist() == ["#1", "#2"]


def test_comments_between_rows_in_every_block(tmp_path, monkeypatch):
    monkeypatch.setattr("credalens.io.lines.TEXT_BLOCK", 256)
    monkeypatch.setattr("credalens.io.lines.HEAD_BYTES", 256)
    lines = [f"# {i}" if i % 7 == 3 else "0.25,0.75" for i in range(700)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b", *lines]) + "\n")
    chunks = list(open_ensemble([str(tmp_path / "a.csv")]).chunks())
    assert sum(len(chunk.members) for chunk in chunks) == 600


@pytest.mark.parametrize("order", list(itertools.permutations(("models", "rows", "classes"))))
@pytest.mark.parametrize("kind", ["npy", "fortran", "npz", "compressed npz", "zarr", "h5"])
def test_axes_in_any_order(order, kind, tmp_path, monkeypatch):
    names = ("rows", "models", "classes")
    stored = MEMBERS.transpose([names.index(name) for name in order])
    path = write(tmp_path, kind, stored)
    if kind != "compressed npz":  # only blocks of the others are read
        monkeypatch.setattr(NpyReader, "read_all", None)
    ensemble = open_ensemble([path], options=ReadOptions(axes=order))
    assert ensemble.n_rows == 23
    chunks = list(ensemble.chunks(rows=5))
    assert [len(chunk.members) for chunk in chunks] == [5, 5, 5, 5, 3]
    assert np.array_equal(np.concatenate([chunk.members for chunk in chunks]), MEMBERS)
    assert np.array_equal(next(ensemble.chunks(rows=4, start=9)).members, MEMBERS[9:13])


def write(folder, kind, array):
    path = folder / f"a.{kind.split()[-1].replace('fortran', 'npy')}"
    if kind in ("npy", "fortran"):
        np.save(path, np.ascontiguousarray(array) if kind == "npy" else np.asfortranarray(array))
    elif kind == "zarr":
        zarr = pytest.importorskip("zarr")
        zarr.create_array(str(path), shape=array.shape, chunks=(2, 2, 2), dtype="f8")[:] = array
    elif kind == "h5":
        with pytest.importorskip("h5py").File(path, "w") as file:
            file["probs"] = array
    else:
        (np.savez if kind == "npz" else np.savez_compressed)(path, probs=array)
    return str(path)


@pytest.mark.parametrize("axes", [("classes", "rows"), ("rows", "models"), ("models", "rows")])
def test_two_axes(axes, tmp_path):
    binary = "models" in axes
    stored = MEMBERS[..., 0] if binary else MEMBERS[:, 0]
    if axes[0] != "rows":
        stored = stored.T
    np.save(tmp_path / "a.npy", stored)
    (chunk,) = open_ensemble([str(tmp_path / "a.npy")], options=ReadOptions(axes=axes)).chunks()
    if binary:
        assert np.array_equal(chunk.members[..., 1], MEMBERS[..., 0])
    else:
        assert np.array_equal(chunk.members[:, 0], MEMBERS[:, 0])


@pytest.mark.parametrize("kind", ["npy", "npz", "zarr", "h5"])
def test_partitions_of_arrays(kind, tmp_path):
    source = open_ensemble([write(tmp_path, kind, MEMBERS)]).sources[0]
    bounds = source.partition_bounds(10)
    assert bounds[0] == 0
    assert bounds[-1] == 23
    assert len(bounds) >= 3


def test_a_compressed_archive_has_no_partitions(tmp_path):
    path = write(tmp_path, "compressed npz", MEMBERS)
    assert open_ensemble([path]).sources[0].partition_bounds(10) is None


def test_bfloat16_in_safetensors(tmp_path):
    ml_dtypes = pytest.importorskip("ml_dtypes")
    numpy = pytest.importorskip("safetensors.numpy")
    short = MEMBERS.astype(ml_dtypes.bfloat16)
    numpy.save_file({"probs": short}, tmp_path / "a.safetensors")
    (chunk,) = open_ensemble([str(tmp_path / "a.safetensors")]).chunks()
    assert chunk.members.dtype == np.float32
    assert 1e-3 < chunk.deviation < 1e-2
    assert np.allclose(chunk.members.sum(axis=-1), 1, atol=1e-6)
    assert np.allclose(chunk.members, MEMBERS, atol=1e-2)
    numpy.save_file(
        {"probs": (1.02 * MEMBERS).astype(ml_dtypes.bfloat16)}, tmp_path / "b.safetensors"
    )
    with pytest.raises(PredictionFileError, match=r"sums to 1.0.*--normalize"):
        list(open_ensemble([str(tmp_path / "b.safetensors")]).chunks())


def test_the_deviation_of_rounded_rows(tmp_path):
    np.save(tmp_path / "a.npy", MEMBERS.round(4))
    ensemble = open_ensemble([str(tmp_path / "a.npy")])
    chunks = list(ensemble.chunks(rows=7))
    found = np.concatenate([chunk.members for chunk in chunks])
    expected = MEMBERS.round(4)
    assert np.allclose(found, expected / expected.sum(-1, keepdims=True), rtol=0, atol=1e-12)
    largest = np.abs(expected.sum(axis=-1) - 1).max()
    assert max(chunk.deviation for chunk in chunks) == pytest.approx(largest)
    np.save(tmp_path / "a.npy", MEMBERS.astype(np.float32).astype(np.float64))
    assert next(ensemble.chunks()).deviation == 0
