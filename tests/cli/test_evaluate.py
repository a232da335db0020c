"""`credalens evaluate`: metrics with intervals, and guaranteed thresholds."""

import csv
import math
import os
import re
import subprocess

import numpy as np
import pytest
from scipy.stats import binom

import credalens as cl
from credalens.evaluation.baselines import BASELINES
from credalens.evaluation.guarantee import (
    TUNING_SHARE,
    clopper_pearson_lower,
    guaranteed_threshold,
    least_rows,
)
from credalens.evaluation.scores import ScoreColumns
from credalens.measures.results import SUMMARIES
from credalens.measures.table import MEASURES
from prediction_files import call, command, predictions, write_npz


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def models(tmp_path):
    members, labels = predictions(n=2000)
    (tmp_path / "models").mkdir()
    for m in range(3):
        write_npz(tmp_path / "models" / f"{m}.npz", members[:, m], labels)
    return tmp_path / "models", members, labels


class TestGuarantee:
    @pytest.mark.parametrize(("hits", "trials"), [(0, 5), (1, 1), (299, 299), (87, 90)])
    def test_the_bound_is_exact(self, hits, trials):
        bound = clopper_pearson_lower(hits, trials, 0.95)
        # At the bound, as many hits or more have a chance of exactly 5 %.
        assert hits == 0 or binom.sf(hits - 1, trials, bound) == pytest.approx(0.05)
        assert hits or bound == 0

    def test_rows_it_takes(self):
        assert 0.99 ** least_rows(0.99, 0.95) <= 0.05 < 0.99 ** (least_rows(0.99, 0.95) - 1)

    @staticmethod
    def draw(rng, n):
        """Scores on [0, 1]; P(right | s) = 1 - 0.4 s, so that keeping s <= t has 1 - 0.2 t."""
        score = rng.random(n)
        return rng.random(n) > 0.4 * score, score

    @staticmethod
    def draw_hopeless(rng, n):
        """Right with chance 0.899 whatever the score, so that no threshold has accuracy 0.9."""
        return rng.random(n) < 0.899, rng.random(n)

    @pytest.mark.slow
    @pytest.mark.parametrize(("draw", "limit"), [("draw", 0.5), ("draw_hopeless", -1)])
    def test_the_guarantee_holds_with_its_confidence(self, draw, limit):
        # Accuracy 0.9 holds up to the limit; a threshold above it may come in 20 % of the draws.
        rng = np.random.default_rng(1)
        found = [
            guaranteed_threshold(*getattr(self, draw)(rng, 1500), 0.9, 0.8, seed)
            for seed in range(300)
        ]
        broken = [answer.threshold is not None and answer.threshold > limit for answer in found]
        assert np.mean(broken) <= 0.2 + 3 * math.sqrt(0.2 * 0.8 / 300)
        if limit > 0:  # and it is of use: most of what could be kept is kept
            assert np.median([answer.kept for answer in found]) > 0.35

    def test_a_search_that_pays_nothing_breaks_it(self):
        # Shows that the test above can fail.
        rng = np.random.default_rng(1)
        broken = 0
        for _ in range(100):
            right, score = self.draw_hopeless(rng, 1500)
            hits = np.cumsum(right[np.argsort(score)])
            broken += any(
                clopper_pearson_lower(int(hits[m - 1]), m, 0.8) >= 0.9 for m in range(20, 1501, 20)
            )
        assert broken / 100 > 0.4

    def test_more_rows_keep_more_and_less_confidence_too(self):
        rng = np.random.default_rng(2)
        right, score = self.draw(rng, 40000)
        many = guaranteed_threshold(right, score, 0.9, 0.95, 0)
        few = guaranteed_threshold(right[:1000], score[:1000], 0.9, 0.95, 0)
        assert 0.4 < many.threshold < 0.5
        assert few.kept < many.kept
        assert many.bound >= 0.9
        assert many.observed >= many.bound
        assert many.kept == (score <= many.threshold).mean()
        assert many.n_tested == 40000 - int(TUNING_SHARE * 40000)

    def test_nothing_can_be_promised(self):
        found = guaranteed_threshold(np.ones(100, bool), np.linspace(0, 1, 100), 0.99, 0.95)
        assert found.threshold is None
        assert found.kept == 0
        assert guaranteed_threshold([], [], 0.9).threshold is None

    def test_right_tuning_rows_do_not_ask_for_everything_at_once(self):
        n = 540
        tuning = np.random.default_rng(0).permutation(n)[: n // 5]
        score = np.arange(n)
        right = score < 515
        right[tuning] = True
        assert 0.9 < guaranteed_threshold(right, score, 0.985, 0.95, 0).kept < 0.96

    def test_all_scores_equal(self):
        found = guaranteed_threshold(np.ones(1000, bool), np.zeros(1000), 0.99, 0.95)
        assert found.kept == 1
        assert found.threshold == math.inf

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_the_threshold_means_the_same_in_every_precision(self, dtype):
        rng = np.random.default_rng(3)
        right, score = self.draw(rng, 5000)
        score = score.astype(dtype)
        found = guaranteed_threshold(right, score, 0.9, random_state=0)
        threshold = float(repr(found.threshold))
        assert found.kept == (score.astype(np.float64) <= threshold).mean()
        assert found.kept == (score <= dtype(threshold)).mean()

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (([True], [np.nan]), "score: is NaN at index 0"),
            (([True], [0.1, 0.2]), "score: has 2 entries; pass 1"),
            (([True], [0.1], 1.0), r"target: is 1.0; pass a number in \(0, 1\)"),
            (([True], [0.1], 0.9, 0.0), "confidence: is 0.0; pass"),
        ],
    )
    def test_invalid_arguments(self, arguments, message):
        with pytest.raises(ValueError, match=message):
            guaranteed_threshold(*arguments)


