"""Columns of tables, and JSON."""

import json

import numpy as np
import pandas as pd
import pytest

import real_files as real
from odd_files import (
    FIX_ROW,
    PAIR,
    ROW,
    P,
    check,
    npy,
    text,
    two,
    with_options,
)
from real_files import BINARY, COUNTS, LOGITS, MEMBERS, N

#: Counts with different sums.
UNEVEN = np.stack([COUNTS + m * (np.arange(N) % 3)[:, None] for m in (1, 2, 3)], axis=1)
#: The log-probabilities of the best answers, of which the second has one only.
TOP = ({"A": np.log(0.5), "B": np.log(0.5)}, {"A": np.log(0.9)})


def side_by_side(folder):
    parts = [real.frame(m).add_prefix(f"{name}_") for m, name in enumerate("ab")]
    pd.concat(parts, axis=1).to_csv(folder / "all.csv", index=False)
    return [folder / "all.csv"]


def numbered_scores(folder):
    def write(path, m):
        table = pd.DataFrame({"nr": np.arange(N), "score": BINARY[:, m, 1]})
        table.to_csv(path, index=False)

    return real.each(folder, "model_{}.csv", write)


def predicted_labels(folder):
    def write(path, m):
        real.frame(m, label=MEMBERS[:, m].argmax(axis=1)).to_csv(path, index=False)

    return real.each(folder, "model_{}.csv", write)


