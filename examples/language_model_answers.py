"""Answers of three small language models, in the shapes that APIs return; nothing is downloaded.

Each model counts words, and the two words before them, in sentences about capitals that are drawn
at random. Some facts are in all sentences, some are disputed, and one country does not occur. The
answers, with their five most probable tokens, are written as a chat API returns them, one file per
model; and the log-probabilities of the choices of questions, in the folder ``choices``.

Run: python examples/language_model_answers.py [FOLDER]
"""

import json
import sys
from collections import Counter
from pathlib import Path

import numpy as np

#: Capitals, and how many sentences name them.
CAPITALS = {
    "france": {"paris": 12},
    "japan": {"tokyo": 9, "kyoto": 1},
    "australia": {"canberra": 5, "sydney": 4, "melbourne": 2},
    "turkey": {"ankara": 5, "istanbul": 5},
    "switzerland": {"bern": 4, "zurich": 3, "geneva": 2},
    "bolivia": {"sucre": 2, "la_paz": 2},
}
QUESTIONS = [*CAPITALS, "atlantis"]
SENTENCES = [
    f"the capital of {country} is {city} .".split()
    for country, cities in CAPITALS.items()
    for city, count in cities.items()
    for _ in range(count)
]
WORDS = sorted({word for sentence in SENTENCES for word in [*sentence, "atlantis"]})
TOP = 5


class Trigrams:
    """A language model: how often a word follows two words, one word, or occurs at all."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        drawn = [SENTENCES[i] for i in rng.integers(len(SENTENCES), size=len(SENTENCES))]
        self.counts = Counter()
        for sentence in drawn:
            for t, word in enumerate(sentence):
                for order in range(3):
                    self.counts[(*sentence[max(0, t - order) : t], word)] += 1

    def next_word(self, words):
        """Return the distribution of the next word."""
        shares = np.full(len(WORDS), 1e-3)
        for order, weight in ((0, 0.01), (1, 0.09), (2, 0.9)):
            context = words[len(words) - order :]
            counts = np.array([self.counts[(*context, word)] for word in WORDS], float)
            shares += weight * counts / max(counts.sum(), 1)
        return shares / shares.sum()


def answer(model, prompt):
    """Return a response to a prompt, as a chat API writes it; the most probable words."""
    words, content = prompt.split(), []
    while not content or words[-1] != ".":
        p = model.next_word(words)
        top = [
            {"token": f" {WORDS[i]}", "logprob": round(float(np.log(p[i])), 6)}
            for i in np.argsort(-p, kind="stable")[:TOP]
        ]
        content.append({**top[0], "top_logprobs": top})
        words.append(WORDS[int(p.argmax())])
    text = " ".join(words[len(prompt.split()) :])
    choice = {"index": 0, "message": {"content": text}, "logprobs": {"content": content}}
    return {"object": "chat.completion", "choices": [choice]}


def choice_logprobs(model, prompt, choices):
    """Return the log-probability of each choice as the continuation of a prompt."""
    p = model.next_word(prompt.split())
    return [round(float(np.log(p[WORDS.index(word)])), 6) for word in choices]


def main(folder):
    """Write the files."""
    (folder / "choices").mkdir(parents=True, exist_ok=True)
    for number in (1, 2, 3):
        model, answers, questions = Trigrams(seed=number), [], []
        for country in QUESTIONS:
            prompt = f"the capital of {country} is"
            response = {"status_code": 200, "body": answer(model, prompt)}
            answers.append({"custom_id": country, "response": response, "error": None})
            if len(CAPITALS.get(country, ())) > 1:
                cities = list(CAPITALS[country])
                logprobs = choice_logprobs(model, prompt, cities)
                questions.append({"id": country, "choices": cities, "choice_logprobs": logprobs,
                                  "answer": cities[0]})  # fmt: skip
        name = f"model_{number}.jsonl"
        for path, records in ((folder / name, answers), (folder / "choices" / name, questions)):
            path.write_text("".join(json.dumps(record) + "\n" for record in records))
    print(f"wrote answers of 3 models to {len(QUESTIONS)} prompts, in {folder}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "language-model-answers"))
