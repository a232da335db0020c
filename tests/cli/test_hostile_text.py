"""Names from files that control terminals, or that spreadsheets take for formulas."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from credalens import cli
from credalens.cli.command_context import note, print_table, printable, progress
from credalens.io.tables import write_csv
from prediction_files import call, predictions

CLEAR, TITLE, RIGHT_TO_LEFT = "\x1b[2J", "\x1b]0;owned\x07", "\u202e"
FORMULAS = ["=1+1", "+cmd|'/C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "\r=1", " =1", "\uff1d1+1"]
PLAIN = ["-5", "+1.5e3", "-.25", "cat", "", "a=b", "'=1"]


@pytest.mark.parametrize("text", [CLEAR, TITLE, RIGHT_TO_LEFT, "\x9b2J", "a\rb", "\udcff"])
def test_control_characters_are_escaped(text, capsys):
    shown = printable(f"a{text}b\n")
    assert shown.replace("\n", "").isprintable()
    note(text)
    print_table(text, {text: [text, "x"], "value": [0.5, 1.0]})
    with progress(text) as update:
        update(0, 1, text)
    found = capsys.readouterr()
    assert (found.out + found.err).replace("\n", "").isprintable()
    assert printable("café 猫 🦊") == "café 猫 🦊"


@pytest.fixture
def hostile(tmp_path):
    """Two files whose names, ids and classes contain escapes and formulas."""
    names = [f"cat{CLEAR}", '=HYPERLINK("http://a.b")', RIGHT_TO_LEFT + "dog"]
    members, labels = predictions(20, 2)
    for m in range(2):
        with open(tmp_path / f"m{CLEAR}{m}.csv", "w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "label", *names])
            for i, row in enumerate(members[:, m].tolist()):
                writer.writerow([f"=id{i}{CLEAR}", names[labels[i]], *row])
    return tmp_path, sorted(map(str, tmp_path.iterdir()))


@pytest.mark.slow
@pytest.mark.parametrize(
    "arguments",
    [("score", "-v"), ("evaluate",), ("diagnose",), ("validate",), ("score", "--key", CLEAR),
     ("score", "--labels", f"no{CLEAR}.csv"), ("pick", "--budget", 3, "-o", "{}/p.csv")],
)  # fmt: skip
def test_commands_show_them_escaped(arguments, hostile, monkeypatch):
    folder, files = hostile
    command, *options = (str(a).format(folder) for a in arguments)
    options += ["-o", f"{folder}/s{CLEAR}.csv"] if command == "score" else []
    done = call(command, *files, *options, code=2 if len(arguments) == 3 else 0)
    text = done.output
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[2J" in text or command in ("pick", "evaluate") or "--key" in options


def test_cells_of_csv(tmp_path):
    texts = [*FORMULAS, *PLAIN, None]
    path = tmp_path / "t.csv"
    with path.open("wb") as stream:
        write_csv(
            [pa.record_batch({"id": texts, "n": list(map(float, range(len(texts))))})], stream
        )
    with path.open(newline="") as stream:
        found = [row["id"] for row in csv.DictReader(stream)]
    assert found == [f"'{text}" for text in FORMULAS] + PLAIN + [""]


@pytest.mark.parametrize("command", ["score", "pick", "decide"])
def test_outputs(command, hostile):
    folder, files = hostile
    options = ("--budget", 20) if command == "pick" else ()
    call(command, *files, *options, "-o", folder / "s.csv")
    call(command, *files, *options, "-o", folder / "raw.csv", "--no-safe-csv")
    call(command, *files, *options, "-o", folder / "s.jsonl")
    with (folder / "s.csv").open(newline="") as safe, (folder / "raw.csv").open(newline="") as raw:
        cells, own = ([row["id"] for row in csv.DictReader(file)] for file in (safe, raw))
    exact = [json.loads(line)["id"] for line in (folder / "s.jsonl").read_text().splitlines()]
    assert own == exact
    assert cells == [f"'{text}" for text in exact]
    assert "CREDALENS_SAFE_CSV" not in os.environ


def test_other_settings_of_csv_are_not_resumed(tmp_path):
    from credalens.io.part_store import PartStore

    np.save(tmp_path / "a.npy", predictions(20)[0])
    out = tmp_path / "s.csv"
    PartStore(out, {"handling of formulas in CSV": False}, False)
    done = call("score", tmp_path / "a.npy", "-o", out, "--resume", code=2)
    assert "handling of formulas in CSV" in done.stderr


def test_all_commands_print_escaped_text():
    """typer.echo is called by functions that escape, and by those that print no text of users."""
    own = {"command_context.py", "doctor.py", "demo.py", "axioms.py", "commands.py"}
    for file in Path(cli.__file__).parent.glob("*.py"):
        assert file.name in own or "typer.echo(" not in file.read_text(encoding="utf-8"), file
