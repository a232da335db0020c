"""``--engine dask``: the score command over partitions, on a cluster."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from credalens.cli.conduct import note, progress
from credalens.cli.inputs import Inputs, Manners, Measuring

if TYPE_CHECKING:
    from credalens.datasets.cluster.engine import ScoreJob

#: Endings of the files that the local engine writes, which a folder should not have.
SINGLE = (".csv", ".npz", ".jsonl")


@dataclass(frozen=True)
class Engine:
    """Where the work is done."""

    engine: Annotated[
        str,
        typer.Option(
            help="local, or dask: .parquet (files and folders), .zarr and .npy by partition, into "
            "a folder with one file per partition and _manifest.json. Run again, it keeps what is "
            "finished."
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
            "MB and 32 bytes times --chunk-rows, models and classes (64, if it has several "
            "threads).",
            show_default="all cores",
        ),
    ] = None

    @property
    def is_dask(self) -> bool:
        """Whether a cluster does the work."""
        if self.engine not in ("local", "dask"):
            raise ValueError(f"--engine: is {self.engine!r}; choose local or dask")
        if self.engine == "local":
            for name in ("scheduler", "workers"):
                if getattr(self, name) is not None:
                    raise ValueError(f"--{name}: needs --engine dask")
        return self.engine == "dask"


def score_partitions(
    engine: Engine,
    inputs: Inputs,
    measuring: Measuring,
    manners: Manners,
    output: Path | None,
    summary: str,
) -> None:
    """Score all partitions that are not finished yet."""
    from credalens._files import locked
    from credalens._validation import counted
    from credalens.cli.score import describe, skipped_path, tell_dropped
    from credalens.datasets.cluster.client import connected
    from credalens.datasets.cluster.engine import ScoreJob

    if output is None or output.suffix.lower() in SINGLE:
        raise ValueError("-o: --engine dask writes a folder; name one, e.g. -o scores")
    ensemble = inputs.open(measuring, by_part=True)
    scores = measuring.scores(ensemble.n_classes, summary)
    side = skipped_path(Path(os.path.abspath(output)))  # . has no name of its own
    inputs.keep(ensemble, measuring, output, side)
    describe(ensemble, manners)
    job = ScoreJob(ensemble, scores, output.absolute(), inputs.settings(measuring, summary),
                   inputs.chunk_rows, inputs.skip, manners.threads)  # fmt: skip
    folder = job.prepare()
    with locked(output):
        finished = folder.open(inputs.skip)
        if finished:
            note(f"keeping {finished} finished rows of {ensemble.n_rows}", manners.quiet)
        if finished < (ensemble.n_rows or 0):
            try:
                with connected(engine.scheduler, engine.workers) as client:
                    _run(job, client, folder, finished, manners)
            except KeyboardInterrupt:
                note("credalens: interrupted; the same command goes on with what is not finished")
                raise typer.Exit(130) from None
        rows, dropped = folder.finish(side)
    note(f"wrote {counted(rows, 'row')} to {output}", manners.quiet)
    tell_dropped(dropped, side)


def _run(job: "ScoreJob", client: Any, folder: Any, finished: int, manners: Manners) -> None:
    with progress("scoring", manners.quiet) as show:
        done, expected = finished, job.ensemble.n_rows
        show(done, expected)

        def advance(rows: int) -> None:
            nonlocal done
            done += rows
            show(done, expected)

        job.run(client, folder, advance)
