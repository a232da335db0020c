"""Responses of APIs and servers, written from known distributions over a small vocabulary."""

import json

import numpy as np

#: Texts of tokens; two differ by a space only, one has several bytes.
VOCABULARY = (" Paris", "Paris", " Lyon", " the", " of", "é", ".", "\n", " a", " in", "x", "7")
K = len(VOCABULARY)


def distributions(T, seed=0, K=K):
    """Next-token distributions ``(T, K)``, of which token 0 is the most probable one."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal((T, K))
    logits[:, 0] = logits.max(axis=1) + 0.5
    P = np.exp(logits)
    return P / P.sum(axis=1, keepdims=True)


def top(p, k):
    """The indices of the k most probable tokens."""
    return np.argsort(-p, kind="stable")[:k].tolist()


def _token(y, p, **more):
    text = VOCABULARY[y]
    return {"token": text, "logprob": float(np.log(p[y])), "bytes": list(text.encode()), **more}


def _content(P, chosen, k):
    return [
        {**_token(y, p), "top_logprobs": [_token(z, p) for z in top(p, k)]}
        for p, y in zip(P, chosen, strict=True)
    ]


def chat(P, chosen, k):
    choice = {"index": 0, "logprobs": {"content": _content(P, chosen, k), "refusal": None}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def refusal(P, chosen, k):
    choice = {"index": 0, "logprobs": {"content": None, "refusal": _content(P, chosen, k)}}
    return {"id": "chatcmpl-1", "object": "chat.completion", "choices": [choice]}


def batch(P, chosen, k):
    body = chat(P, chosen, k)
    return {"response": {"status_code": 200, "request_id": "r", "body": body}, "error": None}


def responses(P, chosen, k):
    part = {"type": "output_text", "logprobs": _content(P, chosen, k)}
    items = [{"type": "reasoning"}, {"type": "message", "content": [part]}]
    return {"id": "resp_1", "object": "response", "output": items}


def completion(P, chosen, k, echo=False):
    tops = []
    for p, y in zip(P, chosen, strict=True):
        listed = {VOCABULARY[z]: float(np.log(p[z])) for z in top(p, k)}
        tops.append({VOCABULARY[y]: float(np.log(p[y])), **listed})  # the chosen token is added
    own = [float(np.log(p[y])) for p, y in zip(P, chosen, strict=True)]
    texts = [VOCABULARY[y] for y in chosen]
    if echo:
        tops, own, texts = [None, *tops], [None, *own], ["<s>", *texts]
    logprobs = {"tokens": texts, "token_logprobs": own, "top_logprobs": tops, "text_offset": []}
    return {"id": "cmpl-1", "object": "text_completion", "choices": [{"logprobs": logprobs}]}


def _ranked(P, chosen, k):
    lists = []
    for p, y in zip(P, chosen, strict=True):
        order = top(p, K)
        lists.append({
            str(z): {"logprob": float(np.log(p[z])), "rank": order.index(z) + 1,
                     "decoded_token": VOCABULARY[z]}
            for z in dict.fromkeys([y, *top(p, k)])
        })  # fmt: skip
    return lists


def vllm(P, chosen, k):
    output = {"index": 0, "token_ids": list(chosen), "logprobs": _ranked(P, chosen, k)}
    return {"request_id": "17", "prompt_logprobs": None, "outputs": [output]}


def vllm_prompt(P, chosen, k):
    lists = [None, *_ranked(P, chosen, k)]
    return {"object": "text_completion", "choices": [{"text": "", "prompt_logprobs": lists}]}


def vllm_token_ids(P, chosen, k):
    found = chat(P, chosen, k)
    for item in found["choices"][0]["logprobs"]["content"]:
        for one in (item, *item["top_logprobs"]):
            one["token"] = f"token_id:{VOCABULARY.index(bytes(one.pop('bytes')).decode())}"
    return found


def llama_cpp(P, chosen, k):
    items = _content(P, chosen, k)
    for item in items:
        for one in (item, *item["top_logprobs"]):
            one["id"] = VOCABULARY.index(one["token"])
    return {"index": 0, "content": "...", "completion_probabilities": items}


def llama_cpp_sampled(P, chosen, k):
    items = llama_cpp(P, chosen, k)["completion_probabilities"]
    for item in items:
        item["top_probs"] = item.pop("top_logprobs")
        for one in (item, *item["top_probs"]):
            one["prob"] = float(np.exp(one.pop("logprob")))
    return {"content": "...", "completion_probabilities": items}


def llama_cpp_old(P, chosen, k):
    items = [
        {"content": VOCABULARY[y],
         "probs": [{"tok_str": VOCABULARY[z], "prob": float(p[z])} for z in top(p, k)]}
        for p, y in zip(P, chosen, strict=True)
    ]  # fmt: skip
    return {"content": "...", "completion_probabilities": items}


def sglang(P, chosen, k):
    def entry(z, p):
        return [float(np.log(p[z])), z, VOCABULARY[z]]

    return {"text": "...", "meta_info": {
        "id": "5", "output_token_logprobs": [entry(y, p) for p, y in zip(P, chosen, strict=True)],
        "output_top_logprobs": [[entry(z, p) for z in top(p, k)] for p in P],
    }}  # fmt: skip


def tgi(P, chosen, k):
    def entry(z, p):
        return {"id": z, "text": VOCABULARY[z], "logprob": float(np.log(p[z])), "special": False}

    return {"generated_text": "...", "details": {
        "tokens": [entry(y, p) for p, y in zip(P, chosen, strict=True)],
        "top_tokens": [[entry(z, p) for z in top(p, k)] for p in P],
    }}  # fmt: skip


def gemini(P, chosen, k):
    def entry(z, p):
        return {"token": VOCABULARY[z], "tokenId": z, "logProbability": float(np.log(p[z]))}

    about = {
        "chosenCandidates": [entry(y, p) for p, y in zip(P, chosen, strict=True)],
        "topCandidates": [{"candidates": [entry(z, p) for z in top(p, k)]} for p in P],
    }
    return {"candidates": [{"logprobsResult": about}], "modelVersion": "1"}


def ollama(P, chosen, k):
    return {"model": "m", "response": "...", "logprobs": _content(P, chosen, k)}


def plain(P, chosen, k):
    return {"logprobs": [{VOCABULARY[z]: float(np.log(p[z])) for z in top(p, k)} for p in P]}


#: Every shape of generated answers; of those with ids, tokens are compared by id.
SHAPES = {
    f.__name__: f
    for f in (
        chat, refusal, batch, responses, completion, vllm, vllm_token_ids, llama_cpp,
        llama_cpp_sampled, llama_cpp_old, sglang, tgi, gemini, ollama, plain,
    )
}  # fmt: skip


def write(path, records):
    """Write JSON lines."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)
