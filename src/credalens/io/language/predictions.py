"""Answers of language models as credal sets, one per token, in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens.io.language.reading import TOKENS, AnswerOptions, read_records
from credalens.io.language.token_rows import common_hull, token_rows
from credalens.sets import TopKHull


@dataclass(frozen=True, eq=False)
class TokenPredictions:
    """Lists of tokens of several members, at the positions at which they can be compared."""

    #: One name per member.
    names: tuple[str, ...]
    #: The record of each token, ``(n,)``.
    ids: Array
    #: Its position in the answer of the first member, ``(n,)``.
    positions: Array
    #: The text of the chosen token, ``(n,)``; empty if the members chose different ones.
    tokens: Array
    #: The credal sets of the next token, a batch of n.
    hull: TopKHull
    #: What was inferred from the files.
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return (
            f"TokenPredictions(n={len(self.ids)}, records={len(set(self.ids.tolist()))}, "
            f"members={self.hull.n_members})"
        )


def read_logprobs(
    paths: str | Path | Sequence[str | Path],
    n_classes: int | None = None,
    *,
    tokens: str | None = None,
    id_field: str | None = None,
) -> TokenPredictions:
    """Read responses of language models with lists of the most probable tokens.

    Parameters
    ----------
    paths : path or sequence of paths
        JSON lines, one response each, as an API or a server returned it. The members are the files,
        the choices of a response, and lines with the same identifier.
    n_classes : int, optional
        Size of the vocabulary, which bounds of entropies need. Without it, the set has the largest
        possible number of classes; errors of total variation then hold for any size.
    tokens : {"generated", "prompt"}, optional
        Which tokens are used; by default generated ones, if there are any.
    id_field : str, optional
        Field of the identifiers by which records are matched; ``"none"`` to match them by position.
        By default one of ``custom_id``, ``doc_id``, ``question_id``, ``prompt_id``, ``id``.

    Returns
    -------
    TokenPredictions
        One row for each token up to the first at which the members differ.

    Raises
    ------
    ValueError
        If a line is invalid, or a member lacks a record; the message names file and line.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import credalens as cl
    >>> from credalens.io import read_logprobs
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, paris in (("a", -0.1), ("b", -0.5)):
    ...     top = [{"token": "Paris", "logprob": paris}, {"token": "Lyon", "logprob": -2.5}]
    ...     logprobs = {"content": [{**top[0], "top_logprobs": top}]}
    ...     response = {"choices": [{"logprobs": logprobs}]}
    ...     line = json.dumps({"custom_id": "q1", "response": response})
    ...     _ = (folder / f"{name}.jsonl").write_text(line)
    >>> answers = read_logprobs(sorted(folder.iterdir()))
    >>> answers, answers.tokens.tolist()
    (TokenPredictions(n=1, records=1, members=2), ['Paris'])
    >>> u = cl.quantify(answers.hull)
    >>> print(f"{u.epistemic[0]:.3f} +- {u.errors.epistemic[0]:.3f}")
    0.149 +- 0.007
    """
    single = isinstance(paths, str | Path)
    files = [str(path) for path in ([paths] if single else paths)]  # type: ignore[union-attr]
    if tokens is not None:
        _validation.one_of(tokens, "tokens", TOKENS)
    K = None if n_classes is None else _validation.whole_number(n_classes, "n_classes", least=2)
    records = read_records(files, AnswerOptions(tokens, id_field))
    rows = token_rows(records, K)
    ids = np.array([record.id for record in records.records], dtype=object)
    texts = np.array(records.vocabulary.texts(rows.chosen), dtype=object)
    return TokenPredictions(
        records.names, ids[rows.record], rows.position, texts, common_hull(rows),
        tuple(records.notes),
    )  # fmt: skip
