"""What the reproduction of the paper showed, with the code or the command that shows it."""

from __future__ import annotations

import ast
import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from credalens.experiments.output import bullets, heading, provenance, write_text
from credalens.experiments.pages import summary_of


@dataclass(frozen=True)
class Finding:
    """A statement, the code or command that shows it, and what the results say about it."""

    title: str
    text: str
    #: Python statements; the value of each expression is shown.
    code: str = ""
    command: str = ""
    #: Returns sentences from the results in a folder, none without those results.
    measured: Callable[[Path], list[str]] = lambda folder: []


def _areas(folder: Path) -> list[str]:
    """Return how near the divided and the undivided areas are to the printed ones."""
    path = folder / "table2.csv"
    if not path.is_file():
        return []
    with path.open() as file:
        rows = [row for row in csv.DictReader(file) if row["paper_area"]]
    gaps = {
        name: float(np.mean([abs(float(r[column]) - float(r["paper_area"])) for r in rows]))
        for name, column in (("undivided", "area_mean"), ("divided", "auc_mean"))
    }
    return [
        f"In [Table 2](table2.md), the undivided areas differ from the {len(rows)} printed ones "
        f"by {gaps['undivided']:.1f} percentage points on average, the divided ones by "
        f"{gaps['divided']:.1f}."
    ]


def _quoted(page: str) -> Callable[[Path], list[str]]:
    return lambda folder: summary_of(folder / f"{page}.md")


FINDINGS = (
    Finding(
        "The printed areas are not divided by the length of the interval",
        "A curve with B points ends at a rejection rate of (B - 1) / B. The paper does not say "
        "whether its areas are divided by this length. Its numbers fit areas that are not: then a "
        "perfect curve with 30 points has 0.967. `RejectionCurve.auc` is divided, `.area` is not.",
        """
        curve = cl.rejection_curve([0, 1, 1, 0], [0, 1, 1, 0], [0.1, 0.2, 0.3, 0.4])
        round(curve.auc, 3), round(curve.area, 3)
        """,
        "credalens reproduce table2 --data KEEL",
        _areas,
    ),
    Finding(
        "Under total variation, the maximum mean imprecision needs no events",
        "EU = MMI / 2 (Corollary 4.10 of the paper), and EU is half of the largest distance of two "
        "members: O(M^2 K) operations instead of 2^K events. For other distances only "
        "EU <= MMI / 2 holds, here for the ordinal Wasserstein distance:",
        """
        P = np.random.default_rng(0).dirichlet(np.ones(5), size=(1000, 4))
        gap = cl.maximum_mean_imprecision(P) - 2 * cl.epistemic_uncertainty(P)
        bool(abs(gap).max() < 1e-12)
        gap = cl.maximum_mean_imprecision(P, "ordinal") - 2 * cl.epistemic_uncertainty(P, "ordinal")
        bool(gap.min() > -1e-12), round(float(gap.max()), 3)
        """,
    ),
    Finding(
        "A 2-monotone lower probability is not enough for equality with the imprecision",
        "Proposition 4.6 of the paper states equality when the lower expectation is the Choquet "
        "integral with respect to the lower probability, for example when that is 2-monotone. For "
        "the convex hull of some members, 2-monotonicity does not imply the condition: more "
        "distributions can lie above the lower probability than the hull contains. Equality holds "
        "for the set of all of them.",
        """
        Q = cl.ConvexHull([[.04, .04, .84, .08], [.33, .40, .16, .11], [.13, .27, .07, .53]])
        bool(Q.is_two_monotone())
        above = cl.LowerProbability(Q.lower_probabilities())
        half = cl.maximum_mean_imprecision(Q, "ordinal") / 2
        [round(float(x), 3) for x in (cl.epistemic_uncertainty(Q, "ordinal"), half,
                                      cl.epistemic_uncertainty(above, "ordinal"))]
        """,
    ),
    Finding(
        "The Hartley residual S* - GH can be negative",
        "The upper entropy minus the generalized Hartley measure is used as an aleatoric "
        "uncertainty. The set below, over 24 classes, has a negative one. The library does not "
        "replace negative values by zero.",
        """
        t = np.r_[np.ones(6), np.full(17, 0.12)]
        P = np.zeros((24, 24))
        P[0, 0] = 1
        P[np.arange(1, 24), np.arange(1, 24)] = t
        P[1:, 0] = 1 - t
        hartley = cl.generalized_hartley(P, method="exact")
        [round(float(x), 3) for x in (cl.upper_entropy(P), hartley, cl.upper_entropy(P) - hartley)]
        """,
    ),
    Finding(
        "The upper aleatoric end is not attained at a member",
        "The largest aleatoric uncertainty of the members is a lower bound of that of the set, "
        "also for the upper entropy. Two certain members that disagree have none, their mixture "
        "has the largest possible one. The paper solves a linear programme when the most probable "
        "classes of the members differ; the maximum over the members is 0 here.",
        """
        P = np.eye(2)
        float((1 - P.max(axis=1)).max())
        cl.aleatoric_uncertainty(P)
        float(cl.upper_entropy(P))
        """,
    ),
    Finding(
        "Rows with equal scores change the area",
        "The paper rejects rows with equal scores in the order of the file. Forests and certain "
        "networks have many equal scores, and the area then depends on that order. The default of "
        '`rejection_curve` is the expectation over random orders; the tables use `ties="first"`.',
        """
        y, vote, score = np.zeros(60, int), np.repeat([0, 1], 30), np.zeros(60)
        first = cl.rejection_curve(y, vote, score, ties="first").auc
        last = cl.rejection_curve(y, vote[::-1], score, ties="first").auc
        expected = cl.rejection_curve(y, vote, score).auc
        [round(float(x), 3) for x in (first, last, expected)]
        """,
    ),
    Finding(
        "The confidence of the mean prediction as a baseline",
        "The paper compares measures of credal sets with each other. One minus the largest "
        "probability of the mean prediction (`confidence_total`), which needs no set, is compared "
        "with total uncertainty (`tv_total`) here.",
        command="credalens reproduce scores --predictions NAME=FOLDER --datasets all --data KEEL",
        measured=_quoted("scores"),
    ),
    Finding(
        "The aleatoric interval and annotators",
        "The paper notes that uncertainty has no directly observable ground truth. CIFAR-10H has "
        "the answers of about fifty annotators per image, from which the aleatoric uncertainty "
        "can be estimated.",
        command="credalens reproduce human-labels --predictions CIFAR10 --annotators CIFAR10H",
        measured=_quoted("human-labels"),
    ),
    Finding(
        "Weak members",
        "The paper shows the influence of a constant member on total and epistemic uncertainty. "
        "Published networks of very different accuracy have the same effect; `credalens diagnose` "
        "finds such members, and `validity.repair` leaves them out.",
        command="credalens reproduce figure2 --predictions CIFAR10 --predictions CIFAR100",
        measured=_quoted("figure2"),
    ),
    Finding(
        "The hyper-parameters of the forests",
        "The paper does not state the space from which those of its forests are drawn. The numbers "
        "of Table 2 depend on it.",
        command="credalens reproduce spaces --data KEEL",
        measured=_quoted("spaces"),
    ),
)


