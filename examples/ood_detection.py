"""Detection of digits that are not in the training data, by several uncertainty scores.

Ten forests are trained on the handwritten digits 0 to 6. The test data contains other images of
these digits (in-distribution) and the digits 7, 8 and 9 (out-of-distribution). Every score is
evaluated as a detector of the latter.

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
    "total": "tv total",
    "aleatoric": "tv aleatoric",
    "epistemic": "tv epistemic",
    "upper entropy": "upper_entropy",
    "Hartley": "generalized_hartley",
}


def detect(forests):
    """Train an ensemble and return the evaluation of each score as a detector."""
    model = CredalEnsembleClassifier(forests, n_members=10, random_state=0).fit(X_train, y_train)
    print(f"accuracy on known digits: {model.score(X_inside, y_inside):.1%}")
    inside, outside = model.predict_credal(X_inside), model.predict_credal(X_outside)
    found = cl.ood_scores(inside, outside, scores)
    for name, one in found.items():
        print(f"  {name:14s} AUROC {one.auroc:.3f}  AUPR {one.aupr:.3f}  FPR95 {one.fpr:.3f}")
    return found


print(f"{len(X_inside)} known digits, {len(X_outside)} unknown; ten equally sized forests")
found = detect(RandomForestClassifier(50))
out = Path("ood_detection.png")
cl.plots.ood_curves(found).figure.savefig(out, dpi=120)

# Epistemic uncertainty measures disagreement. Shallow and deep forests also disagree on the known
# digits, because shallow forests are less confident. Epistemic uncertainty then hardly detects
# unknown digits, whereas total and aleatoric uncertainty do.
print("ten forests of different size and depth")
detect(None)
print(f"wrote {out}")
