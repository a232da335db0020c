"""``credalens monitor``: whether new scores are distributed as those of a reference."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import echo, note, print_table, progress
from credalens.cli.options import CommonOptions, examples

if TYPE_CHECKING:
    from credalens.monitor import MonitorResult, ScoreSketch
    from credalens.monitor.state import MonitorState, Part

#: The exit code of an alarm.
ALARM = 3
#: Options of the tests, which a state keeps.
DEFAULTS = {"level": 0.05, "least_change": 0.02}

EXAMPLES = examples(
    "credalens monitor march.parquet april.parquet",
    "credalens monitor march.parquet april.parquet --by site --report monitor.html",
    "credalens monitor reference.parquet day1.parquet --policy policy.json --state state",
    "credalens monitor day2.parquet --state state",
    "credalens monitor --late day1_labelled.parquet --state state",
)


def command(
    common: CommonOptions,
    files: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[REFERENCE] [NEW]...",
            help="Files of scores: .parquet, .csv, .jsonl, .npz, or a folder of Parquet files. The "
            "first one is the reference, unless --state has one.",
            show_default=False,
        ),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated columns to compare.", show_default="all scores of the reference"
        ),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Column of groups that are also compared separately.")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(help="Policy whose keep rate and guarantees are tested.", show_default=False),
    ] = None,
    target_accuracy: Annotated[
        float | None,
        typer.Option(
            help="Accuracy that is tested with labels, of the predictions that the policy keeps, "
            "or of all.",
            show_default=False,
        ),
    ] = None,
    state: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the reference and of all parts so far, so that no file is read again.",
            show_default=False,
        ),
    ] = None,
    late: Annotated[
        list[str] | None,
        typer.Option(
            help="File of scores with labels that arrived after the scores were counted: only its "
            "labels are counted. Can be repeated.",
            show_default=False,
        ),
    ] = None,
    window: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of latest parts of --state that are compared with the reference.",
            show_default="those of the last run",
        ),
    ] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="Largest probability of a false alarm; with --state, in all runs.",
            show_default=str(DEFAULTS["level"]),
        ),
    ] = None,
    least_change: Annotated[
        float | None,
        typer.Option(
            help="Smaller changes of shares of rows raise no alarm.",
            show_default=str(DEFAULTS["least_change"]),
        ),
    ] = None,
    resamples: Annotated[int, typer.Option(min=1, help="Resamples of the intervals.")] = 1000,
    report: Annotated[
        Path | None, typer.Option(help="Also write this HTML page.", show_default=False)
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Also write the tests: .csv, .parquet, .npz or .jsonl.",
            show_default=False,
        ),
    ] = None,
) -> None:  # fmt: skip
    """Compare new scores with those of a reference; exit with code 3 if an alarm is raised.

    The files are those that credalens score writes. Every column of scores (total uncertainty, both
    ends of aleatoric uncertainty, epistemic uncertainty, which is the disagreement of the models),
    the frequencies of the predicted classes and the keep rate of a policy are tested, with exact
    tests that are corrected for their number. With labels, the guarantees of the policy are tested
    sequentially: if they hold, the probability of an alarm is at most half of the level, however
    often labels are added.

    Files are read once, in blocks, and reduced to counts. With --state, the counts are kept: later
    runs read new files only, a file with the same content is not counted twice, and a run that is
    killed can be repeated. Without new files, the last result is printed again.
    """
    from credalens._validation import fraction, number

    with common.context():
        run = _Run(common, files or [], late or [], report, output)
        options = {"level": level, "least_change": least_change}
        options = {key: value for key, value in options.items() if value is not None}
        if level is not None:
            fraction(level, "--level")
        if least_change is not None:
            number(least_change, "--least-change", least=0)
        settings = {"columns": columns, "by": by, "policy": policy,
                    "target_accuracy": target_accuracy}  # fmt: skip
        if state is None:
            if window is not None:
                raise ValueError("--window: is the number of parts of --state; pass both")
            found = run.single(settings, options, resamples)
        else:
            found = run.with_state(state, settings, options, window, resamples)
    if found.alarm:
        raise typer.Exit(ALARM)


class _Run:
    """The files and outputs of a run."""

    def __init__(
        self,
        common: CommonOptions,
        files: list[str],
        late: list[str],
        report: Path | None,
        output: Path | None,
    ) -> None:
        from credalens._html import check_path
        from credalens.io.output import check_not_inputs, check_output

        self.common, self.files, self.late = common, files, late
        self.report, self.output = report, output
        if report is not None:
            check_path(report, "monitor.html")
        if output is not None:
            check_output(output)
        check_not_inputs(filter(None, (report, output)), map(Path, [*files, *late]))

    # ------------------------------------------------------------ with and without a state

    def single(
        self, settings: dict[str, Any], options: dict[str, Any], resamples: int
    ) -> "MonitorResult":
        """Compare the files after the first one with it."""
        from credalens.monitor import check

        options = DEFAULTS | options
        if len(self.files) < 2:
            raise ValueError("files: pass a reference and at least one new file, or --state")
        empty = _settings(self.files[0], settings)
        reference, *parts = [self._read(name, empty) for name in self.files]
        late = [self._read(name, empty, scores=False) for name in self.late]
        new = sum(parts, empty.empty())
        outcomes = [one.outcomes for one in (*parts, *late)]
        result = check(reference, new, outcomes=outcomes, n_resamples=resamples, **options)
        names = self.files[0], ", ".join(self.files[1:])
        pairs = list(zip(self.files[1:], parts, strict=True))
        self._show(result, reference, new, names, pairs, [*self.files[1:], *self.late])
        return result

    def with_state(
        self,
        folder: Path,
        settings: dict[str, Any],
        options: dict[str, Any],
        window: int | None,
        resamples: int,
    ) -> "MonitorResult":
        """Count the new files in a state, and compare its last parts with its reference."""
        from credalens.monitor import check
        from credalens.monitor.state import MonitorState

        state = MonitorState(folder)
        if state.exists:
            _check_settings(state, settings, options)
        elif not self.files:
            raise ValueError("--state: has no reference; pass its file first")
        else:
            state.create(_settings(self.files[0], settings), DEFAULTS | options)
        own = state.settings or {}
        options = {key: own[key] for key in DEFAULTS}
        skipped = state.update(
            self.files, lambda name, scores: self._read(name, state.empty, scores), self.late
        )
        for name in skipped:
            note(f"{name}: a file with this content is counted already", self.common.quiet)
        parts = state.window(window)
        if not parts:
            note(f"credalens: {folder} has a reference and no new rows yet", self.common.quiet)
            raise typer.Exit
        new = state.merged(parts)
        result = check(
            state.reference, new, run=max(state.run, 1), outcomes=state.outcomes,
            n_resamples=resamples, **options,
        )  # fmt: skip
        names = state.parts[0].name, _part_names(parts)
        pairs = [(part.name, state.sketch(part)) for part in state.scored] if self.report else []
        self._show(result, state.reference, new, names, pairs, [p.name for p in state.parts[1:]])
        return result

    def _read(self, name: str, empty: "ScoreSketch", scores: bool = True) -> "ScoreSketch":
        from credalens.monitor.score_files import read_sketch

        if not (scores or empty.targets):
            raise ValueError(
                "--late: there is no guarantee to test; pass a --policy with one, or "
                "--target-accuracy"
            )
        with progress(f"reading {name}", self.common.quiet, rows=True) as update:
            return read_sketch(name, empty, scores=scores, progress=lambda rows: update(rows, None))

    # ------------------------------------------------------------ outputs

    def _show(
        self,
        result: "MonitorResult",
        reference: "ScoreSketch",
        new: "ScoreSketch",
        names: tuple[str, str],
        parts: list[tuple[str, "ScoreSketch"]],
        part_names: list[str],
    ) -> None:
        from credalens.monitor.page import PartSummary, write_page

        _print(result, names)
        if self.output is not None:
            _write_table(self.output, result)
            note(f"wrote {self.output}", self.common.quiet)
        if self.report is not None:
            summaries = [PartSummary(name, sketch) for name, sketch in parts]
            write_page(
                self.report, result, reference, new, names=names, parts=summaries,
                part_names=part_names,
            )  # fmt: skip
            note(f"wrote {self.report}; open it in a browser", self.common.quiet)


def _settings(reference: str, settings: dict[str, Any]) -> "ScoreSketch":
    """Return a sketch without rows, with the columns of the reference."""
    from credalens.monitor import ScoreSketch
    from credalens.monitor.score_files import score_columns
    from credalens.policy import Policy

    given = settings["columns"]
    if given is None:
        columns = tuple(name for name in score_columns(reference) if name != settings["by"])
    else:
        columns = tuple(filter(None, map(str.strip, given.split(","))))
    policy = None if settings["policy"] is None else Policy.load(settings["policy"])
    return ScoreSketch(
        columns, by=settings["by"], policy=policy, target_accuracy=settings["target_accuracy"]
    )


def _check_settings(
    state: "MonitorState", settings: dict[str, Any], options: dict[str, Any]
) -> None:
    """Raise ValueError if options are given that differ from those of the state."""
    from credalens.policy import Policy

    own = state.settings or {}
    given = dict(settings)
    if given["columns"] is not None:
        given["columns"] = list(filter(None, map(str.strip, given["columns"].split(","))))
    if given["policy"] is not None:
        given["policy"] = Policy.load(given["policy"]).as_dict()
    given = {key: value for key, value in given.items() if value is not None} | options
    for key, value in given.items():
        if own.get(key) != value:
            kept = f"has {own.get(key)}" if key != "policy" else "has another policy"
            raise ValueError(
                f"--{key.replace('_', '-')}: the state in {state.folder} {kept}; leave the option "
                "out or pass the same value, or start with another folder"
            )


def _part_names(parts: "list[Part]") -> str:
    if len(parts) <= 3:
        return ", ".join(part.name for part in parts)
    return f"{parts[0].name} to {parts[-1].name} ({len(parts)} parts)"


def _print(result: "MonitorResult", names: tuple[str, str]) -> None:
    """Print the tests, alarms first, and the guarantees."""
    from credalens._validation import counted
    from credalens.monitor.page import sentence, target_sentence

    raised = sorted(result.changes, key=lambda one: (bool(one.group), not one.alarm))
    shown = [one for one in raised if one.alarm or not one.group]
    columns: dict[str, list[Any]] = {
        "column": [one.column for one in shown],
        "group": [one.group or "all" for one in shown],
        "reference": [one.reference for one in shown],
        "new": [one.new for one in shown],
        "difference": [_interval(one.difference) for one in shown],
        "distance": [one.distance for one in shown],
        "direction": [one.direction for one in shown],
        "p corrected": [f"{one.adjusted:.2g}" for one in shown],
        "alarm": ["yes" if one.alarm else "" for one in shown],
    }
    title = (
        f"{counted(result.n_new, 'row')} of {names[1]} against "
        f"{counted(result.n_reference, 'row')} of {names[0]}"
    )
    print_table(title, columns)
    hidden = len(result.changes) - len(shown)
    if hidden:
        echo(f"{counted(hidden, 'test')} of groups without an alarm.")
    if result.unknown_groups:
        echo(f"Groups without a reference: {', '.join(result.unknown_groups[:20])}.")
    for one in result.changes:
        if one.alarm and not one.group:
            echo(f"ALARM: {sentence(one)}")
    groups = {one.group: None for one in result.changes if one.alarm and one.group}
    if groups:
        echo(f"ALARM: changes in {', '.join(groups)}")
    for target in result.targets:
        echo(("ALARM: " if target.alarm else "") + target_sentence(target))
    echo("An alarm is raised." if result.alarm else "No alarm is raised.")


def _interval(values: Any) -> str:
    estimate, low, high = values.tolist()
    return f"{estimate:+.4f} ({low:+.4f} to {high:+.4f})"


def _write_table(path: Path, result: "MonitorResult") -> None:
    from credalens._files import atomic_write
    from credalens.io.tables import WRITERS, as_batch

    rows: list[dict[str, Any]] = []
    for one in result.changes:
        rows.append({
            "test": one.column, "group": one.group, "n_reference": one.n_reference,
            "n_new": one.n_new, "reference": one.reference, "new": one.new,
            **_ends("difference", one.difference), **_ends("superiority", one.superiority),
            "distance": one.distance, "direction": one.direction, "pvalue": one.pvalue,
            "pvalue_corrected": one.adjusted, "alarm": one.alarm,
        })  # fmt: skip
    nan = float("nan")
    for target in result.targets:
        rows.append({
            **dict.fromkeys(rows[0], nan), "test": target.target.name, "group": "",
            "n_reference": 0, "n_new": target.trials, "new": target.share, "direction": "",
            "reference": target.target.share, "pvalue": target.pvalue,
            "pvalue_corrected": min(1.0, target.pvalue * len(result.targets)),
            "alarm": target.alarm,
        })  # fmt: skip
    batch = as_batch({key: [row[key] for row in rows] for key in rows[0]})
    with atomic_write(path) as temporary:
        WRITERS[path.suffix.lower()](lambda: iter([batch]), temporary)


def _ends(name: str, values: Any) -> dict[str, float]:
    estimate, low, high = map(float, values)
    return {name: estimate, f"{name}_low": low, f"{name}_high": high}
