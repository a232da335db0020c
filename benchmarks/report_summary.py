"""The first page of the comparison: what is fastest for what, and where other packages are."""

from __future__ import annotations

from collections import Counter

import numpy as np

from benchmarks.report import BATCH, GENERATED, compared, faster, number, ratio, reason, table

#: What is compared, with the cases of the grid that belong to it, by measure and representation.
GROUPS = (
    ("TU, lower end of AU, EU", "hull", ("TU", "AU_lower", "EU", "TU + AU_lower + EU",
     "TU + AU_lower + EU, float32", "quantify tv", "imprecision bound", "MMI tv")),
    ("Upper end of AU", "hull", ("AU_upper",)),
    ("Upper entropy S*", "hull", ("S*", "S*, classes without mass")),
    ("Lower entropy S_*", "hull", ("S_*",)),
    ("Generalized Hartley", "hull", ("GH", "GH sampled")),
    ("Wasserstein, MMD, Kolmogorov", "hull", ("TU, W1 ordinal", "AU_upper, W1 ordinal",
     "EU, W1 ordinal", "EU, W1 tree", "EU, W1 general metric", "EU, MMD", "EU, Kolmogorov",
     "MMI ordinal")),
    *(("All measures", kind, ()) for kind in ("intervals", "contamination", "TV ball",
                                              "lower probability", "belief function")),
)  # fmt: skip
TITLES = {
    "costs": "cost against N, M and K, as figures",
    "targets": "headline ratios and their targets",
    "peers_faster": "all comparisons in which a peer is faster",
    "agreement": "whether the values agree, and failures of the peers",
    "growth": "growth of the time, and peak memory",
    "method": "how the times are measured",
    "cells": "all times",
}


def page(record, details):
    """Return the page as Markdown; `details` are the names of the linked pages."""
    facts, pairs = record["facts"], compared(record)
    ratios = [ratio(*pair) for pair in pairs]
    ahead = sum(r > 1 for r in ratios)
    warning = ""
    if max(facts["load"]) > 1.5 * facts["threads"]:  # the benchmark itself adds to the load
        warning = (
            "\n\n**The machine was loaded by other processes**, which affects multithreaded code "
            "more than the rest: the ratios of this run are not accurate."
        )
    links = "\n".join(
        f"- [{TITLES[name][0].upper() + TITLES[name][1:]}](comparison/{name}.md)"
        for name in details
    )
    hidden = "\n".join(f"comparison/{name}" for name in details)
    return f"""# Comparison with other packages

{GENERATED}

The time of every measure of every representation is compared with other implementations, on the
same arrays and in the same run: probly, the pseudocode of the paper with SciPy, HiGHS, POT, and
expressions in NumPy. credalens is faster in {ahead} of {len(ratios)} comparisons; the median ratio
is {number(float(np.median(ratios)))}. Version {facts["versions"]["credalens"].partition("+")[0]},
{facts["date"]}, {facts["threads"]} cores.{warning}

## What is fastest

Each size of the grid is compared with the fastest of the other implementations there. Ratios above
1 mean that credalens is faster.

{_answers(record)}

## Where others are faster

{_others(record)}

{_beyond()}

## All numbers

{links}

```{{toctree}}
:hidden:

{hidden}
```
"""


def _answers(record):
    rows = []
    for what, kind, measures in GROUPS:
        cells = [cell for cell in record["cells"] if _belongs(cell, kind, measures)]
        if cells:  # a run may have some cases only
            rows.append([what, kind, *_batches(cells), *_single(cells)])
    head = ["measures", "set", f"sizes with N >= {BATCH} in which credalens is the fastest",
            "median ratio to the fastest other", "smallest", "single instance, credalens",
            "fastest other"]  # fmt: skip
    return table(head, rows, {2, 3, 4, 5, 6})


def _belongs(cell, kind, measures):
    name, _, own = cell["case"].rpartition(", ")
    return own == kind and (not measures or name in measures)


def _best(cell):
    """Return the fastest other implementation, None if no other ran."""
    peers = [p for p in cell["peers"] if not p["limit"] and p["us"] is not None]
    return min(peers, key=lambda peer: peer["us"], default=None)


def _batches(cells):
    ratios = [ratio(cell, _best(cell)) for cell in cells
              if cell["size"][0] >= BATCH and _best(cell)]  # fmt: skip
    if not ratios:
        return "", "", ""
    wins = sum(r > 1 for r in ratios)
    return (f"{wins} of {len(ratios)}", f"{number(float(np.median(ratios)))}x",
            f"{number(min(ratios), 2)}x")  # fmt: skip


def _single(cells):
    """Return the medians of the times of single instances."""
    ones = [cell for cell in cells if cell["size"][0] == 1 and _best(cell)]
    if not ones:
        return "", ""
    ours = float(np.median([cell["ours"]["us"] for cell in ones]))
    best = float(np.median([_best(cell)["us"] for cell in ones]))
    return f"{number(ours, 2)} µs", f"{number(best, 2)} µs"


def _others(record):
    found = faster(record)
    groups = {}
    for cell, peer in found:
        kind, small = cell["case"].rpartition(", ")[2], cell["size"][0] < BATCH
        groups.setdefault((kind, small), []).append((cell, peer))
    rows = []
    for (kind, small), pairs in sorted(groups.items(), key=lambda item: -len(item[1])):
        measures = Counter(cell["case"].rpartition(", ")[0] for cell, _ in pairs)
        peers = Counter(peer["name"] for _, peer in pairs)
        cell, peer = pairs[0]  # the smallest ratio
        rows.append([
            kind, f"N < {BATCH}" if small else f"N >= {BATCH}", len(pairs),
            ", ".join(name for name, _ in measures.most_common(4)) + ", ..." * (len(measures) > 4),
            ", ".join(name for name, _ in peers.most_common(2)) + ", ..." * (len(peers) > 2),
            f"{number(ratio(cell, peer), 2)}x", reason(cell, peer),
        ])  # fmt: skip
    small = sum(cell["size"][0] < BATCH for cell, _ in found)
    text = (
        f"A peer is faster in {len(found)} comparisons, {small} of them with fewer than {BATCH} "
        "instances: a closed\nform of a valid array is often one line of NumPy, and credalens also "
        "validates its input and\nsupports several array libraries."
    )
    head = ["set", "instances", "comparisons", "measures", "faster", "smallest ratio",
            "reason of the smallest"]  # fmt: skip
    return f"{text}\n\n{table(head, rows, {2, 5})}"


def _beyond():
    return """## What the other packages have and credalens does not

- probly trains evidential and Bayesian networks and has pipelines for out-of-distribution data.
  PyTorch differentiates its S* twice, that of credalens once.
- POT supports unbalanced, regularised and Gromov-Wasserstein transport, barycentres, and GPUs.
- HiGHS solves general linear, mixed-integer and convex quadratic programs; credalens solves matrix
  games only.
- SciPy's SLSQP supports any smooth objective and constraints.
- A NumPy expression needs no further dependency and is often the fastest for a single instance."""
