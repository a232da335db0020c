"""Responses of language models: every shape gives the same credal sets; traps of real servers."""

import json
import re

import numpy as np
import pytest
from numpy.testing import assert_allclose

import credalens as cl
import language_responses as responses
from credalens.io import PredictionFileError, read_logprobs
from language_responses import SHAPES, VOCABULARY, K, chat, distributions, top, write

T, K_TOP = 3, 5


def written(tmp_path, make, P, ids=("q0", "q1"), k=K_TOP, suffix=".jsonl"):
    """One file per member, of greedy answers with the distributions ``P[m, q, t]``."""
    paths = []
    for m, own in enumerate(P):
        records = [{"custom_id": name, **make(p, [top(row, 1)[0] for row in p], k)}
                   for name, p in zip(ids, own, strict=True)]  # fmt: skip
        paths.append(write(tmp_path / f"{make.__name__}{m}{suffix}", records))
    return paths


def lists(hull, i, m):
    """The listed probabilities of a member of a row, as a set."""
    kept = hull.ids[i, m] >= 0
    return sorted(np.asarray(hull.probs[i, m][kept]).tolist())


P = np.stack([[distributions(T, seed=10 * m + q) for q in range(2)] for m in range(2)])


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_the_lists_of_the_model(tmp_path, name):
    found = read_logprobs(written(tmp_path, SHAPES[name], P))
    compared = 1 if name == "plain" else T  # does not name the chosen tokens
    assert found.ids.tolist() == ["q0"] * compared + ["q1"] * compared
    assert found.positions.tolist() == [*range(compared)] * 2
    if name not in ("plain", "vllm_token_ids"):
        assert found.tokens.tolist() == [" Paris"] * 6
    assert found.names == (f"{name}0", f"{name}1")
    for i in range(len(found.ids)):
        q, t = divmod(i, compared)
        for m in range(2):
            p = P[m, q, t]
            assert_allclose(lists(found.hull, i, m), np.sort(p[top(p, K_TOP)]), rtol=1e-12)
    # The same token of two members is the same class.
    u = cl.quantify(found.hull)
    v = cl.quantify(np.moveaxis(P[:, :, :compared], 0, 2).reshape(-1, 2, K))
    assert (np.abs(u.epistemic - v.epistemic) <= u.errors.epistemic + 1e-12).all()
    assert (np.abs(u.total - v.total) <= u.errors.total + 1e-12).all()


def test_entropies_of_a_known_vocabulary_contain_the_dense_ones(tmp_path):
    found = read_logprobs(written(tmp_path, chat, P), n_classes=K)
    dense = np.moveaxis(P, 0, 2).reshape(-1, 2, K)
    for family in ("entropy", "information", "zero_one"):
        u, v = cl.quantify(found.hull, family), cl.quantify(dense, family)
        for name in ("total", "aleatoric", "epistemic"):
            error = np.abs(getattr(u, name) - getattr(v, name))
            assert (error <= getattr(u.errors, name) + 1e-9).all(), (family, name)


# ---------------------------------------------------------------- the chosen token and the list


def one(tmp_path, record, **options):
    return read_logprobs(write(tmp_path / "a.jsonl", [record]), **options)


def answer(chosen, tops):
    """A chat response with one token, and its alternatives as ``{text: probability}``."""
    entry = {"token": chosen[0], "logprob": chosen[1]}
    alternatives = [{"token": t, "logprob": float(np.log(p))} for t, p in tops.items()]
    return {"choices": [{"logprobs": {"content": [{**entry, "top_logprobs": alternatives}]}}]}


def test_a_chosen_token_that_was_added_to_the_list_is_removed(tmp_path):
    # No unlisted token may be more probable than a listed one: "z" says nothing of the others.
    found = one(tmp_path, answer(("z", np.log(0.001)), {"a": 0.5, "b": 0.2, "z": 0.001}))
    assert lists(found.hull, 0, 0) == pytest.approx([0.2, 0.5])
    found = one(tmp_path, answer(("b", np.log(0.2)), {"a": 0.5, "b": 0.2, "c": 0.1}))
    assert lists(found.hull, 0, 0) == pytest.approx([0.1, 0.2, 0.5])


