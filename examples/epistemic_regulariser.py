"""Train an ensemble to disagree outside of the data, and evaluate out-of-distribution detection.

Five small networks are trained on seven of the ten digits of scikit-learn. The regularisation term
``weight * (EU on the data - EU outside of the data)`` is added to the cross-entropy, where EU is
half the total variation diameter of the predictions. The images outside of the data are generated
from the batch: pixels in random order ("shuffled"), means of two images ("mixed"), or uniform
"noise". EU is then evaluated as a detector of images that were not used in training:

- the three excluded digits,
- the test images rotated by 90 degrees, and with inverted grey values,
- patches of the two photographs of scikit-learn.

The table contains all settings that were tried, including those of a first trial with four seeds.
A seed determines the excluded digits, the split, the initial networks and the batches, so that
settings can be compared seed by seed.

    python examples/epistemic_regulariser.py --seeds 10 --out docs/results/epistemic_regulariser.md
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits, load_sample_images
from torch import nn

import credalens as cl
from credalens.experiments.output import versions

#: The images outside of the data and the weight; the first setting is an ordinary ensemble.
SETTINGS = (
    ("none", 0.0),
    *((kind, weight) for kind in ("shuffled", "mixed", "noise") for weight in (0.1, 1.0)),
)
N_MEMBERS, N_HIDDEN, BATCH, STEPS = 5, 64, 128, 300
COLUMNS = ("accuracy", "excluded", "rotated", "inverted", "photographs")


class Ensemble(nn.Module):
    """Networks with one hidden layer, all evaluated by one batched product."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.inner = nn.Parameter(torch.randn(N_MEMBERS, 64, N_HIDDEN) * (2 / 64) ** 0.5)
        self.outer = nn.Parameter(torch.randn(N_MEMBERS, N_HIDDEN, n_classes) * N_HIDDEN**-0.5)
        self.inner_bias = nn.Parameter(torch.zeros(N_MEMBERS, 1, N_HIDDEN))
        self.outer_bias = nn.Parameter(torch.zeros(N_MEMBERS, 1, n_classes))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return logits ``(members, n, classes)``."""
        return torch.relu(x @ self.inner + self.inner_bias) @ self.outer + self.outer_bias


@dataclass(frozen=True)
class Task:
    """Training and test data of one seed; images are ``(n, 64)``, in [0, 1]."""

    images: torch.Tensor
    labels: torch.Tensor
    test_images: torch.Tensor
    test_labels: torch.Tensor
    unknown: dict[str, torch.Tensor]


def make_task(seed: int) -> Task:
    """Exclude three digits, which depend on the seed, and split the images of the others."""
    digits = load_digits()
    images = torch.from_numpy(np.float32(digits.data / 16))
    excluded = np.isin(digits.target, [(seed + step) % 10 for step in (0, 3, 7)])
    known = np.random.default_rng(seed).permutation(np.flatnonzero(~excluded))
    labels = np.searchsorted(np.unique(digits.target[known]), digits.target)
    train, test = np.split(known, [len(known) * 7 // 10])
    rotated = images[test].reshape(-1, 8, 8).rot90(dims=(1, 2)).reshape(-1, 64)
    return Task(
        images[train],
        torch.from_numpy(labels[train]),
        images[test],
        torch.from_numpy(labels[test]),
        {
            "excluded": images[excluded],
            "rotated": rotated,
            "inverted": 1 - images[test],
            "photographs": photograph_patches(),
        },
    )


def photograph_patches() -> torch.Tensor:
    """Cut the bundled photographs, in grey, into patches of 8 x 8 pixels."""
    patches = []
    for photograph in load_sample_images().images:
        grey = torch.from_numpy(np.float32(photograph.mean(axis=2) / 255))
        patches.append(grey.unfold(0, 8, 8).unfold(1, 8, 8).reshape(-1, 64))
    return torch.cat(patches)


def epistemic(logits: torch.Tensor) -> torch.Tensor:
    """Return the epistemic uncertainty of ``(members, n, classes)``, with its gradient."""
    return cl.epistemic_uncertainty(cl.ConvexHull.from_logits(logits, axis=0))


def outside_of_data(x: torch.Tensor, kind: str) -> torch.Tensor:
    """Return images outside of the data, generated from a batch."""
    if kind == "shuffled":
        return x.gather(1, torch.rand(x.shape).argsort(dim=1))
    if kind == "mixed":
        return (x + x[torch.randperm(len(x))]) / 2
    return torch.rand(x.shape)


def train(task: Task, kind: str, weight: float, seed: int, steps: int = STEPS) -> Ensemble:
    """Train an ensemble; weight 0 is an ordinary ensemble."""
    torch.manual_seed(seed)
    ensemble = Ensemble(n_classes=7)
    optimizer = torch.optim.Adam(ensemble.parameters(), lr=3e-3)
    batches = torch.Generator().manual_seed(seed)  # all settings use the same batches
    for _ in range(steps):
        chosen = torch.randint(len(task.images), (BATCH,), generator=batches)
        x, y = task.images[chosen], task.labels[chosen]
        logits = ensemble(x)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), y.repeat(N_MEMBERS))
        if weight:
            outside = ensemble(outside_of_data(x, kind))
            loss = loss + weight * (epistemic(logits) - epistemic(outside)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ensemble


@torch.no_grad()
def evaluate(ensemble: Ensemble, task: Task) -> list[float]:
    """Return the accuracy on test images, and the AUROC of EU for each type of unknown images."""
    logits = ensemble(task.test_images)
    correct = logits.softmax(-1).mean(0).argmax(-1) == task.test_labels
    inside = epistemic(logits)
    scores = [float(correct.double().mean())]
    for name in COLUMNS[1:]:
        outside = epistemic(ensemble(task.unknown[name]))
        scores.append(cl.ood_scores(inside, outside).auroc)
    return scores


def table(results: np.ndarray, seconds: list[float]) -> str:
    """Return the results ``(settings, seeds, columns)`` as a page of Markdown."""
    n_seeds = results.shape[1]
    lines = [
        "# An ensemble trained to disagree outside of the data",
        "",
        "Written by `python examples/epistemic_regulariser.py --seeds "
        f"{n_seeds} --out docs/results/epistemic_regulariser.md`, which describes the training.",
        "",
        f"- {versions()}",
        "",
        f"Mean and standard deviation over {n_seeds} seeds. Accuracy on test images of the seven "
        "known digits; AUROC of epistemic uncertainty (total variation) as a detector of excluded "
        "digits, of rotated and inverted images and of photographs; seconds of CPU time per "
        "training.",
        "",
        f"| outside of the data | weight | {' | '.join(COLUMNS)} | seconds |",
        f"|---|---|{'---|' * (len(COLUMNS) + 1)}",
    ]
    for (kind, weight), runs, time_ in zip(SETTINGS, results, seconds, strict=True):
        cells = [f"{run.mean():.3f} ± {run.std(ddof=1):.3f}" for run in runs.T]
        lines.append(f"| {kind} | {weight:g} | {' | '.join(cells)} | {time_ / n_seeds:.1f} |")
    lines += ["", "Difference to the ordinary ensemble with the same seed:", ""]
    lines += [f"| outside of the data | weight | {' | '.join(COLUMNS)} |"]
    lines += [f"|---|---|{'---|' * len(COLUMNS)}"]
    for (kind, weight), runs in zip(SETTINGS[1:], results[1:], strict=True):
        gains = (runs - results[0]).T
        cells = [
            f"{gain.mean():+.3f} ± {gain.std(ddof=1):.3f}, better in {(gain > 0).sum()}, "
            f"worse in {(gain < 0).sum()}"
            for gain in gains
        ]
        lines.append(f"| {kind} | {weight:g} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run every setting with every seed and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--out", type=Path, help="write the table to this file, too")
    arguments = parser.parse_args()
    if arguments.seeds < 2:
        parser.error("--seeds: a standard deviation needs at least 2")
    torch.set_num_threads(1)  # the matrix products are too small for several threads
    results = np.empty((len(SETTINGS), arguments.seeds, len(COLUMNS)))
    seconds = [0.0] * len(SETTINGS)
    for seed in range(arguments.seeds):
        task = make_task(seed)
        for i, (kind, weight) in enumerate(SETTINGS):
            start = time.process_time()
            ensemble = train(task, kind, weight, seed)
            seconds[i] += time.process_time() - start
            results[i, seed] = evaluate(ensemble, task)
    text = table(results, seconds)
    print(text)
    if arguments.out is not None:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