def run(out: Path, *, command: str = "") -> str:
    """Write ``findings.md`` to the folder `out`, whose results it quotes; return it."""
    parts = [
        heading("findings", figure=False),
        "Observations from the implementation of the paper that are not in it. Each has the code "
        "or the command that shows it. The code is run by the tests of the package.",
        "```python\n>>> import numpy as np\n>>> import credalens as cl\n\n```",
    ]
    parts += [markdown(finding, out) for finding in FINDINGS]
    parts.append(f"## Notes\n\n{bullets(provenance(command))}")
    text = "\n\n".join(parts) + "\n"
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "findings.md", text)
    return text


def markdown(finding: Finding, folder: Path) -> str:
    """Return a finding as a section in Markdown."""
    parts = [f"## {finding.title}", finding.text]
    if finding.code:
        parts.append(f"```python\n{session(finding.code)}\n\n```")
    if finding.command:
        parts.append(f"Command: `{finding.command}`")
        found = finding.measured(folder)
        parts.append(bullets(found) if found else "This folder has no result of the command.")
    return "\n\n".join(parts)


def session(code: str) -> str:
    """Run statements and return them as a doctest, with the value of every expression."""
    import credalens as cl

    lines = [line.removeprefix(" " * 8) for line in code.strip("\n").rstrip().split("\n")]
    names: dict[str, object] = {"np": np, "cl": cl}
    shown: list[str] = []
    for statement in ast.parse("\n".join(lines)).body:
        first, *others = lines[statement.lineno - 1 : statement.end_lineno]
        shown += [f">>> {first}", *(f"... {line}" for line in others)]
        module = ast.Module([statement], [])
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "<finding>", "eval"), names)  # noqa: S307
            shown.append(repr(value))
        else:
            exec(compile(module, "<finding>", "exec"), names)  # noqa: S102
    return "\n".join(shown)