def test_ranks_state_which_tokens_are_the_most_probable(tmp_path):
    def entry(p, rank):
        return {"logprob": float(np.log(p)), "rank": rank}

    record = {"prompt_logprobs": [None, {"7": entry(0.001, 400), "1": entry(0.5, 1),
                                         "2": entry(0.2, 2)}]}  # fmt: skip
    found = one(tmp_path, record)
    assert found.hull.ids[0, 0].tolist() == [1, 2]
    ties = {"1": entry(0.3, 2), "2": entry(0.3, 2), "3": entry(0.1, 3)}
    assert one(tmp_path, {"prompt_logprobs": [None, ties]}).hull.ids[0, 0].tolist() == [1, 2, 3]
    with pytest.raises(PredictionFileError, match="does not list the most probable token"):
        one(tmp_path, {"prompt_logprobs": [None, {"7": entry(0.001, 400)}]})


def test_a_single_token_must_be_the_most_probable_one(tmp_path):
    assert one(tmp_path, answer(("a", np.log(0.7)), {"a": 0.7})).hull.rest[0, 0] > 0.29
    assert one(tmp_path, answer(("b", np.log(0.1)), {"a": 0.4})).hull.n_members == 1
    with pytest.raises(PredictionFileError, match="lists only the chosen token"):
        one(tmp_path, answer(("a", np.log(0.4)), {"a": 0.4}))


@pytest.mark.parametrize("value", [-9999.0, -3.4028234663852886e38, "-inf"])
def test_sentinels_of_unlikely_tokens_are_not_probabilities(tmp_path, value):
    record = answer(("a", np.log(0.9)), {"a": 0.9, "b": 0.09})
    content = record["choices"][0]["logprobs"]["content"][0]
    content["top_logprobs"].append({"token": "c", "logprob": value})
    found = one(tmp_path, record)
    assert lists(found.hull, 0, 0) == pytest.approx([0.09, 0.9])
    # The chosen token itself may be unlikely; its log-probability is then not known.
    content["token"], content["logprob"] = "z", value
    assert one(tmp_path, record).tokens.tolist() == ["z"]


def test_tokens_with_the_same_text_are_one(tmp_path):
    record = answer(("a", np.log(0.5)), {"a": 0.5})
    content = record["choices"][0]["logprobs"]["content"][0]
    content["top_logprobs"] += [{"token": "b", "logprob": float(np.log(0.2))},
                                {"token": "a", "logprob": float(np.log(0.1))}]  # fmt: skip
    found = one(tmp_path, record)
    assert lists(found.hull, 0, 0) == pytest.approx([0.2, 0.6])
    assert "1 list had several tokens with the same text" in found.notes[0]


def test_bytes_tell_tokens_with_the_same_text_apart(tmp_path):
    record = answer(("a", np.log(0.5)), {"a": 0.5})
    content = record["choices"][0]["logprobs"]["content"][0]
    for data, p in (([226, 128], 0.2), ([240, 159], 0.1)):
        entry = {"token": "\ufffd", "bytes": data, "logprob": float(np.log(p))}
        content["top_logprobs"].append(entry)
    found = one(tmp_path, record)
    assert lists(found.hull, 0, 0) == pytest.approx([0.1, 0.2, 0.5])
    assert not found.notes


def test_renormalised_lists_are_noticed(tmp_path):
    found = one(tmp_path, answer(("a", np.log(0.6)), {"a": 0.6, "b": 0.4}))
    assert "as after top_k or top_p" in found.notes[0]


def test_few_digits_may_sum_to_slightly_more_than_one(tmp_path):
    found = one(tmp_path, answer(("a", -0.1), {"a": 0.9004, "b": 0.1}))
    assert found.hull.probs.sum() == pytest.approx(1)
    with pytest.raises(PredictionFileError, match=r"line 1 lists probabilities that sum to 1\.2"):
        one(tmp_path, answer(("a", -0.1), {"a": 0.9, "b": 0.3}))


