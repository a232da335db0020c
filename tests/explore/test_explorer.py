"""The file of the explorer: its content, and arguments that are refused."""

import base64
import hashlib
import json
import re
from importlib import resources

import numpy as np
import pytest

import credalens as cl
from credalens.evaluation.kinds import KINDS
from credalens.explore.page import SCRIPTS, Row, render
from report_pages import HOSTILE


def data_of(text):
    return json.loads(re.search(r'id="data">(.*?)</script>', text, re.S)[1])


def test_the_policy_allows_the_own_script_and_style_only():
    text = render()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "")
    for name in ("script", "style"):
        content = re.search(rf"<{name}>(.*?)</{name}>", text, re.S)[1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{name}-src 'sha256-{digest}'" in policy


def test_every_script_is_in_the_page():
    folder = resources.files("credalens.explore")
    files = {file.name for file in folder.iterdir() if file.name.endswith(".js")}
    assert files == {f"{name}.js" for name in SCRIPTS}


def test_the_data(tmp_path):
    P = np.random.default_rng(0).dirichlet(np.ones(4), (2, 3))
    path = cl.explore.write(tmp_path / "e.html", P, ["abcd", *"xyz"], ["i", 7])
    data = data_of(path.read_text(encoding="utf-8"))
    assert data["classes"] == ["abcd", "x", "y", "z"]
    assert [row["id"] for row in data["rows"]] == ["i", "7"]
    np.testing.assert_allclose([row["members"] for row in data["rows"]], P, rtol=1e-11)
    assert [kind["name"] for kind in data["kinds"]] == [kind.name for kind in KINDS]
    single = cl.explore.write(tmp_path / "f.html", cl.ConvexHull(P[0].astype(np.float32)))
    (row,) = data_of(single.read_text(encoding="utf-8"))["rows"]
    np.testing.assert_allclose(row["members"], P[0], rtol=1e-6)


def test_names_cannot_end_the_data():
    rows = [Row(name, np.eye(2), name) for name in HOSTILE]
    text = render(rows, HOSTILE[:2], HOSTILE[:2], HOSTILE[0])
    assert text.count("<script") == text.count("</script>") == 2
    assert [row["id"] for row in data_of(text)["rows"]][:5] == HOSTILE[:5]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"path": "e.txt"}, "path: .*e.txt is not an .html file; pass a file, e.g. explorer.html"),
        ({"ids": ["a"]}, "ids: is passed without members"),
        ({"members": [[0.5, 0.6]]}, "sums to 1.1"),
        ({"members": np.full((1, 1, 1, 2), 0.5)}, r"members: has shape \(1, 1, 1, 2\)"),
        ({"members": np.eye(2), "class_names": "ab"}, "class_names: is a string; pass 2, one per"),
        ({"members": np.eye(2), "ids": ["a", "b"]}, "ids: has 2 entries; pass 1, one per instance"),
        ({"members": cl.Contamination([0.5, 0.5], 0.1)}, "members: is a Contamination"),
        ({"members": np.full((1, 2001), 1 / 2001)}, "classes: are 2001; .* at most 2000"),
        ({"members": np.full((20_001, 5, 2), 0.5)}, "20001 rows .*; pass at most 20000"),
    ],
)  # fmt: skip
def test_refused(tmp_path, arguments, match):
    path = tmp_path / arguments.pop("path", "e.html")
    with pytest.raises(ValueError, match=match):
        cl.explore.write(path, **arguments)
    assert not list(tmp_path.iterdir())
