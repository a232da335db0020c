"""Zarr: only known codecs and dtypes are decoded, and lost chunks are errors."""

import json
import warnings

import numpy as np
import pytest

from credalens.io import open_ensemble
from credalens.io.source import PredictionFileError
from prediction_files import call, predictions

zarr = pytest.importorskip("zarr")


@pytest.fixture(params=[2, 3])
def version(request):
    return request.param


def write(path, values, version=3, **options):
    array = zarr.create_array(
        str(path), shape=values.shape, chunks=(4, *values.shape[1:]), dtype="f8",
        zarr_format=version, overwrite=True, **options,
    )  # fmt: skip
    array[:] = values
    return path


def metadata(path, version):
    return path / (".zarray" if version == 2 else "zarr.json")


def change(file, **values):
    file.write_text(json.dumps({**json.loads(file.read_text()), **values}))


def refused(path, message):
    with pytest.raises(PredictionFileError, match=message):
        open_ensemble([str(path)])


def test_all_is_read(version, tmp_path):
    members = predictions(10)[0]
    for i, options in enumerate(({}, {"compressors": None})):
        path = write(tmp_path / f"{i}.zarr", members, version, **options)
        (chunk,) = open_ensemble([str(path)]).chunks()
        assert np.array_equal(chunk.members, members)


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_filter_does_not_run(tmp_path):
    import pickle

    path = write(tmp_path / "a.zarr", predictions(4)[0], 2, compressors=None)
    chunk = next(p for p in path.iterdir() if p.name[0] != ".")
    chunk.write_bytes(pickle.dumps(Payload(tmp_path / "executed")))
    for filters in ([{"id": "pickle", "protocol": 5}], [{"id": "json2"}], [{"id": "msgpack2"}]):
        change(metadata(path, 2), dtype="<f8", filters=filters, fill_value=None)
        refused(path, "the codec '.*', which is not read because a codec can run code")
        change(metadata(path, 2), dtype="|O")
        refused(path, "dtype '|O' of Python objects, which is not read")
    change(metadata(path, 2), dtype="|O", filters=[])
    refused(path, "dtype '|O' of Python objects, which is not read")
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("where", ["array", "member", "consolidated", "shard"])
def test_unknown_codecs(where, tmp_path):
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    array = group.create_array("probs", shape=(8, 2, 3), chunks=(4, 2, 3), dtype="f8")
    array[:] = predictions(8, 2)[0]
    path = tmp_path / "a.zarr"
    bad = [{"name": "bytes"}, {"name": "numcodecs.pickle"}]
    if where == "consolidated":
        with warnings.catch_warnings(action="ignore"):  # not in the format of version 3 yet
            zarr.consolidate_metadata(str(path))
        file = path / "zarr.json"
        content = json.loads(file.read_text())
        content["consolidated_metadata"]["metadata"]["probs"]["codecs"] = bad
        file.write_text(json.dumps(content))
    else:
        if where == "shard":
            bad = [{"name": "sharding_indexed", "configuration": {"codecs": bad}}]
        change(path / "probs" / "zarr.json", codecs=bad)
        path = path / "probs" if where == "array" else path
        if where == "array":
            path = path.rename(tmp_path / "b.zarr")
    refused(path, r"zarr.json: has the codec 'numcodecs.pickle'")


@pytest.mark.parametrize(
    ("version", "values", "message"),
    [
        (2, {"dtype": "|O"}, "dtype '|O'"),
        (2, {"dtype": [["a", "|O"]]}, "dtype .* which is not read"),
        (3, {"data_type": "py_object"}, "data type 'py_object', which is not read"),
        (3, {"data_type": {"name": "structured"}}, "data type 'structured'"),
        (2, {"shape": [-10, 3, 3]}, "impossible shape"),
        (3, {"shape": [10, 3, -3]}, "impossible shape"),
        (3, {"shape": [10, 3, 1 << 61]}, "more than can be addressed|chunk"),
        (3, {"shape": [1 << 50, 3, 3]}, "the chunk c/3/0/0 does not exist"),
    ],
)  # fmt: skip
def test_dtypes_and_shapes(version, values, message, tmp_path):
    path = write(tmp_path / "a.zarr", predictions(10)[0], version)
    change(metadata(path, version), **values)
    refused(path, message)


def test_attributes_are_free(version, tmp_path):
    path = write(tmp_path / "a.zarr", predictions(10)[0], version,
                 attributes={"dtype": ["any"], "codecs": ["mine"], "shape": "x"})  # fmt: skip
    open_ensemble([str(path)])


@pytest.mark.parametrize("options", [(), ("--logits",)])
def test_a_lost_chunk_is_named(version, options, tmp_path):
    values = predictions(10)[0]
    path = write(tmp_path / "a.zarr", np.log(values) if options else values, version)
    lost = "1.0.0" if version == 2 else "c/1/0/0"
    (path / lost).unlink()
    done = call("score", path, *options, "-o", tmp_path / "s.csv", code=2)
    assert f"a.zarr: the chunk {lost} does not exist; copy it again" in done.stderr
    assert not (tmp_path / "s.csv").exists()


def test_a_lost_chunk_of_labels(tmp_path):
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    group.create_array("probs", shape=(8, 2, 3), chunks=(4, 2, 3), dtype="f8")[:] = predictions(
        8, 2
    )[0]
    group.create_array("labels", shape=(8,), chunks=(4,), dtype="i8")[:] = np.arange(8) % 2 + 1
    open_ensemble([str(tmp_path / "a.zarr")])
    (tmp_path / "a.zarr" / "labels" / "c" / "0").unlink()
    refused(tmp_path / "a.zarr", "the chunk labels/c/0 does not exist")


def test_a_chunk_above_the_limit(tmp_path, monkeypatch):
    path = write(tmp_path / "a.zarr", predictions(10)[0])
    content = json.loads((path / "zarr.json").read_text())
    content["shape"][0] = content["chunk_grid"]["configuration"]["chunk_shape"][0] = 1 << 32
    (path / "zarr.json").write_text(json.dumps(content))
    refused(path, "a chunk .* needs 288G of memory")


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_chunk_that_becomes_larger_than_its_values(codec, version, tmp_path):
    """Zarr decompresses all of a chunk before it looks at its size."""
    numcodecs = pytest.importorskip("numcodecs")
    compressor = {"gzip": numcodecs.GZip(), "zstd": numcodecs.Zstd()}[codec]
    own = compressor if version == 2 else {"name": codec, "configuration": {"level": 1}}
    if version == 3 and codec == "zstd":
        own["configuration"]["checksum"] = False
    path = write(tmp_path / "a.zarr", predictions(10)[0], version, compressors=own)
    chunk = path / ("1.0.0" if version == 2 else "c/1/0/0")
    noise = np.random.default_rng(0).bytes(1 << 17)  # of more bytes than a chunk can need
    chunk.write_bytes(compressor.encode(noise + bytes(1 << 24)))
    with pytest.raises(
        PredictionFileError, match=r"the chunk \(1, 0, 0\) has \d+ bytes for values"
    ):
        list(open_ensemble([str(path)]).chunks(rows=3))