def test_positions_without_a_list_are_left_out(tmp_path):
    record = answer(("a", np.log(0.9)), {"a": 0.9, "b": 0.05})
    content = record["choices"][0]["logprobs"]["content"]
    content.append({"token": "", "logprob": -9999.0, "bytes": [], "top_logprobs": []})
    assert one(tmp_path, record).positions.tolist() == [0]


# ---------------------------------------------------------------- which positions are compared


def test_answers_are_compared_up_to_the_first_difference(tmp_path):
    p = distributions(4, seed=1)
    first, second = [0, 3, 2, 2], [0, 3, 4, 2]
    paths = [write(tmp_path / f"{name}.jsonl", [{"custom_id": "q", **chat(p, chosen, 6)}])
             for name, chosen in (("a", first), ("b", second))]  # fmt: skip
    found = read_logprobs(paths)
    assert found.positions.tolist() == [0, 1, 2]
    assert found.tokens.tolist() == [VOCABULARY[0], VOCABULARY[3], ""]


def test_given_texts_are_compared_from_their_ends(tmp_path):
    p = distributions(6, seed=2)
    long, short = [5, 6, 0, 3, 2, 1], [7, 0, 3, 2, 1]
    paths = [
        write(tmp_path / "a.jsonl", [{"custom_id": 1, **responses.vllm_prompt(p, long, 6)}]),
        write(tmp_path / "b.jsonl", [{"custom_id": 1, **responses.vllm_prompt(p[1:], short, 6)}]),
    ]
    found = read_logprobs(paths)
    assert found.positions.tolist() == [2, 3, 4, 5]
    assert found.tokens.tolist() == [VOCABULARY[y] for y in (0, 3, 2, 1)]
    echoed = [write(tmp_path / f"{m}.jsonl", [responses.completion(p[-n:], own, 6, echo=True)])
              for m, (n, own) in enumerate(((6, long), (5, short)))]  # fmt: skip
    again = read_logprobs(echoed)
    assert again.tokens.tolist() == found.tokens.tolist()
    assert_allclose(cl.quantify(again.hull).total, cl.quantify(found.hull).total)


def test_prompts_and_generated_tokens_of_one_response(tmp_path):
    p = distributions(5, seed=3)
    record = chat(p[:2], [0, 0], 6) | {"prompt_logprobs": [None, *responses._ranked(p, [1] * 5, 6)]}
    assert len(one(tmp_path, record).ids) == 2
    assert len(one(tmp_path, record, tokens="prompt").ids) == 5
    with pytest.raises(PredictionFileError, match="has no prompt tokens"):
        one(tmp_path, chat(p, [0] * 5, 6), tokens="prompt")


# ---------------------------------------------------------------- members and records


def test_members_are_choices_lines_and_files(tmp_path):
    def response(m, q):
        return chat(P[m, q], [0] * T, K_TOP)

    several = {"choices": response(0, 0)["choices"] + response(1, 0)["choices"]}
    in_one_line = one(tmp_path, several)
    repeated = [{"custom_id": "q", **response(m, 0)} for m in range(2)]
    in_lines = read_logprobs(write(tmp_path / "b.jsonl", repeated))
    in_files = read_logprobs([write(tmp_path / f"{m}.jsonl", [r]) for m, r in enumerate(repeated)])
    assert in_one_line.names == ("a[0]", "a[1]")
    assert in_files.names == ("0", "1")
    for found in (in_one_line, in_lines):
        assert found.hull.ids.tolist() == in_files.hull.ids.tolist()
        assert found.hull.probs.tolist() == in_files.hull.probs.tolist()


def test_records_are_matched_by_id_or_by_position(tmp_path):
    paths = written(tmp_path, chat, P)
    lines = (tmp_path / "chat1.jsonl").read_text().splitlines()
    (tmp_path / "chat1.jsonl").write_text("\n".join(lines[::-1]))
    assert (
        read_logprobs(paths).hull.probs.tolist()
        == read_logprobs(written(tmp_path, chat, P)).hull.probs.tolist()
    )
    (tmp_path / "chat1.jsonl").write_text("\n".join(lines[::-1]))
    swapped = read_logprobs(paths, id_field="none")
    assert swapped.ids.tolist() == ["0"] * T + ["1"] * T
    assert lists(swapped.hull, 0, 1) == pytest.approx(np.sort(P[1, 1, 0][top(P[1, 1, 0], K_TOP)]))
    named = [json.loads(line) for line in lines]
    for record in named:
        record["question"] = record.pop("custom_id")
    other = write(tmp_path / "named.jsonl", named)
    assert read_logprobs(other, id_field="question").ids.tolist() == ["q0"] * T + ["q1"] * T
    assert read_logprobs(other).ids.tolist() == ["0"] * T + ["1"] * T  # not chatcmpl-1


