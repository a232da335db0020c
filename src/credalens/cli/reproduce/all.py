"""``credalens reproduce all``."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from credalens.cli.command_context import command_context, note
from credalens.cli.options import folder_option
from credalens.cli.reproduce import _options

EXAMPLES = (
    "Examples: credalens reproduce all --out results --keel keel/ --cifar10 cifar10/; "
    "credalens reproduce all --out results --only table1,axioms,findings"
)


def _folder(text: str) -> Any:
    return typer.Option(help=text, exists=True, file_okay=False)


@dataclass(frozen=True)
class Step:
    """A command with its arguments, or the reason why it is skipped."""

    name: str
    arguments: list[str] = field(default_factory=list)
    missing: str = ""


@dataclass(frozen=True)
class Inputs:
    """The data, and where intermediate results are stored."""

    keel: Annotated[Path | None, _folder("Folder of the 64 .dat files of KEEL.")] = None
    cifar10: Annotated[
        Path | None, _folder("Folder of the predictions of networks on CIFAR-10.")
    ] = None
    cifar100: Annotated[
        Path | None, _folder("Folder of the predictions of networks on CIFAR-100.")
    ] = None
    annotators: Annotated[
        Path | None,
        typer.Option(help="Counts of CIFAR-10H, .npy or .npz.", exists=True, dir_okay=False),
    ] = None
    images: Annotated[
        Path | None, _folder("Folder with a subfolder for each of --image-datasets.")
    ] = None
    image_datasets: Annotated[
        str, typer.Option(help="Image datasets of Figures 3 and 4, separated by commas.")
    ] = "fashion-mnist,mnist"
    check_every: Annotated[
        str, typer.Option(help="Intervals of the likelihood checks in Figures 3 and 4.")
    ] = "epoch,10"
    work: Annotated[
        Path,
        typer.Option(
            help="Folder of intermediate results: finished splits and trained networks.",
            file_okay=False,
        ),
    ] = Path("credalens-work")

    def steps(self, timing: bool, jobs: int) -> list[Step]:
        """Return all steps in the order in which they run."""
        keel = ["--data", str(self.keel), "--jobs", str(jobs)]
        no_keel = "" if self.keel else "pass --keel"
        table2 = ["--store", str(self.work / "table2"), *keel]
        complete = ["--complete", str(self.work / "table2")]
        times = [Step("table2", [*table2, "--timing"], no_keel)] if timing else []
        return [
            Step("table1"),
            Step("figure1"),
            Step("axioms"),
            self._on_networks("figure2"),
            self._human_labels(),
            self._on_networks("repair"),
            *self._trained(),
            Step("table2", table2, no_keel),
            Step("spaces", ["--store", str(self.work / "spaces"), *complete, *keel], no_keel),
            self._scores(keel),
            *times,
            Step("findings"),
        ]

    def _on_networks(self, name: str) -> Step:
        named = {"CIFAR-10": self.cifar10, "CIFAR-100": self.cifar100}
        given = [f"{name}={folder}" for name, folder in named.items() if folder]
        arguments = [word for text in given for word in ("--predictions", text)]
        return Step(name, arguments, "" if given else "pass --cifar10 or --cifar100")

    def _human_labels(self) -> Step:
        arguments = ["--predictions", str(self.cifar10), "--annotators", str(self.annotators)]
        is_given = self.cifar10 and self.annotators
        return Step(
            "human-labels", arguments, "" if is_given else "pass --cifar10 and --annotators"
        )

    def _trained(self) -> list[Step]:
        """Return Figures 3 and 4, which need the images and PyTorch unless they are trained."""
        from importlib.util import find_spec

        folder = self.work / "ensembles"
        arguments = ["--dataset", self.image_datasets, "--check-every", self.check_every,
                     "--ensembles", str(folder)]  # fmt: skip
        names = [f"{dataset}-{every}" for dataset in self.image_datasets.split(",")
                 for every in self.check_every.split(",")]  # fmt: skip
        missing = ""
        if not all((folder / name / "predictions.npz").is_file() for name in names):
            if self.images is None:
                missing = "pass --images"
            elif find_spec("torch") is None:
                missing = "install PyTorch to train the networks"
        if self.images is not None:
            arguments += ["--data", str(self.images)]
        return [Step(name, arguments, missing) for name in ("figure3", "figure4")]

    def _scores(self, keel: list[str]) -> Step:
        arguments = ["--store", str(self.work / "scores"), "--tasks"]
        if self.cifar10:
            arguments += ["--predictions", f"CIFAR-10={self.cifar10}"]
        if self.cifar100:
            arguments += ["--predictions", f"CIFAR-100={self.cifar100}"]
            if any(self.cifar100.glob("lenet*")):  # much less accurate than the others
                others = f"CIFAR-100 without LeNet-5={self.cifar100}/[!l]*.npz"
                arguments += ["--predictions", others]
        first = f"{self.image_datasets.split(',')[0]}-{self.check_every.split(',')[0]}"
        trained = self.work / "ensembles" / first
        if (trained / "predictions.npz").is_file():
            arguments += ["--ensemble", str(trained)]
        if self.keel:
            arguments += ["--datasets", "all", "--equal", *keel]
        return Step("scores", arguments)


def command(
    context: typer.Context,
    inputs: Inputs,
    out: Annotated[Path, folder_option("Folder for all pages.")] = Path("credalens-results"),
    only: Annotated[
        str, typer.Option(help="Names of commands separated by commas; by default all.")
    ] = "",
    timing: Annotated[
        bool,
        typer.Option("--timing", help="Measure the times of Table 2 in a pass of their own."),
    ] = False,
    jobs: _options.Jobs = 0,
) -> None:
    """Write all pages of results, and an overview of them.

    Commands whose data are not given are skipped and reported. An interrupted run continues when
    the command is started again.
    """
    from credalens._files import check_folder
    from credalens.experiments.pages import write_overview

    with command_context(resumes=True):
        check_folder(out)
        steps = inputs.steps(timing, jobs)
        chosen = _choose(only, [step.name for step in steps])
        skipped, failed = [], []
        for step in (step for step in steps if step.name in chosen):
            if step.missing:
                skipped.append(f"`{step.name}`: {step.missing}.")
                note(f"credalens: skipped {step.name}: {step.missing}")
                continue
            code = _run(step, out)
            if code == 130:
                raise KeyboardInterrupt
            if code:
                failed.append(step.name)
        overview = write_overview(out, skipped=skipped, command=_options.command_line(context))
    note(f"wrote {overview}")
    if failed:
        note(f"credalens: failed: {', '.join(failed)}")
        raise typer.Exit(1)


def _choose(only: str, names: list[str]) -> list[str]:
    chosen = [name.strip() for name in only.split(",") if name.strip()] or names
    unknown = [name for name in chosen if name not in names]
    if unknown:
        raise ValueError(f"--only: {unknown[0]}; choose from {', '.join(dict.fromkeys(names))}")
    return chosen


def _run(step: Step, out: Path) -> int:
    """Run a command without printing its tables; return its exit code."""
    import io
    from contextlib import redirect_stdout

    from credalens.cli.reproduce import app

    group: Any = typer.main.get_command(app)
    found = group.get_command(None, step.name)
    arguments = [*step.arguments, "--out", str(out)]
    note(f"credalens: {step.name}")
    with redirect_stdout(io.StringIO()):
        code = found.main(arguments, prog_name=step.name, standalone_mode=False)
    return code if isinstance(code, int) else 0
