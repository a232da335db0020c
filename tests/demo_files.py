"""The files of the demo, and forests that train quickly."""

from sklearn.ensemble import RandomForestClassifier

FILES = ["scores.csv", "rejection_curves.png", "simplex.png", "predictions", "report.html"]


def small_forests(n_members, seed):
    """Return forests of few shallow trees."""
    return [
        RandomForestClassifier(n_estimators=5, max_depth=6, random_state=seed + m)
        for m in range(n_members)
    ]
