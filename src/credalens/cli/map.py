"""``credalens map``: maps of uncertainty of segmentation ensembles."""

from pathlib import Path
from typing import Annotated

import typer

from credalens.cli.command_context import note, print_table, progress
from credalens.cli.options import CommonOptions, examples

EXAMPLES = examples(
    "credalens map fold_0 fold_1 fold_2 fold_3 fold_4 -o maps",
    "credalens map unet/ vnet/ swin/ --logits --classes background,liver,tumour -o maps",
)


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
) -> None:
    """Write maps of the uncertainty of several segmentation models, and tables of structures.

    For each case, a folder with maps of the total, the lower and upper aleatoric and the epistemic
    uncertainty under total variation, of the class with the most votes, and of the number of labels
    that remain. The maps have the format of the inputs; if these are NIfTI images, or nnU-Net has
    written a segmentation in NIfTI beside them, they are NIfTI images with the same affine.

    cases.csv and structures.csv have the mean and the 95th percentile of each measure inside each
    predicted structure and on its boundary, its volume above the threshold, and the Dice
    coefficients of pairs of models.

    Cases are read in tiles: memory does not depend on their size. The same command continues an
    interrupted run: finished cases are kept.
    """
    with common.context():
        from credalens._files import check_folder, locked
        from credalens._validation import counted
        from credalens.decisions import ADMISSIBILITY_RULES
        from credalens.maps.cases import class_names, find_cases
        from credalens.maps.job import map_cases, write_tables
        from credalens.maps.settings import MapSettings

        if logits and normalize:
            raise ValueError("--normalize: does not apply to logits; leave out one of them")
        chosen = rule.lower().replace("-", "_")
        if chosen not in ADMISSIBILITY_RULES:
            known = ", ".join(one.replace("_", "-") for one in ADMISSIBILITY_RULES)
            raise ValueError(f"--rule: is {rule!r}; choose from {known}")
        cases = find_cases(folders)
        check_folder(output)
        names = class_names(folders) if classes is None else classes.split(",")
        settings = MapSettings(
            kind="logits" if logits else "normalize" if normalize else "probabilities",
            class_axis=class_axis,
            rule=chosen,
            threshold=threshold,
            background=None if background < 0 else background,
            names=None if names is None else tuple(name.strip() for name in names),
        )
        output.mkdir(parents=True, exist_ok=True)
        try:
            with locked(output), progress("maps", common.quiet) as update:
                records = map_cases(
                    cases, output, settings, lambda done, total, name: update(done, total, name)
                )
                write_tables(records, output)
        except KeyboardInterrupt:
            note("credalens: interrupted; run the same command again to continue")
            raise typer.Exit(130) from None
        worst = sorted(records, key=lambda one: -(one["summary"]["foreground_total_mean"] or 0))[
            :10
        ]
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
        note(f"wrote maps of {counted(len(cases), 'case')} to {output}", common.quiet)
