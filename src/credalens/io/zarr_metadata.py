"""Metadata of Zarr arrays, checked before Zarr decodes anything, and chunks that do not exist."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from credalens.io.source import raise_file_error
from credalens.io.stored_chunks import chunk_indices

#: Files of metadata, of both versions of the format.
FILES = ("zarr.json", ".zarray", ".zgroup", ".zmetadata")
#: Largest file of metadata.
MAX_BYTES = 1 << 24
#: Codecs that only transform bytes and numbers. Others are refused: some decode Python objects.
CODECS = frozenset({
    "adler32", "bitround", "blosc", "bytes", "bz2", "cast_value", "crc32", "crc32c", "delta",
    "fixedscaleoffset", "fletcher32", "gzip", "lz4", "lzma", "quantize", "scale_offset",
    "packbits", "sharding_indexed", "shuffle", "transpose", "vlen-bytes", "vlen-utf8", "zlib",
    "zstd",
})  # fmt: skip
#: Dtypes of numbers and text, in version 2 and 3.
DTYPE = re.compile(r"[<>|=]?[fiubcmMSUV]\d+(\[\w+\])?|\|O")
DATA_TYPES = frozenset({
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16",
    "float32", "float64", "bfloat16", "complex64", "complex128", "string", "raw_bytes",
    "variable_length_utf8", "fixed_length_utf32", "fixed_length_ascii", "null_terminated_bytes",
    "variable_length_bytes", "numpy.datetime64", "numpy.timedelta64",
})  # fmt: skip
FIX = "write numbers or text with the codecs of zarr, such as zstd or blosc"


def check_metadata(path: str) -> None:
    """Raise `PredictionFileError` unless all codecs and dtypes of an array or a group are known."""
    root = Path(path)
    folders = [root, *(p for p in root.iterdir() if p.is_dir())] if root.is_dir() else []
    for file in (folder / name for folder in folders for name in FILES):
        if file.is_file():
            if file.stat().st_size > MAX_BYTES:
                raise_file_error(str(file), f"has more than {MAX_BYTES} bytes", "write it again")
            try:
                content = json.loads(file.read_bytes())
            except (ValueError, RecursionError):
                raise_file_error(str(file), "is not valid JSON", "write it again")
            _check(str(file), content)


def _check(path: str, node: Any) -> None:
    """Check the codecs and dtypes at any depth, since groups repeat the metadata of arrays."""
    if isinstance(node, list):
        for value in node:
            _check(path, value)
    if not isinstance(node, dict):
        return
    for key, value in node.items():
        if key == "attributes" or key.endswith(".zattrs"):
            continue  # data of the user, which Zarr does not interpret
        if key in ("codecs", "index_codecs", "filters", "compressor"):
            for codec in value if isinstance(value, list) else [value]:
                _check_codec(path, codec)
        elif key == "dtype" and not (isinstance(value, str) and DTYPE.fullmatch(value)):
            raise_file_error(path, f"has the dtype {value!r}, which is not read", FIX)
        elif key == "dtype" and value == "|O":
            _check_objects(path, node)
        elif key == "data_type":
            name = value.get("name") if isinstance(value, dict) else value
            if not isinstance(name, str) or name not in DATA_TYPES:
                raise_file_error(path, f"has the data type {name!r}, which is not read", FIX)
        elif key == "shape":
            _check_sizes(path, value)
        _check(path, value)


def _check_codec(path: str, codec: Any) -> None:
    if codec is None:
        return
    name = codec.get("id", codec.get("name")) if isinstance(codec, dict) else codec
    if not isinstance(name, str) or name.removeprefix("numcodecs.") not in CODECS:
        problem = f"has the codec {name!r}, which is not read because a codec can run code"
        raise_file_error(path, problem, FIX)


def _check_objects(path: str, node: dict[str, Any]) -> None:
    """Raise unless the only objects of an array are strings."""
    filters = node.get("filters") or []
    if not any(isinstance(f, dict) and f.get("id") == "vlen-utf8" for f in filters):
        raise_file_error(path, "has the dtype '|O' of Python objects, which is not read", FIX)


def _check_sizes(path: str, shape: Any) -> None:
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise_file_error(path, f"has the impossible shape {shape}", "write it again")


def missing_chunk(folder: Path, array: Any, chunks: Sequence[int]) -> str | None:
    """Return the name of the first chunk of an array that does not exist, None if there is none."""
    shape = array.shape
    if not shape or 0 in shape or any(size <= 0 for size in chunks):
        return None
    sizes = [math.ceil(size / chunk) for size, chunk in zip(shape, chunks, strict=True)]
    # One listing is faster than a query for each chunk, above all on network file systems.
    found = {
        os.path.relpath(os.path.join(parent, name), folder).replace(os.sep, "/")
        for parent, _, names in os.walk(folder)
        for name in names
    }
    keys = map(array.metadata.encode_chunk_key, chunk_indices(sizes))
    return next((key for key in keys if key not in found), None)
