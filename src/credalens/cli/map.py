"""``credalens map``: maps of uncertainty of segmentation ensembles."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import note, print_table, progress
from credalens.cli.options import CommonOptions, examples
from credalens.cli.score_dask import EngineOptions

EXAMPLES = examples(
    "credalens map fold_0 fold_1 fold_2 fold_3 fold_4 -o maps",
    "credalens map unet/ vnet/ swin/ --logits --classes background,liver,tumour -o maps",
)


@dataclass(frozen=True)
class MapEngine(EngineOptions):
    """Options that select where the maps are computed."""

    engine: Annotated[
        str, typer.Option(help="local, or dask: one task per case on the processes of a cluster.")
    ] = "local"
    workers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes of the cluster on this machine.", show_default="all cores"
        ),
    ] = None


def command(
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="FOLD_DIRS...",
            help="One folder per model, with one file per case: .npz with an array probabilities "
            "(K, D, H, W), as nnU-Net writes with --save_probabilities; .npy; .nii or .nii.gz with "
            "the classes on the last axis; .tif with one page per class; or a folder of images, "
            "one per class. Files of the same name are the same case.",
            show_default=False,
        ),
    ],
    common: CommonOptions,
    engine: MapEngine,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the maps.")],
    classes: Annotated[
        str | None,
        typer.Option(
            help="Names of the classes, separated by commas.",
            show_default="those in dataset.json, or numbers",
        ),
    ] = None,
    class_axis: Annotated[
        int | None,
        typer.Option(
            help="Axis of the classes in the files.", show_default="0; of NIfTI images the last"
        ),
    ] = None,
    logits: Annotated[bool, typer.Option("--logits", help="The files have logits.")] = False,
    normalize: Annotated[
        bool,
        typer.Option(
            "--normalize",
            help="Divide the values of each voxel by their sum, as after an interpolation; "
            "negative values become 0.",
        ),
    ] = False,
    rule: Annotated[
        str,
        typer.Option(help="Which labels remain: e-admissible, maximal or interval-dominance."),
    ] = "e-admissible",
    threshold: Annotated[
        float,
        typer.Option(min=0, max=1, help="Count the voxels with a total uncertainty above it."),
    ] = 0.5,
    background: Annotated[
        int, typer.Option(help="Class that is no structure; -1 if every class is one.")
    ] = 0,
    references: Annotated[
        Path | None,
        typer.Option(
            help="Folder of masks of the true classes, with the names of the cases: NIfTI, .npy, "
            ".npz, .png or .tif. Adds accuracies, Dice coefficients and selective.csv.",
            show_default=False,
        ),
    ] = None,
    ignore_label: Annotated[
        int | None,
        typer.Option(help="Value of masks that is not evaluated.", show_default=False),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder of the images that were segmented, CASE or CASE_0000, which are drawn on "
            "the page.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write maps of the uncertainty of several segmentation models, and tables of structures.

    For each case, a folder with maps of the total, the lower and upper aleatoric and the epistemic
    uncertainty under total variation, of the class with the most votes, and of the number of labels
    that remain. The maps have the format of the inputs; if these are NIfTI images, or nnU-Net has
    written a segmentation in NIfTI beside them, they are NIfTI images with the same affine.

    cases.csv and structures.csv have the mean and the 95th percentile of each measure inside each
    predicted structure and on its boundary, its volume above the threshold, and the Dice
    coefficients of pairs of models.

    index.html shows slices of the most uncertain cases, and the tables. With references,
    selective.csv has the metrics of selective prediction of each measure: how well it finds wrong
    voxels, and structures with a small Dice coefficient.

    Cases are read in tiles: memory does not depend on their size. The same command continues an
    interrupted run: finished cases are kept.
    """
    with common.context():
        from credalens._files import check_folder, locked
        from credalens._validation import counted
        from credalens.decisions import ADMISSIBILITY_RULES
        from credalens.maps.cases import class_names, find_cases
        from credalens.maps.job import map_cases, write_tables
        from credalens.maps.page import ranked, write_page
        from credalens.maps.references import find_files
        from credalens.maps.settings import MapSettings

        on_cluster = engine.is_dask
        if logits and normalize:
            raise ValueError("--normalize: does not apply to logits; leave out one of them")
        chosen = rule.lower().replace("-", "_")
        if chosen not in ADMISSIBILITY_RULES:
            known = ", ".join(one.replace("_", "-") for one in ADMISSIBILITY_RULES)
            raise ValueError(f"--rule: is {rule!r}; choose from {known}")
        if ignore_label is not None and references is None:
            raise ValueError("--ignore-label: needs reference masks; pass --references FOLDER")
        cases = find_cases(folders)
        case_names = [case.name for case in cases]
        if references is not None:
            masks = find_files(references, case_names, "--references")
            cases = [replace(case, reference=masks[case.name]) for case in cases]
        if images is not None:
            pictures = find_files(images, case_names, "--images")
            cases = [replace(case, image=pictures[case.name]) for case in cases]
        check_folder(output)
        names = class_names(folders) if classes is None else classes.split(",")
        settings = MapSettings(
            kind="logits" if logits else "normalize" if normalize else "probabilities",
            class_axis=class_axis,
            rule=chosen,
            threshold=threshold,
            background=None if background < 0 else background,
            ignore_label=ignore_label,
            names=None if names is None else tuple(name.strip() for name in names),
        )
        output.mkdir(parents=True, exist_ok=True)
        try:
            with locked(output), progress("maps", common.quiet) as update:
                if on_cluster:
                    from credalens.maps.cluster import map_cases_on_cluster

                    records = map_cases_on_cluster(
                        cases, output, settings, engine.scheduler, engine.workers, update
                    )
                else:
                    records = map_cases(cases, output, settings, update)
                selective = write_tables(records, output, settings.background)
                write_page(records, selective, output, settings, len(folders))
        except KeyboardInterrupt:
            note("credalens: interrupted; run the same command again to continue")
            raise typer.Exit(130) from None
        worst = ranked(records)[:10]
        print_table(
            "Cases with the largest mean total uncertainty in the predicted structures",
            {
                "case": [one["case"] for one in worst],
                **{
                    title: [one["summary"][name] for one in worst]
                    for title, name in (
                        ("total", "foreground_total_mean"),
                        ("epistemic", "foreground_epistemic_mean"),
                        ("Dice of models", "dice_mean"),
                        ("voxels above", "voxels_above"),
                    )
                },
            },
        )
        if selective:
            metrics = ("n", "risk", "aurc", "augrc", "prr", "auroc")
            table = {
                name: [row[name] for row in selective] for name in ("level", "score", *metrics)
            }
            print_table("Selective prediction: errors of voxels, 1 - Dice of structures", table)
        note(
            f"wrote maps of {counted(len(cases), 'case')} to {output}; "
            f"open {output / 'index.html'} in a browser",
            common.quiet,
        )
