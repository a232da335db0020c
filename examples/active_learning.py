"""Active learning by uncertainty compared with random selection, on handwritten digits.

Five small forests start with 20 labelled digits. In each round, 20 more are labelled: those with
the largest uncertainty, or a random sample. Five repetitions with different initial labels.

Run: python examples/active_learning.py
"""

from pathlib import Path

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

import credalens as cl
from credalens.predictors import CredalEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_pool, X_test, y_pool, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

model = CredalEnsembleClassifier(RandomForestClassifier(10), n_members=5)
found = cl.active_learning_curve(
    model, X_pool, y_pool, X_test, y_test,
    ["tv total", "tv epistemic"],
    n_initial=20, batch_size=20, n_rounds=6, n_repeats=5,
)  # fmt: skip

print(f"accuracy with {found.n_labels[0]} to {found.n_labels[-1]} labels")
for name in found.accuracy:
    curve = "  ".join(f"{value:.3f}" for value in found.mean(name)[::2])
    gain, error = found.gain(name)
    print(f"{name:14s} {curve}   mean gain over random {gain:+.4f} +- {error:.4f}")

# With very few labels, uncertainty is not better than random selection. From 60 labels on, total
# uncertainty is better. Epistemic uncertainty, the disagreement of the members, gains less here:
# over the whole curve not significantly more than random selection. Five repetitions are few: in
# the 30 of `credalens reproduce scores --tasks`, the two do not differ clearly.
out = Path("active_learning.png")
cl.plots.active_learning_curves(found).figure.savefig(out, dpi=120)
print(f"wrote {out}")
