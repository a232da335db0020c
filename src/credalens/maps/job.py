"""Maps of all cases: resumable, one folder per case, here or on a Dask cluster."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from credalens._backend import limit_threads
from credalens._files import atomic_write, naming_errors, sync
from credalens.maps.cases import Case
from credalens.maps.compute import DiceCounts, compute_maps
from credalens.maps.pictures import draw
from credalens.maps.references import ReferenceCounts, open_grid, selective_rows
from credalens.maps.settings import MapSettings
from credalens.maps.structures import Summary
from credalens.maps.volumes import Volume, open_volumes
from credalens.maps.writing import write_maps

SETTINGS_FILE = "settings.json"
CASE_FILE = "case.json"
COUNTS_FILE = "errors.npz"

#: Called with the number of finished cases, of all cases, and the name of the current one.
Progress = Callable[[float, int, str], None]


def map_cases(
    cases: Sequence[Case],
    out: Path,
    settings: MapSettings,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Write the maps and summaries of all cases that are not finished yet.

    Parameters
    ----------
    cases : sequence of Case
        See `find_cases`.
    out : Path
        Folder, which gets one folder per case.
    settings : MapSettings
    progress : callable, optional
        See `Progress`.

    Returns
    -------
    list of dict
        The contents of ``case.json`` of each case.
    """
    report = progress or (lambda done, total, name: None)
    pending = unfinished(cases, out, settings)
    done = len(cases) - len(pending)
    for i, case in enumerate(pending):

        def advance(share: float, base: int = done + i, name: str = case.name) -> None:
            report(base + share, len(cases), name)

        advance(0.0)
        process_case(case, out, settings, advance)
    report(len(cases), len(cases), "")
    return read_cases(cases, out)


def unfinished(cases: Sequence[Case], out: Path, settings: MapSettings) -> list[Case]:
    """Return the cases without maps of these inputs; create the folder and note the settings.

    Raises
    ------
    ValueError
        If the folder has maps with other settings, or other files.
    """
    wanted = settings.as_dict()
    path = out / SETTINGS_FILE
    with naming_errors(out):
        out.mkdir(parents=True, exist_ok=True)
        if path.exists():
            written = _read_json(path)
            different = [name for name, value in wanted.items() if written.get(name) != value]
            if different:
                raise ValueError(
                    f"{out}: has maps with other settings ({', '.join(different)}); name another "
                    "folder, or remove this one"
                )
        elif any(not entry.name.startswith(".") for entry in out.iterdir()):
            raise ValueError(f"{out}: is not empty and has no maps; name another folder")
        else:
            with atomic_write(path) as temporary:
                temporary.write_text(json.dumps(wanted, indent=1) + "\n", encoding="utf-8")
        for entry in out.iterdir():  # of an interrupted run
            if entry.name.startswith(".work-"):
                shutil.rmtree(entry, ignore_errors=True)
    return [case for case in cases if not _is_finished(case, out)]


def _is_finished(case: Case, out: Path) -> bool:
    try:
        found = _read_json(out / case.name / CASE_FILE)
    except (OSError, ValueError):
        return False
    return bool(found.get("inputs") == case.fingerprint())


def process_case(
    case: Case,
    out: Path,
    settings: MapSettings,
    advance: Callable[[float], None] = lambda share: None,
    threads: int | None = None,
) -> None:
    """Write the folder of one case, which appears when it is complete."""
    if threads is not None:
        with limit_threads(threads):
            return process_case(case, out, settings, advance)
    with naming_errors(out), tempfile.TemporaryDirectory(prefix=".work-", dir=out) as work:
        scratch, folder = Path(work), Path(work) / "case"
        folder.mkdir()
        volumes = open_volumes(case, settings.class_axis, scratch)
        n_classes = volumes[0].array.shape[0]
        if settings.names is not None and len(settings.names) != n_classes:
            raise ValueError(
                f"--classes: has {len(settings.names)} names, and {volumes[0].path} has "
                f"{n_classes} classes; name every class once"
            )
        maps, dice = compute_maps(volumes, settings, scratch, advance)
        summary = Summary(maps, n_classes, settings.threshold)
        record = _record(case, settings, volumes[0], summary, dice)
        geometry = volumes[0].geometry
        pictures: dict[str, Any] = {"sizes": None if geometry is None else geometry.sizes}
        if case.reference is not None:
            file = scratch / "reference.npy"
            counts = ReferenceCounts(case.reference, maps, n_classes, settings, file)
            record["reference"] = counts.record(settings)
            np.savez_compressed(folder / COUNTS_FILE, **counts.counts)  # type: ignore[arg-type]
            pictures["reference"] = open_grid(case.reference, maps["vote"].shape, file)
        if case.image is not None:
            file = scratch / "image.npy"
            pictures["image"] = open_grid(case.image, maps["vote"].shape, file)
        record["views"] = draw(maps, settings.background, folder, **pictures)
        write_maps(maps, case.format, geometry, scratch, folder)
        (folder / CASE_FILE).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
        del maps, volumes, pictures
        target = out / case.name
        if target.exists():
            shutil.rmtree(target)
        folder.chmod(0o755)
        for path in (*folder.iterdir(), folder):
            sync(path)
        folder.replace(target)
        sync(out)
    return None


