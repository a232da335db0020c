"""Finished parts of an output: their formats, damage to them, and footers of Parquet files."""

import io
import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from credalens.io.chunk import DroppedRow
from credalens.io.parquet import open_parquet
from credalens.io.parquet_footer import footer_size, merged_footer, parse_footer
from credalens.io.part_store import PartStore
from credalens.io.source import PredictionFileError, read_errors
from credalens.io.tables import WRITERS, write_jsonl
from prediction_files import read

BOUNDS = (0, 5, 6, 30, 41)
formats = pytest.mark.parametrize("suffix", list(WRITERS))


def batch(start, stop):
    rng = np.random.default_rng(start)
    return pa.record_batch({
        "prediction": rng.integers(0, 3, stop - start),
        "tv_total": rng.random(stop - start).astype(np.float32),
        "id": [f'"{i}é"' if i % 3 else f"row {i}" for i in range(start, stop)],
        "correct": pa.array([None if i % 4 == 0 else i % 2 == 0 for i in range(start, stop)],
                            pa.bool_()),
    })  # fmt: skip


def fill(store, skip=()):
    for start, stop in pairwise(BOUNDS):
        if start not in skip:
            dropped = [DroppedRow(start, "a", "file", "is bad")] if start == 6 else []
            store.add(start, stop, batch(start, stop), dropped, {"rows": stop - start})


def whole(path):
    """Write all rows at once."""
    parts = [batch(start, stop) for start, stop in pairwise(BOUNDS)]
    WRITERS[path.suffix](lambda: iter(parts), path)
    return path


def assert_same_table(a, b):
    if a.suffix in (".csv", ".jsonl"):
        assert a.read_bytes() == b.read_bytes()
    elif a.suffix == ".parquet":
        assert pyarrow.parquet.read_table(a).equals(pyarrow.parquet.read_table(b))
    else:
        assert all(np.array_equal(read(a)[name], values) for name, values in read(b).items())


@formats
def test_the_parts_are_the_output(suffix, tmp_path):
    store = PartStore(tmp_path / f"s{suffix}", {}, False)
    fill(store)
    dropped = store.finish(tmp_path / "s.skipped.csv", 41)
    assert [drop.row for drop in dropped] == [6]
    assert (tmp_path / "s.skipped.csv").exists()
    assert_same_table(store.out, whole(tmp_path / f"w{suffix}"))
    assert not store.folder.exists()


@formats
@pytest.mark.parametrize("damage", ["flipped", "truncated", "lost", "line"])
def test_only_damaged_parts_are_computed_again(suffix, damage, tmp_path):
    out = tmp_path / f"s{suffix}"
    fill(PartStore(out, {}, False))
    folder = tmp_path / f".{out.name}.parts"
    data, lines = folder / f"whole{suffix}", folder / "parts.jsonl"
    parts = [json.loads(line.partition(" ")[2]) for line in lines.read_text().splitlines()]
    content = bytearray(data.read_bytes())
    if damage == "flipped":
        content[parts[1]["offset"] + 3] ^= 4
        data.write_bytes(content)
    elif damage == "truncated":
        data.write_bytes(content[:-60])
    elif damage == "lost":
        data.unlink()
    else:
        lines.write_text(lines.read_text()[:-9])
    expected = {"flipped": [(5, 6)], "truncated": [(30, 41)], "line": [],
                "lost": [(0, 5), (5, 6), (6, 30), (30, 41)]}[damage]  # fmt: skip
    store = PartStore(out, {}, True)
    assert store.damaged == expected
    gaps = expected or [(30, 41)]
    missing = {"lost": [(0, None)], "flipped": [(5, 6), (41, None)]}.get(damage, [(30, None)])
    assert store.gaps() == missing
    assert sum(summary["rows"] for summary in store.summaries) == 41 - sum(b - a for a, b in gaps)
    fill(store, skip={start for start in BOUNDS if start not in dict(gaps)})
    store.finish(tmp_path / "s.skipped.csv", 41)
    assert_same_table(out, whole(tmp_path / f"w{suffix}"))


def _file_of(table):
    stream = io.BytesIO()
    pyarrow.parquet.write_table(table, stream)
    return stream.getvalue()


