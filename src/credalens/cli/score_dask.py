"""``credalens score --engine dask``: the score command over partitions, on a Dask cluster."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.command_context import note, progress
from credalens.cli.options import CommonOptions, EnsembleInputs, MeasureOptions
from credalens.cli.predictions import note_skipped, open_predictions
from credalens.cli.reading import skipped_path

if TYPE_CHECKING:
    from credalens.engine.job import PartitionResult

#: Suffixes of files that the local engine writes; a folder should not have them.
SINGLE_FILE_SUFFIXES = (".csv", ".npz", ".jsonl")


@dataclass(frozen=True)
class EngineOptions:
    """Options that select where the scores are computed."""

    engine: Annotated[
        str,
        typer.Option(
            help="local, or dask: read .parquet (files and folders), .zarr and .npy by partition, "
            "and write a folder with one file per partition and _manifest.json. Running the same "
            "command again keeps the finished partitions."
        ),
    ] = "local"
    scheduler: Annotated[
        str | None,
        typer.Option(help="Address of a Dask scheduler.", show_default="a cluster on this machine"),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Processes of the cluster on this machine, which share its cores. Each needs 384 "
            "MB plus 32 bytes times --chunk-rows, models and classes (64 bytes if it has several "
            "threads).",
            show_default="all cores",
        ),
    ] = None

    checksum: Annotated[
        bool,
        typer.Option(
            "--checksum",
            help="Also write OUTPUT.sha256, which sha256sum --check verifies. With --engine dask "
            "the manifest always has the checksums.",
        ),
    ] = False

    @property
    def is_dask(self) -> bool:
        """Whether the scores are computed on a Dask cluster."""
        if self.engine not in ("local", "dask"):
            raise ValueError(f"--engine: is {self.engine!r}; choose local or dask")
        if self.engine == "local":
            for name in ("scheduler", "workers"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name}: needs --engine dask")
        return self.engine == "dask"


def score_partitions(
    engine: EngineOptions,
    inputs: EnsembleInputs,
    measure_options: MeasureOptions,
    common: CommonOptions,
    output: Path | None,
    **options: Any,
) -> None:
    """Score all partitions that are not finished yet; `options` are of `open_predictions`."""
    from credalens._files import locked
    from credalens._validation import counted
    from credalens.engine.client import connect
    from credalens.engine.job import ScoreJob

    if output is None or output.suffix.lower() in SINGLE_FILE_SUFFIXES:
        raise ValueError("-o: --engine dask writes a folder; pass one, e.g. -o scores")
    side = skipped_path(Path(os.path.abspath(output)))  # the relative path "." has no name
    predictions = open_predictions(
        inputs, measure_options, common, output, side, by_part=True, **options
    )
    settings = inputs.settings(measure_options)
    job = ScoreJob(predictions.ensemble, predictions.columns, output.absolute(), settings,
                   inputs.chunk_rows, inputs.skip, common.threads)  # fmt: skip
    folder = job.prepare()
    predictions.inspect_sample()
    with locked(output):
        finished, total = folder.open(inputs.skip), predictions.ensemble.n_rows
        for name in folder.damaged:
            note(f"credalens: warning: {output / name} is damaged and is computed again",
                 common.quiet)  # fmt: skip
        if finished:
            note(f"keeping {finished} finished rows of {total}", common.quiet)
        if finished < (total or 0):
            try:
                with (
                    connect(engine.scheduler, engine.workers) as client,
                    progress("scoring", common.quiet, rows=True) as update,
                ):
                    done = finished
                    update(done, total)

                    def advance(result: "PartitionResult") -> None:
                        nonlocal done
                        done += result.rows + result.dropped
                        predictions.findings.merge(result)
                        update(done, total)

                    job.run(client, folder, advance)
            except KeyboardInterrupt:
                note("credalens: interrupted; run the same command again to continue")
                raise typer.Exit(130) from None
        rows, skipped = folder.finish(side)
    predictions.report_findings()
    note(f"wrote {counted(rows, 'row')} to {output}", common.quiet)
    note_skipped(skipped, side)
