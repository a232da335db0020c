"""``credalens evaluate --regression``: how well each score ranks the errors of a real target."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from credalens.cli.command_context import echo, note, print_table, progress
from credalens.cli.evaluate_output import METRIC_LABELS
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions
from credalens.cli.predictions import write_skipped
from credalens.cli.reading import skipped_path
from credalens.cli.regression import RegressionOptions, labelled_columns, open_regression

if TYPE_CHECKING:
    from credalens.evaluation.bootstrap import BootstrapResult

#: Names of the files that are written.
FILES = EVALUATION, CURVES = "evaluation.csv", "risk_curves.png"
LOSSES = ("absolute", "squared")
#: Metrics that are printed by default.
DEFAULT_METRICS = ("aurc", "eaurc", "prr")


def evaluate_regression(
    options: RegressionOptions,
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    output: Path | None,
    metrics: Sequence[str] | None,
    loss: str,
    settings: dict[str, Any],
) -> None:
    """Print the tables, and write them and the curves to a folder."""
    from dataclasses import replace

    from credalens.evaluation.losses import instance_losses
    from credalens.evaluation.real_scores import REAL_BASELINES

    if loss not in LOSSES:
        raise ValueError(f"--loss: is {loss!r}; choose {' or '.join(LOSSES)}")
    side = skipped_path(None if output is None else output / EVALUATION)
    written = [] if output is None else [output / name for name in FILES]
    predictions = open_regression(options, inputs, measure_options, common, side, *written)
    if not predictions.ensemble.has_labels:
        raise ValueError("targets: no file has them; pass --labels FILE or --label-column NAME")
    own = predictions.columns
    predictions.columns = replace(own, measures=tuple(dict.fromkeys((*own.measures, "variance"))))
    names = tuple(dict.fromkeys([*own.names, *REAL_BASELINES]))
    found, n = labelled_columns(predictions, ["target", "prediction", *names])
    if predictions.skipped:
        side.parent.mkdir(parents=True, exist_ok=True)
        write_skipped(predictions.skipped, side)
    if not n:
        raise ValueError("rows: no valid row with a target is left; correct the files")
    losses = instance_losses(found["target"], found["prediction"], loss)
    scores = {name: found[name] for name in names if not _repeats(name, names)}
    qualities = _qualities(losses, scores, settings, common)
    if output is not None:
        for path in _write_files(output, qualities, f"mean {loss} error"):
            note(f"wrote {path}", common.quiet)
    _print(found, loss, qualities, metrics or DEFAULT_METRICS, settings)
    if len(scores) > 1:
        echo(_best(losses, scores, qualities, settings))


def _repeats(name: str, names: Sequence[str]) -> bool:
    """Return whether a score equals another one: the upper aleatoric end is the total."""
    return name == "wasserstein_aleatoric_upper" and "wasserstein_total" in names


def _qualities(
    losses: Any, scores: dict[str, Any], settings: dict[str, Any], common: CommonOptions
) -> dict[str, BootstrapResult]:
    from credalens.evaluation.bootstrap import bootstrap

    found = {}
    with progress("ordering", common.quiet, rows=True) as update:
        for i, (name, score) in enumerate(scores.items()):
            update(i * len(losses), len(scores) * len(losses))
            found[name] = bootstrap(None, score, loss=losses, **settings)
    return found


def _risk(accuracy: Any) -> tuple[float, float, float]:
    """Return a risk and the ends of its interval from those of 1 minus it."""
    value, low, high = (1 - float(x) for x in accuracy)
    return value, high, low


def _shown(risk: tuple[float, float, float]) -> str:
    value, low, high = risk
    interval = "" if math.isnan(low) else f" {low:.4g}-{high:.4g}"
    return f"{value:.4g}{interval}"


def _print(
    found: dict[str, Any],
    loss: str,
    qualities: dict[str, BootstrapResult],
    metrics: Sequence[str],
    settings: dict[str, Any],
) -> None:
    import numpy as np

    from credalens.evaluation.bootstrap import REJECTED
    from credalens.evaluation.losses import instance_losses
    from credalens.evaluation.real_scores import REAL_BASELINES

    target = found["target"]
    constant = np.full(len(target), np.median(target) if loss == "absolute" else target.mean())
    center = "median" if loss == "absolute" else "mean"
    overall = _risk(next(iter(qualities.values())).accuracy_at[0])
    rows = "the only row" if len(target) == 1 else f"all {len(target)} rows"
    baseline = float(instance_losses(target, constant, loss).mean())
    echo(f"Mean {loss} error on {rows}: {_shown(overall)}; of the {center} of the targets: "
               f"{baseline:.4g}")  # fmt: skip
    names = [f"{n} (baseline)" if n in REAL_BASELINES else n for n in qualities]
    columns: dict[str, list[Any]] = {"score": names}
    columns["mean risk"] = [_shown(_risk(q.auc)) for q in qualities.values()]
    columns["MR"] = [f"{float(q.monotonicity_ratio[0]):.2f}" for q in qualities.values()]
    for i, share in enumerate(REJECTED[1:], start=1):
        columns[f"{share:.0%} rejected"] = [
            _shown(_risk(q.accuracy_at[i])) for q in qualities.values()
        ]
    print_table(f"Mean {loss} error after rejecting the most uncertain rows", columns)
    table: dict[str, list[Any]] = {"score": names}
    for metric in metrics:
        table[METRIC_LABELS[metric]] = [float(getattr(q, metric)[0]) for q in qualities.values()]
    print_table("Metrics of selective prediction", table)
    if settings["n_resamples"]:
        echo(f"Ranges: {settings['confidence']:.0%} bootstrap intervals, "
                   f"{settings['n_resamples']} resamples.")  # fmt: skip


def _best(
    losses: Any,
    scores: dict[str, Any],
    qualities: dict[str, BootstrapResult],
    settings: dict[str, Any],
) -> str:
    """Return a sentence on the score with the largest PRR and its difference to the first."""
    from credalens.evaluation.compare import compare_scores

    default = next(iter(scores))
    ratios = {name: float(q.prr[0]) for name, q in qualities.items()}
    if all(map(math.isnan, ratios.values())):
        return "PRR is undefined: all errors are equal."
    best = max(scores, key=lambda name: ratios[name])
    text = f"Best score: {best}, PRR {ratios[best]:.3f}"
    if best == default:
        return f"{text}, the default."
    text += f", {ratios[best] - ratios[default]:.3f} above {default}, the default"
    if not settings["n_resamples"]:
        return f"{text}; without bootstrap resamples it is unknown whether by chance."
    level = 1 - (1 - settings["confidence"]) / (len(scores) - 1)  # Bonferroni correction
    found = compare_scores(
        None, None, {name: scores[name] for name in (default, best)}, metrics="prr", loss=losses,
        n_resamples=settings["n_resamples"], confidence=level,
        random_state=settings["random_state"],
    )  # fmt: skip
    _, low, high = found.difference[0, 1]
    verdict = f" Rank by {best} instead." if low > 0 else " The difference may be chance."
    return (
        f"{text} ({settings['confidence']:.0%} interval {low:.3f} to {high:.3f}, {len(scores) - 1} "
        f"scores compared).{verdict}"
    )


def _write_files(folder: Path, qualities: dict[str, BootstrapResult], ylabel: str) -> list[Path]:
    from matplotlib.figure import Figure

    from credalens._files import atomic_write
    from credalens.evaluation import RiskCurve
    from credalens.io.tables import as_batch, write_csv
    from credalens.plots import risk_curves

    folder.mkdir(parents=True, exist_ok=True)
    rows = [_row(*item) for item in qualities.items()]
    batch = as_batch({key: [row[key] for row in rows] for key in rows[0]})
    with atomic_write(folder / EVALUATION) as path, path.open("wb") as stream:
        write_csv([batch], stream)
    with atomic_write(folder / CURVES) as path:
        figure = Figure(figsize=(6.4, 5.6), layout="constrained")
        curves = {
            name: RiskCurve(q.curve.rejection, 1 - q.curve.accuracy)
            for name, q in qualities.items()
        }
        risk_curves(curves, ax=figure.add_subplot(), ylabel=f"{ylabel} after rejection")
        figure.savefig(path, dpi=150)
    return [folder / name for name in FILES]


def _row(name: str, quality: BootstrapResult) -> dict[str, Any]:
    from credalens.evaluation.bootstrap import REJECTED
    from credalens.evaluation.curve_metrics import METRICS

    row: dict[str, Any] = {"score": name}
    estimates: dict[str, Any] = {"mean_risk": _risk(quality.auc), "mr": quality.monotonicity_ratio}
    for share, accuracy in zip(REJECTED, quality.accuracy_at, strict=True):
        estimates[f"risk_at_{share:.0%}".rstrip("%")] = _risk(accuracy)
    kept = [metric for metric in METRICS if metric not in ("auarc", "auroc")]
    estimates |= {metric: getattr(quality, metric) for metric in kept}
    for key, (value, low, high) in estimates.items():
        row.update({key: float(value), f"{key}_low": float(low), f"{key}_high": float(high)})
    return row
