"""Digits that an ensemble has never seen: which of its uncertainties tell them.

Ten forests learn the handwritten digits 0 to 6. The test part holds new images of these, and the
digits 7, 8 and 9, which no member knows. Every score is judged as an alarm for the latter.

Run: python examples/ood_detection.py
"""

from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import credalens as cl
from credalens.predictors import CredalEnsembleClassifier

X, y = load_digits(return_X_y=True)
known = y <= 6
X_train, X_inside, y_train, y_inside = train_test_split(
    X[known], y[known], test_size=0.4, stratify=y[known], random_state=0
)
X_outside = X[~known]
scores = {
    "total": cl.total_uncertainty,
    "aleatoric": cl.aleatoric_uncertainty,
    "epistemic": cl.epistemic_uncertainty,
    "upper entropy": cl.upper_entropy,
    "Hartley": cl.generalized_hartley,
}


def detect(forests):
    """Return how well each score of an ensemble finds the digits that it does not know."""
    model = CredalEnsembleClassifier(forests, n_members=10, random_state=0).fit(X_train, y_train)
    print(f"accuracy on known digits: {model.score(X_inside, y_inside):.1%}")
    inside, outside = model.predict_credal(X_inside), model.predict_credal(X_outside)
    found = {name: cl.ood_scores(score(inside), score(outside)) for name, score in scores.items()}
    for name, one in found.items():
        print(f"  {name:14s} AUROC {one.auroc:.3f}  AUPR {one.aupr:.3f}  FPR95 {one.fpr:.3f}")
    return found


print(f"{len(X_inside)} known digits, {len(X_outside)} unknown; ten forests of the same kind")
found = detect(RandomForestClassifier(50))
out = Path("ood_detection.png")
cl.plots.ood_curves(found).figure.savefig(out, dpi=120)

# Epistemic uncertainty is disagreement. Between shallow and deep forests there is much of it on the
# known digits, too, where some are merely less sure than others: it then says little about what is
# unknown, while total and aleatoric uncertainty hold.
print("ten forests of different size and depth")
detect(None)
print(f"wrote {out}")
