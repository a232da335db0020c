"""A scikit-learn classifier that abstains from uncertain predictions, on handwritten digits.

Run: python examples/abstaining_classifier.py
"""

from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from credalens.predictors import CredalEnsembleClassifier

X, y = load_digits(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

model = CredalEnsembleClassifier(
    RandomForestClassifier(n_estimators=30, max_depth=8), n_members=5, random_state=0
).fit(X_train, y_train)
print(f"accuracy on all {len(X_test)} digits: {model.score(X_test, y_test):.1%}")

for reject in (0.05, 0.1, 0.2):
    answer = model.predict_or_abstain(X_test, reject=reject)
    kept = answer != -1  # -1 is the label for abstention
    accuracy = (answer[kept] == y_test[kept]).mean()
    print(f"abstaining on {reject:.0%}: {accuracy:.1%} on the remaining {kept.sum()}")

u = model.predict_uncertainty(X_test)
worst = int(u.total.argmax())
print(
    f"most uncertain: digit {worst} of the test set, with label {y_test[worst]} "
    f"(total {u.total[worst]:.2f}, aleatoric {u.aleatoric.lower[worst]:.2f} to "
    f"{u.aleatoric.upper[worst]:.2f}, epistemic {u.epistemic[worst]:.2f})"
)
