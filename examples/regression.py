"""A scikit-learn regressor that abstains from uncertain predictions, on the diabetes data.

Five random forests predict the progression of the disease, with the distribution of the training
targets in their leaves.

Run: python examples/regression.py
"""

from pathlib import Path

from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split

import credalens as cl
from credalens.predictors import CredalEnsembleRegressor

X, y = load_diabetes(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)

model = CredalEnsembleRegressor(n_members=5, point="median", random_state=0).fit(X_train, y_train)
predicted = model.predict(X_test)
errors = abs(y_test - predicted)
print(f"mean absolute error of all {len(y_test)} predictions: {errors.mean():.1f}")

for reject in (0.1, 0.2, 0.5):
    answer = model.predict_or_abstain(X_test, reject=reject)
    kept = answer == answer  # NaN stands for abstention
    print(f"abstaining on {reject:.0%}: {errors[kept].mean():.1f} of the remaining {kept.sum()}")

low, high = model.predict_interval(X_test, 0.9).T
inside = (low <= y_test) & (y_test <= high)
print(f"90 % intervals contain {inside.mean():.0%} of the targets")

u = model.predict_uncertainty(X_test)
variance = model.predict_uncertainty(X_test, "variance")
curves = {}
for name, score in {
    "total uncertainty": u.total,
    "epistemic uncertainty": u.epistemic,
    "variance (baseline)": variance.total,
    "variance of means (baseline)": variance.epistemic,
}.items():
    m = cl.selective_metrics(y_test, predicted, score, loss="absolute")
    print(f"{name:28s} PRR {m.prr:.2f}")
    curves[name] = cl.risk_curve(y_test, predicted, score)

out = Path("regression.png")
cl.plots.risk_curves(curves, ylabel="mean absolute error").figure.savefig(out, dpi=120)
print(f"wrote {out}")