@pytest.mark.slow
def test_a_merged_parquet_file(tmp_path):
    """Row groups are found by number and by statistics, and pages have their checksums."""
    file, footers, offsets, tables = io.BytesIO(), [], [], []
    for i in range(20):
        table = pa.Table.from_batches([batch(10 * i, 10 * i + 1 + i)])
        one = io.BytesIO()
        pyarrow.parquet.write_table(table, one, row_group_size=7, write_page_checksum=True,
                                    write_page_index=i % 2 == 0)  # fmt: skip
        content = one.getvalue()
        footers.append(parse_footer(content))
        offsets.append(file.tell())
        tables.append(table)
        assert merged_footer(footers[-1:], [0]) == content[-8 - footer_size(content) :]
        file.write(content)
    file.write(merged_footer(footers, offsets))
    (tmp_path / "m.parquet").write_bytes(file.getvalue())
    expected = pa.concat_tables(tables)
    merged = pyarrow.parquet.ParquetFile(tmp_path / "m.parquet", page_checksum_verification=True)
    assert merged.read().equals(expected)
    assert merged.metadata.num_rows == len(expected)
    position = merged.metadata.row_group(0).num_rows + merged.metadata.row_group(1).num_rows
    assert merged.read_row_group(2).equals(expected.slice(position, len(merged.read_row_group(2))))
    with pytest.raises(ValueError, match="different columns"):
        merged_footer([footers[0], parse_footer(_file_of(expected.drop_columns("id")))], [0, 0])
    import polars

    assert polars.read_parquet(tmp_path / "m.parquet").to_arrow().num_rows == len(expected)
    found = polars.scan_parquet(tmp_path / "m.parquet").filter(polars.col("tv_total") > 0.9)
    total = expected["tv_total"].to_numpy()
    assert found.collect()["tv_total"].to_list() == total[total > np.float32(0.9)].tolist()


def test_json_lines_escape_text():
    values = ["plain [text]", 'a "quote"', "back\\slash", "é\n\t", None, "\x7f"]
    table = pa.record_batch({'n"ame': pa.array(values), "x": pa.array([1.5, None, 2, 3, 4, 5])})
    stream = io.BytesIO()
    write_jsonl([table.slice(0, 1), table.slice(1), table.slice(0, 0)], stream)
    rows = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert rows == table.to_pylist()
    expected = [json.dumps(row) for row in table.to_pylist()]
    assert stream.getvalue().decode().replace(": 2,", ": 2.0,").count("\\u00e9") == 1
    assert [json.loads(line) for line in expected] == rows


@pytest.mark.parametrize("at", [2, 12, 40])  # in the checksum and in the description
def test_a_damaged_line_costs_its_part_only(at, tmp_path):
    out = tmp_path / "s.csv"
    fill(PartStore(out, {}, False))
    lines = tmp_path / ".s.csv.parts" / "parts.jsonl"
    content = bytearray(lines.read_bytes())
    second = content.index(b"\n") + 1
    content[second + at] ^= 1
    lines.write_bytes(content)
    store = PartStore(out, {}, True)
    assert store.damaged == [(5, 6)]
    assert store.gaps() == [(5, 6), (41, None)]
    fill(store, skip=(0, 6, 30))
    assert PartStore(out, {}, True).damaged == []  # computed again, not reported twice
    store.finish(tmp_path / "s.skipped.csv", 41)
    assert_same_table(out, whole(tmp_path / "w.csv"))


@formats
def test_an_empty_file_of_parts(suffix, tmp_path):
    out = tmp_path / f"s{suffix}"
    fill(PartStore(out, {}, False))
    (tmp_path / f".{out.name}.parts" / f"whole{suffix}").write_bytes(b"")
    store = PartStore(out, {}, True)
    assert store.damaged == [(0, 5), (5, 6), (6, 30), (30, 41)]
    fill(store)
    store.finish(tmp_path / "s.skipped.csv", 41)
    assert_same_table(out, whole(tmp_path / f"w{suffix}"))


def test_a_damaged_task_is_named(tmp_path):
    fill(PartStore(tmp_path / "s.csv", {}, False))
    (tmp_path / ".s.csv.parts" / "task.json").write_text("[1")
    with pytest.raises(PredictionFileError, match=r"task\.json: is damaged; leave out --resume"):
        PartStore(tmp_path / "s.csv", {}, True)


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_the_output_keeps_its_mode_and_its_link(mode, tmp_path):
    (tmp_path / "there").mkdir()
    target = tmp_path / "there" / "s.csv"
    target.touch(mode)
    (tmp_path / "s.csv").symlink_to("there/s.csv")
    store = PartStore(tmp_path / "s.csv", {}, False)
    fill(store)
    store.finish(tmp_path / "s.skipped.csv", 41)
    assert (tmp_path / "s.csv").is_symlink()
    assert target.stat().st_mode & 0o777 == mode
    assert_same_table(target, whole(tmp_path / "w.csv"))


@pytest.mark.slow
def test_a_flipped_byte_of_a_page_is_an_error(tmp_path):
    """A byte of a page header may have no effect; no byte changes a value."""
    path = whole(tmp_path / "s.parquet")
    content = bytearray(path.read_bytes())
    expected = pyarrow.parquet.read_table(path)
    errors, end = 0, len(content) - footer_size(bytes(content[-8:])) - 8
    for at in range(4, end, 3):
        content[at] ^= 4
        path.write_bytes(content)
        content[at] ^= 4
        try:
            with read_errors(str(path)), open_parquet(str(path)) as file:
                assert pa.Table.from_batches(file.iter_batches()).equals(expected)
        except PredictionFileError:
            errors += 1
    assert errors > end // 3 // 2
