"""``credalens reproduce spaces``."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import command_context, note, progress
from credalens.cli.options import folder_option
from credalens.cli.reproduce import _options
from credalens.experiments.forest_spaces import SPACES, find_space

EXAMPLES = "Example: credalens reproduce spaces --data keel/ --complete table2/"


def command(
    context: typer.Context,
    data: _options.KeelFolder = None,
    spaces: Annotated[
        str, typer.Option(help="Names of spaces separated by commas, see reproduce table2.")
    ] = ",".join(SPACES),
    rows: Annotated[
        int, typer.Option(min=1, help="Leave out larger datasets, except those with K > 10.")
    ] = 6000,
    splits: Annotated[int, typer.Option(min=1, help="Splits per dataset.")] = 3,
    complete: Annotated[
        Path | None,
        typer.Option(
            help="Folder of a complete run of reproduce table2, to correct for the datasets that "
            "are left out.",
            file_okay=False,
        ),
    ] = None,
    out: Annotated[Path, folder_option("Folder for the page.")] = Path("credalens-spaces"),
    store: _options.Store = None,
    jobs: _options.Jobs = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the splits and the forests.")] = 0,
    minutes: _options.Minutes = None,
) -> None:
    """Compare spaces of hyper-parameters of the forests of Table 2, which the paper does not state.

    An interrupted run continues when the command is started again.
    """
    from credalens._files import check_folder
    from credalens.experiments import space_study as experiment
    from credalens.experiments.protocol import Config
    from credalens.experiments.table2 import keel

    with command_context(resumes=True):
        from joblib import cpu_count  # a dependency of scikit-learn, which the experiment requires

        check_folder(out)
        chosen = [find_space(name.strip()) for name in spaces.split(",") if name.strip()]
        sources = experiment.select(keel("all", data), rows)
        work = {name: _options.SPLIT_ROWS + size for name, size in sources.sizes.items()}
        with progress("spaces") as update:
            done, total = 0, len(chosen) * splits * sum(work.values())

            def advance(space: str, name: str, split: int) -> None:
                nonlocal done
                done += work[name]
                update(done, total, f"{space} {name} {split}")

            text = experiment.run(
                sources,
                out,
                store=store,
                complete=complete,
                splits=splits,
                max_rows=rows,
                spaces={space.name: space for space in chosen},
                config=Config(seed=seed),
                command=_options.command_line(context),
                jobs=jobs or cpu_count(),
                minutes=minutes,
                advance=advance,
            )
    typer.echo(text, nl=False)
    note(f"wrote {out}/spaces.md and spaces.csv")