class TestColumns:
    def test_invalid_arguments(self):
        with pytest.raises(ValueError, match="measures: is empty"):
            ScoreColumns(())
        with pytest.raises(ValueError, match="measures: is 'x'; choose one of"):
            ScoreColumns(("x",))
        with pytest.raises(ValueError, match="summary: is 'x'; choose one of"):
            ScoreColumns(summary="x")

    def test_a_row_for_total_variation_is_not_taken_for_one_of_another_distance(self):
        for distance in ("ordinal", cl.Wasserstein(1 - np.eye(3))):
            with pytest.raises(ValueError, match=r"'total' is that of total variation.*pass tv"):
                ScoreColumns(("upper_entropy", "total"), distance)
        for distance in ("tv", cl.TotalVariation()):
            assert ScoreColumns(("total",), distance).names == ("total",)
        assert ScoreColumns(("total:ordinal",), "kolmogorov").names == ("total:ordinal",)

    def test_names(self):
        both = ScoreColumns(("hartley", "tv"), "ordinal", "upper")
        assert both.names == (
            "hartley_total", "hartley_aleatoric", "hartley_epistemic",
            "ordinal_total", "ordinal_aleatoric_upper", "ordinal_epistemic",
        )  # fmt: skip

    def test_every_row_of_the_measure_table_is_a_column(self):
        Q = cl.ConvexHull(np.random.default_rng(0).dirichlet(np.ones(4), (5, 3)))
        scores = ScoreColumns(tuple(MEASURES))
        found = scores(Q)
        assert tuple(found) == scores.names == tuple(MEASURES)
        for name, column in found.items():
            assert np.array_equal(column, MEASURES[name](Q)), name
        # Under its own name, mean imprecision is that of the chosen distance.
        other = ScoreColumns(("mmi", "imprecision_bound"), "ordinal")(Q)
        assert np.array_equal(other["mmi"], cl.maximum_mean_imprecision(Q, "ordinal"))
        assert np.array_equal(other["imprecision_bound"], cl.imprecision_bound(Q))

    @pytest.mark.parametrize("summary", SUMMARIES)
    def test_every_summary(self, summary):
        Q = cl.ConvexHull(np.random.default_rng(0).dirichlet(np.ones(4), (5, 3)))
        found = ScoreColumns(summary=summary)(Q)
        value = cl.summarize(cl.aleatoric_uncertainty(Q), summary)
        ends = [("lower", value.lower), ("upper", value.upper)] if summary == "interval" else []
        for name, expected in ends or [(summary, value)]:
            np.testing.assert_allclose(found[f"tv_aleatoric_{name}"], expected, atol=1e-15)


