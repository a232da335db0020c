"""`credalens pick`: rows, order and reasons."""

import csv
from pathlib import Path

import numpy as np
import pytest

import credalens as cl
from credalens.cli.command_context import print_table
from credalens.distances import as_distance
from credalens.evaluation.kinds import KINDS, make_rule
from credalens.evaluation.reasons import reasons as explain
from credalens.report.data import Collector, ReportConfig
from prediction_files import NAMES, app, call, predictions, runner, write_csv, write_npz


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


class TestReasons:
    def test_unknown(self):
        # AU: 1 - 0.9 = 0.1 to 0.5. EU = (0.9 - 0.2) / 2 = 0.35.
        (reason,) = explain([[[0.9, 0.1], [0.5, 0.5], [0.2, 0.8]]], class_names=["cat", "dog"])
        assert reason.kind == "unknown"
        assert reason.members == ("model 0", "model 2")
        assert reason.classes == ("cat", "dog")
        assert reason.text == (
            "the models disagree: model 0 says cat (0.90), model 2 says dog (0.80)"
        )

    def test_each_model_by_its_own_first_class(self):
        # They differ most on the last two classes, but no model says either.
        rows = [[0.4, 0.35, 0.25, 0.0], [0.1, 0.6, 0.0, 0.3]]
        (reason,) = explain([rows], member_names=["a", "b"], review_threshold=0.3)
        assert reason.classes == ("0", "1")
        assert "a says class 0 (0.40), b says class 1 (0.60)" in reason.text

    def test_one_first_class(self):
        # EU = (0.25 + 0.25) / 2 = 0.25, all of it on the classes behind the first.
        (reason,) = explain([[[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]]], member_names=["a", "b"])
        assert reason.classes == ("0", "0")
        assert reason.text.endswith("; a gives class 1 0.50, b 0.00")

    def test_ambiguous(self):
        # AU: 0.45 to 0.5. EU = 0.025.
        (reason,) = explain([[[0.5, 0.5], [0.55, 0.45]]])
        assert reason.kind == "ambiguous"
        assert reason.text == "every model finds the input hard to classify: risk 0.45 to 0.50"

    def test_both(self):
        # AU: 0.45 to 1 - 0.4 = 0.6 (the mixture of equal parts). EU = (0.5 + 0.5) / 4 = 0.25.
        (reason,) = explain([[[0.55, 0.4, 0.05], [0.05, 0.4, 0.55]]], member_names=["a", "b"])
        assert reason.kind == "both"
        assert reason.text == (
            "every model finds the input hard to classify, and the models disagree: "
            "risk 0.45 to 0.60; a says class 0 (0.55), b says class 2 (0.55)"
        )

    @pytest.mark.parametrize("M", [2, 3, 5, 10])
    def test_certain_models_that_disagree_are_unknown(self, M):
        (reason,) = explain(np.eye(M)[None])
        assert reason.kind == "unknown"

    def test_little_uncertainty_is_clear(self):
        # All of it is disagreement, but 0.01 is nothing to hand to a person.
        doubt, sure = explain([[[1.0, 0.0], [0.99, 0.01]], [[1.0, 0.0]] * 2])
        said = "the models largely agree, and at least one expects to be right: total uncertainty"
        assert (doubt.kind, doubt.text) == ("clear", f"{said} 0.01")
        assert (sure.kind, sure.text) == ("clear", f"{said} 0.00")
        assert (sure.members, sure.classes) == (None, None)

    @pytest.mark.parametrize("distance", ["tv", "ordinal", "kolmogorov"])
    @pytest.mark.parametrize("K", [2, 5, 10])
    def test_ignorance_is_not_clear(self, distance, K):
        (reason,) = explain(np.full((1, 2, K), 1 / K), distance)
        assert reason.kind == "ambiguous"

    @pytest.mark.slow
    @pytest.mark.parametrize("distance", ["tv", "ordinal", "kolmogorov"])
    def test_what_is_ambiguous_no_model_finds_easy(self, distance):
        members = predictions(n=4000, M=4, K=5)[0]
        lower = cl.aleatoric_uncertainty(members, distance).lower
        rule = make_rule(0.3, as_distance(distance, 5), 5)
        kinds = [reason.kind for reason in explain(members, distance, review_threshold=0.3)]
        ambiguous = np.isin(kinds, ["ambiguous", "both"])
        assert ambiguous.any()
        assert (lower[ambiguous] >= rule.aleatoric - 1e-5).all()
        assert (lower[~ambiguous] < rule.aleatoric).all()

    def test_rounding_does_not_decide(self):
        """Pairs of models that are 0.4 apart, whichever way they are written; 60:40 likewise."""
        p = np.arange(7) / 10
        pairs = np.stack([p, 1 - p, p + 0.4, 0.6 - p], axis=-1).reshape(-1, 2, 2)
        for members in (pairs, pairs.astype(np.float32)):
            assert {reason.kind for reason in explain(members)} <= {"unknown", "both"}
        for kind in (np.float64, np.float32):
            (reason,) = explain(np.array([[[0.6, 0.4]] * 2], kind))
            assert reason.kind == "ambiguous"

    def test_one_member_is_described(self):
        (hard,), (easy,) = explain([[[0.5, 0.5]]]), explain([[[0.7, 0.3]]])
        assert hard.text == "the model finds the input hard to classify: risk 0.50"
        assert easy.text == "the model expects to be right: total uncertainty 0.30"
        assert hard.members is None

    def test_the_reasons_are_those_of_the_report(self):
        members, _ = predictions(n=200, M=4, K=3)
        members = members.astype(np.float32)
        collector = Collector(ReportConfig(4, 3, tuple("abcd"), review_threshold=0.5))
        collector.add(members)
        printed = np.array([kind.name for kind in KINDS])[collector.finish().kinds]
        review = cl.total_uncertainty(members) > 0.5
        own = np.array([reason.kind for reason in explain(members, review_threshold=0.25)])
        assert (printed[review] == own[review]).all()
        assert set(printed[~review]) == {"clear"}
        assert len(set(printed)) == 4

    def test_the_pair_is_the_farthest(self):
        members, _ = predictions(n=30, M=5, K=4)
        names = [str(m) for m in range(5)]
        for i, reason in enumerate(explain(members, member_names=names)):
            a, b = (members[i, int(m)] for m in reason.members)
            assert np.abs(a - b).sum() / 4 == pytest.approx(cl.epistemic_uncertainty(members[i]))
            assert [int(c) for c in reason.classes] == [a.argmax(), b.argmax()]

    def test_the_distance_counts(self):
        # Members 0 and 1 are as far apart as 0 and 2 in total variation, but not on a line.
        members = [[[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]]
        assert explain(members, "tv")[0].members == ("model 0", "model 1")
        assert explain(members, "ordinal")[0].members == ("model 0", "model 2")


class TestCommand:
    @pytest.fixture
    def models(self, tmp_path):
        members, labels = predictions(n=60)
        (tmp_path / "models").mkdir()
        for m, name in enumerate(("ada", "bob", "cyd")):
            write_npz(tmp_path / "models" / f"{name}.npz", members[:, m], labels)
        return tmp_path / "models", members

    @pytest.mark.parametrize(
        ("option", "value", "count"),
        [("--reject", 0.1, 6), ("--reject", 0.29, 17), ("--budget", 7, 7), ("--budget", 99, 60)],
    )
    def test_most_uncertain_first(self, option, value, count, models):
        folder, members = models
        rows = rows_of(call("pick", folder, option, value, "--chunk-rows", 9).stdout)
        score = cl.total_uncertainty(members)
        order = cl.rejection_order(score)[:count]
        assert [int(row["row"]) for row in rows] == order.tolist()
        assert [int(row["rank"]) for row in rows] == list(range(1, count + 1))
        assert np.array_equal([float(row["tv_total"]) for row in rows], score[order])
        assert [int(row["prediction"]) for row in rows] == cl.majority_vote(members)[order].tolist()
        # Half of the total uncertainty of the last row, so that every row has a reason.
        level = min(0.4, max(0.05, score[order[-1]] / 2))
        names = ["ada", "bob", "cyd"]
        reasons = explain(members[order], member_names=names, review_threshold=level)
        assert [(row["kind"], row["reason"]) for row in rows] == [
            (reason.kind, reason.text) for reason in reasons
        ]
        assert "clear" not in {row["kind"] for row in rows} or score[order[-1]] < 0.1

    def test_rows_have_the_columns_and_the_digits_of_score(self, tmp_path):
        members, labels = predictions(n=40, dtype=np.float32)
        write_npz(tmp_path / "a.npz", members, labels)
        options = (tmp_path / "a.npz", "--measures", "tv,entropy", "--chunk-rows", 7)
        scored = rows_of(call("score", *options).stdout)
        picked = rows_of(call("pick", *options, "--budget", 9, "--by", "entropy_total").stdout)
        order = cl.rejection_order(cl.upper_entropy(members))[:9]
        assert [int(row["row"]) for row in picked] == order.tolist()
        for row in picked:
            same = scored[int(row["row"])]
            assert {name: row[name] for name in same} == same
        assert {"label", "correct", "tv_epistemic"} <= set(picked[0])

    def test_only_the_score_to_go_by_is_computed_for_all_rows(self, models, monkeypatch):
        folder, _ = models
        rows, everything = [], cl.TotalVariation.decompose

        def counted(self, Q):
            rows.append(len(Q))
            return everything(self, Q)

        monkeypatch.setattr(cl.TotalVariation, "decompose", counted)
        call("pick", folder, "--measures", "tv,entropy", "--by", "entropy_total", "--budget", 4)
        assert sum(rows) == 8  # four rows for their columns, and for their reasons

    def test_the_threshold_can_be_chosen(self, models):
        folder, members = models
        options = ("--budget", 60, "--review-threshold", 0.12)
        rows = rows_of(call("pick", folder, *options).stdout)
        reasons = explain(members, review_threshold=0.06)
        assert [row["kind"] for row in rows] == [reasons[int(row["row"])].kind for row in rows]
        assert {row["kind"] for row in rows} != {reason.kind for reason in explain(members)}

    def test_a_share_just_below_a_whole_number(self, tmp_path):
        np.save(tmp_path / "a.npy", predictions(n=100)[0])
        assert 0.29 * 100 < 29
        assert len(rows_of(call("pick", tmp_path, "--reject", 0.29).stdout)) == 29

    def test_by_another_score(self, models):
        folder, members = models
        rows = rows_of(call("pick", folder, "--budget", 5, "--by", "tv_epistemic").stdout)
        order = cl.rejection_order(cl.epistemic_uncertainty(members))[:5]
        assert [int(row["row"]) for row in rows] == order.tolist()

    @pytest.mark.parametrize("score", ["confidence_total", "information_epistemic"])
    def test_by_a_baseline_that_evaluate_suggests(self, score, models):
        folder, members = models
        rows = rows_of(call("pick", folder, "--budget", 5, "--by", score).stdout)
        family, _, component = score.rpartition("_")
        values = getattr(cl.quantify(members, family), component)
        assert [int(row["row"]) for row in rows] == cl.rejection_order(values)[:5].tolist()
        assert {"tv_total", score} <= set(rows[0])

    def test_names_that_look_like_markup_are_shown_as_they_are(self, capsys):
        names = ["[/b]", "[red]cat", ":smile:"]
        print_table("by [/b]", {"id": [*names, None], "[/i]": [1, 2, 3, 4]})
        shown = capsys.readouterr().out
        assert "None" not in shown
        assert all(name in shown for name in ["by [/b]", "[/i]", *names])

    def test_ids_and_names(self, tmp_path):
        members, _ = predictions(n=9)
        for m in range(3):
            path = tmp_path / f"{m}.csv"
            write_csv(path, members[:, m])
            head, *rest = path.read_text().splitlines()
            lines = [f"name,{head}", *(f"x{i},{line}" for i, line in enumerate(rest))]
            path.write_text("\n".join(lines))
        out = tmp_path / "picked.csv"
        done = call("pick", tmp_path, "--id-column", "name", "--budget", 4, "-o", out)
        assert f"wrote 4 of 9 rows to review, by tv_total, to {out}: " in done.stderr
        rows = rows_of(out.read_text())
        order = cl.rejection_order(cl.total_uncertainty(members))[:4]
        assert [row["id"] for row in rows] == [f"x{i}" for i in order]
        assert {row["prediction"] for row in rows} <= set(NAMES)
        assert {row["class_a"] for row in rows} <= set(NAMES)

    def test_bad_rows_are_left_out_and_rows_keep_their_numbers(self, models, tmp_path):
        folder, members = models
        members[3, 0, 0] = np.nan
        write_npz(folder / "ada.npz", members[:, 0])
        out = tmp_path / "picked.csv"
        call("pick", folder, "--budget", 60, "-o", out, "--on-error", "skip", "--chunk-rows", 7)
        kept = np.delete(np.arange(60), 3)
        order = kept[cl.rejection_order(cl.total_uncertainty(members[kept]))]
        assert [int(row["row"]) for row in rows_of(out.read_text())] == order.tolist()
        (side,) = rows_of((tmp_path / "picked.skipped.csv").read_text())
        assert (side["row"], side["reason"].split(";")[0]) == ("3", "class 0 is NaN")

    @pytest.mark.parametrize("how", [("--budget", 1), ("--reject", 0.5)])
    def test_no_row_is_left(self, how, tmp_path):
        np.save(tmp_path / "a.npy", np.full((9, 2, 3), np.nan))
        out = tmp_path / "picked.csv"
        done = runner.invoke(app, ["pick", str(tmp_path / "a.npy"), *map(str, how), "-o", str(out),
                                   "--on-error", "skip"])  # fmt: skip
        assert done.exit_code == 2, done.exception
        *_, last = done.stderr.splitlines()
        assert last == "credalens: rows: no valid row is left; correct the files"
        assert not out.exists()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "--reject: pass either --reject SHARE or --budget NUMBER"),
            (["--reject", "0.1", "--budget", "5"], "pass either"),
            (["--reject", "0.01"], "--reject: 0.01 of 60 rows is 0 rows; pass more"),
            (["--reject", "10"], "--reject: is 10; pass a share between 0 and 1"),
            (["--budget", "3", "--review-threshold", "-2"], "--review-threshold: is -2.0; pass a"),
            (["--budget", "3", "--by", "x"], "--by: is 'x'; choose from tv_total"),
            (["--budget", "3", "-o", "p.doc"], "unknown file extension '.doc'"),
        ],
    )
    def test_invalid_arguments(self, arguments, message, models, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert message in call("pick", models[0], *arguments, code=2).stderr
        assert [path.name for path in tmp_path.iterdir()] == ["models"]

    @pytest.mark.skipif(not Path("/proc/self").exists(), reason="there is no /proc")
    def test_a_folder_that_cannot_be_written_to_raises_first(self):
        done = call("pick", "no such model.npy", "--budget", 1, "-o", "/proc/a.csv", code=2)
        assert "/proc cannot be written to" in done.stderr
