"""JSON in the shapes in which other programs write it."""

import json

import numpy as np

from real_files import CLASSES, IDS, LABELS, LOGITS, MEMBERS, each, frame, json_lines


def huggingface_logits(folder):
    return json_lines(
        folder, lambda i, m: {"idx": i, "logits": LOGITS[i, m].tolist(), "label": int(LABELS[i])}
    )


def huggingface_pipeline(folder):
    """``pipeline(top_k=None)``: labels and scores in the order of the scores."""

    def record(i, m):
        order = np.argsort(-MEMBERS[i, m])
        scores = [{"label": CLASSES[k], "score": float(MEMBERS[i, m, k])} for k in order]
        return {"id": str(i), "predictions": scores}

    return json_lines(folder, record)


def llm_logprobs(folder):
    def record(i, m):
        logprobs = dict(zip(CLASSES, np.log(MEMBERS[i, m]).tolist(), strict=True))
        return {"uid": f"q{i}", "logprobs": logprobs, "gold": CLASSES[LABELS[i]].upper()}

    return json_lines(folder, record)


def json_ensemble(folder):
    path = folder / "all.jsonl"
    path.write_text("".join(json.dumps({"probs": rows}) + "\n" for rows in MEMBERS.tolist()))
    return [path]


def json_lists(folder):
    return json_lines(folder, lambda i, m: MEMBERS[i, m].tolist())


def json_document(folder):
    def write(path, m):
        records = [
            {"probs": row, "target": int(y)}
            for row, y in zip(MEMBERS[:, m].tolist(), LABELS, strict=True)
        ]
        path.write_text(json.dumps(records, indent=1))

    return each(folder, "model_{}.json", write)


def top_tokens(folder):
    """Answers of language models: the tokens of the choices with their log-probabilities."""

    def record(i, m):
        order = np.argsort(-MEMBERS[i, m])
        tokens = [{"token": "ABC"[k], "logprob": float(np.log(MEMBERS[i, m, k]))} for k in order]
        return {
            "question_id": f"q{i}",
            "latency": 1.5,
            "top_logprobs": tokens,
            "gold": "ABC"[LABELS[i]],
        }

    return json_lines(folder, record)


def list_and_number(folder):
    return json_lines(folder, lambda i, m: {"resnet50": MEMBERS[i, m].tolist(), "seconds": 1})


def json_by_id(folder):
    def write(path, m):
        path.write_text(json.dumps(dict(zip(IDS.tolist(), MEMBERS[:, m].tolist(), strict=True))))

    return each(folder, "model_{}.json", write)


def pandas_json(folder):
    return each(
        folder, "model_{}.json", lambda path, m: frame(m).to_json(path, double_precision=15)
    )


#: Case, how it is written, whether it has labels, the members, and the tolerance of the scores.
JSON = {
    "huggingface logits": (huggingface_logits, True, MEMBERS, 1e-12),
    "huggingface pipeline": (huggingface_pipeline, False, MEMBERS, 0),
    "llm logprobs": (llm_logprobs, True, MEMBERS, 1e-12),
    "top tokens": (top_tokens, True, MEMBERS, 1e-12),
    "list and number": (list_and_number, False, MEMBERS, 0),
    "json ensemble": (json_ensemble, False, MEMBERS, 0),
    "json lists": (json_lists, False, MEMBERS, 0),
    "json document": (json_document, True, MEMBERS, 0),
    "json by id": (json_by_id, False, MEMBERS, 0),
    "pandas json": (pandas_json, False, MEMBERS, 1e-12),
}