CASES = {
    # Columns of tables.
    "a column of zeros": (
        lambda f: real.csvs(f, junk=0),
        "{f}/model_0.csv: the column junk contains only zeros and "
        "may be a class or not; pass --columns cat,dog,fox or --columns cat,dog,fox,junk",
        "--columns cat,dog,fox",
        MEMBERS,
    ),
    "logits and folds": (
        lambda f: [*real.csvs(f, LOGITS, grp=np.arange(N) % 5), "--logits"],
        "{f}/model_0.csv: the "
        "column grp contains integers, unlike the others, and may be a class or not; pass "
        "--columns cat,dog,fox or --columns cat,dog,fox,grp",
        "--columns cat,dog,fox",
        MEMBERS,
    ),
    "counts and row numbers": (
        lambda f: [*real.csvs(f, UNEVEN, nr=np.arange(N)), "--normalize"],
        "{f}/model_0.csv: the column nr contains row numbers and may be a class or not; pass "
        "--columns cat,dog,fox or --columns cat,dog,fox,nr",
        "--columns cat,dog,fox",
        UNEVEN / UNEVEN.sum(axis=2, keepdims=True),
    ),
    "logits, later with folds": (
        lambda f: real.csvs(f, LOGITS, grp=np.arange(N) % 5),
        "{f}/model_0.csv: row 0 (zero-based): "
        "class fox is negative; pass --logits if these are logits",
        "--logits",
        "{f}/model_0.csv: the column grp contains integers, unlike the others, and may be a class "
        "or not; pass --columns cat,dog,fox or --columns cat,dog,fox,grp",
    ),
    "text only": (
        text("a.csv", "a,b\nx,y\n"),
        "{a}: has no column of numbers (a is 'x'); save one number per class",
        "--columns a,b",
        ROW + "column 'a' is 'x', not a number; fix it, or name the class "
        "columns by --columns or this one by --id-column",
    ),
    "two equal names": (
        text("a.csv", "a,a\n0.5,0.5\n"),
        "{a}: has two columns 'a'; rename one, or pass --no-header",
        "--no-header",
        ROW + "column '0' is 'a', not a number; fix it, or name the class columns by --columns or "
        "this one by --id-column",
    ),
    "a short line": (
        text("a.csv", "a,b\n.5,.5\n0.5\n"),
        "{a}: row 1 (zero-based): has 1 fields instead of 2; " + FIX_ROW,
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "header only": (
        text("a.csv", "a,b\n"),
        "{a}: has a header but no rows; pass at least one row",
    ),
    "names of classes that differ": (
        two(real.frame(0), real.frame(1).rename(columns={"cat": "cow"})),
        "{f}/b.csv: has the "
        "classes cow, dog, fox, {f}/a.csv cat, dog, fox; pass --class-names to name them by "
        "position",
        "--class-names cat,dog,fox",
        PAIR,
    ),
    "too few class names": (
        with_options(npy(P), "--class-names", "a,b"),
        "--class-names: has 2 different names; pass 3, one per class",
        lambda f: [*npy(P)(f), "--class-names", "a,b,c"],
        P[:, None],
    ),
    "models side by side": (
        side_by_side,
        "{a}: several sets of columns sum to 1; pass --columns a_cat,a_dog,a_fox or --columns "
        "b_cat,b_dog,b_fox, or save one file per model",
        "--columns b_cat,b_dog,b_fox",
        MEMBERS[:, 1:2],
    ),
    "a probability and row numbers": (
        numbered_scores,
        "{f}/model_0.csv: the column nr contains row numbers and may be a class or not; pass "
        "--columns score or --columns nr,score",
        "--columns score",
        BINARY,
    ),
    "logits and a large measurement": (
        lambda f: [*real.csvs(f, LOGITS, length=300 + 9.5 * np.arange(N)), "--logits"],
        "{f}/model_0.csv: the column length contains much larger numbers than the others and may "
        "be a class or not; pass --columns cat,dog,fox or --columns cat,dog,fox,length",
        "--columns cat,dog,fox",
        MEMBERS,
    ),
    "logits and a positive measurement": (
        lambda f: [*real.csvs(f, LOGITS, margin=np.linspace(0.1, 3.9, N)), "--logits"],
        "{f}/model_0.csv: the column margin contains no negative numbers, unlike the others, and "
        "may be a class or not; pass --columns cat,dog,fox or --columns cat,dog,fox,margin",
        "--columns cat,dog,fox",
        MEMBERS,
    ),
    "predicted classes": (
        text("a.csv", "id,pred\nx,1\ny,0\nz,2\n"),
        "{a}: row 2 (zero-based): the probability 2 is above 1; these are integers, like predicted "
        "classes: save one probability per class",
    ),
    "numbers as names of classes": (
        text("a.csv", "10,20\n.5,.5\n.25,.75\n"),
        ROW + "sums to 30; pass --header if these are names of classes, or " + FIX_ROW,
        "--header",
        np.array([[[0.5, 0.5]], [[0.25, 0.75]]]),
    ),
    "percent signs": (
        text("a.csv", "cat,dog\n85.5%,14.5%\n25%,75%\n"),
        "{a}: column 'cat' is '85.5%', not a number; remove the percent signs, and pass --percent",
        lambda f: [*text("a.csv", "cat,dog\n85.5,14.5\n25,75\n")(f), "--percent"],
        np.array([[[0.855, 0.145]], [[0.25, 0.75]]]),
    ),
    "an empty field": (
        text("a.csv", "a,b\n.5,.5\n.25,\n"),
        "{a}: row 1 (zero-based): class b is missing or NaN; " + FIX_ROW,
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "a wrong name of a column": (
        with_options(text("a.csv", "a,b\n.5,.5\n"), "--columns", "a,c"),
        "{a}: has no column 'c' (--columns); its columns are a, b",
        lambda f: [*text("a.csv", "a,b\n.5,.5\n")(f), "--columns", "a,b"],
        np.array([[[0.5, 0.5]]]),
    ),
    "a predicted class as the label": (
        lambda f: real.each(
            f,
            "model_{}.csv",
            lambda path, m: real.frame(m, label=MEMBERS[:, m].argmax(axis=1)).to_csv(
                path, index=False
            ),
        ),
        "{f}/model_1.csv: row 4 (zero-based): labels: 0 here, 2 in {a}; put the rows of all models "
        "in the same order, or pass --label-column none if these are not the true classes",
        "--label-column none",
        MEMBERS,
    ),
    # JSON.
    "one object": (
        text("a.json", '{"model": "resnet", "classes": ["a", "b"], "probs": [[0.5, 0.5]]}'),
        "{a}: contains one object; write a list of objects, one per row",
        text("a.json", '[{"probs": [0.5, 0.5]}]'),
        np.array([[[0.5, 0.5]]]),
    ),
    "several types in a list": (
        text("a.jsonl", '{"probs": [[0.5, false], [0.5, true]]}\n'),
        "{a}: its first record is not a row of a table (JSON parse error: Column(/probs/[]/[]) "
        "changed from number to boolean in row 0); write values of one type in each list",
        text("a.jsonl", '{"probs": [[0.5, 0.5]]}\n'),
        np.full((1, 1, 2), 0.5),
    ),
    "lists and numbers": (
        text("a.jsonl", '{"x": [0.5, 0.5], "seconds": 1.5, "tokens": 7}\n' * 3),
        "{a}: has lists in x and numbers in seconds, tokens; name the predictions: pass --key x or "
        "--columns seconds,tokens",
        "--key x",
        np.full((3, 1, 2), 0.5),
    ),
    "no label in a record": (
        text("a.jsonl", '{"scores": [{"id": 1, "score": 1.0}]}\n'),
        "{a}: has records of id, score; save records with a label and a score",
        text(
            "a.jsonl", '{"scores": [{"label": "a", "score": 0.5}, {"label": "b", "score": 0.5}]}\n'
        ),
        np.full((1, 1, 2), 0.5),
    ),
    "a class without a score": (
        text("a.jsonl", "".join(json.dumps({"logprobs": row}) + "\n" for row in TOP)),
        "{a}: row 1 (zero-based): class B is missing or NaN; " + FIX_ROW,
        "--on-error skip",
        np.full((1, 1, 2), 0.5),
    ),
    "no json": (
        text("a.jsonl", "hello\n"),
        "{a}: has no line with a JSON object or a list of numbers; write one JSON object per line",
        text("a.jsonl", '{"probs": [0.5, 0.5]}\n'),
        np.full((1, 1, 2), 0.5),
    ),
    "a broken line": (
        text("a.jsonl", '{"probs": [0.5, 0.5]}\n{"probs": [0.5\n'),
        "{a}: row 1 (zero-based): is not "
        "a valid record (JSON parse error: Missing a comma or ']' after an array element. in row "
        "0); write one JSON object per line",
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "other classes": (
        text("a.jsonl", '{"probs": [0.5, 0.5]}\n{"probs": [0.5, 0.25, 0.25]}\n'),
        "{a}: row 1 "
        "(zero-based): probs is 3 instead of 2; fix the row so that all have as many members and "
        "classes, or pass --on-error skip",
        "--on-error skip",
        np.array([[[0.5, 0.5]]]),
    ),
    "two lists": (
        text("a.jsonl", '{"x": [0.5, 0.5], "y2": [1, 0]}\n'),
        "{a}: has lists in x, y2; name the predictions, e.g. --key x",
        "--key x",
        np.array([[[0.5, 0.5]]]),
    ),
    "some log-probabilities": (
        text("a.jsonl", "".join(json.dumps({"logprobs": [-0.5, x]}) + "\n" for x in (-2.0, -3.0))),
        ROW
        + "sums to 0.7418659429; the exponentials of log-probabilities of all classes sum to 1: "
        "save all, or pass --logits to rescale those of some",
        "--logits",
        real.softmax(np.array([[[-0.5, -2.0]], [[-0.5, -3.0]]])),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_message_and_what_it_suggests(case, tmp_path):
    check(CASES[case], tmp_path)