@pytest.mark.parametrize("suffix", [".json", ".jsonl.gz"])
def test_lists_of_records_and_compressed_files(tmp_path, suffix):
    import gzip

    records = [{"custom_id": q, **chat(P[0, 0], [0] * T, K_TOP)} for q in ("a", "b")]
    text = json.dumps(records, indent=1) if suffix == ".json" else "\n".join(
        map(json.dumps, records))  # fmt: skip
    data = text.encode()
    path = tmp_path / f"x{suffix}"
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    assert read_logprobs(path).ids.tolist() == ["a"] * T + ["b"] * T


# ---------------------------------------------------------------- errors

GOOD = json.dumps({"custom_id": "q", **chat(P[0, 0], [0] * T, K_TOP)})


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": ', r"line 2 is not JSON \("),
        ("[1, 2]", "line 2 is a list, not an object"),
        ('"text"', "line 2 is a str, not an object"),
        ("{}", "line 2 has no log-probabilities of tokens; write the responses unchanged"),
        ('{"choices": [{"message": {"content": "x"}, "logprobs": null}]}',
         "line 2 is a response without lists of log-probabilities; request them: logprobs=True"),
        ('{"choices": [{"logprobs": {"content": [{"token": "a", "logprob": -1}]}}]}',
         "line 2 lists no alternatives of its tokens; request top_logprobs=20"),
        ('{"custom_id": "b", "response": null, "error": {"message": "expired"}}',
         "line 2 is the error 'expired'; request it again"),
        ('{"custom_id": "b", "response": {"status_code": 429, "body": {}}}',
         "line 2 is a response with status 429"),
        ('{"logprobs": [{"a": 0.5}]}', "line 2 has the log-probability 0.5, above 0"),
        ('{"logprobs": [{"a": "x"}]}', "line 2 has the log-probability 'x'"),
        ('{"logprobs": [{"a": NaN}]}', "line 2 has a log-probability that is not a number"),
        ('{"logprobs": [[{"token": "a"}]]}', "line 2 has a token without a log-probability"),
        ('{"prompt_logprobs": [null, {"x": -1.0, "y": -2.0}]}', "line 2 has the token id 'x'"),
        ('{"custom_id": "b", "logprobs": [{"a": -9999, "b": -9999}]}',
         "line 2 has a list of tokens without a probability above 0"),
    ],
)  # fmt: skip
def test_invalid_lines_are_one_error_with_their_number(tmp_path, line, problem):
    path = tmp_path / "a.jsonl"
    path.write_text(f"{GOOD}\n{line}\n")
    with pytest.raises(PredictionFileError, match=problem) as error:
        read_logprobs(path)
    assert str(error.value).startswith(str(path))
    assert "\n" not in str(error.value)


def test_records_that_a_member_lacks(tmp_path):
    a = write(tmp_path / "a.jsonl", [{"custom_id": q, **chat(P[0, 0], [0] * T, 5)} for q in "xy"])
    b = write(tmp_path / "b.jsonl", [{"custom_id": "x", **chat(P[1, 0], [0] * T, 5)}])
    with pytest.raises(PredictionFileError, match=r"b.jsonl: has no record 'y' \(line 2 of .*a.js"):
        read_logprobs([a, b])
    twice = [{"custom_id": q, **chat(P[0, 0], [0] * T, 5)} for q in "xxy"]
    with pytest.raises(PredictionFileError, match=r"has 1 answer for record 'y', 2 for others"):
        read_logprobs(write(tmp_path / "c.jsonl", twice))
    no_ids = write(tmp_path / "d.jsonl", [chat(P[0, 0], [0] * T, 5)] * 2)
    with pytest.raises(PredictionFileError, match=r"d.jsonl: has no ids, .*a.jsonl has"):
        read_logprobs([a, no_ids])


