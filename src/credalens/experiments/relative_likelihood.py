"""The ensemble of Figures 3 and 4: networks of increasing relative likelihood."""

from __future__ import annotations

import importlib
import json
import time
import warnings
import zipfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from credalens import _validation
from credalens._backend import Array
from credalens._files import atomic_write
from credalens.datasets import Images, load_images
from credalens.experiments.networks import SMALL, load_factory, with_standardized_input
from credalens.experiments.split_runs import check_settings, save_settings
from credalens.io import Predictions

LEVELS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
#: The settings of ``--quick``.
QUICK: dict[str, Any] = {"n_train": 10_000, "n_test": 2_000}
#: The settings of `RelativeLikelihoodEnsemble`.
TRAINING = ("levels", "bias", "epochs", "member_epochs", "batch_size", "learning_rate",
            "check_every")  # fmt: skip


@dataclass(frozen=True)
class Settings:
    """The settings on which the ensemble depends."""

    dataset: str = "fashion-mnist"
    backbone: str = SMALL
    levels: tuple[float, ...] = LEVELS
    seed: int = 0
    #: Number of first images of each part; None uses all.
    n_train: int | None = None
    n_test: int | None = None
    #: Epochs of the maximum-likelihood model, and maximum for the other members.
    epochs: int = 8
    member_epochs: int = 24
    batch_size: int = 128
    learning_rate: float = 1e-3
    #: Initial bias of a member towards a class. The authors of the method use 100, from which such
    #: a small network recovers too slowly to reach the upper levels.
    bias: float = 10.0
    #: Interval of the likelihood checks: "epoch" (as the authors of the method), "batch" or a
    #: number of batches. A member passes most levels within its first epoch: with frequent checks,
    #: the members of the lower levels have hardly been trained.
    check_every: str | int = "epoch"

    @property
    def interval(self) -> str:
        """How often the likelihood is checked, in words."""
        every = self.check_every
        return f"after every {every}" if isinstance(every, str) else f"every {every} batches"

    def describe(self) -> dict[str, Any]:
        """Return the settings that are stored with the ensemble."""
        return asdict(self) | {"levels": list(self.levels)}


@dataclass(frozen=True, eq=False)
class TrainedEnsemble:
    """Predictions of the members on the test images by level, and training statistics."""

    settings: Settings
    predictions: Predictions
    class_names: tuple[str, ...]
    levels: Array
    relative_likelihoods: Array
    #: Class of the initial bias of each member; -1 for the maximum-likelihood model.
    pushed: Array
    #: Levels without a member.
    unreached: Array
    n_train: int
    #: Elapsed time and CPU time of the training; NaN if it was interrupted.
    seconds: float
    processor_seconds: float

    @property
    def key(self) -> str:
        """Dataset and interval of the checks, for names of files."""
        return f"{self.settings.dataset}-{self.settings.check_every}"

    @property
    def accuracies(self) -> Array:
        """Accuracy of each member on the test images."""
        best = self.predictions.members.argmax(axis=2)
        return np.asarray(np.mean(best == self.predictions.labels[:, None], axis=0))  # type: ignore[index]


def load_or_train(
    settings: Settings,
    folder: Path,
    *,
    data: str | Path | None = None,
    device: str | None = None,
    progress: bool | None = None,
) -> TrainedEnsemble:
    """Return the ensemble in `folder`; train it if it is not complete.

    A complete ensemble needs neither the images nor PyTorch. An interrupted training continues from
    its last epoch. If the folder contains an ensemble with other settings, an error is raised.
    `data` is the folder of the images, see `load_images`; `progress` shows a progress bar, by
    default only on a terminal.
    """
    stored = folder / "settings.json", settings.describe(), "an ensemble", "--ensembles"
    check_settings(*stored)
    path = folder / "predictions.npz"
    if not path.exists():
        images = _first_images(load_images(settings.dataset, data), settings)
        # Import PyTorch and the network first: if that fails, no folder is created.
        importlib.import_module("credalens.predictors.torch")
        load_factory(settings.backbone)
        save_settings(*stored)
        fitted, times = _fit(settings, images, folder / "checkpoints", device, progress)
        _write(path, fitted, images, times)
    return _read(path, settings)