class TestCommand:
    @pytest.mark.slow
    def test_table_files_and_picture(self, models, tmp_path):
        folder, members, labels = models
        out = tmp_path / "out"
        done = call("evaluate", folder, "--measures", "tv,mmi", "-o", out, "--bootstrap", 20,
                    "--target-accuracy", 0.8, "--chunk-rows", 300)  # fmt: skip
        rows = {row["score"]: row for row in rows_of(out / "evaluation.csv")}
        assert list(rows) == [
            "tv_total",
            "tv_aleatoric_lower",
            "tv_aleatoric_upper",
            "tv_aleatoric (interval)",
            "tv_epistemic",
            "mmi",
            *BASELINES,
        ]
        vote = cl.majority_vote(members)
        u = cl.quantify(members)
        for name, score in (("tv_total", u.total), ("tv_aleatoric (interval)", u.aleatoric)):
            curve = cl.rejection_curve(labels, vote, score)
            assert float(rows[name]["auc"]) == pytest.approx(curve.auc, abs=1e-15)
            assert name in done.stdout
        accuracy = (vote == labels).mean()
        assert float(rows["tv_total"]["accuracy_at_0"]) == accuracy
        assert f"Accuracy on all 2000 rows in %: {100 * accuracy:.2f}" in done.stdout
        metrics = cl.selective_metrics(labels, vote, u.total)
        for name in ("aurc", "eaurc", "auarc", "augrc", "eaugrc", "prr", "auroc"):
            row = rows["tv_total"]
            assert float(row[name]) == pytest.approx(getattr(metrics, name), abs=1e-12)
            assert float(row[f"{name}_low"]) <= float(row[name]) <= float(row[f"{name}_high"])
        assert (out / "rejection_curves.png").read_bytes()[:4] == b"\x89PNG"
        (promise,) = rows_of(out / "guarantee.csv")
        answer = guaranteed_threshold(vote == labels, u.total, 0.8, 0.95, 0)
        assert float(promise["threshold"]) == answer.threshold
        assert f"tv_total <= {answer.threshold!r}" in done.stdout

    @pytest.mark.slow
    def test_baselines_and_metrics_are_printed(self, models):
        folder, members, labels = models
        right = cl.majority_vote(members) == labels
        printed = call("evaluate", folder, "--metrics", "aurc, E-AURC,auroc").stdout
        u = cl.quantify(members, ["tv", "information"])
        scores = {
            "tv_total": u["tv"].total,
            "confidence_total (baseline)": 1 - members.mean(axis=1).max(axis=1),
            "information_total (baseline)": u["information"].total,
            "information_epistemic (baseline)": u["information"].epistemic,
        }
        first, _, second = printed.partition("Metrics of selective prediction")
        for name, score in scores.items():
            area = cl.rejection_curve(right, None, score).auc
            assert re.search(rf"{re.escape(name)} +{100 * area:.2f} ", first)
            m = cl.selective_metrics(right, None, score)
            values = " +".join(f"{x:.4f}" for x in (m.aurc, m.eaurc, m.auroc))
            assert re.search(rf"{re.escape(name)} +{values}", second)
        most = 100 * np.bincount(labels).max() / len(labels)
        assert f"; of the most frequent class: {most:.2f}" in printed

    @pytest.mark.slow
    def test_a_better_score_is_named_and_can_be_used(self, models, tmp_path):
        folder, members, labels = models
        noise = np.random.default_rng(0).dirichlet(np.ones(3), len(members))
        write_npz(folder / "noise.npz", noise, labels)  # distorts the set, not the mean
        done = call("evaluate", folder, "-o", tmp_path / "out")
        rows = {row["score"]: float(row["auc"]) for row in rows_of(tmp_path / "out/evaluation.csv")}
        best = max(rows, key=rows.get)
        assert best != "tv_total"
        points = 100 * (rows[best] - rows["tv_total"])
        assert (
            f"Best score: {best}, AUC {100 * rows[best]:.2f} %, {points:.2f} points above tv_total"
            in done.stdout
        )
        assert f"Rank by {best} instead." in done.stdout
        assert f"To use it: --score {best} here, --by in credalens pick." in done.stdout
        kept = call("evaluate", folder, "--score", best, "--target-accuracy", 0.8, "--bootstrap", 0)
        assert f"{best}: keep " in kept.stdout
        assert f"by {best}" in call(
            "pick", folder, "--by", best, "--budget", 3, "-o", tmp_path / "p.csv"
        ).stderr  # fmt: skip

    def test_chance_is_no_reason_to_switch(self, tmp_path):
        members, labels = predictions(n=60)
        np.savez(tmp_path / "a.npz", probs=members, labels=labels)
        printed = call("evaluate", tmp_path / "a.npz").stdout
        assert "Best score: " in printed
        assert "instead" not in printed

    @pytest.mark.slow
    def test_a_model_that_distorts_the_uncertainty(self, models):
        folder, members, labels = models
        assert "Warning" not in call("evaluate", folder).stdout
        wrong = np.eye(3)[np.random.default_rng(1).integers(3, size=len(labels))]
        write_npz(folder / "broken.npz", wrong, labels)
        done = call("evaluate", folder, "--bootstrap", 0)
        first = done.stdout.splitlines()[0]
        whole = np.concatenate([members, wrong[:, None]], axis=1)
        d = cl.diagnose_members(whole, labels, ["0", "1", "2", "broken"])
        assert d.spoilers == [3]
        assert first == f"Warning: model {d.verdicts[3]}."
        accuracy = 100 * (cl.majority_vote(members) == labels).mean()
        assert f"accuracy {accuracy:.1f} %, not " in first
        assert "sets TU" not in done.stderr

    @pytest.mark.slow
    def test_several_scores_share_the_confidence(self, models, tmp_path):
        folder, members, labels = models
        call("evaluate", folder, "-o", tmp_path, "--bootstrap", 0, "--target-accuracy", 0.8,
             "--score", "tv_total,tv_epistemic", "--confidence", 0.9)  # fmt: skip
        found = rows_of(tmp_path / "guarantee.csv")
        assert [float(row["confidence"]) for row in found] == [pytest.approx(0.95)] * 2
        right = cl.majority_vote(members) == labels
        answer = guaranteed_threshold(right, cl.epistemic_uncertainty(members), 0.8, 0.95, 0)
        assert float(found[1]["kept"]) == pytest.approx(answer.kept)

    def test_no_threshold(self, models):
        done = call("evaluate", models[0], "--bootstrap", 0, "--target-accuracy", 0.9999)
        assert "no threshold reaches accuracy 0.9999" in done.stdout
        assert f"at least {least_rows(0.9999, 0.95)} kept rows must be correct" in done.stdout

    def test_one_row_is_described(self, tmp_path):
        np.savez(tmp_path / "a.npz", probs=[[[0.9, 0.1], [0.8, 0.2]]], labels=[0])
        printed = call("evaluate", tmp_path / "a.npz", "--target-accuracy", 0.9).stdout
        assert "Accuracy on the only row in %: 100.00" in printed
        assert "on 1 test row; at least" in printed

    def test_everything_may_be_kept(self, models):
        done = call("evaluate", models[0], "--bootstrap", 0, "--target-accuracy", 0.3)
        assert "tv_total: keep all predictions; their accuracy is at least 0.3" in done.stdout

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (
                ["--score", "tv_total"],
                "--score: applies to --target-accuracy; pass both",
            ),
            (["--target-accuracy", "99"], "--target-accuracy: is 99; pass a number between 0 and"),
            (["--confidence", "1"], "--confidence: is 1"),
            (["--bootstrap", "0", "--seed", "0"], "--seed: applies to --bootstrap and --target"),
            (["--bootstrap", "0", "--confidence", "0.95"], "--confidence: applies to --bootstrap"),
            (["--target-accuracy", "0.9", "--score", "x"], "--score: is 'x'; choose from tv_total"),
        ],
    )
    def test_options(self, arguments, message, models):
        assert message in call("evaluate", models[0], *arguments, code=2).stderr

    def test_labels_are_needed(self, tmp_path):
        members, labels = predictions()
        np.save(tmp_path / "a.npy", members)
        done = call("evaluate", tmp_path / "a.npy", code=2)
        assert "labels: no file has labels; pass --labels FILE" in done.stderr
        (tmp_path / "truth.txt").write_text("\n".join(map(str, labels)))
        call("evaluate", tmp_path / "a.npy", "--labels", tmp_path / "truth.txt", "--bootstrap", 0)

    @pytest.mark.slow
    def test_files_are_written_though_no_one_reads_what_is_printed(self, models, tmp_path):
        out = tmp_path / "out"
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            command("evaluate", models[0], "-o", out, "--target-accuracy", 0.8),
            stdout=writer, stderr=subprocess.PIPE, timeout=120, text=True,
        )  # fmt: skip
        os.close(writer)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert sorted(path.name for path in out.iterdir()) == [
            "evaluation.csv", "guarantee.csv", "rejection_curves.png",
        ]  # fmt: skip

    @pytest.mark.slow
    def test_nothing_of_an_earlier_evaluation_stays(self, models, tmp_path):
        folder, members, labels = models
        out, spoilt = tmp_path / "out", members[:, 0].copy()
        spoilt[7, 0] = np.nan
        write_npz(folder / "0.npz", spoilt, labels)
        options = ("--on-error", "skip", "--bootstrap", 0, "-o", out)
        call("evaluate", folder, *options, "--target-accuracy", 0.8)
        assert {"guarantee.csv", "evaluation.skipped.csv"} <= {p.name for p in out.iterdir()}
        (out / "mine.txt").touch()
        write_npz(folder / "0.npz", members[:, 0], labels)
        call("evaluate", folder, *options)
        assert sorted(path.name for path in out.iterdir()) == [
            "evaluation.csv", "mine.txt", "rejection_curves.png",
        ]  # fmt: skip

    @pytest.mark.slow
    def test_files_of_others_stay(self, models, tmp_path):
        theirs = ("guarantee.csv", "evaluation.skipped.csv")
        for name in theirs:
            (tmp_path / name).write_text("years,of what\n2,the fridge\n")
        call("evaluate", models[0], "--bootstrap", 0, "-o", tmp_path)
        for name in theirs:
            assert (tmp_path / name).read_text() == "years,of what\n2,the fridge\n"

    def test_a_bad_file_leaves_no_folder(self, models, tmp_path):
        folder, members, labels = models
        members[7, 0, 0] = np.nan
        write_npz(folder / "0.npz", members[:, 0], labels)
        call("evaluate", folder, "-o", tmp_path / "a" / "b", code=2)
        assert not (tmp_path / "a").exists()

    def test_a_folder_that_cannot_be_written_to_raises_first(self, tmp_path):
        (tmp_path / "file").touch()
        done = call("evaluate", "no such model.npy", "-o", tmp_path / "file", code=2)
        assert "file is a file; name a folder" in done.stderr

    @pytest.mark.slow
    def test_skip(self, models, tmp_path):
        folder, members, labels = models
        members[7, 0, 0] = np.nan
        write_npz(folder / "0.npz", members[:, 0], labels)
        out = tmp_path / "out"
        done = call("evaluate", folder, "--on-error", "skip", "--bootstrap", 0, "-o", out)
        assert "skipped 1 invalid row" in done.stderr
        assert [row["row"] for row in rows_of(out / "evaluation.skipped.csv")] == ["7"]
        assert "all 1999 rows" in done.stdout