def test_vocabularies_must_agree(tmp_path):
    good = [{"custom_id": "q", **responses.sglang(P[0, 0], [0] * T, K)}]
    shifted = json.loads(json.dumps(good))
    for one_list in shifted[0]["meta_info"]["output_top_logprobs"]:
        for entry in one_list:
            entry[2] = VOCABULARY[(entry[1] + 1) % K]
    paths = [write(tmp_path / f"{i}.jsonl", r) for i, r in enumerate((good, shifted))]
    with pytest.raises(
        PredictionFileError, match=r"different tokens with the same id: .*tokenizer"
    ):
        read_logprobs(paths)
    ids_only = json.loads(json.dumps(good))
    for entries in ids_only[0]["meta_info"].values():
        for one_list in entries if isinstance(entries, list) else ():
            for entry in one_list if isinstance(one_list[0], list) else [one_list]:
                entry[2] = None
    texts = write(tmp_path / "t.jsonl", [{"custom_id": "q", **chat(P[0, 0], [0] * T, 5)}])
    with pytest.raises(PredictionFileError, match="names tokens by ids only"):
        read_logprobs([write(tmp_path / "i.jsonl", ids_only), texts])
    with pytest.raises(PredictionFileError, match="do not fit a vocabulary of 5; pass a larger"):
        read_logprobs(paths[0], n_classes=5)


def test_lists_that_are_not_the_largest_probabilities(tmp_path):
    record = {"custom_id": "q", "logprobs": [{"a": -0.7, "b": -9.0}]}
    path = write(tmp_path / "a.jsonl", [record])
    assert len(read_logprobs(path).ids) == 1
    with pytest.raises(
        PredictionFileError, match=r"a.jsonl: line 1, token 0 .*cannot have the res"
    ):
        read_logprobs(path, n_classes=50)


def test_results_do_not_depend_on_other_records(tmp_path):
    # Ties are broken by the texts of tokens, not by the order in which they were read.
    tied = {"custom_id": "q", "logprobs": [{"b": -1.0, "a": -1.0}]}
    before = {"custom_id": "p", "logprobs": [{"b": -0.1, "a": -3.0}]}
    for records in ([tied], [before, tied], [tied, before]):
        found = read_logprobs(write(tmp_path / "a.jsonl", records))
        i = found.ids.tolist().index("q")
        assert cl.majority_vote(found.hull)[i] == found.hull.ids[i, 0].min()


# ---------------------------------------------------------------- damaged lines

JUNK = [None, True, 0, -1, 3.5, "x", "", [], {}, [1], {"a": 1}, float("nan"), "-inf", -9999.0,
        [[]], [{}], "\ud800", 10**30]  # fmt: skip


def damaged(rng, value):
    """A copy of a JSON value of which one part is missing or another one."""
    if isinstance(value, dict | list) and value and rng.random() < 0.8:
        copy = dict(value) if isinstance(value, dict) else list(value)
        key = list(copy)[rng.integers(len(copy))] if isinstance(copy, dict) else int(
            rng.integers(len(copy)))  # fmt: skip
        if rng.random() < 0.2:
            copy.pop(key)
        else:
            copy[key] = damaged(rng, copy[key])
        return copy
    return JUNK[rng.integers(len(JUNK))]


def test_damaged_responses_are_read_or_one_error(tmp_path):
    rng = np.random.default_rng(0)
    path, messages = tmp_path / "a.jsonl", []
    makers = list(SHAPES.values())
    for i in range(300):
        record = damaged(rng, makers[i % len(makers)](P[0, 0], [0] * T, K_TOP))
        path.write_text(json.dumps(record))
        try:
            read_logprobs(path, n_classes=K if i % 2 else None)
        except PredictionFileError as error:
            messages.append(str(error))
    assert 50 < len(messages) < 250
    assert all(re.search(r"a\.jsonl: line 1", message) for message in messages)