def _record(
    case: Case, settings: MapSettings, first: Volume, summary: Summary, dice: DiceCounts
) -> dict[str, Any]:
    K = first.array.shape[0]
    volume = None if first.geometry is None else first.geometry.voxel_volume
    pairs = dice.pairwise()
    structures = []
    for k in range(K):
        row = {"structure": settings.name(k), **summary.row(k, volume)}
        structures.append(row | _dice_columns(pairs[:, k]))
    foreground = [k for k in range(K) if k != settings.background]
    occurring = [k for k in foreground if summary.regions["inside"].voxels[k]]
    columns = summary.row(range(K), volume)
    inside = summary.regions["inside"].row(occurring)
    columns |= {f"foreground_{name}": value for name, value in inside.items()}
    columns |= _dice_columns(pairs[:, foreground].ravel())
    return {
        "case": case.name,
        "shape": list(first.array.shape[1:]),
        "inputs": case.fingerprint(),
        "summary": _finite(columns),
        "structures": [_finite(row) for row in structures],
    }


def _dice_columns(values: Any) -> dict[str, Any]:
    known = values[~np.isnan(values)]
    if not len(known):
        return {"dice_mean": None, "dice_min": None}
    return {"dice_mean": float(known.mean()), "dice_min": float(known.min())}


def _finite(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with None in place of NaN, which JSON does not have."""
    return {k: None if isinstance(v, float) and v != v else v for k, v in row.items()}


def read_cases(cases: Sequence[Case], out: Path) -> list[dict[str, Any]]:
    """Return the contents of ``case.json`` of finished cases."""
    return [_read_json(out / case.name / CASE_FILE) for case in cases]


def _read_json(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_tables(
    records: Sequence[Mapping[str, Any]], out: Path, background: int | None = 0
) -> list[dict[str, Any]]:
    """Write ``cases.csv``, one row per case, and ``structures.csv``, one per case and structure.

    With references also ``selective.csv``; returns its rows.
    """
    cases, structures = [], []
    for one in records:
        found = one.get("reference")
        extra = {} if found is None else {"accuracy": found["accuracy"]}
        cases.append({"case": one["case"], **one["summary"], **extra})
        for k, row in enumerate(one["structures"]):
            extra = {} if found is None else {"reference_dice": found["dice"][k]}
            structures.append({"case": one["case"], **row, **extra})
    write_csv(cases, out / "cases.csv")
    write_csv(structures, out / "structures.csv")
    if not all("reference" in one for one in records):
        return []
    counts = []
    for one in records:
        with np.load(out / one["case"] / COUNTS_FILE) as arrays:
            counts.append(dict(arrays))
    rows = selective_rows(records, counts, background)
    write_csv(rows, out / "selective.csv")
    return rows


def write_csv(rows: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write rows with the same keys, or some of those of the first one; None is an empty cell."""
    from credalens.io import tables

    names = list(dict.fromkeys(name for row in rows for name in row))
    batch = tables.as_batch({name: _column([row.get(name) for row in rows]) for name in names})
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        tables.write_csv([batch], file)


def _column(values: Sequence[Any]) -> Any:
    """Return an array with None and NaN masked."""
    missing = [value is None or value != value for value in values]
    known = next((value for value in values if value is not None), 0.0)
    if isinstance(known, str):
        return np.array(values, object)
    dtype = np.int64 if isinstance(known, int) and not any(missing) else np.float64
    filled = [0 if gap else value for gap, value in zip(missing, values, strict=True)]
    return np.ma.MaskedArray(np.array(filled, dtype), missing) if any(missing) else np.array(filled)