def load_trained(folder: Path) -> TrainedEnsemble:
    """Return the complete ensemble in a folder, with the settings that are stored in it."""
    stored, path = folder / "settings.json", folder / "predictions.npz"
    if not stored.is_file() or not path.is_file():
        _validation.raise_invalid(
            "ensemble",
            f"{folder} has no complete ensemble",
            "train one with credalens reproduce figure3 --ensembles FOLDER",
        )
    settings = json.loads(stored.read_text())
    return _read(path, Settings(**settings | {"levels": tuple(settings["levels"])}))


def _first_images(images: Images, settings: Settings) -> Images:
    sizes = {"train": settings.n_train, "train_labels": settings.n_train,
             "test": settings.n_test, "test_labels": settings.n_test}  # fmt: skip
    return replace(images, **{name: getattr(images, name)[:n] for name, n in sizes.items()})


def _fit(
    settings: Settings, images: Images, checkpoint: Path, device: str | None, progress: bool | None
) -> tuple[Any, tuple[float, float]]:
    """Return the fitted ensemble, the elapsed time and the CPU time."""
    from credalens.predictors.torch import RelativeLikelihoodEnsemble

    factory = load_factory(settings.backbone)
    # One colour at a time: SVHN in float64 would need gigabytes.
    colours = [images.train[:, i] for i in range(images.train.shape[1])]
    mean = [float(colour.mean()) for colour in colours]
    spread = [float(colour.std()) or 1.0 for colour in colours]
    shape, classes = images.train.shape[1:], len(images.class_names)
    ensemble = RelativeLikelihoodEnsemble(
        lambda: with_standardized_input(factory(shape, classes), mean, spread),
        **{name: getattr(settings, name) for name in TRAINING},
        device=device,
        random_state=settings.seed,
        checkpoint=checkpoint,
        progress=progress,
    )
    resumed = checkpoint.exists()
    clock, processor = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        # The tables list levels that were not reached and likelihoods above 1.
        warnings.simplefilter("ignore", UserWarning)
        ensemble.fit((images.train, images.train_labels))
    if resumed:
        return ensemble, (np.nan, np.nan)
    return ensemble, (time.perf_counter() - clock, time.process_time() - processor)


def _write(path: Path, ensemble: Any, images: Images, times: tuple[float, float]) -> None:
    order = np.argsort(ensemble.levels_, kind="stable")
    members = np.asarray(ensemble.predict_members(images.test))[:, order]
    with atomic_write(path) as temporary, temporary.open("wb") as file:
        np.savez_compressed(
            file,
            members=members,
            labels=images.test_labels,
            class_names=np.array(images.class_names),
            levels=np.array(ensemble.levels_)[order],
            relative_likelihoods=np.array(ensemble.relative_likelihoods_)[order],
            pushed=np.array([-1 if c is None else c for c in ensemble.classes_])[order],
            unreached=np.array(ensemble.unreached_, dtype=np.float64),
            n_train=len(images.train),
            seconds=times[0],
            processor_seconds=times[1],
        )


def _read(path: Path, settings: Settings) -> TrainedEnsemble:
    try:
        # NumPy does not close a file that it cannot read; the context manager does.
        with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        members, labels = arrays.pop("members"), arrays.pop("labels")
        names = tuple(f"level {level:g}" for level in arrays["levels"])
        return TrainedEnsemble(
            settings,
            Predictions(names, members, labels),
            tuple(arrays.pop("class_names").tolist()),
            **{name: value if value.ndim else value.item() for name, value in arrays.items()},
        )
    except (OSError, ValueError, KeyError, TypeError, zipfile.BadZipFile) as error:
        reason = str(error).splitlines()[0]
        _validation.raise_invalid(
            str(path), f"cannot be read ({reason})", "remove it and run again"
        )


def parse_check_every(text: str) -> str | int:
    """Return "epoch", "batch" or a number of batches."""
    text = text.strip()
    if text in ("epoch", "batch"):
        return text
    if not text.isdecimal() or int(text) < 1:
        _validation.raise_invalid(
            "check-every", f"is {text!r}", "pass epoch, batch or a number of batches"
        )
    return int(text)


def parse_levels(text: str) -> tuple[float, ...]:
    """Return the levels of a list such as ``0.2,0.6,1``, in increasing order."""
    try:
        levels = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        levels = []
    if not levels or not all(0 < level <= 1 for level in levels):
        _validation.raise_invalid(
            "levels", f"are {text!r}", "pass numbers in (0, 1] such as 0.2,0.6,1"
        )
    return tuple(levels)
