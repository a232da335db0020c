"""``credalens score --format logprobs``: tokens, answers and questions with choices."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import credalens as cl
from credalens.io import read_logprobs
from language_responses import K, chat, distributions, responses, top, vllm, write
from prediction_files import call, read

T, N, M = 4, 6, 3
P = np.stack([[distributions(T, seed=10 * m + q) for q in range(N)] for m in range(M)])


@pytest.fixture
def files(tmp_path):
    """Greedy answers of three members; their tokens are equal."""
    return [
        write(tmp_path / f"m{m}.jsonl", [{"custom_id": f"q{q}", **chat(p, [0] * T, 6)}
                                         for q, p in enumerate(own)])
        for m, own in enumerate(P)
    ]  # fmt: skip


def score(tmp_path, *arguments, name="out.parquet"):
    out = tmp_path / name
    done = call("score", *arguments, "--format", "logprobs", "-o", out)
    return read(out), done


def test_tokens_have_the_scores_and_errors_of_their_lists(tmp_path, files):
    found, _ = score(tmp_path, *files, "--level", "token", "--measures", "tv,zero_one,entropy",
                     "--n-classes", K)  # fmt: skip
    answers = read_logprobs(files, n_classes=K)
    assert found["id"].tolist() == answers.ids.tolist()
    assert found["position"].tolist() == list(range(T)) * N
    assert found["token"].tolist() == found["prediction"].tolist() == [" Paris"] * (N * T)
    assert (found["n_members"] == M).all()
    own = np.log(P[:, :, :, 0]).reshape(M, -1)
    assert_allclose(found["logprob_lower"], own.min(axis=0), rtol=1e-12)
    assert_allclose(found["logprob_upper"], own.max(axis=0), rtol=1e-12)
    u = cl.quantify(answers.hull, ["tv", "zero_one", "entropy"])
    assert_array_equal(found["tv_epistemic"], u["tv"].epistemic)
    assert_array_equal(found["tv_epistemic_error"], u["tv"].errors.epistemic)
    assert_array_equal(found["tv_aleatoric_upper_error"], u["tv"].errors.aleatoric.upper)
    assert_array_equal(found["zero_one_total"], u["zero_one"].total)
    assert_array_equal(found["entropy_aleatoric_error"], u["entropy"].errors.aleatoric)
    # The values of all tokens of the vocabulary are within the errors.
    dense = cl.quantify(np.moveaxis(P, 0, 3).reshape(-1, K, M).swapaxes(1, 2), ["tv", "entropy"])
    for family, name in (("tv", "epistemic"), ("tv", "total"), ("entropy", "total")):
        off = np.abs(found[f"{family}_{name}"] - getattr(dense[family], name))
        assert (off <= found[f"{family}_{name}_error"] + 1e-9).all()


@pytest.mark.parametrize("aggregate", ["mean", "max", "sum"])
def test_answers_are_aggregated_tokens(tmp_path, files, aggregate):
    tokens, _ = score(tmp_path, *files, "--level", "token", name="tokens.parquet")
    found, _ = score(tmp_path, *files, "--aggregate", aggregate)
    assert found["id"].tolist() == [f"q{q}" for q in range(N)]
    assert (found["n_tokens"] == T).all()
    assert (found["length"] == T).all()
    reduce = getattr(np, aggregate)
    names = [name for name in tokens if name.startswith("tv_")]
    assert len(names) == 8
    for name in names:
        assert_allclose(found[name], reduce(tokens[name].reshape(N, T), axis=1), rtol=1e-12)
    own = np.log(P[:, :, :, 0])
    per_answer = own.sum(axis=2) if aggregate == "sum" else own.mean(axis=2)
    assert_allclose(found["logprob_lower"], per_answer.min(axis=0), rtol=1e-12)
    assert_allclose(found["logprob_upper"], per_answer.max(axis=0), rtol=1e-12)


def test_members_may_lack_records(tmp_path, files):
    shorter = [json.loads(line) for line in Path(files[1]).read_text().splitlines()]
    write(tmp_path / "m1.jsonl", [record for q, record in enumerate(shorter) if q not in (2, 5)])
    done = call("score", *files, "--format", "logprobs", code=2)
    assert "m1.jsonl: has no record 'q2' (line 3 of" in done.stderr
    assert "--missing allow" in done.stderr
    found, _ = score(tmp_path, *files, "--missing", "allow", "--level", "token")
    alone, _ = score(tmp_path, files[0], files[2], "--level", "token", name="alone.parquet")
    whole, _ = score(tmp_path, files[0], files[2], "--level", "token", name="alone.parquet")
    assert sorted(set(found["id"].tolist())) == [f"q{q}" for q in range(N)]
    few = np.isin(found["id"], ["q2", "q5"])
    assert_array_equal(found["n_members"], np.where(few, M - 1, M))
    for name in ("tv_total", "tv_epistemic", "tv_epistemic_error", "logprob_lower"):
        assert_array_equal(found[name][few], alone[name][np.isin(alone["id"], ["q2", "q5"])])
    assert whole["tv_total"].shape == (N * T,)


def test_invalid_lines_are_skipped_and_listed(tmp_path, files):
    lines = Path(files[0]).read_text().splitlines()
    lines[1] = '{"custom_id": "q1", "response": null, "error": {"message": "expired"}}'
    (tmp_path / "m0.jsonl").write_text("\n".join(lines) + "\n")
    done = call("score", *files, "--format", "logprobs", code=2)
    assert "m0.jsonl: line 2 is the error 'expired'; request it again" in done.stderr
    found, done = score(tmp_path, *files, "--on-error", "skip")
    assert found["id"].tolist() == ["q0", "q2", "q3", "q4", "q5"]
    listed = (tmp_path / "out.skipped.csv").read_text()
    assert "line 2 is the error" in listed
    assert '"q1"' in listed


def test_pipes_and_tables(files):
    done = call("score", *files, "--format", "logprobs", "--to", "jsonl")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert [row["id"] for row in rows] == [f"q{q}" for q in range(N)]
    done = call("score", "-", "--format", "logprobs", input=Path(files[0]).read_text())
    assert done.stdout.startswith("id,n_members,n_tokens,length,logprob_lower,")
    assert "there is only one member" in done.stderr


def test_scored_prompts(tmp_path):
    from language_responses import vllm_prompt

    paths = [write(tmp_path / f"{m}.jsonl", [vllm_prompt(P[m, 0], [1] * T, 6)]) for m in range(2)]
    found, _ = score(tmp_path, *paths, "--level", "token", "--tokens", "prompt")
    assert found["row"].tolist() == [0] * T
    assert found["token"].tolist() == ["Paris"] * T


def test_shapes_may_be_mixed(tmp_path):
    paths = [write(tmp_path / f"{f.__name__}.jsonl", [{"custom_id": "q", **f(P[0, 0], [0] * T, 6)}])
             for f in (chat, vllm, responses)]  # fmt: skip
    found, _ = score(tmp_path, *paths)
    assert_allclose(found["tv_epistemic"], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measures", "entropy,tv"], "--n-classes: is needed by entropy"),
        (["--measures", "variance"], "--measures: is 'variance', which needs the probabilities of"),
        (["--measures", "mmi"], "--measures: is 'mmi'"),
        (["--distance", "ordinal"], "--distance: does not apply to lists of tokens"),
        (["--weights", "1,2,3"], "--weights: does not apply to lists of tokens"),
        (["--report", "r.html"], "--report: does not apply to lists of tokens"),
        (["--level", "word"], "--level: is 'word'; choose token, sequence, choice"),
        (["--aggregate", "median"], "--aggregate: is 'median'; choose mean, max, sum"),
        (["--level", "token", "--aggregate", "max"], "--aggregate: applies to --level sequence"),
        (["--level", "token", "--choices", "A,B"], "--choices: applies to --level choice"),
        (["--choices", "A"], "--choices: is 'A'; pass at least two different ones"),
        (["--choices", "A,B"], "line 1 lists none of the choices A, B at its first token"),
        (["--level", "choice"], "line 1 has lists of tokens, not a log-probability for each"),
        (["--n-classes", "7"], "do not fit a vocabulary of 7; pass a larger --n-classes"),
        (["--tokens", "all"], "--tokens: is 'all'; choose generated or prompt"),
    ],
)
def test_options_that_do_not_fit(files, options, message):
    done = call("score", *files, "--format", "logprobs", *options, code=2)
    assert message in done.stderr


def test_options_of_language_models_need_their_format(tmp_path):
    (tmp_path / "a.csv").write_text("0.5,0.5\n0.2,0.8\n")
    for options in (["--level", "token"], ["--n-classes", "9"], ["--choices", "A,B"],
                    ["--aggregate", "sum"]):  # fmt: skip
        done = call("score", tmp_path / "a.csv", *options, code=2)
        assert "pass --format logprobs" in done.stderr
    done = call("score", tmp_path / "a.csv", "--format", "logprobs", code=2)
    assert "is a .csv file, and --format logprobs reads JSON lines" in done.stderr


# ---------------------------------------------------------------- questions with choices


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


TEXTS = ["Paris", "Lyon and Nice", "Rome"]
LOGPROBS = np.random.default_rng(0).normal(-9, 3, (M, N, 3))
LABELS = LOGPROBS.sum(axis=0).argmax(axis=1)


def harness(m, strings=True):
    """Samples of lm-evaluation-harness, as versions before and after 0.4.3 write them."""
    for q in range(N):
        pairs = [[float(x), False] for x in LOGPROBS[m, q]]
        requests = [["Capital?", f" {text}"] for text in TEXTS]
        if strings:
            pairs = [list(map(str, pair)) for pair in pairs]
            requests = {
                f"gen_args_{i}": {"arg_0": a, "arg_1": b} for i, (a, b) in enumerate(requests)
            }
        answers = {"resps": [[pair] for pair in pairs], "filtered_resps": pairs}
        yield {"doc_id": q, "target": str(LABELS[q]), "arguments": requests, **answers}


def mutual_information(m):
    """The same with the log-probabilities of the choices without the question."""
    for record in harness(m, strings=False):
        record["arguments"] += [["", b] for _, b in record["arguments"]]
        record["filtered_resps"] = record["filtered_resps"] + [[-3.0, False]] * 3
        yield record


def plain(m):
    for q in range(N):
        yield {"id": q, "choices": TEXTS, "choice_logprobs": LOGPROBS[m, q].tolist(),
               "answer": TEXTS[LABELS[q]]}  # fmt: skip


def by_token(m):
    for q in range(N):
        lists = [[x / 2] * 2 for x in LOGPROBS[m, q]]
        yield {"id": q, "choice_logprobs": dict(zip(TEXTS, lists, strict=True)),
               "gold": "ABC"[LABELS[q]]}  # fmt: skip


@pytest.mark.parametrize(
    "make", [harness, lambda m: harness(m, False), mutual_information, plain, by_token]
)
def test_questions_are_predictions_of_their_choices(tmp_path, make):
    paths = [write(tmp_path / f"m{m}.jsonl", list(make(m))) for m in range(M)]
    found, _ = score(tmp_path, *paths, "--measures", "tv,information")
    members = softmax(LOGPROBS).swapaxes(0, 1)
    u = cl.quantify(members, ["tv", "information"])
    assert found["id"].tolist() == [str(q) for q in range(N)]
    assert_allclose(found["tv_epistemic"], u["tv"].epistemic, rtol=1e-12)
    assert_allclose(found["information_epistemic"], u["information"].epistemic, atol=1e-12)
    vote = np.asarray(cl.majority_vote(members))
    assert found["prediction"].tolist() == [TEXTS[y] for y in vote]
    assert found["label"].tolist() == [TEXTS[y] for y in LABELS]
    assert_array_equal(found["correct"], vote == LABELS)


@pytest.mark.parametrize("aggregate", ["sum", "characters", "bytes", "mean"])
def test_log_probabilities_are_divided_by_lengths(tmp_path, aggregate):
    paths = [write(tmp_path / f"m{m}.jsonl", list(by_token(m))) for m in range(M)]
    found, _ = score(tmp_path, *paths, "--aggregate", aggregate)
    lengths = {"sum": [1, 1, 1], "mean": [2, 2, 2]}.get(aggregate, [len(t) for t in TEXTS])
    members = softmax(LOGPROBS / np.array(lengths)).swapaxes(0, 1)
    assert_allclose(found["tv_total"], cl.total_uncertainty(members), rtol=1e-12)


def test_all_commands_read_questions(tmp_path):
    paths = [write(tmp_path / f"m{m}.jsonl", list(harness(m))) for m in range(M)]
    assert "Accuracy on all 6 rows" in call("evaluate", *paths, "--format", "logprobs").stdout
    assert "3 models, 6 rows" in call("diagnose", *paths, "--format", "logprobs").stdout
    done = call("decide", *paths, "--format", "logprobs", "--weights", "2,1,1")
    assert done.stdout.startswith("id,decision,labels,")


def test_questions_with_different_numbers_of_choices(tmp_path):
    records = [{"id": "a", "choice_logprobs": [-1.0, -2.0]},
               {"id": "b", "choice_logprobs": [-1.0, -2.0, -3.0], "label": 2}]  # fmt: skip
    found, _ = score(tmp_path, write(tmp_path / "a.jsonl", records))
    expected = [1 - softmax(np.array(r["choice_logprobs"])).max() for r in records]
    assert_allclose(found["tv_total"], expected, rtol=1e-12)
    assert found["prediction"].tolist() == [0, 0]


def test_choices_of_the_first_token(tmp_path):
    letters = ("A", "B", "C", "D")
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(8), size=(2, N))
    # Tokens 0..3 are the letters, 4..7 the letters after a space.
    names = [*letters, *(f" {letter}" for letter in letters)]
    paths = []
    for m in range(2):
        records = []
        for q in range(N):
            tops = [{"token": names[y], "logprob": float(np.log(p[m, q, y]))}
                    for y in top(p[m, q], 8)]  # fmt: skip
            content = [{**tops[0], "top_logprobs": tops}]
            choice = {"logprobs": {"content": content}}
            records.append({"custom_id": q, "answer": "B", "response": {"choices": [choice]}})
        paths.append(write(tmp_path / f"{m}.jsonl", records))
    found, _ = score(tmp_path, *paths, "--choices", "A,B,C,D")
    members = (p[..., :4] + p[..., 4:]).swapaxes(0, 1)
    assert_allclose(found["tv_total"], cl.total_uncertainty(members), rtol=1e-9)
    assert found["label"].tolist() == ["B"] * N


def test_errors_of_questions(tmp_path):
    def refused(records, *options):
        path = write(tmp_path / "a.jsonl", records)
        return call("score", path, "--format", "logprobs", *options, code=2).stderr

    good = {"id": "a", "choice_logprobs": [-1.0, -2.0]}
    assert "line 2 has the log-probability 1, above 0" in refused(
        [good, {"id": "b", "choice_logprobs": [-1.0, 1.0]}]
    )
    assert "question 'a' has no texts of its choices" in refused([good], "--aggregate", "bytes")
    assert "question 'a' has no numbers of tokens" in refused([good], "--aggregate", "mean")
    assert "--aggregate: is 'max'" in refused([good], "--aggregate", "max")
    assert "has 1 line with the id 'b', 2 with others" in refused([good, good, {**good, "id": "b"}])
    assert "line 1 is not a multiple-choice task" in refused(
        [{"doc_id": 0, "resps": [["text"], ["text"]]}], "--level", "choice"
    )
    assert "line 1 has log-probabilities of choices, not of tokens; pass --level choice" in refused(
        [good], "--level", "token"
    )
    done = call("score", write(tmp_path / "a.jsonl", [good, {}]), "--format", "logprobs",
                "--on-error", "skip")  # fmt: skip
    assert "1 line left out: line 2 has no log-probability for each choice" in done.stderr
