"""A TorchMetrics metric of all instances: the area under an accuracy-rejection curve.

The metric collects the scores of all batches. The example evaluates five linear classifiers on
scikit-learn's digits:

    python examples/torchmetrics_metric.py
"""

from __future__ import annotations

from typing import Any

import torch
from sklearn.datasets import load_digits
from torchmetrics import Metric
from torchmetrics.utilities.data import dim_zero_cat

import credalens as cl


class RejectionAUC(Metric):
    """Area under the accuracy-rejection curve of an ensemble: 1 is perfect.

    Parameters
    ----------
    score : {"total", "epistemic"}, default="epistemic"
        The score by which instances are rejected, the largest first.
    measure : str or distance, default="tv"
        The family of measures, as for `credalens.quantify`.
    """

    higher_is_better = True
    full_state_update = False
    scores: list[torch.Tensor]
    predicted: list[torch.Tensor]
    true: list[torch.Tensor]

    def __init__(self, score: str = "epistemic", measure: Any = "tv", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.score, self.measure = score, measure
        for name in ("scores", "predicted", "true"):
            self.add_state(name, default=[], dist_reduce_fx="cat")

    def update(self, members: torch.Tensor, target: torch.Tensor) -> None:
        """Add a batch of member probabilities ``(n, members, classes)`` with their labels."""
        self.scores.append(getattr(cl.quantify(members, self.measure), self.score).detach())
        self.predicted.append(cl.majority_vote(members))
        self.true.append(target)

    def compute(self) -> torch.Tensor:
        """Return the area for all instances."""
        states = self.true, self.predicted, self.scores
        true, predicted, scores = (dim_zero_cat(state).cpu() for state in states)
        return torch.tensor(cl.rejection_curve(true, predicted, scores).auc)


def main() -> None:
    """Train five linear classifiers on resampled digits and print the area."""
    torch.set_num_threads(1)  # the matrix products are too small for several threads
    torch.manual_seed(0)
    digits = load_digits()
    images, labels = torch.from_numpy(digits.data / 16).float(), torch.from_numpy(digits.target)
    models = []
    for _ in range(5):
        model = torch.nn.Linear(64, 10)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
        chosen = torch.randint(1000, (300,))
        for _ in range(50):
            loss = torch.nn.functional.cross_entropy(model(images[chosen]), labels[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        models.append(model)
    metric = RejectionAUC()
    with torch.no_grad():
        for x, y in zip(images[1000:].split(100), labels[1000:].split(100), strict=True):
            members = torch.stack([model(x).softmax(-1) for model in models], dim=1)
            metric.update(members, y)
    print(f"area under the rejection curve: {metric.compute():.3f}")


if __name__ == "__main__":
    main()
